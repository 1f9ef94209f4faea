"""What medcontract itself prints as JSON."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from medcontract.definitions.base import (
    Count,
    Document,
    Many,
    NonNegative,
    Position,
    RelativePath,
    Str,
    Strictest,
    Text,
    Unit,
)
from medcontract.definitions.contract import Contract

Code = Annotated[str, Field(pattern="^MC[0-5][0-9][0-9]$", max_length=5)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$", max_length=64)]


class ProblemModel(Strictest):
    """One thing that is wrong, and where."""

    code: Code
    """Stable; `medcontract explain CODE` says more."""
    severity: Literal["error", "warning"]
    """Only errors make a file invalid."""
    message: Str
    """What is wrong."""
    hint: Str | None
    """How to mend it."""
    pointer: Text
    """RFC 6901; in the document for .json, in the record for lines and tables. A key that may be data is shown as …."""
    record: Count | None
    """0-based index of the record."""
    line: Position | None
    """1-based."""
    column: Position | None
    """1-based, in code points."""
    field: Text | None
    """The column name, for tables."""


class FileModel(Strictest):
    """What was found in one file."""

    path: Text
    """As it was given."""
    contract: Str | None
    """The contract that it was judged by; null when that cannot be told."""
    ok: bool
    """No errors."""
    records: Count | None
    """Records read; null for documents and where nothing could be read."""
    errors: Count
    """How many, those left out too."""
    warnings: Count
    """How many, those left out too."""
    omitted: Count
    """Problems that were counted but are not listed."""
    problems: Many[ProblemModel]
    """In file order."""


class Validation(Document):
    """The outcome of `medcontract validate`."""

    ok: bool
    """No errors in any file."""
    files: Many[FileModel]
    """In the order in which they were given."""


class Listed(Strictest):
    """One contract."""

    id: Str
    """`<track>/<name>`."""
    version: Position
    """The major version."""
    kind: Literal["collection", "document"]
    """A list of records, or one object."""
    containers: Many[Str]
    """The sorts of files that it may stand in."""
    title: Str
    """What it is, in a few words."""
    source: Str | None
    """The document that it comes from."""


class Listing(Document):
    """The outcome of `medcontract schema list`."""

    contracts: Many[Listed]
    """Sorted by id."""


class Explained(Strictest):
    """One code of the catalogue."""

    code: Code
    """The code; it never gets another meaning."""
    title: Str
    """What it is, in a few words."""
    meaning: Str
    """What it means, in full."""
    mistake: Str
    """An example of it."""
    mending: Str
    """The example, mended."""


class Explanation(Document):
    """The outcome of `medcontract explain`."""

    codes: Many[Explained]
    """Sorted by code."""


class IndexStandIn(Strictest):
    """A truth whose ids are listed by files of another contract."""

    contract: Str
    """The id of the contract of the truth."""
    where: dict[str, Str]
    """Only records with these values in these fields are meant; all records when empty."""


class IndexColumn(Strictest):
    """One column of a table."""

    column: Str
    """The name of the column."""
    pointer: Str
    """Where its value goes in the record (RFC 6901): `/image_id`, `/probabilities/3`."""
    type: Literal["text", "number", "boolean"]
    """How a cell is read."""
    nullable: bool
    """Whether an empty cell is null; otherwise it is the empty string."""


class IndexEntry(Strictest):
    """The published schemas of one contract."""

    id: Str
    """The contract's id."""
    version: Position
    """The contract's major version."""
    kind: Literal["collection", "document"]
    """A list of records, or one object."""
    containers: Many[Str]
    """The sorts of files that it may stand in."""
    title: Str
    """What it is, in a few words."""
    path: RelativePath
    """The schema of a whole file, seen from the index."""
    record_path: RelativePath | None
    """The schema of one record; null for documents."""
    sha256: Sha256
    """Of the bytes at `path`."""
    record_sha256: Sha256 | None
    """Of the bytes at `record_path`."""
    list_key: Str | None = None
    """The key of the list of records in a whole `.json` file; null for documents."""
    reference_list: Str | None = None
    """Of a document: the list whose objects a rule of another file refers to; null where none does."""
    stands_in_for: Many[IndexStandIn] | None = None
    """The truths whose ids it lists: where such a truth is not given, rules about it are checked against this file."""
    columns: Many[IndexColumn] | None = None
    """How the columns of a table become a record, in order; null when there is no table form."""


