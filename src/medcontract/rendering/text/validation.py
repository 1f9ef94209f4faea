"""Validation reports as text, like the messages of a compiler."""

from __future__ import annotations

from collections.abc import Iterator

from medcontract.problems import is_plain, plural
from medcontract.rendering.shared import only_warnings_fail
from medcontract.rendering.view import Style, View, clean
from medcontract.results.validation import FileReport, Problem, Validation

_MOST_SKIPPED = 5
"""The number of files that are listed for each reason."""


def validation(report: Validation, view: View) -> str:
    lines: list[str] = []
    for file in report.files:
        lines += _file(file, view.style, view.show_values)
    lines += [view.style(line, "dim") for line in _skipped(report)]
    lines.append(summary(report, view.style))
    return "\n".join(lines) + "\n"


def _file(file: FileReport, style: Style, show_values: bool) -> Iterator[str]:
    path = clean(file.path)
    for problem in file.problems:
        yield from one_problem(path, problem, style, show_values)
    omitted = file.omitted - sum(problem._more for problem in file.problems)
    if omitted > 0:
        others = f"… and {plural(omitted, 'more problem')} of other kinds"
        yield f"{path}: {others if file.problems else plural(omitted, 'problem')} (use --max-problems to show more)"
        yield ""
    if file.ok and not file.wrong_call:
        yield f"{path}: {style('ok', 'good')}  {style(_about(file), 'dim')}"
    elif file.contract:
        yield f"{path}: {style('not ok', 'error')}  {style(_about(file), 'dim')}"


def _about(file: FileReport) -> str:
    records = "" if file.records is None else f", {_records(file.records, file.errors)}"
    images = "" if file.images is None else f", {plural(file.images.checked, 'image')}"
    how = f" ({file._how})" if file._how else ""
    return f"{file.contract or 'JSON Schema'}{records}{images}{how}"


def _records(count: int, errors: int) -> str:
    """The number of records; none at all in a file with errors means that they were not found."""
    return "no records read" if errors and not count else plural(count, "record")


def _skipped(report: Validation) -> Iterator[str]:
    """The files that were not read, grouped by the reason."""
    by_reason: dict[str, list[str]] = {}
    for file in report.skipped or ():
        by_reason.setdefault(file.reason, []).append(clean(file.path))
    for reason, paths in by_reason.items():
        left = len(paths) - _MOST_SKIPPED
        more = f" and {plural(left, 'other')}" if left > 0 else ""
        yield f"skipped {', '.join(paths[:_MOST_SKIPPED])}{more}: {clean(reason)}"


def one_problem(path: str, problem: Problem, style: Style, show_values: bool) -> Iterator[str]:
    what = style(f"{problem.severity} {problem.code}", problem.severity)
    message = problem.message_with_value if show_values and not problem._excerpt else problem.message
    yield f"{style(path + problem._place, 'strong')}: {what} {clean(message)}{_column(problem)}"
    gutter = " " * len(str(problem.line or ""))
    if show_values and problem._excerpt is not None:
        yield f" {style(f'{problem.line} |', 'dim')} {problem._excerpt}"
        if problem._caret >= 0:
            caret = " " * _width(problem._excerpt[: problem._caret]) + style("^", problem.severity)
            yield f" {style(f'{gutter} |', 'dim')} {caret}"
    if problem.hint:
        yield f" {gutter} {style('=', 'dim')} {style('hint:', 'hint')} {clean(problem.hint)}"
    if problem._more:
        yield f" {gutter} {style(f'… and {_counted(problem)} like this', 'dim')}"
    yield ""


def _column(problem: Problem) -> str:
    """The column of a table: its letter in a CSV file, otherwise its name, unless the message has it."""
    if problem._letter:
        return f" (column {problem._letter})"
    field = problem.field
    if problem.line is not None or field is None or not is_plain(field) or f"'{field}'" in problem.message:
        return ""
    return f" (column '{field}')"


def _counted(problem: Problem) -> str:
    what = problem._more_are if problem.record is not None else "problem"
    return plural(problem._more, f"more {what}")


def _width(text: str) -> int:
    """The width on a terminal: wide characters take two columns, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def summary(report: Validation, style: Style) -> str:
    errors = sum(file.errors for file in report.files)
    warnings = sum(file.warnings for file in report.files)
    invalid = sum(not file.ok for file in report.files)
    known = [file.records for file in report.files if file.records is not None]
    records = f", {_records(sum(known), errors)}" if known else ""  # documents have none
    files = f"{plural(len(report.files), 'file')}{records}"
    if not errors and not warnings:
        return f"{style('No problems found', 'good')} in {files}."
    counts = [plural(n, word) for n, word in ((errors, "error"), (warnings, "warning")) if n]
    role = "error" if errors or invalid else "warning"
    where = f" in {invalid} of {files}." if errors else f" in {files}."
    where += " Warnings fail, because of --strict." if only_warnings_fail(report) else ""
    return style(" and ".join(counts), role) + where
