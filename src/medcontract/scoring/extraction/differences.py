"""How a field of a prediction differs from its label, and the kinds of differences."""

from __future__ import annotations

import re

from msgspec import Struct

from medcontract.normalizers.text import normalize


class FieldMiss(Struct, frozen=True, gc=False):
    """A wrong field of a paired item."""

    field: str
    difference: str
    """The kind of difference."""
    expected: str
    got: str


def difference(expected: str, got: str) -> str:
    """Return the kind of difference between two texts that are not equal after normalization."""
    want, have = normalize(expected), normalize(got)
    if not have:
        return "missing"
    if not want:
        return "expected to be empty"
    if want.replace(" ", "") == have.replace(" ", ""):
        return "spaces only"
    numbers = _digits(want) != _digits(have)
    words = _letters(want) != _letters(have)
    if numbers and not words:
        return "number"
    if words and not numbers and _digits(want):
        units = set(_WORDS.findall(want)) ^ set(_WORDS.findall(have))
        return "different unit, same number" if units <= _UNITS else "different words, same number"
    if not words and not numbers:
        return "comparison sign"
    if want in have or have in want:
        return "too much" if want in have else "too little"
    return "different text"


_WORDS = re.compile(r"[A-Z]+|%")
_UNITS = frozenset((
    "MG", "MCG", "UG", "NG", "PG", "KG", "G", "ML", "DL", "UL", "FL", "L", "UI", "IU", "U", "MEQ", "MMOL", "MM",
    "CM", "%",
))  # fmt: skip


def _digits(text: str) -> str:
    return "".join(c for c in text if c.isdigit() or c in ".-/:^")


def _letters(text: str) -> str:
    return "".join(c for c in text if c.isalpha() or c == "%")
