"""The marks of the expected items, in compact form."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import Any, Literal, NamedTuple


class Unscored(NamedTuple):
    """The mark of an item that has records, but is not processed."""

    why: Literal["failed", "invalid", "repeated"]
    error: str = ""


INVALID, REPEATED = Unscored("invalid"), Unscored("repeated")
NOT_EXPECTED = -1
"""The index of the item of a record whose id is not expected."""


class Marks:
    """The mark of each expected item that has a record, by the index of the item.

    Marks are kept in the order of the file: in a list, or as bytes if they are added as bytes. The indexes of their
    items are a range while the file has the order of the truth, then an array. So a million marks take a few megabytes
    in any order, and little time to send to another process. Items that are not processed are also kept apart, with the
    reason; which items are repeated is found out once all records are there.
    """

    def __init__(self) -> None:
        self._numbers: range | array[int] = range(0)
        self._marks: list[Any] | bytearray = bytearray()
        self._unscored: dict[int, Unscored] = {}
        self._seen = bytearray(1)
        """Whether each item has a mark, of the first records; the last byte is for all that are not expected."""
        self._looked_at = 0
        """The number of these records: none while the indexes are a range."""
        self._repeated: set[int] = set()

    def copy(self) -> Marks:
        other = Marks()
        other._numbers, other._marks, other._unscored = self._numbers[:], self._marks[:], dict(self._unscored)
        return other

    def add(self, numbers: Sequence[int], marks: Iterable[Any]) -> None:
        """Add the marks of records, in their order; a range that continues the last one is the fastest.

        An item that is not processed has any mark, and is noted. A record that is not expected has any mark, too.
        """
        if not isinstance(marks, bytes | bytearray):
            marks = list(marks)
            if isinstance(self._marks, bytearray):
                self._marks = list(self._marks)
            for place, mark in enumerate(marks) if Unscored in set(map(type, marks)) else ():
                if type(mark) is Unscored:
                    self.note(numbers[place], mark)
        if len(marks) != len(numbers):
            raise ValueError("expected one mark for each item")
        self._marks.extend(marks)
        known = self._numbers
        if isinstance(known, range):
            if isinstance(numbers, range) and (not known or known.stop == numbers.start):
                self._numbers = range(known.start if known else numbers.start, numbers.stop)
                return
            self._numbers = array("i", known)
        self._numbers.extend(numbers)  # type: ignore[union-attr]  # an array

    def note(self, number: int, why: Unscored) -> None:
        """Note that an item is not processed, whatever its mark is."""
        self._unscored[number] = why

    def merge(self, other: Marks) -> None:
        """Add the marks of the records that follow: an item that has a record in both is repeated."""
        noted = {number: REPEATED if number in self else why for number, why in other._unscored.items()}
        noted |= {number: REPEATED for number in self._unscored if other._is_marked(number)}
        self.add(other._numbers, other._marks)
        self._unscored |= noted

    def __contains__(self, number: int) -> bool:
        """Return whether an item has a record."""
        return number in self._unscored or self._is_marked(number)

    def _is_marked(self, number: int) -> bool:
        if isinstance(self._numbers, range):
            return number in self._numbers
        self._look_through()
        return number < len(self._seen) - 1 and bool(self._seen[number])

    def _look_through(self) -> None:
        """Find out which items have marks, and which have several, from the records that were added meanwhile."""
        if self._looked_at == len(self._numbers):
            return
        numbers, seen = self._numbers[self._looked_at :], self._seen
        seen[-1:] = bytes(max(max(numbers, default=0) + 3 - len(seen), 1))
        for number in numbers:
            if seen[number]:
                self._repeated.add(number)
            else:
                seen[number] = 1
        self._repeated.discard(NOT_EXPECTED)
        self._unscored |= dict.fromkeys(self._repeated, REPEATED)
        self._looked_at += len(numbers)

    def repeated(self) -> set[int]:
        """Return the items that have several marks."""
        self._count()
        return self._repeated

    def _count(self) -> int:
        """Return the number of different items with a mark, after noting which are repeated."""
        if isinstance(self._numbers, range):
            return len(self._numbers)
        self._look_through()
        return len(self._seen) - 1 - self._seen.count(0, 0, -1)

    @property
    def unscored(self) -> dict[int, Unscored]:
        """Why items are not processed."""
        self._count()
        return self._unscored

    def unscored_so_far(self, number: int) -> Unscored | None:
        """Return why an item is not processed, except that it may also be repeated."""
        return self._unscored.get(number)

    def expected_numbers(self) -> Iterable[int]:
        """Return the index of the item of each record, without records that are not expected."""
        return self._numbers if isinstance(self._numbers, range) else filter(NOT_EXPECTED.__ne__, self._numbers)

    def __len__(self) -> int:
        """Return the number of items that have a record."""
        return self._count() + sum(not self._is_marked(number) for number in self._unscored)

    @property
    def processed(self) -> int:
        return self._count() - sum(map(self._is_marked, self._unscored))

    def positions(self, numbers: set[int]) -> Iterator[int]:
        """Return which of the marks, in the order of the file, belong to one of these items."""
        return (place for place, number in enumerate(self._numbers) if number in numbers)

    @property
    def size(self) -> int:
        """The number of records that were added."""
        return len(self._numbers)

    def missing(self, items: int) -> list[int]:
        """Return which of the first `items` items have no record."""
        found = bytearray(items)
        if self._count() and isinstance(self._numbers, range):
            found[self._numbers.start : self._numbers.stop] = b"\1" * len(self._numbers)
        elif self._numbers:
            found[: len(self._seen) - 1] = self._seen[:-1]
        for number in self._unscored:
            found[number] = 1
        return list(compress(range(items), found.translate(bytes([1]) + bytes(255)))) if 0 in found else []

    def _spread(self, found: Any, marks: Sequence[Any]) -> Any:
        """Put each of these, in the order of the file, in the place of its item."""
        if isinstance(self._numbers, range):
            found[self._numbers.start : self._numbers.stop] = marks
            return found
        found.append(0)  # for all that are not expected
        for number, mark in zip(self._numbers, marks, strict=True):
            found[number] = mark
        del found[-1]
        return found

    def get(self, number: int) -> Any:
        """Return the mark of an item; None without a record. Slow for many items: see `listed`."""
        if number in self.unscored:
            return self._unscored[number]
        return self._marks[self._numbers.index(number)] if self._is_marked(number) else None

    def _scored(self) -> Iterator[tuple[int, Any]]:
        """Return the items that are processed, and their marks, in the order of the file."""
        apart = {*self.unscored, NOT_EXPECTED}
        pairs = zip(self._numbers, self._marks, strict=True)
        return (pair for pair in pairs if pair[0] not in apart)

    def values(self) -> list[Any]:
        """Return all marks, also `Unscored` ones."""
        plain = isinstance(self._numbers, range) and not self.unscored
        return list(self._marks) if plain else [*(mark for _, mark in self._scored()), *self._unscored.values()]

    def listed(self, items: int) -> list[Any]:
        """Return the marks of the first `items` items; None for those without a record."""
        found: list[Any] = self._spread([None] * items, self._marks)
        for number, why in self.unscored.items():
            found[number] = why
        return found

    def as_bytes(self, items: int, unprocessed: int) -> bytes:
        """Return the marks of the first `items` items, which are integers below 256; `unprocessed` for the others."""
        marks = self._marks
        if isinstance(marks, list):  # marks of items that are not processed are of any type
            marks = bytearray(mark if type(mark) is int else unprocessed for mark in marks)
        found = self._spread(bytearray((unprocessed,)) * items, marks)
        for number in self.unscored:
            found[number] = unprocessed
        return bytes(found)

    def only(self, numbers: Sequence[int]) -> Marks:
        """Return the marks of these items, with their places in the list as indexes."""
        places = {number: place for place, number in enumerate(numbers)}
        other = Marks()
        marked = [(places[number], mark) for number, mark in self._scored() if number in places]
        other.add([place for place, _ in marked], [mark for _, mark in marked])
        other._unscored = {places[number]: why for number, why in self._unscored.items() if number in places}
        return other

    def changed(self, mark: Any) -> Marks:
        """Return the marks with a function applied to each that is not `Unscored`."""
        other = Marks()
        scored = list(self._scored())
        other.add([number for number, _ in scored], [mark(each) for _, each in scored])
        other._unscored = dict(self._unscored)
        return other
