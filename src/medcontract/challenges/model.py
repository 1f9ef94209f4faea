"""The model of a challenge file: its keys, types, bounds and defaults.

What a model cannot say, because it compares parts of the file with each other, is checked by `semantics`.
"""

from __future__ import annotations

from decimal import Decimal
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, Strict, create_model
from pydantic import Field as Info

from medcontract.challenges.rules import RULES, RuleEntry
from medcontract.challenges.values import (
    Bound,
    ClassName,
    FieldName,
    Id,
    Key,
    Length,
    Line,
    Lines,
    Name,
    Number,
    OneModelPerKind,
    Pattern,
    Text,
)
from medcontract.contracts.base import StrictModel
from medcontract.problems import Path
from medcontract.scoring.metrics import KINDS, FieldInfo, Metric, MetricKind, MetricParameter, build
from medcontract.scoring.metrics.classes import cost_key
from medcontract.scoring.metrics.kinds import FieldType
from medcontract.types import JsonObject

MOST_FIELDS = 200
MOST_VALUES = 10_000
MOST_METRICS = 200
MOST_RULES = 100


# --- fields -----------------------------------------------------------------------------------------------------------

ItemType = Literal["text", "str", "integer", "number", "boolean", "date"]
Type = Literal[ItemType, "set", "list"]
TYPES: tuple[FieldType, ...] = get_args(Type)
BOUNDS: dict[str, tuple[str, ...]] = {
    "text": ("min_length", "max_length", "pattern"),
    "str": ("min_length", "max_length", "pattern"),
    "integer": ("min", "max"),
    "number": ("min", "max"),
    "set": ("of", "min_length", "max_length", "separator"),
    "list": ("of", "min_length", "max_length", "separator"),
}
"""The bounds that each type allows."""


class FieldItem(StrictModel):
    """The items of a set or list. Either `type` or `one_of` is given."""

    type: ItemType | None = None
    one_of: Annotated[tuple[ClassName, ...], Strict(False), Info(min_length=1, max_length=MOST_VALUES)] | None = None
    min: Bound | None = None
    max: Bound | None = None
    min_length: Length | None = None
    max_length: Length | None = None
    pattern: Pattern | None = None
    about: Text | None = None

    @property
    def kind(self) -> FieldType:
        """The type; `one_of` for an enumeration."""
        return "one_of" if self.one_of is not None else self.type or "text"

    @property
    def classes(self) -> tuple[str, ...]:
        return self.one_of or ()

    @property
    def items(self) -> FieldItem | None:
        """The items, if it is a set or list."""
        return None

    @property
    def comparable(self) -> tuple[Any, ...]:
        """What must be equal in prediction and truth for a metric."""
        return self.kind, self.classes, self.items and self.items.comparable

    @property
    def type_text(self) -> str:
        """The type in words."""
        if self.items is not None:
            return f"{self.kind} of {self.items.type_text}"
        return f"one_of ({len(self.classes)} values)" if self.classes else self.kind

    def data(self) -> JsonObject:
        """Return everything that affects scores, as JSON."""
        found = self.model_dump(exclude={"about", "of"}, exclude_none=True)
        if self.items is not None:
            found["of"] = self.items.data()
        return {"optional": False, **found, "type": self.kind}


class Field(FieldItem):
    """A field of the prediction or of the truth."""

    type: Type | None = None  # type: ignore[assignment]  # wider than in an item
    of: FieldItem | None = None
    separator: Annotated[str, Info(min_length=1, max_length=10)] | None = None
    optional: bool = False

    @property
    def items(self) -> FieldItem | None:
        return self.of

    @property
    def nested(self) -> bool:
        """Whether it is a list."""
        return self.kind in ("set", "list")


# --- metrics ----------------------------------------------------------------------------------------------------------


class PositiveCase(StrictModel):
    """A field of the truth and its positive class."""

    field: Line
    is_: Annotated[Any, Info(alias="is")]


