"""Guesses why a `.jsonl` file has no records, one per line: it contains one JSON value, or text around the records."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cached_property
from itertools import islice

from medcontract.contracts import recognition
from medcontract.contracts.recognition import Recognized
from medcontract.contracts.registry import CompiledContract
from medcontract.errors import NotRecognized
from medcontract.hints import foreign_files
from medcontract.hints.json_arrangements import by_column, list_keys, parsed, shape_of, start_of
from medcontract.hints.table_arrangements import in_records
from medcontract.problems import Finding, Ref
from medcontract.reading import jsonl
from medcontract.reading.diagnosis import CSV, FENCE, MOST_BYTES, before_json
from medcontract.reading.located_records import Broken
from medcontract.reading.source import Source
from medcontract.types import Outline

_MOST_LINES = 50
_ENOUGH = 3
"""Lines that are checked."""
_RECORDS = "write one record per line (in pandas: df.to_json(path, orient='records', lines=True))"
_NAME_IT = f"name the file .json, or {_RECORDS}"
_NOT_A_RECORD = "remove this line if it is not a record"
_ONE_LINE = "write each record on one line; use .json for a file that spans several lines"
_TRUNCATED = "the last line is truncated: check that the file was written completely, or write it again"


def explain(source: Source, found: Recognized | NotRecognized) -> Finding | None:
    """Say how the lines of a file that matches no contract exactly are arranged, if that is clear."""
    lines = source.read(source.start, MOST_BYTES).splitlines()
    if foreign := foreign_files.of_value(parsed(lines[0]) if lines else None, source.start):
        return foreign
    if isinstance(found, Recognized):
        return _rows_of_a_table(source, found.renames)
    values = [parsed(line) for line in _first_lines(source.read(source.start, MOST_BYTES))]
    if values and all(isinstance(each, str) and each.lstrip().startswith("{") for each in values):
        hint = "write each record once: json.dumps(record), not json.dumps(json.dumps(record))"
        return Finding("MC005", "each line is a string with JSON in it", hint, offset=source.start)
    if len(values) > 1 and all(isinstance(each, dict) and _is_a_record(each, None) for each in values[1:]):
        hint = "remove the line: a .jsonl file has no header; or write one .json file with the header and all records"
        return Finding("MC005", "the first line is not a record, unlike the others", hint, offset=source.start)
    if log := foreign_files.log_lines(_first_lines(source.read(source.start, MOST_BYTES)), source.start):
        return log
    if before_json(source.head[source.start :]) is CSV:
        return Finding("MC005", CSV.message, CSV.hint, offset=source.start)
    return one_value(source) or whole_files(source) or _rows_of_a_table(source)


def _rows_of_a_table(source: Source, renamed: Collection[str] = ()) -> Finding | None:
    lines = source.read(source.start, MOST_BYTES).splitlines()
    finding = in_records([parsed(line) for line in lines[:_MOST_LINES]], renamed)
    return finding._replace(offset=source.start) if finding else None


def one_value(source: Source, contract: CompiledContract | None = None) -> Finding | None:
    """Return the finding about a file of a known contract with one JSON value instead of one record per line."""
    lines = _first_lines(source.head[source.start :])
    if len(lines) > 1 and isinstance(parsed(lines[0]), dict):
        return None  # almost every file
    text = source.read(source.start, MOST_BYTES + 1)
    lines = _first_lines(text)
    if not lines or not lines[0].startswith((b"{", b"[")):
        return None
    value = parsed(lines[0])
    if value is None:
        value = parsed(text if len(text) <= MOST_BYTES else start_of(text))
        if value is not None and len(lines) > 1:
            return Finding("MC005", "this is JSON, not JSON Lines", _NAME_IT, offset=source.start)
    if isinstance(value, list) and value:
        made = _of_list(value, lines, contract)
    else:
        made = _of_object(value, contract) if isinstance(value, dict) and len(lines) == 1 else None
    return Finding("MC005", *made, offset=source.start) if made else None


def whole_files(source: Source) -> Finding | None:
    """Return the finding about a file whose first line is not a record, but a complete file with a list of records."""
    lines = _first_lines(source.head[source.start :])
    value = parsed(lines[0]) if lines else None
    keys = [key for key in list_keys() if isinstance(value.get(key), list)] if isinstance(value, dict) else []
    if not keys:
        return None
    message = f"the first line is a complete file with a list of records under '{keys[0]}', not a record"
    hint = "write one record per line, without header; or one .json file with all records in one list"
    return Finding("MC005", message, hint, offset=source.start)


def _first_lines(text: bytes) -> list[bytes]:
    """Return the first lines with content; the last one may be cut."""
    return list(islice((line.strip() for line in text.splitlines() if line.strip()), _ENOUGH))


def _of_list(value: list[object], lines: list[bytes], contract: CompiledContract | None) -> tuple[str, str] | None:
    """Message and hint about a first line that is a list; if the contract is known, other lines may be records."""
    if len(lines) > 1 and (contract is not None or not all(line.startswith(b"[") for line in lines)):
        return None
    if isinstance(value[0], dict):
        return "this is a JSON list, not JSON Lines", _RECORDS
    return "the lines are lists without keys, not records", _RECORDS


def _of_object(value: dict[str, object], contract: CompiledContract | None) -> tuple[str, str] | None:
    """Message and hint about the only line, an object."""
    if by_column(value):
        return "this is a table by column, not JSON Lines", _RECORDS
    if _is_not_a_record(value, contract):
        return "this is JSON, not JSON Lines", _NAME_IT
    shape = None if _is_a_record(value, contract) else shape_of(value)
    return (f"this is {shape.what}, not JSON Lines", _RECORDS) if shape else None


def _is_a_record(value: dict[str, object], contract: CompiledContract | None) -> bool:
    if contract is not None:
        return any(2 * len(form & value.keys()) >= len(form) for form in contract.forms)
    return isinstance(recognition.of_record(frozenset(value)), Recognized)


def _is_not_a_record(value: dict[str, object], contract: CompiledContract | None) -> bool:
    """Return whether an object is a complete file: a header with a list of records."""
    if contract is not None:
        return contract.list_key in value and not any(form <= value.keys() for form in contract.forms)
    if _is_a_record(value, None):
        return False
    items = {
        key: frozenset(inside[0]) for key, inside in value.items()
        if isinstance(inside, list) and inside and isinstance(inside[0], dict)
    }  # fmt: skip
    return isinstance(recognition.of_outline(Outline(frozenset(value), items, None, "object")), Recognized)


def explain_line(broken: Broken, raw: bytes) -> Broken:
    """Return the syntax error of a line, with a hint for JSON Lines: a truncated line is probably part of a record."""
    if broken.code == "MC011":
        broken.hint = _ONE_LINE
    elif raw.lstrip().startswith(FENCE) or (broken.code == "MC023" and not broken.hint and not broken.offset):
        broken.hint = _NOT_A_RECORD
    elif broken.code == "MC014" and raw[broken.offset :].strip() == b",":
        broken.hint = "remove the comma at the end of each line"
    return broken


_CONFLICT = re.compile(rb"(?:<{7}|>{7}|\|{7})(?: |$)|={7}$")


def conflict_marker(source: Source, offset: int) -> Finding | None:
    """Return the finding about a line that Git wrote into a file that it could not merge."""
    start = max(0, offset - _LONGEST_MARKER)
    around = source.read(start, 2 * _LONGEST_MARKER)
    before = around[: offset - start]
    line = (before.rpartition(b"\n")[2] + around[len(before) :].partition(b"\n")[0]).strip()
    if not _CONFLICT.match(line):
        return None
    hint = "resolve the conflict: keep one of both versions, and remove the three lines with the marks"
    return Finding("MC005", "a mark of a conflict that Git could not merge", hint)


_LONGEST_MARKER = 200


class LastLine:
    """Explains a truncated line at the end of the file, where writing probably stopped."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def explain(self, finding: Finding, ref: Ref) -> Finding:
        """Return the finding about the line at `ref`, with another hint if the file ends there without a line break."""
        is_last = finding.code == "MC011" and ref.offset + ref.length == self._end
        return finding._replace(hint=_TRUNCATED) if is_last else finding

    @cached_property
    def _end(self) -> int | None:
        """Where the file ends, if its last line has no line ending. This reads the file once."""
        end = None
        for text, offset in jsonl.texts(self._source):
            end = offset + len(text) if text and not text.endswith((b"\n", b"\r")) else None
        return end
