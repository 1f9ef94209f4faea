"""The formula of each kind of metric, and the formulas of sets and texts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from medcontract.scoring.metrics import classes, quantities, scores
from medcontract.scoring.metrics.counting import ClassCounts, ErrorCounts, MatchCounts, Overlap, OverlapCounts
from medcontract.scoring.metrics.metric import Metric, MetricValue, Parameters
from medcontract.scoring.rational import ONE, total


def share(metric: Metric, counts: MatchCounts, parameters: Parameters) -> MetricValue:
    """Return the share of cases that match; an unprocessed case does not."""
    return MetricValue(value=Fraction(counts.matches, counts.cases))


def parts_of_overlap(metric: Metric, overlap: Overlap) -> tuple[int, int]:
    """Return numerator and denominator of a case: of |P∩Y| / |P∪Y|, or of 2|P∩Y| / (|P| + |Y|)."""
    common, predicted, true = overlap
    return (common, predicted + true - common) if metric.kind.name == "jaccard" else (2 * common, predicted + true)


def overlap(metric: Metric, counts: OverlapCounts, parameters: Parameters) -> MetricValue:
    """Both empty: 1; unprocessed: 0.

    For a micro average, an unprocessed case counts as empty; if its truth is empty, too, it adds 1 to the denominator.
    """
    weighted = [(*parts_of_overlap(metric, each), times) for each, times in counts.overlaps.items()]
    if metric.choices.get("average") != "micro":
        values = (times * (Fraction(n, d) if d else ONE) for n, d, times in weighted)
        return MetricValue(value=total(values) / counts.cases)
    if not any(size for _, _, size in counts.overlaps) and not any(counts.unprocessed):
        return MetricValue(value=None, reason=f"'{metric.truth.name}' of the truth is empty in every case")
    denominator = sum(d * times for _, d, times in weighted)
    denominator += sum(max(size, 1) * times for size, times in counts.unprocessed.items())
    return MetricValue(value=Fraction(sum(n * times for n, _, times in weighted), denominator))


def _accuracy(metric: Metric, counts: ClassCounts | MatchCounts, parameters: Parameters) -> MetricValue:
    matches = counts.right.total() if isinstance(counts, ClassCounts) else counts.matches
    return MetricValue(value=Fraction(matches, counts.cases))


def _custom(metric: Metric, counts: ErrorCounts, parameters: Parameters) -> MetricValue:
    return MetricValue(value=counts.total(1) / counts.cases)


Formula = Callable[[Metric, Any, Parameters], MetricValue]
FORMULAS: dict[str, Formula] = {
    "accuracy": _accuracy,
    "balanced_accuracy": classes.balanced_accuracy,
    "precision": classes.averaged,
    "recall": classes.averaged,
    "f1": classes.averaged,
    "specificity": classes.specificity,
    "mcc": classes.mcc,
    "kappa": classes.kappa,
    "jaccard": overlap,
    "set_f1": overlap,
    "auroc": scores.auroc,
    "average_precision": scores.average_precision,
    "brier": quantities.mean_error,
    "mae": quantities.mean_error,
    "mse": quantities.mean_error,
    "rmse": quantities.root_mean_square,
    "within": share,
    "fbeta": classes.averaged,
    "cost": classes.cost,
    "sensitivity_at_specificity": scores.sensitivity_at_specificity,
    "specificity_at_sensitivity": scores.specificity_at_sensitivity,
    "net_benefit": scores.net_benefit,
    "log_loss": scores.log_loss,
    "calibration_error": scores.calibration_error,
    "concordance": scores.concordance,
    "median_absolute_error": quantities.median_absolute_error,
    "r2": quantities.r2,
    "spearman": quantities.spearman,
    "rouge_l": overlap,
    "exact_match": share,
    "token_f1": overlap,
    "custom": _custom,
}
