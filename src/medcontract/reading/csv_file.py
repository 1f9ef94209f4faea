"""A `.csv` file (RFC 4180) as a stream of JSON records.

A row is converted to an equivalent line of JSON and from there on treated like a line of JSONL: the same
decoder, the same problems. `Columns` describes how a contract's record is stored in a row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from operator import methodcaller
from typing import Any, NamedTuple

import msgspec

from medcontract.problems import Finding, Ref, empty_file, is_plain, plural, shorten
from medcontract.reading.diagnosis import TOTAL_HINT, index_hint, is_total
from medcontract.reading.json_file import Decode, DecodeLines, Lines, too_large
from medcontract.reading.json_scanner import LATE_MARK_HINT, not_utf8
from medcontract.reading.limits import LINES_BLOCK, MAX_MEMBERS
from medcontract.reading.line_index import line_breaks
from medcontract.reading.source import Source
from medcontract.types import CellKind, Column


class Row(NamedTuple):
    """One row: a record, or what is wrong with it."""

    raw: bytes
    offset: int
    length: int
    line: int
    finding: Finding | None
    value: Any = None
    """The result of `Decode` for the record."""


class RowBlock(NamedTuple):
    """Consecutive valid rows, one per line."""

    raws: Lines
    """The rows as in the file."""
    offset: int
    line: int
    values: list[Any]


_CELL_BYTES = rb'(?:"[^"]*+(?:""[^"]*+)*+"[^,\r\n]*+|[^",\r\n][^,\r\n]*+|)'
_ROW = re.compile(_CELL_BYTES + rb"(?:," + _CELL_BYTES + rb")*+(?:\r\n|\n|\r)")
_PLAIN_ROW = re.compile(rb"[A-Za-z0-9_.,+/ @#()=;-]*+(?:\r\n|\n|\r)?")
_PLAIN_ROWS = re.compile(rb"(?:[A-Za-z0-9_.,+/ @#()=;-]*+\n)++")
_PLAIN_BYTES = bytes(byte for byte in range(128) if _PLAIN_ROWS.fullmatch(bytes([byte]) + b"\n"))
_BLANK_ROWS = re.compile(rb"(?:[ \t]*+(?:\r\n|\n|\r))++")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = {"nan": "NaN", "infinity": "Infinity", "inf": "Infinity", "-infinity": "-Infinity", "-inf": "-Infinity"}
_MOST_KNOWN = 1000
_LONGEST_KNOWN = 500
"""The maximum size of a cached row, in bytes: of identical rows, only one is parsed."""
_any_json = msgspec.json.Decoder().decode
_EMPTY_CELLS = (b",,", b",\n", b"\n,")
_OUTER_SPACES = (b" ,", b", ", b" \n", b"\n ")
_count_commas = methodcaller("count", b",")
_JSON = re.compile(rb'[ \t]*+[\[{][ \t]*+(?:["\[{\]}]|[\r\n])')
_CELL = re.compile(r'(?:"((?:[^"]|"")*+)"|([^",\r\n]*+))(,|\Z)')


class _RowReader:
    """The rows of a file as bytes. It does not refer to its generators, so that one that is dropped closes the file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.in_chunks = False

    def rows(self) -> Iterator[tuple[bytes | None, int, int, bool]]:
        """Rows as bytes with offset and line, and whether their quotes are closed; None for rows beyond the size limit.

        Once `in_chunks` is set, plain rows are returned many at a time.
        """
        source = self._source
        with source.open() as stream:
            stream.seek(source.start)
            offset, line = source.start, 1
            data, ended = b"", False
            while not ended:
                block = stream.read(max(LINES_BLOCK, len(data)))
                ended = not block
                data += block
                # a CR at the end may be half of a CRLF: wait for more bytes
                whole = data if ended or not data.endswith(b"\r") else data[:-1]
                at = 0
                all_plain = not whole.translate(None, _PLAIN_BYTES)
                while (end := self._end_of_rows(whole, at, all_plain)) > at:
                    row = whole[at:end]
                    yield (row if len(row) <= source.limits.record else None), offset + at, line, True
                    line += line_breaks(row)
                    at = end
                data = data[at:]
                offset += at
                if len(data) > source.limits.record:
                    yield None, offset, line, True
                    return
            if data:
                yield data, offset, line, _ROW.fullmatch(data + b"\n") is not None

    def _end_of_rows(self, whole: bytes, at: int, all_plain: bool) -> int:
        """The end of the next row, or of many plain rows; 0 if it is not there yet."""
        if self.in_chunks:
            plain = None if all_plain else _PLAIN_ROWS.match(whole, at)
            end = whole.rfind(b"\n") + 1 if all_plain else plain.end() if plain else 0
            if at < end <= at + self._source.limits.record:
                return end
        match = _BLANK_ROWS.match(whole, at) or _ROW.match(whole, at)
        return match.end() if match else 0


