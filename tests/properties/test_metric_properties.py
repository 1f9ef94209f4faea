"""Laws of the metrics of challenges, on examples that hypothesis chooses."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metric_cases import MAY_RISE, VARIANTS, Variant, perfect, values
from tests.support import property_settings

from medcontract.scoring.sums import added


def _rows(each: Variant) -> Any:
    truths, predictions = (st.none() | st.sampled_from(values(f)) for f in (each.metric.truth, each.metric.prediction))
    return st.lists(st.tuples(truths, predictions), min_size=1, max_size=12)


def _value(each: Variant, rows: list[tuple[Any, Any]]) -> Fraction:
    found = each.value([y for y, _ in rows], [p for _, p in rows]).value or Fraction(0)
    return found if each.metric.kind.higher_is_better else -found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", VARIANTS)
def test_metric(name: str) -> None:
    """Neither order nor splits matter, and leaving out a right record never helps, with known exceptions."""
    each = VARIANTS[name]
    counting = each.metric.counting(each.parameters)

    @given(_rows(each), _rows(each), st.randoms(use_true_random=False))
    @property_settings(40)
    def check(first: list[tuple[Any, Any]], second: list[tuple[Any, Any]], random: Any) -> None:
        rows = first + second
        parts = [counting.count([y for y, _ in part], [p for _, p in part]) for part in (second, first)]
        shuffled = random.sample(rows, len(rows))
        assert added(*parts) == counting.count([y for y, _ in shuffled], [p for _, p in shuffled])
        right, without = [], []
        for at, (y, p) in enumerate(rows):
            right.append((y, p if at else perfect(each.metric, y)))
            without.append((y, p if at else None))
        if not name.startswith(MAY_RISE):
            assert _value(each, without) <= _value(each, right)

    check()
