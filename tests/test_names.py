"""Which names are paired: equal ones, alike ones, and those that never are."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medcontract.normalizers import names
from medcontract.normalizers.names import look_alikes, near_misses, pair_exact, pair_fuzzy
from medcontract.normalizers.text import normalize


def test_equal_names_one_to_one() -> None:
    """In order of appearance, an empty name never."""
    assert pair_exact(["A", "B", "A", ""], ["A", "", "A", "A", "C"]) == [0, None, 2, None]


@given(st.lists(st.sampled_from("ABC")), st.lists(st.sampled_from("ABCD")))
def test_as_many_pairs_as_there_can_be(labels: list[str], predictions: list[str]) -> None:
    """Of each name as many pairs as both sides have, and no prediction twice."""
    pairs = [pair for pair in pair_exact(labels, predictions) if pair is not None]
    assert len(set(pairs)) == len(pairs)
    assert len(pairs) == sum(min(labels.count(name), predictions.count(name)) for name in "ABC")


def test_alike_names() -> None:
    """A letter is wrong, or the words stand in another order."""
    assert pair_fuzzy(["ACETAMINOFEN"], ["ACETAMINOFEM"], 90) == [0]
    assert pair_fuzzy(["ACIDO FOLICO"], ["FOLICO ACIDO"], 90) == [0]
    assert pair_fuzzy(["ACETAMINOFEN"], ["IBUPROFENO"], 90) == [None]


@pytest.mark.parametrize(
    ("label", "prediction"),
    [
        ("VITAMINA B1", "VITAMINA B12"),
        ("LOSARTAN 50 MG TABLETA", "LOSARTAN 5 MG TABLETA"),
        ("PREDNISONA", "PREDNISOLONA"),
        ("CEFALEXINA 500 MG", "CEFALEXINA 50 MG"),
        ("METILPREDNISOLONA TABLETA", "PREDNISOLONA METIL TABLETA"),
    ],
)
def test_never_paired(label: str, prediction: str) -> None:
    """Other digits, or another drug of the list of look-alikes, however alike the names are."""
    assert pair_fuzzy([label], [prediction], 50) == [None]


def test_ties_are_left_alone() -> None:
    """Two candidates that are equally near: nobody knows which one is meant."""
    assert pair_fuzzy(["ABCDEFGHIJ"], ["ABCDEFGHIX", "ABCDEFGHIY"], 80) == [None]
    assert pair_fuzzy(["ABCDEFGHIX", "ABCDEFGHIY"], ["ABCDEFGHIJ"], 80) == [None, None]


def test_equal_names_come_first() -> None:
    """An equal name is not given away to an alike one."""
    assert pair_fuzzy(["ACETAMINOFEM", "ACETAMINOFEN"], ["ACETAMINOFEN"], 90) == [None, 0]


def test_order_does_not_matter() -> None:
    """Distinct names find the same partners in any order."""
    labels = ["ACETAMINOFEN TABLETA", "IBUPROFENO JARABE", "OMEPRAZOLE"]
    predictions = ["IBUPROFENO JARAVE", "ACETAMINOFEM TABLETA", "OMEPRAZOL"]
    found = set()
    for order in itertools.permutations(range(3)):
        mixed = [predictions[number] for number in order]
        found.add(tuple(mixed[pair] if pair is not None else None for pair in pair_fuzzy(labels, mixed, 90)))
    assert len(found) == 1


def test_near_misses() -> None:
    """The nearest prediction of a label that was not matched, from 80 on."""
    labels, predictions = ["ACETAMINOFEN TABLETA", "OMEPRAZOL"], ["ACETAMINOFEN TAB", "INSULINA"]
    ((label, prediction, score),) = near_misses(labels, predictions, pair_exact(labels, predictions))
    assert (label, prediction) == (0, 0)
    assert 80 <= score < 100


def test_many_names_cost_little() -> None:
    """More names than any document has are not compared with each other."""
    labels = [f"A{number}" for number in range(3000)]
    predictions = [f"B{number}" for number in range(3000)]
    assert pair_fuzzy(labels, predictions, 90) == [None] * 3000


def test_list_of_look_alikes_is_sound() -> None:
    """Every name once, in its normalized form, in a group of at least two."""
    groups = json.loads(names.LOOK_ALIKES.read_text(encoding="utf-8"))["groups"]
    flat = [name for group in groups for name in group]
    assert all(len(group) > 1 for group in groups)
    assert len(set(flat)) == len(flat)
    assert look_alikes() == frozenset(normalize(name) for name in flat)
