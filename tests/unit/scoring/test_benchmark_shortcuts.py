"""What makes the metrics of `benchmark` faster never changes them."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from tests.support import property_settings

from medcontract.scoring.benchmark import TRACK
from medcontract.scoring.benchmark.metrics import SHARES, Settings, _weighted

counts = st.tuples(st.integers(0, 9), st.integers(1, 9))


@property_settings(300)
@given(
    st.lists(counts, min_size=len(SHARES), max_size=len(SHARES)),
    st.lists(st.integers(0, 150), min_size=len(SHARES), max_size=len(SHARES)),
    st.fractions(0, 1, max_denominator=20),
)
def test_weighted_shares(shares: list[tuple[int, int]], percents: list[int], penalty: Fraction) -> None:
    """The sum in integers equals the sum of fractions."""
    protocol = TRACK.protocol
    for name, percent in zip(SHARES, percents, strict=True):
        protocol = protocol.changed(f"weight_{name}", f"{percent / 100:.2f}")
    weighted = [Fraction(percent, 100) * Fraction(*share) for percent, share in zip(percents, shares, strict=True)]
    plain = sum(weighted) - penalty
    assert _weighted(Settings.of(protocol), shares, penalty) == min(max(plain, Fraction(0)), Fraction(1))
