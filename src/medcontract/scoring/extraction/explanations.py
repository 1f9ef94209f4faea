"""Explanations of a score: for each item, by kind of difference, and as hints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from medcontract.normalizers.text import normalize
from medcontract.problems import shorten
from medcontract.results.score import FailureMode, FieldDifference, ItemBreakdown
from medcontract.scoring.extraction.differences import FieldMiss
from medcontract.scoring.extraction.documents import NAME, DocMark, ItemReport
from medcontract.scoring.extraction.figures import Documents, is_processed

_MOST_HINTS = 5
_MOST_NAMED = 20
"""Documents without a valid record that a hint lists."""


def breakdown(documents: Documents) -> Iterator[ItemBreakdown]:
    """Yield the result for each item of each document."""
    for doc_id, (items, _), mark in zip(documents.ids, documents.labels, documents.marks, strict=True):
        reports = dict(mark.items)
        for number, item in enumerate(items):
            name = item[NAME]
            report = reports.get(number) or ItemReport(name, name, None, ())
            nearest_name, nearest = report.nearest or (None, None)
            yield ItemBreakdown(
                doc_type=documents.kind.doc_type, doc_id=doc_id, item=number, state=_state(mark, report), name=name,
                paired_name=report.paired if mark.state == "compared" else None, nearest=nearest,
                nearest_name=nearest_name, fields=tuple(map(_difference, report.misses)),
            )  # fmt: skip


def _state(mark: DocMark, report: ItemReport) -> Any:
    if mark.state != "compared":
        return "no valid record" if mark.state == "no record" else "document failed"
    if report.paired is None:
        return "not matched"
    return "wrong fields" if report.misses else "right"


def _difference(miss: FieldMiss) -> FieldDifference:
    return FieldDifference(
        field=miss.field, difference=miss.difference, expected=miss.expected, got=miss.got,
        expected_normalized=normalize(miss.expected), got_normalized=normalize(miss.got),
    )  # fmt: skip


def failure_modes(documents: Sequence[Documents]) -> list[FailureMode]:
    """Count how often each field was wrong in each way, the most frequent first."""
    found = Counter(mode for each in documents for mark in each.marks for mode in _modes(each, mark))
    ordered = sorted(found.items(), key=lambda row: (-row[1], row[0]))
    return [FailureMode(field=field, difference=difference, count=times) for (field, difference), times in ordered]


def _modes(documents: Documents, mark: DocMark) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a document with this mark."""
    if mark.state != "compared":
        what = "no valid record" if mark.state == "no record" else "not parsed, or exception"
        yield f"{documents.kind.doc_type} document", what
    for _, report in mark.items:
        if report.paired is None:
            yield documents.kind.name, "not matched, similar name predicted" if report.nearest else "not matched"
        for miss in report.misses:
            yield miss.field, miss.difference


def hints(documents: Sequence[Documents]) -> Iterator[str]:
    """Documents without a valid record, and the most frequent unmatched names that have a similar prediction."""
    yield from _without_record(documents)
    reports = (report for each in documents for mark in each.marks for _, report in mark.items)
    found = Counter((report.name, *report.nearest) for report in reports if report.nearest)
    ordered = sorted(found.items(), key=lambda row: (-row[1], row[0]))
    for (name, nearest, score), times in ordered[:_MOST_HINTS]:
        often = f" ({times:,} times)" if times > 1 else ""
        yield f"{shorten(name)!r} was not matched; most similar prediction {shorten(nearest)!r}, {score:.0f}{often}"
    if len(ordered) > _MOST_HINTS:
        yield f"{len(ordered) - _MOST_HINTS:,} more unmatched names have a similar prediction: see --breakdown"


def _without_record(documents: Sequence[Documents]) -> Iterator[str]:
    """Yield the ids of documents without a valid record; ids are values, so this is only a hint."""
    count = sum(each.count(lambda mark: not is_processed(mark)) for each in documents)
    if count:
        missing = (
            doc_id
            for each in documents
            for doc_id, mark in zip(each.ids, each.marks, strict=True)
            if not is_processed(mark)
        )
        more = f", and {count - _MOST_NAMED:,} more" if count > _MOST_NAMED else ""
        yield f"documents without a valid record: {', '.join(map(shorten, islice(missing, _MOST_NAMED)))}{more}"
