"""Scores as a person reads them: in a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from medcontract.rendering.json import printable, shown_problems
from medcontract.rendering.tables import Table, headline, tables
from medcontract.rendering.text import Style, one_problem, plain

if TYPE_CHECKING:
    from medcontract.evaluation.score import FileProblem, Score
    from medcontract.scoring.gate import Processing


def text(
    score: Score, style: Style = plain, show_values: bool = False, participant: bool = False, most: int = 50
) -> str:
    """What a person wants first on top: valid or not, the headline figure, then the tables."""
    lines = [*_verdict(score, style), ""]
    result = score.for_participants() if participant else score.verdict.result
    if result is not None:
        for table in tables(score, result):
            if table.rows:
                lines += [*aligned(table, style), ""]
    lines += problem_lines(shown_problems(score.problems, participant), style, show_values, most)
    warnings = score.verdict.warnings if participant else score.verdict.warnings + score.near_misses
    lines += [f"{style('warning:', 'warning')} {warning}" for warning in warnings]
    if not participant:
        lines += [f"{style('hint:', 'hint')} {hint}" for hint in score.hints if show_values]
        lines += [f"{style('note:', 'dim')} {code}: {times:,} in all" for code, times in score.between]
    lines += list(_provenance(score, style))
    return "\n".join(lines) + "\n"


def _verdict(score: Score, style: Style) -> Iterator[str]:
    verdict = score.verdict
    team = f", {printable(score.team)}" if score.team else ""
    who = f"{score.track}{team}"
    if verdict.valid:
        name, value = headline(score)
        yield f"{style('VALID', 'good')}  {who}  {style(f'{name} {value}', 'strong')}"
    else:
        word = "NOT VALID" if verdict.result is not None else "REFUSED"
        yield f"{style(word, 'error')}  {who}"
        yield from (f"  {style('because', 'error')} {reason}" for reason in verdict.reasons)
    gate = verdict.processing
    if gate is not None:
        role = "good" if gate.passed else "error"
        yield f"  {style(processed(gate), role)}"


def processed(gate: Processing) -> str:
    """How much was processed, with digits enough to see on which side of the border it is."""
    return f"processed {gate.processed:,} of {gate.expected:,}, {gate.share}; at least {gate.asked} asked for"


def aligned(table: Table, style: Style) -> Iterator[str]:
    """The table in columns: text to the left, numbers to the right."""
    if not table.rows:
        return
    cells = [table.head, *table.rows] if table.title else list(table.rows)
    widths = [max(len(row[i]) for row in cells) for i in range(len(table.head))]
    if table.title:
        yield style(table.title, "strong")
    for position, row in enumerate(cells):
        padded = [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        line = "  " + "  ".join(padded).rstrip()
        yield style(line, "dim") if table.title and position == 0 else line
    if table.note:
        yield f"  {style(table.note, 'dim')}"


def problem_lines(problems: Sequence[FileProblem], style: Style, show_values: bool, most: int) -> list[str]:
    lines: list[str] = []
    for found in problems[:most]:
        lines += one_problem(printable(found.file), found.problem, style, show_values)
    if len(problems) > most:
        lines += [style(f"… and {len(problems) - most:,} more problems (--max-problems shows more)", "dim"), ""]
    return lines


def _provenance(score: Score, style: Style) -> Iterator[str]:
    protocol = score.protocol
    yield style(f"protocol {protocol.id} v{protocol.version}, fingerprint {protocol.fingerprint[:16]}", "dim")
    for file in score.inputs:
        records = "" if file.records is None else f", {file.records:,} records"
        content = f", content {file.content_sha256[:16]}" if file.content_sha256 else ""
        yield style(f"{file.contract} {printable(file.name)}, sha256 {file.sha256[:16]}{content}{records}", "dim")


def markdown(score: Score, show_values: bool = False, participant: bool = False) -> str:
    """The same as a Markdown page."""
    verdict = score.verdict
    team = f": {escaped(score.team)}" if score.team else ""
    name, value = headline(score)
    state = f"**Valid**, {escaped(name)} **{value}**" if verdict.valid else "**Not valid**"
    lines = [f"# {score.track}{team}", "", state, "", *(f"- {escaped(reason)}" for reason in verdict.reasons)]
    if verdict.processing is not None:
        lines += ["", f"{processed(verdict.processing).capitalize()}."]
    result = score.for_participants() if participant else verdict.result
    if result is not None:
        for table in tables(score, result):
            lines += ["", *markdown_table(table)]
    problems = shown_problems(score.problems, participant)
    if problems:
        rows = [_problem_row(found, show_values) for found in problems]
        lines += ["", *markdown_table(Table("Problems", ("file", "line", "code", "problem"), rows, numeric=False))]
    warnings = verdict.warnings if participant else verdict.warnings + score.near_misses
    if warnings:
        lines += ["", "## Warnings", "", *(f"- {escaped(warning)}" for warning in warnings)]
    lines += ["", *markdown_table(_inputs_table(score))]
    protocol = score.protocol
    lines += ["", f"Protocol `{protocol.id}` version {protocol.version}, fingerprint `{protocol.fingerprint}`."]
    return "\n".join(lines) + "\n"


def _problem_row(found: FileProblem, show_values: bool) -> tuple[str, ...]:
    problem = found.problem
    message = problem.message + (f" (got {problem.value})" if show_values and problem.value else "")
    place = (
        str(problem.line) if problem.line is not None else "" if problem.record is None else f"record {problem.record}"
    )
    return found.file, place, problem.code, message


def _inputs_table(score: Score) -> Table:
    rows = [
        (file.name, file.contract or "", "" if file.records is None else f"{file.records:,}", file.sha256)
        for file in score.inputs
    ]
    return Table("Inputs", ("file", "contract", "records", "SHA-256"), rows, numeric=False)


def markdown_table(table: Table) -> Iterator[str]:
    if not table.rows:
        return
    if table.title:
        yield f"## {table.title}"
        yield ""
    yield _markdown_row(table.head)
    yield "|---|" + ("---:|" if table.numeric else "---|") * (len(table.head) - 1)
    yield from map(_markdown_row, table.rows)
    if table.note:
        yield ""
        yield escaped(table.note)


def _markdown_row(cells: Sequence[Any]) -> str:
    return "| " + " | ".join(escaped(str(cell)) for cell in cells) + " |"


def escaped(text: str) -> str:
    """Text that stays text in Markdown, and in one line."""
    flat = "".join(c if c.isprintable() else " " for c in printable(text))
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#" else c for c in flat)
