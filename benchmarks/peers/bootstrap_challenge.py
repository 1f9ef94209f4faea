"""Intervals of accuracy, macro F1 and AUROC of a challenge: 1,000 resamples with scikit-learn, without any checks.

bootstrap_challenge.py TRUTH FILE
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import orjson
import pandas as pd
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

RESAMPLES = 1000


def main() -> None:
    truth = pd.read_csv(sys.argv[1])
    with Path(sys.argv[2]).open("rb") as lines:
        predicted = pd.DataFrame(map(orjson.loads, lines))
    both = truth.merge(predicted, on="image_id", suffixes=("", "_predicted"))
    labels = pd.CategoricalDtype(sorted({*both["label"], *both["label_predicted"]}))  # much faster than strings
    true, said = (both[name].astype(labels).cat.codes.to_numpy() for name in ("label", "label_predicted"))
    positive, score = (both["label"] == "MEL").to_numpy(), both["probability"].to_numpy()
    random, found = np.random.default_rng(1), []
    for _ in range(RESAMPLES):
        drawn = random.integers(0, len(true), len(true))
        found.append((
            accuracy_score(true[drawn], said[drawn]),
            f1_score(true[drawn], said[drawn], average="macro"),
            roc_auc_score(positive[drawn], score[drawn]),
        ))  # fmt: skip
    bounds = np.percentile(np.array(found), (2.5, 97.5), axis=0).T.tolist()
    print(orjson.dumps(dict(zip(("accuracy", "macro_f1", "auroc"), bounds, strict=True))).decode())


if __name__ == "__main__":
    main()
