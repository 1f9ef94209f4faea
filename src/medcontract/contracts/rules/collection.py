"""Rules about all records of a list. Records are streamed: accumulators keep numbers and short keys, never records."""

from __future__ import annotations

import marshal
import math
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, pairwise, starmap
from operator import attrgetter, lt
from typing import Any, ClassVar, Literal, Protocol, Self

from medcontract.contracts.rules.record import Rule
from medcontract.problems import Finding, Ref

Move = Callable[[Ref], Ref]
"""The place of a record in the collection, from its place in a chunk of it."""


class Accumulator:
    """The state of a list rule while records are streamed: only numbers and short keys."""

    def see(self, value: Any, index: int, offset: int, raw: bytes) -> Finding | None:
        """Process one record. May return a finding about this record."""
        raise NotImplementedError

    def miss(self, parsed: object) -> None:
        """Skip an invalid record, given as parsed JSON (None if it could not be parsed).

        Of byte-identical invalid records, some may be omitted.
        """

    def finish(self) -> Iterator[Finding]:
        """Findings that are known only at the end of the list."""
        return iter(())

    def absorb(self, other: Self, move: Move) -> bool:
        """Merge the state after the records that follow, which were read separately; `move` adjusts their places.

        False if what was reported about them is not right, because it depends on earlier records: then one process
        reads all of them.
        """
        raise NotImplementedError


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

    @classmethod
    def of(cls, within: str, field: str, hint: str) -> Unique:
        """Return the rule about an id."""
        return cls(within=within, fields=(field,), code="MC201", message=f"'{field}' is repeated", hint=hint)

    def begin(self) -> UniqueIndex:
        return UniqueIndex(self)

    def repeated(self, ref: Ref | None = None) -> Finding:
        """Return the finding about a record with the same values as an earlier one."""
        return self.finding((self.fields[-1],), ref)


def check_list(rule: CollectionRule, items: Iterable[object]) -> Iterator[tuple[int, Finding]]:
    """Check a list in memory: yields findings with the index of their item."""
    if isinstance(rule, Unique):
        key = rule.begin().key
        first: dict[object, int] = {}
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


class KeyIndex(Protocol):
    """A sink that finds the repeated keys of the records that it takes."""

    def key_count(self) -> int:
        """Return the number of records that it took."""
        ...

    def all_keys(self) -> Iterable[object]:
        """Return the keys of all records that it took."""
        ...

    def repeated_keys(self) -> Collection[object]:
        """Return the keys of more than one record."""
        ...

    def positions_of(self, keys: Collection[object]) -> Sequence[int] | None:
        """Return which of the records that it took have one of these keys. None if that is not known."""
        ...


