"""The metrics in every replicate: the formulas of `formulas` and `classes`, for all replicates at once.

Each array has a row for the full data and for each replicate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from medcontract.problems import plain_name
from medcontract.scoring.metrics.classes import (
    beta_square,
    correlation,
    disagreement,
    distances,
    expected_distance,
    parts,
    true_negatives,
    weights_of,
)
from medcontract.scoring.metrics.counting import Class, Column, OverlapCounts
from medcontract.scoring.metrics.formulas import parts_of_overlap
from medcontract.scoring.metrics.kinds import FieldInfo
from medcontract.scoring.metrics.metric import Metric, Parameters
from medcontract.scoring.rational import FigureTooLarge, rounded
from medcontract.uncertainty.figures import UNIT, Array, Resampled, Scale, combined, kept, mean, quotient
from medcontract.uncertainty.sample import Sample

_BOTH_SIGNS = (-1.0, 1.0)
_NO_SHARES = ("f1", "fbeta")
_MEANS = ("cost", "net_benefit", "log_loss", "custom")
"""The kinds that are a mean over cases of what each costs or gains."""


class Found(NamedTuple):
    """A metric, and its figures by class, if it has any."""

    figure: Resampled
    by_class: Mapping[str, Resampled] = {}


class ResampledCases:
    """The cases of a challenge: columns of the truth and of the predictions, by field."""

    def __init__(self, sample: Sample, truths: Mapping[str, Column], predictions: Mapping[str, Column]) -> None:
        self.sample, self._truths, self._predictions = sample, truths, predictions
        self._tables: dict[tuple[str, str], ClassTables] = {}
        self.classes: dict[str, int] = {}
        """The number of cases of each class that a metric is about, with its field."""

    def resampled(self, metric: Metric, parameters: Parameters) -> Found:
        """Compute a metric in every replicate."""
        counting = metric.counting(parameters)
        truths, predictions = counting.column(self._truths), self._predictions[metric.prediction.name]
        there = np.array([value is not None for value in truths], bool)
        if counting.what == "classes":
            key = metric.truth.name, metric.prediction.name
            if key not in self._tables:
                self._tables[key] = tables = ClassTables(metric.truth, self.sample, truths, predictions, there)
                listed = zip(metric.truth.classes, tables.true.values(), strict=False)  # no integers
                self.classes |= {_class_name(metric, name): int(times[0]) for name, times in listed}
            if metric.kind.name in _OF_CLASSES:
                return _OF_CLASSES[metric.kind.name](metric, parameters, self._tables[key])
        if counting.what == "ranks":
            ranks = _Ranks.of(truths, predictions, counting.positive)
            positives, name = sum(y == counting.positive for y in truths), metric.choices["positive"]
            self.classes[_class_name(metric, name)] = positives
            self.classes[_class_name(metric, name, "other than ")] = int(there.sum()) - positives
            if metric.kind.name in _OF_RANKS:
                values = _OF_RANKS[metric.kind.name](self.sample, ranks, parameters)
                return Found(Resampled(values=values, cases=there))
        if metric.kind.name in _MEANS:
            return Found(self._costs(metric, parameters, truths, predictions, there))
        if counting.what in ("classes", "numbers", "ranks", "survival"):
            return Found(self._drawn(metric, parameters, truths, predictions, there))
        if counting.what == "errors":
            return Found(self._errors(metric, parameters, truths, predictions, there))
        counts: list[Any] = [counting.count((y,), (p,)) for y, p in zip(truths, predictions, strict=True)]
        if counting.what in ("sets", "tokens", "sequences"):
            return Found(self._overlaps(metric, counts, there))
        matches = np.array([each.matches for each in counts], np.int8)
        (table,) = self.sample.count((np.where(there, matches, -1), 2))
        cases = table.sum(axis=1)
        return Found(Resampled(values=quotient(table[:, 1], cases), cases=there, counted=int(cases[0])))

    def _mean(self, terms: Array, there: Array, scale: Scale | None) -> Resampled:
        """Return the mean of a number of each case."""
        (cases,) = self.sample.count((np.where(there, 0, -1), 1))
        largest = 1.0 if scale else float(np.abs(terms).max(initial=0.0))
        sums = self.sample.total(terms, largest) if largest else np.zeros(len(cases))
        return Resampled(values=quotient(sums, cases[:, 0]), cases=there, scale=scale)

    def _errors(
        self, metric: Metric, parameters: Parameters, truths: Column, predictions: Column, there: Array
    ) -> Resampled:
        counting = metric.counting(parameters)
        penalty = float(parameters["unprocessed"]) if "unprocessed" in metric.numbers else 1.0
        positive = counting.positive
        true = np.array([0.0 if y is None else y if positive is None else y == positive for y in truths], float)
        said = np.array([np.nan if p is None else p for p in predictions], float)
        terms = np.where(np.isnan(said), penalty, np.abs(said - true)) ** counting.power * there
        found = self._mean(terms, there, UNIT if metric.kind.high == 1 else None)
        return replace(found, values=np.sqrt(found.values)) if metric.kind.name == "rmse" else found

    def _costs(
        self, metric: Metric, parameters: Parameters, truths: Column, predictions: Column, there: Array
    ) -> Resampled:
        """Return the mean over the cases of the metric of each of them."""
        counting, known = metric.counting(parameters), dict.fromkeys(zip(truths, predictions, strict=True), 0.0)
        for y, p in known:
            known[y, p] = float(metric.figures(counting.count((y,), (p,)), parameters).value or 0)
        terms = np.array([known[pair] for pair in zip(truths, predictions, strict=True)], float)
        return self._mean(terms, there, None)

    def _drawn(
        self, metric: Metric, parameters: Parameters, truths: Column, predictions: Column, there: Array
    ) -> Resampled:
        """Return the metric of the cases that are drawn, replicate by replicate: for formulas that are not sums."""
        counting, values = metric.counting(parameters), np.full(self.sample.resamples + 1, np.nan)
        for row in range(len(values)):
            drawn = np.repeat(np.arange(len(truths)), self.sample.weights_by_case(row)).tolist()
            counts = counting.count([truths[at] for at in drawn], [predictions[at] for at in drawn])
            value = metric.figures(counts, parameters).value
            if value is not None:
                with suppress(FigureTooLarge):
                    values[row] = rounded(value)
        low, high = metric.kind.low, metric.kind.high
        scale = None if low is None or high is None else (float(low), float(high))
        return Resampled(values=values, cases=there, scale=scale)

    def _overlaps(self, metric: Metric, counts: Sequence[Any], there: Array) -> Resampled:
        parts = np.array([_overlap(metric, each) for each in counts], float).reshape(len(counts), 3)
        numerators, denominators, sizes = (column * there for column in parts.T)
        if metric.choices.get("average") != "micro":
            return self._mean(quotient(numerators, denominators, empty=1.0) * there, there, UNIT)
        values = quotient(self.sample.sum(numerators), self.sample.sum(denominators))
        return Resampled(values=np.where(self.sample.sum(sizes) > 0, values, np.nan), cases=there)


def _class_name(metric: Metric, name: str, kind: str = "") -> str:
    return f"{kind}{plain_name(name)} ('{metric.truth.name}')"


def _overlap(metric: Metric, counts: OverlapCounts) -> tuple[int, int, int]:
    """Return numerator and denominator of a case, and how many elements its truth has."""
    for overlap in counts.overlaps:
        return *parts_of_overlap(metric, overlap), overlap[2]
    for size in counts.unprocessed:
        return 0, max(size, 1), size
    return 0, 0, 0


# --- classes ----------------------------------------------------------------------------------------------------------


class ClassTables:
    """How often each class is true, predicted, predicted correctly, and true but not processed, in each replicate."""

    def __init__(self, field: FieldInfo, sample: Sample, truths: Column, predictions: Column, there: Array) -> None:
        values = field.values or sorted({value for value in (*truths, *predictions) if value is not None})
        codes = {value: code for code, value in enumerate(values)}
        codes[None] = -1
        self.sample, self.there, self.truths, self.predictions = sample, there, truths, predictions
        self._true = np.array([codes[value] for value in truths], np.int64)
        said = np.array([codes[value] for value in predictions], np.int64)
        self._said = np.where(there, said, -1)
        right = np.where(self._said == self._true, self._true, -1)
        lost = np.where(said < 0, self._true, -1)
        tables = sample.count(*((column, len(values)) for column in (self._true, self._said, right, lost)))
        self.true, self.predicted, self.right, self.unprocessed = (
            dict(zip(values, table.T, strict=True)) for table in tables
        )
        self.cases = tables[0].sum(axis=1)

    def of(self, value: Class) -> Array:
        """Return a mask of the cases of a class."""
        return np.asarray(self._true == list(self.true).index(value))

    def in_precision(self, metric: Metric, value: Class) -> Array:
        """Return a mask of the cases that count in the denominator of a precision: predicted and unprocessed ones."""
        lost = self.there if "positive" in metric.choices else self.of(value)
        found: Array = (self._said == list(self.true).index(value)) | (lost & (self._said < 0))
        return found

    def completed(self) -> dict[Class, Array]:
        """Return how often each class is predicted, if unprocessed cases count as the most frequent other class."""
        times, found, lost = (np.array(list(table.values())) for table in (self.true, self.predicted, self.unprocessed))
        rows = np.arange(len(self.cases))
        first = times.argmax(axis=0)
        times[first, rows] = -1
        second = times.argmax(axis=0)
        lost_first = lost[first, rows]
        found[first, rows] += lost.sum(axis=0) - lost_first
        found[second, rows] += lost_first
        return dict(zip(self.true, found, strict=True))

    def where_several(self, values: Array) -> Found:
        """Return a figure that is undefined in replicates with a single class."""
        several = sum(times > 0 for times in self.true.values()) > 1
        return Found(Resampled(values=np.where(several, values, np.nan), cases=self.there, scale=_BOTH_SIGNS))


def _accuracy(metric: Metric, parameters: Parameters, tables: ClassTables) -> Found:
    values = quotient(sum(tables.right.values()), tables.cases)
    return Found(Resampled(values=values, cases=tables.there, counted=int(tables.cases[0])))


def _by_class(metric: Metric, parameters: Parameters, tables: ClassTables) -> dict[str, Resampled]:
    found, square = {}, float(beta_square(parameters))
    for name, value in zip(metric.truth.classes, metric.truth.values, strict=True):
        numerator, denominator = parts(metric, tables, value, square)
        found[name] = Resampled(
            values=kept(quotient(numerator, denominator, empty=0.0), tables.true[value]),
            cases=tables.in_precision(metric, value) if metric.kind.name == "precision" else tables.of(value),
            counted=int(denominator[0]) if metric.kind.name not in _NO_SHARES else None,
        )
    return found


def _balanced_accuracy(metric: Metric, parameters: Parameters, tables: ClassTables) -> Found:
    recalls = _by_class(metric, parameters, tables)
    present = {
        name: figure for (name, figure), times in zip(recalls.items(), tables.true.values(), strict=True) if times[0]
    }  # of the full truth
    return Found(combined([(1.0, each) for each in present.values()], divisor=len(present)), present)


def _averaged(metric: Metric, parameters: Parameters, tables: ClassTables) -> Found:
    """Precision, recall, F1 and Fβ."""
    by_class = _by_class(metric, parameters, tables)
    average = metric.choices.get("average")
    if "positive" in metric.choices:
        return Found(by_class[metric.choices["positive"]], by_class)
    if average == "micro" or (average == "support" and metric.kind.name == "recall"):
        square = float(beta_square(parameters))
        fractions = [parts(metric, tables, value, square) for value in metric.truth.values]
        above, below = (sum(each) for each in zip(*fractions, strict=True))
        counted = None if metric.kind.name in _NO_SHARES else int(below[0])
        values = np.where(tables.cases > 0, quotient(above, below, empty=0.0), np.nan)
        return Found(Resampled(values=values, cases=tables.there, counted=counted), by_class)
    if average == "support":
        weighted = (each.values * times for each, times in zip(by_class.values(), tables.true.values(), strict=True))
        return Found(Resampled(values=quotient(sum(weighted), tables.cases), cases=tables.there), by_class)
    if average == "macro":
        return Found(mean(by_class.values()), by_class)
    weights = {name: float(weight) for name, weight in weights_of(metric, parameters).items()}
    of_classes = [(weight, by_class[name]) for name, weight in weights.items() if weight]
    return Found(combined(of_classes, divisor=sum(weights.values())), by_class)


def _specificity(metric: Metric, parameters: Parameters, tables: ClassTables) -> Found:
    right, negatives = true_negatives(tables, metric.positive)
    values = kept(quotient(right, negatives), negatives)
    cases = tables.there & ~tables.of(metric.positive)
    return Found(Resampled(values=values, cases=cases, counted=int(negatives[0])))


def _mcc(metric: Metric, parameters: Parameters, tables: ClassTables) -> Found:
    covariance, spreads = correlation(tables, tables.completed())
    return tables.where_several(quotient(covariance, np.sqrt(spreads), empty=0.0))


def _kappa(metric: Metric, parameters: Parameters, tables: ClassTables) -> Found:
    if metric.choices["weights"] == "none":
        observed, expected = disagreement(tables, tables.completed())
    else:
        weight, pairs = distances(metric), zip(tables.truths, tables.predictions, strict=True)
        observed = tables.sample.sum(np.array([0 if y is None else weight(y, p) for y, p in pairs], float))
        expected = expected_distance(metric, tables)
    return tables.where_several(1 - quotient(observed * tables.cases, expected))


_OF_CLASSES: dict[str, Callable[[Metric, Parameters, ClassTables], Found]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "precision": _averaged,
    "recall": _averaged,
    "f1": _averaged,
    "fbeta": _averaged,
    "specificity": _specificity,
    "mcc": _mcc,
    "kappa": _kappa,
}


# --- scores -----------------------------------------------------------------------------------------------------------


class _Ranks(NamedTuple):
    """Numbers of cases: positive and negative ones with a score, and their scores; those without one."""

    positives: Array
    negatives: Array
    scores: Array
    lost_positives: Array
    lost_negatives: Array

    @classmethod
    def of(cls, truths: Column, predictions: Column, positive: object) -> _Ranks:
        scores = np.array([np.nan if p is None else p for p in predictions], float)
        is_positive = np.array([y == positive for y in truths], bool)
        is_negative = np.array([y is not None for y in truths], bool) & ~is_positive
        scored = ~np.isnan(scores)
        masks = is_positive & scored, is_negative & scored, is_positive & ~scored, is_negative & ~scored
        positives, negatives, lost_positives, lost_negatives = (np.flatnonzero(mask) for mask in masks)
        return cls(positives, negatives, scores, lost_positives, lost_negatives)


def _auroc(sample: Sample, ranks: _Ranks, parameters: Parameters) -> Array:
    negatives = ranks.negatives[np.argsort(ranks.scores[ranks.negatives])]
    ordered, scores = ranks.scores[negatives], ranks.scores[ranks.positives]
    low, high = np.searchsorted(ordered, scores, "left"), np.searchsorted(ordered, scores, "right")
    found = np.empty(sample.resamples + 1)
    for rows, weights in sample.case_weights(negatives):
        below = np.zeros((len(weights), len(negatives) + 1), np.int64)
        np.cumsum(weights, axis=1, out=below[:, 1:])
        drawn = sample.weights(rows, ranks.positives).astype(np.int64)
        lost = sample.weights(rows, ranks.lost_positives).sum(axis=1, dtype=np.int64)
        lost_negatives = sample.weights(rows, ranks.lost_negatives).sum(axis=1, dtype=np.int64)
        halves = (drawn * (below[:, low] + below[:, high])).sum(axis=1)
        pairs = (drawn.sum(axis=1) + lost) * (below[:, -1] + lost_negatives)
        found[rows] = quotient(halves, 2 * pairs)
    return found


def _found(sample: Sample, ranks: _Ranks) -> Iterator[tuple[slice, Array, Array, Array]]:
    """Yield how many positives and negatives are found with each score as threshold, and how many positives never."""
    cases = np.concatenate([ranks.positives, ranks.negatives])
    cases = cases[np.argsort(-ranks.scores[cases])]
    is_positive = np.isin(cases, ranks.positives)
    ends = np.flatnonzero(np.append(np.diff(ranks.scores[cases]) != 0, [True] * bool(len(cases))))
    for rows, drawn in sample.case_weights(cases):
        above = sample.weights(rows, ranks.lost_negatives).sum(axis=1, dtype=np.int64)[:, None]
        lost = sample.weights(rows, ranks.lost_positives).sum(axis=1, dtype=np.int64)
        positives = np.cumsum(drawn * is_positive, axis=1, dtype=np.int64)[:, ends]
        negatives = np.cumsum(drawn * ~is_positive, axis=1, dtype=np.int64)[:, ends]
        yield rows, np.hstack([np.zeros_like(above), positives]), np.hstack([above, negatives + above]), lost


def _operating_point(sample: Sample, ranks: _Ranks, parameters: Parameters, of_negatives: bool = False) -> Array:
    """Return the largest share of one side that is right where at least `at` of the other side is."""
    values = np.empty(sample.resamples + 1)
    for rows, found, false, lost in _found(sample, ranks):
        total, negatives = found[:, -1:] + lost[:, None], false[:, -1:]
        sides = [(found, total), (negatives - false, negatives)]
        (right, of), (other, others) = reversed(sides) if of_negatives else sides
        least = np.array([[ceil(parameters["at"] * int(count))] for count in others[:, 0]])
        best = np.where(other >= least, right, 0).max(axis=1, keepdims=True)
        values[rows] = np.where(others > 0, quotient(best, of), np.nan)[:, 0]
    return values


def _average_precision(sample: Sample, ranks: _Ranks, parameters: Parameters) -> Array:
    found = np.empty(sample.resamples + 1)
    for rows, positives, negatives, lost in _found(sample, ranks):
        precisions = np.rint(quotient(positives, positives + negatives, empty=0.0) * 2.0**40).astype(np.int64)
        sums = (np.diff(positives, axis=1, prepend=0) * precisions).sum(axis=1) / 2.0**40
        found[rows] = quotient(sums, positives[:, -1] + lost)
    return found


_OF_RANKS: dict[str, Callable[[Sample, _Ranks, Parameters], Array]] = {
    "auroc": _auroc,
    "average_precision": _average_precision,
    "sensitivity_at_specificity": _operating_point,
    "specificity_at_sensitivity": partial(_operating_point, of_negatives=True),
}
