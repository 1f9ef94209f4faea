"""Reports as a person reads them, like a good compiler's."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from medcontract.catalogue import Entry
from medcontract.problems import FileReport, Problem, Report
from medcontract.rendering.json import printable, with_value

if TYPE_CHECKING:
    from medcontract.definitions.diff import FileChange
    from medcontract.normalizers.text import Step
    from medcontract.scoring.engine import Figure
    from medcontract.scoring.protocol import Protocol

Style = Callable[[str, str], str]
"""(text, role) to text with colour; roles are error, warning, hint, dim, strong, good."""


def plain(text: str, role: str) -> str:
    return text


def clean(text: str) -> str:
    """Text from a file, fit for a terminal: on one line, without control characters."""
    return "".join(c if c.isprintable() else "·" for c in printable(text))


def validation(report: Report, style: Style = plain, show_values: bool = False) -> str:
    lines: list[str] = []
    for file in report.files:
        lines += _file(file, style, show_values)
    lines.append(_summary(report, style))
    return "\n".join(lines) + "\n"


def _file(file: FileReport, style: Style, show_values: bool) -> Iterator[str]:
    path = clean(file.path)
    for problem in file.problems:
        yield from one_problem(path, problem, style, show_values)
    left_out = file.omitted - sum(problem.more for problem in file.problems)
    if left_out > 0:
        plural = "s" * (left_out != 1)
        listed = f"… and {left_out:,} more problem{plural} of other sorts"
        yield f"{path}: {listed if file.problems else f'{left_out:,} problem{plural}'} (--max-problems shows more)"
        yield ""
    if file.ok and not file.wrong_call:
        yield f"{path}: {style('ok', 'good')}  {style(_about(file), 'dim')}"


def _about(file: FileReport) -> str:
    records = "" if file.records is None else f", {file.records:,} record{'s' * (file.records != 1)}"
    images = "" if file.images is None else f", {file.images.checked:,} image{'s' * (file.images.checked != 1)}"
    return f"{file.contract or 'by the schema'}{records}{images}"


def one_problem(path: str, problem: Problem, style: Style, show_values: bool) -> Iterator[str]:
    place = "".join(f":{n}" for n in (problem.line, problem.column) if n is not None)
    what = style(f"{problem.severity} {problem.code}", problem.severity)
    message = with_value(problem) if show_values and not problem.excerpt else problem.message
    yield f"{style(path + place, 'strong')}: {what} {message}"
    gutter = " " * len(str(problem.line or ""))
    if show_values and problem.excerpt is not None:
        yield f" {style(f'{problem.line} |', 'dim')} {problem.excerpt}"
        if problem.caret >= 0:
            caret = " " * _width(problem.excerpt[: problem.caret]) + style("^", problem.severity)
            yield f" {style(f'{gutter} |', 'dim')} {caret}"
    if problem.hint:
        yield f" {gutter} {style('=', 'dim')} {style('hint:', 'hint')} {problem.hint}"
    if problem.more:
        yield f" {gutter} {style(f'… and {_counted(problem)} like this', 'dim')}"
    yield ""


def _counted(problem: Problem) -> str:
    what = problem.more_are if problem.record is not None else "problem"
    return f"{problem.more:,} more {what}{'s' * (problem.more != 1)}"


def _width(text: str) -> int:
    """Columns on a terminal: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _summary(report: Report, style: Style) -> str:
    errors = sum(file.errors for file in report.files)
    warnings = sum(file.warnings for file in report.files)
    bad = sum(not file.ok for file in report.files)
    records = sum(file.records or 0 for file in report.files)
    files = f"{len(report.files)} file{'s' * (len(report.files) != 1)}, {records:,} record{'s' * (records != 1)}"
    if not errors and not warnings:
        return f"{style('All well.', 'good')} {files}."
    counts = [f"{n:,} {word}{'s' * (n != 1)}" for n, word in ((errors, "error"), (warnings, "warning")) if n]
    role = "error" if errors else "warning"
    where = f" in {bad} of {files}." if errors else f" in {files}."
    return style(" and ".join(counts), role) + where


