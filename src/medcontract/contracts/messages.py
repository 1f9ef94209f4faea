"""The texts of problems of structure, as data: script/generate exports them to `conformance/messages.json`."""

from __future__ import annotations

from medcontract.contracts.string_patterns import NON_BLANK, PATTERN_DESCRIPTIONS
from medcontract.problems import TYPES_IN_WORDS

MESSAGES = {
    "missing": "is missing",
    "unknown": "is not in this contract",
    "unknown, may be data": "a key that is not in this contract",
    "type": "must be {expected}, not {got}",
    "type of the whole": "expected {expected}, got {got}",
    "one of": "must be one of {choices}",
    "constant": "must be {choices}",
    "minimum": "must be at least {bound}",
    "exclusiveMinimum": "must be above {bound}",
    "maximum": "must be at most {bound}",
    "exclusiveMaximum": "must be below {bound}",
    "blank": "must not be blank",
    "pattern": "must be {wanted}",
    "other pattern": "a string that matches {pattern}",
    "minLength": "must have at least {count}, not {got}",
    "maxLength": "must have at most {count}, not {got}",
    "minItems": "must have at least {count}, not {got}",
    "maxItems": "must have at most {count}, not {got}",
    "not here": "is not allowed together with 'error'",
}
"""What is wrong; the name of the value comes before it."""
NAMES = {
    "key": "'{name}'",
    "item": "an item of '{name}'",
    "may be data": "this value",
    "whole": "the value",
    "column": "column '{name}'",
    "column that may be data": "a column",
    "column without a name": "a column without a name",
}
"""How values are called."""
HINTS = {
    "not here": "remove it, or remove 'error' if there was none",
    "did you mean": "did you mean '{name}'?",
    "rename": "rename it to '{name}'",
    "white space": "remove leading and trailing whitespace",
    "year first": "write the year first: 2026-05-31",
    "slashes": "write '/' instead of '\\'",
    "relative": "write the path relative to the folder of the data, with '/' between its parts",
}


def exported() -> dict[str, dict[str, str]]:
    """Return all texts, for other languages."""
    patterns = {pattern: description for pattern, description in PATTERN_DESCRIPTIONS.items() if pattern != NON_BLANK}
    return {"messages": MESSAGES, "names": NAMES, "types": TYPES_IN_WORDS, "patterns": patterns, "hints": HINTS}
