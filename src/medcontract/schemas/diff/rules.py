"""Compares the rules under `x-medcontract-rules`.

A file is valid if its schema accepts it and no rule of severity `error` is violated. So a rule can only restrict:
a new one breaks writers, a removed one breaks readers, and a warning breaks no one.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

from medcontract.schemas.diff.nodes import Change, key, listed, unjudged
from medcontract.schemas.json_schema import RULES_KEYWORD

_PROSE = ("code", "message", "hint")
_BOUNDS = {"sum": {"minimum": (1, -inf), "maximum": (-1, inf)}, "limit": {"minimum": (-1, -inf), "below": (1, inf)}}
"""For each bound of a kind: 1 if a larger one is stricter, -1 if it is less strict; and the default."""

Rule = dict[str, Any]
Placed = tuple[str, Rule]
"""A rule and its pointer."""


def compare_rules(old: Any, new: Any) -> Iterator[Change]:
    """The changes between the rules of two schemas."""
    stated = [schema.get(RULES_KEYWORD, []) if isinstance(schema, dict) else [] for schema in (old, new)]
    if not all(isinstance(rules, list) and all(isinstance(rule, dict) for rule in rules) for rules in stated):
        if key(stated[0]) != key(stated[1]):
            yield unjudged(f"/{RULES_KEYWORD}", "the rules are not a list of objects")
        return
    before, now = (_by_subject(rules) for rules in stated)
    for subject in dict.fromkeys([*now, *before]):
        yield from _same_subject(before.get(subject, []), now.get(subject, []))


def _by_subject(rules: list[Rule]) -> dict[str, list[Placed]]:
    """The rules by subject: everything except texts, severity and bounds."""
    found: dict[str, list[Placed]] = {}
    for index, rule in enumerate(rules):
        subject = key({name: v for name, v in rule.items() if name not in {*_PROSE, "severity", *_bounds(rule)}})
        found.setdefault(subject, []).append((f"/{RULES_KEYWORD}/{index}", rule))
    return found


def _bounds(rule: Rule) -> dict[str, tuple[int, float]]:
    known = _BOUNDS.get(str(rule.get("kind")), {})
    return {name: bound for name, bound in known.items() if type(rule.get(name, 0)) in (int, float)}


def _same_subject(before: list[Placed], now: list[Placed]) -> Iterator[Change]:
    """Rules that differ only in severity or bounds, such as two limits of one field: equal ones are paired first."""
    same = {key(rule) for _, rule in before} & {key(rule) for _, rule in now}
    old, new = (sorted(rules, key=lambda r: (key(r[1]) not in same, key(r[1]))) for rules in (before, now))
    for (_, rule), (place, changed) in zip(old, new, strict=False):
        yield from _changed(rule, changed, place)
    for place, rule in old[len(new) :]:
        yield Change(place, f"rule removed: {_described(rule)}", looser=_is_error(rule))
    for place, rule in new[len(old) :]:
        yield Change(place, f"rule added: {_described(rule)}", tighter=_is_error(rule))


def _is_error(rule: Rule) -> bool:
    return bool(rule.get("severity", "error") != "warning")


def _changed(old: Rule, new: Rule, place: str) -> Iterator[Change]:
    was, now = _is_error(old), _is_error(new)
    if was != now:
        message = f"now {'an error' if now else 'only a warning'}: {_described(new)}"
        yield Change(f"{place}/severity", message, tighter=now, looser=was)
    for name, (more, absent) in _bounds(new).items():
        before, after = old.get(name, absent), new.get(name, absent)
        tighter = (after > before) == (more > 0)
        if before != after:
            message = f"'{name}' of a rule changed from {before} to {after}: {_described(new)}"
            error = was or now
            yield Change(f"{place}/{name}", message, tighter=error and tighter, looser=error and not tighter)
    for name in _PROSE:
        if old.get(name) != new.get(name):
            yield Change(f"{place}/{name}", f"'{name}' of a rule changed: {_described(new)}")


def _described(rule: Rule) -> str:
    names = [rule[word] for word in ("field", "fields", "key", "requires") if word in rule]
    about = listed(name for word in names for name in (word if isinstance(word, list) else [word]))
    return f"{rule.get('kind', 'a rule')}{' of ' + about if about else ''} ({rule.get('message', 'no message')})"
