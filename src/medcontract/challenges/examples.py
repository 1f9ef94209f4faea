"""Records that are made for a challenge: example files, and right answers to a truth for a rehearsal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from re import _constants, _parser  # type: ignore[attr-defined]  # the only way to the parsed form of a pattern
from typing import Any

from medcontract.challenges.contracts import Ids
from medcontract.challenges.model import Definition, Field, FieldItem, PositiveCase
from medcontract.scoring.track import Imitation
from medcontract.types import JsonObject

_CASES = 6
Record = JsonObject


def example_files(definition: Definition) -> dict[str, bytes]:
    """Return the content of a truth, of a submission and of a list of cases, by file name."""
    keys = [_key(definition, case) for case in range(_CASES)]
    truth = [
        {**key, **{name: example_value(field, case) for name, field in definition.truth.items()}}
        for case, key in enumerate(keys)
    ]
    predictions = [_prediction(definition, key, case, truth[case]) for case, key in enumerate(keys)]
    for name, records in (("truth", truth), ("predictions", predictions)):
        _satisfy_rules(definition, name, records)
    return {
        "truth.json": _text({"truth": truth}),
        "predictions.json": _text({"team_name": "Example", "predictions": predictions}),
        "cases.json": _text({"cases": keys}),
    }


def _text(value: object) -> bytes:
    return f"{json.dumps(value, ensure_ascii=False, indent=2)}\n".encode()


def _key(definition: Definition, case: int) -> Record:
    *others, last = definition.key
    return {**dict.fromkeys(others, "A"), last: f"case-{case + 1}"}


def _prediction(definition: Definition, key: Record, case: int, truth: Record) -> Record:
    """Return a prediction that is right in most cases."""
    found = dict(key)
    for name, field in definition.prediction.items():
        true = definition.truth.get(name)
        alike = true is not None and true.comparable == field.comparable and case != _CASES - 1
        value = truth[name] if alike else example_value(field, case + 1)
        found[name] = value if alike and _fits(field, value) else example_value(field, case + 1)
    return found


def _fits(field: Field, value: object) -> bool:
    """Return whether a value of the truth is also within the bounds of the prediction."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return field.pattern is None and field.min_length is None and field.max_length is None
    return (field.min is None or value >= field.min) and (field.max is None or value <= field.max)


def example_value(field: FieldItem, case: int) -> Any:
    """Return a value of a field, depending on the number of the case."""
    if field.classes:
        return field.classes[case % len(field.classes)]
    if field.items is not None:
        return _items(field, field.items, case)
    if field.type == "boolean":
        return case % 2 == 0
    if field.type == "date":
        return f"2026-01-{case % 28 + 1:02}"
    if field.type in ("integer", "number"):
        return _number(field, case)
    return _string(field, case)


def _items(field: FieldItem, item: FieldItem, case: int) -> list[Any]:
    wanted = max(field.min_length or 0, min(case % 3, 2 if field.max_length is None else field.max_length))
    values = [example_value(item, case + position) for position in range(wanted)]
    return list(dict.fromkeys(values)) if field.kind == "set" else values


def _number(field: FieldItem, case: int) -> int | float:
    low = field.min if field.min is not None else min(field.max or 0, 0)
    high = field.max if field.max is not None else max(low, 0) + 10
    if field.type == "integer":
        return int(low) + case % max(int(high) - int(low) + 1, 1)
    value = float(low) + (float(high) - float(low)) * (case % 5) / 4
    return min(max(round(value, 4), float(low)), float(high))


def _string(field: FieldItem, case: int) -> str:
    if field.pattern is not None:
        return _matching(_parser.parse(field.pattern))
    text = f"text {case + 1}"
    text += "x" * max((field.min_length or 0) - len(text), 0)
    return text if field.max_length is None else text[: field.max_length].rstrip() or "x" * min(field.max_length, 1)


def _matching(parsed: Any) -> str:
    """Return a short text that matches a pattern."""
    text = ""
    for operation, argument in parsed:
        if operation is _constants.LITERAL:
            text += chr(argument)
        elif operation is _constants.NOT_LITERAL:
            text += "a" if argument != ord("a") else "b"
        elif operation is _constants.IN:
            text += _one_of(argument)
        elif operation is _constants.MAX_REPEAT:
            low, high, inner = argument
            text += _matching(inner) * max(low, min(1, high))
        elif operation is _constants.BRANCH:
            text += _matching(argument[1][0])
        elif operation is _constants.SUBPATTERN:
            text += _matching(argument[3])
    return text


