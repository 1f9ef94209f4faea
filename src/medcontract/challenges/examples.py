"""Example files of a challenge: a few made-up cases that satisfy its contracts."""

from __future__ import annotations

import json
from re import _constants, _parser  # type: ignore[attr-defined]  # the only way to the parsed form of a pattern
from typing import Any

from medcontract.challenges.model import Definition, Field, FieldItem
from medcontract.types import JsonObject

_CASES = 6
Record = JsonObject


def example_files(definition: Definition) -> dict[str, bytes]:
    """The content of a truth, of a submission and of a list of cases, by file name."""
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
    """A prediction that is right in most cases."""
    found = dict(key)
    for name, field in definition.prediction.items():
        true = definition.truth.get(name)
        alike = true is not None and true.comparable == field.comparable and case != _CASES - 1
        value = truth[name] if alike else example_value(field, case + 1)
        found[name] = value if alike and _fits(field, value) else example_value(field, case + 1)
    return found


def _fits(field: Field, value: object) -> bool:
    """Whether a value of the truth is also within the bounds of the prediction."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return field.pattern is None and field.min_length is None and field.max_length is None
    return (field.min is None or value >= field.min) and (field.max is None or value <= field.max)


def example_value(field: FieldItem, case: int) -> Any:
    """A value of a field, depending on the number of the case."""
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
    """A short text that matches a pattern."""
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
    """A character of a class, a visible one if possible."""
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