class Index(Document):
    """The `index.json` that `medcontract schema export` writes beside the schemas."""

    medcontract_version: Str
    """The medcontract that wrote it."""
    draft: Literal["2020-12", "draft-07"]
    """The draft of JSON Schema that all of them are in."""
    schemas: Many[IndexEntry]
    """Sorted by id."""


class SchemaChange(Strictest):
    """One difference between two schemas."""

    path: Text
    """The file, or the contract's id, as it was given; below the folder when folders are compared."""
    pointer: Text
    """RFC 6901, into the new schema; into the old one for what is gone."""
    message: Str
    """What changed."""
    breaks: Literal["none", "readers", "writers", "both"]
    """Writers: what was valid may no longer be. Readers: what was not valid may be now."""


class SchemaDiff(Document):
    """The outcome of `medcontract schema diff`."""

    breaking: bool
    """Some change breaks readers or writers."""
    changes: Many[SchemaChange]
    """By file, in the order of the schema."""


class ScoreProblem(ProblemModel):
    """One thing that is wrong in one of the files."""

    file: Str
    """The base name of the file."""


class ProtocolModel(Strictest):
    """The frozen parameters that a score depends on."""

    id: Str
    """The track."""
    version: Position
    """Counted up when a formula changes."""
    fingerprint: Sha256
    """Of the canonical JSON (RFC 8785) of id, version and parameters."""
    parameters: dict[str, float | str | None]
    """By name."""


class InputModel(Strictest):
    """A file that a score was made from."""

    contract: Str
    """What it is."""
    name: Str
    """Its base name."""
    sha256: Sha256
    """Of its bytes."""
    content_sha256: Sha256 | None
    """Of a truth: of the sorted canonical records of all its files, whatever their order, container or split."""
    records: Count | None
    """Null for documents."""


class ProcessingModel(Strictest):
    """The processing gate."""

    expected: Count
    """Items of the truth."""
    processed: Count
    """Those with exactly one record, which is valid and reports no error; of the worst run."""
    failed: Count
    """The others."""
    success_rate: Unit
    """processed / expected."""
    minimum: Unit
    """What is asked for."""
    passed: bool
    """Compared exactly."""


class Environment(Strictest):
    """Versions of what text normalization depends on."""

    python: Str
    """Of Python."""
    unicode: Str
    """Of Python's Unicode data."""
    unidecode: Str
    """Of Unidecode."""


class FieldDifference(Strictest):
    """A field that is not right."""

    field: Str
    """Its name."""
    difference: Str
    """What sort of difference it is."""
    expected: Text | None = None
    """As labeled; with --show-values."""
    got: Text | None = None
    """As predicted; with --show-values."""
    expected_normalized: Text | None = None
    """As it was compared; with --show-values."""
    got_normalized: Text | None = None
    """As it was compared; with --show-values."""


class ItemBreakdown(Strictest):
    """What became of an item of a document."""

    doc_type: Str
    """The kind of document."""
    doc_id: Str
    """The document."""
    item: Count
    """Its place in the label, from 0."""
    state: Literal["right", "wrong fields", "not matched", "document failed", "no valid record"]
    """Right, or why it lost points."""
    nearest: float | None
    """How near the nearest prediction is that was not paired, from 0 to 100."""
    fields: Many[FieldDifference]
    """Those that are not right."""
    name: Text | None = None
    """As labeled; with --show-values."""
    paired_name: Text | None = None
    """Of its prediction; with --show-values."""
    nearest_name: Text | None = None
    """Of the nearest prediction where it has none; with --show-values."""


