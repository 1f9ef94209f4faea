"""The result of `preflight`: a checklist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from medcontract.results.base import Item, Result, Row
from medcontract.results.score import FileProblem, Score
from medcontract.results.types import Str
from medcontract.results.validation import PROBLEM_COLUMNS

Status = Literal["passed", "failed", "skipped"]


class Check(Item, frozen=True, kw_only=True):
    """One check of a submission."""

    id: Str
    """The id of the check; it does not change between versions."""
    title: Str
    """What is checked."""
    status: Literal["passed", "failed", "skipped"]
    """The outcome; `skipped` if the given files do not allow the check."""
    detail: str = ""
    """What was found, or which files the check needs."""
    problems: tuple[FileProblem, ...] = ()
    """The first problems that the check found."""

    _found: int = 0
    """The number of problems, including those that are not listed."""

    @property
    def warnings(self) -> int:
        """The number of listed warnings."""
        return sum(problem.severity == "warning" for problem in self.problems)

    def _summary(self) -> str:
        return f"{self.id}: {self.status}"


class Preflight(Result, frozen=True, kw_only=True):
    """The output of `medcontract preflight`."""

    ready: bool
    """Whether no check failed; with --strict, a check with warnings fails."""
    checks: tuple[Check, ...]
    """All checks, in the order in which they ran."""
    score: Score | None
    """The score, if the files include a truth."""

    _contracts: tuple[str, ...] = ()
    """The contracts of the files that were checked."""

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

    def _columns(self) -> tuple[str, ...]:
        return ("check", *PROBLEM_COLUMNS)

    def _rows(self, show_values: bool) -> list[Row]:
        return [
            {"check": check.id, **problem.to_dict(show_values)} for check in self.checks for problem in check.problems
        ]

    def __bool__(self) -> bool:
        """Whether no check failed."""
        return self.ready

    def __iter__(self) -> Iterator[FileProblem]:
        return iter(self.problems)

    def __len__(self) -> int:
        return len(self.problems)

    def _summary(self) -> str:
        failed = sum(check.status == "failed" for check in self.checks)
        return f"{'ready' if self.ready else 'not ready'}: {len(self.checks)} checks, {failed} failed"
