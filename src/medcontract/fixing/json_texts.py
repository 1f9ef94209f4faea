"""Repairs JSON that is almost JSON, and wrong keys and values in it. Everything else stays as it is, byte for byte."""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from medcontract.contracts.registry import CompiledContract, known_keys, schemas_at, value_at, variants_of
from medcontract.contracts.wrong_values import ERROR_FIELDS, meant_boolean
from medcontract.fixing.ids import UNKNOWN_ID
from medcontract.fixing.meanings import Repair, Schemas, decimal_commas, json_value, renamed
from medcontract.problems import Path, pointer_tokens
from medcontract.results.validation import Problem

_STRING = r'"(?:[^"\\]|\\.)*"' r"|'(?:[^'\\\r\n]|\\.)*'"
_COMMENT = re.compile(_STRING + r"|(?://|#)[^\r\n]*|/\*.*?\*/", re.DOTALL)
_TOKEN = re.compile(_STRING + r"|,(?=\s*(?:[}\]]|\Z))" r"|[A-Za-z_][A-Za-z0-9_]*", re.DOTALL)
_FENCE = re.compile(r"\s*```[A-Za-z0-9]*[ \t]*\r?\n(.*?\n)[ \t]*```\s*", re.DOTALL)
_LITERAL = "replaced a Python literal"
_REPLACEMENTS = {
    ",": ("", "removed a trailing comma"),
    "True": ("true", _LITERAL), "False": ("false", _LITERAL), "None": ("null", _LITERAL),
}  # fmt: skip
"""What a token outside strings becomes, and how the repair is called."""
_NOT_JSON = object()
Place = tuple[int | None, str]
"""A record, and a field of it."""
LINE_END = re.compile(r"\r\n|\n|\r")
_VALUE = re.compile(r'"(?:[^"\\]|\\.)*"|\[\s*\]|\{\s*\}|[^\s,}\]]+', re.DOTALL)


class Repaired(NamedTuple):
    """A text after some repairs."""

    text: str
    repairs: list[Repair]


# --- syntax: comments, trailing commas, Python literals, single quotes, a Markdown fence around it


def fixed_document(text: str) -> Repaired:
    """Fix a `.json` file. Keep it unchanged if the repairs do not make it JSON."""
    if _is_json(text):
        return Repaired(text, [])
    fence = _FENCE.fullmatch(text)
    inner, repairs = _fixed(fence.group(1) if fence else text, 1)
    if fence:
        repairs.insert(0, Repair("removed the Markdown fence"))
    return Repaired(inner, repairs) if _is_json(inner) else Repaired(text, [])


def fixed_lines(text: str) -> Repaired:
    """Fix each line of a `.jsonl` file by itself."""
    if _is_json(text):  # JSON under the name of JSON Lines
        return Repaired(text, [])
    given = [(number, line) for number, line in enumerate(re.split(r"(?<=\n)", text), 1) if line]
    given, repairs = _without_frame(given)
    lines = []
    for number, line in given:
        content = line.rstrip("\r\n")
        if content.strip() and not _is_json(content):
            new, found = _fixed(content, number)
            if _is_json(new) or not new.strip():  # only a comment
                line = new.strip() and new + line[len(content) :]
                repairs += found
        lines.append(line)
    return Repaired("".join(lines), repairs)


def _without_frame(lines: list[tuple[int, str]]) -> tuple[list[tuple[int, str]], list[Repair]]:
    """Remove the lines around the records, if the first and the last one belong to a list or to Markdown."""
    filled = [index for index, (_, line) in enumerate(lines) if line.strip()]
    if len(filled) > 2:  # a record between them
        first, last = (lines[index][1].strip() for index in (filled[0], filled[-1]))
        is_fence = first.startswith("```") and last == "```"
        if is_fence or (first, last.rstrip(",;")) == ("[", "]"):
            what = "removed the Markdown fence" if is_fence else "removed the brackets around the records"
            return lines[filled[0] + 1 : filled[-1]], [Repair(what, lines[filled[0]][0])]
    return lines, []


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
            repairs.append(Repair(what, first_line + match.string.count("\n", 0, match.start())))
        return new

    return _TOKEN.sub(fix, _COMMENT.sub(fix, text)), repairs


def _fixed_token(token: str) -> tuple[str, str]:
    if token.startswith(("//", "/*", "#")):
        return "\n" * token.count("\n"), "removed a comment"
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


# --- keys and values, found by validation: each is replaced where it is, so that the layout stays


class _Wrong(NamedTuple):
    """A wrong value in a text."""

    start: int
    token: str
    problem: Problem
    field: str
    schemas: Schemas


