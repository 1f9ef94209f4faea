"""Compares the prediction of a document with its labels.

Most documents have few differences, and the same ones occur in many documents. So the result of comparing two items is
kept, and equal results are one object, which takes less memory and is quick to count and to send to another process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from medcontract.contracts.string_patterns import BLANKS
from medcontract.normalizers.text import normalize
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
from medcontract.scoring.extraction.name_pairs import NamePairer, are_equal, is_short, remember

_name = itemgetter(NAME)


class Options(NamedTuple):
    """The parameters that decide which items are paired, and which fields are right."""

    find_miss: FindMiss
    fuzzy: float | None
    """The threshold of fuzzy pairing; None if only equal names are paired."""


class Comparer:
    """Compares documents of one kind."""

    def __init__(self, kind: Kind, options: Options) -> None:
        self.kind = kind
        self._records_of = attrgetter(kind.predicted)
        self._readers = ItemReaders(kind)
        self._pairs = _KnownPairs(kind, options.find_miss)
        self._names = NamePairer(options.fuzzy)
        self._marks = _KnownMarks()

    def measure(self, label: Label, record: Any) -> DocMark:
        return self.measure_all((label,), (record,))[0]

    def measure_all(self, labels: Iterable[Label], records: Sequence[Any]) -> list[DocMark]:
        """The marks of documents. Much faster than one call for each of them."""
        records_of, readers = self._records_of, self._readers
        marks: list[DocMark] = []
        for (items, fields), record in zip(labels, records, strict=True):
            if (record.exception or not record.parse_success) and failed(record):
                marks.append(nothing_right(len(items), "failed"))
                continue
            found = records_of(record)
            predicted = tuple(map(readers[type(found[0])], found)) if found else ()
            if predicted == items and fields:
                marks.append(all_right(len(items), fields))
            else:
                if any(None in item for item in predicted):  # absent or null: the empty text
                    predicted = tuple(tuple(text or "" for text in item) for item in predicted)
                in_order = self._in_order(items, predicted, fields) if fields else None
                marks.append(in_order or self._pair(items, predicted))
        return marks

    def _in_order(self, items: Items, predicted: Items, fields: int) -> DocMark | None:
        """The mark of a document with equal names in the same order, except for one at most. None for others."""
        labeled = matched = len(items)
        if labeled != len(predicted):
            return None
        reports: list[tuple[int, ItemReport]] = []
        wrong = 0
        has_other_name = False
        for number, item in enumerate(items):
            found = predicted[number]
            if item == found:
                continue
            if item[NAME] != found[NAME] and not are_equal(item[NAME], found[NAME]):
                others = map(_name, items[:number] + items[number + 1 :])
                names = None if has_other_name else self._names.pair_one(item[NAME], found[NAME], others)
                if names is None:
                    return None
                has_other_name = True
                if names.pairs[0] is None:
                    matched -= 1
                    fields -= self.kind.counted(item)
                    reports.append((number, self._pairs.unpaired(item[NAME], names.nearest.get(0))))
                    continue
            report = self._pairs[item, found]
            if report:
                wrong += len(report.misses)
                reports.append((number, report))
        if not reports:
            return all_right(labeled, fields)
        succeeded = matched > 0 or bool(predicted[0][NAME].strip(BLANKS))
        mark = DocMark(labeled, matched, fields - wrong, fields, succeeded, labeled, tuple(reports))
        return self._marks[mark]

    def _pair(self, items: Items, predicted: Items) -> DocMark:
        """The mark of a document whose names are not the same, not in the same order, or repeated."""

        def in_common(place: int, other: int) -> int:
            report = self._pairs[items[place], predicted[other]]
            return self.kind.counted(items[place]) - (len(report.misses) if report else 0)

        names = self._names.pair(tuple(map(_name, items)), tuple(map(_name, predicted)), in_common)
        pairs = names.pairs
        reports: list[tuple[int, ItemReport]] = []
        wrong = 0
        for number, (item, pair) in enumerate(zip(items, pairs, strict=True)):
            if pair is None:
                reports.append((number, self._pairs.unpaired(item[NAME], names.nearest.get(number))))
            elif item != predicted[pair]:
                report = self._pairs[item, predicted[pair]]
                if report:
                    wrong += len(report.misses)
                    reports.append((number, report))
        matched = len(pairs) - pairs.count(None)
        fields = self._fields(items, pairs)
        succeeded = matched > 0 or any(item[NAME].strip(BLANKS) for item in predicted)
        counts = len(items), matched, fields - wrong, fields
        mark = DocMark(
            *counts, succeeded, len(predicted), tuple(reports), "compared", names.not_compared, names.in_order
        )
        return self._marks[mark]

    def _fields(self, items: Items, pairs: Sequence[int | None]) -> int:
        """The number of fields of the paired items that count."""
        kind = self.kind
        if kind.optional is None:
            return len(kind.fields) * (len(pairs) - pairs.count(None))
        return sum(kind.counted(item) for item, pair in zip(items, pairs, strict=True) if pair is not None)


_MOST_KNOWN_REPORTS = 8
"""The number of reports in a mark that is known."""


class _KnownPairs(dict[tuple[Item, Item], ItemReport | None]):
    """The results of comparing a labeled with a predicted item; None if there is nothing to report."""

    def __init__(self, kind: Kind, find_miss: FindMiss) -> None:
        super().__init__()
        self._kind = kind
        self._find_miss = find_miss
        self._reports: dict[tuple[Any, ...], ItemReport] = {}
        """Reports by their content, so that equal ones are one object."""

    def __missing__(self, pair: tuple[Item, Item]) -> ItemReport | None:
        label, found = pair
        misses = tuple(self._misses(label, found))
        report = None
        if misses or label[NAME] != found[NAME]:
            report = self._report(label[NAME], found[NAME], None, misses)
        if is_short((*label, *found)):
            remember(self, pair, report)
        return report

    def unpaired(self, name: str, nearest: tuple[str, float] | None) -> ItemReport:
        """The report about an item that is not paired."""
        return self._report(name, None, nearest, ())

    def _report(self, *content: Any) -> ItemReport:
        known = self._reports.get(content)
        if known:
            return known
        report = ItemReport(*content)
        if is_short(_texts_in(report)):
            remember(self._reports, content, report)
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


class _KnownMarks(dict[DocMark, DocMark]):
    """The marks of documents, so that equal ones are stored only once."""

    def __missing__(self, mark: DocMark) -> DocMark:
        reports = [report for _, report in mark.items]
        if len(reports) <= _MOST_KNOWN_REPORTS and all(is_short(_texts_in(report)) for report in reports):
            remember(self, mark, mark)
        return mark


def _texts_in(report: ItemReport) -> list[str]:
    """The texts of records in a report."""
    texts = [report.name, report.paired or "", report.nearest[0] if report.nearest else ""]
    for miss in report.misses:
        texts += miss.expected, miss.got
    return texts