class UniqueIndex(Accumulator):
    """Keeps the keys of all records, in blocks that take little memory, and finds repeated ones.

    Where they are repeated is found out by a second pass over the file. Keys of records that go to a sink which finds
    repeated keys by itself are not kept here.
    """

    def __init__(self, rule: Unique) -> None:
        self.rule = rule
        self.key: Callable[[object], object] = _key_with_defaults(rule) if rule.defaults else attrgetter(*rule.fields)
        self.sink: KeyIndex | None = None
        """The sink that finds repeated keys: then only other records are seen."""
        self._recent: list[object] = []
        """Keys that are not in a block yet."""
        self._blocks: list[bytes] = []
        self._count = 0
        """The number of keys in the blocks."""
        self._first: dict[object, tuple[Ref, Part]] = {}

    def key_count(self) -> int:
        """Return the number of keys so far."""
        return self._count + len(self._recent) + (self.sink.key_count() if self.sink else 0)

    def see(self, value: object, index: int, offset: int, raw: bytes) -> Finding | None:
        self._recent.append(self.key(value))
        if len(self._recent) >= _BLOCK:
            self._store()
        return None

    def see_all(self, values: Sequence[object]) -> None:
        """Process many records at once."""
        if not self.sink:
            self._recent += map(self.key, values)
            if len(self._recent) >= _BLOCK:
                self._store()

    def _store(self) -> None:
        if self._recent:
            self._blocks.append(marshal.dumps(self._recent, 2))
            self._count += len(self._recent)
            self._recent = []

    def absorb(self, other: UniqueIndex, move: Move) -> bool:
        """Repeated keys are reported at the end, so nothing was reported yet."""
        self._store()
        other._store()
        self._blocks += other._blocks
        self._count += other._count
        return True

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "key": None, "sink": None}

    def _keys(self) -> Iterator[object]:
        """Yield all keys that are kept here, in their order."""
        self._store()
        for block in self._blocks:
            yield from marshal.loads(block)  # noqa: S302  # made by `_store`

    @cached_property
    def suspects(self) -> Collection[object]:
        """Return the keys that occurred more than once, known once all records were seen."""
        self._store()
        if self.sink and not self._count:
            return self.sink.repeated_keys()
        if not self.sink and is_ascending(self._keys()):  # as in most files: then no key is repeated
            return frozenset()
        hashes = array("q", map(hash, self._all_keys()))  # take less memory than the keys
        if len(set(hashes)) == len(hashes):
            return frozenset()
        repeated = {code for code, times in Counter(hashes).items() if times > 1}
        counts = Counter(key for key in self._all_keys() if hash(key) in repeated)
        return {key for key, times in counts.items() if times > 1}

    def _all_keys(self) -> Iterator[object]:
        return chain(self._keys(), self.sink.all_keys() if self.sink else ())

    def suspicious_positions(self) -> Sequence[int] | None:
        """Return which counted records have a suspected key. None if it is not known."""
        if not self.sink:
            return [position for position, key in enumerate(self._keys()) if key in self.suspects]
        return None if self._count else self.sink.positions_of(self.suspects)

    def suspects_among(self, values: Sequence[object]) -> list[int]:
        """Return which of these records have a key that is a suspect."""
        return [place for place, key in enumerate(map(self.key, values)) if key in self.suspects]

    def find_first(self, value: object, ref: Ref, part: Part = (0, "")) -> tuple[Ref, Part] | None:
        """Return the place of an earlier record with the same key, if there is one; for the second pass over the file.

        `ref` is the position of the record, `part` its file if several files hold the list.
        """
        key = self.key(value)
        first = self._first.get(key)
        if first is None and key in self.suspects:
            self._first[key] = ref, part
        return first

    def repeated(self, ref: Ref, part: Part, first: tuple[Ref, Part]) -> Finding:
        """Return the finding about a record whose key occurred first at another place."""
        finding = self.rule.repeated(ref)
        if first[1] == part:
            return finding._replace(first=first[0])
        return finding._replace(hint=f"first used in {first[1][1]}")


_BLOCK = 1000
"""The number of keys that a block has at least."""


def is_ascending(keys: Iterable[Any]) -> bool:
    """Return whether each key is larger than the one before it."""
    try:
        return all(starmap(lt, pairwise(keys)))
    except TypeError:  # an optional field
        return False


def _key_with_defaults(rule: Unique) -> Callable[[object], tuple[object, ...]]:
    defaults = dict(rule.defaults)

    def key(value: object) -> tuple[object, ...]:
        mine = (getattr(value, name) for name in rule.fields)
        return tuple(defaults.get(name) if v is None else v for name, v in zip(rule.fields, mine, strict=True))

    return key


class Constant(CollectionRule, frozen=True, kw_only=True):
    """All records have the same string in `field`, ignoring case; null is ignored."""

    kind: ClassVar = "constant"
    field: str

    def begin(self) -> Accumulator:
        return _ConstantCheck(self)


class _ConstantCheck(Accumulator):
    def __init__(self, rule: Constant) -> None:
        self.rule = rule
        self.first: str | None = None
        self.done = False

    def see(self, value: object, index: int, offset: int, raw: bytes) -> Finding | None:
        mine = getattr(value, self.rule.field)
        if mine is None or self.done or mine == self.first or (self.first and mine.lower() == self.first.lower()):
            return None
        if self.first is None:
            self.first = mine
            return None
        self.done = True
        return self.rule.finding((self.rule.field,))

    def absorb(self, other: _ConstantCheck, move: Move) -> bool:
        """Only the first other value is reported."""
        if self.first is None:
            self.first, self.done = other.first, other.done
            return True
        differs = other.first is not None and other.first.lower() != self.first.lower()
        right = not differs and not (self.done and other.done)
        self.done = self.done or other.done or differs
        return right


