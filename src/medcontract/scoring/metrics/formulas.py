"""The formula of each kind of metric, and those of numbers, sets, texts and scores."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import accumulate, repeat
from operator import add, mul
from typing import Any

from medcontract.scoring.metrics import classes
from medcontract.scoring.metrics.counting import (
    ClassCounts,
    ErrorCounts,
    MatchCounts,
    Overlap,
    OverlapCounts,
    RankCounts,
)
from medcontract.scoring.metrics.metric import Metric, MetricValue, Parameters
from medcontract.scoring.rational import ONE, TooLarge, rounded_root, total

MOST_EXACT = 10_000
"""The largest number of terms of an average precision that are added as fractions: their common denominator has about
as many bits as there are terms, so that the time grows faster than their number."""
_KEPT_BITS, _GUARD_BITS = 512, 64


def share(metric: Metric, counts: MatchCounts, parameters: Parameters) -> MetricValue:
    """The share of cases that match; an unprocessed case does not."""
    return MetricValue(value=Fraction(counts.matches, counts.cases))


def mean_error(metric: Metric, counts: ErrorCounts, parameters: Parameters) -> MetricValue:
    """The mean of a power of the errors; that of an unprocessed case is a parameter, or 1."""
    return MetricValue(value=_mean(metric, counts, parameters))


def root_mean_square(metric: Metric, counts: ErrorCounts, parameters: Parameters) -> MetricValue:
    """The correctly rounded double of the root is used from here on."""
    square = _mean(metric, counts, parameters)
    try:
        return MetricValue(value=Fraction(rounded_root(square)))
    except TooLarge:
        return MetricValue(value=square)  # even larger: like any figure that is too large, reported when it is rounded


def _mean(metric: Metric, counts: ErrorCounts, parameters: Parameters) -> Fraction:
    penalty = parameters["unprocessed"] if "unprocessed" in metric.numbers else ONE
    power = metric.counting(parameters).power
    return (counts.total(power) + counts.unprocessed * penalty**power) / counts.cases


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


def auroc(metric: Metric, counts: RankCounts, parameters: Parameters) -> MetricValue:
    """An unprocessed case loses all its pairs."""
    positives, negatives = counts.positives.total(), counts.negatives.total()
    if not positives or not negatives:
        return MetricValue(value=None, reason=f"the truth has no {'negative' if positives else 'positive'} case")
    ordered = _ordered(counts.negatives)
    up_to = list(accumulate(map(counts.negatives.__getitem__, ordered), initial=0))
    scores = _ordered(counts.positives)
    below = map(up_to.__getitem__, map(bisect_left, repeat(ordered), scores))
    below_and_tied = map(up_to.__getitem__, map(bisect_right, repeat(ordered), scores))
    halves = sum(map(mul, map(counts.positives.__getitem__, scores), map(add, below, below_and_tied)))
    return MetricValue(value=Fraction(halves, 2 * positives * negatives))


def _ordered(scores: Iterable[float | None]) -> list[float]:
    """The scores, from low to high, without None."""
    return sorted([score for score in scores if score is not None])


def average_precision(metric: Metric, counts: RankCounts, parameters: Parameters) -> MetricValue:
    """An unprocessed positive is never found, an unprocessed negative before every score."""
    positives = counts.positives.total()
    if not positives:
        return MetricValue(value=None, reason="the truth has no positive case")
    return MetricValue(value=_sum(list(_precisions(counts))) / positives)


def _precisions(counts: RankCounts) -> Iterator[tuple[int, int]]:
    """For each score, from high to low: the precision, times the number of positives with this score."""
    found, found_positives = counts.negatives[None], 0
    for score in reversed(_ordered({*counts.positives, *counts.negatives})):
        positives = counts.positives.get(score, 0)
        found += positives + counts.negatives.get(score, 0)
        found_positives += positives
        if positives:
            yield positives * found_positives, found


def _sum(terms: list[tuple[int, int]]) -> Fraction:
    """The sum of numerator / denominator.

    If there are too many terms for an exact sum it is rounded to 512 binary digits after the point, which makes no
    difference to the double that it is rounded to in the end.
    """
    if len(terms) <= MOST_EXACT:
        return total(Fraction(numerator, denominator) for numerator, denominator in terms)
    scale = _KEPT_BITS + _GUARD_BITS
    floor = sum((numerator << scale) // denominator for numerator, denominator in terms)
    middle = floor + len(terms) // 2  # each term loses less than 1
    half = 1 << (_GUARD_BITS - 1)
    return Fraction((middle + half) >> _GUARD_BITS, 1 << _KEPT_BITS)


def _accuracy(metric: Metric, counts: ClassCounts | MatchCounts, parameters: Parameters) -> MetricValue:
    matches = counts.right.total() if isinstance(counts, ClassCounts) else counts.matches
    return MetricValue(value=Fraction(matches, counts.cases))


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
    "auroc": auroc,
    "average_precision": average_precision,
    "brier": mean_error,
    "mae": mean_error,
    "mse": mean_error,
    "rmse": root_mean_square,
    "within": share,
    "exact_match": share,
    "token_f1": set_f1,
}
