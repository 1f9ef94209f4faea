"""Compares the prediction of a document with its labels.

Most documents have few differences, and the same ones occur in many documents. So the result of comparing two items is
kept, and equal results are one object, which takes less memory and is quick to count and to send to another process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from medcontract.contracts.string_patterns import BLANKS
from medcontract.normalizers.names import near_misses, pair_exact, pair_fuzzy, pair_rest, too_many_to_compare
from medcontract.normalizers.text import normalize, tight
from medcontract.scoring.extraction.differences import FieldMiss, FindMiss
from medcontract.scoring.extraction.documents import (
    NAME,
    DocMark,
    Item,
    ItemReaders,
    ItemReport,
    Items,
    Kind,
    Label,
    all_right,
    failed,
    nothing_right,
)

_name = itemgetter(NAME)


class Options(NamedTuple):
    """The parameters that decide which items are paired, and which fields are right."""

    find_miss: FindMiss
    fuzzy: float | None
    """The threshold of fuzzy pairing; None if only equal names are paired."""


class Comparer:
    """Compares documents of one kind."""

    def __init__(self, kind: Kind, options: Options) -> None:
        self._kind = kind
        self._fuzzy = options.fuzzy
        self._records_of = attrgetter(kind.predicted)
        self._readers = ItemReaders(kind)
        self._pairs = _KnownPairs(kind, options.find_miss)
        self._unpaired = _KnownUnpaired()
        self._marks = _KnownMarks()

    def measure(self, label: Label, record: Any) -> DocMark:
        items, fields = label
        if failed(record):
            return nothing_right(len(items), "failed")
        records = self._records_of(record)
        predicted = tuple(map(self._readers[type(records[0])], records)) if records else ()
        if fields:
            if predicted == items:
                return all_right(len(items), fields)
            if list(map(_name, predicted)) == list(map(_name, items)):
                return self._mark(items, predicted, range(len(items)), fields)
        return self._pair(items, predicted)

    def _pair(self, items: Items, predicted: Items) -> DocMark:
        """The mark of a document whose names are not the same, or not in the same order."""
        names, others = [normalize(item[NAME]) for item in items], [normalize(item[NAME]) for item in predicted]
        equal_pairs = _pair_equal(items, predicted, names, others)
        pairs = equal_pairs if self._fuzzy is None else pair_fuzzy(names, others, self._fuzzy, equal_pairs)
        nearest = {i: (predicted[j][NAME], score) for i, j, score in near_misses(names, others, pairs)}
        not_compared = self._fuzzy is not None and too_many_to_compare(names, others, equal_pairs)
        fields = sum(self._kind.counted(item) for item, pair in zip(items, pairs, strict=True) if pair is not None)
        return self._mark(items, predicted, pairs, fields, nearest, not_compared)

    def _mark(
        self,
        items: Items,
        predicted: Items,
        pairs: Sequence[int | None],
        fields: int,
        nearest: Mapping[int, tuple[str, float]] | None = None,
        not_compared: bool = False,
    ) -> DocMark:
        """Compare paired items. `pairs` has the index of the prediction of each item, `fields` is what counts."""
        reports: list[tuple[int, ItemReport]] = []
        wrong = unpaired = 0
        for number, pair in enumerate(pairs):
            item = items[number]
            if pair is None:
                unpaired += 1
                reports.append((number, self._unpaired[item[NAME], nearest.get(number) if nearest else None]))
            elif item != predicted[pair]:
                report = self._pairs[item, predicted[pair]]
                if report:
                    wrong += len(report.misses)
                    reports.append((number, report))
        if not reports and not not_compared and 0 < len(items) == len(predicted):
            return all_right(len(items), fields)
        matched = len(items) - unpaired
        valid = matched > 0 or any(item[NAME].strip(BLANKS) for item in predicted)
        counts = len(items), matched, fields - wrong, fields
        return self._marks[DocMark(*counts, valid, len(predicted), tuple(reports), "compared", not_compared)]


def _pair_equal(items: Items, predicted: Items, names: Sequence[str], others: Sequence[str]) -> list[int | None]:
    """Items with equal normalized names, then the rest by equal tight names."""
    pairs = pair_exact(names, others)
    unpaired = pairs.count(None)
    if not unpaired or len(predicted) == len(pairs) - unpaired:
        return pairs
    return pair_rest([tight(item[NAME]) for item in items], [tight(item[NAME]) for item in predicted], pairs)


_MOST_KNOWN = 1 << 14
_LONGEST_KNOWN = 500
"""The total length of the texts that a known result depends on, in characters."""
_MOST_KNOWN_REPORTS = 8
"""The number of reports in a mark that is known."""


class _KnownPairs(dict[tuple[Item, Item], ItemReport | None]):
    """The results of comparing a labeled with a predicted item; None if there is nothing to report."""

    def __init__(self, kind: Kind, find_miss: FindMiss) -> None:
        super().__init__()
        self._kind = kind
        self._find_miss = find_miss

    def __missing__(self, pair: tuple[Item, Item]) -> ItemReport | None:
        label, found = pair
        misses = tuple(self._misses(label, found))
        report = None
        if misses or label[NAME] != found[NAME]:
            report = ItemReport(label[NAME], found[NAME], None, misses)
        if _length(label) + _length(found) <= _LONGEST_KNOWN:
            if len(self) >= _MOST_KNOWN:
                self.clear()
            self[pair] = report
        return report

    def _misses(self, label: Item, found: Item) -> Iterator[FieldMiss]:
        """The wrong fields."""
        for place, field in enumerate(self._kind.fields):
            expected, got = label[place], found[place]
            if expected == got or (place == self._kind.optional and not normalize(expected)):
                continue
            miss = self._find_miss(field, expected, got)
            if miss:
                yield miss


def _length(texts: Iterable[str]) -> int:
    return sum(map(len, texts))


class _KnownUnpaired(dict[tuple[str, tuple[str, float] | None], ItemReport]):
    """The reports about items that are not paired, by their name and the most similar prediction."""

    def __missing__(self, key: tuple[str, tuple[str, float] | None]) -> ItemReport:
        name, nearest = key
        report = ItemReport(name, None, nearest, ())
        if len(name) + (len(nearest[0]) if nearest else 0) <= _LONGEST_KNOWN:
            if len(self) >= _MOST_KNOWN:
                self.clear()
            self[key] = report
        return report


class _KnownMarks(dict[DocMark, DocMark]):
    """The marks of documents, so that equal ones are stored only once."""

    def __missing__(self, mark: DocMark) -> DocMark:
        reports = [report for _, report in mark.items]
        if len(reports) <= _MOST_KNOWN_REPORTS and all(_length(_texts(report)) <= _LONGEST_KNOWN for report in reports):
            if len(self) >= _MOST_KNOWN:
                self.clear()
            self[mark] = mark
        return mark


def _texts(report: ItemReport) -> Iterator[str]:
    """The texts of records in a report."""
    yield report.name
    yield report.paired or ""
    yield report.nearest[0] if report.nearest else ""
    for miss in report.misses:
        yield miss.expected
        yield miss.got
