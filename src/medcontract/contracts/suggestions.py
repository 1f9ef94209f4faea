"""Suggestions for misspelled words: "did you mean …?"."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

NEAR, ALIKE = 60, 80
"""Similarity out of 100: NEAR is enough for a suggestion; ALIKE allows for case, punctuation or one letter."""


def nearest(word: str, known: Iterable[str], cutoff: int = NEAR) -> str | None:
    """The known word most similar to this one, if any is similar enough."""
    words = tuple(known)
    search = _cached if len(words) <= _FEW else _nearest
    return search(word[:200], words, cutoff)


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint with the known word most similar to this one, if any is similar enough."""
    guess = nearest(word, known)
    return f"did you mean '{guess}'?" if guess else None


_FEW = 500
"""Larger vocabularies are not cached: thousands of cache entries would take too much memory."""


def _nearest(word: str, known: tuple[str, ...], cutoff: int) -> str | None:
    from rapidfuzz import fuzz, process, utils

    found = process.extractOne(word, known, scorer=fuzz.ratio, processor=utils.default_process, score_cutoff=cutoff)
    return found[0] if found else None


_cached = lru_cache(4096)(_nearest)  # the same mistake tends to occur many times
