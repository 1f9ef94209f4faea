"""A combined score for an existing report."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from medcontract.errors import WrongWeights, option, words
from medcontract.problems import plain_name
from medcontract.scoring.benchmark.combining import Weighting, combine, warn_unused
from medcontract.scoring.benchmark.metrics import CLINICAL
from medcontract.scoring.rational import rounded, rounded_or_none
from medcontract.scoring.scorer import Finished
from medcontract.types import JsonObject

if TYPE_CHECKING:
    from medcontract.contracts import benchmark as contract

Number = TypeVar("Number", Fraction, float)
_NO_GATE = "an existing report has no processing gate: how many samples were processed is not known"


def add_combined(
    report: contract.BenchmarkReport, weights: Weighting, replace: bool, fields: Mapping[str, str]
) -> Finished:
    """Return the report with a combined score. Raises `WrongWeights`."""
    said = {name: value for name, value in _plain(report).items() if value is not None}
    name = weights.metric_name
    tasks, overall = said["task_scores"], said["overall_scores"]
    if not replace:
        check_name_is_free(name, {*overall, *(metric for metrics in tasks.values() for metric in metrics)})
    exact = {task: {metric: Fraction(v) for metric, v in metrics.items()} for task, metrics in tasks.items()}
    found = combine(exact, weights)
    result = {
        **said,
        **fields,
        "overall_scores": with_first(name, rounded(found.overall), overall),
        "task_scores": {
            task: with_first(name, rounded_or_none(found.by_task.get(task)), metrics) for task, metrics in tasks.items()
        },
        "metadata": _with_weights(said.get("metadata", {}), weights),
    }
    second = overall.get(CLINICAL)
    return Finished(
        result=result, headline=found.overall, headline_name=name,
        second=None if second is None else Fraction(second), warnings=(_NO_GATE, *warn_unused(found, exact, weights)),
    )  # fmt: skip


def _with_weights(metadata: JsonObject, weights: Weighting) -> JsonObject:
    """Return the metadata with the weights of this score added to the weights of others."""
    known = metadata.get("combined_scores")
    return {**metadata, "combined_scores": {**(known if isinstance(known, dict) else {}), **weights.describe()}}


def _plain(report: contract.BenchmarkReport) -> JsonObject:
    data: JsonObject = report.model_dump(by_alias=True)
    data.pop("$schema", None)
    return data


def with_first(name: str, value: Number | None, metrics: Mapping[str, Number]) -> dict[str, Number]:
    """Return the metrics with one in front, or without it if it has no value."""
    others = {other: each for other, each in metrics.items() if other != name}
    return others if value is None else {name: value, **others}


def check_name_is_free(name: str, known: Collection[str]) -> None:
    """Existing metrics are not overwritten. Raises `WrongWeights`."""
    if name in known:
        raise WrongWeights(
            f"a metric '{plain_name(name)}' already exists",
            words(
                "pass another ",
                option("--metric-name"),
                " for the combined score, or ",
                option("--replace", True),
                " to overwrite the metric",
            ),
        )
