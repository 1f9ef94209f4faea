"""All tracks that can be scored, by name."""

from __future__ import annotations

from importlib import import_module

from medcontract.errors import CallError
from medcontract.scoring.engine import Track

NAMES = ("benchmark", "extraction", "lesions", "reports", "triage")


def track(name: str) -> Track:
    """The track of this name. Raises `CallError`."""
    if name not in NAMES:
        raise CallError(f"'{name}' cannot be scored", f"these can: {', '.join(NAMES)}")
    found: Track = import_module(f"medcontract.scoring.{name}").TRACK
    return found
