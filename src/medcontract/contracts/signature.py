"""Signatures of bad records: records with the same signature have the same kinds of problems at the same paths.

Once problems are counted and not listed any more, it makes no difference which wrong word is in a field. A signature
keeps what the schema asks of a value (is it one of the choices, does it match the pattern, is it within the bounds)
and drops the value itself, so that a file of many different bad records needs few thorough looks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from medcontract.contracts.compile import forms_of
from medcontract.contracts.messages import kind
from medcontract.contracts.string_patterns import NON_BLANK

_IGNORED = {"title", "description", "default", "examples", "$schema", "$id", "$defs", "x-medcontract-rules"}
_UNDERSTOOD = {
    "type", "enum", "const", "pattern", "not", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "items", "minItems", "maxItems", "properties", "required", "additionalProperties",
}  # fmt: skip
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_PLAIN_TEXT = re.compile(r"[!-~][ -~]{0,63}")
"""Texts that every engine of regular expressions reads in the same way."""
_LONGEST_EXACT = 200
_MOST_MEMBERS = 100
_LONGEST_LIST = 1000
_EXACT_BELOW = 2**53

Schema = dict[str, Any]


class _NoSignature(Exception):
    """The value, or its schema, has something whose effect is not known here."""


class Signature(NamedTuple):
    """What decides which problems a record has, but for its unknown keys, each of which is one problem more."""

    key: tuple[Any, ...]
    unknown: list[str]


def signer(schema: Schema) -> Callable[[Any], Signature | None]:
    """A function from a parsed record to its signature, or to None where it has none."""
    try:
        record = _Value([schema], schema)
    except (_NoSignature, RecursionError):  # a keyword that is not understood; a model that contains itself
        return lambda value: None
    return record.signature


class _Value:
    """What the schemas of one value, which may have several forms, ask of it."""

    def __init__(self, schemas: list[Schema], root: Schema, name: str = "") -> None:
        forms = [form for schema in schemas for form in forms_of(schema, root)]
        if any(not set(form) - _IGNORED <= _UNDERSTOOD for form in forms):
            raise _NoSignature
        choices = [choice for form in forms for choice in [*form.get("enum", ()), *_listed(form, "const")]]
        bounds = {bound for form in forms for word in _BOUNDS for bound in _listed(form, word)}
        self._choices = {choice for choice in choices if isinstance(choice, str)}
        self._bounds = tuple(bounds | {choice for choice in choices if type(choice) in (int, float)})
        patterns = {pattern for form in forms for pattern in _patterns(form)}
        if name == "error":  # tells the two forms of a record apart
            patterns.add(NON_BLANK)
        self._patterns = [re.compile(pattern) for pattern in patterns]
        self._lengths = tuple({x for form in forms for word in ("minLength", "maxLength") for x in _listed(form, word)})
        items = [item for form in forms for item in _listed(form, "items")]
        self._items = _Value(items, root) if items else None
        others = [form.get("additionalProperties", True) for form in forms if form.get("type") == "object"]
        self._is_object = bool(others)
        self._open = others == [True] * len(others)
        self._unclear = not self._open and others != [False] * len(others)
        """Whether other keys are allowed in some forms only, or are to keep a schema."""
        fields: dict[str, list[Schema]] = {}
        for form in forms:
            for key, schema in form.get("properties", {}).items():
                fields.setdefault(key, []).append(schema)
        self._fields = {key: _Value(schemas, root, key) for key, schemas in fields.items()}

    def signature(self, value: Any) -> Signature | None:
        """The signature of a record."""
        try:
            if type(value) is not dict:
                return Signature((_kind(value),), [])
            parts: list[Any] = []
            unknown: list[str] = []
            self._members(value, parts, unknown)
        except _NoSignature:
            return None
        return Signature(tuple(parts), unknown)

    def _members(self, value: dict[str, Any], parts: list[Any], unknown: list[str]) -> None:
        if len(value) > _MOST_MEMBERS or self._unclear:
            raise _NoSignature
        fields = self._fields
        for key, inner in value.items():
            field = fields.get(key)
            if field is not None:
                parts += (key, field.sort(inner))
            elif not self._open:
                unknown.append(key)

    def sort(self, value: Any) -> Any:
        """What the schemas can tell of a value. Texts, tuples of texts, and None, true and false as they are."""
        given = type(value)
        if given is str:
            return self._sort_of_text(value)
        if given is int or given is float:
            return self._sort_of_number(value)
        if given is list:
            return "[" if self._items is None and len(value) <= _LONGEST_LIST else self._sort_of_list(value)
        if given is dict:
            return self._sort_of_object(value) if self._is_object else "{"
        return value

    def _sort_of_text(self, value: str) -> Any:
        if value and value not in self._choices:
            if not self._patterns and not self._lengths:
                return "text"
            if _PLAIN_TEXT.fullmatch(value):
                found = [pattern.search(value) is not None for pattern in self._patterns]
                return ("text", *found, *[_side(len(value), limit) for limit in self._lengths])
        if len(value) > _LONGEST_EXACT:
            raise _NoSignature
        return "=" + value

    def _sort_of_number(self, value: float) -> Any:
        if not -_EXACT_BELOW < value < _EXACT_BELOW:
            return f"#{value!r}"
        sort = "int" if type(value) is int else "whole" if value.is_integer() else "float"
        return (sort, *[_side(value, bound) for bound in self._bounds]) if self._bounds else sort

    def _sort_of_list(self, value: list[Any]) -> tuple[Any, ...]:
        if self._items is None or len(value) > _MOST_MEMBERS:
            raise _NoSignature
        return ("[", *map(self._items.sort, value))

    def _sort_of_object(self, value: dict[str, Any]) -> tuple[Any, ...]:
        parts: list[Any] = ["{"]
        unknown: list[str] = []
        self._members(value, parts, unknown)
        if unknown:
            raise _NoSignature
        return tuple(parts)


def _listed(form: Schema, word: str) -> list[Any]:
    return [form[word]] if word in form else []


def _patterns(form: Schema) -> list[str]:
    banned = form.get("not", {})
    if not set(banned) <= {"type", "pattern"}:
        raise _NoSignature
    return _listed(form, "pattern") + _listed(banned, "pattern")


def _kind(value: Any) -> str:
    if type(value) is list and len(value) > _LONGEST_LIST:
        raise _NoSignature
    return kind(value)


def _side(value: float, bound: float) -> str:
    """On which side of a bound a number is."""
    return "<" if value < bound else ">" if value > bound else "="
