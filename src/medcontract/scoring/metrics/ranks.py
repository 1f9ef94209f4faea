"""Metrics of scores, by exact ranks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import accumulate, repeat
from operator import add, mul

from medcontract.scoring.metrics.counts import RankCounts
from medcontract.scoring.metrics.metric import Metric, MetricValue, Parameters
from medcontract.scoring.rational import total

MOST_EXACT = 10_000
"""The largest number of terms of an average precision that are added as fractions: their common denominator has about
as many bits as there are terms, so that the time grows faster than their number."""
_KEPT_BITS, _GUARD_BITS = 512, 64


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


def _by_score(counts: RankCounts) -> tuple[list[int], list[int]]:
    """The number of positives and of negatives with each score, from low to high."""
    ordered = _ordered({*counts.positives, *counts.negatives})
    return list(map(counts.positives.get, ordered, repeat(0))), list(map(counts.negatives.get, ordered, repeat(0)))


def average_precision(metric: Metric, counts: RankCounts, parameters: Parameters) -> MetricValue:
    """An unprocessed positive is never found, an unprocessed negative before every score."""
    positives = counts.positives.total()
    if not positives:
        return MetricValue(value=None, reason="the truth has no positive case")
    return MetricValue(value=_sum(list(_precisions(counts))) / positives)


def _precisions(counts: RankCounts) -> Iterator[tuple[int, int]]:
    """For each score, from high to low: the precision, times the number of positives with this score."""
    found, found_positives = counts.negatives[None], 0
    for positives, negatives in zip(*map(reversed, _by_score(counts)), strict=True):
        found += positives + negatives
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
