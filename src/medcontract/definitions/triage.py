"""Track `triage`: life-saving interventions (LSI) over the segments of a patient's case."""

from __future__ import annotations

from typing import Any

from medcontract.definitions.base import (
    Date,
    Document,
    Guid,
    Many,
    NonNegative,
    Open,
    RelativePath,
    Str,
    Strictest,
    Text,
    Unit,
    ZeroOrOne,
)  # fmt: skip
from medcontract.definitions.contract import Contract
from medcontract.definitions.rules import (
    Agrees,
    Constant,
    Covers,
    Distinct,
    Equal,
    Exists,
    Flag,
    Order,
    Reference,
    Requires,
    Rising,
    SameOrder,
    Unique,
)  # fmt: skip


class Lsi(Strictest):
    """A life-saving intervention that was performed."""

    lsi_group: Str
    """Its category."""
    lsi_description: Str
    """The specific intervention."""
    in_hospital: ZeroOrOne
    """1 during hospital admission, else 0."""
    elapsed_from_start: NonNegative
    """Seconds from the start of the case."""


class Segment(Strictest):
    """The truth of one segment of a case."""

    case_id: Str
    """The case."""
    segment_id: Str
    """Unique in the file."""
    segment_start_time_sec: NonNegative
    """Seconds from the start of the case."""
    segment_stop_time_sec: NonNegative
    """Seconds from the start of the case."""
    start_of_case: bool
    """Whether this is the first segment of the case."""
    at_admission: bool
    """Whether the segment includes the hospital admission."""
    end_of_case: bool
    """Whether this is the last segment of the case."""
    gt_lsi_list: Many[Lsi]
    """The interventions to be predicted from this segment."""
    ehr_file_name: RelativePath
    """EHR data."""
    vs_file_name: RelativePath
    """Vital signs."""
    gt_file_name: RelativePath
    """Ground truth data."""


class GroundTruth(Document):
    """The ground truth of all segments."""

    event: Str
    """Name of the event."""
    ground_truth: Many[Segment]
    """One record a segment."""


class SegmentResponse(Strictest):
    """What a model answered for one segment, and when."""

    message_sent_time: float
    """UNIX time when the server's message was sent."""
    message_received_time: float
    """UNIX time when the answer was received."""
    case_id: Str
    """The case."""
    segment_id: Str
    """The segment; unique in the file."""
    model_predictions: Many[Str]
    """The predicted groups; may be empty."""
    cumulative_runtime_sec: float
    """Seconds over the entire evaluation so far."""
    run_id: Guid
    """The evaluation run."""
    end_of_case: bool
    """Whether this is the last segment of the case."""
    raw_response: Many[Text] | None = None
    """The client's original answer, if there was an error."""
    error: Text | None = None
    """The server's error message; absent, null or blank: none."""
    lsi_confidence_scores: dict[str, float] | None = None
    """Confidence by group."""
    embeddings: dict[str, Any] | None = None
    """Embeddings at any level of internal analysis."""


class Response(Document):
    """A submission: the answers to all segments."""

    team_name: Str
    """The team that made it."""
    event: Str
    """Name of the event; equal to the truth's."""
    evaluation_date: Date
    """Date of the evaluation."""
    responses: Many[SegmentResponse]
    """One record a segment."""


class CorrectPrediction(Strictest):
    """A correctly predicted intervention."""

    lsi_group: Str
    """Its category."""
    lead_time: float
    """Seconds between the earliest prediction and the intervention."""


class IncorrectPredictions(Strictest):
    """What was wrong over the whole case."""

    false_positives: Many[Str]
    """Groups predicted that never occurred."""
    misses: Many[Str]
    """Groups that occurred and were never predicted."""


class SegmentError(Strictest):
    """An error during the case."""

    segment_id: Str
    """Where it occurred."""
    error: Str
    """What it was."""


class CaseMetrics(Strictest):
    """The figures of one case."""

    case_id: Str
    """The case."""
    jaccard_index: Unit
    """Intersection over union of the groups."""
    prediction_lead_time: float
    """Seconds, summed over groups."""
    correct_predictions: Many[CorrectPrediction]
    """All that were predicted, recurring ones too."""
    incorrect_predictions: IncorrectPredictions
    """What was wrong."""
    errors: Many[SegmentError]
    """Errors during the case."""


