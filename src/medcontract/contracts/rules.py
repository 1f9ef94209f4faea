"""What a JSON Schema cannot say, as data of a few kinds, each kind run here and nowhere else.

A rule is a frozen value: fields, bounds, code, severity, message, hint. It is published with the
schema (`x-medcontract-rules`), so that another language can implement the kinds once and check all
rules. Kinds that look at one object have `check`; kinds that look at a whole list have `begin`, which
returns an accumulator; kinds between files are in `medcontract.contracts.between`.

Rules see values whose shape is right, by attribute.
"""

from __future__ import annotations

import datetime
import math
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Literal, Protocol

from msgspec import Struct

from medcontract.contracts.forms import BLANKS
from medcontract.problems import Finding, Path, Ref, Severity


class Rule(Struct, frozen=True, kw_only=True):
    """What all kinds have."""

    kind: ClassVar[str]
    scope: ClassVar[Literal["object", "list", "files"]]
    code: str
    message: str
    hint: str | None = None
    severity: Severity = "error"

    def publish(self) -> dict[str, Any]:
        """The rule as JSON."""
        data: dict[str, Any] = {"kind": self.kind, "scope": self.scope}
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and value != ():
                data[name] = _listed(value)
        return data

    def finding(self, path: Path, ref: Ref | None = None, hint: str | None = None) -> Finding:
        return Finding(self.code, self.message, hint or self.hint, self.severity, path, ref)


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def _tupled(value: Any) -> Any:
    return tuple(map(_tupled, value)) if isinstance(value, list) else value


def unpublish(data: dict[str, Any]) -> Rule:
    """The rule that was published as this JSON."""
    kinds = {kind.kind: kind for scope in (ObjectRule, ListRule, FilesRule) for kind in scope.__subclasses__()}
    return kinds[data["kind"]](**{name: _tupled(v) for name, v in data.items() if name not in ("kind", "scope")})


# --- kinds that look at one object ---------------------------------------------------------------


class ObjectRule(Rule, frozen=True, kw_only=True):
    """A rule about one record, or about the fields of one document or header."""

    scope: ClassVar = "object"

    def check(self, value: Any) -> Sequence[Finding]:
        """What is wrong; the empty tuple when nothing is."""
        raise NotImplementedError

    def all_keep(self, values: list[Any]) -> bool:
        """Whether nothing is wrong with any of these."""
        return not any(map(self.check, values))


_MARGIN = 1e-6
"""A plain sum of up to a million numbers, none negative and their sum near 1, is off by far less than this: only
sums near a bound need to be exact."""


class Sum(ObjectRule, frozen=True, kw_only=True):
    """The correctly rounded sum of a list of numbers, none negative, lies within bounds (inclusive)."""

    kind: ClassVar = "sum"
    field: str
    minimum: float
    maximum: float

    def check(self, value: Any) -> Sequence[Finding]:
        numbers = getattr(value, self.field)
        if numbers is None:
            return ()
        if self.minimum + _MARGIN <= sum(numbers) <= self.maximum - _MARGIN:
            return ()
        total = math.fsum(numbers)
        if self.minimum <= total <= self.maximum:
            return ()
        return (self.finding((self.field,))._replace(value=f"sum {total!r}"),)

    def all_keep(self, values: list[Any]) -> bool:
        lists = [numbers for numbers in map(attrgetter(self.field), values) if numbers is not None]
        sums = list(map(sum, lists))
        return not sums or (self.minimum + _MARGIN <= min(sums) and max(sums) <= self.maximum - _MARGIN)


class Order(ObjectRule, frozen=True, kw_only=True):
    """The second field is not smaller than the first."""

    kind: ClassVar = "order"
    fields: tuple[str, str]

    def check(self, value: Any) -> Sequence[Finding]:
        first, second = self.fields
        return (self.finding((second,)),) if getattr(value, second) < getattr(value, first) else ()


class Exists(ObjectRule, frozen=True, kw_only=True):
    """The day that a date names is in the (proleptic Gregorian) calendar, years 0001 to 9999."""

    kind: ClassVar = "exists"
    field: str

    def check(self, value: Any) -> Sequence[Finding]:
        date = getattr(value, self.field)
        return () if date is None or _day_exists(date) else (self.finding((self.field,)),)


def _day_exists(date: str) -> bool:
    try:
        datetime.date(int(date[:4]), int(date[5:7]), int(date[8:10]))
    except ValueError:
        return False
    return True


