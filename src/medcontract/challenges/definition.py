"""What a challenge file says, after it was checked."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from msgspec import Struct

from medcontract.scoring.metrics import FieldInfo

Values = dict[str, Any]


class Field(Struct, frozen=True, kw_only=True):
    """A field of the prediction or of the truth."""

    name: str
    type: Any
    """`one_of` for an enumeration."""
    one_of: tuple[str, ...] = ()
    of: Field | None = None
    """The items of a set or list."""
    min: Decimal | None = None
    max: Decimal | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    optional: bool = False
    about: str | None = None

    @property
    def nested(self) -> bool:
        """Whether it does not fit into a table cell."""
        return self.type in ("set", "list")

    @property
    def comparable(self) -> tuple[Any, ...]:
        """What must be equal in prediction and truth for a metric."""
        return self.type, self.one_of, self.of and self.of.comparable

    @property
    def type_text(self) -> str:
        """The type in words."""
        if self.of is not None:
            return f"{self.type} of {self.of.type_text}"
        return f"one_of ({len(self.one_of)} values)" if self.one_of else str(self.type)

    def info(self) -> FieldInfo:
        """The field as metrics see it."""
        return FieldInfo(self.name, self.type, self.one_of, self.min, self.max)

    def data(self) -> Values:
        """Everything that affects scores, as JSON."""
        found: Values = {"type": self.type, "optional": self.optional}
        if self.of is not None:
            found["of"] = self.of.data()
        for name in ("one_of", "min", "max", "min_length", "max_length", "pattern"):
            value = getattr(self, name)
            if value is not None and value != ():
                found[name] = list(value) if isinstance(value, tuple) else value
        return found


class MetricEntry(Struct, frozen=True, kw_only=True):
    """A `[[metric]]`."""

    name: str
    kind: str
    field: str
    truth_field: str
    """The field of the truth: the same, or that of `positive`."""
    choices: dict[str, str | bool] = {}
    """The parameters that are not numbers, with defaults."""
    numbers: dict[str, Decimal] = {}
    """`unprocessed`, `absolute`, `relative`, `weights.CLASS`."""
    about: str | None = None


class RuleEntry(Struct, frozen=True, kw_only=True):
    """A `[[rule]]`, with the lists that it applies to."""

    within: tuple[str, ...]
    """`predictions`, `truth`."""
    values: Values
    """As published, with `kind`, without `within`."""


class Definition(Struct, frozen=True, kw_only=True):
    """A challenge, with defaults filled in."""

    id: str
    title: str
    version: int
    key: tuple[str, ...]
    prediction: tuple[Field, ...]
    truth: tuple[Field, ...]
    rules: tuple[RuleEntry, ...]
    metrics: tuple[MetricEntry, ...]
    sums: dict[str, dict[str, Decimal]]
    headline: str
    min_processed: Decimal
    about: str | None = None

    def data(self) -> Values:
        """Everything that affects scores except version and numbers, which are parameters of the protocol; as JSON."""
        return {
            "id": self.id,
            "key": list(self.key),
            "prediction": {field.name: field.data() for field in self.prediction},
            "truth": {field.name: field.data() for field in self.truth},
            "rules": [{"within": list(rule.within), **rule.values} for rule in self.rules],
            "metrics": {
                metric.name: {
                    "kind": metric.kind, "field": metric.field, "truth_field": metric.truth_field,
                    "choices": metric.choices, "numbers": sorted(metric.numbers),
                }
                for metric in self.metrics
            },
            "sums": {name: sorted(weights) for name, weights in self.sums.items()},
            "headline": self.headline,
        }  # fmt: skip
