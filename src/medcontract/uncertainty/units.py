"""The keys of units: of what is drawn together, and of what belongs to one phase. It does not need NumPy."""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import Any

import rfc8785

Unit = str | tuple[Any, ...]
"""The values that identify a unit: several, or a single text."""


def key_text(unit: Unit) -> bytes:
    """Return the key of a unit or group: the RFC 8785 text of the list of its values."""
    if isinstance(unit, str):
        return f"[{encode_basestring(unit)}]".encode()  # the same text, and several times as fast
    return rfc8785.dumps([float(value) if type(value) is int else value for value in unit])  # numbers are doubles
