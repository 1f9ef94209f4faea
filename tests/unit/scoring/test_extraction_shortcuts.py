"""What is kept while documents are compared and counted never changes a mark, a row or a table."""

from __future__ import annotations

import pickle
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.support import property_settings

from medcontract.normalizers.names import near_misses, pair_exact, pair_fuzzy, pair_rest, too_many_to_compare
from medcontract.normalizers.text import close, equal, normalize, tight
from medcontract.scoring.expected import Expected, ExpectedItems
from medcontract.scoring.extraction import TRACK
from medcontract.scoring.extraction.comparing import Comparer
from medcontract.scoring.extraction.differences import difference
from medcontract.scoring.extraction.documents import (
    LAB,
    NAME,
    PRESCRIPTION,
    DocMark,
    Item,
    Kind,
    label_reader,
    nothing_right,
)
from medcontract.scoring.extraction.explanations import failure_modes
from medcontract.scoring.extraction.figures import DocumentFigures, Documents, is_processed
from medcontract.scoring.extraction.tables import lowest
from medcontract.scoring.pairing import Pairing
from medcontract.scoring.rational import rounded
from medcontract.scoring.scorer import NO_OPTIONS

TOLERANCE = Fraction(2, 100)
NAMES = [
    "Losartán",
    "LOSARTAN",
    "losartan 50",
    "T.S.H.",
    "TSH",
    "co-trimoxazol",
    "co trimoxazol",
    "...",
    " ",
    "Lozartan",
]
VALUES = ["", "1", "1,02", "1.03", "1 mg", "1 MG.", "5 µg", "5 mg", "cada 8 h", "T.S.H.", "TSH", "x" * 300]
KINDS = (PRESCRIPTION, LAB)

items = st.tuples(*[st.sampled_from(VALUES)] * 4, st.sampled_from(NAMES))


@st.composite
def documents(draw: st.DrawFn) -> tuple[list[Item], list[Item], bool, str | None]:
    """Labeled and predicted items, `parse_success` and `exception`."""
    labeled = draw(st.lists(items, min_size=1, max_size=4))
    changed = [draw(st.sampled_from([item, item, item, draw(items)])) for item in labeled]
    predicted = draw(st.sampled_from([labeled, changed, changed[1:], changed[::-1], [*changed, *labeled]]))
    return labeled, predicted, draw(st.sampled_from([True] * 9 + [False])), draw(st.sampled_from([None, "", " ", "x"]))


def records(kind: Kind, found: list[Item]) -> list[Any]:
    return [SimpleNamespace(**dict(zip((*kind.fields, kind.name), item, strict=True))) for item in found]


def label_record(kind: Kind, labeled: list[Item]) -> Any:
    return SimpleNamespace(**{kind.labeled: records(kind, labeled)})


def prediction(kind: Kind, predicted: list[Item], parsed: bool, exception: str | None) -> Any:
    return SimpleNamespace(
        **{kind.predicted: records(kind, predicted)}, parse_success=parsed, exception=exception
    )  # fmt: skip


def plain_mark(kind: Kind, fuzzy: float | None, labeled: list[Item], predicted: list[Item], record: Any) -> DocMark:
    """The mark by definition, with reports as tuples."""
    if not record.parse_success or (record.exception or "").strip():
        return nothing_right(len(labeled), "failed")
    names, others = [normalize(item[NAME]) for item in labeled], [normalize(item[NAME]) for item in predicted]
    tight_names, tight_others = [tight(item[NAME]) for item in labeled], [tight(item[NAME]) for item in predicted]

    def in_common(place: int, other: int) -> int:
        counted = [n for n in range(4) if kind.fields[n] != kind.optional or normalize(labeled[place][n])]
        return len(counted) - len(missed(labeled[place], predicted[other], counted))

    def missed(item: Item, found: Item, counted: list[int]) -> tuple[Any, ...]:
        return tuple(
            (kind.fields[n], difference(item[n], found[n]), item[n], found[n])
            for n in counted
            if not equal(item[n], found[n])
            and not (kind.fields[n] == "valor" and close(found[n], item[n], TOLERANCE))
        )  # fmt: skip

    pairs = equal_pairs = pair_rest(tight_names, tight_others, pair_exact(names, others, in_common), in_common)
    if fuzzy is not None:
        pairs = pair_fuzzy(names, others, fuzzy, equal_pairs)
    nearest = {i: (predicted[j][NAME], score) for i, j, score in near_misses(names, others, pairs)}
    reports: list[Any] = []
    correct = total = 0
    for number, (item, pair) in enumerate(zip(labeled, pairs, strict=True)):
        if pair is None:
            reports.append((number, (item[NAME], None, nearest.get(number), ())))
            continue
        found = predicted[pair]
        counted = [n for n in range(4) if kind.fields[n] != kind.optional or normalize(item[n])]
        misses = missed(item, found, counted)
        total += len(counted)
        correct += len(counted) - len(misses)
        if misses or item[NAME] != found[NAME]:
            reports.append((number, (item[NAME], found[NAME], None, misses)))
    matched = len(pairs) - pairs.count(None)
    succeeded = matched > 0 or any(item[NAME].strip() for item in predicted)
    not_compared = fuzzy is not None and too_many_to_compare(names, others, equal_pairs)
    counts = len(labeled), matched, correct, total, succeeded, len(predicted)
    return DocMark(*counts, tuple(reports), "compared", not_compared)


