"""Repairs of `.csv` files: separators, columns and cells. Rows without a mistake stay as they are, byte by byte."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

from medcontract.contracts.registry import CompiledContract, schemas_at
from medcontract.fixing.repair import NUMBER, Repair, Repaired, choices_of, renamed, same_but_for_spelling
from medcontract.reading.row_layout import BOOLEANS
from medcontract.types import Column

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_DECIMAL_COMMA = re.compile(r"-?[0-9]+,[0-9]+")
_PERCENT = re.compile(r"([0-9]+)(?:\.([0-9]+))? ?%")
_BOOLEANS = {"true": "true", "false": "false", "verdadero": "true", "falso": "false"}
_INDEX_NAMES = ("", "Unnamed: 0")


class _Table:
    """The rows of a table: their cells, and their text."""

    def __init__(self, text: str, separator: str) -> None:
        self.mark = "\ufeff" if text.startswith("\ufeff") else ""
        lines = [line for line in _LINE.findall(text.removeprefix("\ufeff")) if line]
        reader = csv.reader(lines, delimiter=separator, strict=True)
        self.rows: list[list[str]] = []
        self.texts: list[str] = []
        self.lines: list[int] = []
        before = 0
        for row in reader:
            self.rows.append(row)
            self.texts.append("".join(lines[before : reader.line_num]))
            self.lines.append(before + 1)
            before = reader.line_num
        self.changed = [False] * len(self.rows)
        self.repairs: list[Repair] = []

    def change(self, number: int, row: list[str], repair: Repair | None = None) -> None:
        self.rows[number], self.changed[number] = row, True
        if repair:
            self.repairs.append(repair)

    def text(self) -> str:
        return self.mark + "".join(map(self._row_text, range(len(self.rows))))

    def _row_text(self, number: int) -> str:
        raw = self.texts[number]
        if not self.changed[number] or not self.rows[number]:
            return raw
        stream = io.StringIO(newline="")
        csv.writer(stream, lineterminator="").writerow(self.rows[number])
        return stream.getvalue() + raw[len(raw.rstrip("\r\n")) :]


def with_commas(text: str) -> Repaired:
    """The table with commas, if it is separated by semicolons. Its contract need not be known."""
    first = next((line for line in _LINE.findall(text) if line.strip()), "")
    if ";" not in first or "," in first:
        return Repaired(text, [])
    try:
        table = _Table(text, ";")
    except csv.Error:
        return Repaired(text, [])
    width = len(table.rows[0])
    if any(row and len(row) != width for row in table.rows):
        return Repaired(text, [])
    for number, row in enumerate(table.rows):
        table.change(number, row)
    return Repaired(table.text(), [Repair("replaced semicolons by commas")])


def fixed_table(text: str, contract: CompiledContract, decimal_commas: bool) -> Repaired:
    """Columns and cells. `decimal_commas`: the table was separated by semicolons, so a comma in a number is decimal."""
    try:
        table = _Table(text, ",")
    except csv.Error:
        return Repaired(text, [])
    if not table.rows:
        return Repaired(text, [])
    _drop_index(table)
    _rename_columns(table, contract)
    columns = {column.name: column for column in contract.columns}
    known = [columns.get(name) for name in table.rows[0]]
    for number, row in enumerate(table.rows[1:], 1):
        if len(row) != len(known):
            continue
        new = [_cell(cell, column, contract, decimal_commas) for cell, column in zip(row, known, strict=True)]
        for before, after, column in zip(row, new, known, strict=True):
            if before != after and column:
                table.repairs.append(Repair(f"corrected '{column.name}'", table.lines[number]))
        if new != row:
            table.change(number, new)
    return Repaired(table.text(), table.repairs) if table.repairs else Repaired(text, [])


def _drop_index(table: _Table) -> None:
    """Remove a first column without a name that only numbers the rows."""
    rows = [row for row in table.rows[1:] if row]
    if table.rows[0][:1] not in ([name] for name in _INDEX_NAMES) or not rows:
        return
    if [row[0] for row in rows] == [str(number) for number in range(len(rows))]:
        for number, row in enumerate(table.rows):
            table.change(number, row[1:])
        table.repairs.append(Repair("removed an index column", 1))


def _rename_columns(table: _Table, contract: CompiledContract) -> None:
    header = table.rows[0]
    known = [column.name for column in contract.columns]
    if len(set(header)) != len(header) or contract.open:
        return
    required = {name for form in contract.column_forms for name in form}
    missing = [name for name in known if name in required and name not in header]
    new = renamed([name for name in header if name not in known], [n for n in known if n not in header], missing)
    if new:
        table.change(0, [new.get(name, name) for name in header])
        table.repairs += [Repair(f"renamed a column to '{name}'", 1) for name in new.values()]


def _cell(cell: str, column: Column | None, contract: CompiledContract, decimal_commas: bool) -> str:
    """The cell, or the only valid one that it can mean."""
    if column is None or not cell:
        return cell
    if column.kind == "boolean":
        return cell if cell.lower() in BOOLEANS else _BOOLEANS.get(cell.strip().lower(), cell)
    schemas = schemas_at(contract.record_schema, column.path)
    if column.kind == "number":
        return cell if NUMBER.fullmatch(cell) else next(_numbers(cell.strip(), schemas, decimal_commas), cell)
    choices = choices_of(schemas)
    return cell if cell in choices else same_but_for_spelling(cell, choices) or cell


def _numbers(cell: str, schemas: Sequence[dict[str, object]], decimal_commas: bool) -> Iterator[str]:
    if NUMBER.fullmatch(cell):
        yield cell
    if decimal_commas and _DECIMAL_COMMA.fullmatch(cell):
        yield cell.replace(",", ".")
    percent = _PERCENT.fullmatch(cell.replace(",", ".") if decimal_commas else cell)
    if percent and any(each.get("maximum") == 1 for each in schemas):  # a share: 95 % is 0.95
        digits, decimals = percent.group(1).lstrip("0").rjust(3, "0"), percent.group(2) or ""
        yield f"{digits[:-2]}.{digits[-2:]}{decimals}"
