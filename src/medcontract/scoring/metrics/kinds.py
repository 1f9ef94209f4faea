"""The table of metric kinds: which fields and parameters each allows, its range, and its formula in words.

Validation of challenge files, documentation and tests are all driven by this one table.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, get_args

from msgspec import Struct
from msgspec.structs import force_setattr

FieldType = Literal["text", "str", "integer", "number", "boolean", "date", "set", "list", "one_of"]
Counted = Literal[
    "classes", "numbers", "equal", "equal numbers", "within", "texts", "tokens", "sequences", "sets", "ranks",
    "survival", "errors", "custom",
]  # fmt: skip
"""What can be counted over cases, and is all that a figure is computed from."""
ParameterType = Literal["choice", "number", "class", "class weights", "costs", "positive case", "time", "function"]
BOOLEAN_CLASSES = ("false", "true")


class FieldInfo(Struct, frozen=True):
    """What a metric needs to know about a field of the prediction or of the truth."""

    name: str
    type: FieldType
    classes: tuple[str, ...] = ()
    """Of `one_of`, in the order listed. For a boolean they are filled in."""
    low: int | float | Decimal | None = None
    """The bounds of a number, as written."""
    high: int | float | Decimal | None = None

    def __post_init__(self) -> None:
        if self.type == "boolean" and not self.classes:
            force_setattr(self, "classes", BOOLEAN_CLASSES)

    @property
    def values(self) -> tuple[str | bool, ...]:
        """The classes as they occur in records."""
        return (False, True) if self.type == "boolean" else self.classes

    def name_of(self, value: str | bool | int) -> str:
        """Return the name of the class of a value; an integer is its own name."""
        return self.classes[self.values.index(value)] if self.classes else str(value)

    def value_of(self, name: str) -> str | bool | int:
        """Return the value of a class."""
        return self.values[self.classes.index(name)] if self.classes else int(name)


class MetricParameter(Struct, frozen=True, kw_only=True):
    """A key of a `[[metric]]` in addition to `name`, `kind` and `field`."""

    name: str
    value: ParameterType
    """Its type. `choice`: one of `choices`; `class`: a class of the field; `class weights`: a number for each class;
    `costs`: a number for each true and predicted class; `positive case`: a field of the truth (`one_of`, boolean or
    integer) and one of its values, `{field = …, is = …}`; `time`: a number of the truth; `function`: the name of a
    function of a plugin."""
    about: str
    choices: tuple[str, ...] = ()
    default: str | None = None
    required: bool = False
    low: int | None = 0
    """The smallest allowed number."""
    between: tuple[Decimal, Decimal | None] | None = None
    """A number must lie between these, and not be equal to them."""


class MetricKind(Struct, frozen=True, kw_only=True):
    """A kind of metric, with its formula and invariants."""

    name: str
    about: str
    """The formula, as text."""
    unprocessed: str
    """What an unprocessed case counts, as text."""
    types: tuple[FieldType, ...]
    """The types of prediction fields that it allows."""
    counts: Counted = "ranks"
    """What is counted for it."""
    power: Literal[1, 2] = 1
    """The power of the errors that are counted."""
    bounds: Literal["unit interval", "integer"] | None = None
    """`unit interval`: the prediction field must have bounds within [0, 1]; `integer`: an integer needs both bounds."""
    parameters: tuple[MetricParameter, ...] = ()
    exactly_one: tuple[str, ...] = ()
    """The parameters of which exactly one must be given."""
    undefined: str = ""
    """When it is undefined, in addition to a truth without any value of the field; empty: never."""
    low: int | None = 0
    high: int | None = 1
    higher_is_better: bool = True
    perfect: int | None = 1
    """The value of a perfect submission, if it is always the same and the truth has every class."""
    leaving_out: Literal["never helps", "a right one never helps"] | None = "a right one never helps"
    """How omitting a record can affect it."""
    inverted_below: float | None = None
    """A value below it is worse than chance: the answers are probably inverted."""
    rewards_constant: bool = False
    """The same answer for all cases can get the best value."""
    by_class: bool = False
    """It also has a value for each class."""

    @property
    def positive_case(self) -> bool:
        """Its truth is a field and a class that are specified by a parameter, not the field of the prediction."""
        return any(each.value == "positive case" for each in self.parameters)

    def parameter(self, name: str) -> MetricParameter | None:
        return next((each for each in self.parameters if each.name == name), None)


_CLASSES: tuple[FieldType, ...] = ("one_of", "boolean")
_MACRO = "macro: mean over all listed classes; micro: of the sums; support: mean by frequency in the truth"
_WEIGHTS = "Σ weight · figure / Σ weight over the classes; the weight of a class that is not listed is 0"
_BY_CLASS = (
    MetricParameter(name="average", value="choice", choices=("macro", "micro", "support"), about=_MACRO),
    MetricParameter(name="weights", value="class weights", about=_WEIGHTS),
    MetricParameter(name="positive", value="class", about="the class whose figure it is"),
)
_POSITIVE_CASE = MetricParameter(
    name="positive", value="positive case", required=True, about="the field of the truth and its positive class"
)
_SETS = MetricParameter(
    name="average", value="choice", choices=("cases", "micro"), default="cases",
    about="cases: mean over the cases; micro: of the sums over the cases",
)  # fmt: skip
_UNPROCESSED = MetricParameter(
    name="unprocessed", value="number", required=True, about="the error that an unprocessed case counts"
)
_NORMALIZE = MetricParameter(
    name="normalize", value="choice", choices=("none", "clinical", "fold"), default="none",
    about="none: as written; clinical: case, accents and punctuation are ignored; fold: synonyms are equal, too",
)  # fmt: skip
_MOST_FREQUENT = "counts as the most frequent other class of the truth, the first listed on a tie"


def _number(name: str, about: str, low: str, high: str | None, **more: Any) -> MetricParameter:
    between = Decimal(low), None if high is None else Decimal(high)
    return MetricParameter(name=name, value="number", about=about, between=between, **more)


def _by_class(
    name: str, formula: str, unprocessed: str, parameters: tuple[MetricParameter, ...] = (), **more: Any
) -> MetricKind:
    return MetricKind(
        name=name, counts="classes", types=_CLASSES, parameters=(*_BY_CLASS, *parameters), by_class=True,
        exactly_one=("average", "weights", "positive"), unprocessed=f"{unprocessed}; micro: as the sums of these",
        about=f"{formula} of a class; 0/0 = 0", **more,
    )  # fmt: skip


def _operating_point(name: str, formula: str) -> MetricKind:
    at = _number("at", "the least value of the other one", "0", "1", required=True)
    return MetricKind(
        name=name, types=("number",), parameters=(_POSITIVE_CASE, at), about=formula,
        unprocessed="a positive is never found; a negative counts as found before every score",
        undefined="there is no positive or no negative", leaving_out="never helps",
    )  # fmt: skip


def _errors(
    name: str, formula: str, unprocessed: str, counts: Counted = "errors", power: Literal[1, 2] = 1
) -> MetricKind:
    return MetricKind(
        name=name, types=("number", "integer"), counts=counts, power=power, parameters=(_UNPROCESSED,), about=formula,
        unprocessed=unprocessed, high=None, higher_is_better=False, perfect=0,
    )  # fmt: skip


_ALL = (
    MetricKind(
        name="accuracy", counts="classes", types=("one_of", "boolean", "integer", "str", "text"),
        about="share of p = y", unprocessed="wrong", leaving_out="never helps",
    ),
    MetricKind(
        name="balanced_accuracy", counts="classes", types=_CLASSES, by_class=True, leaving_out="never helps",
        about="mean recall over the classes that occur in the truth", unprocessed="missed",
    ),
    _by_class(
        "precision", "TP/(TP+FP)",
        "adds 1 to the denominator of its true class; with positive, always of the positive class",
    ),
    _by_class("recall", "TP/(TP+FN)", "FN of its class", leaving_out="never helps"),
    _by_class("f1", "2TP/(2TP+FP+FN)", "FN of its class, FP of none"),
    MetricKind(
        name="specificity", counts="classes", types=_CLASSES, about="TN/(TN+FP)", unprocessed="a negative one is FP",
        parameters=(MetricParameter(name="positive", value="class", required=True, about="the positive class"),),
        undefined="there is no negative", leaving_out="never helps",
    ),
    MetricKind(
        name="mcc", counts="classes", types=_CLASSES, low=-1, inverted_below=-0.3,
        about="multi-class R_K = sign·√(num²/den)", unprocessed=_MOST_FREQUENT,
        undefined="the truth has a single class",
        leaving_out=None,  # with three or more classes, omitting a right record can change the other frequencies so
        # that the figure rises: see docs/why/challenges.md
    ),
    MetricKind(
        name="kappa", counts="classes", types=("one_of", "integer"), bounds="integer", low=None,
        parameters=(
            MetricParameter(
                name="weights", value="choice", choices=("none", "linear", "quadratic"), default="none",
                about="[a ≠ b], |a − b| or (a − b)² by position or value",
            ),
        ),
        about="1 − O/E; O: mean of w(yᵢ, pᵢ), E: mean of w(yᵢ, pⱼ) over all i, j",
        unprocessed=f"none: {_MOST_FREQUENT}; linear, quadratic: in O the largest weight that its true class has with "
        "any class, p = y in E",
        undefined="the truth has a single class",
    ),
    MetricKind(
        name="jaccard", counts="sets", types=("set",), parameters=(_SETS,), about="|P∩Y|/|P∪Y|; both empty: 1",
        unprocessed="0; micro: P is empty, and if Y is empty, too, 1 is added to the denominator",
        undefined="micro: no truth has an element",
    ),
    MetricKind(
        name="set_f1", counts="sets", types=("set",), parameters=(_SETS,), about="2|P∩Y|/(|P|+|Y|); both empty: 1",
        unprocessed="0; micro: P is empty, and if Y is empty, too, 1 is added to the denominator",
        undefined="micro: no truth has an element",
    ),
    MetricKind(
        name="auroc", types=("number",), inverted_below=0.35, parameters=(_POSITIVE_CASE,),
        about="share of (positive, negative) pairs in the right order, ties half", unprocessed="loses all its pairs",
        undefined="there is no positive or no negative", leaving_out="never helps",
    ),
    MetricKind(
        name="average_precision", types=("number",), parameters=(_POSITIVE_CASE,),
        about="Σ (Rₙ − Rₙ₋₁)·Pₙ over distinct scores from high to low",
        unprocessed="a positive is never found; a negative counts as found before every score",
        undefined="there is no positive", leaving_out="never helps",
    ),
    MetricKind(
        name="brier", counts="errors", power=2, types=("number",), bounds="unit interval", parameters=(_POSITIVE_CASE,),
        about="mean of (p − y)², y = 1 for a positive", unprocessed="error 1", higher_is_better=False, perfect=0,
        leaving_out="never helps",
    ),
    _errors("mae", "mean of |p − y|", "error `unprocessed`"),
    _errors("mse", "mean of (p − y)²", "error `unprocessed`, squared", power=2),
    _errors("rmse", "square root of the mean of (p − y)²", "error `unprocessed`, squared", power=2),
    MetricKind(
        name="within", counts="within", types=("number", "integer"), exactly_one=("absolute", "relative"),
        parameters=(
            MetricParameter(name="absolute", value="number", about="the largest |p − y|"),
            MetricParameter(name="relative", value="number", about="the largest |p − y| as a share of |y|"),
        ),
        about="share with |p − y| ≤ tolerance", unprocessed="outside", leaving_out="never helps",
    ),
    _by_class(
        "fbeta", "(1+β²)TP / ((1+β²)TP + β²FN + FP)", "FN of its class, FP of none",
        (_number("beta", "β: recall counts β times as much as precision", "0", None, required=True),),
    ),
    MetricKind(
        name="cost", counts="classes", types=_CLASSES, high=None, higher_is_better=False, perfect=0,
        parameters=(
            MetricParameter(
                name="costs", value="costs", required=True,
                about="{ TRUE = { PREDICTED = cost } }; what is not listed costs 0, and so does a right answer",
            ),
        ),
        about="mean cost", unprocessed="the largest cost of its true class", leaving_out="never helps",
    ),
    _operating_point(
        "sensitivity_at_specificity",
        "largest sensitivity at a threshold (positive: p ≥ t) with a specificity of at least `at`",
    ),
    _operating_point(
        "specificity_at_sensitivity",
        "largest specificity at a threshold (positive: p ≥ t) with a sensitivity of at least `at`",
    ),
    MetricKind(
        name="net_benefit", types=("number",), bounds="unit interval", low=None, perfect=None,
        parameters=(
            _POSITIVE_CASE,
            _number("threshold", "t: who has at least this probability is treated", "0", "1", required=True),
        ),
        about="(TP − FP·t/(1−t)) / n, predicted positive: p ≥ t, compared as doubles",
        unprocessed="a positive is missed, a negative is FP", leaving_out="never helps",
    ),
    MetricKind(
        name="log_loss", types=("number",), bounds="unit interval", high=None, higher_is_better=False, perfect=None,
        parameters=(
            _POSITIVE_CASE,
            _number("clip", "probabilities are limited to clip and 1 − clip", "0", "0.5", default="1e-15"),
        ),
        about="mean of −ln of the probability of what is true, clipped", unprocessed="−ln(clip)",
        leaving_out="never helps",
    ),
    MetricKind(
        name="calibration_error", types=("number",), bounds="unit interval", parameters=(_POSITIVE_CASE,),
        about="mean of |p − c(p)|, c: the isotonic regression of the outcome on p", unprocessed="error 1",
        higher_is_better=False, perfect=0, leaving_out=None,  # its case is also missing in the regression
        rewards_constant=True,
    ),
    MetricKind(
        name="concordance", counts="survival", types=("number",), inverted_below=0.35,
        parameters=(
            MetricParameter(name="time", value="time", required=True, about="the time, a number of the truth"),
            MetricParameter(
                name="event", value="positive case", required=True,
                about="the field of the truth and its value that say that the event happened at that time",
            ),
        ),
        about="Harrell's C of a risk (higher: earlier event): share of pairs in the right order, ties half, among "
        "those whose shorter time has an event; equal times: an event is before none",
        unprocessed="loses all its pairs", undefined="there is no such pair", leaving_out="never helps",
    ),
    _errors("median_absolute_error", "median of |p − y|; of an even count the mean of the middle two",
            "error `unprocessed`", counts="numbers"),
    MetricKind(
        name="r2", counts="numbers", types=("number", "integer"), low=None, about="1 − Σ(p − y)² / Σ(y − ȳ)²",
        unprocessed="its residual |p − y| is twice the largest distance of any y from ȳ",
        undefined="all y are equal",
    ),
    MetricKind(
        name="spearman", counts="numbers", types=("number", "integer"), low=-1, inverted_below=-0.3,
        about="correlation of the ranks, which are averaged for ties; 0 if all predictions are equal",
        unprocessed="has the lowest rank if y is above the median, else the highest", undefined="all y are equal",
        leaving_out=None,  # the ranks of all others change
    ),
    MetricKind(
        name="rouge_l", counts="sequences", types=("text", "str"), parameters=(_NORMALIZE,), unprocessed="0",
        leaving_out="never helps",
        about="mean F1 of the longest common subsequence of the tokens; both empty: 1, one empty: 0",
    ),
    MetricKind(
        name="exact_match", counts="texts", types=("text", "str"), parameters=(_NORMALIZE,), unprocessed="0",
        about="share of equal texts", leaving_out="never helps",
    ),
    MetricKind(
        name="token_f1", counts="tokens", types=("text", "str"), parameters=(_NORMALIZE,), unprocessed="0",
        leaving_out="never helps", about="mean F1 of the multisets of tokens; both empty: 1, one empty: 0",
    ),
    MetricKind(
        name="custom", counts="custom", types=get_args(FieldType), unprocessed="0", leaving_out="never helps",
        parameters=(
            MetricParameter(
                name="function", value="function", about="its name in the plugin; default: the name of the metric"
            ),
        ),
        about="mean of a function of a plugin, from 0 to 1, of the values of the field in truth and prediction",
    ),
)  # fmt: skip
KINDS: dict[str, MetricKind] = {kind.name: kind for kind in _ALL}
"""By name, in the order of the specification."""


def field_problem(kind: MetricKind, field: FieldInfo) -> str | None:
    """Return why a prediction field does not suit a kind of metric, or None if it does."""
    if field.type not in kind.types:
        return f"'{kind.name}' needs a field of type {' or '.join(kind.types)}, not {field.type}"
    low, high = (None if each is None else Fraction(each) for each in (field.low, field.high))
    if kind.bounds == "integer" and field.type == "integer" and (low is None or high is None):
        return f"'{kind.name}' of an integer needs its min and max"
    if kind.bounds == "unit interval" and (low is None or high is None or low < 0 or high > 1):
        return f"'{kind.name}' needs a field with min and max within 0 and 1"
    return None
