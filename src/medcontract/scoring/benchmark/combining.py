"""Several metrics in one: categories, weights, and the combined score of tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from medcontract.errors import CallError, WrongWeights
from medcontract.problems import is_plain, plain_name
from medcontract.scoring.rational import ZERO, mean

COMBINED = "combined_score"
"""The name of the combined score where nobody gives another."""
CATEGORIES = {
    "diagnostics": ("clinical_accuracy", "diagnostic_accuracy", "final_answer_correct", "exact_match"),
    "safety": ("safety", "harm_avoidance", "toxicity_reduction", "factuality_safety"),
    "communication": ("communication", "coherence", "helpfulness", "instruction_following"),
    "summarization": ("summarization", "summary_quality", "rouge_l", "rouge1", "rouge2", "bertscore"),
}

Metrics = Mapping[str, Fraction]
"""Metric to value, of one task."""


class Weighting(NamedTuple):
    """How metrics and categories are weighed into one score."""

    weights: tuple[tuple[str, Decimal], ...]
    metric_name: str = COMBINED
    renormalize: bool = True
    """The weights of what a task lacks are shared among what it has."""

    def describe(self) -> dict[str, Any]:
        """As a report tells it: by the name of the score, since there may be several."""
        weights = {name: float(weight) for name, weight in self.weights}
        return {self.metric_name: {"weights": weights, "renormalize_missing": self.renormalize}}


class Combined(NamedTuple):
    """What came of weighing."""

    by_task: dict[str, Fraction]
    """Tasks that have nothing to weigh are not here."""
    overall: Fraction
    unused: tuple[str, ...]
    """Weights that name nothing that some task has."""


def weighting_of(document: Any) -> Weighting:
    """That of a file of `benchmark/weights`. A weight is the shortest decimal of its double."""
    weights = tuple((name, Decimal(repr(float(weight)))) for name, weight in document.weights.items())
    renormalize = True if document.renormalize_missing is None else document.renormalize_missing
    return Weighting(weights, document.metric_name or COMBINED, renormalize)


def value_of(name: str, task: Metrics) -> Fraction | None:
    """The metric of this name; else the mean of the metrics of the category, as far as the task has them."""
    if name in task:
        return task[name]
    present = [task[metric] for metric in CATEGORIES.get(name, ()) if metric in task]
    return mean(present) if present else None


def used_by(weighting: Weighting) -> list[str]:
    """The metrics that may be weighed."""
    weights = [name for name, weight in weighting.weights if weight]
    return list(dict.fromkeys(metric for name in weights for metric in (name, *CATEGORIES.get(name, ()))))


def combine(tasks: Mapping[str, Metrics], weighting: Weighting) -> Combined:
    """Weigh what each task has. Raises `WrongWeights` when no weight names anything that is there."""
    weights = {name: Fraction(weight) for name, weight in weighting.weights}
    everything = sum(weights.values(), ZERO)
    by_task: dict[str, Fraction] = {}
    found: set[str] = set()
    for task, metrics in tasks.items():
        values = {name: value for name in weights if (value := value_of(name, metrics)) is not None}
        found |= values.keys()
        shared = sum((weights[name] for name in values), ZERO) if weighting.renormalize else everything
        if values and shared:
            by_task[task] = sum((weights[name] * value for name, value in values.items()), ZERO) / shared
    if not by_task:
        raise _nothing_to_weigh(tasks, weighting)
    return Combined(by_task, mean(by_task.values()), tuple(name for name in weights if name not in found))


def _nothing_to_weigh(tasks: Mapping[str, Metrics], weighting: Weighting) -> WrongWeights:
    there = sorted({name for metrics in tasks.values() for name in metrics})
    shown = ", ".join(map(plain_name, there)) or "no metrics"
    names = ", ".join(plain_name(name) for name, _ in weighting.weights)
    return WrongWeights(
        f"no task has anything that the weights name, with a weight above 0: {names}",
        f"there are: {shown}; categories: {', '.join(_categories(there)) or 'none'}",
    )


def _categories(metrics: list[str]) -> Iterator[str]:
    return (name for name, members in CATEGORIES.items() if any(member in metrics for member in members))


def told_unused(combined: Combined, tasks: Mapping[str, Metrics]) -> Iterator[str]:
    """Warnings of weights that name nothing, with the name that may be meant."""
    from medcontract.contracts.suggestions import nearest

    known = {name for metrics in tasks.values() for name in metrics if is_plain(name)}
    for name in combined.unused:
        guess = nearest(name, known | set(CATEGORIES))
        hint = f": did you mean '{guess}'?" if guess and guess != name else ""
        yield f"no task has anything for the weight '{plain_name(name)}'{hint}"


def parse_weights(given: Any) -> tuple[tuple[str, Decimal], ...]:
    """Weights as a caller gives them: a mapping, or the text of an option. Raises `CallError`."""
    return parsed(given) if isinstance(given, str) else checked(given)


def parsed(text: str) -> tuple[tuple[str, Decimal], ...]:
    """Weights as an option gives them: diagnostics=0.4,safety=0.3. Raises `CallError`."""
    found: dict[str, str] = {}
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.rpartition("="))
        if not equals or not name:
            raise CallError(f"'{item.strip()}' is no weight", "write name=weight, as in diagnostics=0.4,safety=0.3")
        if name in found:
            raise CallError(f"the weight of '{name}' was given twice")
        found[name] = value
    return checked(found)


def checked(weights: Mapping[str, Any]) -> tuple[tuple[str, Decimal], ...]:
    """Weights as exact decimals: of a float, the shortest one. Raises `CallError`."""
    from medcontract.scoring.protocol import decimal

    found = {name: decimal(f"the weight of '{name}'", str(weight), low=Decimal(0)) for name, weight in weights.items()}
    if not any(found.values()):
        raise CallError("all weights are 0", "give at least one metric or category a weight")
    return tuple(found.items())
