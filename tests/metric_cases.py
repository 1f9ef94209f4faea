"""Metrics of challenges to test: every kind, with every choice, and values for their fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

from medcontract.scoring.metrics import KINDS, FieldInfo, Metric, MetricValue, build

LABEL = FieldInfo("label", "one_of", ("a", "b", "c"))
FLAG = FieldInfo("flag", "boolean")
STAGE = FieldInfo("stage", "integer", low=0, high=10)
PROBABILITY = FieldInfo("probability", "number", low=0, high=1)
DOSE = FieldInfo("dose", "number", low=0, high=8)
FINDINGS = FieldInfo("findings", "set")
ANSWER = FieldInfo("answer", "text")
MONTHS = FieldInfo("months", "number")
DIED = FieldInfo("died", "boolean")
RISK = FieldInfo("risk", "number")

Column = Sequence[Any]


class Variant(NamedTuple):
    """A metric, and the numbers that it is tested with."""

    metric: Metric
    parameters: dict[str, Fraction]

    def value(self, truths: Column, predictions: Column) -> MetricValue:
        counts = self.metric.counting(self.parameters).count(truths, predictions)
        return self.metric.figures(counts, self.parameters)

    def about_truth(self, truths: Column, predictions: Column) -> list[str]:
        counts = self.metric.counting(self.parameters).count(truths, predictions)
        return list(self.metric.about_truth(counts, self.parameters))


def variant(
    kind: str,
    field: FieldInfo,
    truth: FieldInfo | None = None,
    numbers: Mapping[str, str | int] | None = None,
    **choices: str | bool | int,
) -> Variant:
    given = {key: Fraction(number) for key, number in (numbers or {}).items()}
    label = " ".join([kind, field.name, *map(str, choices.values()), *given])
    return Variant(build(label, kind, field, truth, choices=choices, numbers=tuple(given)), given)


def survival() -> Variant:
    """Return the concordance of a risk with months until death."""
    metric = build("concordance risk", "concordance", RISK, MONTHS, event=DIED, choices={"event": True})
    return Variant(metric, {})


def _variants() -> list[Variant]:
    found = [variant("accuracy", field) for field in (LABEL, FLAG, STAGE, ANSWER)]
    for field in (LABEL, FLAG):
        positive = field.values[1]
        found += [variant("balanced_accuracy", field), variant("mcc", field)]
        found += [variant("specificity", field, positive=positive)]
        for kind in ("precision", "recall", "f1"):
            found += [variant(kind, field, average=average) for average in ("macro", "micro", "support")]
            found += [variant(kind, field, positive=positive)]
            found += [variant(kind, field, numbers={f"weights.{name}": 2 for name in field.classes[:1]})]
        found += [
            variant("fbeta", field, numbers={"beta": 2}, average=average) for average in ("macro", "micro", "support")
        ]
        found += [variant("fbeta", field, numbers={"beta": "0.5"}, positive=positive)]
        found += [variant("fbeta", field, numbers={f"weights.{field.classes[0]}": 1, "beta": 3})]
        first, second = field.classes[:2]
        found += [variant("cost", field, numbers={f"costs.{first}.{second}": "2.5", f"costs.{second}.{first}": 1})]
    for field in (LABEL, STAGE):
        found += [variant("kappa", field, weights=weights) for weights in ("none", "linear", "quadratic")]
    for kind in ("jaccard", "set_f1"):
        found += [variant(kind, FINDINGS, average=average) for average in ("cases", "micro")]
    of_scores: dict[str, dict[str, str | int]] = {
        "auroc": {}, "average_precision": {}, "brier": {}, "sensitivity_at_specificity": {"at": "0.75"},
        "specificity_at_sensitivity": {"at": "0.5"}, "net_benefit": {"threshold": "0.3"}, "log_loss": {"clip": "1e-15"},
        "calibration_error": {},
    }  # fmt: skip
    for kind, numbers in of_scores.items():
        found += [
            variant(kind, PROBABILITY, field, numbers, positive=positive)
            for field, positive in ((LABEL, "b"), (FLAG, True), (STAGE, 1))
        ]
    found += [survival()]
    found += [variant(kind, field) for kind in ("r2", "spearman") for field in (DOSE, STAGE)]
    for kind in ("mae", "mse", "rmse", "median_absolute_error"):
        found += [
            variant(kind, DOSE, numbers={"unprocessed": "0.75"}),
            variant(kind, STAGE, numbers={"unprocessed": 10}),
        ]
    found += [variant("within", DOSE, numbers={"relative": "0.1"}), variant("within", STAGE, numbers={"absolute": 1})]
    for kind in ("rouge_l", "exact_match", "token_f1"):
        found += [variant(kind, ANSWER, normalize=normalize) for normalize in ("none", "clinical", "fold")]
    return found


VARIANTS = {each.metric.name: each for each in _variants()}
OF_PLUGINS = "custom"
"""The kind that is tested by itself: a plugin has its formula."""
assert {each.metric.kind.name for each in VARIANTS.values()} | {OF_PLUGINS} == set(KINDS), "a kind is not tested"

MAY_RISE = ("calibration_error", "mcc label", "spearman")
"""Where leaving out a right record may raise the figure: docs/why/challenges.md."""

_VALUES: dict[str, Sequence[Any]] = {
    "label": LABEL.values,
    "flag": FLAG.values,
    "stage": range(11),
    "probability": (0, 0.0, 0.1, 0.25, 0.3, 0.30000000000000004, 0.5, 0.9, 1.0, 5e-324),
    "dose": (0, 0.1, 0.11, 1, 1.02, 2.5, 2.75, 7.3, 8, 5e-324),
    "findings": ((), ("edema",), ("shift", "edema"), ("midline", "shift"), ("edema", "midline", "shift")),
    "months": tuple((time, event) for time in (1, 1.5, 2, 3.0, 7) for event in (False, True)),
    "risk": (0, -1.5, 0.1, 0.3, 0.30000000000000004, 2, 1e300, -0.0),
    "answer": ("", "no stroke", "No stroke.", "T.S.H.", "TSH", "heart attack", "myocardial infarction", "+", "-"),
}  # fmt: skip
"""Values of each field; for a time they are pairs, with an event."""


def values(field: FieldInfo) -> Sequence[Any]:
    return _VALUES[field.name]


def perfect(metric: Metric, truth: Any) -> Any:
    """The prediction that is right."""
    if truth is None:
        return values(metric.prediction)[0]
    if metric.event is not None:
        time, event = truth
        return -2 * time + (event == metric.positive) / 4  # an event is before none
    return float(truth == metric.positive) if metric.kind.positive_case else truth


def random_columns(metric: Metric, random: Random, length: int) -> tuple[list[Any], list[Any]]:
    """A truth with few or many different values, some of them null, and more or less right predictions."""
    among = random.sample(list(values(metric.truth)), random.randint(1, len(values(metric.truth))))
    weights = [random.random() ** 4 + 0.01 for _ in among]
    nulls, missing, right = (random.choice((0, 0.1, 0.5)) for _ in range(3))
    truths = [None if random.random() < nulls else random.choices(among, weights)[0] for _ in range(length)]
    guesses = random.sample(list(values(metric.prediction)), random.randint(1, len(values(metric.prediction))))
    predictions = [perfect(metric, y) if random.random() < right else random.choice(guesses) for y in truths]
    return truths, [None if random.random() < missing else p for p in predictions]
