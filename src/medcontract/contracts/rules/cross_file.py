"""Rules across two files.

Files are streamed, so a rule is checked one validated record at a time, against a summary of the other file
(`OtherFile`). Only `score` and `preflight` have both files and run these rules. A kind implements what it needs of:

- `record_check`: returns a function that gets each record of this file and returns a finding or None;
- `check_header`: compares the headers of both files;
- `check_missing`: gets the ids of the other file that have no record in this one.

Checks that need information the summary lacks are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, ClassVar

from msgspec import Struct

from medcontract.contracts.rules.record import Rule
from medcontract.problems import Finding, Path, shorten

Key = str | tuple[str, ...]
RecordCheck = Callable[[object], Finding | None]


class OtherFile(Struct, frozen=True, kw_only=True):
    """A summary of the other file."""

    ids: Collection[Any] | None = None
    """The ids of its records."""
    find: Callable[[Key], object] | None = None
    """Returns what is kept of the record with an id, or None if there is no such record."""
    header: object = None
    """Its header, or the document; fields are attributes."""


class CrossFileRule(Rule, frozen=True, kw_only=True):
    """A rule about this file and one of another contract."""

    scope: ClassVar = "files"
    other: str

    def record_check(self, other: OtherFile) -> RecordCheck | None:
        """Return the check of one record; None if there is none, or the summary of the other file lacks its data."""
        return None

    def check_header(self, header: object, other: OtherFile) -> Finding | None:
        """Compare the header of this file with the other file."""
        return None

    def check_missing(self, ids: Iterable[Key]) -> Iterator[Finding]:
        """Findings about ids of the other file that have no record in this one."""
        return iter(())

    def items_in(self, document: object) -> Iterable[tuple[Path, object]]:
        """Return the values in a document that the rule checks, with their paths; by default the document itself."""
        return (((), document),)

    def check_document(self, document: object, other: OtherFile) -> Iterator[Finding]:
        """Check a document in memory."""
        finding = self.check_header(document, other)
        if finding:
            yield finding
        check = self.record_check(other)
        if check is None:
            return
        for path, item in self.items_in(document):
            finding = check(item)
            if finding:
                yield finding._replace(path=(*path, *finding.path))


def record_checks(rules: Iterable[CrossFileRule], others: Mapping[str, OtherFile]) -> list[RecordCheck]:
    """Return the checks of one record, for rules whose other file is given (by contract)."""
    checks = [rule.record_check(others[rule.other]) for rule in rules if rule.other in others]
    return [check for check in checks if check is not None]


def run_checks(checks: Sequence[RecordCheck], record: object) -> list[Finding]:
    """Return the findings of all checks about one record."""
    return [finding for check in checks if (finding := check(record)) is not None]


class Equal(CrossFileRule, frozen=True, kw_only=True):
    """A header field is equal in both files, if both have it."""

    kind: ClassVar = "equal"
    field: str

    def check_header(self, header: object, other: OtherFile) -> Finding | None:
        mine, theirs = getattr(header, self.field, None), getattr(other.header, self.field, None)
        if mine is None or theirs is None or mine == theirs:
            return None
        finding = self.finding((self.field,))
        alike = isinstance(mine, str) and isinstance(theirs, str) and _plain(mine) == _plain(theirs)
        return finding._replace(hint=_ALIKE) if alike else finding


_ALIKE = "write it as in the truth: it differs only in case or whitespace"


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


class Reference(CrossFileRule, frozen=True, kw_only=True):
    """The value of `field` (or its pair with `with_field`) also occurs in the other file."""

    kind: ClassVar = "reference"
    field: str
    with_field: str | None = None
    with_fields: tuple[str, ...] = ()
    """Other fields that form a key with `field`, if there are several."""
    within: str | None = None
    """For documents: the list whose items the rule applies to."""
    default: str | None = None
    """The value used for an absent or null `field`."""

    @property
    def id_fields(self) -> tuple[str, ...]:
        others = self.with_fields if self.with_field is None else (self.with_field,)
        return (*others, self.field)

    def record_check(self, other: OtherFile) -> RecordCheck | None:
        ids, id_of = other.ids, self._id_of()
        if ids is None:
            return None

        def check(record: object) -> Finding | None:
            mine = id_of(record)
            if mine in ids:
                return None
            finding = self.finding((self.field,))._replace(value=None if mine is None else shorten(_shown(mine)))
            return finding._replace(hint=lost_zeros_hint(mine, ids) or finding.hint)

        return check

    def _id_of(self) -> Callable[[object], Key | None]:
        default = self.default
        if default is None:
            return attrgetter(*self.id_fields)

        def with_default(record: object) -> Key:
            found: str | None = getattr(record, self.field)
            value = default if found is None else found
            return value if self.with_field is None else (getattr(record, self.with_field), value)

        return with_default

    def items_in(self, document: object) -> Iterable[tuple[Path, object]]:
        if self.within is None:
            return super().items_in(document)
        return (((self.within, number), item) for number, item in enumerate(getattr(document, self.within)))


class Excludes(CrossFileRule, frozen=True, kw_only=True):
    """The value of `field` does not occur in the other file."""

    kind: ClassVar = "excludes"
    field: str

    def record_check(self, other: OtherFile) -> RecordCheck | None:
        ids, id_of = other.ids, attrgetter(self.field)
        if ids is None:
            return None
        return lambda record: self.finding((self.field,)) if id_of(record) in ids else None


class Covers(CrossFileRule, frozen=True, kw_only=True):
    """Every value of `field` (or pair with `with_field`) in the other file also occurs in this one."""

    kind: ClassVar = "covers"
    field: str
    with_field: str | None = None
    with_fields: tuple[str, ...] = ()

    def check_missing(self, ids: Iterable[Key]) -> Iterator[Finding]:
        return (self.finding(())._replace(value=_shown(missing)) for missing in ids)


class SameValue(CrossFileRule, frozen=True, kw_only=True):
    """The record of the other file with the same `key` has the same value in `field`."""

    kind: ClassVar = "same-value"
    key: str
    field: str

    def record_check(self, other: OtherFile) -> RecordCheck | None:
        find, id_of, value_of = other.find, attrgetter(self.key), attrgetter(self.field)
        if find is None:
            return None

        def check(record: object) -> Finding | None:
            mine = value_of(record)
            theirs = getattr(find(id_of(record)), self.field, mine)  # a list of expected ids may lack the field
            return None if mine == theirs else self.finding((self.field,))

        return check


class SameOrder(CrossFileRule, frozen=True, kw_only=True):
    """Within each group, the records of this file are in the order given by `by` in the other file."""

    kind: ClassVar = "same-order"
    key: str
    group: str
    by: tuple[str, ...]

    def record_check(self, other: OtherFile) -> RecordCheck | None:
        return None if other.find is None else OrderCheck(self, other.find)


class OrderCheck:
    """The check of `SameOrder`. It compares records with each other, so it has a state."""

    def __init__(self, rule: SameOrder, find: Callable[[Key], object]) -> None:
        self._rule = rule
        self._find = find
        self._id_of, self._group_of = attrgetter(rule.key), attrgetter(rule.group)
        self._place_of = attrgetter(*rule.by)
        self.state = OrderState()

    def __call__(self, record: object) -> Finding | None:
        theirs = self._find(self._id_of(record))
        if theirs is None:
            return None
        group, place, state = self._group_of(theirs), self._place_of(theirs), self.state
        before = state.latest.setdefault(group, place)
        state.latest[group] = max(place, before)
        state.earliest[group] = min(place, state.earliest.get(group, place))
        if place >= before or group in state.reported:
            return None
        state.reported.add(group)
        return self._rule.finding((self._rule.key,))


class OrderState:
    """The first and last place of each group, and the groups whose first record out of order was reported."""

    def __init__(self) -> None:
        self.earliest: dict[Any, Any] = {}
        self.latest: dict[Any, Any] = {}
        self.reported: set[object] = set()

    def absorb(self, other: OrderState) -> bool:
        """Merge the state after the records that follow, which were checked separately.

        False if what was reported about them is not right, because it depends on earlier records.
        """
        right = True
        for group, place in other.latest.items():
            mine = self.latest.get(group)
            falls = mine is not None and other.earliest[group] < mine
            right = right and not (falls or (group in self.reported and group in other.reported))
            self.latest[group] = place if mine is None else max(mine, place)
            self.earliest[group] = min(other.earliest[group], self.earliest.get(group, other.earliest[group]))
            if falls:
                self.reported.add(group)
        self.reported |= other.reported
        return right


def _shown(key: Key) -> str:
    return " ".join(map(str, key)) if isinstance(key, tuple) else str(key)


# --- ids that spreadsheets and DataFrames changed: 007 becomes 7 or 7.0

_MOST_ZEROS = 10
_NUMBER = re.compile(r"[0-9]+")
_SCIENTIFIC = re.compile(r"[0-9]([.,][0-9]+)?[eE]\+[0-9]{2,}")
_KEEP_TEXT = "keep ids as text (in pandas: dtype=str; in Excel: format the column as Text)"
_ZEROS = f"an expected id differs only in leading zeros; {_KEEP_TEXT}"
_SCIENTIFIC_HINT = f"the id is in scientific notation, which spreadsheets write for long numbers; {_KEEP_TEXT}"
_DECIMAL = f"an expected id is the same without '.0'; {_KEEP_TEXT}"


def lost_zeros_hint(key: object, ids: Collection[object]) -> str | None:
    """Return the hint for an id, or a tuple of them, that would be among the others if it had been kept as text."""
    found = next((hint for other, hint in originals(key) if other in ids), None)
    return found or (_SCIENTIFIC_HINT if is_scientific(key) else None)


def is_scientific(key: object) -> bool:
    """Return whether an id, or one of a tuple, is what spreadsheets make of a long number, of which digits are lost."""
    parts = key if isinstance(key, tuple) else (key,)
    return any(isinstance(part, str) and _SCIENTIFIC.fullmatch(part) for part in parts)


def originals(key: object) -> Iterator[tuple[object, str]]:
    """Return the ids that an id, or a tuple of them, may have been before it was changed, and the hint for that."""
    parts = key if isinstance(key, tuple) else (key,)
    for position, part in enumerate(parts):
        for text, hint in _originals(part) if isinstance(part, str) else ():
            changed = (*parts[:position], text, *parts[position + 1 :])
            yield changed if isinstance(key, tuple) else text, hint


def _originals(text: str) -> Iterator[tuple[str, str]]:
    """Return what the text may have been, and the hint for that."""
    whole = re.sub(r"(?<=[0-9])\.0+\Z", "", text)
    if whole != text:
        yield whole, _DECIMAL
        yield from ((other, _ZEROS) for other in _with_zeros(whole))
    yield from ((other, _ZEROS) for other in _with_zeros(text))


def _with_zeros(text: str) -> Iterator[str]:
    """Return the text without leading zeros, or with more of them, in its first or its last number."""
    numbers = list(_NUMBER.finditer(text))
    for match in {number.start(): number for number in numbers[:1] + numbers[-1:]}.values():
        before, digits, after = text[: match.start()], match.group().lstrip("0") or "0", text[match.end() :]
        for zeros in range(_MOST_ZEROS + 1):
            yield before + "0" * zeros + digits + after
