"""What can be concluded from a difference of two submissions, and from a ranking.

All submissions share the weights of a replicate, so their values in it are paired. Values are rounded replicates of the
figure that submissions are ranked by, such as those in a score, with NaN where it is undefined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import erfc, fsum, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medcontract.uncertainty.intervals import MOST_LEFT_OUT, Bounds, NoInterval, percentiles, shown, z_of

Array = NDArray[Any]
_MILLION = 1e6
"""Replicates have 6 decimals, so that multiples of a millionth are whole numbers, and their differences exact."""
MOST_IN_MATRIX = 30
"""The number of submissions up to which each pair is shown."""
_DIGITS = 9
"""The digits of a p-value, so that it does not depend on the library that computes `erfc`."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The difference of two submissions."""

    difference: Fraction
    """In the direction of better."""
    spread: float
    """The standard deviation of the difference over the replicates."""
    p: float
    """The probability of a difference that is at least as large if there is none."""

    def interval(self, level: Fraction, scaled: bool) -> Bounds:
        """Return the interval, rounded as for a figure with or without a scale."""
        half = z_of(level) * self.spread
        low, high = (shown(float(self.difference) + each, (0, 1) if scaled else None) for each in (-half, half))
        return low, high


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """What the replicates say about a ranking, by row, the best first."""

    intervals: tuple[tuple[int, int], ...]
    """The best and the worst rank."""
    first_shares: tuple[float, ...]
    """The share of replicates in which a row is first; ties are divided equally."""
    tied_with_first: tuple[bool, ...]
    neighbours: tuple[tuple[Compared, float], ...]
    """Each row and the next one, with the p-value corrected by Holm over these pairs."""
    detectable: float | None
    """The smallest difference from the first that would be significant, estimated from the first two rows."""
    better: tuple[tuple[float, ...], ...]
    """The share of replicates in which one row is better than another; ties count half. Empty for many rows."""


def together(values: Array) -> Array | NoInterval:
    """Return the replicates in which all rows have a value, unless these are too few."""
    there = np.logical_not(np.isnan(values).any(axis=0))
    resamples, left_out = len(there), int(len(there) - there.sum())
    if left_out > MOST_LEFT_OUT * resamples:
        return NoInterval(f"not all submissions have a value in {left_out:,} of {resamples:,} resamples")
    kept: Array = values[:, there]
    return kept


def compared(difference: Fraction, above: Array, below: Array) -> Compared:
    """Compare two submissions with their replicates, all in the direction of better."""
    each = np.rint(above * _MILLION) - np.rint(below * _MILLION)
    mean = fsum(each) / len(each)
    spread = sqrt(fsum((each - mean) ** 2) / (len(each) - 1)) / _MILLION
    p = 1.0
    if difference:
        p = erfc(abs(float(difference)) / (spread * sqrt(2))) if spread else 0.0
    return Compared(difference=difference, spread=spread, p=rounded_p(p))


def rounded_p(p: float) -> float:
    return float(f"{p:.{_DIGITS}g}")


def holm(values: Sequence[float]) -> list[float]:
    """Correct p-values for the number of comparisons, as by Holm."""
    corrected = [0.0] * len(values)
    most = 0.0
    for done, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        most = max(most, min(1.0, (len(values) - done) * values[place]))
        corrected[place] = rounded_p(most)
    return corrected


def ranks_of(headlines: Sequence[Fraction], values: Array, level: Fraction, lower_is_better: bool) -> Ranks:
    """Say what the replicates of a ranking mean. `values` has a row for each submission, the best first."""
    sign = -1 if lower_is_better else 1
    exact, values = [sign * each for each in headlines], sign * values
    ranks = _ranks(values)
    firsts = ranks == 1
    sharing = firsts.sum(axis=0)
    intervals = [percentiles(row, level) for row in ranks]
    first = [compared(exact[0] - each, values[0], row) for each, row in zip(exact[1:], values[1:], strict=True)]
    corrected = holm([each.p for each in first])
    pairs = [compared(exact[n] - exact[n + 1], values[n], values[n + 1]) for n in range(len(exact) - 1)]
    neighbours = tuple(zip(pairs, holm([pair.p for pair in pairs]), strict=True))
    few = values if len(values) <= MOST_IN_MATRIX else values[:0]
    return Ranks(
        intervals=tuple((int(best), int(worst)) for best, worst in intervals),
        first_shares=tuple(_shared(sharing[row]) / len(sharing) for row in firsts),
        tied_with_first=(True, *(p > 1 - level for p in corrected)),
        neighbours=neighbours,
        detectable=z_of(level) * first[0].spread if first else None,
        better=tuple(tuple(map(float, ((row > few) + (row == few) / 2).mean(axis=1))) for row in few),
    )


def _ranks(values: Array) -> Array:
    """Return the rank of each row in each replicate: 1 + the number of rows that are strictly better."""
    ordered = np.sort(values, axis=0)
    better_or_equal = [
        np.searchsorted(sort, column, side="right") for sort, column in zip(ordered.T, values.T, strict=True)
    ]
    return 1 + len(values) - np.array(better_or_equal).T


def _shared(sharing: Array) -> float:
    """Return the sum of 1 / n, over the replicates in which a row is first together with n - 1 others."""
    sizes, counts = np.unique(sharing, return_counts=True)
    return float(sum(Fraction(int(count), int(size)) for size, count in zip(sizes, counts, strict=True)))
