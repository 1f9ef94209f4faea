"""Finds the type of a column of a truth table, with bounds and enumerations."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from medcontract.challenges.model import Field, FieldItem
from medcontract.challenges.new.read import TruthTable
from medcontract.challenges.values import is_class
from medcontract.errors import CallError

EMPTY = "no value is present"
IDS = frozenset({
    "accession", "case", "exam", "id", "identifier", "image", "key", "mrn", "patient", "record", "sample", "series",
    "study", "subject", "uid", "uuid",
})  # fmt: skip
"""Words in names of columns that identify something."""
_MOST_CLASSES = 12
_LEAST_TIMES = 5
"""How often each value of an enumeration occurs, unless it was asked for."""
_LONGEST_CLASS = 40
_LONGEST_STR = 100
_MOST_GRADES = 11
_LARGEST = 2**53
_SMALLEST = Decimal("0.000001")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SEPARATORS = (";", "|", '["')


class InferredColumn(NamedTuple):
    """A column of the table."""

    name: str
    field: Field
    note: str
    """How the type was chosen; never contains a value."""
    is_graded: bool = False
    """Integers that are the steps of a scale."""


class Unsuitable(Exception):
    """A column that cannot be a field: message and hint."""


def is_id(name: str) -> bool:
    """Return whether a column is named like an id."""
    parts = parts_of(name)
    if set(parts) & {"id", "uid", "uuid", "identifier", "accession", "mrn"}:
        return True
    return any(part.endswith("id") and part[:-2] in IDS for part in parts)  # caseid, but not covid


def parts_of(name: str) -> list[str]:
    """Return the words of a name, in lower case."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")


def infer_column(name: str, table: TruthTable, as_classes: bool, may_be_classes: bool) -> InferredColumn:
    """Return a column with its type. Raises `Unsuitable`, and `CallError` if its values cannot be classes."""
    values = table.columns[name]
    present = [value for value in values if value is not None]
    optional = {"optional": len(present) < len(values)}
    if as_classes:
        field = _asked_for(name, present)
        return InferredColumn(name, field.model_copy(update=optional), "the only values that are allowed")
    if not present:
        return InferredColumn(name, Field(type="text", optional=True), EMPTY)
    if table.is_text and not is_id(name):
        present = _typed(present)
    found = _type_of(present, may_be_classes)
    return InferredColumn(name, found[0].model_copy(update=optional), *found[1:])


def _type_of(present: list[Any], may_be_classes: bool) -> tuple[Field, str] | tuple[Field, str, bool]:
    """Return the type of values, a note, and whether they are the steps of a scale."""
    kinds = {type(value) for value in present}
    if kinds == {bool}:
        return Field(type="boolean"), "true or false"
    if kinds <= {int, float}:
        return _number(present)
    if kinds == {str}:
        return _string(present, may_be_classes)
    if kinds == {list}:
        return _list(present, may_be_classes)
    if dict in kinds:
        raise Unsuitable("objects cannot be fields of a challenge", "write each member as a column")
    raise Unsuitable("the values have different types", "use one type in all records")


def _asked_for(name: str, present: list[Any]) -> Field:
    """Return an enumeration of the values, or a set of these. Raises `CallError` if they cannot be classes."""
    nested = bool(present) and all(isinstance(value, list) for value in present)
    items = [item for value in present for item in value] if nested else present
    if not items or not all(isinstance(item, str) and is_class(item) for item in items):
        raise CallError(
            f"'{name}' cannot be an enumeration", "its values must be short strings of one line", flag="--classes"
        )
    if not nested:
        return Field(one_of=_ordered(items))
    return Field(type=_kind_of_list(present), of=FieldItem(one_of=_ordered(items)))


def _ordered(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values), key=lambda value: (value.casefold(), value)))


def _typed(cells: list[str]) -> list[Any]:
    """Return the cells of a CSV as booleans or numbers, if all of them are. 0 and 1 are booleans if both occur."""
    known = {cell.lower() for cell in cells}
    if known <= {"true", "false"} or known == {"0", "1"}:
        return [cell.lower() in ("true", "1") for cell in cells]
    if all(_INTEGER.fullmatch(cell) and len(cell) < 300 for cell in cells):
        return [int(cell) for cell in cells]
    if all(_NUMBER.fullmatch(cell) for cell in cells):
        numbers = [float(cell) for cell in cells]
        if all(map(math.isfinite, numbers)):
            return numbers
    return list(cells)


