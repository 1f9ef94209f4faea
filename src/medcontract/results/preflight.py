"""The results of `preflight`, a checklist, and of `fix`."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from medcontract.problems import plural
from medcontract.results.base import Position, Result, ResultItem, ResultList, Row, Str
from medcontract.results.score import FileProblem, Score, failing_warnings
from medcontract.results.validation import PROBLEM_COLUMNS, FileReport

Status = Literal["passed", "failed", "skipped"]


class Check(ResultItem, frozen=True, kw_only=True):
    """One check of a submission."""

    id: Str
    """The id of the check; it does not change between versions."""
    title: Str
    """What is checked."""
    status: Status
    """The outcome; `skipped` if the given files do not allow the check."""
    detail: str = ""
    """What was found, or which files the check needs."""
    problems: tuple[FileProblem, ...] = ()
    """The first problems that the check found."""

    _found: int = 0
    """The number of problems, listed or not."""
    _noted: bool = False
    """The detail needs attention, although it is not a problem of a file."""

    @property
    def warnings(self) -> int:
        """The number of listed warnings."""
        return sum(problem.severity == "warning" for problem in self.problems)

    @property
    def _needs_truth(self) -> bool:
        """Whether it is skipped because no truth is given."""
        return self.status == "skipped" and self.detail.startswith("needs a truth (")

    def _failing_on_warnings(self, refused: Score | None) -> Check:
        """Return the check for `strict`; `refused`: the score, if its warnings made it not valid."""
        if self.status != "passed":
            return self
        warnings = max(self._found, len(self.problems))  # errors would have failed it
        reason = failing_warnings(warnings) if warnings else ""
        if self.id == "score" and refused is not None:
            reason = refused.reasons[-1]
        return replace(self, status="failed", detail="; ".join(filter(None, (self.detail, reason)))) if reason else self

    def _summary(self) -> str:
        return f"{self.id}: {self.status}"


class Preflight(ResultList[FileProblem], frozen=True, kw_only=True):
    """The output of `medcontract preflight`."""

    ready: bool
    """Whether no check failed; with --strict, a check with warnings fails."""
    checks: tuple[Check, ...]
    """All checks, in the order in which they ran."""
    score: Score | None
    """The score, if the files include a truth."""

    _contracts: tuple[str, ...] = ()
    """The contracts of the files that were checked."""
    _shared: tuple[str, ...] = ()
    """Names that several of the files have."""
    _title: str = ""
    """The title of the challenge, or the track."""

    _listed = "problems"
    _columns = ("check", "status", "detail", *PROBLEM_COLUMNS)

    @classmethod
    def of(cls, checks: tuple[Check, ...], score: Score | None = None) -> Preflight:
        return cls(ready=all(check.status != "failed" for check in checks), checks=checks, score=score)

    @property
    def skipped(self) -> int:
        """The number of skipped checks."""
        return sum(check.status == "skipped" for check in self.checks)

    @property
    def warnings(self) -> int:
        """The number of listed warnings of checks that passed: each needs a look before the submission is sent."""
        return sum(check.warnings for check in self.checks if check.status == "passed")

    @property
    def problems(self) -> tuple[FileProblem, ...]:
        """The problems of all checks."""
        return tuple(problem for check in self.checks for problem in check.problems)

    def _rows(self, show_values: bool) -> list[Row]:
        rows: list[Row] = []
        for check in self.checks:
            row: Row = {"check": check.id, "status": check.status, "detail": check.detail}
            rows += [{**row, **problem.to_dict(show_values)} for problem in check.problems] or [row]
        return rows

    def _failing_on_warnings(self) -> Preflight:
        """Return the checklist for `strict`: checks that found warnings fail, also the check of the score."""
        score = None if self.score is None else self.score._failing_on_warnings()
        refused = None if score is self.score else score
        checks = tuple(check._failing_on_warnings(refused) for check in self.checks)
        ready = all(check.status != "failed" for check in checks)
        return replace(self, ready=ready, checks=checks, score=score)

    def __bool__(self) -> bool:
        """Return whether no check failed."""
        return self.ready

    def _summary(self) -> str:
        failed = sum(check.status == "failed" for check in self.checks)
        return f"{'ready' if self.ready else 'not ready'}: {len(self.checks)} checks, {failed} failed"


class RepairMade(ResultItem, frozen=True, kw_only=True):
    """A repair, without any value of a record."""

    what: Str
    """What was repaired."""
    line: Position | None
    """The 1-based line in the file as it was when this repair was made; null if it concerns the whole file."""


class Fix(Result, frozen=True, kw_only=True):
    """The output of `medcontract fix`."""

    path: str
    """The path as given."""
    changed: bool
    """Whether anything was repaired."""
    written: bool
    """Whether the file was replaced."""
    repairs: tuple[RepairMade, ...]
    """What was repaired."""
    remaining: FileReport
    """What is wrong with the repaired file."""

    _before: str = ""
    _after: str = ""

    def diff(self) -> str:
        """Return the changes as a unified diff. It contains values of records."""
        from difflib import unified_diff
        from io import StringIO

        before, after = (list(StringIO(text, newline="")) for text in (self._before, self._after))
        lines = unified_diff(before, after, f"{self.path}", f"{self.path} (fixed)")
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)

    def __bool__(self) -> bool:
        """Return whether the repaired file is valid."""
        return self.remaining.ok

    def _summary(self) -> str:
        return f"{plural(len(self.repairs), 'repair')}, {plural(self.remaining.errors, 'error')} left"
