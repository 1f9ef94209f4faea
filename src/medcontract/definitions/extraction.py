"""Track `extraction`: prescriptions and laboratory results in Spanish, and the decision to go on with a model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from medcontract.definitions.base import (
    Count,
    Date,
    Document,
    Many,
    NonNegative,
    Positive,
    RelativePath,
    Str,
    Strictest,
    Text,
    Unit,
)  # fmt: skip
from medcontract.definitions.contract import Contract
from medcontract.definitions.rules import Apart, Covers, Empty, Exists, Reference, Requires, Unique, Unlike

DocType = Literal["prescription", "lab"]
LabelStatus = Literal["todo", "labeled", "reviewed"]
Percent = Annotated[float, Field(ge=0, le=100)]


class ManifestRow(Strictest):
    """One document of the set."""

    doc_id: Str
    """Unique in the file."""
    doc_type: DocType
    """What kind of document it is."""
    image_path: RelativePath
    """The image of its (first) page."""
    image_path_2: RelativePath | None = None
    """The image of its second page."""
    source_set: Text | None = None
    """The collection that it comes from."""
    split: Text | None = None
    """The part of the set that it belongs to."""
    label_status: LabelStatus
    """How far its labels are."""
    annotator: Text | None = None
    """Who labeled it."""
    reviewer: Text | None = None
    """Who reviewed the labels."""
    pii_checked: Literal["yes", "no"]
    """Whether somebody looked for personal data."""
    notes: Text | None = None
    """Anything else."""


class Manifest(Document):
    """All documents of a set. Usually a CSV."""

    documents: Many[ManifestRow]
    """One record a document."""


class MedicationFields(Strictest):
    """What is printed beside a medication's name."""

    dosis: Text
    """Dose."""
    frecuencia: Text
    """How often."""
    duracion: Text
    """How long."""
    instrucciones: Text
    """Instructions."""


class Medication(MedicationFields):
    """A medication as printed."""

    nombre_medicamento: Str
    """Its name."""


class PredictedMedication(MedicationFields):
    """A medication as a model read it."""

    nombre_medicamento: Text
    """Its name; blank: not a valid item."""


class LabTestFields(Strictest):
    """What is printed beside a test's name; values stay strings ("6,00", "> 100", "1/640")."""

    valor: Text
    """The value."""
    unidad: Text
    """The unit."""
    rango_referencia: Text
    """The reference range; may be empty."""
    estado: Text
    """normal, alto, bajo, positivo and whatever else laboratories write."""


class LabTest(LabTestFields):
    """A laboratory result as printed."""

    nombre_prueba: Str
    """Its name."""


class PredictedLabTest(LabTestFields):
    """A laboratory result as a model read it."""

    nombre_prueba: Text
    """Its name; blank: not a valid item."""


class Labeled(Strictest):
    """What the labels of all documents have."""

    doc_id: Str
    """The document's id in the manifest."""
    image_path: RelativePath | None = None
    """Its image."""
    image_paths: Many[RelativePath] | None = None
    """Its images, if there are several."""
    label_status: LabelStatus | None = None
    """How far the labels are."""
    annotator: Text | None = None
    """Who labeled it."""
    reviewer: Text | None = None
    """Who reviewed it."""
    notes: Text | None = None
    """Anything else."""


class PrescriptionLabel(Labeled):
    """What a prescription says."""

    doc_type: Literal["prescription"]
    """The kind of document."""
    medications: Annotated[Many[Medication], Field(min_length=1)]
    """In the order of the document."""


class PrescriptionLabels(Document):
    """The labels of prescriptions."""

    documents: Many[PrescriptionLabel]
    """One record a document."""


class LabLabel(Labeled):
    """What a laboratory report says."""

    doc_type: Literal["lab"]
    """The kind of document."""
    results: Annotated[Many[LabTest], Field(min_length=1)]
    """In the order of the document."""


class LabLabels(Document):
    """The labels of laboratory reports."""

    documents: Many[LabLabel]
    """One record a document."""


class Read(Strictest):
    """What predictions for all documents have."""

    doc_id: Str
    """The document's id in the labels."""
    parse_success: bool
    """Whether the model's answer could be parsed."""
    exception: Text | None = None
    """What the run died of; absent, null or blank: nothing."""
    raw_response: Text | None = None
    """The model's answer as it came."""
    latency_sec: NonNegative | None = None
    """How long it took, in seconds."""


