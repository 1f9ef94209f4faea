"""Checklists as text."""

from __future__ import annotations

from medcontract.problems import plural
from medcontract.rendering.text.score import problem_lines
from medcontract.rendering.view import Style, View, clean
from medcontract.results.preflight import Check, Preflight

_WORDS = {"passed": ("pass", "good"), "failed": ("FAIL", "error"), "skipped": ("skip", "dim")}


def preflight(checklist: Preflight, view: View) -> str:
    style = view.style
    lines: list[str] = []
    for check in checklist.checks:
        word, role = _WORDS[check.status]
        line = title(check)
        lines.append(f"{style(word, role)}  {style(line, 'dim') if check.status == 'skipped' else line}")
        shown = problem_lines(check.problems, check._found, view)
        if shown:
            lines += ["", *(f"      {each}" if each else "" for each in shown)]
    lines += ["", last_line(checklist, style)]
    return "\n".join(lines) + "\n"


def title(check: Check) -> str:
    """What is checked, and what was found."""
    return clean(f"{check.title}: {check.detail}" if check.detail else check.title)


def last_line(checklist: Preflight, style: Style) -> str:
    failed = sum(check.status == "failed" for check in checklist.checks)
    if failed:
        return f"{style('NOT READY', 'error')}: {plural(failed, 'check')} failed."
    skipped = checklist.skipped
    if skipped:
        return f"{style('READY', 'warning')}, {plural(skipped, 'check')} skipped."
    return f"{style('READY', 'good')}."
