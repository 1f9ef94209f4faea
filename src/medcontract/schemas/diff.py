"""Compares two schemas of the kind that `schema export` writes, keyword by keyword, in parallel.

A schema defines the set of values that it accepts. A change that removes values breaks *writers*: what they write
for the old schema may be rejected. A change that adds values breaks *readers*: they may get values that the old
schema did not allow. A change that cannot be judged is reported as breaking both: a breaking change is never reported
as harmless, but a harmless one may be reported as breaking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import combinations, zip_longest
from math import inf
from typing import Literal, NamedTuple

from medcontract.contracts.string_patterns import BLANK, NON_BLANK
from medcontract.errors import CallError
from medcontract.results.schemas import SchemaChange
from medcontract.schemas.diff_nodes import JUDGED, Node, is_annotation, key, listed, read
from medcontract.schemas.json_schema import RULES_KEYWORD
from medcontract.types import AnySchema, JsonObject

_MOST = 50
"""The maximum number of alternatives that are compared pairwise."""
Breaks = Literal["none", "readers", "writers", "both"]
Alternatives = dict[str, list[Node]]
"""The alternatives for values of each type."""
_ARTICLES = {"array": "a list", "integer": "an integer", "null": "null", "object": "an object", "boolean": "a boolean"}


class Difference(NamedTuple):
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


def unjudged(pointer: str, what: str) -> Difference:
    return Difference(pointer, f"{what}: cannot be judged", tighter=True, looser=True)


def compare_files(old: Mapping[str, AnySchema], new: Mapping[str, AnySchema]) -> list[SchemaChange]:
    """Return what changed from one set of schemas to another, by name. Raises `CallError` for those nested too deeply.

    A new schema breaks no one, because no files exist for it yet. Removing a schema breaks its writers.
    """
    found: list[SchemaChange] = []
    for path in sorted(old.keys() | new.keys()):
        if path not in old:
            changes = [Difference("", "schema added")]
        elif path not in new:
            changes = [Difference("", "schema removed", tighter=True)]
        else:
            try:
                changes = compare(old[path], new[path])
            except RecursionError:
                raise CallError(f"{path}: nested too deeply to be compared") from None
        found += [SchemaChange(path=path, pointer=c.pointer, message=c.message, breaks=c.breaks) for c in changes]
    return found


def compare(old: AnySchema, new: AnySchema) -> list[Difference]:
    """Return the changes from one JSON Schema to another, in the order of the schema."""
    changes = _Comparison().nodes(read(old, old), read(new, new), "the top level")
    return list(dict.fromkeys([*changes, *_compare_rules(old, new)]))


class _Comparison:
    """Compares each pair of schemas once: definitions are used often, and may be recursive."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, str, frozenset[str]]] = set()

    def nodes(self, old: Node, new: Node, label: str) -> Iterator[Difference]:
        """Compare the accepted types, and the alternatives for each type."""
        yield from _remarks(old, new, label)
        before, now = _alternatives(old), _alternatives(new)
        yield from _types(before, now, label)
        pairs: dict[tuple[Node, Node], set[str]] = {}
        for kind in sorted(before.keys() & now.keys()):
            for one, other in _paired(before[kind], now[kind]):
                if one and other:
                    pairs.setdefault((one, other), set()).add(kind)
                elif one:
                    yield Difference(one.at, f"an alternative of {label} was removed", tighter=True)
                elif other:
                    yield Difference(other.at, f"an alternative of {label} was added", looser=True)
        for (one, other), kinds in pairs.items():
            yield from self._pair(one, other, frozenset(kinds), label)

    def _pair(self, old: Node, new: Node, kinds: frozenset[str], label: str) -> Iterator[Difference]:
        """Compare two schemas for values of these types."""
        yield from _remarks(old, new, label)
        pair = (old.identity, new.identity, kinds)
        if pair in self.seen:
            return
        self.seen.add(pair)
        old, new = _without_same_spelling(old, new)
        words = [word for word in dict.fromkeys([*old.words, *new.words]) if word in old.assertions | new.assertions]
        yield from _values(old, new, label)
        yield from _limits(old, new, kinds, label)
        yield from _demand("not", old, new, label)
        if "string" in kinds:
            yield from _demand("pattern", old, new, label)
        if "object" in kinds:
            yield from _required(old, new)
            yield from self._properties(old, new, label)
        if "array" in kinds:
            yield from self.nodes(old.child("items"), new.child("items"), f"an item of {label}")
        judged = JUDGED
        if "if" in old.words and "if" in new.words and key(old.words["if"]) == key(new.words["if"]):
            judged = JUDGED | {"if", "then", "else"}
            for word in ("then", "else"):
                yield from self.nodes(old.child(word), new.child(word), label)
        yield from _unknown([word for word in words if word not in judged], old, new, label)

    def _properties(self, old: Node, new: Node, label: str) -> Iterator[Difference]:
        before, now = (node.words.get("properties", {}) for node in (old, new))
        for name in dict.fromkeys([*now, *before]):
            one, other = old.property(name), new.property(name)
            if (name in now) != (name in before) and not (one.never or other.never):
                what = "no longer" if name in before else "now"
                yield Difference((one if name in before else other).at, f"'{name}' is {what} listed in 'properties'")
            yield from self.nodes(one, other, f"'{name}'")
        one, other = (node.child("additionalProperties") for node in (old, new))
        yield from self.nodes(one, other, f"any other key of {label}")


