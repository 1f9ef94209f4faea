"""Track `extraction`: prescriptions and laboratory results in Spanish, six gates, GO or NO-GO."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from medcontract.contracts.string_patterns import BLANKS
from medcontract.normalizers import text
from medcontract.normalizers.names import look_alikes_sha256
from medcontract.problems import Path
from medcontract.results.score import FailureMode, ItemBreakdown
from medcontract.scoring.extraction.comparing import Comparer
from medcontract.scoring.extraction.decision import (
    NEEDED,
    AuxiliaryFiles,
    ManifestEntry,
    gates,
    manifest_entry_of,
    pipeline_success_rate,
    run_of,
    with_bounds,
)
from medcontract.scoring.extraction.documents import LAB, NAME, PRESCRIPTION, Kind, Label, failed, label_reader
from medcontract.scoring.extraction.explanations import breakdown, failure_modes, hints
from medcontract.scoring.extraction.figures import (
    DocumentFigures,
    Documents,
    failed_documents,
    is_processed,
    not_compared,
    remarks,
    unparsed,
)
from medcontract.scoring.extraction.protocol import FIGURES, PROTOCOL
from medcontract.scoring.extraction.tables import PROCESSING_GATE, tables
from medcontract.scoring.pairing import Pair, Pairing, Vocabulary
from medcontract.scoring.plausibility import Watch
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import exact_sum, mean, rounded, rounded_or_none
from medcontract.scoring.scorer import Answers, Finished, Limit, Notes, Remark, Scorer, ScoringOptions, Tally
from medcontract.scoring.track import Auxiliary, Comparison, ExpectedIds, Imitation, Option, Roles, Rows, Track

if TYPE_CHECKING:
    from medcontract.scoring.resampling import Samples
    from medcontract.uncertainty.figures import Resampling


def _doc_ids(manifest: Sequence[ManifestEntry]) -> frozenset[str]:
    return frozenset(row.doc_id for row in manifest)


def _labeled_names(label: Label) -> Iterator[str]:
    return (item[NAME] for item in label[0])


def _predicted_names(kind: Kind, record: Any) -> list[str]:
    named = [] if failed(record) else [getattr(item, kind.name) for item in getattr(record, kind.predicted)]
    return [name for name in named if name and name.strip(BLANKS)]


def _texts(kind: Kind, record: Any) -> Iterator[tuple[Path, str]]:
    """Yield the texts of the items of a record, with their paths."""
    for number, item in enumerate(getattr(record, kind.predicted)):
        for name in (kind.name, *kind.fields):
            if text := getattr(item, name):
                yield (kind.predicted, number, name), text


def _items(kind: Kind, record: Any) -> tuple[Path, Sequence[Any]]:
    return (kind.predicted,), getattr(record, kind.predicted)


def _any_items(kind: Kind, record: Any) -> Any:
    return getattr(record, kind.predicted) or None


def _equal_forms(name: str) -> tuple[str, str]:
    return text.normalize(name), text.tight(name)


def _names_of(kind: Kind) -> Vocabulary:
    return Vocabulary(
        name="medications" if kind is PRESCRIPTION else "tests", expected=_labeled_names,
        predicted=partial(_predicted_names, kind), forms=_equal_forms, required=True,
    )  # fmt: skip


def _documents(tally: Tally) -> list[Documents]:
    return [tally.data[kind.labels] for kind in (LAB, PRESCRIPTION) if kind.labels in tally.data]


class ExtractionScorer(Scorer):
    result_below_gate = True
    explains = True

    def __init__(self, protocol: Protocol, options: ScoringOptions, contracts: Collection[str]) -> None:
        super().__init__(protocol, options, contracts)
        fuzzy = protocol.word("match") == "fuzzy"
        threshold = float(protocol["fuzzy_threshold"]) if fuzzy else None
        comparers = [Comparer(kind, protocol["value_tolerance"], threshold) for kind in (PRESCRIPTION, LAB)]
        self.pairs = tuple(
            Pair(
                truth=each.kind.labels, submission=each.kind.predictions, key=("doc_id",), can_fail=False,
                item=label_reader(each.kind), measure=each.measure, measure_all=each.measure_all,
                vocabularies=() if fuzzy else (_names_of(each.kind),),  # fuzzy names need not be equal
                watch=Watch(
                    track="extraction", texts=partial(_texts, each.kind), items=partial(_items, each.kind),
                    columns={f"'{each.kind.predicted}'": partial(_any_items, each.kind)},
                ),
            )
            for each in comparers
        )  # fmt: skip

    def tally(self, answers: Answers) -> Tally:
        """Return the documents of each kind; the context are the auxiliary files."""
        pairings = {
            kind: answers.pairings[kind.labels] for kind in (LAB, PRESCRIPTION) if kind.labels in answers.pairings
        }
        documents = [Documents.of(kind, pairing) for kind, pairing in pairings.items() if pairing.expected.total]
        return Tally(
            expected=sum(len(each.ids) for each in documents),
            processed={"": sum(each.count(is_processed) for each in documents)},
            data={each.kind.labels: each for each in documents},
            context=AuxiliaryFiles.of(answers.documents),
        )

    def notes(self, tally: Tally) -> Notes:
        documents, files = _documents(tally), tally.context
        warnings = (*unparsed(documents), *not_compared(documents), *(message for _, message in files.warnings()))
        return Notes(warnings=warnings, remarks=tuple(remarks(documents)))

    def figures(self, tally: Tally) -> Finished:
        protocol, files = self.protocol, tally.context
        figures = {each.kind: DocumentFigures(each, protocol) for each in _documents(tally)}
        prescriptions, labs = (figures[kind].accuracy() if kind in figures else None for kind in (PRESCRIPTION, LAB))
        succeeded = sum(each.count(attrgetter("succeeded")) for each in _documents(tally))
        pipeline = pipeline_success_rate(files, succeeded, tally.expected)
        six = gates(files, prescriptions, labs, pipeline, protocol)
        enough = Fraction(tally.processed[""], tally.expected) >= protocol["min_processed"]
        go = enough and all(gate.passed for gate in six)
        result = {
            "prescription_accuracy": rounded_or_none(prescriptions),
            "lab_accuracy": rounded_or_none(labs),
            "pipeline_success_rate": rounded_or_none(pipeline),
            "documents": list(chain.from_iterable(each.rows() for each in figures.values())),
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
        known = [accuracy for accuracy in (prescriptions, labs) if accuracy is not None]
        return Finished(
            result=result, headline=mean(known) if known else None, decision=str(result["decision"]),
            gates=((PROCESSING_GATE, enough), *((gate.name, gate.passed) for gate in six)),
        )  # fmt: skip

    def resampled(self, answers: Answers, samples: Samples, result: Mapping[str, Any]) -> Resampling:
        from medcontract.scoring.extraction.resampled import resampled

        return resampled(answers, samples, result, self.protocol)

    def judged(self, finished: Finished, intervals: Mapping[str, tuple[float, float] | None]) -> Finished:
        """Say which goals are inside the interval, or require that the lower bound reaches the goal (`gates_on`)."""
        on_bound = self.protocol.word("gates_on") == "bound"
        result = finished.result or {}
        places = [f"/gates/{number}/measured" for number in range(len(result["gates"]))]
        rows = [
            with_bounds(row, intervals[place], on_bound) if place in intervals else row
            for place, row in zip(places, result["gates"], strict=True)
        ]
        (processing, enough), *_ = finished.gates
        decision = "GO" if enough and all(row["passed"] for row in rows) else "NO-GO"
        return replace(
            finished, result={**result, "gates": rows, "decision": decision}, decision=decision,
            gates=((processing, enough), *((row["gate"], row["passed"]) for row in rows)),
        )  # fmt: skip

    def limits(
        self, pairings: Mapping[str, Pairing], documents: Mapping[str, Any], result: Mapping[str, Any] | None
    ) -> Iterator[Limit]:
        """Yield the gates; without a result only gates that do not need labels."""
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

    def probe(self, record: Any) -> bool:
        return failed(record)

    def remarks(self, pairings: Mapping[str, Pairing], documents: Mapping[str, Any]) -> Iterator[Remark]:
        for contract, message in AuxiliaryFiles.of(documents).warnings():
            yield Remark(contract=contract, message=message)
        for kind in (LAB, PRESCRIPTION):
            if kind.labels in pairings:
                runs = pairings[kind.labels].marks_by_run.values()
                probes = [probe for marks in runs for probe in marks.values() if type(probe) is bool]
                yield from failed_documents(kind, sum(probes), len(probes))

    def remediation(self, tally: Tally) -> list[FailureMode]:
        return failure_modes(_documents(tally))

    def breakdown(self, tally: Tally) -> list[ItemBreakdown]:
        return [explanation for each in _documents(tally) for explanation in breakdown(each)]

    def hints(self, tally: Tally) -> Iterator[str]:
        yield from hints(_documents(tally))


def _is_of(doc_type: str, record: Any) -> bool:
    """Return whether a document of the manifest has this type."""
    return bool(record.doc_type == doc_type)


def _mean_accuracy(result: Mapping[str, Any]) -> float | None:
    """Return the headline figure, from the two accuracies in a result."""
    found = [result.get(name) for name in ("prescription_accuracy", "lab_accuracy")]
    known = [value for value in found if isinstance(value, float | int)]
    return rounded(exact_sum(map(float, known)) / len(known)) if known else None


def _complete(protocol: Protocol, options: ScoringOptions) -> Protocol:
    """With fuzzy names, the list of look-alikes is part of the protocol."""
    if protocol.word("match") == "fuzzy":
        return protocol.following("look_alikes", look_alikes_sha256())
    return protocol


def _for_participants(result: dict[str, Any], headline: float | None) -> dict[str, Any]:
    return {**{name: value for name, value in result.items() if name != "documents"}, "mean_accuracy": headline}


def _right_answers(labels: str, answers: str, records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{answers: record[labels]} for record in records]


def _imitation(kind: Kind, labels: str, answers: str) -> Imitation:
    return Imitation(
        truth=kind.labels, submission=kind.predictions, answers=partial(_right_answers, labels, answers), header={},
        fixed=lambda record: {"parse_success": True},
        failed={"parse_success": False, "exception": "no answer", answers: []},
    )  # fmt: skip


TRACK = Track(
    id="extraction",
    roles=Roles(
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
    ),
    protocol=PROTOCOL,
    figures=FIGURES,
    headline="mean_accuracy",
    imitations=(_imitation(PRESCRIPTION, "medications", "medicamentos"), _imitation(LAB, "results", "resultados")),
    scorer=ExtractionScorer,
    options=(Option(name="match", choices=("exact", "fuzzy"), parameter=True, help="How names are paired."),),
    comparison=Comparison(
        rows=(
            Rows(name="documents", id="doc_id", also="doc_type", decides="score"),
            Rows(name="gates", id="gate", decides="measured", state="passed", judged=True),
        ),
        headline=_mean_accuracy,
    ),
    complete=_complete,
    tables=tables,
    for_participants=_for_participants,
)
