"""Rows of flat contracts: unusual DataFrames and Parquet files, and the same rows in every container."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from tests.mutations import NUMBERS, OTHERS, STRINGS, documents, records

import medcontract
from fuzz.material import BLOWN_UP, Text, edited
from medcontract.contracts import registry
from medcontract.types import Column

Row = dict[str, Any]
_LOOP: list[Any] = []
_LOOP.append(_LOOP)
_ODD_CELLS: tuple[Any, ...] = (
    float("nan"), float("inf"), float("-inf"), pd.NA, pd.NaT, pd.Timestamp("2026-05-31"), pd.Timedelta(1, "s"),
    np.float32(0.1), np.int8(3), np.bool_(True), np.array([1, 2]), np.datetime64("NaT"), 10**400, 1j, b"x", object(),
    _LOOP, {"a": _LOOP}, {1: 2}, {"a"}, "\ud800", "\0", pd.Interval(0, 1), pd.DataFrame(), type, range(3), Ellipsis,
)  # fmt: skip
_DTYPES = (
    "object", "category", "string", "Int64", "Float64", "boolean", "float32", "int8", "datetime64[ns]", "complex128",
    "timedelta64[ns]", "string[pyarrow]", "Sparse[float]", "bool", "U8", "S8", "datetime64[ns, UTC]",
)  # fmt: skip
_ARROW_TYPES = (
    pa.large_string(), pa.binary(), pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.bool_(), pa.null(),
    pa.date32(), pa.date64(), pa.time64("ns"), pa.timestamp("ns", "Europe/Madrid"), pa.timestamp("s"),
    pa.duration("us"), pa.decimal128(38, 30), pa.dictionary(pa.int8(), pa.string()), pa.list_(pa.int64()),
    pa.struct([("a", pa.string())]), pa.map_(pa.string(), pa.int64()), pa.list_(pa.float32(), 2), pa.string(),
    pa.float64(),
)  # fmt: skip
_NAMES: tuple[Any, ...] = ("", " ", "image_id", "label", "x", "x\ny", "ä", 0, 1.5, None, float("nan"), ("a", "b"), True)
_ARROW_ERRORS = (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError, RecursionError, KeyError)


@cache
def flat_contracts() -> tuple[str, ...]:
    return tuple(contract.id for contract in registry.compiled().values() if contract.columns)


def columns_of(contract_id: str) -> tuple[Column, ...]:
    return registry.find(contract_id).columns


@cache
def valid_rows(contract_id: str) -> tuple[Row, ...]:
    """Valid records of a contract as rows; some lists have one column per item."""
    contract = registry.find(contract_id)
    rows = []
    for record in records(contract.definition):
        row = {key: value for key, value in record.items() if key not in contract.spread}
        for name, columns in contract.spread.items():
            row |= dict(zip(columns, record.get(name) or [None] * len(columns), strict=True))
        rows.append({key: value for key, value in row.items() if not isinstance(value, dict | list)})
    return tuple(rows)


def some_rows(contract_id: str, source: random.Random, cell: Callable[[Column], Any]) -> list[Row]:
    """Rows with some wrong cells; all have the same columns."""
    columns = columns_of(contract_id)
    names = dict.fromkeys(column.name for column in columns)
    if registry.find(contract_id).open:
        names["site"] = None
    rows = []
    for number in range(source.choice((0, 1, 2, 5, 20))):
        row: Row = {**names, **source.choice(valid_rows(contract_id))}
        row = {name: row[name] for name in names}
        first = columns[0].name
        row[first] = f"{row[first]}-{number}"
        for column in columns:
            if source.random() < 0.05:
                row[column.name] = cell(column)
        rows.append(row)
    if rows and source.random() < BLOWN_UP:
        rows *= 5_000 // len(rows)
    return rows


# --- unusual tables ----------------------------------------------------------------------------------


def a_frame(source: random.Random, contract_id: str) -> pd.DataFrame:
    """An unusual DataFrame."""
    rows = some_rows(contract_id, source, lambda column: source.choice(_ODD_CELLS + OTHERS + NUMBERS + STRINGS))
    try:
        frame = pd.DataFrame(rows, dtype=source.choice((object, None)))
    except UnicodeEncodeError:
        frame = pd.DataFrame(rows, dtype=object)
    for position in range(frame.shape[1]):
        if source.random() < 0.1:
            frame = _cast(frame, position, source.choice(_DTYPES))
    if source.random() < 0.3 and frame.shape[1]:
        names = list(frame.columns)
        names[source.randrange(len(names))] = source.choice(_NAMES)
        frame.columns = pd.Index(names, dtype=object)
    if source.random() < 0.2:
        frame = pd.concat([frame, frame.iloc[:, : source.randrange(4)]], axis=1)
    if len(frame) < 100 and source.random() < BLOWN_UP:
        wide = pd.DataFrame({f"c{n}": ["x"] * len(frame) for n in range(12_000)}, index=frame.index)
        frame = pd.concat([frame, wide], axis=1)
    return _reindexed(frame, source)


def _cast(frame: pd.DataFrame, position: int, dtype: str) -> pd.DataFrame:
    try:
        cast: pd.Series[Any] = frame.iloc[:, position].astype(dtype)  # type: ignore[call-overload]  # any type
    except (TypeError, ValueError, OverflowError, pa.ArrowException, NotImplementedError, RecursionError):
        return frame
    parts = [frame.iloc[:, :position], cast, frame.iloc[:, position + 1 :]]
    return pd.concat(parts, axis=1)


def _reindexed(frame: pd.DataFrame, source: random.Random) -> pd.DataFrame:
    rows = len(frame)
    indexes: tuple[Callable[[], Any], ...] = (
        lambda: pd.Index([0] * rows),
        lambda: pd.Index([None, float("nan"), "x"] * rows, dtype=object)[:rows],
        lambda: pd.MultiIndex.from_arrays([["a"] * rows, range(rows)]),
        lambda: pd.date_range("2026-05-31", periods=rows, freq="D", tz="UTC"),
    )
    if source.random() < 0.3:
        frame.index = source.choice(indexes)()
    if source.random() < 0.03:
        frame.columns = pd.MultiIndex.from_product([["a"], frame.columns])
    return frame


def a_parquet(source: random.Random) -> Text:
    """A Parquet file with unusual types, sometimes damaged."""
    contract_id = source.choice(flat_contracts())
    rows = some_rows(contract_id, source, lambda column: source.choice(OTHERS[:3] + NUMBERS + STRINGS))
    names = [column.name for column in columns_of(contract_id)]
    arrays = [_array([row[name] for row in rows], source) for name in names]
    if source.random() < 0.15:
        place = source.randrange(len(names))
        names[place] = str(source.choice(_NAMES))
    stream = io.BytesIO()
    table = pa.Table.from_arrays(arrays, names=names)
    codec, groups = source.choice(("NONE", "SNAPPY", "GZIP", "ZSTD")), source.choice((1, 3, None))
    try:
        pq.write_table(table, stream, compression=codec, row_group_size=groups if len(rows) < 100 else None)
    except _ARROW_ERRORS:
        stream = io.BytesIO()
        pq.write_table(pa.table({"image_id": ["a"], "label": ["MEL"]}), stream)
    data = stream.getvalue()
    contract = contract_id if source.random() < 0.4 else None
    return Text(edited(data, source) if source.random() < 0.4 else data, ".parquet", contract)


def _array(values: list[Any], source: random.Random) -> Any:
    """A column with its own type, sometimes another type if possible, otherwise as text."""
    wanted = source.choice(_ARROW_TYPES) if source.random() < 0.15 else None
    ways: tuple[Callable[[], Any], ...] = (
        lambda: pa.array(values, wanted),
        lambda: pa.array(values).cast(wanted),
        lambda: pa.array(values),
    )
    for make in ways:
        try:
            return make()
        except _ARROW_ERRORS:
            continue
    return pa.array([None if value is None else str(value) for value in values])


# --- the same rows everywhere --------------------------------------------------------------------

_LIKE_A_VALUE = re.compile(r"-?(?:[0-9.]|nan|inf|true|false)", re.IGNORECASE)


def cell_for_all(column: Column, source: random.Random) -> Any:
    """A cell that every container supports: CSV has no types, and no null in required fields."""
    texts = [text for text in STRINGS if text and "\0" not in text]
    if column.kind == "text":
        return source.choice([*texts, *([None] if column.nullable else [""])])
    words = [text for text in texts if not _LIKE_A_VALUE.match(text.strip())]
    own: list[Any] = [True, False] if column.kind == "boolean" else list(NUMBERS)
    return source.choice([*own, source.choice(words), *([None] if column.nullable else [])])


def as_csv(names: list[str], rows: list[Row], quoting: Any) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=quoting, lineterminator="\r\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_csv_cell(row[name]) for name in names])
    return text.getvalue().encode()


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def as_records(contract_id: str, rows: list[Row]) -> list[Row]:
    """The rows as records, with lists instead of one column per item."""
    found = []
    for row in rows:
        record = dict(row)
        for name, columns in registry.find(contract_id).spread.items():
            items = [record.pop(column) for column in columns]
            record[name] = None if all(item is None for item in items) else items
        found.append(record)
    return found


Problems = list[tuple[Any, ...]]


def _by_record(report: medcontract.FileReport) -> Problems:
    return sorted(((p.code, p.severity, p.record) for p in report.problems), key=repr)


def _by_column(report: medcontract.FileReport) -> Problems:
    return sorted(((p.code, p.severity, p.record, p.field, p.message) for p in report.problems), key=repr)


def problems_by_container(
    contract_id: str, rows: list[Row], quoting: Any
) -> dict[str, tuple[Problems, Problems | None]]:
    """The problems of the same rows in each container: by record, and for tables also by column."""
    names = [*rows[0]] if rows else [column.name for column in columns_of(contract_id)]
    lines = as_records(contract_id, rows)
    contract = registry.find(contract_id)
    document = {**documents(contract.definition)[0], contract.list_key or "": lines}
    texts = {
        "x.jsonl": "\n".join(map(json.dumps, lines)).encode(),
        "x.json": json.dumps(document).encode(),
        "x.csv": as_csv(names, rows, quoting),
    }
    reports = {name: medcontract.validate(data, contract_id, name=name) for name, data in texts.items()}
    reports["frame"] = medcontract.validate_frame(pd.DataFrame(rows, columns=names, dtype=object), contract_id)
    parquet = _as_parquet(names, rows)
    if parquet is not None:
        reports["x.parquet"] = medcontract.validate(parquet, contract_id, name="x.parquet")
    tables = ("x.csv", "frame", "x.parquet")
    return {name: (_by_record(r), _by_column(r) if name in tables else None) for name, r in reports.items()}


def _as_parquet(names: list[str], rows: list[Row]) -> bytes | None:
    """None if a column has values of several types, which Parquet does not support."""
    try:
        table = pa.table({name: pa.array([row[name] for row in rows]) for name in names})
    except _ARROW_ERRORS:
        return None
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


def disagreement(contract_id: str, rows: list[Row], quoting: Any) -> str | None:
    """Describe a difference between containers, or return None."""
    found = problems_by_container(contract_id, rows, quoting)
    if not rows:  # an empty .jsonl is not valid, and only tables have a warning
        del found["x.json"], found["x.jsonl"]
    first = next(iter(found))
    by_column = {name: columns for name, (_, columns) in found.items() if columns is not None}
    other = next((name for name, (problems, _) in found.items() if problems != found[first][0]), None)
    if other:
        return f"{first} and {other} differ in {contract_id}: {_first_difference(found[first][0], found[other][0])}"
    other = next((name for name, columns in by_column.items() if columns != by_column["x.csv"]), None)
    if other:
        return f"x.csv and {other} differ in {contract_id}: {_first_difference(by_column['x.csv'], by_column[other])}"
    return None


def _first_difference(one: Problems, other: Problems) -> str:
    left, right = ([problem for problem in a if problem not in b] for a, b in ((one, other), (other, one)))
    return f"{left[:1]} and {right[:1]}" if left or right else "the number of times a problem is reported"
