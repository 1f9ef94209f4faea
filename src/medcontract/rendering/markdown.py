"""Results as Markdown pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from medcontract.problems import shorten
from medcontract.rendering.json import dumps
from medcontract.rendering.shared import (
    clipped,
    comparison_tables,
    entry_label,
    item_outcome,
    not_ranked,
    processed,
    ranking,
    ranking_warnings,
    reasons_of,
    values_of,
    weights,
)
from medcontract.rendering.tables import headline, tables
from medcontract.rendering.view import View
from medcontract.results.base import printable
from medcontract.results.comparison import Comparison
from medcontract.results.leaderboard import Leaderboard
from medcontract.results.schemas import ContractSchema, DataDictionary, DictionarySection
from medcontract.results.score import FileProblem, ItemBreakdown, Score
from medcontract.results.tables import Table, number


def score(score: Score, view: View) -> str:
    """The outcome, the tables, the problems, and everything that is needed to verify the score."""
    show_values = view.show_values
    lines = _outcome(score)
    for table in tables(score):
        lines += ["", *markdown_table(table)] if table.rows else []
    if score.breakdown:
        lines += ["", *markdown_table(_breakdown_table(score.breakdown, show_values))]
    if score._hints and show_values and not score.participant:
        lines += ["", "## Hints", "", *(f"- {escaped(hint)}" for hint in score._hints)]
    if score.problems:
        lines += ["", *markdown_table(_problems_table(score, show_values))]
    if score.warnings:
        lines += ["", "## Warnings", "", *(f"- {escaped(warning)}" for warning in score.warnings)]
    lines += ["", *_markdown_provenance(score)]
    return "\n".join(lines) + "\n"


def _outcome(score: Score) -> list[str]:
    """The title, the decision, the headline or the reasons, and how many items were processed."""
    team = f": {escaped(shorten(score.team_name))}" if score.team_name else ""
    name, value = headline(score)
    figure = f", {escaped(shorten(name))} **{value}**" if value != number(None) else ""
    state = f"**Valid**{figure}" if score.valid else "**Not valid**"
    state = f"**{score.decision}**. {state}" if score.decision else state
    lines = [f"# {score.track}{team}", "", state]
    lines += ["", *(f"- {escaped(reason)}" for reason in score.reasons)] if score.reasons else []
    if score.processing is not None:
        lines += ["", f"{processed(score.processing).capitalize()}."]
    return lines


def _problems_table(score: Score, show_values: bool) -> Table:
    rows = [_problem_row(found, show_values) for found in score.problems]
    left = score._found - len(rows)
    note = f"and {left:,} more" if left > 0 else ""
    return Table("Problems", ("file", "line", "code", "problem"), rows, note, numeric=False)


def _markdown_provenance(score: Score) -> Iterator[str]:
    """What is needed to verify the score: inputs, protocol and versions."""
    rows = [
        (
            file.name, file.contract, "" if file.records is None else f"{file.records:,}", file.sha256,
            file.content_sha256 or "",
        )
        for file in score.inputs
    ]  # fmt: skip
    yield from markdown_table(
        Table("Inputs", ("file", "contract", "records", "SHA-256", "content"), rows, numeric=False)
    )
    protocol = score.protocol
    values = [(name, _decimal(value)) for name, value in protocol.parameters.items()]
    yield ""
    yield from markdown_table(Table("Protocol", ("parameter", "value"), values))
    yield ""
    yield f"Protocol `{protocol.id}` version {protocol.version}, fingerprint `{protocol.fingerprint}`."
    versions = ", ".join(f"{name} {version}" for name, version in score.environment.to_dict().items())
    yield f"medcontract {score.medcontract_version}, {versions}."


def _decimal(value: float | str | None) -> str:
    """A parameter as a decimal, with all digits."""
    if value is None or isinstance(value, str):
        return value or "null"
    return f"{Decimal(repr(value)).normalize():f}" if abs(value) < 10**15 else repr(float(value))


def _problem_row(found: FileProblem, show_values: bool) -> tuple[str, ...]:
    message = found.message_with_value if show_values else found.message
    place = str(found.line) if found.line is not None else "" if found.record is None else f"record {found.record}"
    return found.file, place, found.code, message


def _breakdown_table(items: Sequence[ItemBreakdown], show_values: bool) -> Table:
    """One row for each wrong field, and for each item without a prediction."""
    rows = []
    for item in items:
        name = f" {shorten(item.name or '')}"
        place = (item.doc_id, item.doc_type, f"{item.item + 1}{name if show_values else ''}")
        rows += [
            (*place, field.field, f"{field.difference}{values_of(field) if show_values else ''}")
            for field in item.fields
        ]
        if item.paired_name is None:
            rows.append((*place, "", item_outcome(item, show_values)))
    right = sum(item.state == "right" for item in items)
    note = f"{right:,} of {len(items):,} items are correct."
    return Table("Breakdown", ("document", "type", "item", "field", "difference"), rows, note, numeric=False)


def leaderboard(board: Leaderboard, view: View) -> str:
    lines = [f"# Leaderboard: {board.track}", "", *markdown_table(ranking(board)._replace(title=""))]
    if board.combined:
        lines += ["", escaped(weights(board.combined))]
    rest = not_ranked(board)
    if rest:
        rows = [(entry_label(entry), "; ".join(reasons_of(entry))) for entry in rest]
        lines += ["", *markdown_table(Table("Not ranked", ("team", "reasons"), rows, numeric=False))]
    warnings = ranking_warnings(board)
    if warnings:
        lines += ["", "## Warnings", "", *(f"- {escaped(warning)}" for warning in warnings)]
    protocol = board.protocol
    lines += ["", f"Protocol `{protocol.id}` version {protocol.version}, fingerprint `{protocol.fingerprint}`."]
    for file in board.truth:
        content = f"content `{file.content_sha256}`" if file.content_sha256 else f"SHA-256 `{file.sha256}`"
        lines.append(f"{'Truth' if file.content_sha256 else 'File'} {escaped(file.name)}, {content}.")
    return "\n".join(lines) + "\n"


def comparison(comparison: Comparison, view: View) -> str:
    names = comparison._names
    lines = [f"# Comparison: {comparison.track}", "", f"{comparison.before} before, {comparison.after} after."]
    lines += ["", f"From {' to '.join(escaped(shorten(name)) for name in names)}."] if names else []
    lines += ["", *(f"- {escaped(reason)}" for reason in comparison.reasons)] if comparison.reasons else []
    for table in comparison_tables(comparison):
        if table.rows:
            lines += ["", *(markdown_table(table) if table.title else (escaped(table.rows[0][0]),))]
    if comparison.warnings:
        lines += ["", "## Warnings", "", *(f"- {escaped(warning)}" for warning in comparison.warnings)]
    lines += ["", f"Protocol fingerprint `{comparison.fingerprint}` in both."]
    return "\n".join(lines) + "\n"


def contract_schema(schema: ContractSchema, view: View) -> str:
    """The data dictionary of a contract."""
    found = schema._dictionary
    lines = [f"# {found.id}, version {found.version}", "", escaped(found.description or found.title), ""]
    lines += [f"- {line}" for line in _dictionary_facts(found)]
    for section in found.sections:
        lines += ["", *_dictionary_section(section)]
    if found.rules:
        lines += ["", "## Rules", "", *_table_head("code", "severity", "message", "how to fix it", "rule")]
        lines += [
            _row(escaped(each) for each in (rule.code, rule.severity, rule.message, rule.hint or "", rule.details))
            for rule in found.rules
        ]
    for position, example in enumerate(found.examples, 1):
        title = "Example" if len(found.examples) == 1 else f"Example {position}"
        lines += ["", f"## {title}", "", "```json", dumps(example).rstrip("\n"), "```"]
    return "\n".join(lines) + "\n"


def _dictionary_facts(found: DataDictionary) -> Iterator[str]:
    formats = ", ".join(f"`.{name}`" for name in found.containers)
    if found.list_key:
        yield f"A collection: one record per line or row, or a JSON object with the records under `{found.list_key}`."
    else:
        yield "A document: one JSON object."
    yield f"Formats: {formats}, also gzipped where they are text."
    if found.columns:
        yield f"Columns of a table: {', '.join(map(_code, found.columns))}."
    if found.source:
        yield f"Source: {escaped(found.source)}"


def _dictionary_section(section: DictionarySection) -> Iterator[str]:
    yield f"## {escaped(section.title)}"
    yield ""
    if section.description:
        yield escaped(section.description)
        yield ""
    yield from _table_head("field", "type", "required", "values", "description")
    for field in section.fields:
        words = (field.type, "yes" if field.required else "no", field.values, field.description)
        yield _row([_code(field.name), *map(escaped, words)])
    if section.open:
        yield ""
        yield "Other fields are allowed."


def _table_head(*head: str) -> list[str]:
    return [_row(head), "|" + "---|" * len(head)]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _code(name: str) -> str:
    """A name from a contract, in backticks if possible."""
    return escaped(name) if set(name) & set("`|") or not name.isprintable() else f"`{name}`"


def markdown_table(table: Table) -> Iterator[str]:
    if not table.rows:
        return
    if table.title:
        yield f"## {escaped(table.title)}"
        yield ""
    yield _markdown_row(table.head)
    yield "|" + "".join("---:|" if right else "---|" for right in table.right_aligned)
    yield from map(_markdown_row, table.rows)
    if table.note:
        yield ""
        yield escaped(table.note)


def _markdown_row(cells: Sequence[Any]) -> str:
    return "| " + " | ".join(map(escaped, clipped(cells))) + " |"


def escaped(text: str) -> str:
    """Escape text for Markdown, on one line."""
    flat = "".join(c if c.isprintable() else " " for c in printable(text))
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#" else c for c in flat)
