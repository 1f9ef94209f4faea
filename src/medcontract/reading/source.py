"""The bytes of one input, which can be opened repeatedly and read in blocks or at an offset."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from medcontract.addresses import Address, as_address, ending_of, is_archive, split_member
from medcontract.containers import BY_MAGIC, Container
from medcontract.errors import FileChanged
from medcontract.problems import Finding
from medcontract.reading.limits import BLOCK, MAX_DEFLATED, PIECE, Limits, most_unpacked

if TYPE_CHECKING:
    from hashlib import _Hash

    from medcontract.reading.remote import FileInfo
    from medcontract.reading.streams import Copy

STDIN = "-"
GZIP = b"\x1f\x8b"
"""The first bytes of a gzipped file."""
_BOM = b"\xef\xbb\xbf"
_HEAD = 4096
"""Bytes at the start of a file that its kind and its contract are recognized from."""
_LIKE_DATA = re.compile(rb'\s*+(?:[\[{]\s*+["\[{\]}]|"?[A-Za-z_][A-Za-z0-9_ ]*+"?[,\r\n])')
"""How JSON and tables usually start, and no file of another kind."""


class Unreadable(Exception):
    """The file cannot be read, or not any further; the finding says why."""

    def __init__(self, finding: Finding, usage_error: bool = False) -> None:
        super().__init__(finding, usage_error)  # what it is made of again in another process
        self.finding, self.usage_error = finding, usage_error


def open_source(path: str | os.PathLike[str], limits: Limits | None = None) -> Source:
    """Return the source of a path or an address: a file, or a file in an archive."""
    path = as_address(os.fspath(path))
    if not (is_archive(path) or split_member(path)):
        return Source(path, limits=limits)
    from medcontract.reading.archives import open_archived

    return open_archived(path, limits)


class Source:
    """A path, an address, bytes or standard input that can be read repeatedly; decompressed if it is gzipped."""

    container: Container | None = None
    """Its container, if neither its name nor its bytes determine it."""
    in_archive = False
    row_groups: range | None = None
    """The row groups of a Parquet file that are read. None: all of them."""
    unpacked = 0
    """The size of the rows that were read, if it is a Parquet file."""

    def __init__(
        self,
        origin: str | os.PathLike[str] | bytes,
        name: str | None = None,
        limits: Limits | None = None,
        refused: Finding | None = None,
    ) -> None:
        self._kept: bytes | Copy | None = origin if isinstance(origin, bytes) else None
        """All its bytes, if they are not in a file."""
        self._path = "" if isinstance(origin, bytes) else os.fspath(origin)
        self.name = name if name is not None else "<bytes>" if isinstance(origin, bytes) else str(self._path)
        self.limits = limits or Limits()
        self.packed = False
        self.start = 0
        """The offset of the text: after a byte order mark."""
        self.size = 0
        """The size of the file itself, compressed or not."""
        self.head = b""
        self.watched = False
        """Whether to hash the bytes while reading, so that `sha256` is the hash of what was read."""
        self._prepared = False
        self._digests: set[str] = set()
        """The hash of the file from each time that it was read completely."""
        self._is_hashed = False
        """Whether the hash was computed elsewhere, after the file was read."""
        self._info: FileInfo | None = None
        """What is known of a file at an address."""
        self._before: tuple[object, ...] = ()
        self.written_to = False
        """Whether somebody wrote to the file while it was read: what was read need not be any state of it."""
        self._packed_stream: BinaryIO | None = None
        self._most: int | None = None
        """The number of bytes that it may decompress to, if its size does not determine that."""
        self._refused = refused
        """Why it must not be opened."""
        self._users = 0  # `kept_open` blocks that are being run
        self._idle: io.RawIOBase | None = None
        """The local file, if it is kept open and nothing reads it at the moment."""

    def prepare(self) -> None:
        """Check the first bytes. Raises `Unreadable` if it is not a text file."""
        self.packed, self.start, self._prepared = False, 0, False
        if self._refused:
            raise Unreadable(self._refused, usage_error=True)
        try:
            if self._kept is None:
                self._check_kind()
            with self._as_it_is() as stream:
                self.size = stream.seek(0, os.SEEK_END)
                self._before = self._before or self._state()
                stream.seek(0)
                self.head = stream.read(_HEAD)
                self.packed = self.head.startswith(GZIP)
                if self.packed:
                    stream.seek(0)
                    self.head = self._unpacked(stream).read(_HEAD)
        except OSError as error:
            raise unreadable(error) from None
        self._prepared = True
        if self.head.startswith(_BOM):
            self.start = len(_BOM)
        if self.packed or b"ustar" in self.head or not _LIKE_DATA.match(self.head, self.start):
            from medcontract.reading.diagnosis import not_a_data_file

            if other := not_a_data_file(self.head, self.start, self.packed):
                raise Unreadable(other)

    def _check_kind(self) -> None:
        """Keep what can be read only once. Raises `OSError` and `Unreadable` for what is not a file."""
        if self._path == STDIN:
            self.name = "<stdin>"
            if sys.stdin is None:
                raise OSError(errno.EBADF, "standard input is closed")
            self._keep(partial(sys.stdin.buffer.read1, PIECE))  # type: ignore[union-attr]  # it is buffered
            return
        if isinstance(self._path, Address):
            from medcontract.reading import remote

            self._info = remote.file_info(self._path)
            if self._info.is_folder:
                raise IsADirectoryError
            if not self._info.ranges:
                self._keep(partial(next, remote.download(self._path), b""))
            return
        check_path(self._path)
        mode = os.stat(self._path).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError
        if stat.S_ISFIFO(mode):
            with open(self._path, "rb") as pipe:
                self._keep(partial(pipe.read1, PIECE))
        elif not stat.S_ISREG(mode):
            raise Unreadable(Finding("MC003", "this is a device or a socket, not a file"), usage_error=True)

    def _keep(self, read: Callable[[], bytes]) -> None:
        from medcontract.reading.streams import Copy  # not needed for most files

        self._kept, self._path = Copy(read, self.limits.unpacked), ""

    @property
    def address(self) -> Address | None:
        """Return the address from which any process can open it again, with `open_source`; None if it has none."""
        return self._path if isinstance(self._path, Address) else None

    @property
    def location(self) -> str | None:
        """Return the path or address from which `open_source` can open it in another process; None if there is none."""
        if isinstance(self._path, Address):
            return None if self._path.is_in_memory else self.address
        if self._kept is not None or self._path == STDIN:
            return None
        return self._path if os.path.isabs(self._path) else os.path.join(os.getcwd(), self._path)

    @property
    def version(self) -> tuple[object, ...] | None:
        """Return, for a file at an address, a value that is the same in each process, and changes with the file."""
        return self._before if isinstance(self._path, Address) else None

    def sha256(self) -> str:
        """Return the hash of the bytes of the file itself. Raises `FileChanged` if they changed between reads."""
        if not self._digests or (self.head[:4] in BY_MAGIC and not self._is_hashed):  # it was not read completely
            import hashlib

            with self.reading(), self._as_it_is() as stream:
                self._digests.add(hashlib.file_digest(stream, "sha256").hexdigest())  # type: ignore[arg-type]  # a BinaryIO
            if self._before and not self.is_unchanged():
                raise self.changed()
        if len(self._digests) > 1 or self.written_to:
            raise self.changed()
        return min(self._digests)

    def content(self) -> bytes:
        """Return the bytes of the file itself. Raises `FileChanged` if they changed since it was read."""
        import hashlib

        with self.reading(), self._as_it_is() as stream:
            data = stream.read()
        if hashlib.sha256(data).hexdigest() != self.sha256():
            raise self.changed()
        return data

    def note_digest(self, digest: str, read_here: bool = True) -> None:
        """Record the hash of the bytes after the file was read completely, here or by other processes."""
        self._digests.add(digest)
        self._is_hashed = self._is_hashed or not read_here

    def is_unchanged(self) -> bool:
        """Check that the file was not changed or replaced since its first bytes were checked."""
        return self._state() == self._before

    def changed(self) -> FileChanged:
        return FileChanged(f"{self.name}: the file changed while it was being read")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Raise `FileChanged` for a file that existed and cannot be read any more: that is not a usage error."""
        try:
            yield
        except OSError as error:
            if not self._prepared:
                raise
            reason = (error.strerror or type(error).__name__).lower()
            raise FileChanged(f"{self.name}: the file can no longer be read: {reason}") from None

    def _state(self) -> tuple[object, ...]:
        """Return a value that changes if the file is changed or replaced; empty for input that was kept."""
        if self._kept is not None:
            return ()
        with self.reading():
            return file_state(self._path)

    def _as_it_is(self) -> BinaryIO:
        if isinstance(self._kept, bytes):
            return io.BytesIO(self._kept)
        with self.reading():
            raw = self.open_raw() if self._kept is None else self._kept.open()
            size = BLOCK if isinstance(self._path, Address) else io.DEFAULT_BUFFER_SIZE
            return io.BufferedReader(Watched(raw, self), size)

    def open_raw(self, start: int = 0, end: int | None = None, block: int | None = None) -> io.RawIOBase:
        """Open the file. Raises `OSError`.

        Of one at an address, only what is between two offsets is needed; `block`: bytes to request at a time.
        """
        if self._idle is not None:
            idle, self._idle = self._idle, None
            idle.seek(0)
            return idle
        if not isinstance(self._path, Address):
            return open_file(self._path)
        from medcontract.reading import remote

        info = self._info or remote.file_info(self._path)
        if self._before and info.state != self._before:
            raise remote.changed()
        return remote.open_remote(self._path, info, start, end, block)

    @contextmanager
    def kept_open(self) -> Iterator[None]:
        """Open a local file once for all that is read from it meanwhile, part by part."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if self._idle is not None and not self._users:
                self._idle.close()
                self._idle = None

    def put_back(self, raw: io.RawIOBase) -> None:
        """Close a file that was read, or keep it open for the next reader."""
        if self._users and self._idle is None and isinstance(raw, io.FileIO):
            self._idle = raw
        else:
            raw.close()

    def open(self) -> BinaryIO:
        """Open the text at its first byte."""
        stream = self._as_it_is()
        self._packed_stream = stream if self.packed else None
        return self._unpacked(stream) if self.packed else stream

    def _unpacked(self, stream: BinaryIO) -> BinaryIO:
        from medcontract.reading.streams import Gunzip  # not needed for most files

        most = most_unpacked(self.size) if self._most is None else self._most
        return io.BufferedReader(Gunzip(stream, self.limits.unpacked, most), BLOCK)

    def done(self, offset: int) -> int:
        """Return the progress of reading, in bytes of the file itself."""
        stream = self._packed_stream
        return offset if stream is None or stream.closed else stream.tell()

    @property
    def ending(self) -> str:
        return ending_of(self.name)

    def read(self, offset: int, length: int) -> bytes:
        """Read at most `length` bytes from an offset, without allocating more memory than the file can fill."""
        if 0 <= length <= len(self.head) - offset:
            return self.head[offset : offset + length]
        most = self.size * (MAX_DEFLATED if self.packed else 1)
        with self.open() as stream:
            stream.seek(offset)
            return stream.read(min(length, most) if length >= 0 else length)


def check_path(path: str) -> None:
    """Raise `Unreadable` for a path that no file can have."""
    with suppress(UnicodeEncodeError):  # a lone surrogate
        if b"\0" not in os.fsencode(path):
            return
    raise Unreadable(Finding("MC001", "invalid file name"), usage_error=True)


def open_file(path: str) -> io.RawIOBase:
    """Open a file at a path or an address, without a buffer. Raises `OSError`."""
    if isinstance(path, Address):
        from medcontract.reading.remote import open_remote, recent_info

        return open_remote(path, recent_info(path))
    return open(path, "rb", buffering=0)


def file_state(path: str) -> tuple[object, ...]:
    """Return a value that changes if the file at a path or an address is changed or replaced. Raises `OSError`."""
    if isinstance(path, Address):
        from medcontract.reading.remote import file_info

        return file_info(path).state
    return state_of(os.stat(path))


def state_of(found: os.stat_result) -> tuple[object, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class SeekableStream(io.RawIOBase):
    """A stream that can be read from any position. Subclasses read from `_at`, and may know their size."""

    def __init__(self, size: int | None = None, at: int = 0) -> None:
        super().__init__()
        self._size = size
        self._at = at

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END and self._size is None:
            raise io.UnsupportedOperation("the size of this stream is not known")
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size or 0}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # any writable buffer
        data = self._next(len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _next(self, size: int) -> bytes:
        """Return at most `size` bytes from the position on; none at the end."""
        raise NotImplementedError


class Watched(SeekableStream):
    """The bytes of a source, hashed if they are read completely."""

    def __init__(self, raw: io.RawIOBase, source: Source) -> None:
        super().__init__()
        self._raw = raw
        self._source = source
        self._hash: _Hash | None = None
        self._hashed = 0
        """How many bytes were hashed."""
        self._written = _last_written(raw)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_SET and self._at == self._hashed < offset <= self._hashed + len(_BOM):
            while self._at < offset and self.readinto(bytearray(offset - self._at)):
                pass  # a byte order mark is skipped, but hashed
        with self._source.reading():
            self._at = self._raw.seek(offset, whence)
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # what a BufferedReader gives
        with self._source.reading():
            length: int = self._raw.readinto(buffer) or 0
        if self._source.watched:
            self._watch(memoryview(buffer)[:length])
        self._at += length
        return length

    def _watch(self, data: memoryview) -> None:
        if self._at == 0:
            import hashlib  # it loads OpenSSL: only where the bytes are watched

            self._hash, self._hashed = hashlib.sha256(), 0
        if self._at != self._hashed or self._hash is None:
            return
        self._hashed += len(data)
        self._hash.update(data)
        if not data:
            self._source.note_digest(self._hash.hexdigest())
            if _last_written(self._raw) != self._written:
                self._source.written_to = True

    def close(self) -> None:
        if not self.closed:
            complete = self._at == self._hashed == self._source.size > 0
            if self._source.watched and complete and not self._raw.closed:  # garbage collection may close it first
                self.readinto(bytearray(1))  # a reader of all bytes need not have reached the end of the file
            self._source.put_back(self._raw)
        super().close()


def _last_written(raw: io.RawIOBase) -> tuple[int, int] | None:
    """Return the size of an open file and when it was last written to; None if it is not known."""
    try:
        state = os.fstat(raw.fileno())
    except OSError:  # it is only a part of a file
        return None
    return state.st_size, state.st_mtime_ns


def unreadable(error: OSError) -> Unreadable:
    hint, usage_error = getattr(error, "hint", None), getattr(error, "usage_error", True)  # of a file at an address
    if isinstance(error, FileNotFoundError):
        from medcontract.reading.folders import missing_file_hint  # rarely needed

        path = error.filename
        hint = hint or missing_file_hint(os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else "")
        return Unreadable(Finding("MC001", "no such file", hint), usage_error=True)
    if isinstance(error, IsADirectoryError):
        return Unreadable(Finding("MC002", "this is a folder, not a file"), usage_error=True)
    reason = (error.strerror or type(error).__name__).lower()
    return Unreadable(Finding("MC003", f"the file cannot be read: {reason}", hint), usage_error)
