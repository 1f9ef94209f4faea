"""Track `extraction`: prescriptions and laboratory results in Spanish, and the GO or NO-GO decision for a model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from medcontract.contracts.base import (
    Count,
    Date,
    Document,
    ListOf,
    NonNegative,
    Positive,
    RelativePath,
    Str,
    StrictModel,
    Text,
    Unit,
)  # fmt: skip
from medcontract.contracts.contract import Contract, StandIn
from medcontract.contracts.rules import (
    CalendarDate,
    Covers,
    EmptyWhenFailed,
    Excludes,
    ForbidPattern,
    Reference,
    Requires,
    Unique,
)
from medcontract.contracts.wrong_values import no_error_rule

DocType = Literal["prescription", "lab"]
LabelStatus = Literal["todo", "labeled", "needs_fix", "reviewed"]
Percent = Annotated[float, Field(ge=0, le=100)]


class ManifestRow(StrictModel):
    """One document of the set."""

    doc_id: Str
    """The id of the document; unique in the file."""
    doc_type: DocType
    """The kind of document."""
    image_path: RelativePath
    """Relative path of the image of the (first) page."""
    image_path_2: RelativePath | None = None
    """Relative path of the image of the second page."""
    source_set: Text | None = None
    """The data set that the document comes from."""
    split: Text | None = None
    """The part of the set that the document belongs to, such as "test"."""
    label_status: LabelStatus
    """State of the labels: to do, labeled, to be fixed, or labeled and reviewed."""
    annotator: Text | None = None
    """Who labeled the document."""
    reviewer: Text | None = None
    """Who reviewed the labels of the document."""
    pii_checked: Literal["yes", "no"]
    """Whether the document was checked for personal data."""
    notes: Text | None = None
    """Free text."""


class Manifest(Document):
    """All documents of a set, usually as a CSV file."""

    documents: ListOf[ManifestRow]
    """One record per document."""


class Medication(StrictModel):
    """A medication as printed."""

    dosis: Text
    """The dose, as text ("500 mg")."""
    frecuencia: Text
    """The frequency, as text ("cada 8 horas")."""
    duracion: Text
    """The duration of the treatment, as text ("7 días")."""
    instrucciones: Text
    """Other instructions, as text."""
    nombre_medicamento: Str
    """The name of the medication."""


class PredictedMedication(StrictModel):
    """A medication as a model read it. A field that is absent or null is an empty text."""

    dosis: Text | None = None
    """The dose, as text ("500 mg")."""
    frecuencia: Text | None = None
    """The frequency, as text ("cada 8 horas")."""
    duracion: Text | None = None
    """The duration of the treatment, as text ("7 días")."""
    instrucciones: Text | None = None
    """Other instructions, as text."""
    nombre_medicamento: Text | None = None
    """The name of the medication; an item with a blank name is not valid."""


class LabTest(StrictModel):
    """A laboratory result as printed; values stay strings ("6,00", "> 100", "1/640")."""

    valor: Text
    """The measured value, as printed."""
    unidad: Text
    """The unit of the value, as printed."""
    rango_referencia: Text
    """The reference range, as printed; may be empty."""
    estado: Text
    """The status, as printed: normal, alto, bajo, positivo, or other words that laboratories use."""
    nombre_prueba: Str
    """The name of the test."""


class PredictedLabTest(StrictModel):
    """A laboratory result as a model read it. A field that is absent or null is an empty text."""

    valor: Text | None = None
    """The measured value, as printed."""
    unidad: Text | None = None
    """The unit of the value, as printed."""
    rango_referencia: Text | None = None
    """The reference range, as printed; may be empty."""
    estado: Text | None = None
    """The status, as printed: normal, alto, bajo, positivo, or other words that laboratories use."""
    nombre_prueba: Text | None = None
    """The name of the test; an item with a blank name is not valid."""


class Labeled(StrictModel):
    """The fields that the labels of every document have."""

    doc_id: Str
    """The id of the document, as in the manifest."""
    image_path: RelativePath | None = None
    """Relative path of the image of the document."""
    image_paths: ListOf[RelativePath] | None = None
    """Relative paths of the images of the document, if it has several."""
    label_status: LabelStatus | None = None
    """State of the labels: to do, labeled, to be fixed, or labeled and reviewed."""
    annotator: Text | None = None
    """Who labeled the document."""
    reviewer: Text | None = None
    """Who reviewed the labels of the document."""
    notes: Text | None = None
    """Free text."""


class PrescriptionLabel(Labeled):
    """The labels of one prescription."""

    doc_type: Literal["prescription"]
    """The kind of document."""
    medications: Annotated[ListOf[Medication], Field(min_length=1)]
    """The medications, in the order of the document."""


class PrescriptionLabels(Document):
    """The labels of the prescriptions of a set."""

    documents: ListOf[PrescriptionLabel]
    """One record per document."""


class LabLabel(Labeled):
    """The labels of one laboratory report."""

    doc_type: Literal["lab"]
    """The kind of document."""
    results: Annotated[ListOf[LabTest], Field(min_length=1)]
    """The tests, in the order of the document."""


class LabLabels(Document):
    """The labels of the laboratory reports of a set."""

    documents: ListOf[LabLabel]
    """One record per document."""


class Read(StrictModel):
    """The fields that the prediction for every document has."""

    doc_id: Str
    """The id of the document, as in the labels."""
    parse_success: bool
    """Whether the answer of the model could be parsed."""
    exception: Text | None = None
    """The exception that ended the run; absent, null or blank: none."""
    raw_response: Text | None = None
    """The answer of the model, unchanged."""
    latency_sec: NonNegative | None = None
    """Processing time of the document, in seconds."""


class PrescriptionPrediction(Read):
    """What a model extracted from one prescription."""

    medicamentos: ListOf[PredictedMedication]
    """The medications, in the order of the document; may be empty."""


class PrescriptionPredictions(Document):
    """What a model extracted from the prescriptions of a set."""

    documents: ListOf[PrescriptionPrediction]
    """One record per document."""


class LabPrediction(Read):
    """What a model extracted from one laboratory report."""

    resultados: ListOf[PredictedLabTest]
    """The tests, in the order of the document; may be empty."""


class LabPredictions(Document):
    """What a model extracted from the laboratory reports of a set."""

    documents: ListOf[LabPrediction]
    """One record per document."""


class PipelineRun(StrictModel):
    """One run of the whole pipeline."""

    run_id: Str
    """The id of the run; unique in the file."""
    kind: Literal["evaluation", "reliability"]
    """The purpose of the run."""
    parse_success: bool
    """Whether the answer of the model could be parsed."""
    valid_items: Count
    """Number of extracted items whose name is not blank."""
    restarted: bool
    """Whether the pipeline was restarted manually before this run."""
    code_version: Str
    """The version of the code that ran."""
    exception: Text | None = None
    """The exception that ended the run; absent, null or blank: none."""
    doc_id: Str | None = None
    """The id of the document that was processed."""
    started_at: Date | None = None
    """Date, or date and time, of the start of the run."""
    latency_sec: NonNegative | None = None
    """Duration of the run, in seconds."""


class Runs(Document):
    """Runs of the whole pipeline."""

    runs: ListOf[PipelineRun]
    """One record per run."""


class OfflineRun(StrictModel):
    """A documented run without network access."""

    backend: Str
    """The backend that was used."""
    command: Str
    """The command that was executed."""
    hardware: Str
    """The hardware that it ran on."""
    latency_sec: Positive
    """Time for one full run, in seconds."""


class Proof(StrictModel):
    """A documented example of what the model does better."""

    doc_id: Str
    """The id of the document, as in the manifest."""
    kind: Literal["before_after", "measured"]
    """The kind of evidence."""
    evidence: Str
    """The evidence, as text."""
    interpretation: Str
    """Why the evidence matters."""


class Evidence(Document):
    """Runs without network access, and examples of what the model does better."""

    offline_runs: ListOf[OfflineRun]
    """One record per documented run; may be empty."""
    proofs: ListOf[Proof]
    """One record per documented example; may be empty."""


class DocumentScore(StrictModel):
    """The score of one document."""

    doc_id: Str
    """The id of the document."""
    doc_type: DocType
    """The kind of document."""
    score: NonNegative
    """The score of the document; at most 1 with the default protocol."""
    recall: Unit
    """Matched / labeled items, from 0 to 1."""
    field_accuracy: Unit
    """Correct fields / fields that count, of the matched items; from 0 to 1."""
    matched: Count
    """Number of labeled items that were matched with a predicted one."""
    labeled: Count
    """Number of labeled items."""
    correct_fields: Count
    """Number of correct fields of the matched items."""
    total_fields: Count
    """Number of fields that count, of the matched items."""


class Gate(StrictModel):
    """One gate of the decision."""

    gate: Literal[
        "prescription_accuracy", "lab_accuracy", "pipeline_success_rate", "reliability", "offline_evidence",
        "standout_proofs",
    ]  # fmt: skip
    """The name of the gate."""
    goal: NonNegative
    """The value that has to be reached."""
    measured: NonNegative | None
    """The measured value; null without input."""
    passed: bool | None
    """Whether the gate is passed; null when its input was not given."""
    reason: Str
    """A description of the result."""


class Decision(Document):
    """The decision, with the figures and gates that it is based on."""

    prescription_accuracy: NonNegative | None
    """100 × mean score of the labeled prescriptions; null without any."""
    lab_accuracy: NonNegative | None
    """100 × mean score of the labeled laboratory reports; null without any."""
    pipeline_success_rate: Percent | None
    """Share of the runs that succeeded, in percent; null without any."""
    documents: ListOf[DocumentScore]
    """Score of each document, sorted by kind, then id."""
    gates: Annotated[ListOf[Gate], Field(min_length=6, max_length=6)]
    """The six gates, in the order of the protocol."""
    decision: Literal["GO", "NO-GO"]
    """GO if all gates are passed, otherwise NO-GO."""


_AMBIGUOUS = r"^[1-9][0-9]{0,2}(?:[.,][0-9]{3})+$"


def _unique_doc(within: str = "documents") -> Unique:
    return Unique.of(within, "doc_id", "write one record per document")


def _ambiguous(items: str) -> ForbidPattern:
    return ForbidPattern(items=items, field="valor", pattern=_AMBIGUOUS, code="MC216", severity="warning",
                  message="'valor' is ambiguous: a thousands separator or decimals",
                  hint="keep it as printed; 100.000 is compared as 100 with three decimals")  # fmt: skip


def _no_items_if_failed(items: str) -> EmptyWhenFailed:
    return EmptyWhenFailed(field=items, flag="parse_success", text="exception", code="MC214", severity="warning",
                 message=f"'{items}' is not empty although the run failed",
                 hint="a run with 'exception' or without 'parse_success' counts as failed")  # fmt: skip


_REVIEWED = Requires(
    field="label_status", value="reviewed", requires="reviewer", code="MC215", severity="warning",
    message="'reviewed' without a 'reviewer'", hint="name the reviewer",
)  # fmt: skip


def _in_manifest() -> Reference:
    return Reference(other="extraction/manifest", field="doc_id", code="MC308", severity="warning",
                     message="this document is not in the manifest", hint="add it to the manifest")  # fmt: skip


def _match_labels(labels: str) -> tuple[Reference, Covers]:
    return (
        Reference(other=labels, field="doc_id", code="MC303", message="no document with this id is labeled",
                  hint="check case, spaces and leading zeros"),
        Covers(other=labels, field="doc_id", code="MC302", message="a labeled document has no record",
               hint="write a record with 'parse_success' false if it could not be read"),
    )  # fmt: skip


MANIFEST = Contract(
    id="extraction/manifest", model=Manifest, record=ManifestRow, list_key="documents", flat=True,
    source="docs/tracks/extraction.md", title="Documents of a set", rules=(_unique_doc(),), record_rules=(_REVIEWED,),
    stands_in_for=(
        StandIn("extraction/prescription-labels", (("doc_type", "prescription"),)),
        StandIn("extraction/lab-labels", (("doc_type", "lab"),)),
    ),
)  # fmt: skip
PRESCRIPTION_LABELS = Contract(
    id="extraction/prescription-labels", model=PrescriptionLabels, record=PrescriptionLabel, list_key="documents",
    source="docs/tracks/extraction.md", title="Labels of prescriptions", record_rules=(_REVIEWED,),
    rules=(_unique_doc(), _in_manifest()),
)  # fmt: skip
LAB_LABELS = Contract(
    id="extraction/lab-labels", model=LabLabels, record=LabLabel, list_key="documents",
    source="docs/tracks/extraction.md", title="Labels of laboratory reports",
    record_rules=(_REVIEWED, _ambiguous("results")),
    rules=(
        _unique_doc(), _in_manifest(),
        Excludes(other="extraction/prescription-labels", field="doc_id", code="MC310",
                 message="this document is also labeled as the other kind",
                 hint="keep the labels of one kind only"),
    ),
)  # fmt: skip
PRESCRIPTION_PREDICTIONS = Contract(
    id="extraction/prescription-predictions", model=PrescriptionPredictions, record=PrescriptionPrediction,
    list_key="documents", source="docs/tracks/extraction.md", title="Predictions for prescriptions",
    record_rules=(_no_items_if_failed("medicamentos"), no_error_rule("exception")),
    rules=(_unique_doc(), *_match_labels("extraction/prescription-labels")),
)  # fmt: skip
LAB_PREDICTIONS = Contract(
    id="extraction/lab-predictions", model=LabPredictions, record=LabPrediction, list_key="documents",
    source="docs/tracks/extraction.md", title="Predictions for laboratory reports",
    record_rules=(_no_items_if_failed("resultados"), _ambiguous("resultados"), no_error_rule("exception")),
    rules=(_unique_doc(), *_match_labels("extraction/lab-labels")),
)  # fmt: skip
RUNS = Contract(
    id="extraction/runs", model=Runs, record=PipelineRun, list_key="runs", flat=True,
    source="docs/tracks/extraction.md", title="Runs of the pipeline",
    record_rules=(CalendarDate.of("started_at"), no_error_rule("exception")),
    rules=(Unique.of("runs", "run_id", "write one record per run"),),
)  # fmt: skip
EVIDENCE = Contract(
    id="extraction/evidence", model=Evidence, source="docs/tracks/extraction.md", title="Offline runs and proofs",
    rules=(Reference(other="extraction/manifest", within="proofs", field="doc_id", code="MC309", severity="warning",
                     message="this document is not in the manifest, so the proof does not count",
                     hint="use a doc_id from the manifest"),),
)  # fmt: skip
DECISION = Contract(
    id="extraction/decision", model=Decision, source="docs/tracks/extraction.md", title="GO or NO-GO decision",
    output=True, result=True,
)  # fmt: skip

CONTRACTS = (
    DECISION, EVIDENCE, LAB_LABELS, LAB_PREDICTIONS, MANIFEST, PRESCRIPTION_LABELS, PRESCRIPTION_PREDICTIONS, RUNS,
)  # fmt: skip
