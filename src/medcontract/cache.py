"""Results that are kept in a folder, in an SQLite database, so that finished work is not repeated.

The cache is only an optimization: if it cannot be read or written, a notice says so, and work goes on without it.
Each result is written in its own transaction, so that a process that is killed loses only what it was working on, and
several processes can use one folder.

A cache may be damaged, or come from somebody else. So values are unpickled with a list of allowed classes, which have
no code to run, and a folder that others could have written to is not used.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import sqlite3
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from types import TracebackType
from typing import Any, NamedTuple, Self

from msgspec import Struct

from medcontract._version import __version__
from medcontract.addresses import require_local
from medcontract.errors import CallError, Wording, command, option, words

FILE = "medcontract-cache.sqlite3"
_COMPANIONS = ("-journal", "-wal", "-shm")
"""What SQLite adds to the name of the database for temporary files."""
_APPLICATION = 0x4D43_5243
"""Marks the database as a cache of medcontract."""
_FORMAT = 1
_WAIT = 30
"""Seconds to wait for another process that is writing."""
_TABLE = """
CREATE TABLE IF NOT EXISTS results (
  key TEXT PRIMARY KEY, kind TEXT NOT NULL, version TEXT NOT NULL, checksum TEXT NOT NULL, value BLOB NOT NULL
) WITHOUT ROWID
"""

Notice = Callable[[str], None]


class Unusable(Exception):
    """The database cannot be used; the text says why."""


class CacheContent(NamedTuple):
    """What a cache contains."""

    size: int
    """In bytes, of its files."""
    counts: tuple[tuple[str, str, int], ...]
    """(kind, version of medcontract, number of results)"""


class ResultCache:
    """The results in a folder. Problems with it are passed to `notice`, once."""

    def __init__(self, folder: str | os.PathLike[str], notice: Notice | None = None) -> None:
        require_local(folder, option("--cache"), "use a local folder")
        self._folder = os.fspath(folder)
        self._notice = notice
        self._connection: sqlite3.Connection | None = None
        self._writable = True
        if os.path.lexists(self._folder) and not os.path.isdir(self._folder):
            raise CallError(
                f"{self._folder} is not a folder", "pass a folder, which is created if needed", flag="--cache"
            )
        with self._tolerant("cannot be used"):  # created so that nobody else can read it: results may quote values
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            with suppress(FileExistsError):
                os.close(os.open(os.path.join(self._folder, FILE), os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            self._connection = _connect(self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def has(self, key: str) -> bool:
        return self._row("SELECT 1 FROM results WHERE key = ?", key) is not None

    def get(self, key: str) -> Any:
        """The value with this key; None if there is none, or only a damaged one."""
        row = self._row("SELECT checksum, value FROM results WHERE key = ?", key)
        return None if row is None or row[0] != _checksum(key, row[1]) else _unpickled(row[1])

    def _row(self, query: str, key: str) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = None
        if self._connection:
            with self._tolerant("cannot be read"):
                row = self._connection.execute(query, (key,)).fetchone()
        return row

    def put(self, key: str, kind: str, value: object) -> None:
        """Keep a value. One with classes that cannot be read again, such as those of a plugin, is not kept."""
        if not self._connection or not self._writable:
            return
        data = zlib.compress(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), 1)
        if _unpickled(data) is None:
            return
        row = (key, kind, __version__, _checksum(key, data), data)
        try:
            with self._connection:
                self._connection.execute("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?)", row)
        except sqlite3.Error as error:
            self._writable = False
            self._tell(f"cannot be written: {error}; further results are not kept")

    @contextmanager
    def _tolerant(self, what: str) -> Iterator[None]:
        """Go on without the cache if it cannot be used."""
        try:
            yield
        except (OSError, sqlite3.Error, Unusable) as error:
            self._close()
            reason = (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
            self._tell(f"{what}: {reason}; going on without it")

    def _tell(self, message: str) -> None:
        if self._notice:
            self._notice(f"--cache: {self._folder} {message}")

    def _close(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None


def content(folder: str | os.PathLike[str]) -> CacheContent:
    """What the cache in a folder contains. Raises `CallError`."""
    path = _existing(folder)
    query = "SELECT kind, version, COUNT(*) FROM results GROUP BY kind, version ORDER BY kind, version"
    try:
        with closing(_connect(os.fspath(folder))) as connection:
            counts = tuple(connection.execute(query))
    except (OSError, sqlite3.Error, Unusable) as error:
        clear = command(f"cache clear {os.fspath(folder)}", "clear_cache(…)")
        raise CallError(f"{path}: {error}", words("remove it: ", clear)) from None
    return CacheContent(_size(path), counts)


def clear(folder: str | os.PathLike[str]) -> CacheContent:
    """Remove all results. Returns what was removed. Raises `CallError` if the database is not a cache.

    It is emptied, not removed, since another process may be using it; only a damaged one is removed.
    """
    path = _existing(folder)
    size = _size(path)
    try:
        before = content(folder).counts
        with closing(_connect(os.fspath(folder))) as connection:
            with connection:
                connection.execute("DELETE FROM results")
            connection.execute("VACUUM")
    except (CallError, sqlite3.Error, Unusable):
        if _is_other_database(path):
            raise CallError(f"{path} is not a cache of medcontract: it is not removed") from None
        before = ()
        try:
            for file in filter(os.path.lexists, _files_of(path)):
                os.unlink(file)
        except OSError as error:
            raise CallError(f"cannot remove {path}: {(error.strerror or str(error)).lower()}") from None
    return CacheContent(size, before)


def _existing(folder: str | os.PathLike[str]) -> str:
    require_local(folder, "the cache", "use a local folder")
    path = os.path.join(folder, FILE)
    if not os.path.lexists(path):
        raise CallError(
            f"{os.fspath(folder)}: no cache in this folder", words("it is created by ", option("--cache", "DIR"))
        )
    return path


def _files_of(path: str) -> list[str]:
    return [path + each for each in ("", *_COMPANIONS)]


def _size(path: str) -> int:
    return sum(os.lstat(file).st_size for file in filter(os.path.lexists, _files_of(path)))


def _connect(folder: str) -> sqlite3.Connection:
    folder = os.path.realpath(folder)  # a link could lead elsewhere after the check
    _check_owner(folder)
    path = os.path.join(folder, FILE)
    connection = sqlite3.connect(path, timeout=_WAIT)
    try:
        if os.path.getsize(path) == 0:
            _initialize(connection)
        _check_format(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _initialize(connection: sqlite3.Connection) -> None:
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        if not tables:  # another process may have been faster
            connection.execute(_TABLE)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_FORMAT}")


def _check_format(connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        raise Unusable("it is the database of another program")
    if version != _FORMAT:
        raise Unusable("it was written by another version of medcontract")


def _check_owner(folder: str) -> None:
    """Raises `Unusable` if somebody else could have written the results: a journal, too, is played back by SQLite."""
    path = os.path.join(folder, FILE)
    for name in (folder, *_files_of(path)):
        if not os.path.lexists(name) and name != path:
            continue
        found, what = os.lstat(name), "folder" if name == folder else "database"
        if name != folder and not stat.S_ISREG(found.st_mode):
            raise Unusable("the database is a link or not a file")
        if hasattr(os, "geteuid"):
            if found.st_uid not in (os.geteuid(), 0):
                raise Unusable(f"the {what} belongs to another user")
            if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise Unusable(f"other users may write to the {what} (chmod go-w)")


def _is_other_database(path: str) -> bool:
    """Whether a file is an SQLite database of another program. Its header says so at a fixed place."""
    try:
        with open(path, "rb") as file:
            header = file.read(100)
    except OSError:
        return True
    is_database = header.startswith(b"SQLite format 3\0") and len(header) == 100
    return is_database and int.from_bytes(header[68:72], "big") != _APPLICATION


def _checksum(key: str, data: bytes) -> str:
    return hashlib.sha256(key.encode() + data).hexdigest()


_PLAIN = {
    "builtins": ("set", "frozenset", "complex", "bytearray"), "collections": ("Counter", "OrderedDict"),
    "decimal": ("Decimal",), "fractions": ("Fraction",), "msgspec._utils": ("rebuild",),
}  # fmt: skip
"""Classes, and the function that creates a Struct, that results may consist of."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Only plain values, and the classes of results: other names could run code."""
        if name in _PLAIN.get(module, ()):
            return super().find_class(module, name)
        if module.startswith("medcontract."):
            found = super().find_class(module, name)
            if isinstance(found, type) and issubclass(found, Struct | tuple | Wording):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed")


def _unpickled(data: bytes) -> Any:
    """The value, or None if it cannot be read."""
    try:
        return _Unpickler(io.BytesIO(zlib.decompress(data))).load()
    except Exception:  # noqa: BLE001  # unpickling damaged data may raise anything
        return None
