"""The formula of each kind of metric, and those of sets and texts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from medcontract.scoring.metrics import classes, quantities, scores
from medcontract.scoring.metrics.counting import ClassCounts, ErrorCounts, MatchCounts, Overlap, OverlapCounts
from medcontract.scoring.metrics.metric import Metric, MetricValue, Parameters
from medcontract.scoring.rational import ONE, total


def share(metric: Metric, counts: MatchCounts, parameters: Parameters) -> MetricValue:
    """The share of cases that match; an unprocessed case does not."""
    return MetricValue(value=Fraction(counts.matches, counts.cases))


def jaccard(metric: Metric, counts: OverlapCounts, parameters: Parameters) -> MetricValue:
    """|P∩Y| / |P∪Y|."""
    parts = {overlap: (overlap[0], overlap[1] + overlap[2] - overlap[0]) for overlap in counts.overlaps}
    return _averaged(metric, counts, parts)


def set_f1(metric: Metric, counts: OverlapCounts, parameters: Parameters) -> MetricValue:
    """2|P∩Y| / (|P| + |Y|)."""
    parts = {overlap: (2 * overlap[0], overlap[1] + overlap[2]) for overlap in counts.overlaps}
    return _averaged(metric, counts, parts)


def _averaged(metric: Metric, counts: OverlapCounts, parts: dict[Overlap, tuple[int, int]]) -> MetricValue:
    """`parts` are numerator and denominator of a case, for each overlap. Both empty: 1; unprocessed: 0.

    For a micro average, an unprocessed case counts as empty; if its truth is empty, too, it adds 1 to the denominator.
    """
    weighted = [(*parts[overlap], times) for overlap, times in counts.overlaps.items()]
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
    "precision": classes.precision,
    "recall": classes.recall,
    "f1": classes.f1_score,
    "specificity": classes.specificity,
    "mcc": classes.mcc,
    "kappa": classes.kappa,
    "jaccard": jaccard,
    "set_f1": set_f1,
    "auroc": scores.auroc,
    "average_precision": scores.average_precision,
    "brier": quantities.mean_error,
    "mae": quantities.mean_error,
    "mse": quantities.mean_error,
    "rmse": quantities.root_mean_square,
    "within": share,
    "fbeta": classes.fbeta,
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
    "rouge_l": set_f1,
    "exact_match": share,
    "token_f1": set_f1,
    "custom": _custom,
}
