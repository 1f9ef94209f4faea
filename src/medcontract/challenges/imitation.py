"""The right answers to a challenge, made from its truth, for a rehearsal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from medcontract.challenges.contracts import Ids
from medcontract.challenges.examples import Record, example_value
from medcontract.challenges.model import Definition, Field, PositiveCase
from medcontract.scoring.track import Imitation


def imitation(definition: Definition) -> Imitation:
    """Describe how submissions of a challenge are made."""
    ids = Ids.of(definition.id)
    return Imitation(
        truth=ids.truth, submission=ids.predictions, answers=partial(right_answers, definition), tables=True
    )


def right_answers(definition: Definition, records: Sequence[Record]) -> list[Record]:
    """Return the right prediction for each record of the truth, without its key."""
    columns = {name: list(_column(definition, name, field, records)) for name, field in definition.prediction.items()}
    rows = [{name: column[row] for name, column in columns.items()} for row in range(len(records))]
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def _column(definition: Definition, name: str, field: Field, records: Sequence[Record]) -> Iterator[Any]:
    """Yield the values of one field: those of the truth, or scores that put the positive or early cases first."""
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
