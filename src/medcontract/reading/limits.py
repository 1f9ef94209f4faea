"""Resource limits for one file. Exceeding a limit is a problem in the report, never a crash."""

from __future__ import annotations

from typing import NamedTuple

BLOCK = 1 << 18
"""Bytes read at a time."""

PIECE = 1 << 20
"""Bytes that are copied at a time: few, so that signals are handled in between."""

LINES_BLOCK = 1 << 16
"""Bytes of lines or rows that are read and decoded at a time: their values fit into the cache of a processor."""

MAX_DEPTH = 100
"""Nesting levels in one JSON value: the outermost object is level 1."""

MAX_RECORD = 16 << 20
"""Bytes in one record or one header value, by default."""

MAX_UNPACKED = 4 << 30
"""Bytes that a gzipped file or an archive may decompress to, or that are read from a pipe, by default."""

MAX_RATIO = 200
"""How many times larger than its compressed form a gzipped file or an archive may be, if it is larger than
`RATIO_FROM`."""

RATIO_FROM = 16 << 20
"""Bytes; smaller files are harmless, however well they are compressed."""

MAX_DEFLATED = 1032
"""Bytes that one byte of deflated data can decompress to."""

LINE_COST = 16
"""Bytes that a line, and an object in JSON, count in addition: very short ones take more time than they have bytes."""

MAX_ARCHIVED = 10_000
"""Files and folders in an archive."""

MAX_NAME = 1024
"""Characters in the path of a file in an archive."""

MAX_NAMES = 2_000_000
"""Characters in all these paths together: 200 for each of `MAX_ARCHIVED` files."""

MAX_HEADER = 1 << 20
"""Bytes in a header of an archive, apart from names in a directory."""

MAX_FOLDERS = 50
"""Nested folders in an archive."""

MAX_MEMBERS = 10_000
"""Header fields of a collection, or columns of a table."""

MAX_DOCUMENT = 128 << 20
"""Bytes in a document, which is held in memory."""


def most_unpacked(packed_size: int) -> int:
    """Return the number of bytes that a compressed file of this size may decompress to."""
    return max(RATIO_FROM, MAX_RATIO * packed_size)


def size_text(size: int) -> str:
    """Format a size in bytes."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.4g} {name}"
    return f"{size} bytes"


class Limits(NamedTuple):
    """Limits that a caller may change."""

    record: int = MAX_RECORD
    unpacked: int = MAX_UNPACKED