def _number(present: list[Any]) -> tuple[Field, str, bool]:
    kind: Any = "integer" if all(isinstance(value, int) for value in present) else "number"
    finite = [value for value in present if isinstance(value, int) or math.isfinite(value)]
    if not finite:
        return Field(type=kind), "no finite number is present", False
    low, high, distinct = min(finite), max(finite), len(set(finite))
    if kind == "integer" and 2 <= distinct <= _MOST_GRADES and high - low < distinct + 2 and abs(low) < 100:
        return Field(type=kind, min=low, max=high), "the smallest and the largest value of the table", True
    if max(abs(low), abs(high)) > _LARGEST // 2:
        return Field(type=kind), "too large for bounds", False
    smallest, largest = _round_bounds(low, high, kind)
    return Field(type=kind, min=smallest, max=largest), "bounds: round numbers, please check", False


def _round_bounds(low: float, high: float, kind: str) -> tuple[Decimal, Decimal]:
    """Return round numbers outside of the values: exact extremes would be values of cases."""
    if kind == "number" and low >= 0 and high <= 1:
        return Decimal(0), Decimal(1)
    exact = max(Decimal(max(abs(low), abs(high))), Decimal(1) if kind == "integer" else _SMALLEST)
    power = Decimal(1).scaleb(exact.adjusted())
    largest = next(step * power for step in (1, 2, 5, 10) if step * power >= exact)
    return (Decimal(0) if low >= 0 else -largest), (Decimal(0) if low < 0 and high <= 0 else largest)


def _string(present: list[str], may_be_classes: bool) -> tuple[Field, str]:
    if all(map(_is_date, present)):
        return Field(type="date"), "a date; no metric compares dates"
    if may_be_classes and _are_classes(present):
        return Field(one_of=_ordered(present)), "in alphabetical order"
    kind: Any = "text" if _is_text(present) else "str"
    if 2 * sum(any(each in value for each in _SEPARATORS) for value in present) >= len(present):
        return Field(type=kind), "several labels per cell? Write them as lists in JSON Lines, for the type set"
    return Field(type=kind), "free text" if kind == "text" else "not one_of: pass --classes to list its values"


def _is_date(value: str) -> bool:
    if not _DATE.fullmatch(value):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _is_text(values: Sequence[str]) -> bool:
    """Return whether values are texts: several lines, long, or blank."""
    return any(len(value) > _LONGEST_STR or "\n" in value or "\r" in value or not value.strip() for value in values)


def _are_classes(values: Sequence[str]) -> bool:
    """Return whether values are short, few, and all occur often: a rare one may say who it is about."""
    times = Counter(values)
    if not times or len(times) > _MOST_CLASSES or min(times.values()) < _LEAST_TIMES:
        return False
    return all(is_class(value) and len(value) <= _LONGEST_CLASS for value in times)


def _list(present: list[list[Any]], may_be_classes: bool) -> tuple[Field, str]:
    items = [item for each in present for item in each]
    kinds = {type(item) for item in items}
    if kinds <= {str}:
        kind = _kind_of_list(present)
        note = "a list without repetition" if kind == "set" else "a list: an item is repeated; no metric compares lists"
        if may_be_classes and _are_classes(items):
            return Field(type=kind, of=FieldItem(one_of=_ordered(items))), note
        return Field(type=kind, of=FieldItem(type="text" if _is_text(items) else "str")), note
    if kinds == {bool}:
        item = FieldItem(type="boolean")
    elif kinds <= {int, float}:
        item = FieldItem(type="integer" if kinds == {int} else "number")
    else:
        raise Unsuitable("the items of the lists have different types", "use strings, or one type of number")
    return Field(type="list", of=item), "a list; no metric compares lists"


def _kind_of_list(present: list[list[Any]]) -> Any:
    return "set" if all(len(set(each)) == len(each) for each in present) else "list"
