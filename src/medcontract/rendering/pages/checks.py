"""The pages of `validate`, `preflight` and `fix`: what is wrong in files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING

from medcontract.problems import plural
from medcontract.rendering.grouping import fix_first, merged
from medcontract.rendering.page import (
    Bullets,
    Fact,
    FileProblems,
    Line,
    Outcome,
    Outcomes,
    Page,
    Preformatted,
    Problems,
    Role,
    Section,
    Styled,
    View,
)
from medcontract.results.tables import Table
from medcontract.results.validation import FileReport, SkippedFile, Validation

if TYPE_CHECKING:
    from medcontract.results.preflight import Check, Fix, Preflight
    from medcontract.results.score import FileProblem

_MOST_SKIPPED = 5
"""The number of files that a terminal shows for each reason."""


# --- validation


def validation(report: Validation, view: View) -> Page:
    """Show the counts, the files, and their problems."""
    errors = sum(map(_errors, report.files))
    warnings = sum(file.warnings for file in report.files)
    invalid = sum(not file.ok for file in report.files)
    records = [file.records for file in report.files if file.records is not None]  # documents have none
    strict = any(not file.ok and not file.errors and file.warnings for file in report.files)
    only_warnings = ["Warnings fail, because of --strict."] if strict else []
    about = [f"{invalid:,} of {plural(len(report.files), 'file')} not valid."] if invalid else []
    about += [*only_warnings, *(["No file was checked."] if not report.files else [])]
    facts = [Fact("errors", f"{errors:,}"), Fact("warnings", f"{warnings:,}"), Fact("files", f"{len(report.files):,}")]
    facts += [Fact("records", f"{sum(records):,}")] if records else []

    listed = [(file.path, problem) for file in report.files for problem in file.problems]
    known = f", {_records(sum(records), errors)}" if records else ""
    files = f"{plural(len(report.files), 'file')}{known}"
    counts = [plural(n, word) for n, word in ((errors, "error"), (warnings, "warning")) if n]
    last: Line = [Styled("No problems found", "good"), f" in {files}."]
    if counts:
        where = f" in {invalid} of {files}." if errors else f" in {files}."
        role = "error" if errors or invalid else "warning"
        last = [Styled(" and ".join(counts), role), " ".join([where, *only_warnings])]
    return Page(
        title="Validation",
        verdict="Not valid" if not report.ok else "Valid, with warnings" if warnings else "Valid",
        role="bad" if not report.ok else "warning" if warnings else "good",
        lines=[last],
        last=True,
        advice=(fix_first(listed, errors) if errors else "") or report._next,
        about=about,
        facts=facts,
        sections=[
            *([Section("Files", [_files(report.files)], on="pages")] if report.files else []),
            Section("Problems", [Problems([_of_file(file, view) for file in report.files])], outcome=True),
            *_skipped(report.skipped or ()),
        ],
    )


def _files(files: Sequence[FileReport]) -> Table:
    """Files that are not valid first; images and how a contract was chosen only if that is known of a file."""
    with_images = any(file.images is not None for file in files)
    with_how = any(file._how for file in files)
    rows = [
        (
            file.path,
            "valid" if file.ok else "not checked" if file.usage_error else "not valid",
            *(f"{count:,}" for count in (_errors(file), file.warnings)),
            *(_count(count) for count in (file.records, *([file.images and file.images.checked] * with_images))),
            file.contract or ("JSON Schema" if file.ok or not file.usage_error else "not known"),
            *([file._how or "–"] * with_how),
        )
        for file in sorted(files, key=lambda file: file.ok)
    ]
    head = ("file", "verdict", "errors", "warnings", "records", *["images"] * with_images, "contract")
    head = (*head, *["how"] * with_how)
    return Table("", head, rows, text_columns=2, last_columns=2 if with_how else 1, total=len(rows))


def _count(number_of: int | None) -> str:
    return "–" if number_of is None else f"{number_of:,}"


def _records(count: int, errors: int) -> str:
    """Return the number of records; none at all in a file with errors means that they were not found."""
    return "no records read" if errors and not count else plural(count, "record")


def _of_file(file: FileReport, view: View) -> FileProblems:
    """Return the problems of a file, and its outcome: what it is, or with `--quiet` how many problems it has."""
    ok = file.ok and not file.usage_error
    about = [file.contract or ("JSON Schema" if file.ok or not view.quiet else "contract unknown")]
    if view.quiet:
        about += [plural(n, word) for n, word in ((_errors(file), "error"), (file.warnings, "warning")) if n]
    else:
        about += [] if file.records is None else [_records(file.records, file.errors)]
        about += [] if file.images is None else [plural(file.images.checked, "image")]
    how = f" ({file._how})" if file._how and not view.quiet else ""
    outcome: Line = [f"{file.path}: ", Styled("ok", "good") if ok else Styled("not ok", "error"), "  "]
    return FileProblems(
        problems=[(file.path, problem) for problem in file.problems],
        found=len(file.problems) + file.omitted,
        file=file.path,
        outcome=[*outcome, Styled(f"{', '.join(about)}{how}", "dim")] if ok or file.contract or view.quiet else (),
        unreadable=file.usage_error,
        records=file.records,
    )


def _errors(file: FileReport) -> int:
    """Count the errors; a missing and an unknown key that are one rename are one."""
    return file.errors and file.errors - merged(file.problems)


def _skipped(files: Sequence[SkippedFile]) -> Iterator[Section]:
    """Yield the files in folders that were not read; on a terminal grouped by the reason."""
    if not files:
        return
    by_reason: dict[str, list[str]] = {}
    for file in files:
        by_reason.setdefault(file.reason, []).append(file.path)
    lines: list[Line] = []
    for reason, paths in by_reason.items():
        left = len(paths) - _MOST_SKIPPED
        more = f" and {plural(left, 'other')}" if left > 0 else ""
        lines.append([f"skipped {', '.join(paths[:_MOST_SKIPPED])}{more}: {reason}"])
    yield Section("", [Bullets(lines)], on="terminal")
    rows = [(file.path, file.reason) for file in files]
    yield Section("Skipped files", [Table("", ("file", "reason"), rows, numeric=False, total=len(rows))], on="pages")


# --- preflight


_OUTCOMES: dict[str, tuple[str, Role, str]] = {
    "failed": ("failed", "bad", "Failed checks"),
    "warned": ("warning", "warning", "Checks with warnings"),
    "passed": ("passed", "good", "Passed checks"),
    "skipped": ("skipped", "neutral", "Not checked"),
}
"""The word, the role and the section of each outcome, the most important first."""


def preflight(checklist: Preflight, view: View) -> Page:
    """Show the checks by their outcome, then the score if there is one."""
    from medcontract.rendering.pages import score as of_score  # slow to import

    by_outcome: dict[str, list[Check]] = {outcome: [] for outcome in _OUTCOMES}
    for check in checklist.checks:
        by_outcome["warned" if check.status == "passed" and (check.warnings or check._noted) else check.status].append(
            check
        )
    failed, skipped = by_outcome["failed"], by_outcome["skipped"]
    notes = [f"{plural(len(failed), 'check')} failed"] * bool(failed)
    warnings = checklist.warnings + sum(check._noted for check in by_outcome["warned"])
    notes += [plural(warnings, "warning")] * bool(warnings)
    notes += [f"{plural(len(skipped), 'check')} skipped"] * bool(skipped and not failed)
    untold = [check for check in skipped if not check._needs_truth]  # participants have no truth
    role: Role = "bad" if failed else "warning" if warnings or untold else "good"
    verdict, before = ("Not ready", ": ") if failed else ("Ready", ", ")
    scored, shared = checklist.score, checklist._shared
    sections = [
        Section(title, [Outcomes(("check", "detail"), [_item(each, word, its, shared) for each in there])],
                outcome=outcome == "failed")
        for outcome, (word, its, title) in _OUTCOMES.items()
        if (there := by_outcome[outcome])
    ]  # fmt: skip
    if scored is not None:
        sections += [each._replace(on="pages") for each in of_score.sections(scored, view, problems=False)]
    return Page(
        title=f"Preflight: {checklist._title}" if checklist._title else "Preflight",
        verdict=verdict,
        role=role,
        lines=[[Styled(verdict.upper(), "error" if failed else role), f"{before * bool(notes)}{', '.join(notes)}."]],
        last=True,
        advice=_failed_first(failed, shared),
        about=[f"{', '.join(notes)}."] if notes else [],
        facts=[] if scored is None else of_score.facts(scored),
        sections=sections,
        contracts=of_score.contracts_line(checklist._contracts),
        version="" if scored is None else of_score.versions(scored),
    )


def _failed_first(failed: Sequence[Check], shared: Collection[str]) -> str:
    if not failed:
        return ""
    problems = [each for check in failed for each in _named(check.problems, shared) if each[1].severity == "error"]
    shown = len(failed) + sum(max(check._found, len(check.problems)) for check in failed)
    first = failed[0]
    if problems and (first.problems or first.id != "files"):
        return fix_first(problems, shown)
    return f"Fix this first: {first.title}: {first.detail}" if len(failed) > 1 else ""


def _named(problems: Sequence[FileProblem], shared: Collection[str]) -> list[tuple[str, FileProblem]]:
    """Return the problems with the names of their files, or with paths where two files have the same name."""
    return [(each._path or each.file if each.file in shared else each.file, each) for each in problems]


def _item(check: Check, word: str, role: Role, shared: Collection[str]) -> Outcome:
    listed = FileProblems(_named(check.problems, shared), max(check._found, len(check.problems)))
    return Outcome(word, role, check.title, check.detail, problems=listed)


# --- fix


_ROLES = {"+": "good", "-": "error", "@": "hint"}


def fix(fixed: Fix, view: View) -> Page:
    """Show the repairs, as a unified diff where values may be shown, then what is wrong with the repaired file."""
    lines: list[Line] = []
    if view.show_values and fixed.changed:
        for line in StringIO(fixed.diff(), newline=None):
            text = line.rstrip("\n")
            lines.append([Styled(text, _ROLES.get(text[:1], ""))])
    done = "written" if fixed.written else "not written; use --write to replace the file"
    outcome = f"{plural(len(fixed.repairs), 'repair')}, {done}. The result:"
    if not fixed.changed:
        outcome = "Nothing was fixed: no problem has exactly one right repair." if not fixed else "Nothing to fix."
    times = Counter(repair.what for repair in fixed.repairs)
    lines += [[f"{what} ({plural(count, 'time')})"] for what, count in times.items()]
    remaining = validation(Validation.of((fixed.remaining,)), view)
    repairs = [Section("", [Preformatted(lines, "diff")])] if lines else []
    return remaining._replace(
        title="Repairs",
        sections=[*repairs, Section("", [Preformatted([[outcome]])], outcome=True), *remaining.sections],
    )
