"""Binary tables: pandas DataFrames and Parquet files.

A row is converted to an equivalent JSON record and from there on treated like a line of JSONL, so that a CSV, its
rows as JSONL and its rows as a DataFrame get the same problems.
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import count
from numbers import Real
from typing import TYPE_CHECKING, Any

import msgspec

from medcontract.containers import FRAME
from medcontract.contracts import recognition, registry
from medcontract.contracts.recognition import Recognized
from medcontract.errors import CallError, NotRecognized
from medcontract.extras import is_frame, require
from medcontract.hints.table_arrangements import IN_TABLE, first_rows, matches_exactly, other_arrangement
from medcontract.problems import Finding, Ref
from medcontract.reading import parquet
from medcontract.reading.limits import MAX_MEMBERS
from medcontract.reading.located_records import Block, Cut, Decode, Lines, too_large
from medcontract.reading.row_layout import Layout, Row, too_wide
from medcontract.reading.source import Source, Unreadable
from medcontract.results.validation import FileReport
from medcontract.types import Column
from medcontract.validation.csv_file import TableValidator
from medcontract.validation.problem_collector import ProblemCollector
from medcontract.validation.records import Progress

if TYPE_CHECKING:
    import pandas as pd

_BATCH = 8192
_MOST_KNOWN = 1000
_LONGEST_KNOWN = 500
"""Longest record, in bytes, that is cached."""
_COMPARABLE = frozenset({str, int, bool, type(None)})
"""Types whose equal values are identical, unlike 0.0 and -0.0."""


def validate_frame(frame: pd.DataFrame, contract: str, *, max_problems: int = 10_000) -> FileReport:
    """Check the rows of a DataFrame against a flat contract.

    `record` of a problem is the position of its row, `field` its column. Missing values (None, NaN, NaT, NA) are
    null. The index is ignored. Raises `CallError` without the extra `pandas`.
    """
    source = frame_source(frame, contract)
    validator = FrameValidator(source, registry.find(contract), ProblemCollector(max_problems))
    validator.run()
    return validator.report()


def frame_source(frame: pd.DataFrame, contract: str | None, name: str | None = None) -> FrameSource:
    """A DataFrame as input. Raises `CallError` if it is something else, and for a contract that is not flat."""
    require("pandas", "pandas")
    compiled = None if contract is None else registry.find(contract)
    if not is_frame(frame):
        raise CallError(f"expected a pandas DataFrame, got {type(frame).__name__}")
    if compiled and not compiled.columns:
        flat = ", ".join(sorted(c.id for c in registry.compiled().values() if c.columns))
        raise CallError(f"{contract} has no table form", f"use one of: {flat}")
    return FrameSource(frame, name or "<frame>")


class FrameSource(Source):
    """The rows of a DataFrame. It has no bytes; its size is the number of rows."""

    container = FRAME

    def __init__(self, frame: pd.DataFrame, name: str) -> None:
        super().__init__(b"", name)
        self._frame = frame

    @cached_property
    def columns(self) -> list[str]:
        if self._frame.shape[1] > MAX_MEMBERS:
            raise Unreadable(too_wide())
        return [str(column) for column in self._frame.columns]

    def prepare(self) -> None:
        super().prepare()
        self.size = len(self._frame)

    def blocks(self) -> Iterator[list[list[Any]]]:
        """The cells of each column, as Python values, for some rows at a time."""
        for start in range(0, len(self._frame), _BATCH):
            part = self._frame.iloc[start : start + _BATCH]
            yield [part.iloc[:, number].tolist() for number in range(part.shape[1])]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The cells of each row."""
        for columns in self.blocks():
            yield from zip(*columns, strict=True)

    def sha256(self) -> str:
        """The hash of the rows as JSON Lines: without spaces, columns sorted by name, missing values as null."""
        if not self._digests:
            import hashlib

            order = sorted(range(len(self.columns)), key=self.columns.__getitem__)
            keys = [_json_text(self.columns[number]) for number in order]
            digest = hashlib.sha256()
            for cells in self.rows():
                values = (cell_json(cells[number], missing=True) for number in order)
                members = ",".join(f"{key}:{value}" for key, value in zip(keys, values, strict=True))
                digest.update(f"{{{members}}}\n".encode())
            self.note_digest(digest.hexdigest())
        return super().sha256()


NO_LINE = Ref(-1, 0, None, (), 0)
"""The reference to the header of a table without lines."""


class _Rows(Lines):
    """Consecutive rows, which are only written as JSON if something is wrong with one of them."""

    __slots__ = ("_write",)

    def __init__(self, count: int, write: Callable[[], Iterable[bytes]]) -> None:
        super().__init__(b"", count)
        self._write = write

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._write())

    def offsets(self, first: int) -> Iterator[int]:
        """The offset of a row is its number."""
        return count(first)