def _types(before: Alternatives, now: Alternatives, label: str) -> Iterator[Difference]:
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
    yield Difference(place, message, tighter=bool(gone), looser=bool(added))


def _named(kinds: AbstractSet[str]) -> str:
    words = kinds - _NUMBER | ({"number"} if kinds >= _NUMBER else kinds & _NUMBER)
    return " or ".join(_ARTICLES.get(word, f"a {word}") for word in sorted(words, key=lambda w: (w == "null", w)))


def _alternatives(node: Node) -> Alternatives:
    """Return the alternatives for values of each type: the branches of a union, or the schema itself."""
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
    """Return whether no value can match both schemas: their types differ, or the types of a required key do."""
    names = {*a.words.get("required", ()), *b.words.get("required", ())}
    return not a.types & b.types or (
        a.types == b.types == {"object"}
        and any(not _accepted(a.property(name)) & _accepted(b.property(name)) for name in names)
    )


def _accepted(node: Node) -> frozenset[str]:
    """Return the types that a schema accepts at most."""
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


# --- keywords that apply to a value itself

_NUMBER = frozenset({"integer", "fraction"})


def _values(old: Node, new: Node, label: str) -> Iterator[Difference]:
    """`enum`, and `const`, which is an enumeration with one value."""
    before, now = _listed_values(old), _listed_values(new)
    node = old if now is None else new
    place = node.place("const" if "const" in node.words else "enum")
    if before is None and now is not None:
        yield Difference(place, f"{label} must now be one of {listed(now.values())}", tighter=True)
    elif before is not None and now is None:
        yield Difference(place, f"{label} no longer has to be one of {listed(before.values())}", looser=True)
    elif before is not None and now is not None:
        gone, added = (listed(a[k] for k in a if k not in b) for a, b in ((before, now), (now, before)))
        if gone:
            yield Difference(place, f"{label} no longer accepts {gone}", tighter=True)
        if added:
            yield Difference(place, f"{label} now also accepts {added}", looser=True)


def _listed_values(node: Node) -> JsonObject | None:
    """Return the values that it lists, by their comparison key; None if it does not list values."""
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


