"""Metrics of classes, from counts of true and predicted classes.

What a formula is made of is a function of `Times`: numbers of cases, or arrays of them, with one for each replicate.
So `formulas`, for the full data, and `resampled` share it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from medcontract.errors import CallError
from medcontract.problems import plain_name
from medcontract.scoring.metrics.counting import Class, ClassCounts
from medcontract.scoring.metrics.kinds import FieldInfo
from medcontract.scoring.metrics.metric import Metric, MetricValue, Parameters
from medcontract.scoring.rational import ONE, ZERO, mean, rounded_root, total

if TYPE_CHECKING:
    from medcontract.scoring.metrics.resampled import ClassTables

_MOST_NAMED = 10
MOST_CLASSES = 50
"""The largest number of classes of a confusion matrix."""
UNPROCESSED = "unprocessed"
Times = Any
"""A number of cases, or an array of them."""
ByClass: TypeAlias = "ClassCounts | ClassTables"


def _classes(field: FieldInfo) -> Iterable[tuple[str, str | bool]]:
    return zip(field.classes, field.values, strict=True)


def ratio(numerator: int | Fraction, denominator: int | Fraction) -> Fraction:
    """Return the quotient; 0 if the denominator is 0."""
    return Fraction(numerator, denominator) if denominator else ZERO


# --- for each class ---------------------------------------------------------------------------------------------------


def beta_square(parameters: Parameters) -> Fraction:
    """Return β². F1 is Fβ with β = 1."""
    return parameters.get("beta", ONE) ** 2


def parts(metric: Metric, counts: ByClass, value: Class, square: Times) -> tuple[Times, Times]:
    """Return numerator and denominator of precision, recall or Fβ of a class; `square` is β².

    TP + FN cases are of the class, TP + FP cases are predicted to be of it.
    """
    right, true, predicted = counts.right[value], counts.true[value], counts.predicted[value]
    match metric.kind.name:
        case "precision":  # an unprocessed case counts in the denominator of its class; with `positive`, of every class
            lost = counts.unprocessed
            return right, predicted + (sum(lost.values()) if "positive" in metric.choices else lost[value])
        case "f1" | "fbeta":
            return (1 + square) * right, square * true + predicted
    return right, true


def averaged(metric: Metric, counts: ClassCounts, parameters: Parameters) -> MetricValue:
    """Precision, recall or Fβ: of the positive class, or an average over the classes."""
    square = beta_square(parameters)
    fractions = {name: parts(metric, counts, value, square) for name, value in _classes(metric.truth)}
    by_class = {name: ratio(*pair) for name, pair in fractions.items()}
    if metric.choices.get("average") == "micro":
        numerators, denominators = zip(*fractions.values(), strict=True)
        return MetricValue(value=ratio(sum(numerators), sum(denominators)), by_class=by_class)
    weights = weights_of(metric, parameters)
    if metric.choices.get("average") == "support":
        weights = {name: Fraction(counts.true[value]) for name, value in _classes(metric.truth)}
    value = total(by_class[name] * weight for name, weight in weights.items()) / total(weights.values())
    return MetricValue(value=value, by_class=by_class)


def weights_of(metric: Metric, parameters: Parameters) -> dict[str, Fraction]:
    """Return the weight of each class that has one. Raises `CallError` if all are 0."""
    if "positive" in metric.choices:
        return {metric.choices["positive"]: ONE}
    if "average" in metric.choices:
        return dict.fromkeys(metric.truth.classes, ONE)
    weights = {key.removeprefix("weights."): parameters[key] for key in metric.numbers if key.startswith("weights.")}
    if not any(weights.values()):
        raise CallError(f"the weights of '{metric.name}' are all 0", "give at least one class a weight above 0")
    return weights


def warn_absent(metric: Metric, counts: ClassCounts, parameters: Parameters) -> Iterable[str]:
    """Yield a warning about classes without a case, if they have a weight of their own."""
    if metric.choices.get("average") in ("micro", "support"):
        return
    weights = weights_of(metric, parameters)
    absent = [name for name, value in _classes(metric.truth) if weights.get(name) and not counts.true[value]]
    if absent:
        named = ", ".join(map(plain_name, absent[:_MOST_NAMED])) + (", …" if len(absent) > _MOST_NAMED else "")
        which = "class" if len(absent) == 1 else "classes"
        yield (
            f"'{metric.name}': the truth has no case of {which} {named} ('{metric.truth.name}'): "
            f"{metric.kind.name} of a class that does not occur is 0 for everybody"
        )


def balanced_accuracy(metric: Metric, counts: ClassCounts, parameters: Parameters) -> MetricValue:
    recalls = {
        name: Fraction(*parts(metric, counts, value, ONE))
        for name, value in _classes(metric.truth)
        if counts.true[value]
    }
    return MetricValue(value=mean(recalls.values()), by_class=recalls)


def true_negatives(counts: ByClass, positive: Class) -> tuple[Times, Times]:
    """Return TN and TN + FP, where an unprocessed negative is a FP: the latter is the number of negatives."""
    negatives = counts.cases - counts.true[positive]
    false_positives = counts.predicted[positive] - counts.right[positive]
    unprocessed = sum(counts.unprocessed.values()) - counts.unprocessed[positive]
    return negatives - false_positives - unprocessed, negatives


def specificity(metric: Metric, counts: ClassCounts, parameters: Parameters) -> MetricValue:
    right, negatives = true_negatives(counts, metric.positive)
    if not negatives:
        return MetricValue(value=None, reason=f"'{metric.truth.name}' of the truth is positive in every case")
    return MetricValue(value=Fraction(right, negatives))


# --- of all classes ---------------------------------------------------------------------------------------------------


def cost(metric: Metric, counts: ClassCounts, parameters: Parameters) -> MetricValue:
    """Return the mean cost; an unprocessed case costs as much as the worst answer."""
    costs: dict[tuple[Class | None, Class | None], Fraction] = {
        (true, predicted): parameters.get(cost_key(name, other), ZERO)
        for name, true in _classes(metric.truth)
        for other, predicted in _classes(metric.truth)
    }
    for true in metric.truth.values:
        costs[true, None] = max(costs[true, predicted] for predicted in metric.truth.values)
    return MetricValue(
        value=total(times * costs[y, p] for (y, p), times in counts.pairs.items() if y is not None) / counts.cases
    )


def cost_key(true: str, predicted: str) -> str:
    """Return the name of the parameter for the cost of a wrong answer."""
    return f"costs.{true}.{predicted}"


def correlation(counts: ByClass, predicted: Mapping[Class, Times]) -> tuple[Times, Times]:
    """Return the covariance of truth and prediction, and the product of their spreads."""
    true = counts.true
    covariance = sum(counts.right.values()) * counts.cases - _chance(true, predicted)
    return covariance, (counts.cases**2 - _chance(predicted, predicted)) * (counts.cases**2 - _chance(true, true))


def _chance(one: Mapping[Class, Times], other: Mapping[Class, Times]) -> Times:
    """Return in how many pairs of cases the first is of a class of one, the second of the same class of the other."""
    return sum(other[value] * times for value, times in one.items())


def mcc(metric: Metric, counts: ClassCounts, parameters: Parameters) -> MetricValue:
    """Return the correlation coefficient R_K; its correctly rounded double is used from here on."""
    if len(counts.true) < 2:
        return _single_class(metric)
    covariance, spreads = correlation(counts, _completed(metric.truth, counts))
    root = Fraction(rounded_root(ratio(covariance**2, spreads)))
    return MetricValue(value=-root if covariance < 0 else root)


def _single_class(metric: Metric) -> MetricValue:
    return MetricValue(value=None, reason=f"'{metric.truth.name}' of the truth has the same value in every case")


def _completed(field: FieldInfo, counts: ClassCounts) -> Counter[Class]:
    """Count predictions by class; an unprocessed case counts as the most frequent other class of the truth."""
    order = {value: place for place, value in enumerate(field.values or sorted(counts.true))}
    first, second = sorted(counts.true, key=lambda value: (-counts.true[value], order[value]))[:2]
    predicted = Counter(counts.predicted)
    for value, times in counts.unprocessed.items():
        predicted[second if value == first else first] += times
    return predicted


def kappa(metric: Metric, counts: ClassCounts, parameters: Parameters) -> MetricValue:
    """1 − O/E. All sums are over cases or pairs of cases: O = observed / n, E = expected / n²."""
    if len(counts.true) < 2:
        return _single_class(metric)
    if metric.choices["weights"] == "none":
        observed, expected = disagreement(counts, _completed(metric.truth, counts))
    else:
        weight = distances(metric)
        observed = sum(times * weight(y, p) for (y, p), times in counts.pairs.items() if y is not None)
        expected = expected_distance(metric, counts)
    return MetricValue(value=1 - Fraction(observed * counts.cases, expected))


def disagreement(counts: ByClass, predicted: Mapping[Class, Times]) -> tuple[Times, Times]:
    """Return in how many cases truth and prediction differ, and in how many pairs of cases."""
    return counts.cases - sum(counts.right.values()), counts.cases**2 - _chance(counts.true, predicted)


def distances(metric: Metric) -> Callable[[Class, Class | None], int]:
    """Return the weight of an answer, as a function: the distance from the true class, or its square.

    An unprocessed case gets the largest that its true class has with any class.
    """
    power = 1 if metric.choices["weights"] == "linear" else 2
    place = _place(metric)
    low, high = 0, len(metric.truth.values) - 1
    if metric.truth.type == "integer":
        bounds = [metric.prediction.low, metric.prediction.high, metric.truth.low, metric.truth.high]
        known = [int(bound) for bound in bounds if bound is not None]
        low, high = min(known), max(known)

    def weight(y: Class, p: Class | None) -> int:
        at = place(y)
        distance = abs(at - place(p)) if p is not None else max(at - low, high - at)
        return int(distance**power)

    return weight


def _place(metric: Metric) -> Callable[[Class], int]:
    """Return the position of a class, as a function. The position of an integer is its value."""
    places: dict[Class, int] = {value: place for place, value in enumerate(metric.truth.values)}
    return int if metric.truth.type == "integer" else places.__getitem__


def expected_distance(metric: Metric, counts: ByClass) -> Times:
    """Return the sum of the weights over all pairs of a truth and a prediction; unprocessed: p = y."""
    place = _place(metric)
    true: dict[int, Times] = {place(value): times for value, times in counts.true.items()}
    predicted: dict[int, Times] = {place(value): times for value, times in counts.predicted.items()}
    for value, times in counts.unprocessed.items():
        predicted[place(value)] = predicted.get(place(value), 0) + times
    if metric.choices["weights"] == "linear":
        return _sum_of_distances(true, predicted)
    first, second = (sum(place * times for place, times in each.items()) for each in (true, predicted))
    squares, other_squares = (sum(place**2 * times for place, times in each.items()) for each in (true, predicted))
    return squares * sum(predicted.values()) + other_squares * counts.cases - 2 * first * second


def _sum_of_distances(one: Mapping[int, Times], other: Mapping[int, Times]) -> Times:
    """Σ |a − b| over all pairs: each gap between neighbors separates those on its left from those on its right."""
    found: Times = 0
    left, left_of_other = 0, 0
    right, right_of_other = sum(one.values()), sum(other.values())
    for place, following in pairwise(sorted({*one, *other})):
        here, here_of_other = one.get(place, 0), other.get(place, 0)
        left, right = left + here, right - here
        left_of_other, right_of_other = left_of_other + here_of_other, right_of_other - here_of_other
        found = found + (following - place) * (left * right_of_other + left_of_other * right)
    return found


def confusion_matrix(field: FieldInfo, counts: ClassCounts) -> dict[str, dict[str, int]] | None:
    """Return how often each class was predicted, by true class, zeros and `unprocessed` included.

    None if the field has no listed classes or more than 50, or if one of them is called `unprocessed`.
    """
    if not 0 < len(field.classes) <= MOST_CLASSES or UNPROCESSED in field.classes:
        return None
    predicted = [*_classes(field), (UNPROCESSED, None)]
    return {true: {name: counts.pairs[value, answer] for name, answer in predicted} for true, value in _classes(field)}
