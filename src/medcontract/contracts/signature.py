"""Signatures of invalid records: records with the same signature have the same kinds of problems at the same paths.

Once problems are only counted, it does not matter which wrong word is in a field. A signature keeps what the schema
checks (whether a value is one of the choices, matches the pattern, is within the bounds) and drops the value itself, so
that only a few of many different invalid records take the slow path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, NamedTuple

from medcontract.contracts.compile import variants_of
from medcontract.contracts.string_patterns import NON_BLANK
from medcontract.problems import json_type

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
    """The value or its schema has a feature that is not supported here."""


class Signature(NamedTuple):
    """What determines the problems of a record, except unknown keys, each of which is another problem."""

    key: tuple[Any, ...]
    unknown: list[str]


def signer(schema: Schema) -> Callable[[Any], Signature | None]:
    """A function that returns the signature of a parsed record, or None if it has none."""
    try:
        record = _Value([schema], schema)
    except (_NoSignature, RecursionError):  # an unsupported keyword; a recursive model
        return lambda value: None
    return record.signature


class _Value:
    """What the schemas of a value require; there are several if the value has variants."""

    def __init__(self, schemas: list[Schema], root: Schema, name: str = "") -> None:
        variants = [variant for schema in schemas for variant in variants_of(schema, root)]
        if any(not set(variant) - _IGNORED <= _UNDERSTOOD for variant in variants):
            raise _NoSignature
        choices = [*chain.from_iterable(_all_of(variants, "enum")), *_all_of(variants, "const")]
        self._choices = {choice for choice in choices if isinstance(choice, str)}
        numbers = {choice for choice in choices if type(choice) in (int, float)}
        self._bounds = tuple(numbers | set(_all_of(variants, *_BOUNDS)))
        self._patterns = _compiled_patterns(variants, name)
        self._lengths = tuple(set(_all_of(variants, "minLength", "maxLength")))
        items = _all_of(variants, "items")
        self._items = _Value(items, root) if items else None
        others = [variant.get("additionalProperties", True) for variant in variants if variant.get("type") == "object"]
        self._is_object = bool(others)
        self._open = others == [True] * len(others)
        self._unclear = not self._open and others != [False] * len(others)
        """Whether other keys are allowed in some variants only, or have a schema."""
        self._fields = {key: _Value(found, root, key) for key, found in _fields(variants).items()}

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
                parts += (key, field.classify(inner))
            elif not self._open:
                unknown.append(key)

    def classify(self, value: Any) -> Any:
        """What the schemas distinguish: a string or a tuple; None, true and false as they are."""
        given = type(value)
        if given is str:
            return self._class_of_text(value)
        if given is int or given is float:
            return self._class_of_number(value)
        if given is list:
            return "[" if self._items is None and len(value) <= _LONGEST_LIST else self._class_of_list(value)
        if given is dict:
            return self._class_of_object(value) if self._is_object else "{"
        return value

    def _class_of_text(self, value: str) -> Any:
        if value and value not in self._choices:
            if not self._patterns and not self._lengths:
                return "text"
            if _PLAIN_TEXT.fullmatch(value):
                found = [pattern.search(value) is not None for pattern in self._patterns]
                return ("text", *found, *[_side(len(value), limit) for limit in self._lengths])
        if len(value) > _LONGEST_EXACT:
            raise _NoSignature
        return "=" + value

    def _class_of_number(self, value: float) -> Any:
        if not -_EXACT_BELOW < value < _EXACT_BELOW:
            return f"#{value!r}"
        number = "int" if type(value) is int else "whole" if value.is_integer() else "float"
        return (number, *[_side(value, bound) for bound in self._bounds]) if self._bounds else number

    def _class_of_list(self, value: list[Any]) -> tuple[Any, ...]:
        if self._items is None or len(value) > _MOST_MEMBERS:
            raise _NoSignature
        return ("[", *map(self._items.classify, value))

    def _class_of_object(self, value: dict[str, Any]) -> tuple[Any, ...]:
        parts: list[Any] = ["{"]
        unknown: list[str] = []
        self._members(value, parts, unknown)
        if unknown:
            raise _NoSignature
        return tuple(parts)


def _all_of(schemas: Iterable[Schema], *keywords: str) -> list[Any]:
    """The values that the schemas have for some keywords."""
    return [schema[keyword] for schema in schemas for keyword in keywords if keyword in schema]


def _compiled_patterns(variants: list[Schema], name: str) -> list[re.Pattern[str]]:
    negated = _all_of(variants, "not")
    if any(not set(schema) <= {"type", "pattern"} for schema in negated):
        raise _NoSignature
    patterns = {*_all_of(variants, "pattern"), *_all_of(negated, "pattern")}
    if name == "error":  # its content decides the variant of a record
        patterns.add(NON_BLANK)
    return [re.compile(pattern) for pattern in patterns]


def _fields(variants: list[Schema]) -> dict[str, list[Schema]]:
    """The schemas of each field, in all variants that have it."""
    fields: dict[str, list[Schema]] = {}
    for properties in _all_of(variants, "properties"):
        for key, schema in properties.items():
            fields.setdefault(key, []).append(schema)
    return fields


def _kind(value: Any) -> str:
    if type(value) is list and len(value) > _LONGEST_LIST:
        raise _NoSignature
    return json_type(value)


def _side(value: float, bound: float) -> str:
    """On which side of a bound a number is."""
    return "<" if value < bound else ">" if value > bound else "="
