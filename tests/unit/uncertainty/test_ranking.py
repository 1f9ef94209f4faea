"""Rank ranges, ties with the first, and p-values, by hand."""

from __future__ import annotations

from fractions import Fraction
from math import erfc, sqrt
from statistics import NormalDist, stdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import property_settings

np = pytest.importorskip("numpy")

from medcontract.uncertainty.intervals import NoInterval  # noqa: E402
from medcontract.uncertainty.ranking import compared, holm, ranks_of, together  # noqa: E402

LEVEL = Fraction(95, 100)
A, B, C = [0.9, 0.8, 0.7, 0.8], [0.8, 0.8, 0.8, 0.6], [0.85, 0.5, 0.8, 0.8]
HEADLINES = [Fraction("0.8"), Fraction("0.75"), Fraction("0.7375")]


def test_differences_are_paired() -> None:
    """A − B is 0.1, 0, −0.1, 0.2: mean 0.05, squared deviations 0.0025 + 0.0025 + 0.0225 + 0.0225 = 0.05."""
    found = compared(Fraction("0.05"), np.array(A), np.array(B))
    s = sqrt(0.05 / 3)
    assert found.spread == pytest.approx(s, abs=1e-12)
    assert found.p == pytest.approx(erfc(0.05 / (s * sqrt(2))), rel=1e-8)
    assert found.p == pytest.approx(0.69854, abs=1e-5)  # twice the upper tail of a normal distribution at 0.3873
    assert found.interval(LEVEL, scaled=True) == (-0.203030, 0.303030)  # 0.05 ± 1.959964 · 0.1290994


def test_p_values_at_the_edges() -> None:
    """Equal headlines: 1. A difference that never varies: 0. Both: 1."""
    steady = np.array([0.3, 0.4, 0.5]), np.array([0.2, 0.3, 0.4])
    assert compared(Fraction(0), np.array(A), np.array(B)).p == 1
    assert compared(Fraction("0.1"), *steady).p == 0
    assert compared(Fraction("0.1"), *steady).interval(LEVEL, scaled=True) == (0.1, 0.1)
    assert compared(Fraction(0), steady[0], steady[0]).p == 1


def test_bounds_without_a_scale() -> None:
    """They have 9 significant digits instead of 6 decimals."""
    found = compared(Fraction("123456.789"), np.array([1e5, 3e5]), np.array([0.0, 0.0]))
    half = NormalDist().inv_cdf(0.975) * sqrt(2e10)
    assert found.interval(LEVEL, scaled=False) == (float(f"{123456.789 - half:.9g}"), float(f"{123456.789 + half:.9g}"))


def test_ranks() -> None:
    """First are A, then A and B, B and C, A and C: A has 1 + 1/2 + 1/2 of 4 replicates, the others 1/2 + 1/2."""
    found = ranks_of(HEADLINES, np.array([A, B, C]), LEVEL, lower_is_better=False)
    assert found.intervals == ((1, 3), (1, 3), (1, 3))
    assert found.first_shares == (0.5, 0.25, 0.25)
    assert found.tied_with_first == (True, True, True)
    # A against B: A, tie, B, A; A against C: A, A, C, tie; B against C: C, B, tie, C
    assert found.better == ((0.5, 0.625, 0.625), (0.375, 0.5, 0.375), (0.375, 0.625, 0.5))
    assert found.detectable == pytest.approx(1.959963985 * sqrt(0.05 / 3), abs=1e-9)
    above, corrected = found.neighbours[0]
    below, also_corrected = found.neighbours[1]
    assert (above.difference, below.difference) == (Fraction("0.05"), Fraction("0.0125"))
    assert (corrected, also_corrected) == (1, 1), "twice the smaller p is above 1, and Holm is monotone"


