"""The metrics of challenges: exact, mergeable, independent of order.

::

    kinds       the table of kinds: fields, parameters, range, direction, formula in words; `FieldInfo`
    metric      `Metric`, `build`: one metric of a challenge
    counting    the counts, from columns
    formulas    the formula of each kind, from `classes`, `scores` (and probabilities) and `quantities` (with a unit)

How it is used::

    metric = build("macro_f1", "f1", label, label, choices={"average": "macro"})
    parameters = {key: protocol[f"metric.{metric.name}.{key}"] for key in metric.numbers}
    counts = metric.counting(parameters).count(true_labels, predicted_labels)  # or `count_all`, for several metrics
    value = metric.figures(counts, parameters)

- `count` takes two columns, because functions of whole columns are much faster; `columns` makes them from rows. Values
  are as in records (a class is a string or a bool); null is None, and so is the prediction of an unprocessed case.
- It is a method of the `Counting`, so that metrics that count the same share their counts, such as one confusion matrix
  (`count_all`). The parameters are needed for it, too, because `within` depends on its tolerance.
- Counts are sums over cases: `sums.added` and `sums.multiplied` merge and weight them. They are small, except counts of
  scores and of numbers whose order matters, which grow with the number of distinct values.
"""

from __future__ import annotations

from medcontract.scoring.metrics.classes import MOST_CLASSES, confusion_matrix
from medcontract.scoring.metrics.counting import columns, count_all
from medcontract.scoring.metrics.kinds import KINDS, FieldInfo, MetricKind, MetricParameter, field_problem
from medcontract.scoring.metrics.metric import Metric, MetricValue, build

__all__ = [
    "KINDS",
    "MOST_CLASSES",
    "FieldInfo",
    "Metric",
    "MetricKind",
    "MetricParameter",
    "MetricValue",
    "build",
    "columns",
    "confusion_matrix",
    "count_all",
    "field_problem",
]
