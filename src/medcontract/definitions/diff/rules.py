"""Changes of the rules under `x-medcontract-rules`.

A file is valid when its schema accepts it and no rule of severity `error` finds anything. So a rule only ever refuses:
a new one breaks writers, one that is gone breaks readers, and a warning breaks no one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from medcontract.definitions.diff.change import Change, listed, unjudged
from medcontract.definitions.diff.node import RULES, key

_PROSE = ("code", "message", "hint")
_BOUNDS = {
    ("sum", "minimum"): (1, float("-inf")), ("sum", "maximum"): (-1, float("inf")),
    ("limit", "minimum"): (-1, float("-inf")), ("limit", "below"): (1, float("inf")),
}  # fmt: skip
"""For a bound of a kind: 1 when a larger one finds more, -1 when it finds less; and what it is when it is left out."""

Rule = dict[str, Any]
Placed = tuple[str, Rule]
"""A rule and its pointer."""


def compare_rules(old: Any, new: Any) -> Iterator[Change]:
    """The changes between the rules of two schemas."""
    before, now = _rules(old), _rules(new)
    if before is None or now is None:
        if key(_stated(old)) != key(_stated(new)):
            yield unjudged(f"/{RULES}", "the rules are not written as a list of rules")
        return
    for identity in dict.fromkeys([*now, *before]):
        yield from _same_subject(before.get(identity, []), now.get(identity, []))


def _same_subject(before: list[Placed], now: list[Placed]) -> Iterator[Change]:
    """Rules that differ in degree only, such as two limits of one field: the same ones are paired first."""
    same = {key(rule) for _, rule in before} & {key(rule) for _, rule in now}
    old, new = (sorted(rules, key=lambda r: (key(r[1]) not in same, key(r[1]))) for rules in (before, now))
    for (_, rule), (place, changed) in zip(old, new, strict=False):
        yield from _changed(rule, changed, place)
    for place, rule in old[len(new) :]:
        yield Change(place, f"no longer checked: {_spoken(rule)}", looser=_is_error(rule))
    for place, rule in new[len(old) :]:
        yield Change(place, f"checked now: {_spoken(rule)}", tighter=_is_error(rule))


def _stated(schema: Any) -> Any:
    return schema.get(RULES, []) if isinstance(schema, dict) else []


def _rules(schema: Any) -> dict[str, list[Placed]] | None:
    """What rules are about, to those that are about it."""
    stated = _stated(schema)
    if not isinstance(stated, list) or not all(isinstance(rule, dict) for rule in stated):
        return None
    found: dict[str, list[Placed]] = {}
    for index, rule in enumerate(stated):
        found.setdefault(_identity(rule), []).append((f"/{RULES}/{index}", rule))
    return found


def _bound_names(rule: Rule) -> list[str]:
    names = [name for kind, name in _BOUNDS if kind == rule.get("kind")]
    return [name for name in names if type(rule.get(name, 0)) in (int, float)]


def _identity(rule: Rule) -> str:
    """Everything that is neither prose nor degree."""
    apart = {*_PROSE, "severity", *_bound_names(rule)}
    return key({name: value for name, value in rule.items() if name not in apart})


def _is_error(rule: Rule) -> bool:
    return bool(rule.get("severity", "error") != "warning")


def _changed(old: Rule, new: Rule, place: str) -> Iterator[Change]:
    if _is_error(old) != _is_error(new):
        message = f"{'an error' if _is_error(new) else 'only a warning'} now: {_spoken(new)}"
        yield Change(f"{place}/severity", message, tighter=_is_error(new), looser=_is_error(old))
    for name in _bound_names(new):
        yield from _moved(old, new, name, place)
    for name in _PROSE:
        if old.get(name) != new.get(name):
            yield Change(f"{place}/{name}", f"{name} of a rule changed: {_spoken(new)}")


def _moved(old: Rule, new: Rule, name: str, place: str) -> Iterator[Change]:
    more, absent = _BOUNDS[new["kind"], name]
    before, now = old.get(name, absent), new.get(name, absent)
    if before == now:
        return
    message = f"'{name}' of a rule is {now} now, was {before}: {_spoken(new)}"
    matters = _is_error(old) or _is_error(new)
    tighter = (now > before) == (more > 0)
    yield Change(f"{place}/{name}", message, tighter=matters and tighter, looser=matters and not tighter)


def _spoken(rule: Rule) -> str:
    """A rule in a few words."""
    names = [rule[word] for word in ("field", "fields", "key", "requires") if word in rule]
    about = listed(name for word in names for name in (word if isinstance(word, list) else [word]))
    return f"{rule.get('kind', 'a rule')}{' of ' + about if about else ''} ({rule.get('message', 'no message')})"
