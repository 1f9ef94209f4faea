"""Checklists as text."""

from __future__ import annotations

from collections.abc import Iterator

from medcontract.problems import plural
from medcontract.rendering.text.score import problem_lines
from medcontract.rendering.view import Style, View, clean
from medcontract.results.preflight import Check, Preflight

_WORDS = {"passed": ("pass", "good"), "failed": ("FAIL", "error"), "skipped": ("skip", "warning")}


def preflight(checklist: Preflight, view: View) -> str:
    """The checks that ran, those that could not, and whether the submission is ready."""
    ran = [check for check in checklist.checks if check.status != "skipped"]
    skipped = [check for check in checklist.checks if check.status == "skipped"]
    lines = [line for check in ran for line in _check(check, view)]
    if skipped:
        lines += [""] * (bool(lines) and bool(lines[-1])) + ["Not checked:"]
        lines += [line for check in skipped for line in _check(check, view)]
    lines += [""] * bool(lines[-1]) + [last_line(checklist, view.style)]
    return "\n".join(lines) + "\n"


def _check(check: Check, view: View) -> Iterator[str]:
    word, role = ("WARN", "warning") if check.status == "passed" and check.warnings else _WORDS[check.status]
    yield f"{view.style(word, role)}  {title(check)}"
    shown = problem_lines(check.problems, check._found, view)
    if shown:
        yield from ("", *(f"      {each}" if each else "" for each in shown))


def title(check: Check) -> str:
    """What is checked, and what was found."""
    return clean(f"{check.title}: {check.detail}" if check.detail else check.title)


def last_line(checklist: Preflight, style: Style) -> str:
    failed = sum(check.status == "failed" for check in checklist.checks)
    warnings = [plural(checklist.warnings, "warning")] * bool(checklist.warnings)
    if failed:
        return f"{style('NOT READY', 'error')}: {', '.join([plural(failed, 'check') + ' failed', *warnings])}."
    notes = [*warnings, *[f"{plural(checklist.skipped, 'check')} skipped"] * bool(checklist.skipped)]
    return f"{style('READY', 'warning' if notes else 'good')}{''.join(f', {note}' for note in notes)}."
