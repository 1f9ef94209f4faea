"""Guesses why a `.jsonl` file has no records, one per line: it contains one JSON value, or text around the records."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import islice

from medcontract.contracts import recognition
from medcontract.contracts.registry import CompiledContract
from medcontract.errors import NotRecognised
from medcontract.problems import Finding, Ref
from medcontract.reading import jsonl_file
from medcontract.reading.diagnosis import FENCE, MOST_BYTES
from medcontract.reading.json_scanner import Broken
from medcontract.reading.source import Source
from medcontract.types import Outline
from medcontract.validation.json_shapes import by_column, parsed

_OPENS = re.compile(rb"[\[{]")
_ENOUGH = 3
"""Lines that are checked."""
_RECORDS = "write one record per line (in pandas: df.to_json(path, orient='records', lines=True))"
_NAME_IT = f"name the file .json, or {_RECORDS}"
_NOT_A_RECORD = "remove this line if it is not a record"
_ONE_LINE = "write each record on one line; use .json for a file that spans several lines"
_TRUNCATED = "the last line is truncated: check that the file was written completely, or write it again"


def one_value(source: Source, contract: CompiledContract | None = None) -> Finding | None:
    """The finding about a file that contains one JSON value instead of one record per line, of a known contract."""
    lines = _first_lines(source)
    if not lines or not _OPENS.match(lines[0]):
        return None
    first = parsed(lines[0])
    message, hint = "this is JSON, not JSON Lines", _NAME_IT
    if first is None:
        if not _spans_lines(lines):
            return None
    elif isinstance(first, list) and first:
        is_row = not isinstance(first[0], dict)
        message = "the lines are lists without keys, not records" if is_row else "this is a JSON list, not JSON Lines"
        hint = _RECORDS
    elif not isinstance(first, dict) or len(lines) > 1 or not _is_not_a_record(first, contract):
        return None
    elif by_column(first):
        message, hint = "this is a table by column, not JSON Lines", _RECORDS
    return Finding("MC005", message, hint, offset=source.start)


def _first_lines(source: Source) -> list[bytes]:
    """The first lines with content; the last one may be cut."""
    text = source.head[source.start :]
    if len(text.splitlines()) <= _ENOUGH:
        text = source.read(source.start, MOST_BYTES)
    return list(islice((line.strip() for line in text.splitlines() if line.strip()), _ENOUGH))


def _spans_lines(lines: list[bytes]) -> bool:
    """Whether the first line opens a value that other lines continue, rather than being a truncated record."""
    if len(lines) == 1 or not lines[0].endswith((b"{", b"[", b",")) or parsed(lines[0].rstrip(b",")) is not None:
        return False
    return parsed(lines[1]) is None or lines[0] == b"["


def _is_not_a_record(value: dict[str, object], contract: CompiledContract | None) -> bool:
    """Whether an object is a complete file: a header with a list of records, or a table by column."""
    if by_column(value):
        return True
    if contract is not None:
        return contract.list_key in value and not any(form <= value.keys() for form in contract.forms)
    try:
        recognition.of_record(frozenset(value))
    except NotRecognised:
        pass
    else:
        return False
    items = {
        key: frozenset(inside[0]) for key, inside in value.items()
        if isinstance(inside, list) and inside and isinstance(inside[0], dict)
    }  # fmt: skip
    try:
        recognition.of_outline(Outline(frozenset(value), items, None, "object"))
    except NotRecognised:
        return False
    return True


def explain_line(broken: Broken, raw: bytes) -> Broken:
    """The syntax error of a line, with a hint for JSON Lines: a truncated line is most likely part of a record."""
    if broken.code == "MC011":
        broken.hint = _ONE_LINE
    elif raw.lstrip().startswith(FENCE) or (broken.code == "MC023" and not broken.hint and not broken.offset):
        broken.hint = _NOT_A_RECORD
    elif broken.code == "MC014" and raw[broken.offset :].strip() == b",":
        broken.hint = "remove the comma at the end of each line"
    return broken


class LastLine:
    """Explains a truncated line at the end of the file, where writing probably stopped."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def explain(self, finding: Finding, ref: Ref) -> Finding:
        """The finding about the line at `ref`, with another hint if the file ends in it, without a line ending."""
        is_last = finding.code == "MC011" and ref.offset + ref.length == self._end
        return finding._replace(hint=_TRUNCATED) if is_last else finding

    @cached_property
    def _end(self) -> int | None:
        """Where the file ends, if its last line has no line ending. This reads the file once."""
        end = None
        for lines, offset in jsonl_file.blocks(self._source):
            unfinished = lines and not lines[-1].endswith((b"\n", b"\r"))
            end = offset + sum(map(len, lines)) if lines and unfinished else None
        return end
