"""Splits a large file into slices that can be read at the same time, each like a separate file.

A `.jsonl` is split at line ends, a `.csv` at line ends outside of quotes, a `.json` between two records of its list.
Such borders are guessed: from the first two records, or from the rows after them. The reader of the slice before a
wrong border notices it, because the slice does not end where a record ends. A `.parquet` is split between row groups.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from itertools import accumulate, islice
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import msgspec

from medcontract.containers import Container
from medcontract.reading.json_stream import JsonFile
from medcontract.reading.limits import Limits
from medcontract.reading.located_records import Broken, TooLarge
from medcontract.reading.source import SeekableStream, Source, Unreadable, Watched

if TYPE_CHECKING:
    import hashlib

SMALLEST = 3 << 20
"""The minimum size of a slice, in bytes."""
LARGEST = 64 << 20
"""The maximum size of a slice, in bytes, apart from the search for a border."""
_ROUNDS = 3
"""Slices per worker, unless they would be too small or too large."""
_BLOCK = 1 << 20
_NEAR_BORDER = 128 << 10
"""Bytes that are searched for the border between two rows, and that one request to an address asks for."""


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


def spans(source: Source, container: Container, list_key: str | None, workers: int) -> list[Span]:
    """Return slices of an uncompressed file for `workers` processes; one if it is small or cannot be split."""
    whole = [Span(0, source.size)]
    count = _count(source.size, workers)
    if source.location is None or source.packed or source.in_archive or count < 2 or container.split is None:
        return whole
    if container.split == "row groups":
        return _between_row_groups(source, count) or whole
    with source.reading(), source.open_raw(block=_NEAR_BORDER) as stream:
        data = _Bytes(stream, source.size)
        if container.split == "records":
            return _between_records(source, data, list_key or "", count) or whole
        if container.split == "lines":
            return _at_line_ends(data, count)
        return _at_row_ends(data, source.start, count) or whole


def _count(size: int, workers: int) -> int:
    """Return the number of slices: the same for each worker, and several, so that all end at about the same time."""
    possible = size // SMALLEST
    rounds = min(max(_ROUNDS, math.ceil(size / (LARGEST * workers))), possible // workers)
    return workers * rounds if rounds else possible


class _Bytes:
    """The bytes of a file, without mmap: truncating a mapped file would kill the process."""

    def __init__(self, stream: io.RawIOBase, size: int) -> None:
        self._stream = stream
        self._size = size

    def __len__(self) -> int:
        return self._size

    def between(self, start: int, end: int) -> bytes:
        self._stream.seek(start)
        found = bytearray()
        while piece := self._stream.read(max(end - start - len(found), 0)):
            found += piece
        return bytes(found)

    def find(self, wanted: bytes, start: int, stop: int) -> int:
        """Find the first occurrence from an offset on, or -1. It is not searched far behind `stop`."""
        self._stream.seek(start)
        rest = b""
        while start < stop and (block := self._stream.read(_BLOCK)):
            text = rest + block
            at = text.find(wanted)
            if at >= 0:
                return start + at
            rest = text[max(len(text) - len(wanted) + 1, 0) :]
            start += len(text) - len(rest)
        return -1


def _target(data: _Bytes, number: int, count: int) -> tuple[int, int]:
    """Return where a border is searched, and where the next one will be."""
    return len(data) * number // count, len(data) * (number + 1) // count


def _at_line_ends(data: _Bytes, count: int) -> list[Span]:
    borders = [0]
    for number in range(1, count):
        border = data.find(b"\n", *_target(data, number, count)) + 1
        if border > borders[-1]:
            borders.append(border)
    return _between(borders, data)


def _at_row_ends(data: _Bytes, start: int, count: int) -> list[Span]:
    """Return slices that probably end where a row ends. Nothing is read of what is before these places."""
    header = _header(data, start)
    if not header:
        return []
    borders = [0]
    for number in range(1, count):
        at = max(len(data) * number // count, start + len(header))
        border = at + likely_row_end(data.between(at, at + _NEAR_BORDER), header.count(b","))
        if max(at, borders[-1]) < border < len(data):
            borders.append(border)
    return _between(borders, data, header)


def likely_row_end(text: bytes, commas: int) -> int:
    """Return the end of the first row that ends in a part of a table, or 0. The part may start in a quoted cell.

    If it does, rows have the right number of commas only when they are read so.
    """
    _, _, end = max((_right_rows(text, is_open, commas) for is_open in (False, True)), key=lambda found: found[:2])
    return end


def _right_rows(text: bytes, is_open: bool, commas: int) -> tuple[float, bool, int]:
    """Return the share of rows with `commas` commas, whether no cell is open at the start, and the first row's end."""
    starts_open, right = is_open, 0
    ends: list[int] = []
    at = row_at = 0
    for line in text.splitlines(keepends=True):
        is_open ^= line.count(b'"') % 2 == 1
        at += len(line)
        if is_open or not line.endswith(b"\n"):
            continue
        if ends:
            unquoted = b"".join(text[row_at:at].split(b'"')[::2])
            right += unquoted.count(b",") == commas
        ends.append(at)
        row_at = at
    return right / max(len(ends) - 1, 1), not starts_open, ends[0] if ends else 0


