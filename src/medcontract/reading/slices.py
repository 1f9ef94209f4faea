"""Slices of a file, each readable like a separate file (`reading/chunks.py` decides where they start and end)."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from medcontract.reading.limits import Limits
from medcontract.reading.line_index import line_breaks
from medcontract.reading.source import Source, Watched

if TYPE_CHECKING:
    import hashlib

_BLOCK = 1 << 20


class Span(NamedTuple):
    """A slice of a file: its bytes from `start` to `end`, and what makes them a complete file before and after."""

    start: int
    end: int
    prefix: bytes = b""
    suffix: bytes = b""
    groups: tuple[int, int] | None = None
    """For Parquet: the first row group, and the one after the last."""
    rows_before: int = 0
    """For Parquet: the number of rows before these row groups."""

    @property
    def shift(self) -> int:
        """Convert an offset in the slice to one in the file. The offset of a row in a Parquet file is its number."""
        return self.rows_before if self.groups else self.start - len(self.prefix)


def hash_slices(stream: BinaryIO, cuts: Sequence[Span]) -> tuple[str, list[str]] | None:
    """The hash of a file, and that of each slice as a file. None if the slices do not add up to the file."""
    import hashlib  # it loads OpenSSL: only where the bytes are watched

    whole = hashlib.sha256()
    digests: list[str] = []
    for span in cuts:
        between = stream.read(span.start - stream.tell())
        whole.update(between)
        if between.strip() not in (b"", b","):
            return None
        part = hashlib.sha256(span.prefix)
        _hash_up_to(span.end, stream, whole, part)
        part.update(span.suffix)
        digests.append(part.hexdigest())
    return None if stream.read(1) else (whole.hexdigest(), digests)


def _hash_up_to(end: int, stream: BinaryIO, *hashes: hashlib._Hash) -> None:
    while block := stream.read(max(min(end - stream.tell(), _BLOCK), 0)):
        for each in hashes:
            each.update(block)


class Slice(Source):
    """One slice of a file, readable like a file."""

    def __init__(self, path: str, name: str, span: Span, limits: Limits) -> None:
        super().__init__(path, name, limits)
        self._span = span
        self.counts_breaks = False
        """Whether to count line breaks while reading."""
        self._breaks: int | None = None

    def count_breaks(self) -> int:
        """The number of line breaks (LF, CRLF or CR) between its borders, as `CsvFile` counts lines."""
        if self._breaks is None:  # it was not read completely
            self.counts_breaks = True
            with self.open() as stream:
                while stream.read(_BLOCK):
                    pass
        return self._breaks or 0

    def note_breaks(self, count: int) -> None:
        self._breaks = count

    def _as_it_is(self) -> BinaryIO:
        with self.reading():
            spliced = _Spliced(self._raw(self._span.start, self._span.end), self._span)
            spliced.counts_for = self if self.counts_breaks else None
            return io.BufferedReader(Watched(spliced, self), 1 << 18)


class RowGroups(Source):
    """Some row groups of a Parquet file."""

    def __init__(self, path: str, name: str, span: Span, limits: Limits) -> None:
        super().__init__(path, name, limits)
        self._span = span
        self.row_groups = range(*span.groups) if span.groups else None

    def sha256(self) -> str:
        """The hash of its part of the file. Empty for a file at an address, whose version is known."""
        if self.version is not None:
            return ""
        with self.reading(), open(self._path, "rb") as stream:
            stream.seek(self._span.start)
            import hashlib

            found = hashlib.sha256()
            _hash_up_to(self._span.end, stream, found)
        return found.hexdigest()


class _Spliced(io.RawIOBase):
    """A range of a file, with bytes added before and after it."""

    counts_for: Slice | None = None
    """To which the number of line breaks is reported, if the range is read completely and in order."""

    def __init__(self, stream: io.RawIOBase, span: Span) -> None:
        self._stream = stream
        self._span = span
        self._at = 0
        self._breaks = 0
        self._counted = len(span.prefix)
        """How far line breaks were counted."""
        self._half = False
        """Whether the last byte that was counted may be the first half of a CRLF."""
        self._middle = len(span.prefix) + span.end - span.start
        self._size = self._middle + len(span.suffix)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # as in BufferedReader
        data = self._piece(len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _piece(self, length: int) -> bytes:
        span, at = self._span, self._at
        if at < len(span.prefix):
            return span.prefix[at : at + length]
        if at < self._middle:
            self._stream.seek(span.shift + at)
            data: bytes = self._stream.read(min(length, self._middle - at)) or b""
            if self.counts_for and at == self._counted:
                self._count(data)
            return data
        return span.suffix[at - self._middle : at - self._middle + length]

    def _count(self, data: bytes) -> None:
        self._breaks += line_breaks(data) - (self._half and data.startswith(b"\n"))
        self._half = data.endswith(b"\r")
        self._counted += len(data)
        if self._counted == self._middle and self.counts_for:
            self.counts_for.note_breaks(self._breaks)

    def close(self) -> None:
        self._stream.close()
        super().close()
