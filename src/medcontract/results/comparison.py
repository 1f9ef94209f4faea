"""What `compare` returns."""

from __future__ import annotations

from math import isfinite
from typing import Any, NamedTuple

from medcontract.problems import plural
from medcontract.results.base import Item, Result, Row
from medcontract.results.score import Environment
from medcontract.results.types import Sha256, Str


class RowKind(NamedTuple):
    """A list of the results that was compared row by row."""

    kind: str
    title: str
    """What the rows are called, in the plural."""
    judged: bool
    """The rows are gates: shown all, with state and reason."""


class Delta(Item, frozen=True, kw_only=True):
    """One figure before and after."""

    name: Str
    """As in the result."""
    before: float | None
    """Null: undefined, or not there."""
    after: float | None
    """Null: undefined, or not there."""
    delta: float | None
    """After less before."""

    @classmethod
    def of(cls, name: str, before: float | None = None, after: float | None = None) -> Delta:
        """No delta where one side is missing, or where no double holds it."""
        change = None if before is None or after is None else after - before
        held = change if change is None or isfinite(change) else None
        return cls(name=name, before=before, after=after, delta=held)

    @property
    def changed(self) -> bool:
        return self.before != self.after


class ComparedRow(Item, frozen=True, kw_only=True):
    """One row of a list of the result before and after, such as a run, a case, a document or a gate."""

    kind: Str
    """The list of the result that it stands in."""
    id: str
    """What it is named by."""
    figures: tuple[Delta, ...]
    """All of its figures."""
    before: Str | None = None
    """Of a gate or a run: whether it passed."""
    after: Str | None = None
    """Of a gate or a run: whether it passes now."""
    reason: Str | None = None
    """Of a gate: why, in the rerun."""

    _optional = frozenset({"before", "after", "reason"})

    _main: Delta | None = None
    """The figure that says whether it got better."""
    _trend: int = 0
    """1: it got better, -1: it got worse, 0: neither, or nobody can tell."""

    @property
    def changed(self) -> bool:
        return self.before != self.after or any(figure.changed for figure in self.figures)

    def _data(self, show_values: bool) -> dict[str, Any]:
        data: dict[str, Any] = super()._data(show_values)
        states = {"before": self.before, "after": self.after, "reason": self.reason}
        data = {name: value for name, value in data.items() if name not in states}
        return data if self.before is None and self.after is None else {**data, **states}


class Comparison(Result, frozen=True, kw_only=True):
    """The outcome of `medcontract compare`."""

    track: Str
    """The track."""
    fingerprint: Sha256
    """Of the protocol of both."""
    before: Str
    """The decision of the baseline, or whether it was valid."""
    after: Str
    """The decision of the rerun, or whether it was valid."""
    reasons: tuple[Str, ...]
    """Why a side is not valid."""
    figures: tuple[Delta, ...]
    """Of the whole submission, the one that it is ranked by first."""
    rows: tuple[ComparedRow, ...]
    """By kind, those that changed most first."""
    warnings: tuple[Str, ...]
    """What one should know."""
    medcontract_version: Str
    """The medcontract that wrote it."""
    environment: Environment
    """What it ran with."""

    _names: tuple[str, ...] = ()
    """Of the two files, where there were files."""
    _kinds: tuple[RowKind, ...] = ()
    """Of the rows, in the order in which they are shown."""

    def _columns(self) -> tuple[str, ...]:
        return ("kind", "id", "figure", "before", "after", "delta")

    def _rows(self, show_values: bool) -> list[Row]:
        whole = [_frame_row("submission", None, delta) for delta in self.figures]
        return whole + [_frame_row(row.kind, row.id, delta) for row in self.rows for delta in row.figures]

    def _summary(self) -> str:
        changed = sum(delta.changed for delta in self.figures)
        return f"{self.track}: {plural(changed, 'figure')} of {len(self.figures):,} changed"


def _frame_row(kind: str, name: str | None, delta: Delta) -> Row:
    figures = {"figure": delta.name, "before": delta.before, "after": delta.after, "delta": delta.delta}
    return {"kind": kind, "id": name, **figures}
