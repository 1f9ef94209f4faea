"""Tables whose cells are Python values: pandas DataFrames and Parquet files.

A row is converted to an equivalent JSON record and from there on treated like a line of JSONL, so that a CSV, its
rows as JSONL and its rows as a DataFrame get the same problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from numbers import Real
from typing import TYPE_CHECKING, Any

from medcontract.containers import JSONL
from medcontract.contracts import recognition
from medcontract.contracts.fast_decoder import RowDecoders
from medcontract.errors import CallError
from medcontract.extras import is_rows
from medcontract.problems import Ref
from medcontract.reading import parquet
from medcontract.reading.cells import FrameSource, cell_json, cells_json
from medcontract.reading.csv_rows import Layout
from medcontract.reading.located_records import (
    Decode,
    DecodeLines,
    Located,
    LocatedRecord,
    RecordBlock,
    too_large,
)
from medcontract.reading.source import Source
from medcontract.types import BOOLEANS, Column
from medcontract.validation.records import Recognition
from medcontract.validation.tables import TableReader

if TYPE_CHECKING:
    from medcontract.extras import TableLike


def frame_source(table: TableLike, name: str | None = None) -> Source:
    """Return a table in memory as input; rows with nested values are the lines of a `.jsonl`."""
    if not is_rows(table) or not any(isinstance(cell, list | tuple | dict) for row in table for cell in row.values()):
        return FrameSource(table, name or "<frame>")
    lines = "\n".join(cell_json(row, missing=True) for row in table)
    source = Source(lines.encode(), name or "<rows>")
    source.container = JSONL
    return source


NO_LINE = Ref(-1, 0, None, (), 0)
"""The reference to the header of a table without lines."""


class _Rows(RecordBlock, gc=False, kw_only=True):
    """Consecutive rows, whose offset is their number, and which are only written as JSON if something is wrong."""

    write: Callable[[], Iterable[bytes]]

    def records(self) -> Iterator[LocatedRecord]:
        for number, (raw, value) in enumerate(zip(self.write(), self.values, strict=True), self.offset):
            yield LocatedRecord(raw, number, value, 0)

    def last(self) -> LocatedRecord:
        return LocatedRecord(b"", self.offset + len(self.values) - 1, self.values[-1], 0)


class CellsReader(TableReader):
    """A table whose cells are Python values. Rows of the usual types are decoded many at a time."""

    nan_is_missing = False

    def header_ref(self) -> Ref:
        return NO_LINE

    def cells(self) -> Iterator[list[list[Any]] | None]:
        """Yield the cells of each column, for some rows at a time. None for a row that is too large."""
        raise NotImplementedError

    def row(self, number: int, cells: Sequence[Any] | None, decode: Decode) -> LocatedRecord:
        """Return a row that is decoded by itself."""
        record = self.layout.record(cells or (), self._write)
        return LocatedRecord(record, number, decode(record), 0)

    def _write(self, value: Any, column: Column) -> str:
        if column.kind == "boolean" and isinstance(value, Real | str):  # as in CSV
            cell = value if isinstance(value, str) else "1" if value == 1 else "0" if value == 0 else ""
            if cell.lower() in BOOLEANS:
                return BOOLEANS[cell.lower()]
        return cell_json(value, self.nan_is_missing)

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.columns, self.names, self.contract.open)

    def records(self, decode: RowDecoders) -> Iterator[Located]:
        number = 0
        for columns in self.cells():
            values = self._decoded(columns, decode.lines) if columns else None
            if columns and values:
                yield _Rows(b"", number, values, 0, write=partial(self._written, columns))
                number += len(values)
                continue
            for cells in (None,) if columns is None else zip(*columns, strict=True):
                yield self.row(number, cells, decode.one)
                number += 1

    def _decoded(self, columns: list[list[Any]], decode_lines: DecodeLines) -> list[Any] | None:
        """Return the values of rows, or None if in doubt about any of them."""
        texts = [cells_json(column, self.nan_is_missing) for column in columns]
        lines = None if None in texts else self.layout.lines([text for text in texts if text is not None])
        values = decode_lines(lines) if lines and self.fits(len(lines)) else None
        if lines and values:
            self.add_size(len(lines))
        return values

    def fits(self, size: int) -> bool:
        """Check whether rows of this many bytes are within all limits."""
        return True

    def add_size(self, size: int) -> None:
        """Note that rows of this many bytes were read."""

    def _written(self, columns: list[list[Any]]) -> Iterator[bytes]:
        """Return rows as JSON, as if each had been decoded by itself."""
        return (self.layout.record(cells, self._write) for cells in zip(*columns, strict=True))


class FrameReader(CellsReader):
    """A table in memory."""

    source: FrameSource

    @classmethod
    def recognize(cls, source: Source) -> Recognition:
        columns = source.columns if isinstance(source, FrameSource) else ()
        return recognition.of_columns(frozenset(columns), NO_LINE)

    def begin(self) -> bool:
        self.names = self.source.columns
        self.nan_is_missing = self.source.table.nan_is_missing
        return super().begin()

    def cells(self) -> Iterator[list[list[Any]]]:
        return self.source.blocks()


class ParquetReader(CellsReader):
    """A Parquet file. Size limits apply to its records as JSON."""

    size = 0
    """The size of the records so far."""

    @classmethod
    def recognize(cls, source: Source) -> Recognition:
        return recognition.of_columns(frozenset(parquet_columns(source)), NO_LINE)

    def begin(self) -> bool:
        self.names = parquet_columns(self.source)
        return super().begin()

    def cells(self) -> Iterator[list[list[Any]] | None]:
        self.size = 0
        return parquet.blocks(self.source)

    def done(self, offset: int) -> int:
        return self.source.size * offset // max(self._rows, 1)

    @cached_property
    def _rows(self) -> int:
        return sum(group.rows for group in parquet.layout(self.source).groups)

    def row(self, number: int, cells: Sequence[Any] | None, decode: Decode) -> LocatedRecord:
        limits = self.source.limits
        row = LocatedRecord(b"", number, None, 0) if cells is None else super().row(number, cells, decode)
        if self.size + len(row.raw) > limits.unpacked:
            parquet.check_size(limits, self.size + len(row.raw))
        self.add_size(len(row.raw))
        if 0 < len(row.raw) <= limits.record:
            return row
        return LocatedRecord(b"", number, None, 0, too_large(limits.record, None))

    def fits(self, size: int) -> bool:
        limits = self.source.limits
        return size <= limits.record and self.size + size <= limits.unpacked

    def add_size(self, size: int) -> None:
        self.size += size
        self.source.unpacked = max(self.source.unpacked, self.size)


def parquet_columns(source: Source) -> list[str]:
    """Return the column names of a Parquet file. Raises `Unreadable` if it is damaged, `CallError` without pyarrow."""
    try:
        return parquet.layout(source).columns
    except ImportError:
        raise CallError("reading Parquet needs pyarrow", "pip install 'medcontract[parquet]'") from None
