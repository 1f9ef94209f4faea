"""One difference between two schemas."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

Breaks = Literal["none", "readers", "writers", "both"]


class Change(NamedTuple):
    """What changed, where, and in which direction."""

    pointer: str
    """A pointer into the new schema; for what was removed, into the old one."""
    message: str
    tighter: bool = False
    """Whether values that were accepted may be rejected now."""
    looser: bool = False
    """Whether values that were rejected may be accepted now."""

    @property
    def breaks(self) -> Breaks:
        if self.tighter:
            return "both" if self.looser else "writers"
        return "readers" if self.looser else "none"


def unjudged(pointer: str, what: str) -> Change:
    return Change(pointer, f"{what}: cannot be judged", tighter=True, looser=True)


def listed(values: Iterable[Any], most: int = 8) -> str:
    """JSON values for a message: not too many, and not too long."""
    texts = [v if isinstance(v, str) and v == v.strip() != "" else json.dumps(v, ensure_ascii=False) for v in values]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(text if len(text) <= 60 else text[:59] + "…" for text in texts[:most]) + more
