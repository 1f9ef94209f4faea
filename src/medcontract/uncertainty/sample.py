"""Which cases are drawn together, how often each is drawn, and exact sums over them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import sha256, shake_128
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medcontract.uncertainty.units import Unit, key_text

Array = NDArray[Any]

MOST_GROUPS = 10_000
THRESHOLDS = (24109, 48219, 60273, 64292, 65296, 65497, 65531, 65535)
"""The weight is the number of these that a random 16-bit number reaches: a Poisson variable with mean 1."""
_NAME = b"medcontract/resample/1\n"
_BLOCK = 1 << 21
"""How many numbers an intermediate array has."""
_MOST_COUNTED = 1000
"""How many tables of counts are kept, of 80 kB for ten codes."""
_DENSE = 256
"""Up to how many different codes are counted in a table for each group."""
_EXACT_FLOATS = 1 << 24
"""Up to here, every integer is a 32-bit float."""
_BITS = 20
_QUANTUM = 2.0 ** (2 * _BITS)
"""Real numbers are added as multiples of 1 / this, in two halves, so that sums of doubles are exact."""


def weights_of(keys: Iterable[bytes], resamples: int) -> Array:
    """Return how often each group is drawn: a row for the full data, then one for each replicate."""
    random = b"".join(shake_128(_NAME + key).digest(2 * resamples) for key in keys)
    drawn = np.frombuffer(random, dtype=">u2").reshape(-1, resamples)
    counts = np.searchsorted(THRESHOLDS, np.arange(1 << 16), side="right").astype(np.uint8)
    return np.concatenate([np.ones((1, len(drawn)), np.uint8), counts[drawn.T]])


class Sample:
    """The expected cases, and how often each is drawn in each replicate."""

    def __init__(self, units: Sequence[Unit], resamples: int, clustered: bool = False, distinct: bool = False) -> None:
        """`units`: of the cases, in their order. `distinct`: each case has its own."""
        self.resamples = resamples
        self.clustered = clustered
        """Whether the cases of a unit are not independent."""
        self.unit_of = np.arange(len(units), dtype=np.int32)
        """The number of the unit of each case."""
        if not distinct:
            numbers: dict[Unit, int] = {}
            self.unit_of = np.array([numbers.setdefault(unit, len(numbers)) for unit in units], np.int32)
            units = list(numbers)
        self.units = len(units)
        names, group = _groups(units)
        self.group_of = group[self.unit_of]
        """The number of the group of each case."""
        self.groups = len(names)
        self._weights = weights_of(names, resamples)
        self._counted: dict[Any, Array] = {}

    @property
    def cases(self) -> int:
        return len(self.unit_of)

    def part(self, start: int, stop: int) -> Sample:
        """Return the sample of some of the cases, with the same groups and weights."""
        other = object.__new__(Sample)
        other.__dict__ |= self.__dict__ | {
            "unit_of": self.unit_of[start:stop], "group_of": self.group_of[start:stop], "_counted": {},
        }  # fmt: skip
        return other

    def only(self, cases: Sequence[int]) -> Sample:
        """Return the sample of some of the cases, given by their numbers, with the same weights."""
        units, unit_of = np.unique(self.unit_of[cases], return_inverse=True)
        groups, group_of = np.unique(self.group_of[cases], return_inverse=True)
        other = object.__new__(Sample)
        other.__dict__ |= self.__dict__ | {
            "unit_of": unit_of, "units": len(units), "group_of": group_of, "groups": len(groups),
            "_weights": self._weights[:, groups], "_counted": {},
        }  # fmt: skip
        other.__dict__.pop("_floats", None)
        return other

    def units_of(self, cases: Array) -> int:
        """Return the number of units that have one of these cases, given by a mask."""
        return len(np.unique(self.unit_of[cases]))

    def case_weights(self, cases: Array) -> Iterator[tuple[slice, Array]]:
        """Return how often each of these cases, given by numbers, is drawn: some of the rows at a time."""
        for rows in self._rows(len(self.group_of)):
            yield rows, self.weights(rows, cases)

    def weights(self, rows: slice, cases: Array) -> Array:
        """Return how often each of these cases is drawn in some rows."""
        found: Array = self._weights[rows][:, self.group_of[cases]]
        return found

    def weights_by_case(self, row: int) -> Array:
        """Return how often each case is drawn in one row."""
        found: Array = self._weights[row][self.group_of]
        return found

    def _rows(self, width: int) -> Iterator[slice]:
        height = max(1, _BLOCK // max(1, width))
        return (slice(at, at + height) for at in range(0, self.resamples + 1, height))

    def count(self, *columns: tuple[Array, int]) -> list[Array]:
        """Count how often each code occurs: for each column of (codes of the cases, number of codes) a table.

        A table has a row for the full data and for each replicate. Cases with the code -1 do not count. The last tables
        are kept: a ranking counts the truth for each submission, and some submissions twice.
        """
        keys = [(sha256(codes.tobytes()).digest(), codes.dtype, size) for codes, size in columns]
        if len(self._counted) > _MOST_COUNTED:
            self._counted.clear()
        few = {
            key: each for key, each in zip(keys, columns, strict=True) if each[1] <= _DENSE and key not in self._counted
        }
        self._counted |= zip(few, self._dense(list(few.values())), strict=True)
        return [
            self._counted[key] if size <= _DENSE else self._sparse(codes, size)
            for key, (codes, size) in zip(keys, columns, strict=True)
        ]

    def _dense(self, columns: Sequence[tuple[Array, int]]) -> list[Array]:
        by_group = []
        for codes, size in columns:
            there = codes >= 0
            places = self.group_of[there].astype(np.int64) * size + codes[there]
            by_group.append(np.bincount(places, minlength=self.groups * size).reshape(self.groups, size))
        if not by_group:
            return []
        found = self._weighted(np.concatenate(by_group, axis=1).astype(np.float64))
        return np.split(found, np.cumsum([size for _, size in columns])[:-1], axis=1)

    def _weighted(self, by_group: Array) -> Array:
        """Weight the integers of each group, and add them up. Floats are exact here, in any order."""
        if np.abs(by_group).sum(axis=0).max(initial=0) * len(THRESHOLDS) < _EXACT_FLOATS:  # half the time and memory
            return (self._floats @ by_group.astype(np.float32)).astype(np.float64)
        rows = self._rows(self.groups)
        return np.concatenate([self._weights[each].astype(np.float64) @ by_group for each in rows])

    @cached_property
    def _floats(self) -> Array:
        """The weights for sums of counts: a ranking needs them again and again."""
        return self._weights.astype(np.float32)

    def _sparse(self, codes: Array, size: int, integers: Array | None = None) -> Array:
        """Count many different codes, of which few occur in each group, or add up integers of their cases."""
        found = np.zeros((self.resamples + 1, size))
        order = np.argsort(codes, kind="stable")
        order = order[codes[order] >= 0]
        if len(order):
            here, starts = np.unique(codes[order], return_index=True)
            for rows, weights in self.case_weights(order):
                terms = weights.astype(np.float64) if integers is None else weights * integers[order]
                found[rows, here] = np.add.reduceat(terms, starts, axis=1)
        return found

    def total(self, values: Array, largest: float = 1.0) -> Array:
        """Add up a real number of each case, in multiples of 2⁻⁴⁰ of the largest, which is positive."""
        return self.totals(values, np.zeros(self.cases, np.int64), 1, largest)[:, 0]

    def totals(self, values: Array, codes: Array, size: int, largest: float = 1.0) -> Array:
        """Add up a real number of the cases of each code, as `total` and `count` do."""
        high, low = np.divmod(np.rint(values / largest * _QUANTUM), 2.0**_BITS)
        first, second = (self._sums(half, codes, size) for half in (high, low))
        return (first + second / 2.0**_BITS) * (largest / 2.0**_BITS)

    def sum(self, values: Array) -> Array:
        """Add up an integer of each case, given as a double."""
        return self._sums(values, np.zeros(self.cases, np.int64), 1)[:, 0]

    def _sums(self, integers: Array, codes: Array, size: int) -> Array:
        """Add up integers of the cases of each code."""
        if size > _DENSE:
            return self._sparse(codes, size, integers)
        there = codes >= 0
        places = self.group_of[there].astype(np.int64) * size + codes[there]
        by_group = np.bincount(places, weights=integers[there], minlength=self.groups * size)
        return self._weighted(by_group.reshape(self.groups, size))


def _groups(units: Sequence[Unit]) -> tuple[list[bytes], Array]:
    """Return the keys of the groups that have a unit, and the number of the group of each unit."""
    if len(units) <= MOST_GROUPS:
        return list(map(key_text, units)), np.arange(len(units), dtype=np.int32)
    hashes = []
    for start in range(0, len(units), MOST_GROUPS):
        digests = [sha256(key_text(unit)).digest() for unit in units[start : start + MOST_GROUPS]]
        hashes.append(np.frombuffer(b"".join(digests), dtype=">u8")[::4] % MOST_GROUPS)
    numbers, group = np.unique(np.concatenate(hashes), return_inverse=True)
    return [key_text((int(number),)) for number in numbers], group.astype(np.int32)
