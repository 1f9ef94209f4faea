"""Files at addresses (`s3://…`, `https://…`): read in blocks, never loaded completely.

`fsspec` and its packages know the protocols. Their exceptions may quote an address with its credentials, so each is
replaced here by an `OSError` with a text of ours.
"""

from __future__ import annotations

import errno
import io
import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeVar

from medcontract.addresses import Address
from medcontract.errors import CallError
from medcontract.extras import require

T = TypeVar("T")
BLOCK = 4 << 20
"""Bytes per request."""
_KEPT = 4
"""Blocks that are kept in memory, of all files together."""
_FRESH = 1.0
"""Seconds for which the state of an archive is known: it is needed for each of its files."""
_PACKAGES = {
    "s3": ("s3fs", "s3"), "s3a": ("s3fs", "s3"), "gs": ("gcsfs", "gs"), "gcs": ("gcsfs", "gs"),
    "abfs": ("adlfs", "azure"), "abfss": ("adlfs", "azure"), "az": ("adlfs", "azure"),
    "http": ("aiohttp", "remote"), "https": ("aiohttp", "remote"), "memory": ("fsspec", "remote"),
}  # fmt: skip
"""The package that reads each kind of address, and the extra that installs it."""
_STATE = (
    "size", "ETag", "etag", "generation", "VersionId", "version_id", "LastModified", "last_modified", "updated",
    "mtime", "created",
)  # fmt: skip
"""What object stores know about a file that changes if its content does."""
_LOGGERS = ("fsspec", "s3fs", "gcsfs", "adlfs", "aiohttp", "aiobotocore", "botocore", "azure", "asyncio")


class RemoteError(OSError):
    """A file at an address cannot be read. The text contains no part of the address."""

    def __init__(self, number: int, reason: str, hint: str | None = None) -> None:
        super().__init__(number, reason)
        self.hint = hint
        self.wrong_call = number != errno.ESTALE
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
    """The fsspec filesystem of an address. Raises `CallError` for an unknown kind, or without its package."""
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
    if scheme in ("http", "https"):
        options = {"client_kwargs": {"auto_decompress": False, "trust_env": True}}
    return guarded(lambda: fsspec.filesystem(scheme, **options))


def file_info(address: Address, max_age: float = 0.0) -> FileInfo:
    """The current state of a file, from a request that is at most `max_age` seconds old. Raises `OSError`."""
    known = _known.get(address.full)
    if known and time.monotonic() - known[0] <= max_age:
        return known[1]
    files = filesystem(address)
    info = guarded(lambda: _web_info(files, address) if address.is_web else _store_info(files, address))
    _remember(address, info)
    return info


def recent_info(address: Address) -> FileInfo:
    """For archives, whose state is needed for each of their files."""
    return file_info(address, _FRESH)


_known: OrderedDict[str, tuple[float, FileInfo]] = OrderedDict()
_MOST_KNOWN = 1000


def _remember(address: Address, info: FileInfo) -> None:
    _known[address.full] = (time.monotonic(), info)
    _known.move_to_end(address.full)
    while len(_known) > _MOST_KNOWN:
        _known.popitem(last=False)


def _store_info(files: Any, address: Address) -> FileInfo:
    found: Mapping[str, Any] = files.info(path_in(files, address))
    state = tuple(str(found[name]) for name in _STATE if found.get(name) is not None)
    return FileInfo(found["size"] or 0, state, found["type"] == "directory")


def path_in(files: Any, address: Address) -> str:
    """The address as the filesystem names it."""
    path: str = files._strip_protocol(address.full)
    return path


def open_remote(address: Address, start: int = 0, end: int | None = None, block: int | None = None) -> RemoteFile:
    """A file as a stream, in the state in which it was last seen. Raises `OSError`.

    If only a part of it is needed, nothing outside of it is requested. `block`: bytes per request; they are not kept.
    """
    known = _known.get(address.full)
    info = known[1] if known else file_info(address)
    if info.is_folder:
        raise IsADirectoryError(errno.EISDIR, "this is a folder")
    if not info.ranges:
        raise RemoteError(errno.ENOTSUP, "the server cannot send parts of a file", "download it, and pass the file")
    return RemoteFile(address, info, start, end, block)


