"""The marks of the items of a truth, in compact form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from itertools import chain, count
from typing import Any, Literal, NamedTuple


class Unscored(NamedTuple):
    """Takes the place of the mark of an item that has records, but is not processed."""

    why: Literal["failed", "invalid", "repeated"]
    error: str = ""


def all_scored(marks: Iterable[Any]) -> bool:
    """Whether none of the marks is `Unscored`."""
    return Unscored not in set(map(type, marks))


class Marks(MutableMapping[int, Any]):
    """The mark of each expected item, by its index. Items without a record are absent.

    Most files have the order of the truth. So the marks of consecutive items are kept in a list, which takes a tenth of
    the memory of a dict, and far less time to fill and to send to another process. All others are in a dict.
    Consecutive marks that were added as bytes are kept as bytes, which take even less.
    """

    __slots__ = ("_consecutive", "_others", "_start", "may_be_unscored")

    def __init__(self, marks: Mapping[int, Any] | None = None) -> None:
        self.may_be_unscored: bool = marks.may_be_unscored if isinstance(marks, Marks) else bool(marks)
        """Whether one may be `Unscored`: so that all of them need not be searched."""
        self._start = 0
        """The index of the item of the first of the consecutive marks."""
        self._consecutive: list[Any] | bytearray = []
        self._others: dict[int, Any] = {}
        if isinstance(marks, Marks):
            self._start, self._consecutive, self._others = marks._start, marks._consecutive[:], dict(marks._others)
        elif marks:
            self._others.update(marks)

    def __len__(self) -> int:
        return len(self._consecutive) + len(self._others)

    def __iter__(self) -> Iterator[int]:
        return chain(self._numbers, self._others)

    def __contains__(self, number: object) -> bool:
        return number in self._numbers or number in self._others

    def __getitem__(self, number: int) -> Any:
        at = number - self._start
        return self._consecutive[at] if 0 <= at < len(self._consecutive) else self._others[number]

    def __setitem__(self, number: int, mark: Any) -> None:
        self.may_be_unscored = self.may_be_unscored or type(mark) is Unscored
        if number in self._numbers:
            self._listed_consecutive()[number - self._start] = mark
        else:
            self._others[number] = mark

    def __delitem__(self, number: int) -> None:
        if number not in self._others:
            self._others.update(zip(self._numbers, self._consecutive, strict=True))
            self._consecutive = []
        del self._others[number]

    def values(self) -> Any:
        return [*self._consecutive, *self._others.values()]

    def items(self) -> Any:
        return chain(zip(count(self._start), self._consecutive), self._others.items())

    @property
    def consecutive(self) -> list[Any] | bytearray:
        """The marks of consecutive items: all marks, if each was added for the item after the last one."""
        return self._consecutive

    @property
    def _numbers(self) -> range:
        return range(self._start, self._start + len(self._consecutive))

    def add(self, numbers: Sequence[int], marks: Iterable[Any], is_scored: bool = False) -> None:
        """Add the marks of new items. A range of items that follows the last one is the fastest, and bytes as marks.

        `is_scored`: none of them is `Unscored`, as is already known.
        """
        if not isinstance(marks, bytes | bytearray):
            marks = list(marks)
            self.may_be_unscored = self.may_be_unscored or not (is_scored or all_scored(marks))
        if not isinstance(numbers, range) or not self._is_followed_by(numbers):
            self._others.update(zip(numbers, marks, strict=True))
            return
        if not self._consecutive:
            self._start = numbers.start
            self._consecutive = marks if isinstance(marks, list) else bytearray(marks)
        elif isinstance(self._consecutive, bytearray) and not isinstance(marks, list):
            self._consecutive.extend(marks)
        else:
            self._listed_consecutive().extend(marks)
        if len(self._numbers) != numbers.stop - self._start:
            raise ValueError("expected one mark for each item")

    def _listed_consecutive(self) -> list[Any]:
        """The consecutive marks as a list, from now on: any mark can be put into it."""
        if isinstance(self._consecutive, bytearray):
            self._consecutive = list(self._consecutive)
        return self._consecutive

    def _is_followed_by(self, numbers: range) -> bool:
        return not self._others and (not self._consecutive or self._numbers.stop == numbers.start)

    def has_any(self, numbers: Iterable[int]) -> bool:
        """Whether any of these items has a mark."""
        if not self._consecutive:
            return not self._others.keys().isdisjoint(numbers)
        return any(number in self for number in numbers)

    def common(self, other: Marks) -> set[int]:
        """The items that have a mark in both."""
        mine, theirs = self._numbers, other._numbers
        both = set(range(max(mine.start, theirs.start), min(mine.stop, theirs.stop)))
        both.update(number for number in self._others if number in other)
        both.update(number for number in other._others if number in mine)
        return both

    def merged(self, other: Marks, repeated: Any) -> Marks:
        """All marks, with the mark `repeated` for items that have one in both."""
        one, two = (self, other) if self._start <= other._start else (other, self)
        result = Marks(one)
        result.may_be_unscored = one.may_be_unscored or two.may_be_unscored
        if not one._others and not two._others and one._is_followed_by(two._numbers):
            result.add(two._numbers, two._consecutive)
            return result
        both = self.common(other)
        result._others.update((number, mark) for number, mark in two.items() if number not in both)
        for number in both:
            result[number] = repeated
        return result

    def moved(self, by: int) -> Marks:
        """The same marks, of items whose indexes are larger by this number."""
        result = Marks()
        result.may_be_unscored = self.may_be_unscored
        result._start, result._consecutive = self._start + by, self._consecutive
        result._others = {number + by: mark for number, mark in self._others.items()}
        return result

    def listed(self, items: int) -> list[Any]:
        """The marks of all of so many items; None for those without one."""
        found: list[Any] = list(map(self._others.get, range(items))) if self._others else [None] * items
        found[self._start : self._numbers.stop] = self._consecutive
        return found

    def as_bytes(self, items: int, unprocessed: int) -> bytes:
        """Like `listed`, for marks that are integers below 256: `unprocessed` stands for `Unscored` and None."""
        if self._others or isinstance(self._consecutive, list):
            found = self.listed(items)
            return bytes([unprocessed if mark is None or type(mark) is Unscored else mark for mark in found])
        before, after = self._start, items - self._numbers.stop
        return bytes((unprocessed,)) * before + self._consecutive + bytes((unprocessed,)) * after

    def __getstate__(self) -> tuple[int, list[Any] | bytearray, dict[int, Any], bool]:
        return self._start, self._consecutive, self._others, self.may_be_unscored

    def __setstate__(self, state: tuple[int, list[Any] | bytearray, dict[int, Any], bool]) -> None:
        self._start, self._consecutive, self._others, self.may_be_unscored = state
