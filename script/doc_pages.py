"""Documentation pages that are generated from the code: docs/codes.md and docs/challenge-reference.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from medcontract.catalog import problem_codes
from medcontract.challenges.model import (
    BOUNDS,
    MOST_FIELDS,
    MOST_METRICS,
    MOST_RULES,
    MOST_VALUES,
    TYPES,
    GateEntry,
)
from medcontract.challenges.rules import RULE_CODE, RULE_KINDS
from medcontract.scoring.metrics import KINDS, MOST_CLASSES, MetricKind, MetricParameter

_KEYS = {
    "id": "the id of the track: lower-case letters, digits and `-`; not the id of a built-in track. Required",
    "title": "a title for people. Default: the id",
    "version": "an integer of at least 1, part of the fingerprint. Default: 1",
    "about": "a description",
    "key": "the field that identifies a case, or a list of fields that do so together. Key fields are `str`. Required",
    "prediction": "the fields of a prediction besides the key and `error`. Required",
    "truth": "the fields of the truth besides the key. Required",
    "rule": "what types cannot express; any number of them",
    "metric": "what is measured; at least one",
    "score": "`headline`, the metric, mean or sum that submissions are ranked by (required); `means` of metrics: "
    '`overall = ["macro_f1", "auroc"]`; and `sums`, weighted sums of metrics and means by name: '
    "`total = { macro_f1 = 0.7, mae = -0.01 }`. What is better when lower needs a negative weight; weights need not "
    "add up to 1. `tie_breakers` lists figures that decide between equal headlines, each in its own direction; what is "
    "still equal shares a rank",
    "gate": f"`min_processed`, the smallest share of processed cases. Default: {GateEntry().min_processed}",
    "phases": "`public`, the share of the cases, or of the clusters, that belong to the public phase (see "
    "[organizing.md](organizing.md#phases))",
    "uncertainty": "`intervals`: `true` gives every score intervals (see [uncertainty.md](uncertainty.md)); `cluster`: "
    "the field of the truth, such as the id of a patient, whose cases are not independent of each other",
}
_TYPES = {
    "text": "any string",
    "str": "a string that is not blank",
    "integer": "an integer; `2.0` is one",
    "number": "a number",
    "boolean": "true or false; in tables also in capitals, or 1 and 0",
    "date": "a date of the calendar, such as `2026-03-14`",
    "set": "a list without repetition",
    "list": "a list",
}
_FIELD_KEYS = {
    "type": "one of the types above",
    "one_of": "the allowed strings, instead of a type. `kappa` uses their order",
    "of": "the items of a set or list: `{ one_of = […] }`, or a type with its bounds",
    "separator": "of a set or list of strings: what separates the items where it is one cell of a table, such as "
    '`"|"`. An empty cell is the empty list',
    "min": "the smallest number",
    "max": "the largest number",
    "min_length": "the smallest number of characters or items",
    "max_length": "the largest number of characters or items",
    "pattern": "a regular expression for the complete string, without line breaks; a `^` at its start and a `$` at its "
    "end mean nothing more",
    "optional": "`true`: may be null or absent. In the prediction, null counts as unprocessed for the metrics of the "
    "field; in the truth, the case is left out of them",
    "about": "the description in the schema",
}
_RULES = {
    "sum": "the items of a list add up to at least `minimum` and at most `maximum`",
    "order": "the second number is not less than the first",
    "limit": "a number is less than `minimum`; or, if that is given, at least `below`",
    "distinct": "no item of a list is repeated",
    "requires": "if `field` has content (or equals `value`, if that is given), `requires` has content, too",
    "unique": "the fields are different in each record",
    "constant": "a field is the same in all records, ignoring case",
    "monotonic": "a number does not decrease, in the order of another one",
}
_INTRODUCTION = """\
# Reference of challenge files

Generated from the tables that `medcontract challenge check` uses. To get started, read
[your-own-challenge.md](your-own-challenge.md); [which-metric.md](which-metric.md) helps to choose metrics.

