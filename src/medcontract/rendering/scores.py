"""Scores as a person reads them: in a terminal, and as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from medcontract.problems import shorten
from medcontract.rendering.json import between, printable, versions, warnings_of, with_value
from medcontract.rendering.tables import Table, headline, number, tables
from medcontract.rendering.text import Style, clean, one_problem, plain

if TYPE_CHECKING:
    from medcontract.evaluation.score import FileProblem, Score
    from medcontract.scoring.engine import Explanation
    from medcontract.scoring.gate import Processing


_WHOLE_DOCUMENT = ("document failed", "no valid record")
"""What is so of all items of a document or of none."""


def text(score: Score, style: Style = plain, show_values: bool = False, most: int = 50) -> str:
    """What a person wants first on top: valid or not, the headline figure, then the tables."""
    lines = [*_verdict(score, style), ""]
    if score.shown is not None:
        for table in tables(score, score.shown):
            if table.rows:
                lines += [*aligned(table, style), ""]
    if score.breakdown:
        lines += [*_breakdown(score.breakdown, style, show_values), ""]
    lines += problem_lines(score.problems, score.found, style, show_values, most)
    lines += [f"{style('warning:', 'warning')} {clean(warning)}" for warning in warnings_of(score)]
    if not score.participant:
        lines += [f"{style('hint:', 'hint')} {clean(hint)}" for hint in score.hints if show_values]
        lines += [f"{style('in all:', 'dim')} {line}" for line in between(score)]
    lines += [style(line, "dim") for line in _provenance(score)]
    return "\n".join(lines) + "\n"


def _verdict(score: Score, style: Style) -> Iterator[str]:
    verdict = score.verdict
    team = f", {shorten(score.team)}" if score.team else ""
    who = f"{score.track}{team}"
    gate = verdict.processing
    if verdict.decision:
        words = {False: "not passed", None: "not judged"}
        gates = (verdict.result or {}).get("gates", ())
        lacking = {word: [g["gate"] for g in gates if g["passed"] is state] for state, word in words.items()}
        why = "; ".join(f"{word} {', '.join(names)}" for word, names in lacking.items() if names)
        yield style(f"{verdict.decision}{f': {why}' if why else ''}", "good" if verdict.good else "error")
    if verdict.valid:
        name, value = headline(score)
        figure = f"  {style(f'{shorten(name)} {value}', 'strong')}" if value != number(None) else ""
        yield f"{style('VALID', 'good')}  {who}{figure}"
    else:
        word = "NOT VALID" if verdict.result is not None else "REFUSED"
        yield f"{style(word, 'error')}  {who}"
        yield from (f"  {style('because', 'error')} {clean(reason)}" for reason in verdict.reasons)
    if gate is not None and gate.passed:  # else it is the reason
        yield f"  {style(processed(gate), 'good')}"


def _breakdown(items: Sequence[Explanation], style: Style, show_values: bool) -> Iterator[str]:
    """Why items lost points: the document, the item, and each field that is not right."""
    wrong = [item for item in items if item.state != "right"]
    yield style(f"Item by item: {len(items) - len(wrong):,} of {len(items):,} are right", "strong")
    lost = Counter((item.doc_id, item.doc_type, item.state) for item in wrong if item.state in _WHOLE_DOCUMENT)
    for (doc_id, doc_type, state), items_of_it in lost.items():
        yield f"  {clean(doc_id)} ({doc_type}), {items_of_it:,} item{'s' * (items_of_it != 1)}: {state}"
    for item in wrong:
        if item.state in _WHOLE_DOCUMENT:
            continue
        name = f" {shorten(item.name)!r}" if show_values else ""
        yield f"  {clean(item.doc_id)} ({item.doc_type}), item {item.item + 1}{name}: {_fate(item, show_values)}"
        for field, how, expected, got, want, have in item.fields:
            yield f"      {field}: {how}{_seen(expected, got, want, have) if show_values else ''}"


def _breakdown_table(items: Sequence[Explanation], show_values: bool) -> Table:
    """A row for each field that is not right, and for each item that has no prediction."""
    rows = []
    for item in items:
        place = (item.doc_id, item.doc_type, f"{item.item + 1}{f' {shorten(item.name)}' if show_values else ''}")
        for field, how, expected, got, *compared in item.fields:
            rows.append((*place, field, f"{how}{_seen(expected, got, *compared)}" if show_values else how))
        if item.paired is None:
            rows.append((*place, "", _fate(item, show_values)))
    right = sum(item.state == "right" for item in items)
    note = f"{right:,} of {len(items):,} items are right."
    return Table("Item by item", ("document", "type", "item", "field", "what"), rows, note, numeric=False)


def _seen(expected: str, got: str, want: str, have: str) -> str:
    """Both values as printed and as compared, where that differs."""
    shown = f": expected {shorten(expected)!r}, got {shorten(got)!r}"
    return shown if (want, have) == (expected, got) else f"{shown} (compared: {shorten(want)!r}, {shorten(have)!r})"


def _fate(item: Explanation, show_values: bool) -> str:
    if item.state in _WHOLE_DOCUMENT:
        return item.state
    if item.paired is not None:
        return f"{len(item.fields)} field{'s' * (len(item.fields) != 1)} not right"
    if item.nearest is None:
        return "not matched"
    name, score = item.nearest
    near = f"nearest prediction {shorten(name)!r}, {score:.0f}" if show_values else f"a near one was, {score:.0f}"
    return f"not matched; {near}"


def processed(gate: Processing) -> str:
    """How much was processed, with digits enough to see on which side of the border it is."""
    return f"processed {gate.processed:,} of {gate.expected:,}, {gate.share}; at least {gate.asked} asked for"


def aligned(table: Table, style: Style) -> Iterator[str]:
    """The table in columns: text to the left, numbers to the right."""
    if not table.rows:
        return
    rows = [tuple(map(clean, _clipped(row))) for row in table.rows]
    cells = [tuple(map(clean, _clipped(table.head))), *rows] if table.title else rows
    widths = [max(len(row[i]) for row in cells) for i in range(len(table.head))]
    if table.title:
        yield style(clean(table.title), "strong")
    for position, row in enumerate(cells):
        rest = [cell.rjust(w) if table.numeric else cell.ljust(w) for cell, w in zip(row[1:], widths[1:], strict=True)]
        padded = [row[0].ljust(widths[0]), *rest]
        line = "  " + "  ".join(padded).rstrip()
        yield style(line, "dim") if table.title and position == 0 else line
    if table.note:
        yield f"  {style(clean(table.note), 'dim')}"


_LONGEST_NAME, _LONGEST_CELL = 80, 1000


def _clipped(cells: Sequence[Any]) -> list[str]:
    """A hostile name must not pad every row of a table; only the last cell may be long."""
    texts = [str(cell) for cell in cells]
    limits = [_LONGEST_NAME] * (len(texts) - 1) + [_LONGEST_CELL]
    return [text if len(text) <= most else f"{text[: most - 1]}…" for text, most in zip(texts, limits, strict=True)]


def problem_lines(problems: Sequence[FileProblem], found: int, style: Style, show_values: bool, most: int) -> list[str]:
    """The first problems, and how many there are besides."""
    lines: list[str] = []
    shown = problems[:most]
    for each in shown:
        lines += one_problem(clean(each.file), each.problem, style, show_values)
    left = found - len(shown) - sum(each.problem.more for each in shown)
    if left > 0:
        lines += [style(f"… and {left:,} more problem{'s' * (left != 1)} (--max-problems shows more)", "dim"), ""]
    return lines


def _provenance(score: Score) -> Iterator[str]:
    protocol = score.protocol
    yield f"protocol {protocol.id} v{protocol.version}, fingerprint {protocol.fingerprint[:16]}"
    for file in score.inputs:
        records = "" if file.records is None else f", {file.records:,} record{'s' * (file.records != 1)}"
        content = f", content {file.content_sha256[:16]}" if file.content_sha256 else ""
        yield f"{file.contract} {clean(file.name)}, sha256 {file.sha256[:16]}{content}{records}"


def markdown(score: Score, show_values: bool = False) -> str:
    """The same as a Markdown page."""
    verdict = score.verdict
    team = f": {escaped(shorten(score.team))}" if score.team else ""
    name, value = headline(score)
    figure = f", {escaped(shorten(name))} **{value}**" if value != number(None) else ""
    state = f"**Valid**{figure}" if verdict.valid else "**Not valid**"
    state = f"**{verdict.decision}**. {state}" if verdict.decision else state
    lines = [f"# {score.track}{team}", "", state]
    lines += ["", *(f"- {escaped(reason)}" for reason in verdict.reasons)] if verdict.reasons else []
    if verdict.processing is not None:
        lines += ["", f"{processed(verdict.processing).capitalize()}."]
    if score.shown is not None:
        for table in tables(score, score.shown):
            lines += ["", *markdown_table(table)]
    if score.breakdown:
        lines += ["", *markdown_table(_breakdown_table(score.breakdown, show_values))]
    if score.hints and show_values and not score.participant:
        lines += ["", "## Hints", "", *(f"- {escaped(hint)}" for hint in score.hints)]
    if score.problems:
        rows = [_problem_row(found, show_values) for found in score.problems]
        left = score.found - len(rows)
        note = f"and {left:,} more" if left > 0 else ""
        table = Table("Problems", ("file", "line", "code", "problem"), rows, note, numeric=False)
        lines += ["", *markdown_table(table)]
    warnings = warnings_of(score)
    if warnings:
        lines += ["", "## Warnings", "", *(f"- {escaped(warning)}" for warning in warnings)]
    lines += ["", *_markdown_provenance(score)]
    return "\n".join(lines) + "\n"


def _markdown_provenance(score: Score) -> Iterator[str]:
    """What makes the score defensible."""
    rows = [
        (
            file.name, file.contract or "", "" if file.records is None else f"{file.records:,}", file.sha256,
            file.content_sha256 or "",
        )
        for file in score.inputs
    ]  # fmt: skip
    yield from markdown_table(
        Table("Inputs", ("file", "contract", "records", "SHA-256", "content"), rows, numeric=False)
    )
    protocol = score.protocol
    values = [(parameter.name, parameter.text) for parameter in protocol.parameters]
    yield ""
    yield from markdown_table(Table("Protocol", ("parameter", "value"), values))
    yield ""
    yield f"Protocol `{protocol.id}` version {protocol.version}, fingerprint `{protocol.fingerprint}`."
    made = versions()
    with_what = ", ".join(f"{name} {version}" for name, version in made["environment"].items())
    yield f"medcontract {made['medcontract_version']}, {with_what}."


def _problem_row(found: FileProblem, show_values: bool) -> tuple[str, ...]:
    problem = found.problem
    message = with_value(problem) if show_values else problem.message
    place = (
        str(problem.line) if problem.line is not None else "" if problem.record is None else f"record {problem.record}"
    )
    return found.file, place, problem.code, message


def markdown_table(table: Table) -> Iterator[str]:
    if not table.rows:
        return
    if table.title:
        yield f"## {escaped(table.title)}"
        yield ""
    yield _markdown_row(table.head)
    yield "|---|" + ("---:|" if table.numeric else "---|") * (len(table.head) - 1)
    yield from map(_markdown_row, table.rows)
    if table.note:
        yield ""
        yield escaped(table.note)


def _markdown_row(cells: Sequence[Any]) -> str:
    return "| " + " | ".join(map(escaped, _clipped(cells))) + " |"


def escaped(text: str) -> str:
    """Text that stays text in Markdown, and in one line."""
    flat = "".join(c if c.isprintable() else " " for c in printable(text))
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#" else c for c in flat)
