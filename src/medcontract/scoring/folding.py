"""Folded texts as they are compared: a text that consists only of signs stands for itself."""

from __future__ import annotations

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
        """The words; a text that consists only of signs is one token."""
        return [self.bare] if self.bare is not None else self.text.split()


def fold_text(terms: Terms, text: str) -> Folded:
    normalized = terms.normalize(text) if text.strip(BLANKS) else None
    return Folded(normalized or "", bare_signs(text, normalized))


def bare_signs(text: str | None, normalized: str | None) -> str | None:
    """A text that consists only of signs stands for itself: + differs from -. None for any other text."""
    return text.strip(BLANKS) if text is not None and normalized == "" else None
