"""Track `extraction`: prescriptions and laboratory results in Spanish, six gates, GO or NO-GO."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import repeat
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from medcontract.contracts.rules.collection import is_ascending
from medcontract.contracts.string_patterns import BLANKS
from medcontract.normalizers import names, text
from medcontract.normalizers.names import look_alikes_sha256
from medcontract.normalizers.text import normalize
from medcontract.problems import shorten
from medcontract.results.score import FailureMode, FieldDifference, ItemBreakdown, Score
from medcontract.results.tables import Table
from medcontract.scoring.comparison import Comparison, Rows
from medcontract.scoring.extraction.decision import (
    NEEDED,
    AuxiliaryFiles,
    ManifestEntry,
    gates,
    manifest_entry_of,
    pipeline_success_rate,
    run_of,
)
from medcontract.scoring.extraction.documents import (
    FAILED,
    LAB,
    NAME,
    PRESCRIPTION,
    DocMark,
    FieldMiss,
    ItemReport,
    Kind,
    Label,
    Options,
    failed,
    label_of,
    measure,
    miss_finder,
)
from medcontract.scoring.extraction.tables import PROCESSING_GATE, tables
from medcontract.scoring.pairing import Pair, Pairing, Vocabulary, marks
from medcontract.scoring.protocol import MIN_PROCESSED, Change, Parameter, Protocol, parameters, version_parameter
from medcontract.scoring.rational import ZERO, exact_sum, mean, rounded, rounded_or_none
from medcontract.scoring.scorer import Answers, Counts, Finished, Limit, Remark, Scorer, ScoringOptions
from medcontract.scoring.track import Auxiliary, ExpectedIds, Figure, Option, Roles, Track

_MOST_HINTS = 5
_MOST_NAMED = 20
"""Documents without a valid record that a hint lists."""
PROTOCOL = Protocol(
    id="extraction",
    version=2,
    changes=(
        Change(1, "first version"),
        Change(
            2, "the source ignores differences of punctuation only, so texts are also equal if their tight forms are "
            "(T.S.H. and TSH), and names are paired by them in a second pass; reliability runs are sorted by start "
            "time also if none has an offset, and a date is its midnight; a Greek capital mu before a Latin letter is "
            "a micro sign",
        ),
    ),
    parameters=(
        MIN_PROCESSED,
        *parameters(
            "extraction.md, Prescription accuracy metric",
            weight_name_recall=("0.70", "share of name_recall in a prescription's score"),
            weight_attribute_accuracy=("0.30", "share of attribute_accuracy in a prescription's score"),
            goal_prescription_accuracy=("85", "minimum prescription_accuracy for GO", {"high": 100}),
        ),
        *parameters(
            "extraction.md, Lab extraction accuracy metric",
            weight_test_recall=("0.60", "share of test_recall in a laboratory report's score"),
            weight_lab_field_accuracy=("0.40", "share of lab_field_accuracy in a laboratory report's score"),
            value_tolerance=("0.02", "tolerance of a number, as a share of the label", {"high": 1}),
            goal_lab_accuracy=("75", "minimum lab_accuracy for GO", {"high": 100}),
        ),
        *parameters(
            "extraction.md, gates",
            goal_pipeline_success_rate=("90", "minimum pipeline_success_rate for GO", {"high": 100}),
            goal_reliability=("5", "successes among the last five reliability runs: all of them", {"fixed": True}),
            goal_offline_evidence=("1", "minimum number of offline runs"),
            goal_standout_proofs=("2", "minimum number of proofs about documents of the manifest"),
        ),
        version_parameter("normalization", text.VERSION, "version of text normalization", "SCORING.md, Normalization"),
        version_parameter("pairing", names.VERSION, "version of the pairing of names", "SCORING.md, Normalization"),
        Parameter(
            name="match", value="exact", about="how names are paired: exact or fuzzy (--match)",
            source="SCORING.md, Fuzzy names", choices=("exact", "fuzzy"),
        ),
        *parameters(
            "SCORING.md, Fuzzy names", fuzzy_threshold=("90", "minimum token_sort_ratio of a fuzzy pair", {"high": 100})
        ),
        Parameter(
            name="look_alikes", value=None, about="SHA-256 of the list of look-alike drugs, for fuzzy names",
            source="built-in list", fixed=True,
        ),
    ),
)  # fmt: skip

_RATE: dict[str, Any] = {"high": 100, "unit": "%"}
_FIGURES = (
    Figure(
        name="prescription_accuracy", about="mean over labeled prescriptions of weight_name_recall·name_recall + "
        "weight_attribute_accuracy·attribute_accuracy, times 100", perfect=100, leaving_out="never helps", **_RATE,
    ),
    Figure(
        name="lab_accuracy", about="mean over labeled laboratory reports of weight_test_recall·test_recall + "
        "weight_lab_field_accuracy·lab_field_accuracy, times 100", perfect=100, leaving_out="never helps", **_RATE,
    ),
    Figure(
        name="pipeline_success_rate", about="successes / evaluation runs · 100; without such runs, over the labeled "
        "documents", **_RATE,
    ),
    Figure(
        name="mean_accuracy", about="mean of prescription_accuracy and lab_accuracy; submissions are ranked by it",
        perfect=100, leaving_out="never helps", **_RATE,
    ),
    Figure(name="score", about="score of one document", perfect=1, by="document"),
    Figure(name="recall", about="paired / labeled items of a document", perfect=1, by="document"),
    Figure(
        name="field_accuracy", about="correct / counted fields of the pairs; 0 without any", perfect=1, by="document"
    ),
    Figure(name="matched", about="labeled items that were paired", high=None, by="document"),
    Figure(name="labeled", about="labeled items", high=None, by="document"),
    Figure(name="correct_fields", about="correct fields of the pairs", high=None, by="document"),
    Figure(name="total_fields", about="fields of the pairs that count", high=None, by="document"),
    Figure(name="goal", about="the value that a gate requires", high=None),
    Figure(name="measured", about="the measured value; null without input", high=None),
)  # fmt: skip


def _doc_ids(manifest: Sequence[ManifestEntry]) -> frozenset[str]:
    return frozenset(row.doc_id for row in manifest)


def _labeled_names(label: Label) -> Iterator[str]:
    return (item[NAME] for item in label.items)


def _predicted_names(kind: Kind, record: Any) -> list[str]:
    named = [] if failed(record) else [getattr(item, kind.name) for item in getattr(record, kind.predicted)]
    return [name for name in named if name.strip(BLANKS)]


def _equal_forms(name: str) -> tuple[str, str]:
    return text.normalize(name), text.tight(name)


def _names_of(kind: Kind) -> Vocabulary:
    return Vocabulary(
        name="medications" if kind is PRESCRIPTION else "tests", expected=_labeled_names,
        predicted=partial(_predicted_names, kind), forms=_equal_forms, required=True,
    )  # fmt: skip


class _Document(Struct, frozen=True, gc=False):
    doc_type: str
    label: Label
    mark: DocMark | None


class _Data(Struct, kw_only=True):
    documents: list[_Document]
    files: AuxiliaryFiles


class ExtractionScorer(Scorer):
    result_below_gate = True
    explains = True

    def __init__(self, protocol: Protocol, options: ScoringOptions, contracts: Collection[str]) -> None:
        super().__init__(protocol, options, contracts)
        fuzzy = protocol.word("match") == "fuzzy"
        comparing = Options(
            miss_finder(protocol["value_tolerance"]), float(protocol["fuzzy_threshold"]) if fuzzy else None
        )
        self.pairs = tuple(
            Pair(
                truth=kind.labels, submission=kind.predictions, key=("doc_id",), can_fail=False,
                item=partial(label_of, kind), measure=partial(measure, kind, comparing),
                vocabularies=() if fuzzy else (_names_of(kind),),  # fuzzy names need not be equal
            )
            for kind in (PRESCRIPTION, LAB)
        )  # fmt: skip

    def count(self, answers: Answers) -> Counts:
        documents: list[_Document] = []
        for kind in (LAB, PRESCRIPTION):
            pairing = answers.pairings.get(kind.labels)
            if pairing is None:
                continue
            expected = pairing.expected
            found = list(map(_Document, repeat(kind.doc_type), expected.items, marks(pairing, "")))
            if not is_ascending(expected.keys):
                found.sort(key=attrgetter("label.doc_id"))
            documents += found
        counted = sum(document.mark is not None for document in documents)
        files = AuxiliaryFiles.of(answers.documents)
        return Counts(
            expected=len(documents), processed={"": counted}, data=_Data(documents=documents, files=files),
            warnings=(*_not_compared(documents), *(message for _, message in files.warnings())),
            about_truth=tuple(_extra_items(documents)),
        )  # fmt: skip

    def finish(self, counts: Counts) -> Finished:
        data: _Data = counts.data
        protocol = self.protocol
        counted = list(map(_counts, data.documents))
        times = Counter(counted)
        figures = {counts: _figures(protocol, *counts) for counts in times}
        rows = [
            {"doc_id": document.label.doc_id, **figures[counts].row}
            for document, counts in zip(data.documents, counted, strict=True)
        ]
        accuracies = {kind.doc_type: _accuracy(kind.doc_type, times, figures) for kind in (PRESCRIPTION, LAB)}
        succeeded = (document.mark is not None and document.mark.succeeded for document in data.documents)
        pipeline = pipeline_success_rate(data.files, succeeded)
        six = gates(data.files, accuracies[PRESCRIPTION.doc_type], accuracies[LAB.doc_type], pipeline, protocol)
        enough = Fraction(counts.processed[""], counts.expected) >= protocol["min_processed"]
        go = enough and all(gate.passed for gate in six)
        result = {
            "prescription_accuracy": rounded_or_none(accuracies[PRESCRIPTION.doc_type]),
            "lab_accuracy": rounded_or_none(accuracies[LAB.doc_type]),
            "pipeline_success_rate": rounded_or_none(pipeline),
            "documents": rows,
            "gates": [
                {
                    "gate": gate.name,
                    "goal": rounded(gate.goal),
                    "measured": rounded_or_none(gate.measured),
                    "passed": gate.passed,
                    "reason": gate.reason,
                }
                for gate in six
            ],
            "decision": "GO" if go else "NO-GO",
        }
        known = [accuracy for accuracy in accuracies.values() if accuracy is not None]
        return Finished(
            result=result, headline=mean(known) if known else None, decision=str(result["decision"]),
            gates=((PROCESSING_GATE, enough), *((gate.name, gate.passed) for gate in six)),
        )  # fmt: skip

    def limits(
        self,
        pairings: Mapping[str, Pairing[Any, Any]],
        documents: Mapping[str, Any],
        result: Mapping[str, Any] | None,
    ) -> Iterator[Limit]:
        """The gates; without a result only those that do not need labels."""
        files = AuxiliaryFiles.of(documents)
        found = gates(files, None, None, pipeline_success_rate(files), self.protocol)
        rows = [(gate.name, gate.goal, gate.passed, gate.reason) for gate in found]
        if result is not None:
            rows = [(gate["gate"], gate["goal"], gate["passed"], gate["reason"]) for gate in result["gates"]]
        for name, goal, passed, reason in rows:
            contract, needs = NEEDED[name]
            yield Limit(
                id=name, title=f"Gate {name}: at least {float(goal):g}", contract=contract, passed=passed,
                detail=f"needs {needs}" if passed is None else reason,
                failure=("a gate is not passed", "the decision is NO-GO"),
            )  # fmt: skip

    def remarks(self, pairings: Mapping[str, Pairing[Any, Any]], documents: Mapping[str, Any]) -> Iterator[Remark]:
        for contract, message in AuxiliaryFiles.of(documents).warnings():
            yield Remark(contract=contract, message=message)

    def remediation(self, counts: Counts) -> list[FailureMode]:
        return failure_modes(counts)

    def breakdown(self, counts: Counts) -> list[ItemBreakdown]:
        data: _Data = counts.data
        return [explanation for document in data.documents for explanation in _explained(document)]

    def hints(self, counts: Counts) -> Iterator[str]:
        """Documents without a valid record, and the most frequent unmatched names that have a similar prediction."""
        data: _Data = counts.data
        yield from _without_record(data.documents)
        found: Counter[tuple[str, str, float]] = Counter()
        for document in data.documents:
            for item in document.mark.items if document.mark else ():
                if item.nearest:
                    found[(item.name, *item.nearest)] += 1
        ordered = sorted(found.items(), key=lambda row: (-row[1], row[0]))
        for (name, nearest, score), times in ordered[:_MOST_HINTS]:
            often = f" ({times:,} times)" if times > 1 else ""
            yield f"{shorten(name)!r} was not matched; most similar prediction {shorten(nearest)!r}, {score:.0f}{often}"
        if len(ordered) > _MOST_HINTS:
            yield f"{len(ordered) - _MOST_HINTS:,} more unmatched names have a similar prediction: see --breakdown"


def _without_record(documents: Sequence[_Document]) -> Iterator[str]:
    """The ids of documents without a valid record; ids are values, so this is only a hint."""
    missing = [document.label.doc_id for document in documents if document.mark is None]
    if missing:
        more = f", and {len(missing) - _MOST_NAMED:,} more" if len(missing) > _MOST_NAMED else ""
        yield f"documents without a valid record: {', '.join(map(shorten, missing[:_MOST_NAMED]))}{more}"


def _is_of(doc_type: str, record: Any) -> bool:
    """Whether a document of the manifest has this type."""
    return bool(record.doc_type == doc_type)


def _mean_accuracy(result: Mapping[str, Any]) -> float | None:
    """The headline figure, from the two accuracies in a result."""
    found = [result.get(name) for name in ("prescription_accuracy", "lab_accuracy")]
    known = [value for value in found if isinstance(value, float | int)]
    return rounded(exact_sum(map(float, known)) / len(known)) if known else None


class Extraction(Track):
    id = "extraction"
    roles = Roles(
        truths=(PRESCRIPTION.labels, LAB.labels),
        submissions=(PRESCRIPTION.predictions, LAB.predictions),
        result="extraction/decision",
        auxiliary=(
            Auxiliary(
                contract="extraction/manifest",
                about="competition",
                keep=manifest_entry_of,
                ids=_doc_ids,
                id_field="doc_id",
            ),
            Auxiliary(contract="extraction/runs", about="submission", keep=run_of),
            Auxiliary(contract="extraction/evidence", about="submission"),
        ),
        expected_ids=tuple(
            ExpectedIds(contract="extraction/manifest", truth=kind.labels, only=partial(_is_of, kind.doc_type))
            for kind in (PRESCRIPTION, LAB)
        ),
    )
    protocol = PROTOCOL
    figures = _FIGURES
    headline = "mean_accuracy"
    scorer = ExtractionScorer

    options = (Option(name="match", choices=("exact", "fuzzy"), parameter=True, help="How names are paired."),)
    comparison = Comparison(
        rows=(
            Rows(name="documents", id="doc_id", also="doc_type", decides="score"),
            Rows(name="gates", id="gate", decides="measured", state="passed", judged=True),
        ),
        headline=_mean_accuracy,
    )

    def completed(self, protocol: Protocol, options: ScoringOptions) -> Protocol:
        """With fuzzy names, the list of look-alikes is part of the protocol."""
        if protocol.word("match") == "fuzzy":
            return protocol.following("look_alikes", look_alikes_sha256())
        return protocol

    def tables(self, score: Score) -> Iterator[Table]:
        return tables(score)

    def for_participants(self, result: dict[str, Any], headline: float | None) -> dict[str, Any]:
        return {**{name: value for name, value in result.items() if name != "documents"}, self.headline: headline}


_MANY_EXTRA = 2
"""More predicted items than this many times the labeled ones give a warning."""


def _extra_items(documents: Sequence[_Document]) -> Iterator[str]:
    """Predicting every possible name finds all labeled ones, because no figure counts extra items."""
    predicted = sum(document.mark.predicted for document in documents if document.mark)
    labeled = sum(len(document.label.items) for document in documents if document.mark)
    if predicted > _MANY_EXTRA * labeled:
        yield f"{predicted:,} items are predicted, but only {labeled:,} are labeled: recall does not count extra items"


def _not_compared(documents: Sequence[_Document]) -> Iterator[str]:
    count = sum(document.mark is not None and document.mark.not_compared for document in documents)
    if count:
        where = "1 document has" if count == 1 else f"{count:,} documents have"
        yield f"{where} too many names to compare: only equal names were paired there"


_DocumentCounts = tuple[str, int, int, int, int]
"""What the figures of a document depend on: its type, matched and labeled items, correct and total fields."""


def _counts(document: _Document) -> _DocumentCounts:
    mark = document.mark or FAILED
    return document.doc_type, mark.matched, len(document.label.items), mark.correct, mark.total


class _Figures(NamedTuple):
    """The figures of all documents with the same counts."""

    exact: Fraction
    """The score."""
    row: dict[str, Any]
    """The row of such a document in the result, without its id."""


def _figures(protocol: Protocol, doc_type: str, matched: int, labeled: int, correct: int, total: int) -> _Figures:
    recall = Fraction(matched, labeled)
    accuracy = Fraction(correct, total) if total else ZERO
    first, second = (
        ("weight_name_recall", "weight_attribute_accuracy")
        if doc_type == PRESCRIPTION.doc_type
        else ("weight_test_recall", "weight_lab_field_accuracy")
    )
    score = protocol[first] * recall + protocol[second] * accuracy
    row = {
        "doc_type": doc_type,
        "score": rounded(score),
        "recall": rounded(recall),
        "field_accuracy": rounded(accuracy),
        "matched": matched,
        "labeled": labeled,
        "correct_fields": correct,
        "total_fields": total,
    }
    return _Figures(score, row)


def _accuracy(
    doc_type: str, times: Mapping[_DocumentCounts, int], figures: Mapping[_DocumentCounts, _Figures]
) -> Fraction | None:
    """The mean of the exact scores of all documents of a type, times 100."""
    same = {counts: number for counts, number in times.items() if counts[0] == doc_type}
    total = sum((figures[counts].exact * number for counts, number in same.items()), ZERO)
    return 100 * total / sum(same.values()) if same else None


def _explained(document: _Document) -> Iterator[ItemBreakdown]:
    """The result for each item of a document."""
    mark = document.mark
    reports = {report.number: report for report in mark.items} if mark else {}
    for number, item in enumerate(document.label.items):
        name = item[NAME]
        report = reports.get(number) or ItemReport(number, name, name, None, ())
        state: Any = "right"
        if mark is None or mark.failed:
            report = replace(report, paired=None)
            state = "no valid record" if mark is None else "document failed"
        elif report.paired is None or report.misses:
            state = "not matched" if report.paired is None else "wrong fields"
        nearest_name, nearest = report.nearest or (None, None)
        yield ItemBreakdown(
            doc_type=document.doc_type, doc_id=document.label.doc_id, item=number, state=state, name=name,
            paired_name=report.paired, nearest=nearest, nearest_name=nearest_name,
            fields=tuple(map(_difference, report.misses)),
        )  # fmt: skip


def _difference(miss: FieldMiss) -> FieldDifference:
    return FieldDifference(
        field=miss.field, difference=miss.difference, expected=miss.expected, got=miss.got,
        expected_normalized=normalize(miss.expected), got_normalized=normalize(miss.got),
    )  # fmt: skip


def failure_modes(counts: Counts) -> list[FailureMode]:
    """How often each field was wrong in each way, the most frequent first."""
    found: Counter[tuple[str, str]] = Counter()
    data: _Data = counts.data
    for document in data.documents:
        if document.mark is None or document.mark.failed:
            what = "no valid record" if document.mark is None else "not parsed, or exception"
            found[f"{document.doc_type} document", what] += 1
            continue
        name = PRESCRIPTION.name if document.doc_type == PRESCRIPTION.doc_type else LAB.name
        for item in document.mark.items:
            if item.paired is None:
                found[name, "not matched, similar name predicted" if item.nearest else "not matched"] += 1
            for miss in item.misses:
                found[miss.field, miss.difference] += 1
    ordered = sorted(found.items(), key=lambda row: (-row[1], row[0]))
    return [FailureMode(field=field, difference=difference, count=times) for (field, difference), times in ordered]


TRACK = Extraction()
