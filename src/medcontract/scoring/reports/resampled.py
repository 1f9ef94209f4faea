"""The figures of runs and of the submission in every replicate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from medcontract.scoring.pairing import marks
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.reports.runs import URGENCIES, Labels
from medcontract.scoring.resampling import Samples
from medcontract.scoring.scorer import Answers
from medcontract.uncertainty.figures import Array, Resampled, Resampling, combined, kept, mean, quotient
from medcontract.uncertainty.sample import Sample

_URGENCY = {name: code for code, name in enumerate(URGENCIES)}
_FOLLOW_UP = {True: 0, False: -1}


def resampled(answers: Answers, samples: Samples, result: Mapping[str, Any], protocol: Protocol) -> Resampling:
    pairing, sample = answers.pairing(), samples.whole
    telemetry = answers.documents.get("reports/telemetry")
    measured = {} if telemetry is None else {run.run_id: run for run in telemetry.runs}
    items = pairing.expected.items
    runs = [
        _run(sample, items, marks(pairing, row["run_id"]), row, measured.get(row["run_id"]), protocol)
        for row in result["runs"]
    ]
    figures = {place: mean([run[place] for run in runs]) for place in runs[0] if all(place in run for run in runs)}
    for number, run in enumerate(runs):
        figures |= {f"/runs/{number}{place}": figure for place, figure in run.items()}
    headline = figures["/accuracy_score" if result["total_score"] is None else "/total_score"]
    classes = {name: sum(item.urgency == name for item in items) for name in URGENCIES}
    classes["follow_up"] = sum(item.follow_up for item in items)
    return Resampling(figures=figures, headline=headline, classes=classes)


def _run(
    sample: Sample, items: Sequence[Labels], marked: Sequence[Any], row: Mapping[str, Any], telemetry: Any,
    protocol: Protocol,
) -> dict[str, Resampled]:  # fmt: skip
    """Return the figures of a run that depend on cases. `row`: of the result."""
    said = [None if mark is None else mark[0] for mark in marked]
    everything = np.ones(len(items), bool)
    right = [s is not None and s.specialty == item.specialty for s, item in zip(said, items, strict=True)]
    (specialties,) = sample.count((np.array(right, np.int64), 2))
    cases = specialties.sum(axis=1)
    specialty = Resampled(values=quotient(specialties[:, 1], cases), cases=everything, counted=len(items))
    urgencies = [None if s is None else s.urgency for s in said]
    f1s, true = _f1s(sample, _codes(_URGENCY, [item.urgency for item in items]), _codes(_URGENCY, urgencies))
    by_class = {name: Resampled(values=f1s[:, code], cases=np.asarray(true == code)) for name, code in _URGENCY.items()}
    follow_ups = [None if s is None else s.follow_up for s in said]
    f1s, true = _f1s(sample, _codes(_FOLLOW_UP, [item.follow_up for item in items]), _codes(_FOLLOW_UP, follow_ups))
    follow_up = Resampled(values=f1s[:, 0], cases=np.asarray(true == 0))

    def weight(name: str) -> float:
        return float(protocol[f"weight_{name}"])

    urgency = combined([(weight(name.lower()), each) for name, each in by_class.items()])
    parts = {"specialty": specialty, "urgency": urgency, "follow_up": follow_up}
    accuracy = combined([(100 * weight(name), each) for name, each in parts.items()])
    found = {
        "/specialty_accuracy": specialty, "/urgency_f1": urgency,
        **{f"/urgency_f1_by_class/{name}": each for name, each in by_class.items()},
        "/follow_up_f1": follow_up, "/accuracy_score": accuracy,
    }  # fmt: skip
    performance = row["performance_score"]
    if row["avg_processing_time"] is not None and getattr(telemetry, "avg_processing_time_sec", None) is None:
        penalties = row["memory_penalty"], row["cpu_penalty"]
        found |= _times(sample, marked, protocol, None if None in penalties else sum(penalties))
        total = [(1.0, accuracy), (1.0, found["/performance_score"])] if "/performance_score" in found else []
    else:
        total = [] if performance is None else [(1.0, accuracy)]
    if total:
        found["/total_score"] = combined(total, 0.0 if len(total) > 1 else performance)
    return found


def _times(
    sample: Sample, marked: Sequence[Any], protocol: Protocol, other_penalties: float | None
) -> dict[str, Resampled]:
    """Return the figures that depend on the times in the records."""
    there = np.array([mark is not None for mark in marked], bool)
    seconds = np.array([0.0 if mark is None else mark[1] for mark in marked])
    (processed,) = sample.count((np.where(there, 0, -1), 1))
    largest = float(seconds.max())
    totals = sample.total(seconds, largest) if largest else np.zeros(len(processed))
    time = Resampled(values=quotient(totals, processed[:, 0]), cases=there, scale=None)
    late = np.maximum(0.0, time.values - float(protocol["time_target_sec"]))
    penalty = Resampled(values=late * float(protocol["time_penalty_per_sec"]), cases=there, scale=None)
    found = {"/avg_processing_time": time, "/time_penalty": penalty}
    if other_penalties is not None:
        points = float(protocol["performance_points"]) - other_penalties
        found["/performance_score"] = combined([(-1.0, penalty)], points)
    return found


def _codes(codes: Mapping[Any, int], values: Sequence[Any]) -> Array:
    return np.array([-1 if value is None else codes[value] for value in values], np.int64)


def _f1s(sample: Sample, true: Array, said: Array) -> tuple[Array, Array]:
    """Return the F1 of each code, which keeps its value where no case has it, and the true codes."""
    size = len(_URGENCY)
    right = np.where(true == said, true, -1)
    actual, predicted, hits = sample.count((true, size), (said, size), (right, size))
    return kept(quotient(2 * hits, actual + predicted, empty=0.0), actual), true
