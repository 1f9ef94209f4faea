"""A Parquet file as a stream of rows, within limits.

Its encodings store repeated values in almost no space, so a file of some kilobytes may decode to gigabytes. Texts
are therefore read as a dictionary with indexes, and their size is computed before they are expanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

from medcontract.errors import option, words
from medcontract.isolated import Crashed, Parser, run_isolated
from medcontract.problems import Finding
from medcontract.reading.csv_rows import too_wide
from medcontract.reading.limits import MAX_DOCUMENT, MAX_MEMBERS, Limits, size_text
from medcontract.reading.source import Source, Unreadable

_BATCH = 8192
_NESTED_BATCH = 16
"""Rows per batch of a table with lists or objects, whose size is unknown before they are read."""
_AT_ONCE = 4 << 20
"""Bytes of rows that are expanded at a time."""
_LARGE_GROUP = 64 << 20
"""Beyond this size of a row group in bytes, fewer rows are read at a time."""
_PANDAS_INDEX = re.compile(r"__index_level_[0-9]+__")
"""The column that pandas writes for an unnamed index; ignored, like the index of a DataFrame."""


class RowGroup(NamedTuple):
    """A part of a Parquet file."""

    rows: int
    start: int
    """The offset of its first page."""
    size: int
    """Its bytes in the file."""


class Layout(NamedTuple):
    """What the footer of a Parquet file says."""

    columns: list[str]
    groups: list[RowGroup]


def layout(source: Source) -> Layout:
    """Return columns and row groups. Raises `Unreadable` if the file is damaged, `ImportError` without pyarrow."""
    found: Layout = next(_isolated(_read_layout, source))
    return found


def _read_layout(stream: BinaryIO) -> Iterator[Layout]:
    file = _open(stream)
    groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
    yield Layout(list(_columns(file).values()), list(map(_row_group, groups)))


def _row_group(group: Any) -> RowGroup:
    columns = [group.column(place) for place in range(group.num_columns)]
    offsets = [each for column in columns for each in (column.data_page_offset, column.dictionary_page_offset) if each]
    size = sum(max(0, column.total_compressed_size) for column in columns)
    return RowGroup(group.num_rows, min(offsets, default=0), size)


def rows(source: Source) -> Iterator[tuple[Any, ...] | None]:
    """Yield the rows of a Parquet file; None for a row beyond the size limit of a record. Raises `Unreadable`."""
    for columns in blocks(source):
        yield from (None,) if columns is None else zip(*columns, strict=True)


def blocks(source: Source) -> Iterator[list[list[Any]] | None]:
    """Yield the cells of each column, for some rows of a Parquet file, or of `source.row_groups`, at a time.

    None for a row beyond the size limit of a record. At most one row group is in memory at a time. Raises `Unreadable`.
    """
    source.unpacked = 0
    for block in _isolated(_read_blocks, source, source.size, source.limits, source.row_groups):
        if isinstance(block, int):
            source.unpacked += block
        else:
            yield block


def _isolated(parse: Parser, source: Source, *arguments: Any) -> Iterator[Any]:
    """Parse a file in another process: pyarrow crashes on some damaged files. Raises `Unreadable`."""
    try:
        with source.open() as stream:
            yield from run_isolated(parse, stream, *arguments)
    except Crashed:
        hint = "write it again, with another program or version"
        raise Unreadable(Finding("MC034", "the Parquet reader crashed on this file", hint)) from None


def _read_blocks(stream: BinaryIO, size: int, limits: Limits, groups: range | None) -> Iterator[Any]:
    """Yield blocks as in `blocks`, and before them the decompressed size of their pages."""
    import pyarrow as pa

    try:
        yield from _blocks(stream, size, limits, groups)
    except (pa.ArrowException, OSError, ValueError, OverflowError):  # the last: a time that Python cannot represent
        raise Unreadable(_damaged()) from None


def _blocks(stream: BinaryIO, size: int, limits: Limits, groups: range | None) -> Iterator[Any]:
    file = _open(stream)
    check_size(limits, _announced(file))
    _check_values(file, limits)
    if groups is None:
        yield _check_pages(stream, file, size, limits, range(file.num_row_groups))
    places = list(_columns(file))  # by position: a name may occur twice
    file = _open(stream, [field.name for field in file.schema_arrow if _is_text(field.type)])
    for number in groups or range(file.num_row_groups):
        if not file.metadata.row_group(number).num_rows:
            continue
        if groups is not None:  # one by one, so that the same bytes are not requested twice
            yield _check_pages(stream, file, size, limits, range(number, number + 1))
        for batch in file.iter_batches(batch_size=_batch_size(file, number), row_groups=[number]):
            yield from _blocks_of([batch.column(place) for place in places], limits.record)


def check_size(limits: Limits, size: int) -> None:
    """Raise `Unreadable` if a file decompresses to more than the limit."""
    if size > limits.unpacked:
        raise Unreadable(Finding(
            "MC027", f"the file decompresses to more than {size_text(limits.unpacked)}",
            words("if this is expected, raise the limit with ", option("--max-unpacked")),
        ))  # fmt: skip


def _announced(file: Any) -> int:
    """Return the minimum size of the rows according to the file: their encoded bytes, or one byte per cell."""
    metadata = file.metadata
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    encoded = sum(max(group.total_byte_size, group.num_rows * group.num_columns) for group in groups)
    least: int = max(encoded, metadata.num_rows * metadata.num_columns)
    return least


def _check_values(file: Any, limits: Limits) -> None:
    """Raise `Unreadable` if a row group has more values in a column than a record may have bytes.

    A list is read at once, and many equal values take almost no space in a file.
    """
    metadata = file.metadata
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        most = max(limits.record, group.num_rows)
        if any(group.column(place).num_values > most for place in range(group.num_columns)):
            raise Unreadable(Finding(
                "MC027", f"a list column has more than {most:,} values in one row group",
                "write one value per cell (no contract has lists in tables), or smaller row groups",
            ))  # fmt: skip


def _check_pages(stream: BinaryIO, file: Any, file_size: int, limits: Limits, groups: range) -> int:
    """Return the size of the decompressed pages. Raises `Unreadable` if they, or a single one, are beyond the limit."""
    total = 0
    try:
        for size in page_sizes(stream, file.metadata, file_size, groups):
            total += size
            check_size(limits, total)
            if size > MAX_DOCUMENT:
                raise Unreadable(Finding(
                    "MC027", f"a page of the file decompresses to more than {size_text(MAX_DOCUMENT)}",
                    "write it with smaller pages (in pyarrow: data_page_size, write_batch_size)",
                ))  # fmt: skip
    except BadHeader:
        raise Unreadable(_damaged()) from None
    return total


def _batch_size(file: Any, number: int) -> int:
    if any(_is_nested(field.type) for field in file.schema_arrow):
        return _NESTED_BATCH
    encoded = max(1, file.metadata.row_group(number).total_byte_size)
    rows: int = min(_BATCH, _BATCH * _LARGE_GROUP // encoded)
    return max(1, rows)


def _blocks_of(columns: Sequence[Any], limit: int) -> Iterator[list[list[Any]] | None]:
    """Yield the cells of a batch, some rows at a time."""
    sizes = _sizes(columns)
    start = 0
    while start < len(sizes):
        if sizes[start] > limit:
            yield None
            start += 1
            continue
        end, total = start + 1, sizes[start]
        while end < len(sizes) and sizes[end] <= limit and total + sizes[end] <= _AT_ONCE:
            total += sizes[end]
            end += 1
        yield [_values(column.slice(start, end - start)) for column in columns]
        start = end


def _sizes(columns: Sequence[Any]) -> list[int]:
    """Return the size of the texts of each row, in bytes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    total = pa.nulls(len(columns[0]) if columns else 0, pa.int64()).fill_null(0)
    for column in columns:
        lengths = _lengths(column)
        if lengths is not None:
            total = pc.add(total, lengths.cast(pa.int64()).fill_null(0))
    found: list[int] = total.to_pylist()
    return found


