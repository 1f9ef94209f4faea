"""The page of a ranking."""

from __future__ import annotations

from medcontract.problems import plain_name, plural
from medcontract.rendering import contracts_used
from medcontract.rendering.html import page
from medcontract.rendering.html.page import Fact, Page, Section
from medcontract.rendering.html.score import files_section, protocol_section
from medcontract.rendering.shared import (
    entry_label,
    first_problem,
    not_ranked,
    ranked,
    ranking,
    reasons_of,
    versions,
    weights,
    with_direction,
)
from medcontract.rendering.view import View
from medcontract.results.leaderboard import Leaderboard
from medcontract.results.tables import Bars, Table, number

_MOST_ENTRIES = 2000
_MOST_NAMES = 5


def leaderboard_page(board: Leaderboard, view: View) -> Page:
    entries = ranked(board)
    valid = sum(entry.valid for entry in board.submissions)
    name = with_direction(plain_name(board.headline), board._lower_is_better)
    verdict = f"{plural(len(entries), 'submission')} ranked" if entries else "No submission ranked"
    facts = [Fact("submissions", f"{len(board.submissions):,}"), Fact("valid", f"{valid:,}")]
    sections = []
    if entries:
        units = {figure.name: figure.unit for figure in board._figures}
        best = number(entries[0].headline, units.get(board.headline, ""))
        facts.insert(0, Fact(f"best {plain_name(board.headline)}", best, entry_label(entries[0])))
        sections.append(Section(f"Ranking by {name}", page.table_blocks(_ranking(board), _MOST_ENTRIES)))
    if board.combined:
        sections.append(Section("Combined score", [page.text_block(weights(board.combined))]))
    rest = not_ranked(board)
    if rest:
        rows = [
            (entry_label(entry), "; ".join([*reasons_of(entry), *first_problem(entry)]))
            for entry in rest[:_MOST_ENTRIES]
        ]
        table = Table("Not ranked", (board._entrant, "reasons"), rows, numeric=False, total=len(rest))
        sections.append(Section(table.title, page.table_blocks(table, _MOST_ENTRIES)))
    warnings = [*_warnings(board), *board.warnings]
    if warnings:
        sections.append(Section("Warnings", [page.list_block(warnings)]))
    sections += files_section("Truth", board.truth)
    contracts = [f"{who}: {what}" for who, what in contracts_used.of_submissions(board)]
    sections.append(Section("Contracts", [page.list_block(contracts)]))
    sections.append(protocol_section(board.protocol))
    return Page(
        title=f"Leaderboard: {board.track}", verdict=verdict, role="good" if entries else "bad",
        facts=facts, sections=sections, version=versions(board),
    )  # fmt: skip


def _warnings(board: Leaderboard) -> list[str]:
    """The warnings about submissions; what concerns several is one line."""
    concerned: dict[str, list[str]] = {}
    for entry in board.submissions:
        for warning in dict.fromkeys(entry.warnings):
            concerned.setdefault(warning, []).append(entry_label(entry))
    return [f"{_few(names)}: {warning}" for warning, names in concerned.items()]


def _few(names: list[str]) -> str:
    left = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {left:,} more" if left > 0 else "")


def _ranking(board: Leaderboard) -> Table:
    """The ranking with bars that compare the headlines, and without empty columns."""
    table, entries = ranking(board), ranked(board)
    used = [n for n in range(len(table.head)) if any(row[n] != number(None) for row in table.rows)]
    bars = Bars.of([], [entry.headline for entry in entries])
    shares = [] if bars is None else [None if e.headline is None else e.headline / bars.high for e in entries]
    return table._replace(
        title="", head=tuple(table.head[n] for n in used), shares=shares[:_MOST_ENTRIES], total=len(entries),
        rows=[tuple(row[n] for n in used) for row in table.rows[:_MOST_ENTRIES]],
    )  # fmt: skip
