"""Writes the text of a challenge file, with comments that explain it: `challenge.toml.jinja`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from medcontract.challenges.model import FieldItem, GateEntry
from medcontract.challenges.new.columns import InferredColumn
from medcontract.challenges.new.infer import DraftMetric, Inferred
from medcontract.problems import plural
from medcontract.scoring.metrics import KINDS

_TEMPLATE = "challenge.toml.jinja"
_WIDTH = 100
Lines = list[tuple[str, str]]
"""Lines of TOML with their comments."""


def draft(inferred: Inferred, challenge_id: str, title: str, rows: int | None) -> str:
    """Return the text of a challenge file. `rows`: of the truth table that it was inferred from, if any."""
    metrics = inferred.metrics
    shares = [metric for metric in metrics if KINDS[metric.kind].higher_is_better]
    first = (shares or metrics)[0]
    environment = Environment(  # noqa: S701  # no HTML
        loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined, keep_trailing_newline=True,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"toml": _toml, "aligned": lambda lines: "".join(_commented(lines))}
    return environment.get_template(_TEMPLATE).render(
        rows=None if rows is None else plural(rows, "case"),
        identity=_identity(inferred, challenge_id, title),
        prediction=[(_field_line(each, prediction=True), each.note) for each in inferred.labels],
        truth=[
            *((_field_line(each), "as in the prediction") for each in inferred.labels),
            *((_field_line(each), f"not predicted; {each.note}") for each in inferred.others),
        ],
        kinds=KINDS.values(),
        metrics=map(_metric, metrics),
        weights=[f"{metric.name} = {_weight(len(shares))}" for metric in shares] if len(shares) > 1 else [],
        headline=first.name,
        sign="" if KINDS[first.kind].higher_is_better else "-",
        min_processed=GateEntry().min_processed,
    )


def _identity(inferred: Inferred, challenge_id: str, title: str) -> Lines:
    key = inferred.key[0] if len(inferred.key) == 1 else list(inferred.key)
    compound = 'what identifies a case; ["patient_id", "visit"] would be a compound key'
    if len(inferred.key) > 1:
        compound = "what identifies a case: together, these are unique"
    return [
        (f"id = {_toml(challenge_id)}", f"the contracts are {challenge_id}/predictions, /truth, /cases and /score"),
        (f"title = {_toml(title)}", "for people"),
        ('#about = "What the challenge is about"', ""),
        ("version = 1", "increase it when you change the challenge after it was published"),
        (f"key = {_toml(key)}", compound),
    ]


def _metric(metric: DraftMetric) -> Lines:
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
    return lines


def _weight(count: int) -> str:
    """Equal weights that add up to 1, if they are short decimals."""
    share = Fraction(1, count)
    exact = (10_000 * share).denominator == 1
    return f"{Decimal(share.numerator) / share.denominator:f}" if exact else "1"


def _field_line(column: InferredColumn, prediction: bool = False) -> str:
    name = column.name if column.name.isascii() else _toml(column.name)
    return f"{name} = {_field(column.field, optional=column.field.optional and not prediction)}"


def _field(field: FieldItem, optional: bool = False) -> str:
    parts = [f"one_of = {_toml(field.classes)}" if field.classes else f"type = {_toml(field.kind)}"]
    if field.items is not None:
        parts.append(f"of = {_field(field.items)}")
    parts += [f"{name} = {_toml(value)}" for name in ("min", "max") if (value := getattr(field, name)) is not None]
    if optional:
        parts.append("optional = true")
    return f"{{ {', '.join(parts)} }}"


def _toml(value: object) -> str:
    """Return a value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _commented(lines: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield lines with their comments, next to each other if there is space."""
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
