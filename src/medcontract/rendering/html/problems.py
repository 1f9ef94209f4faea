"""Problems grouped by code and place: the same problem in many places is shown once, with the places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from medcontract.catalog import problem_codes
from medcontract.problems import plural
from medcontract.rendering.view import clean
from medcontract.results.validation import Problem

_MOST_ROWS = 100
"""The number of different problems that a group lists."""
_MOST_PLACES = 12
"""The number of other places of a problem that are listed."""


class Row(NamedTuple):
    """A problem, and the other places in the same file where it occurs."""

    file: str
    place: str
    message: str
    hint: str
    excerpt: str | None
    caret: str
    also: str


class Group(NamedTuple):
    """All problems with the same code."""

    code: str
    severity: str
    title: str
    meaning: str
    size: str
    hint: str
    """The hint that all of them share."""
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
    same: dict[tuple[str, str, str | None], list[Problem]] = {}
    for file, problem in some:
        message = problem.message_with_value if show_values else problem.message
        same.setdefault((file, message, problem.hint), []).append(problem)
    rows = [_row(file, alike, show_values, not shared) for (file, _, _), alike in list(same.items())[:_MOST_ROWS]]
    left = len(same) - len(rows)
    entry = problem_codes().get(code)
    return Group(
        code=code, severity=severity, title=entry.title if entry else "", meaning=entry.meaning if entry else "",
        size=plural(count, "problem"), hint=shared or "", rows=rows,
        left=f"and {left:,} more different ones (--format json lists all)" if left > 0 else "",
    )  # fmt: skip


def _row(file: str, alike: Sequence[Problem], show_values: bool, own_hint: bool) -> Row:
    first = alike[0]
    excerpt = first._excerpt if show_values else None
    message = first.message_with_value if show_values and excerpt is None else first.message
    indent = len(excerpt) - len(excerpt.lstrip()) if excerpt else 0
    caret = " " * (first._caret - indent) + "^" if excerpt is not None and first._caret >= indent else ""
    shown = clean(excerpt.lstrip()) if excerpt else None
    return Row(file, first._place, message, (first.hint or "") if own_hint else "", shown, caret, _also(alike))


def _also(alike: Sequence[Problem]) -> str:
    """The other places of the same problem, and how many there are."""
    others = alike[1:]
    unlisted = sum(problem._more for problem in alike)
    total = len(others) + unlisted
    if not total:
        return ""
    places = [place for place in map(_short_place, others[:_MOST_PLACES]) if place]
    if not places:
        return f"and {total:,} more like this"
    kind = "line" if others[0].line is not None else "record"
    left = total - len(places)
    more = f" and {left:,} more" if left else ""
    return f"also in {kind if total == 1 else f'{kind}s'} {', '.join(places)}{more}"


def _short_place(problem: Problem) -> str:
    """The line, or the record where there are no lines."""
    number = problem.line if problem.line is not None else problem.record
    return "" if number is None else f"{number:,}"
