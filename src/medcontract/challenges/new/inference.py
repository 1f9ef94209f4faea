"""Chooses key, labels and first metrics for the columns of a truth table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations
from typing import Any, NamedTuple

from medcontract.challenges.check_fields import MOST_FIELDS, reserved_names
from medcontract.challenges.findings import LONGEST_NAME, NAME
from medcontract.challenges.new import vocabulary
from medcontract.challenges.new.profile import Profile, Unsuitable, profile
from medcontract.challenges.new.truth_table import Table
from medcontract.problems import Finding, is_plain, plural

MOST_LABELS = 20
_LONGEST_KEY = 100
_DATA = re.compile(r"[0-9]{3}")
_MOST_RENAMES = 20


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
    labels: tuple[Profile, ...]
    """What is to be predicted."""
    others: tuple[Profile, ...]
    """What is only in the truth."""
    metrics: tuple[Metric, ...]


def infer(table: Table) -> tuple[Inferred | None, list[Finding]]:
    """The inferred challenge, or the problems of the table."""
    findings = list(_table_findings(table))
    if findings:
        return None, findings
    key = find_key(table)
    if not key:
        return None, [_no_key(table)]
    profiles = []
    for name, values in table.columns.items():
        if name not in key:
            try:
                profiles.append(profile(name, values, table.is_text))
            except Unsuitable as unsuitable:
                message, hint = unsuitable.args
                findings.append(Finding("MC103", f"'{name}': {message}", hint, ref=table.header, field=name))
    if findings:
        return None, findings
    labels = _labels(profiles)
    if not labels:
        hint = "add a column of classes, booleans, bounded numbers or texts"
        return None, [Finding("MC223", "no column can be compared by a metric", hint, ref=table.header)]
    return Inferred(key, labels, tuple(each for each in profiles if each not in labels), first_metrics(labels)), []


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
    reserved = reserved_names() | {"error"}
    wrong = [name for name in names if not _is_valid(name) or name in reserved]
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


def _is_valid(name: str) -> bool:
    return NAME.fullmatch(name) is not None and len(name) <= LONGEST_NAME


def _renamed(name: str, taken: set[str]) -> str:
    """A valid name that is similar to an invalid one."""
    import unicodedata

    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    ascii_only = unicodedata.normalize("NFKD", split).encode("ascii", "ignore").decode().lower()
    base = re.sub(r"[^a-z0-9]+", "_", ascii_only).strip("_")[: LONGEST_NAME - 10]
    if not base or not base[0].isalpha():
        base = f"column_{base}".rstrip("_")
    if base in reserved_names() | {"error"}:
        base += "_value"
    found, number = base, 2
    while found in taken:
        found, number = f"{base}_{number}", number + 1
    return found


# --- the key ----------------------------------------------------------------------------------------------------------


def find_key(table: Table) -> tuple[str, ...]:
    """The columns that identify a case, by name and content; empty if there are none."""
    usable = [name for name, values in table.columns.items() if _may_identify(values)]
    first = next(iter(table.columns))
    ranked = sorted((rank, usable.index(name), name) for name in usable if (rank := _rank(name, name == first)))
    for _, _, name in ranked:
        if len(set(table.columns[name])) == table.rows:
            return (name,)
    parts = [name for name in usable if vocabulary.is_id(name) or vocabulary.words(name) & _PART_WORDS]
    for size in (2, 3):
        for names in combinations(parts[:10], size):
            if any(map(vocabulary.is_id, names)) and _is_unique(table, names):
                return names
    return ()


_PART_WORDS = vocabulary.IDS | vocabulary.PARTS


def _rank(name: str, is_first: bool) -> int:
    """1 for the most likely name of a key; 0 for a column that is not one."""
    if name in ("case_id", "id"):
        return 1
    if vocabulary.is_id(name):
        return 2
    if vocabulary.words(name) & vocabulary.IDS:
        return 3
    return 4 if is_first and not vocabulary.is_label(name) and not vocabulary.is_metadata(name) else 0


def _may_identify(values: Sequence[Any]) -> bool:
    return all(
        type(value) is int
        or (isinstance(value, str) and value.strip() and len(value) <= _LONGEST_KEY and value.isprintable())
        for value in values
    )


def _is_unique(table: Table, names: Sequence[str]) -> bool:
    return len(set(zip(*(table.columns[name] for name in names), strict=True))) == table.rows


def _no_key(table: Table) -> Finding:
    named = [name for name in table.columns if vocabulary.is_id(name)]
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


# --- labels and metrics -----------------------------------------------------------------------------------------------


def _labels(profiles: Sequence[Profile]) -> tuple[Profile, ...]:
    """The columns that are to be predicted: those named like labels, or else all that are not metadata."""
    measurable = [each for each in profiles if _metric_of(each) is not None]
    named = [each for each in measurable if vocabulary.is_label(each.name)]
    others = [each for each in measurable if not vocabulary.is_metadata(each.name) and not vocabulary.is_id(each.name)]
    return tuple((named or others)[:MOST_LABELS])


_KAPPA = "kappa", {"weights": "quadratic"}, "agreement beyond chance; to miss by two steps costs four times as much"


def _metric_of(column: Profile) -> tuple[str, dict[str, Any], str] | None:
    """The kind of metric for a column, its parameters, and a comment; None if there is none."""
    field = column.field
    match field.type:
        case "one_of":
            if column.is_ordered:
                return (
                    "kappa",
                    {"weights": "quadratic"},
                    "agreement beyond chance; a miss by two steps costs four times",
                )
            return "f1", {"average": "macro"}, "each class counts the same, however rare it is"
        case "boolean":
            return "f1", {"positive": True}, "of the cases that are true; correct negatives do not count"
        case "set":
            return "set_f1", {"average": "cases"}, "the mean over the cases"
        case "text" | "str":
            if not column.distinct or vocabulary.is_personal(column.name):
                return None
            return "token_f1", {"normalize": "clinical"}, "shared words; ignores case, accents and punctuation"
    return _metric_of_numbers(column)


def _metric_of_numbers(column: Profile) -> tuple[str, dict[str, Any], str] | None:
    field = column.field
    if field.type not in ("integer", "number") or field.min is None or field.max is None:
        return None
    if column.is_ordered:
        return _KAPPA
    worst = max(field.max - field.min, Decimal(1))
    return "mae", {"unprocessed": worst}, "lower is better; an unprocessed case counts the largest possible error"


def first_metrics(labels: Sequence[Profile]) -> tuple[Metric, ...]:
    """One metric for each label."""
    found: list[Metric] = []
    taken = set(reserved_names())
    for column in labels:
        chosen = _metric_of(column)
        if chosen is None:
            continue
        kind, parameters, about = chosen
        name = base = kind if len(labels) == 1 else f"{column.name[: LONGEST_NAME - 20]}_{kind}"
        number = 2
        while name in taken:
            name, number = f"{base}_{number}", number + 1
        taken.add(name)
        found.append(Metric(name, kind, column.name, parameters, about))
    return tuple(found)
