"""What the table of kinds promises holds for every kind of metric, on random truths and predictions."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from fuzz.growth import METRICS
from tests.metric_cases import MAY_RISE, OF_PLUGINS, VARIANTS, Column, Variant, perfect, random_columns, values, variant
from tests.support import sample

from medcontract.scoring.metrics import KINDS, FieldInfo, MetricValue, columns, count_all
from medcontract.scoring.metrics.formulas import FORMULAS
from medcontract.scoring.rational import FigureTooLarge, rounded, rounded_root
from medcontract.scoring.sums import added

every_metric = pytest.mark.parametrize("each", VARIANTS.values(), ids=VARIANTS.keys())
SEEDS = range(240)
LABEL = FieldInfo("label", "one_of", ("a", "b", "c"))


def trials(each: Variant) -> Iterator[tuple[list[Any], list[Any], Random]]:
    for seed in sample(SEEDS, 4):
        random = Random(f"{each.metric.name} {seed}")
        yield *random_columns(each.metric, random, random.randint(1, 16)), random


def goodness(each: Variant, truths: Column, predictions: Column) -> Fraction:
    """The value, negative if lower is better. 0 if it is undefined, which depends only on the truth."""
    value = each.value(truths, predictions).value or Fraction(0)
    return value if each.metric.kind.higher_is_better else -value


def test_every_kind_has_a_formula() -> None:
    assert list(FORMULAS) == list(KINDS)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != OF_PLUGINS])
def test_every_kind_is_measured(kind: str) -> None:
    """Each kind of metric has an entry among those whose time `python -m fuzz.growth` measures, and it works."""
    works = [work for name, work in METRICS.items() if name.split()[0] == kind]
    assert works
    for work in works:
        work(50)()


@every_metric
def test_order_splits_and_pickling_change_nothing(each: Variant) -> None:
    """Counts of parts in any order, sent to another process, add up to the counts of everything."""
    counting = each.metric.counting(each.parameters)
    for truths, predictions, random in trials(each):
        whole = counting.count(truths, predictions)
        rows = list(zip(truths, predictions, strict=True))
        random.shuffle(rows)
        cuts = sorted(random.choices(range(len(rows) + 1), k=random.randint(0, 4)))
        counted = [
            counting.count([y for y, _ in rows[start:end]], [p for _, p in rows[start:end]])
            for start, end in pairwise([0, *cuts, len(rows)])
        ]
        random.shuffle(counted)
        merged = pickle.loads(pickle.dumps(counted[0]))  # noqa: S301
        for part in counted[1:]:
            merged = added(merged, pickle.loads(pickle.dumps(part)))  # noqa: S301
        assert merged == whole
        assert each.metric.figures(merged, each.parameters) == each.metric.figures(whole, each.parameters)


@every_metric
def test_range(each: Variant) -> None:
    kind = each.metric.kind
    for truths, predictions, _ in trials(each):
        found = each.value(truths, predictions)
        for value in (found.value, *(found.by_class or {}).values()):
            if value is not None:
                assert kind.low is None or value >= kind.low
                assert kind.high is None or value <= kind.high
                if kind.name != "r2":  # far below 0 if the truths are almost equal
                    rounded(value)


@every_metric
def test_perfect(each: Variant) -> None:
    """A perfect submission has the perfect value, if the truth has every class; no other one has a better value."""
    metric = each.metric
    for truths, predictions, _ in trials(each):
        truths = [*values(metric.truth), *truths]
        predictions = [*(perfect(metric, y) for y in values(metric.truth)), *predictions]
        right = [perfect(metric, y) for y in truths]
        if metric.kind.perfect is not None:
            assert each.value(truths, right).value == metric.kind.perfect
        assert goodness(each, truths, predictions) <= goodness(each, truths, right)


@every_metric
def test_undefined_only_because_of_the_truth(each: Variant) -> None:
    """Then with the same reason for every submission; cases are left out by the truth alone."""
    for truths, predictions, random in trials(each):
        first = each.value(truths, predictions)
        assert first.left_out == truths.count(None)
        assert (first.value is None) == (first.reason is not None)
        for other in ([None] * len(truths), random.sample(predictions, len(predictions))):
            second = each.value(truths, other)
            assert (first.reason, first.left_out) == (second.reason, second.left_out)
            assert each.about_truth(truths, predictions) == each.about_truth(truths, other)


@every_metric
def test_truth_without_values(each: Variant) -> None:
    found = each.value([None, None], [values(each.metric.prediction)[0], None])
    reason = f"'{each.metric.truth.name}' of the truth is null in every case"
    assert found == MetricValue(value=None, reason=reason, left_out=2)


@every_metric
def test_what_is_left_out_does_not_count(each: Variant) -> None:
    for truths, predictions, _ in trials(each):
        kept = [(y, p) for y, p in zip(truths, predictions, strict=True) if y is not None]
        if kept:
            found, other = each.value(truths, predictions), each.value(*zip(*kept, strict=True))
            assert (found.value, found.by_class) == (other.value, other.by_class)


@pytest.mark.parametrize("name", [name for name in VARIANTS if not name.startswith(MAY_RISE)])
def test_leaving_out_a_right_record_never_helps(name: str) -> None:
    """For all kinds but the exceptions of the specification, and for mcc of two classes."""
    each = VARIANTS[name]
    for truths, predictions, random in trials(each):
        at = random.randrange(len(truths))
        right = [*predictions[:at], perfect(each.metric, truths[at]), *predictions[at + 1 :]]
        without = [*predictions[:at], None, *predictions[at + 1 :]]
        assert goodness(each, truths, without) <= goodness(each, truths, right)


@pytest.mark.parametrize("name", [
    name for name, each in VARIANTS.items() if each.metric.kind.leaving_out == "never helps"
])  # fmt: skip
def test_leaving_out_never_helps(name: str) -> None:
    """Whether the record is right or not, for kinds of which the table says so."""
    each = VARIANTS[name]
    for truths, predictions, random in trials(each):
        at = random.randrange(len(truths))
        without = [*predictions[:at], None, *predictions[at + 1 :]]
        assert goodness(each, truths, without) <= goodness(each, truths, predictions)


def test_mcc_of_three_classes_may_rise() -> None:
    """A known consequence of the definition: predictions of a right b that is left out become more like the truth's.

    With the right b, predicted a 7, b 1, c 1: num = 3·9 − (7 + 7 + 1) = 12, den = (81 − 51)·(81 − 51): 0.4.
    Without it, it counts as an a, so a 8, c 1: num = 2·9 − (8 + 0 + 1) = 9, den = (81 − 65)·30: √(81/480) = 0.4107….
    """
    truths = ["a", *"bbbbbbb", "c"]
    mcc = variant("mcc", LABEL)
    assert mcc.value(truths, ["a", *"aaaaaa", "b", "c"]).value == Fraction(0.4)
    assert mcc.value(truths, ["a", *"aaaaaa", None, "c"]).value == Fraction(0.4107919181288746)
    assert [kind.name for kind in KINDS.values() if kind.leaving_out is None] == [
        "mcc",
        "calibration_error",
        "spearman",
    ]


def test_metrics_of_the_same_fields_share_their_counts() -> None:
    metrics = [each.metric for each in VARIANTS.values() if each.metric.prediction.name == "label"]
    assert len(metrics) > 20
    assert len({metric.counting(dict.fromkeys(metric.numbers, Fraction(1))) for metric in metrics}) == 1


def test_count_all() -> None:
    """Rows become columns, and what is the same is counted once."""
    metrics = [variant(kind, LABEL).metric for kind in ("accuracy", "mcc")]
    truths = columns([("a", 1), ("b", None)], ("label", "stage"))
    predictions = columns([None, ("b", 2)], ("label", "stage"))
    assert truths == {"label": ["a", "b"], "stage": [1, None]}
    assert predictions == {"label": [None, "b"], "stage": [None, 2]}
    counts = count_all([metric.counting({}) for metric in metrics], truths, predictions)
    assert len(counts) == 1
    assert [metric.figures(counts[metric.counting({})], {}).value for metric in metrics] == [Fraction(1, 2), 0]
    assert columns([], ("label",)) == {"label": []}


def test_columns_of_different_lengths() -> None:
    with pytest.raises(ValueError, match="equal lengths"):
        variant("accuracy", LABEL).metric.counting({}).count(["a"], [])


def test_long_average_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many distinct scores the sum is rounded far behind the digits of a double: the results are the same."""
    each = VARIANTS["average_precision probability True"]
    for seed in range(20):
        random = Random(seed)
        flags = [True, *(random.random() < 0.5 for _ in range(400))]
        scores = [random.choice((random.random(), 0.5, None)) for _ in flags]
        monkeypatch.setattr("medcontract.scoring.metrics.scores.MOST_EXACT", 1000)
        exact = each.value(flags, scores).value
        monkeypatch.setattr("medcontract.scoring.metrics.scores.MOST_EXACT", 0)
        found = each.value(flags, scores).value
        assert exact is not None
        assert found is not None
        assert rounded(found) == rounded(exact)
        assert abs(found - exact) <= Fraction(1, 2**512)
    assert each.value([True, True, False, False], [0.9, 0.4, 0.6, 0.5]).value == Fraction(3, 4)


def test_root_is_correctly_rounded() -> None:
    """Like the root of decimals with far more digits, and exact for squares."""
    random = Random(1)
    for _ in range(2000):
        value = Fraction(random.getrandbits(random.randint(1, 200)), random.getrandbits(random.randint(1, 200)) + 1)
        with localcontext() as context:
            context.prec = 120
            expected = float((Decimal(value.numerator) / Decimal(value.denominator)).sqrt())
        assert rounded_root(value) == expected
        double = random.uniform(0, 10) ** random.randint(-80, 80)
        assert rounded_root(Fraction(double) ** 2) == double
    assert rounded_root(Fraction(0)) == 0
    assert rounded_root(Fraction(5e-324) ** 2) == 5e-324
    assert rounded_root(Fraction(1.7e308) ** 2) == 1.7e308
    with pytest.raises(FigureTooLarge):
        rounded_root(Fraction(10**618))
