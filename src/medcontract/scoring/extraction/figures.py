"""The figures of documents, from their marks. Most documents share their mark with others, which is looked at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from msgspec import Struct

from medcontract.contracts.rules import is_ascending
from medcontract.problems import plural
from medcontract.scoring.extraction.documents import PRESCRIPTION, DocMark, Kind, Label, nothing_right
from medcontract.scoring.pairing import Pairing, marks
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import ZERO, rounded, total
from medcontract.scoring.scorer import Remark
from medcontract.types import JsonObject


class Documents(Struct):
    """The documents of one kind, sorted by id. Documents of other cases can be added; with a weight, they repeat."""

    kind: Kind
    ids: list[str]
    labels: list[Label]
    marks: list[DocMark]

    @classmethod
    def of(cls, kind: Kind, pairing: Pairing) -> Documents:
        ids: list[Any] = pairing.expected.keys
        labels = pairing.expected.items
        found = marks(pairing, "")
        if type(None) in set(map(type, found)):
            found = [
                nothing_right(len(items), "no record") if mark is None else mark
                for mark, (items, _) in zip(found, labels, strict=True)
            ]
        return cls(kind, *_in_order(ids, labels, found))

    def __add__(self, other: Documents) -> Documents:
        columns = self.ids + other.ids, self.labels + other.labels, self.marks + other.marks
        return Documents(self.kind, *_in_order(*columns))

    def __mul__(self, times: int) -> Documents:
        return Documents(self.kind, *_in_order(self.ids * times, self.labels * times, self.marks * times))

    def count(self, condition: Callable[[DocMark], bool]) -> int:
        """Count the documents that satisfy a condition."""
        return sum(map(condition, self.marks))


def _in_order(ids: list[str], *columns: list[Any]) -> list[list[Any]]:
    """Sort all columns by the first."""
    if is_ascending(ids):
        return [ids, *columns]
    order = sorted(range(len(ids)), key=ids.__getitem__)
    return [[column[place] for place in order] for column in (ids, *columns)]


def is_processed(mark: DocMark) -> bool:
    return mark.state != "no record"


_FEW_UNPARSED = Fraction(5, 100)
"""A larger share of documents without a parsed result gives a warning."""
_MANY_EXTRA = 2
"""More predicted items than this many times the labeled ones give a warning."""


def remarks(documents: Sequence[Documents]) -> Iterator[Remark]:
    """Yield what looks wrong in the predictions of each kind, and extra items in all of them."""
    for each in documents:
        failed = each.count(lambda mark: mark.state == "failed")
        yield from failed_documents(each.kind, failed, each.count(is_processed))
        if each.count(lambda mark: mark.predicted > 0) and not each.count(lambda mark: mark.matched > 0):
            message = f"none of the predicted items is labeled in its {each.kind.doc_type} document"
            hint = "check how names are written, and that documents and labels belong together"
            yield Remark(contract=each.kind.predictions, message=message, hint=hint, code="MC404")
    yield from _extra_items(documents)


def failed_documents(kind: Kind, failed: int, read: int) -> Iterator[Remark]:
    """Yield an error if no document was parsed."""
    if failed == read > 0:
        yield Remark(
            contract=kind.predictions, code="MC403", severity="error",
            message=f"no {kind.doc_type} document was parsed: 'parse_success' is false or there is an 'exception' in "
            f"{plural(read, 'record')}", hint="check the log of the model",
        )  # fmt: skip


def _extra_items(documents: Sequence[Documents]) -> Iterator[Remark]:
    """Predicting every possible name finds all labeled ones, because no figure counts extra items."""
    counted = [mark for each in documents for mark in each.marks if is_processed(mark)]
    predicted = sum(mark.predicted for mark in counted)
    labeled = sum(mark.labeled for mark in counted)
    if predicted > _MANY_EXTRA * labeled:
        message = f"{predicted:,} items are predicted, but only {labeled:,} are labeled"
        yield Remark(
            contract=documents[0].kind.predictions, message=message, hint="recall does not count extra items",
            code="MC506", reveals_truth=True,
        )  # fmt: skip


def unparsed(documents: Sequence[Documents]) -> Iterator[str]:
    """Yield the number of documents that were not parsed, or ended with an exception, if it is large."""
    failed = sum(each.count(lambda mark: mark.state == "failed") for each in documents)
    labeled = sum(len(each.ids) for each in documents)
    if failed > _FEW_UNPARSED * labeled:
        of = plural(labeled, "labeled document")
        yield f"{failed:,} of {of} were not parsed or have an 'exception': more than 5 %"


def not_compared(documents: Sequence[Documents]) -> Iterator[str]:
    count = sum(each.count(lambda mark: mark.not_compared) for each in documents)
    if count:
        where = "1 document has" if count == 1 else f"{count:,} documents have"
        yield f"{where} too many names to compare: only equal names were paired there"
    count = sum(each.count(lambda mark: mark.in_order) for each in documents)
    if count:
        where = "1 document has" if count == 1 else f"{count:,} documents have"
        yield f"{where} too many items of one name: they were paired in order of appearance there"


class Counts(NamedTuple):
    """What the figures of a document depend on, besides its type."""

    matched: int
    labeled: int
    correct: int
    total: int

    @classmethod
    def of(cls, mark: DocMark) -> Counts:
        return cls(mark.matched, mark.labeled, mark.correct, mark.total)


class DocumentFigures:
    """The figures of the documents of one kind. Many documents have the same counts, and so the same figures."""

    def __init__(self, documents: Documents, protocol: Protocol) -> None:
        self._documents, self._protocol = documents, protocol
        self._counts = list(map(Counts.of, documents.marks))

    def accuracy(self) -> Fraction | None:
        """Return the mean of the exact scores of all documents, times 100."""
        times = Counter(self._counts)
        scores = (score_of(each, self._documents.kind, self._protocol) * n for each, n in times.items())
        return 100 * total(scores) / len(self._counts) if self._counts else None

    def rows(self) -> list[JsonObject]:
        """Return the row of each document in the result."""
        row = {counts: self._row(counts) for counts in set(self._counts)}
        ids = self._documents.ids
        return [{"doc_id": doc_id, **row[counts]} for doc_id, counts in zip(ids, self._counts, strict=True)]

    def _row(self, counts: Counts) -> JsonObject:
        return {
            "doc_type": self._documents.kind.doc_type,
            "score": rounded(score_of(counts, self._documents.kind, self._protocol)),
            "recall": rounded(_recall(counts)),
            "field_accuracy": rounded(_field_accuracy(counts)),
            "matched": counts.matched,
            "labeled": counts.labeled,
            "correct_fields": counts.correct,
            "total_fields": counts.total,
        }


def score_of(counts: Counts, kind: Kind, protocol: Protocol) -> Fraction:
    """Return the exact score of a document."""
    names = ("weight_name_recall", "weight_attribute_accuracy")
    if kind is not PRESCRIPTION:
        names = ("weight_test_recall", "weight_lab_field_accuracy")
    recall, accuracy = map(protocol.__getitem__, names)
    return recall * _recall(counts) + accuracy * _field_accuracy(counts)


def _recall(counts: Counts) -> Fraction:
    return Fraction(counts.matched, counts.labeled)


def _field_accuracy(counts: Counts) -> Fraction:
    return Fraction(counts.correct, counts.total) if counts.total else ZERO
