"""Every metric in every replicate is the metric of the cases as often as they are drawn."""

from __future__ import annotations

from math import isnan
from random import Random

import pytest
from tests.metric_cases import VARIANTS, random_columns

from medcontract.scoring.metrics.resampled import Cases
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
    found = Cases(sample, *columns).resampled(metric, variant.parameters)
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
