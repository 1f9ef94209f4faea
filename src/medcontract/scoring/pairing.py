"""How the records of a submission find their expected items: one implementation for all tracks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from operator import attrgetter
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from msgspec import Struct

from medcontract.contracts.contract import Validated
from medcontract.contracts.rules import (
    CrossFileRule,
    Key,
    OtherFile,
    RecordCheck,
    Reference,
    Unique,
    record_checks,
    run_checks,
)
from medcontract.contracts.string_patterns import BLANKS
from medcontract.problems import Finding
from medcontract.scoring.canonical import content_sha256, record_text

Item = TypeVar("Item")
Mark = TypeVar("Mark")
MOST_EXAMPLES = 1000


class Unscored(NamedTuple):
    """Stands for the mark of an item that is not processed though there are records for it."""

    why: Literal["failed", "invalid", "repeated"]
    error: str = ""


INVALID, REPEATED = Unscored("invalid"), Unscored("repeated")


class Pair(Struct, Generic[Item, Mark], frozen=True, kw_only=True):
    """A truth and its submission: how their records find each other, and what is taken of them."""

    truth: str
    submission: str
    key: tuple[str, ...]
    item: Callable[[Any], Item]
    """What scoring needs of a record of the truth."""
    measure: Callable[[Item, Any], Mark]
    """What scoring needs of a processed record of the submission."""
    run: str | None = None
    """The field that names the run that a record belongs to."""
    default_run: str = ""
    can_fail: bool = True
    """Records have an `error`; one that says something was not processed."""

    own_truth: Callable[[], Expected[Item]] | None = None
    """The submission is its own truth: what reads it first, for what is expected."""


def validated(value: Any) -> Any:
    """The value inside. A plain one is refused: only the contract layer can vouch for data."""
    if type(value) is not Validated:
        raise TypeError(f"only validated data is scored, not {type(value).__name__}")
    return value.value


class Expected(Generic[Item]):
    """The truth as it streams in: the ids that are expected, and what is true of each."""

    empty: ClassVar[str] = "the truth is empty"
    """Why nothing can be scored if it has no items."""

    def __init__(
        self,
        key: Sequence[str],
        item: Callable[[Any], Item],
        checks: Sequence[RecordCheck] = (),
        wanted: Callable[[Any], bool] | None = None,
    ) -> None:
        self._key: Callable[[Any], Key] = attrgetter(*key)
        self._item = item
        self._checks = checks
        """Of rules about other files."""
        self._wanted = wanted
        """Which records are meant, where not all are."""
        self._texts: list[bytes] = []
        self.index: dict[Key, int] = {}
        self.items: list[Item] = []
        self.number_of: Callable[[Key], int | None] = self.index.get
        """The number of an expected item, None for an id that nothing expects."""

    @classmethod
    def of(cls, pair: Pair[Item, Any], index: dict[Key, int], items: list[Item]) -> Expected[Item]:
        """What another process read."""
        expected = cls(pair.key, pair.item)
        expected.index, expected.items, expected.number_of = index, items, index.get
        return expected

    def begin(self) -> None:
        """Nothing to do."""

    def take(self, records: Validated[Sequence[Any]]) -> Sequence[tuple[int, Finding]]:
        told: list[tuple[int, Finding]] = []
        for position, record in enumerate(validated(records)):
            if self._wanted and not self._wanted(record):
                continue
            if self.index.setdefault(self._key(record), len(self.items)) == len(self.items):
                self.items.append(self._item(record))
            self._texts.append(record_text(record))
            if self._checks:
                told += [(position, finding) for finding in run_checks(self._checks, record)]
        return told

    def find(self, key: Key) -> Item | None:
        """What is true of an expected id, None for one that nothing expects."""
        number = self.index.get(key)
        return None if number is None else self.items[number]

    def as_other_file(self, header: Any = None) -> OtherFile:
        """For rules of other files about this one."""
        return OtherFile(ids=self.index, find=self.find, header=header)

    def lose(self, parsed: Any) -> Sequence[Finding]:
        """A truth with errors is not scored against."""
        return ()

    def end(self, whole: bool) -> None:
        """As `lose`."""

    def content_sha256(self) -> str:
        return content_sha256(self._texts)

    def forget_texts(self) -> None:
        self._texts = []


class Anything(Expected[None]):
    """Where nobody says what is expected: each id that comes up is."""

    def __init__(self, key: Sequence[str]) -> None:
        super().__init__(key, lambda record: None)
        self.number_of = self._next

    def _next(self, key: Key) -> int:
        number = self.index.setdefault(key, len(self.items))
        if number == len(self.items):
            self.items.append(None)
        return number


Sheet = dict[int, Any]
"""For the number of an expected item, its mark, or why there is none. An item that is not here has no record."""


def merge(a: Sheet, b: Sheet) -> Sheet:
    """Both sheets in one: what both have is repeated. Associative, commutative, exact."""
    small, large = sorted((a, b), key=len)
    return {**large, **{number: REPEATED if number in large else mark for number, mark in small.items()}}


class Pairing(Generic[Item, Mark]):
    """The submission as it streams in: each record finds its expected item, and leaves a mark there."""

    def __init__(
        self,
        pair: Pair[Item, Mark],
        expected: Expected[Item],
        rules: Sequence[CrossFileRule] = (),
        others: Mapping[str, OtherFile] = MappingProxyType({}),
        unique: Sequence[Unique] = (),
    ) -> None:
        """`rules` and `unique` are rules of the submission; `others` is what is known of other files, by contract."""
        self.pair = pair
        self.expected = expected
        self.key: Callable[[Any], Key] = attrgetter(*pair.key)
        self.rules = tuple(rule for rule in rules if rule.other in others)
        self.others = others
        self.unique = tuple(unique)
        self.known_runs = self._runs_of_another_file()
        """The only runs that count, where another file says so."""
        self.sheets: dict[str, Sheet] = {}
        self.named: set[str] = set()
        """Runs that some valid record names."""
        self.unknown: list[Key] = []
        """Ids that nothing expects, the first of them."""
        self.unknown_count = 0
        self._checks = record_checks(self.rules, others)
        left = record_checks([rule for rule in self.rules if not self._kept_if_expected(rule)], others)
        self._simple = pair.run is None and not left
        self._before: tuple[dict[str, Sheet], set[str], int, int] | None = None

    def fresh(self) -> Pairing[Item, Mark]:
        """The same without any mark."""
        return Pairing(self.pair, self.expected, self.rules, self.others, self.unique)

    def _runs_of_another_file(self) -> Collection[str] | None:
        for rule in self.rules:
            if isinstance(rule, Reference) and rule.field == self.pair.run:
                return self.others[rule.other].ids
        return None

    def _kept_if_expected(self, rule: CrossFileRule) -> bool:
        """Whether every record of an expected id keeps the rule: no need to check it again."""
        return rule.other == self.pair.truth and isinstance(rule, Reference) and rule.id_fields == self.pair.key

    def forget(self) -> None:
        """Take all marks back."""
        self.sheets, self.named, self.unknown, self.unknown_count = {}, set(), [], 0

    def absorb(self, sheets: dict[str, Sheet], named: set[str]) -> bool:
        """The marks that another process made of other records. False: an item has records in both."""
        apart = all(self.sheets.get(run, {}).keys().isdisjoint(sheet) for run, sheet in sheets.items())
        self.sheets |= {run: merge(self.sheets.get(run, {}), sheet) for run, sheet in sheets.items()}
        self.named |= named
        return apart

    def begin(self) -> None:
        """Remember what is there: a file that cannot be read to its end leaves no marks."""
        sheets = {run: dict(sheet) for run, sheet in self.sheets.items()}
        self._before = sheets, set(self.named), len(self.unknown), self.unknown_count

    def end(self, whole: bool) -> None:
        if not whole and self._before:
            self.sheets, self.named, length, self.unknown_count = self._before
            del self.unknown[length:]
        self._before = None

    def take(self, records: Validated[Sequence[Any]]) -> Sequence[tuple[int, Finding]]:
        rows = validated(records)
        if not self._simple or not self._take_all_new(rows):
            return self._take_each(rows)
        return ()

    def _take_all_new(self, rows: Sequence[Any]) -> bool:
        """The quick way for records that all answer something expected for the first time. False: not so."""
        sheet = self.sheets.setdefault(self.pair.default_run, {})
        numbers = list(map(self.expected.number_of, map(self.key, rows)))
        if None in numbers or not sheet.keys().isdisjoint(numbers) or len(set(numbers)) < len(numbers):
            return False
        if self.pair.can_fail and any(row.error is not None for row in rows):
            return False
        items, measure = self.expected.items, self.pair.measure
        sheet.update(zip(numbers, map(measure, map(items.__getitem__, numbers), rows), strict=True))  # type: ignore[arg-type]
        self.named.add(self.pair.default_run)
        return True

    def _take_each(self, rows: Sequence[Any]) -> Sequence[tuple[int, Finding]]:
        told: list[tuple[int, Finding]] = []
        number_of = self.expected.number_of
        for position, record in enumerate(rows):
            number = number_of(self.key(record))
            run = self._run_of(record)
            findings = run_checks(self._checks, record)
            if number is None:
                self._count_unknown(record)
            elif self.known_runs is None or run in self.known_runs:
                findings += self._enter(record, number, run, bad=any(f.severity == "error" for f in findings))
            told += [(position, finding) for finding in findings]
        return told

    def _enter(self, record: Any, number: int, run: str, bad: bool) -> Sequence[Finding]:
        """Leave the mark of a record that is expected. What that shows to be wrong with it."""
        self.named.add(run)
        sheet = self.sheets.setdefault(run, {})
        if number not in sheet:
            sheet[number] = INVALID if bad else self._mark(record, number)
            return ()
        repeats_a_bad_one = sheet[number] == INVALID
        sheet[number] = REPEATED
        return self._repeated() if repeats_a_bad_one else ()

    def _mark(self, record: Any, number: int) -> Mark | Unscored:
        error = record.error if self.pair.can_fail else None
        if error is not None and error.strip(BLANKS):
            return Unscored("failed", error)
        return self.pair.measure(self.expected.items[number], record)

    def _run_of(self, record: Any) -> str:
        if self.pair.run is None:
            return self.pair.default_run
        run: str | None = getattr(record, self.pair.run)
        return self.pair.default_run if run is None else run

    def _count_unknown(self, record: Any) -> None:
        self.unknown_count += 1
        if len(self.unknown) < MOST_EXAMPLES:
            self.unknown.append(self.key(record))

    def _repeated(self) -> list[Finding]:
        """Of two records for an item one is bad: the rule itself, which sees good records only, reports nothing."""
        return [rule.repeated() for rule in self.unique]

    def lose(self, parsed: Any) -> Sequence[Finding]:
        """A bad record: not processed, and a second record for its item if there is a good one."""
        key: Any = tuple(read_field(parsed, name) for name in self.pair.key)
        run = read_field(parsed, self.pair.run) if self.pair.run else None
        run = self.pair.default_run if run is None else run
        if not all(isinstance(part, str) for part in (*key, run)):
            return ()
        number = self.expected.number_of(key if len(key) > 1 else key[0])
        if number is None:
            return ()
        sheet = self.sheets.setdefault(run, {})
        again = number in sheet
        sheet[number] = REPEATED if again else INVALID
        return self._repeated() if again else ()

    def changed(self, mark: Callable[[Any], Any]) -> Pairing[Item, Any]:
        """The same with something else for each mark."""
        other = copy(self)
        other.sheets = {
            run: {number: each if type(each) is Unscored else mark(each) for number, each in sheet.items()}
            for run, sheet in self.sheets.items()
        }
        return other

    def runs(self) -> dict[str, Sheet]:
        """The sheet of each run that counts, sorted by name."""
        names = self.named if self.known_runs is None else self.known_runs
        return {run: self.sheets.get(run, {}) for run in sorted(names or {self.pair.default_run})}

    def missing(self) -> list[Key]:
        """Expected ids without any record in some run, in the order of the truth."""
        sheets = list(self.runs().values())
        return [key for key, number in self.expected.index.items() if any(number not in sheet for sheet in sheets)]


def read_field(parsed: Any, name: str) -> Any:
    """A field of a record that is not valid, if it is there."""
    return parsed.get(name) if isinstance(parsed, dict) else getattr(parsed, name, None)


def marks(pairing: Pairing[Any, Any], run: str) -> list[Any]:
    """For each expected item its mark, or None when it is not processed."""
    sheet = pairing.sheets.get(run, {})
    found = (sheet.get(number) for number in range(len(pairing.expected.items)))
    return [None if type(mark) is Unscored else mark for mark in found]
