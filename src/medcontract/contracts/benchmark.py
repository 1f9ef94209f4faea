"""Track `benchmark`: language models on medical tasks."""

from __future__ import annotations

from typing import Annotated, Any

from medcontract.contracts.base import (
    AcceptIntegral,
    Date,
    Document,
    ListOf,
    NonNegative,
    OpenModel,
    Position,
    Str,
    StrictModel,
    Text,
    Unit,
)
from medcontract.contracts.contract import Contract, StandIn
from medcontract.contracts.rules import (
    AnyAbove,
    CalendarDate,
    Covers,
    Disjoint,
    Reference,
    RequireAny,
    Unique,
    UniqueSpellings,
)
from medcontract.contracts.wrong_values import no_error_rule


class Case(OpenModel):
    """A sample to answer. Other columns are allowed."""

    task_id: Str
    """The id of the task."""
    sample_id: Str
    """The id of the sample; unique in the file together with task_id."""


class Cases(Document):
    """The ids of the samples to answer, for participants, who do not have the references."""

    event: Str | None = None
    """Name of the evaluation."""
    cases: ListOf[Case]
    """One record per sample."""


class Entities(StrictModel):
    """Clinical entities by category; a category may be absent."""

    diagnoses: ListOf[Str] | None = None
    """Names of diagnoses."""
    treatments: ListOf[Str] | None = None
    """Names of treatments and procedures."""
    medications: ListOf[Str] | None = None
    """Names of medications."""
    symptoms: ListOf[Str] | None = None
    """Names of symptoms and signs."""
    labs: ListOf[Str] | None = None
    """Names of laboratory tests and measurements."""


class Answer(StrictModel):
    """An answer, of a reference or of a model."""

    answer: Text | None = None
    """The text of the answer."""
    rationale: Text | None = None
    """The reasoning that leads to the answer."""
    diagnosis: Text | None = None
    """The diagnosis."""
    entities: Entities | None = None
    """The clinical entities; if absent or null, they are extracted from the answer."""


class ReferenceRecord(StrictModel):
    """The reference answer of one sample."""

    task_id: Str
    """The id of the task."""
    sample_id: Str
    """The id of the sample; unique in the file together with task_id."""
    reference: Answer
    """The correct answer."""


class References(Document):
    """The reference answers of all samples."""

    event: Str | None = None
    """Name of the evaluation."""
    references: ListOf[ReferenceRecord]
    """One record per sample."""


Scores = dict[str, Unit]


class Prediction(StrictModel):
    """What a model predicts for one sample."""

    task_id: Str
    """The id of the task."""
    sample_id: Str
    """The id of the sample; unique in the file together with task_id."""
    prediction: Answer
    """The answer of the model."""
    scores: Scores | None = None
    """Metrics that were computed elsewhere, by name; each from 0 to 1."""
    error: Text | None = None
    """Why the sample could not be processed; absent, null or blank: no error."""


class Predictions(Document):
    """The answers of one model."""

    model_id: Str
    """The id of the model."""
    predictions: ListOf[Prediction]
    """One record per sample."""


class Sample(StrictModel):
    """The reference and the prediction of one sample."""

    task_id: Str
    """The id of the task."""
    sample_id: Str
    """The id of the sample; unique in the file together with task_id."""
    reference: Answer
    """The correct answer."""
    prediction: Answer
    """The answer of the model."""
    scores: Scores | None = None
    """Metrics that were computed elsewhere, by name; each from 0 to 1."""
    error: Text | None = None
    """Why the sample could not be processed; absent, null or blank: no error."""


class Samples(Document):
    """The references and the answers of one model, in one file."""

    model_id: Str
    """The id of the model."""
    samples: ListOf[Sample]
    """One record per sample."""


class Weights(Document):
    """How metrics are weighted into one combined score."""

    weights: dict[str, NonNegative]
    """Weight by name of metric or category."""
    metric_name: Str | None = None
    """Name of the combined score; "combined_score" when absent or null."""
    categories: dict[str, ListOf[Str]] | None = None
    """Names of metrics by category: new categories, or replacements of the built-in ones."""
    renormalize_missing: bool | None = None
    """Whether the weights of missing metrics are distributed among the others; true when absent or null."""


class BenchmarkReport(Document):
    """Metrics of one model, overall and by task."""

    model_id: Str
    """The id of the model."""
    timestamp: Date | None = None
    """Date, or date and time, of the report."""
    schema_version: Annotated[int, AcceptIntegral] | None = None
    """Version of the format of the tool that wrote the report."""
    overall_scores: dict[str, float]
    """Score by metric, over all samples or tasks."""
    task_scores: dict[str, dict[str, float]]
    """Score by task, then by metric."""
    detailed_results: ListOf[Any] | None = None
    """Details of the samples, in any form."""
    metadata: dict[str, Any] | None = None
    """Other information, in any form."""


Phrases = ListOf[Str]


