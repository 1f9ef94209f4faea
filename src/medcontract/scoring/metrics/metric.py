"""One metric of a challenge: what it counts, and its value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from medcontract.scoring.metrics.counting import ClassCounts, Counting, Counts
from medcontract.scoring.metrics.kinds import KINDS, FieldInfo, MetricKind
from medcontract.scoring.rational import ZERO

Parameters = Mapping[str, Fraction]
"""The numbers of a metric, by key (`Metric.numbers`)."""


class MetricValue(Struct, frozen=True, kw_only=True):
    """The value of a metric for one submission."""

    value: Fraction | None
    """None if it is undefined."""
    reason: str | None = None
    """Why it is undefined: always because of the truth."""
    left_out: int = 0
    """The number of cases whose truth is null."""
    by_class: dict[str, Fraction] | None = None
    """By name of the class: as if it was the positive one, for metrics with `positive`; only classes that occur in the
    truth, for `balanced_accuracy`."""


class Metric(Struct, frozen=True, kw_only=True):
    """A metric, made by `build`."""

    name: str
    kind: MetricKind
    prediction: FieldInfo
    """The field of the prediction that it reads."""
    truth: FieldInfo
    """The field of the truth that it reads."""
    event: FieldInfo | None
    """Another field of the truth that it reads, if `truth` is a time: whether it is the time of an event."""
    choices: dict[str, str]
    """Everything that is not a number, with defaults: `average`, `weights` (of kappa), `normalize`, `positive` and
    `event` (the name of the class)."""
    numbers: tuple[str, ...]
    """The names of its numbers: `unprocessed`, `beta`, `weights.CLASS`, `costs.TRUE.PREDICTED` and so on. These are the
    keys of the parameters that its methods need, and `metric.NAME.` plus the key is the protocol parameter."""

    @property
    def positive(self) -> str | bool | int:
        """The positive class, or the class of an event, as it is in records of the truth."""
        if self.event is not None:
            return self.event.value_of(self.choices["event"])
        return self.truth.value_of(self.choices["positive"])

    def counting(self, parameters: Parameters) -> Counting:
        """Return what it counts. Metrics that count the same share their counts."""
        kind, what = self.kind, self.kind.counts
        if kind.name == "accuracy" and not self.prediction.classes:
            what = "equal numbers" if self.prediction.type == "integer" else "equal"
        tolerance = next(iter(self.numbers)) if what == "within" else ""
        return Counting(
            what=what, truth=self.truth.name, prediction=self.prediction.name,
            event=self.event.name if self.event else None, positive=self.positive if kind.positive_case else None,
            function=self.choices.get("function", self.name) if what == "custom" else "",
            normalize=self.choices.get("normalize", "none"), power=kind.power,
            tolerance=parameters[tolerance] if tolerance else ZERO, relative=tolerance == "relative",
        )  # fmt: skip

    def figures(self, counts: Counts, parameters: Parameters) -> MetricValue:
        """Return its value, from its counts. Raises `CallError` if all weights are 0."""
        from medcontract.scoring.metrics.formulas import FORMULAS

        if not counts.cases:
            found = MetricValue(value=None, reason=f"'{self.truth.name}' of the truth is null in every case")
        else:
            found = FORMULAS[self.kind.name](self, counts, parameters)
        return replace(found, left_out=counts.left_out)

    def about_truth(self, counts: Counts, parameters: Parameters) -> Iterator[str]:
        """Warnings that participants must not see, since they reveal the truth."""
        if self.kind.parameter("average") and isinstance(counts, ClassCounts) and counts.cases:
            from medcontract.scoring.metrics.classes import warn_absent

            yield from warn_absent(self, counts, parameters)

    def warnings(self, parameters: Parameters) -> Iterator[str]:
        """Yield what is questionable about the metric itself, whatever the data.

        An unprocessed case should cost as much as the largest error: otherwise it pays to omit difficult cases.
        """
        if "unprocessed" not in self.numbers:
            return
        pays = "leaving out the worst cases would pay"
        bounds: list[Decimal] = []
        for field, of in ((self.prediction, ""), (self.truth, " of the truth")):
            if field.low is None or field.high is None:
                yield f"'{self.name}': '{field.name}'{of} has no min and max, so errors have no limit: {pays}"
                return
            bounds += Decimal(str(field.low)), Decimal(str(field.high))
        largest = max(bounds) - min(bounds)
        if parameters["unprocessed"] < Fraction(largest):
            yield (
                f"'{self.name}': unprocessed is smaller than the largest error, max − min of the field: {pays}, "
                f"unless it is at least {largest:g}"
            )


def build(
    name: str,
    kind: str,
    prediction: FieldInfo,
    truth: FieldInfo | None = None,
    *,
    event: FieldInfo | None = None,
    choices: Mapping[str, str | bool | int] | None = None,
    numbers: tuple[str, ...] = (),
) -> Metric:
    """Return a metric. `truth` is the field of the truth that it reads: with `positive = {field, is}` that one.

    `choices` are the parameters that are not numbers: `positive` is a class, for `{field, is}` the value of `is`; so is
    `event`, a class of the field `event`.
    Nothing is checked: `medcontract.challenges` does that, where a mistake has a place in the file.
    """
    found, field = KINDS[kind], truth or prediction
    defaults = {each.name: each.default for each in found.parameters if each.choices and each.default is not None}
    classes = {"positive": field, "event": event}
    given = {
        key: of.name_of(value) if (of := classes.get(key)) else str(value) for key, value in (choices or {}).items()
    }
    return Metric(
        name=name, kind=found, prediction=prediction, truth=field, event=event, choices=defaults | given,
        numbers=numbers,
    )  # fmt: skip
