"""How sure a ranking and a comparison are: which submissions can be told apart. Needs NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec import Struct

from medcontract.results.comparison import Delta
from medcontract.results.leaderboard import Neighbors, RankingIntervals
from medcontract.results.score import Intervals, RankedBy
from medcontract.uncertainty.intervals import NoInterval, shown
from medcontract.uncertainty.ranking import Array, compared, ranks_of, together


class RankedRow(Struct, frozen=True, kw_only=True):
    """A ranked submission."""

    name: str
    headline: Fraction
    intervals: Intervals | None
    by: RankedBy | None
    """The figure that it is ranked by."""


class Certainty(Struct, frozen=True, kw_only=True):
    """What intervals add to a ranking: fields of the leaderboard, and of each ranked entry."""

    board: Mapping[str, Any]
    entries: Sequence[Mapping[str, Any]]


def of_ranking(
    rows: Sequence[RankedRow], lower_is_better: bool, clustered: bool, rounded: Callable[[Any], Any] | None = None
) -> Certainty | None:
    """Say how sure a ranking is. None: it has no rows with intervals. `rounded`: rounds all numbers further."""
    coarse = rounded or (lambda value: value)
    first = next((row.intervals for row in rows if row.intervals is not None), None)
    if first is None:
        return None
    level = Fraction(repr(first.level))
    undefined = {f"/submissions/{n}/interval": _why(row) for n, row in enumerate(rows) if _why(row)}
    entries: list[dict[str, Any]] = [
        {
            "interval": row.by and _pair(row.by.bounds, coarse),
            "_with_intervals": True,
            "rank_interval": None,
            "first_share": None,
            "tied_with_first": None,
        }
        for row in rows
    ]
    board: dict[str, Any] = {"neighbours": None, "detectable": None}
    values = together(np.array([_numbers(row.by, first.resamples) for row in rows]))
    if isinstance(values, NoInterval):
        undefined["/neighbours"] = values.reason
    else:
        ranks = ranks_of([row.headline for row in rows], values, level, lower_is_better)
        scaled = all(row.by is not None and row.by.scaled for row in rows)
        for entry, its, share, tied in zip(
            entries, ranks.intervals, ranks.first_shares, ranks.tied_with_first, strict=True
        ):
            entry |= {"rank_interval": its, "first_share": coarse(round(share, 6)), "tied_with_first": tied}
        board["neighbours"] = tuple(
            Neighbors(
                above=above.name, below=below.name, difference=coarse(float(pair.difference)),
                interval=_pair(pair.interval(level, scaled), coarse), p=coarse(pair.p), p_holm=coarse(p_holm),
            )
            for above, below, (pair, p_holm) in zip(rows, rows[1:], ranks.neighbours, strict=False)
        )  # fmt: skip
        if ranks.detectable is not None:
            board["detectable"] = coarse(shown(ranks.detectable, (0, 1) if scaled else None))
        board["_better"] = ranks.better
    board["intervals"] = RankingIntervals(
        level=first.level, resamples=first.resamples, unit=first.unit, units=first.units, groups=first.groups,
        undefined=undefined, _clustered=clustered,
    )  # fmt: skip
    return Certainty(board=board, entries=entries)


def _pair(bounds: Any, coarse: Callable[[Any], Any]) -> Any:
    return bounds and tuple(map(coarse, bounds))


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