class FailureMode(Strictest):
    """How often a field was wrong in one way."""

    field: Str
    """The field, or the kind of document."""
    difference: Str
    """What sort of difference it is."""
    count: Position
    """How often."""


class ScoreModel(Document):
    """The outcome of `medcontract score`."""

    track: Str
    """The track."""
    protocol: ProtocolModel
    """What the score depends on, besides the files."""
    inputs: Many[InputModel]
    """Sorted by contract and name."""
    processing: ProcessingModel | None
    """Null when the score was refused before anything was counted."""
    valid: bool
    """Whether the score counts."""
    reasons: Many[Str]
    """Why it does not."""
    warnings: Many[Str]
    """What one should know."""
    problems: Many[ScoreProblem]
    """The first 100 of all files."""
    result: dict[str, Any] | None
    """A document of the track's result contract; for participants its headline figures."""
    failure_modes: Many[FailureMode] | None = None
    """What to mend first; where the track says so."""
    breakdown: Many[ItemBreakdown] | None = None
    """With --breakdown: item by item, why points were lost."""
    medcontract_version: Str
    """The medcontract that wrote it."""
    environment: Environment
    """What it ran with."""


class Ranked(Strictest):
    """One submission of a ranking."""

    rank: Position | None
    """Null for those that are not valid."""
    name: Str
    """The base name of its folder or file."""
    team_name: Str | None
    """As its files say."""
    valid: bool
    """Whether its score counts."""
    headline: float | None
    """What it is ranked by."""
    decision: Literal["GO", "NO-GO"] | None = None
    """Where the track decides."""
    figures: dict[str, float | None]
    """Those of the whole submission."""
    processing: ProcessingModel | None
    """Null when the score was refused before anything was counted."""
    reasons: Many[Str]
    """Why it is not valid."""
    warnings: Many[Str]
    """What one should know."""
    inputs: Many[InputModel]
    """Its files."""


class CombinedModel(Strictest):
    """How metrics were weighed into one score."""

    weights: dict[str, NonNegative]
    """Metric or category to weight."""
    renormalize_missing: bool
    """Whether the weights of what a task lacks are shared among what it has."""


class Leaderboard(Document):
    """The outcome of `medcontract leaderboard`."""

    track: Str
    """The track."""
    protocol: ProtocolModel
    """What all scores depend on."""
    truth: Many[InputModel]
    """The files that all were scored against."""
    headline: Str
    """The name of the figure that submissions are ranked by."""
    combined: dict[str, CombinedModel] | None = None
    """How it is weighed, by its name, where that is so."""
    submissions: Many[Ranked]
    """By rank; those that are not valid last, by name."""
    warnings: Many[Str]
    """What is true of all."""
    medcontract_version: Str
    """The medcontract that wrote it."""
    environment: Environment
    """What it ran with."""


class DeltaModel(Strictest):
    """One figure before and after."""

    name: Str
    """As in the result."""
    before: float | None
    """Null: undefined, or not there."""
    after: float | None
    """Null: undefined, or not there."""
    delta: float | None
    """After less before."""


class ComparedRow(Strictest):
    """One run, case, document or gate before and after."""

    kind: Literal["runs", "metrics", "documents", "tasks", "samples", "gates"]
    """The list of the result that it stands in."""
    id: Text
    """What it is named by."""
    figures: Many[DeltaModel]
    """All of its figures."""
    before: Str | None = None
    """Of a gate or a run: whether it passed."""
    after: Str | None = None
    """Of a gate or a run: whether it passes now."""
    reason: Str | None = None
    """Of a gate: why, in the rerun."""