def _header(data: _Bytes, start: int) -> bytes:
    """Return the first line; empty if it is unusual."""
    end = data.find(b"\n", start, len(data))
    header = data.between(start, end + 1)
    usual = end >= 0 and header.strip() and b'"' not in header and b"\r" not in header[:-2]
    return header if usual else b""


def _between(borders: Sequence[int], data: _Bytes, header: bytes = b"") -> list[Span]:
    ends = [*borders[1:], len(data)]
    return [Span(a, b, header if a else b"") for a, b in zip(borders, ends, strict=True)]


def _between_records(source: Source, data: _Bytes, list_key: str, count: int) -> list[Span]:
    border = _border(source, data, list_key)
    if border is None:
        return []
    found: list[tuple[int, int]] = []
    """The end of a record, and the start of the next one."""
    for number in range(1, count):
        at = data.find(border, *_target(data, number, count))
        if at >= 0 and (not found or at >= found[-1][1]):
            found.append((at + 1, at + border.index(b"{", 1)))
    prefix = b"{" + msgspec.json.encode(list_key) + b":["
    starts = [(0, b""), *((start, prefix) for _, start in found)]
    ends = [*((end, b"]}") for end, _ in found), (len(data), b"")]
    return [Span(start, end, before, after) for (start, before), (end, after) in zip(starts, ends, strict=True)]


def _border(source: Source, data: _Bytes, list_key: str) -> bytes | None:
    """Return what separates the first two records, up to the first key of the second: `}, {"case_id"`."""
    file = JsonFile(source, list_key, lambda raw: None)
    try:
        first, second = islice(file.records(), 2)
    except (Broken, TooLarge, ValueError):
        return None
    end, start, raw = first.offset + len(first.raw), second.offset, second.raw
    key = raw.find(b'"', raw.find(b'"') + 1) + 1
    return data.between(end - 1, start + key) if raw.startswith(b"{") and key > 0 else None


def _between_row_groups(source: Source, count: int) -> list[Span]:
    from medcontract.reading.parquet import layout

    try:
        groups = layout(source).groups
    except Unreadable:
        return []
    borders = [0]
    """The first row group of each slice."""
    total, done = sum(group.size for group in groups), 0
    if total > 2 * source.size:  # pages overlap, which `page_sizes` rejects
        return []
    for number, group in enumerate(groups):
        if number > borders[-1] and done >= total * len(borders) // count:
            borders.append(number)
        done += group.size
    firsts = [0, *(groups[border].start for border in borders[1:])]
    if len(borders) < 2 or firsts != sorted(set(firsts)) or firsts[-1] >= source.size:  # groups in an unusual order
        return []
    rows = list(accumulate((group.rows for group in groups), initial=0))
    lasts = [*borders[1:], len(groups)]
    ends = [*firsts[1:], source.size]
    return [
        Span(start, end, groups=(first, last), rows_before=rows[first])
        for start, end, first, last in zip(firsts, ends, borders, lasts, strict=True)
    ]


def hash_slices(stream: BinaryIO, cuts: Sequence[Span]) -> tuple[str, list[str]] | None:
    """Return the hash of a file, and of each slice as a file; None if the slices do not add up to the file."""
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

    def _as_it_is(self) -> BinaryIO:
        with self.reading():
            spliced = _Spliced(self.open_raw(self._span.start, self._span.end), self._span)
            return io.BufferedReader(Watched(spliced, self), 1 << 18)


class RowGroups(Source):
    """Some row groups of a Parquet file."""

    def __init__(self, path: str, name: str, span: Span, limits: Limits) -> None:
        super().__init__(path, name, limits)
        self._span = span
        self.row_groups = range(*span.groups) if span.groups else None

    def sha256(self) -> str:
        """Return the hash of its part of the file; empty for a file at an address, whose version is known."""
        if self.version is not None:
            return ""
        with self.reading(), open(self._path, "rb") as stream:
            stream.seek(self._span.start)
            import hashlib

            found = hashlib.sha256()
            _hash_up_to(self._span.end, stream, found)
        return found.hexdigest()


class _Spliced(SeekableStream):
    """A range of a file, with bytes added before and after it."""

    def __init__(self, stream: io.RawIOBase, span: Span) -> None:
        self._middle = len(span.prefix) + span.end - span.start
        super().__init__(self._middle + len(span.suffix))
        self._stream = stream
        self._span = span

    def _next(self, length: int) -> bytes:
        span, at = self._span, self._at
        if at < len(span.prefix):
            return span.prefix[at : at + length]
        if at < self._middle:
            self._stream.seek(span.shift + at)
            return self._stream.read(min(length, self._middle - at)) or b""
        return span.suffix[at - self._middle : at - self._middle + length]

    def close(self) -> None:
        self._stream.close()
        super().close()