A challenge file is TOML. Names of fields consist of letters (of any script), digits and `_`, and start with a letter:
take the columns of your tables as they are. Names of metrics, means and sums have lower-case letters only, and differ
from each other. A number has at most 17 significant digits. Unknown keys are errors.
"""
_ABOUT_FIELDS = """\
## Fields

Each line of `[prediction]` and `[truth]` is a field: `age = { type = "integer", min = 0 }`.
"""
_ABOUT_RULES = f"""\
## Rules

A `[[rule]]` has a `kind` and these keys. It applies to all lists with its fields, or only to one of them with
`within = "predictions"` or `within = "truth"`. `message`, `hint`, `severity` (`"error"` or `"warning"`) and `code`
(one of MC2xx, by default {RULE_CODE}) change what is reported. A record in which `field` is null satisfies
the rule. [schemas/README.md](../schemas/README.md) describes each kind exactly.
"""
_ABOUT_METRICS = """\
## Metrics

A `[[metric]]` has a `name`, a `kind`, a `field` of the prediction, and the parameters of its kind; `about` describes
it. The truth has a field with the same name and type, except for kinds with a positive case.

With `for = ["edema", "effusion"]` a metric is repeated for each: `{}` in `field`, and in the fields of
`positive`, `event` and `time`, is replaced by each name. They are called `NAME_edema` and `NAME_effusion`, and `NAME`
is their mean.

y is the truth, p the prediction, over all expected cases. Results are exact, rounded once at the end, and do not depend
on the order of records. An unprocessed case has no record, an invalid one, a failed one, or more than one.
"""
_UNDEFINED = """\
A metric is also undefined if the truth has no value of its field. Undefined figures are null, with a reason.
"""
_CONTRACTS = f"""\
## What the file defines

| contract | content |
|---|---|
| `ID/predictions` | a submission: `team_name`, and a list `predictions` |
| `ID/truth` | a list `truth` |
| `ID/cases` | a list `cases`: the key, and any other columns; for those who do not have the truth |
| `ID/score` | the result of `medcontract score --result-only` |

All containers are allowed (`.json`, `.jsonl`, `.csv`, `.parquet`, gzipped ones), but tables cannot store fields of type
`set` or `list` without a `separator`; only `.json` has a `team_name`. A prediction is either answered, or failed: then
it has `error`, a string, and no other field besides the key. In CSV, an empty cell is null; for a `text` or a field
with a `separator` it is the empty text or list, unless the record has an `error`.

If the columns of the truth and of the predictions are the same, a file can be either: another file of the call decides,
or you name it, as `ID/truth=truth.csv` or `ID/predictions=FOLDER`.

The result has `metrics`, `means` (if there are any), `sums` and `headline`.
`undefined` has the reason for each null, `left_out` the number of
cases without a true value by metric. `by_class` and `confusion_matrix` (for at most {MOST_CLASSES} classes, none of
them called `unprocessed`) are not shown to participants.

Every number of the file is a parameter of the protocol, so `--parameter` changes it, and the fingerprint with it:
`min_processed`, `sums.NAME.METRIC`, `metric.NAME.KEY`, `metric.NAME.weights.CLASS` (0 if it is not in the file).

## Limits

