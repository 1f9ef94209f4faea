"""Pairs a submission with a truth that is too large to be sent to every worker.

The truth stays where its chunks were read, and is divided there into partitions by a hash of its ids. Each chunk of the
submission is read twice: first for its ids, which are looked up in the partitions, then as usual, with only the items
of these ids as its truth. Items keep their numbers, so that chunks are merged as always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, count
from operator import attrgetter
from typing import Any, NamedTuple, Protocol, TypeVar
from zlib import crc32

from medcontract.contracts.contract import Validated
from medcontract.contracts.rules import (
    Covers,
    CrossFileRule,
    Equal,
    Key,
    OtherFile,
    Reference,
    SameOrder,
    SameValue,
    Unique,
    is_ascending,
)
from medcontract.contracts.rules.id_hints import originals
from medcontract.evaluation.chunk_work import Chunk, Outcome, WholeFile, do, read_chunk
from medcontract.evaluation.sinks import PairingSinks
from medcontract.problems import Finding
from medcontract.scoring.expected import Expected, ExpectedState, read_field, validated
from medcontract.scoring.marks import Marks
from medcontract.scoring.pairing import EarlierRecords, Pair, Pairing, PairingState
from medcontract.scoring.scorer import Scorer
from medcontract.scoring.track import Track

Item = TypeVar("Item")


# The truth: what its chunks export, and how the process that merges them refers to it.


class Kept(NamedTuple):
    """A chunk of a truth, which stays where it was read."""

    state: ExpectedState

    def at(self, origin: str) -> KeptAt:
        return KeptAt(origin, len(self.state.keys))


class KeptAt(NamedTuple):
    """Where a chunk of a truth is, and how many items it has."""

    origin: str
    items: int


class KeepingSink(Expected[Item]):
    """Reads a chunk of a truth that is kept."""

    def fresh(self) -> KeepingSink[Item]:
        return KeepingSink(self.key, self._item, self.checks, self._wanted)

    def export(self) -> Kept:  # type: ignore[override]  # only `KeptExpected` gets it
        return Kept(super().export())


class KeptTruth(Protocol):
    """A truth that stays on workers."""

    has_repeated_ids: bool
    """Whether an id occurs in several chunks."""

    def keys(self) -> list[Key]:
        """All ids, in the order of the truth."""
        ...

    def items(self) -> list[Any]: ...

    def states(self) -> Iterator[ExpectedState]:
        """The chunks, in order."""
        ...

    def sha256(self) -> str:
        """The hash of the records (`ContentHash`)."""
        ...


class KeptExpected(Expected[Item]):
    """The expected items of a truth that stays on workers. Ids and items are only fetched if they are needed.

    If the truth cannot be read in chunks, it is like any other.
    """

    def __init__(
        self,
        key: Sequence[str],
        item: Callable[[Any], Item],
        checks: Sequence[Any],
        keep: Callable[[Sequence[KeptAt]], KeptTruth],
    ) -> None:
        self._keys: list[Key] | None = []
        self._items: list[Item] | None = []
        self._keep = keep
        self._chunks: list[KeptAt] = []
        self.kept: KeptTruth | None = None
        super().__init__(key, item, checks)

    @property
    def can_split(self) -> bool:
        return True

    def fresh(self) -> Expected[Item]:
        return KeepingSink(self.key, self._item, self.checks, self._wanted)

    def absorb(self, state: ExpectedState | KeptAt) -> None:
        if isinstance(state, KeptAt):
            self._chunks.append(state)
        else:
            super().absorb(state)

    def settle(self) -> None:
        """Divide the truth, once all of its chunks were read."""
        self.kept, kept = None, self._keep(self._chunks)
        if kept.has_repeated_ids:  # of records with the same id, only the first counts: number the items one by one
            for state in kept.states():
                super().absorb(state)
            return
        self.kept, self._keys, self._items = kept, None, None

    def __getstate__(self) -> dict[str, Any]:
        """Everything, for a process that needs all ids."""
        return {**vars(self), "_keys": self.keys, "_items": self.items, "kept": None, "_keep": None, "_chunks": []}

    @property
    def total(self) -> int:
        return sum(chunk.items for chunk in self._chunks) if self.kept else len(self.items)

    @property
    def keys(self) -> list[Key]:
        if self._keys is None:
            self._keys = self.kept.keys() if self.kept else []
            if not is_ascending(self._keys):
                self._index.update(zip(self._keys, count()))
        return self._keys

    @keys.setter
    def keys(self, keys: list[Key]) -> None:
        self._keys = keys

    @property
    def items(self) -> list[Item]:
        if self._items is None:
            self._items = self.kept.items() if self.kept else []
        return self._items

    @items.setter
    def items(self, items: list[Item]) -> None:
        self._items = items

    def content_sha256(self) -> str:
        return self.kept.sha256() if self.kept else super().content_sha256()


# The functions that workers run on chunks of the truth and on partitions.


class Entries(NamedTuple):
    """Items of a truth, with their ids and numbers."""

    keys: list[Key]
    numbers: list[int]
    items: list[Any]


def _hash(key: Key) -> int:
    """A hash that is the same in every process, and quick: it only has to be even, unlike `stable_hash`."""
    return crc32((key if isinstance(key, str) else "\0".join(map(str, key))).encode("utf-8", "surrogatepass"))


def first_numbers(chunks: Iterable[KeptAt]) -> list[int]:
    """The number of the first item of each chunk."""
    return [0, *accumulate(chunk.items for chunk in chunks)][:-1]


def divide(outcome: Outcome, first: int, partitions: int) -> list[Entries]:
    """The items of a chunk by partition; `first` is the number of the first one."""
    state: ExpectedState = outcome.sink.state
    found = [Entries([], [], []) for _ in range(partitions)]
    for number, key, item in zip(count(first), state.keys, state.items):
        entries = found[_hash(key) % partitions]
        entries.keys.append(key)
        entries.numbers.append(number)
        entries.items.append(item)
    return found


class Partition:
    """All items of a truth whose ids have a certain hash."""

    def __init__(self, chunks: Iterable[Entries]) -> None:
        self._found: dict[Key, tuple[int, Any]] = {}
        size = 0
        for keys, numbers, items in chunks:
            size += len(keys)
            self._found.update(zip(keys, zip(numbers, items, strict=True), strict=True))
        self.has_repeated_ids = len(self._found) < size

    def find(self, keys: Iterable[Key]) -> Entries:
        """The items of those ids that are expected."""
        known = [key for key in keys if key in self._found]
        found = [self._found[key] for key in known]
        return Entries(known, [number for number, _ in found], [item for _, item in found])


# The functions that workers run on chunks of the submission.


class IdSink:
    """Collects the ids of a chunk, also those of invalid records."""

    def __init__(self, key: tuple[str, ...]) -> None:
        self._fields = key
        self._key = attrgetter(*key)
        self._ids: set[Key] = set()

    def begin(self) -> None:
        """Nothing to do."""

    def take(self, records: Validated[Sequence[Any]]) -> Sequence[tuple[int, Finding]]:
        self._ids.update(map(self._key, validated(records)))
        return ()

    def reject(self, parsed: Any) -> Sequence[Finding]:
        key: Any = tuple(read_field(parsed, name) for name in self._fields)
        if all(isinstance(part, str) for part in key):
            self._ids.add(key if len(key) > 1 else key[0])
        return ()

    def end(self, complete: bool) -> None:
        """Nothing to do."""

    def export(self) -> set[Key]:
        return self._ids

    def absorb(self, state: set[Key]) -> None:
        self._ids |= state

    def conflict(self, state: set[Key]) -> None:
        """No report depends on earlier records."""

    def follow(self, earlier: Any) -> None:
        """Nothing to do."""


class IdSinks:
    """Makes sinks for the ids of chunks."""

    def __init__(self, key: tuple[str, ...]) -> None:
        self._key = key

    def fresh(self) -> IdSink:
        return IdSink(self._key)


class Ids(NamedTuple):
    """The ids of a chunk by partition, and the hash of the bytes that were read."""

    partitions: list[list[Key]]
    digest: str


def ids_of(how: tuple[IdSinks, int], chunk: Chunk) -> Ids:
    """The ids of a chunk of the submission, for so many partitions; none if it cannot be read."""
    sinks, partitions = how
    outcome = read_chunk(sinks, chunk._replace(earlier=None, stable=False))  # its other results are not used
    return _by_partition(outcome.sink if outcome else (), partitions, outcome.digest if outcome else "")


def _by_partition(keys: Iterable[Key], partitions: int, digest: str = "") -> Ids:
    found: list[list[Key]] = [[] for _ in range(partitions)]
    for key in keys:
        found[_hash(key) % partitions].append(key)
    return Ids(found, digest)


def similar_ids(ids: Ids, found: Sequence[Entries], partitions: int) -> Ids:
    """The ids that unknown ones may have been (`lost_zeros_hint`)."""
    known = {key for entries in found for key in entries.keys}
    unknown = [key for keys in ids.partitions for key in keys if key not in known]
    return _by_partition({other for key in unknown for other, _ in originals(key)}, partitions)


class TruthPart(NamedTuple):
    """The part of the truth that a chunk of the submission refers to, in the order of the truth."""

    entries: Entries
    digest: str
    """The hash of the chunk when its ids were read."""


def truth_part(ids: Ids, found: Sequence[Entries]) -> TruthPart:
    rows = {number: (key, item) for each in found for key, number, item in zip(*each, strict=True)}
    numbers = sorted(rows)
    return TruthPart(Entries([rows[n][0] for n in numbers], numbers, [rows[n][1] for n in numbers]), ids.digest)


class PartPairing(Pairing[Any, Any]):
    """Pairs a chunk with its part of the truth. In its state, items have the numbers of the whole truth."""

    def __init__(
        self,
        pair: Pair[Any, Any],
        expected: Expected[Any],
        rules: Sequence[CrossFileRule],
        others: Mapping[str, OtherFile],
        unique: Sequence[Unique],
        numbers: Sequence[int],
    ) -> None:
        super().__init__(pair, expected, rules, others, unique)
        self._numbers = numbers

    def export(self) -> PairingState:
        state, numbers = super().export(), self._numbers
        marks_by_run = {run: _renumbered(marks, numbers) for run, marks in state.marks_by_run.items()}
        bad = {run: {numbers[place] for place in places} for run, places in state.bad.items()}
        return state._replace(marks_by_run=marks_by_run, bad=bad)

    def follow(self, earlier: EarlierRecords) -> None:
        places = {number: place for place, number in enumerate(self._numbers)}
        marks_by_run = {run: _renumbered(marks, places) for run, marks in earlier.marks_by_run.items()}
        super().follow(earlier._replace(marks_by_run=marks_by_run))


def _renumbered(marks: Marks, numbers: Mapping[int, int] | Sequence[int]) -> Marks:
    """The marks with other numbers of items."""
    others = [numbers[number] for number in marks]
    first = others[0] if others else 0
    consecutive = range(first, first + len(others))
    result = Marks()
    result.add(consecutive if others == list(consecutive) else others, marks.values())
    return result


class JoiningSinks(PairingSinks):
    """For the records of a submission whose truth stays on workers: each chunk is read with its part of the truth."""

    def __init__(self, track: Track, scorer: Scorer, pairing: Pairing[Any, Any], kept: KeptTruth) -> None:
        super().__init__(track, scorer, pairing)
        self.kept = kept

    def truth_for_workers(self) -> tuple[list[Any], list[Any], bool]:
        return [], [], True

    @property
    def ids(self) -> IdSinks:
        return IdSinks(self._pairing.pair.key)

    def fresh_for(self, entries: Entries) -> PartPairing:
        """A sink for a chunk that refers to these items only."""
        whole = self._pairing
        pair: Pair[Any, Any] = whole.pair
        expected: Expected[Any] = Expected.of(pair, entries.keys, entries.items, is_ascending(entries.keys))
        others = {**whole.others, pair.truth: expected.as_other_file()}
        return PartPairing(pair, expected, whole.rules, others, whole.unique, entries.numbers)


class OneSink:
    """Makes the sink for one chunk."""

    def __init__(self, sink: Pairing[Any, Any]) -> None:
        self._sink = sink

    def fresh(self) -> Pairing[Any, Any]:
        return self._sink


def do_joined(sinks: JoiningSinks, work: Chunk | WholeFile, part: TruthPart | None = None) -> Any:
    """Like `do`. None if a chunk changed since its ids were read."""
    if not isinstance(work, Chunk) or part is None:
        return do(sinks, work)
    outcome = read_chunk(OneSink(sinks.fresh_for(part.entries)), work)
    return None if outcome is None or outcome.digest != part.digest else outcome


def is_kept(expected: Expected[Any]) -> bool:
    """Whether a truth stays on workers."""
    return isinstance(expected, KeptExpected) and expected.kept is not None


def kept_truth(pairing: Pairing[Any, Any]) -> KeptTruth | None:
    """The truth, if it stays on workers. None if a record may depend on other items than that with its id."""
    expected, pair = pairing.expected, pairing.pair
    rules = [rule for rule in pairing.rules if rule.other == pair.truth]
    if not isinstance(expected, KeptExpected) or not all(is_about_one_item(rule, pair) for rule in rules):
        return None
    return expected.kept


def is_about_one_item(rule: CrossFileRule, pair: Pair[Any, Any]) -> bool:
    """Whether the rule compares a record only with the item that has its id. Plugins may have other kinds of rules."""
    key = pair.key
    if rule.other != pair.truth:
        return False
    if type(rule) is Reference:
        return rule.id_fields == key and rule.default is None
    if type(rule) is SameValue or type(rule) is SameOrder:
        return (rule.key,) == key
    return type(rule) in (Equal, Covers)
