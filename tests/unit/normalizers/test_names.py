"""Which names are paired: equal ones, similar ones, and names that never are."""

from __future__ import annotations

import itertools
import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz
from tests.naive import best_choice

from medcontract.normalizers import names
from medcontract.normalizers.names import look_alikes, near_misses, pair_exact, pair_fuzzy, pair_rest
from medcontract.normalizers.text import normalize, tight

ALIKE = ["", "LOSARTAN", "LOSARTAM", "LOSARTAN 50 MG", "50 MG LOSARTAN", "LOZARTAN 50 MG", "IBUPROFENO", "IBUPROFEN"]


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


@pytest.mark.parametrize(("label", "prediction"), [
    ("VITAMINA B1", "VITAMINA B12"),
    ("LOSARTAN 50 MG TABLETA", "LOSARTAN 5 MG TABLETA"),
    ("PREDNISONA", "PREDNISOLONA"),
    ("CEFALEXINA 500 MG", "CEFALEXINA 50 MG"),
    ("METILPREDNISOLONA TABLETA", "PREDNISOLONA METIL TABLETA"),
])  # fmt: skip
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
    assert [normalize(name) for name in flat] == flat


def test_listed_names_are_never_paired() -> None:
    """Of all pairs of the list that are near enough, none is paired, with a dose and a form neither."""
    near = [
        (one, other)
        for one, other in itertools.permutations(sorted(look_alikes()), 2)
        if fuzz.token_sort_ratio(one, other) >= 90
    ]
    assert len(near) > 100
    for one, other in near:
        assert pair_fuzzy([one], [other], 90) == [None]
        assert pair_fuzzy([f"{one} 50 MG TABLETA"], [f"{other} 50 MG TABLETA"], 90) == [None]


def test_one_drug_of_the_list_in_two_spellings_of_its_form() -> None:
    """The list keeps different drugs apart, not a drug from itself."""
    assert pair_fuzzy(["LOSARTAN 50 MG TABLETA"], ["LOSARTAN 50 MG TABLETAS"], 90) == [0]
    assert pair_fuzzy(["LOSARTAN 50 MG"], ["LOSARTAN HIDROCLOROTIAZIDA 50 MG"], 50) == [None]


@pytest.mark.parametrize(
    ("one", "other"), [("X 1/2", "X 1-2"), ("X 0.5", "X 5"), ("X 10^6", "X 106"), ("X 1 2", "X 12")]
)
def test_digit_groups(one: str, other: str) -> None:
    """A group has the signs that normalization keeps inside a number."""
    assert pair_fuzzy([f"SOLUCION {one}"], [f"SOLUCION {other}"], 50) == [None]


def test_a_tie_is_for_good() -> None:
    """Who is in a tie gets no worse partner, neither a label nor a prediction."""
    assert pair_fuzzy(["ABCDEFGHIJ"], ["ABCDEFGHIX", "ABCDEFGHIY", "ABCDEFGHXY"], 80) == [None]
    assert pair_fuzzy(["ABCDEFGHIJ", "ABCDEFGXYX"], ["ABCDEFGHIX", "ABCDEFGHIY"], 70) == [None, None]


def test_a_better_pair_ends_a_tie() -> None:
    """A candidate that has a better partner is no candidate."""
    assert pair_fuzzy(["ABCDEFGHIJ", "ABCDEFGHIYZ"], ["ABCDEFGHIX", "ABCDEFGHIY"], 80) == [0, 1]


def test_copies_are_no_tie() -> None:
    """Copies of a name are paired in order of appearance; one that is left over goes on."""
    assert pair_fuzzy(["ABCDEFGHIJ"] * 2, ["ABCDEFGHIX"] * 3, 80) == [0, 1]
    assert pair_fuzzy(["ABCDEFGHIJ"] * 2, ["ABCDEFGHXY", "ABCDEFGHIX"], 80) == [1, 0]


_names = st.lists(st.text("AB 1", min_size=1, max_size=5).map(normalize), max_size=7, unique=True)


