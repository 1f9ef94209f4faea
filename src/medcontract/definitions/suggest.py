"""Did you mean … ?"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

NEAR, ALIKE = 60, 80
"""Of 100: near enough for a guess that is told as such; as good as the same, but for case, marks or a letter."""


def nearest(word: str, known: Iterable[str], cutoff: int = NEAR) -> str | None:
    """The known word that is most like this one, if any is near."""
    return _nearest(word[:200], tuple(known), cutoff)


@lru_cache(4096)  # the same mistake comes many times
def _nearest(word: str, known: tuple[str, ...], cutoff: int) -> str | None:
    from rapidfuzz import fuzz, process, utils

    found = process.extractOne(word, known, scorer=fuzz.ratio, processor=utils.default_process, score_cutoff=cutoff)
    return found[0] if found else None