class ComparisonModel(Document):
    """The outcome of `medcontract compare`."""

    track: Str
    """The track."""
    fingerprint: Sha256
    """Of the protocol of both."""
    before: Str
    """The decision of the baseline, or whether it was valid."""
    after: Str
    """The decision of the rerun, or whether it was valid."""
    reasons: Many[Str]
    """Why a side is not valid."""
    figures: Many[DeltaModel]
    """Of the whole submission, the one that it is ranked by first."""
    rows: Many[ComparedRow]
    """By kind, those that changed most first."""
    warnings: Many[Str]
    """What one should know."""
    medcontract_version: Str
    """The medcontract that wrote it."""
    environment: Environment
    """What it ran with."""


class CheckModel(Strictest):
    """One check of a submission."""

    id: Str
    """Stable."""
    title: Str
    """What is checked."""
    status: Literal["passed", "failed", "skipped"]
    """Skipped: not possible with the files at hand."""
    detail: Text
    """What was found, or what is missing."""
    problems: Many[ScoreProblem]
    """The first of them."""


class Preflight(Document):
    """The outcome of `medcontract preflight`."""

    ready: bool
    """No check failed."""
    checks: Many[CheckModel]
    """In the order in which they were made."""
    score: ScoreModel | None
    """Where a truth was at hand."""


class ParameterModel(Strictest):
    """One number of a protocol."""

    name: Str
    """As --parameter takes it."""
    value: float | str | None
    """An exact decimal."""
    about: Str
    """What it does."""
    source: Str
    """Where it comes from."""


class FormulaModel(Strictest):
    """One figure of a result."""

    name: Str
    """As in the result."""
    about: Str
    """The formula in words."""


class ChangeModel(Strictest):
    """Why a version differs from the one before."""

    version: Position
    """The version that came of it."""
    reason: Str
    """What changed, and why."""


class ProtocolPage(Document):
    """The outcome of `medcontract protocol show`."""

    id: Str
    """The track."""
    version: Position
    """Counted up when a formula changes."""
    fingerprint: Sha256
    """Of the canonical JSON (RFC 8785) of id, version and parameters."""
    parameters: Many[ParameterModel]
    """In the order in which they are used."""
    figures: Many[FormulaModel]
    """In the order of the result."""
    changes: Many[ChangeModel]
    """Newest last."""


class ProtocolListed(Strictest):
    """One protocol."""

    id: Str
    """The track."""
    version: Position
    """Counted up when a formula changes."""
    fingerprint: Sha256
    """Of the canonical JSON (RFC 8785) of id, version and parameters."""


class ProtocolListing(Document):
    """The outcome of `medcontract protocol list`."""

    protocols: Many[ProtocolListed]
    """Sorted by id."""


VALIDATION = Contract(id="medcontract/validation", model=Validation, title="Outcome of a validation", output=True)
LISTING = Contract(id="medcontract/listing", model=Listing, title="List of contracts", output=True)
EXPLANATION = Contract(id="medcontract/explanation", model=Explanation, title="Problem codes explained", output=True)
INDEX = Contract(id="medcontract/index", model=Index, title="Index of published schemas", output=True)
SCHEMA_DIFF = Contract(id="medcontract/schema-diff", model=SchemaDiff, title="Changes between schemas", output=True)
SCORE = Contract(id="medcontract/score", model=ScoreModel, title="Score with all that defends it", output=True)
LEADERBOARD = Contract(id="medcontract/leaderboard", model=Leaderboard, title="Ranking of submissions", output=True)
COMPARISON = Contract(id="medcontract/comparison", model=ComparisonModel, title="Before and after", output=True)
PREFLIGHT = Contract(id="medcontract/preflight", model=Preflight, title="Checklist of a submission", output=True)
PROTOCOL = Contract(id="medcontract/protocol", model=ProtocolPage, title="Protocol of a track", output=True)
PROTOCOLS = Contract(id="medcontract/protocols", model=ProtocolListing, title="List of protocols", output=True)

CONTRACTS = (
    COMPARISON, EXPLANATION, INDEX, LEADERBOARD, LISTING, PREFLIGHT, PROTOCOL, PROTOCOLS, SCHEMA_DIFF, SCORE,
    VALIDATION,
)  # fmt: skip
