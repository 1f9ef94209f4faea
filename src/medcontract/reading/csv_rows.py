"""The rows of tables as JSON records, in the same way for CSV, Parquet and DataFrames; and a `.csv` file (RFC 4180).

A row is converted to an equivalent line of JSON and from there on treated like a line of JSONL: the same
decoder, the same problems.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from operator import methodcaller
from typing import Any

from medcontract.errors import option, words
from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import Finding, empty_file, plural
from medcontract.reading.diagnosis import LATE_MARK_HINT, not_utf8
from medcontract.reading.limits import LINES_BLOCK, MAX_MEMBERS
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

NOT_FINITE = {"nan": "NaN", "infinity": "Infinity", "inf": "Infinity", "-infinity": "-Infinity", "-inf": "-Infinity"}
_EMPTY_CELLS = (b",,", b",\n", b"\n,")
_OUTER_SPACES = (b" ,", b", ", b" \n", b"\n ")
_count_commas = methodcaller("count", b",")


class Layout:
    """Converts the cells of a row to a JSON record."""

    def __init__(
        self, columns: Sequence[Column], header: Sequence[str], open_record: bool, *, fills: bool = False
    ) -> None:
        """Prepare the conversion. `fills`: a cell that is None is empty, not null, where the column says so."""
        index: dict[str, int] = {}
        for place, name in enumerate(header):
            index.setdefault(name, place)
        self._single: list[tuple[str, int, Column]] = []
        self._lists: dict[str, list[tuple[int | None, Column]]] = {}
        for column in columns:
            position = index.get(column.name)
            if len(column.path) > 1:
                self._lists.setdefault(str(column.path[0]), []).append((position, column))
            elif position is not None:
                self._single.append((json.dumps(column.name), position, column))
        self._lists = {name: group for name, group in self._lists.items() if any(p is not None for p, _ in group)}
        known = {column.name for column in columns}
        if open_record:
            self._single += [
                (json.dumps(name), position, Column(name, "text", False, (name,)))
                for name, position in index.items()
                if name not in known
            ]

        self._has_lists = any(column.separator is not None for _, _, column in self._single)
        self._fills = fills and any(column.filled for _, _, column in self._single)
        self._error = index.get("error")
        self._width = len(header)
        self._only_text = not self._lists and all(column.kind == "text" for _, _, column in self._single)
        self._nothing_is_null = self._only_text and not any(column.nullable for _, _, column in self._single)
        self._around_cells = self._pieces_of_row(is_text=True)
        self._around_json = self._pieces_of_row(is_text=False)

    def _pieces_of_row(self, is_text: bool) -> list[bytes]:
        """Return the JSON before, between and after the cells of a row, in the order of the header.

        `is_text`: the cells are text, of which a list at the end of a row counts as one. Empty if the record does not
        consist of all cells of the row, or if the columns of a list are not next to each other.
        """
        if self._has_lists:
            return []
        text = '"\0"' if is_text else "\0"
        cells = {
            place: f"{key}:{text}" if column.kind == "text" else f"{key}:\0" for key, place, column in self._single
        }
        width = len(cells)
        for name, group in self._lists.items():
            places = [place for place, column in group if place is not None and column.kind == "number"]
            if len(places) < len(group) or places != [*range(places[0], places[0] + len(group))]:
                return []
            width += len(group)
            if is_text and places[-1] == self._width - 1:
                del places[1:]
            cells |= dict.fromkeys(places, "\0")
            cells[places[0]] = f"{json.dumps(name)}:[\0"
            cells[places[-1]] += "]"
        record = "{" + ",".join(cells[place] for place in sorted(cells)) + "}\n"
        return record.encode().split(b"\0") if width == self._width else []

    def json_lines(self, rows: bytes) -> bytes | None:
        """Plain rows as JSON, one record per line. None if they have to be converted one by one.

        Cells other than text are copied: decoding rejects what is not a number or boolean.
        """
        if not self._around_cells or not (self._only_text or _can_be_copied(rows)):
            return None
        if self._width == 2 and not self._lists:  # the most frequent table, an id and a label
            if rows.count(b",") != rows.count(b"\n"):
                return None
            before, between, after = self._around_cells
            text = before + rows[:-1].replace(b",", between).replace(b"\n", after + before) + after
        else:
            each = rows.splitlines()
            if set(map(_count_commas, each)) != {self._width - 1}:
                return None
            template = _template(self._around_cells)
            splits = len(self._around_cells) - 2
            text = b"".join([template % tuple(row.split(b",", splits)) for row in each])
        if not self._nothing_is_null and _has(rows, _EMPTY_CELLS):  # plain rows have no quotes and no colons
            if self._fills:
                return None
            text = text.replace(b'""', b"null").replace(b":,", b":null,").replace(b":}", b":null}")
        return text

    def lines(self, columns: Sequence[Sequence[bytes]]) -> bytes | None:
        """Records, one per line, from the cells of each column as JSON. None if rows are to be converted one by one."""
        if not self._around_json:
            return None
        template = _template(self._around_json)
        return b"".join([template % row for row in zip(*columns, strict=True)])

    def record(self, cells: Sequence[Any], write: Callable[[Any, Column], str]) -> bytes:
        """Return the record of a row; `write` converts a cell to JSON."""
        fills = self._fills and (self._error is None or not (cells[self._error] or "").strip())
        parts = [f"{key}:{_written(cells[position], column, fills, write)}" for key, position, column in self._single]
        for name, group in self._lists.items():
            items = ["null" if p is None else write(cells[p], column) for p, column in group]
            text = "null" if all(item == "null" for item in items) else "[" + ",".join(items) + "]"
            parts.append(f"{json.dumps(name)}:{text}")
        return ("{" + ",".join(parts) + "}").encode()


def _template(pieces: Sequence[bytes]) -> bytes:
    return b"%b".join(piece.replace(b"%", b"%%") for piece in pieces)


def _written(cell: Any, column: Column, fills: bool, write: Callable[[Any, Column], str]) -> str:
    """Return a cell as JSON."""
    if fills and column.filled and cell is None:
        cell = ""
    if column.separator is not None and isinstance(cell, str):
        return json.dumps(cell.split(column.separator) if cell else [])
    return '""' if column.filled and isinstance(cell, str) and not cell else write(cell, column)


def too_wide(offset: int | None = None) -> Finding:
    """Return the finding for a table with more than `MAX_MEMBERS` columns: explaining each would take long."""
    hint = "remove the columns that the contract does not have"
    return Finding("MC020", f"the table has more than {MAX_MEMBERS:,} columns", hint, offset=offset)


def _can_be_copied(rows: bytes) -> bool:
    """Check whether decoding rejects all cells that are not JSON numbers or booleans: it takes null, and spaces."""
    return b"null" not in rows and not (b" " in rows and _has(rows, _OUTER_SPACES))


def _has(rows: bytes, texts: Iterable[bytes]) -> bool:
    """Check whether one of the texts, which may start with the line break before the first row, occurs in the rows."""
    return any(text in rows or (text[:1] == b"\n" and rows.startswith(text[1:])) for text in texts)


_CELL_BYTES = rb'(?:"[^"]*+(?:""[^"]*+)*+"[^,\r\n]*+|[^",\r\n][^,\r\n]*+|)'
_ROW = re.compile(_CELL_BYTES + rb"(?:," + _CELL_BYTES + rb")*+(?:\r\n|\n|\r)")
_PLAIN_ROWS = re.compile(rb"(?:[A-Za-z0-9_.,+/ @#()=;-]*+\r?\n)++")
_PLAIN_BYTES = bytes(byte for byte in range(128) if _PLAIN_ROWS.fullmatch(bytes([byte]) + b"\n"))
_BLANK_ROWS = re.compile(rb"(?:[ \t]*+(?:\r\n|\n|\r))++")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_JSON = re.compile(rb'[ \t]*+[\[{][ \t]*+(?:["\[{\]}]|[\r\n])')
_CELL = re.compile(r'(?:"((?:[^"]|"")*+)"|([^",\r\n]*+))(,|\Z)')


class _RowReader:
    """The rows of a file as bytes. It does not refer to its generators, so that one that is dropped closes the file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.in_chunks = False
        self.line = 1
        """The next line."""

    def rows(self) -> Iterator[tuple[bytes | None, int, int, bool]]:
        """Yield rows as bytes with offset and line, and whether quotes are closed; None for a row that is too large.

        Once `in_chunks` is set, plain rows are returned many at a time.
        """
        source = self._source
        with source.open() as stream:
            stream.seek(source.start)
            offset = source.start
            data, ended = b"", False
            while not ended:
                block = stream.read(max(LINES_BLOCK, len(data)))
                ended = not block
                data += block
                # a CR at the end may be half of a CRLF: wait for more bytes
                whole = data if ended or not data.endswith(b"\r") else data[:-1]
                at = 0
                all_plain = _is_plain(whole)
                while (end := self._end_of_rows(whole, at, all_plain)) > at:
                    row = whole[at:end]
                    yield (row if len(row) <= source.limits.record else None), offset + at, self.line, True
                    self.line += line_breaks(row)
                    at = end
                data = data[at:]
                offset += at
                if len(data) > source.limits.record:
                    yield None, offset, self.line, True
                    return
            if data:
                yield data, offset, self.line, _ROW.fullmatch(data + b"\n") is not None

    def _end_of_rows(self, whole: bytes, at: int, all_plain: bool) -> int:
        """Return the end of the next row, or of many plain rows; 0 if it is not there yet."""
        if self.in_chunks:
            plain = None if all_plain else _PLAIN_ROWS.match(whole, at)
            end = whole.rfind(b"\n") + 1 if all_plain else plain.end() if plain else 0
            if at < end <= at + self._source.limits.record:
                return end
        match = _BLANK_ROWS.match(whole, at) or _ROW.match(whole, at)
        return match.end() if match else 0


