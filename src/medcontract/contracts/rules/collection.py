"""Rules about all records of a list. Records are streamed: accumulators keep numbers and short keys, never records."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from numbers import Number
from operator import attrgetter, lt
from typing import Any, ClassVar, Literal, Protocol

from medcontract.contracts.rules.base import Rule
from medcontract.problems import Finding, Ref

Move = Callable[[Ref], Ref]
"""The place of a record in the collection, from its place in a chunk of it."""


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

    def absorb(self, other: Any, move: Move) -> bool:
        """Merge the state after the records that follow, which were read separately; `move` adjusts their places.

        False if what was reported about them is not right, because it depends on earlier records: then one process
        reads all of them.
        """
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


class KeyIndex(Protocol):
    """A sink that finds the repeated keys of the records that it takes."""

    def key_count(self) -> int:
        """Return the number of records that it took."""
        ...

    def all_keys(self) -> Iterable[Any]:
        """Return the keys of all records that it took."""
        ...

    def repeated_keys(self) -> Collection[Any]:
        """Return the keys of more than one record."""
        ...

    def positions_of(self, keys: Collection[Any]) -> Sequence[int] | None:
        """Return which of the records that it took have one of these keys. None if that is not known."""
        ...


class UniqueIndex:
    """Keeps a hash of each key, which takes far less memory than the keys. Hashes that occur twice are *suspects*;
    a second pass over the file finds out whether the keys are equal, and where they occur first.

    Keys are only hashed when one of them is not larger than the one before it: until then, none can be repeated. Those
    of records that go to a sink which finds repeated keys by itself are not kept here.
    """

    def __init__(self, rule: Unique) -> None:
        self.rule = rule
        self.key = _key_with_defaults(rule) if rule.defaults else attrgetter(*rule.fields)
        self.hash: Callable[[Any], int] = hash
        """`stable_hash` if hashes of different processes are compared."""
        self.sink: KeyIndex | None = None
        """The sink that finds repeated keys: then only other records are seen."""
        self._hashes = array("q")
        self._texts: list[str] = []
        """Ascending keys that are not hashed, many in each text."""
        self._count = 0
        self._ascending = True
        """Each key is larger than the one before it, so that none is repeated."""
        self._ends: tuple[Any, Any] | None = None
        """The first and the last key, while they ascend; None if there are no keys. A key may be None, too."""
        self._first: dict[Any, tuple[Ref, Part]] = {}

    def key_count(self) -> int:
        """Return the number of keys so far."""
        return self._count + (self.sink.key_count() if self.sink else 0)

    def see(self, value: Any, index: int, offset: int, raw: bytes) -> Finding | None:
        self._add([self.key(value)])
        return None

    def see_all(self, values: list[Any]) -> bool:
        if not self.sink:
            self._add(list(map(self.key, values)))
        return True

    def _add(self, keys: list[Any]) -> None:
        self._count += len(keys)
        text = joined(keys) if self._ascends(keys) else None
        if text is None:
            self._hash_all().extend(map(self.hash, keys))
        else:
            self._texts.append(text)

    def _ascends(self, keys: list[Any]) -> bool:
        """Return whether all keys ascend, these included."""
        if self._ascending and keys:
            start, *last = self._ends or (keys[0],)
            self._ascending = is_ascending([*last, *keys])
            self._ends = start, keys[-1]
        return self._ascending

    def _hash_all(self) -> array[int]:
        """Return the hashes of all keys, in their order."""
        for text in self._texts:
            self._hashes.extend(map(self.hash, split(text)))
        self._texts, self._ascending = [], False
        return self._hashes

    def absorb(self, other: UniqueIndex, move: Move) -> bool:
        """Repeated keys are reported at the end, so nothing was reported yet."""
        self.hash = other.hash
        self._count += other._count
        if other._ends and self._ascending and other._ascending and self._ascends(list(other._ends)):
            self._texts += other._texts
        elif other._count:
            self._hash_all().extend(other._hash_all())
        return True

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "key": None, "hash": self.hash is stable_hash, "sink": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, hash=stable_hash if state["hash"] else hash)

    @cached_property
    def suspects(self) -> set[int]:
        """Hashes that occurred more than once, known once all records were seen."""
        if self.sink and not self._count:
            return set(map(self.hash, self.sink.repeated_keys()))
        if self._ascending and not self.sink:
            return set()
        hashes = self._hash_all()[:]
        hashes.extend(map(self.hash, self.sink.all_keys() if self.sink else ()))
        if len(set(hashes)) == len(hashes):
            return set()
        return {code for code, times in Counter(hashes).items() if times > 1}

    def suspicious_positions(self) -> Sequence[int] | None:
        """Return which records have a key that is a suspect, of those that were counted. None if that is not known."""
        if not self.sink:
            return [position for position, code in enumerate(self._hash_all()) if code in self.suspects]
        return None if self._count else self.sink.positions_of(self.sink.repeated_keys())

    def miss(self, parsed: Any) -> None:
        return None

    def finish(self) -> Iterator[Finding]:
        return iter(())

    def is_suspect(self, key: Any) -> bool:
        return self.hash(key) in self.suspects

    def suspects_among(self, values: Sequence[Any]) -> list[int]:
        """Return which of these records have a key that is a suspect."""
        codes, suspects = [self.hash(self.key(value)) for value in values], self.suspects
        return [] if suspects.isdisjoint(codes) else [place for place, code in enumerate(codes) if code in suspects]

    def find_first(self, key: Any, ref: Ref, part: Part = (0, "")) -> tuple[Ref, Part] | None:
        """The second pass over a record with this key: the place of an earlier one, if there is one.

        `ref` is the position of the record, `part` its file if several files hold the list.
        """
        first = self._first.get(key)
        if first is None:
            self._first[key] = ref, part
        return first

    def repeated(self, ref: Ref, part: Part, first: tuple[Ref, Part]) -> Finding:
        """The finding about a record whose key occurred first at another place."""
        finding = self.rule.repeated(ref)
        if first[1] == part:
            return finding._replace(first=first[0])
        return finding._replace(hint=f"first used in {first[1][1]}")


_SEPARATOR = "\n"


def joined(keys: list[Any]) -> str | None:
    """Keys as one text, which takes less memory. None if they are not strings, or contain the separator."""
    try:
        text = _SEPARATOR.join(keys)
    except TypeError:
        return None
    return text if keys and text.count(_SEPARATOR) == len(keys) - 1 else None


def split(text: str) -> list[str]:
    """The keys of a text that `joined` made."""
    return text.split(_SEPARATOR)


def is_ascending(keys: list[Any]) -> bool:
    """Whether each key is larger than the one before it."""
    try:
        return all(map(lt, keys, islice(keys, 1, None)))
    except TypeError:  # an optional field
        return False


def stable_hash(key: Any) -> int:
    """A hash that is the same in every process. That of a string is not, unless the processes were forked."""
    from hashlib import blake2b  # it loads OpenSSL: only where it is needed

    text = key if isinstance(key, str) else "\0".join(map(_stable_text, key if isinstance(key, tuple) else (key,)))
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little", signed=True)


def _stable_text(part: Any) -> str:
    """Equal for equal values: 1 and 1.0 are equal, and so are their hashes."""
    return part if isinstance(part, str) else f"{hash(part)}" if isinstance(part, Number) else repr(part)


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

    def absorb(self, other: _ConstantCheck, move: Move) -> bool:
        """Only the first other value is reported."""
        if self.first is None:
            self.first, self.done = other.first, other.done
            return True
        differs = other.first is not None and other.first.lower() != self.first.lower()
        right = not differs and not (self.done and other.done)
        self.done = self.done or other.done or differs
        return right

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

    def absorb(self, other: _MonotonicCheck, move: Move) -> bool:
        """Decreases are reported at the end, so nothing was reported yet."""
        if self.by and other.by:
            self.decreased = self.decreased or other.values[0] < self.values[-1] or other.by[0] < self.by[-1]
        self.decreased = self.decreased or other.decreased
        before = move(Ref(0, 0, 0)).record or 0
        shift = before - len(self.by)
        self.gaps += [(len(self.by) + position, ahead + shift) for position, ahead in other.gaps]
        self.by += other.by
        self.values += other.values
        return True

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
