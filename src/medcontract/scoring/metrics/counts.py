"""The counts of metrics: exact, picklable, and independent of order. Those of parts of the data add up (`sums`)."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cached_property
from typing import Any

from msgspec import Struct

from medcontract.scoring.rational import ZERO


class ClassCounts(Struct, frozen=True, dict=True):
    """How often each (true, predicted) pair of values occurs; None: null or unprocessed."""

    pairs: Counter[tuple[Any, Any]]

    @cached_property
    def true(self) -> Counter[Any]:
        """The number of cases of each true class."""
        return self._sums(lambda y, p: y)

    @cached_property
    def predicted(self) -> Counter[Any]:
        """How often each class was predicted."""
        return self._sums(lambda y, p: p)

    @cached_property
    def right(self) -> Counter[Any]:
        """How often each class was predicted correctly."""
        return self._sums(lambda y, p: y if y == p else None)

    @cached_property
    def unprocessed(self) -> Counter[Any]:
        """The number of unprocessed cases of each true class."""
        return self._sums(lambda y, p: y if p is None else None)

    @property
    def cases(self) -> int:
        return self.true.total()

    @property
    def left_out(self) -> int:
        return sum(times for (y, _), times in self.pairs.items() if y is None)

    def _sums(self, key: Any) -> Counter[Any]:
        """The counts by a key of each pair; pairs whose key is None do not count."""
        found: Counter[Any] = Counter()
        for (y, p), times in self.pairs.items():
            if y is not None and (group := key(y, p)) is not None:
                found[group] += times
        return found


class MatchCounts(Struct, frozen=True):
    """How many cases match."""

    matches: int
    cases: int
    left_out: int


class OverlapCounts(Struct, frozen=True):
    """How two sets or multisets overlap, in each case."""

    overlaps: Counter[tuple[int, int, int]]
    """How often each (elements in common, predicted elements, true elements) occurs."""
    unprocessed: Counter[int]
    """The number of unprocessed cases, by the number of true elements."""
    left_out: int

    @property
    def cases(self) -> int:
        return self.overlaps.total() + self.unprocessed.total()


class RankCounts(Struct, frozen=True):
    """How often each score occurs; None: unprocessed."""

    positives: Counter[float | None]
    negatives: Counter[float | None]
    left_out: int

    @property
    def cases(self) -> int:
        return self.positives.total() + self.negatives.total()


class ErrorCounts(Struct, frozen=True):
    """The exact sum of a power of errors. Those of doubles have powers of two as denominators, so there are few."""

    sums: Counter[int]
    """By the denominator of the error: the sum of the powers of the numerators."""
    processed: int
    unprocessed: int
    left_out: int

    @property
    def cases(self) -> int:
        return self.processed + self.unprocessed

    def total(self, power: int) -> Fraction:
        """The sum over the processed cases, of errors to this power."""
        return sum((Fraction(n, d**power) for d, n in self.sums.items()), ZERO)


Counts = ClassCounts | MatchCounts | OverlapCounts | RankCounts | ErrorCounts
