"""Compressed data as seekable streams.

Decompression starts at the last of the states that were saved on the way, so that reading the end of a large file again
does not decompress all of it again.
"""

from __future__ import annotations

import io
import os
import zlib
from typing import BinaryIO, NamedTuple

from medcontract.problems import Finding
from medcontract.reading.gunzip import Expansion, Gunzip, Unreadable

SPACING = 4 << 20
"""Decompressed bytes between two saved states, each of which takes about 50 KB."""
_FEED = 16 << 10
_KEPT = 2
"""Segments that are kept in memory."""


def damaged(message: str) -> Unreadable:
    return Unreadable(Finding("MC036", message, "create the archive again, and check that it was copied completely"))


class _Seekable(io.RawIOBase):
    """A stream of known size over an open file. Subclasses read from the position `_at`."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        super().__init__()
        self._file = file
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # any writable buffer
        data = self._next(min(len(buffer), max(self._size - self._at, 0)))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _next(self, size: int) -> bytes:
        raise NotImplementedError

    def close(self) -> None:
        self._file.close()
        super().close()


class Window(_Seekable):
    """A part of a file, as it is. `crc`: the checksum of its bytes, checked if they are read in order."""

    def __init__(self, file: BinaryIO, start: int, size: int, crc: int | None = None) -> None:
        super().__init__(file, size)
        self._start = start
        self._expected = crc
        self._checked = 0
        self._crc = 0

    def _next(self, size: int) -> bytes:
        if not size:
            return b""
        self._file.seek(self._start + self._at)
        data = self._file.read(size)
        if not data:
            raise damaged("the archive is truncated")
        if self._expected is not None and self._checked == self._at:
            self._crc = zlib.crc32(data, self._crc)
            self._checked += len(data)
            if self._checked == self._size and self._crc != self._expected:
                raise damaged("the archive is damaged: the checksum of this file differs")
        return data


class Segments(_Seekable):
    """A part of a gzipped archive, read in large segments.

    An archive may contain thousands of small files: those in one segment are decompressed once, not for each file.
    """

    def __init__(self, archive: BinaryIO, start: int, size: int, kept: dict[int, bytes]) -> None:
        super().__init__(archive, size)
        self._start = start
        self._kept = kept

    def _next(self, size: int) -> bytes:
        if not size:
            return b""
        number, at = divmod(self._start + self._at, SPACING)
        data = self._segment(number)[at : at + size]
        if not data:
            raise damaged("the archive is truncated")
        return data

    def _segment(self, number: int) -> bytes:
        if number not in self._kept:
            self._file.seek(number * SPACING)
            segment = bytearray()
            while len(segment) < SPACING and (data := self._file.read(SPACING - len(segment))):
                segment += data
            while len(self._kept) >= _KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[number] = bytes(segment)
        return self._kept[number]


class _State(NamedTuple):
    """Where decompression was interrupted, and everything needed to continue."""

    at: int
    """The position in the decompressed data."""
    packed_at: int
    pending: bytes
    """Compressed bytes that were read but not decompressed yet."""
    decoder: zlib._Decompress
    crc: int


class Inflate(_Seekable):
    """A deflated part of a file. Its size and checksum are known in advance, and checked at its end.

    `most`: the number of bytes that it may decompress to, if they have no lines.
    """

    def __init__(
        self, file: BinaryIO, start: int, packed_size: int, size: int, crc: int, states: list[_State], most: int
    ) -> None:
        super().__init__(file, size)
        self._end = start + packed_size
        self._expected = crc
        self._start = start
        self._states = states
        self._expansion = Expansion(most, "the file")
        self._continue_from(None)

    def _continue_from(self, state: _State | None) -> None:
        """Continue from a state; None for the start."""
        if state is None:
            self._decoder = zlib.decompressobj(-zlib.MAX_WBITS)
            self._position, self._packed_at, self._pending, self._crc = 0, self._start, b"", 0
        else:
            self._position, self._packed_at, self._pending, decoder, self._crc = state
            self._decoder = decoder.copy()

    def _next(self, size: int) -> bytes:
        if not size and self._size:
            return b""
        state = next((state for state in reversed(self._states) if state.at <= self._at), None)
        if self._position > self._at or (state and state.at > self._position):
            self._continue_from(state)
        while self._position < self._at:
            self._decompress(min(self._at - self._position, 1 << 20))
        return self._decompress(size)

    def _decompress(self, size: int) -> bytes:
        """At most `size` bytes, at least one unless the file is empty. Raises `Unreadable`."""
        data = b""
        while not data and self._position < self._size:
            data = self._step(size)
        self._expansion.add(self._position, data)
        self._position += len(data)
        self._crc = zlib.crc32(data, self._crc)
        if self._position == self._size:
            self._check_end()
        elif self._position >= (self._states[-1].at if self._states else 0) + SPACING:
            state = self._decoder.copy()
            self._states.append(_State(self._position, self._packed_at, self._pending, state, self._crc))
        return data

    def _step(self, size: int) -> bytes:
        if self._decoder.eof:
            raise damaged("the archive is damaged: a file is smaller than stated")
        if not self._pending:
            self._file.seek(self._packed_at)
            self._pending = self._file.read(min(_FEED, self._end - self._packed_at))
            self._packed_at += len(self._pending)
        had = self._pending
        try:
            data = self._decoder.decompress(had, size)
        except zlib.error:
            raise damaged("the archive is damaged: a file cannot be decompressed") from None
        self._pending = self._decoder.unconsumed_tail
        if not had and not data and not self._decoder.eof:
            raise damaged("the archive is damaged: a file is truncated")
        return data

    def close(self) -> None:
        if not self.closed:
            self._decoder = zlib.decompressobj(-zlib.MAX_WBITS)  # without the window of 32 KB
        super().close()

    def _check_end(self) -> None:
        while not self._decoder.eof:
            if self._step(1):
                raise damaged("the archive is damaged: a file is larger than stated")
        if self._crc != self._expected:
            raise damaged("the archive is damaged: the checksum of this file differs")


class _GzipState(NamedTuple):
    at: int
    packed_at: int
    pending: bytes
    member: zlib._Decompress | None
    empty: int
    member_at: int


class IndexedGunzip(Gunzip):
    """A gzipped archive that many files are read from."""

    def __init__(self, packed: BinaryIO, limit: int, states: list[_GzipState]) -> None:
        self._states = states
        super().__init__(packed, limit)

    def fileno(self) -> int:
        return self.packed.fileno()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_CUR:
            offset += self._at
        state = next((state for state in reversed(self._states) if state.at <= offset), None)
        if state and (self._at > offset or state.at > self._at):
            self._at, packed_at, self._input, member, self._empty, self._member_at = state
            self._member = member.copy() if member else None
            self.packed.seek(packed_at)
        return super().seek(offset)

    def _read(self, size: int) -> bytes:
        data = super()._read(size)
        packed_at = self.packed.tell()
        if self._at >= (self._states[-1].at if self._states else 0) + SPACING:
            member = self._member.copy() if self._member else None
            self._states.append(_GzipState(self._at, packed_at, self._input, member, self._empty, self._member_at))
        return data
