"""The table of metric kinds: which fields and parameters each allows, its range, and its formula in words.

Validation of challenge files, documentation and tests are all driven by this one table.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import force_setattr

FieldType = Literal["text", "str", "integer", "number", "boolean", "date", "set", "list", "one_of"]
Value = Literal["choice", "number", "class", "class weights", "positive case"]
BOOLEAN_CLASSES = ("false", "true")


class FieldInfo(Struct, frozen=True):
    """What a metric needs to know about a field of the prediction or of the truth."""

    name: str
    type: FieldType
    classes: tuple[str, ...] = ()
    """Of `one_of`, in the order listed. Those of a boolean are filled in."""
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

    @property
    def names(self) -> dict[str | bool, str]:
        """The name of the class of each value."""
        return dict(zip(self.values, self.classes, strict=True))


class MetricParameter(Struct, frozen=True, kw_only=True):
    """A key of a `[[metric]]` in addition to `name`, `kind` and `field`."""

    name: str
    value: Value
    """Its type. `choice`: one of `choices`; `class`: a class of the field; `class weights`: a number for each class;
    `positive case`: a field of the truth (`one_of` or boolean) and one of its classes, `{field = …, is = …}`."""
    about: str
    choices: tuple[str, ...] = ()
    default: str | None = None
    required: bool = False
    low: int | None = 0
    """The smallest allowed number."""


class MetricKind(Struct, frozen=True, kw_only=True):
    """A kind of metric, with its formula and invariants."""

    name: str
    about: str
    """The formula, as text."""
    unprocessed: str
    """What an unprocessed case counts, as text."""
    types: tuple[FieldType, ...]
    """The types of prediction fields that it allows."""
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
    by_class: bool = False
    """It also has a value for each class."""
    confusion: bool = False
    """It counts true and predicted classes, so its field has a confusion matrix."""

    @property
    def positive_case(self) -> bool:
        """Its truth is a field and a class that are specified by `positive`, not the field of the prediction."""
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


def _by_class(name: str, formula: str, unprocessed: str, **more: Any) -> MetricKind:
    return MetricKind(
        name=name, types=_CLASSES, parameters=_BY_CLASS, exactly_one=("average", "weights", "positive"),
        by_class=True, confusion=True, unprocessed=f"{unprocessed}; micro: as the sums of these",
        about=f"{formula} of a class; 0/0 = 0", **more,
    )  # fmt: skip


def _errors(name: str, formula: str, unprocessed: str) -> MetricKind:
    return MetricKind(
        name=name, types=("number", "integer"), parameters=(_UNPROCESSED,), about=formula, unprocessed=unprocessed,
        high=None, higher_is_better=False, perfect=0,
    )  # fmt: skip


_ALL = (
    MetricKind(
        name="accuracy", types=("one_of", "boolean", "integer", "str", "text"), confusion=True,
        about="share of p = y", unprocessed="wrong", leaving_out="never helps",
    ),
    MetricKind(
        name="balanced_accuracy", types=_CLASSES, by_class=True, confusion=True, leaving_out="never helps",
        about="mean recall over the classes that occur in the truth", unprocessed="missed",
    ),
    _by_class(
        "precision", "TP/(TP+FP)",
        "adds 1 to the denominator of its true class; with positive, always to that of the positive class",
    ),
    _by_class("recall", "TP/(TP+FN)", "FN of its class", leaving_out="never helps"),
    _by_class("f1", "2TP/(2TP+FP+FN)", "FN of its class, FP of none"),
    MetricKind(
        name="specificity", types=_CLASSES, confusion=True, about="TN/(TN+FP)", unprocessed="a negative one is FP",
        parameters=(MetricParameter(name="positive", value="class", required=True, about="the positive class"),),
        undefined="there is no negative", leaving_out="never helps",
    ),
    MetricKind(
        name="mcc", types=_CLASSES, confusion=True, low=-1, about="multi-class R_K = sign·√(num²/den)",
        unprocessed=_MOST_FREQUENT, undefined="the truth has a single class",
        leaving_out=None,  # with three or more classes, omitting a right record can change the other frequencies so
        # that the figure rises: see docs/why.md
    ),
    MetricKind(
        name="kappa", types=("one_of", "integer"), bounds="integer", confusion=True, low=None,
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
        name="jaccard", types=("set",), parameters=(_SETS,), about="|P∩Y|/|P∪Y|; both empty: 1",
        unprocessed="0; micro: P is empty, and if Y is empty, too, 1 is added to the denominator",
        undefined="micro: no truth has an element",
    ),
    MetricKind(
        name="set_f1", types=("set",), parameters=(_SETS,), about="2|P∩Y|/(|P|+|Y|); both empty: 1",
        unprocessed="0; micro: P is empty, and if Y is empty, too, 1 is added to the denominator",
        undefined="micro: no truth has an element",
    ),
    MetricKind(
        name="auroc", types=("number",), parameters=(_POSITIVE_CASE,),
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
        name="brier", types=("number",), bounds="unit interval", parameters=(_POSITIVE_CASE,),
        about="mean of (p − y)², y = 1 for a positive", unprocessed="error 1", higher_is_better=False, perfect=0,
        leaving_out="never helps",
    ),
    _errors("mae", "mean of |p − y|", "error `unprocessed`"),
    _errors("mse", "mean of (p − y)²", "error `unprocessed`, squared"),
    _errors("rmse", "square root of the mean of (p − y)²", "error `unprocessed`, squared"),
    MetricKind(
        name="within", types=("number", "integer"), exactly_one=("absolute", "relative"), leaving_out="never helps",
        parameters=(
            MetricParameter(name="absolute", value="number", about="the largest |p − y|"),
            MetricParameter(name="relative", value="number", about="the largest |p − y| as a share of |y|"),
        ),
        about="share with |p − y| ≤ tolerance", unprocessed="outside",
    ),
    MetricKind(
        name="exact_match", types=("text", "str"), parameters=(_NORMALIZE,), about="share of equal texts",
        unprocessed="0", leaving_out="never helps",
    ),
    MetricKind(
        name="token_f1", types=("text", "str"), parameters=(_NORMALIZE,), unprocessed="0", leaving_out="never helps",
        about="mean F1 of the multisets of tokens; both empty: 1, one empty: 0",
    ),
)  # fmt: skip
KINDS: dict[str, MetricKind] = {kind.name: kind for kind in _ALL}
"""By name, in the order of the specification."""


def field_problem(kind: MetricKind, field: FieldInfo) -> str | None:
    """Why a prediction field does not suit a kind of metric, or None if it does."""
    if field.type not in kind.types:
        return f"'{kind.name}' needs a field of type {' or '.join(kind.types)}, not {field.type}"
    low, high = (None if each is None else Fraction(each) for each in (field.low, field.high))
    if kind.bounds == "integer" and field.type == "integer" and (low is None or high is None):
        return f"'{kind.name}' of an integer needs its min and max"
    if kind.bounds == "unit interval" and (low is None or high is None or low < 0 or high > 1):
        return f"'{kind.name}' needs a field with min and max within 0 and 1"
    return None