1 MB per file, {MOST_FIELDS} fields, {MOST_METRICS} metrics and sums, {MOST_RULES} rules,
{MOST_VALUES:,} values of an enumeration.
"""


def reference_page() -> str:
    """Return `docs/challenge-reference.md`, from the tables that challenge files are checked with."""
    return "\n".join((
        _INTRODUCTION,
        "## Keys of the file\n",
        *_table(("key", "meaning"), ((f"`{key}`", about) for key, about in _KEYS.items())),
        _ABOUT_FIELDS,
        *_table(("type", "values", "bounds"), map(_type, TYPES)),
        *_table(("key", "meaning"), ((f"`{key}`", about) for key, about in _FIELD_KEYS.items())),
        _ABOUT_RULES,
        *_table(("kind", "satisfied if", "keys"), map(_rule, RULE_KINDS)),
        _ABOUT_METRICS,
        *_table(("kind", "type of the field", "formula", "better", "range"), map(_kind, KINDS.values())),
        *_table(("kind", "an unprocessed case", "undefined if"), map(_unprocessed, KINDS.values())),
        _UNDEFINED,
        *_table(("kind", "parameter", "value", "meaning"), _parameters()),
        _CONTRACTS,
    ))  # fmt: skip


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [*(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in lines), ""]


def _code(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _type(name: str) -> tuple[str, str, str]:
    return f"`{name}`", _TYPES[name], _code(BOUNDS.get(name, ()))


def _rule(name: str) -> tuple[str, str, str]:
    kind = RULE_KINDS[name]
    keys = [
        f"`{key}`{f' ({types})' if (types := ', '.join(kind.fields.get(key, ()))) else ''}"
        f"{', optional' if key in kind.optional else ''}"
        for key in (*kind.fields, *kind.numbers, *kind.texts)
    ]
    return f"`{name}`", _RULES[name], "; ".join(keys)


def _kind(kind: MetricKind) -> tuple[str, str, str, str, str]:
    types = ", ".join(kind.types)
    if kind.bounds == "unit interval":
        types += " with bounds within 0 and 1"
    elif kind.bounds == "integer":
        types += " (an integer needs `min` and `max`)"
    low, high = ("" if bound is None else f"{bound}" for bound in (kind.low, kind.high))
    limits = f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}"
    return f"`{kind.name}`", types, kind.about, "higher" if kind.higher_is_better else "lower", limits


def _unprocessed(kind: MetricKind) -> tuple[str, str, str]:
    return f"`{kind.name}`", kind.unprocessed, kind.undefined or "never"


def _parameters() -> Iterator[tuple[str, str, str, str]]:
    """The parameters; kinds with the same ones share their rows."""
    shared: dict[tuple[MetricParameter, ...], list[MetricKind]] = {}
    for kind in KINDS.values():
        shared.setdefault(kind.parameters, []).append(kind)
    for parameters, kinds in shared.items():
        for parameter in parameters:
            yield (
                _code(kind.name for kind in kinds),
                f"`{parameter.name}`",
                _value(parameter, kinds[0]),
                parameter.about,
            )


def _value(parameter: MetricParameter, kind: MetricKind) -> str:
    low, high = parameter.between or (None, None)
    number = "a number" if low is None else f"a number above {low}" + ("" if high is None else f" and below {high}")
    values = {
        "choice": _code(f'"{choice}"' for choice in parameter.choices),
        "number": number,
        "class": "a class: a string, or true or false",
        "class weights": "`{ class = weight, … }`",
        "costs": "`{ true class = { predicted class = cost, … }, … }`",
        "time": "a number or integer of the truth",
        "function": "a string",
        "positive case": "`{ field = …, is = … }`",
    }
    need = "required" if parameter.required else ""
    if parameter.name in kind.exactly_one:
        need = f"exactly one of {_code(kind.exactly_one)}"
    elif parameter.default:
        need = f'default `"{parameter.default}"`' if parameter.choices else f"default {parameter.default}"
    return values[parameter.value] + (f"; {need}" if need else "")


_GROUPS = {
    "0": "MC0xx: file and syntax",
    "1": "MC1xx: structure",
    "2": "MC2xx: rules within a file",
    "3": "MC3xx: rules across files",
    "4": "MC4xx: gates",
    "5": "MC5xx: advice",
}


def codes_page() -> str:
    """Return `docs/codes.md`: the catalog."""
    lines = [
        "# Problem codes",
        "",
        "Generated from `src/medcontract/codes.toml`; `medcontract explain CODE` shows the same. Codes are stable:",
        "they do not change their meaning and are never reused. Plugins can define codes with another prefix and the",
        "same ranges, which `medcontract explain --plugin MODULE CODE` explains.",
        "",
    ]
    group = ""
    for entry in problem_codes().values():
        if entry.code[2] != group:
            group = entry.code[2]
            lines += [f"## {_GROUPS[group]}", ""]
        lines += [f"### {entry.code} {entry.title}", "", entry.meaning, ""]
        lines += ["Wrong:", "", *_block(entry.mistake), "", "Right:", "", *_block(entry.fix), ""]
    return "\n".join(lines)


def _block(text: str) -> list[str]:
    return ["```", *text.splitlines(), "```"]
