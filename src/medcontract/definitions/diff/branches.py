"""Alternatives: what a schema is a choice of, whether two of them overlap, and which of the old is which of the new."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

from medcontract.definitions.diff import words
from medcontract.definitions.diff.change import listed
from medcontract.definitions.diff.node import TYPES, Node, key

_DEPTH = 12
"""How deep to look for what keeps two schemas apart."""
_MOST = 50
"""How many alternatives are compared each with each: that takes their number squared."""


def alternatives(node: Node) -> list[Node]:
    """What a schema is a choice of: itself, when it is none. Empty when that cannot be said, or when it is anything."""
    decisive = node.assertions
    if not decisive:
        return []
    if decisive == {"anyOf"}:
        return node.children("anyOf")
    if decisive == {"oneOf"}:
        branches = node.children("oneOf")
        return branches if apart(branches) else []
    if isinstance(node.words.get("type"), list):
        return [_of_type(node, index) for index in range(len(node.words["type"]))]
    return [Node(node.root, node.at, {word: node.words[word] for word in decisive}, node.places)]


def _of_type(node: Node, index: int) -> Node:
    """The part of a schema that is about one of its types."""
    at = f"{node.place('type')}/{index}"
    kind = node.words["type"][index]
    inner = {word: value for word, value in node.words.items() if _applies(word, kind) and word in node.assertions}
    return Node(node.root, at, {**inner, "type": kind}, node.places)


def _applies(word: str, kind: str) -> bool:
    own = {
        "string": ("minLength", "maxLength", "pattern", "format"),
        "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"),
        "object": ("properties", "required", "additionalProperties", "patternProperties", "propertyNames"),
    }
    mine = "number" if kind == "integer" else kind
    return not any(word in keywords for name, keywords in own.items() if name != mine)


def apart(nodes: list[Node]) -> bool:
    """Whether no value can be of two of these schemas; not said of very many."""
    return len(nodes) <= _MOST and all(_apart(a, b, _DEPTH) for a, b in combinations(nodes, 2))


def _apart(a: Node, b: Node, depth: int) -> bool:
    if depth == 0:
        return False
    if a.never or b.never or not a.types & b.types:
        return True
    for one, other in ((a, b), (b, a)):
        for word in ("anyOf", "oneOf"):
            if word in one.words and all(_apart(branch, other, depth - 1) for branch in one.children(word)):
                return True
    if not set(_listed(a, b)) & set(_listed(b, a)):
        return True
    return a.types & b.types == {"object"} and any(
        _apart(_known(a, name), _known(b, name), depth - 1)
        for name in [*a.words.get("required", ()), *b.words.get("required", ())]
    )


def _known(node: Node, name: str) -> Node:
    """The schema of a key, when it is certain."""
    known = name in node.words.get("properties", {})
    sure = "patternProperties" not in node.words
    return node.child("properties", name) if known else node.child("additionalProperties" if sure else "anything")


def _listed(node: Node, other: Node) -> Iterator[str]:
    """The only values that a schema accepts; a word for all when it does not list them."""
    found: list[Any] | None = None
    if "const" in node.words:
        found = [node.words["const"]]
    elif "enum" in node.words:
        found = node.words["enum"]
    mine = found is not None
    theirs = "const" in other.words or "enum" in other.words
    yield from map(key, found or ()) if mine and theirs else ("any",)


Pairs = list[tuple[Node, Node]]


def matched(
    old: list[Node], new: list[Node], distance: Callable[[Node, Node], int]
) -> tuple[Pairs, list[Node], list[Node]]:
    """Which is which: the same ones first, then those of one kind, the nearest first; and those left over.

    Where very many are left, none of them is taken for another.
    """
    gone, added = dict(enumerate(old)), dict(enumerate(new))
    pairs = _same(gone, added)
    near: list[tuple[int, int, int]] = []
    if max(len(gone), len(added)) <= _MOST:
        near = [(distance(a, b), i, j) for i, a in gone.items() for j, b in added.items() if _alike(a, b)]
    for _, i, j in sorted(near):
        if i in gone and j in added:
            pairs.append((gone.pop(i), added.pop(j)))
    return pairs, list(gone.values()), list(added.values())


def _same(gone: dict[int, Node], added: dict[int, Node]) -> Pairs:
    """Take out those that are written alike, in pairs."""
    places: dict[str, list[int]] = {}
    for j, node in reversed(added.items()):
        places.setdefault(key(dict(node.words)), []).append(j)
    found = [(i, places[text].pop()) for i, node in gone.items() if places.get(text := key(dict(node.words)))]
    return [(gone.pop(i), added.pop(j)) for i, j in found]


def _alike(a: Node, b: Node) -> bool:
    """Whether one may be what became of the other: the same types, and objects with half of their keys in common."""
    if not a.types & b.types or (a.types == TYPES) != (b.types == TYPES):
        return False
    mine, theirs = set(a.words.get("properties", ())), set(b.words.get("properties", ()))
    return 2 * len(mine & theirs) >= max(len(mine), len(theirs))


def spoken(node: Node) -> str:
    """A schema in a few words."""
    if "const" in node.words:
        return listed([node.words["const"]])
    if "enum" in node.words:
        return "one of " + listed(node.words["enum"])
    names = list(node.words.get("required", ()))
    what = "anything" if node.types == TYPES else words.spoken(node.types)
    if "pattern" in node.words:
        what += " of some pattern"
    return what + (f" with {listed(names)}" if names else "")
