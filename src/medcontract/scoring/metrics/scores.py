"""Metrics of scores and probabilities, from counts of the scores of positive and negative cases."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate, pairwise, repeat
from operator import add, mul

from medcontract.scoring.metrics.counting import RankCounts, SurvivalCounts
from medcontract.scoring.metrics.metric import Metric, MetricValue, Parameters
from medcontract.scoring.rational import LONG, ZERO, total

MOST_EXACT = 10_000
"""The largest number of terms of an average precision that are added as fractions: their common denominator has about
as many bits as there are terms, so that the time grows faster than their number."""
_KEPT_BITS, _GUARD_BITS = 512, 64


def auroc(metric: Metric, counts: RankCounts, parameters: Parameters) -> MetricValue:
    """An unprocessed case loses all its pairs."""
    positives, negatives = counts.positives.total(), counts.negatives.total()
    if not positives or not negatives:
        return _one_sided(counts)
    ordered = _ordered(counts.negatives)
    up_to = list(accumulate(map(counts.negatives.__getitem__, ordered), initial=0))
    scores = _ordered(counts.positives)
    below = map(up_to.__getitem__, map(bisect_left, repeat(ordered), scores))
    below_and_tied = map(up_to.__getitem__, map(bisect_right, repeat(ordered), scores))
    halves = sum(map(mul, map(counts.positives.__getitem__, scores), map(add, below, below_and_tied)))
    return MetricValue(value=Fraction(halves, 2 * positives * negatives))


def _one_sided(counts: RankCounts) -> MetricValue:
    lacking = "negative" if counts.positives.total() else "positive"
    return MetricValue(value=None, reason=f"the truth has no {lacking} case")


def _ordered(scores: Iterable[float | None]) -> list[float]:
    """Return the scores, from low to high, without None."""
    return sorted([score for score in scores if score is not None])


def _found(counts: RankCounts) -> Iterator[tuple[int, int]]:
    """Yield how many positives and negatives are found with each threshold, from above every score down.

    An unprocessed positive is never found, an unprocessed negative before every score.
    """
    positives, negatives = 0, counts.negatives[None]
    yield positives, negatives
    for score in reversed(_ordered({*counts.positives, *counts.negatives})):
        positives += counts.positives.get(score, 0)
        negatives += counts.negatives.get(score, 0)
        yield positives, negatives


def average_precision(metric: Metric, counts: RankCounts, parameters: Parameters) -> MetricValue:
    """For each score: its precision, times the number of positives with this score."""
    positives = counts.positives.total()
    if not positives:
        return _one_sided(counts)
    terms = [
        ((found - before) * found, found + negatives)
        for (before, _), (found, negatives) in pairwise(_found(counts))
        if found > before
    ]
    return MetricValue(value=_sum(terms) / positives)


def _sum(terms: list[tuple[int, int]]) -> Fraction:
    """Return the sum of numerator / denominator.

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


def sensitivity_at_specificity(metric: Metric, counts: RankCounts, parameters: Parameters) -> MetricValue:
    positives, negatives = counts.positives.total(), counts.negatives.total()
    if not positives or not negatives:
        return _one_sided(counts)
    least = parameters["at"] * negatives
    best = max((found for found, false in _found(counts) if negatives - false >= least), default=0)
    return MetricValue(value=Fraction(best, positives))


def specificity_at_sensitivity(metric: Metric, counts: RankCounts, parameters: Parameters) -> MetricValue:
    positives, negatives = counts.positives.total(), counts.negatives.total()
    if not positives or not negatives:
        return _one_sided(counts)
    least = parameters["at"] * positives
    best = max((negatives - false for found, false in _found(counts) if found >= least), default=0)
    return MetricValue(value=Fraction(best, negatives))


def net_benefit(metric: Metric, counts: RankCounts, parameters: Parameters) -> MetricValue:
    """The threshold is compared as a double, as bounds are: 0.3 reaches 0.3."""
    threshold = parameters["threshold"]
    limit = float(threshold)

    def reaching(scores: Counter[float | None]) -> int:
        return sum(times for score, times in scores.items() if score is not None and score >= limit)

    false = reaching(counts.negatives) + counts.negatives[None]
    benefit = reaching(counts.positives) - false * threshold / (1 - threshold)
    return MetricValue(value=benefit / counts.cases)


