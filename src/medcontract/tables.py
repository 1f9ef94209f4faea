"""Tables that are no text: pandas DataFrames and Parquet files.

A row is written as the JSON record that says the same and takes the path of a line of JSONL from there on, so
that a CSV, its rows as JSONL and its rows as a DataFrame get the same problems.
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from medcontract.definitions import registry
from medcontract.errors import CallError
from medcontract.judging.table import TableJudge
from medcontract.layout import Column
from medcontract.problems import Finding, Ref
from medcontract.reading.source import Source, Unreadable
from medcontract.reading.table import Layout, Row
from medcontract.results.validation import FileReport
from medcontract.tally import Tally

if TYPE_CHECKING:
    import pandas as pd

_BATCH = 8192
_PANDAS_INDEX = re.compile(r"__index_level_[0-9]+__")
"""The column that pandas writes for an index without a name; a frame's index is not looked at either."""


def validate_frame(frame: pd.DataFrame, contract: str, *, max_problems: int = 10_000) -> FileReport:
    """Check the rows of a DataFrame against a flat contract.

    `record` of a problem is the position of its row, `field` its column. Missing values (None, NaN, NaT, NA) are
    null. The index is not looked at.
    """
    compiled = registry.find(contract)
    if not hasattr(frame, "iloc") or not hasattr(frame, "columns"):
        raise CallError(f"a pandas DataFrame is asked for, not {type(frame).__name__}")
    if not compiled.columns:
        flat = ", ".join(sorted(c.id for c in registry.compiled().values() if c.columns))
        raise CallError(f"{contract} does not fit a table", f"these do: {flat}")
    judge = _FrameJudge(frame, compiled, Tally(max_problems))
    judge.run()
    return judge.report()


class _RowsJudge(TableJudge):
    """A table without lines."""

    def header_ref(self) -> Ref:
        return Ref(-1, 0, None, (), 0)

    def batches(self) -> Iterator[Sequence[Sequence[Any]]]:
        """Columns of values, some rows at a time."""
        raise NotImplementedError

    write: Callable[[Any, Column], str]

    def rows(self) -> Iterator[Row]:
        layout = Layout(self.columns, self.names, self.contract.open)
        index = 0
        for columns in self.batches():
            for cells in zip(*columns, strict=True):
                record = layout.record(cells, self.write)
                yield Row(record, index, 0, 0, None, self.decode(record))
                index += 1


class _FrameJudge(_RowsJudge):
    def __init__(self, frame: pd.DataFrame, contract: registry.Compiled, tally: Tally) -> None:
        super().__init__(Source(b"", "<frame>"), contract, tally)
        self.frame = frame
        self.names = [str(name) for name in frame.columns]

    def batches(self) -> Iterator[Sequence[Sequence[Any]]]:
        for start in range(0, len(self.frame), _BATCH):
            part = self.frame.iloc[start : start + _BATCH]
            yield [part.iloc[:, number].tolist() for number in range(part.shape[1])]

    @staticmethod
    def write(value: Any, column: Column) -> str:
        return cell_json(value, missing=True)


class ParquetJudge(_RowsJudge):
    def begin(self) -> bool:
        self.names = parquet_columns(self.source)
        return super().begin()

    def batches(self) -> Iterator[Sequence[Sequence[Any]]]:
        with self.source.open() as stream:
            file = _parquet(stream)
            places = _columns(file)  # by place: a name may stand there twice
            yield from _guarded(
                [_values(batch.column(place)) for place in places] for batch in file.iter_batches(batch_size=_BATCH)
            )

    @staticmethod
    def write(value: Any, column: Column) -> str:
        return cell_json(value, missing=False)


def parquet_records(source: Source, contract: registry.Compiled) -> Iterator[bytes]:
    """The rows of a Parquet file as JSON records."""
    judge = ParquetJudge(source, contract, Tally(0))
    judge.begin()
    return (row.raw for row in judge.rows())


def parquet_columns(source: Source) -> list[str]:
    """The column names of a Parquet file. Raises `Unreadable` when it is damaged, `CallError` without pyarrow."""
    with source.open() as stream:
        return list(_columns(_parquet(stream)).values())


def _columns(file: Any) -> dict[int, str]:
    """The places of the columns, the index of a frame left out, and their names."""
    names = enumerate(file.schema_arrow.names)
    return {place: name for place, name in names if not _PANDAS_INDEX.fullmatch(name)}


def _parquet(stream: Any) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise CallError("reading Parquet needs pyarrow", "pip install 'medcontract[parquet]'") from None
    try:
        return pq.ParquetFile(stream)
    except (pa.ArrowException, OSError, ValueError):
        raise Unreadable(_damaged()) from None


def _values(column: Any) -> list[Any]:
    """The cells of a column; one that Python has no value for (a time beyond its calendar) is of no type at all."""
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError, LookupError):
        return [_value(cell) for cell in column]


def _value(cell: Any) -> Any:
    try:
        return cell.as_py()
    except (ValueError, OverflowError, LookupError):
        return object()


def _guarded(batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa

    try:
        yield from batches
    except (pa.ArrowException, OSError, ValueError, OverflowError):  # the last: a time that Python has no name for
        raise Unreadable(_damaged()) from None


def _damaged() -> Finding:
    return Finding("MC034", "this is not a Parquet file, or it is damaged", "was it written to the end?")


def cell_json(value: Any, missing: bool) -> str:
    """As `json_value`; a value that holds itself, or is nested without end, is nothing that JSON knows."""
    try:
        return json_value(value, missing)
    except RecursionError:
        return "{}"


def json_value(value: Any, missing: bool) -> str:
    """A value of a table as JSON. `missing`: NaN stands for a missing value, as in pandas."""
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
    """Half a surrogate pair has no UTF-8: it is written as the escape that it would be in JSON."""
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
    """What is neither text nor a number of Python: NA, times, numpy's numbers, nested values."""
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
    return "{}"  # nothing that JSON knows: of no type that a flat contract asks for