class PrescriptionPrediction(Read):
    """What a model read in a prescription."""

    medicamentos: Many[PredictedMedication]
    """In the order of the document; may be empty."""


class PrescriptionPredictions(Document):
    """Predictions for prescriptions."""

    documents: Many[PrescriptionPrediction]
    """One record a document."""


class LabPrediction(Read):
    """What a model read in a laboratory report."""

    resultados: Many[PredictedLabTest]
    """In the order of the document; may be empty."""


class LabPredictions(Document):
    """Predictions for laboratory reports."""

    documents: Many[LabPrediction]
    """One record a document."""


class PipelineRun(Strictest):
    """One run of the whole pipeline."""

    run_id: Str
    """Unique in the file."""
    kind: Literal["evaluation", "reliability"]
    """What the run was for."""
    parse_success: bool
    """Whether the model's answer could be parsed."""
    valid_items: Count
    """Items whose name is not blank."""
    restarted: bool
    """Whether someone restarted by hand before this run."""
    code_version: Str
    """The version of the code that ran."""
    exception: Text | None = None
    """What the run died of; absent, null or blank: nothing."""
    doc_id: Str | None = None
    """The document that was read."""
    started_at: Date | None = None
    """When it began."""
    latency_sec: NonNegative | None = None
    """How long it took, in seconds."""


class Runs(Document):
    """Runs of the whole pipeline."""

    runs: Many[PipelineRun]
    """One record a run."""


class OfflineRun(Strictest):
    """A documented run without network."""

    backend: Str
    """The backend that was used."""
    command: Str
    """The command that was executed."""
    hardware: Str
    """What it ran on."""
    latency_sec: Positive
    """Time for one full run, in seconds."""


class Proof(Strictest):
    """A documented proof of what the model does better."""

    doc_id: Str
    """The document's id in the manifest."""
    kind: Literal["before_after", "measured"]
    """What sort of evidence it is."""
    evidence: Str
    """The evidence."""
    interpretation: Str
    """Why it matters."""


class Evidence(Document):
    """Offline runs and proofs."""

    offline_runs: Many[OfflineRun]
    """May be empty."""
    proofs: Many[Proof]
    """May be empty."""


class DocumentScore(Strictest):
    """The score of one document."""

    doc_id: Str
    """The document."""
    doc_type: DocType
    """What kind of document it is."""
    score: NonNegative
    """The document's score; at most 1 unless weights were changed."""
    recall: Unit
    """Paired / labeled items."""
    field_accuracy: Unit
    """Correct / counted fields of the pairs."""
    matched: Count
    """Labeled items that were paired."""
    labeled: Count
    """Labeled items."""
    correct_fields: Count
    """Fields of the pairs that are right."""
    total_fields: Count
    """Fields of the pairs that count."""


class Gate(Strictest):
    """One gate of the decision."""

    gate: Literal[
        "prescription_accuracy", "lab_accuracy", "pipeline_success_rate", "reliability", "offline_evidence",
        "standout_proofs",
    ]  # fmt: skip
    """Its name."""
    goal: NonNegative
    """What is asked for."""
    measured: NonNegative | None
    """What was found; null without input."""
    passed: bool | None
    """Null when its input was not given."""
    reason: Str
    """In words."""


class Decision(Document):
    """GO or NO-GO, and why."""

    prescription_accuracy: NonNegative | None
    """Mean over labeled prescriptions; null without any."""
    lab_accuracy: NonNegative | None
    """Mean over labeled laboratory reports; null without any."""
    pipeline_success_rate: Percent | None
    """Runs that succeeded; null without any."""
    documents: Many[DocumentScore]
    """Sorted by type, then id."""
    gates: Annotated[Many[Gate], Field(min_length=6, max_length=6)]
    """In the order of the protocol."""
    decision: Literal["GO", "NO-GO"]
    """GO when all gates are passed."""


_AMBIGUOUS = r"^[1-9][0-9]{0,2}(?:[.,][0-9]{3})+$"


def _unique_doc(within: str = "documents") -> Unique:
    return Unique(within=within, fields=("doc_id",), code="MC201", message="'doc_id' is repeated",
                  hint="one record a document")  # fmt: skip


def _ambiguous(items: str) -> Unlike:
    return Unlike(items=items, field="valor", pattern=_AMBIGUOUS, code="MC216", severity="warning",
                  message="'valor' may have a thousands separator or decimals",
                  hint="keep it as printed; 100.000 counts as 100 with three decimals")  # fmt: skip


