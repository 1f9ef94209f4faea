"""Phrases for values of a schema that is not ours. What the data holds is never among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from medcontract.definitions.suggest import nearest
from medcontract.definitions.words import boolean_hint, json_text, kind, name, number_hint, shown
from medcontract.problems import shorten

__all__ = [
    "Made", "choices", "count", "form_hint", "json_text", "kind", "name", "shown", "type_hint", "types", "wrong_choice",
    "wrong_type",
]  # fmt: skip

_TYPES = {
    "string": "a string", "number": "a number", "integer": "an integer", "boolean": "true or false",
    "null": "null", "array": "a list", "object": "an object",
}  # fmt: skip
_MOST_CHOICES = 12

Made = tuple[str, str, str | None]
"""Code, what is to be said after the name of the value, hint."""


def types(names: Iterable[str]) -> str:
    """The types that are allowed, in words."""
    return " or ".join(_TYPES[word] for word in dict.fromkeys(names) if word in _TYPES)


def choices(values: Sequence[Any]) -> str:
    """The values that a schema lists."""
    words = [value if isinstance(value, str) and value.isprintable() and value.strip() else json_text(value)
             for value in values[:_MOST_CHOICES]]  # fmt: skip
    more = f" and {len(values) - _MOST_CHOICES} more" if len(values) > _MOST_CHOICES else ""
    return f"{'one of ' * (len(values) > 1)}{', '.join(map(shorten, words))}{more}"


def count(number: Any, noun: str) -> str:
    return f"{number:g} {noun}{'s' if number != 1 else ''}"


def type_hint(allowed: Sequence[str], given: Any) -> str | None:
    """How to mend the usual mistakes of type."""
    if {"number", "integer"} & set(allowed) and isinstance(given, str):
        return number_hint(given)
    return boolean_hint(given) if "boolean" in allowed else None


def form_hint(given: str) -> str | None:
    return "remove the blanks around it" if given != given.strip() else None


def wrong_type(allowed: Any, given: Any) -> Made:
    names = [allowed] if isinstance(allowed, str) else list(allowed)
    return "MC103", f"must be {types(names)}, not {kind(given)}", type_hint(names, given)


def wrong_choice(allowed: list[Any], given: Any) -> Made:
    texts = [value for value in allowed if isinstance(value, str)]
    guess = nearest(given, texts) if isinstance(given, str) and texts else None
    return "MC104", f"must be {choices(allowed)}", f"did you mean '{guess}'?" if guess else None
