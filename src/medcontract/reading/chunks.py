"""Splits a large file into slices that can be read at the same time, each like a separate file.

A `.jsonl` is split at line ends, a `.csv` at line ends outside of quotes, a `.json` between two records of its list.
Such borders are guessed: from the first two records, or from the number of quotes before them. The reader of the slice
before a wrong border notices it, because the slice does not end where a record ends.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import msgspec

from medcontract import cpus
from medcontract.containers import Container
from medcontract.reading.json_file import JsonFile, TooLarge
from medcontract.reading.json_scanner import Broken
from medcontract.reading.limits import Limits
from medcontract.reading.source import Source, Watched

if TYPE_CHECKING:
    import hashlib

SMALLEST = 3 << 20
"""The minimum size of a slice, in bytes."""
WORTH_IT = 16 << 20
"""The minimum size of the files, in bytes, for each worker that is started by default: one process reads a small file
in the time that it takes to start workers."""
LARGEST = 64 << 20
"""The maximum size of a slice, in bytes, apart from the search for a border."""
_ROUNDS = 3
"""Slices per worker, unless they would be too small or too large."""
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


def workers_for(jobs: int | None, size: int) -> int:
    """The number of processes that read files of so many bytes. Without `jobs`: as many as pay off.

    That is on CPUs that nobody else uses, and only for large files: otherwise they would make it slower.
    """
    most = size // (SMALLEST if jobs else WORTH_IT)
    return min(most, jobs or cpus.free()) if most > 1 and jobs != 1 else 1


def spans(source: Source, container: Container, list_key: str | None, workers: int) -> list[Span]:
    """Slices of an uncompressed file for so many workers; one if it is small or cannot be split."""
    whole = [Span(0, source.size)]
    path = source.path
    count = _count(source.size, workers)
    if path is None or source.packed or count < 2 or container.split is None:
        return whole
    with source.reading(), open(path, "rb") as stream:
        data = _Bytes(stream, source.size)
        if container.split == "records":
            return _between_records(source, data, list_key or "", count) or whole
        if container.split == "rows":
            return _at_row_ends(data, source.start, count) or whole
        return _at_line_ends(data, count)


def _count(size: int, workers: int) -> int:
    """The number of slices: the same for each worker, and more than one, so that all end at about the same time."""
    possible = size // SMALLEST
    rounds = min(max(_ROUNDS, math.ceil(size / (LARGEST * workers))), possible // workers)
    return workers * rounds if rounds else possible


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

    def count_odd(self, wanted: bytes, start: int, end: int) -> bool:
        """Whether a byte occurs an odd number of times."""
        self._stream.seek(start)
        count = 0
        while start < end and (block := self._stream.read(min(_BLOCK, end - start))):
            count += block.count(wanted)
            start += len(block)
        return count % 2 == 1

    def lines(self, start: int) -> Iterator[bytes]:
        """Lines with their endings, or parts of long ones."""
        self._stream.seek(start)
        while line := self._stream.readline(_BLOCK):
            yield line


def _at_line_ends(data: _Bytes, count: int) -> list[Span]:
    borders = [0]
    for number in range(1, count):
        border = data.find(b"\n", len(data) * number // count) + 1
        if border > borders[-1]:
            borders.append(border)
    ends = [*borders[1:], len(data)]
    return [Span(a, b) for a, b in zip(borders, ends, strict=True)]


def _at_row_ends(data: _Bytes, start: int, count: int) -> list[Span]:
    """Slices at line ends with an even number of quotes before them: there, no quoted cell is open."""
    end = data.find(b"\n", start)
    header = data.between(start, end + 1)
    if end < 0 or not header.strip() or b'"' in header or b"\r" in header[:-2]:  # an unusual header
        return []
    borders, at, is_open = [0], 0, False
    for number in range(1, count):
        wanted = max(len(data) * number // count, end + 1, at)
        is_open ^= data.count_odd(b'"', at, wanted)
        at = wanted
        for line in data.lines(at):
            is_open ^= line.count(b'"') % 2 == 1
            at += len(line)
            if not is_open and line.endswith(b"\n"):
                break
        if borders[-1] < at < len(data):
            borders.append(at)
    ends = [*borders[1:], len(data)]
    return [Span(a, b, header if a else b"") for a, b in zip(borders, ends, strict=True)]


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


def line_breaks(text: bytes) -> int:
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


class Slice(Source):
    """One slice of a file, readable like a file."""

    def __init__(self, path: str, name: str, span: Span, limits: Limits) -> None:
        super().__init__(path, name, limits)
        self._span = span

    def count_breaks(self) -> int:
        """The number of line breaks (LF, CRLF or CR) between its borders, as `CsvFile` counts lines."""
        count, at = 0, self._span.start
        with self.reading(), open(self._path, "rb") as stream:
            stream.seek(at)
            half = False
            while block := stream.read(min(_BLOCK, self._span.end - at)):
                at += len(block)
                count += line_breaks(block) - (half and block.startswith(b"\n"))
                half = block.endswith(b"\r")
        return count

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
