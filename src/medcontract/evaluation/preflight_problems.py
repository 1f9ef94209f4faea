"""The problems of a check: those of files by code, and those that a check itself finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from medcontract.problems import reveals_truth
from medcontract.results.score import FileProblem, in_file
from medcontract.results.validation import Problem
from medcontract.validation.parts import Part


def error(code: str, message: str, hint: str | None = None, value: str | None = None) -> Problem:
    return Problem(code=code, severity="error", message=message, hint=hint, _value=value)


def warning(code: str, message: str, hint: str | None = None, value: str | None = None) -> Problem:
    return Problem(code=code, severity="warning", message=message, hint=hint, _value=value)


def problems_of(parts: Iterable[Part], wanted: Callable[[str], bool]) -> tuple[FileProblem, ...]:
    """The listed problems of the files with a wanted code."""
    return tuple(
        in_file(part.name, problem, part.source.name)
        for part in parts
        for problem in part.report.problems
        if wanted(problem.code)
    )


def count_of(parts: Iterable[Part], wanted: Callable[[str], bool]) -> int:
    """The number of problems with a wanted code that may be shown."""
    return sum(
        times
        for part in parts
        for code, times in part.collector.codes(wanted).items()
        if not (part.collector.for_participants and reveals_truth(code))
    )


def in_files(parts: Sequence[Part], problem: Problem) -> FileProblem:
    """A problem of several files together; its path is that of the first."""
    return in_file(", ".join(part.name for part in parts), problem, parts[0].source.name if parts else None)
