"""A schema in draft-07, for tools that know no later draft: other words, the same verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from medcontract.errors import CallError

DIALECT = "http://json-schema.org/draft-07/schema#"

NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords whose keys are names, each with a schema."""
NESTED = frozenset({
    "items", "prefixItems", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else",
    "anyOf", "oneOf", "allOf",
})  # fmt: skip
"""Keywords with a schema, or a list of schemas."""
_DROPPED = frozenset({"deprecated", "contentSchema"})
"""Remarks that draft-07 has no word for; they decide nothing."""
_BEYOND = frozenset({
    "unevaluatedProperties", "unevaluatedItems", "minContains", "maxContains", "$anchor", "$dynamicAnchor",
    "$dynamicRef", "$vocabulary",
})  # fmt: skip


def to_draft07(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema in draft-07; `$id` stays. Raises `CallError` for what that draft cannot say."""
    return {**_converted(schema), "$schema": DIALECT}


def _converted(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    beyond = _BEYOND & schema.keys()
    if beyond:
        raise CallError(f"draft-07 has nothing like '{min(beyond)}'", "use --draft 2020-12")
    node = {word: _value(word, value) for word, value in schema.items() if word not in _DROPPED}
    for rewrite in _REWRITES:
        node = rewrite(node)
    return node


def _value(word: str, value: Any) -> Any:
    """Data under `const`, `enum`, `default` or a keyword of ours is left as it is, whatever its keys look like."""
    if word in NAMED:
        return {name: _converted(inner) for name, inner in value.items()}
    if word in NESTED:
        return [_converted(inner) for inner in value] if isinstance(value, list) else _converted(value)
    return value


def _definitions(node: dict[str, Any]) -> dict[str, Any]:
    node = {"definitions" if word == "$defs" else word: value for word, value in node.items()}
    if "$ref" in node:
        node["$ref"] = node["$ref"].replace("#/$defs/", "#/definitions/", 1)
    return node


def _lone_reference(node: dict[str, Any]) -> dict[str, Any]:
    """Draft-07 ignores whatever stands beside `$ref`, so `$ref` moves into `allOf`."""
    if "$ref" not in node or len(node) == 1:
        return node
    beside = {word: value for word, value in node.items() if word != "$ref"}
    return {**beside, "allOf": [{"$ref": node["$ref"]}, *node.get("allOf", [])]}


def _tuples(node: dict[str, Any]) -> dict[str, Any]:
    if "prefixItems" not in node:
        return node
    words = {"prefixItems": "items", "items": "additionalItems"}
    return {words.get(word, word): value for word, value in node.items()}


def _dependencies(node: dict[str, Any]) -> dict[str, Any]:
    """One keyword in draft-07 for what became two. A name under both needs its keys as a schema."""
    schemas, keys = node.pop("dependentSchemas", {}), node.pop("dependentRequired", {})
    if schemas or keys:
        both = {name: {"required": keys[name], "allOf": [schemas[name]]} for name in schemas.keys() & keys.keys()}
        node["dependencies"] = {**schemas, **keys, **both}
    return node


_REWRITES: tuple[Callable[[dict[str, Any]], dict[str, Any]], ...] = (
    _definitions, _lone_reference, _tuples, _dependencies,
)  # fmt: skip
