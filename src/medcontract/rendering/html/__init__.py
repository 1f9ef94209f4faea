"""Results as HTML pages: one file each, without scripts and without anything to download.

Each function describes a `Page` (`page.py`): the verdict, the most important figures, then sections from the most to
the least important. The template is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from medcontract.problems import plain_name, plural
from medcontract.rendering import formats_of
from medcontract.rendering import render as rendered
from medcontract.rendering.html import charts, page
from medcontract.rendering.html.page import Block, Fact, Page, Role, Section
from medcontract.rendering.html.problems import Group, groups
from medcontract.rendering.shared import (
    breakdown_table,
    comparison_tables,
    entry_label,
    files_table,
    first_problem,
    inputs_table,
    not_ranked,
    parameters_table,
    processed,
    ranked,
    ranking,
    ranking_warnings,
    reasons_of,
    versions,
    weights,
)
from medcontract.rendering.tables import headline, tables
from medcontract.rendering.view import View
from medcontract.results.base import Result
from medcontract.results.comparison import Comparison, Delta
from medcontract.results.leaderboard import Leaderboard
from medcontract.results.preflight import Check, Preflight
from medcontract.results.score import Processing, ProtocolUsed, Score
from medcontract.results.tables import MOST_ROWS, Bars, Table, number
from medcontract.results.validation import FileReport, Validation


def validation(report: Validation, view: View) -> str:
    return page.render(validation_page(report, view))


def preflight(checklist: Preflight, view: View) -> str:
    return page.render(preflight_page(checklist, view))


def score(score: Score, view: View) -> str:
    return page.render(score_page(score, view))


def leaderboard(board: Leaderboard, view: View) -> str:
    return page.render(leaderboard_page(board, view))


def comparison(compared: Comparison, view: View) -> str:
    return page.render(comparison_page(compared, view))


def notebook(result: Result) -> str:
    """The display of a result in a notebook: its page, or its text if it has no page. Values of records are hidden."""
    view = View()
    if isinstance(result, FileReport):
        result = Validation.of((result,))
    describe = _PAGES.get(type(result))
    return page.fragment(describe(result, view)) if describe else _as_text(result, view)


def _as_text(result: Result, view: View) -> str:
    name = "text" if "text" in formats_of(type(result).__name__) else "json"
    text = rendered(result, name, view) if formats_of(type(result).__name__) else result.to_json()
    return Markup("<pre>{}</pre>").format(text)


# --- validate


def validation_page(report: Validation, view: View) -> Page:
    errors = sum(file.errors for file in report.files)
    warnings = sum(file.warnings for file in report.files)
    invalid = sum(not file.ok for file in report.files)
    role: Role = "bad" if errors else "warning" if warnings else "good"
    verdict = "Not valid" if not report.ok else "Valid, with warnings" if warnings else "Valid"
    about = f"{invalid:,} of {plural(len(report.files), 'file')} not valid" if invalid else ""
    facts = [Fact("errors", f"{errors:,}"), Fact("warnings", f"{warnings:,}"), Fact("files", f"{len(report.files):,}")]
    records = [file.records for file in report.files if file.records is not None]
    if records:
        facts.append(Fact("records", f"{sum(records):,}"))
    sections = [Section("Files", page.table_blocks(files_table(report.files)))]
    found = groups(((file.path, problem) for file in report.files for problem in file.problems), view.show_values)
    sections += _problem_section(found, sum(file.omitted for file in report.files))
    return Page(
        title="Validation", verdict=verdict, role=role, about=[about] if about else [], facts=facts, sections=sections
    )  # fmt: skip


def _problem_section(found: Sequence[Group], omitted: int = 0) -> Iterator[Section]:
    if not found:
        return
    blocks = [Block("problem_groups", found)]
    if omitted > 0:
        blocks.append(Block("note", f"{plural(omitted, 'more problem')} not listed (--max-problems shows more)"))
    yield Section("Problems", blocks)


# --- preflight


class _ShownCheck(NamedTuple):
    word: str
    role: Role
    title: str
    detail: str
    groups: Sequence[Group]


_STATUS: dict[str, tuple[str, Role]] = {
    "failed": ("failed", "bad"),
    "passed": ("passed", "good"),
    "skipped": ("not checked", "neutral"),
}


def preflight_page(checklist: Preflight, view: View) -> Page:
    failed = [check for check in checklist.checks if check.status == "failed"]
    skipped = checklist.skipped
    verdict = "Not ready" if failed else f"Ready, {plural(skipped, 'check')} not possible" if skipped else "Ready"
    role: Role = "bad" if failed else "warning" if skipped else "good"
    scored = checklist.score
    reasons = [check.title if not check.detail else f"{check.title}: {check.detail}" for check in failed]
    sections = [Section("Checks", [Block("checks", [_check(check, view) for check in checklist.checks])])]
    facts: list[Fact] = []
    gate = None
    if scored is not None:
        facts = _headline_facts(scored)
        gate = scored.processing
        sections += _score_sections(scored, view, problems=False)
    return Page(
        title="Preflight", verdict=verdict, role=role, reasons=reasons, facts=facts, gate=_gate(gate),
        gate_text=_gate_text(gate), sections=sections, version="" if scored is None else versions(scored),
    )  # fmt: skip


def _check(check: Check, view: View) -> _ShownCheck:
    word, role = _STATUS[check.status]
    found = groups(((problem.file, problem) for problem in check.problems), view.show_values)
    if check.status == "passed" and found:
        word, role = "warning", "warning"
    return _ShownCheck(word, role, check.title, check.detail, found)


# --- score


def score_page(score: Score, view: View) -> Page:
    word = "Valid" if score.valid else "Not valid" if score.result is not None else "Refused"
    verdict = f"{score.decision}" if score.decision and score.valid else word
    role: Role = "good" if score else "bad"
    about = [f"Team {score.team_name}"] if score.team_name else []
    return Page(
        title=f"Score: {score.track}", verdict=verdict, role=role, about=about, facts=_headline_facts(score),
        gate=_gate(score.processing), gate_text=_gate_text(score.processing), reasons=score.reasons,
        sections=_score_sections(score, view, problems=True), version=versions(score),
    )  # fmt: skip


def _headline_facts(score: Score) -> list[Fact]:
    name, value = headline(score)
    facts = [Fact(name, value)] if value != number(None) else []
    if score.processing is not None:
        facts.append(Fact("processed", f"{score.processing.processed:,} of {score.processing.expected:,}"))
    return facts


def _gate(processing: Processing | None) -> Markup | None:
    if processing is None:
        return None
    return charts.gate(processing.success_rate, processing.minimum, processing.passed, _gate_text(processing))


def _gate_text(processing: Processing | None) -> str:
    if processing is None:
        return ""
    return f"{processed(processing).capitalize()}: {'passed' if processing.passed else 'not passed'}."


def _score_sections(score: Score, view: View, problems: bool) -> list[Section]:
    sections = [page.table_section(table, "Figures") for table in tables(score) if table.rows]
    if score.breakdown:
        table = breakdown_table(score.breakdown, view.show_values)
        sections.append(page.table_section(table._replace(total=len(table.rows))))
    if score._hints and view.show_values and not score.participant:
        sections.append(Section("Hints", [page.list_block(score._hints)]))
    if problems:
        found = groups(((problem.file, problem) for problem in score.problems), view.show_values)
        listed = sum(1 + problem._more for problem in score.problems)
        sections += _problem_section(found, score._found - listed)
    if score.warnings:
        sections.append(Section("Warnings", [page.list_block(score.warnings)]))
    sections.append(page.table_section(inputs_table(score.inputs)))
    sections.append(_protocol_section(score.protocol))
    return sections


def _protocol_section(protocol: ProtocolUsed) -> Section:
    text = f"Protocol {protocol.id}, version {protocol.version}, fingerprint {protocol.fingerprint}."
    return Section("Protocol", [page.text_block(text), *page.table_blocks(parameters_table(protocol))])


# --- leaderboard


def leaderboard_page(board: Leaderboard, view: View) -> Page:
    entries = ranked(board)
    valid = sum(entry.valid for entry in board.submissions)
    verdict = f"{plural(len(entries), 'submission')} ranked" if entries else "No submission ranked"
    facts = [Fact("submissions", f"{len(board.submissions):,}"), Fact("valid", f"{valid:,}")]
    if entries:
        facts.insert(0, Fact(f"best {plain_name(board.headline)}", _headline_value(board, entries[0].headline)))
    sections = []
    if entries:
        bars = Bars.of(
            [entry_label(entry) for entry in entries[:_MOST_BARS]], [e.headline for e in entries[:_MOST_BARS]]
        )
        table = ranking(board)
        blocks = page.table_blocks(
            table._replace(title="", chart=bars, rows=table.rows[:_MOST_ENTRIES], total=len(table.rows))
        )
        sections.append(Section(f"Ranking by {plain_name(board.headline)}", blocks))
    if board.combined:
        sections.append(Section("Combined score", [page.text_block(weights(board.combined))]))
    rest = not_ranked(board)
    if rest:
        rows = [
            (entry_label(entry), "; ".join([*reasons_of(entry), *first_problem(entry)]))
            for entry in rest[:_MOST_ENTRIES]
        ]
        table = Table("Not ranked", ("team", "reasons"), rows, numeric=False, total=len(rest))
        sections.append(Section(table.title, page.table_blocks(table, _MOST_ENTRIES)))
    warnings = ranking_warnings(board)
    if warnings:
        sections.append(Section("Warnings", [page.list_block(warnings)]))
    sections.append(page.table_section(inputs_table(board.truth)._replace(title="Truth")))
    sections.append(_protocol_section(board.protocol))
    return Page(
        title=f"Leaderboard: {board.track}", verdict=verdict, role="good" if entries else "bad",
        about=[f"Ranked by {plain_name(board.headline)}."], facts=facts, sections=sections, version=versions(board),
    )  # fmt: skip


_MOST_BARS, _MOST_ENTRIES = 30, 2000


def _headline_value(board: Leaderboard, value: float | None) -> str:
    units = {figure.name: figure.unit for figure in board._figures}
    return number(value, units.get(board.headline, ""))


# --- compare


class _Change(NamedTuple):
    name: str
    before: str
    after: str
    change: str
    chart: Any


def comparison_page(compared: Comparison, view: View) -> Page:
    first = compared.figures[0] if compared.figures else None
    facts = [] if first is None else [Fact(plain_name(first.name), f"{_shown(first.before)} → {_shown(first.after)}")]
    verdict, role = _trend(first)
    about = [f"{compared.before} before, {compared.after} after."]
    if compared._names:
        about.append(f"From {' to '.join(compared._names)}.")
    changed = [_change(delta) for delta in compared.figures if delta.changed]
    same = len(compared.figures) - len(changed)
    blocks = [Block("changes", changed)] if changed else []
    if same:
        blocks.append(Block("note", f"Unchanged figures: {same:,}."))
    sections = [Section("Figures", blocks)]
    _, *others = comparison_tables(compared, MOST_ROWS)
    for table in others:
        if table.rows and table.title:
            sections.append(page.table_section(table))
        elif table.rows:
            sections.append(Section("", [Block("note", table.rows[0][0])]))
    if compared.warnings:
        sections.append(Section("Warnings", [page.list_block(compared.warnings)]))
    sections.append(Section("Protocol", [page.text_block(f"Fingerprint {compared.fingerprint} in both.")]))
    return Page(
        title=f"Comparison: {compared.track}", verdict=verdict, role=role, about=about, facts=facts,
        reasons=compared.reasons, sections=sections, version=versions(compared),
    )  # fmt: skip


def _trend(delta: Delta | None) -> tuple[str, Role]:
    if delta is None or delta.delta is None:
        return "Compared", "neutral"
    if delta.delta == 0:
        return "Unchanged", "neutral"
    return ("Higher", "good") if delta.delta > 0 else ("Lower", "bad")


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.6g}"


def _change(delta: Delta) -> _Change:
    chart: Any = ""
    before, after = delta.before, delta.after
    if before is not None and after is not None and min(before, after) >= 0 and max(before, after) <= 1:
        chart = charts.change(before, after, 0, 1, f"from {before:.4g} to {after:.4g}, on a scale from 0 to 1")
    shown = "–" if delta.delta is None else f"{'▲' if delta.delta > 0 else '▼'} {delta.delta:+.6g}"
    return _Change(delta.name, _shown(before), _shown(after), shown, chart)


_PAGES: dict[type, Callable[[Any, View], Page]] = {
    Validation: validation_page,
    Preflight: preflight_page,
    Score: score_page,
    Leaderboard: leaderboard_page,
    Comparison: comparison_page,
}
"""The page of each kind of result."""
