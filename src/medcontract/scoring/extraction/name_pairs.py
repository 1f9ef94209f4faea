"""Pairs the names of a document. Many documents have the same names, so the pairs are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from medcontract.normalizers.names import near_misses, pair_exact, pair_fuzzy, pair_rest, too_many_to_compare
from medcontract.normalizers.text import normalize, tight

_MOST_KNOWN = 1 << 14
_LONGEST_KNOWN = 500
"""The total length of the texts that a known result depends on, in characters."""
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
Names = tuple[str, ...]
"""The names of the items of a document, as printed."""


def is_short(*texts: Iterable[str]) -> bool:
    """Whether texts may be kept: the memory for what is known must not depend on the data."""
    return sum(sum(map(len, each)) for each in texts) <= _LONGEST_KNOWN


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


class KnownNames(dict[tuple[Names, Names], NamePairs]):
    """The pairs of the labeled and the predicted names of documents."""

    def __init__(self, fuzzy: float | None) -> None:
        """`fuzzy` is the threshold of fuzzy pairing; None if only equal names are paired."""
        super().__init__()
        self._fuzzy = fuzzy

    def __missing__(self, key: tuple[Names, Names]) -> NamePairs:
        found = self._pair(*key)
        if is_short(*key):
            remember(self, key, found)
        return found

    def _pair(self, labeled: Names, predicted: Names) -> NamePairs:
        names, others = list(map(normalize, labeled)), list(map(normalize, predicted))
        equal_pairs = _pair_equal(labeled, predicted, pair_exact(names, others))
        pairs = equal_pairs if self._fuzzy is None else pair_fuzzy(names, others, self._fuzzy, equal_pairs)
        nearest = {i: (predicted[j], score) for i, j, score in near_misses(names, others, pairs)}
        not_compared = self._fuzzy is not None and too_many_to_compare(names, others, equal_pairs)
        return NamePairs(pairs, nearest, not_compared)


def _pair_equal(labeled: Names, predicted: Names, pairs: list[int | None]) -> list[int | None]:
    """The pairs of equal normalized names, then the rest by equal tight names."""
    unpaired = [name for name, pair in zip(labeled, pairs, strict=True) if pair is None]
    if not unpaired or len(predicted) == len(pairs) - len(unpaired):
        return pairs
    free = set(range(len(predicted))).difference(pairs)
    if set(map(tight, unpaired)).isdisjoint([tight(predicted[place]) for place in free]):  # most often
        return pairs
    return pair_rest(list(map(tight, labeled)), list(map(tight, predicted)), pairs)
