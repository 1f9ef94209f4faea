"""Where scikit-learn or SciPy define the same metric, the numbers are the same if nothing is unprocessed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random
from typing import Any

import pytest
from tests.metric_cases import ANSWER, DOSE, FINDINGS, FLAG, LABEL, PROBABILITY, STAGE, Variant, survival, variant
from tests.support import TEST_ALL

from medcontract.scoring.metrics import KINDS

skl = pytest.importorskip("sklearn.metrics")
isotonic = pytest.importorskip("sklearn.isotonic")
stats = pytest.importorskip("scipy.stats")

TOLERANCE = 1e-12
CASES = 300 if os.environ.get(TEST_ALL) else 80
"""For each metric."""
ELEMENTS = ("edema", "shift", "midline")
Compare = Callable[[list[Any], list[Any]], float]


def _average(kind: str, **more: Any) -> Compare:
    """Precision, recall or F1 over all listed classes."""
    function: Callable[..., float] = getattr(skl, f"{kind}_score")
    return lambda y, p: function(y, p, labels=LABEL.classes, zero_division=0, **more)


def _weighted(kind: str, **weights: int) -> Compare:
    by_class = _average(kind, average=None)

    def compare(y: list[Any], p: list[Any]) -> float:
        found: Any = by_class(y, p)
        weighted: float = sum(found[LABEL.classes.index(name)] * w for name, w in weights.items())
        return weighted / sum(weights.values())

    return compare


def _kappa(labels: list[Any], weights: str) -> Compare:
    return lambda y, p: skl.cohen_kappa_score(y, p, labels=labels, weights=None if weights == "none" else weights)


def _sets(function: Callable[..., float], average: str) -> Compare:
    def rows(column: list[Any]) -> list[list[int]]:
        return [[int(element in found) for element in ELEMENTS] for found in column]

    return lambda y, p: function(rows(y), rows(p), average=average, zero_division=1)


def _positive(function: Callable[..., float]) -> Compare:
    return lambda y, p: function([value == "b" for value in y], p)


def _cost(y: list[Any], p: list[Any]) -> float:
    """Of a confusion matrix, with 2.5 for an a that is called b, and 1 for a b that is called a."""
    matrix = skl.confusion_matrix(y, p, labels=LABEL.classes)
    return float((matrix * [[0, 2.5, 0], [1, 0, 0], [0, 0, 0]]).sum()) / len(y)


def _at_specificity(y: list[Any], p: list[Any]) -> float:
    false, true, _ = skl.roc_curve(y, p, drop_intermediate=False)
    return float(max(t for t, f in zip(true, false, strict=True) if 1 - f >= 0.75))


def _at_sensitivity(y: list[Any], p: list[Any]) -> float:
    false, true, _ = skl.roc_curve(y, p, drop_intermediate=False)
    return float(max(1 - f for t, f in zip(true, false, strict=True) if t >= 0.5))


def _net_benefit(y: list[Any], p: list[Any]) -> float:
    (_, false), (_, true) = skl.confusion_matrix(y, [score >= 0.3 for score in p], labels=[False, True])
    return float(true - false * 0.3 / 0.7) / len(y)


def _log_loss(y: list[Any], p: list[Any]) -> float:
    return float(skl.log_loss(y, [min(max(score, 0.01), 0.99) for score in p], labels=[False, True]))


def _calibration_error(y: list[Any], p: list[Any]) -> float:
    fitted = isotonic.IsotonicRegression().fit(p, y).predict(p)
    return float(sum(abs(score - value) for score, value in zip(p, fitted, strict=True))) / len(y)


def _concordance(y: list[Any], p: list[Any]) -> float:
    """If every case has an event, it is a linear function of Somers' D of the risk given the time."""
    return float(1 - stats.somersd([time for time, _ in y], p).statistic) / 2


def _spearman(y: list[Any], p: list[Any]) -> float:
    return float(stats.spearmanr(y, p).statistic) if len(set(p)) > 1 else 0.0


