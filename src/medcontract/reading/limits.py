"""How much one file may ask of us. Beyond a limit there is a clear problem, never a crash."""

from __future__ import annotations

from typing import NamedTuple

BLOCK = 1 << 20
"""Bytes read at a time."""

MAX_DEPTH = 100
"""Levels of nesting in one JSON value: the outermost object is level 1."""

MAX_RECORD = 16 << 20
"""Bytes in one record or one header value, unless the caller says otherwise."""

MAX_UNPACKED = 4 << 30
"""Bytes that a gzipped file may unpack to, or that come from a pipe, unless the caller says otherwise."""

MAX_MEMBERS = 10_000
"""Header fields of a collection, or columns of a table."""

MAX_DOCUMENT = 128 << 20
"""Bytes in a document contract, which is held in memory as a whole."""


class Limits(NamedTuple):
    """Limits that a caller may change."""

    record: int = MAX_RECORD
    unpacked: int = MAX_UNPACKED
