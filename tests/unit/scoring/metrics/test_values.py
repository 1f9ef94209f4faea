"""The value of every kind of metric and every rule for unprocessed cases, computed by hand."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from tests.metric_cases import ANSWER, DOSE, FINDINGS, FLAG, LABEL, PROBABILITY, STAGE, survival, variant

from medcontract.errors import CallError
from medcontract.scoring.metrics import KINDS, FieldInfo, MetricValue, build, confusion_matrix
from medcontract.scoring.metrics.counting import ClassCounts
from medcontract.scoring.rational import TooLarge, rounded

F = Fraction

# One wrong and one unprocessed case of class a (3 cases), one wrong of b (2), and the only c is unprocessed:
#
#       predicted   a   b   c   none        right  true  predicted
#   true   a        1   1   0   1       a   1      3     2
#          b        1   1   0   0       b   1      2     2
#          c        0   0   0   1       c   0      1     0
TRUE = ["a", "a", "a", "b", "b", "c"]
PREDICTED = ["a", "b", None, "b", "a", None]


def value(kind: str, field: FieldInfo, truths: Any, predictions: Any, *more: Any, **named: Any) -> MetricValue:
    return variant(kind, field, *more, **named).value(truths, predictions)


def labels(kind: str, **more: Any) -> Fraction | None:
    return value(kind, LABEL, TRUE, PREDICTED, **more).value


# --- classes ----------------------------------------------------------------------------------------------------------


def test_accuracy() -> None:
    """Two of six are right; unprocessed ones are wrong."""
    assert labels("accuracy") == F(2, 6)


@pytest.mark.parametrize(("field", "truths", "predictions"), [
    (FLAG, [True, False, True, None], [True, True, None, True]),
    (STAGE, [1, 2, 3, None], [1, 3, None, 1]),
    (ANSWER, ["x", "x", "x", None], ["x", "X", None, None]),
])  # fmt: skip
def test_accuracy_of_other_fields(field: FieldInfo, truths: list[Any], predictions: list[Any]) -> None:
    """One of three; the case whose truth is null is left out, whether it is processed or not."""
    assert value("accuracy", field, truths, predictions) == MetricValue(value=F(1, 3), left_out=1)


def test_integers_are_compared_as_doubles() -> None:
    """2**53 and 2**53 + 1 are the same double."""
    assert value("accuracy", FieldInfo("n", "integer"), [2**53], [2**53 + 1]).value == 1


def test_balanced_accuracy() -> None:
    """(1/3 + 1/2 + 0/1) / 3."""
    found = value("balanced_accuracy", LABEL, TRUE, PREDICTED)
    assert found.value == F(5, 18)
    assert found.by_class == {"a": F(1, 3), "b": F(1, 2), "c": 0}


def test_balanced_accuracy_ignores_classes_that_the_truth_lacks() -> None:
    """(1/2 + 1) / 2."""
    found = value("balanced_accuracy", LABEL, ["a", "a", "b"], ["a", "c", "b"])
    assert (found.value, found.by_class) == (F(3, 4), {"a": F(1, 2), "b": 1})


@pytest.mark.parametrize(("more", "expected"), [
    ({"average": "macro"}, F(5, 18)),  # a: 1/3, b: 1/2, c: 0/1
    ({"average": "micro"}, F(2, 6)),
    ({"average": "support"}, F(1, 3)),  # (3·1/3 + 2·1/2 + 1·0) / 6
    ({"positive": "b"}, F(1, 2)),
    ({"numbers": {"weights.a": 3, "weights.c": 1}}, F(1, 4)),  # (3·1/3 + 1·0) / 4
])  # fmt: skip
def test_recall(more: Any, expected: Fraction) -> None:
    assert labels("recall", **more) == expected


@pytest.mark.parametrize(("more", "expected"), [
    ({"average": "macro"}, F(5, 18)),  # a: 1/(2+1), b: 1/2, c: 0/(0+1): unprocessed ones count in their true class
    ({"average": "micro"}, F(2, 6)),  # 2 / (3 + 2 + 1)
    ({"average": "support"}, F(1, 3)),  # (3·1/3 + 2·1/2 + 1·0) / 6
    ({"positive": "b"}, F(1, 4)),  # 1 / (2+2): both unprocessed cases count, although none is a b
    ({"positive": "a"}, F(1, 4)),  # 1 / (2+2): and so does the c
    ({"numbers": {"weights.b": "0.5"}}, F(1, 2)),
])  # fmt: skip
def test_precision(more: Any, expected: Fraction) -> None:
    assert labels("precision", **more) == expected


@pytest.mark.parametrize(("more", "expected"), [
    ({"average": "macro"}, F(3, 10)),  # a: 2/(2+3), b: 2/(2+2), c: 0/(0+1): FN of their class, FP of none
    ({"average": "micro"}, F(4, 10)),  # 2·2 / (4 predicted + 6 true)
    ({"average": "support"}, F(11, 30)),  # (3·2/5 + 2·1/2 + 1·0) / 6
    ({"positive": "a"}, F(2, 5)),
    ({"numbers": {"weights.a": 2, "weights.c": 1}}, F(4, 15)),  # (2·2/5 + 0) / 3
])  # fmt: skip
def test_f1(more: Any, expected: Fraction) -> None:
    assert labels("f1", **more) == expected


@pytest.mark.parametrize("kind", ["precision", "recall", "f1"])
def test_by_class_of_a_positive_class_is_the_metric(kind: str) -> None:
    """With `positive` each class is treated as if it was the positive one."""
    for name in LABEL.classes:
        found = value(kind, LABEL, TRUE, PREDICTED, positive=name)
        assert found.by_class is not None
        assert found.by_class[name] == found.value


@pytest.mark.parametrize("kind", ["precision", "recall", "f1"])
def test_class_that_the_truth_lacks(kind: str) -> None:
    """0/0 is 0, with a warning where this matters: a and b are perfect, so that the mean is 2/3."""

    def found(**more: Any) -> Fraction | None:
        return value(kind, LABEL, ["a", "b"], ["a", "b"], **more).value

    def about_truth(**more: Any) -> list[str]:
        return variant(kind, LABEL, **more).about_truth(["a", "b"], ["a", "b"])

    assert found(average="macro") == F(2, 3)
    (warning,) = about_truth(average="macro")
    assert warning.startswith(f"'{kind} label macro': the truth has no case of class c ('label'): {kind} of a class")
    assert found(positive="c") == 0
    assert about_truth(positive="c")
    assert about_truth(numbers={"weights.c": 1, "weights.a": 1})
    for harmless in ({"average": "micro"}, {"average": "support"}, {"positive": "a"}, {"numbers": {"weights.a": 1}}):
        assert found(**harmless) == 1
        assert not about_truth(**harmless)


def test_weights_of_zero() -> None:
    """They may become all 0 by --parameter."""
    metric = build("m", "f1", LABEL, numbers=("weights.a",))
    with pytest.raises(CallError, match="the weights of 'm' are all 0"):
        metric.figures(ClassCounts(Counter({("a", "a"): 1})), {"weights.a": F(0)})


@pytest.mark.parametrize(("positive", "expected"), [
    ("a", F(1, 3)),  # negatives b, b, c: one b is predicted a, and c is unprocessed
    ("b", F(1, 4)),  # negatives a, a, a, c: one a is predicted b, another is unprocessed, and so is c
    ("c", F(4, 5)),  # negatives a, a, a, b, b: one is unprocessed
])  # fmt: skip
def test_specificity(positive: str, expected: Fraction) -> None:
    assert labels("specificity", positive=positive) == expected


def test_specificity_without_negatives() -> None:
    found = value("specificity", FLAG, [True, None], [False, False], positive=True)
    assert found == MetricValue(value=None, reason="'flag' of the truth is positive in every case", left_out=1)


def test_mcc() -> None:
    """The unprocessed a counts as b (2 cases, c has 1), the unprocessed c as a: predicted a 3, b 3.

    num = 2·6 − (3·3 + 2·3) = −3; den = (36 − 9 − 9)·(36 − 9 − 4 − 1) = 18·22; −√(9/396) = −√(1/44).
    """
    assert labels("mcc") == F(-0.15075567228888181)


def test_mcc_first_listed_on_a_tie() -> None:
    """The unprocessed c counts as a, not as b: predicted a 3, c 1.

    num = 2·4 − (1·3 + 2·1) = 3; den = (16 − 9 − 1)·(16 − 1 − 1 − 4) = 60; √0.15.
    """
    found = value("mcc", LABEL, ["c", "c", "a", "b"], [None, "c", "a", "a"])
    assert found.value == F(0.3872983346207417)


def test_mcc_of_a_boolean() -> None:
    """TP 1, TN 2, FP 1, FN 1, where the unprocessed False is a FP: (2 − 1) / √(2·2·3·3)."""
    found = value("mcc", FLAG, [True, True, False, False, False], [True, False, False, False, None])
    assert found.value == F(1 / 6)


@pytest.mark.parametrize("kind", ["mcc", "kappa"])
def test_one_predicted_class(kind: str) -> None:
    """A zero denominator caused by predictions gives 0. Kappa: 1 − (1/2) / (1/2)."""
    assert value(kind, LABEL, ["a", "b"], ["a", "a"]).value == 0


@pytest.mark.parametrize("kind", ["mcc", "kappa"])
@pytest.mark.parametrize("predictions", [["a", "a", "a"], ["b", None, None]])
def test_single_class(kind: str, predictions: list[str | None]) -> None:
    found = value(kind, LABEL, ["a", "a", None], predictions)
    assert found == MetricValue(value=None, reason="'label' of the truth has the same value in every case", left_out=1)


@pytest.mark.parametrize(("weights", "expected"), [
    # Unprocessed ones as for mcc. O = 4/6; E = 1 − (3·3 + 2·3)/36 = 21/36
    ("none", F(-1, 7)),
    # O: |a−b| + a's largest, 2 + |b−a| + c's largest, 2 = 6, of 6; E, where p has the frequencies 3, 2, 1 of y:
    # 2·(3·2·1 + 3·1·2 + 2·1·1) = 28, of 36
    ("linear", F(-2, 7)),
    # O: 1 + 4 + 1 + 4 = 10, of 6; E: 2·(3·2·1 + 3·1·4 + 2·1·1) = 40, of 36
    ("quadratic", F(-1, 2)),
])  # fmt: skip
def test_kappa(weights: str, expected: Fraction) -> None:
    assert labels("kappa", weights=weights) == expected


@pytest.mark.parametrize(("weights", "expected"), [
    # p = 3 and, for the unprocessed 8, as its most frequent other class, 2: O = 1; E = 1 − (1·1)/4
    ("none", F(-1, 3)),
    # O: 1 + 8 (from 8 to 0), of 2; E: |2−3| + |2−8| + |8−3| + 0 = 12, of 4
    ("linear", F(-1, 2)),
    # O: 1 + 64, of 2; E: 1 + 36 + 25 = 62, of 4
    ("quadratic", F(-34, 31)),
])  # fmt: skip
def test_kappa_of_integers(weights: str, expected: Fraction) -> None:
    """By value; the bounds of the field define the largest weight."""
    assert value("kappa", STAGE, [2, 8], [3, None], weights=weights).value == expected


def test_kappa_below_minus_one() -> None:
    """a and b are unprocessed: O = (2 + 1)/2, E = 2/4."""
    assert value("kappa", LABEL, ["a", "b"], [None, None], weights="linear").value == -2


def test_kappa_of_integers_uses_the_wider_bounds() -> None:
    """The truth allows 20: O = (0 + 19)/2, E = (0 + 0 + 1 + 1)/4."""
    prediction, truth = (FieldInfo("n", "integer", low=0, high=high) for high in (10, 20))
    assert value("kappa", prediction, [0, 1], [0, None], truth=truth, weights="linear").value == -18


def test_confusion_matrix() -> None:
    counts = variant("accuracy", LABEL).metric.counting({}).count([*TRUE, None], [*PREDICTED, "a"])
    assert confusion_matrix(LABEL, counts) == {  # type: ignore[arg-type]
        "a": {"a": 1, "b": 1, "c": 0, "unprocessed": 1},
        "b": {"a": 1, "b": 1, "c": 0, "unprocessed": 0},
        "c": {"a": 0, "b": 0, "c": 0, "unprocessed": 1},
    }
    counts = variant("accuracy", FLAG).metric.counting({}).count([True, False, False], [True, True, None])
    assert confusion_matrix(FLAG, counts) == {  # type: ignore[arg-type]
        "false": {"false": 0, "true": 1, "unprocessed": 1},
        "true": {"false": 0, "true": 1, "unprocessed": 0},
    }


@pytest.mark.parametrize(("classes", "has"), [(50, True), (51, False), (0, False)])
def test_large_confusion_matrix(classes: int, has: bool) -> None:
    names = tuple(f"c{number}" for number in range(classes))
    assert (confusion_matrix(FieldInfo("f", "one_of", names), ClassCounts(Counter())) is not None) == has


@pytest.mark.parametrize(("more", "expected"), [
    # β = 2: 5TP / (4·true + predicted): a 5/(12+2), b 5/(8+2), c 0/(4+0)
    ({"average": "macro", "numbers": {"beta": 2}}, F(2, 7)),
    ({"average": "micro", "numbers": {"beta": 2}}, F(5, 14)),  # 5·2 / (4·6 + 4)
    ({"average": "support", "numbers": {"beta": 2}}, F(29, 84)),  # (3·5/14 + 2·1/2 + 1·0) / 6
    ({"positive": "a", "numbers": {"beta": "0.5"}}, F(5, 11)),  # 1.25 / (0.25·3 + 2)
    ({"numbers": {"beta": 2, "weights.a": 1, "weights.b": 3}}, F(13, 28)),  # (5/14 + 3·1/2) / 4
])  # fmt: skip
def test_fbeta(more: Any, expected: Fraction) -> None:
    assert labels("fbeta", **more) == expected


def test_cost() -> None:
    """a as b costs 3, b as a 0.5, c as a 4 and as b 2: the unprocessed a costs 3, the unprocessed c 4."""
    costs = {"costs.a.b": 3, "costs.b.a": "0.5", "costs.c.a": 4, "costs.c.b": 2}
    assert labels("cost", numbers=costs) == F(21, 12)  # (3 + 3 + 0.5 + 4) / 6
    assert labels("cost", numbers={"costs.c.b": 1}) == F(1, 6)  # what is not listed costs nothing
    found = value("cost", FLAG, [True, False, None], [False, None, True], numbers={"costs.true.false": 5})
    assert found == MetricValue(value=F(5, 2), left_out=1)


# --- sets -------------------------------------------------------------------------------------------------------------

SETS = [("edema", "shift"), ("edema",), (), (), ("midline",), None]
PREDICTED_SETS = [("edema",), ("shift", "edema"), (), None, None, ("edema",)]


@pytest.mark.parametrize(("kind", "average", "expected"), [
    ("jaccard", "cases", F(2, 5)),  # (1/2 + 1/2 + 1 + 0 + 0) / 5
    ("jaccard", "micro", F(2, 6)),  # (1 + 1) / (2 + 2 + 0 + 1 for the unprocessed empty one + 1)
    ("set_f1", "cases", F(7, 15)),  # (2/3 + 2/3 + 1 + 0 + 0) / 5
    ("set_f1", "micro", F(4, 8)),  # 2·(1 + 1) / (3 + 3 + 0 + 1 + 1)
])  # fmt: skip
def test_sets(kind: str, average: str, expected: Fraction) -> None:
    assert value(kind, FINDINGS, SETS, PREDICTED_SETS, average=average) == MetricValue(value=expected, left_out=1)


@pytest.mark.parametrize("kind", ["jaccard", "set_f1"])
def test_empty_truths(kind: str) -> None:
    """Undefined only for micro, whatever is predicted; otherwise (1 + 0 + 0) / 3."""
    truths, predictions = [(), (), ()], [(), ("edema",), None]
    found = value(kind, FINDINGS, truths, predictions, average="micro")
    assert found == MetricValue(value=None, reason="'findings' of the truth is empty in every case")
    assert value(kind, FINDINGS, truths, predictions).value == F(1, 3)


# --- scores -----------------------------------------------------------------------------------------------------------

POSITIVE = [True, True, True, False, False, False, None]
SCORES = [0.9, 0.5, None, 0.5, 0.1, None, 1.0]


def test_auroc() -> None:
    """Of nine pairs, 0.9 wins two and 0.5 one and a half; unprocessed cases lose all of theirs."""
    assert value("auroc", PROBABILITY, POSITIVE, SCORES, truth=FLAG, positive=True).value == F(7, 18)


def test_average_precision() -> None:
    """The unprocessed negative is found first: at 0.9 the precision is 1/2, at 0.5 it is 2/4; recall is of three."""
    assert value("average_precision", PROBABILITY, POSITIVE, SCORES, truth=FLAG, positive=True).value == F(1, 3)


def test_one_unprocessed_negative_can_halve_the_average_precision() -> None:
    flags = [True, False, False]
    for scores, expected in (([0.9, 0.1, 0.2], 1), ([0.9, 0.1, None], F(1, 2))):
        assert value("average_precision", PROBABILITY, flags, scores, truth=FLAG, positive=True).value == expected


def test_scores_are_exact() -> None:
    """0.1 + 0.2 is above 0.3."""
    assert value("auroc", PROBABILITY, ["b", "a"], [0.1 + 0.2, 0.3], truth=LABEL, positive="b").value == 1


def test_brier() -> None:
    """(1/4)², (1/2)², and 1 for the unprocessed one: (1/16 + 1/4 + 1) / 3."""
    found = value("brier", PROBABILITY, ["b", "a", "c", None], [0.75, 0.5, None, 0], truth=LABEL, positive="b")
    assert found == MetricValue(value=F(7, 16), left_out=1)


@pytest.mark.parametrize(("kind", "at", "expected"), [
    # Thresholds 0.9, 0.5, 0.1: 1, 2, 2 of 3 positives; with the unprocessed negative, 1, 2, 3 of 3 negatives
    ("sensitivity_at_specificity", "0.6", F(1, 3)),  # 2/3 of the negatives at 0.9
    ("sensitivity_at_specificity", "0.3", F(2, 3)),  # 1/3 at 0.5
    ("sensitivity_at_specificity", "0.7", 0),  # nowhere: one negative is always found
    ("specificity_at_sensitivity", "0.3", F(2, 3)),
    ("specificity_at_sensitivity", "0.6", F(1, 3)),
    ("specificity_at_sensitivity", "0.7", 0),  # nowhere: one positive is never found
])  # fmt: skip
def test_operating_points(kind: str, at: str, expected: Fraction) -> None:
    assert value(kind, PROBABILITY, POSITIVE, SCORES, truth=FLAG, numbers={"at": at}, positive=True).value == expected


def test_operating_points_reach_their_bound() -> None:
    """9 of 10 are at least 0.9, although the double 0.9 is above it."""
    flags, scores = [True, *[False] * 10], [0.5, 0.6, *[0.1] * 9]
    for kind, expected in (("sensitivity_at_specificity", 1), ("specificity_at_sensitivity", F(9, 10))):
        assert (
            value(kind, PROBABILITY, flags, scores, truth=FLAG, numbers={"at": "0.9"}, positive=True).value == expected
        )


@pytest.mark.parametrize(("threshold", "expected"), [
    ("0.5", F(0)),  # TP 2, FP 0.5 and the unprocessed one: (2 − 2·1) / 6
    ("0.75", F(-1, 3)),  # TP 1, FP the unprocessed one: (1 − 1·3) / 6
    ("0.2", F(1, 4)),  # (2 − 2·1/4) / 6
])  # fmt: skip
def test_net_benefit(threshold: str, expected: Fraction) -> None:
    numbers = {"threshold": threshold}
    found = value("net_benefit", PROBABILITY, POSITIVE, SCORES, truth=FLAG, numbers=numbers, positive=True)
    assert found == MetricValue(value=expected, left_out=1)


def test_a_threshold_is_compared_as_a_double() -> None:
    """The double 0.3 is below the decimal 0.3, but who writes 0.3 reaches 0.3."""
    for score, expected in ((0.3, 1), (0.29999999999999993, 0)):
        found = value(
            "net_benefit", PROBABILITY, ["b"], [score], truth=LABEL, numbers={"threshold": "0.3"}, positive="b"
        )
        assert found.value == expected


def test_log_loss() -> None:
    """(ln 2 + ln 4 + ln 100 + ln 100) / 4 = (7 ln 2 + 4 ln 5) / 4: 1/2, 1 − 3/4, clipped, unprocessed."""
    found = value(
        "log_loss", PROBABILITY, ["b", "a", "b", "c", None], [0.5, 0.75, 0, None, 1], truth=LABEL,
        numbers={"clip": "0.01"}, positive="b",
    )  # fmt: skip
    assert found.value is not None
    assert abs(found.value - F("2.822445478414004666080915545778")) < F(1, 10**30)
    assert found.left_out == 1


@pytest.mark.parametrize(("score", "expected"), [
    (1, F("0.28768207245178092743921900599383")),  # ln 4 − ln 3: 1 becomes 1 − clip
    (0, F("1.38629436111989061883446424291635")),  # ln 4: 0 becomes clip
])  # fmt: skip
def test_log_loss_is_clipped_on_both_sides(score: float, expected: Fraction) -> None:
    found = value("log_loss", PROBABILITY, ["b"] * 9, [score] * 9, LABEL, {"clip": "0.25"}, positive="b").value
    assert found is not None
    assert abs(found - expected) < F(1, 10**30)


def test_calibration_error() -> None:
    """0.2 (negative), 0.4 (positive) and 0.6 (negative) become 0, 1/2 and 1/2; the two at 0.8 are 1/2 as well.

    With doubles that are fractions: 1/4, 3/8, 5/8, 7/8: |1/4 − 0|, |3/8 − 1/2|, |5/8 − 1/2|, 2·|7/8 − 1/2|, and 1 for
    the unprocessed one, of 6: (2 + 1 + 1 + 6 + 8)/8/6.
    """
    flags = [False, True, False, True, False, True, None]
    scores = [0.25, 0.375, 0.625, 0.875, 0.875, None, 0.5]
    found = value("calibration_error", PROBABILITY, flags, scores, truth=FLAG, positive=True)
    assert found == MetricValue(value=F(18, 48), left_out=1)


def test_calibration_error_of_unprocessed_cases() -> None:
    assert value("calibration_error", PROBABILITY, [True, False], [None, None], truth=FLAG, positive=True).value == 1


SURVIVAL = [(2, True), (3, False), (3, True), (5, True), (7, False), (None, True), (1, None)]


@pytest.mark.parametrize(("risks", "expected"), [
    # Pairs: 2 with 3, 3', 5, 7; 3' with 3, 5, 7; 5 with 7: 8
    ([9, 4, 5, 3, 1, 0, 0], F(1)),
    ([1, 2, 3, 4, 5, 0, 0], F(1, 8)),  # only 3' before 3
    ([4, 4, 4, 4, 4, 0, 0], F(1, 2)),
    ([9, 5, 5, 3, 1, 0, 0], F(15, 16)),  # a tie
    ([None, 4, 5, 3, 1, 0, 0], F(4, 8)),  # it loses its four pairs
    ([9, 4, 5, 3, None, 0, 0], F(5, 8)),  # three
    ([None, None, None, None, None, 0, 0], F(0)),
])  # fmt: skip
def test_concordance(risks: list[float | None], expected: Fraction) -> None:
    """Of equal times, only the event is compared with the case without one."""
    assert survival().value(SURVIVAL, risks) == MetricValue(value=expected, left_out=2)


def test_concordance_without_pairs() -> None:
    reason = "no case of the truth has an event while another one is still without"
    for truths in ([(2, True), (2, True)], [(1, False), (2, True)], [(1, False), (2, False)]):
        assert survival().value(truths, [2, 1]) == MetricValue(value=None, reason=reason)


@pytest.mark.parametrize(("kind", "flags", "reason"), [
    ("sensitivity_at_specificity", [True, True], "the truth has no negative case"),
    ("specificity_at_sensitivity", [False, False], "the truth has no positive case"),
    ("auroc", [True, True], "the truth has no negative case"),
    ("auroc", [False, False], "the truth has no positive case"),
    ("average_precision", [False, False], "the truth has no positive case"),
])  # fmt: skip
def test_undefined_ranks(kind: str, flags: list[bool], reason: str) -> None:
    numbers = {"at": "0.5"} if "_at_" in kind else {}
    found = value(kind, PROBABILITY, flags, [0.5, None], truth=FLAG, numbers=numbers, positive=True)
    assert found == MetricValue(value=None, reason=reason)


def test_average_precision_of_positives_only() -> None:
    assert value("average_precision", PROBABILITY, [True, True], [0.5, None], truth=FLAG, positive=True).value == F(
        1, 2
    )


# --- numbers ----------------------------------------------------------------------------------------------------------

DOSES = [1.5, 3, 7.0, None]
PREDICTED_DOSES = [2, 2.25, None, 1]
"""The errors are 1/2, 3/4, and that of an unprocessed case."""


@pytest.mark.parametrize(("kind", "penalty", "expected"), [
    ("mae", "2", F(13, 12)),  # (1/2 + 3/4 + 2) / 3
    ("mae", "0.1", F(27, 60)),  # (1/2 + 3/4 + 1/10) / 3: the parameter is a decimal
    ("mse", "2", F(77, 48)),  # (1/4 + 9/16 + 4) / 3
    ("rmse", "2", F(1.2665570127975554)),  # √(77/48) = 1.266557012797555302…
])  # fmt: skip
def test_errors(kind: str, penalty: str, expected: Fraction) -> None:
    found = value(kind, DOSE, DOSES, PREDICTED_DOSES, numbers={"unprocessed": penalty})
    assert found == MetricValue(value=expected, left_out=1)


@pytest.mark.parametrize(("predictions", "penalty", "expected"), [
    ([2, 2.25, None, 1], "2", F(3, 4)),  # 1/2, 3/4, 2
    ([2, 2.25, None, 1], "0.6", F(3, 5)),  # 1/2, the decimal 0.6, 3/4
    ([None, 2.25, 7, 1], "5", F(3, 4)),  # 0, 3/4, 5
])  # fmt: skip
def test_median_absolute_error(predictions: list[float | None], penalty: str, expected: Fraction) -> None:
    found = value("median_absolute_error", DOSE, DOSES, predictions, numbers={"unprocessed": penalty})
    assert found == MetricValue(value=expected, left_out=1)


def test_the_median_of_an_even_count_is_exact() -> None:
    """The middle two are 0.2 − 0.1 and 0.3 − 0.2, which differ although both are about 0.1."""
    found = value("median_absolute_error", DOSE, [0.1, 0.2, 0, 0], [0.2, 0.3, 0, 8], numbers={"unprocessed": 1}).value
    assert found == (F(0.2) - F(0.1) + F(0.3) - F(0.2)) / 2


@pytest.mark.parametrize(("predictions", "expected"), [
    ([1, 2, 6, 0], F(1)),
    ([3, 3, 3, 0], F(0)),  # the mean
    ([2, 2, 6, 0], F(13, 14)),  # 1 / (4 + 1 + 9)
    ([1, 2, None, 0], F(-11, 7)),  # twice the largest distance, 6 − 3: 36 / 14
    ([None, 2, 6, 0], F(-11, 7)),  # also where the own distance is smaller
])  # fmt: skip
def test_r2(predictions: list[float | None], expected: Fraction) -> None:
    assert value("r2", DOSE, [1, 2, 6, None], predictions) == MetricValue(value=expected, left_out=1)


@pytest.mark.parametrize(("predictions", "expected"), [
    ([1, 10, 100, 1000, 0], F(1)),
    ([4, 3, 2, 1, 0], F(-1)),
    ([5, 5, 5, 5, 0], F(0)),
    # Ranks 1.5, 1.5, 3, 4: (1.5·1 + 0.5·1 + 0.5·0.5 + 1.5·1.5) / √(5·4.5) = 4.5 / √22.5 = √0.9
    ([1, 1, 2, 3, 0], F(0.9486832980505138)),
    # 4 is above the median 2.5, so it is the lowest: ranks 2, 3, 4, 1: (1.5·0.5 − 0.5·0.5 + 0.5·1.5 − 1.5·1.5) / 5
    ([1, 2, 3, None, 0], F(-1, 5)),
    # 2 is not, so it is the highest: ranks 1, 4, 2, 3: (1.5·1.5 − 0.5·1.5 − 0.5·0.5 + 1.5·0.5) / 5
    ([1, None, 3, 4, 0], F(2, 5)),
])  # fmt: skip
def test_spearman(predictions: list[float | None], expected: Fraction) -> None:
    found = value("spearman", DOSE, [1, 2, 3, 4, None], predictions)
    assert found.value is not None
    assert rounded(found.value) == rounded(expected)
    assert found.left_out == 1


def test_an_unprocessed_case_at_the_median_is_ranked_highest() -> None:
    """Of 1, 2, 3 the median is 2: its ranks 1, 3, 2 give (1·1 + 0·1 − 1·0) / 2."""
    assert value("spearman", DOSE, [1, 2, 3], [1, None, 3]).value == F(1, 2)


@pytest.mark.parametrize("kind", ["r2", "spearman"])
def test_equal_truths(kind: str) -> None:
    found = value(kind, DOSE, [2, 2.0, None], [1, None, 1])
    assert found == MetricValue(value=None, reason="'dose' of the truth has the same value in every case", left_out=1)


def test_errors_are_exact() -> None:
    """The doubles are taken exactly, however different in size, and integers are the doubles nearest to them."""
    found = value("mae", DOSE, [0.1, 1e-300], [0.3, 1e300], numbers={"unprocessed": 0}).value
    assert found == (F(0.3) - F(0.1) + F(1e300) - F(1e-300)) / 2
    number = FieldInfo("n", "integer")
    assert value("mae", number, [0], [2**53 + 1], numbers={"unprocessed": 0}).value == 2**53


@pytest.mark.parametrize("kind", ["mae", "mse", "rmse"])
def test_errors_that_are_too_large_are_reported_when_rounded(kind: str) -> None:
    """Like those of other tracks: not while counting."""
    found = value(kind, DOSE, [-1.7e308], [1.7e308], numbers={"unprocessed": 0}).value
    assert found is not None
    with pytest.raises(TooLarge):
        rounded(found)


@pytest.mark.parametrize(("tolerance", "y", "p", "inside"), [
    ({"relative": "0.02"}, 1.0, 1.02, True),  # as doubles, 1.02 − 1 is above 0.02
    ({"relative": "0.02"}, 1.0, 0.98, True),
    ({"relative": "0.02"}, 1.0, 1.0200000000000002, False),  # the next double
    ({"relative": "0.02"}, -50, -51, True),
    ({"relative": "0.02"}, 1.02, 1.0, True),  # the tolerance is a share of the truth
    ({"relative": "0.02"}, 0.98, 1.0, False),
    ({"relative": "0.02"}, 0, 5e-324, False),
    ({"relative": "0.02"}, 0.0, -0.0, True),
    ({"relative": "1e400"}, 1.0, 1e308, True),
    ({"relative": "1e400"}, 0, 1, False),
    ({"absolute": "0.1"}, 0.2, 0.3, True),  # as doubles, 0.3 − 0.2 is below, and 0.4 − 0.3 above 0.1
    ({"absolute": "0.1"}, 0.3, 0.4, True),
    ({"absolute": "0.1"}, 0.2, 0.1 + 0.2, False),
    ({"absolute": "0"}, 0.5, 0.5, True),
    ({"absolute": "1"}, 10, 11, True),
    ({"absolute": "1"}, 10, 12, False),
    ({"absolute": "1"}, -1.7e308, 1.7e308, False),
])  # fmt: skip
def test_within(tolerance: dict[str, str], y: float, p: float, inside: bool) -> None:
    """The shortest decimals are compared; an unprocessed case is outside."""
    assert value("within", DOSE, [y, y, None], [p, None, p], numbers=tolerance).value == F(inside, 2)


# --- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("y", "p", "normalizations"), [
    ("TSH", "TSH", {"none", "clinical", "fold"}),
    ("TSH", "tsh.", {"clinical", "fold"}),
    ("TSH", "T.S.H.", {"clinical"}),  # equal tight forms
    ("Heart attack", "infarto agudo de miocardio", {"fold"}),  # synonyms
    ("+", "-", set()),  # folding leaves nothing of both, but they differ
    ("?", "-", {"clinical"}),
    ("", " ", {"clinical", "fold"}),
])  # fmt: skip
def test_exact_match(y: str, p: str, normalizations: set[str]) -> None:
    for normalize in ("none", "clinical", "fold"):
        found = value("exact_match", ANSWER, [y, y, None], [p, None, None], normalize=normalize)
        assert found == MetricValue(value=F(normalize in normalizations, 2), left_out=1), normalize


@pytest.mark.parametrize(("normalize", "y", "p", "expected"), [
    ("none", "a b b", "b c\u00a0b", F(2, 3)),  # two in common: 2·2 / (3 + 3)
    ("none", "a", "A", 0),
    ("none", "a a a a", "a", F(2, 5)),
    ("none", " ", "", 1),
    ("none", "a", "", 0),
    ("none", "", "a", 0),
    ("clinical", "Dolor, leve", "dolor", F(2, 3)),
    ("clinical", "T.S.H.", "TSH", 0),  # T, S and H: tight forms are only for whole texts
    ("clinical", "?", "-", 1),  # both empty
    ("fold", "heart attack today", "myocardial infarction", F(4, 5)),
    ("fold", "+", "-", 0),  # one token each
])  # fmt: skip
def test_token_f1(normalize: str, y: str, p: str, expected: Fraction) -> None:
    found = value("token_f1", ANSWER, [y, y, None], [p, None, ""], normalize=normalize)
    assert found == MetricValue(value=F(expected) / 2, left_out=1)


@pytest.mark.parametrize(("normalize", "y", "p", "expected"), [
    ("none", "a b c", "a c b", F(2, 3)),  # a b or a c: 2·2 / 6
    ("none", "a b c d", "b d", F(2, 3)),  # 2·2 / 6
    ("none", "c b a", "a b c", F(1, 3)),
    ("none", " ", "", 1),
    ("none", "a", "", 0),
    ("none", "A b", "a b", F(1, 2)),
    ("clinical", "Dolor, leve", "dolor leve", 1),
    ("fold", "heart attack today", "today myocardial infarction", F(2, 3)),  # a term is two words
])  # fmt: skip
def test_rouge_l(normalize: str, y: str, p: str, expected: Fraction) -> None:
    found = value("rouge_l", ANSWER, [y, y, None], [p, None, ""], normalize=normalize)
    assert found == MetricValue(value=F(expected) / 2, left_out=1)


# --- all kinds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["5", "9.999"])
@pytest.mark.parametrize("kind", ["mae", "mse", "rmse", "median_absolute_error"])
def test_small_penalties_are_reported(kind: str, penalty: str) -> None:
    """It would pay to leave out a case with an error above the penalty."""
    metric, parameters = variant(kind, STAGE, numbers={"unprocessed": penalty})
    (warning,) = metric.warnings(parameters)
    assert warning.endswith(
        "unprocessed is smaller than the largest error, max − min of the field: leaving out the worst cases would pay, "
        "unless it is at least 10"
    )
    assert list(metric.warnings({"unprocessed": F(10)})) == []


@pytest.mark.parametrize("bounds", [{}, {"low": 0}, {"high": 1}])
def test_errors_without_limit_are_reported(bounds: Any) -> None:
    metric, parameters = variant("mae", FieldInfo("x", "number", **bounds), numbers={"unprocessed": 1000})
    (warning,) = metric.warnings(parameters)
    assert "'x' has no min and max, so errors have no limit" in warning


def test_truths_without_limit_are_reported() -> None:
    """A bounded prediction may still be far from a truth without bounds."""
    bounded, truth = FieldInfo("x", "number", low=0, high=1), FieldInfo("x", "number", low=0)
    metric, parameters = variant("mae", bounded, truth=truth, numbers={"unprocessed": 1000})
    (warning,) = metric.warnings(parameters)
    assert "'x' of the truth has no min and max, so errors have no limit" in warning


def test_other_metrics_have_no_warnings() -> None:
    metric, parameters = variant("within", FieldInfo("x", "number"), numbers={"absolute": 1})
    assert list(metric.warnings(parameters)) == []


def test_defaults() -> None:
    """The first choice is the default."""
    chosen = {
        kind: variant(kind, FINDINGS if kind != "kappa" else LABEL).metric.choices for kind in ("kappa", "jaccard")
    }
    assert chosen == {"kappa": {"weights": "none"}, "jaccard": {"average": "cases"}}
    for kind in KINDS.values():
        for parameter in kind.parameters:
            assert not parameter.choices or parameter.default in (None, parameter.choices[0])
