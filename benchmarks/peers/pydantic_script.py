"""What a careful developer writes with pydantic in ten minutes: strict types, no unknown keys, no line numbers.

pydantic_script.py triage|lesions|reports FILE
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class Response(Strict):
    message_sent_time: float
    message_received_time: float
    case_id: str
    segment_id: str
    model_predictions: list[str]
    cumulative_runtime_sec: float
    run_id: Annotated[str, Field(pattern=r"^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$")]
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
    probabilities: Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=10, max_length=10)]


class ReportPrediction(Strict):
    report_id: str
    specialty: Literal["Cardiology", "Neurology", "Oncology", "Internal Medicine", "Emergency Medicine", "Other"]
    urgency: Literal["Emergency", "Urgent", "Routine"]
    follow_up: bool
    processing_time_sec: Annotated[float, Field(ge=0)]


class ReportPredictions(Strict):
    team_name: str
    event: str
    evaluation_date: str
    predictions: list[ReportPrediction]


MODELS: dict[str, type[Strict]] = {
    "triage": Responses,
    "lesions": LesionPrediction,
    "reports": ReportPredictions,
}


def main() -> None:
    kind, path = sys.argv[1], Path(sys.argv[2])
    validate = TypeAdapter(MODELS[kind]).validate_json
    if path.suffix == ".jsonl":
        with path.open("rb") as lines:
            for line in lines:
                validate(line)
    else:
        validate(path.read_bytes())


if __name__ == "__main__":
    main()
