"""Backends that are not local: a built-in list of words."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

WORDS = Path(__file__).parent / "data" / "remote_backends.json"
_WORD = re.compile(r"[a-z0-9]+")


@cache
def remote_words() -> frozenset[str]:
    """Names of hosted services, and words for running elsewhere, in lower case."""
    groups: dict[str, list[str]] = json.loads(WORDS.read_text(encoding="utf-8"))["words"]
    return frozenset(word for words in groups.values() for word in words)


def is_remote(backend: str) -> bool:
    """Whether a backend contains one of the words, as a whole word of letters and digits, in any case."""
    return not remote_words().isdisjoint(_WORD.findall(backend.lower()))
