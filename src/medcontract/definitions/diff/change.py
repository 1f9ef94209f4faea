"""One difference between two schemas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

Breaks = Literal["none", "readers", "writers", "both"]


class Change(NamedTuple):
    """What changed, where, and in which direction."""

    pointer: str
    """Into the new schema; into the old one for what is gone."""
    message: str
    tighter: bool = False
    """Values that were accepted may be refused."""
    looser: bool = False
    """Values that were refused may be accepted."""

    @property
    def breaks(self) -> Breaks:
        if self.tighter:
            return "both" if self.looser else "writers"
        return "readers" if self.looser else "none"

    def turned(self) -> Change:
        """The same below a `not`: what is refused there is accepted here."""
        return self._replace(tighter=self.looser, looser=self.tighter)

    def unsure(self) -> Change:
        """The same where nothing can be said of the direction."""
        either = self.tighter or self.looser
        return self._replace(tighter=either, looser=either)


def breaking(changes: Iterable[Change]) -> int:
    """How many of them break anyone."""
    return sum(change.breaks != "none" for change in changes)


def unjudged(pointer: str, what: str) -> Change:
    return Change(pointer, f"{what}: cannot be judged", tighter=True, looser=True)


def merged(changes: Iterable[Change]) -> list[Change]:
    """Each change once, in order: a definition that is used twice is met twice."""
    found: dict[tuple[str, str], Change] = {}
    for change in changes:
        key = (change.pointer, change.message)
        known = found.get(key, change)
        found[key] = change._replace(tighter=change.tighter or known.tighter, looser=change.looser or known.looser)
    return list(found.values())


def shown(value: Any) -> str:
    """A JSON value in a sentence: strings bare, long ones cut."""
    import json

    plain = isinstance(value, str) and value == value.strip() != ""
    text = value if plain else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"


def listed(values: Iterable[Any], most: int = 8) -> str:
    texts = [shown(value) for value in values]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more