class Limit(ObjectRule, frozen=True, kw_only=True):
    """A number from `minimum` on (and below `below`, where that is given) is worth a word."""

    kind: ClassVar = "limit"
    field: str
    minimum: float
    below: float | None = None

    def check(self, value: Any) -> Sequence[Finding]:
        number = getattr(value, self.field)
        inside = number >= self.minimum and (self.below is None or number < self.below)
        return (self.finding((self.field,)),) if inside else ()


class Distinct(ObjectRule, frozen=True, kw_only=True):
    """No item of a list of strings stands in it twice."""

    kind: ClassVar = "distinct"
    field: str

    def check(self, value: Any) -> Sequence[Finding]:
        items = getattr(value, self.field)
        if len(items) < 2 or len(set(items)) == len(items):
            return ()
        return [self.finding((self.field, i)) for i, item in enumerate(items) if item in items[:i]]


class Requires(ObjectRule, frozen=True, kw_only=True):
    """A field that says something (not null, not blank, not empty) needs another that does.

    With `value`, only when the field has that value.
    """

    kind: ClassVar = "requires"
    field: str
    requires: str
    value: str | None = None

    def check(self, value: Any) -> Sequence[Finding]:
        mine = getattr(value, self.field)
        applies = says_something(mine) if self.value is None else mine == self.value
        if not applies or says_something(getattr(value, self.requires)):
            return ()
        return (self.finding((self.field,)),)


class Empty(ObjectRule, frozen=True, kw_only=True):
    """A list is empty where `flag` is false or `text` says something."""

    kind: ClassVar = "empty"
    field: str
    flag: str
    text: str

    def check(self, value: Any) -> Sequence[Finding]:
        failed = not getattr(value, self.flag) or says_something(getattr(value, self.text))
        return (self.finding((self.field,)),) if failed and getattr(value, self.field) else ()


class Unlike(ObjectRule, frozen=True, kw_only=True):
    """In each object of the list `items`, the string `field`, blanks around it left out, does not match `pattern`."""

    kind: ClassVar = "unlike"
    items: str
    field: str
    pattern: str

    def check(self, value: Any) -> Sequence[Finding]:
        looks_like = _compiled(self.pattern).search
        return [
            self.finding((self.items, index, self.field))
            for index, item in enumerate(getattr(value, self.items))
            if looks_like(getattr(item, self.field).strip())
        ]


_compiled = cache(re.compile)


class SomeAbove(ObjectRule, frozen=True, kw_only=True):
    """Some value of an object of numbers is above a bound."""

    kind: ClassVar = "some-above"
    field: str
    above: float

    def check(self, value: Any) -> Sequence[Finding]:
        numbers = getattr(value, self.field).values()
        return () if any(number > self.above for number in numbers) else (self.finding((self.field,)),)


class Something(ObjectRule, frozen=True, kw_only=True):
    """One of `texts` is not blank, or one of `present` is there, or one of `filled` is not empty.

    Names with a dot lead into an object. The place is `field`.
    """

    kind: ClassVar = "something"
    field: str
    texts: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    filled: tuple[str, ...] = ()

    def check(self, value: Any) -> Sequence[Finding]:
        found = (
            any(says_something(_inside(value, name)) for name in (*self.texts, *self.filled))
            or any(_inside(value, name) is not None for name in self.present)
        )  # fmt: skip
        return () if found else (self.finding((self.field,)),)


def _inside(value: Any, name: str) -> Any:
    for part in name.split("."):
        if value is None:
            return None
        value = getattr(value, part)
    return value


def says_something(value: Any) -> bool:
    """Absent, null, false, blank and empty all mean: none. A number says something, 0 too."""
    if isinstance(value, str):
        return bool(value.strip(BLANKS))
    return bool(value) or (value == 0 and not isinstance(value, bool))


# --- kinds that look at a whole list -------------------------------------------------------------


class Accumulator(Protocol):
    """What a list rule remembers while the records stream by. Nothing but numbers and short keys."""

    def see(self, value: Any, index: int, offset: int, raw: bytes) -> Finding | None:
        """One record. A finding about this very record may be returned at once."""
        ...

    def see_all(self, values: list[Any]) -> bool:
        """Many records at once. False, and nothing remembered, when they must be seen one by one."""
        ...

    def miss(self, parsed: Any) -> None:
        """A bad record, as it was parsed (None: not at all): what it would have said is not known."""
        ...

    def finish(self) -> Iterator[Finding]:
        """What only the end of the list shows."""
        ...


