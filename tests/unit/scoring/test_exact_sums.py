"""Sums and differences of doubles: the same as with fractions, one by one."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from tests.support import property_settings

from medcontract.scoring.rational import difference, exact_sum

_DOUBLES = st.floats(allow_nan=False, allow_infinity=False)


@property_settings(300)
@given(_DOUBLES, _DOUBLES)
def test_difference(one: float, two: float) -> None:
    """Exact, also for numbers of very different sizes."""
    assert difference(one, two) == Fraction(one) - Fraction(two)


@property_settings(300)
@given(st.lists(_DOUBLES | st.tuples(_DOUBLES, _DOUBLES).map(lambda pair: difference(*pair)), max_size=6))
def test_exact_sum(values: list[float | Fraction]) -> None:
    """The sum of doubles and of their differences; 0 if there are none."""
    assert exact_sum(values) == sum((Fraction(value) for value in values), Fraction(0))
