"""Splits a large file into slices for worker processes: each slice can be read like a separate file.

A `.jsonl` and a `.csv` without quotes are split at line ends, a `.json` between two records of its list. Such borders
are guessed from the first two records; a wrong guess makes a slice that is not valid JSON, which its reader detects.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Sequence
from itertools import islice
from typing import BinaryIO, NamedTuple

import msgspec

from medcontract.containers import Container
from medcontract.reading.json_file import JsonFile, TooLarge
from medcontract.reading.json_scanner import Broken
from medcontract.reading.limits import Limits
from medcontract.reading.source import Source, Watched

SMALLEST = 4 << 20
"""The minimum size of a slice, in bytes: less is not worth starting a worker."""
_BLOCK = 1 << 20


class Span(NamedTuple):
    """A slice of a file: its bytes from `start` to `end`, and what makes them a complete file before and after."""

    start: int
    end: int
    prefix: bytes = b""
    suffix: bytes = b""

    @property
    def shift(self) -> int:
        """Convert an offset in the slice to one in the file."""
        return self.start - len(self.prefix)


def spans(source: Source, container: Container, list_key: str | None, count: int) -> list[Span]:
    """At most `count` slices of an uncompressed file; one if it is small or cannot be split."""
    whole = [Span(0, source.size)]
    path = source.path
    count = min(count, source.size // SMALLEST)
    if path is None or source.packed or count < 2 or container.split is None:
        return whole
    with source.reading(), open(path, "rb") as stream:
        data = _Bytes(stream, source.size)
        if container.split == "records":
            return _between_records(source, data, list_key or "", count) or whole
        if container.split == "rows" and (data.find(b'"') >= 0 or data.find(b"\r") >= 0):
            return whole  # a line end may be inside a cell
        return _at_line_ends(data, container.split == "rows", source.start, count) or whole


class _Bytes:
    """The bytes of a file, without mmap: truncating a mapped file would kill the process."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream = stream
        self._size = size

    def __len__(self) -> int:
        return self._size

    def between(self, start: int, end: int) -> bytes:
        self._stream.seek(start)
        return self._stream.read(max(end - start, 0))

    def find(self, wanted: bytes, start: int = 0) -> int:
        """The first occurrence from an offset on, or -1."""
        self._stream.seek(start)
        rest = b""
        while block := self._stream.read(_BLOCK):
            text = rest + block
            at = text.find(wanted)
            if at >= 0:
                return start + at
            rest = text[max(len(text) - len(wanted) + 1, 0) :]
            start += len(text) - len(rest)
        return -1


def _at_line_ends(data: _Bytes, is_table: bool, start: int, count: int) -> list[Span]:
    prefix = b""
    if is_table:
        end = data.find(b"\n", start)
        prefix = data.between(start, end + 1)
        if end < 0 or not prefix.strip():  # a header after blank lines
            return []
    borders = [0]
    for number in range(1, count):
        border = data.find(b"\n", len(data) * number // count) + 1
        if border > max(borders[-1], start + len(prefix)):
            borders.append(border)
    ends = [*borders[1:], len(data)]
    return [Span(a, b, prefix if a else b"") for a, b in zip(borders, ends, strict=True)]


def _between_records(source: Source, data: _Bytes, list_key: str, count: int) -> list[Span]:
    border = _border(source, data, list_key)
    if border is None:
        return []
    found: list[tuple[int, int]] = []
    """The end of a record, and the start of the next one."""
    for number in range(1, count):
        at = data.find(border, len(data) * number // count)
        if at >= 0 and (not found or at >= found[-1][1]):
            found.append((at + 1, at + border.index(b"{", 1)))
    prefix = b"{" + msgspec.json.encode(list_key) + b":["
    starts = [(0, b""), *((start, prefix) for _, start in found)]
    ends = [*((end, b"]}") for end, _ in found), (len(data), b"")]
    return [Span(start, end, before, after) for (start, before), (end, after) in zip(starts, ends, strict=True)]


def _border(source: Source, data: _Bytes, list_key: str) -> bytes | None:
    """What separates the first two records, up to the first key of the second: `}, {"case_id"`."""
    file = JsonFile(source, list_key, lambda raw: None)
    try:
        first, second = islice(file.records(), 2)
    except (Broken, TooLarge, ValueError):
        return None
    end, start = first[1] + len(first[0]), second[1]
    key = second[0].find(b'"', second[0].find(b'"') + 1) + 1
    return data.between(end - 1, start + key) if second[0].startswith(b"{") and key > 0 else None


def same_bytes(source: Source, cuts: Sequence[Span], digests: Sequence[str]) -> bool:
    """Whether slices with these hashes add up to the file, whose hash is then recorded."""
    whole = hashlib.sha256()
    with source.reading(), open(source.path or "", "rb") as stream:
        for span, digest in zip(cuts, digests, strict=True):
            between = stream.read(span.start - stream.tell())
            whole.update(between)
            part = hashlib.sha256(span.prefix)
            _hash_up_to(span.end, stream, whole, part)
            part.update(span.suffix)
            if part.hexdigest() != digest or between.strip() not in (b"", b","):
                return False
        if stream.read(1):
            return False
    source.note_digest(whole.hexdigest())
    return True


def _hash_up_to(end: int, stream: BinaryIO, *hashes: hashlib._Hash) -> None:
    while block := stream.read(max(min(end - stream.tell(), _BLOCK), 0)):
        for each in hashes:
            each.update(block)


class Slice(Source):
    """One slice of a file, readable like a file."""

    def __init__(self, path: str, name: str, span: Span, limits: Limits) -> None:
        super().__init__(path, name, limits)
        self._span = span
        self.watched = True

    def open(self) -> BinaryIO:
        with self.reading():
            return io.BufferedReader(Watched(_Spliced(open(self._path, "rb"), self._span), self), 1 << 18)


class _Spliced(io.RawIOBase):
    """A range of a file, with bytes added before and after it."""

    def __init__(self, stream: BinaryIO, span: Span) -> None:
        self._stream = stream
        self._span = span
        self._at = 0
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
            return self._stream.read(min(length, self._middle - at))
        return span.suffix[at - self._middle : at - self._middle + length]

    def close(self) -> None:
        self._stream.close()
        super().close()
