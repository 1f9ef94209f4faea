"""JSON that is almost JSON: trailing commas, Python literals, single quotes, a Markdown fence around it."""

from __future__ import annotations

import ast
import json
import re

from medcontract.fixing.repair import Repair, Repaired

_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"' r"|'(?:[^'\\\r\n]|\\.)*'" r"|,(?=\s*[}\]])" r"|[A-Za-z_][A-Za-z0-9_]*", re.DOTALL
)
_FENCE = re.compile(r"\s*```[A-Za-z0-9]*[ \t]*\r?\n(.*?\n)[ \t]*```\s*", re.DOTALL)
_COMMA = frozenset(",")
_WORDS = {"True": "true", "False": "false", "None": "null"}


def fixed_document(text: str) -> Repaired:
    """A `.json` file. Unchanged if the repairs do not make it JSON."""
    if _is_json(text):
        return Repaired(text, [])
    repairs = []
    fence = _FENCE.fullmatch(text)
    inner = text
    if fence:
        inner = fence.group(1)
        repairs.append(Repair("removed the Markdown fence"))
    inner, found = _fixed(inner, 1)
    return Repaired(inner, repairs + found) if _is_json(inner) else Repaired(text, [])


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


def _is_json(text: str) -> bool:
    try:
        json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True


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
    if token in _COMMA:
        return "", "removed a trailing comma"
    if token in _WORDS:
        return _WORDS[token], "replaced a Python literal"
    if token.startswith("'"):
        try:
            value = ast.literal_eval(token)
        except (ValueError, SyntaxError):
            return token, ""
        if any("\ud800" <= char <= "\udfff" for char in value):  # cannot be written as UTF-8
            return token, ""
        return json.dumps(value, ensure_ascii=False), "replaced single quotes"
    return token, ""
