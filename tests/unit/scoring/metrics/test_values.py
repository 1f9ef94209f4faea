"""The value of every kind of metric and every rule for unprocessed cases, computed by hand."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from tests.metric_cases import ANSWER, DOSE, FINDINGS, FLAG, LABEL, PROBABILITY, STAGE, variant

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


def value(kind: str, field: FieldInfo, truths: Any, predictions: Any, **more: Any) -> MetricValue:
    return variant(kind, field, **more).value(truths, predictions)


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


@pytest.mark.parametrize(("kind", "flags", "reason"), [
    ("auroc", [True, True], "the truth has no negative case"),
    ("auroc", [False, False], "the truth has no positive case"),
    ("average_precision", [False, False], "the truth has no positive case"),
])  # fmt: skip
def test_undefined_ranks(kind: str, flags: list[bool], reason: str) -> None:
    found = value(kind, PROBABILITY, flags, [0.5, None], truth=FLAG, positive=True)
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


# --- all kinds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["5", "9.999"])
@pytest.mark.parametrize("kind", ["mae", "mse", "rmse"])
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
            assert parameter.default is None or parameter.default == parameter.choices[0]
