"""The combined score: categories of metrics, weights, and the weighted mean of a task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from medcontract.contracts.string_patterns import BLANKS
from medcontract.errors import CallError, Wording, WrongWeights, words
from medcontract.problems import is_plain, plain_name
from medcontract.scoring.benchmark.comparing import table_in
from medcontract.scoring.rational import ZERO, mean
from medcontract.types import JsonObject

if TYPE_CHECKING:
    from medcontract.contracts import benchmark as contract
    from medcontract.scoring.track import Result

COMBINED = "combined_score"
"""The default name of the combined score."""
Categories = Mapping[str, tuple[str, ...]]
"""The metrics of each category."""
CATEGORIES: Categories = {
    "diagnostics": ("clinical_accuracy", "diagnostic_accuracy", "final_answer_correct", "exact_match"),
    "safety": ("safety", "harm_avoidance", "toxicity_reduction", "factuality_safety"),
    "communication": ("communication", "coherence", "helpfulness", "instruction_following"),
    "summarization": ("summarization", "summary_quality", "rouge_l", "rouge1", "rouge2", "bertscore"),
}
"""The built-in categories."""

Metrics = Mapping[str, Fraction]
"""The value of each metric of one task."""


class Weighting(NamedTuple):
    """How metrics and categories are weighted into one score."""

    weights: tuple[tuple[str, Decimal], ...]
    metric_name: str = COMBINED
    renormalize: bool = True
    """Whether the weights of what a task lacks are redistributed among what it has."""
    custom: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Categories that are added to the built-in ones, or replace them."""

    @property
    def categories(self) -> Categories:
        return {**CATEGORIES, **dict(self.custom)}

    def describe(self) -> JsonObject:
        """As shown in a report: by the name of the score, because there may be several."""
        weights = {name: float(weight) for name, weight in self.weights}
        described: JsonObject = {"weights": weights, "renormalize_missing": self.renormalize}
        if self.custom:
            described["categories"] = {name: list(metrics) for name, metrics in self.custom}
        return {self.metric_name: described}


class Combined(NamedTuple):
    """The combined scores."""

    by_task: dict[str, Fraction]
    """Tasks that have nothing to combine are omitted."""
    overall: Fraction
    unused: tuple[str, ...]
    """Weights that match nothing in any task."""


def weighting_of(document: contract.Weights) -> Weighting:
    """Return the weighting in a file of `benchmark/weights`. A weight is the shortest decimal of its double."""
    weights = tuple((name, Decimal(repr(float(weight)))) for name, weight in document.weights.items())
    renormalize = True if document.renormalize_missing is None else document.renormalize_missing
    custom = tuple((name, tuple(metrics)) for name, metrics in (document.categories or {}).items())
    return Weighting(weights, document.metric_name or COMBINED, renormalize, custom)


def value_of(name: str, task: Metrics, categories: Categories = CATEGORIES) -> Fraction | None:
    """Return the metric of this name, or else the mean of the metrics of this category that the task has."""
    if name in task:
        return task[name]
    present = [task[metric] for metric in dict.fromkeys(categories.get(name, ())) if metric in task]
    return mean(present) if present else None


def used_by(weighting: Weighting) -> list[str]:
    """Return the metrics that may have a weight."""
    weights = [name for name, weight in weighting.weights if weight]
    categories = weighting.categories
    return list(dict.fromkeys(metric for name in weights for metric in (name, *categories.get(name, ()))))


def combine(tasks: Mapping[str, Metrics], weighting: Weighting) -> Combined:
    """Combine the metrics of each task. Raises `WrongWeights` if no weight matches anything."""
    weights = {name: Fraction(weight) for name, weight in weighting.weights}
    categories = weighting.categories
    everything = sum(weights.values(), ZERO)
    by_task: dict[str, Fraction] = {}
    found: set[str] = set()
    for task, metrics in tasks.items():
        values = {name: value for name in weights if (value := value_of(name, metrics, categories)) is not None}
        found |= values.keys()
        shared = sum((weights[name] for name in values), ZERO) if weighting.renormalize else everything
        if values and shared:
            by_task[task] = sum((weights[name] * value for name, value in values.items()), ZERO) / shared
    if not by_task:
        raise _nothing_to_combine(tasks, weighting)
    return Combined(by_task, mean(by_task.values()), tuple(name for name in weights if name not in found))


