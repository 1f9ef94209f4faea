"""Results that are kept in a folder, as one JSON file each, so that finished work is not repeated.

The cache is only an optimization: if it cannot be read or written, a notice says so, and work goes on without it.
Files are complete as soon as they have their name, so that a process that is killed loses only what it was working on,
and several processes can use one folder. Damaged files, and files of other versions, are ignored. A folder that others
could have written to is not used: it may contain wrong results.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from medcontract._version import __version__
from medcontract.addresses import require_local
from medcontract.atomic_write import replace_file
from medcontract.errors import CallError, option, words

FOLDER = "medcontract-cache-2"
"""The folder of results in the folder of the caller. Its name changes with the format."""
_FILE = re.compile(r"\.?([a-z]+)-([^-]+)-[0-9a-f]{64}\.json(\.[0-9a-f]+)?")
"""A result, or one that is being written, whose name starts with a dot."""

Notice = Callable[[str], None]


class Unusable(Exception):
    """The folder cannot be used; the text says why."""


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
        self._name = os.fspath(folder)
        self._notice = notice
        self._folder: Path | None = None
        self._writable = True
        if os.path.lexists(folder) and not os.path.isdir(folder):
            raise CallError(
                f"{self._name} is not a folder", "pass a folder, which is created if needed", flag="--cache"
            )
        with self._tolerant("cannot be used"):
            outer = Path(folder).resolve()  # a link could lead elsewhere after the check
            for each in (outer, outer / FOLDER):  # created so that nobody else can read it: results may quote values
                os.makedirs(each, mode=0o700, exist_ok=True)
                _check_owner(each)
            self._folder = outer / FOLDER

    def has(self, kind: str, key: str) -> bool:
        return self._folder is not None and self._file(self._folder, kind, key).exists()

    def get(self, kind: str, key: str) -> Any:
        """Return the value with this key; None if there is none, or only a damaged one."""
        data = b""
        if self._folder:
            with self._tolerant("cannot be read"), suppress(FileNotFoundError):
                data = self._file(self._folder, kind, key).read_bytes()
        checksum, _, text = data.partition(b"\n")
        if checksum.decode("latin-1") != _checksum(key, text):
            return None
        try:
            return from_json(json.loads(text))
        except (ValueError, TypeError, KeyError, AttributeError, ImportError, RecursionError):
            return None

    def put(self, kind: str, key: str, value: object) -> None:
        """Keep a value. One with classes that cannot be read again, such as from a plugin, is not kept."""
        if not self._folder or not self._writable:
            return
        try:
            text = json.dumps(as_json(value), separators=(",", ":")).encode()
        except (TypeError, RecursionError):
            return
        try:
            replace_file(self._file(self._folder, kind, key), _checksum(key, text).encode() + b"\n" + text)
        except OSError as error:
            self._writable = False
            self._tell(f"cannot be written: {_reason(error)}; further results are not kept")

    def _file(self, folder: Path, kind: str, key: str) -> Path:
        return folder / f"{kind}-{__version__}-{key}.json"

    @contextmanager
    def _tolerant(self, what: str) -> Iterator[None]:
        """Go on without the cache if it cannot be used."""
        try:
            yield
        except (OSError, Unusable) as error:
            self._folder = None
            self._tell(f"{what}: {_reason(error)}; going on without it")

    def _tell(self, message: str) -> None:
        if self._notice:
            self._notice(f"--cache: {self._name} {message}")


def content(folder: str | os.PathLike[str]) -> CacheContent:
    """Return what the cache in a folder contains. Raises `CallError`."""
    counts: Counter[tuple[str, str]] = Counter()
    size = 0
    for file, match in _files_in(folder):
        with suppress(FileNotFoundError):  # another process may be faster
            size += file.lstat().st_size
            if not file.name.startswith("."):
                counts[match[1], match[2]] += 1
    return CacheContent(size, tuple((*name, count) for name, count in sorted(counts.items())))


def clear(folder: str | os.PathLike[str]) -> CacheContent:
    """Remove all results, also if another process is using them. Returns what was removed. Raises `CallError`."""
    before = content(folder)
    for file, _ in _files_in(folder):
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise CallError(f"cannot remove {file}: {_reason(error)}") from None
    return before


def _files_in(folder: str | os.PathLike[str]) -> list[tuple[Path, re.Match[str]]]:
    require_local(folder, "the cache", "use a local folder")
    try:
        names = os.listdir(os.path.join(folder, FOLDER))
    except (FileNotFoundError, NotADirectoryError):
        created = words("it is created by ", option("--cache", "DIR"))
        raise CallError(f"{os.fspath(folder)}: no cache in this folder", created) from None
    except OSError as error:
        raise CallError(f"{os.fspath(folder)}: {_reason(error)}") from None
    return [(Path(folder, FOLDER, name), match) for name in names if (match := _FILE.fullmatch(name))]


def _check_owner(folder: Path) -> None:
    """Raise `Unusable` if somebody else could have written the results."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise Unusable(f"{folder.name} is a link or not a folder")
    if hasattr(os, "geteuid"):
        if found.st_uid not in (os.geteuid(), 0):
            raise Unusable("the folder belongs to another user")
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise Unusable("other users may write to the folder (chmod go-w)")


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)


