"""One metric of a challenge: what it counts, and its value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from msgspec import Struct

from medcontract.scoring.metrics.kinds import KINDS, FieldInfo, MetricKind
from medcontract.scoring.metrics.tallies import Tally


class MetricValue(Struct, frozen=True, kw_only=True):
    """The value of a metric for one submission."""

    value: Fraction | None
    """None if it is undefined."""
    reason: str | None = None
    """Why it is undefined: always because of the truth."""
    left_out: int = 0
    """The number of cases whose truth is null."""
    by_class: dict[str, Fraction] | None = None
    about_truth: tuple[str, ...] = ()
    """Warnings that participants must not see, since they reveal the truth."""


class Metric(Struct, frozen=True, kw_only=True):
    """A metric, made by `build`."""

    name: str
    kind: MetricKind
    prediction: FieldInfo
    """The field of the prediction that it reads."""
    truth: FieldInfo
    """The field of the truth that it reads."""
    choices: dict[str, str]
    """Everything that is not a number, with defaults: `average`, `weights` (of kappa), `normalize`, `positive` (the
    name of the class)."""
    numbers: tuple[str, ...]
    """The names of its numbers: `unprocessed`, `absolute`, `relative`, `weights.CLASS`. These are the keys of the
    parameters that `tally`, `finish` and `warnings` need, and `metric.NAME.` plus the key is the protocol parameter."""

    def tally(self, parameters: Mapping[str, Fraction]) -> Tally:
        """What it counts. Metrics with equal tallies share their counts."""
        raise NotImplementedError

    def finish(self, counts: Any, parameters: Mapping[str, Fraction]) -> MetricValue:
        """Its value, from the counts of its tally."""
        raise NotImplementedError

    def warnings(self, parameters: Mapping[str, Fraction]) -> Iterator[str]:
        """What is questionable about the metric itself, whatever the data."""
        raise NotImplementedError


def build(
    name: str,
    kind: str,
    prediction: FieldInfo,
    truth: FieldInfo | None = None,
    *,
    choices: Mapping[str, str | bool] | None = None,
    numbers: tuple[str, ...] = (),
) -> Metric:
    """A metric. `truth` is the field of the truth that it reads: with `positive = {field, is}` that one.

    `choices` are those parameters that are not numbers: `positive` is a class, for `{field, is}` the value of `is`.
    Raises `ValueError` for what the table does not allow; challenge files are checked before.
    """
    raise NotImplementedError(KINDS, name, kind, prediction, truth, choices, numbers)
