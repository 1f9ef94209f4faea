"""Ids and labels that differ only in how they are written: in case, accents, whitespace or leading zeros."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from medcontract.contracts.rules import Key
from medcontract.problems import plural
from medcontract.scoring.pairing import Pairing

_EXAMPLES = 3

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


def near_misses(pairings: Iterable[Pairing[Any, Any]]) -> tuple[list[str], list[str]]:
    """Unknown ids that differ from one of the truth only in spelling: their number, and which (as hints)."""
    warnings: list[str] = []
    hints: list[str] = []
    for pairing in pairings:
        if not pairing.unknown:
            continue
        index = pairing.expected.index
        near = near_pairs(pairing.unknown, index)
        if near:
            differ = "differ" if len(near) > 1 else "differs"
            count, only = plural(len(near), "unknown id"), f"only in {differences(near)}"
            warnings.append(f"{count} {differ} from an id of the truth {only}")
            pairs = "; ".join(f"{shown_key(mine)} (truth: {shown_key(true)})" for mine, true in near[:_EXAMPLES])
            hints.append(f"ids that differ {only}: {pairs}")
        if not any(pairing.marks_by_run.values()):
            mine, true = (", ".join(map(shown_key, list(keys)[:_EXAMPLES])) for keys in (pairing.unknown, index))
            hints.append(f"ids of the submission: {mine}; of the truth: {true}")
    return warnings, hints


def shown_key(key: Any) -> str:
    return " ".join(repr(part) for part in key) if isinstance(key, tuple) else repr(key)
