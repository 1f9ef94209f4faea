"""Marks by item behave like a dict, in whatever order and form they are added."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medcontract.scoring.marks import INVALID, REPEATED, Marks, Unscored

ITEMS = 12
FAILED = Unscored("failed", "out of memory")
_STEPS = st.lists(
    st.tuples(st.sampled_from(["range", "bytes", "list", "failed", "note"]), st.integers(0, 8), st.integers(0, 3)),
    max_size=8,
)


def apply(steps: list[tuple[str, int, int]]) -> tuple[Marks, dict[int, Any]]:
    """Marks, and a dict with the same content."""
    marks, plain = Marks(), dict[int, Any]()
    for serial, (step, start, size) in enumerate(steps):
        numbers = range(start, start + size)
        if step == "note":
            marks.note(start, REPEATED)
            plain[start] = REPEATED
        elif plain.keys().isdisjoint(numbers):
            mark = FAILED if step == "failed" else serial
            added: Any = bytes([serial] * size) if step == "bytes" else [mark] * size
            marks.add(list(numbers) if step == "list" else numbers, added)
            plain.update(dict.fromkeys(numbers, mark))
    return marks, plain


def as_dict(marks: Marks) -> dict[int, Any]:
    return {number: mark for number, mark in enumerate(marks.listed(ITEMS)) if mark is not None}


@given(_STEPS)
def test_marks_are_a_dict(steps: list[tuple[str, int, int]]) -> None:
    marks, plain = apply(steps)
    scored = {number: mark for number, mark in plain.items() if type(mark) is not Unscored}
    assert as_dict(marks) == plain
    assert as_dict(pickle.loads(pickle.dumps(marks))) == plain  # noqa: S301  # its own output
    assert (len(marks), marks.processed) == (len(plain), len(scored))
    assert sorted(map(str, marks.values())) == sorted(map(str, plain.values()))
    assert [marks.get(number) for number in range(ITEMS)] == [plain.get(number) for number in range(ITEMS)]
    assert list(marks.as_bytes(ITEMS, 255)) == [scored.get(number, 255) for number in range(ITEMS)]
    assert [number in marks for number in range(ITEMS)] == [number in plain for number in range(ITEMS)]
    assert marks.missing(ITEMS) == [number for number in range(ITEMS) if number not in plain]
    assert as_dict(marks.changed(str)) == {**plain, **{number: str(mark) for number, mark in scored.items()}}


@given(st.lists(st.tuples(st.integers(-1, ITEMS - 1), st.integers(0, 9)), max_size=9), st.booleans())
def test_records_in_any_order(records: list[tuple[int, int]], as_bytes: bool) -> None:
    """An item with several records is repeated; -1 is an id that is not expected."""
    marks = Marks()
    for start in range(0, len(records), 3):
        numbers, each = [n for n, _ in records[start : start + 3]], [m for _, m in records[start : start + 3]]
        marks.add(numbers, bytes(each) if as_bytes else each)
    times = Counter(number for number, _ in records if number >= 0)
    assert as_dict(marks) == {
        number: REPEATED if times[number] > 1 else mark for number, mark in records if number >= 0
    }
    assert marks.repeated() == {number for number, count in times.items() if count > 1}
    assert (marks.size, len(marks)) == (len(records), len(times))
    assert [records[place][0] for place in marks.positions({0, 1})] == [n for n, _ in records if n in (0, 1)]
    assert list(marks.expected_numbers()) == [number for number, _ in records if number >= 0]


@given(_STEPS, _STEPS, _STEPS)
def test_marks_merge_in_any_order(a: Any, b: Any, c: Any) -> None:
    """An item with a record in two of them is repeated, others keep their marks."""
    counted = [(apply(steps)[0], apply(steps)[1]) for steps in (a, b, c)]
    total: dict[int, Any] = {}
    for _, plain in counted:
        total |= {number: REPEATED if number in total else mark for number, mark in plain.items()}
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        merged = Marks()
        for place in order:
            merged.merge(counted[place][0].copy())
        assert as_dict(merged) == total
        assert (len(merged), merged.missing(ITEMS)) == (len(total), [n for n in range(ITEMS) if n not in total])
    assert [as_dict(marks) for marks, _ in counted] == [plain for _, plain in counted]


def test_a_copy_is_separate() -> None:
    marks = Marks()
    marks.add(range(2), "ab")
    copied = marks.copy()
    copied.note(0, INVALID)
    copied.add([5], "d")
    assert as_dict(marks) == {0: "a", 1: "b"}
    assert as_dict(copied) == {0: INVALID, 1: "b", 5: "d"}


def test_every_item_needs_one_mark() -> None:
    for numbers in (range(2), [0, 1]):
        for marks in ("a", b"a"):
            with pytest.raises(ValueError, match="expected one mark"):
                Marks().add(numbers, marks)
