"""Backends that are not local: a built-in list of words."""

from __future__ import annotations

import json
import re
from functools import cache
from hashlib import sha256
from pathlib import Path

WORDS = Path(__file__).parent / "data" / "remote_backends.json"
_WORD = re.compile(r"[a-z0-9]+")


@cache
def remote_words() -> frozenset[str]:
    """Names of hosted services, and words for running elsewhere, in lower case."""
    groups: dict[str, list[str]] = json.loads(WORDS.read_text(encoding="utf-8"))["words"]
    return frozenset(word for words in groups.values() for word in words)


def remote_words_sha256() -> str:
    """The hash of the sorted words, one per line."""
    return sha256("\n".join(sorted(remote_words())).encode()).hexdigest()


def remote_words_in(backend: str) -> list[str]:
    """The words in the name of a backend, as whole words of letters and digits, in any case.

    Other characters only separate words: `hf_inference` is also `HF Inference`.
    """
    text = _spaced(backend)
    return sorted(word for word in remote_words() if _spaced(word) in text)


def _spaced(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} "
