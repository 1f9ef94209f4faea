"""Rules about all records of a list. Records are streamed: accumulators keep numbers and short keys, never records."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import islice
from operator import attrgetter, lt
from typing import Any, ClassVar, Literal, Protocol

from medcontract.contracts.rules.base import Rule
from medcontract.problems import Finding, Ref


class Accumulator(Protocol):
    """The state of a list rule while records are streamed: only numbers and short keys."""

    def see(self, value: Any, index: int, offset: int, raw: bytes) -> Finding | None:
        """Process one record. May return a finding about this record."""
        ...

    def see_all(self, values: list[Any]) -> bool:
        """Process many records at once. Returns False, and changes nothing, if they must be processed one by one."""
        ...

    def miss(self, parsed: Any) -> None:
        """Skip an invalid record, given as parsed JSON (None if it could not be parsed).

        Of byte-identical invalid records, some may be omitted.
        """
        ...

    def finish(self) -> Iterator[Finding]:
        """Findings that are known only at the end of the list."""
        ...

    def absorb(self, other: Any) -> bool:
        """Merge the state of another process, for the records that follow. False: one process must see all records."""
        ...


class CollectionRule(Rule, frozen=True, kw_only=True):
    """A rule about all records of the list named `within`."""

    scope: ClassVar = "list"
    within: str

    def begin(self) -> Accumulator:
        raise NotImplementedError  # pragma: no cover


class Unique(CollectionRule, frozen=True, kw_only=True):
    """No two records have the same values in `fields`."""

    kind: ClassVar = "unique"
    fields: tuple[str, ...]
    defaults: tuple[tuple[str, str], ...] = ()
    """(field, value): the value used for an absent or null field."""

    def begin(self) -> UniqueIndex:
        return UniqueIndex(self)

    def repeated(self, ref: Ref | None = None) -> Finding:
        """The finding about a record with the same values as an earlier one."""
        return self.finding((self.fields[-1],), ref)


def check_list(rule: CollectionRule, items: Iterable[Any]) -> Iterator[tuple[int, Finding]]:
    """Check a list in memory: yields findings with the index of their item."""
    if isinstance(rule, Unique):
        key = rule.begin().key
        first: dict[Any, int] = {}
        for index, item in enumerate(items):
            if first.setdefault(key(item), index) != index:
                yield index, rule.repeated()._replace(first=Ref(0, 0, first[key(item)], (), 0))
        return
    accumulator = rule.begin()
    for index, item in enumerate(items):
        finding = accumulator.see(item, index, 0, b"")
        if finding:
            yield index, finding
    for finding in accumulator.finish():
        yield (finding.ref.record if finding.ref else None) or 0, finding


UNKNOWN = -1
"""The offset of a record of which only the index was kept; a second pass over the file finds it."""


Part = tuple[int, str]
"""The number and name of one of the files that contain a list together."""


class UniqueIndex:
    """Keeps a hash of each key, which takes far less memory than the keys. Hashes that occur twice are *suspects*;
    a second pass over the file finds out whether the keys are equal, and where they occur first."""

    def __init__(self, rule: Unique) -> None:
        self.rule = rule
        self.key = _key_with_defaults(rule) if rule.defaults else attrgetter(*rule.fields)
        self._hashes = array("q")
        self._ascending = True
        """Each key is larger than the one before it, so that none is repeated."""
        self._last: Any = None
        self._first: dict[Any, tuple[Ref, Part]] = {}

    def see(self, value: Any, index: int, offset: int, raw: bytes) -> Finding | None:
        key = self.key(value)
        self._hashes.append(hash(key))
        if self._ascending:
            self._ascending = self._last is None or is_ascending([self._last, key])
            self._last = key
        return None

    def see_all(self, values: list[Any]) -> bool:
        keys = list(map(self.key, values))
        self._hashes.extend(map(hash, keys))
        if self._ascending and keys:
            self._ascending = is_ascending(keys if self._last is None else [self._last, *keys])
            self._last = keys[-1]
        return True

    @cached_property
    def suspects(self) -> set[int]:
        """Hashes that occurred more than once, known once all records were seen."""
        if self._ascending or len(set(self._hashes)) == len(self._hashes):
            return set()
        return {code for code, times in Counter(self._hashes).items() if times > 1}

    def miss(self, parsed: Any) -> None:
        return None

    def finish(self) -> Iterator[Finding]:
        return iter(())

    def __getstate__(self) -> bool:
        """Pickled for another process, where hashes differ: contains only whether a key may be repeated."""
        return bool(self.suspects)

    def __setstate__(self, suspicious: bool) -> None:
        self.__dict__["suspects"] = {0} if suspicious else set()

    def absorb(self, other: UniqueIndex) -> bool:
        """The caller has to detect keys that occur in two processes."""
        return not other.suspects

    def find_repeat(self, value: Any, ref: Callable[[], Ref], part: Part = (0, "")) -> tuple[Ref, Part] | None:
        """The second pass over a record: the place of an earlier one with the same key, if there is one.

        `ref` gives the position of the record, `part` its file if several files hold the list.
        """
        key = self.key(value)
        if hash(key) not in self.suspects:
            return None
        first = self._first.get(key)
        if first is None:
            self._first[key] = ref(), part
        return first

    def repeated(self, ref: Ref, part: Part, first: tuple[Ref, Part]) -> Finding:
        """The finding about a record whose key occurred first at another place."""
        finding = self.rule.repeated(ref)
        if first[1] == part:
            return finding._replace(first=first[0])
        return finding._replace(hint=f"first used in {first[1][1]}")


def is_ascending(keys: list[Any]) -> bool:
    """Whether each key is larger than the one before it."""
    try:
        return all(map(lt, keys, islice(keys, 1, None)))
    except TypeError:  # an optional field
        return False


def _key_with_defaults(rule: Unique) -> Callable[[Any], tuple[Any, ...]]:
    defaults = dict(rule.defaults)

    def key(value: Any) -> tuple[Any, ...]:
        mine = (getattr(value, name) for name in rule.fields)
        return tuple(defaults.get(name) if v is None else v for name, v in zip(rule.fields, mine, strict=True))

    return key


class Constant(CollectionRule, frozen=True, kw_only=True):
    """All records have the same string in `field`, ignoring case; null is ignored."""

    kind: ClassVar = "constant"
    field: str

    def begin(self) -> Accumulator:
        return _ConstantCheck(self)


class _Plain:
    """Defaults for accumulators: process records one by one, ignore invalid ones."""

    def see_all(self, values: list[Any]) -> bool:
        return False

    def miss(self, parsed: Any) -> None:
        return None

    def absorb(self, other: Any) -> bool:
        return False


class _ConstantCheck(_Plain):
    def __init__(self, rule: Constant) -> None:
        self.rule = rule
        self.first: Any = None
        self.done = False

    def see(self, value: Any, index: int, offset: int, raw: bytes) -> Finding | None:
        mine = getattr(value, self.rule.field)
        if mine is None or self.done or mine == self.first or (self.first and mine.lower() == self.first.lower()):
            return None
        if self.first is None:
            self.first = mine
            return None
        self.done = True
        return self.rule.finding((self.rule.field,))

    def absorb(self, other: _ConstantCheck) -> bool:
        if self.first is None:
            self.first = other.first
        same = other.first is None or other.first.lower() == self.first.lower()
        return same and not self.done and not other.done

    def finish(self) -> Iterator[Finding]:
        return iter(())


class Monotonic(CollectionRule, frozen=True, kw_only=True):
    """In the order of `by`, the values of `field` never decrease. Ties in `by` keep the order of the file.

    Records with null in one of the two are ignored.
    """

    kind: ClassVar = "monotonic"
    field: str
    by: str

    def begin(self) -> Accumulator:
        return _MonotonicCheck(self)


class _MonotonicCheck(_Plain):
    """Two doubles per record, in arrays; sorted at the end only if the file was not in order."""

    def __init__(self, rule: Monotonic) -> None:
        self.rule = rule
        self.get = attrgetter(rule.by, rule.field)
        self.by = array("d")
        self.values = array("d")
        self.gaps: list[tuple[int, float]] = [(0, 0)]
        """(position, difference between record index and position from there on); invalid records have no position."""
        self.decreased = False

    def see(self, value: Any, index: int, offset: int, raw: bytes) -> Finding | None:
        by, mine = self.get(value)
        if by is None or mine is None:
            return None
        position = len(self.by)
        if position:
            self.decreased = self.decreased or mine < self.values[-1] or by < self.by[-1]
        if index - position != self.gaps[-1][1]:
            self.gaps.append((position, index - position))
        self.by.append(by)
        self.values.append(mine)
        return None

    def absorb(self, other: _MonotonicCheck) -> bool:
        """If nothing decreases, only the last values matter for the records that follow."""
        if self.by and other.by:
            self.decreased = self.decreased or other.values[0] < self.values[-1] or other.by[0] < self.by[-1]
        self.by = other.by or self.by
        self.values = other.values or self.values
        return not self.decreased and not other.decreased

    def finish(self) -> Iterator[Finding]:
        if not self.decreased:
            return
        last = -math.inf
        decreased: list[int] = []
        for position in sorted(range(len(self.by)), key=self.by.__getitem__):
            if self.values[position] < last:
                decreased.append(position)
            last = self.values[position]
        for position in sorted(decreased):
            ahead = self.gaps[bisect_right(self.gaps, (position, math.inf)) - 1][1]
            yield self.rule.finding((self.rule.field,), Ref(UNKNOWN, UNKNOWN, position + int(ahead)))


class Flag(CollectionRule, frozen=True, kw_only=True):
    """Within each group, exactly one record has the flag: the first (or last) in the order of `by`.

    Without `at`, at most one record has the flag, and it may be any.
    """

    kind: ClassVar = "flag"
    field: str
    group: str
    at: Literal["first", "last"] | None = None
    by: tuple[str, ...] = ()

    def begin(self) -> Accumulator:
        return _FlagCheck(self)


class _Group:
    __slots__ = ("edge", "first", "flagged")

    def __init__(self, first: Ref) -> None:
        self.first = first
        self.edge: Any = None
        self.flagged: list[tuple[Any, Ref]] = []


class _FlagCheck(_Plain):
    """For each group: its first record, its smallest (or largest) key, its flagged records."""

    def __init__(self, rule: Flag) -> None:
        self.rule = rule
        self.by = attrgetter(*rule.by) if rule.by else None
        self.groups: dict[str, _Group] = {}
        self.unsure: set[Any] = set()
        """Groups with an invalid record; None: an invalid record that may belong to any group."""

    def see(self, value: Any, index: int, offset: int, raw: bytes) -> Finding | None:
        rule = self.rule
        name = getattr(value, rule.group)
        group = self.groups.get(name)
        if group is None:
            group = self.groups[name] = _Group(Ref(offset, len(raw), index))
        key = self.by(value) if self.by else None
        if self.by and (group.edge is None or (key < group.edge if rule.at == "first" else key > group.edge)):
            group.edge = key
        if getattr(value, rule.field):
            group.flagged.append((key, Ref(offset, len(raw), index)))
        return None

    def miss(self, parsed: Any) -> None:
        name = parsed.get(self.rule.group) if isinstance(parsed, dict) else None
        self.unsure.add(name if isinstance(name, str) else None)

    def finish(self) -> Iterator[Finding]:
        rule = self.rule
        for name, group in self.groups.items():
            sure = None not in self.unsure and name not in self.unsure
            if group.flagged:
                yield from self._wrongly_flagged(group, sure)
            elif rule.at and sure:
                yield rule.finding((), group.first, hint=f"no record of this case has '{rule.field}': true")

    def _wrongly_flagged(self, group: _Group, sure: bool) -> Iterator[Finding]:
        """All flagged records except the right one. Not `sure`: an invalid record may need the flag."""
        rule = self.rule
        right = next((ref for key, ref in group.flagged if rule.at is None or key == group.edge), None)
        if right is None and not sure:
            right = group.flagged[0][1]
        edge = "earliest" if rule.at == "first" else "latest"
        hint = (
            f"another segment is the {edge} of this case" if right is None else "set it on one record of the case only"
        )
        for _, ref in group.flagged:
            if ref is not right:
                yield rule.finding((rule.field,), ref, hint=hint)
