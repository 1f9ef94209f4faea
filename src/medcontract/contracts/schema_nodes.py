"""Walks JSON Schemas as medcontract generates them: variants, the schema at a path, subschemas, known keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from medcontract.problems import Path

ANNOTATIONS = frozenset({"title", "description", "default", "examples", "$schema", "$id", "x-medcontract-rules"})
"""Keywords of generated schemas that do not restrict values."""
NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords that map names to schemas."""
NESTED = frozenset({
    "items", "prefixItems", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else",
    "anyOf", "oneOf", "allOf",
})  # fmt: skip
"""Keywords whose value is a schema or a list of schemas."""


def variants_of(node: dict[str, Any], root: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the alternatives of a schema, with references resolved."""
    root = root or node
    if "$ref" in node:
        return variants_of(root["$defs"][node["$ref"].rpartition("/")[2]], root)
    for word in ("oneOf", "anyOf"):
        if word in node:
            return [variant for choice in node[word] for variant in variants_of(choice, root)]
    return [node]


def schemas_at(schema: dict[str, Any], path: Path) -> list[dict[str, Any]]:
    """Return the schemas of the value at `path`, one for each alternative; empty ones where it may not be."""
    nodes = [schema]
    for token in path:
        variants = [variant for node in nodes for variant in variants_of(node, schema)]
        if isinstance(token, int):
            nodes = [variant.get("items", {}) for variant in variants]
        else:
            nodes = [variant.get("properties", {}).get(token, {}) for variant in variants]
    return [variant for node in nodes for variant in variants_of(node, schema)]


def known_keys(schema: dict[str, Any], path: Path) -> list[str]:
    """Return the keys that the object at `path` may have."""
    return list(dict.fromkeys(key for node in schemas_at(schema, path) for key in node.get("properties", ())))


def all_keys(schema: dict[str, Any]) -> frozenset[str]:
    """Return all keys that any object in a schema may have."""
    objects = [schema, *schema.get("$defs", {}).values()]
    return frozenset(key for node in objects for key in node.get("properties", ()))


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield the schema and all its subschemas, but not data (`const`, `default`)."""
    if not isinstance(schema, dict):
        return
    yield schema
    for word, value in schema.items():
        if word in NAMED:
            inside = list(value.values())
        elif word in NESTED:
            inside = value if isinstance(value, list) else [value]
        else:
            continue
        for node in inside:
            yield from subschemas(node)
