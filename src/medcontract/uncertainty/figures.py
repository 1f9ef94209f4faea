"""Figures in the full data and in every replicate, and what is computed from several of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Scale = tuple[float, float]
UNIT: Scale = (0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class Resampled:
    """A figure in the full data, then in every replicate."""

    values: Array
    """NaN where it is undefined."""
    cases: Array
    """A mask of the cases that it is about: of its classes or, for a share, in the denominator."""
    scale: Scale | None = UNIT
    """The smallest and the largest value; None if there is no limit."""
    counted: int | None = None
    """The denominator in the full data, if it is a share."""

    @property
    def varies(self) -> bool:
        return bool(np.ptp(self.values) > 0)

    def times(self, factor: float) -> Resampled:
        """Return the figure in another unit. A share stays one."""
        low, high = self.scale or UNIT
        return replace(self, values=self.values * factor, scale=self.scale and (low * factor, high * factor))


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """The figures of a submission that depend on cases."""

    figures: dict[str, Resampled]
    """By JSON pointer to the result."""
    headline: Resampled | None
    """The figure that submissions are ranked by, or the second if that is undefined."""
    classes: Mapping[str, int] = field(default_factory=dict)
    """The number of cases of each class, to warn about rare ones."""


def quotient(numerator: Any, denominator: Array, empty: float = np.nan) -> Array:
    """Divide; where the denominator is 0, the value is `empty`."""
    found = np.full(np.broadcast_shapes(np.shape(numerator), denominator.shape), empty)
    np.divide(numerator, denominator, out=found, where=denominator != 0)
    return found


def kept(values: Array, there: Array) -> Array:
    """Return the values; a replicate that has no case of the class, task or kind has the value of the full data."""
    return np.where(there > 0, values, values[:1])


def combined(parts: Sequence[tuple[float, Resampled]], constant: float = 0.0, divisor: float = 1.0) -> Resampled:
    """Return (Σ weight·figure + constant) / divisor. It is undefined where a part is."""
    values: Any = sum(weight * part.values for weight, part in parts) + constant
    cases = np.logical_or.reduce([part.cases for _, part in parts])
    scales = [_scaled(weight, part) for weight, part in parts]
    limits = [scale for scale in scales if scale is not None]
    scale = None
    if len(limits) == len(parts) and any(part.scale for _, part in parts):
        low, high = (sum(each) + constant for each in zip(*limits, strict=True))
        scale = (low / divisor, high / divisor)
    return Resampled(values=values / divisor, cases=cases, scale=scale)


def _scaled(weight: float, part: Resampled) -> Scale | None:
    """Return the scale of a part. One without limits adds its value if it does not vary."""
    if part.scale is None and part.varies:
        return None
    low, high = (weight * each for each in part.scale or (part.values[0], part.values[0]))
    return min(low, high), max(low, high)


def mean(figures: Iterable[Resampled]) -> Resampled:
    """Return the mean of figures; a single figure is its own mean."""
    found = list(figures)
    return found[0] if len(found) == 1 else combined([(1.0, each) for each in found], divisor=len(found))
