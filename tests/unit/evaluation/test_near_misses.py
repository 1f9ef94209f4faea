"""Ids and labels that differ only in how they are written."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from medcontract.evaluation.near_misses import differences, folded, near_pairs


@pytest.mark.parametrize(("mine", "true", "difference"), [
    ("r-7", "R-7", "case"),
    ("niño", "nino", "accents"),
    ("n\u0303", "ñ", "accents"),
    ("R- 7", "R-7", "whitespace"),
    ("R-7", "R-007", "leading zeros"),
    ("7", "0007", "leading zeros"),
    ("r-7 ", "R-07", "case, whitespace or leading zeros"),
    (("qa", "b-1"), ("QA", "b-01"), "case or leading zeros"),
    ("r_7", "R-07", "case, leading zeros or separators"),
    ("R/7/1", "R-7-1", "separators"),
    ("Airway Control", "airway_control", "case or separators"),
    (("Clinical QA", "1"), ("clinical_qa", "1"), "case or separators"),
])  # fmt: skip
def test_differences(mine: str, true: str, difference: str) -> None:
    """Both are folded to the same, and the difference is named."""
    assert near_pairs([mine], [true]) == [(mine, true)]
    assert differences([(mine, true)]) == difference


@pytest.mark.parametrize(("mine", "true"), [("R-7", "R-70"), ("R-1", "R1"), ("0", "00x"), ("100", "1"), ("a", "b")])
def test_other_ids(mine: str, true: str) -> None:
    """Zeros within or after a number, punctuation and letters matter."""
    assert near_pairs([mine], [true]) == []


def test_folding_is_idempotent() -> None:
    """Folding twice changes nothing."""
    for key in ("Ñ 007", "ǅ", "İ0", "ß", "00", ("A 01", "É")):
        assert folded(folded(key)) == folded(key)


IDS = ["INF-2025-1042", "INF-2025-1043", "INF-2025-1055"]


@pytest.mark.parametrize(("change", "difference"), [
    (lambda key: f"{key}.txt", "a suffix"),
    (lambda key: f"images/{key}", "a prefix"),
    (lambda key: f'="{key}"', "a prefix or a suffix"),
    (lambda key: f"images/{key.lower()}.png", "case, a prefix or a suffix"),
    (lambda key: key.removeprefix("INF-2025-"), "a missing prefix"),
    (lambda key: key.replace("-", ""), "separators"),
    (lambda key: f"{key.lower().replace('-', '_')}.jpg", "case, separators or a suffix"),
])  # fmt: skip
def test_the_same_affix(change: Callable[[str], str], difference: str) -> None:
    """Ids that all have, or lack, the same prefix or suffix are similar."""
    pairs = [(change(key), key) for key in IDS]
    assert near_pairs([mine for mine, _ in pairs], IDS) == pairs
    assert differences(pairs) == difference


@pytest.mark.parametrize("unknown", [["INF-2025-1042.txt"], ["INF-2025-1042a", "b", "c", "d"], ["1", "2"], ["", " "]])
def test_affixes_of_few_ids(unknown: list[str]) -> None:
    """One id that contains a known one may be a coincidence."""
    assert near_pairs(unknown, IDS) == []


@pytest.mark.parametrize(("change", "difference"), [
    (lambda task, key: (task, key.partition("-")[2]), "a missing prefix"),
    (lambda task, key: (task, f"{key}_0"), "a suffix"),
    (lambda task, key: (task, f"{task}/{key}"), "a prefix"),
])  # fmt: skip
def test_one_part_of_a_pair(change: Callable[[str, str], tuple[str, str]], difference: str) -> None:
    """All pairs are changed in the same part, and in the same way next to the same other part."""
    known = [(task, f"{task[:2].upper()}-{number:03}") for task in ("qa", "dx") for number in range(1, 5)]
    pairs = [(change(*key), key) for key in known]
    assert near_pairs([mine for mine, _ in pairs], known) == pairs
    assert differences(pairs) == difference


@pytest.mark.parametrize(("unknown", "known"), [
    (["05012", "05340"], ["00012", "00340", "00777"]), (["0", "1", "2", "3"], ["QA-1", "QA-2", "QA-3", "QA-4"]),
])  # fmt: skip
def test_parts_of_numbers(unknown: list[str], known: list[str]) -> None:
    """A number that ends like another is another one."""
    assert near_pairs(unknown, known) == []