class Lexicon(Document):
    """Terms that are added to the built-in lexicon, or replace it."""

    version: Position | None = None
    """Version of the terms."""
    about: Text | None = None
    """The subject of the terms."""
    how_chosen: Text | None = None
    """How the terms were chosen."""
    replace: bool | None = None
    """Whether the terms replace the built-in lexicon; false when absent or null."""
    synonyms: dict[str, Phrases] | None = None
    """Other spellings by name."""
    entities: Entities | None = None
    """The names of entities to extract, by category."""
    abbreviations: dict[str, Phrases] | None = None
    """Abbreviations by diagnosis; they apply only if they are the whole diagnosis, such as "MI"."""
    structure_markers: Phrases | None = None
    """Words and phrases that structure a rationale, such as "first"."""
    evidence_markers: Phrases | None = None
    """Words and phrases that point to evidence, such as "based on"."""
    fallacies: Phrases | None = None
    """Phrases that show faulty reasoning."""
    facts: dict[str, Phrases] | None = None
    """What a good rationale for a diagnosis mentions, by diagnosis."""


_TEXTS = ("reference.answer", "reference.rationale", "reference.diagnosis")


def _unique_pair(within: str) -> Unique:
    return Unique(within=within, fields=("task_id", "sample_id"), code="MC201",
                  message="this pair of 'task_id' and 'sample_id' is repeated",
                  hint="write one record per sample")  # fmt: skip


CASES = Contract(
    id="benchmark/cases", model=Cases, record=Case, list_key="cases", flat=True, source="docs/tracks/benchmark.md",
    title="Samples to answer", rules=(_unique_pair("cases"),),
    stands_in_for=(StandIn("benchmark/references"), StandIn("benchmark/samples")),
)  # fmt: skip
REFERENCES = Contract(
    id="benchmark/references", model=References, record=ReferenceRecord, list_key="references",
    source="docs/tracks/benchmark.md", title="References of samples", rules=(_unique_pair("references"),),
    record_rules=(RequireAny(field="reference", texts=_TEXTS, present=("reference.entities",), code="MC218",
                            message="the reference contains nothing to score",
                            hint="give an answer, a rationale, a diagnosis or entities"),),
)  # fmt: skip
PREDICTIONS = Contract(
    id="benchmark/predictions", model=Predictions, record=Prediction, list_key="predictions",
    source="docs/tracks/benchmark.md", title="Predictions of a model", record_rules=(no_error_rule("error"),),
    rules=(
        _unique_pair("predictions"),
        Reference(other="benchmark/references", field="sample_id", with_field="task_id", code="MC303",
                  message="no sample with this pair of ids is expected", hint="check case and spaces"),
        Covers(other="benchmark/references", field="sample_id", with_field="task_id", code="MC302",
               message="an expected sample has no record",
               hint="write a record with 'error' if it could not be processed"),
    ),
)  # fmt: skip
SAMPLES = Contract(
    id="benchmark/samples", model=Samples, record=Sample, list_key="samples", source="docs/tracks/benchmark.md",
    title="References and predictions of a model", rules=(_unique_pair("samples"),),
    record_rules=(RequireAny(field="reference", texts=_TEXTS, present=("reference.entities",), filled=("scores",),
                            code="MC218", message="the sample contains nothing to score",
                            hint="give a reference answer, rationale, diagnosis or entities, or scores"),
                  no_error_rule("error")),
)  # fmt: skip
WEIGHTS = Contract(
    id="benchmark/weights", model=Weights, source="docs/tracks/benchmark.md", title="Weights of the combined score",
    rules=(AnyAbove(field="weights", above=0, code="MC217", message="all weights are 0",
                     hint="give at least one metric or category a weight"),),
)  # fmt: skip
REPORT = Contract(
    id="benchmark/report", model=BenchmarkReport, source="docs/tracks/benchmark.md", title="Scores of a model",
    result=True,
    rules=(CalendarDate.of("timestamp"),),
)  # fmt: skip

_CATEGORIES = tuple(f"entities.{category}" for category in Entities.model_fields)
LEXICON = Contract(
    id="benchmark/lexicon", model=Lexicon, source="docs/tracks/benchmark.md", title="Custom lexicon",
    rules=(
        Disjoint(fields=_CATEGORIES, code="MC219", message="this term is already in another category",
                 hint="keep it in one category; accents, case and punctuation are ignored"),
        UniqueSpellings(field="synonyms", names=_CATEGORIES, code="MC220",
                        message="this spelling belongs to another name",
                        hint="list it under one name; entities and keys of 'synonyms' are also names"),
        UniqueSpellings(field="abbreviations", code="MC220", message="this abbreviation belongs to another name",
                        hint="list it under one name"),
    ),
)  # fmt: skip

CONTRACTS = (CASES, LEXICON, PREDICTIONS, REFERENCES, REPORT, SAMPLES, WEIGHTS)
