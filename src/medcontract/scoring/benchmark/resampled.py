"""The metrics of tasks, and what is combined from them, in every replicate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from medcontract.problems import pointer
from medcontract.scoring.benchmark.combining import Weighting
from medcontract.scoring.benchmark.metrics import CLINICAL
from medcontract.scoring.benchmark.samples import Item, Mark
from medcontract.scoring.resampling import Samples
from medcontract.scoring.scorer import Answers
from medcontract.uncertainty.figures import Resampled, Resampling, combined, kept, mean, quotient
from medcontract.uncertainty.sample import Sample

_Metrics = dict[str, Resampled]


def resampled(answers: Answers, samples: Samples, result: Mapping[str, Any], weights: Weighting | None) -> Resampling:
    pairing = answers.pairing()
    items: Sequence[Item] = pairing.expected.items
    marks = pairing.runs()[""].listed(len(items))
    tasks = {name: code for code, name in enumerate(result["task_scores"])}
    task_of = np.array([tasks[item.task] for item in items], np.int64)
    combined_name = weights.metric_name if weights else None
    names = dict.fromkeys(name for metrics in result["task_scores"].values() for name in metrics)
    by_task: dict[str, _Metrics] = {task: {} for task in tasks}
    for name in names:
        for task, figure in _metric(name, samples.whole, items, marks, task_of, tasks).items():
            by_task[task][name] = figure
    overall = {
        name: mean(metrics[name] for metrics in by_task.values() if name in metrics)
        for name in names
        if name != combined_name or any(name in metrics for metrics in by_task.values())
    }
    headline = overall.get(CLINICAL)
    if weights is not None:
        scores = {task: score for task, metrics in by_task.items() if (score := _combined(metrics, weights))}
        headline = overall[weights.metric_name] = mean(scores.values())
        for task, score in scores.items():
            by_task[task][weights.metric_name] = score
    figures = {pointer(("overall_scores", name)): figure for name, figure in overall.items()}
    for task, metrics in by_task.items():
        figures |= {pointer(("task_scores", task, name)): figure for name, figure in metrics.items()}
    return Resampling(figures=figures, headline=headline)


def _metric(
    name: str, sample: Sample, items: Sequence[Item], marks: Sequence[Any], task_of: Any, tasks: Mapping[str, int]
) -> _Metrics:
    """Return the mean of a metric in each task that has it; a sample that is not processed may count as 0."""
    processed = np.array([type(mark) is Mark for mark in marks], bool)
    has = np.array([type(mark) is Mark and name in mark.values for mark in marks], bool)
    values = np.array([float(mark.values[name]) if there else 0.0 for mark, there in zip(marks, has, strict=True)])
    required = ~processed & np.array([name in item.requires for item in items], bool)
    other = ~processed & ~required
    masks = has, required, other
    having, lost, others = sample.count(*((np.where(mask, task_of, -1), len(tasks)) for mask in masks))
    counted = having + lost + np.where(having > 0, others, 0)
    means = kept(quotient(sample.totals(values, task_of, len(tasks)), counted), counted)
    return {
        task: Resampled(values=means[:, code], cases=(task_of == code) & (has | ~processed))
        for task, code in tasks.items()
        if having[0, code] or lost[0, code]
    }


def _combined(metrics: _Metrics, weighting: Weighting) -> Resampled | None:
    """Return the combined score of a task, as `combining.combine` does; None if it has none."""
    weights = {name: float(weight) for name, weight in weighting.weights}
    parts = []
    for name, weight in weights.items():
        members = dict.fromkeys((name,) if name in metrics else weighting.categories.get(name, ()))
        present = [metrics[member] for member in members if member in metrics]
        if present:
            parts.append((weight, mean(present)))
    shared = sum(weight for weight, _ in parts) if weighting.renormalize else sum(weights.values())
    return combined(parts, divisor=shared) if parts and shared else None
