"""Files and folders at addresses (`s3://…`, `https://…`), which `fsspec` opens, lists and matches.

Its packages may quote an address with its credentials in an exception, so each exception is replaced here by an
`OSError` with a text of ours. A file is read in blocks, never loaded completely, and refused if it changes meanwhile.
"""

from __future__ import annotations

import errno
import logging
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeVar

from medcontract.addresses import Address
from medcontract.errors import CallError
from medcontract.extras import require
from medcontract.reading.folders import Exclude, Listing, listed
from medcontract.reading.source import SeekableStream

T = TypeVar("T")
BLOCK = 4 << 20
"""Bytes that are requested before they are needed."""
_KEPT = 4
"""Open files, of which each keeps the block that it read last."""
_FRESH = 1.0
"""Seconds for which the state of an archive is known: it is needed for each of its files."""
_MOST_KNOWN = 1000
_PAUSES = (0.2, 1.0)
"""Seconds before a request is sent again: a server that fails may be busy."""
_PACKAGES = {
    "s3": ("s3fs", "s3"), "s3a": ("s3fs", "s3"), "gs": ("gcsfs", "gs"), "gcs": ("gcsfs", "gs"),
    "abfs": ("adlfs", "azure"), "abfss": ("adlfs", "azure"), "az": ("adlfs", "azure"),
    "http": ("aiohttp", "remote"), "https": ("aiohttp", "remote"), "memory": ("fsspec", "remote"),
}  # fmt: skip
"""The package that reads each kind of address, and the extra that installs it."""
_STATE = (
    "size", "ETag", "etag", "generation", "VersionId", "version_id", "LastModified", "last_modified", "Last-Modified",
    "updated", "mtime", "created",
)  # fmt: skip
"""What servers know about a file that changes if its content does."""
_LOGGERS = ("fsspec", "s3fs", "gcsfs", "adlfs", "aiohttp", "aiobotocore", "botocore", "azure", "asyncio")
_WILDCARD = re.compile(r"[*?\[]")


class RemoteError(OSError):
    """A file at an address cannot be read. The text contains no part of the address."""

    def __init__(self, number: int, reason: str, hint: str | None = None) -> None:
        super().__init__(number, reason)
        self.hint = hint
        self.usage_error = number != errno.ESTALE
        """Whether the call is wrong, rather than the data."""


class NotThere(RemoteError, FileNotFoundError):
    """There is no file at an address."""


class FileInfo(NamedTuple):
    """What is known about a file before it is read."""

    size: int
    state: tuple[object, ...]
    """Differs if the file was changed or replaced."""
    is_folder: bool = False
    ranges: bool = True
    """Whether parts of it can be requested."""


def filesystem(address: Address) -> Any:
    """Return the fsspec filesystem of an address. Raises `CallError` for an unknown kind, or without its package."""
    if address.scheme not in _PACKAGES:
        raise CallError(
            f"{address}: {address.scheme}:// is not supported", f"use one of {', '.join(f'{s}://' for s in _PACKAGES)}"
        )
    package, extra = _PACKAGES[address.scheme]
    require("fsspec", extra)
    require(package, extra)
    return _filesystem(address.scheme)


@cache
def _filesystem(scheme: str) -> Any:
    import fsspec

    for name in _LOGGERS:  # without a handler, Python would print their warnings, which may quote an address
        logging.getLogger(name).addHandler(logging.NullHandler())
    options: dict[str, Any] = {"use_listings_cache": False}
    if scheme in ("http", "https"):  # the bytes of the file itself: a part of a compressed response would be of no use
        options = {
            "headers": {"Accept-Encoding": "identity"},
            "client_kwargs": {"auto_decompress": False, "trust_env": True},
        }
    return ask_storage(lambda: fsspec.filesystem(scheme, **options))


def _path_in(files: Any, address: Address) -> str:
    """Return the address as the filesystem names it."""
    path: str = files._strip_protocol(address.full)
    return path


# --- files ------------------------------------------------------------------------------------------------------------


def file_info(address: Address) -> FileInfo:
    """Return the state of a file. Raises `OSError`."""
    files = filesystem(address)
    return ask_storage(lambda: _ask(files, address))


