"""The definitions of the specification, written down case by case and pair by pair, give the same values."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from math import sqrt
from random import Random
from typing import Any

import pytest
from tests.metric_cases import VARIANTS, Variant, random_columns
from tests.support import sample

F = Fraction
Rows = list[tuple[Any, Any]]
"""(truth, prediction or None), without nulls of the truth."""
SEEDS = range(400)


def _mean(values: Any) -> Fraction:
    found = [Fraction(value) for value in values]
    return sum(found, F(0)) / len(found)


def _ratio(numerator: int, denominator: int) -> Fraction:
    return F(numerator, denominator) if denominator else F(0)


def _parts(kind: str, rows: Rows, c: Any, positive: bool) -> tuple[int, int]:
    """Numerator and denominator of a class."""
    tp = sum(y == c and p == c for y, p in rows)
    fp = sum(y != c and p == c for y, p in rows)
    fn = sum(y == c and p != c for y, p in rows)  # unprocessed ones included
    unprocessed = sum(p is None and (positive or y == c) for y, p in rows)
    return {"precision": (tp, tp + fp + unprocessed), "recall": (tp, tp + fn), "f1": (2 * tp, 2 * tp + fp + fn)}[kind]


def _by_class(each: Variant, rows: Rows) -> Fraction:
    metric, kind = each.metric, each.metric.kind.name
    classes = metric.truth.values
    if "positive" in metric.choices:
        return _ratio(*_parts(kind, rows, metric.positive, True))
    parts = [_parts(kind, rows, c, False) for c in classes]
    if metric.choices.get("average") == "micro":
        return _ratio(sum(n for n, _ in parts), sum(d for _, d in parts))
    if metric.choices.get("average") == "support":
        return _mean(_ratio(*parts[classes.index(y)]) for y, _ in rows)
    if metric.choices.get("average") == "macro":
        return _mean(_ratio(*pair) for pair in parts)
    weights = [each.parameters.get(f"weights.{name}", F(0)) for name in metric.truth.classes]
    return sum((w * _ratio(*pair) for w, pair in zip(weights, parts, strict=True)), F(0)) / sum(weights)


def _with_most_frequent_other(each: Variant, rows: Rows) -> Rows:
    truths = [y for y, _ in rows]
    classes = list(each.metric.truth.values) or sorted(set(truths))

    def other(y: Any) -> Any:
        return max((c for c in classes if c != y), key=truths.count)  # the first on a tie

    return [(y, other(y) if p is None else p) for y, p in rows]


def _mcc(each: Variant, rows: Rows) -> Fraction | None:
    """The correlation of indicators of the classes."""
    if len({y for y, _ in rows}) < 2:
        return None
    rows = _with_most_frequent_other(each, rows)

    def covariance(left: list[Any], right: list[Any]) -> Fraction:
        return sum(
            (_mean(a == c and b == c for a, b in zip(left, right, strict=True))
             - _mean(a == c for a in left) * _mean(b == c for b in right)
             for c in each.metric.truth.values), F(0),
        )  # fmt: skip

    y, p = ([row[side] for row in rows] for side in (0, 1))
    spread = covariance(y, y) * covariance(p, p)
    if not spread:
        return F(0)
    square = covariance(y, p) ** 2 / spread
    return _root(square) * (-1 if covariance(y, p) < 0 else 1)


def _root(square: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 100
        return F(float((Decimal(square.numerator) / Decimal(square.denominator)).sqrt()))


def _kappa(each: Variant, rows: Rows) -> Fraction | None:
    if len({y for y, _ in rows}) < 2:
        return None
    weights, classes = each.metric.choices["weights"], list[Any](each.metric.truth.values or range(11))
    power = {"none": 0, "linear": 1, "quadratic": 2}[weights]

    def weight(a: Any, b: Any) -> int:
        return abs(classes.index(a) - classes.index(b)) ** power if a != b else 0

    if weights == "none":
        rows = _with_most_frequent_other(each, rows)
    observed = _mean(weight(y, p) if p is not None else max(weight(y, c) for c in classes) for y, p in rows)
    expected = _mean(weight(y, q if p is None else p) for y, _ in rows for q, p in rows)
    return 1 - observed / expected


def _sets(each: Variant, rows: Rows) -> Fraction | None:
    double = each.metric.kind.name == "set_f1"

    def parts(y: Any, p: Any) -> tuple[int, int]:
        true, found = set(y), set(p)
        return (2 * len(true & found), len(true) + len(found)) if double else (len(true & found), len(true | found))

    if each.metric.choices["average"] == "cases":
        return _mean(0 if p is None else 1 if not y and not p else F(*parts(y, p)) for y, p in rows)
    if not any(y for y, _ in rows):
        return None
    pairs = [parts(y, () if p is None else p) for y, p in rows]
    extra = sum(p is None and not y for y, p in rows)
    return F(sum(n for n, _ in pairs), sum(d for _, d in pairs) + extra)


def _auroc(each: Variant, rows: Rows) -> Fraction | None:
    positives, negatives = ([p for y, p in rows if (y == each.metric.positive) is side] for side in (True, False))
    if not positives or not negatives:
        return None
    pairs = [(p, n) for p in positives for n in negatives]
    return _mean(0 if p is None or n is None else F((p > n) * 2 + (p == n), 2) for p, n in pairs)


def _average_precision(each: Variant, rows: Rows) -> Fraction | None:
    flags = [y == each.metric.positive for y, _ in rows]
    if not any(flags):
        return None
    best = float("inf")
    scores = [best if p is None and not flag else p for (_, p), flag in zip(rows, flags, strict=True)]
    value, before = F(0), F(0)
    for score in sorted({s for s in scores if s is not None}, reverse=True):
        found = [flag for s, flag in zip(scores, flags, strict=True) if s is not None and s >= score]
        recall = F(sum(found), sum(flags))
        value += (recall - before) * F(sum(found), len(found))
        before = recall
    return value


def _brier(each: Variant, rows: Rows) -> Fraction:
    return _mean(1 if p is None else (F(p) - (y == each.metric.positive)) ** 2 for y, p in rows)


def _errors(each: Variant, rows: Rows) -> Fraction:
    errors = [each.parameters["unprocessed"] if p is None else abs(F(p) - F(y)) for y, p in rows]
    if each.metric.kind.name == "mae":
        return _mean(errors)
    square = _mean(error**2 for error in errors)
    return square if each.metric.kind.name == "mse" else _root(square)


def _within(each: Variant, rows: Rows) -> Fraction:
    ((key, tolerance),) = each.parameters.items()

    def inside(y: Any, p: Any) -> bool:
        true, found = Decimal(repr(y)), Decimal(repr(p))
        return abs(F(found) - F(true)) <= tolerance * (abs(F(true)) if key == "relative" else 1)

    return _mean(p is not None and inside(y, p) for y, p in rows)


DEFINITIONS: dict[str, Callable[[Variant, Rows], Fraction | None]] = {
    "accuracy": lambda each, rows: _mean(y == p for y, p in rows),
    "balanced_accuracy": lambda each, rows: _mean(
        _ratio(*_parts("recall", rows, c, False)) for c in {y for y, _ in rows}
    ),
    "precision": _by_class,
    "recall": _by_class,
    "f1": _by_class,
    "specificity": lambda each, rows: (
        _mean(p not in (None, each.metric.positive) for y, p in rows if y != each.metric.positive)
        if any(y != each.metric.positive for y, _ in rows)
        else None
    ),
    "mcc": _mcc,
    "kappa": _kappa,
    "jaccard": _sets,
    "set_f1": _sets,
    "auroc": _auroc,
    "average_precision": _average_precision,
    "brier": _brier,
    "mae": _errors,
    "mse": _errors,
    "rmse": _errors,
    "within": _within,
}
"""Without the metrics of texts."""
NAMES = [name for name, each in VARIANTS.items() if each.metric.kind.name in DEFINITIONS]


@pytest.mark.parametrize("name", NAMES)
def test_definition(name: str) -> None:
    """On random cases, many of them unprocessed."""
    each = VARIANTS[name]
    definition = DEFINITIONS[each.metric.kind.name]
    for seed in sample(SEEDS, 10):
        random = Random(f"{name} {seed}")
        truths, predictions = random_columns(each.metric, random, random.randint(1, 12))
        rows = [(y, p) for y, p in zip(truths, predictions, strict=True) if y is not None]
        if rows:
            assert each.value(truths, predictions).value == definition(each, rows), (truths, predictions)


def test_root_of_the_definition() -> None:
    assert _root(F(2)) == F(sqrt(2))
