"""The result of `leaderboard`.

Only some tracks combine metrics, but `CombinedScore` is defined here because the published schema of
`medcontract/leaderboard`, which all tracks share, includes it. A scorer creates it (`Scorer.combined`).
"""

from __future__ import annotations

from typing import Any, Literal

from medcontract.problems import plural
from medcontract.results.base import Count, NonNegative, Position, Result, ResultItem, Row, Str, Unit, plain
from medcontract.results.score import Environment, FileProblem, InputFile, Processing, ProtocolUsed


class Neighbors(ResultItem, frozen=True, kw_only=True):
    """Two submissions with adjacent ranks."""

    above: Str
    """The name of the one with the better rank."""
    below: Str
    """The name of the other."""
    difference: float
    """How much better the headline of the first is."""
    interval: tuple[float, float]
    """The interval of the difference."""
    p: Unit
    """The probability of a difference that is at least as large if there is none."""
    p_holm: Unit
    """`p`, corrected by Holm for the number of neighbors."""


class RankingIntervals(ResultItem, frozen=True, kw_only=True):
    """What the intervals of a ranking are computed from."""

    level: Unit
    """The share of such intervals that contain the true value."""
    resamples: Position
    """The number of replicates, which all submissions share."""
    unit: tuple[Str, ...]
    """The fields that identify what is drawn."""
    units: Count
    """The number of units."""
    groups: Count
    """The number of groups that units are drawn in."""
    undefined: dict[str, Str]
    """Why something has no interval, by JSON pointer."""

    _clustered: bool = False
    """Units are clusters of cases."""


_OF_INTERVALS = ("interval", "rank_interval", "first_share", "tied_with_first")


class LeaderboardEntry(ResultItem, frozen=True, kw_only=True):
    """A submission in a ranking."""

    rank: Position | None
    """The rank, starting at 1; null if the submission is not ranked."""
    name: Str
    """The base name of its folder or file."""
    team_name: Str | None
    """The name of the team, or of the model if models are ranked, according to the files of the submission."""
    valid: bool
    """Whether its score counts."""
    headline: float | None
    """The figure that submissions are ranked by."""
    decision: Literal["GO", "NO-GO"] | None = None
    """The decision, in tracks that have one."""
    figures: dict[str, float | None]
    """The figures of the whole submission, by name."""
    processing: Processing | None
    """The processing gate; null if the submission was refused before anything was counted."""
    reasons: tuple[Str, ...]
    """Why it is not valid."""
    problem: FileProblem | None = None
    """The first error in its files, if it is not valid and there is one."""
    warnings: tuple[Str, ...]
    """Warnings about the submission."""
    inputs: tuple[InputFile, ...]
    """The files of the submission."""
    interval: tuple[float, float] | None = None
    """The interval of the headline; null if there is none. Like the following, only with --intervals, if ranked."""
    rank_interval: tuple[Position, Position] | None = None
    """The best and the worst rank that are plausible; null if unknown."""
    first_share: Unit | None = None
    """The share of replicates in which it is first; ties are divided equally."""
    tied_with_first: bool | None = None
    """Whether it cannot be told apart from the first."""

    _optional = frozenset({"decision", "problem", *_OF_INTERVALS})
    _with_intervals: bool = False
    """The fields of intervals are in the output, even if they are null."""

    _number: int = 0
    """Its place in the call."""
    _report: str = ""
    """A link to its report."""
    _flags: tuple[str, ...] = ()
    """Codes of warnings that mark it in the ranking. JSON has them in `warnings` only: its schema is published."""

    def _data(self, show_values: bool) -> Row:
        data: Row = super()._data(show_values)
        return {**data, **{name: data.get(name) for name in _OF_INTERVALS}} if self._with_intervals else data


class CombinedScore(ResultItem, frozen=True, kw_only=True):
    """How metrics were combined into one score."""

    weights: dict[str, NonNegative]
    """The weight of each metric or category."""
    renormalize_missing: bool
    """Whether the weights of metrics that a task lacks are distributed among those it has."""
    categories: dict[str, tuple[Str, ...]] | None = None
    """The metrics of custom categories; absent if there are none."""

    _optional = frozenset({"categories"})