def recent_info(address: Address) -> FileInfo:
    """Return the state of a file about a second ago: an archive is asked for its state for each of its files."""
    return _info_at(address.full, time.monotonic() // _FRESH)


@lru_cache(_MOST_KNOWN)
def _info_at(full: str, moment: float) -> FileInfo:
    return file_info(Address(full))


def _ask(files: Any, address: Address) -> FileInfo:
    try:
        found: dict[str, Any] = files.info(_path_in(files, address))
    except FileNotFoundError as error:
        if address.is_web and error.__cause__:  # any failure of a web server, whose status is in the cause
            raise error.__cause__ from None
        raise
    size = found["size"]
    state = tuple(str(found[name]) for name in _STATE if found.get(name) is not None)
    ranges = not address.is_web or (size is not None and _sends_parts(address.full, size))
    return FileInfo(size or 0, state if ranges else (), found["type"] == "directory", ranges)


@lru_cache(_MOST_KNOWN)
def _sends_parts(url: str, size: int) -> bool:
    """Check whether a web server answers requests for ranges, with one for the last byte. Most do not announce it."""
    if size < 2:
        return True
    file = filesystem(Address(url)).open(url, block_size=1, cache_type="none", size=size)
    file.seek(size - 1)
    try:
        return len(file.read(1)) == 1
    except ValueError:  # fsspec says so before it reads the whole file
        return False


def open_remote(
    address: Address, info: FileInfo, start: int = 0, end: int | None = None, block: int | None = None
) -> RemoteFile:
    """Open a file as a stream, in a state in which it was seen. Raises `OSError`.

    If only a part of it is needed, nothing before it is requested, and little after it. `block`: bytes to read ahead.
    """
    if info.is_folder:
        raise IsADirectoryError(errno.EISDIR, "this is a folder")
    if not info.ranges:
        raise RemoteError(errno.ENOTSUP, "the server cannot send parts of a file", "download it, and pass the file")
    return RemoteFile(address, info, start, end, BLOCK if block is None else block)


class RemoteFile(SeekableStream):
    """A file at an address, or the part of it between two offsets. It fails if the file has changed at its end."""

    def __init__(self, address: Address, info: FileInfo, start: int, end: int | None, block: int) -> None:
        super().__init__(info.size, start)
        self._address = address
        self.info = info
        self._end = info.size if end is None else min(end, info.size)
        self._block = block

    def _next(self, size: int) -> bytes:
        count = min(size, self._block, self._end - self._at)
        if count <= 0:
            return b""
        opened = _opened(self._address.full, self.info.state, self._end, self._block)
        data = opened.read(self._at, count)
        if len(data) != count:
            raise changed()
        if self._at + count == self._end:
            opened.check_unchanged()
        return data


def changed() -> RemoteError:
    """Return the error for a file that is no longer what it was when its first bytes were read."""
    return RemoteError(errno.ESTALE, "it changed while it was read")


class _Opened:
    """A file that fsspec opened. It keeps the block that it read last, for all streams of the same state."""

    def __init__(self, address: Address, state: tuple[object, ...], end: int, block: int) -> None:
        files = filesystem(address)
        how = {"size": end} if address.is_web else {}  # others ask for it: then S3 refuses ranges of another version
        self._file = ask_storage(
            lambda: files.open(_path_in(files, address), block_size=block, cache_type="readahead", **how)
        )
        self._address = address
        self._state = state
        self._checked = 0
        """How many requests had been sent when the state was last checked."""
        self._lock = threading.Lock()

    def read(self, at: int, count: int) -> bytes:
        def read() -> bytes:
            self._file.seek(at)
            data: bytes = self._file.read(count)
            return data

        with self._lock:
            return ask_storage(read)

    def check_unchanged(self) -> None:
        """Ask for the state of the file if bytes were requested since this was last done. Raises `OSError`."""
        sent = getattr(getattr(self._file, "cache", None), "miss_count", self._checked + 1)  # in memory, it is unknown
        if sent != self._checked and file_info(self._address).state != self._state:
            raise changed()
        self._checked = sent


@lru_cache(_KEPT)
def _opened(full: str, state: tuple[object, ...], end: int, block: int) -> _Opened:
    return _Opened(Address(full), state, end, block)


def download(address: Address) -> Iterator[bytes]:
    """Yield the bytes of a file of a server that cannot send parts of it."""
    files = filesystem(address)
    with closing(ask_storage(lambda: files.open(address.full, block_size=0))) as stream:
        while data := ask_storage(lambda: stream.read(1 << 18), pauses=()):
            yield data


# --- folders and patterns ---------------------------------------------------------------------------------------------


def matches(address: Address) -> list[Address]:
    """Return the visible files and folders that match a pattern, sorted; the address itself if it is not a pattern.

    Raises `CallError` if nothing matches, and if the pattern cannot be evaluated.
    """
    archive, _, member = address.full.partition("!/")
    wildcard = _WILDCARD.search(archive)
    if address.is_web or not wildcard:
        return [address]
    files = filesystem(address)
    if member:
        raise CallError(f"{address}: a pattern cannot match files in archives", "pass each archive")
    try:
        found: list[str] = ask_storage(lambda: files.glob(_path_in(files, Address(archive.rstrip("/")))))
    except OSError as error:
        raise CallError(f"{address}: {error.strerror}", getattr(error, "hint", None)) from None
    folder = archive[: archive.rindex("/", 0, wildcard.start())]
    start = _path_in(files, Address(folder)) if folder.partition("://")[2] else ""
    visible = [path for path in sorted(found) if not path.rpartition("/")[2].startswith(".")]
    if not visible:
        raise CallError(f"{address}: no file or folder matches this pattern", "check the address")
    return [Address(f"{folder}{path.removeprefix(start)}") for path in visible]


def exists(address: Address) -> bool:
    """Check whether there is a file or a folder. True if that cannot be found out, which reading it will explain."""
    try:
        file_info(address)
    except OSError as error:
        return not isinstance(error, FileNotFoundError)
    return True


def is_folder(address: Address) -> bool:
    try:
        return not address.is_web and file_info(address).is_folder
    except OSError:
        return False


def list_remote(folder: Address, endings: Collection[str], exclude: Exclude | None = None) -> Listing | None:
    """List the data files below an address, and its other files; None if it is not a folder, or cannot be listed."""
    files = filesystem(folder)
    if not is_folder(folder):
        return None
    start = _path_in(files, folder)
    try:
        paths: list[str] = ask_storage(lambda: files.find(start))
    except OSError:
        return None
    names = [path.removeprefix(start).strip("/") for path in paths if not path.endswith("/")]
    names = [name for name in names if name and not any(part.startswith(".") for part in name.split("/"))]
    return listed(folder, names, folder.inside, endings, exclude)


def entries(folder: Address) -> list[tuple[str, Address, bool]]:
    """List the visible entries of a folder: name, address, and whether it is a folder. Raises `OSError`."""
    files = filesystem(folder)
    start = _path_in(files, folder)
    listed: list[dict[str, Any]] = ask_storage(lambda: files.ls(start, detail=True))
    inside = [(each["name"].rstrip("/"), each["type"] == "directory") for each in listed]
    named = [(path.rpartition("/")[2], is_folder) for path, is_folder in inside if path != start]
    return sorted((name, folder.inside(name), is_folder) for name, is_folder in named if name[:1] not in ("", "."))


def file_size(address: Address) -> int | None:
    """Return the size of a file; None if there is none."""
    try:
        info = file_info(address)
    except OSError:
        return None
    return None if info.is_folder else info.size


# --- errors -----------------------------------------------------------------------------------------------------------

_NOT_THERE = "check the address"
_NO_PERMISSION = "check your credentials, and that they may read this address"
_REASONS: tuple[tuple[tuple[str, ...], int, str, str | None], ...] = (
    (("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "TokenRetrievalError",
      "DefaultCredentialsError", "RefreshError", "ClientAuthenticationError", "ProfileNotFound"),
     errno.EACCES, "no credentials were found, or they are not valid", _NO_PERMISSION),
    (("EndpointConnectionError", "ConnectTimeoutError", "ClientConnectorError", "ClientConnectionError",
      "ConnectionError", "ServiceRequestError", "gaierror", "ProxyConnectionError"),
     errno.ECONNREFUSED, "the server cannot be reached", "check the network and the address"),
    (("ServerDisconnectedError", "ClientPayloadError", "IncompleteReadError", "ClientOSError", "ReadTimeoutError",
      "ConnectionResetError", "ConnectionClosedError", "ServerTimeoutError", "FSTimeoutError", "TimeoutError"),
     errno.ECONNABORTED, "the connection was lost", "try again"),
    (("InvalidURL", "InvalidUrlClientError", "ParamValidationError", "UnicodeError", "ValueError"),
     errno.EINVAL, "the address is not valid", _NOT_THERE),
    (("FileExpired",), errno.ESTALE, "it changed while it was read", None),
)  # fmt: skip
"""Names of exceptions, of themselves or of a base class, and what they mean. By name: they are in many packages."""


def ask_storage(function: Callable[[], T], pauses: Collection[float] | None = None) -> T:
    """Call a function of another package, again if the connection breaks or the server fails.

    Its exceptions, whose texts may contain credentials, are replaced.
    """
    for pause in (*(_PAUSES if pauses is None else pauses), None):
        try:
            return function()
        except (RemoteError, CallError):
            raise
        except Exception as error:  # noqa: BLE001  # of any package
            clean = _clean(error)
        if pause is None or clean.errno not in (errno.EAGAIN, errno.ECONNABORTED):
            break
        time.sleep(pause)
    raise clean  # here, so that the replaced exception is not its context


def _clean(error: Exception) -> RemoteError:
    status = getattr(error, "status", getattr(error, "status_code", None))  # of a web server, of Azure
    if isinstance(error, FileNotFoundError):
        return NotThere(errno.ENOENT, "no such file", _NOT_THERE)
    if isinstance(error, PermissionError):
        return RemoteError(errno.EACCES, "permission denied", _NO_PERMISSION)
    names = {each.__name__ for each in type(error).__mro__}
    for known, number, reason, hint in _REASONS:
        if names.intersection(known):
            return RemoteError(number, reason, hint)
    if status in (404, 410):
        return NotThere(errno.ENOENT, "no such file", _NOT_THERE)
    if status in (401, 403, 407):
        return RemoteError(errno.EACCES, f"permission denied (status {status})", _NO_PERMISSION)
    if isinstance(status, int) and (status >= 500 or status == 429):
        return RemoteError(errno.EAGAIN, f"the server failed (status {status})", "try again later")
    return RemoteError(errno.EIO, f"the storage failed ({type(error).__name__})", "check the address, and try again")