def _limits(old: Node, new: Node, kinds: frozenset[str], label: str) -> Iterator[Difference]:
    """Lower and upper limits of a number, or of the number of characters, items or keys."""
    for kind, sign, words, none, demand in _LIMITS:
        before, now = (  # the limit (negative for upper ones), whether it is excluded, its keyword: larger is tighter
            max(((sign * node.words[w], w != words[0], w) for w in words if w in node.words), default=(none, False, ""))
            for node in (old, new)
        )
        if before[:2] == now[:2] or not kinds & (_NUMBER if kind == "number" else {kind}):
            continue
        was, must = (demand.format(f"{_SIDES[sign, strict]} {sign * limit}") for limit, strict, _ in (before, now))
        message = f"{label} must now {must}" + (f"; before, it had to {was}" if before[2] else "")
        message = message if now[2] else f"{label} no longer has to {was}"
        place, tighter = (new.place(now[2]) if now[2] else old.place(before[2])), now[:2] > before[:2]
        yield Difference(place, message, tighter=tighter, looser=not tighter)


def _required(old: Node, new: Node) -> Iterator[Difference]:
    before, now = (dict.fromkeys(node.words.get("required", ())) for node in (old, new))
    yield from (
        Difference(new.place("required"), f"'{n}' is now required", tighter=True) for n in now if n not in before
    )
    yield from (
        Difference(old.place("required"), f"'{n}' is no longer required", looser=True) for n in before if n not in now
    )


def _demand(word: str, old: Node, new: Node, label: str) -> Iterator[Difference]:
    """Compare a keyword that can only restrict values, and that can only be compared for equality."""
    if word in new.words and word not in old.words:
        yield Difference(new.place(word), f"{label} must now satisfy '{word}'", tighter=True)
    elif word in old.words and word not in new.words:
        yield Difference(old.place(word), f"{label} no longer has to satisfy '{word}'", looser=True)
    else:
        yield from _unknown([word], old, new, label)


_ONLY_BLANKS = ({"pattern": BLANK}, {"not": {"type": "string", "pattern": NON_BLANK}})


def _without_same_spelling(old: Node, new: Node) -> tuple[Node, Node]:
    """Published schemas used to express "only blanks" by a pattern: the equivalent `not` is not a change."""
    said = [{word: node.words[word] for word in ("pattern", "not") if word in node.words} for node in (old, new)]
    if said[0] != said[1] and all(words in _ONLY_BLANKS for words in said):
        return _without(old, "pattern", "not"), _without(new, "pattern", "not")
    return old, new


def _without(node: Node, *words: str) -> Node:
    return replace(node, words={word: value for word, value in node.words.items() if word not in words})


def _remarks(old: Node, new: Node, label: str) -> Iterator[Difference]:
    """Annotations, which do not affect validation."""
    for word in dict.fromkeys([*old.words, *new.words]):
        if is_annotation(word) and word != "x-medcontract-rules" and _text(old, word) != _text(new, word):
            yield Difference(*_what(word, old, new, label))


def _unknown(words: list[str], old: Node, new: Node, label: str) -> Iterator[Difference]:
    """Other keywords, which can only be compared for equality."""
    yield from (unjudged(*_what(word, old, new, label)) for word in words if not _same(word, old, new))


def _what(word: str, old: Node, new: Node, label: str) -> tuple[str, str]:
    how = "was removed" if word not in new.words else "changed" if word in old.words else "was added"
    return (new if word in new.words else old).place(word), f"{word} of {label} {how}"


def _text(node: Node, word: str) -> str:
    return key(node.words[word]) if word in node.words else ""


def _same(word: str, old: Node, new: Node) -> bool:
    """Check whether a keyword has the same text, and the definitions that it may refer to, too."""
    before, now = _text(old, word), _text(new, word)
    return before == now and ("$ref" not in before or _decisive(old.root) == _decisive(new.root))


def _decisive(root: AnySchema) -> str:
    return key(root if isinstance(root, bool) else {word: v for word, v in root.items() if not is_annotation(word)})


# --- rules

