"""Reads one chunk of a file, in any process, and returns what is needed to merge it with the others."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from medcontract.contracts import registry
from medcontract.contracts.rules import Accumulator, CrossFileRule, OtherFile, Unique
from medcontract.errors import CallError, FileChanged
from medcontract.reading.chunks import RowGroups, Slice, Span
from medcontract.reading.csv_rows import CsvFile
from medcontract.reading.json_stream import JsonFile, Member
from medcontract.reading.limits import Limits
from medcontract.reading.source import Source, Unreadable, open_source
from medcontract.scoring import tracks
from medcontract.scoring.expected import Expected, ExpectedItems
from medcontract.scoring.pairing import Pair, Pairing
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.scorer import Scorer, ScoringOptions
from medcontract.scoring.track import Track
from medcontract.validation.dispatch import validator_for
from medcontract.validation.records import Landmark, RecordsValidator, begin_list_rules
from medcontract.validation.report import ProblemCollector
from medcontract.validation.tables import TableReader

_ENDS_EARLY = ("MC030", "MC020")
"""A row that is not closed, or too large: it may go on after the chunk."""


class Chunk(NamedTuple):
    """One chunk of one file."""

    path: str
    """A path or an address: each process opens the file itself."""
    version: tuple[object, ...] | None
    """The state of a file at an address: the chunks of another version do not belong together."""
    name: str
    contract: str
    span: Span
    limits: Limits
    collector: ProblemCollector
    """An empty one."""
    last: bool
    whole: bool
    """Whether it is the whole file, which may be compressed, or in an archive."""


class Outcome(NamedTuple):
    """What was found in a chunk."""

    records: int
    complete: bool
    """Whether the chunk can be read by itself. If not, the next ones are not chunks, either."""
    broken: bool
    collector: ProblemCollector
    accumulators: list[Accumulator]
    landmarks: list[Landmark]
    sink: Any
    lacking: tuple[str, ...]
    header: list[Member]
    list_at: int | None
    outer: Member | None
    start: int
    breaks: int
    """For CSV: the number of line breaks, with those of the header that was put before the chunk."""
    unpacked: int
    """The size of the rows of a Parquet file."""


def read_chunk(sinks: PairingSinks | None, chunk: Chunk) -> Outcome | None:
    """Read a chunk. None if the file changed, or cannot be read here."""
    try:
        return _outcome(chunk, sinks.fresh() if sinks else None)
    except (Unreadable, FileChanged):
        return None


def _source(chunk: Chunk) -> Source:
    """What a chunk is read from. Raises `Unreadable` or `FileChanged`."""
    if chunk.whole:
        source = open_source(chunk.path, chunk.limits)
        source.name = chunk.name
    elif chunk.span.groups:
        source = RowGroups(chunk.path, chunk.name, chunk.span, chunk.limits)
    else:
        source = Slice(chunk.path, chunk.name, chunk.span, chunk.limits)
    try:
        source.prepare()
    except CallError as error:  # a package that is missing here
        raise CallError(f"a worker cannot read {chunk.path}: {error.message}", error.hint) from None
    if source.version != chunk.version:
        raise source.changed()
    return source


def _outcome(chunk: Chunk, sink: Pairing | None) -> Outcome:
    source = _source(chunk)
    validator = validator_for(source, registry.find(chunk.contract), chunk.collector.like(), None, sink)
    reader = validator.reader
    reader.in_chunk = True
    if isinstance(reader, TableReader):
        reader.may_end_with_total = chunk.last
        reader.begin()
        reader.collector = reader.collector.like()  # problems of the header are reported once
    accumulators = begin_list_rules(validator.contract, sink)
    validator.stream(accumulators)
    if chunk.span.groups and validator.broken:
        raise validator.source.changed()  # or damaged: then no row of the file counts
    read = getattr(reader, "file", None)
    file = read if isinstance(read, JsonFile) else None
    return Outcome(
        records=validator.records or 0, complete=_is_complete(validator, file, chunk), broken=validator.broken,
        collector=validator.collector, accumulators=accumulators, landmarks=validator.landmarks,
        sink=sink.export() if sink else None,
        lacking=tuple(reader.lacking) if isinstance(reader, TableReader) else (),
        header=file.header if file else [], list_at=file.list_at if file else None,
        outer=file.outer if file else None, start=file.start if file else 0,
        breaks=read.line_breaks if isinstance(read, CsvFile) else 0,
        unpacked=validator.source.unpacked,
    )  # fmt: skip


def _is_complete(validator: RecordsValidator, file: JsonFile | None, chunk: Chunk) -> bool:
    """Whether the chunk ends where a record ends."""
    if chunk.last or chunk.span.groups:
        return True
    last = validator.last
    if isinstance(validator.reader, TableReader) and last and last.finding and last.finding.code in _ENDS_EARLY:
        return False
    if file is None:
        return not validator.broken
    list_key = validator.contract.list_key
    return not validator.broken and file.outer is None and bool(file.header) and file.header[-1].key == list_key


def do(sinks: PairingSinks | None, work: Chunk | WholeFile) -> Any:
    """Read a chunk, or hash a file."""
    return read_chunk(sinks, work) if isinstance(work, Chunk) else hash_file(work)


class WholeFile(NamedTuple):
    """A file whose bytes are hashed."""

    path: str
    version: tuple[object, ...] | None
    """As in `Chunk`."""
    limits: Limits


def hash_file(file: WholeFile) -> str | None:
    """Return the hash of a file. None if it changed, or cannot be read here."""
    try:
        source = open_source(file.path, file.limits)
        source.prepare()
        return source.sha256() if source.version == file.version else None
    except (Unreadable, FileChanged):
        return None


# --- sinks ------------------------------------------------------------------------------------------------------------


class Recipe(Struct, frozen=True):
    """What another process needs to make the scorer, and with it the functions of a pair."""

    track: str
    contracts: tuple[str, str]
    """Those of the truth and of the submission."""
    protocol: Protocol
    options: ScoringOptions

    @classmethod
    def of(cls, track: Track, scorer: Scorer, pair: Pair) -> Recipe:
        return cls(track.id, (pair.truth, pair.submission), scorer.protocol, scorer.options)

    def check(self) -> None:
        """Raises `PicklingError` if another process cannot know the track."""
        if not tracks.is_known_elsewhere(self.track):
            raise pickle.PicklingError(f"the track {self.track} was registered by a call")

    def find_pair(self) -> Pair:
        scorer = tracks.track(self.track).scorer(self.protocol, self.options, self.contracts)
        return next(pair for pair in scorer.pairs if (pair.truth, pair.submission) == self.contracts)


class PairingSinks:
    """Makes sinks for chunks of a submission, whose records are paired with a truth that was read before.

    It can be pickled, for other processes. Headers are compared by the process that merges the chunks.
    """

    def __init__(self, track: Track, scorer: Scorer, pairing: Pairing) -> None:
        self._recipe = Recipe.of(track, scorer, pairing.pair)
        self._pairing = pairing.fresh()

    def __getstate__(self) -> tuple[Any, ...]:
        self._recipe.check()
        pairing = self._pairing
        own = pairing.pair.truth
        named = {rule.other for rule in pairing.rules} - {own}
        others = {name: replace(pairing.others[name], header=None) for name in named}
        return self._recipe, pairing.expected.export(), pairing.rules, others, pairing.unique

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        truth: ExpectedItems
        rules: tuple[CrossFileRule, ...]
        others: dict[str, OtherFile]
        unique: tuple[Unique, ...]
        self._recipe, truth, rules, others, unique = state
        pair = self._recipe.find_pair()
        expected: Expected = Expected.of(pair, truth)
        self._pairing = Pairing(pair, expected, rules, {**others, pair.truth: expected.as_other_file()}, unique)

    def fresh(self) -> Pairing:
        return self._pairing.fresh()


def can_send(pairing: Pairing) -> bool:
    """Whether the marks of a submission can be sent between processes: not if they refer to complete records."""
    try:
        pickle.dumps(pairing.expected.items[:1])
    except (pickle.PicklingError, TypeError, AttributeError):
        return False
    return True
