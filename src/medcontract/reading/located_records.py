"""What the readers of all containers yield: records, or blocks of them, with their offsets in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

from medcontract.problems import Finding, Ref
from medcontract.reading.streams import size_text

Decode = Callable[[bytes], Any]
"""Decodes the bytes of one record to a valid value, or to None if it may be invalid."""

DecodeLines = Callable[[bytes], list[Any] | None]
"""Decodes records, one per line, to valid values, or to None if any of them may be invalid."""

Cut = tuple[bytes, int, Any]
"""One record of the file: its bytes, its offset, and the result of `Decode`."""


class Lines:
    """The bytes of consecutive records, one per line, which are only split if something is wrong with one of them."""

    __slots__ = ("_count", "_text")

    def __init__(self, text: bytes, count: int) -> None:
        self._text = text
        self._count = count

    def __len__(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self._text)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._text.splitlines(keepends=True))

    def offsets(self, first: int) -> Iterator[int]:
        """The offset of each record, from that of the first one."""
        return accumulate(map(len, self), initial=first)

    def last_offset(self, first: int) -> int:
        """The offset of the last record."""
        return first + self._text.rfind(b"\n", 0, -1) + 1


Block = tuple[Lines, int, list[Any]]
"""Consecutive decoded records: their bytes, the offset of the first one, their values."""


class TooLarge(Exception):
    """One value is larger than the limit."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


def too_large(limit: int, offset: int | None, ref: Ref | None = None) -> Finding:
    return Finding(
        "MC020", f"one record is larger than {size_text(limit)}",
        "remove what the contract does not require, or raise the limit with --max-record",
        offset=offset, ref=ref,
    )  # fmt: skip