def _lengths(column: Any) -> Any:
    """Return the size of each text in bytes; None for columns of other types."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type) and _is_text(column.type.value_type):
        return _byte_lengths(column.dictionary).take(column.indices)
    if pa.types.is_fixed_size_binary(column.type):
        return pa.nulls(len(column), pa.int64()).fill_null(column.type.byte_width)
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return pc.list_value_length(column)
    return _byte_lengths(column) if _is_text(column.type) else None


def _byte_lengths(texts: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.binary_length(texts.cast(pa.large_binary()))


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return any(
        test(kind)
        for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    )


def _is_nested(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_nested(kind))


def _columns(file: Any) -> dict[int, str]:
    """Return the positions of the columns, without the index of a DataFrame, and their names."""
    names = enumerate(file.schema_arrow.names)
    return {place: name for place, name in names if not _PANDAS_INDEX.fullmatch(name)}


def _open(stream: BinaryIO, as_dictionary: Sequence[str] = ()) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(stream, read_dictionary=list(as_dictionary))
    except (pa.ArrowException, OSError, ValueError):
        raise Unreadable(_damaged()) from None
    if file.metadata.num_columns > MAX_MEMBERS:
        raise Unreadable(too_wide())
    return file


def _values(column: Any) -> list[Any]:
    """Return the cells of a column; one that Python cannot represent (a time beyond its calendar) has no valid type."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError, LookupError):
        return [_value(cell) for cell in column]


def _value(cell: Any) -> Any:
    try:
        return cell.as_py()
    except (ValueError, OverflowError, LookupError):
        return object()


def _damaged() -> Finding:
    return Finding("MC034", "this is not a Parquet file, or it is damaged", "check that it was written completely")


# --- pages ------------------------------------------------------------------------------------------------------------

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
