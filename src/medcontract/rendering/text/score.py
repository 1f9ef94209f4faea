"""Scores as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from medcontract.problems import plural, shorten
from medcontract.rendering.shared import WHOLE_DOCUMENT, clipped, decision_reasons, item_outcome, processed, values_of
from medcontract.rendering.tables import headline, tables
from medcontract.rendering.text.validation import one_problem
from medcontract.rendering.view import Style, View, clean
from medcontract.results.score import FileProblem, ItemBreakdown, Score
from medcontract.results.tables import MOST_CASES, Table, number


def score(score: Score, view: View) -> str:
    """The outcome and the headline, the tables, then the problems."""
    style, show_values = view.style, view.show_values
    lines = [*outcome(score, style), ""]
    for table in tables(score):
        if table.rows:
            lines += [*aligned(table, style), ""]
    if score.breakdown:
        lines += [*_breakdown(score.breakdown, style, show_values), ""]
    lines += problem_lines(score.problems, score._found, view)
    lines += [f"{style('warning:', 'warning')} {clean(warning)}" for warning in score.warnings]
    if not score.participant:
        lines += [f"{style('hint:', 'hint')} {clean(hint)}" for hint in score._hints if show_values]
        lines += [f"{style('total:', 'dim')} {line}" for line in score._broken_rules]
    lines += [style(line, "dim") for line in _provenance(score)]
    return "\n".join(lines) + "\n"


def outcome(score: Score, style: Style) -> Iterator[str]:
    team = f", {shorten(score.team_name)}" if score.team_name else ""
    subject = f"{score.track}{team}"
    gate = score.processing
    if score.decision:
        yield style(_decision(score), "good" if score else "error")
    if score.valid:
        name, value = headline(score)
        figure = f"  {style(f'{shorten(name)} {value}', 'strong')}" if value != number(None) else ""
        yield f"{style('VALID', 'good')}  {subject}{figure}"
    else:
        word = "NOT VALID" if score.result is not None else "REFUSED"
        yield f"{style(word, 'error')}  {subject}"
        yield from (f"  {style('reason:', 'error')} {clean(reason)}" for reason in score.reasons)
    if gate is not None and gate.passed:  # otherwise it is a reason
        yield f"  {style(processed(gate), 'good')}"


def _decision(score: Score) -> str:
    """GO or NO-GO, and the gates that did not pass."""
    why = "; ".join(decision_reasons(score))
    return f"{score.decision}{f': {why}' if why else ''}"


def _breakdown(items: Sequence[ItemBreakdown], style: Style, show_values: bool) -> Iterator[str]:
    """Why items lost points: the document, the item, and each wrong field."""
    wrong = [item for item in items if item.state != "right"]
    yield style(f"Breakdown: {len(items) - len(wrong):,} of {len(items):,} items are correct", "strong")
    lost = Counter((item.doc_id, item.doc_type, item.state) for item in wrong if item.state in WHOLE_DOCUMENT)
    for (doc_id, doc_type, state), count in lost.items():
        yield f"  {clean(doc_id)} ({doc_type}), {plural(count, 'item')}: {state}"
    for item in wrong:
        if item.state in WHOLE_DOCUMENT:
            continue
        name = f" {shorten(item.name or '')!r}" if show_values else ""
        yield f"  {clean(item.doc_id)} ({item.doc_type}), item {item.item + 1}{name}: {item_outcome(item, show_values)}"
        for field in item.fields:
            yield f"      {field.field}: {field.difference}{values_of(field) if show_values else ''}"


def aligned(table: Table, style: Style) -> Iterator[str]:
    """The table in columns, with text aligned left and numbers aligned right."""
    table = table.first(MOST_CASES)
    if not table.rows:
        return
    rows = [tuple(map(clean, clipped(row))) for row in table.rows]
    cells = [tuple(map(clean, clipped(table.head))), *rows] if table.title else rows
    widths = [max(len(row[i]) for row in cells) for i in range(len(table.head))]
    if table.title:
        yield style(clean(table.title), "strong")
    for position, row in enumerate(cells):
        columns = zip(row, widths, table.right_aligned, strict=True)
        padded = [cell.rjust(width) if right else cell.ljust(width) for cell, width, right in columns]
        line = "  " + "  ".join(padded).rstrip()
        yield style(line, "dim") if table.title and position == 0 else line
    if table.note:
        yield f"  {style(clean(table.note), 'dim')}"


def problem_lines(problems: Sequence[FileProblem], found: int, view: View) -> list[str]:
    """The first problems, and the number of the others."""
    lines: list[str] = []
    shown = problems[: view.max_problems]
    for each in shown:
        lines += one_problem(clean(each.file), each, view.style, view.show_values)
    left = found - len(shown) - sum(each._more for each in shown)
    if left > 0:
        lines += [view.style(f"… and {plural(left, 'more problem')} (use --max-problems to show more)", "dim"), ""]
    return lines


def _provenance(score: Score) -> Iterator[str]:
    protocol = score.protocol
    yield f"protocol {protocol.id} v{protocol.version}, fingerprint {protocol.fingerprint[:16]}"
    for file in score.inputs:
        records = "" if file.records is None else f", {plural(file.records, 'record')}"
        content = f", content {file.content_sha256[:16]}" if file.content_sha256 else ""
        how = f" ({file._how})" if file._how else ""
        yield f"{clean(file.name)}: {file.contract}{how}, sha256 {file.sha256[:16]}{content}{records}"
