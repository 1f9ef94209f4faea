"""The sizes of the pages of a Parquet file, from their headers.

A page is decompressed at once, and only its header gives the decompressed size; the sizes in the footer are purely
informative. So the headers are read before anything is decompressed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

_HEADER_SIZES = (256, 16 << 10, 16 << 20)
"""Bytes to read for a header: most are short, but the statistics in a header contain values."""
_UNPACKED, _PACKED = 2, 3
"""Fields of a header."""
_DEEPEST = 20


class BadHeader(ValueError):
    """Not a valid page header."""


def page_sizes(stream: BinaryIO, metadata: Any, file_size: int, groups: range | None = None) -> Iterator[int]:
    """Yield the decompressed size of each page, of all row groups or of some. Raises `BadHeader`."""
    chunks = [
        metadata.row_group(group).column(column)
        for group in groups or range(metadata.num_row_groups)
        if metadata.row_group(group).num_rows  # one without rows need not have pages, and is not read
        for column in range(metadata.num_columns)
    ]
    if sum(max(0, chunk.total_compressed_size) for chunk in chunks) > 2 * file_size:
        raise BadHeader  # pages would overlap, so that many could share the same bytes
    for chunk in chunks:
        start = chunk.data_page_offset
        if chunk.has_dictionary_page and 0 < (chunk.dictionary_page_offset or 0) < start:
            start = chunk.dictionary_page_offset
        end = min(start + chunk.total_compressed_size, file_size)
        while start < end:
            size, unpacked, packed = _header(stream, start)
            yield unpacked
            start += size + packed


def _header(stream: BinaryIO, start: int) -> tuple[int, int, int]:
    """Return the size of the header at an offset, and the decompressed and compressed size of its page."""
    for length in _HEADER_SIZES:
        stream.seek(start)
        reader = _Reader(stream.read(length))
        try:
            fields = reader.numbers()
        except IndexError:  # the header is longer
            continue
        unpacked, packed = fields.get(_UNPACKED, -1), fields.get(_PACKED, -1)
        if unpacked < 0 or packed < 0:
            break
        return reader.at, unpacked, packed
    raise BadHeader


class _Reader:
    """Reads a struct in Thrift's compact protocol. Raises `IndexError` if the data ends too early."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def numbers(self, depth: int = 0) -> dict[int, int]:
        """Return the numeric fields of a struct, by field id; other fields are skipped."""
        if depth > _DEEPEST:
            raise BadHeader
        found: dict[int, int] = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._number()
            value = self._value(head & 15, depth)
            if value is not None:
                found[field] = value
        return found

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _size(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise BadHeader
        return value | byte << shift

    def _number(self) -> int:
        size = self._size()
        return (size >> 1) ^ -(size & 1)

    def _skip(self, size: int) -> None:
        self.at += size
        if self.at > len(self.data):
            raise IndexError

    def _value(self, kind: int, depth: int) -> int | None:
        """Return the value of a field; None if it is not a number."""
        if kind in (1, 2):  # true, false
            return None
        if kind == 3:
            self._skip(1)
        elif kind in (4, 5, 6):
            return self._number()
        elif kind == 7:
            self._skip(8)
        elif kind == 8:
            self._skip(self._size())
        elif kind in (9, 10):
            self._list(depth)
        elif kind == 12:
            self.numbers(depth + 1)
        else:  # headers have no maps
            raise BadHeader
        return None

    def _list(self, depth: int) -> None:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._size()
        if size > len(self.data):  # each item takes at least one byte
            raise IndexError
        for _ in range(size):
            if head & 15 in (1, 2):
                self._skip(1)
            else:
                self._value(head & 15, depth + 1)
