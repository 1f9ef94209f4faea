"""The metrics in every replicate: the formulas of `formulas` and `classes`, for all replicates at once.

Each array has a row for the full data and for each replicate; those of classes have a column for each class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from medcontract.problems import plain_name
from medcontract.scoring.metrics.classes import weights_of
from medcontract.scoring.metrics.counting import Column, OverlapCounts
from medcontract.scoring.metrics.kinds import FieldInfo
from medcontract.scoring.metrics.metric import Metric, Parameters
from medcontract.scoring.rational import TooLarge, rounded
from medcontract.uncertainty.figures import Array, Resampled, combined, kept, mean, quotient
from medcontract.uncertainty.sample import Sample

_BOTH_SIGNS = (-1.0, 1.0)
_MEANS = ("cost", "net_benefit", "log_loss", "custom")
"""The kinds that are a mean over cases of what each costs or gains."""


class Found(NamedTuple):
    """A metric, and its figures by class, if it has any."""

    figure: Resampled
    by_class: Mapping[str, Resampled] = {}


class Cases:
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
                listed = zip(metric.truth.classes, tables.actual[0], strict=False)  # no integers
                self.classes |= {_class_name(metric, name): int(count) for name, count in listed}
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
            return Found(self._mean(metric, parameters, truths, predictions, there))
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

    def _errors(
        self, metric: Metric, parameters: Parameters, truths: Column, predictions: Column, there: Array
    ) -> Resampled:
        counting = metric.counting(parameters)
        penalty = float(parameters["unprocessed"]) if "unprocessed" in metric.numbers else 1.0
        positive = counting.positive
        true = np.array([0.0 if y is None else y if positive is None else y == positive for y in truths], float)
        said = np.array([np.nan if p is None else p for p in predictions], float)
        terms = np.where(np.isnan(said), penalty, np.abs(said - true)) ** counting.power * there
        (cases,) = self.sample.count((np.where(there, 0, -1), 1))
        is_share = metric.kind.high == 1
        largest = 1.0 if is_share else float(terms.max(initial=0.0))
        sums = self.sample.total(terms, largest) if largest else np.zeros(len(cases))
        values = quotient(sums, cases[:, 0])
        scale = (0.0, 1.0) if is_share else None
        return Resampled(values=np.sqrt(values) if metric.kind.name == "rmse" else values, cases=there, scale=scale)

    def _mean(
        self, metric: Metric, parameters: Parameters, truths: Column, predictions: Column, there: Array
    ) -> Resampled:
        """A mean over the cases of the metric of each of them."""
        counting, known = metric.counting(parameters), dict.fromkeys(zip(truths, predictions, strict=True), 0.0)
        for y, p in known:
            known[y, p] = float(metric.figures(counting.count((y,), (p,)), parameters).value or 0)
        terms = np.array([known[pair] for pair in zip(truths, predictions, strict=True)], float)
        (cases,) = self.sample.count((np.where(there, 0, -1), 1))
        largest = float(np.abs(terms).max(initial=0.0))
        sums = self.sample.total(terms, largest) if largest else np.zeros(len(cases))
        return Resampled(values=quotient(sums, cases[:, 0]), cases=there, scale=None)

    def _drawn(
        self, metric: Metric, parameters: Parameters, truths: Column, predictions: Column, there: Array
    ) -> Resampled:
        """The metric of the cases that are drawn, replicate by replicate: for formulas that are not sums."""
        counting, values = metric.counting(parameters), np.full(self.sample.resamples + 1, np.nan)
        for row in range(len(values)):
            drawn = np.repeat(np.arange(len(truths)), self.sample.weights_by_case(row)).tolist()
            counts = counting.count([truths[at] for at in drawn], [predictions[at] for at in drawn])
            value = metric.figures(counts, parameters).value
            if value is not None:
                with suppress(TooLarge):
                    values[row] = rounded(value)
        low, high = metric.kind.low, metric.kind.high
        scale = None if low is None or high is None else (float(low), float(high))
        return Resampled(values=values, cases=there, scale=scale)

    def _overlaps(self, metric: Metric, counts: Sequence[Any], there: Array) -> Resampled:
        parts = np.array([_overlap(metric, each) for each in counts], float).reshape(len(counts), 3)
        numerators, denominators, sizes = (column * there for column in parts.T)
        (cases,) = self.sample.count((np.where(there, 0, -1), 1))
        if metric.choices.get("average") != "micro":
            values = quotient(numerators, denominators, empty=1.0) * there
            return Resampled(values=quotient(self.sample.total(values), cases[:, 0]), cases=there)
        values = quotient(self.sample.sum(numerators), self.sample.sum(denominators))
        return Resampled(values=np.where(self.sample.sum(sizes) > 0, values, np.nan), cases=there)


def _class_name(metric: Metric, name: str, kind: str = "") -> str:
    return f"{kind}{plain_name(name)} ('{metric.truth.name}')"


def _overlap(metric: Metric, counts: OverlapCounts) -> tuple[int, int, int]:
    """Return numerator and denominator of a case, and how many elements its truth has."""
    for common, predicted, true in counts.overlaps:
        if metric.kind.name == "jaccard":
            return common, predicted + true - common, true
        return 2 * common, predicted + true, true
    for size in counts.unprocessed:
        return 0, max(size, 1), size
    return 0, 0, 0


# --- classes ----------------------------------------------------------------------------------------------------------


class ClassTables:
    """How often each class is true, predicted, predicted correctly, and true but not processed."""

    def __init__(self, field: FieldInfo, sample: Sample, truths: Column, predictions: Column, there: Array) -> None:
        values = field.values or sorted({value for value in (*truths, *predictions) if value is not None})
        codes = {value: code for code, value in enumerate(values)}
        codes[None] = -1
        self.values = list(values)
        self.sample, self.there = sample, there
        self.true = np.array([codes[value] for value in truths], np.int64)
        said = np.array([codes[value] for value in predictions], np.int64)
        self.said = np.where(there, said, -1)
        right = np.where(self.said == self.true, self.true, -1)
        lost = np.where(said < 0, self.true, -1)
        columns = [(column, len(values)) for column in (self.true, self.said, right, lost)]
        self.actual, self.predicted, self.hits, self.lost = sample.count(*columns)
        self.cases = self.actual.sum(axis=1)

    def of(self, code: int) -> Array:
        """Return a mask of the cases of a class."""
        return np.asarray(self.true == code)

    def completed(self) -> Array:
        """Return how often each class is predicted, if unprocessed cases count as the most frequent other class."""
        rows = np.arange(len(self.actual))
        first = self.actual.argmax(axis=1)
        others = self.actual.copy()
        others[rows, first] = -1
        second = others.argmax(axis=1)
        found = self.predicted.copy()
        found[rows, first] += self.lost.sum(axis=1) - self.lost[rows, first]
        found[rows, second] += self.lost[rows, first]
        return found

    def where_several(self, values: Array) -> Array:
        """Return the values, undefined in replicates with a single class."""
        return np.where((self.actual > 0).sum(axis=1) > 1, values, np.nan)


def _accuracy(metric: Metric, parameters: Parameters, tables: ClassTables) -> Found:
    values = quotient(tables.hits.sum(axis=1), tables.cases)
    return Found(Resampled(values=values, cases=tables.there, counted=int(tables.cases[0])))


def _by_class(metric: Metric, tables: ClassTables, numerators: Array, denominators: Array) -> dict[str, Resampled]:
    values = kept(quotient(numerators, denominators, empty=0.0), tables.actual)
    is_share = metric.kind.name not in ("f1", "fbeta")
    return {
        name: Resampled(
            values=values[:, code], counted=int(denominators[0, code]) if is_share else None,
            cases=_in_denominator(metric, tables, code) if metric.kind.name == "precision" else tables.of(code),
        )
        for code, name in enumerate(metric.truth.classes)
    }  # fmt: skip


def _in_denominator(metric: Metric, tables: ClassTables, code: int) -> Array:
    """Return a mask of the cases that count in the denominator of a precision: the predicted and unprocessed ones."""
    lost = tables.there if "positive" in metric.choices else tables.of(code)
    found: Array = (tables.said == code) | (lost & (tables.said < 0))
    return found


def _balanced_accuracy(metric: Metric, parameters: Parameters, tables: ClassTables) -> Found:
    recalls = _by_class(metric, tables, tables.hits, tables.actual)
    present = {
        name: figure for code, (name, figure) in enumerate(recalls.items()) if tables.actual[0, code]
    }  # of the full truth
    return Found(combined([(1.0, each) for each in present.values()], divisor=len(present)), present)


def _averaged(metric: Metric, parameters: Parameters, tables: ClassTables) -> Found:
    """Precision, recall, F1 and Fβ."""
    numerators, denominators = tables.hits, tables.actual
    if metric.kind.name == "precision":
        lost = tables.lost.sum(axis=1, keepdims=True) if "positive" in metric.choices else tables.lost
        denominators = tables.predicted + lost
    elif metric.kind.name == "f1":
        numerators, denominators = 2 * numerators, tables.predicted + tables.actual
    elif metric.kind.name == "fbeta":
        square = float(parameters["beta"] ** 2)
        numerators, denominators = (1 + square) * numerators, tables.predicted + square * tables.actual
    by_class = _by_class(metric, tables, numerators, denominators)
    average = metric.choices.get("average")
    if "positive" in metric.choices:
        return Found(by_class[metric.choices["positive"]], by_class)
    if average in ("micro", "support"):
        if average == "micro" or metric.kind.name == "recall":
            below = denominators.sum(axis=1)
            values = quotient(numerators.sum(axis=1), below, empty=0.0)
            counted = None if metric.kind.name in ("f1", "fbeta") else int(below[0])
        else:
            weighted = (each.values * times for each, times in zip(by_class.values(), tables.actual.T, strict=True))
            values, counted = quotient(sum(weighted), tables.cases), None
        values = np.where(tables.cases > 0, values, np.nan)
        return Found(Resampled(values=values, cases=tables.there, counted=counted), by_class)
    if average == "macro":
        return Found(mean(by_class.values()), by_class)
    weights = {name: float(weight) for name, weight in weights_of(metric, parameters).items()}
    parts = [(weight, by_class[name]) for name, weight in weights.items() if weight]
    return Found(combined(parts, divisor=sum(weights.values())), by_class)


def _specificity(metric: Metric, parameters: Parameters, tables: ClassTables) -> Found:
    code = tables.values.index(metric.positive)
    negatives = tables.cases - tables.actual[:, code]
    false_positives = tables.predicted[:, code] - tables.hits[:, code]
    unprocessed = tables.lost.sum(axis=1) - tables.lost[:, code]
    values = kept(quotient(negatives - false_positives - unprocessed, negatives), negatives)
    return Found(Resampled(values=values, cases=tables.there & ~tables.of(code), counted=int(negatives[0])))


def _mcc(metric: Metric, parameters: Parameters, tables: ClassTables) -> Found:
    cases, predicted = tables.cases, tables.completed()
    covariance = tables.hits.sum(axis=1) * cases - (predicted * tables.actual).sum(axis=1)
    spread, true_spread = (cases**2 - (each**2).sum(axis=1) for each in (predicted, tables.actual))
    values = quotient(covariance, np.sqrt(spread * true_spread), empty=0.0)
    return Found(Resampled(values=tables.where_several(values), cases=tables.there, scale=_BOTH_SIGNS))


def _kappa(metric: Metric, parameters: Parameters, tables: ClassTables) -> Found:
    if metric.choices["weights"] == "none":
        predicted = tables.completed()
        observed = tables.cases - tables.hits.sum(axis=1)
        expected = tables.cases**2 - (predicted * tables.actual).sum(axis=1)
    else:
        observed, expected = _disagreement(metric, tables)
    values = 1 - quotient(observed * tables.cases, expected)
    return Found(Resampled(values=tables.where_several(values), cases=tables.there, scale=_BOTH_SIGNS))


def _disagreement(metric: Metric, tables: ClassTables) -> tuple[Array, Array]:
    """Return observed and expected disagreement, weighted by the distance of classes or its square."""
    power = 1 if metric.choices["weights"] == "linear" else 2
    places = np.arange(len(tables.values), dtype=float)
    low, high = 0.0, places[-1]
    if metric.truth.type == "integer":
        bounds = [metric.prediction.low, metric.prediction.high, metric.truth.low, metric.truth.high]
        known = [float(bound) for bound in bounds if bound is not None]
        places, low, high = np.array(tables.values, float), min(known), max(known)
    at, said = places[tables.true], places[tables.said]
    distances = np.where(tables.said < 0, np.maximum(at - low, high - at), np.abs(at - said)) ** power
    observed = tables.sample.sum(np.where(tables.there, distances, 0.0))
    true, predicted = tables.actual, tables.predicted + tables.lost
    if power == 1:  # each gap between neighbors separates those on its left from those on its right
        left, left_predicted = np.cumsum(true, axis=1)[:, :-1], np.cumsum(predicted, axis=1)[:, :-1]
        right, right_predicted = tables.cases[:, None] - left, predicted.sum(axis=1)[:, None] - left_predicted
        return observed, ((left * right_predicted + left_predicted * right) * np.diff(places)).sum(axis=1)
    first, second = ((each * places).sum(axis=1) for each in (true, predicted))
    squares, other_squares = ((each * places**2).sum(axis=1) for each in (true, predicted))
    return observed, squares * predicted.sum(axis=1) + other_squares * tables.cases - 2 * first * second


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
    def of(cls, truths: Column, predictions: Column, positive: Any) -> _Ranks:
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
    """The largest share of one side that is right where that of the other side is at least `at`."""
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
