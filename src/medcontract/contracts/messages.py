"""Phrases for messages about values. They never contain the data itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import Path, Token, is_plain, shorten

LOCAL_BOOLEANS = {
    "verdadero": "true", "verdadeiro": "true", "vrai": "true", "vero": "true", "wahr": "true",
    "falso": "false", "faux": "false", "falsch": "false",
}  # fmt: skip
"""What spreadsheets in other languages write for true and false."""
_BOOLEANS = {
    "true": "true", "yes": "true", "y": "true", "t": "true", "1": "true", "sí": "true", "si": "true", "s": "true",
    "false": "false", "no": "false", "n": "false", "f": "false", "0": "false", **LOCAL_BOOLEANS,
}  # fmt: skip


def name(path: Path) -> str:
    """What to call the value in a message: the nearest key, unless it may be data."""
    names = [token for token in path if isinstance(token, str)]
    if not names or not is_plain(names[-1]):
        return "this value" if path else "the value"
    return f"an item of '{names[-1]}'" if isinstance(path[-1], int) else f"'{names[-1]}'"


def unknown_key(key: Token) -> tuple[str, str]:
    """The code and the message about a key that no object at its place may have."""
    return "MC102", f"'{key}' is not in this contract" if is_plain(key) else "a key that is not in this contract"


def kind(value: Any) -> str:
    """The JSON type of a value, with an article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    names = {str: "a string", int: "a number", float: "a number", dict: "an object", list: "a list"}
    return names.get(type(value), "something else")


def shown(value: Any) -> str | None:
    """The value for a terminal; None for lists and objects."""
    return None if isinstance(value, dict | list) else json_text(value)


def json_text(value: Any) -> str:
    """The value as JSON, shortened. (Integers without msgspec, which is limited to 64 bits.)"""
    return shorten(str(value).lower() if isinstance(value, int) else msgspec.json.encode(value).decode())


def without(text: str, value: Any) -> str:
    """The text with … in place of every word that also occurs in the value, except short words without a digit."""
    data = " ".join(_texts(value)).casefold()
    return _WORD.sub(lambda match: "…" if _may_be_data(match[0]) and match[0].casefold() in data else match[0], text)


def _texts(value: Any) -> Iterator[str]:
    """All values inside, without keys."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
    else:
        yield str(value)


_WORD = lazy_pattern(r"\w+(?:[.,-]\w+)*")
_SHORT = 2


def _may_be_data(word: str) -> bool:
    return len(word) > _SHORT or any(c.isdigit() for c in word)


_NUMBER_HINTS = (
    (lazy_pattern(r"\s*-?[0-9]+,[0-9]+\s*"), "write the number without quotes and with a dot"),
    (lazy_pattern(r"\s*[0-9]+([.,][0-9]+)?\s*%\s*"),
     "write the number without %; where 0 to 1 is expected, 25 % is 0.25"),
    (lazy_pattern(r"\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?\s*"), "write the number without quotes"),
    (lazy_pattern(r"\s*-?[0-9]{1,3}([,.' ][0-9]{3})+([.,][0-9]+)?\s*"),
     "write the number without thousands separators"),
    (lazy_pattern(r"\s*(nan|n/?a|null|none|#?n/?a!?|-|inf|infinity|#[a-z0-9/]+[!?]?)\s*", re.IGNORECASE),
     "write a number; if there is none, use null or an empty cell where that is allowed"),
    (lazy_pattern(r"\s*([0-9]{4}-[0-9]{2}-[0-9]{2}.*|[0-9]+(:[0-9]{2}){1,2}([.,][0-9]+)?)\s*"),
     "write a number of seconds, not a date or a time of day"),
    (lazy_pattern(r"\s*[<>≤≥~]?\s*-?[0-9]+([.,][0-9]+)?\s*[a-zA-Zµμ°/]{1,10}\s*"),
     "write only the number, without a unit"),
    (lazy_pattern(r"\s*"), "write a number; it must not be empty"),
)  # fmt: skip
"""For strings that were meant as a number: the first pattern that matches."""


_LONGEST_NUMBER = 200


def number_hint(given: Any) -> str | None:
    """How to write the value as a number."""
    text = given.strip() if isinstance(given, str) else None
    if text is None or len(text) > _LONGEST_NUMBER:
        return None
    return next((hint for pattern, hint in _NUMBER_HINTS if pattern.fullmatch(text)), None)


def string_hint(given: Any) -> str | None:
    """How to write the value as a string."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        return "write the text itself, without brackets" if isinstance(given, list) and len(given) == 1 else None
    return "write it in quotes, with any leading zeros (in pandas: read it with dtype=str)"


_WITHOUT_KEYS = "write a list: [ … ] instead of { … }, without keys"
NUMBERS_BY_NAME = "write a list: [ … ] instead of { … }, with the values only"
"""For an object with numbers or booleans; if a list of names is expected, another hint is better."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def list_hint(given: Any) -> str | None:
    """How to write the value as a list."""
    if isinstance(given, dict):
        return NUMBERS_BY_NAME if given and all(map(_is_number, given.values())) else _WITHOUT_KEYS
    if isinstance(given, str) and given.lstrip().startswith("["):
        return "write the list itself, not a string: do not call json.dumps on a part of the data"
    if isinstance(given, str) and re.search(r"[,;|]", given):
        return 'write a list of strings: ["…", "…"]'
    return None if given is None else "put the value into a list: [ … ]"


def boolean_hint(given: Any) -> str | None:
    """How to write the value as true or false: which of the two, if that is clear."""
    if not isinstance(given, str | int | float):
        return None
    wanted = _BOOLEANS.get(str(given).strip().lower().removesuffix(".0"))
    if isinstance(given, str):
        return f"write {wanted or 'true or false'} without quotes"
    return f"write {wanted}" if wanted else None
