"""Chooses key, types, labels and first metrics for the columns of a truth table.

These are guesses, for a first draft that people read. A column becomes an enumeration, whose values are public, only if
it was asked for; or if it is to be predicted and has few values that all occur often: a rare one may say who it is
about.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from medcontract.challenges.model import MOST_FIELDS
from medcontract.challenges.new.columns import EMPTY, IDS, InferredColumn, Unsuitable, infer_column, is_id, parts_of
from medcontract.challenges.new.read import TruthTable
from medcontract.challenges.values import LONGEST_NAME, RESERVED_NAMES, is_field_name
from medcontract.contracts.suggestions import did_you_mean
from medcontract.errors import CallError, option, words
from medcontract.problems import Finding, is_plain, plural

_MOST_LABELS = 20
_LONGEST_KEY = 100
_MOST_RENAMES = 20
_DATA = re.compile(r"[0-9]{3}")


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
_FILES = _words("dicom file filename image name path slide")
"""Columns that are different for each case."""


class DraftMetric(NamedTuple):
    """A `[[metric]]`, with what it is and is not good for."""

    name: str
    kind: str
    field: str
    parameters: dict[str, Any]
    about: str


class Inferred(NamedTuple):
    """What a challenge file says about a truth table."""

    key: tuple[str, ...]
    labels: tuple[InferredColumn, ...]
    """What is to be predicted."""
    others: tuple[InferredColumn, ...]
    """What is only in the truth."""
    metrics: tuple[DraftMetric, ...]


def infer(table: TruthTable, classes: Collection[str], key: tuple[str, ...]) -> tuple[Inferred | None, list[Finding]]:
    """Return the inferred challenge, or the problems of the table.

    `classes` are columns that are enumerations, `key` columns that identify a case: by default, one is found. Raises
    `CallError` for columns that do not exist, or cannot be enumerations.
    """
    findings = list(_table_findings(table))
    if findings:
        return None, findings
    for name in (*classes, *key):
        if name not in table.columns:
            known = ", ".join(table.columns)
            raise CallError(f"the table has no column '{name}'", did_you_mean(name, table.columns) or f"it has {known}")
    if not _are_unique(table, key := key or _find_key(table, classes)):
        return None, [_no_key(table, key)]
    names = [name for name in table.columns if name not in key]
    likely = [name for name in names if _is_label(name)] or [name for name in names if not _is_metadata(name)]
    columns = []
    for name in names:
        try:
            columns.append(infer_column(name, table, name in classes, name in likely))
        except Unsuitable as unsuitable:
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


def _table_findings(table: TruthTable) -> Iterator[Finding]:
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


def _name_findings(table: TruthTable) -> Iterator[Finding]:
    names = list(table.columns)
    reserved = RESERVED_NAMES | {"error"}
    wrong = [name for name in names if not is_field_name(name) or name in reserved]
    if not wrong:
        return
    if 2 * sum(bool(_DATA.search(name)) for name in wrong) >= len(names):
        hint = "use letters, digits and _, starting with a letter; does the table have a header?"
        yield Finding("MC107", f"{plural(len(wrong), 'invalid column name')}", hint, ref=table.header)
        return
    taken = set(names)
    for name in wrong[:_MOST_RENAMES]:
        new = _slug(name, taken | reserved)
        taken.add(new)
        what = "a reserved name" if name in reserved else "an invalid name"
        shown = f"column {names.index(name) + 1}" + (f", '{name}'," if is_plain(name) else "")
        hint = f"rename it, for example to '{new}'"
        yield Finding("MC107", f"{shown} has {what}", hint, ref=table.header, field=name if is_plain(name) else None)


def _slug(name: str, taken: Collection[str]) -> str:
    """Return a valid name of a metric, which is also one of a field, that is similar to another name."""
    import unicodedata

    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    ascii_only = unicodedata.normalize("NFKD", split).encode("ascii", "ignore").decode().lower()
    base = re.sub(r"[^a-z0-9]+", "_", ascii_only).strip("_")[: LONGEST_NAME - 10]
    if not base or not base[0].isalpha():
        base = f"column_{base}".rstrip("_")
    found, number = base, 2
    while found in taken:
        found, number = f"{base}_{number}", number + 1
    return found


# --- the key ----------------------------------------------------------------------------------------------------------


def _find_key(table: TruthTable, classes: Collection[str]) -> tuple[str, ...]:
    """Return the column that identifies a case, by name and content; empty if there is none."""
    usable = [name for name, values in table.columns.items() if name not in classes and _may_identify(values)]
    first = next(iter(table.columns))
    ranked = sorted((rank, usable.index(name), name) for name in usable if (rank := _rank(name, name == first)))
    for _, _, name in ranked:
        if _are_unique(table, (name,)):
            return (name,)
    return ()


def _are_unique(table: TruthTable, key: tuple[str, ...]) -> bool:
    values = [table.columns[name] for name in key]
    return bool(key) and all(map(_may_identify, values)) and len(set(zip(*values, strict=True))) == table.rows


def _rank(name: str, is_first: bool) -> int:
    """Return 1 for the most likely name of a key, more for others; 0 for a label."""
    if name.lower() in ("case_id", "id"):
        return 1
    if is_id(name):
        return 2
    if _parts(name) & IDS:
        return 3
    if _is_label(name):
        return 0
    return 4 if is_first else 5 if _parts(name) & _FILES else 6


def _may_identify(values: Sequence[object]) -> bool:
    return all(
        type(value) is int
        or (isinstance(value, str) and value.strip() and len(value) <= _LONGEST_KEY and value.isprintable())
        for value in values
    )


def _no_key(table: TruthTable, key: tuple[str, ...]) -> Finding:
    named = key or [name for name in table.columns if is_id(name)]
    if named:
        name = named[0]
        values = [value for value in table.columns[name] if value is not None]
        empty, repeated = table.rows - len(values), len(values) - len(set(map(repr, values)))
        what = [f"{plural(empty, 'value')} missing"] * bool(empty)
        what += [f"{plural(repeated, 'value')} repeated"] * bool(repeated)
        about = f"; in '{name}', {' and '.join(what) or 'the values cannot be ids'}"
    else:
        about = ""
    hint = words("add a column of unique ids, or name several that are unique together: ", option("--key", "COLUMN"))
    start = "the key does not identify each case" if key else "no column identifies each case"
    return Finding("MC201", f"{start}{about}", hint, ref=table.header)


# --- names ------------------------------------------------------------------------------------------------------------


def _parts(name: str) -> frozenset[str]:
    """Return the words of a name, in lower case: `image_name`, `imageName` and `ImageName` have the same."""
    return frozenset(parts_of(name))


def _is_label(name: str) -> bool:
    return bool(_parts(name) & _LABELS) and not is_id(name)


def _is_metadata(name: str) -> bool:
    """Return whether a column describes a case, rather than what is to be predicted."""
    return is_id(name) or (not _is_label(name) and bool(_parts(name) & _METADATA))


# --- labels and metrics -----------------------------------------------------------------------------------------------


def _labels(columns: Sequence[InferredColumn]) -> tuple[InferredColumn, ...]:
    """Return the columns that are to be predicted: classes, and those named like labels; or else all but metadata."""
    measurable = [each for each in columns if _metric_of(each) is not None and not _is_metadata(each.name)]
    likely = [each for each in measurable if _is_label(each.name) or each.field.kind in ("boolean", "one_of")]
    return tuple((likely or measurable)[:_MOST_LABELS])


def _metric_of(column: InferredColumn) -> tuple[str, dict[str, Any], str] | None:
    """Return the kind of metric for a column, its parameters, and a comment; None if there is none."""
    field = column.field
    match field.kind:
        case "one_of":
            return "f1", {"average": "macro"}, "each class counts the same, however rare it is"
        case "boolean":
            return "f1", {"positive": True}, "of the cases that are true; correct negatives do not count"
        case "set":
            return "set_f1", {"average": "cases"}, "the mean over the cases"
        case "text" | "str" if column.note != EMPTY:
            return "token_f1", {"normalize": "clinical"}, "shared words; ignores case, accents and punctuation"
        case "integer" if column.is_graded:
            return "kappa", {"weights": "quadratic"}, "agreement beyond chance; a miss by two steps costs four times"
        case "integer" | "number" if field.min is not None and field.max is not None:
            worst = max(field.max - field.min, Decimal(1))
            return "mae", {"unprocessed": worst}, "lower is better; an unprocessed case counts the largest error"
    return None


def first_metrics(labels: Sequence[InferredColumn]) -> tuple[DraftMetric, ...]:
    """Return one metric for each label."""
    found: list[DraftMetric] = []
    taken = set(RESERVED_NAMES)
    for column in labels:
        chosen = _metric_of(column)
        if chosen is not None:
            kind, parameters, about = chosen
            name = _slug(kind if len(labels) == 1 else f"{column.name[: LONGEST_NAME - 20]}_{kind}", taken)
            taken.add(name)
            found.append(DraftMetric(name, kind, column.name, parameters, about))
    return tuple(found)