class MetricEntry(StrictModel):
    """A `[[metric]]`. The model of each kind is made from the table of kinds."""

    name: Name
    kind: str
    field: Line
    for_: Annotated[Lines | None, Info(alias="for")] = None
    about: Text | None = None

    def expanded(self) -> tuple[MetricEntry, ...]:
        """Return the metrics that it means: with `for` one each, in whose names of fields `{}` is replaced."""
        return (self,) if self.for_ is None else tuple(map(self._of, self.for_))

    def _of(self, name: str) -> MetricEntry:
        found: JsonObject = {"field": self.field.replace("{}", name)}
        for key, value in self.parameters.items():
            if isinstance(value, PositiveCase):
                found[key] = value.model_copy(update={"field": value.field.replace("{}", name)})
            elif key == "time":
                found[key] = value.replace("{}", name)
        if self.kind == "custom" and "function" not in self.parameters:
            found["function"] = self.name
        return self.model_copy(update={**found, "name": f"{self.name}_{name}", "for_": None})

    @property
    def truth_field(self) -> str:
        """The field of the truth: the same, or the one in `positive` or `time`."""
        positive = self.parameters.get("positive")
        return positive.field if isinstance(positive, PositiveCase) else self.parameters.get("time", self.field)

    @property
    def event_field(self) -> str | None:
        """A second field of the truth, in `event`."""
        event = self.parameters.get("event")
        return event.field if isinstance(event, PositiveCase) else None

    @property
    def parameters(self) -> JsonObject:
        """What is given or has a default, by name."""
        values = {each.name: getattr(self, each.name) for each in KINDS[self.kind].parameters}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def choices(self) -> dict[str, str | bool | int]:
        """The parameters that are neither numbers nor names of fields."""
        found = {name: value.is_ if isinstance(value, PositiveCase) else value
                 for name, value in self.parameters.items() if name != "time"}  # fmt: skip
        return {name: value for name, value in found.items() if isinstance(value, str | bool | int)}

    def numbers(self, classes: tuple[str, ...]) -> dict[str, Decimal]:
        """Return the parameters that are numbers: `absolute`, `weights.CLASS`, `costs.TRUE.PREDICTED`.

        `classes`: of its field. What the file does not list is 0.
        """
        found: dict[str, Decimal] = {}
        for name, value in self.parameters.items():
            if isinstance(value, Decimal):
                found[name] = value
            elif name == "costs":
                pairs = ((true, predicted) for true in classes for predicted in classes if true != predicted)
                found |= {cost_key(*pair): value.get(pair[0], {}).get(pair[1], Decimal(0)) for pair in pairs}
            elif isinstance(value, dict):
                found |= {f"{name}.{each}": value.get(each, Decimal(0)) for each in classes}
        return found


def _parameter(parameter: MetricParameter) -> tuple[Any, Any]:
    low, high = (None if bound is None else float(bound) for bound in parameter.between or (None, None))
    number = Annotated[Number, Info(ge=parameter.low, gt=low, lt=high)]
    types: dict[str, Any] = {
        "choice": Literal[parameter.choices] if parameter.choices else None,
        "number": number,
        "class": Any,
        "class weights": dict[str, number],
        "costs": dict[str, dict[str, number]],
        "time": Line,
        "function": Line,
        "positive case": PositiveCase,
    }
    kind = types[parameter.value]
    default = Decimal(parameter.default) if parameter.value == "number" and parameter.default else parameter.default
    return (kind, ...) if parameter.required else (kind | None if kind is not Any else Any, default)


def _metric_model(kind: MetricKind) -> type[MetricEntry]:
    fields: dict[str, Any] = {each.name: _parameter(each) for each in kind.parameters}
    return create_model(f"Metric_{kind.name}", __base__=MetricEntry, **{"kind": (Literal[kind.name], ...), **fields})


METRICS = {kind.name: _metric_model(kind) for kind in KINDS.values()}


# --- the file ---------------------------------------------------------------------------------------------------------


class ScoreEntry(StrictModel):
    """The `[score]`."""

    headline: Line
    means: Annotated[
        dict[Name, Annotated[Lines, Info(min_length=1)]], Info(default_factory=dict, max_length=MOST_METRICS)
    ]
    tie_breakers: Annotated[Lines, Info(max_length=MOST_METRICS)] = ()
    sums: Annotated[dict[Name, dict[str, Number]], Info(default_factory=dict, max_length=MOST_METRICS)]


class GateEntry(StrictModel):
    """The `[gate]`."""

    min_processed: Annotated[Number, Info(ge=0, le=1)] = Decimal("0.95")


class Uncertainty(StrictModel):
    """The `[uncertainty]`."""

    intervals: bool = False
    cluster: Line | None = None


class Phases(StrictModel):
    """The `[phases]`."""

    public: Annotated[Number, Info(gt=0, lt=1)]


Fields = Annotated[dict[FieldName, Field], Info(min_length=1, max_length=MOST_FIELDS)]


_Rules = Annotated[tuple[Annotated[RuleEntry, OneModelPerKind(RULES)], ...], Strict(False)]
_Metrics = Annotated[tuple[Annotated[MetricEntry, OneModelPerKind(METRICS)], ...], Strict(False)]