@given(_names, _names, st.sampled_from([50.0, 70.0, 90.0]), st.randoms(use_true_random=False))
def test_fuzzy_pairs_whatever_the_order(
    labels: list[str], predictions: list[str], threshold: float, random: Any
) -> None:
    """Distinct names find the same partners in any order; no partner twice, none below the threshold."""

    def partners(labels: list[str], predictions: list[str]) -> dict[str, str]:
        pairs = enumerate(pair_fuzzy(labels, predictions, threshold))
        return {labels[i]: predictions[j] for i, j in pairs if j is not None}

    found = partners(labels, predictions)
    assert found == partners(random.sample(labels, len(labels)), random.sample(predictions, len(predictions)))
    assert len(set(found.values())) == len(found)
    assert all(fuzz.token_sort_ratio(*pair) >= threshold for pair in found.items())
    assert found.items() >= {name: name for name in set(labels) & set(predictions) if name}.items()


@given(st.lists(st.sampled_from(ALIKE), max_size=6), st.lists(st.sampled_from(ALIKE), max_size=6))
def test_near_misses_are_those_of_each_name(labels: list[str], predictions: list[str]) -> None:
    """What is kept of other documents does not change which prediction is the most similar, nor its score."""
    pairs = pair_exact(labels, predictions)
    offered = sorted({(name, predictions.index(name)) for n, name in enumerate(predictions) if n not in pairs and name})
    free = [min(n for n, other in enumerate(predictions) if other == name and n not in pairs) for name, _ in offered]
    wanted = []
    for number, (name, pair) in enumerate(zip(labels, pairs, strict=True)):
        scores = [fuzz.token_sort_ratio(name, other) for other, _ in offered]
        if pair is None and name and scores and max(scores) >= 80:
            wanted.append((number, free[scores.index(max(scores))], max(scores)))
    assert near_misses(labels, predictions, pairs) == wanted


def test_near_misses_are_no_pairs() -> None:
    """Guards do not hold for hints; what is paired, empty or below the floor is none."""
    labels, predictions = ["VITAMINA B1", "IBUPROFENO", "", "OMEPRAZOL"], ["IBUPROFENO", "VITAMINA B12", ""]
    found = near_misses(labels, predictions, pair_fuzzy(labels, predictions, 90))
    assert [(i, j) for i, j, _ in found] == [(0, 1)]
    assert found[0][2] == fuzz.token_sort_ratio("VITAMINA B1", "VITAMINA B12")


def test_hash_is_of_the_names() -> None:
    """It is a SHA-256, and part of the protocol of fuzzy names."""
    assert names.look_alikes_sha256() == sha256("\n".join(sorted(look_alikes())).encode()).hexdigest()


@pytest.mark.parametrize(("one", "other"), [
    ("LEVOTIROXINA 100 MCG TABLETA", "LEVOTIROXINA 100 MG TABLETA"),
    ("LEVOTIROXINA 50 UG", "LEVOTIROXINA 50 MG"),
    ("LEVOTIROXINA 100MCG TABLETA", "LEVOTIROXINA 100MG TABLETA"),
    ("COMBO 5 MG 10 ML JARABE", "COMBO 10 MG 5 ML JARABE"),
    ("CITALOPRAM20MG", "ESCITALOPRAM20MG"),
    ("INSULINA GLARGINA -5 UNIDADES", "INSULINA GLARGINA 5 UNIDADES"),
    ("PROTEINA EN ORINA >5 CRUCES", "PROTEINA EN ORINA <5 CRUCES"),
    ("AMOXICILINA SIN CLAVULANICO", "AMOXICILINA CON CLAVULANICO"),
    ("INSULINA R", "INSULINA N"),
    ("GRUPO SANGUINEO A", "GRUPO SANGUINEO B"),
    ("ANTIGENO DE SUPERFICIE HEPATITIS B", "ANTICUERPO DE SUPERFICIE HEPATITIS B"),
    ("ESTREPTOCOCO GRUPO A", "ESTREPTOCOCO GRUPO B"),
])  # fmt: skip
def test_never_the_same_whatever_the_score(one: str, other: str) -> None:
    """Names that a pharmacist or a laboratory would refuse to take for one another."""
    assert pair_fuzzy([one], [other], 80) == [None]


