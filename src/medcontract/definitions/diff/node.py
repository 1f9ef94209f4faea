"""A schema as it is compared: references followed, one spelling for what has several, each keyword with its place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

TYPES = frozenset({"null", "boolean", "object", "array", "string", "integer", "fraction"})
"""`number` is an integer or a fraction."""
ANNOTATIONS = frozenset({
    "$schema", "$id", "$anchor", "$comment", "title", "description", "default", "examples", "deprecated", "readOnly",
    "writeOnly", "contentMediaType", "contentEncoding", "contentSchema",
})  # fmt: skip
DEFINITIONS = frozenset({"$defs", "definitions"})
RULES = "x-medcontract-rules"
_TOGETHER = (
    frozenset({"properties", "patternProperties", "additionalProperties", "unevaluatedProperties"}),
    frozenset({"items", "prefixItems", "additionalItems", "unevaluatedItems"}),
    frozenset({"contains", "minContains", "maxContains"}),
    frozenset({"if", "then", "else"}),
)
"""Keywords that mean something only beside each other: they are not mixed with those of another schema."""


@dataclass(frozen=True)
class Node:
    """One schema within a whole one."""

    root: Any
    at: str
    """The pointer of the schema: where a lone reference leads to."""
    words: Mapping[str, Any]
    places: Mapping[str, str]
    """The pointer of each keyword; with `$ref`, keywords of one node stand in several places."""

    @property
    def identity(self) -> str:
        """Its place; the schemas that say nothing are all one, or a walk below them would have no end."""
        return self.at if self.words else "anything"

    @property
    def types(self) -> frozenset[str]:
        """The types that it accepts."""
        return frozenset(name for word in self.type_words for name in _expanded(word))

    @property
    def type_words(self) -> list[str]:
        if "type" not in self.words:
            return sorted(TYPES)
        stated = self.words["type"]
        return [stated] if isinstance(stated, str) else list(stated)

    @property
    def never(self) -> bool:
        """Whether it accepts nothing, in so many words."""
        return self.words.get("not", False) in ({}, True)

    @property
    def assertions(self) -> set[str]:
        """The keywords that decide something."""
        return {word for word in self.words if not is_annotation(word) and word not in DEFINITIONS}

    def child(self, word: str, *tokens: str | int) -> Node:
        """The schema below a keyword; the one that accepts everything when there is none."""
        value, at = self.words.get(word, True), self.place(word)
        for token in tokens:
            value, at = value[token], f"{at}/{escaped(token)}"
        return read(self.root, value, at)

    def children(self, word: str) -> list[Node]:
        """The schemas in the list below a keyword."""
        return [self.child(word, index) for index in range(len(self.words.get(word, ())))]

    def place(self, word: str) -> str:
        return self.places.get(word, f"{self.at}/{word}")


def is_annotation(word: str) -> bool:
    return word in ANNOTATIONS or word.startswith("x-")


def escaped(token: str | int) -> str:
    """A key as it stands in a pointer."""
    return str(token).replace("~", "~0").replace("/", "~1")


def key(value: Any) -> str:
    """Equal for values that are equal in JSON: 1 is 1.0, but not true."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return {name: _plain(item) for name, item in value.items()} if isinstance(value, dict) else value


def _expanded(word: str) -> tuple[str, ...]:
    return ("integer", "fraction") if word == "number" else (word,)


def read(root: Any, schema: Any, at: str = "", seen: frozenset[str] = frozenset()) -> Node:
    """The schema that stands at a place. `seen`: the references that led here, lest they lead in a circle."""
    if isinstance(schema, bool):
        schema = {} if schema else {"not": {}}
    node = Node(root, at, schema, {word: f"{at}/{escaped(word)}" for word in schema})
    return _joined(_followed(_old_spellings(node), seen), seen)


def _draft07(root: Any) -> bool:
    """Whether keywords beside `$ref` are ignored."""
    dialect = root.get("$schema") if isinstance(root, dict) else None
    return isinstance(dialect, str) and "draft-0" in dialect


def _old_spellings(node: Node) -> Node:
    """Draft-07's lists of items as later drafts write them."""
    if not isinstance(node.words.get("items"), list):
        return node
    names = {"items": "prefixItems", "additionalItems": "items"}
    words = {names.get(word, word): value for word, value in node.words.items()}
    return Node(node.root, node.at, words, {names.get(word, word): place for word, place in node.places.items()})


def _followed(node: Node, seen: frozenset[str]) -> Node:
    """With what `$ref` leads to in its place, or as a part of `allOf` where the two cannot be mixed."""
    reference = node.words.get("$ref")
    found = find_reference(node.root, reference)
    if found is None or found[0] in seen:
        return node
    pointer, schema = found
    target = read(node.root, schema, pointer, seen | {pointer})
    beside = {} if _draft07(node.root) else {word: v for word, v in node.words.items() if word != "$ref"}
    if not beside:
        return target
    rest = Node(node.root, node.at, beside, node.places)
    if _mixable(rest, target):
        return _mixed(rest, target)
    parts = [*beside.get("allOf", ()), {"$ref": reference}]
    return Node(node.root, node.at, {**beside, "allOf": parts}, node.places)


def find_reference(root: Any, reference: Any) -> tuple[str, Any] | None:
    """The place that a reference leads to and what stands there; None when that is in no schema at hand."""
    pointer = _local(root, reference) if isinstance(reference, str) else None
    found = None if pointer is None else _lookup(root, pointer)
    return (pointer, found) if pointer is not None and isinstance(found, dict | bool) else None


def is_own(root: Any, reference: str) -> bool:
    """Whether a reference leads to a part of the same schema."""
    own = root.get("$id") if isinstance(root, dict) else None
    return reference.partition("#")[0] in ("", own)


def _local(root: Any, reference: str) -> str | None:
    """The pointer in a reference to the schema's own parts."""
    _, _, fragment = reference.partition("#")
    if not is_own(root, reference) or (fragment and not fragment.startswith("/")):
        return None
    from urllib.parse import unquote

    return unquote(fragment)


def _lookup(root: Any, pointer: str) -> Any:
    value = root
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def _joined(node: Node, seen: frozenset[str]) -> Node:
    """With the parts of `allOf` in it, as long as none of their keywords meet."""
    if "allOf" not in node.words:
        return node
    words = {word: value for word, value in node.words.items() if word != "allOf"}
    whole = Node(node.root, node.at, words, node.places)
    for index, schema in enumerate(node.words["allOf"]):
        part = read(node.root, schema, f"{node.place('allOf')}/{index}", seen)
        if not _mixable(whole, part):
            return node
        whole = _mixed(whole, part)
    return whole


def _mixable(a: Node, b: Node) -> bool:
    def groups(node: Node) -> Iterator[object]:
        for word in node.assertions:
            yield next((group for group in _TOGETHER if word in group), word)

    return not set(groups(a)) & set(groups(b))


def _mixed(first: Node, second: Node) -> Node:
    """The first with the keywords of the second. What both say for people is taken from the first."""
    return Node(first.root, first.at, {**second.words, **first.words}, {**second.places, **first.places})
