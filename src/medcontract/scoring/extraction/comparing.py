"""Compares the prediction of a document with its labels.

Most documents have few differences, and the same ones occur in many documents. So the result of comparing two items is
kept, and equal results are one object, which takes less memory and is quick to count and to send to another process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from medcontract.contracts.string_patterns import BLANKS
from medcontract.normalizers.names import (
    InCommon,
    near_misses,
    pair_exact,
    pair_fuzzy,
    pair_rest,
    too_many_of_one_name,
    too_many_to_compare,
)
from medcontract.normalizers.text import close, equal, normalize, tight
from medcontract.scoring.extraction.differences import FieldMiss, difference
from medcontract.scoring.extraction.documents import (
    NAME,
    DocMark,
    Item,
    ItemReport,
    Items,
    Kind,
    Label,
    all_right,
    failed,
    nothing_right,
)

if TYPE_CHECKING:
    from medcontract.contracts.extraction import Read

_name = itemgetter(NAME)


class NamePairs(NamedTuple):
    """Which names are paired."""

    pairs: Sequence[int | None]
    """The index of the prediction of each labeled item."""
    nearest: dict[int, tuple[str, float]]
    """The most similar prediction of labeled items that are not paired, and its score."""
    not_compared: bool = False
    """Fuzzy pairing was requested, but there were too many names to compare."""
    in_order: bool = False
    """A name occurred so often that its items were paired in order of appearance."""


def pair_names(labeled: Sequence[str], predicted: Sequence[str], fuzzy: float | None, in_common: InCommon) -> NamePairs:
    """Pair names by their normalized forms, and the rest by their tight forms, or if they are similar enough.

    Of items of one name, the most similar ones are paired. `fuzzy` is the threshold of fuzzy pairing; None
    if only equal names are paired.
    """
    names, others = list(map(normalize, labeled)), list(map(normalize, predicted))
    pairs = pair_exact(names, others, in_common)
    in_order = too_many_of_one_name(names, others)
    wanted = [place for place, pair in enumerate(pairs) if pair is None]
    free = sorted(set(range(len(others))).difference(pairs))
    if not wanted or not free:
        return NamePairs(pairs, {}, in_order=in_order)
    names, others = [names[place] for place in wanted], [others[place] for place in free]
    tight_names, tight_others = [tight(labeled[place]) for place in wanted], [tight(predicted[place]) for place in free]
    equal_pairs = pair_rest(
        tight_names, tight_others, [None] * len(wanted), lambda place, other: in_common(wanted[place], free[other])
    )
    rest = equal_pairs if fuzzy is None else pair_fuzzy(names, others, fuzzy, equal_pairs)
    for place, pair in zip(wanted, rest, strict=True):
        pairs[place] = None if pair is None else free[pair]
    nearest = {wanted[i]: (predicted[free[j]], score) for i, j, score in near_misses(names, others, rest)}
    not_compared = fuzzy is not None and too_many_to_compare(names, others, equal_pairs)
    return NamePairs(pairs, nearest, not_compared, in_order or too_many_of_one_name(tight_names, tight_others))


class Comparer:
    """Compares documents of one kind under the parameters that decide which items are paired."""

    def __init__(self, kind: Kind, tolerance: Fraction, fuzzy: float | None) -> None:
        """`tolerance`: of numbers. `fuzzy`: the threshold of `pair_names`."""
        self.kind = kind
        self._fuzzy = fuzzy
        self._items_of = kind.items_of(kind.predicted)
        self._find_miss = field_comparer(kind, tolerance)

    def measure(self, label: Label, record: Read) -> DocMark:
        return self.measure_all((label,), (record,))[0]

    def measure_all(self, labels: Iterable[Label], records: Sequence[Read]) -> list[DocMark]:
        """Return the marks of documents. Much faster than one call for each of them."""
        items_of = self._items_of
        marks: list[DocMark] = []
        for (items, fields), record in zip(labels, records, strict=True):
            if (record.exception or not record.parse_success) and failed(record):
                marks.append(nothing_right(len(items), "failed"))
                continue
            predicted = items_of(record)
            if predicted == items and fields:
                marks.append(all_right(len(items), fields))
            else:
                marks.append(self._compare(items, fields, predicted))
        return marks

    def _misses(self, label: Item, found: Item) -> tuple[FieldMiss, ...]:
        """Return the wrong fields of a pair of items."""
        misses = []
        for field, expected, got in zip(self.kind.fields, label, found, strict=False):  # the name is last
            if expected != got and (miss := self._find_miss(field, expected, got)):
                misses.append(miss)
        return tuple(misses)

    def _compare(self, items: Items, fields: int, predicted: Items) -> DocMark:
        if any(None in item for item in predicted):  # absent or null: the empty text
            predicted = tuple(tuple(text or "" for text in item) for item in predicted)
        names, others = list(map(_name, items)), list(map(_name, predicted))
        if fields and (names == others or list(map(normalize, names)) == list(map(normalize, others))):
            found = NamePairs(range(len(items)), {})  # the labeled names are different, and none is empty
        else:

            def in_common(place: int, other: int) -> int:
                return self.kind.counted(items[place]) - len(self._misses(items[place], predicted[other]))

            found = pair_names(names, others, self._fuzzy, in_common)
        reports: list[tuple[int, ItemReport]] = []
        wrong = total = 0
        for number, (item, pair) in enumerate(zip(items, found.pairs, strict=True)):
            if pair is None:
                reports.append((number, ItemReport(item[NAME], None, found.nearest.get(number), ())))
                continue
            total += self.kind.counted(item)
            misses = self._misses(item, predicted[pair])
            if misses or item[NAME] != predicted[pair][NAME]:
                wrong += len(misses)
                reports.append((number, ItemReport(item[NAME], predicted[pair][NAME], None, misses)))
        matched = len(items) - found.pairs.count(None)
        succeeded = matched > 0 or any(name.strip(BLANKS) for name in others)
        return DocMark(
            len(items), matched, total - wrong, total, succeeded, len(predicted), tuple(reports),
            not_compared=found.not_compared, in_order=found.in_order,
        )  # fmt: skip


_LONGEST_KNOWN = 400
"""The length of two texts whose comparison is kept: memory must not depend on the data."""


def field_comparer(kind: Kind, tolerance: Fraction) -> Callable[[str, str, str], FieldMiss | None]:
    """Return a function that compares a field's labeled and predicted text; None if the prediction is right."""

    def find(field: str, expected: str, got: str) -> FieldMiss | None:
        if equal(expected, got) or (field == "valor" and close(got, expected, tolerance)):
            return None
        if field == kind.optional and not normalize(expected):
            return None
        return FieldMiss(field, difference(expected, got), expected, got)

    known = lru_cache(maxsize=1 << 14)(find)
    return lambda field, expected, got: (
        known(field, expected, got) if len(expected) + len(got) <= _LONGEST_KNOWN else find(field, expected, got)
    )
