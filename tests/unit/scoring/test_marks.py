"""Marks by item: a list for consecutive items and a dict for others behave like one dict."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medcontract.scoring.marks import Marks

_STEPS = st.lists(
    st.tuples(st.sampled_from(["range", "list", "set", "delete"]), st.integers(0, 8), st.integers(0, 3)), max_size=8
)


def apply(steps: list[tuple[str, int, int]]) -> tuple[Marks, dict[int, Any]]:
    marks, plain = Marks(), dict[int, Any]()
    for serial, (step, start, size) in enumerate(steps):
        numbers = range(start, start + size)
        if step in ("range", "list"):
            if plain.keys().isdisjoint(numbers):
                marks.add(numbers if step == "range" else list(numbers), [serial] * size)
                plain.update(dict.fromkeys(numbers, serial))
        elif step == "set":
            marks[start] = plain[start] = serial
        elif start in plain:
            del marks[start], plain[start]
    return marks, plain


@given(_STEPS)
def test_marks_are_a_dict(steps: list[tuple[str, int, int]]) -> None:
    marks, plain = apply(steps)
    assert marks == plain
    assert len(marks) == len(plain)
    assert sorted(marks) == sorted(plain)
    assert sorted(marks.items()) == sorted(plain.items())
    assert sorted(marks.values()) == sorted(plain.values())
    assert [marks.get(number) for number in range(12)] == [plain.get(number) for number in range(12)]
    assert marks.listed(12) == [plain.get(number) for number in range(12)]
    assert [number in marks for number in range(12)] == [number in plain for number in range(12)]
    assert marks.has_any([0, 5]) == (0 in plain or 5 in plain)
    sent = pickle.loads(pickle.dumps(marks))  # noqa: S301  # its own output
    assert sent == Marks(marks) == Marks(plain) == plain


def test_a_copy_is_separate() -> None:
    marks = Marks()
    marks.add(range(2), "ab")
    copied = Marks(marks)
    copied[0], copied[5] = "c", "d"
    assert marks == {0: "a", 1: "b"}


def test_every_item_needs_one_mark() -> None:
    for numbers in (range(2), [0, 1]):
        with pytest.raises(ValueError, match=r"expected one mark|shorter|longer"):
            Marks().add(numbers, "a")
