"""Phases of a challenge: which cases are public is decided by a secret key, so nobody can tell before a phase ends."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Literal, get_args

from msgspec import Struct

from medcontract.scoring.expected import Expected
from medcontract.scoring.protocol import Parameter
from medcontract.uncertainty.units import Unit, key_text

PhaseName = Literal["public", "private"]
PHASES: tuple[PhaseName, ...] = get_args(PhaseName)
SHORTEST_KEY = 16
_SILENT: dict[str, Any] = {"value": "", "silent_at": "", "source": "docs/organizing.md#phases"}
PARAMETERS = (
    Parameter(
        name="phase", choices=("", *PHASES), **_SILENT,
        about="the phase that is scored; part of the protocol only if there is one",
    ),
    Parameter(
        name="phase_key", any_text=True, **_SILENT,
        about="SHA-256 of the key that divides the cases; part of the protocol only with a phase",
    ),
)  # fmt: skip


class PhaseKey(Struct, frozen=True):
    """The organizer's key. It is never shown."""

    secret: bytes

    def __repr__(self) -> str:
        return f"<PhaseKey {self.sha256}>"

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.secret).hexdigest()

    def is_public(self, unit: Unit, share: Fraction) -> bool:
        """Return whether a unit, given by the values of its key, belongs to the public phase."""
        digest = hmac.digest(self.secret, key_text(unit), "sha256")
        return int.from_bytes(digest[:8]) < share * 2**64

    def cases(self, expected: Expected, cluster: str | None, phase: str, share: Fraction) -> list[int]:
        """Return the numbers of the expected items of a phase."""
        units = units_of(expected, cluster)
        return [number for number, unit in enumerate(units) if self.is_public(unit, share) == (phase == "public")]


def units_of(expected: Expected, cluster: str | None, unit: Sequence[str] = ()) -> Iterable[Unit]:
    """Return the values of the key of each item's unit: its cluster, fields of its item, or its own key."""
    if not unit and not cluster:
        return expected.keys
    keys: Iterator[tuple[Any, ...]] = (key if isinstance(key, tuple) else (key,) for key in expected.keys)
    if unit:
        keys = (tuple(getattr(item, name) for name in unit) for item in expected.items)
    if not cluster:
        return keys
    values: Any = expected.fields.get(cluster)
    if values is None:
        place = expected.key.index(cluster)
        values = (key[place] if isinstance(key, tuple) else key for key in expected.keys)
    return ((None, *key) if value is None else (value,) for key, value in zip(keys, values, strict=True))
