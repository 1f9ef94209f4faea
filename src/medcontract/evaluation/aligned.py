"""Reads a truth and a submission together, chunk by chunk, if their records have the same order.

In some tracks, a record cannot be measured without its item of the truth (`Pair.compares`). If both files have the same
order, as most have, they are divided at the same records: a worker reads a chunk of the truth, then the same records of
the submission, and neither texts nor labels of the truth are sent between processes.

The result is that of one process. A chunk whose records need another part of the truth, or a report that depends on
earlier records, makes it necessary to read the files again, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple

import msgspec

from medcontract.contracts.rules import CrossFileRule, Key, Unique
from medcontract.contracts.rules.id_hints import originals
from medcontract.evaluation.chunk_work import Chunk, ChunkSink, Outcome, WholeFile, find_repeats, hash_file, read_chunk
from medcontract.evaluation.engine import Engine, EngineFailed, SerialEngine, Work
from medcontract.evaluation.inputs import Files, Part, Settings, report_read
from medcontract.evaluation.joining import OneSink, is_about_one_item
from medcontract.evaluation.parallel import Prepared, prepare, read_prepared
from medcontract.evaluation.sinks import ExpectedSinks, NoSink, Recipe
from medcontract.problems import Finding
from medcontract.reading.chunks import KeyOf, aligned_spans
from medcontract.scoring.canonical import ContentHash
from medcontract.scoring.expected import Expected, ExpectedState, read_field
from medcontract.scoring.pairing import Pair, Pairing, PairingState
from medcontract.scoring.scorer import Scorer
from medcontract.scoring.track import Track
from medcontract.validation.dispatch import container_for

_MOST_OTHER_IDS = 1000
"""A chunk with more ids that are not in its part of the truth is not aligned."""


class NotAligned(Exception):  # not an error: the files are read again
    """The files have to be read one after the other."""


class AlignedChunk(NamedTuple):
    """The same records of a truth and of a submission."""

    truth: Chunk
    sent: Chunk


class ChunkState(NamedTuple):
    """What was read of a chunk of the submission."""

    state: PairingState
    """Items are numbered from the first one of the chunk of the truth."""
    other_ids: frozenset[Key]
    """Ids that are not in that chunk. If they are elsewhere in the truth, the chunks are not aligned."""

    def renumbered(self, by: int) -> PairingState:
        """The state with the numbers that items have in the whole truth."""
        state = self.state
        marks_by_run = {run: marks.moved(by) for run, marks in state.marks_by_run.items()}
        bad = {run: {number + by for number in numbers} for run, numbers in state.bad.items()}
        return state._replace(marks_by_run=marks_by_run, bad=bad)

    def is_aligned(self, expected: Expected[Any]) -> bool:
        """Whether the truth has none of the other ids, and none that they may have been (`lost_zeros_hint`)."""
        similar = (other for key in self.other_ids for other, _ in originals(key))
        return all(expected.number_of(key) is None for key in chain(self.other_ids, similar))


class ChunkPairing(Pairing[Any, Any]):
    """Pairs a chunk of the submission with the same chunk of the truth."""

    def __init__(
        self, pair: Pair[Any, Any], part: ExpectedState, rules: Sequence[CrossFileRule], unique: Sequence[Unique]
    ) -> None:
        expected: Expected[Any] = Expected.of(pair, part.keys, part.items, part.ascending)
        super().__init__(pair, expected, rules, {pair.truth: expected.as_other_file()}, unique)
        self._other_ids: set[Key] = set()

    def _count_unknown(self, record: Any) -> None:
        super()._count_unknown(record)
        self._note(self.key(record))

    def reject(self, parsed: Any) -> Sequence[Finding]:
        parts = tuple(read_field(parsed, name) for name in self.pair.key)
        if all(isinstance(part, str) for part in parts):
            self._note(parts if len(parts) > 1 else parts[0])
        return super().reject(parsed)

    def _note(self, key: Key) -> None:
        if self.expected.number_of(key) is None:
            self._other_ids.add(key)
        if len(self._other_ids) > _MOST_OTHER_IDS:
            raise NotAligned

    def export(self) -> ChunkState:  # type: ignore[override]  # it is renumbered before it is merged
        return ChunkState(super().export(), frozenset(self._other_ids))


class AlignedSinks:
    """Makes sinks for chunks of both files, also in other processes."""

    def __init__(
        self, recipe: Recipe, pair: Pair[Any, Any], truth: ExpectedSinks, rules: Sequence[CrossFileRule],
        unique: Sequence[Unique],
    ) -> None:  # fmt: skip
        self._recipe = recipe
        self.pair = pair
        self.truth = truth
        self.rules = rules
        self.unique = unique

    def __getstate__(self) -> tuple[Any, ...]:
        self._recipe.check()
        return self._recipe, self.truth, self.rules, self.unique

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._recipe, self.truth, self.rules, self.unique = state
        self.pair = self._recipe.find_pair()

    def for_chunk(self, part: ExpectedState) -> OneSink:
        """Makes the sink for a chunk of the submission, with the same chunk of the truth."""
        return OneSink(ChunkPairing(self.pair, part, self.rules, self.unique))


def do_aligned(sinks: AlignedSinks, work: AlignedChunk | WholeFile) -> Any:
    """Read the same chunk of both files, or hash a file. None if a file changed, or if the chunk is not aligned."""
    if isinstance(work, WholeFile):
        return hash_file(work)
    truth = read_chunk(sinks.truth, work.truth)
    if truth is None:
        return None
    part: ExpectedState = truth.sink
    try:
        sent = read_chunk(sinks.for_chunk(part), work.sent)
    except NotAligned:
        return None
    if sinks.pair.slim:
        truth = truth._replace(sink=part._replace(items=list(map(sinks.pair.slim, part.items))))
    return sent and (truth, sent)


class _Done(SerialEngine):
    """Returns results that are already there. Raises `NotAligned` if a chunk has to be read again."""

    def __init__(self, engine: Engine, results: Sequence[Any]) -> None:
        self.workers, self.stable = engine.workers, engine.stable
        self._engine = engine
        self._results: Sequence[Any] | None = results

    def map(self, work: Work[Any, Any], shared: Any, items: Sequence[Any]) -> Iterator[Any]:
        results, self._results = self._results, None
        if results is not None:
            return iter(results)
        if work is not find_repeats:
            raise NotAligned
        return self._engine.map(work, shared, items)


class Aligned:
    """A truth and a submission that are read together."""

    def __init__(self, engine: Engine, recipe: Recipe, pair: Pair[Any, Any], truth: Prepared, sent: Prepared) -> None:
        self._engine = engine
        self._recipe = recipe
        self._pair = pair
        self._truth = truth
        self._sent = sent
        self._pairing: Pairing[Any, Any] | None = None

    def read(self, parts: Sequence[Part], sinks: ExpectedSinks) -> Expected[Any] | None:
        """Read both files, of which `parts` is the truth. Returns it, or None if they have to be read separately."""
        if parts is not self._truth.parts:
            return None
        before = [(part.collector, part.validator) for part in parts]
        try:
            return self._read(sinks)
        except (EngineFailed, NotAligned):
            for part, (collector, validator) in zip(parts, before, strict=True):
                part.collector, part.validator = collector, validator
            return None

    def pairing(self, parts: Sequence[Part]) -> Pairing[Any, Any] | None:
        """The submission, if it was read with the truth."""
        return self._pairing if parts is self._sent.parts else None

    def _read(self, sinks: ExpectedSinks) -> Expected[Any]:
        pair, contract = self._pair, self._sent.parts[0].contract
        rules = [rule for rule in contract.file_rules if rule.other == pair.truth]
        unique = [rule for rule in contract.list_rules if isinstance(rule, Unique)]
        content = ContentHash()
        hashes, both = self._run(AlignedSinks(self._recipe, pair, sinks, rules, unique), content)
        expected = sinks.fresh()
        self._merge(self._truth, expected, [*hashes[:1], *(truth for truth, _ in both)])
        expected.absorb(ExpectedState([], [], True, content))
        sizes = [len(truth.sink.keys) for truth, _ in both]
        if expected.total != sum(sizes) or not all(sent.sink.is_aligned(expected) for _, sent in both):
            raise NotAligned
        firsts = accumulate(sizes[:-1], initial=0)
        outcomes = [
            sent._replace(sink=sent.sink.renumbered(first)) for (_, sent), first in zip(both, firsts, strict=True)
        ]
        pairing = Pairing(pair, expected, rules, {pair.truth: expected.as_other_file()}, unique)
        self._merge(self._sent, pairing, [*hashes[1:], *outcomes])
        self._pairing = pairing
        return expected

    def _run(self, sinks: AlignedSinks, content: ContentHash) -> tuple[list[Any], list[tuple[Outcome, Outcome]]]:
        """The hashes of both files, and the outcomes of their chunks. The records of the truth are in `content`."""
        chunks = [AlignedChunk(*both) for both in zip(self._truth.chunks, self._sent.chunks, strict=True)]
        hashed = [*self._truth.whole, *self._sent.whole]
        work: list[AlignedChunk | WholeFile] = [*hashed, *chunks]
        results: list[Any] = []
        for item, result in zip(work, self._engine.map(do_aligned, sinks, work), strict=True):
            if result is None:
                raise NotAligned
            if isinstance(item, AlignedChunk):
                truth, sent = result
                content.absorb(truth.sink.content)  # this process hashes while workers read on
                result = truth._replace(sink=truth.sink._replace(content=ContentHash())), sent
                report_read(self._truth.parts, item.truth.span.end)
                report_read(self._sent.parts, item.sent.span.end)
            results.append(result)
        return results[: len(hashed)], results[len(hashed) :]

    def _merge(self, prepared: Prepared, sink: ChunkSink, results: Sequence[Any]) -> None:
        if not read_prepared(prepared, sink, NoSink(), _Done(self._engine, results)):
            raise NotAligned


def align(track: Track, scorer: Scorer, files: Files, settings: Settings) -> Aligned | None:
    """What reads the truth and the submission together. None if that is not possible, or does not save time."""
    pairs = [pair for pair in scorer.pairs if pair.truth in files.groups or pair.submission in files.groups]
    if len(pairs) != 1 or not pairs[0].compares or pairs[0].own_truth:
        return None
    (pair,) = pairs
    truth, sent = files.groups.get(pair.truth, []), files.groups.get(pair.submission, [])
    if len(truth) != 1 or len(sent) != 1 or not all(map(_has_lines, (*truth, *sent))):
        return None
    others = [rule for rule in sent[0].contract.file_rules if rule.other in files.groups]
    engine = settings.engine_for([*truth, *sent], keeps_records=True)
    if not isinstance(engine, SerialEngine) or not all(is_about_one_item(rule, pair) for rule in others):
        return None
    found = aligned_spans(truth[0].source, sent[0].source, engine.workers, _key_reader(pair.key))
    if len(found) < 2:
        return None
    of_truth, of_sent = zip(*found, strict=True)
    prepared_truth, prepared_sent = prepare(truth, engine, [of_truth]), prepare(sent, engine, [of_sent])
    if prepared_truth is None or prepared_sent is None:
        return None
    return Aligned(engine, Recipe.of(track, scorer, pair.truth), pair, prepared_truth, prepared_sent)


def _has_lines(part: Part) -> bool:
    """Whether it is an uncompressed local file with one record per line."""
    source = part.source
    is_plain = source.path is not None and not source.packed and not source.in_archive
    return is_plain and container_for(source, part.contract).split == "lines"


def _key_reader(fields: Sequence[str]) -> KeyOf:
    def key_of(line: bytes) -> tuple[str, ...] | None:
        try:
            record = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        key = tuple(read_field(record, name) for name in fields) if isinstance(record, dict) else ()
        return key if key and all(isinstance(part, str) for part in key) else None

    return key_of