class _CellsValidator(TableValidator):
    """A table whose cells are Python values. Rows of the usual types are decoded many at a time."""

    nan_is_missing = False

    def header_ref(self) -> Ref:
        return NO_LINE

    def cells(self) -> Iterator[list[list[Any]] | None]:
        """The cells of each column, for some rows at a time. None for a row that is too large."""
        raise NotImplementedError

    def row(self, number: int, cells: Sequence[Any] | None) -> Row:
        """A row that is decoded by itself."""
        raise NotImplementedError

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.columns, self.names, self.contract.open)

    def rows(self) -> Iterator[Row]:
        number = 0
        for columns in self.cells():
            for cells in _rows_of(columns):
                yield self.row(number, cells)
                number += 1

    def blocks(self) -> Iterator[Cut | Block]:
        number = 0
        for columns in self.cells():
            values = self._decoded(columns) if columns else None
            if columns and values:
                last = number + len(values) - 1
                self.line, self.number, self._last = 0, last, (b"", values[-1], last)
                yield _Rows(len(values), partial(self._written, columns)), number, values
                number = last + 1
                continue
            for cells in _rows_of(columns):
                yield self._cut(self.row(number, cells), number)
                number += 1

    def _decoded(self, columns: list[list[Any]]) -> list[Any] | None:
        """The values of rows, or None if in doubt about any of them."""
        texts = [cells_json(column, self.nan_is_missing) for column in columns]
        lines = None if None in texts else self.layout.lines([text for text in texts if text is not None])
        values = self.decode_lines(lines) if lines and self.fits(len(lines)) else None
        if lines and values:
            self.add_size(len(lines))
        return values

    def fits(self, size: int) -> bool:
        """Whether rows of so many bytes are within all limits."""
        return True

    def add_size(self, size: int) -> None:
        """Rows of so many bytes were read."""

    def _written(self, columns: list[list[Any]]) -> Iterator[bytes]:
        """Rows as JSON, as if each had been decoded by itself."""
        write = _frame_cell if self.nan_is_missing else _parquet_cell
        return (self.layout.record(cells, write) for cells in zip(*columns, strict=True))


def _rows_of(columns: list[list[Any]] | None) -> Iterable[Sequence[Any] | None]:
    return (None,) if columns is None else zip(*columns, strict=True)


_SIMPLE = frozenset({str, int, float, bool, type(None)})
_LARGEST = 1 << 63
_encode_cells = msgspec.json.Encoder().encode_lines


def cells_json(cells: Sequence[Any], missing: bool) -> list[bytes] | None:
    """Like `cell_json` for all cells of a column, but much faster, and numbers may be written in another way.

    None if a cell is of an unusual type, or cannot be written.
    """
    types = set(map(type, cells))
    if not types <= _SIMPLE:
        return None
    if float in types:
        numbers = cells if len(types) == 1 else [cell for cell in cells if type(cell) is float]
        if any(map(math.isinf, numbers)) or (not missing and any(map(math.isnan, numbers))):
            return None
    if int in types and any(abs(cell) > _LARGEST for cell in cells if type(cell) is int):
        return None
    try:
        return _encode_cells(cells).split(b"\n")[:-1]  # not a number is null
    except ValueError:  # a lone surrogate
        return None


class FrameValidator(_CellsValidator):
    """A DataFrame."""

    source: FrameSource
    nan_is_missing = True

    @classmethod
    def recognize(cls, source: Source) -> Recognized:
        return _recognized(source.columns, source.rows) if isinstance(source, FrameSource) else _recognized((), list)

    @classmethod
    def syntax_errors(cls, source: Source) -> Iterator[Finding]:
        if isinstance(source, FrameSource):
            yield from _other_arrangement(source.columns, source.rows)

    def begin(self) -> bool:
        self.names = self.source.columns
        return super().begin()

    def cells(self) -> Iterator[list[list[Any]]]:
        return self.source.blocks()

    def row(self, number: int, cells: Sequence[Any] | None) -> Row:
        record = self.layout.record(cells or (), _frame_cell)
        return Row(record, number, 0, 0, None, self.decode(record))


_ReadRows = Callable[[], Iterable[Sequence[Any] | None]]


def _recognized(columns: Sequence[str], rows: _ReadRows) -> Recognized:
    """The contract of a table. Raises `NotRecognized`, also for tables that are not arranged as one row per record."""
    found = recognition.of_columns(frozenset(columns), NO_LINE)
    if not matches_exactly(columns, registry.find(found.contract_id)):
        for other in _other_arrangement(columns, rows, found.renames):
            raise NotRecognized(other.message, other.hint)
    return found


def _other_arrangement(columns: Sequence[str], rows: _ReadRows, renamed: Collection[str] = ()) -> Iterator[Finding]:
    finding = other_arrangement(columns, lambda: first_rows(rows()), IN_TABLE, renamed)
    if finding:
        yield finding._replace(ref=NO_LINE)


def _frame_cell(value: Any, column: Column) -> str:
    return _typed_cell(value, column, missing=True)


