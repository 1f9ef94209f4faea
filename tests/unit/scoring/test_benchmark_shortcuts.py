"""What makes the metrics of `benchmark` faster never changes them."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import property_settings

from medcontract.scoring.benchmark import PREDICTIONS, REFERENCES, TRACK, samples
from medcontract.scoring.benchmark.metrics import SHARES, Settings, _weighted
from medcontract.scoring.marks import REPEATED
from medcontract.scoring.pairing import Pair
from medcontract.scoring.scorer import NO_OPTIONS

TEXTS = [
    None,
    " ",
    "...",
    "Asthma with cough.",
    "asma",
    "First, the chest  pain (angina)   suggests an infarction, because of troponin 0.5",
    "1. fever\n2. therefore pneumonia, based on the X-ray",
    "dolor torácico; por lo tanto infarto",
]
texts = st.sampled_from(TEXTS)


@st.composite
def answers(draw: st.DrawFn) -> SimpleNamespace:
    entities = draw(st.sampled_from([None, ["asthma"]]))
    given = None if entities is None else SimpleNamespace(
        diagnoses=entities, treatments=None, medications=None, symptoms=None, labs=None
    )  # fmt: skip
    return SimpleNamespace(answer=draw(texts), rationale=draw(texts), diagnosis=draw(texts), entities=given)


def pair() -> Pair:
    (found,) = TRACK.scorer(TRACK.protocol, NO_OPTIONS, (REFERENCES, PREDICTIONS)).pairs
    return found


PAIR = pair()


@property_settings(200)
@given(st.lists(st.tuples(answers(), answers(), st.sampled_from([None, {"safety": 0.5}])), max_size=12))
def test_records_in_blocks(found: list[Any]) -> None:
    """Records that are measured together, or again, have the marks that they have on their own."""
    items = [PAIR.item(SimpleNamespace(task_id="T", sample_id="S", reference=right)) for right, _, _ in found]
    for item in items[::5]:
        item.said = None
    records = [SimpleNamespace(prediction=said, scores=scores) for _, said, scores in found]
    wanted = [PAIR.measure(item, record) for item, record in zip(items, records, strict=True)]
    assert [mark is REPEATED for mark in wanted] == [number % 5 == 0 for number in range(len(found))]
    assert PAIR.measure_all
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples, "_BLOCK", 4)
        for _ in range(2):  # the second time, the normalized references are known
            assert list(PAIR.measure_all(iter(items), records)) == wanted


counts = st.tuples(st.integers(0, 9), st.integers(1, 9))


@property_settings(300)
@given(
    st.lists(counts, min_size=len(SHARES), max_size=len(SHARES)),
    st.lists(st.integers(0, 150), min_size=len(SHARES), max_size=len(SHARES)),
    st.fractions(0, 1, max_denominator=20),
)
def test_weighted_shares(shares: list[tuple[int, int]], percents: list[int], penalty: Fraction) -> None:
    """The sum in integers is that of fractions."""
    protocol = TRACK.protocol
    for name, percent in zip(SHARES, percents, strict=True):
        protocol = protocol.changed(f"weight_{name}", f"{percent / 100:.2f}")
    weighted = [Fraction(percent, 100) * Fraction(*share) for percent, share in zip(percents, shares, strict=True)]
    plain = sum(weighted) - penalty
    assert _weighted(Settings.of(protocol), shares, penalty) == min(max(plain, Fraction(0)), Fraction(1))
