"""Intervals agree with a plain bootstrap of scikit-learn figures, within its Monte Carlo error."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn import metrics
from tests.metric_cases import FLAG, LABEL, PROBABILITY, Variant, variant

from medcontract.scoring.metrics.resampled import ResampledCases
from medcontract.uncertainty.intervals import percentiles
from medcontract.uncertainty.sample import Sample

LEVEL = Fraction(95, 100)
CASES, RESAMPLES = 400, 4000
_ERROR = 0.38
"""Of both percentiles, in standard deviations: 4·√(0.025·0.975·(1/1000 + 1/4000)) / 0.0584."""
FIGURES: dict[str, tuple[Variant, Callable[[Any, Any], float]]] = {
    "accuracy": (variant("accuracy", LABEL), metrics.accuracy_score),
    "macro F1": (
        variant("f1", LABEL, average="macro"),
        lambda y, p: metrics.f1_score(y, p, average="macro", labels=LABEL.values),
    ),
    "kappa": (variant("kappa", LABEL, weights="none"), metrics.cohen_kappa_score),
    "mcc": (variant("mcc", LABEL), metrics.matthews_corrcoef),
    "AUROC": (variant("auroc", PROBABILITY, FLAG, positive=True), metrics.roc_auc_score),
    "average precision": (
        variant("average_precision", PROBABILITY, FLAG, positive=True),
        metrics.average_precision_score,
    ),
    "Brier": (variant("brier", PROBABILITY, FLAG, positive=True), metrics.brier_score_loss),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_a_plain_bootstrap(name: str) -> None:
    """Drawing n of n cases with replacement, as everybody does, gives the same interval."""
    figure, theirs = FIGURES[name]
    random = np.random.default_rng(3)
    if figure.metric.kind.positive_case:
        true: Any = random.random(CASES) < 0.3
        said: Any = np.clip(random.normal(0.4 + 0.3 * true, 0.2), 0, 1)
    else:
        true = random.choice(LABEL.values, CASES, p=(0.5, 0.3, 0.2))
        said = np.where(random.random(CASES) < 0.7, true, random.choice(LABEL.values, CASES))
    sample = Sample([f"{case}" for case in range(CASES)], RESAMPLES, distinct=True)
    columns = {figure.metric.truth.name: true.tolist()}, {figure.metric.prediction.name: said.tolist()}
    ours = ResampledCases(sample, *columns).resampled(figure.metric, figure.parameters).figure.values
    assert ours[0] == pytest.approx(theirs(true, said), abs=1e-12)
    plain = []
    for _ in range(RESAMPLES // 4):
        drawn = random.integers(0, CASES, CASES)
        plain.append(theirs(true[drawn], said[drawn]))
    spread = np.std(plain)
    for bound, other in zip(percentiles(ours[1:], LEVEL), percentiles(np.array(plain), LEVEL), strict=True):
        assert (
            abs(bound - other) < 0.35 * spread
        )  # 4 standard errors of such a percentile: √(0.025 · 0.975 / 1000) / 0.058
