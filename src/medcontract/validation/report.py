"""Turns findings into a report: computes the place of each problem."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from medcontract.problems import NO_CARET, Finding, Ref, pointer
from medcontract.reading.json_locator import Locator
from medcontract.reading.json_scanner import Broken
from medcontract.reading.positions import Excerpt, Place, find_positions
from medcontract.reading.source import Source, Unreadable
from medcontract.results.validation import FileReport, Problem
from medcontract.validation.problem_collector import Likeness, ProblemCollector, likeness

_NOWHERE = 1 << 62
"""Findings without a place in the file, such as a missing record, come last."""


def make_report(
    source: Source, contract_id: str | None, records: int | None, collector: ProblemCollector, wrong_call: bool = False
) -> FileReport:
    problems = tuple(_problems(source, collector.kept(), collector))
    return FileReport(
        path=source.name,
        contract=contract_id,
        ok=collector.errors == 0,
        records=records,
        errors=collector.errors,
        warnings=collector.warnings,
        omitted=collector.errors + collector.warnings - len(problems),
        problems=problems,
        _wrong_call=wrong_call,
    )


def _problems(source: Source, findings: Sequence[Finding], collector: ProblemCollector) -> list[Problem]:
    """Return problems with line and column, in file order."""
    if not findings:
        return []
    offsets = _offsets(source, findings)
    cells = {name: number for number, name in enumerate(collector.columns)}
    letters = {name: _letter(number) for name, number in cells.items()}
    cells.update({missing: cells[name] for name, missing in collector.renames.items()})

    def in_file(i: int) -> tuple[int, int, bool, int]:
        finding, offset = findings[i], offsets[i]
        where = offset if offset is not None else finding.ref.offset if finding.ref else _NOWHERE
        cell = cells.get(finding.field or "", -1)
        return where, cell, cell >= 0 and finding.code != "MC101", i

    order = sorted(range(len(findings)), key=in_file)[: collector.keep]
    shown = [(findings[i], offsets[i]) for i in order]
    placed = [offset for _, offset in shown if offset is not None]
    placed += [finding.first.offset for finding, _ in shown if finding.first and finding.first.line is None]
    cut = [_excerpt_at(*each) for each in shown] if collector.excerpts else []
    places, excerpts = find_positions(source, placed, [at for at in cut if at is not None])
    problems: list[Problem] = []
    left = dict(collector.totals)
    last: dict[Likeness, int] = {}
    for i in order:
        kind = likeness(findings[i], collector.spread)
        left[kind] = left.get(kind, 1) - 1
        last[kind] = len(problems)
        problem = _problem(findings[i], offsets[i], places, excerpts)
        has_cell = problem.line and problem.field is not None
        problems.append(replace(problem, _letter=letters.get(problem.field or "")) if has_cell else problem)
    for kind, position in last.items():
        several = kind in collector.several
        problems[position] = replace(problems[position], _more=left[kind], _more_are="problem" if several else "record")
    return problems


def _excerpt_at(finding: Finding, offset: int | None) -> int | None:
    """Return the offset whose line is shown: that of the finding, or of its row in a table."""
    if offset is None and finding.ref is not None and finding.ref.line:
        return finding.ref.offset
    return offset


def _problem(finding: Finding, offset: int | None, places: dict[int, Place], excerpts: dict[int, Excerpt]) -> Problem:
    ref = finding.ref or Ref(0, 0)
    line, column = (ref.line or None, None) if offset is None else places[offset]
    shown_at = _excerpt_at(finding, offset)
    excerpt = None if shown_at is None else excerpts.get(shown_at)
    path = (*ref.prefix, *finding.path)
    field = finding.field if is_tabular(finding) else None
    return Problem(
        code=finding.code, severity=finding.severity, message=finding.text, hint=_hint(finding, places),
        pointer=pointer(path), record=ref.record, line=line, column=column, field=field,
        _plain_pointer=pointer(path, plain=True), _value=finding.value,
        _excerpt=excerpt.text if excerpt else None,
        _caret=excerpt.caret if excerpt and offset is not None else NO_CARET,
    )  # fmt: skip


def _letter(number: int) -> str:
    """A column, counted from 0, as spreadsheets name it: A to Z, AA, AB and so on."""
    letters = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        letters = chr(ord("A") + digit) + letters
    return letters


def _hint(finding: Finding, places: dict[int, Place]) -> str | None:
    """The hint; for repeated values, with the place of the first one."""
    first = finding.first
    if first is None:
        return finding.hint
    line = first.line or (places[first.offset].line if first.line is None else None)
    where = f"first used in record {first.record}" + (f", line {line}" if line else "")
    return f"{where}; {finding.hint}" if finding.hint else where


def is_tabular(finding: Finding) -> bool:
    """Whether the finding is in a table: it has a row, but no byte offset."""
    return finding.ref is not None and finding.ref.line is not None


def _offsets(source: Source, findings: Sequence[Finding]) -> list[int | None]:
    """The byte offset of each finding. Records are read in file order, each once, from one stream."""
    offsets = [None if is_tabular(finding) else finding.offset for finding in findings]
    left = [i for i, f in enumerate(findings) if offsets[i] is None and f.ref is not None and not is_tabular(f)]
    if not left:
        return offsets
    record: Ref | None = None
    locator = Locator(b"")
    with source.open() as stream:
        for i in sorted(left, key=lambda i: (findings[i].ref or Ref(0, 0)).offset):
            finding, ref = findings[i], findings[i].ref or Ref(0, 0)
            try:
                if record is None or ref[:2] != record[:2]:
                    stream.seek(ref.offset)
                    record, locator = ref, Locator(stream.read(ref.length))
                value_at, key_at = locator.find(finding.path)
            except (Broken, Unreadable):  # the file changed in the meantime
                value_at = key_at = 0
            offsets[i] = ref.offset + (key_at if finding.at_key else value_at)
    return offsets