def _checksum(key: str, text: bytes) -> str:
    return hashlib.sha256(key.encode() + text).hexdigest()


# --- values as JSON: results have fractions, and sums with keys of several parts

_LISTS: dict[str, Any] = {"tuple": tuple, "set": set, "frozenset": frozenset}
_PAIRS: dict[str, Any] = {"dict": dict, "Counter": Counter}
_NUMBERS: dict[str, Any] = {"Decimal": Decimal, "Fraction": Fraction}
_PACKAGES = tuple(f"{__package__}.{name}." for name in ("contracts", "evaluation", "reading", "results", "scoring"))
"""Where the classes of results are, and of what they depend on."""


def as_json(value: Any) -> Any:
    """Return a value as JSON, equal for equal values. Raises `TypeError` for classes other than of results.

    Anything that is not JSON is an object with the name of its class.
    """
    kind, name = type(value), type(value).__name__
    if value is None or kind in (bool, int, float, str):
        return value
    if isinstance(value, str):  # with another wording for Python, which results do not use
        return str(value)
    if kind is list:
        return [as_json(each) for each in value]
    if kind in _NUMBERS.values():
        return {name: str(value)}
    if kind in _PAIRS.values():
        return {name: [[as_json(key), as_json(each)] for key, each in value.items()]}
    if kind in _LISTS.values():
        items = [as_json(each) for each in value]
        return {name: items if kind is tuple else sorted(items, key=json.dumps)}
    name = f"{kind.__module__}.{name}"
    if not name.startswith(_PACKAGES):
        raise TypeError(name)
    fields = _fields_of(kind)
    return {name: {field: as_json(getattr(value, field)) for field in fields}}


def from_json(data: Any) -> Any:
    """Return the value from `as_json`. Raises `ValueError` and others for anything else."""
    if isinstance(data, list):
        return [from_json(each) for each in data]
    if not isinstance(data, dict):
        return data
    ((name, inside),) = data.items()
    if name in _NUMBERS:
        return _NUMBERS[name](inside)
    if name in _LISTS:
        return _LISTS[name](from_json(inside))
    if name in _PAIRS:
        return _PAIRS[name]({from_json(key): from_json(each) for key, each in inside})
    if not name.startswith(_PACKAGES):
        raise ValueError(name)
    module, _, attribute = name.rpartition(".")
    kind = getattr(import_module(module), attribute)
    _fields_of(kind)
    make = getattr(kind, "from_fields", kind)  # of rows, whose types are made when they are needed
    return make(**{field: from_json(each) for field, each in inside.items()})


def _fields_of(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a class. Raises `TypeError` if it is neither a Struct nor a named tuple."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        return kind.__struct_fields__
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return tuple(kind._fields)
    raise TypeError(kind)
