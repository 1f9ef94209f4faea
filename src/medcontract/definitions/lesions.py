"""Track `lesions`: skin lesion classification from an image and demographic data."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from medcontract.definitions.base import (
    WHOLE,
    Count,
    Document,
    Either,
    Many,
    NoError,
    NonNegative,
    Positive,
    RelativePath,
    Str,
    Strictest,
    Unit,
    Yes,
)  # fmt: skip
from medcontract.definitions.contract import Contract
from medcontract.definitions.rules import Covers, Limit, Reference, Sum, Unique

CLASSES = ("AK", "BCC", "SK", "SCC", "VASC", "DF", "NV", "NON", "MEL", "ON")
"""The classes in the order of a model's output."""

Symbol = Literal["AK", "BCC", "SK", "SCC", "VASC", "DF", "NV", "NON", "MEL", "ON"]


class Case(Strictest):
    """An image and what is known of the patient."""

    image_id: Str
    """Unique in the file."""
    image_path: RelativePath
    """The image, JPEG or PNG."""
    age: Annotated[int, Field(ge=0, le=120), WHOLE]
    """Age in years."""
    gender: Literal["m", "f"]
    """m: male, f: female."""
    location: Annotated[int, Field(ge=1, le=7), WHOLE]
    """1 arm, 2 feet, 3 genitalia, 4 hand, 5 head, 6 leg, 7 torso."""


class Cases(Document):
    """What a model gets as input."""

    event: Str | None = None
    """Name of the competition."""
    cases: Many[Case]
    """One record an image."""


class TruthRecord(Strictest):
    """What is true of one image."""

    image_id: Str
    """Unique in the file."""
    label: Symbol
    """The class."""


class Truth(Document):
    """The ground truth of all images."""

    event: Str | None = None
    """Name of the competition."""
    labels: Many[TruthRecord]
    """One record an image."""


class Prediction(Strictest):
    """What a model says of one image."""

    image_id: Str
    """The image's id in the truth."""
    probabilities: Annotated[Many[Unit], Field(min_length=10, max_length=10)]
    """One for each class: AK BCC SK SCC VASC DF NV NON MEL ON. Their sum is 1."""
    error: NoError = None
    """Absent, null or blank: the image was processed."""


class FailedPrediction(Strictest):
    """An image that a model could not process."""

    image_id: Str
    """The image's id in the truth."""
    error: Str
    """What went wrong."""
    probabilities: None = None
    """Absent or null."""


AnyPrediction: TypeAlias = Either[Prediction, FailedPrediction]


class Predictions(Document):
    """A submission."""

    team_name: Str
    """The team that made it."""
    predictions: Many[AnyPrediction]
    """One record an image."""


class Model(Document):
    """A model's size and speed. For a ranking the organizer writes it, as telemetry."""

    team_name: Str
    """The team whose model it is."""
    model_size_mb: Positive
    """Size of the model in MB."""
    inference_time_ms: Positive
    """Time for one image in ms, on the organizer's CPU."""
    uses_image: Yes
    """The model must use the image."""
    uses_demographics: Yes
    """The model must use the demographic data."""
    model_file: RelativePath | None = None
    """The model in the submission's folder."""
    inference_script: RelativePath | None = None
    """The script that runs it."""


class ByClass(Strictest):
    """F1 by class."""

    AK: Unit
    BCC: Unit
    SK: Unit
    SCC: Unit
    VASC: Unit
    DF: Unit
    NV: Unit
    NON: Unit
    MEL: Unit
    ON: Unit


class MatrixRow(Strictest):
    """Images of one true class, by predicted class."""

    AK: Count
    BCC: Count
    SK: Count
    SCC: Count
    VASC: Count
    DF: Count
    NV: Count
    NON: Count
    MEL: Count
    ON: Count
    unprocessed: Count


class Matrix(Strictest):
    """Rows by true class."""

    AK: MatrixRow
    BCC: MatrixRow
    SK: MatrixRow
    SCC: MatrixRow
    VASC: MatrixRow
    DF: MatrixRow
    NV: MatrixRow
    NON: MatrixRow
    MEL: MatrixRow
    ON: MatrixRow


class Score(Document):
    """The score of a submission. Null: not defined without a model file."""

    accuracy: Unit
    """Correct / expected images."""
    f1_by_class: ByClass
    """F1 of each class."""
    f1_malignant: Unit
    """Mean of BCC, SCC, MEL."""
    f1_medium: Unit
    """Mean of SK, VASC."""
    f1_benign: Unit
    """Mean of AK, DF, NV, NON, ON."""
    weighted_f1: Unit
    """The three means, weighted 3, 2 and 1."""
    prediction_score: NonNegative
    """Mean of accuracy and weighted_f1. This and what follows is at most 1 under the protocol as it is."""
    efficiency_score: NonNegative | None
    """Mean of the parts for size and speed."""
    final_score: NonNegative | None
    """0.9 prediction_score + 0.1 efficiency_score."""
    points: NonNegative | None
    """100 final_score."""
    confusion_matrix: Matrix
    """Images by true and predicted class."""


CASES = Contract(
    id="lesions/cases", model=Cases, record=Case, list_key="cases", flat=True, source="lesions.md",
    title="Images to be classified",
    rules=(Unique(within="cases", fields=("image_id",), code="MC201", message="'image_id' is repeated",
                  hint="each image stands here once"),),
)  # fmt: skip
TRUTH = Contract(
    id="lesions/truth", model=Truth, record=TruthRecord, list_key="labels", flat=True, source="lesions.md",
    title="Ground truth of lesion classification",
    rules=(Unique(within="labels", fields=("image_id",), code="MC201", message="'image_id' is repeated",
                  hint="each image stands here once"),),
)  # fmt: skip
PREDICTIONS = Contract(
    id="lesions/predictions", model=Predictions, record=AnyPrediction, list_key="predictions",
    flat=True, spread=(("probabilities", CLASSES),), source="lesions.md",
    title="Predictions of lesion classification",
    record_rules=(Sum(field="probabilities", minimum=0.999, maximum=1.001, code="MC202",
                      message="the probabilities do not sum to 1",
                      hint="apply softmax, and write enough decimals: the sum may be off by 0.001"),),
    rules=(
        Unique(within="predictions", fields=("image_id",), code="MC201", message="'image_id' is repeated",
               hint="one record an image"),
        Reference(other="lesions/truth", field="image_id", code="MC303", message="no image of this id is expected",
                  hint="check upper and lower case, blanks and file endings"),
        Covers(other="lesions/truth", field="image_id", code="MC302", message="an expected image has no record",
               hint="write a record with 'error' for what could not be processed"),
    ),
)  # fmt: skip
MODEL = Contract(
    id="lesions/model", model=Model, source="lesions.md", title="Size and speed of a model",
    rules=(
        Limit(field="model_size_mb", minimum=150, code="MC212", severity="warning",
              message="the model has 150 MB or more", hint="it gets no points for size; the source asks for less"),
        Limit(field="model_size_mb", minimum=50, below=150, code="MC501", severity="warning",
              message="the model has 50 MB or more", hint="below 50 MB it gets all points for size"),
    ),
)  # fmt: skip
SCORE = Contract(id="lesions/score", model=Score, source="lesions.md", title="Score of a submission", output=True)

CONTRACTS = (CASES, MODEL, PREDICTIONS, SCORE, TRUTH)
