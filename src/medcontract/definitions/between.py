"""Rules between files, over validated values. `score` and `preflight` run them; they need both files.

Each function takes a rule, the validated values that it compares, and yields findings about the
submission. `Located` values carry the reference that a finding's place is worked out from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from medcontract.definitions.rules import Agrees, Apart, Covers, Equal, Reference, SameOrder
from medcontract.problems import Finding, Ref


class Located(NamedTuple):
    """A validated value and where it stands."""

    value: Any
    ref: Ref


def equal(rule: Equal, mine: Located, other: Any) -> Iterator[Finding]:
    """Headers that both have the field agree on it."""
    left, right = getattr(mine.value, rule.field, None), getattr(other, rule.field, None)
    if left is not None and right is not None and left != right:
        yield rule.finding((rule.field,), mine.ref)


Key = str | tuple[str, ...]


def key_of(rule: Reference | Covers, value: Any) -> Key:
    """The id of a record that a rule compares: a value, or a pair of values."""
    mine: Any = getattr(value, rule.field)
    if mine is None and isinstance(rule, Reference):
        mine = rule.default
    return mine if rule.with_field is None else (getattr(value, rule.with_field), mine)


def reference(rule: Reference, records: Iterable[Located], known: Iterable[Key]) -> Iterator[Finding]:
    """Records whose id the other file does not have."""
    ids = frozenset(known)
    for record in records:
        if key_of(rule, record.value) not in ids:
            yield rule.finding((rule.field,), record.ref)


def apart(rule: Apart, records: Iterable[Located], others: Iterable[str]) -> Iterator[Finding]:
    """Records whose id the other file has too."""
    ids = frozenset(others)
    for record in records:
        if getattr(record.value, rule.field) in ids:
            yield rule.finding((rule.field,), record.ref)


def covers(rule: Covers, answered: Iterable[Key], expected: Iterable[Key]) -> Iterator[Finding]:
    """Ids of the other file that no record answers, in the other file's order."""
    ids = frozenset(answered)
    for wanted in expected:
        if wanted not in ids:
            yield rule.finding(())._replace(value=wanted if isinstance(wanted, str) else " ".join(wanted))


def agrees(rule: Agrees, records: Iterable[Located], others: Mapping[str, Any]) -> Iterator[Finding]:
    """Records that say something else than the other file's record of the same key."""
    for record in records:
        other = others.get(getattr(record.value, rule.key))
        if other is not None and getattr(record.value, rule.field) != getattr(other, rule.field):
            yield rule.finding((rule.field,), record.ref)


class OrderCheck:
    """For each group, whether a record comes before one that should precede it; told once a group."""

    def __init__(self, rule: SameOrder, others: Mapping[str, Any]) -> None:
        self.rule = rule
        self.others = others
        self._last: dict[str, Any] = {}
        self._told: set[str] = set()

    def see(self, value: Any) -> Finding | None:
        rule = self.rule
        other = self.others.get(getattr(value, rule.key))
        if other is None:
            return None
        group = getattr(other, rule.group)
        order = tuple(getattr(other, name) for name in rule.by)
        fell = group in self._last and order < self._last[group] and group not in self._told
        self._last[group] = max(order, self._last.get(group, order))
        if not fell:
            return None
        self._told.add(group)
        return rule.finding((rule.key,))


def same_order(rule: SameOrder, records: Iterable[Located], others: Mapping[str, Any]) -> Iterator[Finding]:
    """For each group the first record that comes before one that should precede it."""
    check = OrderCheck(rule, others)
    for record in records:
        finding = check.see(record.value)
        if finding:
            yield finding._replace(ref=record.ref)