class ListRule(Rule, frozen=True, kw_only=True):
    """A rule about all records of the list named `within`."""

    scope: ClassVar = "list"
    within: str

    def begin(self) -> Accumulator:
        raise NotImplementedError  # pragma: no cover


class Unique(ListRule, frozen=True, kw_only=True):
    """No two records have the same values in `fields`."""

    kind: ClassVar = "unique"
    fields: tuple[str, ...]
    defaults: tuple[tuple[str, str], ...] = ()
    """(field, value): what an absent or null field stands for."""

    def begin(self) -> UniqueIndex:
        return UniqueIndex(self)


def check_list(rule: ListRule, items: Iterable[Any]) -> Iterator[tuple[int, Finding]]:
    """The rule on a list that is in memory: findings with the index of their item."""
    if isinstance(rule, Unique):
        key = rule.begin().key
        first: dict[Any, int] = {}
        for index, item in enumerate(items):
            if first.setdefault(key(item), index) != index:
                yield index, rule.finding((rule.fields[-1],))._replace(first=Ref(0, 0, first[key(item)], (), 0))
        return
    accumulator = rule.begin()
    for index, item in enumerate(items):
        finding = accumulator.see(item, index, 0, b"")
        if finding:
            yield index, finding
    for finding in accumulator.finish():
        yield (finding.ref.record if finding.ref else None) or 0, finding


_HASH_BITS = (1 << 60) - 1


UNKNOWN = -1
"""The offset of a record of which only the index was kept: a second look at the file tells."""


class UniqueIndex:
    """Remembers a 60-bit hash of each key, far less than the keys. Records whose hash is met twice are *suspects*;
    whether a key really is repeated, and where it stood first, a second look at the file tells."""

    def __init__(self, rule: Unique) -> None:
        self.rule = rule
        self.key = _key_with_defaults(rule) if rule.defaults else attrgetter(*rule.fields)
        self._seen: set[int] = set()
        self.suspects: set[int] = set()
        """Hashes that were met more than once."""
        self._first: dict[Any, Ref] = {}

    def see(self, value: Any, index: int, offset: int, raw: bytes) -> Finding | None:
        code = hash(self.key(value)) & _HASH_BITS
        if code in self._seen:
            self.suspects.add(code)
        else:
            self._seen.add(code)
        return None

    def see_all(self, values: list[Any]) -> bool:
        codes = {code & _HASH_BITS for code in map(hash, map(self.key, values))}
        if len(codes) < len(values) or not self._seen.isdisjoint(codes):
            return False
        self._seen |= codes
        return True

    def miss(self, parsed: Any) -> None:
        return None

    def finish(self) -> Iterator[Finding]:
        return iter(())

    def look_again(self, value: Any, ref: Ref) -> Finding | None:
        """The second look at a record: a finding when an earlier one has the same key."""
        key = self.key(value)
        if hash(key) & _HASH_BITS not in self.suspects:
            return None
        first = self._first.setdefault(key, ref)
        if first is ref:
            return None
        return self.rule.finding((self.rule.fields[-1],), ref)._replace(first=first)


def _key_with_defaults(rule: Unique) -> Callable[[Any], tuple[Any, ...]]:
    defaults = dict(rule.defaults)

    def key(value: Any) -> tuple[Any, ...]:
        mine = (getattr(value, name) for name in rule.fields)
        return tuple(defaults.get(name) if v is None else v for name, v in zip(rule.fields, mine, strict=True))

    return key


class Constant(ListRule, frozen=True, kw_only=True):
    """All records have the same string in `field`, upper and lower case being the same."""

    kind: ClassVar = "constant"
    field: str

    def begin(self) -> Accumulator:
        return _ConstantCheck(self)


class _Plain:
    """What most accumulators do: see records one by one, not mind bad ones."""

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
        if self.done or mine == self.first or (self.first and mine.lower() == self.first.lower()):
            return None
        if self.first is None:
            self.first = mine
            return None
        self.done = True
        return self.rule.finding((self.rule.field,))

    def finish(self) -> Iterator[Finding]:
        return iter(())


