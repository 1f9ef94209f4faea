"""The walk through two schemas at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from medcontract.definitions.diff import words
from medcontract.definitions.diff.branches import alternatives, apart, matched, spoken
from medcontract.definitions.diff.change import Change, breaking, merged, unjudged
from medcontract.definitions.diff.node import Node, key, read
from medcontract.definitions.diff.rules import compare_rules
from medcontract.definitions.json_schema import bare
from medcontract.definitions.patterns import NoPattern, TooSlow, fits

_STRUCTURE = frozenset({
    "properties", "patternProperties", "additionalProperties", "propertyNames", "items", "prefixItems", "contains",
    "minContains", "maxContains", "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "dependentSchemas",
})  # fmt: skip
_NO_WAY_TO_TELL = ("unevaluatedProperties", "unevaluatedItems")
"""What they mean depends on everything beside them, even on what accepts the same as before."""


DECISIVE = words.KNOWN | _STRUCTURE | {*_NO_WAY_TO_TELL, "$ref"}
"""The keywords that are known here."""


def compare(old: Any, new: Any) -> list[Change]:
    """What changed from one JSON Schema to another, in the order of the schema."""
    changes = _Walk(old, new).nodes(read(old, old), read(new, new), "the top level")
    return merged([*changes, *compare_rules(old, new)])


class _Walk:
    """Remembers the pairs that were compared: definitions are used often, and may lead back to themselves."""

    def __init__(self, old: Any, new: Any) -> None:
        self._whole = old, new
        self.under_way: set[tuple[str, str, bool]] = set()
        self.known: dict[tuple[str, str], list[Change]] = {}
        self.circles = 0
        self.negated = False

    @cached_property
    def differ(self) -> bool:
        """Whether the two schemas differ in anything that is not for people."""
        before, now = (key(bare(schema)) for schema in self._whole)
        return before != now

    def nodes(self, old: Node, new: Node, label: str) -> list[Change]:
        pair = (old.identity, new.identity)
        if pair in self.known:
            return self.known[pair]
        here = (*pair, self.negated)
        if here in self.under_way:
            self.circles += 1
            return []
        self.under_way.add(here)
        circles = self.circles
        changes = merged(self._compared(old, new, label))
        self.under_way.remove(here)
        if circles == self.circles:  # else it was judged while something above it was still open
            self.known[pair] = changes
        return changes

    def _compared(self, old: Node, new: Node, label: str) -> Iterator[Change]:
        yield from words.remarks(old, new, label)
        if not old.assertions and not new.assertions:
            return
        if old.never or new.never:
            if not (old.never and new.never):
                message = f"{label} {'may not be given any more' if new.never else 'may be given now'}"
                yield Change(new.at, message, tighter=new.never, looser=old.never)
            return
        before, now = alternatives(old), alternatives(new)
        if before and now and len(before) + len(now) > 2:
            yield from self._branches(before, now, label)
        else:
            yield from self._words(old, new, label)

    def _words(self, old: Node, new: Node, label: str) -> Iterator[Change]:
        old, new = words.without_same_spelling(old, new)
        changes = list(words.types(old, new, label))
        common = old.types & new.types
        if common:
            changes += words.values(old, new, label)
            changes += [c for types, judge in words.OF_TYPES if types & common for c in judge(old, new, label)]
            changes += words.others(old, new, label, words.KNOWN | _STRUCTURE)
            changes += self._objects(old, new, label) if "object" in common else []
            changes += self._arrays(old, new, label) if "array" in common else []
            changes += self._combined(old, new, label)
        yield from changes
        for word in _NO_WAY_TO_TELL:
            if word in old.words and word in new.words and self.differ:
                yield unjudged(new.place(word), f"'{word}' of {label} depends on what changed beside it")

    # --- objects and lists ---

    def _objects(self, old: Node, new: Node, label: str) -> Iterator[Change]:
        before, now = old.words.get("properties", {}), new.words.get("properties", {})
        for name in dict.fromkeys([*now, *before]):
            if name in before and name in now:
                yield from self.nodes(old.child("properties", name), new.child("properties", name), f"'{name}'")
            else:
                yield from self._came_or_went(old, new, name)
        other = f"any other key of {label}"
        yield from self.nodes(old.child("additionalProperties"), new.child("additionalProperties"), other)
        yield from self.nodes(old.child("propertyNames"), new.child("propertyNames"), f"a key of {label}")
        yield from self._by_name("patternProperties", old, new, label)
        yield from self._by_name("dependentSchemas", old, new, label)

    def _came_or_went(self, old: Node, new: Node, name: str) -> Iterator[Change]:
        """A key that only one of the two knows; to the other, it is one of the other keys."""
        came = name in new.words.get("properties", {})
        before, now = _property(old, name), _property(new, name)
        place = (now if came else before).at
        if before.never != now.never:
            message = f"'{name}' may be given now" if before.never else f"'{name}' is an unknown key now"
            yield Change(place, message, tighter=now.never, looser=before.never)
            return
        changes = self.nodes(before, now, f"'{name}'")
        message = f"'{name}' is a key of its own now" if came else f"'{name}' is a key like any other now"
        yield Change(place, message, any(c.tighter for c in changes), any(c.looser for c in changes))

    def _by_name(self, word: str, old: Node, new: Node, label: str) -> Iterator[Change]:
        before, now = old.words.get(word, {}), new.words.get(word, {})
        for name in dict.fromkeys([*now, *before]):
            if name in before and name in now:
                yield from self.nodes(old.child(word, name), new.child(word, name), f"'{name}' of {label}")
            else:
                yield unjudged((new if name in now else old).place(word), f"'{word}' of {label} has another '{name}'")

    def _arrays(self, old: Node, new: Node, label: str) -> Iterator[Change]:
        before, now = len(old.words.get("prefixItems", ())), len(new.words.get("prefixItems", ()))
        for index in range(max(before, now)):
            yield from self.nodes(_item(old, index), _item(new, index), f"item {index} of {label}")
        yield from self.nodes(old.child("items"), new.child("items"), f"an item of {label}")
        yield from self._unsure(("contains", "minContains", "maxContains"), old, new, label)

    # --- schemas made of schemas ---

    def _combined(self, old: Node, new: Node, label: str) -> Iterator[Change]:
        for word in ("anyOf", "oneOf"):
            yield from self._choice(word, old, new, label)
        yield from self._all(old, new, label)
        yield from self._not(old, new, label)
        yield from self._unsure(("if", "then", "else"), old, new, label)

    def _choice(self, word: str, old: Node, new: Node, label: str) -> Iterator[Change]:
        before, now = old.children(word), new.children(word)
        if before and now:
            changes = list(self._branches(before, now, label))
            overlap = word == "oneOf" and not (apart(before) and apart(now))
            yield from (change.unsure() for change in changes) if overlap else changes
        elif now:
            yield Change(new.place(word), f"{label} must be one of {len(now)} alternatives now", tighter=True)
        elif before:
            yield Change(old.place(word), f"{label} need not be one of {len(before)} alternatives now", looser=True)

    def _branches(self, old: list[Node], new: list[Node], label: str) -> Iterator[Change]:
        """Alternatives, whichever order they are in."""
        pairs, gone, added = matched(old, new, lambda a, b: breaking(self.nodes(a, b, label)))
        for before, now in pairs:
            yield from self.nodes(before, now, label)
        for node in gone:
            yield Change(node.at, f"{label} may no longer be {spoken(node)}", tighter=True)
        for node in added:
            yield Change(node.at, f"{label} may also be {spoken(node)} now", looser=True)

    def _all(self, old: Node, new: Node, label: str) -> Iterator[Change]:
        pairs, gone, added = matched(
            old.children("allOf"), new.children("allOf"), lambda a, b: breaking(self.nodes(a, b, label))
        )
        for before, now in pairs:
            yield from self.nodes(before, now, label)
        for node in gone:
            yield Change(node.at, f"{label} need no longer keep one of several schemas", looser=True)
        for node in added:
            yield Change(node.at, f"{label} must keep one more schema now", tighter=True)

    def _not(self, old: Node, new: Node, label: str) -> Iterator[Change]:
        if "not" in old.words and "not" in new.words:
            self.negated = not self.negated
            yield from [
                change.turned() for change in self.nodes(old.child("not"), new.child("not"), f"what {label} may not be")
            ]
            self.negated = not self.negated
        elif "not" in new.words:
            yield Change(new.place("not"), f"{label} may not be {spoken(new.child('not'))} now", tighter=True)
        elif "not" in old.words:
            yield Change(old.place("not"), f"{label} may also be {spoken(old.child('not'))} now", looser=True)

    def _unsure(self, group: tuple[str, ...], old: Node, new: Node, label: str) -> Iterator[Change]:
        """Keywords that depend on each other: any change among them may work either way."""
        for word in group:
            before, now = old.words.get(word), new.words.get(word)
            if isinstance(before, dict | bool) and isinstance(now, dict | bool):
                yield from (c.unsure() for c in self.nodes(old.child(word), new.child(word), f"'{word}' of {label}"))
            elif before != now:
                yield unjudged((old if now is None else new).place(word), f"'{word}' of {label} changed")


def _property(node: Node, name: str) -> Node:
    """The schema of a key. A pattern that fits the name stands in for the other keys."""
    if name in node.words.get("properties", {}):
        return node.child("properties", name)
    if any(_fits(pattern, name) for pattern in node.words.get("patternProperties", {})):
        return read(node.root, True, f"{node.at}/patternProperties")
    return node.child("additionalProperties")


def _fits(pattern: str, name: str) -> bool:
    try:
        return fits(pattern, name)
    except (NoPattern, TooSlow):
        return False


def _item(node: Node, index: int) -> Node:
    inside = index < len(node.words.get("prefixItems", ()))
    return node.child("prefixItems", index) if inside else node.child("items")
