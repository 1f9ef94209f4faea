"""Reads one chunk of a file, in any process, and returns what is needed to merge it with the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from medcontract.contracts import registry
from medcontract.contracts.contract import RecordSink
from medcontract.contracts.rules import Accumulator, KeyHashes, UniqueIndex, stable_hash
from medcontract.errors import FileChanged
from medcontract.problems import Ref
from medcontract.reading.chunks import Slice, Span, hash_slices
from medcontract.reading.json_file import JsonFile, Member, TooLarge
from medcontract.reading.json_scanner import Broken
from medcontract.reading.limits import Limits
from medcontract.reading.source import Source, Unreadable
from medcontract.validation.csv_file import TableValidator
from medcontract.validation.dispatch import validator_for
from medcontract.validation.problem_collector import ProblemCollector
from medcontract.validation.records import RecordsValidator

_ENDS_EARLY = ("MC030", "MC020")
"""A row that is not closed, or too large: it may go on after the chunk."""


class ChunkSink(RecordSink, Protocol):
    """A sink for records whose state can be merged with that of other chunks."""

    def export(self) -> Any:
        """The state, in a form that can be sent to another process."""
        ...

    def absorb(self, state: Any) -> None:
        """Merge the state after the records that follow."""
        ...

    def conflict(self, state: Any) -> Any:
        """What the chunk with that state must know of earlier records to report right. None: nothing."""
        ...

    def follow(self, earlier: Any) -> None:
        """Start with what is known of earlier records."""
        ...


class Sinks(Protocol):
    """Makes sinks for chunks. It can be pickled, for other processes."""

    def fresh(self) -> ChunkSink | None: ...


class Chunk(NamedTuple):
    """One chunk of one file."""

    path: str
    name: str
    contract: str
    span: Span
    limits: Limits
    collector: ProblemCollector
    """An empty one."""
    stable: bool
    """Whether hashes of keys are compared with those of another process."""
    last: bool
    whole: bool
    """Whether it is the whole file, which may be compressed."""
    watched: bool
    earlier: tuple[Sequence[Any], Any] | None = None
    """What accumulators and sink must know of earlier records."""


class Outcome(NamedTuple):
    """What was found in a chunk."""

    records: int
    complete: bool
    """Whether the chunk can be read by itself. If not, the next ones are not chunks, either."""
    broken: bool
    collector: ProblemCollector
    accumulators: list[Accumulator]
    keys: list[KeyHashes]
    """For each rule about unique keys."""
    sink: Any
    lacking: tuple[str, ...]
    header: list[Member]
    list_at: int | None
    outer: Member | None
    start: int
    breaks: int
    """For tables: the number of line breaks."""
    digest: str
    """The hash of the bytes that were read, if they are watched."""


def read_chunk(sinks: Sinks, chunk: Chunk) -> Outcome | None:
    """Read a chunk. None if the file changed."""
    try:
        return _outcome(chunk, sinks.fresh())
    except (Unreadable, FileChanged):
        return None


def _slice(chunk: Chunk) -> Slice:
    return Slice(chunk.path, chunk.name, chunk.span, chunk.limits)


def _validator(chunk: Chunk, sink: ChunkSink | None) -> RecordsValidator:
    source = Source(chunk.path, chunk.name, chunk.limits) if chunk.whole else _slice(chunk)
    source.watched = chunk.watched
    source.prepare()
    validator = validator_for(source, registry.find(chunk.contract), chunk.collector.like(), None, sink)
    validator.in_chunk = True
    if isinstance(validator, TableValidator):
        validator.begin()
        validator.collector = validator.collector.like()  # problems of the header are reported once
    return validator


def _outcome(chunk: Chunk, sink: ChunkSink | None) -> Outcome:
    validator = _validator(chunk, sink)
    accumulators = [rule.begin() for rule in validator.contract.list_rules]
    for accumulator in accumulators:
        if isinstance(accumulator, UniqueIndex) and chunk.stable:
            accumulator.hash = stable_hash
    if chunk.earlier:
        for accumulator, known in zip(accumulators, chunk.earlier[0], strict=True):
            if known is not None:
                accumulator.follow(known)
        if sink and chunk.earlier[1] is not None:
            sink.follow(chunk.earlier[1])
    validator.stream(accumulators)
    file = getattr(validator, "file", None)
    file = file if isinstance(file, JsonFile) else None
    is_table = isinstance(validator, TableValidator)
    return Outcome(
        records=validator.records or 0, complete=_is_complete(validator, file, chunk), broken=validator.broken,
        collector=validator.collector, accumulators=accumulators,
        keys=[each.keys() for each in accumulators if isinstance(each, UniqueIndex)],
        sink=sink.export() if sink else None,
        lacking=tuple(validator.lacking) if isinstance(validator, TableValidator) else (),
        header=file.header if file else [], list_at=file.list_at if file else None,
        outer=file.outer if file else None, start=file.start if file else 0,
        breaks=validator.source.count_breaks() if is_table and isinstance(validator.source, Slice) else 0,
        digest=validator.source.sha256() if chunk.watched else "",
    )  # fmt: skip


def _is_complete(validator: RecordsValidator, file: JsonFile | None, chunk: Chunk) -> bool:
    """Whether the chunk ends where a record ends."""
    if chunk.last:
        return True
    if isinstance(validator, TableValidator) and validator.bad_row.code in _ENDS_EARLY:
        return False
    if file is None:
        return not validator.broken
    list_key = validator.contract.list_key
    return not validator.broken and file.outer is None and bool(file.header) and file.header[-1].key == list_key


def do(sinks: Sinks, work: Chunk | WholeFile) -> Any:
    """Read a chunk, or hash a file."""
    return read_chunk(sinks, work) if isinstance(work, Chunk) else hash_file(work)


def find_repeats(indexes: Sequence[UniqueIndex | None], chunk: Chunk) -> list[tuple[int, Any, Ref]]:
    """The records of a chunk whose key has a suspicious hash: the number of the rule, the key, and the place."""
    found: list[tuple[int, Any, Ref]] = []
    try:
        validator = _validator(chunk, None)
        for number, raw, offset, value in validator.one_by_one():
            checked = validator.value_of(raw) if value is None and raw else value
            if checked is None:
                continue
            for rule, index in enumerate(indexes):
                key = index.key(checked) if index else None
                if index and index.is_suspect(key):
                    found.append((rule, key, validator.ref(number, offset, len(raw))))
    except (Broken, TooLarge, Unreadable, FileChanged):
        pass  # as in `RecordsValidator.second_pass`
    return found


class WholeFile(NamedTuple):
    """A file whose bytes are hashed, completely and in slices."""

    path: str
    spans: Sequence[Span]


def hash_file(file: WholeFile) -> tuple[str, list[str]] | None:
    """The hash of a file, and those of its slices. None if it cannot be read, or if the slices do not add up to it."""
    try:
        with open(file.path, "rb") as stream:
            return hash_slices(stream, file.spans)
    except OSError:
        return None
