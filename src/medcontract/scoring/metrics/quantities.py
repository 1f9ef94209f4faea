"""Metrics of numbers with a unit, from the exact values of truth and prediction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf
from typing import TypeVar

from medcontract.scoring.metrics.counting import ClassCounts, ErrorCounts, exact_difference
from medcontract.scoring.metrics.metric import Metric, MetricValue, Parameters
from medcontract.scoring.rational import LONG, ONE, ZERO, FigureTooLarge, dyadic_sum, rounded_root

_Row = tuple[float, float | None, int]
"""Truth, prediction (None if it is unprocessed), and the number of such cases."""
_Number = TypeVar("_Number", float, Fraction)


def mean_error(metric: Metric, counts: ErrorCounts, parameters: Parameters) -> MetricValue:
    """Return the mean of a power of the errors; an unprocessed case has a parameter as its error, or 1."""
    return MetricValue(value=_mean(metric, counts, parameters))


def root_mean_square(metric: Metric, counts: ErrorCounts, parameters: Parameters) -> MetricValue:
    """The correctly rounded double of the root is used from here on."""
    square = _mean(metric, counts, parameters)
    try:
        return MetricValue(value=Fraction(rounded_root(square)))
    except FigureTooLarge:
        return MetricValue(value=square)  # even larger: like any figure that is too large, reported when it is rounded


def _mean(metric: Metric, counts: ErrorCounts, parameters: Parameters) -> Fraction:
    penalty = parameters["unprocessed"] if "unprocessed" in metric.numbers else ONE
    power = metric.counting(parameters).power
    return (counts.total(power) + counts.unprocessed * penalty**power) / counts.cases


def _rows(counts: ClassCounts) -> Iterator[_Row]:
    for (y, p), times in counts.pairs.items():
        if y is not None:
            yield float(y), None if p is None else float(p), times


def median_absolute_error(metric: Metric, counts: ClassCounts, parameters: Parameters) -> MetricValue:
    """Sort errors as doubles, because rounding keeps their order. Only equal doubles are compared exactly."""
    by_double: dict[float, list[_Row]] = {}
    penalty = parameters["unprocessed"]
    for row in _rows(counts):
        y, p, _ = row
        by_double.setdefault(float(penalty) if p is None else abs(p - y), []).append(row)

    def at(position: int) -> Fraction:
        double, before = _place({double: _size(rows) for double, rows in by_double.items()}, position)
        exact: Counter[Fraction] = Counter()
        for y, p, times in by_double[double]:
            exact[penalty if p is None else abs(Fraction(p) - Fraction(y))] += times
        return _place(exact, position - before)[0]

    return MetricValue(value=(at((counts.cases - 1) // 2) + at(counts.cases // 2)) / 2)


def _size(rows: list[_Row]) -> int:
    return sum(times for _, _, times in rows)


def _place(times: Mapping[_Number, int], position: int) -> tuple[_Number, int]:
    """Return the value at a position in the order of values, from 0 on, and the number of smaller ones."""
    before = 0
    for value in sorted(times):
        if position < before + times[value]:
            return value, before
        before += times[value]
    raise IndexError(position)


def r2(metric: Metric, counts: ClassCounts, parameters: Parameters) -> MetricValue:
    if len(counts.true) < 2:
        return _all_equal(metric)
    rows = list(_rows(counts))
    center = dyadic_sum((times * n, d) for y, _, times in rows for n, d in [y.as_integer_ratio()]) / counts.cases
    squares = dyadic_sum((times * n * n, d * d) for y, _, times in rows for n, d in [y.as_integer_ratio()])
    errors = ((times, *exact_difference(p, y)) for y, p, times in rows if p is not None)
    residual = dyadic_sum((times * n * n, d * d) for times, n, d in errors)
    ends = [Fraction(end(y for y, _, _ in rows)) for end in (min, max)]
    residual += counts.unprocessed.total() * (2 * max(abs(end - center) for end in ends)) ** 2
    return MetricValue(value=1 - residual / (squares - counts.cases * center**2))


def _all_equal(metric: Metric) -> MetricValue:
    return MetricValue(value=None, reason=f"'{metric.truth.name}' of the truth has the same value in every case")


def spearman(metric: Metric, counts: ClassCounts, parameters: Parameters) -> MetricValue:
    """An unprocessed case is ranked below all others if its truth is above the median, or else above all others."""
    if len(counts.true) < 2:
        return _all_equal(metric)
    true: Counter[float] = Counter()
    ranked: Counter[tuple[float, float]] = Counter()
    for y, _, times in _rows(counts):
        true[y] += times
    middle, _ = _place(true, (counts.cases - 1) // 2)  # of an even count the lower one: what is above it is above both
    for y, p, times in _rows(counts):
        if p is None:
            p = -inf if y > middle else inf
        ranked[y, p] += times
    predicted: Counter[float] = Counter()
    for (_, p), times in ranked.items():
        predicted[p] += times
    of_true, of_predicted = _centered_ranks(true), _centered_ranks(predicted)
    covariance = sum(of_true[y] * of_predicted[p] * times for (y, p), times in ranked.items())
    spread, other_spread = (
        sum(ranks[value] ** 2 * times for value, times in column.items())
        for ranks, column in ((of_true, true), (of_predicted, predicted))
    )
    if not other_spread:
        return MetricValue(value=ZERO)
    with localcontext(LONG):
        root = (Decimal(covariance**2) / Decimal(spread * other_spread)).sqrt()
    return MetricValue(value=-Fraction(root) if covariance < 0 else Fraction(root))


def _centered_ranks(times: Mapping[float, int]) -> dict[float, int]:
    """Return twice the distance of the mid-rank of each value from the middle rank."""
    found, before, cases = {}, 0, sum(times.values())
    for value in sorted(times):
        found[value] = 2 * before + times[value] - cases
        before += times[value]
    return found
