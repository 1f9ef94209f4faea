"""The marks of the expected items, in compact form."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple


class Unscored(NamedTuple):
    """The mark of an item that has records, but is not processed."""

    why: Literal["failed", "invalid", "repeated"]
    error: str = ""


INVALID, REPEATED = Unscored("invalid"), Unscored("repeated")


class Marks:
    """The mark of each expected item that has a record, by the index of the item.

    Marks are kept in the order of the file: in a list, or as bytes if they are added as bytes. The indexes of their
    items are a range while the file has the order of the truth, then an array. So a million marks take a few megabytes
    in any order, and little time to send to another process. Items that are not processed are kept apart: they are few.
    """

    def __init__(self) -> None:
        self._numbers: range | array[int] = range(0)
        self._marks: list[Any] | bytearray = bytearray()
        self._seen = bytearray()
        """Whether each item has a mark; only used once the indexes are an array."""
        self.unscored: dict[int, Unscored] = {}
        self._hidden: set[int] = set()
        """Items whose mark does not count, because they also have another record."""

    def copy(self) -> Marks:
        other = Marks()
        other._numbers, other._marks, other._seen = self._numbers[:], self._marks[:], self._seen[:]
        other.unscored, other._hidden = dict(self.unscored), set(self._hidden)
        return other

    def __len__(self) -> int:
        """Return the number of items that have a record."""
        return self.processed + len(self.unscored)

    @property
    def processed(self) -> int:
        return len(self._numbers) - len(self._hidden)

    def __contains__(self, number: int) -> bool:
        return number in self.unscored or self._is_marked(number)

    def _is_marked(self, number: int) -> bool:
        if isinstance(self._numbers, range):
            return number in self._numbers
        return number < len(self._seen) and bool(self._seen[number])

    def are_new(self, numbers: Sequence[Any]) -> bool:
        """Return whether these are different items, none of which has a record."""
        if None in numbers or len(set(numbers)) < len(numbers) or not self.unscored.keys().isdisjoint(numbers):
            return False
        return not any(map(self._seen_up_to(numbers).__getitem__, numbers))

    def missing(self, items: int) -> list[int]:
        """Return which of the first `items` items have no record."""
        found = bytearray(items)
        if isinstance(self._numbers, range):
            found[self._numbers.start : self._numbers.stop] = b"\1" * len(self._numbers)
        else:
            found[: len(self._seen)] = self._seen
        for number in self.unscored:
            found[number] = 1
        return [number for number, seen in enumerate(found) if not seen] if 0 in found else []

    def get(self, number: int) -> Any:
        """Return the mark of an item; None without a record. Slow for many items: see `listed`."""
        if number in self.unscored:
            return self.unscored[number]
        return self._marks[self._numbers.index(number)] if self._is_marked(number) else None

    def add(self, numbers: Sequence[int], marks: Iterable[Any]) -> None:
        """Add the marks of items that have no record yet; a range that continues the last one is the fastest."""
        if not isinstance(marks, bytes | bytearray):
            marks = list(marks)
            if Unscored in set(map(type, marks)):
                numbers, marks = self._without_unscored(numbers, marks)
        if len(marks) != len(numbers):
            raise ValueError("expected one mark for each item")
        self._add_numbers(numbers)
        if isinstance(marks, list) and not isinstance(self._marks, list):
            self._marks = list(self._marks)
        self._marks.extend(marks)

    def _without_unscored(self, numbers: Sequence[int], marks: list[Any]) -> tuple[list[int], list[Any]]:
        pairs = list(zip(numbers, marks, strict=True))
        self.unscored.update((number, mark) for number, mark in pairs if type(mark) is Unscored)
        rest = [(number, mark) for number, mark in pairs if type(mark) is not Unscored]
        return [number for number, _ in rest], [mark for _, mark in rest]

    def _add_numbers(self, numbers: Sequence[int]) -> None:
        known = self._numbers
        if isinstance(known, range) and isinstance(numbers, range) and (not known or known.stop == numbers.start):
            self._numbers = range(known.start if known else numbers.start, numbers.stop)
            return
        seen = self._seen_up_to(numbers)
        for number in numbers:
            seen[number] = 1
        self._numbers.extend(numbers)  # type: ignore[union-attr]  # an array

    def _seen_up_to(self, numbers: Sequence[int]) -> bytearray:
        """Return which items have a mark, with room for these. From now on, the indexes are an array."""
        known, seen = self._numbers, self._seen
        if isinstance(known, range):
            self._numbers = array("q", known)
            seen += bytes(known.start) + b"\1" * len(known)
        seen += bytes(max(max(numbers, default=-1) + 1 - len(seen), 0))
        return seen

    def note(self, number: int, why: Unscored) -> None:
        """Note that an item is not processed, whatever its mark is."""
        if number not in self.unscored and self._is_marked(number):
            self._hidden.add(number)
        self.unscored[number] = why

    def merge(self, other: Marks) -> None:
        """Add the marks of other records: an item that has a record in both is repeated."""
        both = self._in_both(other)
        for number, why in other.unscored.items():
            self.note(number, REPEATED if number in self else why)
        numbers, marks = other._numbers, other._marks
        if both:
            places = [place for place, number in enumerate(numbers) if number not in both]
            numbers, marks = array("q", [numbers[place] for place in places]), [marks[place] for place in places]
        self.add(numbers, marks)
        for number in both:
            self.note(number, REPEATED)

    def _in_both(self, other: Marks) -> set[int]:
        """Return the items with a mark in `other` that have a record here."""
        mine, theirs = self._numbers, other._numbers
        if isinstance(mine, range) and isinstance(theirs, range):
            both = set(range(max(mine.start, theirs.start), min(mine.stop, theirs.stop)))
        else:
            both = {number for number in theirs if self._is_marked(number)}
        return both | {number for number in self.unscored if other._is_marked(number)} | other._hidden

    def values(self) -> list[Any]:
        """Return all marks, also those that are `Unscored`."""
        hidden = self._hidden
        marks = zip(self._numbers, self._marks, strict=True)
        found = [mark for number, mark in marks if number not in hidden] if hidden else list(self._marks)
        return [*found, *self.unscored.values()]

    def listed(self, items: int) -> list[Any]:
        """Return the marks of the first `items` items; None for those without a record."""
        found: list[Any] = [None] * items
        if isinstance(self._numbers, range):
            found[self._numbers.start : self._numbers.stop] = self._marks
        else:
            for number, mark in zip(self._numbers, self._marks, strict=True):
                found[number] = mark
        for number, why in self.unscored.items():
            found[number] = why
        return found

    def as_bytes(self, items: int, unprocessed: int) -> bytes:
        """Return the marks of the first `items` items, which are integers below 256; `unprocessed` for the others."""
        found = bytearray((unprocessed,)) * items
        if isinstance(self._numbers, range):
            found[self._numbers.start : self._numbers.stop] = self._marks
        else:
            for number, mark in zip(self._numbers, self._marks, strict=True):
                found[number] = mark
        for number in self.unscored:
            found[number] = unprocessed
        return bytes(found)

    def only(self, numbers: Sequence[int]) -> Marks:
        """Return the marks of these items, with their places in the list as indexes."""
        places = {number: place for place, number in enumerate(numbers)}
        other = Marks()
        marked = [
            (places[number], mark)
            for number, mark in zip(self._numbers, self._marks, strict=True)
            if number in places and number not in self._hidden
        ]
        other.add([place for place, _ in marked], [mark for _, mark in marked])
        other.unscored = {places[number]: why for number, why in self.unscored.items() if number in places}
        return other

    def changed(self, mark: Any) -> Marks:
        """Return the marks with a function applied to each that is not `Unscored`."""
        other = self.copy()
        other._marks = list(map(mark, self._marks))
        return other
