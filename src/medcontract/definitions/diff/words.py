"""Keywords that say something of a value itself, each compared by a small function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from medcontract.definitions.diff.change import Change, listed, unjudged
from medcontract.definitions.diff.node import RULES, Node, is_annotation, key
from medcontract.definitions.forms import BLANK, NON_BLANK

NUMBER = frozenset({"integer", "fraction"})
STRING = frozenset({"string"})
ARRAY = frozenset({"array"})
OBJECT = frozenset({"object"})

_ARTICLES = {"array": "a list", "integer": "an integer", "null": "null", "object": "an object", "boolean": "a boolean"}


def spoken(types: frozenset[str]) -> str:
    """Types in words."""
    words = types - NUMBER | ({"number"} if types >= NUMBER else types & NUMBER)
    return " or ".join(_ARTICLES.get(word, f"a {word}") for word in sorted(words, key=lambda w: (w == "null", w)))


def types(old: Node, new: Node, label: str) -> Iterator[Change]:
    gone, added = old.types - new.types, new.types - old.types
    place = new.place("type") if "type" in new.words else old.place("type")
    if gone and added:
        message = f"{label} must be {spoken(new.types)} now; it was {spoken(old.types)}"
    elif gone:
        message = f"{label} may no longer be {spoken(gone)}"
    else:
        message = f"{label} may also be {spoken(added)} now"
    if gone or added:
        yield Change(place, message, tighter=bool(gone), looser=bool(added))


def _values(node: Node) -> dict[str, Any] | None:
    """The only values that it accepts; None when it does not list them."""
    lists = [values for word, values in node.words.items() if word == "enum"]
    lists += [[node.words["const"]]] if "const" in node.words else []
    found: dict[str, Any] | None = None
    for values in lists:
        keys = {key(value): value for value in values}
        found = keys if found is None else {k: v for k, v in found.items() if k in keys}
    return found


def values(old: Node, new: Node, label: str) -> Iterator[Change]:
    """`enum`, and `const`, which is an enumeration of one."""
    before, now = _values(old), _values(new)
    node = old if now is None else new
    place = node.place("const" if "const" in node.words else "enum")
    if before is None and now is not None:
        yield Change(place, f"{label} must be one of these now: {listed(now.values())}", tighter=True)
    elif before is not None and now is None:
        yield Change(place, f"{label} need no longer be one of these: {listed(before.values())}", looser=True)
    elif before is not None and now is not None:
        gone = [value for k, value in before.items() if k not in now]
        added = [value for k, value in now.items() if k not in before]
        if gone:
            yield Change(place, f"{label} no longer accepts {_counted(gone)}: {listed(gone)}", tighter=True)
        if added:
            yield Change(place, f"{label} accepts {_counted(added, 'more ')}: {listed(added)}", looser=True)


def _counted(found: list[Any], more: str = "") -> str:
    return f"one {more}value" if len(found) == 1 else f"{len(found)} {more}values"


Bound = tuple[float, bool, str]
"""Larger is tighter: the limit (negative for upper ones), whether it is excluded, the keyword."""


def _bound(node: Node, sign: int) -> Bound | None:
    plain, exclusive = ("minimum", "exclusiveMinimum") if sign > 0 else ("maximum", "exclusiveMaximum")
    words = [(word, strict) for word, strict in ((plain, False), (exclusive, True)) if word in node.words]
    return max(((sign * node.words[word], strict, word) for word, strict in words), default=None)


def bounds(old: Node, new: Node, label: str) -> Iterator[Change]:
    """The lower and the upper bound of a number, each inclusive or not."""
    for sign in (1, -1):
        before, now = _bound(old, sign), _bound(new, sign)
        if (before and before[:2]) == (now and now[:2]):
            continue
        node, (_, _, word) = (new, now) if now else (old, before or (0, False, ""))
        tighter = before is None or (now is not None and now[:2] > before[:2])
        message = f"{label} must be {_limit(now, sign)} now; it had to be {_limit(before, sign)}"
        yield Change(node.place(word), message, tighter=tighter, looser=not tighter)


def _limit(bound: Bound | None, sign: int) -> str:
    if bound is None:
        return "of any size"
    sides = {(1, False): "at least", (1, True): "greater than", (-1, False): "at most", (-1, True): "less than"}
    return f"{sides[sign, bound[1]]} {sign * bound[0]}"


_SIZES = {
    "minLength": (STRING, "at least", "character"), "maxLength": (STRING, "at most", "character"),
    "minItems": (ARRAY, "at least", "item"), "maxItems": (ARRAY, "at most", "item"),
    "minProperties": (OBJECT, "at least", "key"), "maxProperties": (OBJECT, "at most", "key"),
}  # fmt: skip


def sizes(old: Node, new: Node, label: str) -> Iterator[Change]:
    """The fewest and the most characters, items or keys."""
    for word, (kind, side, noun) in _SIZES.items():
        none = 0 if side == "at least" else float("inf")
        before, now = old.words.get(word, none), new.words.get(word, none)
        if before == now or not kind & old.types & new.types:
            continue
        tighter = (now > before) == (side == "at least")
        node, size = (new, now) if word in new.words else (old, before)
        if node is old:
            message = f"{label} need no longer have {side} {size} {noun}{'s' * (size != 1)}"
        else:
            limit = f"; it was {before}" if word in old.words else ""
            message = f"{label} must have {side} {size} {noun}{'s' * (size != 1)} now{limit}"
        yield Change(node.place(word), message, tighter=tighter, looser=not tighter)


def pattern(old: Node, new: Node, label: str) -> Iterator[Change]:
    yield from _on_or_off("pattern", "match a pattern", old, new, label)


_ONLY_BLANKS = ({"pattern": BLANK}, {"not": {"type": "string", "pattern": NON_BLANK}})


def without_same_spelling(old: Node, new: Node) -> tuple[Node, Node]:
    """Our schemas used to say "only blanks" with a pattern: the same said with `not` is no change."""
    said = [{word: node.words[word] for word in ("pattern", "not") if word in node.words} for node in (old, new)]
    if said[0] != said[1] and all(words in _ONLY_BLANKS for words in said):
        return _without(old, "pattern", "not"), _without(new, "pattern", "not")
    return old, new


def _without(node: Node, *words: str) -> Node:
    return replace(node, words={word: value for word, value in node.words.items() if word not in words})


def unique_items(old: Node, new: Node, label: str) -> Iterator[Change]:
    yield from _on_or_off("uniqueItems", "have no item twice", old, new, label)


def multiple_of(old: Node, new: Node, label: str) -> Iterator[Change]:
    yield from _on_or_off("multipleOf", "be a multiple of a number", old, new, label)


def _on_or_off(word: str, demand: str, old: Node, new: Node, label: str) -> Iterator[Change]:
    """A keyword whose values cannot be told to be tighter or looser than one another."""
    before, now = old.words.get(word) or None, new.words.get(word) or None
    if before is None and now is not None:
        yield Change(new.place(word), f"{label} must {demand} now", tighter=True)
    elif before is not None and now is None:
        yield Change(old.place(word), f"{label} need no longer {demand}", looser=True)
    elif before != now:
        yield unjudged(new.place(word), f"{label} must {demand} that changed")


def required(old: Node, new: Node, label: str) -> Iterator[Change]:
    before, now = (dict.fromkeys(node.words.get("required", ())) for node in (old, new))
    for name in now:
        if name not in before:
            yield Change(new.place("required"), f"'{name}' is required now", tighter=True)
    for name in before:
        if name not in now:
            yield Change(old.place("required"), f"'{name}' may be absent now", looser=True)


def remarks(old: Node, new: Node, label: str) -> Iterator[Change]:
    """What is for people and decides nothing."""
    for word in dict.fromkeys([*old.words, *new.words]):
        if not is_annotation(word) or word == RULES:
            continue
        if word not in new.words:
            yield Change(old.place(word), f"{word} of {label} is gone")
        elif word not in old.words:
            yield Change(new.place(word), f"{word} of {label} is new")
        elif key(old.words[word]) != key(new.words[word]):
            yield Change(new.place(word), f"{word} of {label} changed")


Compare = Callable[[Node, Node, str], Iterator[Change]]

OF_TYPES: tuple[tuple[frozenset[str], Compare], ...] = (
    (NUMBER, bounds), (NUMBER, multiple_of), (STRING | ARRAY | OBJECT, sizes), (STRING, pattern),
    (ARRAY, unique_items), (OBJECT, required),
)  # fmt: skip
"""Compared when both schemas accept a value of such a type: to others, these keywords do not apply."""
KNOWN = frozenset({
    "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", *_SIZES,
    "pattern", "uniqueItems", "required",
})  # fmt: skip


def others(old: Node, new: Node, label: str, known: frozenset[str]) -> Iterator[Change]:
    """Keywords that nothing here knows, and references to other files."""
    decisive = old.assertions | new.assertions
    for word in dict.fromkeys([*old.words, *new.words]):
        if word in known or word not in decisive:
            continue
        if word not in new.words:
            yield unjudged(old.place(word), f"'{word}' of {label} is gone")
        elif word not in old.words:
            yield unjudged(new.place(word), f"'{word}' of {label} is new")
        elif key(old.words[word]) != key(new.words[word]):
            yield unjudged(new.place(word), f"'{word}' of {label} changed")
