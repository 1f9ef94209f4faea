"""A schema prepared for comparison: references are resolved, and each keyword has its pointer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from medcontract.problems import pointer

TYPES = frozenset({"null", "boolean", "object", "array", "string", "integer", "fraction"})
"""`number` covers integers and fractions."""
_ANNOTATIONS = frozenset({"$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated"})
DEFINITIONS = frozenset({"$defs", "definitions"})
_REFERENCE = re.compile(r"#(?:/(\$defs|definitions)/([A-Za-z0-9_.-]+))?")
Breaks = Literal["none", "readers", "writers", "both"]


class Change(NamedTuple):
    """What changed, where, and in which direction."""

    pointer: str
    """A pointer into the new schema; for what was removed, into the old one."""
    message: str
    tighter: bool = False
    """Whether values that were accepted may be rejected now."""
    looser: bool = False
    """Whether values that were rejected may be accepted now."""

    @property
    def breaks(self) -> Breaks:
        if self.tighter:
            return "both" if self.looser else "writers"
        return "readers" if self.looser else "none"


def unjudged(pointer: str, what: str) -> Change:
    return Change(pointer, f"{what}: cannot be judged", tighter=True, looser=True)


def listed(values: Iterable[Any], most: int = 8) -> str:
    """Return JSON values for a message: not too many, and not too long."""
    texts = [v if isinstance(v, str) and v == v.strip() != "" else json.dumps(v, ensure_ascii=False) for v in values]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(text if len(text) <= 60 else text[:59] + "…" for text in texts[:most]) + more


@dataclass(frozen=True, eq=False)
class Node:
    """A schema or subschema."""

    root: Any
    """The schema around it."""
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
            value, at = value[token], at + pointer((token,))
        return read(self.root, value, at)

    def children(self, word: str) -> list[Node]:
        """The schemas in the list under a keyword."""
        return [self.child(word, index) for index in range(len(self.words.get(word, ())))]

    def property(self, name: str) -> Node:
        """The schema of a key."""
        known = name in self.words.get("properties", {})
        return self.child("properties", name) if known else self.child("additionalProperties")

    def place(self, word: str) -> str:
        return self.places.get(word, self.at + pointer((word,)))


def is_annotation(word: str) -> bool:
    return word in _ANNOTATIONS or word.startswith("x-")


def key(value: Any) -> str:
    """A text that is equal for values that are equal in JSON: 1 equals 1.0, but not true."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def read(root: Any, schema: Any, at: str = "", seen: frozenset[str] = frozenset()) -> Node:
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


def _only_target(node: Node) -> tuple[str, Any] | None:
    """Return the pointer and schema that a node without other assertions refers to."""
    if node.assertions == {"$ref"}:
        return find_reference(node.root, node.words["$ref"])
    if node.assertions == {"allOf"}:  # a reference next to annotations in draft-07
        return f"{node.place('allOf')}/0", node.words["allOf"][0]
    return None


def find_reference(root: Any, reference: str) -> tuple[str, Any] | None:
    """Return the pointer of a reference and its target; None if it is not a definition of this schema."""
    match = _REFERENCE.fullmatch(reference)
    if match is None or not isinstance(root, dict):
        return None
    target = root if match[1] is None else root.get(match[1], {}).get(match[2])
    return None if target is None else (reference[1:], target)
