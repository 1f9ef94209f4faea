"""Did you mean … ?"""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like this one, if any is near."""
    from rapidfuzz import fuzz, process, utils

    found = process.extractOne(
        word[:200], list(known), scorer=fuzz.ratio, processor=utils.default_process, score_cutoff=60
    )
    return found[0] if found else None
