"""Metrics of numbers, sets and texts."""

from __future__ import annotations

from fractions import Fraction

from medcontract.scoring.metrics.counts import ErrorCounts, MatchCounts, OverlapCounts
from medcontract.scoring.metrics.metric import Metric, MetricValue, Parameters
from medcontract.scoring.rational import ONE, TooLarge, rounded_root, total


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


def _averaged(metric: Metric, counts: OverlapCounts, parts: dict[tuple[int, int, int], tuple[int, int]]) -> MetricValue:
    """`parts` are numerator and denominator of a case, for each overlap. Both empty: 1; unprocessed: 0."""
    if metric.choices.get("average") == "micro":
        return _micro(metric, counts, parts)
    values = (
        times * (Fraction(*parts[overlap]) if parts[overlap][1] else ONE) for overlap, times in counts.overlaps.items()
    )
    return MetricValue(value=total(values) / counts.cases)


def _micro(metric: Metric, counts: OverlapCounts, parts: dict[tuple[int, int, int], tuple[int, int]]) -> MetricValue:
    """An unprocessed case counts as empty; if its truth is empty, too, it adds 1 to the denominator."""
    if not any(size for _, _, size in counts.overlaps) and not any(counts.unprocessed):
        return MetricValue(value=None, reason=f"'{metric.truth.name}' of the truth is empty in every case")
    numerator = sum(parts[overlap][0] * times for overlap, times in counts.overlaps.items())
    denominator = sum(parts[overlap][1] * times for overlap, times in counts.overlaps.items())
    denominator += sum(max(size, 1) * times for size, times in counts.unprocessed.items())
    return MetricValue(value=Fraction(numerator, denominator))
