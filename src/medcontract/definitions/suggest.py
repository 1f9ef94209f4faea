"""Did you mean … ?"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like this one, if any is near."""
    return _nearest(word[:200], tuple(known))


@lru_cache(4096)  # the same mistake comes many times
def _nearest(word: str, known: tuple[str, ...]) -> str | None:
    from rapidfuzz import fuzz, process, utils

    found = process.extractOne(word, known, scorer=fuzz.ratio, processor=utils.default_process, score_cutoff=60)
    return found[0] if found else None