def _one_of(choices: Any) -> str:
    """Return a character of a class, a visible one if possible."""
    negated = choices[0][0] is _constants.NEGATE
    inside = {
        code
        for operation, argument in choices
        if operation is not _constants.NEGATE
        for code in ([argument] if operation is _constants.LITERAL else range(argument[0], min(argument[1], 0x17F) + 1))
    }
    allowed = [code for code in (*range(0x61, 0x7B), *range(0x21, 0x180), 0x20) if (code in inside) != negated]
    return chr(allowed[0] if allowed else min(inside))


def _satisfy_rules(definition: Definition, within: str, records: list[Record]) -> None:
    """Change the values that rules of the challenge are about."""
    for rule in definition.rules:
        if within not in definition.lists_of(rule):
            continue
        values = rule.data()
        for record in records:
            _satisfy(values, record, records[0])


def _satisfy(values: Record, record: Record, first: Record) -> None:
    match values["kind"]:
        case "sum":
            record[values["field"]] = [max(values["minimum"], 0.0)]
        case "order":
            low, high = values["fields"]
            if record[high] < record[low]:
                record[low] = record[high] = min(record[low], record[high], key=lambda each: isinstance(each, float))
        case "distinct":
            record[values["field"]] = list(dict.fromkeys(record[values["field"]]))
        case "constant" | "monotonic":
            record[values["field"]] = first[values["field"]]


# --- right answers ----------------------------------------------------------------------------------------------------


def imitation(definition: Definition) -> Imitation:
    """Describe how submissions of a challenge are made."""
    ids = Ids.of(definition.id)
    labels = dict.fromkeys(name for m in definition.metrics for name in (m.truth_field, m.event_field) if name)
    return Imitation(
        truth=ids.truth, submission=ids.predictions, answers=partial(right_answers, definition),
        labels=tuple(labels), tables=True,
    )  # fmt: skip


def right_answers(definition: Definition, records: Sequence[Record]) -> list[Record]:
    """Return the right prediction for each record of the truth, without its key."""
    columns = {name: list(_column(definition, name, field, records)) for name, field in definition.prediction.items()}
    rows = [{name: column[row] for name, column in columns.items()} for row in range(len(records))]
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def _column(definition: Definition, name: str, field: Field, records: Sequence[Record]) -> Iterator[Any]:
    """Yield the values of one field: as in the truth, or scores that put the positive or early cases first."""
    metrics = [metric for metric in definition.metrics if metric.field == name]
    scores = [m for m in metrics if m.event_field or isinstance(m.parameters.get("positive"), PositiveCase)]
    true = definition.truth.get(name)
    if true is not None and true.comparable == field.comparable and len(scores) < max(len(metrics), 1):
        values = [record.get(name) for record in records]
    elif scores:
        metric = scores[0]
        event = metric.parameters.get("event")
        if isinstance(event, PositiveCase):
            values = _risks(records, metric.truth_field, event, field)
        else:
            positive = metric.parameters["positive"]
            low, high = _ends(field)
            values = [high if record.get(positive.field) == positive.is_ else low for record in records]
    else:
        values = [None] * len(records)
    for row, value in enumerate(values):
        yield example_value(field, row) if value is None and not field.optional else value


def _ends(field: Field) -> tuple[Any, Any]:
    """Return the smallest and the largest score."""
    low = 0.0 if field.min is None else float(field.min)
    high = max(low, 1.0) if field.max is None else float(field.max)
    return (int(low), int(high)) if field.type == "integer" else (min(low, high), high)


def _risks(records: Sequence[Record], time: str, event: PositiveCase, field: Field) -> list[Any]:
    """Rank cases by time, the earliest first, those with an event before others of the same time."""
    order = [(float(r[time]), r.get(event.field) != event.is_) if r.get(time) is not None else None for r in records]
    ranks = {key: rank for rank, key in enumerate(sorted({key for key in order if key is not None}))}
    low, high = _ends(field)
    return [None if key is None else high - (high - low) * ranks[key] / max(len(ranks), 1) for key in order]
