"""The base class of all rules, and the rules about one record, or about the fields of one document or header."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from functools import cache
from itertools import repeat
from operator import attrgetter
from typing import Any, ClassVar, Literal

from msgspec import Struct

from medcontract.contracts.string_patterns import BLANKS
from medcontract.problems import Finding, Path, Ref, Severity
from medcontract.types import JsonObject


class Rule(Struct, frozen=True, kw_only=True):
    """Fields that all kinds of rules have."""

    kind: ClassVar[str]
    scope: ClassVar[Literal["object", "list", "files"]]
    code: str
    message: str
    hint: str | None = None
    severity: Severity = "error"

    def publish(self) -> JsonObject:
        """Return the rule as JSON."""
        data: JsonObject = {"kind": self.kind, "scope": self.scope}
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and value != ():
                data[name] = _listed(value)
        return data

    def finding(self, path: Path, ref: Ref | None = None, hint: str | None = None) -> Finding:
        return Finding(self.code, self.message, hint or self.hint, self.severity, path, ref)


def _listed(value: object) -> object:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


class RecordRule(Rule, frozen=True, kw_only=True):
    """A rule about one record, or about the fields of one document or header."""

    scope: ClassVar = "object"

    def check(self, value: Any) -> Sequence[Finding]:
        """Return what is wrong; an empty tuple if nothing is."""
        raise NotImplementedError

    def all_pass(self, values: Sequence[object]) -> bool:
        """Return whether all values satisfy the rule."""
        return not any(map(self.check, values))


_MARGIN = 1e-6
"""The rounding error of a plain sum of up to a million non-negative numbers that add up to about 1 is far below
this: only sums near a bound need exact summation."""


class Sum(RecordRule, frozen=True, kw_only=True):
    """The correctly rounded sum of a list of non-negative numbers is within the bounds (inclusive)."""

    kind: ClassVar = "sum"
    field: str
    minimum: float
    maximum: float

    def check(self, value: object) -> Sequence[Finding]:
        numbers = getattr(value, self.field)
        if numbers is None:
            return ()
        if self.minimum + _MARGIN <= sum(numbers) <= self.maximum - _MARGIN:
            return ()
        total = math.fsum(numbers)
        if self.minimum <= total <= self.maximum:
            return ()
        return (self.finding((self.field,), hint=self._reason(numbers, total))._replace(value=f"sum {total!r}"),)

    def _reason(self, numbers: Sequence[float], total: float) -> str | None:
        """Return the hint about numbers that are all 0, or that were rounded so much that their sum changed."""
        if total == 0:
            return "all of them are 0: write the numbers, or why there are none"
        for digits in (1, 2, 3, 4):
            change = len(numbers) * 0.5 * 0.1**digits
            if self.minimum - change <= total <= self.maximum + change and all(x == round(x, digits) for x in numbers):
                return "if the numbers were rounded, write more decimals"
        return None

    def all_pass(self, values: Sequence[object]) -> bool:
        lists = list(map(attrgetter(self.field), values))
        if None in lists:
            lists = [numbers for numbers in lists if numbers is not None]
        sums = list(map(sum, lists, repeat(0.0)))  # from the integer 0, it takes a sixth longer
        return not sums or (self.minimum + _MARGIN <= min(sums) and max(sums) <= self.maximum - _MARGIN)


class Order(RecordRule, frozen=True, kw_only=True):
    """The second field is not less than the first, if neither is null."""

    kind: ClassVar = "order"
    fields: tuple[str, str]

    def check(self, value: object) -> Sequence[Finding]:
        first, second = self.fields
        low, high = getattr(value, first), getattr(value, second)
        return (self.finding((second,)),) if low is not None and high is not None and high < low else ()


class CalendarDate(RecordRule, frozen=True, kw_only=True):
    """The date, or each date of a list, exists in the (proleptic Gregorian) calendar, years 0001 to 9999."""

    kind: ClassVar = "calendar-date"
    field: str

    @classmethod
    def of(cls, field: str) -> CalendarDate:
        hint = "check the number of days in the month"
        return cls(field=field, code="MC204", message="this day does not exist", hint=hint)

    def check(self, value: object) -> Sequence[Finding]:
        date = getattr(value, self.field)
        if date is None or isinstance(date, str):
            return () if date is None or _day_exists(date) else (self.finding((self.field,)),)
        return [self.finding((self.field, index)) for index, each in enumerate(date) if not _day_exists(each)]


def _day_exists(date: str) -> bool:
    try:
        datetime.date(int(date[:4]), int(date[5:7]), int(date[8:10]))
    except ValueError:
        return False
    return True


class Limit(RecordRule, frozen=True, kw_only=True):
    """The number is null, or less than `minimum` (or, if `below` is given, not less than `below`).

    `minimum` is the smallest number that breaks the rule. Its name is published with the schemas, so it stays.
    """

    kind: ClassVar = "limit"
    field: str
    minimum: float
    below: float | None = None

    def check(self, value: object) -> Sequence[Finding]:
        number = getattr(value, self.field)
        inside = number is not None and number >= self.minimum and (self.below is None or number < self.below)
        return (self.finding((self.field,)),) if inside else ()

    def all_pass(self, values: Sequence[object]) -> bool:
        numbers = [number for number in map(attrgetter(self.field), values) if number is not None]
        return not numbers or max(numbers) < self.minimum


class Distinct(RecordRule, frozen=True, kw_only=True):
    """No value occurs twice in the list, if it is not null."""

    kind: ClassVar = "distinct"
    field: str

    def check(self, value: object) -> Sequence[Finding]:
        items = getattr(value, self.field)
        if items is None or len(items) < 2 or len(set(items)) == len(items):
            return ()
        return [self.finding((self.field, index)) for index in _repeated(items)]


def _repeated(items: Sequence[object]) -> list[int]:
    """Return the indexes of items that equal an earlier one."""
    seen: set[object] = set()
    found = []
    for index, item in enumerate(items):
        if item in seen:
            found.append(index)
        seen.add(item)
    return found


class Requires(RecordRule, frozen=True, kw_only=True):
    """If a field has content (not null, not blank, not empty), another field must have content, too.

    With `value`, only if the field has that value.
    """

    kind: ClassVar = "requires"
    field: str
    requires: str
    value: str | None = None

    def check(self, value: object) -> Sequence[Finding]:
        mine = getattr(value, self.field)
        applies = has_content(mine) if self.value is None else mine == self.value
        if not applies or has_content(getattr(value, self.requires)):
            return ()
        return (self.finding((self.field,)),)

    def all_pass(self, values: Sequence[object]) -> bool:
        applies = self.value is None or self.value in map(attrgetter(self.field), values)
        return not applies or super().all_pass(values)


class EmptyWhenFailed(RecordRule, frozen=True, kw_only=True):
    """The list is empty if `flag` is false or `text` has content."""

    kind: ClassVar = "empty-when-failed"
    field: str
    flag: str
    text: str

    def check(self, value: object) -> Sequence[Finding]:
        failed = not getattr(value, self.flag) or has_content(getattr(value, self.text))
        return (self.finding((self.field,)),) if failed and getattr(value, self.field) else ()

    def all_pass(self, values: Sequence[object]) -> bool:
        none_failed = all(map(attrgetter(self.flag), values)) and not any(map(attrgetter(self.text), values))
        return none_failed or super().all_pass(values)


class ForbidValue(RecordRule, frozen=True, kw_only=True):
    """The field does not have this value."""

    kind: ClassVar = "forbid-value"
    field: str
    value: bool | str

    def check(self, value: object) -> Sequence[Finding]:
        mine = getattr(value, self.field)
        return (self.finding((self.field,)),) if type(mine) is type(self.value) and mine == self.value else ()


class ForbidPattern(RecordRule, frozen=True, kw_only=True):
    """The string `field`, stripped of blanks, does not match `pattern`; null is the empty string.

    With `items`, of each object of this list.
    """

    kind: ClassVar = "forbid-pattern"
    items: str | None = None
    field: str
    pattern: str

    def check(self, value: object) -> Sequence[Finding]:
        matches = _compiled(self.pattern).search
        if self.items is None:
            text = getattr(value, self.field)
            return (self.finding((self.field,)),) if text and matches(text.strip(BLANKS)) else ()
        return [
            self.finding((self.items, index, self.field))
            for index, item in enumerate(getattr(value, self.items))
            if matches((getattr(item, self.field) or "").strip(BLANKS))
        ]

    def all_pass(self, values: Sequence[object]) -> bool:
        if self.items is None and not any(map(attrgetter(self.field), values)):  # most files have no errors
            return True
        return super().all_pass(values)


_compiled = cache(re.compile)


class AnyAbove(RecordRule, frozen=True, kw_only=True):
    """At least one value of an object of numbers is greater than the bound."""

    kind: ClassVar = "any-above"
    field: str
    above: float

    def check(self, value: object) -> Sequence[Finding]:
        numbers = getattr(value, self.field).values()
        return () if any(number > self.above for number in numbers) else (self.finding((self.field,)),)


class RequireAny(RecordRule, frozen=True, kw_only=True):
    """One of `texts` is not blank, one of `present` is not null, or one of `filled` is not empty.

    Names with a dot refer to fields of nested objects. Reported at `field`.
    """

    kind: ClassVar = "require-any"
    field: str
    texts: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    filled: tuple[str, ...] = ()

    def check(self, value: object) -> Sequence[Finding]:
        found = (
            any(has_content(_inside(value, name)) for name in (*self.texts, *self.filled))
            or any(_inside(value, name) is not None for name in self.present)
        )  # fmt: skip
        return () if found else (self.finding((self.field,)),)


class Disjoint(RecordRule, frozen=True, kw_only=True):
    """No term occurs in two of the lists of strings, compared after `fold`. Within one list it may be repeated.

    Names with a dot refer to fields of nested objects.
    """

    kind: ClassVar = "disjoint"
    fields: tuple[str, ...]

    def check(self, value: object) -> Sequence[Finding]:
        from medcontract.normalizers.folding import fold

        first: dict[str, str] = {}
        return [
            self.finding((*name.split("."), index))
            for name in self.fields
            for index, term in enumerate(_inside(value, name) or ())
            if first.setdefault(fold(term), name) != name
        ]


class UniqueSpellings(RecordRule, frozen=True, kw_only=True):
    """In an object that maps names to lists of spellings, each spelling belongs to one name, compared after `fold`.

    The keys are names, and so are the strings in the lists `names`: a name is a spelling only of itself.
    """

    kind: ClassVar = "unique-spellings"
    field: str
    names: tuple[str, ...] = ()

    def check(self, value: object) -> Sequence[Finding]:
        from medcontract.normalizers.folding import fold

        spellings = getattr(value, self.field) or {}
        listed = (term for name in self.names for term in _inside(value, name) or ())
        owner = {name: name for name in map(fold, (*listed, *spellings))}
        return [
            self.finding((self.field, name, index))
            for name, folded, terms in ((name, fold(name), terms) for name, terms in spellings.items())
            for index, term in enumerate(terms)
            if owner.setdefault(fold(term), folded) != folded
        ]


def _inside(value: object, name: str) -> Any:
    for part in name.split("."):
        if value is None:
            return None
        value = getattr(value, part)
    return value


def has_content(value: object) -> bool:
    """Return whether a value is not absent, null, false, blank or empty. A number always has content, even 0."""
    if isinstance(value, str):
        return bool(value.strip(BLANKS))
    if value is None or value != value:  # noqa: PLR0124  # NaN: a missing value of a table
        return False
    return bool(value) or (value == 0 and not isinstance(value, bool))
