"""Wrong keys and values in JSON text, found by validation: each is replaced where it is, so that the layout stays."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from medcontract.contracts.registry import CompiledContract, known_keys, schemas_at
from medcontract.fixing.repair import (
    NUMBER,
    Repair,
    Repaired,
    choices_of,
    renamed,
    required_keys,
    same_but_for_spelling,
    types_of,
)
from medcontract.problems import Path, pointer_tokens
from medcontract.results.validation import Problem

_LINE_END = re.compile(r"\r\n|\n|\r")
_VALUE = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s,}\]]+', re.DOTALL)

_FAILURES = ("error", "exception")
"""Fields in which 0 may mean none, but "0" is a failure."""


class _Change(NamedTuple):
    start: int
    end: int
    new: str
    repair: Repair


def fixed_values(text: str, contract: CompiledContract, problems: Sequence[Problem], by_line: bool) -> Repaired:
    """`by_line`: a record per line, whose problems have pointers into the record."""
    schema = contract.record_schema if by_line else contract.schema
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    renames = _renames(text, contract, problems, by_line)
    changes = []
    for problem in problems:
        if problem.line is None or problem.column is None:
            continue
        start = starts[problem.line - 1] + problem.column - 1 + (problem.line == 1 and text.startswith("\ufeff"))
        match = _VALUE.match(text, start)
        change = match and _change(match.group(), problem, schema, renames)
        if match and change:
            changes.append(_Change(match.start(), match.end(), *change))
    for each in sorted(changes, reverse=True):
        text = text[: each.start] + each.new + text[each.end :]
    return Repaired(text, [each.repair for each in sorted(changes)])


def _change(
    token: str, problem: Problem, schema: dict[str, Any], renames: dict[tuple[int | None, str], str]
) -> tuple[str, Repair] | None:
    if problem.code == "MC102":
        name = renames.get((problem.record, problem.pointer))
        return (json.dumps(name), Repair(f"renamed a key to '{name}'", problem.line)) if name else None
    if problem.code not in ("MC103", "MC104"):
        return None
    schemas = schemas_at(schema, _path(problem.pointer))
    new = fixed_value(token, schemas)
    if new is None and _field(problem.pointer) not in _FAILURES and NUMBER.fullmatch(token) and _is_text(schemas):
        new = json.dumps(token)  # the digits as written: 5.0 is "5.0"
    return None if new is None else (new, Repair(f"corrected '{_field(problem.pointer)}'", problem.line))


def fixed_value(token: str, schemas: list[dict[str, Any]]) -> str | None:
    """Return the only JSON text that a value can mean under these schemas.

    A number for an id is not repaired: 7 may have been "7" or "007".
    """
    types = types_of(schemas)
    try:
        value = json.loads(token)
    except ValueError:
        return None
    if not isinstance(value, str):
        return None
    choice = same_but_for_spelling(value, choices_of(schemas))
    if choice is not None:
        return json.dumps(choice, ensure_ascii=False)
    plain = value.strip()
    if "string" in types:
        return None
    if types & {"number", "integer"} and NUMBER.fullmatch(plain):
        return plain
    return plain.lower() if "boolean" in types and plain.lower() in ("true", "false") else None


def _is_text(schemas: list[dict[str, Any]]) -> bool:
    """Whether a value may be any string, even an empty one: what was printed or said, not an id."""
    return types_of(schemas) - {"null"} == {"string"} and not any(
        key in each for each in schemas for key in ("pattern", "enum", "const")
    )


def _path(pointer: str) -> Path:
    return tuple(int(token) if token.isdecimal() else token for token in pointer_tokens(pointer))


def _field(pointer: str) -> str:
    names = [token for token in _path(pointer) if isinstance(token, str)]
    return names[-1] if names else ""


def _renames(
    text: str, contract: CompiledContract, problems: Sequence[Problem], by_line: bool
) -> dict[tuple[int | None, str], str]:
    """The new names of unknown keys, by record and pointer: at the top of a document, and of a record."""
    unknown: dict[tuple[int | None, str], list[Problem]] = defaultdict(list)
    for problem in problems:
        if problem.code == "MC102":
            unknown[problem.record, problem.pointer.rpartition("/")[0]].append(problem)
    text = text.removeprefix("\ufeff")
    lines = [line for line in _LINE_END.split(text) if line.strip()] if by_line else []
    document = None if by_line or not unknown else _parsed(text)
    found: dict[tuple[int | None, str], str] = {}
    for (record, parent), some in unknown.items():
        is_record = by_line or bool(parent)
        value = _value_at(_parsed(lines[record]) if by_line and record is not None else document, _path(parent))
        if not isinstance(value, dict):
            continue
        schema = contract.record_schema if by_line else contract.schema
        known = set(known_keys(schema, _path(parent)))
        missing = required_keys(contract, is_record) if len(_path(parent)) in (0, 2) else set()
        names = {_path(problem.pointer)[-1]: problem for problem in some}
        new = renamed(map(str, names), sorted(known - set(value)), sorted(missing - set(value)))
        found |= {(record, names[old].pointer): name for old, name in new.items()}
    return found


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _value_at(value: Any, path: Path) -> Any:
    for token in path:
        try:
            value = value[token]
        except (KeyError, IndexError, TypeError):
            return None
    return value