class RemoteFile(io.RawIOBase):
    """A file at an address, or the part of it between two offsets. It fails if the file changes while it is read."""

    def __init__(
        self, address: Address, info: FileInfo, start: int = 0, end: int | None = None, block: int | None = None
    ) -> None:
        super().__init__()
        self._address = address
        self.info = info
        self._at = self._start = start
        self._end = info.size if end is None else min(end, info.size)
        self._size = block or BLOCK
        self._keeps = block is None
        self._last = (-1, b"")
        """The block that was read last, and its offset: other files may replace it in the cache."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.info.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # any writable buffer
        if self._at >= self._end:
            self._check_unchanged()
            return 0
        skipped = (self._at - self._start) % self._size
        data = self._block(self._at - skipped)[skipped : skipped + len(buffer)]
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _block(self, start: int) -> bytes:
        if self._last[0] != start:
            end = min(start + self._size, self._end)
            key = (self._address.full, self.info.state, start, end)
            data = _blocks.get(key, lambda: self._fetch(start, end)) if self._keeps else self._fetch(start, end)
            if len(data) != end - start:
                raise changed()
            self._last = start, data
        return self._last[1]

    def _fetch(self, start: int, end: int) -> bytes:
        files = filesystem(self._address)
        if self._address.is_web:
            return _web_range(files, self._address, start, end, self.info.state)
        data: bytes = guarded(lambda: files.cat_file(path_in(files, self._address), start=start, end=end))
        return data

    def _check_unchanged(self) -> None:
        """At the end of the file: parts of an object store come without the state that they belong to."""
        if not self._address.is_web and file_info(self._address).state != self.info.state:
            raise changed()


def changed() -> RemoteError:
    """The file is no longer what it was when its first bytes were read."""
    return RemoteError(errno.ESTALE, "it changed while it was read")


class _Blocks:
    """The blocks that were read last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[object, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: object, fetch: Callable[[], bytes]) -> bytes:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            while len(self._kept) >= _KEPT:
                self._kept.popitem(last=False)
        data = fetch()
        with self._lock:
            self._kept[key] = data
        return data

    def clear(self) -> None:
        self._kept.clear()


_blocks = _Blocks()


def forget() -> None:
    """Forget blocks and states of files."""
    _blocks.clear()
    _known.clear()


# --- web servers ------------------------------------------------------------------------------------------------------

_PAUSES = (0.2, 1.0)
"""Seconds before a request is sent again: a server that fails may be busy."""
_HEADERS = {"Accept-Encoding": "identity"}
"""The bytes of the file itself: a part of a compressed response would be of no use."""


def _web_info(files: Any, address: Address) -> FileInfo:
    """Found with a request for the first byte: presigned URLs do not allow HEAD."""

    async def ask(session: Any) -> FileInfo:
        async with session.get(address.full, headers={**_HEADERS, "Range": "bytes=0-0"}) as response:
            if response.status == 416:  # an empty file has no first byte
                return FileInfo(0, _web_state(response, 0))
            _check_status(response.status)
            size = _total(response) if response.status == 206 else None
            if size is None:
                return FileInfo(0, (), ranges=False)
            return FileInfo(size, _web_state(response, size))

    info: FileInfo = _with_session(files, ask)
    return info


def _web_range(files: Any, address: Address, start: int, end: int, state: tuple[object, ...]) -> bytes:
    async def ask(session: Any) -> bytes:
        headers = {**_HEADERS, "Range": f"bytes={start}-{end - 1}"}
        async with session.get(address.full, headers=headers) as response:
            if response.status == 416:
                raise changed()
            _check_status(response.status)
            if response.status != 206 or _web_state(response, _total(response)) != state:
                raise changed()
            data: bytes = await response.content.readexactly(end - start)
            return data

    found: bytes = _with_session(files, ask)
    return found


