"""Writes the text of a challenge file, with comments that explain it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from medcontract.challenges.model import Gate, Item
from medcontract.challenges.new.columns import Column
from medcontract.challenges.new.infer import Inferred, Metric
from medcontract.problems import plural
from medcontract.scoring.metrics import KINDS

_WIDTH = 100

_HEAD = """\
# A challenge for medcontract: contracts, preflight, scores and a leaderboard, defined by this file.
# Check it:  medcontract challenge check challenge.toml
# Lines that start with # and no space are options that are not used: remove the # to use them.
"""
_OPTIONAL_FIELDS = """\
#example_probability = { type = "number", min = 0, max = 1, optional = true, about = "may be null, or left out" }
#example_days = { type = "integer", min = 0 }
#example_days_in_icu = { type = "integer", min = 0 }
#example_code = { type = "str", pattern = "[A-Z][0-9]{2}" }     # one line, not blank; the pattern is that of all of it
#example_summary = { type = "text", max_length = 2000 }         # any text
#example_positive = { type = "boolean" }
#example_seen_on = { type = "date" }                            # such as 2026-03-14
#example_findings = { type = "set", of = { one_of = ["edema", "shift"] } }  # a list without repetition
#example_doses = { type = "list", of = { type = "number" }, min_length = 1, max_length = 10 }
"""
_OPTIONAL_TRUTH = """\
#example_positive = { type = "boolean" }
#example_days = { type = "integer", min = 0 }
"""
_OPTIONAL_RULE = """\
# Rules that types cannot express. The kinds are: sum, order, limit, distinct, requires, unique, constant, monotonic.
#[[rule]]
#kind = "order"                     # the second is not less than the first
#fields = ["example_days_in_icu", "example_days"]
#within = "predictions"             # or "truth"; without it, both where they have the fields
#message = "more days in the ICU than in the hospital"
#hint = "check the unit"
#severity = "warning"               # the record stays valid; without it, it is an error
"""
_OPTIONAL_METRICS = """\
#[[metric]]
#name = "example_auroc"
#kind = "auroc"                      # does the score rank positive cases higher? Says nothing about calibration
#field = "example_probability"
#positive = { field = "example_positive", is = true }   # a field of the truth, and its positive value

#[[metric]]
#name = "example_within"
#kind = "within"
#field = "example_days"
#absolute = 1                        # or relative = 0.05, for 5 %
"""
_GATE = f"""\
[gate]
min_processed = {Gate().min_processed}                # submissions with a smaller share of processed cases are refused
"""


def draft(inferred: Inferred, challenge_id: str, title: str, rows: int | None) -> str:
    """The text of a challenge file. `rows`: of the truth table that it was inferred from, if any."""
    return "\n".join(
        (
            _HEAD + _origin(rows),
            _identity(inferred, challenge_id, title),
            _prediction(inferred),
            _truth(inferred),
            _OPTIONAL_RULE,
            _metrics(inferred.metrics),
            _score(inferred.metrics),
            _GATE,
        )
    )


def _origin(rows: int | None) -> str:
    if rows is None:
        return "# The fields are made up: replace them by yours.\n"
    return f"""\
#
# Inferred from a table of {plural(rows, "case")}: types, values and bounds are guesses, so please read every line.
# The values of one_of are part of the contract, hence public. No other value of the table is in this file or in the
# example files, which are made up.
"""


def _identity(inferred: Inferred, challenge_id: str, title: str) -> str:
    key = inferred.key[0] if len(inferred.key) == 1 else list(inferred.key)
    compound = 'what identifies a case; ["patient_id", "visit"] would be a compound key'
    if len(inferred.key) > 1:
        compound = "what identifies a case: together, these are unique"
    return _aligned(
        (
            (f"id = {_toml(challenge_id)}", f"the contracts are {challenge_id}/predictions, /truth, /cases and /score"),
            (f"title = {_toml(title)}", "for people"),
            ('#about = "What the challenge is about"', ""),
            ("version = 1", "increase it when you change the challenge after it was published"),
            (f"key = {_toml(key)}", compound),
        )
    )


def _prediction(inferred: Inferred) -> str:
    lines = _aligned((_field_line(column, prediction=True), column.note) for column in inferred.labels)
    return f"""\