def too_wide(offset: int | None = None) -> Finding:
    """A table has more than `MAX_MEMBERS` columns: explaining each of them would take long."""
    hint = "remove the columns that the contract does not have"
    return Finding("MC020", f"the table has more than {MAX_MEMBERS:,} columns", hint, offset=offset)


class CsvFile:
    """Reads one `.csv` file: first its header, then its rows."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._reader = _RowReader(source)
        self._known: dict[bytes, Row] = {}
        self._rows = self._reader.rows()
        self.header: list[str] = []
        self.broken: Finding | None = None
        """Why the header, and so the file, cannot be read."""
        self._read_header()

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

    def rows(self, columns: Sequence[Column], open_record: bool, decode: Decode) -> Iterator[Row]:
        """The rows as JSON records, without unknown columns unless the record allows them."""
        layout = Layout(columns, self.header, open_record)
        for raw, offset, line, closed in self._rows:
            row = self._row(layout, raw, offset, line, closed, decode)
            if row:
                yield row

    def rows_in_blocks(
        self, columns: Sequence[Column], open_record: bool, decode: Decode, decode_lines: DecodeLines
    ) -> Iterator[Row | RowBlock]:
        """Like `rows`, but many at a time where possible."""
        layout = Layout(columns, self.header, open_record)
        self._reader.in_chunks = True
        for raw, offset, line, closed in self._rows:
            if raw is None or not _has_many_lines(raw) or not _is_plain_rows(raw):
                if row := self._row(layout, raw, offset, line, closed, decode):
                    yield row
                continue
            text = layout.json_lines(raw)
            values = decode_lines(text) if text else None
            if values:
                yield RowBlock(Lines(raw, len(values)), offset, line, values)
            else:
                yield from self._plain_rows(layout, raw, offset, line, decode)

    def _plain_rows(self, layout: Layout, rows: bytes, offset: int, line: int, decode: Decode) -> Iterator[Row]:
        for raw in rows.splitlines(keepends=True):
            row = self._row(layout, raw, offset, line, True, decode)
            if row:
                yield row
            offset += len(raw)
            line += 1

    def _row(
        self, layout: Layout, raw: bytes | None, offset: int, line: int, closed: bool, decode: Decode
    ) -> Row | None:
        """One row; None for a blank one."""
        if raw is None:
            return Row(b"", offset, 0, line, _large_row(self._source.limits.record, None))
        if not raw.strip(b" \t\r\n"):
            return None
        if not closed:
            return Row(b"", offset, len(raw), line, _never_closed(None))
        known = self._known.get(raw)
        if known is None:
            known = self._read_row(layout, raw, decode)
            if len(raw) <= _LONGEST_KNOWN:
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                self._known[raw] = known
        return Row(known.raw, offset, len(raw), line, known.finding, known.value)

    def _read_row(self, layout: Layout, raw: bytes, decode: Decode) -> Row:
        """One row, independent of its position."""
        offset = line = 0
        quick = layout.quick_record(raw)
        value = decode(quick) if quick else None
        if quick and (value is not None or _is_json(quick)):  # identical bytes give identical records
            return Row(quick, offset, len(raw), line, None, value)
        cells = _cells(raw, None)
        if isinstance(cells, Finding):
            return Row(b"", offset, len(raw), line, cells)
        if len(cells) != len(self.header):
            return Row(b"", offset, len(raw), line, _ragged(cells, self.header))
        record = layout.record(cells, _json_cell)
        return Row(record, offset, len(raw), line, None, decode(record))


class Layout:
    """Converts the cells of a row to a JSON record."""

    def __init__(self, columns: Sequence[Column], header: Sequence[str], open_record: bool) -> None:
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

        self._width = len(header)
        self._pieces = self._quick_pieces()
        self._around_cells = self._pieces_of_row()
        self._only_text = not self._lists and all(column.kind == "text" for _, _, column in self._single)
        self._nothing_is_null = self._only_text and not any(column.nullable for _, _, column in self._single)

    def _quick_pieces(self) -> list[tuple[str, int, str, CellKind | None]] | None:
        """For each cell of a record: the text before it, its position, the JSON of an empty cell, its type."""
        pieces: list[tuple[str, int, str, CellKind | None]] = []
        for key, position, column in self._single:
            pieces.append((f",{key}:", position, "null" if column.nullable else '""', column.kind))
        for name, group in self._lists.items():
            for number, (place, column) in enumerate(group):
                if place is None or column.kind != "number":
                    return None
                pieces.append((f",{json.dumps(name)}:[" if number == 0 else ",", place, "", None))
            pieces[-1] = (*pieces[-1][:2], "]", None)
        return pieces

    def _pieces_of_row(self) -> list[bytes]:
        """The JSON before, between and after the cells of a row, in the order of the header.

        A list at the end of a row counts as one cell. Empty if the record does not consist of all cells of the row, or
        if the columns of a list are not next to each other.
        """
        cells = {place: f'{key}:"\0"' if column.kind == "text" else f"{key}:\0" for key, place, column in self._single}
        width = len(cells)
        for name, group in self._lists.items():
            places = [place for place, column in group if place is not None and column.kind == "number"]
            if len(places) < len(group) or places != [*range(places[0], places[0] + len(group))]:
                return []
            width += len(group)
            if places[-1] == self._width - 1:
                del places[1:]
            cells |= dict.fromkeys(places, "\0")
            cells[places[0]] = f"{json.dumps(name)}:[\0"
            cells[places[-1]] += "]"
        text = "{" + ",".join(cells[place] for place in sorted(cells)) + "}\n"
        return text.encode().split(b"\0") if width == self._width else []

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
            template = b"%b".join(piece.replace(b"%", b"%%") for piece in self._around_cells)
            splits = len(self._around_cells) - 2
            text = b"".join([template % tuple(row.split(b",", splits)) for row in each])
        if not self._nothing_is_null and _has(rows, _EMPTY_CELLS):  # plain rows have no quotes and no colons
            text = text.replace(b'""', b"null").replace(b":,", b":null,").replace(b":}", b":null}")
        return text

    def quick_record(self, raw: bytes) -> bytes | None:
        """The record of a row of plain characters, assuming that numbers are valid, which decoding checks.

        None if that is not possible. Plain characters need no escapes and cannot end a string or value.
        """
        if self._pieces is None or not _PLAIN_ROW.fullmatch(raw):
            return None
        cells = raw.decode("ascii").rstrip("\r\n").split(",")
        if len(cells) != self._width:
            return None
        parts: list[str] = []
        for before, position, empty, kind in self._pieces:
            cell = cells[position]
            if kind == "text":
                parts.append(f'{before}"{cell}"' if cell else before + empty)
            elif kind != "boolean" and cell and cell[0] in "-0123456789" and " " not in cell:
                parts.append(before + cell + (empty if kind is None else ""))
            else:
                value = _quick_cell(cell, empty, kind)
                if value is None:
                    return None
                parts.append(before + value)
        return ("{" + "".join(parts)[1:] + "}").encode()

    def lines(self, columns: Sequence[Sequence[bytes]]) -> bytes | None:
        """Records, one per line, from the cells of each column as JSON. None if rows are to be converted one by one."""
        cell = "\0"
        places = [place for _, place, _ in self._single]
        parts = [f"{key}:{cell}" for key, _, _ in self._single]
        for name, group in self._lists.items():
            found = [place for place, _ in group if place is not None]
            if len(found) < len(group) or any(b"null" in columns[place] for place in found):
                return None
            places += found
            parts.append(f"{json.dumps(name)}:[{','.join([cell] * len(found))}]")
        template = ("{" + ",".join(parts) + "}\n").replace("%", "%%").replace(cell, "%b").encode()
        rows = zip(*[columns[place] for place in places], strict=True)
        return b"".join([template % row for row in rows]) if places else None

    def record(self, cells: Sequence[Any], write: Callable[[Any, Column], str]) -> bytes:
        """The record of a row; `write` converts a cell to JSON."""
        parts = [f"{key}:{write(cells[position], column)}" for key, position, column in self._single]
        for name, group in self._lists.items():
            items = ["null" if p is None else write(cells[p], column) for p, column in group]
            text = "null" if all(item == "null" for item in items) else "[" + ",".join(items) + "]"
            parts.append(f"{json.dumps(name)}:{text}")
        return ("{" + ",".join(parts) + "}").encode()


def _has_many_lines(text: bytes) -> bool:
    return text.find(b"\n", text.find(b"\n") + 1) >= 0


def _is_plain_rows(text: bytes) -> bool:
    """Like a match of `_PLAIN_ROWS` with the complete text, but much faster."""
    return text.endswith(b"\n") and not text.translate(None, _PLAIN_BYTES)


def _can_be_copied(rows: bytes) -> bool:
    """Whether decoding rejects all cells that are not JSON numbers or booleans: not null, and not spaces around one."""
    return b"null" not in rows and not (b" " in rows and _has(rows, _OUTER_SPACES))


def _has(rows: bytes, texts: Iterable[bytes]) -> bool:
    """Whether one of the texts, which may start with the line break before the first row, occurs in the rows."""
    return any(text in rows or (text[:1] == b"\n" and rows.startswith(text[1:])) for text in texts)


def _quick_cell(cell: str, empty: str, kind: str | None) -> str | None:
    """A cell of plain characters that is neither text nor a number, as JSON; None if that takes a closer look."""
    if not cell:
        return None if kind is None else empty
    lower = cell.lower()
    if kind == "boolean" and lower in ("true", "false"):
        return lower
    if lower in _NOT_FINITE:
        return None
    return f'"{cell}"' + (empty if kind is None else "")


def _is_json(record: bytes) -> bool:
    try:
        _any_json(record)
    except msgspec.DecodeError:
        return False
    return True


def _json_cell(cell: str | None, column: Column) -> str:
    """The cell as JSON."""
    if not cell:
        return "null" if column.nullable else '""'
    if column.kind == "number":
        if _NUMBER.fullmatch(cell):
            return cell
        if cell.lower() in _NOT_FINITE:
            return _NOT_FINITE[cell.lower()]
    elif column.kind == "boolean" and cell.lower() in ("true", "false"):
        return cell.lower()
    return json.dumps(cell, ensure_ascii=False)


def _cells(raw: bytes, offset: int | None) -> list[str | None] | Finding:
    """The cells of one row; an empty cell is None. With `offset`, findings have the exact byte."""
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
    return too_large(limit, offset)._replace(hint="check for an unclosed quote, or raise the limit with --max-record")


def _never_closed(offset: int | None) -> Finding:
    return Finding("MC030", "a quote in this row is not closed", 'close it with "', offset=offset)


def _ragged(cells: Sequence[str | None], header: Sequence[str]) -> Finding:
    message = f"the row has {plural(len(cells), 'cell')}, the header {len(header)}"
    unnamed = header.count("")
    if unnamed and len(cells) == len(header) - unnamed:
        return Finding("MC031", message, "remove the extra comma from the header")
    return Finding("MC031", message, _ragged_hint(cells, len(header)))


def _ragged_hint(cells: Sequence[str | None], columns: int) -> str:
    if len(cells) > columns:
        halves = sum(bool(a and b and a.isdecimal() and b.isdecimal()) for a, b in pairwise(cells))
        if halves >= len(cells) - columns:
            return "write decimal numbers with a dot, not a comma: 0.5"
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


def header_findings(header: Sequence[str], known: Sequence[str], open_record: bool, ref: Ref) -> list[Finding]:
    """The findings about a header row: repeated and unknown columns. Columns without a name are one finding."""
    findings: list[Finding] = []
    seen: set[str] = set()
    for name in header:
        shown = f"column '{name}'" if is_plain(name) else "a column" if name else "a column without a name"
        if name in seen and (name or open_record):
            findings.append(
                Finding("MC015", f"{shown} is repeated", "keep one of them", path=(name,), ref=ref, field=name,
                        value=shorten(name))
            )  # fmt: skip
        elif name not in seen and name not in known and not open_record:
            hint = index_hint(name) if any(header[header.index(name) :]) else _EMPTY_AT_THE_END
            findings.append(
                Finding("MC102", f"{shown} is not in this contract", hint, path=(name,), ref=ref, field=name,
                        value=shorten(name))
            )  # fmt: skip
        seen.add(name)
    return findings


_EMPTY_AT_THE_END = "remove the commas at the end of each line, or the empty columns at the end of the sheet"
