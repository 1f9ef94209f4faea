"""Pairs the names of a document. Many documents have the same misspelled names, so their pairs are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from medcontract.normalizers.names import (
    InCommon,
    near_misses,
    pair_exact,
    pair_fuzzy,
    pair_rest,
    too_many_of_one_name,
    too_many_to_compare,
)
from medcontract.normalizers.text import normalize, tight

_MOST_KNOWN = 1 << 14
_LONGEST_KNOWN = 500
"""The total length of the texts that a known result depends on, in characters."""
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
Names = tuple[str, ...]
"""The names of the items of a document, as printed."""


def is_short(texts: Iterable[str]) -> bool:
    """Whether texts may be kept: the memory for what is known must not depend on the data."""
    return sum(map(len, texts)) <= _LONGEST_KNOWN


def remember(known: dict[_Key, _Value], key: _Key, value: _Value) -> None:
    """Add what is known. If that is too much, forget the rest."""
    if len(known) >= _MOST_KNOWN:
        known.clear()
    known[key] = value


class NamePairs(NamedTuple):
    """Which names are paired."""

    pairs: Sequence[int | None]
    """The index of the prediction of each labeled item."""
    nearest: Mapping[int, tuple[str, float]]
    """The most similar prediction of labeled items that are not paired, and its score."""
    not_compared: bool
    """Fuzzy pairing was requested, but there were too many names to compare."""
    in_order: bool = False
    """A name occurred so often that its items were paired in order of appearance."""


class NamePairer:
    """Pairs names by their normalized forms, and the rest by their tight forms, or if they are similar enough."""

    def __init__(self, fuzzy: float | None) -> None:
        """`fuzzy` is the threshold of fuzzy pairing; None if only equal names are paired."""
        self._rest = _KnownRest(fuzzy)

    def pair(self, labeled: Names, predicted: Names, in_common: InCommon) -> NamePairs:
        """Pairs all names. Of items of one name, those that have the most in common are paired."""
        names, others = list(map(normalize, labeled)), list(map(normalize, predicted))
        pairs = pair_exact(names, others, in_common)
        in_order = too_many_of_one_name(names, others)
        wanted = [place for place, pair in enumerate(pairs) if pair is None]
        if not wanted or len(predicted) == len(pairs) - len(wanted):
            return NamePairs(pairs, _NO_NAMES, False, in_order)
        taken = set(pairs)
        free = [place for place in range(len(predicted)) if place not in taken]
        key = tuple(map(labeled.__getitem__, wanted)), tuple(map(predicted.__getitem__, free))
        if all(len(set(map(tight, side))) == len(side) for side in key):
            rest = self._rest[key]
        else:
            rest = self._rest.pair(*key, lambda place, other: in_common(wanted[place], free[other]))
        for place, pair in zip(wanted, rest.pairs, strict=True):
            if pair is not None:
                pairs[place] = free[pair]
        nearest = {wanted[place]: found for place, found in rest.nearest.items()}
        return NamePairs(pairs, nearest, rest.not_compared, in_order or rest.in_order)

    def pair_one(self, labeled: str, predicted: str, others: Iterable[str]) -> NamePairs | None:
        """Like `pair`, for the only names in a document that are not equal; all others are equal, in the same order.

        `others` are the other labeled names, which are all different. None if one of them is equal to the predicted
        one, which may then belong to that.
        """
        name = normalize(predicted)
        if any(normalize(other) == name for other in others):
            return None
        return self._rest[(labeled,), (predicted,)]


def are_equal(name: str, other: str) -> bool:
    """Whether names are paired first: their normalized forms are the same."""
    return normalize(name) == normalize(other)


_NO_NAMES: Mapping[int, tuple[str, float]] = MappingProxyType({})


class _KnownRest(dict[tuple[Names, Names], NamePairs]):
    """The pairs of names that have no equal normalized name: few in each document, and the same in many."""

    def __init__(self, fuzzy: float | None) -> None:
        super().__init__()
        self._fuzzy = fuzzy

    def __missing__(self, key: tuple[Names, Names]) -> NamePairs:
        found = self.pair(*key)
        if is_short(chain.from_iterable(key)):
            remember(self, key, found)
        return found

    def pair(self, labeled: Names, predicted: Names, in_common: InCommon | None = None) -> NamePairs:
        names, others = list(map(normalize, labeled)), list(map(normalize, predicted))
        tight_names, tight_others = list(map(tight, labeled)), list(map(tight, predicted))
        pairs = equal_pairs = pair_rest(tight_names, tight_others, [None] * len(labeled), in_common)
        if self._fuzzy is not None:
            pairs = pair_fuzzy(names, others, self._fuzzy, equal_pairs)
        nearest = {i: (predicted[j], score) for i, j, score in near_misses(names, others, pairs)}
        not_compared = self._fuzzy is not None and too_many_to_compare(names, others, equal_pairs)
        return NamePairs(pairs, nearest, not_compared, too_many_of_one_name(tight_names, tight_others))
