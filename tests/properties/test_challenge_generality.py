"""A challenge file can express the built-in tracks: exactly the same figures for the same submissions."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.challenge_files import write
from tests.scoring_files import CLASSES, OFF, Record, answer, no_answer, report
from tests.scoring_files import write as write_collection

import medcontract
from medcontract import Challenge
from medcontract.scoring import tracks

SPECIALTIES = ("Cardiology", "Neurology", "Oncology", "Internal Medicine", "Emergency Medicine", "Other")
URGENCIES = ("Emergency", "Urgent", "Routine")
GROUPS = {"malignant": ("BCC", "SCC", "MEL"), "medium": ("SK", "VASC"), "benign": ("AK", "DF", "NV", "NON", "ON")}
SEEDS = range(40)


def parameter(track: str, name: str) -> Any:
    return tracks.track(track).protocol[name]


def lesions_challenge() -> Challenge:
    """The weight of a class is the weight of its group, divided by its size: a group counts by its mean."""
    weights = {
        name: float(parameter("lesions", f"weight_{group}") / len(names))
        for group, names in GROUPS.items()
        for name in names
    }
    assert (weights["MEL"], weights["SK"], weights["NV"]) == (1, 1, 0.2)
    listed = json.dumps(CLASSES)
    text = f"""
id = "skin"
key = "image_id"
[prediction]
label = {{ one_of = {listed} }}
[truth]
label = {{ one_of = {listed} }}
[[metric]]
name = "accuracy"
kind = "accuracy"
field = "label"
[[metric]]
name = "weighted_f1"
kind = "f1"
field = "label"
weights = {{ {", ".join(f"{name} = {weight}" for name, weight in weights.items())} }}
[score]
headline = "prediction_score"
[score.sums]
prediction_score = {{ accuracy = {float(parameter("lesions", "weight_accuracy"))}, weighted_f1 = {
        float(parameter("lesions", "weight_weighted_f1"))
    } }}
"""
    return Challenge.load(text.encode())


def reports_challenge() -> Challenge:
    weights = {name: float(parameter("reports", f"weight_{name.lower()}")) for name in URGENCIES}
    shares = {
        metric: float(100 * parameter("reports", f"weight_{name}"))
        for metric, name in (
            ("specialty_accuracy", "specialty"), ("urgency_f1", "urgency"), ("follow_up_f1", "follow_up"),
        )
    }  # fmt: skip
    assert sum(weights.values()) == 1  # so that the weighted mean is the weighted sum of the protocol
    fields = f"""
specialty = {{ one_of = {json.dumps(SPECIALTIES)} }}
urgency = {{ one_of = {json.dumps(URGENCIES)} }}
follow_up = {{ type = "boolean" }}
"""
    text = f"""
