"""Repairs tables: separators, lines without records, columns and cells. Everything else stays, byte for byte."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile

from medcontract.contracts.registry import CompiledContract, schemas_at
from medcontract.contracts.wrong_values import ERROR_FIELDS, means_no_error
from medcontract.fixing.ids import Id
from medcontract.fixing.json_texts import Repaired
from medcontract.fixing.meanings import Repair, cell_value, decimal_commas, renamed
from medcontract.types import Column

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_SEP = re.compile(r"\s*\"?sep=(.)\"?\s*", re.IGNORECASE)
_SEPARATORS = {";": "semicolons", "\t": "tabs"}
_INDEX_NAMES = ("", "Unnamed: 0")
_NO_INDEX = "removed an index column"


class Row:
    """A row of a table: its cells, its text, and the line where it starts."""

    def __init__(self, cells: list[str], text: str, line: int) -> None:
        self.cells = cells
        self.text = text
        self.line = line

    def change(self, cells: list[str]) -> None:
        self.cells = cells
        if cells:
            stream = io.StringIO(newline="")
            csv.writer(stream, lineterminator="").writerow(cells)
            self.text = stream.getvalue() + self.text[len(self.text.rstrip("\r\n")) :]


def _rows(lines: Sequence[tuple[int, str]], separator: str) -> list[Row]:
    """Return the rows of a table, none if it is not one."""
    reader = csv.reader([line for _, line in lines], delimiter=separator, strict=True)
    rows: list[Row] = []
    before = 0
    try:
        for cells in reader:
            text = "".join(line for _, line in lines[before : reader.line_num])
            rows.append(Row(cells, text, lines[before][0]))
            before = reader.line_num
    except csv.Error:
        return []
    return rows


def _lines(text: str) -> list[tuple[int, str]]:
    return [(number, line) for number, line in enumerate(_LINE.findall(text.removeprefix("\ufeff")), 1) if line]


def _joined(text: str, rows: Sequence[Row]) -> str:
    return ("\ufeff" if text.startswith("\ufeff") else "") + "".join(row.text for row in rows)


def fixed_rows(text: str) -> tuple[Repaired, bool]:
    """Return the table with commas, without comments, empty rows and repeated headers. Its contract need not be known.

    Also returns whether it was separated by semicolons, so that a comma in a number is decimal.
    """
    lines, repairs = _lines(text), list[Repair]()
    while lines and (_SEP.fullmatch(lines[0][1]) or not lines[0][1].strip() or lines[0][1].startswith("#")):
        rest = lines[1:]
        if lines[0][1].startswith("#") and (not rest or _width(lines[0][1]) == _width(rest[0][1])):
            break  # it may be the header
        what = "removed a comment" if lines[0][1].startswith("#") else "removed the line about the separator"
        repairs += [Repair(what, lines[0][0])] if lines[0][1].strip() else []
        lines = rest
    separator = _separator(lines[0][1]) if lines else ","
    rows = _rows(lines, separator)
    if not rows:
        return Repaired(text, []), False
    width = len(rows[0].cells)
    kept = [rows[0]]
    for row in rows[1:]:
        if row.cells and row.text.startswith("#") and len(row.cells) != width:
            repairs.append(Repair("removed a comment", row.line))
        elif row.cells and not any(cell.strip() for cell in row.cells):
            repairs += [Repair("removed an empty row", row.line)] if len(row.cells) > 1 else []
        elif width > 1 and row.cells == rows[0].cells:
            repairs.append(Repair("removed a repeated header", row.line))
        else:
            kept.append(row)
    changed = separator != ","
    if changed and any(row.cells and len(row.cells) != width for row in kept):
        return Repaired(text, []), False
    if changed:
        repairs.insert(0, Repair(f"replaced {_SEPARATORS[separator]} with commas"))
        for row in kept:
            row.change(row.cells)
    repairs += _drop_empty_columns(kept)
    return Repaired(_joined(text, kept) if repairs else text, repairs), separator == ";"


def _width(line: str) -> int:
    return len(next(csv.reader([line], delimiter=_separator(line)), []))


def _separator(line: str) -> str:
    return next((each for each in _SEPARATORS if each in line and "," not in line), ",")


def _drop_empty_columns(rows: Sequence[Row]) -> list[Repair]:
    """Remove columns without a name and without content, and commas at the end of the header."""
    names, widths = rows[0].cells, {len(row.cells) for row in rows[1:] if row.cells}
    named = len(names) - len(list(takewhile(lambda name: not name.strip(), reversed(names))))
    if 0 < named < len(names) and widths == {named}:
        rows[0].change(names[:named])
        return [Repair("removed a comma at the end of the header", rows[0].line)]
    cells = [row.cells for row in rows if row.cells]
    empty = {n for n, name in enumerate(names) if widths == {len(names)} and not any(row[n].strip() for row in cells)}
    if not empty or len(empty) == len(names):
        return []
    for row in rows:
        row.change([cell for n, cell in enumerate(row.cells) if n not in empty])
    return [Repair("removed an empty column", rows[0].line)]


def fixed_table(
    text: str,
    contract: CompiledContract,
    with_commas: bool,
    fields: Sequence[str],
    ids: Mapping[Id, Id],
    left: Collection[str] = (),
) -> Repaired:
    """Columns and cells. `with_commas`: commas in numbers are decimal. `ids`: the right ones for those in `fields`.

    `left`: kinds of repairs that are not made.
    """
    rows = _rows(_lines(text), ",")
    if not rows:
        return Repaired(text, [])
    repairs = _drop_index(rows, left) + _rename_columns(rows[0], contract, left)
    by_name = {column.name: column for column in contract.columns}
    columns = [by_name.get(name) for name in rows[0].cells]
    records = [row for row in rows[1:] if len(row.cells) == len(columns)]
    answers = _answers(contract, columns)
    for number, column in enumerate(columns):
        if column is None or f"corrected '{column.name}'" in left:
            continue
        schemas = schemas_at(contract.record_schema, column.path)
        commas = with_commas or (column.kind == "number" and decimal_commas(row.cells[number] for row in records))
        for row in records:
            cell = row.cells[number]
            new = cell_value(cell, column, schemas, commas) if cell else cell
            if column.name in ERROR_FIELDS and means_no_error(cell) and any(row.cells[n] for n in answers):
                new = ""
            if new != cell:
                repairs.append(Repair(f"corrected '{column.name}'", row.line))
                row.change([*row.cells[:number], new, *row.cells[number + 1 :]])
    if fields and _expected(fields) not in left:
        repairs += _right_ids(rows[0].cells, records, fields, ids)
    repairs.sort(key=lambda repair: repair.line or 0)
    return Repaired(_joined(text, rows), repairs) if repairs else Repaired(text, [])


def _answers(contract: CompiledContract, columns: Sequence[Column | None]) -> list[int]:
    """Return the columns that a record without an error has: if all are empty, its error is right, whatever it says."""
    failed = [form for form in contract.column_forms if "error" in form]
    names = frozenset().union(*contract.column_forms).difference(*failed)
    return [n for n, column in enumerate(columns) if column and column.name in names]


def _right_ids(
    header: Sequence[str], records: Sequence[Row], fields: Sequence[str], ids: Mapping[Id, Id]
) -> list[Repair]:
    if not ids or not set(fields) <= set(header):
        return []
    places = [header.index(field) for field in fields]
    repairs = []
    for row in records:
        true = ids.get(tuple(row.cells[place] for place in places))
        if true is not None:
            cells = list(row.cells)
            for place, text in zip(places, true, strict=True):
                cells[place] = text
            row.change(cells)
            repairs.append(Repair(_expected(fields), row.line))
    return repairs


def _expected(fields: Sequence[str]) -> str:
    return f"wrote '{fields[-1]}' as it is expected"


def _drop_index(rows: Sequence[Row], left: Collection[str]) -> list[Repair]:
    """Remove a first column without a name that only numbers the rows."""
    numbers = [row.cells[0] for row in rows[1:] if row.cells]
    is_index = bool(rows[0].cells) and rows[0].cells[0] in _INDEX_NAMES and bool(numbers)
    if not is_index or _NO_INDEX in left or numbers != list(map(str, range(len(numbers)))):
        return []
    for row in rows:
        row.change(row.cells[1:])
    return [Repair(_NO_INDEX, 1)]


def _rename_columns(header: Row, contract: CompiledContract, left: Collection[str]) -> list[Repair]:
    names, known = header.cells, [column.name for column in contract.columns]
    if len(set(names)) != len(names) or contract.open:
        return []
    unknown, absent = [name for name in names if name not in known], [name for name in known if name not in names]
    new = renamed(unknown, absent, next(iter(contract.spread.values()), ()))
    new = {old: name for old, name in new.items() if _rename(name) not in left}
    if new:
        header.change([new.get(name, name) for name in names])
    return [Repair(_rename(name), 1) for name in new.values()]


def _rename(name: str) -> str:
    return f"renamed a column to '{name}'"
