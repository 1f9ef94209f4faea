"""How sure a ranking and a comparison are: which submissions can be told apart. Needs NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from medcontract.results.comparison import Delta
from medcontract.results.leaderboard import Leaderboard, Neighbors, RankingIntervals
from medcontract.results.score import Intervals, RankedBy
from medcontract.results.tables import Interval
from medcontract.uncertainty.intervals import NoInterval, shown
from medcontract.uncertainty.ranking import Array, compared, ranks_of, together


class RankedRow(NamedTuple):
    """A ranked submission: its exact headline, and how sure that is."""

    headline: Fraction
    intervals: Intervals | None
    by: RankedBy | None
    """The figure that it is ranked by."""


def with_intervals(
    board: Leaderboard, rows: Sequence[RankedRow], lower_is_better: bool, clustered: bool,
    coarse: Callable[[float], float] = lambda value: value,
) -> Leaderboard:  # fmt: skip
    """Add how sure a ranking is, if its rows have intervals. `coarse`: rounds all numbers further."""
    first = next((row.intervals for row in rows if row.intervals is not None), None)
    if first is None:
        return board
    level = Fraction(repr(first.level))
    undefined = {f"/submissions/{n}/interval": _why(row) for n, row in enumerate(rows) if _why(row)}
    entries = [
        replace(entry, interval=bounds and _pair(bounds, coarse), _with_intervals=True)
        for entry, bounds in zip(board.submissions, [row.by.bounds if row.by else None for row in rows], strict=False)
    ]
    values = together(np.array([_numbers(row.by, first.resamples) for row in rows]))
    if isinstance(values, NoInterval):
        undefined["/neighbours"] = values.reason
    else:
        ranks = ranks_of([row.headline for row in rows], values, level, lower_is_better)
        scaled = all(row.by is not None and row.by.scaled for row in rows)
        found = zip(entries, ranks.intervals, ranks.first_shares, ranks.tied_with_first, strict=True)
        entries = [
            replace(entry, rank_interval=its, first_share=coarse(round(share, 6)), tied_with_first=tied)
            for entry, its, share, tied in found
        ]
        neighbors = tuple(
            Neighbors(
                above=above.name, below=below.name, difference=coarse(float(pair.difference)),
                interval=_pair(pair.interval(level, scaled), coarse), p=coarse(pair.p), p_holm=coarse(p_holm),
            )
            for above, below, (pair, p_holm) in zip(entries, entries[1:], ranks.neighbours, strict=False)
        )  # fmt: skip
        detectable = ranks.detectable
        detectable = detectable if detectable is None else coarse(shown(detectable, (0, 1) if scaled else None))
        board = replace(board, neighbours=neighbors, detectable=detectable, _better=ranks.better)
    intervals = RankingIntervals(
        level=first.level, resamples=first.resamples, unit=first.unit, units=first.units, groups=first.groups,
        undefined=undefined, _clustered=clustered,
    )  # fmt: skip
    return replace(board, intervals=intervals, submissions=(*entries, *board.submissions[len(entries) :]))


def _pair(bounds: Interval, coarse: Callable[[float], float]) -> Interval:
    return coarse(bounds[0]), coarse(bounds[1])


def _why(row: RankedRow) -> str:
    return "it is not known" if row.by is None else row.by.reason


def _numbers(by: RankedBy | None, resamples: int) -> Array:
    """Return the replicates of a row, with NaN where the figure is undefined."""
    values: Array = np.array(by.values if by else (None,) * resamples, float)
    return values


def of_change(
    delta: Delta, level: float, before: Sequence[float | None], after: Sequence[float | None], *, lower_is_better: bool,
    scaled: bool,
) -> tuple[dict[str, Any], str]:  # fmt: skip
    """Return the fields that intervals add to the change of a headline, or why there are none."""
    values = together(np.array([before, after], float))
    if isinstance(values, NoInterval) or delta.delta is None:
        return {}, values.reason if isinstance(values, NoInterval) else "it is undefined"
    exact = Fraction(repr(level))
    found = compared(Fraction(delta.delta), values[1], values[0])
    better = (found.difference > 0) != lower_is_better
    verdict = "cannot tell" if found.p > 1 - exact else "better" if better else "worse"
    return {"interval": found.interval(exact, scaled), "p": found.p, "verdict": verdict}, ""
