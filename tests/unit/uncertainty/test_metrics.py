"""Every metric in every replicate is the metric of the cases as often as they are drawn."""

from __future__ import annotations

from math import isnan
from random import Random
from typing import Any

import pytest
from tests.metric_cases import VARIANTS, random_columns

from medcontract.scoring.metrics.resampled import ResampledCases
from medcontract.uncertainty.sample import Sample

RESAMPLES = 100
LARGEST = 1.7e308
"""Figures beyond it (r2 of almost equal truths) have no double."""


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("clustered", [False, True], ids=["cases", "clusters"])
@pytest.mark.parametrize("name", VARIANTS)
def test_a_replicate_is_the_metric_of_repeated_cases(name: str, clustered: bool, seed: int) -> None:
    """The formulas for all replicates at once are those for one submission, of each case as often as it is drawn."""
    variant = VARIANTS[name]
    metric, field = variant.metric, variant.metric.truth.name
    truths, predictions = random_columns(metric, Random(f"{name} {seed}"), 60)
    full = variant.value(truths, predictions)
    if full.value is None:
        pytest.skip("undefined for these cases")
    units = [(str(place // 3 if clustered else place),) for place in range(len(truths))]
    sample = Sample(units, RESAMPLES, clustered)
    of_truth = {field: truths}
    if metric.event is not None:
        times = [truth or (None, None) for truth in truths]
        of_truth = {field: [time for time, _ in times], metric.event.name: [event for _, event in times]}
    columns = of_truth, {metric.prediction.name: predictions}
    found = ResampledCases(sample, *columns).resampled(metric, variant.parameters)
    compared = 0
    for row in range(RESAMPLES + 1):
        drawn = [place for place, times in enumerate(sample.weights_by_case(row)) for _ in range(times)]
        some = [truths[place] for place in drawn]
        if not set(truths) - {None} <= set(some):
            continue  # a class that is not there keeps its value: see `test_rules.py`
        compared += 1
        expected = variant.value(some, [predictions[place] for place in drawn])
        got = found.figure.values[row]
        if expected.value is None or abs(expected.value) > LARGEST:
            assert isnan(got)
        else:
            assert got == pytest.approx(float(expected.value), abs=1e-11)
        for label, figure in found.by_class.items():
            assert figure.values[row] == pytest.approx(float((expected.by_class or {})[label]), abs=1e-11)
    assert compared


def test_the_denominator_of_a_precision() -> None:
    """Its units are those with a case that is predicted to be of the class, or not processed: here 2 of 3 clusters."""
    variant = VARIANTS["precision label macro"]
    truths, predictions = ["a", "a", "b", "b", "a", "c"], ["a", "a", "b", "b", None, "c"]
    sample = Sample([(unit,) for unit in "xxyyzy"], RESAMPLES, clustered=True)
    found = ResampledCases(sample, {"label": truths}, {"label": predictions}).resampled(
        variant.metric, variant.parameters
    )
    assert {label: sample.units_of(figure.cases) for label, figure in found.by_class.items()} == {
        "a": 2,
        "b": 1,
        "c": 1,
    }


def test_a_replicate_without_a_class() -> None:
    """F1 of a class that is not drawn keeps its value, also in the mean; AUROC needs positives and negatives."""
    truths, predictions = ["a", "a", "b", "b", "c"], ["a", "a", "b", "c", "c"]
    sample = Sample([(str(place),) for place in range(5)], RESAMPLES)
    said: dict[str, list[Any]] = {"label": predictions, "probability": [0.1, 0.2, 0.9, 0.8, 0.3]}
    f1, auroc = VARIANTS["f1 label macro"], VARIANTS["auroc probability b"]
    found = ResampledCases(sample, {"label": truths}, said).resampled(f1.metric, f1.parameters)
    ranked = ResampledCases(sample, {"label": truths}, said).resampled(auroc.metric, auroc.parameters).figure
    drawn = [[int(weight) for weight in sample.weights_by_case(row)] for row in range(RESAMPLES + 1)]
    without = [row for row, weights in enumerate(drawn) if not weights[4]]
    assert without
    for row in without:
        first, second, right, wrong, _ = drawn[row]
        of_b = 2 * right / (2 * right + wrong) if right + wrong else 2 / 3
        assert [figure.values[row] for figure in found.by_class.values()] == pytest.approx([1, of_b, 2 / 3])
        assert found.figure.values[row] == pytest.approx((1 + of_b + 2 / 3) / 3)
        assert isnan(ranked.values[row]) == (not right + wrong or not first + second)