def with_plain_reports(mark: DocMark) -> DocMark:
    reports: Any = tuple(
        (number, (
            report.name, report.paired, report.nearest,
            tuple((miss.field, miss.difference, miss.expected, miss.got) for miss in report.misses),
        ))
        for number, report in mark.items
    )  # fmt: skip
    return DocMark(
        mark.labeled, mark.matched, mark.correct, mark.total, mark.succeeded, mark.predicted, reports, mark.state,
        mark.not_compared,
    )  # fmt: skip


@property_settings(200)
@given(
    found=st.lists(documents(), min_size=1, max_size=6), kind=st.sampled_from(KINDS), fuzzy=st.sampled_from([None, 85])
)
def test_marks_are_those_of_the_definition(found: list[Any], kind: Kind, fuzzy: float | None) -> None:
    """Documents that are compared one after another, twice, have the marks of the definition."""
    read = label_reader(kind)
    comparer = Comparer(kind, TOLERANCE, fuzzy)
    labels = [read(label_record(kind, labeled)) for labeled, *_ in found]
    rows = [prediction(kind, *rest) for _, *rest in found]
    wanted = [plain_mark(kind, fuzzy, each[0], each[1], row) for each, row in zip(found, rows, strict=True)]
    for _ in range(2):
        marks = comparer.measure_all(iter(labels), rows)
        assert list(map(with_plain_reports, marks)) == wanted
    sent = [pickle.loads(pickle.dumps(label)) for label in labels]  # noqa: S301  # our own
    assert list(map(with_plain_reports, map(comparer.measure, sent, rows))) == wanted


def documents_of(kind: Kind, found: list[Any]) -> Documents:
    """Documents whose ids are not in order; every third one has no record."""
    read = label_reader(kind)
    comparer = Comparer(kind, TOLERANCE, None)
    scorer = TRACK.scorer(TRACK.protocol, NO_OPTIONS, ())
    pair = next(each for each in scorer.pairs if each.truth == kind.labels)
    labels = [read(label_record(kind, labeled)) for labeled, *_ in found]
    keys: list[Any] = [f"D{number * 7 % 11}" for number in range(len(found))]
    pairing: Pairing = Pairing(pair, Expected.of(pair, ExpectedItems(keys, labels, ascending=False)))
    marks = list(comparer.measure_all(labels, [prediction(kind, *rest) for _, *rest in found]))
    numbers = [number for number in range(len(marks)) if number % 3 != 2]
    pairing.marks_of("").add(numbers, [marks[number] for number in numbers])
    return Documents.of(kind, pairing)


@property_settings(100)
@given(found=st.lists(documents(), min_size=1, max_size=8), kind=st.sampled_from(KINDS))
def test_rows_are_those_of_each_document(found: list[Any], kind: Kind) -> None:
    """Rows, accuracy and counts are the same as for documents one by one."""
    counted = documents_of(kind, found)
    figures = DocumentFigures(counted, TRACK.protocol)
    names = ("weight_name_recall", "weight_attribute_accuracy")
    if kind is LAB:
        names = ("weight_test_recall", "weight_lab_field_accuracy")
    scores = []
    assert counted.ids == sorted(counted.ids)
    for row, doc_id, (labeled, _), mark in zip(
        figures.rows(), counted.ids, counted.labels, counted.marks, strict=True
    ):  # fmt: skip
        recall = Fraction(mark.matched, len(labeled))
        accuracy = Fraction(mark.correct, mark.total) if mark.total else Fraction(0)
        scores.append(TRACK.protocol[names[0]] * recall + TRACK.protocol[names[1]] * accuracy)
        assert row == {
            "doc_id": doc_id, "doc_type": kind.doc_type, "score": rounded(scores[-1]), "recall": rounded(recall),
            "field_accuracy": rounded(accuracy), "matched": mark.matched, "labeled": len(labeled),
            "correct_fields": mark.correct, "total_fields": mark.total,
        }  # fmt: skip
        assert next(iter(row)) == "doc_id"
    assert figures.accuracy() == 100 * sum(scores, Fraction(0)) / len(scores)
    assert counted.count(is_processed) == sum(map(is_processed, counted.marks)) == len(found) - len(found) // 3
    wrong = sum(len(report.misses) + (report.paired is None) for mark in counted.marks for _, report in mark.items)
    others = sum(mark.state != "compared" for mark in counted.marks)
    assert sum(mode.count for mode in failure_modes([counted])) == wrong + others


@property_settings(100)
@given(scores=st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 9)), max_size=12))
def test_the_lowest_scores(scores: list[tuple[float, int]]) -> None:
    """The documents in the table are the first by score, type and id, for any order of the documents."""
    rows = [
        {"score": score, "doc_type": "lab" if key % 2 else "prescription", "doc_id": f"D{key}"} for score, key in scores
    ]  # fmt: skip
    assert lowest(rows, 4) == sorted(rows, key=lambda row: (row["score"], row["doc_type"], row["doc_id"]))[:4]
