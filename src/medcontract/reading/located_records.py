"""What the readers of all containers yield or raise: records, or blocks of them, with their offsets in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from medcontract.errors import option, words
from medcontract.problems import Finding, Ref
from medcontract.reading.limits import size_text

Decode = Callable[[bytes], Any]
"""Decodes the bytes of one record to a valid value, or to None if it may be invalid."""

DecodeLines = Callable[[bytes], list[Any] | None]
"""Decodes records, one per line, to valid values, or to None if any of them may be invalid."""


class LocatedRecord(Struct, gc=False):
    """One record of a file. (A `Struct`: there are millions, and a `NamedTuple` takes longer to make.)"""

    raw: bytes
    """Its JSON; in a table, the JSON of its row. Empty if `finding` says why there is none."""
    offset: int
    value: Any
    """The result of `Decode`."""
    line: int | None = None
    """The line where it starts, in tables; 0 in tables without lines."""
    finding: Finding | None = None


class RecordBlock(Struct, gc=False):
    """Consecutive valid records, one per line, which are only split if something is wrong with one of them."""

    raw: bytes
    """Their bytes; of a table, as in the file."""
    offset: int
    values: list[Any]
    line: int | None = None
    """The line of the first one, as in `LocatedRecord`."""

    def records(self) -> Iterator[LocatedRecord]:
        """Yield each record."""
        offset = self.offset
        for number, (raw, value) in enumerate(zip(self.raw.splitlines(keepends=True), self.values, strict=True)):
            yield LocatedRecord(raw, offset, value, self.line + number if self.line else self.line)
            offset += len(raw)

    def last(self) -> LocatedRecord:
        """Return the last record, without its bytes."""
        line = self.line + len(self.values) - 1 if self.line else self.line
        offset = self.offset + self.raw.rfind(b"\n", 0, -1) + 1
        return LocatedRecord(b"", offset, self.values[-1], line)


Located = LocatedRecord | RecordBlock


def one_by_one(item: Located) -> Iterable[LocatedRecord]:
    """Return the records of an item."""
    return item.records() if isinstance(item, RecordBlock) else (item,)


class Broken(Exception):
    """A syntax error."""

    def __init__(self, code: str, offset: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code, self.offset, self.message, self.hint = code, offset, message, hint


class TooLarge(Exception):
    """One value is larger than the limit."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


def too_large(limit: int, offset: int | None, ref: Ref | None = None) -> Finding:
    return Finding(
        "MC020", f"one record is larger than {size_text(limit)}",
        words("remove what the contract does not require, or raise the limit with ", option("--max-record")),
        offset=offset, ref=ref,
    )  # fmt: skip


class Landmark(NamedTuple):
    """A place in a file between two records."""

    record: int
    """The index of the next record."""
    offset: int
    keys: Sequence[int]
    """How many keys each rule about unique keys has seen."""
