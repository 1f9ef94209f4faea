"""The formula of each kind of metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from medcontract.scoring.metrics import classes, ranks, values
from medcontract.scoring.metrics.counts import ClassCounts
from medcontract.scoring.metrics.metric import Metric, MetricValue, Parameters


def _accuracy(metric: Metric, counts: Any, parameters: Parameters) -> MetricValue:
    formula = classes.accuracy if isinstance(counts, ClassCounts) else values.share
    return formula(metric, counts, parameters)


FORMULAS: dict[str, Callable[[Metric, Any, Parameters], MetricValue]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": classes.balanced_accuracy,
    "precision": classes.precision,
    "recall": classes.recall,
    "f1": classes.f1_score,
    "specificity": classes.specificity,
    "mcc": classes.mcc,
    "kappa": classes.kappa,
    "jaccard": values.jaccard,
    "set_f1": values.set_f1,
    "auroc": ranks.auroc,
    "average_precision": ranks.average_precision,
    "brier": values.mean_error,
    "mae": values.mean_error,
    "mse": values.mean_error,
    "rmse": values.root_mean_square,
    "within": values.share,
    "exact_match": values.share,
    "token_f1": values.set_f1,
}