class Rising(ListRule, frozen=True, kw_only=True):
    """In the order of `by`, the values of `field` never fall. Ties in `by` keep the order of the file."""

    kind: ClassVar = "rising"
    field: str
    by: str

    def begin(self) -> Accumulator:
        return _RisingCheck(self)


class _RisingCheck(_Plain):
    """Two doubles a record, in arrays; sorted at the end only if the file was not in order."""

    def __init__(self, rule: Rising) -> None:
        self.rule = rule
        self.get = attrgetter(rule.by, rule.field)
        self.by = array("d")
        self.values = array("d")
        self.gaps: list[tuple[int, float]] = [(0, 0)]
        """(position, how far the record's index is ahead of it from there on): invalid records are not here."""
        self.fell = False

    def see(self, value: Any, index: int, offset: int, raw: bytes) -> Finding | None:
        by, mine = self.get(value)
        position = len(self.by)
        if position:
            self.fell = self.fell or mine < self.values[-1] or by < self.by[-1]
        if index - position != self.gaps[-1][1]:
            self.gaps.append((position, index - position))
        self.by.append(by)
        self.values.append(mine)
        return None

    def finish(self) -> Iterator[Finding]:
        if not self.fell:
            return
        last = -math.inf
        fallen: list[int] = []
        for position in sorted(range(len(self.by)), key=self.by.__getitem__):
            if self.values[position] < last:
                fallen.append(position)
            last = self.values[position]
        for position in sorted(fallen):
            ahead = self.gaps[bisect_right(self.gaps, (position, math.inf)) - 1][1]
            yield self.rule.finding((self.rule.field,), Ref(UNKNOWN, UNKNOWN, position + int(ahead)))


class Flag(ListRule, frozen=True, kw_only=True):
    """Within each group, exactly one record has the flag: its first (or last) in the order of `by`.

    Without `at`, at most one has it, and it may be any.
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
    """A little for each group: its first record, its edge, its flagged records."""

    def __init__(self, rule: Flag) -> None:
        self.rule = rule
        self.by = attrgetter(*rule.by) if rule.by else None
        self.groups: dict[str, _Group] = {}
        self.unsure: set[Any] = set()
        """Groups that have a bad record; None: some record may belong to any."""

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
        edge = "earliest" if rule.at == "first" else "latest"
        for name, group in self.groups.items():
            sure = None not in self.unsure and name not in self.unsure
            if rule.at and not group.flagged and sure:
                yield rule.finding((), group.first, hint=f"no record of this case has '{rule.field}': true")
            right = next((ref for key, ref in group.flagged if rule.at is None or key == group.edge), None)
            if right is None and group.flagged and not sure:
                right = group.flagged[0][1]  # the edge of the case may be a bad record
            for _, ref in group.flagged:
                if ref is right:
                    continue
                surplus = right is not None
                hint = (
                    "set it on one record of the case only"
                    if surplus
                    else f"another segment is the {edge} of this case"
                )
                yield rule.finding((rule.field,), ref, hint=hint)


# --- kinds between files: published here, run by `medcontract.contracts.between` -----------------


class FilesRule(Rule, frozen=True, kw_only=True):
    """A rule about this file and one of another contract."""

    scope: ClassVar = "files"
    other: str


class Equal(FilesRule, frozen=True, kw_only=True):
    """A header field is the same in both files, where both have it."""

    kind: ClassVar = "equal"
    field: str


class Reference(FilesRule, frozen=True, kw_only=True):
    """The value of `field` (with that of `with_field`, the pair) stands in the other file too."""

    kind: ClassVar = "reference"
    field: str
    with_field: str | None = None
    within: str | None = None
    """The list of a document whose items are meant."""


class Apart(FilesRule, frozen=True, kw_only=True):
    """The value of `field` does not stand in the other file."""

    kind: ClassVar = "apart"
    field: str


class Covers(FilesRule, frozen=True, kw_only=True):
    """Every value of `field` (with that of `with_field`, every pair) in the other file stands in this one."""

    kind: ClassVar = "covers"
    field: str
    with_field: str | None = None


class Agrees(FilesRule, frozen=True, kw_only=True):
    """The record of the other file with the same `key` has the same value in `field`."""

    kind: ClassVar = "agrees"
    key: str
    field: str


class SameOrder(FilesRule, frozen=True, kw_only=True):
    """Within each group, this file's records stand in the order that `by` gives them in the other."""

    kind: ClassVar = "same-order"
    key: str
    group: str
    by: tuple[str, ...]
