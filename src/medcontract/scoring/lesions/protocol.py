"""The parameters and figures of the track `lesions`."""

from __future__ import annotations

from typing import Literal

from medcontract.contracts.lesion_classes import symbols_of
from medcontract.scoring.protocol import MIN_PROCESSED, Change, Protocol, parameters
from medcontract.scoring.track import Figure

GROUPS = {"malignant": symbols_of("malignant"), "medium": symbols_of("medium risk"), "benign": symbols_of("benign")}

PROTOCOL = Protocol(
    id="lesions",
    version=2,
    changes=(
        Change(1, "first version"),
        Change(
            2,
            "with an inference time that was measured with a GPU there are no efficiency_score, final_score and "
            "points, since the source measures it on a CPU",
        ),
    ),
    parameters=(
        MIN_PROCESSED,
        *parameters(
            "docs/tracks/lesions.md#predictions",
            weight_malignant=("3", "weight of f1_malignant in weighted_f1", {"above": True}),
            weight_medium=("2", "weight of f1_medium in weighted_f1"),
            weight_benign=("1", "weight of f1_benign in weighted_f1"),
            weight_accuracy=("0.5", "share of accuracy in prediction_score"),
            weight_weighted_f1=("0.5", "share of weighted_f1 in prediction_score"),
        ),
        *parameters(
            "docs/tracks/lesions.md#efficiency",
            size_full_below_mb=("50", "smaller models get all points for size"),
            size_min_mb=("20", "size with all points according to the formula"),
            size_max_mb=("150", "size without points according to the formula; at least size_min_mb"),
            weight_size=("0.5", "share of the size part in efficiency_score"),
            weight_time=("0.5", "share of the time part in efficiency_score"),
        ),
        *parameters(
            "docs/tracks/lesions.md#efficiency",
            t_min_ms=(None, "shortest inference_time_ms; null: the time of this submission"),
            t_max_ms=(None, "longest inference_time_ms; null: the time of this submission"),
        ),
        *parameters(
            "docs/tracks/lesions.md#final-score",
            weight_prediction=("0.9", "share of prediction_score in final_score"),
            weight_efficiency=("0.1", "share of efficiency_score in final_score"),
        ),
    ),
)


def _mean_f1(group: str) -> str:
    return f"mean F1 of {', '.join(GROUPS[group])}"


_RIGHT_ONE: Literal["a right one never helps"] = "a right one never helps"
FIGURES = (
    Figure(
        name="accuracy", about="correctly classified / expected images", perfect=1, leaving_out="never helps",
    ),
    Figure(
        name="f1_by_class",
        about="2·TP / (2·TP + FP + FN) of each class; an unprocessed image is a FN of its true class",
        perfect=1, leaving_out=_RIGHT_ONE, by="class",
    ),
    Figure(name="f1_malignant", about=_mean_f1("malignant"), perfect=1, leaving_out=_RIGHT_ONE, by="class"),
    Figure(name="f1_medium", about=_mean_f1("medium"), perfect=1, leaving_out=_RIGHT_ONE, by="class"),
    Figure(name="f1_benign", about=_mean_f1("benign"), perfect=1, leaving_out=_RIGHT_ONE, by="class"),
    Figure(
        name="weighted_f1", about="weighted mean of f1_malignant, f1_medium and f1_benign",
        perfect=1, leaving_out=_RIGHT_ONE,
    ),
    Figure(
        name="prediction_score", about="weight_accuracy·accuracy + weight_weighted_f1·weighted_f1",
        perfect=1, leaving_out=_RIGHT_ONE,
    ),
    Figure(
        name="efficiency_score",
        about="weight_size·size + weight_time·time; size: 1 below size_full_below_mb, else "
        "1 − (S − size_min_mb)/(size_max_mb − size_min_mb); time: 1 − (T − t_min_ms)/(t_max_ms − t_min_ms), 1 if "
        "t_min_ms = t_max_ms; both within [0, 1]", measured_in="lesions/model",
    ),
    Figure(
        name="final_score", about="weight_prediction·prediction_score + weight_efficiency·efficiency_score",
        leaving_out=_RIGHT_ONE,
    ),
    Figure(name="points", about="100·final_score", high=100, leaving_out=_RIGHT_ONE, unit="points"),
    Figure(
        name="confusion_matrix", about="number of images by true and predicted class, and of unprocessed ones",
        high=None, by="class",
    ),
)  # fmt: skip