@pytest.mark.parametrize(
    ("one", "other"), [("ACETAMINOFEN 500 MG", "ACETAMINOFEN 500MG"), ("LEVOTIROXINA 100 MCG", "LEVOTIROXINA 100 UG")]
)
def test_another_way_to_write_a_dose(one: str, other: str) -> None:
    """A unit without a blank, or another sign of it, is the same dose."""
    assert pair_fuzzy([one], [other], 80) == [0]


def test_hints_have_bounds() -> None:
    """Very many names on both sides, or very long ones, get no hints: they must not cost more than the score."""
    many = [f"NOMBRE {number}" for number in range(400)]
    others = [f"NOMBRES {number}" for number in range(400)]
    assert near_misses(many, others, [None] * 400) == []
    assert near_misses(["A" * 300], ["A" * 299], [None]) == []
    assert near_misses(["A" * 199], ["A" * 198], [None])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("LOSARTAN 50 MG HIDROCLOROTIAZIDA 12.5 MG", "LOSARTAN 12.5 MG HIDROCLOROTIAZIDA 50 MG"),
        ("PARACETAMOL 5 MG 10 TABLETAS", "PARACETAMOL 10 MG 5 TABLETAS"),
    ],
)
def test_numbers_that_change_places(one: str, other: str) -> None:
    """The words of a name may stand in any order, its numbers may not."""
    assert pair_fuzzy([one], [other], 80) == [None]


def test_the_rest_is_paired_by_tight_names() -> None:
    """Normalized names take precedence; each pass is one to one and in order of appearance."""
    raw, predicted = ["T.S.H.", "TSH", "T S H", "co-trimoxazol", "."], ["TSH", "T S H", "t.s.h", "Cotrimoxazol", "-"]
    first = pair_exact([normalize(name) for name in raw], [normalize(name) for name in predicted])
    # normalized: T S H, TSH, T S H, CO TRIMOXAZOL, "" and TSH, T S H, T S H, COTRIMOXAZOL, ""
    assert first == [1, 0, 2, None, None]
    assert pair_rest([tight(name) for name in raw], [tight(name) for name in predicted], first) == [1, 0, 2, 3, None]


def test_tight_names_in_order_of_appearance() -> None:
    """Two labels with one tight form, and more predictions of it: the first ones, each once."""
    assert pair_rest(["TSH", "X", "TSH", ""], ["", "TSH", "TSH", "TSH"], [None] * 4) == [1, None, 2, None]
    assert pair_rest(["TSH", "TSH"], ["TSH", "TSH"], [1, None]) == [1, 0]


def test_fuzzy_pairing_keeps_what_is_paired() -> None:
    """Pairs by tight names come before fuzzy ones: what they have taken is not compared."""
    labels, predictions = ["CO TRIMOXAZOL", "COTRIMOXAZOLE"], ["COTRIMOXAZOL"]
    assert pair_fuzzy(labels, predictions, 90) == [None, None]  # a tie: both score 96
    assert pair_fuzzy(labels, predictions, 90, [0, None]) == [0, None]


def best_pairs(points: list[list[int]]) -> list[int | None]:
    """How items of one name are paired that have this much in common: a row for each label."""
    return pair_exact(["A"] * len(points), ["A"] * len(points[0]), lambda label, other: points[label][other])


@given(
    st.integers(1, 5).flatmap(
        lambda width: st.lists(st.lists(st.integers(0, 2), min_size=width, max_size=width), min_size=1, max_size=5)
    )
)
def test_best_pairs_are_those_of_all_permutations(points: list[list[int]]) -> None:
    """The best assignment, and of several the first in the order of lists of positions."""
    assert best_pairs(points) == best_choice(points)


def test_best_pairs_by_hand() -> None:
    """3 + 3 is better than 4 + 1; of equal sums the first list wins, and unpaired comes last."""
    assert best_pairs([[4, 3], [3, 1]]) == [1, 0]
    assert best_pairs([[1, 1, 1], [1, 1, 1]]) == [0, 1]
    assert best_pairs([[0], [2], [2]]) == [None, 0, None]
    assert best_pairs([[0, 0], [0, 0], [0, 0]]) == [0, 1, None]
