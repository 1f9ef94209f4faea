"""The interval of a figure, from its replicates or, for a share, by Wilson's formula."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medcontract.uncertainty.figures import Resampled, Scale
from medcontract.uncertainty.sample import Sample

Bounds = tuple[float, float]
MOST_LEFT_OUT = Fraction(5, 100)
"""A figure that is undefined in more replicates has no interval."""
_SAME = 2.0**-40
"""Replicates that differ by less, as a share of the value, agree: sums of real numbers are not more precise."""
_DECIMALS, _DIGITS = 6, 9


@dataclass(frozen=True)
class NoInterval:
    """Why a figure has no interval."""

    reason: str


def z_of(level: Fraction) -> float:
    """Return how many standard deviations around the mean contain this share of a normal distribution."""
    return NormalDist().inv_cdf(float((1 + level) / 2))


def percentiles(values: NDArray[Any], level: Fraction) -> Bounds:
    """Return the k-th smallest and the k-th largest value, k = max(1, ⌈m·(1 − level)/2⌉)."""
    ordered = np.sort(values)
    k = max(1, ceil(len(ordered) * (1 - level) / 2))
    return float(ordered[k - 1]), float(ordered[-k])


def wilson(value: float, counted: int, level: Fraction) -> Bounds:
    """Return Wilson's interval for a share of `counted` cases."""
    z = z_of(level)
    square = z * z / counted
    middle = value + square / 2
    half = z * sqrt((value * (1 - value) + square / 4) / counted)
    return max(0.0, (middle - half) / (1 + square)), min(1.0, (middle + half) / (1 + square))


def without_spread(value: float, scale: Scale, units: int, level: Fraction) -> Bounds:
    """Return the interval of a figure that is the same in all replicates, as in 20 of 20."""
    square = z_of(level) ** 2
    share = square / (units + square)
    low, high = scale
    return value - share * (value - low), value + share * (high - value)


def shown(value: float, scale: Scale | None) -> float:
    """Round a bound: to 6 decimals or, without a scale, to 9 significant digits, half to even."""
    return (round(value, _DECIMALS) if scale else float(f"{value:.{_DIGITS}g}")) + 0.0  # without it, -0.0


def interval(figure: Resampled, sample: Sample, level: Fraction) -> Bounds | NoInterval:
    """Return the rounded interval of a figure, or why it has none."""
    found = _exact(figure, sample, level)
    if isinstance(found, NoInterval):
        return found
    low, high = (shown(float(each), figure.scale) for each in found)  # not NumPy's
    return low, high


def _exact(figure: Resampled, sample: Sample, level: Fraction) -> Bounds | NoInterval:
    value = float(figure.values[0])
    if figure.counted is not None and not sample.clustered:
        if not figure.counted:
            return NoInterval("no case counts in its denominator")
        low, high = figure.scale or (0.0, 1.0)
        first, last = wilson((value - low) / (high - low), figure.counted, level)
        return low + first * (high - low), low + last * (high - low)
    replicates = figure.values[1:][~np.isnan(figure.values[1:])]
    left_out = sample.resamples - len(replicates)
    if left_out > MOST_LEFT_OUT * sample.resamples:
        return NoInterval(f"undefined in {left_out:,} of {sample.resamples:,} resamples")
    if np.ptp(replicates) > _SAME * abs(value):
        return percentiles(replicates, level)
    units = sample.units_of(figure.cases)
    if not units:
        return NoInterval("there is no case")
    if figure.scale is None:
        return NoInterval("it is the same in all resamples, and has no scale")
    return without_spread(value, figure.scale, units, level)
