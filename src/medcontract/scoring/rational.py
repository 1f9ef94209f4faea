"""Exact arithmetic: every figure is a fraction until it is rounded, once, to the nearest double."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from math import isfinite, isqrt
from typing import Any

ZERO, ONE = Fraction(0), Fraction(1)
LONG = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""For figures that are not fractions, such as logarithms: they are rounded to far more digits than a double has."""
_ROOT_BITS = 64
"""The digits of a root before it is rounded: more than a double has."""
_DECIMALS, _DIGITS = 4, 7
"""Of figures for participants. Without the second, large figures would still have up to 53 bits."""


class FigureTooLarge(ArithmeticError):
    """A figure that is too large for a double."""


def rounded(value: Fraction) -> float:
    """Return the nearest double. Raises `FigureTooLarge` if there is none."""
    try:
        return value.numerator / value.denominator  # Python rounds the quotient of two integers correctly
    except OverflowError:
        raise FigureTooLarge from None


def rounded_root(value: Fraction) -> float:
    """Return the nearest double to the root of a number of at least 0. Raises `FigureTooLarge` if there is none."""
    numerator, denominator = value.numerator, value.denominator
    shift = max(0, _ROOT_BITS + (denominator.bit_length() - numerator.bit_length()) // 2 + 1)
    scaled, rest = divmod(numerator << 2 * shift, denominator)
    root = isqrt(scaled)
    if rest or root * root != scaled:
        # Strictly between two neighbors with more digits than a double, so it is rounded as the root itself would be
        return rounded(Fraction(2 * root + 1, 2 << shift))
    return rounded(Fraction(root, 1 << shift))


def rounded_or_none(value: Fraction | None) -> float | None:
    return None if value is None else rounded(value)


def coarse(value: object) -> Any:
    """Round every float of a result, as participants see it: with all its digits, a figure can spell out the truth.

    To 4 decimals and at most 7 significant digits, half to even, of the shortest decimal that represents the double:
    that is what the organizer sees.
    """
    if isinstance(value, dict):
        return {name: coarse(each) for name, each in value.items()}
    if isinstance(value, list):
        return [coarse(each) for each in value]
    if not isinstance(value, float) or not isfinite(value):
        return value
    decimals = min(_DECIMALS, _DIGITS - 1 - Decimal(repr(value)).adjusted())
    return float(round(Fraction(repr(value)), decimals))


def exact_sum(values: Iterable[float | Fraction]) -> Fraction:
    """Return the exact sum of doubles, or of sums and differences of them."""
    return dyadic_sum(value.as_integer_ratio() for value in values)


def dyadic_sum(ratios: Iterable[tuple[int, int]]) -> Fraction:
    """Return the sum of ratios whose denominators are powers of two, as in doubles.

    There are few different ones, and the largest is a multiple of all others.
    """
    by_denominator: dict[int, int] = {}
    for numerator, denominator in ratios:
        by_denominator[denominator] = by_denominator.get(denominator, 0) + numerator
    largest = max(by_denominator, default=1)
    return Fraction(sum(n * (largest // d) for d, n in by_denominator.items()), largest)


def difference(one: float, two: float) -> Fraction:
    """Return the exact difference of two doubles."""
    (a, b), (c, d) = one.as_integer_ratio(), two.as_integer_ratio()
    return Fraction(a * d - c * b, b * d)


def total(values: Iterable[Fraction]) -> Fraction:
    """Return the sum of fractions: by denominator first, then in pairs, to avoid multiplications of large numbers."""
    by_denominator: dict[int, int] = {}
    for value in values:
        numerator, denominator = value.as_integer_ratio()
        by_denominator[denominator] = by_denominator.get(denominator, 0) + numerator
    sums = [Fraction(n, d) for d, n in sorted(by_denominator.items())]
    while len(sums) > 1:
        sums = [sum(sums[at : at + 2], ZERO) for at in range(0, len(sums), 2)]
    return sums[0] if sums else ZERO


def mean(values: Iterable[Fraction]) -> Fraction:
    found = list(values)
    return total(found) / len(found)


def mean_or_none(values: Iterable[Fraction | None]) -> Fraction | None:
    """Return the mean, or None if any value is None: a mean of the other values would be misleading."""
    found = list(values)
    known = [value for value in found if value is not None]
    return mean(known) if len(known) == len(found) else None


def f1(true_positives: int, false_positives: int, false_negatives: int) -> Fraction:
    """2·TP / (2·TP + FP + FN); 0 if the denominator is 0."""
    denominator = 2 * true_positives + false_positives + false_negatives
    return Fraction(2 * true_positives, denominator) if denominator else ZERO


def clamped(value: Fraction) -> Fraction:
    """Return the value, limited to [0, 1]."""
    return min(ONE, max(ZERO, value))
