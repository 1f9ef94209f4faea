"""The metrics of a definition, built for scoring."""

from __future__ import annotations

from medcontract.challenges.definition import Definition
from medcontract.scoring.metrics import Metric, build


def built(definition: Definition) -> tuple[Metric, ...]:
    prediction = {field.name: field.info() for field in definition.prediction}
    truth = {field.name: field.info() for field in definition.truth}
    return tuple(
        build(
            entry.name, entry.kind, prediction[entry.field], truth[entry.truth_field],
            choices=entry.choices, numbers=tuple(entry.numbers),
        )
        for entry in definition.metrics
    )  # fmt: skip
