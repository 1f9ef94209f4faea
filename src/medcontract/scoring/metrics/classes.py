"""Metrics of classes, from counts of true and predicted classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import pairwise

from medcontract.errors import CallError
from medcontract.problems import plain_name
from medcontract.scoring.metrics.counting import Class, ClassCounts
from medcontract.scoring.metrics.kinds import FieldInfo
from medcontract.scoring.metrics.metric import Metric, MetricValue, Parameters
from medcontract.scoring.rational import ONE, ZERO, mean, rounded_root, total

_MOST_NAMED = 10
MOST_CLASSES = 50
"""The largest number of classes of a confusion matrix."""
UNPROCESSED = "unprocessed"


def _classes(field: FieldInfo) -> Iterable[tuple[str, str | bool]]:
    return zip(field.classes, field.values, strict=True)


def ratio(numerator: int | Fraction, denominator: int | Fraction) -> Fraction:
    """The quotient; 0 if the denominator is 0."""
    return Fraction(numerator, denominator) if denominator else ZERO


def balanced_accuracy(metric: Metric, counts: ClassCounts, parameters: Parameters) -> MetricValue:
    recalls = {
        name: Fraction(counts.right[value], counts.true[value])
        for name, value in _classes(metric.truth)
        if counts.true[value]
    }
    return MetricValue(value=mean(recalls.values()), by_class=recalls)


def precision(metric: Metric, counts: ClassCounts, parameters: Parameters) -> MetricValue:
    """An unprocessed case adds 1 to the denominator of its class; with `positive`, of every class."""
    unprocessed: Mapping[Class, int] = counts.unprocessed
    if "positive" in metric.choices:
        unprocessed = dict.fromkeys(metric.truth.values, counts.unprocessed.total())

    def parts(value: Class) -> tuple[int, int]:
        return counts.right[value], counts.predicted[value] + unprocessed[value]

    return _averaged(metric, counts, parameters, parts)


def recall(metric: Metric, counts: ClassCounts, parameters: Parameters) -> MetricValue:
    return _averaged(metric, counts, parameters, lambda value: (counts.right[value], counts.true[value]))


def f1_score(metric: Metric, counts: ClassCounts, parameters: Parameters) -> MetricValue:
    """2TP / (2TP + FP + FN): TP + FP cases are predicted to be of the class, TP + FN are of it."""

    def parts(value: Class) -> tuple[int, int]:
        return 2 * counts.right[value], counts.predicted[value] + counts.true[value]

    return _averaged(metric, counts, parameters, parts)


def fbeta(metric: Metric, counts: ClassCounts, parameters: Parameters) -> MetricValue:
    """(1 + β²)TP / ((1 + β²)TP + β²FN + FP), where TP + FN cases are of the class, TP + FP predicted to be of it."""
    square = parameters["beta"] ** 2

    def parts(value: Class) -> tuple[Fraction, Fraction]:
        return (1 + square) * counts.right[value], square * counts.true[value] + counts.predicted[value]

    return _averaged(metric, counts, parameters, parts)


def cost(metric: Metric, counts: ClassCounts, parameters: Parameters) -> MetricValue:
    """The mean cost; an unprocessed case costs as much as the worst answer."""
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


def _averaged(
    metric: Metric,
    counts: ClassCounts,
    parameters: Parameters,
    parts: Callable[[Class], tuple[int | Fraction, int | Fraction]],
) -> MetricValue:
    """`parts` returns numerator and denominator for a class."""
    fractions = {name: parts(value) for name, value in _classes(metric.truth)}
    by_class = {name: ratio(*pair) for name, pair in fractions.items()}
    if metric.choices.get("average") == "micro":
        numerators, denominators = zip(*fractions.values(), strict=True)
        return MetricValue(value=ratio(sum(numerators), sum(denominators)), by_class=by_class)
    if metric.choices.get("average") == "support":
        weights = {name: Fraction(counts.true[value]) for name, value in _classes(metric.truth)}
        return MetricValue(value=_weighted(by_class, weights), by_class=by_class)
    return MetricValue(value=_weighted(by_class, weights_of(metric, parameters)), by_class=by_class)


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


def _weighted(by_class: Mapping[str, Fraction], weights: Mapping[str, Fraction]) -> Fraction:
    return total(by_class[name] * weight for name, weight in weights.items()) / total(weights.values())


def warn_absent(metric: Metric, counts: ClassCounts, parameters: Parameters) -> Iterable[str]:
    """A warning about classes without a case, if they have a weight of their own."""
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


def specificity(metric: Metric, counts: ClassCounts, parameters: Parameters) -> MetricValue:
    """TN / (TN + FP), where an unprocessed negative is a FP: the denominator is the number of negatives."""
    positive = metric.positive
    negatives = counts.cases - counts.true[positive]
    if not negatives:
        return MetricValue(value=None, reason=f"'{metric.truth.name}' of the truth is positive in every case")
    false_positives = counts.predicted[positive] - counts.right[positive]
    unprocessed = counts.unprocessed.total() - counts.unprocessed[positive]
    return MetricValue(value=Fraction(negatives - false_positives - unprocessed, negatives))


def mcc(metric: Metric, counts: ClassCounts, parameters: Parameters) -> MetricValue:
    """The correlation coefficient R_K; its correctly rounded double is used from here on."""
    if len(counts.true) < 2:
        return _single_class(metric)
    cases, predicted = counts.cases, _completed(metric.truth, counts)
    covariance = counts.right.total() * cases - sum(predicted[value] * times for value, times in counts.true.items())
    spread = cases**2 - sum(times**2 for times in predicted.values())
    true_spread = cases**2 - sum(times**2 for times in counts.true.values())
    root = Fraction(rounded_root(ratio(covariance**2, spread * true_spread)))
    return MetricValue(value=-root if covariance < 0 else root)


def _single_class(metric: Metric) -> MetricValue:
    return MetricValue(value=None, reason=f"'{metric.truth.name}' of the truth has the same value in every case")


def _completed(field: FieldInfo, counts: ClassCounts) -> Counter[Class]:
    """How often each class was predicted, if unprocessed cases count as the most frequent other class of the truth."""
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
        predicted = _completed(metric.truth, counts)
        observed = counts.cases - counts.right.total()
        expected = counts.cases**2 - sum(predicted[value] * times for value, times in counts.true.items())
    else:
        observed, expected = _weighted_disagreement(metric, counts)
    return MetricValue(value=1 - Fraction(observed * counts.cases, expected))


def _weighted_disagreement(metric: Metric, counts: ClassCounts) -> tuple[int, int]:
    power = 1 if metric.choices["weights"] == "linear" else 2
    place, low, high = _places(metric)
    observed = 0
    for (y, p), times in counts.pairs.items():
        if y is not None:
            at = place(y)
            distance = abs(at - place(p)) if p is not None else max(at - low, high - at)
            observed += times * distance**power
    true = Counter({place(value): times for value, times in counts.true.items()})
    predicted = Counter({place(value): times for value, times in counts.predicted.items()})
    predicted.update({place(value): times for value, times in counts.unprocessed.items()})
    return observed, (_sum_of_distances if power == 1 else _sum_of_squares)(true, predicted)


def _places(metric: Metric) -> tuple[Callable[[Class], int], int, int]:
    """The position of a class, and the first and the last position. Those of integers are their values."""
    if metric.truth.type == "integer":
        bounds = [metric.prediction.low, metric.prediction.high, metric.truth.low, metric.truth.high]
        known = [int(bound) for bound in bounds if bound is not None]
        return int, min(known), max(known)
    places: dict[Class, int] = {value: place for place, value in enumerate(metric.truth.values)}
    return places.__getitem__, 0, len(places) - 1


def _sum_of_distances(one: Counter[int], other: Counter[int]) -> int:
    """Σ |a − b| over all pairs: each gap between neighbors separates those on its left from those on its right."""
    left, left_of_other, found = 0, 0, 0
    right, right_of_other = one.total(), other.total()
    for place, following in pairwise(sorted({*one, *other})):
        left, right = left + one[place], right - one[place]
        left_of_other, right_of_other = left_of_other + other[place], right_of_other - other[place]
        found += (following - place) * (left * right_of_other + left_of_other * right)
    return found


def _sum_of_squares(one: Counter[int], other: Counter[int]) -> int:
    """Σ (a − b)² over all pairs."""
    first, second = (sum(place * times for place, times in each.items()) for each in (one, other))
    squares, other_squares = (sum(place**2 * times for place, times in each.items()) for each in (one, other))
    return squares * other.total() + other_squares * one.total() - 2 * first * second


def confusion_matrix(field: FieldInfo, counts: ClassCounts) -> dict[str, dict[str, int]] | None:
    """How often each class was predicted, by true class, zeros and `unprocessed` included.

    None if the field has no listed classes or more than 50, or if one of them is called `unprocessed`.
    """
    if not 0 < len(field.classes) <= MOST_CLASSES or UNPROCESSED in field.classes:
        return None
    predicted = [*_classes(field), (UNPROCESSED, None)]
    return {true: {name: counts.pairs[value, answer] for name, answer in predicted} for true, value in _classes(field)}
