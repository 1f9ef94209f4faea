"""Cells that are Python values: as JSON, and in tables in memory."""

from __future__ import annotations

import datetime
import decimal
import json
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import msgspec

from medcontract.containers import FRAME
from medcontract.errors import CallError
from medcontract.extras import ARROW, TABLES, is_arrow, is_frame, is_rows, require
from medcontract.reading.csv_rows import too_wide
from medcontract.reading.limits import MAX_MEMBERS
from medcontract.reading.source import Source, Unreadable

_BATCH = 8192
_SIMPLE = frozenset({str, int, float, bool, type(None)})
_LARGEST = 1 << 63
_encode_cells = msgspec.json.Encoder().encode_lines


def cells_json(cells: Sequence[Any], missing: bool) -> list[bytes] | None:
    """Write all cells of a column like `cell_json`, but much faster; numbers may be written in another way.

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


def cell_json(value: Any, missing: bool) -> str:
    """Write a cell like `json_value`; a cyclic or too deep value becomes an object, which no flat contract accepts."""
    try:
        return json_value(value, missing)
    except RecursionError:
        return "{}"


def json_value(value: Any, missing: bool) -> str:
    """Return a value of a table as JSON. `missing`: NaN is a missing value, as in pandas."""
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
    """Write text; lone surrogates, which UTF-8 cannot encode, as JSON escapes."""
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
    """Write values other than Python strings and numbers: NA, times, numpy numbers, nested values."""
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


class Table:
    """A table in memory: how to get names, size and cells of a pandas DataFrame, an Arrow table, or a list of rows."""

    def __init__(self, table: Any) -> None:
        """Raise `CallError` for anything else, and if a package that is needed is missing."""
        self.nan_is_missing = True
        """NaN is a missing value, as in pandas; Arrow has null for that."""
        if is_frame(table):
            require("pandas", "pandas")
            self.names = [str(name) for name in table.columns]
        elif is_arrow(table):
            require(*ARROW)
            import pyarrow

            try:
                table, self.nan_is_missing = pyarrow.table(table), False
            except pyarrow.ArrowInvalid:  # a column alone has the interface, too
                raise CallError(f"expected a table, got {type(table).__name__}", TABLES) from None
            self.names = table.column_names
        elif is_rows(table):
            self.names = [str(name) for name in dict.fromkeys(name for row in table for name in row)]
        else:
            raise CallError(f"expected a table, got {type(table).__name__}", TABLES)
        self._table = table

    def __len__(self) -> int:
        return len(self._table)

    def cells(self, start: int, stop: int) -> list[list[Any]]:
        """Return the cells of each column, as Python values, for some rows."""
        table = self._table
        if is_frame(table):
            part = table.iloc[start:stop]
            return [part.iloc[:, number].tolist() for number in range(part.shape[1])]
        if is_rows(table):
            return [[row.get(name) for row in table[start:stop]] for name in self.names]
        part = table.slice(start, stop - start)
        return [part.column(number).to_pylist() for number in range(part.num_columns)]


class FrameSource(Source):
    """The rows of a table in memory. It has no bytes; its size is the number of rows."""

    container = FRAME

    def __init__(self, table: Any, name: str) -> None:
        super().__init__(b"", name)
        self.table = Table(table)

    @cached_property
    def columns(self) -> list[str]:
        if len(self.table.names) > MAX_MEMBERS:
            raise Unreadable(too_wide())
        return self.table.names

    def prepare(self) -> None:
        super().prepare()
        self.size = len(self.table)

    def blocks(self) -> Iterator[list[list[Any]]]:
        """Yield the cells of each column, as Python values, for some rows at a time."""
        for start in range(0, len(self.table), _BATCH):
            yield self.table.cells(start, start + _BATCH)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the cells of each row."""
        for columns in self.blocks():
            yield from zip(*columns, strict=True)

    def sha256(self) -> str:
        """Return the hash of the rows as JSON Lines: without spaces, columns sorted by name, missing values as null."""
        if not self._digests:
            import hashlib

            order = sorted(range(len(self.columns)), key=self.columns.__getitem__)
            keys = [_json_text(self.columns[number]) for number in order]
            digest = hashlib.sha256()
            for cells in self.rows():
                values = (cell_json(cells[number], self.table.nan_is_missing) for number in order)
                members = ",".join(f"{key}:{value}" for key, value in zip(keys, values, strict=True))
                digest.update(f"{{{members}}}\n".encode())
            self.note_digest(digest.hexdigest())
        return super().sha256()
