"""Reads a table of unknown structure, in any container."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from medcontract.containers import CSV, JSON, PARQUET, Container
from medcontract.errors import CallError, InvalidData
from medcontract.problems import Finding, Ref, plural
from medcontract.reading import jsonl, parquet
from medcontract.reading.cells import cell_json
from medcontract.reading.csv_rows import CsvFile
from medcontract.reading.json_scanner import scan
from medcontract.reading.json_stream import JsonFile
from medcontract.reading.located_records import Broken, TooLarge, too_large
from medcontract.reading.source import Source, Unreadable
from medcontract.validation.dispatch import container_of
from medcontract.validation.frames import parquet_columns
from medcontract.validation.json_lines import JsonLinesReader
from medcontract.validation.records import broken_finding
from medcontract.validation.report import ProblemCollector, make_report
from medcontract.validation.tables import broken_header, header_findings, header_ref

LIST_KEY = "truth"
_MOST_CELLS = 20_000_000
_MOST_COLUMNS = 2_000
"""Reading stops beyond it; a challenge allows fewer."""
Record = dict[str, Any]
_decode = msgspec.json.Decoder().decode


class Table(NamedTuple):
    """The columns of a truth table, as lists of equal length. Absent and empty cells are None."""

    columns: dict[str, list[Any]]
    rows: int
    is_text: bool
    """All cells are strings, as in a CSV."""
    header: Ref | None = None
    """The header row, if there is one."""


class _Stop(Exception):
    """The table cannot be read further, because of a finding."""

    def __init__(self, finding: Finding) -> None:
        self.finding = finding


def load_table(source: Source, collector: ProblemCollector, list_key: str = LIST_KEY) -> Table:
    """Return the table in a source. Raises `InvalidData`, and `CallError` if there is no file, or without pyarrow."""
    try:
        source.prepare()
    except Unreadable as unreadable:
        if unreadable.wrong_call:
            raise CallError(f"{source.name}: {unreadable.finding.message}", unreadable.finding.hint) from None
        collector.add(unreadable.finding)
        raise InvalidData(make_report(source, None, None, collector)) from None
    table = _read_table(source, collector, list_key)
    if table is None:
        raise InvalidData(make_report(source, None, None, collector))
    return table


def _read_table(source: Source, collector: ProblemCollector, list_key: str) -> Table | None:
    """The table in a prepared source; None if there are problems. Raises `CallError` without pyarrow."""
    container = container_of(source)
    columns: dict[str, list[Any]] = {}
    rows = 0
    try:
        for record in _records(source, container, collector, list_key):
            for name, value in record.items():
                if name not in columns:
                    columns[name] = [None] * rows
                columns[name].append(value)
            rows += 1
            if len(record) < len(columns):
                for values in columns.values():
                    values.extend([None] * (rows - len(values)))
            _check_size(rows, len(columns))
    except _Stop as stop:
        collector.add(stop.finding)
    except Broken as broken:
        collector.add(broken_finding(broken))
    except TooLarge as large:
        collector.add(too_large(source.limits.record, large.offset))
    except Unreadable as unreadable:
        collector.add(unreadable.finding)
    if collector.errors:
        return None
    header = header_ref(source) if container is CSV else None
    return Table(columns, rows, container is CSV, header)


def _check_size(rows: int, columns: int) -> None:
    if columns > _MOST_COLUMNS:
        raise _Stop(Finding("MC108", f"the table has more than {_MOST_COLUMNS:,} columns", "keep the key and labels"))
    if rows * columns > _MOST_CELLS:
        hint = "pass the first rows, or only the key and the labels"
        raise _Stop(Finding("MC108", f"the table has more than {_MOST_CELLS:,} cells", hint))


def _records(source: Source, container: Container, collector: ProblemCollector, list_key: str) -> Iterator[Record]:
    if container is CSV:
        return _csv_records(source, collector)
    if container is PARQUET:
        return _parquet_records(source)
    return _json_records(source, list_key) if container is JSON else _jsonl_records(source)


def _csv_records(source: Source, collector: ProblemCollector) -> Iterator[Record]:
    table = CsvFile(source)
    if table.broken:
        raise _Stop(broken_header(table.broken, source))
    _check_size(0, len(table.header))
    for finding in header_findings(table.header, table.header, True, header_ref(source)):
        collector.add(finding)
    for row in table.rows((), True, _object):
        if row.finding is not None:
            raise _Stop(row.finding._replace(ref=Ref(row.offset, len(row.raw), None, (), row.line)))
        value = row.value if row.value is not None else _object(row.raw)
        if value is None:
            raise _Stop(Finding("MC007", "invalid text", ref=Ref(row.offset, len(row.raw), None, (), row.line)))
        yield {name: cell or None for name, cell in value.items()}


def _json_records(source: Source, list_key: str) -> Iterator[Record]:
    file = JsonFile(source, list_key, _object)
    for number, record in enumerate(file.records()):
        raw, offset, value = record.raw, record.offset, record.value
        yield _record(raw, offset, value, Ref(offset, len(raw), number, (list_key, number)))
    if file.outer is not None:
        what = "a list" if file.outer.raw == b"[]" else "this"
        hint = f'wrap it: {{"{list_key}": …}}'
        raise _Stop(Finding("MC103", f"expected an object, got {what}", hint, offset=file.outer.offset))
    if file.list_at is None:
        hint = f'name the list of records "{list_key}"'
        raise _Stop(Finding("MC101", f"'{list_key}' is missing", hint, offset=file.start))


def _jsonl_records(source: Source) -> Iterator[Record]:
    for number, record in enumerate(jsonl.records(source, _object)):
        raw, offset, value = record.raw, record.offset, record.value
        ref = Ref(offset, len(raw), number)
        if not raw:
            raise _Stop(too_large(source.limits.record, None, ref))
        try:
            yield _record(raw, offset, value, ref)
        except Broken as broken:
            explained = next(JsonLinesReader.syntax_errors(source), None)
            raise _Stop(explained or broken_finding(broken)) from None


def _object(raw: bytes) -> Record | None:
    """An object, or None if it is something else or cannot be parsed."""
    try:
        value = _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _record(raw: bytes, offset: int, value: Any, ref: Ref) -> Record:
    """A record. Other faults than syntax errors are reported when the table is validated."""
    if value is None:
        try:
            value = scan(raw).value
        except Broken as broken:
            broken.offset += offset
            raise
    if not isinstance(value, dict):
        raise _Stop(Finding("MC103", "expected an object", ref=ref))
    return value


def _parquet_records(source: Source) -> Iterator[Record]:
    names = parquet_columns(source)
    repeated = sum(names.count(name) > 1 for name in set(names)) if len(names) <= _MOST_COLUMNS else 0
    if repeated:
        raise _Stop(Finding("MC015", f"{plural(repeated, 'column')} repeated", "keep one of each"))
    _check_size(0, len(names))
    for cells in parquet.rows(source):
        if cells is None:
            raise _Stop(too_large(source.limits.record, None))
        yield {name: json.loads(cell_json(cell, False)) for name, cell in zip(names, cells, strict=True)}
