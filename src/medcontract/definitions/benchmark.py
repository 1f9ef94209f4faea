"""Track `benchmark`: language models on medical tasks."""

from __future__ import annotations

from typing import Annotated, Any

from medcontract.definitions.base import WHOLE, Date, Document, Many, NonNegative, Open, Str, Strictest, Text, Unit
from medcontract.definitions.contract import Contract
from medcontract.definitions.rules import Covers, Disjoint, Exists, OneName, Reference, SomeAbove, Something, Unique


class Case(Open):
    """A sample to be answered. Other columns are allowed."""

    task_id: Str
    """The task."""
    sample_id: Str
    """The sample; the pair is unique in the file."""


class Cases(Document):
    """The ids to be processed, for those who have no references."""

    event: Str | None = None
    """Name of the evaluation."""
    cases: Many[Case]
    """One record a sample."""


ABSENT: Any = None
"""A key that may be absent but not null."""


class Entities(Strictest):
    """Clinical entities by category; a category without any may be left out."""

    diagnoses: Many[Str] = ABSENT
    treatments: Many[Str] = ABSENT
    medications: Many[Str] = ABSENT
    symptoms: Many[Str] = ABSENT
    labs: Many[Str] = ABSENT


class Answer(Strictest):
    """What a reference or a model says."""

    answer: Text | None = None
    """The answer."""
    rationale: Text | None = None
    """The reasons for it."""
    diagnosis: Text | None = None
    """The diagnosis."""
    entities: Entities | None = None
    """The entities; without them they are extracted from the answer."""


class ReferenceRecord(Strictest):
    """The reference of one sample."""

    task_id: Str
    """The task."""
    sample_id: Str
    """The sample; the pair is unique in the file."""
    reference: Answer
    """What is right."""


class References(Document):
    """The references of all samples."""

    event: Str | None = None
    """Name of the evaluation."""
    references: Many[ReferenceRecord]
    """One record a sample."""


Scores = dict[str, Unit]


class Prediction(Strictest):
    """What a model says of one sample."""

    task_id: Str
    """The task."""
    sample_id: Str
    """The sample."""
    prediction: Answer
    """What the model says."""
    scores: Scores | None = None
    """Metrics computed elsewhere, 0 to 1."""
    error: Text | None = None
    """What went wrong; absent, null or blank: nothing."""


class Predictions(Document):
    """The predictions of one model."""

    model_id: Str
    """The model."""
    predictions: Many[Prediction]
    """One record a sample."""


class Sample(Strictest):
    """Reference and prediction in one."""

    task_id: Str
    """The task."""
    sample_id: Str
    """The sample; the pair is unique in the file."""
    reference: Answer
    """What is right."""
    prediction: Answer
    """What the model says."""
    scores: Scores | None = None
    """Metrics computed elsewhere, 0 to 1."""
    error: Text | None = None
    """What went wrong; absent, null or blank: nothing."""


class Samples(Document):
    """References and predictions of one model."""

    model_id: Str
    """The model."""
    samples: Many[Sample]
    """One record a sample."""


class Weights(Document):
    """Weights of the combined score."""

    weights: dict[str, NonNegative]
    """Metric or category to weight."""
    metric_name: Str | None = None
    """The combined score's name; combined_score when absent."""
    renormalize_missing: bool | None = None
    """Whether the weights of missing metrics are shared among the others; true when absent."""


class BenchmarkReport(Document):
    """Scores of one model."""

    model_id: Str
    """The model."""
    timestamp: Date | None = None
    """When the report was made."""
    schema_version: Annotated[int, WHOLE] | None = None
    """Of the tool that made it."""
    overall_scores: dict[str, float]
    """Metric to score."""
    task_scores: dict[str, dict[str, float]]
    """Task to metric to score."""
    detailed_results: Many[Any] | None = None
    """Anything about samples."""
    metadata: dict[str, Any] | None = None
    """Anything else."""


Phrases = Many[Str]


