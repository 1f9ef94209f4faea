"""Splits a large file into slices that can be read at the same time, each like a separate file.

A `.jsonl` is split at line ends, a `.csv` at line ends outside of quotes, a `.json` between two records of its list.
Such borders are guessed: from the first two records, from the number of quotes before them or, for a file at an
address, from the rows after them. The reader of the slice before a wrong border notices it, because the slice does not
end where a record ends. A `.parquet` is split between row groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from typing import BinaryIO, cast

import msgspec

from medcontract.addresses import Address
from medcontract.containers import Container
from medcontract.reading.json_file import JsonFile, TooLarge
from medcontract.reading.json_scanner import Broken
from medcontract.reading.slices import Span
from medcontract.reading.source import Source, Unreadable

SMALLEST = 3 << 20
"""The minimum size of a slice, in bytes."""
LARGEST = 64 << 20
"""The maximum size of a slice, in bytes, apart from the search for a border."""
_ROUNDS = 3
"""Slices per worker, unless they would be too small or too large."""
_BLOCK = 1 << 20
_NEAR_BORDER = 128 << 10
"""Bytes that are requested at a time to find a border in a file at an address."""


def spans(source: Source, container: Container, list_key: str | None, workers: int) -> list[Span]:
    """Slices of an uncompressed file for so many workers; one if it is small or cannot be split."""
    whole = [Span(0, source.size)]
    location = source.location
    count = _count(source.size, workers)
    if location is None or source.packed or source.in_archive or count < 2 or container.split is None:
        return whole
    if container.split == "row groups":
        return _between_row_groups(source, count) or whole
    with source.reading(), _open(location) as stream:
        data = _Bytes(stream, source.size)
        if container.split == "records":
            return _between_records(source, data, list_key or "", count) or whole
        if container.split == "lines":
            return _at_line_ends(data, count)
        if isinstance(location, Address):
            return _at_likely_row_ends(data, source.start, count) or whole
        return _at_row_ends(data, source.start, count) or whole


def _open(location: str) -> BinaryIO:
    """A file in which borders are searched."""
    if not isinstance(location, Address):
        return open(location, "rb")
    from medcontract.reading.remote import open_remote

    return cast("BinaryIO", open_remote(location, block=_NEAR_BORDER))  # not buffered: requests stay small


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
        found = bytearray()
        while piece := self._stream.read(max(end - start - len(found), 0)):
            found += piece
        return bytes(found)

    def find(self, wanted: bytes, start: int, stop: int) -> int:
        """The first occurrence from an offset on, or -1. It is not searched far behind `stop`."""
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


def _target(data: _Bytes, number: int, count: int) -> tuple[int, int]:
    """Where a border is searched, and where the next one will be."""
    return len(data) * number // count, len(data) * (number + 1) // count


def _at_line_ends(data: _Bytes, count: int) -> list[Span]:
    borders = [0]
    for number in range(1, count):
        border = data.find(b"\n", *_target(data, number, count)) + 1
        if border > borders[-1]:
            borders.append(border)
    ends = [*borders[1:], len(data)]
    return [Span(a, b) for a, b in zip(borders, ends, strict=True)]


def _at_row_ends(data: _Bytes, start: int, count: int) -> list[Span]:
    """Slices at line ends with an even number of quotes before them: there, no quoted cell is open."""
    header = _header(data, start)
    if not header:
        return []
    borders, at, is_open = [0], 0, False
    for number in range(1, count):
        wanted = max(len(data) * number // count, start + len(header), at)
        is_open ^= data.count_odd(b'"', at, wanted)
        at = wanted
        for line in data.lines(at):
            is_open ^= line.count(b'"') % 2 == 1
            at += len(line)
            if not is_open and line.endswith(b"\n"):
                break
        if borders[-1] < at < len(data):
            borders.append(at)
    return _rows_between(borders, data, header)


def _at_likely_row_ends(data: _Bytes, start: int, count: int) -> list[Span]:
    """Like `_at_row_ends`, without reading what is before the line ends."""
    header = _header(data, start)
    if not header:
        return []
    borders = [0]
    for number in range(1, count):
        at = max(len(data) * number // count, start + len(header))
        border = at + likely_row_end(data.between(at, at + _NEAR_BORDER), header.count(b","))
        if max(at, borders[-1]) < border < len(data):
            borders.append(border)
    return _rows_between(borders, data, header)


def likely_row_end(text: bytes, commas: int) -> int:
    """The end of the first row that ends in a part of a table, or 0. The part may start in a quoted cell.

    If it does, rows have the right number of commas only when they are read so.
    """
    _, _, end = max((_right_rows(text, is_open, commas) for is_open in (False, True)), key=lambda found: found[:2])
    return end


def _right_rows(text: bytes, is_open: bool, commas: int) -> tuple[float, bool, int]:
    """The share of complete rows with so many commas, whether no cell is open at the start, and the first row's end."""
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
    """The first line; empty if it is unusual."""
    end = data.find(b"\n", start, len(data))
    header = data.between(start, end + 1)
    usual = end >= 0 and header.strip() and b'"' not in header and b"\r" not in header[:-2]
    return header if usual else b""


def _rows_between(borders: Sequence[int], data: _Bytes, header: bytes) -> list[Span]:
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
    """What separates the first two records, up to the first key of the second: `}, {"case_id"`."""
    file = JsonFile(source, list_key, lambda raw: None)
    try:
        first, second = islice(file.records(), 2)
    except (Broken, TooLarge, ValueError):
        return None
    end, start = first[1] + len(first[0]), second[1]
    key = second[0].find(b'"', second[0].find(b'"') + 1) + 1
    return data.between(end - 1, start + key) if second[0].startswith(b"{") and key > 0 else None


def _between_row_groups(source: Source, count: int) -> list[Span]:
    from medcontract.reading.parquet_file import row_groups

    try:
        groups = row_groups(source)
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
