"""The definitions of the specification, case by case and pair by pair: a second, naive way to compute a metric."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from tests.metric_cases import Variant

F = Fraction
Rows = list[tuple[Any, Any]]
"""(truth, prediction or None), without nulls of the truth."""


def _mean(values: Any) -> Fraction:
    found = [Fraction(value) for value in values]
    return sum(found, F(0)) / len(found)


def _ratio(numerator: Any, denominator: Any) -> Fraction:
    return F(numerator, denominator) if denominator else F(0)


def _parts(each: Variant, rows: Rows, c: Any, positive: bool = False) -> tuple[Any, Any]:
    """Numerator and denominator of a class. Of Fβ: ((1 + β²)TP, (1 + β²)TP + β²FN + FP)."""
    tp = sum(y == c and p == c for y, p in rows)
    fp = sum(y != c and p == c for y, p in rows)
    fn = sum(y == c and p != c for y, p in rows)  # unprocessed ones included
    unprocessed = sum(p is None and (positive or y == c) for y, p in rows)
    square = each.parameters.get("beta", F(1)) ** 2
    of_beta = (1 + square) * tp, (1 + square) * tp + square * fn + fp
    by_kind: dict[str, tuple[Any, Any]] = {"precision": (tp, tp + fp + unprocessed), "f1": of_beta, "fbeta": of_beta}
    return by_kind.get(each.metric.kind.name, (tp, tp + fn))


def _by_class(each: Variant, rows: Rows) -> Fraction:
    metric, classes = each.metric, each.metric.truth.values
    if "positive" in metric.choices:
        return _ratio(*_parts(each, rows, metric.positive, True))
    parts = [_parts(each, rows, c) for c in classes]
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
    return root(square) * (-1 if covariance(y, p) < 0 else 1)


def root(square: Fraction) -> Fraction:
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
    return square if each.metric.kind.name == "mse" else root(square)


def _cost(each: Variant, rows: Rows) -> Fraction:
    classes = each.metric.truth

    def cost(y: Any, p: Any) -> Fraction:
        if p is None:
            return max(cost(y, c) for c in classes.values)
        return each.parameters.get(f"costs.{classes.name_of(y)}.{classes.name_of(p)}", F(0))

    return _mean(cost(y, p) for y, p in rows)


def _thresholds(each: Variant, rows: Rows) -> list[tuple[Fraction, Fraction]] | None:
    """(sensitivity, specificity) at every threshold."""
    sides = [[p for y, p in rows if (y == each.metric.positive) is side] for side in (True, False)]
    if not all(sides):
        return None
    thresholds = [float("inf"), *(p for _, p in rows if p is not None)]
    return [
        (_mean(p is not None and p >= t for p in sides[0]), _mean(p is not None and p < t for p in sides[1]))
        for t in thresholds
    ]


def _operating_point(of: int) -> Callable[[Variant, Rows], Fraction | None]:
    def best(each: Variant, rows: Rows) -> Fraction | None:
        points = _thresholds(each, rows)
        if points is None:
            return None
        return max((point[of] for point in points if point[1 - of] >= each.parameters["at"]), default=F(0))

    return best


def _net_benefit(each: Variant, rows: Rows) -> Fraction:
    t = each.parameters["threshold"]
    gain = F(0)
    for y, p in rows:
        if y == each.metric.positive:
            gain += p is not None and p >= float(t)
        elif p is None or p >= float(t):
            gain -= t / (1 - t)
    return gain / len(rows)


def _log_loss(each: Variant, rows: Rows) -> Fraction:
    with localcontext() as context:
        context.prec = 80
        clip = Decimal(each.parameters["clip"].numerator) / each.parameters["clip"].denominator
        found = Decimal(0)
        for y, p in rows:
            probability = clip if p is None else Decimal(p) if y == each.metric.positive else 1 - Decimal(p)
            found -= min(max(probability, clip), 1 - clip).ln()
        return F(found / len(rows))


def _calibration_error(each: Variant, rows: Rows) -> Fraction:
    """c(p) is the largest mean from a score up to p on, of the smallest means up to a score from p on."""
    scores = sorted({p for _, p in rows if p is not None})
    flags = {score: [F(y == each.metric.positive) for y, p in rows if p == score] for score in scores}

    def mean(low: int, high: int) -> Fraction:
        return _mean(flag for score in scores[low : high + 1] for flag in flags[score])

    errors = F(sum(p is None for _, p in rows))
    for at, score in enumerate(scores):
        c = max(min(mean(low, high) for high in range(at, len(scores))) for low in range(at + 1))
        errors += len(flags[score]) * abs(F(score) - c)
    return errors / len(rows)


def _concordance(each: Variant, rows: Rows) -> Fraction | None:
    pairs = [
        (p, q)
        for (time, event), p in rows
        for (other_time, other_event), q in rows
        if event and (time < other_time or (time == other_time and not other_event))
    ]
    if not pairs:
        return None
    return _mean(0 if p is None or q is None else F((p > q) * 2 + (p == q), 2) for p, q in pairs)


def _r2(each: Variant, rows: Rows) -> Fraction | None:
    if len({y for y, _ in rows}) < 2:
        return None
    center = _mean(y for y, _ in rows)
    farthest = max(abs(F(y) - center) for y, _ in rows)
    residual = sum(((F(p) - F(y)) ** 2 if p is not None else (2 * farthest) ** 2 for y, p in rows), F(0))
    return 1 - residual / sum(((F(y) - center) ** 2 for y, _ in rows), F(0))


def _spearman(each: Variant, rows: Rows) -> Fraction | None:
    if len({y for y, _ in rows}) < 2:
        return None
    truths = sorted(F(y) for y, _ in rows)
    median = (truths[(len(truths) - 1) // 2] + truths[len(truths) // 2]) / 2
    predictions = [(-1e999 if F(y) > median else 1e999) if p is None else p for y, p in rows]

    def ranks(values: list[Any]) -> list[Fraction]:
        """The mean of the ranks that equal values share."""
        return [_mean(rank for rank, other in enumerate(sorted(values), start=1) if other == value) for value in values]

    y, p = ranks([y for y, _ in rows]), ranks(predictions)
    middle = F(len(rows) + 1, 2)
    covariance = sum(((a - middle) * (b - middle) for a, b in zip(y, p, strict=True)), F(0))
    spread = sum((a - middle) ** 2 for a in y) * sum((b - middle) ** 2 for b in p)
    if not spread:
        return F(0)
    with localcontext() as context:
        context.prec = 80
        square = F(covariance) ** 2 / spread
        root = (Decimal(square.numerator) / Decimal(square.denominator)).sqrt()
    return F(root) * (-1 if covariance < 0 else 1)


def _median(each: Variant, rows: Rows) -> Fraction:
    errors = sorted(each.parameters["unprocessed"] if p is None else abs(F(p) - F(y)) for y, p in rows)
    return (errors[(len(errors) - 1) // 2] + errors[len(errors) // 2]) / 2


def _within(each: Variant, rows: Rows) -> Fraction:
    ((key, tolerance),) = each.parameters.items()

    def inside(y: Any, p: Any) -> bool:
        true, found = Decimal(repr(y)), Decimal(repr(p))
        return abs(F(found) - F(true)) <= tolerance * (abs(F(true)) if key == "relative" else 1)

    return _mean(p is not None and inside(y, p) for y, p in rows)


DEFINITIONS: dict[str, Callable[[Variant, Rows], Fraction | None]] = {
    "accuracy": lambda each, rows: _mean(y == p for y, p in rows),
    "balanced_accuracy": lambda each, rows: _mean(_ratio(*_parts(each, rows, c)) for c in {y for y, _ in rows}),
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
    "fbeta": _by_class,
    "cost": _cost,
    "sensitivity_at_specificity": _operating_point(0),
    "specificity_at_sensitivity": _operating_point(1),
    "net_benefit": _net_benefit,
    "log_loss": _log_loss,
    "calibration_error": _calibration_error,
    "concordance": _concordance,
    "median_absolute_error": _median,
    "r2": _r2,
    "spearman": _spearman,
}
"""Without the metrics of texts."""
