"""Decimal numbers, as printed."""

from __future__ import annotations

import re
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction

from medcontract.normalizers.text import normalize

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def number(text: str) -> Decimal | None:
    """The number in a text, if its normalization is just a number."""
    found = normalize(text)
    return Decimal(found) if _NUMBER.fullmatch(found) else None


def close(predicted: str, labeled: str, tolerance: Fraction) -> bool:
    """Whether both are numbers and differ by at most a share of the second. Exact: 1.02 is within 2 % of 1.00."""
    p, g = number(predicted), number(labeled)
    if p is None or g is None:
        return False
    share, whole = Decimal(tolerance.numerator), Decimal(tolerance.denominator)
    digits = len(normalize(predicted)) + len(normalize(labeled)) + len(f"{share}{whole}")
    exact = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)  # enough for all digits of the result
    return exact.multiply(exact.subtract(p, g).copy_abs(), whole) <= exact.multiply(g.copy_abs(), share)
