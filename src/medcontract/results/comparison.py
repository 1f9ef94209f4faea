"""The result of `compare`."""

from __future__ import annotations

from math import isfinite
from typing import Any, Literal, NamedTuple

from medcontract.problems import plural
from medcontract.results.base import Result, ResultItem, Row, Sha256, Str, Unit
from medcontract.results.score import Environment


class RowKind(NamedTuple):
    """A list in both results that is compared row by row."""

    kind: str
    title: str
    """The name of the rows, in the plural."""
    judged: bool
    """The rows are gates: all are shown, with their state and reason."""


class Delta(ResultItem, frozen=True, kw_only=True):
    """A figure in both results."""

    name: Str
    """Its name in the result."""
    before: float | None
    """Its value in the baseline; null if undefined or absent."""
    after: float | None
    """Its value in the rerun; null if undefined or absent."""
    delta: float | None
    """The change, `after - before`; null if it cannot be computed."""
    interval: tuple[float, float] | None = None
    """The interval of the change. Like the following, only of the headline of two scores with intervals."""
    p: Unit | None = None
    """The probability of a change that is at least as large if there is none."""
    verdict: Literal["better", "worse", "cannot tell"] | None = None
    """What can be concluded."""

    _optional = frozenset({"interval", "p", "verdict"})

    @classmethod
    def of(cls, name: str, before: float | None = None, after: float | None = None) -> Delta:
        """The delta is None if a side is missing or if it does not fit into a double."""
        change = None if before is None or after is None else after - before
        delta = change if change is None or isfinite(change) else None
        return cls(name=name, before=before, after=after, delta=delta)

    @property
    def changed(self) -> bool:
        return self.before != self.after


class ComparedRow(ResultItem, frozen=True, kw_only=True):
    """A row of a list in both results, such as a run, a case, a document or a gate."""

    kind: Str
    """The list that the row is in."""
    id: str
    """The id of the row in that list."""
    figures: tuple[Delta, ...]
    """All figures of the row."""
    before: Str | None = None
    """Gates and runs: the state in the baseline."""
    after: Str | None = None
    """Gates and runs: the state in the rerun."""
    reason: Str | None = None
    """Gates: the reason for the state in the rerun."""

    _optional = frozenset({"before", "after", "reason"})

    _main: Delta | None = None
    """The figure that decides whether the row improved."""
    _trend: int = 0
    """1: improved, -1: worsened, 0: neither, or unknown."""

    @property
    def changed(self) -> bool:
        return self.before != self.after or any(figure.changed for figure in self.figures)

    def _data(self, show_values: bool) -> Row:
        data: Row = super()._data(show_values)
        states = {"before": self.before, "after": self.after, "reason": self.reason}
        data = {name: value for name, value in data.items() if name not in states}
        return data if self.before is None and self.after is None else {**data, **states}


class Comparison(Result, frozen=True, kw_only=True):
    """The output of `medcontract compare`."""

    track: Str
    """The track of both results."""
    fingerprint: Sha256
    """The fingerprint of the protocol, which is the same in both."""
    before: Str
    """The decision of the baseline, or whether it is valid."""
    after: Str
    """The decision of the rerun, or whether it is valid."""
    reasons: tuple[Str, ...]
    """Why the baseline or the rerun is not valid."""
    figures: tuple[Delta, ...]
    """Figures of the whole submission, starting with the headline."""
    rows: tuple[ComparedRow, ...]
    """Rows of the lists, by kind; the largest changes first."""
    warnings: tuple[Str, ...]
    """Warnings about the comparison."""
    medcontract_version: Str
    """The version of medcontract that wrote this."""
    environment: Environment
    """The environment that it was computed in."""

    _names: tuple[str, ...] = ()
    """The names of the two files, if they were files."""
    _contracts: tuple[tuple[str, ...], ...] = ()
    """The contracts of the files that each of the two scores was computed from."""
    _kinds: tuple[RowKind, ...] = ()
    """The kinds of rows, in the order in which they are shown."""
    _figures: tuple[Any, ...] = ()
    """The descriptions of the figures (`scoring.track.Figure`)."""
    _lower: frozenset[str] = frozenset()
    """The names of the figures that are better when lower."""
    _strict: bool = False
    """Whether warnings count as failures."""

    _columns = ("kind", "id", "figure", "before", "after", "delta")

    def _rows(self, show_values: bool) -> list[Row]:
        whole = [_frame_row("submission", None, delta) for delta in self.figures]
        return whole + [_frame_row(row.kind, row.id, delta) for row in self.rows for delta in row.figures]

    def __bool__(self) -> bool:
        """With `strict`, there are no warnings."""
        return not (self._strict and self.warnings)

    def _summary(self) -> str:
        changed = sum(delta.changed for delta in self.figures)
        return f"{self.track}: {plural(changed, 'figure')} of {len(self.figures):,} changed"


def _frame_row(kind: str, name: str | None, delta: Delta) -> Row:
    figures = {"figure": delta.name, "before": delta.before, "after": delta.after, "delta": delta.delta}
    return {"kind": kind, "id": name, **figures}
