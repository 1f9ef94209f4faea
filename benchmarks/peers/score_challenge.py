"""Accuracy, macro F1 and AUROC of a challenge with orjson, pandas and scikit-learn, without any checks.

score_challenge.py TRUTH FILE
"""

from __future__ import annotations

import sys
from pathlib import Path

import orjson
import pandas as pd
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score


def main() -> None:
    truth = pd.read_csv(sys.argv[1])
    with Path(sys.argv[2]).open("rb") as lines:
        predicted = pd.DataFrame(map(orjson.loads, lines))
    both = truth.merge(predicted, on="image_id", suffixes=("", "_predicted"))
    labels = pd.CategoricalDtype(sorted({*both["label"], *both["label_predicted"]}))  # much faster than strings
    true, said = (both[name].astype(labels).cat.codes for name in ("label", "label_predicted"))
    figures = {
        "accuracy": accuracy_score(true, said),
        "macro_f1": f1_score(true, said, average="macro"),
        "auroc": roc_auc_score(both["label"] == "MEL", both["probability"]),
    }
    print(orjson.dumps({name: float(value) for name, value in figures.items()}).decode())


if __name__ == "__main__":
    main()
