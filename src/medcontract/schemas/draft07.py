"""Converts a schema to draft-07, for tools without support for later drafts. It accepts the same values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from medcontract.contracts.registry import NAMED, NESTED
from medcontract.errors import CallError, option, words

DIALECT = "http://json-schema.org/draft-07/schema#"

_DROPPED = frozenset({"deprecated", "contentSchema"})
"""Annotations that draft-07 does not have; they do not affect validation."""
_BEYOND = frozenset({
    "unevaluatedProperties", "unevaluatedItems", "minContains", "maxContains", "$anchor", "$dynamicAnchor",
    "$dynamicRef", "$vocabulary",
})  # fmt: skip


def to_draft07(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema in draft-07, with the same `$id`. Raises `CallError` for keywords that have no equivalent."""
    return {**_converted(schema), "$schema": DIALECT}


def _converted(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    beyond = _BEYOND & schema.keys()
    if beyond:
        raise CallError(f"draft-07 has no equivalent of '{min(beyond)}'", words("use ", option("--draft", "2020-12")))
    node = {word: _value(word, value) for word, value in schema.items() if word not in _DROPPED}
    for rewrite in _REWRITES:
        node = rewrite(node)
    return node


def _value(word: str, value: Any) -> Any:
    """Data under `const`, `enum`, `default` or `x-medcontract-…` is left unchanged."""
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
    """Draft-07 ignores siblings of `$ref`, so `$ref` moves into `allOf`."""
    if "$ref" not in node or len(node) == 1:
        return node
    siblings = {word: value for word, value in node.items() if word != "$ref"}
    return {**siblings, "allOf": [{"$ref": node["$ref"]}, *node.get("allOf", [])]}


def _tuples(node: dict[str, Any]) -> dict[str, Any]:
    if "prefixItems" not in node:
        return node
    words = {"prefixItems": "items", "items": "additionalItems"}
    return {words.get(word, word): value for word, value in node.items()}


def _dependencies(node: dict[str, Any]) -> dict[str, Any]:
    """Merge two keywords that are one in draft-07. A name under both needs its keys as a schema."""
    schemas, keys = node.pop("dependentSchemas", {}), node.pop("dependentRequired", {})
    if schemas or keys:
        both = {name: {"required": keys[name], "allOf": [schemas[name]]} for name in schemas.keys() & keys.keys()}
        node["dependencies"] = {**schemas, **keys, **both}
    return node


_REWRITES: tuple[Callable[[dict[str, Any]], dict[str, Any]], ...] = (
    _definitions, _lone_reference, _tuples, _dependencies,
)  # fmt: skip
