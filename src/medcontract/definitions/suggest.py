"""Did you mean … ?"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

NEAR, ALIKE = 60, 80
"""Of 100: near enough for a guess that is told as such; as good as the same, but for case, marks or a letter."""


def nearest(word: str, known: Iterable[str], cutoff: int = NEAR) -> str | None:
    """The known word that is most like this one, if any is near."""
    words = tuple(known)
    look = _remembered if len(words) <= _FEW else _nearest
    return look(word[:200], words, cutoff)


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The hint that names the known word that is most like this one, if any is near."""
    guess = nearest(word, known)
    return f"did you mean '{guess}'?" if guess else None


_FEW = 500
"""Known words that are remembered with an answer; more would take much memory, with thousands of answers."""


def _nearest(word: str, known: tuple[str, ...], cutoff: int) -> str | None:
    from rapidfuzz import fuzz, process, utils

    found = process.extractOne(word, known, scorer=fuzz.ratio, processor=utils.default_process, score_cutoff=cutoff)
    return found[0] if found else None


_remembered = lru_cache(4096)(_nearest)  # the same mistake comes many times
