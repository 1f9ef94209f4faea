"""Reads one chunk of a file, in any process, and returns what is needed to merge it with the others."""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from medcontract.contracts import registry
from medcontract.contracts.rules import Accumulator, CrossFileRule, OtherFile, Unique
from medcontract.errors import CallError, FileChanged
from medcontract.reading.chunks import RowGroups, Slice, Span, hash_slices
from medcontract.reading.csv_rows import CsvFile
from medcontract.reading.json_stream import JsonFile, Member
from medcontract.reading.limits import Limits
from medcontract.reading.located_records import Landmark
from medcontract.reading.source import Source, Unreadable, file_state, open_file, open_source
from medcontract.scoring import tracks
from medcontract.scoring.expected import Expected, ExpectedItems
from medcontract.scoring.pairing import Pairing
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.scorer import Scorer, ScoringOptions
from medcontract.scoring.track import Track
from medcontract.validation.dispatch import validator_for
from medcontract.validation.records import RecordsValidator, begin_list_rules
from medcontract.validation.report import ProblemCollector
from medcontract.validation.tables import TableReader

_BUFFER = 1 << 18
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
    watched: bool


class WholeFile(NamedTuple):
    """A file whose bytes are hashed, completely and in slices."""

    path: str
    version: tuple[object, ...] | None
    """As in `Chunk`."""
    spans: Sequence[Span]


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
    """For CSV: the number of line breaks, also in the header that was put before the chunk."""
    digest: str
    """The hash of the bytes that were read, if they are watched."""
    unpacked: int
    """The size of the rows of a Parquet file."""


def do(sinks: PairingSinks | None, work: Chunk | WholeFile) -> Outcome | tuple[str, list[str]] | None:
    """Read a chunk, or hash a file. None if the file changed, or cannot be read here."""
    try:
        if isinstance(work, Chunk):
            return _outcome(work, sinks.fresh() if sinks else None)
        if work.version is not None and file_state(work.path) != work.version:
            return None
        with io.BufferedReader(open_file(work.path), _BUFFER) as stream:
            return hash_slices(stream, work.spans)
    except (Unreadable, FileChanged, OSError):
        return None


def _source(chunk: Chunk) -> Source:
    """Return what a chunk is read from. Raises `Unreadable` or `FileChanged`."""
    if chunk.whole:
        source = open_source(chunk.path, chunk.limits)
        source.name = chunk.name
    elif chunk.span.groups:
        source = RowGroups(chunk.path, chunk.name, chunk.span, chunk.limits)
    else:
        source = Slice(chunk.path, chunk.name, chunk.span, chunk.limits)
    source.watched = chunk.watched
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
        digest=validator.source.sha256() if chunk.watched else "", unpacked=validator.source.unpacked,
    )  # fmt: skip


def _is_complete(validator: RecordsValidator, file: JsonFile | None, chunk: Chunk) -> bool:
    """Check whether the chunk ends where a record ends."""
    if chunk.last or chunk.span.groups:
        return True
    last = validator.last_finding
    if isinstance(validator.reader, TableReader) and last and last.code in _ENDS_EARLY:
        return False
    if file is None:
        return not validator.broken
    list_key = validator.contract.list_key
    return not validator.broken and file.outer is None and bool(file.header) and file.header[-1].key == list_key


# --- sinks ------------------------------------------------------------------------------------------------------------


class PairingSinks:
    """Makes sinks for chunks of a submission, whose records are paired with a truth that was read before.

    It can be pickled, for other processes, which make the scorer again, and with it the functions of the pair. Headers
    are compared by the process that merges the chunks.
    """

    def __init__(self, track: Track, scorer: Scorer, pairing: Pairing) -> None:
        self._track, self._scorer, self._pairing = track, scorer, pairing.fresh()

    def __getstate__(self) -> _SentPairing:
        if not tracks.is_known_elsewhere(self._track.id):
            raise pickle.PicklingError(f"the track {self._track.id} was registered by a call")
        pairing, scorer = self._pairing, self._scorer
        pair = pairing.pair
        named = {rule.other for rule in pairing.rules} - {pair.truth}
        others = {name: replace(pairing.others[name], header=None) for name in named}
        return _SentPairing(
            self._track.id, scorer.protocol, scorer.options, (pair.truth, pair.submission), pairing.expected.export(),
            pairing.rules, others, pairing.unique,
        )  # fmt: skip

    def __setstate__(self, sent: _SentPairing) -> None:
        self._track = tracks.track(sent.track)
        self._scorer = self._track.scorer(sent.protocol, sent.options, sent.contracts)
        pair = next(each for each in self._scorer.pairs if (each.truth, each.submission) == sent.contracts)
        expected: Expected = Expected.of(pair, sent.truth)
        others = {**sent.others, pair.truth: expected.as_other_file()}
        self._pairing = Pairing(pair, expected, sent.rules, others, sent.unique)

    def fresh(self) -> Pairing:
        return self._pairing.fresh()


class _SentPairing(NamedTuple):
    track: str
    protocol: Protocol
    options: ScoringOptions
    contracts: tuple[str, str]
    """Pairs of the truth and of the submission."""
    truth: ExpectedItems
    rules: tuple[CrossFileRule, ...]
    others: dict[str, OtherFile]
    unique: tuple[Unique, ...]


def can_send(pairing: Pairing) -> bool:
    """Check whether the marks of a submission can be sent between processes: not if they refer to complete records."""
    try:
        pickle.dumps(pairing.expected.items[:1])
    except (pickle.PicklingError, TypeError, AttributeError):
        return False
    return True
