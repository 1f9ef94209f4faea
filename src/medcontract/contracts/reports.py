"""Track `reports`: clinical report classification (specialty, urgency, follow-up)."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from medcontract.contracts.base import (
    Date,
    Document,
    Either,
    ListOf,
    NoError,
    NonNegative,
    OpenModel,
    Str,
    StrictModel,
    Text,
    Unit,
)  # fmt: skip
from medcontract.contracts.contract import Contract, StandIn
from medcontract.contracts.rules import CalendarDate, Covers, Equal, Reference, Unique
from medcontract.contracts.wrong_values import no_error_rule, no_reason_rule

Specialty = Literal["Cardiology", "Neurology", "Oncology", "Internal Medicine", "Emergency Medicine", "Other"]
Urgency = Literal["Emergency", "Urgent", "Routine"]


class Case(OpenModel):
    """A report to process. Other columns are allowed."""

    report_id: Str
    """The id of the report; unique in the file."""
    content: Text | None = None
    """The report itself."""
    metadata: Text | None = None
    """Anything else that is known about the report, as text."""


class Cases(Document):
    """The reports to process, for participants, who do not have the truth."""

    event: Str | None = None
    """Name of the evaluation."""
    cases: ListOf[Case]
    """One record per report."""


class TruthRecord(StrictModel):
    """The correct labels of one report."""

    report_id: Str
    """The id of the report; unique in the file."""
    specialty: Specialty
    """The medical specialty that the report belongs to."""
    urgency: Urgency
    """How urgent the case is."""
    follow_up: bool
    """Whether a follow-up is needed."""


class Truth(Document):
    """The ground truth of all reports of an evaluation."""

    event: Str
    """Name of the evaluation."""
    reports: ListOf[TruthRecord]
    """One record per report."""


class Prediction(StrictModel):
    """What a model predicts for one report."""

    report_id: Str
    """The id of the report, as in the truth."""
    run_id: Str | None = None
    """The run that this prediction belongs to; "1" when absent or null."""
    specialty: Specialty
    """The predicted specialty."""
    urgency: Urgency
    """The predicted urgency."""
    follow_up: bool
    """Whether the model predicts that a follow-up is needed."""
    processing_time_sec: NonNegative
    """Processing time of the report, in seconds."""
    error: NoError = None
    """Absent, null or blank: no error, the report was processed."""


class FailedPrediction(StrictModel):
    """A report that a model could not process."""

    report_id: Str
    """The id of the report, as in the truth."""
    run_id: Str | None = None
    """The run that this prediction belongs to; "1" when absent or null."""
    error: Str
    """Why the report could not be processed."""
    processing_time_sec: NonNegative | None = None
    """Time until the failure, in seconds."""
    specialty: None = None
    """Absent or null: a failed report has no specialty."""
    urgency: None = None
    """Absent or null: a failed report has no urgency."""
    follow_up: None = None
    """Absent or null: a failed report has no follow-up."""


AnyPrediction: TypeAlias = Either[Prediction, FailedPrediction]


class Predictions(Document):
    """The submission of one team, with the predictions of one or more runs."""

    team_name: Str
    """Name of the team that submits the predictions."""
    event: Str | None = None
    """Name of the evaluation; the same as in the truth if both have one."""
    evaluation_date: Date | None = None
    """Date, or date and time, of the evaluation."""
    predictions: ListOf[AnyPrediction]
    """One record per report and run."""


class Run(StrictModel):
    """Resource use of one run."""

    run_id: Str
    """The id of the run; unique in the file."""
    max_memory_mb: NonNegative
    """Peak memory use, in MB."""
    avg_cpu_percent: NonNegative
    """Average CPU utilization, in percent."""
    avg_processing_time_sec: NonNegative | None = None
    """Average processing time per report, in seconds; it takes precedence over the times in the predictions."""
    exception: Text | None = None
    """The exception that ended the run; absent, null or blank: none."""


class Telemetry(Document):
    """Resource use of the runs of a submission, measured by the organizer."""

    team_name: Str
    """Name of the team whose runs were measured."""
    evaluation_date: Date
    """Date, or date and time, of the evaluation."""
    runs: Annotated[ListOf[Run], Field(min_length=1)]
    """One record per run."""


class UrgencyF1(StrictModel):
    """F1 of each urgency class."""

    Emergency: Unit
    """F1 of the class Emergency, from 0 to 1."""
    Urgent: Unit
    """F1 of the class Urgent, from 0 to 1."""
    Routine: Unit
    """F1 of the class Routine, from 0 to 1."""


class Figures(StrictModel):
    """Figures of a run or of a submission. Null means undefined or not measured."""

    specialty_accuracy: Unit
    """Reports with the correct specialty / expected reports, from 0 to 1."""
    urgency_f1: NonNegative
    """Weighted mean of the F1 of the three urgency classes."""
    urgency_f1_by_class: UrgencyF1
    """F1 of each urgency class."""
    follow_up_f1: Unit
    """F1 of the class "true" (a follow-up is needed), from 0 to 1."""
    avg_processing_time: NonNegative | None
    """Average processing time per report, in seconds; from the telemetry or, without it, the predictions."""
    max_memory_usage: NonNegative | None
    """Peak memory use, in MB."""
    avg_cpu_usage: NonNegative | None
    """Average CPU utilization, in percent."""
    time_penalty: NonNegative | None
    """Points lost for processing time."""
    memory_penalty: NonNegative | None
    """Points lost for memory use."""
    cpu_penalty: NonNegative | None
    """Points lost for CPU utilization."""
    accuracy_score: NonNegative
    """Points for accuracy; at most 70 with the default protocol."""
    performance_score: float | None
    """Points for performance, after the three penalties; at most 30 with the default protocol, possibly negative."""
    total_score: float | None
    """Sum of all points; at most 100 with the default protocol."""


class RunFigures(Figures):
    """Figures of one run."""

    run_id: Str
    """The id of the run."""
    success_rate: Unit
    """Processed / expected reports, from 0 to 1."""
    valid: bool
    """Whether the run stayed within all limits."""
    reasons: ListOf[Str]
    """Why the run is not valid; empty if it is."""


class Score(Document, Figures):
    """The figures are means over the runs of the submission."""

    runs: ListOf[RunFigures]
    """Figures of each run, sorted by run_id."""


_DATE_RULE = CalendarDate.of("evaluation_date")

CASES = Contract(
    id="reports/cases", model=Cases, record=Case, list_key="cases", flat=True, source="docs/tracks/reports.md",
    title="Reports to process", stands_in_for=(StandIn("reports/truth"),),
    rules=(Unique.of("cases", "report_id", "list each report once"),),
)  # fmt: skip
TRUTH = Contract(
    id="reports/truth", model=Truth, record=TruthRecord, list_key="reports", flat=True, source="docs/tracks/reports.md",
    title="Ground truth of report classification",
    rules=(Unique.of("reports", "report_id", "list each report once"),),
)  # fmt: skip
PREDICTIONS = Contract(
    id="reports/predictions", model=Predictions, record=AnyPrediction, list_key="predictions",
    flat=True, source="docs/tracks/reports.md", title="Predictions of report classification",
    record_rules=(no_reason_rule(),),
    rules=(
        _DATE_RULE,
        Unique(within="predictions", fields=("run_id", "report_id"), defaults=(("run_id", "1"),), code="MC201",
               message="this pair of 'run_id' and 'report_id' is repeated",
               hint="write one record per report and run; an absent run_id means \"1\""),
        Equal(other="reports/truth", field="event", code="MC301", message="'event' differs from the truth",
              hint="check that this is the right truth"),
        Reference(other="reports/truth", field="report_id", code="MC303", message="no report with this id is expected",
                  hint="check case, spaces and leading zeros"),
        Covers(other="reports/truth", field="report_id", code="MC302", message="an expected report has no record",
               hint="write a record with 'error' if it could not be processed"),
        Reference(other="reports/telemetry", field="run_id", default="1", code="MC307",
                  message="this run is not in the telemetry",
                  hint="use a run_id from the telemetry"),
    ),
)  # fmt: skip
TELEMETRY = Contract(
    id="reports/telemetry", model=Telemetry, source="docs/tracks/reports.md", title="Resource use of runs",
    reference_list="runs",
    rules=(
        _DATE_RULE,
        Unique.of("runs", "run_id", "write one record per run"),
        no_error_rule("exception", items="runs"),
    ),
)  # fmt: skip
SCORE = Contract(
    id="reports/score",
    model=Score,
    source="docs/tracks/reports.md",
    title="Score of a submission",
    output=True,
    result=True,
)

CONTRACTS = (CASES, PREDICTIONS, SCORE, TELEMETRY, TRUTH)