def fixed_values(
    text: str,
    contract: CompiledContract,
    problems: Sequence[Problem],
    by_line: bool,
    ids: Mapping[Place, str],
    left: Collection[str] = (),
) -> Repaired:
    """`by_line`: a record per line, whose problems have pointers into the record. `ids`: the right ones.

    `left`: kinds of repairs that are not made.
    """
    renames = _renames(text, contract, problems, by_line)
    changes: list[tuple[int, int, str, Repair]] = []
    wrong: dict[str, list[_Wrong]] = defaultdict(list)
    for each in _wrong_values(text, contract, problems, by_line):
        name = renames.get((each.problem.record, each.problem.pointer)) if each.problem.code == "MC102" else None
        if name:
            repair = Repair(f"renamed a key to '{name}'", each.problem.line)
            changes.append((each.start, each.start + len(each.token), json.dumps(name), repair))
        elif each.problem.code == UNKNOWN_ID:
            new = ids.get((each.problem.record, each.field))
            if new is not None:
                repair = Repair(f"wrote '{each.field}' as it is expected", each.problem.line)
                changes.append((each.start, each.start + len(each.token), json.dumps(new, ensure_ascii=False), repair))
        elif each.problem.code != "MC102":
            wrong[each.field].append(each)
    for field, values in wrong.items():
        commas = decimal_commas(each.token.strip('"') for each in values)
        numbers = [each.token for each in values if not each.token.startswith('"')]
        are_booleans = all(meant_boolean(_parsed(token)) for token in numbers)
        for start, token, problem, _, schemas in values:
            if token in numbers and not are_booleans and any(each.get("type") == "boolean" for each in schemas):
                continue  # 0 and 1 are two of several class numbers
            new = json_value(token, schemas, field, commas)
            if new is not None and new != token:
                changes.append((start, start + len(token), new, Repair(f"corrected '{field}'", problem.line)))
    changes = [change for change in changes if change[3].what not in left]
    changes = list({change[0]: change for change in changes}.values())  # an id of the wrong type has two problems
    changes.sort(key=lambda change: change[:2])
    parts, at = [], 0
    for begin, end, new, _ in changes:
        parts += [text[at:begin], new]
        at = end
    return Repaired("".join([*parts, text[at:]]), [repair for *_, repair in changes])


def _wrong_values(
    text: str, contract: CompiledContract, problems: Sequence[Problem], by_line: bool
) -> Iterator[_Wrong]:
    """Find the keys and values that may be repaired, and their places."""
    schema = contract.record_schema if by_line else contract.schema
    has_variants = len(variants_of(contract.record_schema)) > 1
    starts = [0, *(match.end() for match in LINE_END.finditer(text))]
    mark = text.startswith("\ufeff")
    for problem in problems:
        if problem.line is None or problem.column is None:
            continue
        path = _path(problem.pointer)
        field = next((token for token in reversed(path) if isinstance(token, str)), "")
        is_error = field in ERROR_FIELDS and problem.code in ("MC109", "MC503") and not (
            problem.code == "MC503" and has_variants  # there is no answer, so that an error is right
        )  # fmt: skip
        if problem.code not in ("MC102", "MC103", "MC104", "MC107", UNKNOWN_ID) and not is_error:
            continue
        match = _VALUE.match(text, starts[problem.line - 1] + problem.column - 1 + (problem.line == 1 and mark))
        if match:
            yield _Wrong(match.start(), match.group(), problem, field, schemas_at(schema, path))


def _path(pointer: str) -> Path:
    return tuple(int(token) if token.isdecimal() else token for token in pointer_tokens(pointer))


def _renames(
    text: str, contract: CompiledContract, problems: Sequence[Problem], by_line: bool
) -> dict[tuple[int | None, str], str]:
    """Return new names of unknown keys, by record and pointer."""
    unknown: dict[tuple[int | None, str], list[str]] = defaultdict(list)
    for problem in problems:
        if problem.code == "MC102":
            unknown[problem.record, problem.pointer.rpartition("/")[0]].append(problem.pointer)
    lines = [line for line in LINE_END.split(text.removeprefix("\ufeff")) if line.strip()] if by_line else []
    document = None if by_line or not unknown else _parsed(text)
    schema = contract.record_schema if by_line else contract.schema
    found: dict[tuple[int | None, str], str] = {}
    for (record, parent), pointers in unknown.items():
        path = _path(parent)
        value = value_at(_parsed(lines[record]) if by_line and record is not None else document, path)
        if isinstance(value, dict):
            names = {str(_path(each)[-1]): each for each in pointers}
            new = renamed(names, sorted(set(known_keys(schema, path)) - set(value)))
            found |= {(record, names[old]): name for old, name in new.items()}
    return found
