"""Hints for ids that are not in another file: spreadsheets and DataFrames turn 007 into 7 or 7.0."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

_MOST_ZEROS = 10
_NUMBER = re.compile(r"[0-9]+")
_SCIENTIFIC = re.compile(r"[0-9]([.,][0-9]+)?[eE]\+[0-9]{2,}")
_KEEP_TEXT = "keep ids as text (in pandas: dtype=str; in Excel: format the column as Text)"
_ZEROS = f"an expected id differs only in leading zeros; {_KEEP_TEXT}"
_SCIENTIFIC_HINT = f"the id is in scientific notation, which spreadsheets write for long numbers; {_KEEP_TEXT}"
_DECIMAL = f"an expected id is the same without '.0'; {_KEEP_TEXT}"


def lost_zeros_hint(key: Any, ids: Collection[Any]) -> str | None:
    """The hint for an id, or a tuple of them, that would be among the others if it had been kept as text."""
    found = next((hint for other, hint in originals(key) if other in ids), None)
    return found or (_SCIENTIFIC_HINT if is_scientific(key) else None)


def is_scientific(key: Any) -> bool:
    """Whether an id, or one of a tuple, is what spreadsheets make of a long number, of which digits are lost."""
    parts = key if isinstance(key, tuple) else (key,)
    return any(isinstance(part, str) and _SCIENTIFIC.fullmatch(part) for part in parts)


def originals(key: Any) -> Iterator[tuple[Any, str]]:
    """The ids that an id, or a tuple of them, may have been before it was changed, and the hint for that."""
    parts = key if isinstance(key, tuple) else (key,)
    for position, part in enumerate(parts):
        for text, hint in _originals(part) if isinstance(part, str) else ():
            changed = (*parts[:position], text, *parts[position + 1 :])
            yield changed if isinstance(key, tuple) else text, hint


def _originals(text: str) -> Iterator[tuple[str, str]]:
    """What the text may have been, and the hint for that."""
    whole = re.sub(r"(?<=[0-9])\.0+\Z", "", text)
    if whole != text:
        yield whole, _DECIMAL
        yield from ((other, _ZEROS) for other in _with_zeros(whole))
    yield from ((other, _ZEROS) for other in _with_zeros(text))


def _with_zeros(text: str) -> Iterator[str]:
    """The text without leading zeros, or with more of them, in its first or its last number."""
    numbers = list(_NUMBER.finditer(text))
    for match in {number.start(): number for number in numbers[:1] + numbers[-1:]}.values():
        before, digits, after = text[: match.start()], match.group().lstrip("0") or "0", text[match.end() :]
        for zeros in range(_MOST_ZEROS + 1):
            yield before + "0" * zeros + digits + after
