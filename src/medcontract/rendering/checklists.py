"""Checklists: as a person reads them, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from medcontract.rendering.json import dumps, envelope, file_problem, printable
from medcontract.rendering.scores import problem_lines
from medcontract.rendering.text import Style, clean, plain

if TYPE_CHECKING:
    from medcontract.evaluation.preflight import Preflight

_WORDS = {"passed": ("pass", "good"), "failed": ("FAIL", "error"), "skipped": ("skip", "dim")}


def text(checklist: Preflight, style: Style = plain, show_values: bool = False, most: int = 50) -> str:
    lines: list[str] = []
    for check in checklist.checks:
        word, role = _WORDS[check.status]
        line = clean(f"{check.title}: {check.detail}" if check.detail else check.title)
        lines.append(f"{style(word, role)}  {style(line, 'dim') if check.status == 'skipped' else line}")
        shown = problem_lines(check.problems, check.found, style, show_values, most)
        if shown:
            lines += ["", *(f"      {each}" if each else "" for each in shown)]
    lines += ["", _last_line(checklist, style)]
    return "\n".join(lines) + "\n"


def _last_line(checklist: Preflight, style: Style) -> str:
    failed = sum(check.status == "failed" for check in checklist.checks)
    if failed:
        return f"{style('NOT READY', 'error')}: {failed} check{'s' * (failed != 1)} failed."
    skipped = checklist.skipped
    if skipped:
        return f"{style('READY', 'warning')} with {skipped} check{'s' * (skipped != 1)} not possible."
    return f"{style('READY', 'good')}."


def json(checklist: Preflight, show_values: bool = False) -> str:
    """`medcontract/preflight`."""
    data: dict[str, Any] = {
        "ready": checklist.ready,
        "checks": [
            {
                "id": check.id,
                "title": printable(check.title),
                "status": check.status,
                "detail": printable(check.detail),
                "problems": [file_problem(problem, show_values) for problem in check.problems],
            }
            for check in checklist.checks
        ],
        "score": envelope(checklist.score, show_values) if checklist.score else None,
    }
    return dumps(data)