def _pairs() -> Iterator[tuple[Variant, Compare]]:
    yield variant("accuracy", LABEL), skl.accuracy_score
    yield variant("accuracy", STAGE), skl.accuracy_score
    yield variant("balanced_accuracy", LABEL), skl.balanced_accuracy_score
    yield variant("mcc", LABEL), skl.matthews_corrcoef
    yield variant("mcc", FLAG), skl.matthews_corrcoef
    for kind in ("precision", "recall", "f1"):
        yield variant(kind, LABEL, average="macro"), _average(kind, average="macro")
        yield variant(kind, LABEL, average="micro"), _average(kind, average="micro")
        yield variant(kind, LABEL, average="support"), _average(kind, average="weighted")
        yield variant(kind, LABEL, positive="b"), _weighted(kind, b=1)
        yield variant(kind, LABEL, numbers={"weights.a": 3, "weights.c": 1}), _weighted(kind, a=3, c=1)
    yield (
        variant("specificity", LABEL, positive="b"),
        lambda y, p: skl.recall_score([v != "b" for v in y], [v != "b" for v in p], zero_division=0),
    )
    for weights in ("none", "linear", "quadratic"):
        yield variant("kappa", LABEL, weights=weights), _kappa(list(LABEL.classes), weights)
        yield variant("kappa", STAGE, weights=weights), _kappa(list(range(11)), weights)
    for ours, theirs in (("cases", "samples"), ("micro", "micro")):
        yield variant("jaccard", FINDINGS, average=ours), _sets(skl.jaccard_score, theirs)
        yield variant("set_f1", FINDINGS, average=ours), _sets(skl.f1_score, theirs)
    yield variant("auroc", PROBABILITY, LABEL, positive="b"), _positive(skl.roc_auc_score)
    yield variant("average_precision", PROBABILITY, LABEL, positive="b"), _positive(skl.average_precision_score)
    yield variant("brier", PROBABILITY, LABEL, positive="b"), _positive(skl.brier_score_loss)
    for field in (DOSE, STAGE):
        yield variant("mae", field, numbers={"unprocessed": 8}), skl.mean_absolute_error
        yield variant("mse", field, numbers={"unprocessed": 8}), skl.mean_squared_error
        yield variant("rmse", field, numbers={"unprocessed": 8}), skl.root_mean_squared_error
        yield variant("median_absolute_error", field, numbers={"unprocessed": 8}), skl.median_absolute_error
        yield variant("r2", field), skl.r2_score
        yield variant("spearman", field), _spearman
    for ours, more in (("macro", "macro"), ("micro", "micro"), ("support", "weighted")):
        compare = partial(skl.fbeta_score, beta=2, labels=LABEL.classes, zero_division=0, average=more)
        yield variant("fbeta", LABEL, numbers={"beta": 2}, average=ours), compare
    compare = partial(skl.fbeta_score, beta=0.5, labels=["b"], zero_division=0, average="macro")
    yield variant("fbeta", LABEL, numbers={"beta": "0.5"}, positive="b"), compare
    yield variant("cost", LABEL, numbers={"costs.a.b": "2.5", "costs.b.a": 1}), _cost
    yield (
        variant("sensitivity_at_specificity", PROBABILITY, LABEL, {"at": "0.75"}, positive="b"),
        _positive(_at_specificity),
    )
    yield (
        variant("specificity_at_sensitivity", PROBABILITY, LABEL, {"at": "0.5"}, positive="b"),
        _positive(_at_sensitivity),
    )
    yield variant("net_benefit", PROBABILITY, LABEL, {"threshold": "0.3"}, positive="b"), _positive(_net_benefit)
    yield variant("log_loss", PROBABILITY, LABEL, {"clip": "0.01"}, positive="b"), _positive(_log_loss)
    yield variant("calibration_error", PROBABILITY, LABEL, positive="b"), _positive(_calibration_error)
    yield survival(), _concordance
    yield variant("exact_match", ANSWER), skl.accuracy_score


PAIRS = {each.metric.name: (each, compare) for each, compare in _pairs()}


def _column(name: str, random: Random, length: int) -> list[Any]:
    """Values with ties, often skewed, and often without some of the classes."""
    if name == "months":
        return [(random.randint(1, 9), True) for _ in range(length)]
    if name in ("dose", "probability", "risk"):
        high = 8 if name == "dose" else 1
        digits = random.choice((1, 2, 17))
        return [round(random.uniform(0, high), digits) for _ in range(length)]
    if name == "findings":
        share = random.random()
        return [tuple(each for each in ELEMENTS if random.random() < share) for _ in range(length)]
    choices: dict[str, Sequence[Any]] = {"label": "abc", "flag": (False, True), "stage": range(11), "answer": "xyz"}
    among = random.sample(list(choices[name]), random.randint(2, len(choices[name])))
    return random.choices(among, [random.random() ** 3 + 0.01 for _ in among], k=length)


def largest_difference(name: str, cases: int) -> tuple[float, int]:
    """The largest difference from scikit-learn, and the number of cases that were compared."""
    each, compare = PAIRS[name]
    metric, largest, compared = each.metric, 0.0, 0
    for seed in range(cases):
        random = Random(f"{name} {seed}")
        length = random.choice((3, 8, 20, 60))
        truths = _column(metric.truth.name, random, length)
        predictions = _column(metric.prediction.name, random, length)
        if not metric.kind.positive_case:
            right = random.random()
            predictions = [y if random.random() < right else p for y, p in zip(truths, predictions, strict=True)]
        value = each.value(truths, predictions).value
        if value is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about classes that do not occur
                expected = compare(truths, predictions)
            largest, compared = max(largest, abs(float(value) - float(expected))), compared + 1
    return largest, compared


def test_rouge_l_is_that_of_rouge_score() -> None:
    """For texts that are not empty, with tokens between blanks."""
    rouge = pytest.importorskip("rouge_score.rouge_scorer")
    tokens = type("Tokens", (), {"tokenize": lambda self, text: text.split()})()
    scorer = rouge.RougeScorer(["rougeL"], tokenizer=tokens)
    for seed in range(CASES):
        random = Random(seed)
        y, p = (" ".join(random.choices("abcde", k=random.randint(1, 20))) for _ in range(2))
        found = variant("rouge_l", ANSWER).value([y], [p]).value
        assert found is not None
        assert abs(float(found) - scorer.score(y, p)["rougeL"].fmeasure) <= TOLERANCE


@pytest.mark.parametrize("name", PAIRS)
def test_same_as_scikit_learn(name: str) -> None:
    largest, compared = largest_difference(name, CASES)
    assert compared > CASES / 3
    assert largest <= TOLERANCE


def test_all_kinds_are_compared() -> None:
    """Except classes that neither has."""
    others = {"within", "token_f1", "rouge_l", "custom"}
    assert set(KINDS) - {each.metric.kind.name for each, _ in PAIRS.values()} == others