def _silent(items: str) -> Empty:
    return Empty(field=items, flag="parse_success", text="exception", code="MC214", severity="warning",
                 message=f"'{items}' are listed though the run failed",
                 hint="a run with 'exception' or without 'parse_success' counts as failed")  # fmt: skip


_REVIEWED = Requires(
    field="label_status", value="reviewed", requires="reviewer", code="MC215", severity="warning",
    message="'reviewed' without a 'reviewer'", hint="say who reviewed it",
)  # fmt: skip


def _in_manifest() -> Reference:
    return Reference(other="extraction/manifest", field="doc_id", code="MC308", severity="warning",
                     message="the manifest has no such document", hint="add it to the manifest")  # fmt: skip


def _labels_apart(other: str) -> Apart:
    return Apart(other=other, field="doc_id", code="MC310",
                 message="this document is labeled as the other kind too",
                 hint="a document is of one kind")  # fmt: skip


def _of_the_labels(labels: str) -> tuple[Reference, Covers]:
    return (
        Reference(other=labels, field="doc_id", code="MC303", message="no document of this id is labeled",
                  hint="check upper and lower case, blanks and leading zeros"),
        Covers(other=labels, field="doc_id", code="MC302", message="a labeled document has no record",
               hint="write a record with 'parse_success' false for what could not be read"),
    )  # fmt: skip


MANIFEST = Contract(
    id="extraction/manifest", model=Manifest, record=ManifestRow, list_key="documents", flat=True,
    source="extraction.md", title="Documents of a set", rules=(_unique_doc(),), record_rules=(_REVIEWED,),
)  # fmt: skip
PRESCRIPTION_LABELS = Contract(
    id="extraction/prescription-labels", model=PrescriptionLabels, record=PrescriptionLabel, list_key="documents",
    source="extraction.md", title="Labels of prescriptions", record_rules=(_REVIEWED,),
    rules=(_unique_doc(), _in_manifest()),
)  # fmt: skip
LAB_LABELS = Contract(
    id="extraction/lab-labels", model=LabLabels, record=LabLabel, list_key="documents",
    source="extraction.md", title="Labels of laboratory reports", record_rules=(_REVIEWED, _ambiguous("results")),
    rules=(_unique_doc(), _in_manifest(), _labels_apart("extraction/prescription-labels")),
)  # fmt: skip
PRESCRIPTION_PREDICTIONS = Contract(
    id="extraction/prescription-predictions", model=PrescriptionPredictions, record=PrescriptionPrediction,
    list_key="documents", source="extraction.md", title="Predictions for prescriptions",
    record_rules=(_silent("medicamentos"),),
    rules=(_unique_doc(), *_of_the_labels("extraction/prescription-labels")),
)  # fmt: skip
LAB_PREDICTIONS = Contract(
    id="extraction/lab-predictions", model=LabPredictions, record=LabPrediction, list_key="documents",
    source="extraction.md", title="Predictions for laboratory reports",
    record_rules=(_silent("resultados"), _ambiguous("resultados")),
    rules=(_unique_doc(), *_of_the_labels("extraction/lab-labels")),
)  # fmt: skip
RUNS = Contract(
    id="extraction/runs", model=Runs, record=PipelineRun, list_key="runs", flat=True, source="extraction.md",
    title="Runs of the pipeline",
    record_rules=(Exists(field="started_at", code="MC204", message="this day does not exist",
                         hint="check the month's number of days"),),
    rules=(Unique(within="runs", fields=("run_id",), code="MC201", message="'run_id' is repeated",
                  hint="one record a run"),),
)  # fmt: skip
EVIDENCE = Contract(
    id="extraction/evidence", model=Evidence, source="extraction.md", title="Offline runs and proofs",
    rules=(Reference(other="extraction/manifest", within="proofs", field="doc_id", code="MC309", severity="warning",
                     message="the manifest has no such document: the proof does not count",
                     hint="name a document of the manifest"),),
)  # fmt: skip
DECISION = Contract(id="extraction/decision", model=Decision, source="extraction.md", title="GO or NO-GO", output=True)

CONTRACTS = (
    DECISION, EVIDENCE, LAB_LABELS, LAB_PREDICTIONS, MANIFEST, PRESCRIPTION_LABELS, PRESCRIPTION_PREDICTIONS, RUNS,
)  # fmt: skip
