"""The fastest typed parser for Python: checks types only, stops at the first error.

msgspec_script.py triage|lesions|reports FILE
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec


class Strict(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    pass


class Response(Strict):
    message_sent_time: float
    message_received_time: float
    case_id: str
    segment_id: str
    model_predictions: list[str]
    cumulative_runtime_sec: float
    run_id: Annotated[str, msgspec.Meta(pattern=r"^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$")]
    end_of_case: bool
    raw_response: list[str] | None = None
    error: str | None = None
    lsi_confidence_scores: dict[str, float] | None = None
    embeddings: dict[str, Any] | None = None


class Responses(Strict):
    team_name: str
    event: str
    evaluation_date: str
    responses: list[Response]


class LesionPrediction(Strict):
    image_id: str
    probabilities: Annotated[
        list[Annotated[float, msgspec.Meta(ge=0, le=1)]], msgspec.Meta(min_length=10, max_length=10)
    ]


class ReportPrediction(Strict):
    report_id: str
    specialty: Literal["Cardiology", "Neurology", "Oncology", "Internal Medicine", "Emergency Medicine", "Other"]
    urgency: Literal["Emergency", "Urgent", "Routine"]
    follow_up: bool
    processing_time_sec: Annotated[float, msgspec.Meta(ge=0)]


class ReportPredictions(Strict):
    team_name: str
    event: str
    evaluation_date: str
    predictions: list[ReportPrediction]


TYPES: dict[str, type[Strict]] = {
    "triage": Responses,
    "lesions": LesionPrediction,
    "reports": ReportPredictions,
}


def main() -> None:
    kind, path = sys.argv[1], Path(sys.argv[2])
    decode = msgspec.json.Decoder(TYPES[kind]).decode
    if path.suffix == ".jsonl":
        with path.open("rb") as lines:
            for line in lines:
                decode(line)
    else:
        decode(path.read_bytes())


if __name__ == "__main__":
    main()
