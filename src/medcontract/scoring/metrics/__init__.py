"""The metrics of challenges: exact, mergeable, independent of order.

::

    kinds       the table of kinds: fields, parameters, range, direction, formula in words; `FieldInfo`
    metric      `Metric`, `build`: one metric of a challenge
    tallies     what is counted, and the counts

How it is used::

    metric = build("macro_f1", "f1", label, label, choices={"average": "macro"})
    parameters = {key: protocol[f"metric.{metric.name}.{key}"] for key in metric.numbers}
    tally = metric.tally(parameters)
    counts = tally.count(true_labels, predicted_labels)  # once per tally: metrics with equal tallies share the counts
    value = metric.finish(counts, parameters)

`count` takes two columns rather than rows, because functions on whole columns are much faster. It is a method of the
tally, not of the metric, so that metrics of the same fields share one confusion matrix: `count_all` counts
each of a set of tallies, `columns` turns rows into columns. Parameters are needed for counting, too, because `within`
depends on its tolerance. Classes are passed as they are in records (a string or a bool); `null` is None, and so is the prediction
of an unprocessed case.
"""

from __future__ import annotations

from medcontract.scoring.metrics.kinds import KINDS, FieldInfo, MetricKind, MetricParameter, field_problem
from medcontract.scoring.metrics.metric import Metric, MetricValue, build
from medcontract.scoring.metrics.tallies import Tally, columns, confusion_matrix, count_all

__all__ = [
    "KINDS",
    "FieldInfo",
    "Metric",
    "MetricKind",
    "MetricParameter",
    "MetricValue",
    "Tally",
    "build",
    "columns",
    "confusion_matrix",
    "count_all",
    "field_problem",
]