# What participants predict, besides the key. For a case that failed they write `error` instead of these.
[prediction]
{lines}{_OPTIONAL_FIELDS}"""


def _truth(inferred: Inferred) -> str:
    labels = ((_field_line(column), "as in the prediction") for column in inferred.labels)
    others = ((_field_line(column), f"not predicted; {column.note}") for column in inferred.others)
    return f"""\
# What is true. Never given to participants: they get the cases, which are the keys and what a model needs.
# A case whose value is null is left out of the metrics of that field.
[truth]
{_aligned((*labels, *others))}{_OPTIONAL_TRUTH}"""


def _metrics(metrics: Sequence[Metric]) -> str:
    kinds = "".join(
        f"#   {kind.name:18}{'' if kind.higher_is_better else 'lower is better; '}for {', '.join(kind.types)}\n"
        for kind in KINDS.values()
    )
    return f"""\
# What is measured. Unprocessed cases (missing, invalid or failed) lower the figures. The kinds are:
{kinds}
{"".join(map(_metric, metrics))}{_OPTIONAL_METRICS}"""


def _metric(metric: Metric) -> str:
    kind = KINDS[metric.kind]
    lines = [(f"name = {_toml(metric.name)}", ""), (f"kind = {_toml(metric.kind)}", metric.about)]
    lines.append((f"field = {_toml(metric.field)}", ""))
    for name, value in metric.parameters.items():
        parameter = kind.parameter(name)
        others = [each for each in parameter.choices if each != value] if parameter else []
        one_of = [each for each in kind.exactly_one if each != name]
        note = f"or {', '.join(_toml(each) for each in others)}" if others else ""
        if one_of:
            instead = f"instead of it: {', '.join(one_of)}"
            note = f"{note}; {instead}" if note else instead
        lines.append((f"{name} = {_toml(value)}", note))
    return f"[[metric]]\n{_aligned(lines)}\n"


def _score(metrics: Sequence[Metric]) -> str:
    shares = [metric for metric in metrics if KINDS[metric.kind].higher_is_better]
    if len(shares) > 1:
        weight = _weight(len(shares))
        weights = ", ".join(f"{metric.name} = {weight}" for metric in shares)
        note = "weighted; a metric that is better when lower needs a negative weight"
        return f"""\
[score]
headline = "total"                  # submissions are ranked by it: the name of a metric or of a sum
[score.sums]
# {note}
total = {{ {weights} }}
"""
    first = (shares or metrics)[0]
    sign = "" if KINDS[first.kind].higher_is_better else "-"
    return f"""\
[score]
headline = {_toml(first.name)}      # submissions are ranked by it: the name of a metric or of a sum
#[score.sums]
#total = {{ {first.name} = {sign}1 }}  # weighted; a metric that is better when lower needs a negative weight
"""


def _weight(count: int) -> str:
    """Equal weights that add up to 1, if they are short decimals."""
    share = Fraction(1, count)
    exact = (10_000 * share).denominator == 1
    return f"{Decimal(share.numerator) / share.denominator:f}" if exact else "1"


# --- TOML -------------------------------------------------------------------------------------------------------------


def _field_line(column: Column, prediction: bool = False) -> str:
    return f"{column.name} = {_field(column.field, optional=column.field.optional and not prediction)}"


def _field(field: Item, optional: bool = False) -> str:
    parts = [f"one_of = {_toml(field.classes)}" if field.classes else f"type = {_toml(field.kind)}"]
    if field.items is not None:
        parts.append(f"of = {_field(field.items)}")
    parts += [f"{name} = {_toml(value)}" for name in ("min", "max") if (value := getattr(field, name)) is not None]
    if optional:
        parts.append("optional = true")
    return f"{{ {', '.join(parts)} }}"


def _toml(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _aligned(lines: Iterable[tuple[str, str]]) -> str:
    """Lines with their comments, next to each other if there is space."""
    return "".join(_commented(lines))


def _commented(lines: Iterable[tuple[str, str]]) -> Iterator[str]:
    given = list(lines)
    short = [len(code) for code, note in given if note and len(code) + len(note) <= _WIDTH]
    column = max(short, default=0)
    for code, note in given:
        if not note:
            yield f"{code}\n"
        elif len(code) <= column and column + len(note) <= _WIDTH + 15:
            yield f"{code:{column}}  # {note}\n"
        else:
            yield f"# {note}:\n{code}\n"
