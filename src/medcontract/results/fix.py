"""The result of `fix`."""

from __future__ import annotations

from medcontract.problems import plural
from medcontract.results.base import Item, Result
from medcontract.results.types import Position, Str
from medcontract.results.validation import FileReport


class RepairMade(Item, frozen=True, kw_only=True):
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
        """The changes as a unified diff. It contains values of records."""
        from difflib import unified_diff
        from io import StringIO

        before, after = (list(StringIO(text, newline="")) for text in (self._before, self._after))
        lines = unified_diff(before, after, f"{self.path}", f"{self.path} (fixed)")
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)

    def __bool__(self) -> bool:
        """Whether the repaired file is valid."""
        return self.remaining.ok

    def _summary(self) -> str:
        return f"{plural(len(self.repairs), 'repair')}, {plural(self.remaining.errors, 'error')} left"
