"""Finds the type of a column, with bounds and enumerations."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from medcontract.challenges.definition import Field
from medcontract.challenges.new import vocabulary

MOST_VALUES = 30
"""Of an enumeration."""
_LONGEST_VALUE = 40
_MOST_WORDS = 5
_LONGEST_STR = 100
_LEAST_TIMES = 2
"""How often a value of an enumeration occurs on average, at least: otherwise it may identify a case."""
_MOST_GRADES = 11
_LARGEST = 2**53
_SMALLEST = Decimal("0.000001")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_SEPARATORS = (";", "|", '["')
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Profile(Struct, frozen=True):
    """A column, as a field of the truth."""

    field: Field
    note: str
    """How the type was chosen; never contains a value."""
    is_ordered: bool = False
    """The values are the steps of a scale."""
    distinct: int = 0

    @property
    def name(self) -> str:
        return self.field.name


class Unsuitable(Exception):
    """A column that cannot be a field: message and hint."""


def profile(name: str, values: Sequence[Any], is_text: bool) -> Profile:
    """The type of a column. `is_text`: all values are strings, as in a CSV. Raises `Unsuitable`."""
    present = [value for value in values if value is not None]
    optional = len(present) < len(values)
    if not present:
        return Profile(Field(name=name, type="text", optional=True), "no value is present")
    if is_text and not vocabulary.is_id(name):
        present = _typed(present)
    return _of_kind(Field(name=name, type="text", optional=optional), present)


def _typed(cells: list[str]) -> list[Any]:
    """The cells of a CSV as booleans or numbers, if all of them are."""
    if all(cell.lower() in ("true", "false") for cell in cells):
        return [cell.lower() == "true" for cell in cells]
    if all(_INTEGER.fullmatch(cell) and len(cell) < 300 for cell in cells):
        return [int(cell) for cell in cells]
    if all(_NUMBER.fullmatch(cell) for cell in cells):
        numbers = [float(cell) for cell in cells]
        if all(map(math.isfinite, numbers)):
            return numbers
    return list(cells)


def _of_kind(field: Field, present: list[Any]) -> Profile:
    kinds = {type(value) for value in present}
    if kinds == {bool}:
        return Profile(replace(field, type="boolean"), "true or false", distinct=len(set(present)))
    if kinds <= {int, float}:
        return _number(field, present)
    if kinds == {str}:
        return _string(field, present)
    if kinds == {list}:
        return _list(field, present)
    if dict in kinds:
        raise Unsuitable("objects cannot be fields of a challenge", "write each member as a column")
    raise Unsuitable("the values have different types", "use one type in all records")


# --- numbers ----------------------------------------------------------------------------------------------------------


def _number(field: Field, present: list[Any]) -> Profile:
    finite = [value for value in present if isinstance(value, int) or math.isfinite(value)]
    field = replace(field, type="integer" if all(isinstance(value, int) for value in present) else "number")
    if not finite:
        return Profile(field, "no finite number is present")
    low, high, distinct = min(finite), max(finite), len(set(finite))
    if field.type == "integer" and _are_grades(low, high, distinct):
        note = "the smallest and the largest value of the table"
        return Profile(replace(field, min=Decimal(low), max=Decimal(high)), note, distinct > 1, distinct)
    if max(abs(low), abs(high)) > _LARGEST // 2:
        return Profile(field, "too large for bounds", distinct=distinct)
    smallest, largest = _round_bounds(low, high, field.type)
    return Profile(replace(field, min=smallest, max=largest), "bounds: round numbers, please check", distinct=distinct)


def _are_grades(low: int, high: int, distinct: int) -> bool:
    """Whether integers look like grades: few, and almost all in between occur."""
    return 2 <= distinct <= _MOST_GRADES and high - low < distinct + 2 and abs(low) < 100


def _round_bounds(low: float, high: float, kind: str) -> tuple[Decimal, Decimal]:
    """Round numbers outside of the values: exact extremes would be values of cases."""
    if kind == "number" and low >= 0 and high <= 1:
        return Decimal(0), Decimal(1)
    largest = _round_up(max(abs(low), abs(high)), whole=kind == "integer")
    return (Decimal(0) if low >= 0 else -largest), (Decimal(0) if low < 0 and high <= 0 else largest)


def _round_up(value: float, whole: bool) -> Decimal:
    """The next of 1, 2, 5, 10, 20, …"""
    exact = max(Decimal(value), Decimal(1) if whole else _SMALLEST)
    power = Decimal(1).scaleb(exact.adjusted())
    return next(step * power for step in (1, 2, 5, 10) if step * power >= exact)


# --- strings ----------------------------------------------------------------------------------------------------------


def _string(field: Field, present: list[str]) -> Profile:
    distinct = len(set(present))
    if all(_is_date(value) for value in present):
        return Profile(replace(field, type="date"), "a date; no metric compares dates", distinct=distinct)
    classes, note, is_ordered = _classes(field.name, present)
    if 2 * sum(any(each in value for each in _SEPARATORS) for value in present) >= len(present):
        note = "several labels per cell? Write them as lists in JSON Lines, for the type set"
    if classes:
        return Profile(replace(field, type="one_of", one_of=classes), note, is_ordered, distinct)
    if _is_text(present):
        return Profile(replace(field, type="text"), note or "free text", distinct=distinct)
    return Profile(replace(field, type="str"), note or "short texts, too many or too rare for one_of", False, distinct)


def _is_date(value: str) -> bool:
    if not _DATE.fullmatch(value):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _is_text(values: Sequence[str]) -> bool:
    """Whether values are texts: several lines, long, or blank."""
    return any(len(value) > _LONGEST_STR or "\n" in value or "\r" in value or not value.strip() for value in values)


def _classes(name: str, present: Sequence[str]) -> tuple[tuple[str, ...], str, bool]:
    """The values of an enumeration, a note, and whether they are ordered; no values if it must not be one."""
    times = Counter(present)
    is_label = vocabulary.is_label(name)
    if vocabulary.is_id(name):
        return (), "an id", False
    if vocabulary.is_personal(name):
        return (), "may be about a person: its values are not listed here", False
    if not _are_few(times, is_label) or not all(map(_is_short, times)):
        return (), "", False
    if vocabulary.looks_like_persons(times, is_label):
        return (), "may be names: its values are not listed here", False
    ordered = vocabulary.scale_order(list(times))
    if ordered:
        return tuple(ordered), "from low to high: please check", True
    return tuple(vocabulary.natural_order(times)), "in alphabetical order", False


def _are_few(times: Counter[str], is_label: bool) -> bool:
    """Whether values are few and occur often enough: a value that occurs once may say who it is about."""
    count = len(times)
    if count > MOST_VALUES or times.total() < _LEAST_TIMES * count:
        return False
    if is_label:
        return True
    rare = sum(each == 1 for each in times.values())
    return count > 1 and 4 * rare <= count


def _is_short(value: str) -> bool:
    return len(value) <= _LONGEST_VALUE and value.isprintable() and 0 < len(value.split()) <= _MOST_WORDS


# --- lists ------------------------------------------------------------------------------------------------------------


def _list(field: Field, present: list[list[Any]]) -> Profile:
    items = [item for each in present for item in each]
    kinds = {type(item) for item in items}
    if kinds <= {str}:
        return _set(field, present, items)
    if kinds == {bool}:
        item = Field(name="of", type="boolean")
    elif kinds <= {int, float}:
        item = Field(name="of", type="integer" if kinds == {int} else "number")
    else:
        raise Unsuitable("the items of the lists have different types", "use strings, or one type of number")
    return Profile(replace(field, type="list", of=item), "a list; no metric compares lists")


def _set(field: Field, present: list[list[str]], items: list[str]) -> Profile:
    classes, note, _ = _classes(field.name, items) if items else ((), "", False)
    if classes:
        item = Field(name="of", type="one_of", one_of=classes)
    else:
        item = Field(name="of", type="text" if _is_text(items) else "str")
    if any(len(set(each)) < len(each) for each in present):
        return Profile(replace(field, type="list", of=item), "a list: an item is repeated; no metric compares lists")
    return Profile(replace(field, type="set", of=item), note or "a list without repetition")
