"""Splits a large file into slices that can be read at the same time, each like a separate file.

A `.jsonl` is split at line ends, a `.csv` at line ends outside of quotes, a `.json` between two records of its list.
Such borders are guessed: from the first two records, from the number of quotes before them or, for a file at an
address, from the rows after them. The reader of the slice before a wrong border notices it, because the slice does not
end where a record ends. A `.parquet` is split between row groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice
from typing import BinaryIO, cast

import msgspec

from medcontract import cpus
from medcontract.addresses import Address
from medcontract.containers import PARQUET, Container, with_magic
from medcontract.reading.json_file import JsonFile, TooLarge
from medcontract.reading.json_scanner import Broken
from medcontract.reading.slices import Span
from medcontract.reading.source import Source, Unreadable

SMALLEST = 3 << 20
"""The minimum size of a slice, in bytes."""
WORTH_IT = 16 << 20
"""The minimum size of the files, in bytes, for each worker that is started by default: one process reads a small file
in the time that it takes to start workers."""
WORTH_SPAWNING = 1 << 30
"""Like `WORTH_IT`, for workers that cannot be forked, since this process has threads. To start two of them takes a
second of CPU time, in which one process reads 100 to 300 MB of text."""
CELLS_WORTH_SPAWNING = 6_000_000
"""The same for Parquet, in cells of about 0.6 µs each: 6,000,000 take 3.6 seconds, to start a worker 0.8."""
SMALL_RECORD = 256
"""Bytes. To score smaller records is not worth workers by default: to send what is kept of each takes as long."""
_SAMPLE = 64 << 10
LARGEST = 64 << 20
"""The maximum size of a slice, in bytes, apart from the search for a border."""
_ROUNDS = 3
"""Slices per worker, unless they would be too small or too large."""
_BLOCK = 1 << 20
_NEAR_BORDER = 128 << 10
"""Bytes that are requested at a time to find a border in a file at an address."""
_WINDOW = 1 << 20
"""How far, in bytes, a record may be from its place in another file."""
_TRIES = 8
"""How many records, and how many places of each, are tried to find the same record in two files."""


def workers_for(jobs: int | None, size: int) -> int:
    """The number of processes that read files of so many bytes. Without `jobs`: as many as pay off.

    That is on CPUs that nobody else uses, and only for large files: otherwise they would make it slower.
    """
    most = size // (SMALLEST if jobs else WORTH_IT)
    return min(most, jobs or cpus.free()) if most > 1 and jobs != 1 else 1


def workers_to_spawn(sources: Sequence[Source]) -> int:
    """Like `workers_for` without `jobs`, for workers that cannot be forked.

    One for a text at an address that is hashed, too: each byte would be transferred twice.
    """
    tables = [source for source in sources if _is_parquet(source)]
    texts = [source for source in sources if source not in tables]
    if any(source.address and source.watched for source in texts):
        return 1
    size = sum(source.size for source in texts)
    most = size / WORTH_SPAWNING + sum(map(_cells, tables)) / CELLS_WORTH_SPAWNING
    return min(int(most), cpus.free()) if most >= 2 else 1


def _is_parquet(source: Source) -> bool:
    return with_magic(source.head) is PARQUET


def _cells(source: Source) -> int:
    """The number of cells of a Parquet file; 0 if it is damaged."""
    from medcontract.reading.parquet_file import count_cells

    try:
        return count_cells(source)
    except Unreadable:
        return 0


def has_small_records(source: Source) -> bool:
    """Whether the first lines are short, so that to send what is kept of each record takes as long as to read it."""
    if source.path is None or source.packed or _is_parquet(source):
        return False
    with source.reading(), open(source.path, "rb") as stream:
        start = stream.read(_SAMPLE)
    return start.count(b"\n") * SMALL_RECORD > len(start)


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


KeyOf = Callable[[bytes], tuple[str, ...] | None]
"""Returns the key of the record in a line, if it has one."""


def aligned_spans(one: Source, other: Source, workers: int, key_of: KeyOf) -> list[tuple[Span, Span]]:
    """Slices of two `.jsonl` files, of which each pair starts with records of the same key.

    Empty if they are small, or if their records do not seem to have the same order.
    """
    count = _count(one.size + other.size, workers)
    if one.location is None or other.location is None:
        return []
    borders = [(0, 0)]
    with one.reading(), _open(one.location) as first, other.reading(), _open(other.location) as second:
        data, others = _Bytes(first, one.size), _Bytes(second, other.size)
        for number in range(1, count):
            found = _same_record(data, others, number, count, key_of)
            if found is None or found[0] <= borders[-1][0] or found[1] <= borders[-1][1]:
                return []
            borders.append(found)
    ends = [*borders[1:], (one.size, other.size)]
    return [(Span(a, b), Span(c, d)) for (a, c), (b, d) in zip(borders, ends, strict=True)] if count > 1 else []


def _same_record(data: _Bytes, others: _Bytes, number: int, count: int, key_of: KeyOf) -> tuple[int, int] | None:
    """Where two files have lines with the same key, near the given border."""
    at = data.find(b"\n", *_target(data, number, count)) + 1
    start = max(_target(others, number, count)[0] - _WINDOW, 0)
    text = others.between(start, start + 2 * _WINDOW)
    for line in islice(data.lines(at), _TRIES if at else 0):
        if not line.endswith(b"\n"):  # a part of a long line
            return None
        key = key_of(line)
        place = _line_with(key, text, key_of) if key else None
        if place is not None:
            return at, start + place
        at += len(line)
    return None


def _line_with(key: tuple[str, ...], text: bytes, key_of: KeyOf) -> int | None:
    """Where the line with this key starts."""
    wanted = msgspec.json.encode(key[-1])
    at = -1
    for _ in range(_TRIES):
        at = text.find(wanted, at + 1)
        line_at, end = text.rfind(b"\n", 0, max(at, 0)) + 1, text.find(b"\n", at)
        if at < 0 or end < 0:
            return None
        if line_at and key_of(text[line_at:end]) == key:
            return line_at
    return None


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
