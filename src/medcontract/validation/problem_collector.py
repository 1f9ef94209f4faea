"""Collects findings: counts all of them, keeps the first ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from medcontract.problems import Finding, Ref, reveals_truth

Likeness = tuple[str, str, tuple[object, ...]]
MOST_KINDS = 10_000


class ProblemCollector:
    """Counts findings and keeps at most `keep` of them (and at most `alike` similar ones, if given).

    Findings about records arrive in file order; deferred ones (`defer`), such as those of list rules, arrive last
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

        False if there are so many kinds of findings that the result may differ from that of one collector.
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
        """An empty collector with the same settings, also those of its table."""
        other = ProblemCollector(self.keep, self.alike, self.excerpts, self.for_participants)
        other.columns, other.renames, other.spread = self.columns, self.renames, self.spread
        return other

    @property
    def visible(self) -> int:
        """The number of findings that may be shown, kept or not."""
        hidden = self.codes(reveals_truth) if self.for_participants else {}
        return self.errors + self.warnings - sum(hidden.values())

    def count(self, severity: str, wanted: Callable[[str], bool]) -> int:
        """The number of findings of this severity whose code is wanted, kept or not."""
        return sum(times for (code, mine), times in self._codes.items() if mine == severity and wanted(code))

    def codes(self, wanted: Callable[[str], bool]) -> dict[str, int]:
        """The number of findings of each wanted code."""
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
    """The kind of a finding: equal for the same mistake in different records, or in columns of the same field."""
    statement = finding.statement
    statement = (_alike if len(statement) <= _LONGEST_KNOWN else _without_numbers)(statement)
    field = spread.get(finding.field) if spread and finding.field else None
    if field:
        return finding.code, statement, (field,)
    path = finding.path
    if any(type(token) is int for token in path):
        path = tuple("*" if isinstance(token, int) else token for token in path)
    return finding.code, statement, path


def _without_numbers(message: str) -> str:
    return _NUMBERS.sub("#", message)


_alike = lru_cache(maxsize=1 << 12)(_without_numbers)
"""Cached, since the same few messages occur many times."""
