"""The pages of `validate` and `preflight`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from medcontract.problems import plural
from medcontract.rendering.html import page
from medcontract.rendering.html.page import Block, Fact, Page, Role, Section
from medcontract.rendering.html.problems import Group, groups
from medcontract.rendering.html.score import gate_fact, headline_facts, score_sections
from medcontract.rendering.shared import files_table, only_warnings_fail, skipped_table, versions
from medcontract.rendering.view import View
from medcontract.results.preflight import Check, Preflight
from medcontract.results.validation import Validation


def validation_page(report: Validation, view: View) -> Page:
    errors = sum(file.errors for file in report.files)
    warnings = sum(file.warnings for file in report.files)
    invalid = sum(not file.ok for file in report.files)
    role: Role = "bad" if not report.ok else "warning" if warnings else "good"
    verdict = "Not valid" if not report.ok else "Valid, with warnings" if warnings else "Valid"
    about = [f"{invalid:,} of {plural(len(report.files), 'file')} not valid."] if invalid else []
    about += ["Warnings fail, because of --strict."] if only_warnings_fail(report) else []
    about += ["No file was checked."] if not report.files else []
    facts = [Fact("errors", f"{errors:,}"), Fact("warnings", f"{warnings:,}"), Fact("files", f"{len(report.files):,}")]
    records = [file.records for file in report.files if file.records is not None]
    facts += [Fact("records", f"{sum(records):,}")] if records else []
    sections = [Section("Files", page.table_blocks(files_table(report.files)))] if report.files else []
    found = groups(((file.path, problem) for file in report.files for problem in file.problems), view.show_values)
    similar = sum(problem._more for problem in report.problems)
    sections += problem_section(found, sum(file.omitted for file in report.files) - similar)
    if report.skipped:
        sections.append(page.table_section(skipped_table(report.skipped)))
    return Page(title="Validation", verdict=verdict, role=role, about=about, facts=facts, sections=sections)


def problem_section(found: Sequence[Group], omitted: int = 0) -> Iterator[Section]:
    if found:
        left = [page.note_block(_more(omitted))] if omitted > 0 else []
        yield Section("Problems", [Block("problem_groups", found), *left])


def _more(omitted: int) -> str:
    return f"and {plural(omitted, 'more problem')} that are not listed (--max-problems shows more)"


# --- preflight


class _ShownCheck(NamedTuple):
    word: str
    role: Role
    title: str
    detail: str
    groups: Sequence[Group]
    left: str


_OUTCOMES: dict[str, tuple[str, Role, str]] = {
    "failed": ("failed", "bad", "Failed checks"),
    "warned": ("warning", "warning", "Checks with warnings"),
    "passed": ("passed", "good", "Passed checks"),
    "skipped": ("not checked", "neutral", "Not checked"),
}
"""The word, the role and the section of each outcome, the most important first."""


def preflight_page(checklist: Preflight, view: View) -> Page:
    by_outcome: dict[str, list[Check]] = {outcome: [] for outcome in _OUTCOMES}
    for check in checklist.checks:
        by_outcome["warned" if check.status == "passed" and check.warnings else check.status].append(check)
    failed = by_outcome["failed"]
    counts = [f"{plural(len(failed), 'check')} failed"] * bool(failed)
    counts += [plural(checklist.warnings, "warning")] * bool(checklist.warnings)
    counts += [f"{plural(checklist.skipped, 'check')} not possible"] * bool(checklist.skipped)
    sections = [
        Section(_OUTCOMES[outcome][2], [Block("checks", [_check(check, outcome, view) for check in some])])
        for outcome, some in by_outcome.items()
        if some
    ]
    scored = checklist.score
    facts: list[Fact] = []
    if scored is not None:
        facts = [*headline_facts(scored), *gate_fact(scored.processing)]
        sections += score_sections(scored, view, problems=False)
    return Page(
        title="Preflight" if scored is None else f"Preflight: {scored.track}",
        verdict="Ready" if checklist.ready else "Not ready",
        role="bad" if failed else "warning" if counts else "good",
        about=[f"{', '.join(counts)}."] if counts else [],
        reasons=[f"{check.title}: {check.detail}" if check.detail else check.title for check in failed],
        facts=facts,
        sections=sections,
        version="" if scored is None else versions(scored),
    )


def _check(check: Check, outcome: str, view: View) -> _ShownCheck:
    word, role, _ = _OUTCOMES[outcome]
    found = groups(((problem.file, problem) for problem in check.problems), view.show_values)
    left = check._found - sum(1 + problem._more for problem in check.problems)
    return _ShownCheck(word, role, check.title, check.detail, found, _more(left) if left > 0 else "")
