"""The page of a score."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from medcontract.problems import plural
from medcontract.rendering.html import charts, page
from medcontract.rendering.html.page import Block, Fact, Page, Role, Section
from medcontract.rendering.html.problems import Group, groups
from medcontract.rendering.shared import (
    breakdown_table,
    decision_reasons,
    parameter_value,
    parameters_table,
    processed,
    versions,
    with_direction,
)
from medcontract.rendering.tables import headline, tables
from medcontract.rendering.view import View
from medcontract.results.score import InputFile, Processing, ProtocolUsed, Score
from medcontract.results.tables import Table, number

_FIGURE = "figure"
"""The title of the first column of a table of figures."""


def score_page(score: Score, view: View) -> Page:
    word = "Valid" if score.valid else "Not valid" if score.result is not None else "Refused"
    verdict = score.decision if score.decision and score.valid else word
    role: Role = "good" if score else "bad"
    about = [_entrant(score.team_name, score._entrant)] if score.team_name else []
    reasons = [*decision_reasons(score), *score.reasons]
    return Page(
        title=f"Score: {score.track}", verdict=verdict, role=role, about=about, reasons=reasons,
        facts=[*headline_facts(score), *gate_fact(score.processing)],
        sections=score_sections(score, view, problems=True), version=versions(score),
    )  # fmt: skip


def _entrant(name: str, kind: str) -> str:
    """The name, after the word for what it is unless it starts with it: Team Nordlicht."""
    return name if name.casefold().split()[:1] == [kind] else f"{kind.capitalize()} {name}"


def headline_facts(score: Score) -> list[Fact]:
    name, value = headline(score)
    return [Fact(with_direction(name, score._lower_is_better), value)] if value != number(None) else []


def gate_fact(processing: Processing | None) -> Iterator[Fact]:
    """The processed share as a bar, with a mark at the required minimum."""
    if processing is None:
        return
    outcome = "passed" if processing.passed else "not passed"
    chart = charts.gate(
        processing.success_rate, processing.minimum, processing.passed, f"{processed(processing)}: {outcome}"
    )
    note = f"{processing._share}, at least {processing._asked} required: {outcome}"
    yield Fact("processed", f"{processing.processed:,} of {processing.expected:,}", note, chart)


def score_sections(score: Score, view: View, problems: bool) -> list[Section]:
    shown = [table for table in tables(score) if table.rows and not _repeats_headline(table, score)]
    sections = [page.table_section(_explained(table, score), "Figures") for table in shown]
    if score.breakdown:
        sections.append(page.table_section(breakdown_table(score.breakdown, view.show_values)))
    if score._hints and view.show_values and not score.participant:
        sections.append(Section("Hints", [page.list_block(score._hints)]))
    if problems:
        found = groups(((problem.file, problem) for problem in score.problems), view.show_values)
        sections += _problem_section(score, found)
    if score.warnings:
        sections.append(Section("Warnings", [page.list_block(score.warnings)]))
    sections += files_section("Inputs", score.inputs)
    sections.append(protocol_section(score.protocol))
    return sections


def _problem_section(score: Score, found: Sequence[Group]) -> Iterator[Section]:
    """The problems, and how often each rule across files was violated, including problems that are not listed."""
    if not found:
        return
    totals = [] if score.participant else list(score._broken_rules)
    left = score._found - sum(1 + problem._more for problem in score.problems)
    notes = [f"and {left:,} more that are not listed (--max-problems shows more)"] if left > 0 else []
    notes += [f"Total: {'; '.join(totals)}."] if totals and left > 0 else []
    yield Section("Problems", [Block("problem_groups", found), *map(page.note_block, notes)])


def _repeats_headline(table: Table, score: Score) -> bool:
    return not table.title and list(table.rows) == [headline(score)]


def _explained(table: Table, score: Score) -> Table:
    """A table of figures with a column that says what they are: formulas with the parameters of the protocol."""
    if table.head != (_FIGURE, "value"):
        return table
    about = {figure.name: figure.about for figure in score._figures}
    formulas = [_with_parameters(about.get(row[0], ""), score.protocol) for row in table.rows]
    if not any(formulas):
        return table
    rows = [(*row, formula) for row, formula in zip(table.rows, formulas, strict=True)]
    return table._replace(head=(*table.head, "what it is"), rows=rows, last_columns=1)


def _with_parameters(formula: str, protocol: ProtocolUsed) -> str:
    """The formula with the values of parameters in place of their names."""
    numbers = {name: value for name, value in protocol.parameters.items() if isinstance(value, int | float)}
    if not numbers or not formula:
        return formula
    names = "|".join(re.escape(name) for name in sorted(numbers, key=len, reverse=True))
    return re.sub(rf"(?<![\w.-])(?:{names})(?![\w-])", lambda match: parameter_value(numbers[match[0]]), formula)


class _File(NamedTuple):
    name: str
    about: str
    hashes: Sequence[tuple[str, str]]


def files_section(title: str, files: Sequence[InputFile]) -> Iterator[Section]:
    """The files that a result was computed from, with their hashes."""
    if files:
        yield Section(title, [Block("files", [_file(file) for file in files])])


def _file(file: InputFile) -> _File:
    how = f" ({file._how})" if file._how else ""
    records = "" if file.records is None else f", {plural(file.records, 'record')}"
    content = [("SHA-256 of the content", file.content_sha256)] if file.content_sha256 else []
    return _File(file.name, f"{file.contract}{how}{records}", [("SHA-256", file.sha256), *content])


def protocol_section(protocol: ProtocolUsed) -> Section:
    text = f"Protocol {protocol.id}, version {protocol.version}, fingerprint {protocol.fingerprint}."
    return Section("Protocol", [page.text_block(text), page.pairs_block(parameters_table(protocol))])
