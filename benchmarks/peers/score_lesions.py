"""Accuracy and F1 of lesion predictions with orjson, pandas and scikit-learn, without any checks.

score_lesions.py TRUTH FILE...; several files are ranked.
"""

from __future__ import annotations

import sys
from pathlib import Path

import orjson
import pandas as pd
from sklearn.metrics import accuracy_score, f1_score

CLASSES = ("AK", "BCC", "SK", "SCC", "VASC", "DF", "NV", "NON", "MEL", "ON")
NUMBERS = {name: number for number, name in enumerate(CLASSES)}
GROUPS = {3: ("BCC", "SCC", "MEL"), 2: ("SK", "VASC"), 1: ("AK", "DF", "NV", "NON", "ON")}
"""Classes by their weight."""


def score(truth: pd.Series[int], path: str) -> dict[str, float]:
    predicted = {}
    with Path(path).open("rb") as lines:
        for line in lines:
            record = orjson.loads(line)
            values = record["probabilities"]
            predicted[record["image_id"]] = values.index(max(values))
    labels = truth.index.map(predicted)
    by_class = f1_score(truth, labels, labels=range(len(CLASSES)), average=None, zero_division=0)
    groups = {weight: sum(by_class[NUMBERS[name]] for name in names) / len(names) for weight, names in GROUPS.items()}
    weighted = sum(weight * f1 for weight, f1 in groups.items()) / sum(groups)
    return {"accuracy": float(accuracy_score(truth, labels)), "weighted_f1": float(weighted)}


def main() -> None:
    truth = pd.read_csv(sys.argv[1], index_col="image_id")["label"].map(NUMBERS)
    scores = [score(truth, path) for path in sys.argv[2:]]
    scores.sort(key=lambda each: each["accuracy"] + each["weighted_f1"], reverse=True)
    for each in scores:
        print(orjson.dumps(each).decode())


if __name__ == "__main__":
    main()
