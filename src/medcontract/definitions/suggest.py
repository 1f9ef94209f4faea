"""Did you mean … ?"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like this one, if any is near."""
    words = tuple(known)
    look = _remembered if len(words) <= _FEW else _nearest
    return look(word[:200], words)


_FEW = 500
"""Known words that are remembered with an answer; more would take much memory, with thousands of answers."""


def _nearest(word: str, known: tuple[str, ...]) -> str | None:
    from rapidfuzz import fuzz, process, utils

    found = process.extractOne(word, known, scorer=fuzz.ratio, processor=utils.default_process, score_cutoff=60)
    return found[0] if found else None


_remembered = lru_cache(4096)(_nearest)  # the same mistake comes many times
