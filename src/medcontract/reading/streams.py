"""Streams that can be read repeatedly: decompressed data within limits, and copies of input that comes once."""

from __future__ import annotations

import io
import os
import threading
import weakref
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

from medcontract.errors import option, words
from medcontract.problems import Finding
from medcontract.reading.limits import BLOCK, LINE_COST, MAX_RATIO, size_text
from medcontract.reading.source import SeekableStream, Unreadable

_IN_MEMORY = 16 << 20
"""Bytes of a copy that are kept in memory."""


class Decompressed(SeekableStream):
    """What a library decompresses, within limits. Reading further on decompresses, reading backward starts again.

    `most`: the bytes that it may decompress to, of which a line costs some more. Data that is read again counts once.
    """

    def __init__(self, stream: Any, packed: BinaryIO, most: int, what: str, size: int | None = None) -> None:
        super().__init__(size)
        self._stream = stream
        self._packed = packed
        self._most = most
        self._what = what
        self._position = 0
        """Where decompression is; seeking alone, as to find the size, does not move it."""
        self._counted = self._lines = 0

    def fileno(self) -> int:
        return self._packed.fileno()

    def _next(self, size: int) -> bytes:
        if self._at < self._position:
            self._stream.seek(0)
            self._position = 0
        while self._position < self._at:
            if not self._decompress(min(self._at - self._position, BLOCK)):
                return b""
        return self._decompress(size)

    def _decompress(self, size: int) -> bytes:
        try:
            data: bytes = self._stream.read1(size)
        except Exception as error:
            unreadable = self._failure(error)
            if unreadable is None:
                raise
            raise unreadable from None
        if self._position == self._counted:
            self._counted += len(data)
            self._lines += data.count(b"\n") + data.count(b"\r") + data.count(b"{")
            if self._counted + LINE_COST * self._lines > self._most:
                raise too_compressed(self._what, too_large=self._counted > LINE_COST * self._lines)
        self._position += len(data)
        return data

    def _failure(self, error: Exception) -> Unreadable | None:
        """Return what an exception of the library means; None if it is not about the data."""
        raise NotImplementedError

    def close(self) -> None:
        self._packed.close()
        super().close()


class Gunzip(Decompressed):
    """A gzipped file. `limit`: set by the call; `most`: derived from its size."""

    def __init__(self, packed: BinaryIO, limit: int, most: int) -> None:
        from gzip import BadGzipFile, GzipFile  # not needed for most files

        super().__init__(GzipFile(fileobj=packed), packed, most, "the archive")
        self._limit = limit
        self._damage = BadGzipFile, zlib.error

    def _decompress(self, size: int) -> bytes:
        data = super()._decompress(size)
        if self._position > self._limit:
            raise too_large(self._limit)
        return data

    def _failure(self, error: Exception) -> Unreadable | None:
        if isinstance(error, EOFError):
            hint = "check that it was copied or downloaded completely"
            return Unreadable(Finding("MC026", "the gzip archive is truncated", hint))
        if isinstance(error, self._damage):
            return Unreadable(Finding("MC025", "the gzip archive is damaged", "compress the file again"))
        return None


def too_compressed(what: str, too_large: bool = True) -> Unreadable:
    many = f"more than {MAX_RATIO} times its size" if too_large else "too many short lines or objects for its size"
    return Unreadable(Finding("MC027", f"{what} decompresses to {many}", "if this is expected, decompress it first"))


def too_large(limit: int) -> Unreadable:
    return Unreadable(Finding(
        "MC027", f"the archive decompresses to more than {size_text(limit)}",
        words("if this is expected, raise the limit with ", option("--max-unpacked")),
    ))  # fmt: skip


class Copy:
    """All bytes that `read` returns, until there are none: in memory or, if there are many, in a temporary file.

    The file has no name (except on Windows), so that nothing remains of it when the process is killed.
    """

    def __init__(self, read: Callable[[], bytes], most: int) -> None:
        self._file: BinaryIO = io.BytesIO()
        self._lock = threading.Lock()
        self.size = 0
        while piece := read():
            self.size += len(piece)
            if self.size > most:
                raise Unreadable(Finding(
                    "MC027", f"the input is larger than {size_text(most)}",
                    words("raise the limit with ", option("--max-unpacked"), ", or pass a file"),
                ))  # fmt: skip
            if self.size > _IN_MEMORY and isinstance(self._file, io.BytesIO):
                import tempfile  # slow to import, and rarely needed

                held, self._file = self._file, tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the copy
                weakref.finalize(self, self._file.close)
                self._file.write(held.getbuffer())
            self._file.write(piece)
        self._file.flush()

    def open(self) -> io.RawIOBase:
        return _Copied(self)

    def read_at(self, offset: int, size: int) -> bytes:
        """Read without the position of the file, which is shared with other streams and with forked processes."""
        if isinstance(self._file, io.BytesIO):
            return bytes(self._file.getbuffer()[offset : offset + size])
        if hasattr(os, "pread"):
            return os.pread(self._file.fileno(), size, offset)
        with self._lock:  # on Windows, which cannot fork
            self._file.seek(offset)
            return self._file.read(size)


class _Copied(SeekableStream):
    def __init__(self, copy: Copy) -> None:
        super().__init__(copy.size)
        self._copy = copy

    def _next(self, size: int) -> bytes:
        return self._copy.read_at(self._at, size)
