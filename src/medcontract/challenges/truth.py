"""What a truth says about its challenge before it opens: figures that would be undefined, classes with few cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from medcontract.challenges.model import Definition
from medcontract.problems import Finding, Path, plural
from medcontract.scoring.metrics import FieldInfo

FEW_CASES = 10
FEW_CLUSTERS = 30
LARGE_SHARE = Fraction(1, 5)
"""Of all cases, in one cluster."""
_MOST_NAMED = 10
Column = Sequence[Any]


def about_truth(definition: Definition, columns: Mapping[str, Column]) -> Iterator[tuple[Path, Finding]]:
    """Yield findings by path in the challenge file. `columns`: the values of the truth by field, keys included."""
    undefined = dict(_undefined(definition, columns))
    needed = _needed_for(definition, definition.score.headline)
    for index, entry in enumerate(definition.entries):
        for metric in entry.expanded():
            if metric.name in undefined:
                severity: Any = "error" if metric.name in needed else "warning"
                effect = ", and so is the headline: nobody has a rank" if metric.name in needed else ""
                message = f"metric.{metric.name}: is undefined for every submission{effect}: {undefined[metric.name]}"
                yield ("metric", index), Finding("MC313", message, None, severity)
    for field, counts in _classes(definition, columns).items():
        yield from _few_cases(field, counts)
    yield from _clusters(definition, columns)


def _undefined(definition: Definition, columns: Mapping[str, Column]) -> Iterator[tuple[str, str]]:
    """Yield the names of undefined metrics with the reason, which is the same for every submission: also for none."""
    for metric in definition.metrics:
        built = definition.build(metric)
        parameters = {name: Fraction(value) for name, value in definition.numbers_of(metric).items()}
        counting = built.counting(parameters)
        truths = counting.column(columns)
        reason = built.figures(counting.count(truths, [None] * len(truths)), parameters).reason
        if reason is not None:
            yield metric.name, reason


def _needed_for(definition: Definition, name: str) -> set[str]:
    """Return the metrics that a figure consists of."""
    parts = definition.means.get(name) or tuple(definition.score.sums.get(name, ()))
    return set().union(*(_needed_for(definition, part) for part in parts)) if parts else {name}


def _classes(definition: Definition, columns: Mapping[str, Column]) -> dict[str, dict[str, int]]:
    """Return how often each class occurs, by field of the truth; of an integer, its positive value."""
    found: dict[str, dict[str, int]] = {}
    for metric in map(definition.build, definition.metrics):
        field: FieldInfo = metric.event or metric.truth
        is_of_classes = metric.kind.counts == "classes" or metric.kind.positive_case
        times = Counter(value for value in columns[field.name] if value is not None)
        if field.classes and is_of_classes:
            found[field.name] = {name: times[field.value_of(name)] for name in field.classes}
        elif metric.kind.positive_case:
            rest = times.total() - times[metric.positive]
            found[field.name] = {str(metric.positive): times[metric.positive], f"not {metric.positive}": rest}
    return found


def _few_cases(field: str, counts: Mapping[str, int]) -> Iterator[tuple[Path, Finding]]:
    path = ("truth", field)
    absent = [name for name, times in counts.items() if not times]
    rare = [f"{name} ({times})" for name, times in counts.items() if 0 < times < FEW_CASES]
    if absent:
        yield path, _few(f"truth.{field}: no case is {_listed(absent)}")
    if rare:
        yield path, _few(f"truth.{field}: fewer than {FEW_CASES} cases are {_listed(rare)}")


def _few(message: str) -> Finding:
    hint = "figures that depend on them say little: add cases, or leave them out of the metrics"
    return Finding("MC512", message, hint, "warning")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_MOST_NAMED]) + (
        f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    )


def _clusters(definition: Definition, columns: Mapping[str, Column]) -> Iterator[tuple[Path, Finding]]:
    """Report too few or too uneven clusters; a case without one is its own cluster."""
    cluster = definition.uncertainty.cluster
    times = Counter(columns[cluster] if cluster else ())
    sizes = sorted([*[1] * times.pop(None, 0), *times.values()])
    if sizes and (len(sizes) < FEW_CLUSTERS or sizes[-1] > sum(sizes) * LARGE_SHARE):
        described = f"{plural(len(sizes), 'cluster')} with {sizes[0]} to {sizes[-1]} of {sum(sizes)} cases"
        what = "too few" if len(sizes) < FEW_CLUSTERS else "too uneven"
        message = f"uncertainty.cluster: {described} (median {sizes[len(sizes) // 2]}): {what} for reliable intervals"
        yield ("uncertainty", "cluster"), Finding("MC512", message, None, "warning")
