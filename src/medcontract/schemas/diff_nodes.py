"""Reads schemas for a comparison: only schemas that `schema export` may write, with references resolved."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from medcontract.contracts.registry import subschemas
from medcontract.errors import CallError
from medcontract.problems import pointer
from medcontract.schemas.json_schema import fault
from medcontract.types import AnySchema, JsonObject, Schema

TYPES = frozenset({"null", "boolean", "object", "array", "string", "integer", "fraction"})
"""`number` covers integers and fractions."""
_ANNOTATIONS = frozenset({"$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated"})
DEFINITIONS = frozenset({"$defs", "definitions"})
_REFERENCE = re.compile(r"#(?:/(\$defs|definitions)/([A-Za-z0-9_.-]+))?")
JUDGED = frozenset({
    "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
    "minItems", "maxItems", "minProperties", "maxProperties", "pattern", "not", "required", "properties",
    "additionalProperties", "items",
})  # fmt: skip
"""Also `anyOf` and `oneOf` without siblings, and `then` and `else` if `if` did not change."""
_DIALECTS = ("draft/2020-12/schema", "draft-07/schema")
_KEYWORDS = JUDGED | DEFINITIONS | {"$ref", "anyOf", "oneOf", "allOf", "if", "then", "else"}
"""The keywords that `schema export` writes."""


def listed(values: Iterable[object], most: int = 8) -> str:
    """Return JSON values for a message: not too many, and not too long."""
    texts = [v if isinstance(v, str) and v == v.strip() != "" else json.dumps(v, ensure_ascii=False) for v in values]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(text if len(text) <= 60 else text[:59] + "…" for text in texts[:most]) + more


@dataclass(frozen=True, eq=False)
class Node:
    """A schema or subschema."""

    root: AnySchema
    """The schema around it."""
    at: str
    """The pointer of its assertions: the target if it is a reference."""
    words: JsonObject
    places: Mapping[str, str] = field(default_factory=dict)
    """The pointers of annotations at another place: next to a reference."""

    @property
    def assertions(self) -> set[str]:
        """Return the keywords that affect validation."""
        return {word for word in self.words if not is_annotation(word) and word not in DEFINITIONS}

    @property
    def identity(self) -> str:
        """Its pointer. All schemas without keywords are the same one; otherwise walking below them would not end."""
        return self.at if self.assertions else "anything"

    @property
    def types(self) -> frozenset[str]:
        """Return the types that `type` allows; none if nothing is accepted."""
        stated = () if self.never else self.words.get("type", TYPES)
        names = {stated} if isinstance(stated, str) else set(stated)
        return frozenset(names - {"number"} | ({"integer", "fraction"} if "number" in names else set()))

    @property
    def never(self) -> bool:
        """Return whether it accepts nothing, as `false` does."""
        return self.words.get("not", False) in ({}, True)

    def child(self, word: str, *tokens: str | int) -> Node:
        """Return the schema under a keyword; one that accepts everything if there is none."""
        value, at = self.words.get(word, True), self.place(word)
        for token in tokens:
            value, at = value[token], at + pointer((token,))
        return read(self.root, value, at)

    def children(self, word: str) -> list[Node]:
        """Return the schemas in the list under a keyword."""
        return [self.child(word, index) for index in range(len(self.words.get(word, ())))]

    def property(self, name: str) -> Node:
        """Return the schema of a key."""
        known = name in self.words.get("properties", {})
        return self.child("properties", name) if known else self.child("additionalProperties")

    def place(self, word: str) -> str:
        return self.places.get(word, self.at + pointer((word,)))


def is_annotation(word: str) -> bool:
    return word in _ANNOTATIONS or word.startswith("x-")


def key(value: object) -> str:
    """Return a text that is equal for values that are equal in JSON: 1 equals 1.0, but not true."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def read(root: AnySchema, schema: AnySchema, at: str = "", seen: frozenset[str] = frozenset()) -> Node:
    """Return the schema at a pointer. `seen`: the references that led here, to avoid cycles."""
    if isinstance(schema, bool):
        schema = {} if schema else {"not": {}}
    node = Node(root, at, schema)
    target = _only_target(node)
    if target is None or target[0] in seen:
        return node
    found = read(root, target[1], target[0], seen | {target[0]})
    siblings = {word: value for word, value in node.words.items() if is_annotation(word)}
    places = {**found.places, **{word: node.place(word) for word in siblings}}
    return Node(root, found.at, {**found.words, **siblings}, places)


def _only_target(node: Node) -> tuple[str, AnySchema] | None:
    """Return the pointer and schema that a node without other assertions refers to."""
    if node.assertions == {"$ref"}:
        return find_reference(node.root, node.words["$ref"])
    if node.assertions == {"allOf"}:  # a reference next to annotations in draft-07
        return f"{node.place('allOf')}/0", node.words["allOf"][0]
    return None


def find_reference(root: AnySchema, reference: str) -> tuple[str, AnySchema] | None:
    """Return the pointer of a reference and its target; None if it is not a definition of this schema."""
    match = _REFERENCE.fullmatch(reference)
    if match is None or not isinstance(root, dict):
        return None
    target = root if match[1] is None else root.get(match[1], {}).get(match[2])
    return None if target is None else (reference[1:], target)


# --- reading a schema


def parse(content: bytes, name: str) -> AnySchema:
    """Return the schema in a file. Raises `CallError` if it does not contain one."""
    try:
        schema: AnySchema = json.loads(content.decode("utf-8-sig"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise CallError(f"{name}: not JSON") from None
    try:
        reason = refusal(schema)
    except RecursionError:
        reason = "nested too deeply to be compared"
    if reason:
        raise CallError(f"{name}: {reason}")
    return schema


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def refusal(schema: AnySchema) -> str | None:
    """Return why a value is not a schema of the kind that `schema export` writes, or None."""
    dialect = schema.get("$schema") if isinstance(schema, dict) else None
    if isinstance(dialect, str) and not dialect.rstrip("#").endswith(_DIALECTS):
        return "'$schema' is not a supported draft of JSON Schema"
    reason = fault(schema)
    if reason:
        return reason
    if isinstance(schema, dict) and schema and not any(word in _KEYWORDS or word[:2] == "x-" for word in schema):
        return "not a JSON Schema: it has none of the keywords that 'schema export' writes"
    return next(filter(None, (_unsupported(schema, node) for node in subschemas(schema))), None)


def _unsupported(root: AnySchema, node: Schema) -> str | None:
    """Return what a node contains that published schemas do not, so that changes there could not be judged."""
    assertions = {word for word in node if not is_annotation(word) and word not in DEFINITIONS}
    if assertions - _KEYWORDS:
        return f"it uses {listed(sorted(assertions - _KEYWORDS))}, which 'schema export' does not write"
    if node is not root and "$id" in node:
        return "it contains a schema with its own '$id', which cannot be compared"
    if "$ref" in node and find_reference(root, node["$ref"]) is None:
        return f"the reference '{listed([node['$ref']])}' is not to a definition of this schema"
    if ("$ref" in node or "allOf" in node) and len(assertions) > 1:
        return "it uses '$ref' or 'allOf' next to other keywords, which 'schema export' does not write"
    if len(node.get("allOf", (1,))) > 1:
        return "it uses 'allOf' with several schemas, which 'schema export' does not write"
    if isinstance(node.get("items"), list):
        return "it uses 'items' with a list, which 'schema export' does not write"
    return None
