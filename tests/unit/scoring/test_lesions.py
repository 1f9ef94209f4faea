"""Lesions: what is computed for many images at once is what is computed for each of them."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from medcontract.contracts.lesion_classes import CLASSES
from medcontract.scoring.expected import Expected, ExpectedItems
from medcontract.scoring.lesions import LesionsScorer
from medcontract.scoring.marks import Unscored
from medcontract.scoring.pairing import Pairing
from medcontract.scoring.scorer import NO_OPTIONS, Answers
from medcontract.scoring.tracks import track

_PAIR = LesionsScorer.pairs[0]
_PROBABILITIES = st.floats(0, 1) | st.sampled_from([0.0, -0.0, 5e-324, 0.1, 0.3, 1.0])  # many are equal
_CLASS = st.integers(0, len(CLASSES) - 1)
_ANSWER = _CLASS | st.just(Unscored("failed", "out of memory")) | st.none()


@given(st.lists(st.lists(_PROBABILITIES, min_size=len(CLASSES), max_size=len(CLASSES)), max_size=6))
def test_the_classes_of_many_images(lists: list[list[float]]) -> None:
    records = [SimpleNamespace(probabilities=each) for each in lists]
    assert _PAIR.measure_all
    assert list(_PAIR.measure_all((), records)) == [_PAIR.measure(0, record) for record in records]


@given(st.lists(st.tuples(_CLASS, _CLASS), min_size=1) | st.lists(st.tuples(_CLASS, _ANSWER), min_size=1))
def test_the_confusion_matrix(images: list[tuple[int, Any]]) -> None:
    processed = [type(answer) is int for _, answer in images]
    keys: list[Any] = [str(number) for number in range(len(images))]
    pairing = Pairing(_PAIR, Expected.of(_PAIR, ExpectedItems(keys, [true for true, _ in images], ascending=False)))
    marks = pairing.marks_of("")
    if all(processed):
        marks.add(range(len(images)), bytes(answer for _, answer in images))
    else:
        numbers = [number for number, (_, answer) in enumerate(images) if answer is not None]
        marks.add(numbers, [images[number][1] for number in numbers])
    pairing.named.add("")
    answers = Answers(pairings={"lesions/truth": pairing}, documents={}, headers={}, names={})
    tally = LesionsScorer(track("lesions").protocol, NO_OPTIONS, ()).tally(answers)
    wanted = Counter((true, answer if type(answer) is int else None) for true, answer in images)
    assert tally.data == wanted
    assert tally.processed == {"": sum(processed)}
