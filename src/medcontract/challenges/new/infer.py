"""Chooses key, types, labels and first metrics for the columns of a truth table.

These are guesses, for a first draft that people read. A column becomes an enumeration, whose values are public, only if
it was asked for; or if it is to be predicted and has few values that all occur often: a rare one may say who it is
about.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from decimal import Decimal
from itertools import combinations
from typing import Any, NamedTuple

from medcontract.challenges.model import MOST_FIELDS, Field, Item
from medcontract.challenges.new.read import Table
from medcontract.challenges.values import LONGEST_NAME, RESERVED_NAMES, is_class, is_name
from medcontract.contracts.suggestions import did_you_mean
from medcontract.errors import CallError
from medcontract.problems import Finding, is_plain, plural

_MOST_LABELS = 20
_MOST_CLASSES = 12
_LEAST_TIMES = 5
"""How often each value of an enumeration occurs, unless it was asked for."""
_LONGEST_CLASS = 40
_LONGEST_KEY = 100
_LONGEST_STR = 100
_MOST_GRADES = 11
_LARGEST = 2**53
_SMALLEST = Decimal("0.000001")
_MOST_RENAMES = 20
_DATA = re.compile(r"[0-9]{3}")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EMPTY = "no value is present"
_SEPARATORS = (";", "|", '["')


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split(" "))


_LABELS = _words(
    "answer answers category class code codes condition diagnoses diagnosis disease effusion finding findings grade "
    "gt label labels los mortality outcome pathology positive present reference response result risk score severity "
    "specialty stage status survival target truth type urgency y"
)
_METADATA = _words(
    "age bmi center centre country cohort dataset date day department ethnicity file filename fold frame gender "
    "height hospital id image index institution language manufacturer modality month name note notes number path race "
    "region remark remarks row scanner session sex site source split study subset time timestamp url uri uuid uid "
    "vendor version view visit ward weight year"
)
_IDS = _words("accession case exam id identifier image key mrn patient record sample series study subject uid uuid")
_PARTS = _words(
    "date day eye frame index laterality lesion level month no number part question region run segment session side "
    "slice time timepoint tooth view visit week year"
)
"""Columns that may be the second part of a compound key."""


class Column(NamedTuple):
    """A column of the table."""

    name: str
    field: Field
    note: str
    """How the type was chosen; never contains a value."""
    is_graded: bool = False
    """Integers that are the steps of a scale."""


class Metric(NamedTuple):
    """A `[[metric]]`, with what it is and is not good for."""

    name: str
    kind: str
    field: str
    parameters: dict[str, Any]
    about: str


class Inferred(NamedTuple):
    """What a challenge file says about a truth table."""

    key: tuple[str, ...]
    labels: tuple[Column, ...]
    """What is to be predicted."""
    others: tuple[Column, ...]
    """What is only in the truth."""
    metrics: tuple[Metric, ...]


class _Unsuitable(Exception):
    """A column that cannot be a field: message and hint."""


def infer(table: Table, classes: Collection[str]) -> tuple[Inferred | None, list[Finding]]:
    """Return the inferred challenge, or the problems of the table. `classes`: columns that are enumerations.

    Raises `CallError` for one that cannot be an enumeration.
    """
    findings = list(_table_findings(table))
    if findings:
        return None, findings
    for name in classes:
        if name not in table.columns:
            known = ", ".join(table.columns)
            raise CallError(f"the table has no column '{name}'", did_you_mean(name, table.columns) or f"it has {known}")
    key = _find_key(table, classes)
    if not key:
        return None, [_no_key(table)]
    names = [name for name in table.columns if name not in key]
    likely = [name for name in names if _is_label(name)] or [name for name in names if not _is_metadata(name)]
    columns = []
    for name in names:
        try:
            columns.append(_column(name, table, name in classes, name in likely))
        except _Unsuitable as unsuitable:
            message, hint = unsuitable.args
            findings.append(Finding("MC103", f"'{name}': {message}", hint, ref=table.header, field=name))
    if findings:
        return None, findings
    labels = _labels(columns)
    if not labels:
        hint = "add a column of classes, booleans, bounded numbers or texts"
        return None, [Finding("MC223", "no column can be compared by a metric", hint, ref=table.header)]
    return Inferred(key, labels, tuple(each for each in columns if each not in labels), first_metrics(labels)), []


# --- tables that cannot be used ---------------------------------------------------------------------------------------


def _table_findings(table: Table) -> Iterator[Finding]:
    if not table.columns or not table.rows:
        yield Finding("MC108", "the table has no records", "add at least one case", ref=table.header)
    elif len(table.columns) == 1:
        hint = "expected a column that identifies each case, and at least one label"
        (only,) = table.columns
        if any(separator in only for separator in ";\t|"):
            hint = "separate columns by commas"
        yield Finding("MC108", "the table has a single column", hint, ref=table.header)
    elif len(table.columns) > MOST_FIELDS:
        hint = "keep the key and the labels: features belong in other files"
        message = f"the table has {plural(len(table.columns), 'column')}, at most {MOST_FIELDS} are allowed"
        yield Finding("MC108", message, hint, ref=table.header)
    else:
        yield from _name_findings(table)


def _name_findings(table: Table) -> Iterator[Finding]:
    names = list(table.columns)
    reserved = RESERVED_NAMES | {"error"}
    wrong = [name for name in names if not is_name(name) or name in reserved]
    if not wrong:
        return
    if 2 * sum(bool(_DATA.search(name)) for name in wrong) >= len(names):
        hint = "use lower-case letters, digits and _, starting with a letter; does the table have a header?"
        yield Finding("MC107", f"{plural(len(wrong), 'invalid column name')}", hint, ref=table.header)
        return
    taken = set(names)
    for name in wrong[:_MOST_RENAMES]:
        new = _renamed(name, taken)
        taken.add(new)
        what = "a reserved name" if name in reserved else "an invalid name"
        shown = f"column {names.index(name) + 1}" + (f", '{name}'," if is_plain(name) else "")
        hint = f"rename it, for example to '{new}'"
        yield Finding("MC107", f"{shown} has {what}", hint, ref=table.header, field=name if is_plain(name) else None)


def _renamed(name: str, taken: set[str]) -> str:
    """A valid name that is similar to an invalid one."""
    import unicodedata

    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    ascii_only = unicodedata.normalize("NFKD", split).encode("ascii", "ignore").decode().lower()
    base = re.sub(r"[^a-z0-9]+", "_", ascii_only).strip("_")[: LONGEST_NAME - 10]
    if not base or not base[0].isalpha():
        base = f"column_{base}".rstrip("_")
    if base in RESERVED_NAMES | {"error"}:
        base += "_value"
    found, number = base, 2
    while found in taken:
        found, number = f"{base}_{number}", number + 1
    return found


# --- the key ----------------------------------------------------------------------------------------------------------


def _find_key(table: Table, classes: Collection[str]) -> tuple[str, ...]:
    """Return the columns that identify a case, by name and content; empty if there are none."""
    usable = [name for name, values in table.columns.items() if name not in classes and _may_identify(values)]
    first = next(iter(table.columns))
    ranked = sorted((rank, usable.index(name), name) for name in usable if (rank := _rank(name, name == first)))
    for _, _, name in ranked:
        if len(set(table.columns[name])) == table.rows:
            return (name,)
    parts = [name for name in usable if _is_id(name) or _parts(name) & (_IDS | _PARTS)]
    for size in (2, 3):
        for names in combinations(parts[:10], size):
            rows = zip(*(table.columns[name] for name in names), strict=True)
            if any(map(_is_id, names)) and len(set(rows)) == table.rows:
                return names
    return ()


def _rank(name: str, is_first: bool) -> int:
    """Return 1 for the most likely name of a key; 0 for a column that is not one."""
    if name in ("case_id", "id"):
        return 1
    if _is_id(name):
        return 2
    if _parts(name) & _IDS:
        return 3
    return 4 if is_first and not _is_label(name) and not _is_metadata(name) else 0


def _may_identify(values: Sequence[Any]) -> bool:
    return all(
        type(value) is int
        or (isinstance(value, str) and value.strip() and len(value) <= _LONGEST_KEY and value.isprintable())
        for value in values
    )


def _no_key(table: Table) -> Finding:
    named = [name for name in table.columns if _is_id(name)]
    if named:
        name = named[0]
        values = [value for value in table.columns[name] if value is not None]
        empty, repeated = table.rows - len(values), len(values) - len(set(map(repr, values)))
        what = [f"{plural(empty, 'value')} missing"] * bool(empty)
        what += [f"{plural(repeated, 'value')} repeated"] * bool(repeated)
        about = f"; in '{name}', {' and '.join(what) or 'the values cannot be ids'}"
    else:
        about = ""
    hint = "add a column of unique ids, such as case_id; or a second one that makes them unique, such as visit"
    return Finding("MC201", f"no column identifies each case{about}", hint, ref=table.header)


# --- names ------------------------------------------------------------------------------------------------------------


def _parts(name: str) -> frozenset[str]:
    return frozenset(name.split("_"))


def _is_id(name: str) -> bool:
    if _parts(name) & {"id", "uid", "uuid", "identifier", "accession", "mrn"}:
        return True
    return name.endswith("id") and name[:-2] in _IDS  # caseid, but not covid


def _is_label(name: str) -> bool:
    return bool(_parts(name) & _LABELS) and not _is_id(name)


def _is_metadata(name: str) -> bool:
    """Return whether a column describes a case, rather than what is to be predicted."""
    return _is_id(name) or (not _is_label(name) and bool(_parts(name) & _METADATA))


# --- types ------------------------------------------------------------------------------------------------------------


def _column(name: str, table: Table, as_classes: bool, may_be_classes: bool) -> Column:
    """Return a column with its type. Raises `_Unsuitable`, and `CallError` if its values cannot be classes."""
    values = table.columns[name]
    present = [value for value in values if value is not None]
    optional = {"optional": len(present) < len(values)}
    if as_classes:
        field = _asked_for(name, present)
        return Column(name, field.model_copy(update=optional), "the only values that are allowed")
    if not present:
        return Column(name, Field(type="text", optional=True), _EMPTY)
    if table.is_text and not _is_id(name):
        present = _typed(present)
    found = _type_of(present, may_be_classes)
    return Column(name, found[0].model_copy(update=optional), *found[1:])


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
        raise _Unsuitable("objects cannot be fields of a challenge", "write each member as a column")
    raise _Unsuitable("the values have different types", "use one type in all records")


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
    return Field(type=_kind_of_list(present), of=Item(one_of=_ordered(items)))


def _ordered(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values), key=lambda value: (value.casefold(), value)))


def _typed(cells: list[str]) -> list[Any]:
    """Return the cells of a CSV as booleans or numbers, if all of them are."""
    if all(cell.lower() in ("true", "false") for cell in cells):
        return [cell.lower() == "true" for cell in cells]
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
            return Field(type=kind, of=Item(one_of=_ordered(items))), note
        return Field(type=kind, of=Item(type="text" if _is_text(items) else "str")), note
    if kinds == {bool}:
        item = Item(type="boolean")
    elif kinds <= {int, float}:
        item = Item(type="integer" if kinds == {int} else "number")
    else:
        raise _Unsuitable("the items of the lists have different types", "use strings, or one type of number")
    return Field(type="list", of=item), "a list; no metric compares lists"


def _kind_of_list(present: list[list[Any]]) -> Any:
    return "set" if all(len(set(each)) == len(each) for each in present) else "list"


# --- labels and metrics -----------------------------------------------------------------------------------------------


def _labels(columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return the columns that are to be predicted: those named like labels, or else all that are not metadata."""
    measurable = [each for each in columns if _metric_of(each) is not None]
    named = [each for each in measurable if _is_label(each.name)]
    others = [each for each in measurable if not _is_metadata(each.name)]
    return tuple((named or others)[:_MOST_LABELS])


