"""Walks through two schemas in parallel.

Changes of keywords that published schemas use are judged. Changes of others, and of keywords that depend on them,
cannot be judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import combinations, zip_longest
from typing import Any

from medcontract.schemas.diff import keywords
from medcontract.schemas.diff.change import Change
from medcontract.schemas.diff.node import Node, Root, key, read
from medcontract.schemas.diff.rules import compare_rules

_JUDGED = frozenset({
    "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
    "minItems", "maxItems", "minProperties", "maxProperties", "pattern", "not", "required", "properties",
    "additionalProperties", "items",
})  # fmt: skip
"""Also `anyOf` and `oneOf` without siblings, and `then` and `else` if `if` did not change."""
_ENTANGLED = frozenset({
    "patternProperties", "unevaluatedProperties", "prefixItems", "additionalItems", "unevaluatedItems",
})  # fmt: skip
"""They change the meaning of sibling keywords, so that none of these is judged."""
_MOST = 50
"""The maximum number of alternatives that are compared pairwise."""
Alternatives = dict[str, list[Node]]
"""The alternatives for values of each type."""
_ARTICLES = {"array": "a list", "integer": "an integer", "null": "null", "object": "an object", "boolean": "a boolean"}


def compare(old: Any, new: Any) -> list[Change]:
    """The changes from one JSON Schema to another, in the order of the schema."""
    changes = _Walk().nodes(read(Root(old), old), read(Root(new), new), "the top level")
    return list(dict.fromkeys([*changes, *compare_rules(old, new)]))


class _Walk:
    """Compares each pair of schemas once: definitions are used often, and may be recursive."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, str, frozenset[str]]] = set()

    def nodes(self, old: Node, new: Node, label: str) -> Iterator[Change]:
        """Compare the accepted types, and the alternatives for each type."""
        yield from keywords.remarks(old, new, label)
        before, now = _alternatives(old), _alternatives(new)
        yield from _types(before, now, label)
        pairs: dict[tuple[Node, Node], set[str]] = {}
        for kind in sorted(before.keys() & now.keys()):
            for one, other in _paired(before[kind], now[kind]):
                if one and other:
                    pairs.setdefault((one, other), set()).add(kind)
                elif one:
                    yield Change(one.at, f"an alternative of {label} was removed", tighter=True)
                elif other:
                    yield Change(other.at, f"an alternative of {label} was added", looser=True)
        for (one, other), kinds in pairs.items():
            yield from self._pair(one, other, frozenset(kinds), label)

    def _pair(self, old: Node, new: Node, kinds: frozenset[str], label: str) -> Iterator[Change]:
        """Compare two schemas for values of these types."""
        yield from keywords.remarks(old, new, label)
        pair = (old.identity, new.identity, kinds)
        if pair in self.seen:
            return
        self.seen.add(pair)
        old, new = keywords.without_same_spelling(old, new)
        words = [word for word in dict.fromkeys([*old.words, *new.words]) if word in old.assertions | new.assertions]
        if _entangled(old) or _entangled(new):
            yield from keywords.unknown(words, old, new, label)
            return
        yield from keywords.values(old, new, label)
        yield from keywords.limits(old, new, kinds, label)
        yield from keywords.demand("not", old, new, label)
        if "string" in kinds:
            yield from keywords.demand("pattern", old, new, label)
        if "object" in kinds:
            yield from keywords.required(old, new)
            yield from self._properties(old, new, label)
        if "array" in kinds:
            yield from self.nodes(old.child("items"), new.child("items"), f"an item of {label}")
        judged = _JUDGED
        if "if" in old.words and "if" in new.words and key(old.words["if"]) == key(new.words["if"]):
            judged = _JUDGED | {"if", "then", "else"}
            for word in ("then", "else"):
                yield from self.nodes(old.child(word), new.child(word), label)
        yield from keywords.unknown([word for word in words if word not in judged], old, new, label)

    def _properties(self, old: Node, new: Node, label: str) -> Iterator[Change]:
        before, now = (node.words.get("properties", {}) for node in (old, new))
        for name in dict.fromkeys([*now, *before]):
            one, other = old.property(name), new.property(name)
            if (name in now) != (name in before) and not (one.never or other.never):
                what = "no longer" if name in before else "now"
                yield Change((one if name in before else other).at, f"'{name}' is {what} listed in 'properties'")
            yield from self.nodes(one, other, f"'{name}'")
        one, other = (node.child("additionalProperties") for node in (old, new))
        yield from self.nodes(one, other, f"any other key of {label}")


def _types(before: Alternatives, now: Alternatives, label: str) -> Iterator[Change]:
    gone, added = before.keys() - now.keys(), now.keys() - before.keys()
    if not gone and not added:
        return
    if not before or not now:
        message = f"{label} is {'now' if now else 'no longer'} allowed"
    elif gone and added:
        message = f"{label} must now be {_named(now.keys())}; it was {_named(before.keys())}"
    else:
        message = f"{label} may {'no longer' if gone else 'now also'} be {_named(gone or added)}"
    node = now[min(added)][0] if added else before[min(gone)][0]
    place = node.place("type") if before and now and "type" in node.words else node.at
    yield Change(place, message, tighter=bool(gone), looser=bool(added))


def _named(kinds: AbstractSet[str]) -> str:
    words = kinds - keywords.NUMBER | ({"number"} if kinds >= keywords.NUMBER else kinds & keywords.NUMBER)
    return " or ".join(_ARTICLES.get(word, f"a {word}") for word in sorted(words, key=lambda w: (w == "null", w)))


def _entangled(node: Node) -> bool:
    return bool(_ENTANGLED & node.words.keys()) or isinstance(node.words.get("items"), list)


def _alternatives(node: Node) -> Alternatives:
    """The alternatives for values of each type: the branches of a union, or the schema itself."""
    branches = [node]
    if node.assertions == {"anyOf"}:
        branches = node.children("anyOf")
    elif node.assertions == {"oneOf"} and len(node.words["oneOf"]) <= _MOST:
        choices = node.children("oneOf")
        branches = choices if all(_disjoint(a, b) for a, b in combinations(choices, 2)) else [node]
    found: Alternatives = {}
    for branch in branches:
        for kind in branch.types:
            found.setdefault(kind, []).append(branch)
    return found


def _disjoint(a: Node, b: Node) -> bool:
    """Whether no value can match both schemas: their types differ, or those of a key that one of them requires."""
    names = {*a.words.get("required", ()), *b.words.get("required", ())}
    objects = a.types == b.types == {"object"} and not _entangled(a) and not _entangled(b)
    return not a.types & b.types or (
        objects and any(not _accepted(a.property(name)) & _accepted(b.property(name)) for name in names)
    )


def _accepted(node: Node) -> frozenset[str]:
    """The types that a schema accepts at most."""
    branches = node.children("anyOf") if node.assertions == {"anyOf"} else [node]
    return frozenset().union(*(branch.types for branch in branches))


def _paired(old: list[Node], new: list[Node]) -> Iterator[tuple[Node | None, Node | None]]:
    """Pair the alternatives: those with the same text first, the others in order."""
    one, other = ({node: key(dict(node.words)) for node in nodes} for nodes in (old, new))
    same = {*one.values()} & {*other.values()}
    first, second = (
        sorted(found, key=lambda node: (found[node] not in same, found[node] * (found[node] in same)))
        for found in (one, other)
    )
    return zip_longest(first, second)
