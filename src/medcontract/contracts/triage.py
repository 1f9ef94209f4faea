"""Track `triage`: life-saving interventions (LSI) over the segments of a patient's case."""

from __future__ import annotations

from typing import Any

from medcontract.contracts.base import (
    Date,
    Document,
    Guid,
    ListOf,
    NonNegative,
    OpenModel,
    RelativePath,
    Str,
    StrictModel,
    Text,
    Unit,
    ZeroOrOne,
)  # fmt: skip
from medcontract.contracts.contract import Contract, StandIn
from medcontract.contracts.rules import (
    CalendarDate,
    Constant,
    Covers,
    Distinct,
    Equal,
    Flag,
    Limit,
    Monotonic,
    Order,
    Reference,
    Requires,
    SameOrder,
    SameValue,
    Unique,
)  # fmt: skip
from medcontract.contracts.wrong_values import no_error_rule


class Lsi(StrictModel):
    """A life-saving intervention that was performed."""

    lsi_group: Str
    """The category of the intervention."""
    lsi_description: Str
    """The specific intervention, in words."""
    in_hospital: ZeroOrOne
    """1 if performed during the hospital admission, otherwise 0."""
    elapsed_from_start: NonNegative
    """Time of the intervention, in seconds from the start of the case."""


class Segment(StrictModel):
    """The ground truth of one segment of a case."""

    case_id: Str
    """The id of the case that the segment belongs to."""
    segment_id: Str
    """The id of the segment; unique in the file."""
    segment_start_time_sec: NonNegative
    """Start of the segment, in seconds from the start of the case."""
    segment_stop_time_sec: NonNegative
    """End of the segment, in seconds from the start of the case."""
    start_of_case: bool
    """Whether this is the first segment of the case."""
    at_admission: bool
    """Whether the segment includes the hospital admission."""
    end_of_case: bool
    """Whether this is the last segment of the case."""
    gt_lsi_list: ListOf[Lsi]
    """The interventions to predict from this segment."""
    ehr_file_name: RelativePath
    """Relative path of the file with the electronic health record (EHR) data."""
    vs_file_name: RelativePath
    """Relative path of the file with the vital signs."""
    gt_file_name: RelativePath
    """Relative path of the file with the ground truth data."""


class GroundTruth(Document):
    """The ground truth of all segments of an event."""

    event: Str
    """Name of the evaluation event."""
    ground_truth: ListOf[Segment]
    """One record per segment."""


class SegmentResponse(StrictModel):
    """What a model answered for one segment, and when."""

    message_sent_time: float
    """When the server sent its message, as UNIX time in seconds."""
    message_received_time: float
    """When the server received the answer, as UNIX time in seconds."""
    case_id: Str
    """The id of the case that the segment belongs to."""
    segment_id: Str
    """The id of the segment; unique in the file."""
    model_predictions: ListOf[Str]
    """The predicted categories of interventions (lsi_group); may be empty."""
    cumulative_runtime_sec: float
    """Runtime since the start of the evaluation, in seconds."""
    run_id: Guid
    """The id of the evaluation run."""
    end_of_case: bool
    """Whether this is the last segment of the case."""
    raw_response: ListOf[Text] | None = None
    """The original answer of the client, if there was an error."""
    error: Text | None = None
    """The error message of the server; absent, null or blank: no error."""
    lsi_confidence_scores: dict[str, float] | None = None
    """Confidence of the model by category of intervention."""
    embeddings: dict[str, Any] | None = None
    """Embeddings from any stage of the model, in any form."""


class Response(Document):
    """The submission of one team: the answers for all segments."""

    team_name: Str
    """Name of the team that submits the answers."""
    event: Str
    """Name of the evaluation event; the same as in the truth."""
    evaluation_date: Date
    """Date, or date and time, of the evaluation."""
    responses: ListOf[SegmentResponse]
    """One record per segment."""


class CorrectPrediction(StrictModel):
    """A correctly predicted intervention."""

    lsi_group: Str
    """The category of the intervention."""
    lead_time: float
    """Time between the earliest prediction and the intervention, in seconds."""


class IncorrectPredictions(StrictModel):
    """Wrong and missing predictions over the whole case."""

    false_positives: ListOf[Str]
    """Categories that were predicted but never occurred."""
    misses: ListOf[Str]
    """Categories that occurred but were never predicted."""


class SegmentError(StrictModel):
    """An error during the case."""

    segment_id: Str
    """The id of the segment where the error occurred."""
    error: Str
    """The error message."""


class CaseMetrics(StrictModel):
    """The figures of one case."""

    case_id: Str
    """The id of the case."""
    jaccard_index: Unit
    """Intersection / union of the predicted and the true categories, from 0 to 1."""
    prediction_lead_time: float
    """Sum of the lead times of all categories, in seconds."""
    correct_predictions: ListOf[CorrectPrediction]
    """All interventions that were predicted, repeated ones included."""
    incorrect_predictions: IncorrectPredictions
    """Wrong and missing predictions."""
    errors: ListOf[SegmentError]
    """Errors that occurred during the case."""


