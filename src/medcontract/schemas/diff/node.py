"""A schema prepared for comparison: references are resolved, and each keyword has its pointer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from medcontract.problems import pointer_tokens

TYPES = frozenset({"null", "boolean", "object", "array", "string", "integer", "fraction"})
"""`number` covers integers and fractions."""
ANNOTATIONS = frozenset({
    "$schema", "$id", "$anchor", "$comment", "title", "description", "default", "examples", "deprecated", "readOnly",
    "writeOnly", "contentMediaType", "contentEncoding", "contentSchema",
})  # fmt: skip
DEFINITIONS = frozenset({"$defs", "definitions"})


@dataclass(frozen=True, eq=False)
class Root:
    """The root schema."""

    schema: Any

    @cached_property
    def dialect(self) -> str:
        return str(self.schema.get("$schema", "2020-12")) if isinstance(self.schema, dict) else ""

    @cached_property
    def decisive(self) -> str:
        """Its text, without its own annotations."""
        words = self.schema.items() if isinstance(self.schema, dict) else ()
        return key({word: value for word, value in words if not is_annotation(word)})


@dataclass(frozen=True, eq=False)
class Node:
    """A schema or subschema."""

    root: Root
    at: str
    """The pointer of its assertions: the target if it is a reference."""
    words: Mapping[str, Any]
    places: Mapping[str, str] = field(default_factory=dict)
    """The pointers of annotations at another place: next to a reference."""

    @property
    def assertions(self) -> set[str]:
        """The keywords that affect validation."""
        return {word for word in self.words if not is_annotation(word) and word not in DEFINITIONS}

    @property
    def identity(self) -> str:
        """Its pointer. All schemas without keywords are the same one; otherwise walking below them would not end."""
        return self.at if self.assertions else "anything"

    @property
    def types(self) -> frozenset[str]:
        """The types that `type` allows; none if nothing is accepted."""
        stated = () if self.never else self.words.get("type", TYPES)
        names = {stated} if isinstance(stated, str) else set(stated)
        return frozenset(names - {"number"} | ({"integer", "fraction"} if "number" in names else set()))

    @property
    def never(self) -> bool:
        """Whether it accepts nothing, as `false` does."""
        return self.words.get("not", False) in ({}, True)

    def child(self, word: str, *tokens: str | int) -> Node:
        """The schema under a keyword; one that accepts everything if there is none."""
        value, at = self.words.get(word, True), self.place(word)
        for token in tokens:
            value, at = value[token], f"{at}/{_escaped(token)}"
        return read(self.root, value, at)

    def children(self, word: str) -> list[Node]:
        """The schemas in the list under a keyword."""
        return [self.child(word, index) for index in range(len(self.words.get(word, ())))]

    def property(self, name: str) -> Node:
        """The schema of a key."""
        known = name in self.words.get("properties", {})
        return self.child("properties", name) if known else self.child("additionalProperties")

    def place(self, word: str) -> str:
        return self.places.get(word, f"{self.at}/{_escaped(word)}")


def is_annotation(word: str) -> bool:
    return word in ANNOTATIONS or word.startswith("x-")


def _escaped(token: str | int) -> str:
    return str(token).replace("~", "~0").replace("/", "~1")


def key(value: Any) -> str:
    """A text that is equal for values that are equal in JSON: 1 equals 1.0, but not true."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def read(root: Root, schema: Any, at: str = "", seen: frozenset[str] = frozenset()) -> Node:
    """The schema at a pointer. `seen`: the references that led here, to avoid cycles."""
    if isinstance(schema, bool):
        schema = {} if schema else {"not": {}}
    node = Node(root, at, schema)
    if "$ref" in schema and "draft-0" in root.dialect:  # these drafts ignore its siblings
        node = Node(root, at, {word: v for word, v in schema.items() if word == "$ref" or is_annotation(word)})
    target = _only_target(node)
    if target is None or target[0] in seen:
        return node
    found = read(root, target[1], target[0], seen | {target[0]})
    siblings = {word: value for word, value in node.words.items() if is_annotation(word)}
    places = {**found.places, **{word: node.place(word) for word in siblings}}
    return Node(root, found.at, {**found.words, **siblings}, places)


def _only_target(node: Node) -> tuple[str, Any] | None:
    """The pointer and schema that a node without other assertions refers to."""
    if node.assertions == {"$ref"}:
        return find_reference(node.root.schema, node.words["$ref"])
    if node.assertions == {"allOf"} and len(node.words["allOf"]) == 1:  # annotations next to `$ref` in draft-07
        return f"{node.place('allOf')}/0", node.words["allOf"][0]
    return None


def is_own(root: Any, reference: str) -> bool:
    """Whether a reference points into the same schema."""
    return reference.partition("#")[0] in ("", root.get("$id") if isinstance(root, dict) else None)


def find_reference(root: Any, reference: str) -> tuple[str, Any] | None:
    """The pointer of a reference and its target; None if the target is not in this file."""
    pointer = unquote(reference.partition("#")[2])
    if not is_own(root, reference) or (pointer and not pointer.startswith("/")):
        return None
    value = root
    for name in pointer_tokens(pointer):
        if isinstance(value, list) and name in map(str, range(len(value))):
            value = value[int(name)]
        elif isinstance(value, dict) and name in value:
            value = value[name]
        else:
            return None
    return (pointer, value) if isinstance(value, dict | bool) else None