id = "clinical"
key = "report_id"
[prediction]{fields}
[truth]{fields}
[[metric]]
name = "specialty_accuracy"
kind = "accuracy"
field = "specialty"
[[metric]]
name = "urgency_f1"
kind = "f1"
field = "urgency"
weights = {{ {", ".join(f"{name} = {weight}" for name, weight in weights.items())} }}
[[metric]]
name = "follow_up_f1"
kind = "f1"
field = "follow_up"
positive = true
[score]
headline = "accuracy_score"
[score.sums]
accuracy_score = {{ {", ".join(f"{name} = {share}" for name, share in shares.items())} }}
"""
    return Challenge.load(text.encode())


def scored(challenge: Challenge, folder: Path, truth: list[Record], sent: list[Record]) -> medcontract.Score:
    folder.mkdir()
    files = [
        f"{challenge.id}/truth={write(folder / 'truth.jsonl', truth)}",
        f"{challenge.id}/predictions={write(folder / 'sent.jsonl', sent)}",
    ]
    with challenge:
        return medcontract.score(*files, parameters=OFF)


def fate(rng: random.Random) -> str:
    return rng.choice(("sent",) * 6 + ("missing", "failed", "invalid", "repeated"))


# --- lesions ----------------------------------------------------------------------------------------------------------


def probabilities(rng: random.Random, likely: str) -> list[float]:
    """Numbers that add up to 1, often with ties."""
    tied = rng.sample(range(10), rng.choice((1, 1, 2, 4, 5)))
    if len(tied) == 1 and rng.random() < 0.6:
        tied = [CLASSES.index(likely)]
    return [1 / len(tied) if n in tied else 0.0 for n in range(10)]


def label_of(values: list[float]) -> str:
    """The class with the largest probability, the first on ties."""
    return CLASSES[values.index(max(values))]


def lesion_files(rng: random.Random) -> tuple[list[Record], list[Record], list[Record]]:
    """A truth, a submission of the built-in track, and the same one as labels."""
    classes = rng.sample(CLASSES, rng.choice((2, 5, 10)))
    truth = [{"image_id": f"I{n}", "label": rng.choice(classes)} for n in range(rng.randint(1, 60))]
    built_in: list[Record] = []
    labels: list[Record] = []
    for true in truth:
        values, key, what = probabilities(rng, true["label"]), {"image_id": true["image_id"]}, fate(rng)
        if what == "failed":
            built_in.append({**key, "error": "timeout"})
            labels.append({**key, "error": "timeout"})
        elif what != "missing":
            wrong = what == "invalid"
            times = 2 if what == "repeated" else 1
            built_in += [{**key, "probabilities": [0.5] * 10 if wrong else values}] * times
            labels += [{**key, "label": "none" if wrong else label_of(values)}] * times
    return truth, built_in, labels


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.sampled(4)
def test_lesions(seed: int, tmp_path: Path) -> None:
    """Accuracy, weighted F1, the F1 of each class and the confusion matrix are as in `lesions`."""
    truth, built_in, labels = lesion_files(random.Random(seed))
    files = [
        write_collection(tmp_path, "lesions/truth", truth),
        write_collection(tmp_path, "lesions/predictions", built_in, name="sent"),
    ]
    one = medcontract.score(*files, parameters=OFF)
    two = scored(lesions_challenge(), tmp_path / "challenge", truth, labels)
    assert one.result is not None
    assert two.result is not None
    assert (two.processing, two.valid) == (one.processing, one.valid)
    assert two.result["metrics"] == {name: one.result[name] for name in ("accuracy", "weighted_f1")}
    assert two.result["sums"] == {"prediction_score": one.result["prediction_score"]}
    assert two.result["by_class"]["weighted_f1"] == one.result["f1_by_class"]
    assert two.result["confusion_matrix"]["label"] == one.result["confusion_matrix"]


# --- reports ----------------------------------------------------------------------------------------------------------


def report_files(rng: random.Random) -> tuple[list[Record], list[Record], list[Record]]:
    """A truth, a submission of the built-in track with a single run, and the same one without times."""
    truth = [
        report(f"R{n}", rng.choice(SPECIALTIES), rng.choice(URGENCIES), rng.random() < 0.4)
        for n in range(rng.randint(1, 60))
    ]
    built_in: list[Record] = []
    plain: list[Record] = []
    for true in truth:
        what = fate(rng)
        changes: Record = {}
        if rng.random() < 0.5:
            changes = {"specialty": rng.choice(SPECIALTIES), "urgency": rng.choice(URGENCIES)}
        if rng.random() < 0.3:
            changes["follow_up"] = not true["follow_up"]
        if what == "invalid":
            changes["urgency"] = "urgent"
        if what == "failed":
            built_in.append(no_answer(true["report_id"]))
            plain.append({"report_id": true["report_id"], "error": "timeout"})
        elif what != "missing":
            times = 2 if what == "repeated" else 1
            built_in += [answer(true, **changes)] * times
            plain += [{**true, **changes}] * times
    return truth, built_in, plain


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.sampled(4)
def test_reports(seed: int, tmp_path: Path) -> None:
    """The accuracy part of a single run is as in `reports`."""
    truth, built_in, plain = report_files(random.Random(seed))
    files = [
        write_collection(tmp_path, "reports/truth", truth),
        write_collection(tmp_path, "reports/predictions", built_in, name="sent"),
    ]
    one = medcontract.score(*files, parameters=OFF)
    two = scored(reports_challenge(), tmp_path / "challenge", truth, plain)
    assert one.result is not None
    assert two.result is not None
    assert two.processing == one.processing
    names = ("specialty_accuracy", "urgency_f1", "follow_up_f1")
    assert two.result["metrics"] == {name: one.result[name] for name in names}
    assert two.result["sums"] == {"accuracy_score": one.result["accuracy_score"]}
    assert two.result["by_class"]["urgency_f1"] == one.result["urgency_f1_by_class"]
