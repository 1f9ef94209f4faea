"""Reads a submission while its truth is still being read.

In most tracks, what is measured of a record does not depend on the truth (`Pair.compares`). So workers can read the
submission at once. Of each record they keep its mark, and the fields that are compared with other files: its id, its
run, and what rules across files read. Meanwhile, this process reads the truth. Then it pairs what was kept, in the
order of the file, with the same code as without workers.

If a record has a problem that depends on the truth, its place is needed: then the submission is read again, as usual.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import repeat
from operator import attrgetter, countOf
from typing import Any, NamedTuple

from msgspec import defstruct

from medcontract.contracts.contract import Validated
from medcontract.contracts.rules import CrossFileRule
from medcontract.contracts.rules.collection import joined, split
from medcontract.evaluation.chunk_work import do
from medcontract.evaluation.engine import EngineFailed, SerialEngine, Work
from medcontract.evaluation.inputs import Files, Part, Settings
from medcontract.evaluation.parallel import Prepared, prepare, read_prepared
from medcontract.evaluation.sinks import Recipe
from medcontract.problems import Finding
from medcontract.scoring.expected import read_field, validated
from medcontract.scoring.marks import Marks
from medcontract.scoring.pairing import Pair, Pairing, get_error, measured_mark
from medcontract.scoring.scorer import Scorer
from medcontract.scoring.track import Track

_MARK = "_mark"
"""Fields of records do not start with an underscore."""


_OF_RECORD = ("record_fields", "record_check")


class PlaceNeeded(Exception):  # not an error: the submission is read again
    """A record has a problem whose place in the file is not known."""


class Noted(NamedTuple):
    """What is kept of the records of a chunk."""

    columns: list[Any]
    """For each field, the values of all valid records: a list, or a text (`joined`), which is quicker to send."""
    marks: list[Any] | bytearray
    is_scored: bool
    """Whether no mark is `Unscored`."""
    invalid: list[tuple[int, dict[str, Any]]]
    """Id and run of each invalid record, and the number of valid records before it."""


class Notes:
    """A sink for a chunk of the submission, which needs no truth."""

    def __init__(self, pair: Pair[Any, Any], fields: tuple[str, ...]) -> None:
        self._pair = pair
        self._columns: dict[str, list[Any]] = {name: [] for name in fields}
        self._marks = Marks()
        """Numbered by the valid records."""
        self._invalid: list[tuple[int, dict[str, Any]]] = []

    def begin(self) -> None:
        """Nothing to do."""

    def take(self, records: Validated[Sequence[Any]]) -> Sequence[tuple[int, Finding]]:
        rows, pair = validated(records), self._pair
        for name, column in self._columns.items():
            column += _values_of(rows, name)
        marks: Iterable[Any]
        if pair.can_fail and countOf(map(get_error, rows), None) < len(rows):
            marks = [measured_mark(pair, None, row) for row in rows]
        elif pair.measure_all:
            marks = pair.measure_all(repeat(None), rows)
        else:
            marks = map(pair.measure, repeat(None), rows)
        known = len(self._marks)
        self._marks.add(range(known, known + len(rows)), marks)
        return ()

    def reject(self, parsed: Any) -> Sequence[Finding]:
        names = (*self._pair.key, *([self._pair.run] if self._pair.run else []))
        self._invalid.append((len(self._marks), {name: _text_or_none(read_field(parsed, name)) for name in names}))
        return ()

    def end(self, complete: bool) -> None:
        """Nothing to do."""

    def export(self) -> Noted:
        columns = [joined(each) or each for each in self._columns.values()]
        return Noted(columns, self._marks.consecutive, not self._marks.may_be_unscored, self._invalid)

    def absorb(self, state: Any) -> None:
        """Never called: `NotedPairing` merges the chunks."""

    def conflict(self, state: Any) -> None:
        """Like `absorb`."""

    def follow(self, earlier: Any) -> None:
        """Like `absorb`."""


def _values_of(rows: Sequence[Any], name: str) -> list[Any]:
    """The values of a field; None for records of a form that does not have it."""
    try:
        return list(map(attrgetter(name), rows))
    except AttributeError:
        return [getattr(row, name, None) for row in rows]


def _text_or_none(value: Any) -> Any:
    """A field of an invalid record. What is not text identifies no record, and may be large: its type stands for it."""
    return value if value is None or isinstance(value, str) else type(value)


class NotesOfChunks:
    """Makes sinks for the chunks of a submission."""

    def __init__(self, recipe: Recipe, pair: Pair[Any, Any], fields: tuple[str, ...]) -> None:
        self._recipe = recipe
        self._pair = pair
        self.fields = fields

    def __getstate__(self) -> tuple[Recipe, tuple[str, ...]]:
        self._recipe.check()
        return self._recipe, self.fields

    def __setstate__(self, state: tuple[Recipe, tuple[str, ...]]) -> None:
        self._recipe, self.fields = state
        self._pair = self._recipe.find_pair()

    def fresh(self) -> Notes:
        return Notes(self._pair, self.fields)


class NotedPairing(Pairing[Any, Any]):
    """Pairs what was kept of records. Raises `PlaceNeeded` if one has a problem."""

    def __init__(self, pairing: Pairing[Any, Any], fields: tuple[str, ...]) -> None:
        super().__init__(pairing.pair, pairing.expected, pairing.rules, pairing.others, pairing.unique)
        self._row = defstruct("Row", [*fields, _MARK])

    def conflict(self, state: Any) -> None:
        """The chunks are paired in order, so that nothing depends on what is not known yet."""

    def absorb(self, state: Any) -> None:
        noted: Noted = state
        if self.is_simple and not noted.invalid and self._add_all(noted):
            return
        rows = list(map(self._row, *map(_values, noted.columns), noted.marks))
        at = 0
        for position, fields in noted.invalid:
            self._take_noted(rows[at:position])
            if self.reject(fields):
                raise PlaceNeeded
            at = position
        self._take_noted(rows[at:])

    def _add_all(self, noted: Noted) -> bool:
        """The fast path for records of expected items that have no record yet. False if it does not apply."""
        if not noted.marks:
            return True
        first, *others = noted.columns[: len(self.pair.key)]
        numbers: Sequence[int] | None = None
        if isinstance(first, str) and not others:
            numbers = self.next_items(first, len(noted.marks))
        if numbers is None:
            keys = list(zip(*map(_values, (first, *others)), strict=True)) if others else _values(first)
            numbers = self.new_items(keys)
        if numbers is None:
            return False
        self.add_marks(numbers, noted.marks, noted.is_scored)
        return True

    def _take_noted(self, rows: Sequence[Any]) -> None:
        if rows and self._take_each(rows):
            raise PlaceNeeded

    def _mark(self, record: Any, number: int) -> Any:
        return getattr(record, _MARK)


def _values(column: list[Any] | str) -> list[Any]:
    return split(column) if isinstance(column, str) else column


class Ahead:
    """A submission that workers are reading."""

    def __init__(self, prepared: Prepared, sinks: NotesOfChunks, started: _Started) -> None:
        self._prepared = prepared
        self._sinks = sinks
        self._started = started

    def pair(self, parts: Sequence[Part], pairing: Pairing[Any, Any]) -> Pairing[Any, Any] | None:
        """The records of these files, paired with their truth. None if they have to be read again."""
        noted, started = NotedPairing(pairing, self._sinks.fields), self._started
        try:
            if parts is self._prepared.parts and read_prepared(self._prepared, noted, self._sinks, started):
                return noted
        except PlaceNeeded:
            pass
        finally:
            started.stop()
        return None


class _Started(SerialEngine):
    """Returns results of workers that are already running. Then they end, and others do what is left to do."""

    def __init__(self, engine: SerialEngine, results: Iterator[Any], stop: Callable[[], None]) -> None:
        self.workers, self.stable = engine.workers, engine.stable
        self._engine = engine
        self._results: Iterator[Any] | None = results
        self.stop = stop

    def map(self, work: Work[Any, Any], shared: Any, items: Sequence[Any]) -> Iterator[Any]:
        results, self._results = self._results, None
        if results is not None:
            return results
        self.stop()
        return self._engine.map(work, shared, items)


@contextmanager
def reading_ahead(track: Track, scorer: Scorer, files: Files, settings: Settings) -> Iterator[Ahead | None]:
    """Start to read the submission, if that is possible without its truth and saves time."""
    with ExitStack() as stack:
        yield _start(track, scorer, files, settings, stack)


def _start(track: Track, scorer: Scorer, files: Files, settings: Settings, stack: ExitStack) -> Ahead | None:
    pairs = [pair for pair in scorer.pairs if pair.truth in files.groups or pair.submission in files.groups]
    if settings.jobs == 1 or len(pairs) != 1:
        return None
    (pair,) = pairs
    truth, parts = files.groups.get(pair.truth, []), files.groups.get(pair.submission, [])
    fields = _noted_fields(pair, parts) if truth and parts else None
    engine = settings.engine_for(parts) if fields else None
    if fields is None or not isinstance(engine, SerialEngine) or not _is_shorter(truth, parts, engine.workers):
        return None
    prepared = prepare(parts, engine)
    if prepared is None:
        return None
    sinks = NotesOfChunks(Recipe.of(track, scorer, pair.truth), pair, fields)
    try:
        results = stack.enter_context(engine.started(do, sinks, prepared.work))
    except EngineFailed:
        return None
    return Ahead(prepared, sinks, _Started(engine, results, stack.close))


def _noted_fields(pair: Pair[Any, Any], parts: Sequence[Part]) -> tuple[str, ...] | None:
    """The fields of records that are compared with other files. None if that may be any, or the item is needed, too."""
    if pair.compares or pair.own_truth:
        return None
    fields = [*pair.key, *([pair.run] if pair.run else [])]
    for rule in parts[0].contract.file_rules:
        read = _fields_read_by(rule)
        if read is None:
            return None
        fields += read
    return tuple(dict.fromkeys(fields))


def _fields_read_by(rule: CrossFileRule) -> tuple[str, ...] | None:
    """The fields of a record that a rule reads. None if they are not known: a subclass may check something else."""
    kinds = type(rule).__mro__
    of_fields, of_check = (next(kind for kind in kinds if name in vars(kind)) for name in _OF_RECORD)
    return rule.record_fields if issubclass(of_fields, of_check) else None


def _is_shorter(truth: Sequence[Part], parts: Sequence[Part], workers: int) -> bool:
    """Whether one process reads the truth in the time in which the workers read the submission."""
    return sum(part.source.size for part in truth) * (workers - 1) <= sum(part.source.size for part in parts)
