"""Folded texts as they are compared: a text of signs alone is compared as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from medcontract.contracts.string_patterns import BLANKS
from medcontract.normalizers.terms import Terms


class Folded(NamedTuple):
    """Two texts are equal if these are."""

    text: str
    """The normalized text, with synonyms replaced."""
    bare: str | None
    """The text as written, if normalization leaves nothing of it."""

    def tokens(self) -> list[str]:
        """Return the words; a text that consists only of signs is one token."""
        return [self.bare] if self.bare is not None else self.text.split()


def fold_text(terms: Terms, text: str) -> Folded:
    normalized = terms.normalize(text) if text.strip(BLANKS) else None
    return Folded(normalized or "", bare_signs(text, normalized))


def longest_common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """Return its length, in linear memory and in far less than one step per pair of tokens.

    Tokens are numbered first, because rapidfuzz compares hashes, and hashes of small integers cannot collide.
    """
    from rapidfuzz.distance import LCSseq

    numbers: dict[str, int] = {}
    first, second = ([numbers.setdefault(token, len(numbers)) for token in tokens] for tokens in (one, other))
    return int(LCSseq.similarity(first, second))


def bare_signs(text: str | None, normalized: str | None) -> str | None:
    """Return a text that consists only of signs, which is compared as it is: + differs from -. None for other texts."""
    return text.strip(BLANKS) if text is not None and normalized == "" else None
