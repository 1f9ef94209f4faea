"""Pairs the records of a submission with their expected items, in the same way for all tracks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy, deepcopy
from itertools import chain, compress
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import Struct

from medcontract.contracts.contract import Validated
from medcontract.contracts.rules import (
    CrossFileRule,
    Key,
    OrderCheck,
    OrderState,
    OtherFile,
    Reference,
    Unique,
    record_checks,
    run_checks,
)
from medcontract.contracts.string_patterns import BLANKS
from medcontract.problems import Finding
from medcontract.scoring.expected import Expected, read_field, validated
from medcontract.scoring.marks import INVALID, NOT_EXPECTED, REPEATED, Marks, Unscored
from medcontract.scoring.plausibility import Impression, Watch

MOST_EXAMPLES = 1000
_MANY_IDS = 5000


get_error = attrgetter("error")


class Vocabulary(Struct, frozen=True, kw_only=True):
    """Labels that no contract lists, such as names. A submission that uses other labels is reported."""

    name: str
    """What they are, in the plural."""
    expected: Callable[[Any], Iterable[str]]
    """The labels in an expected item."""
    predicted: Callable[[Any], Iterable[str]]
    """The labels in a record of the submission, for `preflight`."""
    kept: Callable[[Any], Iterable[str]] | None = None
    """The labels in the mark of a record, for `score` and rankings, which keep no records. Marks must be hashable."""
    forms: Callable[[str], Iterable[str]] = lambda label: (label,)
    """Two labels are equal if they have a form in common."""
    required: bool = False
    """Whether every expected item has labels, so that a submission without any cannot be right."""


class Pair(Struct, frozen=True, kw_only=True):
    """A truth and its submission: how their records are paired, and what is measured."""

    truth: str
    submission: str
    key: tuple[str, ...]
    item: Callable[[Any], Any]
    """Extracts what scoring needs from a record of the truth."""
    measure: Callable[[Any, Any], Any]
    """Extracts what scoring needs from a processed record of the submission: its mark."""
    measure_all: Callable[[Iterable[Any], Sequence[Any]], Iterable[Any]] | None = None
    """Like `measure`, for many records, if that is faster."""
    run: str | None = None
    """The field with the run of a record."""
    default_run: str = ""
    can_fail: bool = True
    """Records have an `error`; an item whose record has a non-blank one is not processed."""

    vocabularies: tuple[Vocabulary, ...] = ()
    """Labels that truth and submission must have in common."""
    watch: Watch | None = None
    """What may look wrong in valid records."""
    own_truth: Callable[[], Expected] | None = None
    """Set if the submission is its own truth: creates the sink that reads it first, for the expected items."""


def measured_mark(pair: Pair, item: Any, record: Any) -> Any:
    """Return the mark of a valid record: what is measured, unless it failed."""
    error = record.error if pair.can_fail else None
    return Unscored("failed", error) if error is not None and error.strip(BLANKS) else pair.measure(item, record)


class PairingState(NamedTuple):
    """What `Pairing` read of a chunk."""

    marks_by_run: dict[str, Marks]
    named: set[str]
    unknown: list[Key]
    bad: dict[str, set[int]]
    order: list[OrderState]
    impression: Impression


class Pairing:
    """A sink for the submission: pairs each record with its expected item, and keeps its mark."""

    def __init__(
        self,
        pair: Pair,
        expected: Expected,
        rules: Sequence[CrossFileRule] = (),
        others: Mapping[str, OtherFile] = MappingProxyType({}),
        unique: Sequence[Unique] = (),
    ) -> None:
        """`rules` and `unique` are rules of the submission; `others` are other files, by contract."""
        self.pair = pair
        self.expected = expected
        self.key: Callable[[Any], Key] = attrgetter(*pair.key)
        self.rules = tuple(rule for rule in rules if rule.other in others)
        self.others = others
        self.unique = tuple(unique)
        self.known_runs = self._runs_of_another_file()
        """The only runs that count, if another file lists them."""
        self.marks_by_run: dict[str, Marks] = {}
        self.named: set[str] = set()
        """Runs of valid records."""
        self._unknown: list[Key] = []
        """The ids that are not expected, in the order of the file."""
        self._checks = record_checks(self.rules, others)
        other_checks = record_checks([rule for rule in self.rules if not self._holds_if_expected(rule)], others)
        self.is_simple = pair.run is None and not other_checks
        """Whether only the ids of records are compared with other files."""
        self._ordered = [check for check in self._checks if isinstance(check, OrderCheck)]
        self._bad: dict[str, set[int]] = {}
        """By run: the items that have an invalid record."""
        self.impression = Impression()
        """What the records have in common (`Pair.watch`)."""
        self._before: tuple[dict[str, Marks], set[str], int, Impression] | None = None
        self._next = 0
        """The index of the item after the one of the last record."""

    @property
    def unknown(self) -> list[Key]:
        """The first ids that are not expected."""
        return self._unknown[:MOST_EXAMPLES]

    @property
    def unknown_count(self) -> int:
        return len(self._unknown)

    def fresh(self) -> Pairing:
        """Return the same pairing without marks."""
        return Pairing(self.pair, self.expected, self.rules, self.others, self.unique)

    def _runs_of_another_file(self) -> Collection[str] | None:
        for rule in self.rules:
            if isinstance(rule, Reference) and rule.field == self.pair.run:
                return self.others[rule.other].ids
        return None

    def _holds_if_expected(self, rule: CrossFileRule) -> bool:
        """Return whether every record with an expected id satisfies the rule, so that it need not be checked."""
        return rule.other == self.pair.truth and isinstance(rule, Reference) and rule.id_fields == self.pair.key

    def look_at(self, records: Sequence[object]) -> None:
        """Create the index of the truth, if records do not have its order: it is shared with forked workers."""
        if records:
            self.expected.numbers_of(list(map(self.key, records)), 0)

    def export(self) -> PairingState:
        """Return what was read, for another process."""
        order = [check.state for check in self._ordered]
        return PairingState(self.marks_by_run, self.named, self._unknown, self._bad, order, self.impression)

    def absorb(self, state: PairingState) -> bool:
        """Merge the marks of the records that follow, which were read separately.

        False if what was reported about them is not right: a record of an item that has an earlier record is reported
        if one of the two is not valid, and some rules are about the order of records.
        """
        orders = zip(self._ordered, state.order, strict=True)
        right = all(check.state.absorb(theirs) for check, theirs in orders)
        for run, theirs in state.marks_by_run.items():
            mine, bad = self.marks_of(run), state.bad.get(run, ())
            right = right and not any(number in mine for number in bad)
            right = right and not any(number in theirs for number in self._bad.get(run, ()))
            mine.merge(theirs)
            self._bad.setdefault(run, set()).update(bad)
        self.named |= state.named
        self._unknown += state.unknown
        self.impression.absorb(state.impression)
        return right

    def begin(self) -> None:
        """Save the current state: the marks of a file that cannot be read completely are dropped."""
        marks_by_run = {run: marks.copy() for run, marks in self.marks_by_run.items()}
        self._before = marks_by_run, set(self.named), len(self._unknown), deepcopy(self.impression)

    def end(self, complete: bool) -> None:
        if not complete and self._before:
            self.marks_by_run, self.named, length, self.impression = self._before
            del self._unknown[length:]
        self._before = None

    def take(self, records: Validated[Sequence[object]]) -> Sequence[tuple[int, Finding]]:
        rows = validated(records)
        reported = self._take_simple(rows) if self.is_simple else self._take_each(rows)
        watch = self.pair.watch
        odd = () if watch is None or self.impression.is_settled(watch) else self._look_at(rows, watch)
        return sorted([*reported, *odd], key=itemgetter(0)) if odd else reported

    def _look_at(self, rows: Sequence[object], watch: Watch) -> Sequence[tuple[int, Finding]]:
        """Return what looks wrong in records without errors."""
        failed = set(compress(range(len(rows)), map(get_error, rows))) if self.pair.can_fail else ()
        if not failed:
            return self.impression.see(watch, rows)
        positions = [position for position in range(len(rows)) if position not in failed]
        found = self.impression.see(watch, [rows[position] for position in positions])
        return [(positions[place], finding) for place, finding in found]

    def _take_simple(self, rows: Sequence[object]) -> Sequence[tuple[int, Finding]]:
        numbers = self.expected.numbers_of(list(map(self.key, rows)), self._next)
        self._next = numbers[-1] + 1
        self.named.add(self.pair.default_run)
        odd = self._odd_records(numbers, rows)
        if not odd:
            self.marks_of(self.pair.default_run).add(numbers, self._measured(numbers, rows))
            return ()
        known, answered = list(numbers), list(rows)
        for position in reversed(odd):
            del known[position], answered[position]
        return self._take_odd(odd, numbers, rows, self._measured(known, answered))

    def _measured(self, numbers: Sequence[int], rows: Sequence[object]) -> Iterable[object]:
        items, pair = map(self.expected.items.__getitem__, numbers), self.pair
        return pair.measure_all(items, rows) if pair.measure_all else map(pair.measure, items, rows)

    def _odd_records(self, numbers: Sequence[int], rows: Sequence[Any]) -> list[int]:
        """Return the positions of records that failed, are not expected, or whose item has an invalid record."""
        errors = [record.error for record in rows] if self.pair.can_fail else ()
        odd = set(compress(range(len(rows)), errors)) if any(errors) else set()
        apart = self._bad.get(self.pair.default_run) or set()
        if isinstance(numbers, list) and NOT_EXPECTED in numbers:
            apart = apart | {NOT_EXPECTED}
        if apart and not apart.isdisjoint(numbers):
            odd.update(position for position, number in enumerate(numbers) if number in apart)
        return sorted(odd)

    def _take_odd(
        self, odd: Sequence[int], numbers: Sequence[int], rows: Sequence[object], marks: Iterable[object]
    ) -> Sequence[tuple[int, Finding]]:
        """Add the marks of records, of which some are not simply measured."""
        pair, reported = self.pair, list[tuple[int, Finding]]()
        all_marks = bytearray(marks) if isinstance(marks, bytes | bytearray) else list(marks)
        sheet = self.marks_of(pair.default_run)
        for position in odd:
            record, number = rows[position], numbers[position]
            mark: Any = None
            if number == NOT_EXPECTED:
                self._unknown.append(self.key(record))
                reported += [(position, finding) for finding in run_checks(self._checks, record)]
            elif sheet.unscored_so_far(number) in (INVALID, REPEATED):
                repeats_invalid = sheet.unscored_so_far(number) == INVALID
                sheet.note(number, REPEATED)
                reported += [(position, finding) for finding in (self._repeated() if repeats_invalid else ())]
            else:
                mark = measured_mark(pair, self.expected.items[number], record)
                if type(mark) is Unscored:
                    sheet.note(number, mark)
                    mark = None
            all_marks.insert(position, mark or 0 if isinstance(all_marks, bytearray) else mark)
        sheet.add(numbers, all_marks)
        return reported

    def finds_repeated(self, rule: Unique) -> bool:
        """Return whether it finds the ids that the rule is about, if they are repeated (`KeyIndex`)."""
        return self.is_simple and rule.fields == self.pair.key and not rule.defaults

    def key_count(self) -> int:
        return self.marks_of(self.pair.default_run).size

    def all_keys(self) -> Iterable[Key]:
        sheet = self.marks_of(self.pair.default_run)
        return chain(self._unknown, map(self.expected.keys.__getitem__, sheet.expected_numbers()))

    def repeated_keys(self) -> Collection[Key]:
        repeated = self.marks_of(self.pair.default_run).repeated()
        unknown = Counter(self._unknown) if len(set(self._unknown)) < len(self._unknown) else {}
        return {*map(self.expected.keys.__getitem__, repeated), *(key for key, times in unknown.items() if times > 1)}

    def positions_of(self, keys: Collection[Key]) -> Sequence[int]:
        numbers = {self.expected.index.get(key, NOT_EXPECTED) for key in keys}
        return list(self.marks_of(self.pair.default_run).positions(numbers))

    def marks_of(self, run: str) -> Marks:
        marks = self.marks_by_run.get(run)
        if marks is None:
            marks = self.marks_by_run[run] = Marks()
        return marks

    def _take_each(self, rows: Sequence[object]) -> Sequence[tuple[int, Finding]]:
        """Add the marks of records that are compared with other files in more than their ids."""
        reported: list[tuple[int, Finding]] = []
        for position, record in enumerate(rows):
            number = self.expected.number_of(self.key(record))
            run = self._run_of(record)
            findings = run_checks(self._checks, record)
            if number == NOT_EXPECTED:
                self._unknown.append(self.key(record))
            elif self.known_runs is None or run in self.known_runs:
                findings += self._enter(record, number, run, bad=any(f.severity == "error" for f in findings))
            reported += [(position, finding) for finding in findings]
        return reported

    def _enter(self, record: object, number: int, run: str, bad: bool) -> Sequence[Finding]:
        """Keep the mark of an expected record. Returns findings if it repeats an invalid record."""
        self.named.add(run)
        marks = self.marks_of(run)
        if bad:
            self._bad.setdefault(run, set()).add(number)
        if number in marks:
            repeats_invalid = marks.unscored_so_far(number) == INVALID
            marks.note(number, REPEATED)
            return self._repeated() if repeats_invalid else ()
        mark: Any = INVALID if bad else measured_mark(self.pair, self.expected.items[number], record)
        if type(mark) is Unscored:
            marks.note(number, mark)
        else:
            marks.add((number,), (mark,))
        return ()

    def _run_of(self, record: object) -> str:
        if self.pair.run is None:
            return self.pair.default_run
        run: str | None = getattr(record, self.pair.run)
        return self.pair.default_run if run is None else run

    def _repeated(self) -> list[Finding]:
        """Return the findings if one of two records of an item is invalid: the rule itself sees only valid records."""
        return [rule.repeated() for rule in self.unique]

    def reject(self, parsed: object) -> Sequence[Finding]:
        """Mark the item of an invalid record as not processed, or as repeated if it has another record."""
        key: Any = tuple(read_field(parsed, name) for name in self.pair.key)
        run = read_field(parsed, self.pair.run) if self.pair.run else None
        run = self.pair.default_run if run is None else run
        if not all(isinstance(part, str) for part in (*key, run)):
            return ()
        number = self.expected.number_of(key if len(key) > 1 else key[0])
        if number == NOT_EXPECTED:
            return ()
        marks = self.marks_of(run)
        again = number in marks
        self._next = number + 1
        marks.note(number, REPEATED if again else INVALID)
        self._bad.setdefault(run, set()).add(number)
        return self._repeated() if again else ()

    def changed(self, mark: Callable[[Any], Any]) -> Pairing:
        """Return a copy with a function applied to each mark."""
        other = copy(self)
        other.marks_by_run = {run: marks.changed(mark) for run, marks in self.marks_by_run.items()}
        return other

    def only(self, numbers: Sequence[int]) -> Pairing:
        """Return a copy with some of the items, in this order. It has the same runs."""
        other = copy(self)
        other.expected = self.expected.only(numbers)
        other.marks_by_run = {run: marks.only(numbers) for run, marks in self.marks_by_run.items()}
        return other

    def runs(self) -> dict[str, Marks]:
        """Return the marks of each run that counts, sorted by name."""
        names = self.named if self.known_runs is None else self.known_runs
        return {run: self.marks_by_run.get(run, Marks()) for run in sorted(names or {self.pair.default_run})}

    def mark_of(self, key: Key) -> Any:
        """Return the mark of an item in the default run; None without a record."""
        number = self.expected.index.get(key)
        return None if number is None else self.marks_by_run.get(self.pair.default_run, Marks()).get(number)

    def similar_to(self) -> Sequence[Key]:
        """Return the ids that an unknown one may be meant for: of many, those without a record, if there are any."""
        many = self.expected.total > _MANY_IDS
        return (self.missing() if many else ()) or self.expected.keys

    def missing(self) -> list[Key]:
        """Expected ids without a record in at least one run, in the order of the truth."""
        runs = [marks for marks in self.runs().values() if len(marks) < self.expected.total]
        if not runs:
            return []
        numbers = {number for marks in runs for number in marks.missing(self.expected.total)}
        return [self.expected.keys[number] for number in sorted(numbers)]


def marks(pairing: Pairing, run: str) -> list[Any]:
    """Return the mark of each expected item; None for items that are not processed."""
    run_marks = pairing.marks_by_run.get(run, Marks())
    found = run_marks.listed(len(pairing.expected.items))
    for number in run_marks.unscored:
        found[number] = None
    return found


def marks_as_bytes(pairing: Pairing, run: str, unprocessed: int) -> bytes:
    """Return what `marks` does, for marks that are integers below 256: `unprocessed` instead of None."""
    return pairing.marks_by_run.get(run, Marks()).as_bytes(len(pairing.expected.items), unprocessed)