def _web_state(response: Any, size: int | None) -> tuple[object, ...]:
    return size, response.headers.get("ETag"), response.headers.get("Last-Modified")


def _total(response: Any) -> int | None:
    total = response.headers.get("Content-Range", "").rpartition("/")[2]
    return int(total) if total.isdecimal() else None


def _check_status(status: int) -> None:
    if error := _meaning(status):
        raise error
    if status not in (200, 206):
        raise RemoteError(errno.EIO, f"the server answered with status {status}", _NOT_THERE)


def _meaning(status: object) -> RemoteError | None:
    """The error that a status of a server means, if it is known."""
    if not isinstance(status, int):
        return None
    if status in (404, 410):
        return NotThere(errno.ENOENT, "no such file", _NOT_THERE)
    if status in (401, 403, 407):
        return RemoteError(errno.EACCES, f"permission denied (status {status})", _NO_PERMISSION)
    if status >= 500 or status == 429:
        return RemoteError(errno.EAGAIN, f"the server failed (status {status})", "try again later")
    return None


def _with_session(files: Any, ask: Callable[[Any], Any]) -> Any:
    """Send a request, again if the connection breaks or the server fails."""
    from fsspec.asyn import sync

    async def send() -> Any:
        return await ask(await files.set_session())

    for pause in _PAUSES:
        try:
            return guarded(lambda: sync(files.loop, send))
        except RemoteError as error:
            if error.errno not in (errno.EAGAIN, errno.ECONNABORTED):
                raise
        time.sleep(pause)
    return guarded(lambda: sync(files.loop, send))


class Download(io.RawIOBase):
    """A file of a server that cannot send parts of it, from start to end."""

    def __init__(self, address: Address) -> None:
        super().__init__()
        self._address = address
        self._files = filesystem(address)
        self._response: Any = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # any writable buffer
        async def read() -> bytes:
            if self._response is None:
                session = await self._files.set_session()
                self._response = await session.get(self._address.full, headers=_HEADERS)
                _check_status(self._response.status)
            data: bytes = await self._response.content.read(len(buffer))
            return data

        from fsspec.asyn import sync

        data: bytes = guarded(lambda: sync(self._files.loop, read))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        response, self._response = self._response, None
        if response is not None:
            self._files.loop.call_soon_threadsafe(response.close)
        super().close()


# --- errors -----------------------------------------------------------------------------------------------------------

_NOT_THERE = "check the address"
_NO_PERMISSION = "check your credentials, and that they may read this address"
_REASONS: tuple[tuple[tuple[str, ...], int, str, str], ...] = (
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
)  # fmt: skip
"""Names of exceptions, of themselves or of a base class, and what they mean. By name: they are in many packages."""


def guarded(function: Callable[[], T]) -> T:
    """Call a function of another package. Its exceptions, whose texts may contain credentials, are replaced."""
    try:
        return function()
    except (RemoteError, CallError):
        raise
    except Exception as error:  # noqa: BLE001  # of any package
        clean = _clean(error)
    raise clean  # here, so that the replaced exception is not its context


def _clean(error: Exception) -> RemoteError:
    if isinstance(error, FileNotFoundError):
        return NotThere(errno.ENOENT, "no such file", _NOT_THERE)
    if isinstance(error, PermissionError):
        return RemoteError(errno.EACCES, "permission denied", _NO_PERMISSION)
    names = [each.__name__ for each in type(error).__mro__]
    for known, number, reason, hint in _REASONS:
        if any(name in known for name in names):
            return RemoteError(number, reason, hint)
    if known_status := _meaning(getattr(error, "status_code", None)):  # of Azure
        return known_status
    return RemoteError(errno.EIO, f"the storage failed ({type(error).__name__})", "check the address, and try again")
