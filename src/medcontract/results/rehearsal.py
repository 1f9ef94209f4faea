"""The result of `rehearse`."""

from __future__ import annotations

from typing import Any, Literal

from medcontract.problems import plural
from medcontract.results.base import Code, Result, ResultItem, Row, Str
from medcontract.results.score import Environment, InputFile, ProtocolUsed

Status = Literal["passed", "warning", "failed", "skipped"]


class Rehearsed(ResultItem, frozen=True, kw_only=True):
    """A submission that was made from the truth, and what became of it."""

    name: Str
    """The kind of submission, such as `perfect` or `constant`."""
    about: Str
    """How it was made."""
    ready: bool
    """Whether preflight accepts it."""
    valid: bool
    """Whether its score counts."""
    headline: float | None
    """The figure that submissions are ranked by."""
    figures: dict[str, float | None]
    """The figures of the whole submission, by name."""
    reasons: tuple[Str, ...]
    """Why it is not valid."""
    codes: tuple[Code, ...]
    """The codes of the problems that were found."""
    platform: Str | None = None
    """What the platform shows: `scored`, or the reason why it is not."""

    _optional = frozenset({"platform"})


class RehearsalCheck(ResultItem, frozen=True, kw_only=True):
    """Something that has to be true before the evaluation opens."""

    id: Str
    """The id of the check; it does not change between versions."""
    title: Str
    """What is checked."""
    status: Status
    """The outcome; a warning needs a look, but the rehearsal does not fail because of it."""
    detail: str = ""
    """What was found."""


class Rehearsal(Result, frozen=True, kw_only=True):
    """The output of `medcontract rehearse` and `medcontract challenge rehearse`."""

    ok: bool
    """Whether no check failed; with --strict, none has a warning either."""
    track: Str
    """The track."""
    protocol: ProtocolUsed
    """The protocol that everything was scored with."""
    truth: tuple[InputFile, ...]
    """The files that submissions were made from and scored against."""
    platform: Str | None
    """The platform whose bundle scored them, too; null without one."""
    headline: Str
    """The name of the figure that submissions are ranked by."""
    submissions: tuple[Rehearsed, ...]
    """The submissions; their figures are baselines for the ranking."""
    checks: tuple[RehearsalCheck, ...]
    """What was checked."""
    detectable: float | None = None
    """With --intervals: the smallest difference of the headline that this truth can show, estimated from two
    submissions that are right in about half of the cases."""
    medcontract_version: Str
    """The version of medcontract that wrote this."""
    environment: Environment
    """The environment that it was computed in."""

    _optional = frozenset({"detectable"})

    _title: str = ""
    """The title of the challenge, if it has one."""
    _figures: tuple[Any, ...] = ()
    """The descriptions of the figures (`scoring.track.Figure`)."""
    _lower_is_better: bool = False
    """Whether a lower headline is better."""

    _columns = ("name", "about", "ready", "valid", "headline")

    def _rows(self, show_values: bool) -> list[Row]:
        return [{**{name: getattr(each, name) for name in self._columns}, **each.figures} for each in self.submissions]

    def __bool__(self) -> bool:
        return self.ok

    def count(self, status: str) -> int:
        """Return the number of checks with this outcome."""
        return sum(check.status == status for check in self.checks)

    def _summary(self) -> str:
        return f"{self.track}: {plural(self.count('failed'), 'check')} of {len(self.checks)} failed"
