"""Track `lesions`: skin lesion classification from an image and demographic data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field
from pydantic.fields import FieldInfo

from medcontract.contracts.base import (
    AcceptIntegral,
    AlwaysTrue,
    Count,
    Document,
    Either,
    ListOf,
    NoError,
    NonNegative,
    Positive,
    RelativePath,
    Str,
    StrictModel,
    Text,
    Unit,
)  # fmt: skip
from medcontract.contracts.contract import Contract, StandIn
from medcontract.contracts.lesion_classes import CLASSES, LESION_CLASSES, class_named, symbols_of
from medcontract.contracts.rules import Covers, ForbidValue, Limit, Reference, Sum, Unique
from medcontract.contracts.wrong_values import no_reason_rule

if TYPE_CHECKING:
    Symbol = str
else:
    Symbol = Literal[CLASSES]

_ALL_CLASSES = ", ".join(each.text for each in LESION_CLASSES)


def _describe(template: str, symbol: str) -> FieldInfo:
    """Return the description of a field about one class."""
    field: FieldInfo = Field(description=template.format(class_named(symbol).text))
    return field


def _f1(symbol: str) -> FieldInfo:
    return _describe("F1 of the class {}, from 0 to 1.", symbol)


def _predicted(symbol: str) -> FieldInfo:
    return _describe("Number of images predicted as {}.", symbol)


def _true(symbol: str) -> FieldInfo:
    return _describe("Images whose true class is {}, by predicted class.", symbol)


def _mean_f1(clinical_type: str) -> FieldInfo:
    classes = ", ".join(symbols_of(clinical_type))
    field: FieldInfo = Field(description=f"Mean F1 of the {clinical_type} classes {classes}, from 0 to 1.")
    return field


class Case(StrictModel):
    """An image and the demographic data of the patient."""

    image_id: Str
    """The id of the image; unique in the file."""
    image_path: RelativePath
    """Relative path of the image, a JPEG or PNG file."""
    age: Annotated[int, Field(ge=0, le=120), AcceptIntegral]
    """Age of the patient, in years."""
    gender: Literal["m", "f"]
    """Gender of the patient; m: male, f: female."""
    location: Annotated[int, Field(ge=1, le=7), AcceptIntegral]
    """Location of the lesion; 1: arm, 2: feet, 3: genitalia, 4: hand, 5: head, 6: leg, 7: torso."""


class Cases(Document):
    """The input of a model."""

    event: Str | None = None
    """Name of the evaluation."""
    cases: ListOf[Case]
    """One record per image."""


class TruthRecord(StrictModel):
    """The correct class of one image."""

    image_id: Str
    """The id of the image; unique in the file."""
    label: Annotated[Symbol, Field(description=f"The class of the lesion: {_ALL_CLASSES}.")]


class Truth(Document):
    """The ground truth of all images."""

    event: Str | None = None
    """Name of the evaluation."""
    labels: ListOf[TruthRecord]
    """One record per image."""


class Prediction(StrictModel):
    """What a model predicts for one image."""

    image_id: Str
    """The id of the image, as in the truth."""
    probabilities: Annotated[
        ListOf[Unit],
        Field(
            min_length=10,
            max_length=10,
            description=f"One probability per class, in this order: {_ALL_CLASSES}. Their sum is 1.",
        ),
    ]
    error: NoError = None
    """Absent, null or blank: no error, the image was processed."""


class FailedPrediction(StrictModel):
    """An image that a model could not process."""

    image_id: Str
    """The id of the image, as in the truth."""
    error: Str
    """Why the image could not be processed."""
    probabilities: None = None
    """Absent or null: a failed image has no probabilities."""


AnyPrediction: TypeAlias = Either[Prediction, FailedPrediction]


class Predictions(Document):
    """The submission of one team."""

    team_name: Str
    """Name of the team that submits the predictions."""
    predictions: ListOf[AnyPrediction]
    """One record per image."""


class Model(Document):
    """Properties of a model. For a ranking, the organizer measures them and writes this file."""

    team_name: Str
    """Name of the team that submits the model."""
    model_size_mb: Positive
    """Size of the model, in MB."""
    inference_time_ms: Positive
    """Inference time per image on the CPU of the organizer, in milliseconds."""
    uses_image: AlwaysTrue
    """Whether the model uses the image; must be true."""
    uses_demographics: AlwaysTrue
    """Whether the model uses the demographic data; must be true."""
    hardware: Text | None = None
    """The hardware on which the inference time was measured."""
    gpu: bool | None = None
    """Whether the inference time was measured with a GPU; in the competition it is measured without."""
    model_file: RelativePath | None = None
    """Relative path of the model, from the folder of the submission."""
    inference_script: RelativePath | None = None
    """Relative path of the script that runs the model, from the folder of the submission; required by `preflight`."""


class ByClass(StrictModel):
    """F1 of each class."""

    AK: Annotated[Unit, _f1("AK")]
    BCC: Annotated[Unit, _f1("BCC")]
    SK: Annotated[Unit, _f1("SK")]
    SCC: Annotated[Unit, _f1("SCC")]
    VASC: Annotated[Unit, _f1("VASC")]
    DF: Annotated[Unit, _f1("DF")]
    NV: Annotated[Unit, _f1("NV")]
    NON: Annotated[Unit, _f1("NON")]
    MEL: Annotated[Unit, _f1("MEL")]
    ON: Annotated[Unit, _f1("ON")]


class MatrixRow(StrictModel):
    """Number of images of one true class, by predicted class."""

    AK: Annotated[Count, _predicted("AK")]
    BCC: Annotated[Count, _predicted("BCC")]
    SK: Annotated[Count, _predicted("SK")]
    SCC: Annotated[Count, _predicted("SCC")]
    VASC: Annotated[Count, _predicted("VASC")]
    DF: Annotated[Count, _predicted("DF")]
    NV: Annotated[Count, _predicted("NV")]
    NON: Annotated[Count, _predicted("NON")]
    MEL: Annotated[Count, _predicted("MEL")]
    ON: Annotated[Count, _predicted("ON")]
    unprocessed: Count
    """Number of images without a valid prediction."""


class Matrix(StrictModel):
    """Confusion matrix: one row per true class."""

    AK: Annotated[MatrixRow, _true("AK")]
    BCC: Annotated[MatrixRow, _true("BCC")]
    SK: Annotated[MatrixRow, _true("SK")]
    SCC: Annotated[MatrixRow, _true("SCC")]
    VASC: Annotated[MatrixRow, _true("VASC")]
    DF: Annotated[MatrixRow, _true("DF")]
    NV: Annotated[MatrixRow, _true("NV")]
    NON: Annotated[MatrixRow, _true("NON")]
    MEL: Annotated[MatrixRow, _true("MEL")]
    ON: Annotated[MatrixRow, _true("ON")]


class Score(Document):
    """Figures of a submission. Null means undefined: these figures need a lesions/model file."""

    accuracy: Unit
    """Correctly classified / expected images, from 0 to 1."""
    f1_by_class: ByClass
    """F1 of each class."""
    f1_malignant: Annotated[Unit, _mean_f1("malignant")]
    f1_medium: Annotated[Unit, _mean_f1("medium risk")]
    f1_benign: Annotated[Unit, _mean_f1("benign")]
    weighted_f1: Unit
    """The three means of F1, weighted 3, 2 and 1, from 0 to 1."""
    prediction_score: NonNegative
    """Mean of accuracy and weighted_f1; at most 1 with the default protocol."""
    efficiency_score: NonNegative | None
    """Mean of the scores for model size and inference time; at most 1 with the default protocol."""
    final_score: NonNegative | None
    """0.9 prediction_score + 0.1 efficiency_score; at most 1 with the default protocol."""
    points: NonNegative | None
    """100 × final_score; at most 100 with the default protocol."""
    confusion_matrix: Matrix
    """Number of images by true and predicted class."""


CASES = Contract(
    id="lesions/cases", model=Cases, record=Case, list_key="cases", flat=True, source="docs/tracks/lesions.md",
    title="Images to classify", stands_in_for=(StandIn("lesions/truth"),),
    rules=(Unique.of("cases", "image_id", "list each image once"),),
)  # fmt: skip
TRUTH = Contract(
    id="lesions/truth", model=Truth, record=TruthRecord, list_key="labels", flat=True, source="docs/tracks/lesions.md",
    title="Ground truth of lesion classification",
    rules=(Unique.of("labels", "image_id", "list each image once"),),
)  # fmt: skip
PREDICTIONS = Contract(
    id="lesions/predictions", model=Predictions, record=AnyPrediction, list_key="predictions",
    flat=True, spread=(("probabilities", CLASSES),), source="docs/tracks/lesions.md",
    title="Predictions of lesion classification",
    record_rules=(Sum(field="probabilities", minimum=0.999, maximum=1.001, code="MC202",
                      message="the probabilities do not sum to 1",
                      hint="each image has one class, so the sum is 1, with a tolerance of 0.001"), no_reason_rule()),
    rules=(
        Unique.of("predictions", "image_id", "write one record per image"),
        Reference(other="lesions/truth", field="image_id", code="MC303", message="no image with this id is expected",
                  hint="check case, spaces and file extensions"),
        Covers(other="lesions/truth", field="image_id", code="MC302", message="an expected image has no record",
               hint="write a record with 'error' if it could not be processed"),
    ),
)  # fmt: skip
MODEL = Contract(
    id="lesions/model", model=Model, source="docs/tracks/lesions.md", title="Size and speed of a model",
    rules=(
        Limit(field="model_size_mb", minimum=150, code="MC212", severity="warning",
              message="the model size is 150 MB or more",
              hint="reduce it below 150 MB to get points for size; the unit is MB, not bytes or kB"),
        Limit(field="model_size_mb", minimum=50, below=150, code="MC501", severity="warning",
              message="the model size is 50 MB or more", hint="reduce it below 50 MB to get all points for size"),
        ForbidValue(field="gpu", value=True, code="MC229", severity="warning",
                    message="the inference time was measured with a GPU",
                    hint="measure it on a CPU; otherwise there is no score for efficiency"),
    ),
)  # fmt: skip
SCORE = Contract(
    id="lesions/score",
    model=Score,
    source="docs/tracks/lesions.md",
    title="Score of a submission",
    output=True,
    result=True,
)

CONTRACTS = (CASES, MODEL, PREDICTIONS, SCORE, TRUTH)
