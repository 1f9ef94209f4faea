"""Ids and labels that differ only in how they are written: in case, accents, whitespace or leading zeros."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from medcontract.contracts.rules import Key

_LEADING_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


_STEPS: dict[str, Callable[[str], str]] = {
    "case": str.casefold,
    "accents": _without_accents,
    "whitespace": lambda text: "".join(text.split()),
    "leading zeros": lambda text: _LEADING_ZEROS.sub("", text),
}
"""What is ignored, by name, in this order."""


def folded(key: Any, but: str = "") -> Any:
    """The id or label without these differences, except one (`but`)."""
    if isinstance(key, tuple):
        return tuple(folded(part, but) for part in key)
    for name, step in _STEPS.items():
        key = key if name == but else step(key)
    return key


def near_pairs(unknown: Iterable[Any], known: Iterable[Any]) -> list[tuple[Any, Any]]:
    """The unknown ids or labels that are similar to a known one, with that one."""
    originals = {folded(key): key for key in known}
    return [(key, originals[form]) for key in unknown if (form := folded(key)) in originals]


def differences(pairs: Sequence[tuple[Key, Key]]) -> str:
    """In what the pairs differ, such as "case or leading zeros"."""
    found = [name for name in _STEPS if any(folded(mine, name) != folded(true, name) for mine, true in pairs)]
    *most, last = found or ["spelling"]
    return f"{', '.join(most)} or {last}" if most else last
