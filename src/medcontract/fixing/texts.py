"""Repairs the text of a file: JSON that is almost JSON, wrong keys and values in it, and the rows of tables."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from medcontract.contracts.registry import CompiledContract, known_keys, schemas_at, value_at
from medcontract.fixing.meanings import Repair, cell_value, json_value, renamed
from medcontract.problems import Path, pointer_tokens
from medcontract.results.validation import Problem

_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"' r"|'(?:[^'\\\r\n]|\\.)*'" r"|,(?=\s*[}\]])" r"|[A-Za-z_][A-Za-z0-9_]*", re.DOTALL
)
_FENCE = re.compile(r"\s*```[A-Za-z0-9]*[ \t]*\r?\n(.*?\n)[ \t]*```\s*", re.DOTALL)
_LITERAL = "replaced a Python literal"
_REPLACEMENTS = {
    ",": ("", "removed a trailing comma"),
    "True": ("true", _LITERAL), "False": ("false", _LITERAL), "None": ("null", _LITERAL),
}  # fmt: skip
"""What a token outside strings becomes, and how the repair is called."""
_NOT_JSON = object()
_LINE_END = re.compile(r"\r\n|\n|\r")
_VALUE = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s,}\]]+', re.DOTALL)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_INDEX_NAMES = ("", "Unnamed: 0")


class Repaired(NamedTuple):
    """A text after some repairs."""

    text: str
    repairs: list[Repair]


# --- JSON that is almost JSON: trailing commas, Python literals, single quotes, a Markdown fence around it


def fixed_document(text: str) -> Repaired:
    """A `.json` file. Unchanged if the repairs do not make it JSON."""
    if _is_json(text):
        return Repaired(text, [])
    fence = _FENCE.fullmatch(text)
    inner, repairs = _fixed(fence.group(1) if fence else text, 1)
    if fence:
        repairs.insert(0, Repair("removed the Markdown fence"))
    return Repaired(inner, repairs) if _is_json(inner) else Repaired(text, [])


def fixed_lines(text: str) -> Repaired:
    """A `.jsonl` file: each line by itself."""
    lines, repairs = [], []
    for number, line in enumerate(re.split(r"(?<=\n)", text), 1):
        content = line.rstrip("\r\n")
        if content.strip() and not _is_json(content):
            new, found = _fixed(content, number)
            if _is_json(new):
                line = new + line[len(content) :]
                repairs += found
        lines.append(line)
    return Repaired("".join(lines), repairs)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return _NOT_JSON


def _is_json(text: str) -> bool:
    return _parsed(text) is not _NOT_JSON


def _fixed(text: str, first_line: int) -> tuple[str, list[Repair]]:
    repairs: list[Repair] = []

    def fix(match: re.Match[str]) -> str:
        token = match.group()
        new, what = _fixed_token(token)
        if what:
            repairs.append(Repair(what, first_line + text.count("\n", 0, match.start())))
        return new

    return _TOKEN.sub(fix, text), repairs


def _fixed_token(token: str) -> tuple[str, str]:
    if token in _REPLACEMENTS:
        return _REPLACEMENTS[token]
    if token.startswith("'"):
        try:
            value = ast.literal_eval(token)
        except (ValueError, SyntaxError):
            return token, ""
        if any("\ud800" <= char <= "\udfff" for char in value):  # cannot be written as UTF-8
            return token, ""
        return json.dumps(value, ensure_ascii=False), "replaced single quotes"
    return token, ""


# --- keys and values in JSON, found by validation: each is replaced where it is, so that the layout stays


def fixed_values(text: str, contract: CompiledContract, problems: Sequence[Problem], by_line: bool) -> Repaired:
    """`by_line`: a record per line, whose problems have pointers into the record."""
    schema = contract.record_schema if by_line else contract.schema
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    renames = _renames(text, contract, problems, by_line)
    changes: list[tuple[int, int, str, Repair]] = []
    for problem in problems:
        if problem.line is None or problem.column is None:
            continue
        start = starts[problem.line - 1] + problem.column - 1 + (problem.line == 1 and text.startswith("\ufeff"))
        match = _VALUE.match(text, start)
        if not match:
            continue
        path = _path(problem.pointer)
        if problem.code == "MC102" and (name := renames.get((problem.record, problem.pointer))):
            changes.append((*match.span(), json.dumps(name), Repair(f"renamed a key to '{name}'", problem.line)))
        if problem.code in ("MC103", "MC104"):
            field = next((token for token in reversed(path) if isinstance(token, str)), "")
            new = json_value(match.group(), schemas_at(schema, path), field)
            if new is not None:
                changes.append((*match.span(), new, Repair(f"corrected '{field}'", problem.line)))
    changes.sort()
    for begin, end, new, _ in reversed(changes):
        text = text[:begin] + new + text[end:]
    return Repaired(text, [repair for *_, repair in changes])


def _path(pointer: str) -> Path:
    return tuple(int(token) if token.isdecimal() else token for token in pointer_tokens(pointer))


def _renames(
    text: str, contract: CompiledContract, problems: Sequence[Problem], by_line: bool
) -> dict[tuple[int | None, str], str]:
    """Return new names of unknown keys, by record and pointer: at the top of a document, and of a record."""
    unknown: dict[tuple[int | None, str], list[str]] = defaultdict(list)
    for problem in problems:
        if problem.code == "MC102":
            unknown[problem.record, problem.pointer.rpartition("/")[0]].append(problem.pointer)
    lines = [line for line in _LINE_END.split(text.removeprefix("\ufeff")) if line.strip()] if by_line else []
    document = None if by_line or not unknown else _parsed(text)
    schema = contract.record_schema if by_line else contract.schema
    found: dict[tuple[int | None, str], str] = {}
    for (record, parent), pointers in unknown.items():
        path = _path(parent)
        value = value_at(_parsed(lines[record]) if by_line and record is not None else document, path)
        if not isinstance(value, dict):
            continue
        required: set[str] = set()
        if len(path) in (0, 2):
            required = set().union(*contract.forms) if by_line or parent else set(contract.header_required)
        names = {str(_path(each)[-1]): each for each in pointers}
        new = renamed(names, sorted(set(known_keys(schema, path)) - set(value)), sorted(required - set(value)))
        found |= {(record, names[old]): name for old, name in new.items()}
    return found


# --- tables: separators, columns and cells


class _Row:
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


def _rows(text: str, separator: str) -> list[_Row]:
    """Return the rows of a table, none if it is not one."""
    lines = [line for line in _LINE.findall(text.removeprefix("\ufeff")) if line]
    reader = csv.reader(lines, delimiter=separator, strict=True)
    rows: list[_Row] = []
    before = 0
    try:
        for cells in reader:
            rows.append(_Row(cells, "".join(lines[before : reader.line_num]), before + 1))
            before = reader.line_num
    except csv.Error:
        return []
    return rows


def _joined(text: str, rows: Sequence[_Row]) -> str:
    return ("\ufeff" if text.startswith("\ufeff") else "") + "".join(row.text for row in rows)


def with_commas(text: str) -> Repaired:
    """The table with commas, if it is separated by semicolons. Its contract need not be known."""
    first = next((line for line in _LINE.findall(text) if line.strip()), "")
    rows = _rows(text, ";") if ";" in first and "," not in first else []
    if not rows or any(row.cells and len(row.cells) != len(rows[0].cells) for row in rows):
        return Repaired(text, [])
    for row in rows:
        row.change(row.cells)
    return Repaired(_joined(text, rows), [Repair("replaced semicolons by commas")])


def fixed_table(text: str, contract: CompiledContract, decimal_commas: bool) -> Repaired:
    """Columns and cells. `decimal_commas`: the table was separated by semicolons, so a comma in a number is decimal."""
    rows = _rows(text, ",")
    if not rows:
        return Repaired(text, [])
    repairs = _drop_index(rows) + _rename_columns(rows[0], contract)
    by_name = {column.name: column for column in contract.columns}
    columns = [by_name.get(name) for name in rows[0].cells]
    for row in rows[1:]:
        if len(row.cells) != len(columns):
            continue
        cells = list(row.cells)
        for number, (cell, column) in enumerate(zip(row.cells, columns, strict=True)):
            if cell and column:
                schemas = schemas_at(contract.record_schema, column.path)
                cells[number] = cell_value(cell, column, schemas, decimal_commas)
                if cells[number] != cell:
                    repairs.append(Repair(f"corrected '{column.name}'", row.line))
        if cells != row.cells:
            row.change(cells)
    return Repaired(_joined(text, rows), repairs) if repairs else Repaired(text, [])


def _drop_index(rows: Sequence[_Row]) -> list[Repair]:
    """Remove a first column without a name that only numbers the rows."""
    numbers = [row.cells[0] for row in rows[1:] if row.cells]
    is_index = bool(rows[0].cells) and rows[0].cells[0] in _INDEX_NAMES and bool(numbers)
    if not is_index or numbers != list(map(str, range(len(numbers)))):
        return []
    for row in rows:
        row.change(row.cells[1:])
    return [Repair("removed an index column", 1)]


def _rename_columns(header: _Row, contract: CompiledContract) -> list[Repair]:
    names, known = header.cells, [column.name for column in contract.columns]
    if len(set(names)) != len(names) or contract.open:
        return []
    required = {name for form in contract.column_forms for name in form}
    missing = [name for name in known if name in required and name not in names]
    new = renamed([name for name in names if name not in known], [n for n in known if n not in names], missing)
    if new:
        header.change([new.get(name, name) for name in names])
    return [Repair(f"renamed a column to '{name}'", 1) for name in new.values()]