def log_loss(metric: Metric, counts: RankCounts, parameters: Parameters) -> MetricValue:
    """Take the logarithm of the product of all probabilities, which are sorted: no order changes its last digits."""
    with localcontext(LONG):
        low = Decimal(parameters["clip"].numerator) / parameters["clip"].denominator
        product = low ** (counts.positives[None] + counts.negatives[None])
        for scores, is_positive in ((counts.positives, True), (counts.negatives, False)):
            for score in _ordered(scores):
                probability = Decimal(score) if is_positive else 1 - Decimal(score)
                product *= min(max(probability, low), 1 - low) ** scores[score]
        return MetricValue(value=Fraction(-product.ln() / counts.cases))


def calibration_error(metric: Metric, counts: RankCounts, parameters: Parameters) -> MetricValue:
    """The regression has one value per block of neighboring scores: the share of positives among them."""
    scores = _ordered({*counts.positives, *counts.negatives})
    blocks: list[tuple[int, int, int]] = []
    for start, score in enumerate(scores):
        positives, cases = counts.positives.get(score, 0), _times(counts, score)
        while blocks and blocks[-1][0] * cases >= positives * blocks[-1][1]:  # not below this one: pool them
            earlier_positives, earlier_cases, start = blocks.pop()
            positives, cases = positives + earlier_positives, cases + earlier_cases
        blocks.append((positives, cases, start))
    errors = (
        error
        for (positives, cases, start), (_, _, end) in pairwise((*blocks, (0, 0, len(scores))))
        for error in _block_errors(counts, positives, cases, scores[start:end])
    )
    unprocessed = counts.positives[None] + counts.negatives[None]
    return MetricValue(value=(total(errors) + unprocessed) / counts.cases)


def _times(counts: RankCounts, score: float) -> int:
    return counts.positives.get(score, 0) + counts.negatives.get(score, 0)


def _block_errors(counts: RankCounts, positives: int, cases: int, scores: list[float]) -> Iterator[Fraction]:
    """Yield terms that add up to the sum of |score − positives / cases|."""
    below = 0
    for score in scores:
        numerator, denominator = score.as_integer_ratio()
        times = _times(counts, score)
        sign = 1 if numerator * cases >= positives * denominator else -1
        below += -sign * times
        yield Fraction(sign * times * numerator, denominator)
    yield Fraction(below * positives, cases)


def concordance(metric: Metric, counts: SurvivalCounts, parameters: Parameters) -> MetricValue:
    """Go from late to early times; each event is compared with the cases after it, and others of its time without one.

    A Fenwick tree holds how many of these have a score up to any place in the order of scores.
    """
    by_time: defaultdict[float, tuple[Counter[float | None], Counter[float | None]]]
    by_time = defaultdict(lambda: (Counter(), Counter()))
    for (time, event, score), times in counts.times.items():
        by_time[time][event][score] = times
    scores = _ordered({score for _, _, score in counts.times})
    place = {score: at for at, score in enumerate(scores, start=1)}
    tree = [0] * (len(scores) + 1)

    def add_up(cases: Counter[float | None]) -> int:
        for score, times in cases.items():
            at = place[score] if score is not None else len(tree)
            while at < len(tree):
                tree[at] += times
                at += at & -at
        return cases.total()

    def up_to(at: int) -> int:
        found = 0
        while at:
            found += tree[at]
            at &= at - 1
        return found

    later = pairs = halves = 0
    for time in sorted(by_time, reverse=True):
        others, events = by_time[time]
        later += add_up(others)
        pairs += events.total() * later
        for score, times in events.items():
            if score is not None:
                halves += times * (up_to(place[score] - 1) + up_to(place[score]))
        later += add_up(events)
    if not pairs:
        return MetricValue(value=None, reason="no case of the truth has an event while another one is still without")
    return MetricValue(value=Fraction(halves, 2 * pairs) if halves else ZERO)