def explanation(entries: Iterable[Entry], style: Style = plain) -> str:
    return "\n".join(_explained(entry, style) for entry in entries)


def _explained(entry: Entry, style: Style) -> str:
    parts = [
        style(f"{entry.code}  {entry.title}", "strong"),
        "",
        textwrap.fill(entry.meaning, 88),
        "",
        style("Wrong:", "error"),
        textwrap.indent(entry.mistake, "    "),
        style("Right:", "good"),
        textwrap.indent(entry.mending, "    "),
        "",
    ]
    return "\n".join(parts)


def codes(entries: Iterable[Entry], style: Style = plain) -> str:
    return "".join(f"{style(entry.code, 'strong')}  {entry.title}\n" for entry in entries)


def table(rows: Sequence[tuple[str, ...]], style: Style = plain) -> str:
    """Aligned columns; the first row is the heading."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([style(lines[0], "strong"), *lines[1:]]) + "\n"


def normalization(worked: Iterable[tuple[str, Sequence[Step]]], style: Style = plain) -> str:
    """Each text, the steps that changed it, and what came of it."""
    lines: list[str] = []
    for text, steps in worked:
        lines.append(style(clean(text), "strong"))
        before = text
        for step in steps:
            if step.text != before:
                lines.append(f"  {clean(step.text)}  {style(f'{step.name}: {step.about}', 'dim')}")
            before = step.text
        lines += [f"  = {style(clean(before), 'good')}", ""]
    return "\n".join(lines)


def protocol(protocol: Protocol, figures: Iterable[Figure], style: Style = plain) -> str:
    """Parameters by source, formulas in words, history."""
    lines = [style(f"{protocol.id} v{protocol.version}", "strong"), f"fingerprint {protocol.fingerprint}", ""]
    width = max(len(parameter.name) for parameter in protocol.parameters)
    source = ""
    for parameter in protocol.parameters:
        if parameter.source != source:
            source = parameter.source
            lines.append(style(f"from {source}", "dim"))
        lines.append(f"  {parameter.name.ljust(width)}  {parameter.text.rjust(6)}  {parameter.about}")
    lines += ["", style("Figures", "strong")]
    for figure in figures:
        lines.append(f"  {figure.name}")
        lines += textwrap.wrap(figure.about, 100, initial_indent="      ", subsequent_indent="      ")
    lines += ["", style("Changes", "strong")]
    lines += [f"  v{change.version}  {change.reason}" for change in protocol.changes]
    return "\n".join(lines) + "\n"


_ROLES = {"none": "dim", "readers": "warning", "writers": "error", "both": "error"}


def schema_diff(changes: Sequence[FileChange], style: Style = plain) -> str:
    """The changes of each file as a small table, and what they come to."""
    lines: list[str] = []
    for path in dict.fromkeys(change.path for change in changes):
        lines.append(style(printable(path), "strong"))
        lines += _changes([change for change in changes if change.path == path], style)
        lines.append("")
    lines.append(_verdict(changes, style))
    return "\n".join(lines) + "\n"


def _changes(changes: Sequence[FileChange], style: Style) -> Iterator[str]:
    width = max(len(change.pointer) for change in changes)
    for change in changes:
        who = style(change.breaks.ljust(7), _ROLES[change.breaks])
        yield f"  {who}  {change.pointer.ljust(width)}  {change.message}"


def _verdict(changes: Sequence[FileChange], style: Style) -> str:
    total = f"{len(changes)} change{'s' * (len(changes) != 1)}" if changes else "No change"
    writers = sum(change.breaks in ("writers", "both") for change in changes)
    readers = sum(change.breaks in ("readers", "both") for change in changes)
    counts = [f"{n} break{'s' * (n == 1)} {who}" for n, who in ((writers, "writers"), (readers, "readers")) if n]
    return f"{total}: {style(', '.join(counts), 'error')}." if counts else f"{total}. {style('Breaks no one.', 'good')}"
