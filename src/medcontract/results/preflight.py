"""What `preflight` returns: a checklist."""

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
    """Stable."""
    title: Str
    """What is checked."""
    status: Literal["passed", "failed", "skipped"]
    """Skipped: not possible with the files at hand."""
    detail: str = ""
    """What was found, or what is missing."""
    problems: tuple[FileProblem, ...] = ()
    """The first of them."""

    _found: int = 0
    """Problems in all, those that are not listed too."""

    def _summary(self) -> str:
        return f"{self.id}: {self.status}"


class Preflight(Result, frozen=True, kw_only=True):
    """The outcome of `medcontract preflight`."""

    ready: bool
    """No check failed."""
    checks: tuple[Check, ...]
    """In the order in which they were made."""
    score: Score | None
    """Where a truth was at hand."""

    @classmethod
    def of(cls, checks: tuple[Check, ...], score: Score | None = None) -> Preflight:
        return cls(ready=all(check.status != "failed" for check in checks), checks=checks, score=score)

    @property
    def skipped(self) -> int:
        """Checks that were not possible."""
        return sum(check.status == "skipped" for check in self.checks)

    @property
    def problems(self) -> tuple[FileProblem, ...]:
        """Those of all checks."""
        return tuple(problem for check in self.checks for problem in check.problems)

    def _columns(self) -> tuple[str, ...]:
        return ("check", *PROBLEM_COLUMNS)

    def _rows(self, show_values: bool) -> list[Row]:
        return [
            {"check": check.id, **problem.to_dict(show_values)} for check in self.checks for problem in check.problems
        ]

    def __bool__(self) -> bool:
        """No check failed."""
        return self.ready

    def __iter__(self) -> Iterator[FileProblem]:
        return iter(self.problems)

    def __len__(self) -> int:
        return len(self.problems)

    def _summary(self) -> str:
        failed = sum(check.status == "failed" for check in self.checks)
        return f"{'ready' if self.ready else 'not ready'}: {len(self.checks)} checks, {failed} failed"