def test_lower_is_better() -> None:
    """The same submissions as errors."""
    values = 1 - np.array([A, B, C])
    found = ranks_of([1 - each for each in HEADLINES], values, LEVEL, lower_is_better=True)
    same = ranks_of(HEADLINES, np.array([A, B, C]), LEVEL, lower_is_better=False)
    assert (found.intervals, found.first_shares, found.better) == (same.intervals, same.first_shares, same.better)
    assert [pair.difference for pair, _ in found.neighbours] == [pair.difference for pair, _ in same.neighbours]


def test_percentiles_of_ranks() -> None:
    """Of 100 replicates, the 3rd smallest and the 3rd largest rank: a row that is second twice is [1, 1], three times
    [1, 2]."""
    for times, worst in ((2, 1), (3, 2)):
        one, other = np.full(100, 0.9), np.full(100, 0.8)
        other[:times] = 0.95
        found = ranks_of([Fraction(9, 10), Fraction(8, 10)], np.array([one, other]), LEVEL, lower_is_better=False)
        assert found.intervals == ((1, worst), (3 - worst, 2))
        assert found.first_shares == (1 - times / 100, times / 100)


def test_holm() -> None:
    """Sorted 0.01, 0.03, 0.04: 3 · 0.01, 2 · 0.03, then 0.04, which is not below the one before."""
    assert holm([0.01, 0.04, 0.03]) == [0.03, 0.06, 0.06]
    assert holm([0.6, 0.5]) == [1, 1]
    assert holm([]) == []


def test_tied_with_the_first() -> None:
    """Against the first, p is 0.04 for B and C: alone each would be significant, together 2 · 0.04 is not."""
    z = NormalDist().inv_cdf(0.98)
    steps = np.array([-1.0, 1.0]) * 0.1 / sqrt(2)  # their standard deviation is 0.1
    rows = np.array([[0.9, 0.9], 0.9 - 0.1 * z + steps, 0.9 - 0.1 * z - steps])
    headlines = [Fraction("0.9"), *[Fraction("0.9") - Fraction(0.1 * z)] * 2]
    alone = ranks_of(headlines[:2], rows[:2], LEVEL, lower_is_better=False)
    assert alone.tied_with_first == (True, False)
    assert ranks_of(headlines, rows, LEVEL, lower_is_better=False).tied_with_first == (True, True, True)


def test_a_single_row() -> None:
    found = ranks_of(HEADLINES[:1], np.array([A]), LEVEL, lower_is_better=False)
    assert (found.intervals, found.first_shares, found.tied_with_first) == (((1, 1),), (1.0,), (True,))
    assert (found.neighbours, found.detectable) == ((), None)


def test_replicates_that_lack_a_value() -> None:
    """Only those in which all have a value count; more than 5 % without are too many."""
    values = np.array([[0.5] * 40, [0.5] * 40])
    values[1, :2] = np.nan
    kept: Any = together(values)
    assert kept.shape == (2, 38)
    values[0, 2] = np.nan
    assert together(values) == NoInterval("not all submissions have a value in 3 of 40 resamples")


_ROWS = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 4), min_size=n, max_size=n), min_size=2, max_size=8)
)


@property_settings(100)
@given(_ROWS)
def test_laws(columns: list[list[int]]) -> None:
    """Ranks as counted one by one, shares of being first that add up to 1, and shares of pairs that do, too."""
    values = np.array(columns, float).T / 4
    headlines = sorted((Fraction(float(row.mean())) for row in values), reverse=True)
    found = ranks_of(headlines, values, Fraction(1, 2), lower_is_better=False)
    assert sum(found.first_shares) == pytest.approx(1)
    for row, (best, worst) in zip(values, found.intervals, strict=True):
        ranks = sorted(1 + sum(other[b] > row[b] for other in values) for b in range(len(columns)))
        k = max(1, -(-len(columns) // 4))
        assert (best, worst) == (ranks[k - 1], ranks[-k])
    better = np.array(found.better)
    assert np.allclose(better + better.T, 1)
    for n, (pair, _) in enumerate(found.neighbours):
        assert pair.spread == pytest.approx(stdev((values[n] - values[n + 1]).tolist()), abs=1e-6)
