"""What `leaderboard` returns.

`CombinedScore` is here, though only some tracks weigh metrics: the published schema of `medcontract/leaderboard`, which
is one for all tracks, describes it. A scorer makes it (`Scorer.combined`).
"""

from __future__ import annotations

from typing import Any, Literal

from medcontract.problems import plural
from medcontract.results.base import Item, Result, Row, plain
from medcontract.results.score import Environment, InputFile, Processing, ProtocolUsed
from medcontract.results.types import NonNegative, Position, Str


class LeaderboardEntry(Item, frozen=True, kw_only=True):
    """One submission of a ranking."""

    rank: Position | None
    """Null for those that are not valid."""
    name: Str
    """The base name of its folder or file."""
    team_name: Str | None
    """As its files say."""
    valid: bool
    """Whether its score counts."""
    headline: float | None
    """What it is ranked by."""
    decision: Literal["GO", "NO-GO"] | None = None
    """Where the track decides."""
    figures: dict[str, float | None]
    """Those of the whole submission."""
    processing: Processing | None
    """Null when the score was refused before anything was counted."""
    reasons: tuple[Str, ...]
    """Why it is not valid."""
    warnings: tuple[Str, ...]
    """What one should know."""
    inputs: tuple[InputFile, ...]
    """Its files."""

    _optional = frozenset({"decision"})


class CombinedScore(Item, frozen=True, kw_only=True):
    """How metrics were weighed into one score."""

    weights: dict[str, NonNegative]
    """Metric or category to weight."""
    renormalize_missing: bool
    """Whether the weights of what a task lacks are shared among what it has."""
    categories: dict[str, tuple[Str, ...]] | None = None
    """The metrics of custom categories; absent if there are none."""

    _optional = frozenset({"categories"})


class Leaderboard(Result, frozen=True, kw_only=True):
    """The outcome of `medcontract leaderboard`."""

    track: Str
    """The track."""
    protocol: ProtocolUsed
    """What all scores depend on."""
    truth: tuple[InputFile, ...]
    """The files that all were scored against."""
    headline: Str
    """The name of the figure that submissions are ranked by."""
    combined: dict[str, CombinedScore] | None = None
    """How it is weighed, by its name, where that is so."""
    submissions: tuple[LeaderboardEntry, ...]
    """By rank; those that are not valid last, by name."""
    warnings: tuple[Str, ...]
    """What is true of all."""
    medcontract_version: Str
    """The medcontract that wrote it."""
    environment: Environment
    """What it ran with."""

    _optional = frozenset({"combined"})

    _figures: tuple[Any, ...] = ()
    """What the figures are (`scoring.track.Figure`)."""

    def _columns(self) -> tuple[str, ...]:
        return ("rank", "name", "team_name", "valid", "headline")

    def _rows(self, show_values: bool) -> list[Row]:
        names = (*self._columns(), *(("decision",) if any(entry.decision for entry in self.submissions) else ()))
        return [
            {**{name: plain(getattr(entry, name)) for name in names}, **entry.figures} for entry in self.submissions
        ]

    def __bool__(self) -> bool:
        """At least one submission is valid."""
        return any(entry.valid for entry in self.submissions)

    def __len__(self) -> int:
        return len(self.submissions)

    def _summary(self) -> str:
        valid = sum(entry.valid for entry in self.submissions)
        return f"{self.track}: {plural(len(self.submissions), 'submission')}, {valid:,} valid"