class Monotonic(CollectionRule, frozen=True, kw_only=True):
    """In the order of `by`, the values of `field` never decrease. Ties in `by` keep the order of the file.

    Records with null in one of the two are ignored.
    """

    kind: ClassVar = "monotonic"
    field: str
    by: str

    def begin(self) -> Accumulator:
        return _MonotonicCheck(self)


class _MonotonicCheck(Accumulator):
    """Three numbers per record, in arrays; sorted at the end only if the file was not in order."""

    def __init__(self, rule: Monotonic) -> None:
        self.rule = rule
        self.get = attrgetter(rule.by, rule.field)
        self.by = array("d")
        self.values = array("d")
        self.records = array("q")
        self.decreased = False

    def see(self, value: object, index: int, offset: int, raw: bytes) -> Finding | None:
        by, mine = self.get(value)
        if by is None or mine is None:
            return None
        if self.by:
            self.decreased = self.decreased or mine < self.values[-1] or by < self.by[-1]
        self.by.append(by)
        self.values.append(mine)
        self.records.append(index)
        return None

    def absorb(self, other: _MonotonicCheck, move: Move) -> bool:
        """Decreases are reported at the end, so nothing was reported yet."""
        if self.by and other.by:
            self.decreased = self.decreased or other.values[0] < self.values[-1] or other.by[0] < self.by[-1]
        self.decreased = self.decreased or other.decreased
        before = move(Ref(0, 0, 0)).record or 0
        self.by += other.by
        self.values += other.values
        self.records.extend(before + record for record in other.records)
        return True

    def finish(self) -> Iterator[Finding]:
        if not self.decreased:
            return
        last = -math.inf
        decreased: list[int] = []
        for position in sorted(range(len(self.by)), key=self.by.__getitem__):
            if self.values[position] < last:
                decreased.append(self.records[position])
            last = self.values[position]
        for record in sorted(decreased):
            yield self.rule.finding((self.rule.field,), Ref(UNKNOWN, UNKNOWN, record))


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


class _FlagCheck(Accumulator):
    """For each group: its first record, its smallest (or largest) key, its flagged records."""

    def __init__(self, rule: Flag) -> None:
        self.rule = rule
        self.by = attrgetter(*rule.by) if rule.by else None
        self.groups: dict[str, _Group] = {}
        self.unsure: set[str | None] = set()
        """Groups with an invalid record; None: an invalid record that may belong to any group."""

    def see(self, value: object, index: int, offset: int, raw: bytes) -> Finding | None:
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

    def miss(self, parsed: object) -> None:
        name = parsed.get(self.rule.group) if isinstance(parsed, dict) else None
        self.unsure.add(name if isinstance(name, str) else None)

    def absorb(self, other: _FlagCheck, move: Move) -> bool:
        """Flags are reported at the end, so nothing was reported yet."""
        for name, theirs in other.groups.items():
            mine = self.groups.get(name)
            if mine is None:
                mine = self.groups[name] = _Group(move(theirs.first))
            edges = [edge for edge in (mine.edge, theirs.edge) if edge is not None]
            if edges:
                mine.edge = min(edges) if self.rule.at == "first" else max(edges)
            mine.flagged += [(key, move(ref)) for key, ref in theirs.flagged]
        self.unsure |= other.unsure
        return True

    def finish(self) -> Iterator[Finding]:
        rule = self.rule
        for name, group in self.groups.items():
            sure = None not in self.unsure and name not in self.unsure
            if group.flagged:
                yield from self._wrongly_flagged(group, sure)
            elif rule.at and sure:
                yield rule.finding((), group.first, hint=f"no record of this case has '{rule.field}': true")

    def _wrongly_flagged(self, group: _Group, sure: bool) -> Iterator[Finding]:
        """Yield all flagged records except the right one. Not `sure`: an invalid record may need the flag."""
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