def _metric_of(column: Column) -> tuple[str, dict[str, Any], str] | None:
    """Return the kind of metric for a column, its parameters, and a comment; None if there is none."""
    field = column.field
    match field.kind:
        case "one_of":
            return "f1", {"average": "macro"}, "each class counts the same, however rare it is"
        case "boolean":
            return "f1", {"positive": True}, "of the cases that are true; correct negatives do not count"
        case "set":
            return "set_f1", {"average": "cases"}, "the mean over the cases"
        case "text" | "str" if column.note != _EMPTY:
            return "token_f1", {"normalize": "clinical"}, "shared words; ignores case, accents and punctuation"
        case "integer" if column.is_graded:
            return "kappa", {"weights": "quadratic"}, "agreement beyond chance; a miss by two steps costs four times"
        case "integer" | "number" if field.min is not None and field.max is not None:
            worst = max(field.max - field.min, Decimal(1))
            return "mae", {"unprocessed": worst}, "lower is better; an unprocessed case counts the largest error"
    return None


def first_metrics(labels: Sequence[Column]) -> tuple[Metric, ...]:
    """Return one metric for each label."""
    found: list[Metric] = []
    taken = set(RESERVED_NAMES)
    for column in labels:
        chosen = _metric_of(column)
        if chosen is not None:
            kind, parameters, about = chosen
            name = base = kind if len(labels) == 1 else f"{column.name[: LONGEST_NAME - 20]}_{kind}"
            number = 2
            while name in taken:
                name, number = f"{base}_{number}", number + 1
            taken.add(name)
            found.append(Metric(name, kind, column.name, parameters, about))
    return tuple(found)