class Leaderboard(Result, frozen=True, kw_only=True):
    """The output of `medcontract leaderboard`."""

    track: Str
    """The track of all submissions."""
    protocol: ProtocolUsed
    """The protocol that all scores were computed with."""
    truth: tuple[InputFile, ...]
    """The files that all submissions were scored against."""
    headline: Str
    """The name of the figure that submissions are ranked by."""
    combined: dict[str, CombinedScore] | None = None
    """The combined scores, by name, if there are any."""
    blind: bool | None = None
    """True with --blind: submissions are listed by name, without ranks and figures. Absent otherwise."""
    submissions: tuple[LeaderboardEntry, ...]
    """Submissions by rank; invalid ones last, by name."""
    intervals: RankingIntervals | None = None
    """What intervals are computed from. Like the following, only with --intervals, if a submission is ranked."""
    neighbours: tuple[Neighbors, ...] | None = None
    """Each ranked submission and the next one; null if unknown."""
    detectable: NonNegative | None = None
    """The smallest difference from the first that would have been significant, estimated from the first two."""
    warnings: tuple[Str, ...]
    """Warnings about the ranking."""
    medcontract_version: Str
    """The version of medcontract that wrote this."""
    environment: Environment
    """The environment that it was computed in."""

    _optional = frozenset({"blind", "combined", "detectable", "intervals", "neighbours"})

    _better: tuple[tuple[float, ...], ...] = ()
    """The share of replicates in which a ranked submission is better than another, for a few submissions."""

    _figures: tuple[Any, ...] = ()
    """The descriptions of the figures (`scoring.track.Figure`)."""
    _lower_is_better: bool = False
    """Whether a lower headline is better."""
    _entrant: str = "team"
    """What the name of a submission refers to: a team or a model."""
    _title: str = ""
    """The title of the challenge, if it has one."""
    _occasion: str = ""
    """The event and the date."""
    _shown: tuple[str, ...] = ()
    """The figures that people are shown, in this order; empty: all that the track defines."""
    _strict: bool = False
    """Whether warnings count as failures."""

    _columns = ("rank", "name", "team_name", "valid", "headline")

    def _rows(self, show_values: bool) -> list[Row]:
        names = (*self._columns, *(("decision",) if any(entry.decision for entry in self.submissions) else ()))
        flagged = any(entry._flags for entry in self.submissions)
        return [
            {
                **{name: plain(getattr(entry, name)) for name in names},
                **({"flags": " ".join(entry._flags)} if flagged else {}),
                **(_of_intervals(entry) if self.intervals else {}),
                **entry.figures,
            }
            for entry in self.submissions
        ]

    def _data(self, show_values: bool) -> Row:
        data: Row = super()._data(show_values)
        return {"neighbours": None, "detectable": None, **data} if self.intervals else data

    @property
    def warned(self) -> bool:
        """Whether there are warnings, about the ranking or a submission."""
        return bool(self.warnings) or any(entry.warnings for entry in self.submissions)

    def __bool__(self) -> bool:
        """At least one submission is valid, and with `strict` there are no warnings."""
        return any(entry.valid for entry in self.submissions) and not (self._strict and self.warned)

    def __len__(self) -> int:
        return len(self.submissions)

    def _summary(self) -> str:
        valid = sum(entry.valid for entry in self.submissions)
        return f"{self.track}: {plural(len(self.submissions), 'submission')}, {valid:,} valid"


def _of_intervals(entry: LeaderboardEntry) -> Row:
    """Return the columns of intervals."""
    low, high = entry.interval or (None, None)
    best, worst = entry.rank_interval or (None, None)
    return {"low": low, "high": high, "best_rank": best, "worst_rank": worst,
            "first_share": entry.first_share, "tied_with_first": entry.tied_with_first}  # fmt: skip
