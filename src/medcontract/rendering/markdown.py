"""Results as Markdown pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from medcontract.problems import plain_name, plural, shorten
from medcontract.rendering import contracts_used
from medcontract.rendering.json import dumps
from medcontract.rendering.shared import (
    breakdown_table,
    clipped,
    comparison_tables,
    decision_reasons,
    entry_label,
    files_table,
    first_problem,
    inputs_table,
    not_ranked,
    only_warnings_fail,
    parameters_table,
    processed,
    ranked,
    ranking,
    ranking_warnings,
    reasons_of,
    skipped_table,
    versions,
    weights,
    with_direction,
)
from medcontract.rendering.tables import headline, tables
from medcontract.rendering.view import View
from medcontract.results.base import printable
from medcontract.results.comparison import Comparison
from medcontract.results.leaderboard import Leaderboard
from medcontract.results.preflight import Check, Preflight
from medcontract.results.schemas import ContractSchema, DataDictionary, DictionarySection
from medcontract.results.score import FileProblem, Score, in_file
from medcontract.results.tables import MOST_CASES, MOST_ROWS, Table, number
from medcontract.results.validation import Validation

_MOST_PROBLEMS = 200
"""The number of problems in a table."""


def validation(report: Validation, view: View) -> str:
    """The verdict, a table of the files, then their problems."""
    errors = sum(file.errors for file in report.files)
    warnings = sum(file.warnings for file in report.files)
    state = "**Valid**" if report.ok else "**Not valid**"
    counts = f"{plural(errors, 'error')}, {plural(warnings, 'warning')} in {plural(len(report.files), 'file')}."
    counts += " Warnings fail, because of --strict." if only_warnings_fail(report) else ""
    lines = ["# Validation", "", f"{state}: {counts}", "", *markdown_table(files_table(report.files))]
    found = [in_file(file.path, problem) for file in report.files for problem in file.problems]
    if found:
        listed = sum(file.errors + file.warnings for file in report.files)
        lines += ["", *markdown_table(_problems_table(found, listed, view))]
    if report.skipped:
        lines += ["", *markdown_table(skipped_table(report.skipped))]
    return "\n".join(lines) + "\n"


def preflight(checklist: Preflight, view: View) -> str:
    """The verdict, the checks, their problems, then the score if there is one."""
    failed = sum(check.status == "failed" for check in checklist.checks)
    counts = [f"{plural(failed, 'check')} failed"] * bool(failed)
    counts += [plural(checklist.warnings, "warning")] * bool(checklist.warnings)
    counts += [f"{plural(checklist.skipped, 'check')} skipped"] * bool(checklist.skipped)
    state = ", ".join(["**READY**" if checklist.ready else "**NOT READY**", *counts])
    ran = [(check.title, _status(check), check.detail) for check in checklist.checks if check.status != "skipped"]
    skipped = [(check.title, check.detail) for check in checklist.checks if check.status == "skipped"]
    lines = [
        "# Preflight",
        "",
        f"{state}.",
        "",
        *markdown_table(Table("Checks", ("check", "status", "detail"), ran, numeric=False)),
    ]
    if skipped:
        lines += ["", *markdown_table(Table("Not checked", ("check", "why"), skipped, numeric=False))]
    found = sum(check._found for check in checklist.checks)
    if checklist.problems:
        lines += ["", *markdown_table(_problems_table(checklist.problems, found, view))]
    text = "\n".join(lines) + "\n"
    return text if checklist.score is None else f"{text}\n{score(checklist.score, view)}"


def _status(check: Check) -> str:
    return "warning" if check.status == "passed" and check.warnings else check.status


def score(score: Score, view: View) -> str:
    """The outcome, the tables, the problems, and everything that is needed to verify the score."""
    show_values = view.show_values
    lines = _outcome(score)
    for table in tables(score):
        lines += ["", *markdown_table(table)] if table.rows else []
    if score.breakdown:
        lines += ["", *markdown_table(breakdown_table(score.breakdown, show_values), MOST_ROWS)]
    if score._hints and show_values and not score.participant:
        lines += ["", "## Hints", "", *(f"- {escaped(hint)}" for hint in score._hints)]
    if score.problems:
        lines += ["", *markdown_table(_problems_table(score.problems, score._found, view))]
    if score._broken_rules and not score.participant:
        lines += ["", f"Total: {escaped('; '.join(score._broken_rules))}."]
    if score.warnings:
        lines += ["", "## Warnings", "", *(f"- {escaped(warning)}" for warning in score.warnings)]
    lines += ["", *_markdown_provenance(score)]
    return "\n".join(lines) + "\n"


def _outcome(score: Score) -> list[str]:
    """The title, the decision, the headline or the reasons, and how many items were processed."""
    team = f": {escaped(shorten(score.team_name))}" if score.team_name else ""
    name, value = headline(score)
    name = with_direction(shorten(name), score._lower_is_better)
    figure = f", {escaped(name)} **{value}**" if value != number(None) else ""
    state = f"**Valid**{figure}" if score.valid else "**Not valid**"
    state = f"**{score.decision}**. {state}" if score.decision else state
    lines = [f"# {score.track}{team}", "", state]
    reasons = [*decision_reasons(score), *score.reasons]
    lines += ["", *(f"- {escaped(reason)}" for reason in reasons)] if reasons else []
    if score.processing is not None:
        lines += ["", f"{processed(score.processing).capitalize()}."]
    return lines


def _problems_table(problems: Sequence[FileProblem], found: int, view: View) -> Table:
    """`found` is the number of problems, including those that are not listed."""
    counted = Counter(_problem_row(each, view.show_values) for each in problems)  # in the order of the problems
    shown = list(counted.items())[:_MOST_PROBLEMS]
    rows = [row if times == 1 else (*row[:3], f"{row[3]} ({times:,} times)", row[4]) for row, times in shown]
    left = found - sum(times for _, times in shown)
    note = f"and {left:,} more" if left > 0 else ""
    return Table("Problems", ("file", "place", "code", "problem", "hint"), rows, note, numeric=False)


def _markdown_provenance(score: Score) -> Iterator[str]:
    """What is needed to verify the score: inputs, protocol and versions."""
    protocol = score.protocol
    if score.inputs:
        yield from markdown_table(inputs_table(score.inputs))
        yield ""
    yield from markdown_table(parameters_table(protocol))
    yield ""
    yield f"Protocol `{protocol.id}` version {protocol.version}, fingerprint `{protocol.fingerprint}`."
    yield f"{versions(score)}."


def _problem_row(found: FileProblem, show_values: bool) -> tuple[str, ...]:
    message = found.message_with_value if show_values else found.message
    return found.file, found._place.lstrip(":, "), found.code, message, found.hint or ""


def leaderboard(board: Leaderboard, view: View) -> str:
    name = with_direction(plain_name(board.headline), board._lower_is_better)
    valid = sum(entry.valid for entry in board.submissions)
    counts = f"{plural(len(board.submissions), 'submission')}, {valid:,} valid, ranked by {escaped(name)}."
    lines = [f"# Leaderboard: {board.track}", "", counts]
    lines += ["", *markdown_table(ranking(board)._replace(title=""))] if ranked(board) else []
    if board.combined:
        lines += ["", escaped(weights(board.combined))]
    rest = not_ranked(board)
    if rest:
        rows = [(entry_label(entry), "; ".join([*reasons_of(entry), *first_problem(entry)])) for entry in rest]
        lines += ["", *markdown_table(Table("Not ranked", (board._entrant, "reasons"), rows, numeric=False))]
    warnings = ranking_warnings(board)
    if warnings:
        lines += ["", "## Warnings", "", *(f"- {escaped(warning)}" for warning in warnings)]
    protocol = board.protocol
    lines += ["", f"Protocol `{protocol.id}` version {protocol.version}, fingerprint `{protocol.fingerprint}`."]
    for file in board.truth:
        content = f"content `{file.content_sha256}`" if file.content_sha256 else f"SHA-256 `{file.sha256}`"
        lines.append(f"{'Truth' if file.content_sha256 else 'File'} {escaped(file.name)} ({file.contract}), {content}.")
    lines += [f"Contracts of {escaped(who)}: {what}." for who, what in contracts_used.of_submissions(board)]
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
    lines += ["", f"{contracts_used.of_comparison(comparison).capitalize()}."]
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


def markdown_table(table: Table, most: int = MOST_CASES) -> Iterator[str]:
    table = table.first(most)
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