class CsvFile:
    """Reads one `.csv` file: first its header, then its rows."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._reader = _RowReader(source)
        self._rows = self._reader.rows()
        self.header: list[str] = []
        self.broken: Finding | None = None
        """Why the header, and so the file, cannot be read."""
        self._read_header()

    @property
    def line_breaks(self) -> int:
        """Return the number of line breaks that were read."""
        return self._reader.line - 1

    def _read_header(self) -> None:
        for raw, offset, _, closed in self._rows:
            if raw is not None and not raw.strip(b" \t\r\n"):
                continue
            if raw is None:
                self.broken = _large_row(self._source.limits.record, offset)
            elif raw.count(b",") >= MAX_MEMBERS:
                self.broken = too_wide(offset)
            elif _JSON.match(raw):
                hint = "name it .json, or .jsonl if each line is a record"
                self.broken = Finding("MC005", "this is JSON, not CSV", hint, offset=offset)
            elif not closed:
                self.broken = _never_closed(offset)
            else:
                cells = _cells(raw, offset)
                if isinstance(cells, Finding):
                    self.broken = cells
                else:
                    self.header = [cell or "" for cell in cells]
            return
        self.broken = empty_file(self._source.start)

    def rows_in_blocks(
        self, columns: Sequence[Column], open_record: bool, decode: Decode, decode_lines: DecodeLines
    ) -> Iterator[Located]:
        """Yield the rows as JSON records, many at a time where `decode_lines` can decode them.

        Unknown columns are left out unless the record allows them.
        """
        layout = Layout(columns, self.header, open_record, fills=True)
        self._reader.in_chunks = True
        for raw, offset, line, closed in self._rows:
            if raw is None or not _has_many_lines(raw) or not (raw.endswith(b"\n") and _is_plain(raw)):
                yield from self._row(layout, raw, offset, line, closed, decode)
                continue
            text = layout.json_lines(raw.replace(b"\r\n", b"\n") if b"\r" in raw else raw)
            values = decode_lines(text) if text else None
            if values:
                yield RecordBlock(raw, offset, values, line)
            else:
                yield from self._plain_rows(layout, raw, text, offset, line, decode)

    def _plain_rows(
        self, layout: Layout, rows: bytes, text: bytes | None, offset: int, line: int, decode: Decode
    ) -> Iterator[LocatedRecord]:
        """Yield rows of a block that are not all valid. `text`: the block as JSON, in which some lines may be wrong."""
        raws = rows.splitlines(keepends=True)
        for raw, record in zip(raws, text.splitlines() if text else [b""] * len(raws), strict=True):
            value = decode(record) if record and not raw.isspace() else None
            if value is not None:
                yield LocatedRecord(record, offset, value, line)
            else:
                yield from self._row(layout, raw, offset, line, True, decode)
            offset += len(raw)
            line += 1

    def _row(
        self, layout: Layout, raw: bytes | None, offset: int, line: int, closed: bool, decode: Decode
    ) -> Iterator[LocatedRecord]:
        """Yield the record of one row; none for a blank one."""
        cells: list[str | None] | Finding
        if raw is None:
            cells = _large_row(self._source.limits.record, None)
        elif not raw.strip(b" \t\r\n"):
            return
        else:
            cells = _cells(raw, None) if closed else _never_closed(None)
        if not isinstance(cells, Finding) and len(cells) != len(self.header):
            cells = _ragged(cells, self.header)
        if isinstance(cells, Finding):
            yield LocatedRecord(b"", offset, None, line, cells)
        else:
            record = layout.record(cells, _json_cell)
            yield LocatedRecord(record, offset, decode(record), line)


def line_breaks(text: bytes) -> int:
    """Count line breaks: LF, CRLF or CR."""
    return text.count(b"\n") + (text.count(b"\r") - text.count(b"\r\n") if b"\r" in text else 0)


def _has_many_lines(text: bytes) -> bool:
    return text.find(b"\n", text.find(b"\n") + 1) >= 0


def _is_plain(text: bytes) -> bool:
    """Return whether rows consist of plain characters and end with LF or CRLF: faster than `_PLAIN_ROWS`."""
    return not text.translate(None, _PLAIN_BYTES) and (b"\r" not in text or text.count(b"\r") == text.count(b"\r\n"))


def _json_cell(cell: str | None, column: Column) -> str:
    """Return the cell as JSON."""
    if not cell:
        return "null" if column.nullable else '""'
    if column.kind == "number":
        if _NUMBER.fullmatch(cell):
            return cell
        if cell.lower() in NOT_FINITE:
            return NOT_FINITE[cell.lower()]
    elif column.kind == "boolean" and cell.lower() in BOOLEANS:
        return BOOLEANS[cell.lower()]
    return json.dumps(cell, ensure_ascii=False)


def _cells(raw: bytes, offset: int | None) -> list[str | None] | Finding:
    """Return the cells of one row; an empty cell is None. With `offset`, findings have the exact byte."""
    text_bytes = raw.rstrip(b"\r\n")
    nul = text_bytes.find(b"\0")
    if nul >= 0:
        return Finding(
            "MC008", "a NUL byte", "remove it; the file may be damaged or binary",
            offset=None if offset is None else offset + nul,
        )  # fmt: skip
    try:
        text = text_bytes.decode()
    except UnicodeDecodeError as error:
        bad = not_utf8(text_bytes, error.start)
        return Finding(bad.code, bad.message, bad.hint, offset=None if offset is None else offset + error.start)
    if '"' not in text:
        return [cell or None for cell in text.split(",")]
    cells: list[str | None] = []
    position = 0
    while True:
        match = _CELL.match(text, position)
        if match is None and text.startswith("\ufeff"):
            return Finding("MC032", "a byte order mark (U+FEFF) before the quote", LATE_MARK_HINT, offset=offset)
        if match is None:
            return Finding(
                "MC032", "a quote is not allowed here",
                'put the cell in double quotes and double those inside: "say ""hello"""',
                offset=offset,
            )  # fmt: skip
        quoted, plain, comma = match.groups()
        cell = plain if quoted is None else quoted.replace('""', '"')
        cells.append(cell or None)
        if not comma:
            return cells
        position = match.end()


