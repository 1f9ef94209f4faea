"""Track `reports`: clinical report classification (specialty, urgency, follow-up)."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from medcontract.definitions.base import (
    Date,
    Document,
    Either,
    Many,
    NoError,
    NonNegative,
    Open,
    Str,
    Strictest,
    Text,
    Unit,
)  # fmt: skip
from medcontract.definitions.contract import Contract
from medcontract.definitions.rules import Covers, Equal, Exists, Reference, Unique

Specialty = Literal["Cardiology", "Neurology", "Oncology", "Internal Medicine", "Emergency Medicine", "Other"]
Urgency = Literal["Emergency", "Urgent", "Routine"]


class Case(Open):
    """A report to be processed. Other columns are allowed."""

    report_id: Str
    """Unique in the file."""


class Cases(Document):
    """The ids to be processed, for those who have no truth."""

    event: Str | None = None
    """Name of the evaluation."""
    cases: Many[Case]
    """The reports to be processed."""


class TruthRecord(Strictest):
    """What is true of one report."""

    report_id: Str
    """Unique in the file."""
    specialty: Specialty
    """The specialty that the report belongs to."""
    urgency: Urgency
    """How urgent it is."""
    follow_up: bool
    """Whether a follow-up is needed."""


class Truth(Document):
    """The ground truth of all reports of an evaluation."""

    event: Str
    """Name of the evaluation."""
    reports: Many[TruthRecord]
    """One record a report."""


class Prediction(Strictest):
    """What a model says of one report."""

    report_id: Str
    """The report's id in the truth."""
    run_id: Str | None = None
    """The run that this belongs to; "1" when absent."""
    specialty: Specialty
    """The predicted specialty."""
    urgency: Urgency
    """The predicted urgency."""
    follow_up: bool
    """The predicted need of a follow-up."""
    processing_time_sec: NonNegative
    """How long the report took, in seconds."""
    error: NoError = None
    """Absent, null or blank: the report was processed."""


class FailedPrediction(Strictest):
    """A report that a model could not process."""

    report_id: Str
    """The report's id in the truth."""
    run_id: Str | None = None
    """The run that this belongs to; "1" when absent."""
    error: Str
    """What went wrong."""
    processing_time_sec: NonNegative | None = None
    """How long it took to fail, in seconds."""
    specialty: None = None
    """Absent or null."""
    urgency: None = None
    """Absent or null."""
    follow_up: None = None
    """Absent or null."""


AnyPrediction: TypeAlias = Either[Prediction, FailedPrediction]


class Predictions(Document):
    """A submission: predictions of one team, of one or several runs."""

    team_name: Str
    """The team that made them."""
    event: Str | None = None
    """Name of the evaluation; equal to the truth's where both have one."""
    evaluation_date: Date | None = None
    """When they were made."""
    predictions: Many[AnyPrediction]
    """One record a report and run."""


class Run(Strictest):
    """What one run needed."""

    run_id: Str
    """Unique in the file."""
    max_memory_mb: NonNegative
    """Peak memory in MB."""
    avg_cpu_percent: NonNegative
    """Average CPU utilization in percent."""
    exception: Text | None = None
    """What the run died of; absent, null or blank: nothing."""


class Telemetry(Document):
    """What the runs of a submission needed, measured by the organizer."""

    team_name: Str
    """The team whose runs these are."""
    evaluation_date: Date
    """When they were made."""
    runs: Annotated[Many[Run], Field(min_length=1)]
    """One record a run."""


class UrgencyF1(Strictest):
    """F1 by urgency."""

    Emergency: Unit
    Urgent: Unit
    Routine: Unit


class Figures(Strictest):
    """Figures of a run or of a submission. Null: undefined, or not measured."""

    specialty_accuracy: Unit
    """Correct specialties / expected reports."""
    urgency_f1: NonNegative
    """F1 weighted over the three classes."""
    urgency_f1_by_class: UrgencyF1
    """F1 of each class."""
    follow_up_f1: Unit
    """F1 of the class true."""
    avg_processing_time: NonNegative | None
    """Seconds a processed report."""
    max_memory_usage: NonNegative | None
    """MB."""
    avg_cpu_usage: NonNegative | None
    """Percent."""
    accuracy_score: NonNegative
    """Points for accuracy; at most 70 under the protocol as it is."""
    performance_score: float | None
    """Points for performance; at most 30 under the protocol as it is, and maybe negative."""
    total_score: float | None
    """All points; at most 100 under the protocol as it is."""


class RunFigures(Figures):
    """Figures of one run."""

    run_id: Str
    """The run."""
    success_rate: Unit
    """Processed / expected reports."""
    valid: bool
    """Whether the run kept all limits."""
    reasons: Many[Str]
    """Why it is not valid."""


class Score(Document, Figures):
    """The score of a submission: means over its runs."""

    runs: Many[RunFigures]
    """Sorted by run_id."""


_DATE_RULE = Exists(
    code="MC204", field="evaluation_date", message="this day does not exist", hint="check the month's number of days"
)

CASES = Contract(
    id="reports/cases", model=Cases, record=Case, list_key="cases", flat=True, source="reports.md",
    title="Reports to be processed",
    rules=(Unique(within="cases", fields=("report_id",), code="MC201", message="'report_id' is repeated",
                  hint="each report stands here once"),),
)  # fmt: skip
TRUTH = Contract(
    id="reports/truth", model=Truth, record=TruthRecord, list_key="reports", flat=True, source="reports.md",
    title="Ground truth of report classification",
    rules=(Unique(within="reports", fields=("report_id",), code="MC201", message="'report_id' is repeated",
                  hint="each report stands here once"),),
)  # fmt: skip
PREDICTIONS = Contract(
    id="reports/predictions", model=Predictions, record=AnyPrediction, list_key="predictions",
    flat=True, source="reports.md", title="Predictions of report classification",
    rules=(
        _DATE_RULE,
        Unique(within="predictions", fields=("run_id", "report_id"), defaults=(("run_id", "1"),), code="MC201",
               message="this pair of 'run_id' and 'report_id' is repeated",
               hint="one record a report and run; an absent run_id is \"1\""),
        Equal(other="reports/truth", field="event", code="MC301", message="'event' is not that of the truth",
              hint="is this the right truth?"),
        Reference(other="reports/truth", field="report_id", code="MC303", message="no report of this id is expected",
                  hint="check upper and lower case, blanks and leading zeros"),
        Covers(other="reports/truth", field="report_id", code="MC302", message="an expected report has no record",
               hint="write a record with 'error' for what could not be processed"),
        Reference(other="reports/telemetry", field="run_id", default="1", code="MC307",
                  message="the telemetry has no such run",
                  hint="use the run_id of the telemetry"),
    ),
)  # fmt: skip
TELEMETRY = Contract(
    id="reports/telemetry", model=Telemetry, source="reports.md", title="Resource use of runs",
    rules=(
        _DATE_RULE,
        Unique(within="runs", fields=("run_id",), code="MC201", message="'run_id' is repeated",
               hint="one record a run"),
    ),
)  # fmt: skip
SCORE = Contract(id="reports/score", model=Score, source="reports.md", title="Score of a submission", output=True)

CONTRACTS = (CASES, PREDICTIONS, SCORE, TELEMETRY, TRUTH)
