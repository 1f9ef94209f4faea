"""Intervals of a score: whether they are wanted, what is drawn, and what participants see of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from medcontract.evaluation.loading import Truth
from medcontract.evaluation.settings import Settings
from medcontract.extras import require
from medcontract.results.score import Intervals
from medcontract.scoring.protocol import INTERVAL_PARAMETERS, Protocol
from medcontract.scoring.rational import coarse
from medcontract.scoring.track import Track

if TYPE_CHECKING:
    from medcontract.scoring.resampling import Samples


def wants_intervals(track: Track, protocol: Protocol, settings: Settings) -> bool:
    """Return whether figures have intervals: if the caller, the challenge or a parameter asks for them.

    Raises `CallError` if NumPy is not installed.
    """
    wanted = settings.intervals or track.intervals or protocol.is_changed(*INTERVAL_PARAMETERS)
    if wanted:
        require("numpy", "stats")
    return wanted


def drawn(truth: Truth) -> Samples:
    """Return what is drawn for intervals, which all submissions share."""
    from medcontract.scoring.resampling import samples_of

    scorer = truth.scorer
    key = tuple(truth.expected), *(scorer.protocol.values.get(name) for name in ("resamples", "cluster"))
    if key not in truth.samples:
        truth.samples[key] = samples_of(truth.track, scorer.pairs, truth.expected, scorer.protocol)
    found: Samples = truth.samples[key]
    return found


def shown_intervals(found: Intervals | None, result: dict[str, Any] | None, participant: bool) -> Intervals | None:
    """Return the intervals; for participants rounded, and only of the figures that they see, without replicates."""
    if found is None or result is None:
        return None
    if not participant:
        return found
    from medcontract.scoring.resampling import value_at

    visible = {place for place in found.figures if value_at(result, place) is not None}
    figures = {place: _coarse(bounds) for place, bounds in found.figures.items() if place in visible}
    undefined = {place: reason for place, reason in found.undefined.items() if place in visible}
    return replace(found, figures=figures, undefined=undefined, replicates=None, _headline=_coarse(found._headline))


def _coarse(bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    return bounds and (coarse(bounds[0]), coarse(bounds[1]))
