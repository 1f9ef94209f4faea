"""Ids and labels that differ only in how they are written."""

from __future__ import annotations

import pytest

from medcontract.evaluation.near_misses import differences, folded, near_pairs


@pytest.mark.parametrize(
    ("mine", "true", "difference"),
    [
        ("r-7", "R-7", "case"),
        ("niño", "nino", "accents"),
        ("n\u0303", "ñ", "accents"),
        ("R- 7", "R-7", "whitespace"),
        ("R-7", "R-007", "leading zeros"),
        ("7", "0007", "leading zeros"),
        ("r-7 ", "R-07", "case, whitespace or leading zeros"),
        (("qa", "b-1"), ("QA", "b-01"), "case or leading zeros"),
    ],
)
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
