"""Problems grouped by code, in file order within a group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from medcontract.catalog import CATALOGUE
from medcontract.problems import plural
from medcontract.rendering.view import clean
from medcontract.results.validation import Problem

_MOST_PROBLEMS = 100
"""The number of problems that a group lists."""


class Row(NamedTuple):
    place: str
    message: str
    hint: str | None
    excerpt: str | None
    caret: str
    more: str


class Group(NamedTuple):
    """All problems with the same code."""

    code: str
    severity: str
    title: str
    meaning: str
    size: str
    hint: str
    """The hint that all of them share."""
    hints: bool
    """Whether each has its own hint."""
    rows: Sequence[Row]
    left: str


def groups(problems: Iterable[tuple[str, Problem]], show_values: bool) -> list[Group]:
    """Errors first, then warnings; each with the name of its file."""
    found: dict[tuple[str, str], list[tuple[str, Problem]]] = {}
    for file, problem in problems:
        found.setdefault((problem.severity, problem.code), []).append((file, problem))
    return [_group(code, severity, some, show_values) for (severity, code), some in sorted(found.items())]


def _group(code: str, severity: str, some: Sequence[tuple[str, Problem]], show_values: bool) -> Group:
    count = sum(1 + problem._more for _, problem in some)
    hints = {problem.hint for _, problem in some}
    shared = next(iter(hints)) if len(hints) == 1 else None
    rows = [_row(file, problem, show_values) for file, problem in some[:_MOST_PROBLEMS]]
    left = len(some) - len(rows)
    entry = CATALOGUE.get(code)
    return Group(
        code=code, severity=severity, title=entry.title if entry else "", meaning=entry.meaning if entry else "",
        size=plural(count, "problem"), hint=shared or "", hints=len(hints) > 1, rows=rows,
        left=f"and {left:,} more (--format json lists them)" if left > 0 else "",
    )  # fmt: skip


def _row(file: str, problem: Problem, show_values: bool) -> Row:
    excerpt = problem._excerpt if show_values else None
    message = problem.message_with_value if show_values and excerpt is None else problem.message
    caret = " " * problem._caret + "^" if excerpt is not None and problem._caret >= 0 else ""
    more = f"and {problem._more:,} more like this" if problem._more else ""
    return Row(place(file, problem), message, problem.hint, clean(excerpt) if excerpt else None, caret, more)


def place(file: str, problem: Problem) -> str:
    """File, line and column, or the record where there are no lines."""
    if problem.line is not None:
        return f"{file}:{problem.line}" + (f":{problem.column}" if problem.column is not None else "")
    return file if problem.record is None else f"{file}, record {problem.record}"