class Definition(StrictModel):
    """A challenge file, with defaults filled in."""

    id: Id
    given_title: Annotated[Line | None, Info(alias="title")] = None
    version: Annotated[int, Info(ge=1, le=10**9)] = 1
    about: Text | None = None
    key: Key
    prediction: Fields
    truth: Fields
    rules: Annotated[_Rules, Info(alias="rule", min_length=1, max_length=MOST_RULES)] = ()
    entries: Annotated[_Metrics, Info(alias="metric", min_length=1, max_length=MOST_METRICS)]
    score: ScoreEntry
    gate: GateEntry = GateEntry()
    uncertainty: Uncertainty = Uncertainty()
    phases: Phases | None = None

    @property
    def title(self) -> str:
        return self.given_title or self.id

    @cached_property
    def metrics(self) -> tuple[MetricEntry, ...]:
        """The metrics, each with a name and fields of its own."""
        return tuple(metric for entry in self.entries for metric in entry.expanded())

    @cached_property
    def means(self) -> dict[str, tuple[str, ...]]:
        """The metrics that each mean is about, by name; entries with `for` first, of which later ones may be means."""
        of_entries = {
            entry.name: tuple(metric.name for metric in entry.expanded()) for entry in self.entries if entry.for_
        }
        return of_entries | self.score.means

    def kinds_of(self, name: str) -> set[MetricKind]:
        """Return the kinds of metrics that a metric or mean consists of; none for a sum."""
        parts = self.score.means.get(name, (name,))
        names = {each for part in parts for each in self.means.get(part, (part,))}
        return {KINDS[metric.kind] for metric in self.metrics if metric.name in names}

    def lower_is_better(self, name: str) -> bool:
        """Return whether a metric, mean or sum is better when lower."""
        return any(not kind.higher_is_better for kind in self.kinds_of(name))

    def fields_of(self, records: str) -> dict[str, Field]:
        """Return all fields of the records in a list: `predictions` or `truth`."""
        keys = {name: Field(type="str") for name in self.key}
        return keys | (self.prediction if records == "predictions" else self.truth)

    def lists_of(self, rule: RuleEntry) -> tuple[str, ...]:
        """Return the lists that a rule applies to: the given one, or those with all of its fields."""
        candidates = ("predictions", "truth") if rule.within is None else (rule.within,)
        return tuple(each for each in candidates if self.fields_of(each).keys() >= set(rule.field_names))

    def build(self, metric: MetricEntry) -> Metric:
        """Return a metric, built for scoring."""
        event = metric.event_field
        return build(
            metric.name, metric.kind, info(metric.field, self.prediction[metric.field]),
            info(metric.truth_field, self.truth[metric.truth_field]),
            event=None if event is None else info(event, self.truth[event]),
            choices=metric.choices, numbers=tuple(self.numbers_of(metric)),
        )  # fmt: skip

    def numbers_of(self, metric: MetricEntry) -> dict[str, Decimal]:
        """Return the parameters of a metric that are numbers."""
        return metric.numbers(info(metric.field, self.prediction[metric.field]).classes)

    def data(self) -> JsonObject:
        """Return everything that affects scores except version and numbers, which are parameters of the protocol."""
        return {
            "id": self.id,
            "key": list(self.key),
            "prediction": {name: field.data() for name, field in self.prediction.items()},
            "truth": {name: field.data() for name, field in self.truth.items()},
            "rules": [{"within": list(self.lists_of(rule)), **rule.data()} for rule in self.rules],
            "metrics": {
                metric.name: {
                    "kind": metric.kind, "field": metric.field, "truth_field": metric.truth_field,
                    "choices": metric.choices, "numbers": sorted(self.numbers_of(metric)),
                    **({} if metric.event_field is None else {"event_field": metric.event_field}),
                }
                for metric in self.metrics
            },
            **({"means": {name: list(names) for name, names in self.means.items()}} if self.means else {}),
            "sums": {name: sorted(weights) for name, weights in self.score.sums.items()},
            "headline": self.score.headline,
            **({"tie_breakers": list(self.score.tie_breakers)} if self.score.tie_breakers else {}),
        }  # fmt: skip


def info(name: str, field: FieldItem) -> FieldInfo:
    """Return a field as metrics see it."""
    return FieldInfo(name, field.kind, field.classes, field.min, field.max)


def model_at(path: Path) -> type[BaseModel]:
    """Return the model of the table at a path. After the index of a metric or rule, its kind follows."""
    match path:
        case ("prediction" | "truth", _, *of):
            return FieldItem if of else Field
        case ("metric", _, kind, *positive):
            return PositiveCase if positive else METRICS[str(kind)]
        case ("rule", _, kind, *_):
            return RULES[str(kind)]
        case ("score",):
            return ScoreEntry
        case ("gate",):
            return GateEntry
        case ("phases",):
            return Phases
        case ("uncertainty",):
            return Uncertainty
    return Definition