class Metrics(Document):
    """The metrics of a response."""

    team_name: Str
    """The team whose response it was."""
    event: Str
    """Name of the event."""
    evaluation_date: Date
    """Date of the evaluation."""
    response_file_name: Str
    """The response that these were computed from."""
    metrics: Many[CaseMetrics]
    """One record a case."""


class InventoryRow(Open):
    """A segment and its case. Other columns are allowed and kept."""

    case_id: Str
    """The case."""
    segment_id: Str
    """The segment."""


class Inventory(Document):
    """All segments, in order."""

    segments: Many[InventoryRow]
    """One record a segment."""


_DATE_RULE = Exists(
    code="MC204", field="evaluation_date", message="this day does not exist", hint="check the month's number of days"
)
_BY_TIME = ("segment_start_time_sec", "segment_stop_time_sec")

GROUND_TRUTH = Contract(
    id="triage/ground-truth", model=GroundTruth, record=Segment, list_key="ground_truth", source="triage.md",
    title="Ground truth of life-saving interventions",
    record_rules=(Order(fields=("segment_start_time_sec", "segment_stop_time_sec"), code="MC203",
                        message="the segment stops before it starts", hint="are start and stop swapped?"),),
    rules=(
        Unique(within="ground_truth", fields=("segment_id",), code="MC201", message="'segment_id' is repeated",
               hint="each segment stands here once"),
        Flag(within="ground_truth", field="start_of_case", group="case_id", at="first", by=_BY_TIME, code="MC205",
             message="a case has one 'start_of_case', on its earliest segment"),
        Flag(within="ground_truth", field="end_of_case", group="case_id", at="last", by=_BY_TIME, code="MC206",
             message="a case has one 'end_of_case', on its latest segment"),
        Flag(within="ground_truth", field="at_admission", group="case_id", code="MC207",
             message="a case has at most one 'at_admission'"),
    ),
)  # fmt: skip
RESPONSE = Contract(
    id="triage/response", model=Response, record=SegmentResponse, list_key="responses", source="triage.md",
    title="Answers of a model",
    record_rules=(
        Order(fields=("message_sent_time", "message_received_time"), code="MC203",
              message="the answer was received before the message was sent", hint="are the two times swapped?"),
        Requires(field="raw_response", requires="error", code="MC210", severity="warning",
                 message="'raw_response' without 'error'", hint="it belongs to answers with an error"),
        Distinct(field="model_predictions", code="MC211", severity="warning",
                 message="this group is listed twice", hint="list each group once"),
    ),
    rules=(
        _DATE_RULE,
        Unique(within="responses", fields=("segment_id",), code="MC201", message="'segment_id' is repeated",
               hint="one record a segment"),
        Rising(within="responses", field="cumulative_runtime_sec", by="message_sent_time", code="MC208",
               severity="warning", message="the cumulative runtime falls in sending order",
               hint="it counts from the start of the evaluation"),
        Constant(within="responses", field="run_id", code="MC209", severity="warning",
                 message="more than one 'run_id'", hint="are these parts of several runs?"),
        Equal(other="triage/ground-truth", field="event", code="MC301", message="'event' is not that of the truth",
              hint="is this the right truth?"),
        Covers(other="triage/ground-truth", field="segment_id", code="MC302",
               message="an expected segment has no response",
               hint="write a record with 'error' for what could not be processed"),
        Reference(other="triage/ground-truth", field="segment_id", code="MC303",
                  message="no segment of this id is expected", hint="check upper and lower case and blanks"),
        Agrees(other="triage/ground-truth", key="segment_id", field="case_id", code="MC304",
               message="the truth has this segment in another case"),
        Agrees(other="triage/ground-truth", key="segment_id", field="end_of_case", code="MC305",
               message="'end_of_case' is not that of the truth"),
    ),
)  # fmt: skip
METRICS = Contract(
    id="triage/metrics", model=Metrics, source="triage.md", title="Metrics by case", output=True, rules=(_DATE_RULE,)
)
INVENTORY = Contract(
    id="triage/inventory", model=Inventory, record=InventoryRow, list_key="segments", flat=True, source="triage.md",
    title="Segments in order",
    rules=(
        SameOrder(other="triage/ground-truth", key="segment_id", group="case_id",
                  by=("segment_stop_time_sec", "segment_start_time_sec", "segment_id"), code="MC306",
                  severity="warning", message="the order is not that of the stop times",
                  hint="sort the segments of a case by stop time"),
    ),
)  # fmt: skip

CONTRACTS = (GROUND_TRUTH, INVENTORY, METRICS, RESPONSE)
