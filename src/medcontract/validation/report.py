"""Collects the findings of one file, and turns them into a report: the place of each problem."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from msgspec.structs import replace

from medcontract.problems import NO_CARET, Finding, Ref, pointer, reveals_truth
from medcontract.reading.excerpts import Excerpt, Place, find_positions
from medcontract.reading.json_scanner import Locator
from medcontract.reading.located_records import Broken
from medcontract.reading.source import Source, Unreadable
from medcontract.results.validation import FileReport, Problem

Likeness = tuple[str, str, tuple[object, ...]]
MOST_KINDS = 10_000


class ProblemCollector:
    """Counts findings and keeps at most `keep` of them (and at most `alike` similar ones, if given).

    Findings about records arrive in file order; deferred ones (`defer`), such as from list rules, arrive last
    but may belong anywhere in the file. They are kept separately, and each sorted series of them has its own limit
    (`new_series`), so that findings early in the file are not crowded out by another series.
    """

    def __init__(
        self, keep: int, alike: int | None = None, excerpts: bool = False, for_participants: bool = False
    ) -> None:
        self.keep = keep
        self.for_participants = for_participants
        """Findings of rules across files are counted, but not kept."""
        self.alike = alike
        self.excerpts = excerpts
        self.columns: list[str] = []
        """For tables: problems of one row are sorted by column."""
        self.renames: dict[str, str] = {}
        """For tables: unknown columns that mean a missing one. The problems of both are listed together."""
        self.spread: dict[str, str] = {}
        """For tables: the field of columns that are items of one list. The same mistake in them is one kind."""
        self.errors = 0
        self.warnings = 0
        self._kept: list[Finding] = []
        self._numbers: list[int] = []
        """For each kept finding: how many similar ones were counted before it."""
        self._series: list[list[Finding]] = [[]]
        self.totals: dict[Likeness, int] = {}
        self.several: set[Likeness] = set()
        """Kinds of findings of which one record has several."""
        self._codes: Counter[tuple[str, str]] = Counter()
        self._last: dict[Likeness, int | None] = {}

    def add(self, finding: Finding, ref: Ref | None = None) -> bool:
        """Add a finding in file order; `ref` is its place, if the finding has none.

        False if it is not kept; then no similar one will be.
        """
        ref = ref or finding.ref
        number = self._count(finding, ref)
        if number is None or self.is_full:
            return False
        self._kept.append(finding if ref is finding.ref else finding._replace(ref=ref))
        self._numbers.append(number)
        return True

    @property
    def is_full(self) -> bool:
        """Whether no finding is kept any more, except deferred ones."""
        return len(self._kept) >= self.keep

    def add_more(self, finding: Finding, times: int) -> None:
        """Count findings similar to one that was not kept, in other records."""
        self._number(finding, times)

    def defer(self, finding: Finding) -> bool:
        """Add a finding that may belong anywhere in the file. False if it is not kept; then no similar one will be."""
        if self._count(finding, finding.ref) is None or len(self._series[-1]) >= self.keep:
            return False
        self._series[-1].append(finding)
        return True

    def count_rest(self, rest: Iterable[tuple[Finding, int]], record: int | None = None) -> None:
        """Count findings of one record without keeping them: one of each kind, and its number."""
        for finding, times in rest:
            kind, _ = self._number(finding, times)
            if times > 1 or self._last.get(kind, -1) == record:
                self.several.add(kind)

    def new_series(self) -> None:
        """Start a new sorted series of deferred findings."""
        self._series.append([])

    @property
    def has_deferred(self) -> bool:
        return any(self._series)

    @property
    def deferred(self) -> list[Finding]:
        return [finding for series in self._series for finding in series]

    def _count(self, finding: Finding, ref: Ref | None) -> int | None:
        """Count a finding. Returns how many similar ones were counted before, or None if it must not be kept."""
        kind, earlier = self._number(finding)
        record = ref.record if ref else None
        if earlier and self._last.get(kind) == record:
            self.several.add(kind)
        if kind in self.totals:
            self._last[kind] = record
        if self.for_participants and reveals_truth(finding.code):
            return None
        return earlier if self.alike is None or earlier < self.alike else None

    def _number(self, finding: Finding, times: int = 1) -> tuple[Likeness, int]:
        """Count a finding `times` times. Returns its kind, and how many of that kind were counted before."""
        if finding.severity == "error":
            self.errors += times
        else:
            self.warnings += times
        self._codes[finding.code, finding.severity] += times
        kind = likeness(finding, self.spread)
        total = self.totals.get(kind, 0)
        if total or len(self.totals) < MOST_KINDS:
            self.totals[kind] = total + times
        return kind, total

    def absorb(self, other: ProblemCollector, move: Callable[[Finding], Finding]) -> bool:
        """Merge the collector of the records that follow; `move` adjusts the places of its findings.

        False if there are too many kinds of findings for the result to equal the result of one collector.
        """
        self.errors += other.errors
        self.warnings += other.warnings
        self._codes.update(other._codes)
        for finding, number in zip(other._kept, other._numbers, strict=True):
            earlier = self.totals.get(likeness(finding, self.spread), 0) + number
            if not self.is_full and (self.alike is None or earlier < self.alike):
                self._kept.append(move(finding))
                self._numbers.append(earlier)
        for kind, times in other.totals.items():
            self.totals[kind] = self.totals.get(kind, 0) + times
        self.several |= other.several
        for kind, record in other._last.items():
            place = None if record is None else move(Finding("", "", ref=Ref(0, 0, record))).ref
            self._last[kind] = place.record if place else None
        return len(self.totals) < MOST_KINDS

    def like(self) -> ProblemCollector:
        """Create an empty collector with the same settings, also for its table."""
        other = ProblemCollector(self.keep, self.alike, self.excerpts, self.for_participants)
        other.columns, other.renames, other.spread = self.columns, self.renames, self.spread
        return other

    @property
    def visible(self) -> int:
        """The number of findings that may be shown, kept or not."""
        hidden = self.codes(reveals_truth) if self.for_participants else {}
        return self.errors + self.warnings - sum(hidden.values())

    def count(self, severity: str, wanted: Callable[[str], bool]) -> int:
        """Return the number of findings of this severity whose code is wanted, kept or not."""
        return sum(times for (code, mine), times in self._codes.items() if mine == severity and wanted(code))

    def codes(self, wanted: Callable[[str], bool]) -> dict[str, int]:
        """Return the number of findings of each wanted code."""
        found: dict[str, int] = {}
        for (code, _), times in self._codes.items():
            if wanted(code):
                found[code] = found.get(code, 0) + times
        return found

    def kept(self) -> list[Finding]:
        return self._kept + self.deferred

    def place_deferred(self, found: dict[int, Ref]) -> None:
        """Add the positions of records of which only the index was known."""
        for series in self._series:
            series[:] = [f._replace(ref=found[f.ref.record]) if f.ref and f.ref.record in found else f for f in series]


_NUMBERS = re.compile(r"[0-9]+")
_LONGEST_KNOWN = 300


def likeness(finding: Finding, spread: Mapping[str, str] = MappingProxyType({})) -> Likeness:
    """Return the kind of a finding: equal for the same mistake in other records, or in columns of the same field."""
    statement = finding.statement
    statement = (_alike if len(statement) <= _LONGEST_KNOWN else _without_numbers)(statement)
    field = spread.get(finding.field) if spread and finding.field else None
    if field:
        return finding.code, statement, (field,)
    path = finding.path if finding.code != "MC101" else (*finding.path, finding.field or "")
    if any(type(token) is int for token in path):
        path = tuple("*" if isinstance(token, int) else token for token in path)
    return finding.code, statement, path


def _without_numbers(message: str) -> str:
    return _NUMBERS.sub("#", message)


_alike = lru_cache(maxsize=1 << 12)(_without_numbers)
"""Cached, since the same few messages occur many times."""


_NOWHERE = 1 << 62
"""Findings without a place in the file, such as a missing record, come last."""


def make_report(
    source: Source, contract_id: str | None, records: int | None, collector: ProblemCollector, usage_error: bool = False
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
        _usage_error=usage_error,
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
    """Return the offset whose line is shown: of the finding, or of its row in a table."""
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
        _statement=finding.statement, _subject=finding.name, _merged=finding.merged,
        _renamed=finding.renamed, _unanswered=finding.unanswered, _excerpt=excerpt.text if excerpt else None,
        _caret=excerpt.caret if excerpt and offset is not None else NO_CARET,
    )  # fmt: skip


def _letter(number: int) -> str:
    """Return the name of a column, counted from 0, in spreadsheets: A to Z, AA, AB and so on."""
    letters = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        letters = chr(ord("A") + digit) + letters
    return letters


def _hint(finding: Finding, places: dict[int, Place]) -> str | None:
    """Return the hint; for repeated values, with the place of the first one."""
    first = finding.first
    if first is None:
        return finding.hint
    line = first.line or (places[first.offset].line if first.line is None else None)
    where = f"first used in record {first.record}" + (f", line {line}" if line else "")
    return f"{where}; {finding.hint}" if finding.hint else where


def is_tabular(finding: Finding) -> bool:
    """Return whether the finding is in a table: it has a row, but no byte offset."""
    return finding.ref is not None and finding.ref.line is not None


def _offsets(source: Source, findings: Sequence[Finding]) -> list[int | None]:
    """Return the byte offset of each finding. Records are read in file order, each once, from one stream."""
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
