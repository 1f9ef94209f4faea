"""Marks by item: a list for consecutive items and a dict for others behave like one dict."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medcontract.scoring.marks import Marks, Unscored

_STEPS = st.lists(
    st.tuples(st.sampled_from(["range", "bytes", "list", "set", "delete"]), st.integers(0, 8), st.integers(0, 3)),
    max_size=8,
)


def apply(steps: list[tuple[str, int, int]]) -> tuple[Marks, dict[int, Any]]:
    marks, plain = Marks(), dict[int, Any]()
    for serial, (step, start, size) in enumerate(steps):
        numbers = range(start, start + size)
        if step in ("range", "bytes", "list"):
            if plain.keys().isdisjoint(numbers):
                added = bytes([serial] * size) if step == "bytes" else [serial] * size
                marks.add(list(numbers) if step == "list" else numbers, added)
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
    assert list(marks.as_bytes(12, 255)) == [plain.get(number, 255) for number in range(12)]
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


@given(st.lists(st.binary(max_size=3), max_size=4), st.lists(st.integers(0, 11), max_size=2))
def test_bytes_are_marks_like_others(added: list[bytes], failed: list[int]) -> None:
    """Marks that were added as bytes are integers, and any of them can be replaced."""
    marks, listed = Marks(), Marks()
    for each in added:
        numbers = range(len(marks), len(marks) + len(each))
        marks.add(numbers, each)
        listed.add(numbers, list(each))
    copied = pickle.loads(pickle.dumps(Marks(marks)))  # noqa: S301  # its own output
    for number in failed:
        marks[number] = listed[number] = Unscored("failed")
    assert marks == listed
    assert marks.as_bytes(12, 255) == listed.as_bytes(12, 255)
    assert marks.may_be_unscored == listed.may_be_unscored == bool(failed)
    assert copied == dict(enumerate(b"".join(added)))


@given(st.binary(max_size=3), st.binary(max_size=3), st.integers(0, 6))
def test_merging_bytes(one: bytes, two: bytes, start: int) -> None:
    def chunks(kind: type[bytes | list[int]]) -> Marks:
        first, second = Marks(), Marks()
        first.add(range(len(one)), kind(one))
        second.add(range(start, start + len(two)), kind(two))
        return first.merged(second, Unscored("repeated"))

    assert chunks(bytes) == chunks(list)
    assert chunks(bytes).as_bytes(12, 255) == chunks(list).as_bytes(12, 255)


def test_every_item_needs_one_mark() -> None:
    for numbers in (range(2), [0, 1]):
        for marks in ("a", b"a"):
            with pytest.raises(ValueError, match=r"expected one mark|shorter|longer"):
                Marks().add(numbers, marks)