class Lexicon(Document):
    """Terms that are added to the shipped ones, or replace them."""

    about: Text | None = None
    """What the terms are."""
    how_chosen: Text | None = None
    """How they were chosen."""
    replace: bool | None = None
    """Whether the shipped terms are left out altogether; false when absent."""
    synonyms: dict[str, Phrases] | None = None
    """Name to other spellings of it."""
    entities: Entities | None = None
    """The names that are extracted, by category."""
    structure_markers: Phrases | None = None
    """Words and phrases that order a rationale."""
    evidence_markers: Phrases | None = None
    """Words and phrases that give a reason."""
    fallacies: Phrases | None = None
    """Phrases of bad reasoning."""
    facts: dict[str, Phrases] | None = None
    """Diagnosis to what a sound rationale for it would mention."""


_TEXTS = ("reference.answer", "reference.rationale", "reference.diagnosis")


def _unique_pair(within: str) -> Unique:
    return Unique(within=within, fields=("task_id", "sample_id"), code="MC201",
                  message="this pair of 'task_id' and 'sample_id' is repeated", hint="one record a sample")  # fmt: skip


CASES = Contract(
    id="benchmark/cases", model=Cases, record=Case, list_key="cases", flat=True, source="benchmark.md",
    title="Samples to be answered", rules=(_unique_pair("cases"),),
)  # fmt: skip
REFERENCES = Contract(
    id="benchmark/references", model=References, record=ReferenceRecord, list_key="references",
    source="benchmark.md", title="References of samples", rules=(_unique_pair("references"),),
    record_rules=(Something(field="reference", texts=_TEXTS, present=("reference.entities",), code="MC218",
                            message="the reference holds nothing to score",
                            hint="give an answer, a rationale, a diagnosis or entities"),),
)  # fmt: skip
PREDICTIONS = Contract(
    id="benchmark/predictions", model=Predictions, record=Prediction, list_key="predictions",
    source="benchmark.md", title="Predictions of a model",
    rules=(
        _unique_pair("predictions"),
        Reference(other="benchmark/references", field="sample_id", with_field="task_id", code="MC303",
                  message="no reference has this pair of ids", hint="check upper and lower case and blanks"),
        Covers(other="benchmark/references", field="sample_id", with_field="task_id", code="MC302",
               message="a sample of the references has no prediction",
               hint="write a record with 'error' for what could not be processed"),
    ),
)  # fmt: skip
SAMPLES = Contract(
    id="benchmark/samples", model=Samples, record=Sample, list_key="samples", source="benchmark.md",
    title="References and predictions of a model", rules=(_unique_pair("samples"),),
    record_rules=(Something(field="reference", texts=_TEXTS, present=("reference.entities",), filled=("scores",),
                            code="MC218", message="the sample holds nothing to score",
                            hint="give a reference answer, rationale, diagnosis or entities, or scores"),),
)  # fmt: skip
WEIGHTS = Contract(
    id="benchmark/weights", model=Weights, source="benchmark.md", title="Weights of the combined score",
    rules=(SomeAbove(field="weights", above=0, code="MC217", message="all weights are 0",
                     hint="give at least one metric or category a weight"),),
)  # fmt: skip
REPORT = Contract(
    id="benchmark/report", model=BenchmarkReport, source="benchmark.md", title="Scores of a model",
    rules=(Exists(field="timestamp", code="MC204", message="this day does not exist",
                  hint="check the month's number of days"),),
)  # fmt: skip

_CATEGORIES = tuple(f"entities.{category}" for category in Entities.model_fields)
LEXICON = Contract(
    id="benchmark/lexicon", model=Lexicon, source="benchmark.md", title="Terms of one's own",
    rules=(
        Disjoint(fields=_CATEGORIES, code="MC219", message="this term stands in another category already",
                 hint="keep it in one category; accents, case and punctuation make no difference"),
        OneName(field="synonyms", names=_CATEGORIES, code="MC220", message="this spelling belongs to another name",
                hint="list it under one name; entities and the keys of 'synonyms' are names themselves"),
    ),
)  # fmt: skip

CONTRACTS = (CASES, LEXICON, PREDICTIONS, REFERENCES, REPORT, SAMPLES, WEIGHTS)