_PROSE = ("code", "message", "hint")
_BOUNDS = {"sum": {"minimum": (1, -inf), "maximum": (-1, inf)}, "limit": {"minimum": (-1, -inf), "below": (1, inf)}}
"""For each bound of a kind: 1 if a larger one is stricter, -1 if it is less strict; and the default."""

Placed = tuple[str, JsonObject]
"""A rule and its pointer."""


def _compare_rules(old: AnySchema, new: AnySchema) -> Iterator[Difference]:
    """Return the changes between the rules of two schemas."""
    stated = [schema.get(RULES_KEYWORD, []) if isinstance(schema, dict) else [] for schema in (old, new)]
    if not all(isinstance(rules, list) and all(isinstance(rule, dict) for rule in rules) for rules in stated):
        if key(stated[0]) != key(stated[1]):
            yield unjudged(f"/{RULES_KEYWORD}", "the rules are not a list of objects")
        return
    before, now = (_by_subject(rules) for rules in stated)
    for subject in dict.fromkeys([*now, *before]):
        yield from _same_subject(before.get(subject, []), now.get(subject, []))


def _by_subject(rules: list[JsonObject]) -> dict[str, list[Placed]]:
    """Return the rules by subject: everything except texts, severity and bounds."""
    found: dict[str, list[Placed]] = {}
    for index, rule in enumerate(rules):
        subject = key({name: v for name, v in rule.items() if name not in {*_PROSE, "severity", *_bounds(rule)}})
        found.setdefault(subject, []).append((f"/{RULES_KEYWORD}/{index}", rule))
    return found


def _bounds(rule: JsonObject) -> dict[str, tuple[int, float]]:
    known = _BOUNDS.get(str(rule.get("kind")), {})
    return {name: bound for name, bound in known.items() if type(rule.get(name, 0)) in (int, float)}


def _same_subject(before: list[Placed], now: list[Placed]) -> Iterator[Difference]:
    """Rules that differ only in severity or bounds, such as two limits of one field: equal ones are paired first."""
    same = {key(rule) for _, rule in before} & {key(rule) for _, rule in now}
    old, new = (sorted(rules, key=lambda r: (key(r[1]) not in same, key(r[1]))) for rules in (before, now))
    for (_, rule), (place, changed) in zip(old, new, strict=False):
        yield from _changed(rule, changed, place)
    for place, rule in old[len(new) :]:
        yield Difference(place, f"rule removed: {_described(rule)}", looser=_is_error(rule))
    for place, rule in new[len(old) :]:
        yield Difference(place, f"rule added: {_described(rule)}", tighter=_is_error(rule))


def _is_error(rule: JsonObject) -> bool:
    return bool(rule.get("severity", "error") != "warning")


def _changed(old: JsonObject, new: JsonObject, place: str) -> Iterator[Difference]:
    was, now = _is_error(old), _is_error(new)
    if was != now:
        message = f"now {'an error' if now else 'only a warning'}: {_described(new)}"
        yield Difference(f"{place}/severity", message, tighter=now, looser=was)
    for name, (more, absent) in _bounds(new).items():
        before, after = old.get(name, absent), new.get(name, absent)
        tighter = (after > before) == (more > 0)
        if before != after:
            message = f"'{name}' of a rule changed from {before} to {after}: {_described(new)}"
            error = was or now
            yield Difference(f"{place}/{name}", message, tighter=error and tighter, looser=error and not tighter)
    for name in _PROSE:
        if old.get(name) != new.get(name):
            yield Difference(f"{place}/{name}", f"'{name}' of a rule changed: {_described(new)}")


def _described(rule: JsonObject) -> str:
    names = [rule[word] for word in ("field", "fields", "key", "requires") if word in rule]
    about = listed(name for word in names for name in (word if isinstance(word, list) else [word]))
    return f"{rule.get('kind', 'a rule')}{' of ' + about if about else ''} ({rule.get('message', 'no message')})"
