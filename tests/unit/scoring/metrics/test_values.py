"""The value of every kind of metric and every rule for unprocessed cases, computed by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from tests.metric_cases import ANSWER, DOSE, FINDINGS, FLAG, LABEL, PROBABILITY, STAGE, survival, variant

from medcontract.errors import CallError
from medcontract.scoring.metrics import KINDS, FieldInfo, MetricValue, build, confusion_matrix
from medcontract.scoring.metrics.counting import ClassCounts
from medcontract.scoring.rational import FigureTooLarge, rounded

F = Fraction
Row = tuple[str, FieldInfo, Sequence[Any], Sequence[Any], dict[str, Any], Fraction | int | str]
"""Kind, field, truths, predictions, other arguments of `variant`, and the value or why it is undefined."""

# One wrong and one unprocessed case of class a (3 cases), one wrong of b (2), and the only c is unprocessed:
#
#       predicted   a   b   c   none        right  true  predicted
#   true   a        1   1   0   1       a   1      3     2
#          b        1   1   0   0       b   1      2     2
#          c        0   0   0   1       c   0      1     0
TRUE = ["a", "a", "a", "b", "b", "c"]
PREDICTED = ["a", "b", None, "b", "a", None]
SETS = [("edema", "shift"), ("edema",), (), (), ("midline",), None]
PREDICTED_SETS = [("edema",), ("shift", "edema"), (), None, None, ("edema",)]
POSITIVE = [True, True, True, False, False, False, None]
SCORES = [0.9, 0.5, None, 0.5, 0.1, None, 1.0]
DOSES = [1.5, 3, 7.0, None]
PREDICTED_DOSES = [2, 2.25, None, 1]
"""The errors are 1/2, 3/4, and the error of an unprocessed case."""
BIG = FieldInfo("n", "integer")
SMALL, LARGER = (FieldInfo("n", "integer", low=0, high=high) for high in (10, 20))


def value(kind: str, field: FieldInfo, truths: Any, predictions: Any, *more: Any, **named: Any) -> MetricValue:
    return variant(kind, field, *more, **named).value(truths, predictions)


def of_labels(kind: str, expected: Fraction | int, **more: Any) -> Row:
    return kind, LABEL, TRUE, PREDICTED, more, expected


def of_scores(kind: str, expected: Fraction | int, number: str = "", at: str = "") -> Row:
    """Return a row for the scores of flags."""
    numbers = {number: at} if number else {}
    return kind, PROBABILITY, POSITIVE, SCORES, {"truth": FLAG, "positive": True, "numbers": numbers}, expected


def of_scores_of(
    kind: str, truths: list[Any], scores: list[Any], expected: Fraction | int | str, **numbers: str
) -> Row:
    field, positive = (FLAG, True) if isinstance(truths[0], bool) else (LABEL, "b")
    return kind, PROBABILITY, truths, scores, {"truth": field, "positive": positive, "numbers": numbers}, expected


def of_doses(kind: str, expected: Fraction, penalty: str, predictions: Sequence[Any] = PREDICTED_DOSES) -> Row:
    return kind, DOSE, DOSES, predictions, {"numbers": {"unprocessed": penalty}}, expected


CLASSES: list[Row] = [
    of_labels("accuracy", F(2, 6)),
    # one of three; the case whose truth is null is left out, whether it is processed or not
    ("accuracy", FLAG, [True, False, True, None], [True, True, None, True], {}, F(1, 3)),
    ("accuracy", STAGE, [1, 2, 3, None], [1, 3, None, 1], {}, F(1, 3)),
    ("accuracy", ANSWER, ["x", "x", "x", None], ["x", "X", None, None], {}, F(1, 3)),
    ("accuracy", BIG, [2**53], [2**53 + 1], {}, 1),  # the same double
    of_labels("balanced_accuracy", F(5, 18)),  # (1/3 + 1/2 + 0/1) / 3
    ("balanced_accuracy", LABEL, ["a", "a", "b"], ["a", "c", "b"], {}, F(3, 4)),  # (1/2 + 1) / 2: there is no c
    of_labels("recall", F(5, 18), average="macro"),  # a: 1/3, b: 1/2, c: 0/1
    of_labels("recall", F(2, 6), average="micro"),
    of_labels("recall", F(1, 3), average="support"),  # (3·1/3 + 2·1/2 + 1·0) / 6
    of_labels("recall", F(1, 2), positive="b"),
    of_labels("recall", F(1, 4), numbers={"weights.a": 3, "weights.c": 1}),  # (3·1/3 + 1·0) / 4
    of_labels("precision", F(5, 18), average="macro"),  # a: 1/(2+1), b: 1/2, c: 0/(0+1): unprocessed in the true class
    of_labels("precision", F(2, 6), average="micro"),  # 2 / (3 + 2 + 1)
    of_labels("precision", F(1, 3), average="support"),  # (3·1/3 + 2·1/2 + 1·0) / 6
    of_labels("precision", F(1, 4), positive="b"),  # 1 / (2+2): both unprocessed cases count, although none is a b
    of_labels("precision", F(1, 4), positive="a"),  # 1 / (2+2): and so does the c
    of_labels("precision", F(1, 2), numbers={"weights.b": "0.5"}),
    of_labels("f1", F(3, 10), average="macro"),  # a: 2/(2+3), b: 2/(2+2), c: 0/(0+1): FN of their class, FP of none
    of_labels("f1", F(4, 10), average="micro"),  # 2·2 / (4 predicted + 6 true)
    of_labels("f1", F(11, 30), average="support"),  # (3·2/5 + 2·1/2 + 1·0) / 6
    of_labels("f1", F(2, 5), positive="a"),
    of_labels("f1", F(4, 15), numbers={"weights.a": 2, "weights.c": 1}),  # (2·2/5 + 0) / 3
    # β = 2: 5TP / (4·true + predicted): a 5/(12+2), b 5/(8+2), c 0/(4+0)
    of_labels("fbeta", F(2, 7), average="macro", numbers={"beta": 2}),
    of_labels("fbeta", F(5, 14), average="micro", numbers={"beta": 2}),  # 5·2 / (4·6 + 4)
    of_labels("fbeta", F(29, 84), average="support", numbers={"beta": 2}),  # (3·5/14 + 2·1/2 + 1·0) / 6
    of_labels("fbeta", F(5, 11), positive="a", numbers={"beta": "0.5"}),  # 1.25 / (0.25·3 + 2)
    of_labels("fbeta", F(13, 28), numbers={"beta": 2, "weights.a": 1, "weights.b": 3}),  # (5/14 + 3·1/2) / 4
    of_labels("specificity", F(1, 3), positive="a"),  # negatives b, b, c: one b is predicted a, and c is unprocessed
    of_labels("specificity", F(1, 4), positive="b"),  # a, a, a, c: one a is predicted b, another one and c unprocessed
    of_labels("specificity", F(4, 5), positive="c"),  # negatives a, a, a, b, b: one is unprocessed
    ("specificity", FLAG, [True, None], [False, False], {"positive": True},
     "'flag' of the truth is positive in every case"),
    # The unprocessed a counts as b (2 cases, c has 1), the unprocessed c as a: predicted a 3, b 3.
    # num = 2·6 − (3·3 + 2·3) = −3; den = (36 − 9 − 9)·(36 − 9 − 4 − 1) = 18·22; −√(9/396) = −√(1/44)
    of_labels("mcc", F(-0.15075567228888181)),
    # The unprocessed c counts as a, the first listed, not as b: predicted a 3, c 1.
    # num = 2·4 − (1·3 + 2·1) = 3; den = (16 − 9 − 1)·(16 − 1 − 1 − 4) = 60; √0.15
    ("mcc", LABEL, ["c", "c", "a", "b"], [None, "c", "a", "a"], {}, F(0.3872983346207417)),
    # TP 1, TN 2, FP 1, FN 1, where the unprocessed False is a FP: (2 − 1) / √(2·2·3·3)
    ("mcc", FLAG, [True, True, False, False, False], [True, False, False, False, None], {}, F(1 / 6)),
    # Unprocessed ones as for mcc. O = 4/6; E = 1 − (3·3 + 2·3)/36 = 21/36
    of_labels("kappa", F(-1, 7), weights="none"),
    # O: |a−b| + a's largest, 2 + |b−a| + c's largest, 2 = 6, of 6; E, where p has the frequencies 3, 2, 1 of y:
    # 2·(3·2·1 + 3·1·2 + 2·1·1) = 28, of 36
    of_labels("kappa", F(-2, 7), weights="linear"),
    # O: 1 + 4 + 1 + 4 = 10, of 6; E: 2·(3·2·1 + 3·1·4 + 2·1·1) = 40, of 36
    of_labels("kappa", F(-1, 2), weights="quadratic"),
    # Integers by value; the bounds of the field define the largest weight. p = 3 and, for the unprocessed 8, as its
    # most frequent other class, 2: O = 1; E = 1 − (1·1)/4
    ("kappa", STAGE, [2, 8], [3, None], {"weights": "none"}, F(-1, 3)),
    # O: 1 + 8 (from 8 to 0), of 2; E: |2−3| + |2−8| + |8−3| + 0 = 12, of 4
    ("kappa", STAGE, [2, 8], [3, None], {"weights": "linear"}, F(-1, 2)),
    # O: 1 + 64, of 2; E: 1 + 36 + 25 = 62, of 4
    ("kappa", STAGE, [2, 8], [3, None], {"weights": "quadratic"}, F(-34, 31)),
    ("kappa", LABEL, ["a", "b"], [None, None], {"weights": "linear"}, -2),  # O = (2 + 1)/2, E = 2/4
    # The wider bounds count: the truth allows 20. O = (0 + 19)/2, E = (0 + 0 + 1 + 1)/4
    ("kappa", SMALL, [0, 1], [0, None], {"truth": LARGER, "weights": "linear"}, -18),
    # a zero denominator caused by predictions gives 0. Kappa: 1 − (1/2) / (1/2)
    *((kind, LABEL, ["a", "b"], ["a", "a"], {}, 0) for kind in ("mcc", "kappa")),
    *(
        (kind, LABEL, ["a", "a", None], predictions, {}, "'label' of the truth has the same value in every case")
        for kind in ("mcc", "kappa")
        for predictions in (["a", "a", "a"], ["b", None, None])
    ),
    # a as b costs 3, b as a 0.5, c as a 4 and as b 2: the unprocessed a costs 3, the unprocessed c 4: 3 + 3 + 0.5 + 4
    of_labels("cost", F(21, 12), numbers={"costs.a.b": 3, "costs.b.a": "0.5", "costs.c.a": 4, "costs.c.b": 2}),
    of_labels("cost", F(1, 6), numbers={"costs.c.b": 1}),  # what is not listed costs nothing
    ("cost", FLAG, [True, False, None], [False, None, True], {"numbers": {"costs.true.false": 5}}, F(5, 2)),
]  # fmt: skip
OF_SETS: list[Row] = [
    ("jaccard", FINDINGS, SETS, PREDICTED_SETS, {"average": "cases"}, F(2, 5)),  # (1/2 + 1/2 + 1 + 0 + 0) / 5
    # (1 + 1) / (2 + 2 + 0 + 1 for the unprocessed empty one + 1)
    ("jaccard", FINDINGS, SETS, PREDICTED_SETS, {"average": "micro"}, F(2, 6)),
    ("set_f1", FINDINGS, SETS, PREDICTED_SETS, {"average": "cases"}, F(7, 15)),  # (2/3 + 2/3 + 1 + 0 + 0) / 5
    ("set_f1", FINDINGS, SETS, PREDICTED_SETS, {"average": "micro"}, F(4, 8)),  # 2·(1 + 1) / (3 + 3 + 0 + 1 + 1)
    # undefined only for micro, whatever is predicted; otherwise (1 + 0 + 0) / 3
    *((kind, FINDINGS, [(), (), ()], [(), ("edema",), None], {}, F(1, 3)) for kind in ("jaccard", "set_f1")),
    *(
        (kind, FINDINGS, [(), (), ()], [(), ("edema",), None], {"average": "micro"},
         "'findings' of the truth is empty in every case")
        for kind in ("jaccard", "set_f1")
    ),
]  # fmt: skip
NO_NEGATIVE, NO_POSITIVE = (f"the truth has no {side} case" for side in ("negative", "positive"))
OF_SCORES: list[Row] = [
    # of nine pairs, 0.9 wins two and 0.5 one and a half; unprocessed cases lose all of theirs
    of_scores("auroc", F(7, 18)),
    of_scores_of("auroc", ["b", "a"], [0.1 + 0.2, 0.3], 1),  # 0.1 + 0.2 is above 0.3
    of_scores_of("auroc", [True, True], [0.5, None], NO_NEGATIVE),
    of_scores_of("auroc", [False, False], [0.5, None], NO_POSITIVE),
    # the unprocessed negative is found first: at 0.9 the precision is 1/2, at 0.5 it is 2/4; recall is of three
    of_scores("average_precision", F(1, 3)),
    of_scores_of("average_precision", [True, False, False], [0.9, 0.1, 0.2], 1),
    of_scores_of("average_precision", [True, False, False], [0.9, 0.1, None], F(1, 2)),  # one can halve the figure
    of_scores_of("average_precision", [True, True], [0.5, None], F(1, 2)),
    of_scores_of("average_precision", [False, False], [0.5, None], NO_POSITIVE),
    # (1/4)², (1/2)², and 1 for the unprocessed one: (1/16 + 1/4 + 1) / 3
    of_scores_of("brier", ["b", "a", "c", None], [0.75, 0.5, None, 0], F(7, 16)),
    # Thresholds 0.9, 0.5, 0.1: 1, 2, 2 of 3 positives; with the unprocessed negative, 1, 2, 3 of 3 negatives
    of_scores("sensitivity_at_specificity", F(1, 3), "at", "0.6"),  # 2/3 of the negatives at 0.9
    of_scores("sensitivity_at_specificity", F(2, 3), "at", "0.3"),  # 1/3 at 0.5
    of_scores("sensitivity_at_specificity", 0, "at", "0.7"),  # nowhere: one negative is always found
    of_scores("specificity_at_sensitivity", F(2, 3), "at", "0.3"),
    of_scores("specificity_at_sensitivity", F(1, 3), "at", "0.6"),
    of_scores("specificity_at_sensitivity", 0, "at", "0.7"),  # nowhere: one positive is never found
    # 9 of 10 are at least 0.9, although the double 0.9 is above it
    of_scores_of("sensitivity_at_specificity", [True, *[False] * 10], [0.5, 0.6, *[0.1] * 9], 1, at="0.9"),
    of_scores_of("specificity_at_sensitivity", [True, *[False] * 10], [0.5, 0.6, *[0.1] * 9], F(9, 10), at="0.9"),
    of_scores_of("sensitivity_at_specificity", [True, True], [0.5, None], NO_NEGATIVE, at="0.5"),
    of_scores_of("specificity_at_sensitivity", [False, False], [0.5, None], NO_POSITIVE, at="0.5"),
    of_scores("net_benefit", 0, "threshold", "0.5"),  # TP 2, FP 0.5 and the unprocessed one: (2 − 2·1) / 6
    of_scores("net_benefit", F(-1, 3), "threshold", "0.75"),  # TP 1, FP the unprocessed one: (1 − 1·3) / 6
    of_scores("net_benefit", F(1, 4), "threshold", "0.2"),  # (2 − 2·1/4) / 6
    # the double 0.3 is below the decimal 0.3, but who writes 0.3 reaches 0.3
    of_scores_of("net_benefit", ["b"], [0.3], 1, threshold="0.3"),
    of_scores_of("net_benefit", ["b"], [0.29999999999999993], 0, threshold="0.3"),
    # 0.2 (negative), 0.4 (positive) and 0.6 (negative) become 0, 1/2 and 1/2; the two at 0.8 are 1/2 as well. With
    # doubles that are fractions: 1/4, 3/8, 5/8, 7/8: |1/4 − 0|, |3/8 − 1/2|, |5/8 − 1/2|, 2·|7/8 − 1/2|, and 1 for the
    # unprocessed one, of 6: (2 + 1 + 1 + 6 + 8)/8/6
    of_scores_of("calibration_error", [False, True, False, True, False, True, None],
                 [0.25, 0.375, 0.625, 0.875, 0.875, None, 0.5], F(18, 48)),
    of_scores_of("calibration_error", [True, False], [None, None], 1),
]  # fmt: skip
OF_NUMBERS: list[Row] = [
    of_doses("mae", F(13, 12), "2"),  # (1/2 + 3/4 + 2) / 3
    of_doses("mae", F(27, 60), "0.1"),  # (1/2 + 3/4 + 1/10) / 3: the parameter is a decimal
    of_doses("mse", F(77, 48), "2"),  # (1/4 + 9/16 + 4) / 3
    of_doses("rmse", F(1.2665570127975554), "2"),  # √(77/48) = 1.266557012797555302…
    # doubles are taken exactly, however different in size, and integers are the doubles nearest to them
    ("mae", DOSE, [0.1, 1e-300], [0.3, 1e300], {"numbers": {"unprocessed": 0}},
     (F(0.3) - F(0.1) + F(1e300) - F(1e-300)) / 2),
    ("mae", BIG, [0], [2**53 + 1], {"numbers": {"unprocessed": 0}}, 2**53),
    of_doses("median_absolute_error", F(3, 4), "2"),  # 1/2, 3/4, 2
    of_doses("median_absolute_error", F(3, 5), "0.6"),  # 1/2, the decimal 0.6, 3/4
    of_doses("median_absolute_error", F(3, 4), "5", [None, 2.25, 7, 1]),  # 0, 3/4, 5
    # the middle two are 0.2 − 0.1 and 0.3 − 0.2, which differ although both are about 0.1
    ("median_absolute_error", DOSE, [0.1, 0.2, 0, 0], [0.2, 0.3, 0, 8], {"numbers": {"unprocessed": 1}},
     (F(0.2) - F(0.1) + F(0.3) - F(0.2)) / 2),
    ("r2", DOSE, [1, 2, 6, None], [1, 2, 6, 0], {}, 1),
    ("r2", DOSE, [1, 2, 6, None], [3, 3, 3, 0], {}, 0),  # the mean
    ("r2", DOSE, [1, 2, 6, None], [2, 2, 6, 0], {}, F(13, 14)),  # 1 / (4 + 1 + 9)
    ("r2", DOSE, [1, 2, 6, None], [1, 2, None, 0], {}, F(-11, 7)),  # twice the largest distance, 6 − 3: 36 / 14
    ("r2", DOSE, [1, 2, 6, None], [None, 2, 6, 0], {}, F(-11, 7)),  # also where the own distance is smaller
    ("spearman", DOSE, [1, 2, 3, 4, None], [1, 10, 100, 1000, 0], {}, 1),
    ("spearman", DOSE, [1, 2, 3, 4, None], [4, 3, 2, 1, 0], {}, -1),
    ("spearman", DOSE, [1, 2, 3, 4, None], [5, 5, 5, 5, 0], {}, 0),
    # Ranks 1.5, 1.5, 3, 4: (1.5·1 + 0.5·1 + 0.5·0.5 + 1.5·1.5) / √(5·4.5) = 4.5 / √22.5 = √0.9
    ("spearman", DOSE, [1, 2, 3, 4, None], [1, 1, 2, 3, 0], {}, F(0.9486832980505138)),
    # 4 is above the median 2.5, so it is the lowest: ranks 2, 3, 4, 1: (1.5·0.5 − 0.5·0.5 + 0.5·1.5 − 1.5·1.5) / 5
    ("spearman", DOSE, [1, 2, 3, 4, None], [1, 2, 3, None, 0], {}, F(-1, 5)),
    # 2 is not, so it is the highest: ranks 1, 4, 2, 3: (1.5·1.5 − 0.5·1.5 − 0.5·0.5 + 1.5·0.5) / 5
    ("spearman", DOSE, [1, 2, 3, 4, None], [1, None, 3, 4, 0], {}, F(2, 5)),
    # of 1, 2, 3 the median is 2, which is ranked highest, too: ranks 1, 3, 2 give (1·1 + 0·1 − 1·0) / 2
    ("spearman", DOSE, [1, 2, 3], [1, None, 3], {}, F(1, 2)),
    *(
        (kind, DOSE, [2, 2.0, None], [1, None, 1], {}, "'dose' of the truth has the same value in every case")
        for kind in ("r2", "spearman")
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "field", "truths", "predictions", "more", "expected"), [*CLASSES, *OF_SETS, *OF_SCORES, *OF_NUMBERS]
)
def test_value(
    kind: str, field: FieldInfo, truths: Any, predictions: Any, more: dict[str, Any], expected: Fraction | int | str
) -> None:
    """A case whose truth is null is left out; a metric is undefined because of the truth alone."""
    found = value(kind, field, truths, predictions, **more)
    if isinstance(expected, str):
        assert (found.value, found.reason) == (None, expected)
    elif kind == "spearman":  # a root with 60 digits
        assert found.value is not None
        assert rounded(found.value) == rounded(F(expected))
    else:
        assert (found.value, found.reason) == (expected, None)
    assert found.left_out == list(truths).count(None)


@pytest.mark.parametrize("kind", ["precision", "recall", "f1"])
def test_by_class_of_a_positive_class_is_the_metric(kind: str) -> None:
    """With `positive` each class is treated as if it was the positive one."""
    for name in LABEL.classes:
        found = value(kind, LABEL, TRUE, PREDICTED, positive=name)
        assert found.by_class is not None
        assert found.by_class[name] == found.value


def test_recall_by_class() -> None:
    """Of a balanced accuracy, only of the classes that the truth has."""
    assert value("balanced_accuracy", LABEL, TRUE, PREDICTED).by_class == {"a": F(1, 3), "b": F(1, 2), "c": 0}
    assert value("balanced_accuracy", LABEL, ["a", "a", "b"], ["a", "c", "b"]).by_class == {"a": F(1, 2), "b": 1}


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


@pytest.mark.parametrize(("truths", "scores", "clip", "expected"), [
    # (ln 2 + ln 4 + ln 100 + ln 100) / 4 = (7 ln 2 + 4 ln 5) / 4: 1/2, 1 − 3/4, clipped, unprocessed
    (["b", "a", "b", "c", None], [0.5, 0.75, 0, None, 1], "0.01", "2.822445478414004666080915545778"),
    (["b"] * 9, [1] * 9, "0.25", "0.28768207245178092743921900599383"),  # ln 4 − ln 3: 1 becomes 1 − clip
    (["b"] * 9, [0] * 9, "0.25", "1.38629436111989061883446424291635"),  # ln 4: 0 becomes clip
])  # fmt: skip
def test_log_loss(truths: list[Any], scores: list[Any], clip: str, expected: str) -> None:
    found = value("log_loss", PROBABILITY, truths, scores, truth=LABEL, numbers={"clip": clip}, positive="b")
    assert found.value is not None
    assert abs(found.value - F(expected)) < F(1, 10**30)
    assert found.left_out == truths.count(None)


SURVIVAL = [(2, True), (3, False), (3, True), (5, True), (7, False), (None, True), (1, None)]
NO_PAIR = "no case of the truth has an event while another one is still without"


@pytest.mark.parametrize(("truths", "risks", "expected"), [
    # Pairs: 2 with 3, 3', 5, 7; 3' with 3, 5, 7; 5 with 7: 8. Of equal times, only the event with the case without one
    (SURVIVAL, [9, 4, 5, 3, 1, 0, 0], F(1)),
    (SURVIVAL, [1, 2, 3, 4, 5, 0, 0], F(1, 8)),  # only 3' before 3
    (SURVIVAL, [4, 4, 4, 4, 4, 0, 0], F(1, 2)),
    (SURVIVAL, [9, 5, 5, 3, 1, 0, 0], F(15, 16)),  # a tie
    (SURVIVAL, [None, 4, 5, 3, 1, 0, 0], F(4, 8)),  # it loses its four pairs
    (SURVIVAL, [9, 4, 5, 3, None, 0, 0], F(5, 8)),  # three
    (SURVIVAL, [None, None, None, None, None, 0, 0], F(0)),
    ([(2, True), (2, True)], [2, 1], None),
    ([(1, False), (2, True)], [2, 1], None),
    ([(1, False), (2, False)], [2, 1], None),
])  # fmt: skip
def test_concordance(truths: list[Any], risks: list[float | None], expected: Fraction | None) -> None:
    reason = NO_PAIR if expected is None else None
    left_out = sum(None in truth for truth in truths)
    assert survival().value(truths, risks) == MetricValue(value=expected, reason=reason, left_out=left_out)


@pytest.mark.parametrize("kind", ["mae", "mse", "rmse"])
def test_errors_that_are_too_large_are_reported_when_rounded(kind: str) -> None:
    """Like checks of other tracks: not while counting."""
    found = value(kind, DOSE, [-1.7e308], [1.7e308], numbers={"unprocessed": 0}).value
    assert found is not None
    with pytest.raises(FigureTooLarge):
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


EQUAL_TEXTS: list[tuple[str, str, set[str]]] = [
    ("TSH", "TSH", {"none", "clinical", "fold"}),
    ("TSH", "tsh.", {"clinical", "fold"}),
    ("TSH", "T.S.H.", {"clinical"}),  # equal tight forms
    ("Heart attack", "infarto agudo de miocardio", {"fold"}),  # synonyms
    ("+", "-", set()),  # folding leaves nothing of both, but they differ
    ("?", "-", {"clinical"}),
    ("", " ", {"clinical", "fold"}),
]


@pytest.mark.parametrize(("kind", "normalize", "y", "p", "expected"), [
    *(
        ("exact_match", normalize, y, p, int(normalize in normalizations))
        for y, p, normalizations in EQUAL_TEXTS
        for normalize in ("none", "clinical", "fold")
    ),
    ("token_f1", "none", "a b b", "b c\u00a0b", F(2, 3)),  # two in common: 2·2 / (3 + 3)
    ("token_f1", "none", "a", "A", 0),
    ("token_f1", "none", "a a a a", "a", F(2, 5)),
    ("token_f1", "none", " ", "", 1),
    ("token_f1", "none", "a", "", 0),
    ("token_f1", "none", "", "a", 0),
    ("token_f1", "clinical", "Dolor, leve", "dolor", F(2, 3)),
    ("token_f1", "clinical", "T.S.H.", "TSH", 0),  # T, S and H: tight forms are only for whole texts
    ("token_f1", "clinical", "?", "-", 1),  # both empty
    ("token_f1", "fold", "heart attack today", "myocardial infarction", F(4, 5)),
    ("token_f1", "fold", "+", "-", 0),  # one token each
    ("rouge_l", "none", "a b c", "a c b", F(2, 3)),  # a b or a c: 2·2 / 6
    ("rouge_l", "none", "a b c d", "b d", F(2, 3)),  # 2·2 / 6
    ("rouge_l", "none", "c b a", "a b c", F(1, 3)),
    ("rouge_l", "none", " ", "", 1),
    ("rouge_l", "none", "a", "", 0),
    ("rouge_l", "none", "A b", "a b", F(1, 2)),
    ("rouge_l", "clinical", "Dolor, leve", "dolor leve", 1),
    ("rouge_l", "fold", "heart attack today", "today myocardial infarction", F(2, 3)),  # a term is two words
])  # fmt: skip
def test_texts(kind: str, normalize: str, y: str, p: str, expected: Fraction) -> None:
    """The unprocessed case counts 0."""
    found = value(kind, ANSWER, [y, y, None], [p, None, ""], normalize=normalize)
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
