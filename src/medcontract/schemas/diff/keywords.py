"""Compares keywords that apply to a value itself, each with a small function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf
from typing import Any

from medcontract.contracts.string_patterns import BLANK, NON_BLANK
from medcontract.schemas.diff.change import Change, listed, unjudged
from medcontract.schemas.diff.node import Node, is_annotation, is_own, key

NUMBER = frozenset({"integer", "fraction"})


def values(old: Node, new: Node, label: str) -> Iterator[Change]:
    """`enum`, and `const`, which is an enumeration with one value."""
    before, now = _values(old), _values(new)
    node = old if now is None else new
    place = node.place("const" if "const" in node.words else "enum")
    if before is None and now is not None:
        yield Change(place, f"{label} must now be one of {listed(now.values())}", tighter=True)
    elif before is not None and now is None:
        yield Change(place, f"{label} no longer has to be one of {listed(before.values())}", looser=True)
    elif before is not None and now is not None:
        gone, added = (listed(a[k] for k in a if k not in b) for a, b in ((before, now), (now, before)))
        if gone:
            yield Change(place, f"{label} no longer accepts {gone}", tighter=True)
        if added:
            yield Change(place, f"{label} now also accepts {added}", looser=True)


def _values(node: Node) -> dict[str, Any] | None:
    """The values that it lists, by their comparison key; None if it does not list values."""
    found = {key(value): value for value in node.words["enum"]} if "enum" in node.words else None
    if "const" not in node.words:
        return found
    only = key(node.words["const"])
    return {only: node.words["const"]} if found is None or only in found else {}


_LIMITS = (
    ("number", 1, ("minimum", "exclusiveMinimum"), -inf, "be {}"),
    ("number", -1, ("maximum", "exclusiveMaximum"), -inf, "be {}"),
    ("string", 1, ("minLength",), 0, "have {} characters"), ("string", -1, ("maxLength",), -inf, "have {} characters"),
    ("array", 1, ("minItems",), 0, "have {} items"), ("array", -1, ("maxItems",), -inf, "have {} items"),
    ("object", 1, ("minProperties",), 0, "have {} keys"), ("object", -1, ("maxProperties",), -inf, "have {} keys"),
)  # fmt: skip
"""Type, 1 for a lower and -1 for an upper limit, keywords (the second is exclusive), the default, message."""
_SIDES = {(1, False): "at least", (1, True): "more than", (-1, False): "at most", (-1, True): "less than"}


def limits(old: Node, new: Node, kinds: frozenset[str], label: str) -> Iterator[Change]:
    """Lower and upper limits of a number, or of the number of characters, items or keys."""
    for kind, sign, words, none, demand in _LIMITS:
        before, now = (  # the limit (negative for upper ones), whether it is excluded, its keyword: larger is tighter
            max(((sign * node.words[w], w != words[0], w) for w in words if w in node.words), default=(none, False, ""))
            for node in (old, new)
        )
        if before[:2] == now[:2] or not kinds & (NUMBER if kind == "number" else {kind}):
            continue
        was, must = (demand.format(f"{_SIDES[sign, strict]} {sign * limit}") for limit, strict, _ in (before, now))
        message = f"{label} must now {must}" + (f"; before, it had to {was}" if before[2] else "")
        message = message if now[2] else f"{label} no longer has to {was}"
        place, tighter = (new.place(now[2]) if now[2] else old.place(before[2])), now[:2] > before[:2]
        yield Change(place, message, tighter=tighter, looser=not tighter)


def required(old: Node, new: Node) -> Iterator[Change]:
    before, now = (dict.fromkeys(node.words.get("required", ())) for node in (old, new))
    yield from (Change(new.place("required"), f"'{n}' is now required", tighter=True) for n in now if n not in before)
    yield from (
        Change(old.place("required"), f"'{n}' is no longer required", looser=True) for n in before if n not in now
    )


def demand(word: str, old: Node, new: Node, label: str) -> Iterator[Change]:
    """A keyword that can only restrict values, and that can only be compared for equality."""
    if word in new.words and word not in old.words:
        yield Change(new.place(word), f"{label} must now satisfy '{word}'", tighter=True)
    elif word in old.words and word not in new.words:
        yield Change(old.place(word), f"{label} no longer has to satisfy '{word}'", looser=True)
    else:
        yield from unknown([word], old, new, label)


_ONLY_BLANKS = ({"pattern": BLANK}, {"not": {"type": "string", "pattern": NON_BLANK}})


def without_same_spelling(old: Node, new: Node) -> tuple[Node, Node]:
    """Published schemas used to express "only blanks" by a pattern: the equivalent `not` is not a change."""
    said = [{word: node.words[word] for word in ("pattern", "not") if word in node.words} for node in (old, new)]
    if said[0] != said[1] and all(words in _ONLY_BLANKS for words in said):
        return _without(old, "pattern", "not"), _without(new, "pattern", "not")
    return old, new


def _without(node: Node, *words: str) -> Node:
    return replace(node, words={word: value for word, value in node.words.items() if word not in words})


def remarks(old: Node, new: Node, label: str) -> Iterator[Change]:
    """Annotations, which do not affect validation."""
    for word in dict.fromkeys([*old.words, *new.words]):
        if is_annotation(word) and word != "x-medcontract-rules" and _text(old, word) != _text(new, word):
            yield Change(*_what(word, old, new, label))


def unknown(words: list[str], old: Node, new: Node, label: str) -> Iterator[Change]:
    """Other keywords, which can only be compared for equality."""
    yield from (unjudged(*_what(word, old, new, label)) for word in words if not _same(word, old, new))


def _what(word: str, old: Node, new: Node, label: str) -> tuple[str, str]:
    how = "was removed" if word not in new.words else "changed" if word in old.words else "was added"
    return (new if word in new.words else old).place(word), f"{word} of {label} {how}"


def _text(node: Node, word: str) -> str:
    return key(node.words[word]) if word in node.words else ""


def _same(word: str, old: Node, new: Node) -> bool:
    """Whether a keyword has the same text, the same meaning in both drafts, and equal reference targets."""
    if word not in old.words or _text(old, word) != _text(new, word):
        return word not in old.words and word not in new.words
    value = old.words[word]
    plain = word == "pattern" or (isinstance(value, dict) and word == "not" and value.keys() <= {"type", "pattern"})
    refers = any(_refers(node.root.schema, {word: value}) for node in (old, new))
    return (plain or old.root.dialect == new.root.dialect) and (not refers or old.root.decisive == new.root.decisive)


def _refers(root: Any, value: Any) -> bool:
    """Whether a value contains a reference to a part of the schema."""
    if isinstance(value, dict) and isinstance(value.get("$ref"), str) and is_own(root, value["$ref"]):
        return True
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_refers(root, inner) for inner in inside)