class Metrics(Document):
    """The metrics of a response."""

    team_name: Str
    """Name of the team whose response was evaluated."""
    event: Str
    """Name of the evaluation event."""
    evaluation_date: Date
    """Date, or date and time, of the evaluation."""
    response_file_name: Str
    """Name of the response file that the metrics were computed from."""
    metrics: ListOf[CaseMetrics]
    """One record per case."""


class InventoryRow(OpenModel):
    """A segment and its case. Other columns are allowed and kept."""

    case_id: Str
    """The id of the case that the segment belongs to."""
    segment_id: Str
    """The id of the segment."""


class Inventory(Document):
    """All segments. The order of the segments of a case counts, if all of them are listed."""

    segments: ListOf[InventoryRow]
    """One record per segment."""


_DATE_RULE = CalendarDate.of("evaluation_date")
_BY_TIME = ("segment_start_time_sec", "segment_stop_time_sec")

GROUND_TRUTH = Contract(
    id="triage/ground-truth", model=GroundTruth, record=Segment, list_key="ground_truth",
    source="docs/tracks/triage.md", title="Ground truth of life-saving interventions",
    record_rules=(Order(fields=("segment_start_time_sec", "segment_stop_time_sec"), code="MC203",
                        message="the segment stops before it starts", hint="are start and stop swapped?"),),
    rules=(
        Unique.of("ground_truth", "segment_id", "list each segment once"),
        Flag(within="ground_truth", field="start_of_case", group="case_id", at="first", by=_BY_TIME, code="MC205",
             message="a case must have one 'start_of_case', on its earliest segment"),
        Flag(within="ground_truth", field="end_of_case", group="case_id", at="last", by=_BY_TIME, code="MC206",
             message="a case must have one 'end_of_case', on its latest segment"),
        Flag(within="ground_truth", field="at_admission", group="case_id", code="MC207",
             severity="warning", message="more than one 'at_admission' in this case",
             hint="touching windows may both include the admission"),
    ),
)  # fmt: skip
RESPONSE = Contract(
    id="triage/response", model=Response, record=SegmentResponse, list_key="responses", source="docs/tracks/triage.md",
    title="Answers of a model for segments",
    record_rules=(
        Order(fields=("message_sent_time", "message_received_time"), code="MC203",
              message="the answer was received before the message was sent", hint="are the two times swapped?"),
        Limit(field="message_sent_time", minimum=100_000_000_000, code="MC503", severity="warning",
              message="'message_sent_time' is too large for seconds since 1970",
              hint="if all times are in milliseconds, divide them by 1000, also 'cumulative_runtime_sec'"),
        Requires(field="raw_response", requires="error", code="MC210", severity="warning",
                 message="'raw_response' without 'error'", hint="use it only for answers with an error"),
        Distinct(field="model_predictions", code="MC211", severity="warning",
                 message="this group is listed twice", hint="list each group once"),
        no_error_rule("error"),
    ),
    rules=(
        _DATE_RULE,
        Unique.of("responses", "segment_id", "write one record per segment"),
        Monotonic(within="responses", field="cumulative_runtime_sec", by="message_sent_time", code="MC208",
               severity="warning", message="'cumulative_runtime_sec' decreases in the order of sending",
               hint="count it from the start of the evaluation"),
        Constant(within="responses", field="run_id", code="MC209", severity="warning",
                 message="more than one 'run_id'", hint="write one file per run"),
        Equal(other="triage/ground-truth", field="event", code="MC301", message="'event' differs from the truth",
              hint="check that this is the right truth"),
        Covers(other="triage/ground-truth", field="segment_id", code="MC302",
               message="an expected segment has no response",
               hint="write a record with 'error' if it could not be processed"),
        Reference(other="triage/ground-truth", field="segment_id", code="MC303",
                  message="no segment with this id is expected", hint="check case and spaces"),
        SameValue(other="triage/ground-truth", key="segment_id", field="case_id", code="MC304",
               message="this segment belongs to a different case"),
        SameValue(other="triage/ground-truth", key="segment_id", field="end_of_case", code="MC305",
               message="'end_of_case' differs from the truth"),
    ),
)  # fmt: skip
METRICS = Contract(
    id="triage/metrics",
    model=Metrics,
    source="docs/tracks/triage.md",
    title="Metrics by case",
    output=True,
    result=True,
    rules=(_DATE_RULE,),
)
INVENTORY = Contract(
    id="triage/inventory", model=Inventory, record=InventoryRow, list_key="segments", flat=True,
    source="docs/tracks/triage.md", title="Segments in order", stands_in_for=(StandIn("triage/ground-truth"),),
    rules=(
        SameOrder(other="triage/ground-truth", key="segment_id", group="case_id",
                  by=("segment_stop_time_sec", "segment_start_time_sec", "segment_id"), code="MC306",
                  severity="warning", message="the segments are not in the order of their stop times",
                  hint="this order counts; check the times, or sort the segments of a case by stop time"),
    ),
)  # fmt: skip

CONTRACTS = (GROUND_TRUTH, INVENTORY, METRICS, RESPONSE)
