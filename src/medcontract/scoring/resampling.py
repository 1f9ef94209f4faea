"""Intervals of the figures of a submission: what is drawn, and the figures in every replicate. Needs NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from medcontract.problems import plural, pointer, pointer_tokens
from medcontract.results.score import Intervals, RankedBy, Replicates
from medcontract.scoring.expected import Expected
from medcontract.scoring.pairing import Pair
from medcontract.scoring.phases import units_of
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import rounded_or_none
from medcontract.scoring.scorer import Answers, Finished, Scorer, weighted
from medcontract.scoring.track import Track
from medcontract.uncertainty.figures import UNIT, Array, Resampled, Resampling
from medcontract.uncertainty.intervals import Bounds, NoInterval, interval
from medcontract.uncertainty.sample import Sample
from medcontract.uncertainty.units import Unit

_FEW_CASES, _FEW_UNITS = 10, 30
_MOST_NAMED = 10
_UNSURE, _LARGE = 1e-4, 1e9
"""How close to the middle of two numbers, or how large, a number is rounded exactly."""


class Samples(NamedTuple):
    """What is drawn."""

    whole: Sample
    """Of all expected items, truth by truth."""
    parts: dict[str, Sample]
    """Of the items of each truth, by its contract."""
    unit: tuple[str, ...]
    """The fields that identify a unit."""

    def only(self, numbers: Mapping[str, Sequence[int]]) -> Samples:
        """Return what is drawn of some of the items, given by their indexes."""
        start, places = 0, dict[str, tuple[int, int]]()
        kept: list[int] = []
        for truth, part in self.parts.items():
            places[truth] = len(kept), len(kept) + len(numbers.get(truth, ()))
            kept += [start + number for number in numbers.get(truth, ())]
            start += part.cases
        whole = self.whole.only(kept)
        return Samples(whole, {truth: whole.part(*place) for truth, place in places.items()}, self.unit)


class WithIntervals(Struct, frozen=True, kw_only=True):
    """How sure the figures of a submission are."""

    intervals: Intervals
    warnings: tuple[str, ...] = ()
    about_truth: tuple[str, ...] = ()
    """Warnings that participants do not see."""


def samples_of(track: Track, pairs: Sequence[Pair], expected: Mapping[str, Expected], protocol: Protocol) -> Samples:
    """Draw the expected items, whatever was submitted."""
    cluster = protocol.word("cluster")
    units: list[Unit] = []
    places = {}
    key: tuple[str, ...] = ()
    for pair in pairs:
        if pair.truth in expected and pair.truth not in places:
            items, key = expected[pair.truth], pair.key
            places[pair.truth] = len(units), len(units) + items.total
            units += units_of(items, cluster, track.unit)
    distinct = len(places) == 1 and not cluster and not track.unit
    whole = Sample(units, int(protocol["resamples"]), clustered=bool(cluster), distinct=distinct)
    unit = (cluster,) if cluster else track.unit or key
    return Samples(whole, {truth: whole.part(*place) for truth, place in places.items()}, unit)


def intervals_of(
    track: Track, scorer: Scorer, answers: Answers, finished: Finished, samples: Samples, only_ranked: bool = False
) -> WithIntervals:
    """Compute the intervals of the figures in a result, or only of the ones that submissions are ranked by."""
    protocol, sample = scorer.protocol, samples.whole
    level = protocol["level"]
    resampling = scorer.resampled(answers, samples, finished.result or {})
    resampling = resampling or _by_tallies(track, scorer, answers, finished, samples)
    figures: dict[str, Bounds | None] = {}
    undefined: dict[str, str] = {}
    for place, figure in resampling.figures.items():
        if only_ranked or value_at(finished.result, place) is None:
            continue
        found = interval(figure, sample, level)
        figures[place] = None if isinstance(found, NoInterval) else found
        if isinstance(found, NoInterval):
            undefined[place] = found.reason
    ranked_by = {name: _ranked_by(figure, sample, level) for name, figure in _rankable(track, finished, resampling)}
    headline = next(iter(ranked_by.values()), None)
    values = (None,) * sample.resamples if headline is None else headline.values
    replicates = Replicates(figure=headline_name(track, finished), values=values)
    intervals = Intervals(
        level=float(level), resamples=sample.resamples, unit=samples.unit, units=sample.units, groups=sample.groups,
        figures=figures, undefined=undefined, replicates=replicates,
        _headline=None if headline is None else headline.bounds, _ranked_by=ranked_by,
    )  # fmt: skip
    few = f"there {'is' if sample.units == 1 else 'are'} only {plural(sample.units, 'unit')}: intervals are rough"
    warnings = (few,) if sample.units < _FEW_UNITS else ()
    rare = [f"{name} ({count})" for name, count in resampling.classes.items() if 0 < count < _FEW_CASES]
    named = ", ".join(rare[:_MOST_NAMED]) + (", …" if len(rare) > _MOST_NAMED else "")
    rough = f"fewer than {_FEW_CASES} cases of {named}: intervals that rest on them are rough"
    return WithIntervals(intervals=intervals, warnings=warnings, about_truth=(rough,) if rare else ())


def value_at(result: object, place: str) -> Any:
    """Return the part of a result at a pointer; None if there is none."""
    for token in pointer_tokens(place):
        if isinstance(result, list):
            result = result[int(token)] if int(token) < len(result) else None
        else:
            result = result.get(token) if isinstance(result, dict) else None
    return result


def _rankable(track: Track, finished: Finished, resampling: Resampling) -> Iterator[tuple[str, Resampled]]:
    """Return the figures that a ranking may use, as it calls them: the headline, and the second one."""
    if resampling.headline is not None:
        yield "second" if finished.headline is None else "headline", resampling.headline
    if finished.headline is not None and track.second:
        paths = sorted(map(pointer_tokens, resampling.figures), key=len)
        path = next((path for path in paths if path[-1] == track.second), None)  # of the whole, not of a task
        if path is not None:
            yield "second", resampling.figures[pointer(tuple(path))]


def _ranked_by(figure: Resampled, sample: Sample, level: Fraction) -> RankedBy:
    found = interval(figure, sample, level)
    return RankedBy(
        values=rounded_replicates(figure.values[1:]),
        bounds=None if isinstance(found, NoInterval) else found,
        reason=found.reason if isinstance(found, NoInterval) else "", scaled=figure.scale is not None,
    )  # fmt: skip


_DECIMALS, _MILLION = 6, 1e6


def rounded_replicates(values: Array) -> tuple[float | None, ...]:
    """Round like `round(value, 6)`; null where it is undefined. Only what may be half-way takes time."""
    scaled = values * _MILLION
    found: list[float | None] = (np.rint(scaled) / _MILLION + 0.0).tolist()
    unsure = ~(np.abs(np.abs(scaled - np.floor(scaled)) - 0.5) > _UNSURE) | (np.abs(scaled) > _LARGE)
    for place in np.flatnonzero(unsure).tolist():
        value = float(values[place])
        found[place] = None if np.isnan(value) else round(value, _DECIMALS) + 0.0
    return tuple(found)


def headline_name(track: Track, finished: Finished) -> str:
    """Return the name of the figure that a submission is ranked by."""
    if finished.headline is None and finished.second is not None:
        return track.second
    return finished.headline_name or track.headline


# --- any track, also of a plugin --------------------------------------------------------------------------------------


def _by_tallies(track: Track, scorer: Scorer, answers: Answers, finished: Finished, samples: Samples) -> Resampling:
    """Compute the figures of the weighted tally of each replicate."""
    known = {figure.name: figure for figure in track.figures}
    wanted = {
        place: value
        for place, value in _numbers(finished.result or {})
        if not any(name in known and known[name].by in ("case", "document") for name in place)
    }
    rows = samples.whole.resamples + 1
    values = {place: np.full(rows, np.nan) for place in wanted}
    headlines = np.full(rows, np.nan)
    for row in range(rows):
        weights = {truth: part.weights_by_case(row).tolist() for truth, part in samples.parts.items()}
        tally = weighted(scorer, answers, weights)
        try:
            found = scorer.figures(tally) if tally.expected else None
        except ZeroDivisionError:
            continue  # undefined, like a figure that is null
        if found is None:
            continue
        headline = rounded_or_none(found.second if finished.headline is None else found.headline)
        headlines[row] = np.nan if headline is None else headline
        for place, value in _numbers(found.result or {}):
            if place in values:
                values[place][row] = value
    cases = np.ones(samples.whole.cases, bool)
    figures = {}
    for place, each in values.items():
        name = next((known[part] for part in reversed(place) if part in known), None)
        scale = UNIT if name is None else None if name.low is None or name.high is None else (name.low, name.high)
        if np.ptp(each) != 0 or (scale and each[0] in scale):  # it depends on cases; else it would vary
            figures[pointer(place)] = Resampled(values=each, cases=cases, scale=scale)
    name = known.get(headline_name(track, finished))
    scale = None if name is None or name.low is None or name.high is None else (name.low, name.high)
    headline_figure = None if np.isnan(headlines[0]) else Resampled(values=headlines, cases=cases, scale=scale)
    return Resampling(figures=figures, headline=headline_figure)


def _numbers(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], float]]:
    """Return the numbers of a result except counts, with their paths."""
    if isinstance(value, dict):
        yield from chain.from_iterable(_numbers(each, (*path, name)) for name, each in value.items())
    elif isinstance(value, list):
        yield from chain.from_iterable(_numbers(each, (*path, place)) for place, each in enumerate(value))
    elif isinstance(value, float):
        yield path, value
