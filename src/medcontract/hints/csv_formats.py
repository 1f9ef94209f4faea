"""Guesses why the header of a `.csv` file has no known column: another delimiter, other lines above it, no header."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import islice, pairwise
from typing import NamedTuple

from medcontract.contracts import recognition
from medcontract.contracts.recognition import Recognized
from medcontract.contracts.registry import CompiledContract
from medcontract.contracts.wrong_values import LOCAL_BOOLEANS
from medcontract.errors import NotRecognized
from medcontract.hints.foreign_files import printed_table
from medcontract.hints.table_arrangements import IN_CSV, other_arrangement
from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import Finding, Ref, is_plain
from medcontract.reading.csv_rows import CsvFile
from medcontract.reading.diagnosis import LATE_MARK_HINT, MOST_BYTES, Encoding, encoding_of, index_hint
from medcontract.reading.source import Source

Fits = Callable[[frozenset[str]], bool]
"""Whether column names belong to the contract, or to any contract."""

_MARK = "\ufeff"
_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "vertical bars", "，": "full-width commas"}
_MOST_LINES = 50
_MOST_ABOVE = 20
"""Lines above the header."""
_SEP = lazy_pattern(r'"?sep=(.)"?\s*\Z')
_MARKDOWN_RULE = lazy_pattern(r"\s*\|[\s:|-]*-[\s:|-]*\Z")
_DECIMAL_COMMA = lazy_pattern(r"\s*-?[0-9]+,[0-9]+\s*%?\s*\Z")
_VALUE = lazy_pattern(r"\s*(?:[-+]?[0-9]+(?:[.,][0-9]+)?(?:[eE][-+]?[0-9]+)?\s*%?|[0-9]{4}-[0-9]{2}-[0-9]{2}.*)?\s*\Z")


class _Start(NamedTuple):
    """The start of the file."""

    lines: list[str]
    """Lines that are not blank."""
    numbers: list[int]
    """Their numbers in the file."""
    encoding: Encoding | None
    """If it is not UTF-8."""


def explain(source: Source, found: Recognized | NotRecognized) -> Finding | None:
    """Say what a table that matches no contract exactly is, if that is clear."""
    header = CsvFile(source).header
    if len(header) > 1 and all(len(name) > 1 and name[0] == name[-1] == "'" for name in header):
        hint = 'use double quotes, or none (in pandas: pd.read_csv(old, quotechar="\'").to_csv(new, index=False))'
        return Finding("MC005", "the cells are in single quotes", hint, ref=Ref(source.start, 0, None, (), 1))
    renamed = found.renames if isinstance(found, Recognized) else ()
    finding = other_format(source, _is_of_a_contract) if isinstance(found, NotRecognized) else None
    finding = finding or other_arrangement(header, lambda: _rows(source), IN_CSV, renamed)
    return finding and finding._replace(offset=None, ref=Ref(source.start, 0, None, (), 1))


def broken_table(source: Source, contract: CompiledContract | None = None) -> Finding | None:
    """Say what a table is whose header breaks the rules of CSV, if that is clear."""
    known = frozenset(column.name for column in contract.columns) if contract else frozenset[str]()
    finding = other_format(source, lambda names: not known.isdisjoint(names) if contract else _is_of_a_contract(names))
    return finding if finding and finding.code == "MC005" else None


def _is_of_a_contract(names: frozenset[str]) -> bool:
    return isinstance(recognition.of_columns(names), Recognized)


def _rows(source: Source) -> list[list[str]]:
    """Return the first rows."""
    try:
        return list(csv.reader(read_start(source).lines))[1:]
    except csv.Error:  # a very long cell
        return []


def other_format(source: Source, fits: Fits, columns: Sequence[str] = ()) -> Finding | None:
    """Return the finding about a table whose first line has no column of a contract. `columns`: of the contract."""
    start = read_start(source)
    if not start.lines:
        return None
    if start.lines[0].startswith(_MARK):
        return Finding("MC032", "a second byte order mark (U+FEFF)", LATE_MARK_HINT)
    finding = _delimiter(start, fits) or _quoted_lines(start, fits) or _lines_above(start, fits)
    if finding is None and sum(map(bool, map(_BULLET.match, start.lines))) > 1:
        hint = "write one row per record, and the column names on the first line"
        return Finding("MC005", "this is a text with a list, not a table", hint)
    return finding or _no_header(start, columns)


_BULLET = lazy_pattern(r"\s*(?:[-*•]|[0-9]+[.)])\s+\D")


_INDEX_ALONE = "the rows start with an index that the header lacks: write it with index=False (in R: row.names = FALSE)"


class StrayRows:
    """Says what rows are that have another number of cells than the header."""

    def __init__(self, source: Source, header: Sequence[str]) -> None:
        self._source = source
        self._header = header

    def hint(self, line: str) -> str | None:
        """Return the hint about such a row."""
        if not _SEPARATED.search(line) and len(self._header) > 2:
            return "remove the line if it is not a record; put a text with line breaks in double quotes"
        cells = _cells(line)
        is_longer = len(cells) == len(self._header) + 1 and cells[0].isdecimal()
        return _INDEX_ALONE if is_longer and self._has_index else None

    @cached_property
    def _has_index(self) -> bool:
        rows = _rows(self._source)
        return all(len(row) == len(self._header) + 1 for row in rows) and _counts([row[0] for row in rows])


_SEPARATED = lazy_pattern(r"[,;|\t]|^[#`\"]")


def other_format_of(source: Source, header: Sequence[str], contract: CompiledContract) -> Finding | None:
    """Say why no column is one of the contract, if that is clear: one finding instead of one for each column."""
    known = frozenset(column.name for column in contract.columns)
    is_hidden = header[0].startswith(_MARK) and header[0].lstrip(_MARK) in known  # by a byte order mark
    if not is_hidden and not known.isdisjoint(header):
        return None
    needed = (column for column in contract.columns if not column.nullable or column.path[0] in contract.spread)
    return other_format(source, lambda names: not known.isdisjoint(names), [column.name for column in needed])


def unnamed_hint(source: Source, header: Sequence[str], absent: Sequence[str] = ()) -> str | None:
    """Return the hint about a column without a name: a comma too many, an empty column, or the index of a DataFrame.

    `absent`: the required columns that the header lacks.
    """
    position, unnamed = header.index(""), header.count("")
    at_the_end = not any(header[position:])
    rows = _rows(source)
    if rows and sum(len(row) == len(header) - unnamed for row in rows) >= max(1, len(rows) - 1):  # the last may be cut
        where = "from the end of the header" if at_the_end else "from the header"
        return f"remove the extra comma {where}: the rows have no cell for it"
    if at_the_end:
        return None
    cells = [row[position] for row in rows if position < len(row)]
    if cells and not any(cell.strip() for cell in cells):
        return "remove the empty column"
    if _are_row_numbers(cells):
        return index_hint("")
    return f"name it '{absent[0]}'" if len(absent) == 1 else "name the column after its field, or remove it"


def _are_row_numbers(cells: Sequence[str]) -> bool:
    """Return whether the cells are the numbers from 0, or from 1, in any order."""
    if not all(cell.isascii() and cell.isdigit() and len(cell) < 10 for cell in cells):
        return False
    numbers = sorted(map(int, cells))
    return bool(numbers) and numbers[0] < 2 and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _counts(cells: Sequence[str]) -> bool:
    """Check whether the cells are consecutive numbers."""
    if len(cells) < 2 or not all(cell.isascii() and cell.isdigit() and len(cell) < 10 for cell in cells):
        return False
    return all(int(b) == int(a) + 1 for a, b in pairwise(cells))


def read_start(source: Source) -> _Start:
    """Return the first lines of a table."""
    raw = source.read(source.start, MOST_BYTES)
    encoding = None
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        encoding = encoding_of(raw, error.start) if len(raw) - error.start > 3 else None
        text = raw.decode(encoding.codec if encoding else "utf-8", "replace")
    lines = [line.rstrip("\n") for line in islice(io.StringIO(text, newline=None), _MOST_LINES)]
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    return _Start([line for _, line in numbered], [number for number, _ in numbered], encoding)


def _delimiter(start: _Start, fits: Fits) -> Finding | None:
    """Another delimiter: one hint for everything that such exports do differently."""
    above = 1 if _SEP.match(start.lines[0]) else 0
    rows = start.lines[above:]
    if len(rows) > 1 and rows[0].lstrip().startswith("|") and _MARKDOWN_RULE.match(rows[1]):
        hint = "separate the columns by commas, and remove the line of dashes and the bars at both ends of each line"
        return Finding("MC005", "the table is in Markdown, not in CSV", hint)
    for delimiter, name in _DELIMITERS.items():
        if rows and rows[0].count(delimiter) > rows[0].count(","):
            header, *records = csv.reader(rows, delimiter=delimiter)
            if fits(frozenset(header)) or len(header) > 2:
                message = f"the columns are separated by {name}, not by commas"
                return Finding("MC005", message, _delimiter_hint(delimiter, header, records, above, start.encoding))
    if printed := printed_table(start.lines):
        return Finding("MC005", *printed)
    if above:
        return Finding("MC005", "the first line is an instruction for Excel, not the column names", "remove the line")
    return None


def _delimiter_hint(
    delimiter: str, header: Sequence[str], records: list[list[str]], above: int, encoding: Encoding | None
) -> str:
    cells = [cell for row in records for cell in row]
    booleans = sorted({cell.strip() for cell in cells if cell.strip().lower() in LOCAL_BOOLEANS})
    todo, arguments = ["separate the columns by commas"], [f"sep={delimiter!r}"]
    if any(map(_DECIMAL_COMMA.match, cells)):
        todo.append("write decimal numbers with a dot")
        arguments.append("decimal=','")
    if booleans:
        todo.append(f"write true and false instead of {' and '.join(booleans)}")
        for value in ("true", "false"):
            words = [word for word in booleans if LOCAL_BOOLEANS[word.lower()] == value]
            arguments += [f"{value}_values={words!r}"] if words else []
    if encoding:
        todo.append(f"save it as UTF-8 instead of {encoding.name}")
        arguments.append(f"encoding={encoding.codec!r}")
    if above:
        todo.append("remove the first line")
        arguments.append("skiprows=1")
    if header and not header[0]:
        todo.append("leave out the names of the rows")
        arguments.append("index_col=0")
    elif is_plain(header[0]):
        arguments.append(f"dtype={{{header[0]!r}: str}}")
    return f"{', '.join(todo)} (in pandas: pd.read_csv(old, {', '.join(arguments)}).to_csv(new, index=False))"


def _quoted_lines(start: _Start, fits: Fits) -> Finding | None:
    """Recognize lines that are in quotes as a whole."""
    header = _cells(start.lines[0])
    if len(header) != 1 or not fits(frozenset(header[0].split(","))):
        return None
    hint = "remove the quotes around each line; only cells that contain a comma need quotes"
    return Finding("MC005", "each line is in quotes as a whole, so that it is one cell", hint)


def _lines_above(start: _Start, fits: Fits) -> Finding | None:
    for number, line in list(zip(start.numbers, start.lines, strict=True))[1:_MOST_ABOVE]:
        if fits(frozenset(_cells(line))):
            lines = "the line" if number == start.numbers[0] + 1 else "the lines"
            at_the_end = " and the ``` at the end" if start.lines[0].startswith("```") else ""
            if not at_the_end and number > 1 and len(_cells(start.lines[-1])) == 1 < len(_cells(line)):
                at_the_end = " and the last line"
            hint = f"remove {lines} above{at_the_end}"
            after = [_cells(each) for each in start.lines[start.lines.index(line) + 1 :][:1]]
            if after and after[0][0] and not any(after[0][1:]) and not _cells(line)[0]:
                hint = "write one row with all column names (in pandas: df.columns.droplevel(0), and df.reset_index())"
            return Finding("MC005", f"the column names are on line {number}, not on the first line", hint)
    return None


def _no_header(start: _Start, columns: Sequence[str]) -> Finding | None:
    first = _cells(start.lines[0])
    if len(first) < 2 or not any(_is_value(cell) for cell in first):
        return None
    names = f": {','.join(columns)}" if columns else ""
    hint = f"add a first line with the column names{names} (in pandas: df.to_csv(path, index=False), with its header)"
    return Finding("MC005", "the first line has values, not column names", hint)


def _is_value(cell: str) -> bool:
    """Return whether a cell cannot name a column: a number, a boolean, a date. An empty one may be unnamed."""
    return bool(cell.strip()) and (_VALUE.match(cell) is not None or cell.strip().casefold() in ("true", "false"))


def _cells(line: str) -> list[str]:
    return next(csv.reader([line]), [""])