class ParquetValidator(_CellsValidator):
    """A Parquet file. Size limits apply to its records as JSON."""

    _size = 0
    """The size of the records so far."""

    @classmethod
    def recognize(cls, source: Source) -> Recognized:
        return _recognized(parquet_columns(source), lambda: parquet.rows(source))

    @classmethod
    def syntax_errors(cls, source: Source) -> Iterator[Finding]:
        yield from _other_arrangement(parquet_columns(source), lambda: parquet.rows(source))

    def begin(self) -> bool:
        self.names = parquet_columns(self.source)
        if self.progress:
            self.progress = _in_bytes(self.progress, sum(group.rows for group in parquet.row_groups(self.source)))
        return super().begin()

    def cells(self) -> Iterator[list[list[Any]] | None]:
        self._size = 0
        return parquet.blocks(self.source)

    @cached_property
    def _known_rows(self) -> _KnownRows:
        return _KnownRows(self.layout, self.decode)

    def row(self, number: int, cells: Sequence[Any] | None) -> Row:
        limits = self.source.limits
        record, value = (b"", None) if cells is None else self._known_rows.record(tuple(cells))
        if self._size + len(record) > limits.unpacked:
            parquet.check_size(limits, self._size + len(record))
        self.add_size(len(record))
        if 0 < len(record) <= limits.record:
            return Row(record, number, 0, 0, None, value)
        return Row(b"", number, 0, 0, too_large(limits.record, None))

    def fits(self, size: int) -> bool:
        limits = self.source.limits
        return size <= limits.record and self._size + size <= limits.unpacked

    def add_size(self, size: int) -> None:
        self._size += size
        self.source.unpacked = max(self.source.unpacked, self._size)


def _in_bytes(progress: Progress, rows: int) -> Progress:
    """For progress in rows, of which the file has so many."""
    return lambda row, size: progress(size * row // max(rows, 1), size)


class _KnownRows:
    """Encodes rows as records, with a cache: a compressed file may repeat the same cells very often."""

    def __init__(self, layout: Layout, decode: Decode) -> None:
        self._layout = layout
        self._decode = decode
        self._known: dict[parquet.Cells, tuple[tuple[type, ...], bytes, Any]] = {}

    def record(self, cells: parquet.Cells) -> tuple[bytes, Any]:
        """The JSON of a row, and its value by `Decode`."""
        types = tuple(map(type, cells))
        if not _COMPARABLE.issuperset(types):
            return self._write(cells)
        known = self._known.get(cells)
        if known and known[0] == types:  # 1 == True, but they are different values
            return known[1], known[2]
        record, value = self._write(cells)
        if len(record) <= _LONGEST_KNOWN:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[cells] = types, record, value
        return record, value

    def _write(self, cells: parquet.Cells) -> tuple[bytes, Any]:
        record = self._layout.record(cells, _parquet_cell)
        return record, self._decode(record)


def _parquet_cell(value: Any, column: Column) -> str:
    return _typed_cell(value, column, missing=False)


def _typed_cell(value: Any, column: Column, missing: bool) -> str:
    """Write a cell as JSON. The numbers 0 and 1 are booleans where the contract has those, as in CSV."""
    if column.kind == "boolean" and isinstance(value, Real) and value in (0, 1):
        return "true" if value else "false"
    return cell_json(value, missing)


def parquet_columns(source: Source) -> list[str]:
    """The column names of a Parquet file. Raises `Unreadable` if it is damaged, `CallError` without pyarrow."""
    try:
        return parquet.columns(source)
    except ImportError:
        raise CallError("reading Parquet needs pyarrow", "pip install 'medcontract[parquet]'") from None


def cell_json(value: Any, missing: bool) -> str:
    """Like `json_value`; a cyclic or too deeply nested value becomes an object, which no flat contract accepts."""
    try:
        return json_value(value, missing)
    except RecursionError:
        return "{}"


def json_value(value: Any, missing: bool) -> str:
    """A value of a table as JSON. `missing`: NaN is a missing value, as in pandas."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return _json_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value.bit_length() < 4096 else "1e999"
    if isinstance(value, float):
        return _json_float(value, missing)
    return _json_other(value, missing)


def _json_text(value: str) -> str:
    """Text with lone surrogates, which UTF-8 cannot encode, is written with JSON escapes."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return json.dumps(value, ensure_ascii=False)


def _json_float(value: float, missing: bool) -> str:
    if math.isnan(value):
        return "null" if missing else "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(float(value))


def _json_other(value: Any, missing: bool) -> str:
    """Values other than Python strings and numbers: NA, times, numpy numbers, nested values."""
    if type(value).__name__ in ("NAType", "NaTType"):
        return "null"
    if isinstance(value, datetime.date):  # datetime and Timestamp are dates too
        return json.dumps(value.isoformat())
    if isinstance(value, decimal.Decimal):
        return _json_float(float(value), missing) if not value.is_finite() else f"{value:e}"
    if hasattr(value, "tolist"):
        return json_value(value.tolist(), missing)
    if isinstance(value, list | tuple):
        return "[" + ",".join(json_value(item, missing) for item in value) + "]"
    if isinstance(value, dict):
        items = (f"{_json_text(str(key))}:{json_value(item, missing)}" for key, item in value.items())
        return "{" + ",".join(items) + "}"
    return "{}"  # no JSON equivalent: an object, which no flat contract accepts
