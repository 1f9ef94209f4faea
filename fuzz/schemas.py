"""JSON Schemas: changed published ones, and random ones with all keywords, valid or not."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from typing import Any

from jsonschema_specifications import REGISTRY as BUNDLED  # type: ignore[import-untyped]  # comes with jsonschema
from tests.mutations import NUMBERS, STRINGS, paths, put

from fuzz.material import BLOWN_UP, KEYS, ROOT, a_value, as_json, blown_up, changed_value, edited

Schema = Any
_DIALECTS = (
    "https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-04/schema#", "urn:mine", "",
)  # fmt: skip
_REFERENCES = (
    "#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#a", "#/definitions/a", "other.json", "other.json#/$defs/a", "",
    "#/allOf/0", "#/items", "urn:x", "http://example.org/x", "#/$defs/%", "file:///nowhere", "x.schema.json", "//[",
    "https://json-schema.org/draft/2020-12/schema", "#/allOf/x", "#/~", "%00", "other.json#\u00e9", "#/$defs/a/type",
)  # fmt: skip
_PATTERNS = ("^a", "b$", "[0-9]+", "(", "\\p{L}", "(?<x>a)", "\\Z", "(?:", "a{99999999999}", "[[a]]", "\\d", "")
_TYPES = ("string", "number", "integer", "boolean", "null", "array", "object")
_INNER = frozenset({"items", "additionalProperties", "not", "if", "then", "else", "contains"})

_HOLDERS = {("properties",), ("$defs",), ("allOf",), ("anyOf",), ("oneOf",)}


@cache
def published() -> tuple[Schema, ...]:
    """All published schemas of contracts and records, and the meta-schemas of the drafts."""
    found = [json.loads(path.read_bytes()) for path in sorted((ROOT / "schemas").rglob("v*.json"))]
    return (*found, *(BUNDLED.contents(uri) for uri in sorted(BUNDLED)))


def a_schema(source: random.Random) -> bytes:
    """A schema file; about a third of them are not valid."""
    kind = source.random()
    if kind < 0.55:
        schema = random_schema(source, 4)
        if isinstance(schema, dict):
            schema |= {"$defs": {"a": random_schema(source, 2), "b": random_schema(source, 2)}}
    elif kind < 0.95:
        schema = grafted(source.choice(published()), source)
    else:
        schema = a_value(source)
    if source.random() < 0.15:
        schema = changed_value(schema, source)
    data = as_json(schema, source)
    if source.random() < BLOWN_UP:
        return blown_up(data, source)
    return edited(data, source) if source.random() < 0.03 else data


def grafted(schema: Schema, source: random.Random) -> Schema:
    """The schema with another one somewhere inside it."""
    places = [path for path in paths(schema) if path and (path[-1] in _INNER or path[-2:-1] in _HOLDERS)]
    return put(schema, source.choice(places), random_schema(source, 2)) if places else schema


def other_version(data: bytes, source: random.Random) -> bytes:
    """The schema with a few changes, or another one."""
    if source.random() < 0.2:
        return a_schema(source)
    try:
        return as_json(source.choice((changed_value, grafted, grafted))(json.loads(data), source), source)
    except (ValueError, RecursionError):
        return edited(data, source)


def random_schema(source: random.Random, depth: int) -> Schema:
    """A schema with a few keywords, whose values are mostly valid."""
    if source.random() < 0.1:
        return source.choice((True, False, {}))
    keywords = source.sample(sorted(_KEYWORDS), source.randrange(1, 5))
    schema = {keyword: _KEYWORDS[keyword](source, depth) for keyword in keywords}
    if source.random() < 0.02:
        keyword = source.choice(sorted(_RARE))
        schema[keyword] = _RARE[keyword](source, depth)
    return schema


def _inner(source: random.Random, depth: int) -> Schema:
    return (
        random_schema(source, depth - 1)
        if depth
        else source.choice((True, {}, {"type": "string"}, {"$ref": "#/$defs/a"}))
    )


def _list(source: random.Random, depth: int) -> list[Schema]:
    return [_inner(source, depth) for _ in range(source.randrange(1, 4))]


def _map(source: random.Random, depth: int) -> dict[str, Schema]:
    return {key: _inner(source, depth) for key in source.sample(KEYS, source.randrange(1, 4))}


def _patterns(source: random.Random, depth: int) -> dict[str, Schema]:
    return {source.choice(_PATTERNS[:3]): _inner(source, depth)}


def _keys(source: random.Random, depth: int) -> list[str]:
    return source.sample(KEYS, source.randrange(3))


def _needs(source: random.Random, depth: int) -> dict[str, Any]:
    return {key: source.choice((_keys, _inner))(source, depth) for key in source.sample(KEYS, 2)}


def _number(source: random.Random, depth: int) -> Any:
    return source.choice((1, 2, 3, 0.1, 1e300, 2**70))


def _one_of(*values: Any) -> Callable[[random.Random, int], Any]:
    return lambda source, depth: source.choice(values)


def _values(source: random.Random, depth: int) -> list[Any]:
    return [a_value(source, 2) for _ in range(source.randrange(1, 4))]


def _types(source: random.Random, depth: int) -> Any:
    return source.choice((source.choice(_TYPES), source.sample(_TYPES, 2)))


_KEYWORDS: dict[str, Callable[[random.Random, int], Any]] = {
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _list),
    **dict.fromkeys(("properties", "dependentSchemas", "definitions"), _map),
    **dict.fromkeys(
        ("additionalProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems", "contains", "not",
         "if", "then", "else", "propertyNames", "contentSchema"), _inner,
    ),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), _number),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains",
         "maxContains"), _one_of(0, 1, 2, 5, 2.0, 1e300),
    ),
    "items": _inner,
    "patternProperties": _patterns,
    "dependencies": _needs,
    "dependentRequired": lambda source, depth: {key: _keys(source, depth) for key in source.sample(KEYS, 2)},
    "required": _keys,
    "type": _types,
    "enum": _values,
    "const": lambda source, depth: a_value(source, 2),
    "pattern": _one_of(*_PATTERNS[:3]),
    "format": _one_of("date", "email", "uri", "x"),
    "uniqueItems": _one_of(True, False),
    "$ref": _one_of("#/$defs/a", "#/$defs/b"),
}  # fmt: skip
_RARE: dict[str, Callable[[random.Random, int], Any]] = {
    "items": _list,
    "enum": _one_of([], "x", None),
    "$ref": _one_of(*_REFERENCES),
    "$dynamicRef": _one_of(*_REFERENCES),
    "$recursiveRef": _one_of("#", "#a"),
    "$anchor": _one_of("a", "b", "1", "é"),
    "$dynamicAnchor": _one_of("a", "b"),
    "$recursiveAnchor": _one_of(True, False),
    "$id": _one_of("http://example.org/x", "urn:a:b", "#a", "", "other.json", "//[", *STRINGS[-60:-40]),
    "$schema": _one_of(*_DIALECTS),
    "pattern": _one_of(*_PATTERNS),
    "minimum": lambda source, depth: source.choice(NUMBERS),
    "type": _one_of("any", ["string", "string"], []),
    "x-medcontract-rules": lambda source, depth: source.choice((_values, lambda s, d: a_value(s, 3)))(source, depth),
}  # fmt: skip