def _large_row(limit: int, offset: int | None) -> Finding:
    hint = words("check for an unclosed quote, or raise the limit with ", option("--max-record"))
    return too_large(limit, offset)._replace(hint=hint)


def _never_closed(offset: int | None) -> Finding:
    return Finding("MC030", "a quote in this row is not closed", 'close it with "', offset=offset)


def _ragged(cells: Sequence[str | None], header: Sequence[str]) -> Finding:
    message = f"the row has {plural(len(cells), 'cell')}, the header {len(header)}"
    unnamed = header.count("")
    if unnamed and len(cells) == len(header) - unnamed:
        return Finding("MC031", message, "remove the extra comma from the header")
    return Finding("MC031", message, _ragged_hint(cells, len(header)))


_FEWEST_GLUED = 3
"""In a narrower table, twice the cells may be a text with commas."""


def _ragged_hint(cells: Sequence[str | None], columns: int) -> str:
    if (cells[0] or "").startswith("#"):
        return "remove this line if it is a comment"
    if len(cells) > columns:
        halves = sum(bool(a and b and a.isdecimal() and b.isdecimal()) for a, b in pairwise(cells))
        if halves >= len(cells) - columns:
            return "write decimal numbers with a dot, not a comma: 0.5"
        if columns > _FEWEST_GLUED and len(cells) in (2 * columns - 1, 2 * columns):
            return "two rows are on one line: start a new line for the second"
        return "put cells that contain a comma in double quotes"
    only = cells[0] or ""
    if len(cells) == 1 and only.count(",") == columns - 1:
        return "remove the quotes around the row: only cells that contain a comma need quotes"
    if len(cells) == 1 and any(only.count(other) == columns - 1 for other in ";\t|"):
        return "separate the cells by commas, as in the header"
    if len(cells) == 1 and only.startswith("```"):
        return "remove this line: it is Markdown, not data"
    if len(cells) == 1 and is_total(only):
        return TOTAL_HINT
    return "add the missing cells, which may be empty"


_TOTAL = lazy_pattern(
    r"\s*(?:(?:grand |sub-?)?total(?:es|s)?|suma?|mean|media|average|avg|promedio|median|mediana|count|std)"
    r"\s*[:=]?\s*[0-9.,]*\s*\Z|\s*\(?[0-9]+ (?:rows?|records?|filas?|registros?)\b[ \w]{0,20}\)?\s*\Z",
    re.IGNORECASE,
)
TOTAL_HINT = "remove this row: it is a total, not a record"


def is_total(cell: str) -> bool:
    """Check whether the first cell of a row says that it is a total, a mean or a count of the rows above."""
    return len(cell) < 40 and _TOTAL.match(cell) is not None