def _nothing_to_combine(tasks: Mapping[str, Metrics], weighting: Weighting) -> WrongWeights:
    there = sorted({name for metrics in tasks.values() for name in metrics})
    shown = ", ".join(map(plain_name, there)) or "none"
    names = ", ".join(plain_name(name) for name, _ in weighting.weights)
    present = ", ".join(map(plain_name, _present(weighting.categories, there))) or "none"
    return WrongWeights(
        f"no task has a metric or category with a weight above 0: {names}", f"metrics: {shown}; categories: {present}"
    )


def _present(categories: Categories, metrics: Iterable[str]) -> Iterator[str]:
    known = set(metrics)
    return (name for name, members in categories.items() if not known.isdisjoint(members))


def warn_unused(combined: Combined, tasks: Mapping[str, Metrics], weighting: Weighting) -> Iterator[str]:
    """Warnings about weights that match nothing, each with the most similar name."""
    from medcontract.contracts.suggestions import did_you_mean

    known = {name for metrics in tasks.values() for name in metrics} | set(weighting.categories)
    for name in combined.unused:
        hint = did_you_mean(name, sorted(each for each in known if is_plain(each) and each != name))
        yield f"no task has a metric or category '{plain_name(name)}', which has a weight{f': {hint}' if hint else ''}"


def parse_weights(given: Any) -> tuple[tuple[str, Decimal], ...]:
    """Weights as a mapping, or as the text of an option: diagnostics=0.4,safety=0.3. Raises `CallError`."""
    if not isinstance(given, str):
        return checked_weights(given)
    found: dict[str, str] = {}
    for item in given.split(","):
        name, equals, value = (part.strip() for part in item.rpartition("="))
        if not equals or not name:
            raise CallError(f"'{item.strip()}' is not a weight", "write name=weight, as in diagnostics=0.4,safety=0.3")
        if name in found:
            raise CallError(f"the weight of '{name}' is given twice")
        found[name] = value
    return checked_weights(found)


def checked_weights(weights: Mapping[str, object]) -> tuple[tuple[str, Decimal], ...]:
    """Weights as exact decimals; for a float, the shortest one. Raises `CallError`."""
    from medcontract.scoring.protocol import decimal

    found = {name: decimal(f"the weight of '{name}'", str(weight), low=Decimal(0)) for name, weight in weights.items()}
    if not any(found.values()):
        raise CallError("all weights are 0", "give at least one metric or category a weight")
    return tuple(found.items())


def stated_options(report: Result) -> JsonObject:
    """Return the options that a report with a combined score was made with: it states them, and that score is first.

    Raises `CallError` if they could not have been used.
    """
    name = next(iter(table_in(report, "overall_scores")), "")
    how = table_in(table_in(table_in(report, "metadata"), "combined_scores"), name)
    if not how:
        return {}
    return {
        "weights": checked_weights(table_in(how, "weights")), "metric_name": name, "replace": True,
        "renormalize_missing": how.get("renormalize_missing") is not False,
        "categories": parse_categories(table_in(how, "categories")),
    }  # fmt: skip


_CATEGORY_HINT = "write NAME=metric,metric, as in reasoning=reasoning_quality,coherence"


def parse_categories(given: Any) -> Categories:
    """Categories as a mapping to lists of metrics, or as the texts of options: NAME=metric,.... Raises `CallError`."""
    if isinstance(given, Mapping):
        items = [(name, [metrics] if isinstance(metrics, str) else list(metrics)) for name, metrics in given.items()]
    else:
        texts = [given] if isinstance(given, str) else list(given)
        items = [_parse_category(text) for text in texts]
    found: dict[str, tuple[str, ...]] = {}
    for name, metrics in items:
        if name in found:
            raise CallError(
                f"the category '{name}' is given twice",
                words("list all its metrics in one ", Wording("--category", "category")),
            )
        if not metrics or not all(isinstance(each, str) and each.strip(BLANKS) for each in (name, *metrics)):
            raise CallError(f"the category '{name}' has no metric, or a blank one", _CATEGORY_HINT)
        found[name] = tuple(metrics)
    return found


def _parse_category(text: str) -> tuple[str, list[str]]:
    name, equals, metrics = (part.strip() for part in text.partition("="))
    if not equals or not name:
        raise CallError(f"'{text}' is not a category", _CATEGORY_HINT)
    return name, [metric.strip() for metric in metrics.split(",")]
