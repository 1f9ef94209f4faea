"""Reads large files in chunks, on any engine, and merges the outcomes.

The result is the same, byte for byte, as if one process had read the files from start to end:

- A chunk that does not end where a record ends shows that its border was wrong: from its start on, the file is read as
  one chunk.
- A report that depends on records in earlier chunks, such as one about an item with two records, is made again: the
  chunk is read once more, knowing what it has to know of them.
- Repeated ids are found by their hashes, then located in a second pass, also in chunks.

If that is not possible, because a file changes or the engine fails, one process reads the files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from medcontract.containers import BY_ENDING
from medcontract.contracts.rules import Accumulator, UniqueIndex
from medcontract.errors import FileChanged
from medcontract.evaluation.chunk_work import Chunk, ChunkSink, Outcome, Sinks, WholeFile, do, find_repeats, read_chunk
from medcontract.evaluation.engine import Engine, EngineFailed, SerialEngine
from medcontract.evaluation.inputs import Part, Settings, report_read
from medcontract.evaluation.sinks import NoSink
from medcontract.problems import Finding, Ref
from medcontract.reading.chunks import spans
from medcontract.reading.json_file import JsonFile
from medcontract.reading.line_index import line_breaks
from medcontract.reading.slices import Span
from medcontract.reading.source import Unreadable
from medcontract.validation.csv_file import TableValidator
from medcontract.validation.dispatch import container_for, validator_for
from medcontract.validation.json_file import JsonValidator
from medcontract.validation.problem_collector import MOST_KINDS
from medcontract.validation.records import RecordsValidator, Repeats, settle_parts


class _Piece:
    """A chunk and its outcome, with the places of its records in the file and in the collection."""

    def __init__(self, chunk: Chunk, outcome: Outcome) -> None:
        self.chunk = chunk
        self.outcome = outcome
        self.before = 0
        """The number of records in the file before the chunk."""
        self.lines = 0
        """The number of lines before the chunk, minus those of its prefix."""

    def move(self, ref: Ref) -> Ref:
        """A place in the file, from one in the chunk."""
        if ref.record is None:
            return ref
        prefix = (ref.prefix[0], self.before + ref.record) if ref.prefix else ()
        line = None if ref.line is None else ref.line + self.lines
        return Ref(ref.offset + self.chunk.span.shift, ref.length, self.before + ref.record, prefix, line)

    def move_finding(self, finding: Finding) -> Finding:
        offset = None if finding.offset is None else finding.offset + self.chunk.span.shift
        return finding._replace(offset=offset, ref=finding.ref and self.move(finding.ref))

    def move_in_collection(self, base: int) -> Callable[[Ref], Ref]:
        def move(ref: Ref) -> Ref:
            moved = self.move(ref)
            return moved._replace(record=(moved.record or 0) + base)

        return move


class _File:
    """One file of the collection."""

    def __init__(self, part: Part, pieces: list[_Piece]) -> None:
        self.part = part
        self.pieces = pieces
        before, lines = 0, 0
        for piece in pieces:
            piece.before = before
            piece.lines = lines - line_breaks(piece.chunk.span.prefix)
            before += piece.outcome.records
            lines += piece.outcome.breaks
        self.records = before
        self.base = 0

    def complete(self, validator: RecordsValidator) -> None:
        """Tell the validator of the whole file what was read."""
        if isinstance(validator, JsonValidator):
            validator.file = self._json_file()
        validator.base = self.base
        validator.broken = any(piece.outcome.broken for piece in self.pieces)
        validator.records = 0 if validator.broken else self.records

    def is_broken(self) -> bool:
        """Whether the file cannot be read completely; also if its header is to blame."""
        trial = validator_for(self.part.source, self.part.contract, self.part.collector.like())
        self.complete(trial)
        trial.finish()
        return trial.broken

    def _json_file(self) -> JsonFile:
        """The members around the list: those before it are in the first chunk, those after it in the last."""
        file = JsonFile(self.part.source, self.part.contract.list_key, lambda raw: None)
        first, last = self.pieces[0].outcome, self.pieces[-1]
        file.start, file.list_at, file.outer = first.start, first.list_at, first.outer
        file.header = list(first.header)
        if len(self.pieces) > 1:
            shift = last.chunk.span.shift
            file.header += [
                member._replace(offset=member.offset + shift, key_offset=member.key_offset + shift)
                for member in last.outcome.header[1:]
            ]
        return file


class Prepared(NamedTuple):
    """Files that can be read in chunks."""

    parts: Sequence[Part]
    begun: Sequence[RecordsValidator]
    """Validators that have checked what precedes the records."""
    plans: Sequence[Sequence[Chunk]]
    """The chunks of each file."""

    @property
    def whole(self) -> list[WholeFile]:
        """The files to hash."""
        return [_whole(plan) for plan in self.plans if _is_hashed_apart(plan)]

    @property
    def chunks(self) -> list[Chunk]:
        return [chunk for plan in self.plans for chunk in plan]

    @property
    def work(self) -> list[Chunk | WholeFile]:
        """All chunks, and before them the files to hash: for a large file, that takes longer than to read a chunk."""
        return [*self.whole, *self.chunks]


def prepare(parts: Sequence[Part], engine: Engine, found: Sequence[Sequence[Span]] | None = None) -> Prepared | None:
    """Divide files into chunks, at given borders if there are any. None if one process must read them."""
    if any(part.source.location is None for part in parts) or parts[0].contract.kind == "document":
        return None
    found = found or [_spans(part, engine) for part in parts]
    if sum(map(len, found)) < 2:
        return None
    begun = [_begin(part) for part in parts]
    if not all(begun) or not engine.is_ready():
        return None
    plans = [_chunks(part, each, engine) for part, each in zip(parts, found, strict=True)]
    return Prepared(parts, [each for each in begun if each], plans)


def read_in_chunks(parts: Sequence[Part], sink: ChunkSink | None, sinks: Sinks, engine: Engine) -> bool:
    """Check files as parts of one collection. False if one process must do it; then nothing has changed."""
    prepared = prepare(parts, engine)
    return prepared is not None and read_prepared(prepared, sink, sinks, engine)


def read_prepared(prepared: Prepared, sink: ChunkSink | None, sinks: Sinks, engine: Engine) -> bool:
    """Like `read_in_chunks`."""
    parts = prepared.parts
    try:
        outcomes = _run(prepared, sinks, engine)
    except EngineFailed:
        return False
    if outcomes is None:
        _refuse_changed(parts)
        return False
    if _too_many_kinds(outcomes) or any(map(_is_too_large, outcomes)):
        return False
    files = [_File(*each) for each in zip(parts, outcomes, strict=True)]
    accumulators, all_complete = _merge_states(files, sink, sinks, engine)
    if not all_complete:
        accumulators = []
    indexes = [each for each in accumulators if isinstance(each, UniqueIndex)]
    repeats = _find_repeats(files, indexes, engine) if indexes else []
    _report(files, prepared.begun, accumulators, repeats)
    return True


def run_validator(validator: RecordsValidator, settings: Settings) -> RecordsValidator:
    """Check one file, in chunks if that pays off. Returns the validator that has the findings."""
    part = Part(validator.source, validator.contract, validator.collector)
    part.progress = validator.progress
    engine = settings.engine_for([part])
    if engine and read_in_chunks([part], None, NoSink(), engine) and part.validator:
        return part.validator
    validator.run()
    return validator


def _refuse_changed(parts: Sequence[Part]) -> None:
    """Raises `FileChanged`, as one process would: no score for a file that is not the one that was given."""
    for part in parts:
        if part.source.watched and not part.source.is_unchanged():
            raise part.source.changed()


def _too_many_kinds(outcomes: Sequence[Sequence[_Piece]]) -> bool:
    """Whether there are so many kinds of problems that a collector might not count all of them."""
    return sum(len(piece.outcome.collector.totals) for pieces in outcomes for piece in pieces) >= MOST_KINDS


def _is_too_large(pieces: Sequence[_Piece]) -> bool:
    """Whether a Parquet file may decompress to more than the limit: one process finds out where."""
    return sum(piece.outcome.unpacked for piece in pieces) > pieces[0].chunk.limits.unpacked


def _spans(part: Part, engine: Engine) -> list[Span]:
    return spans(part.source, container_for(part.source, part.contract), part.contract.list_key, engine.workers)


def _chunks(part: Part, found: Sequence[Span], engine: Engine) -> list[Chunk]:
    source = part.source
    container = container_for(source, part.contract)
    name = source.name if source.ending in BY_ENDING else f"{source.name}{container.endings[0]}"
    return [
        Chunk(
            path=source.location or "", version=source.version, name=name, contract=part.contract.id, span=span,
            limits=source.limits, collector=part.collector.like(), stable=engine.stable, last=span is found[-1],
            whole=len(found) == 1, watched=source.watched,
        )
        for span in found
    ]  # fmt: skip


def _begin(part: Part) -> RecordsValidator | None:
    """A validator, with its own collector, that has checked what precedes the records. None if they are not read."""
    validator = validator_for(part.source, part.contract, deepcopy(part.collector))
    try:
        return validator if validator.begin() else None
    except Unreadable:
        return None


def _run(prepared: Prepared, sinks: Sinks, engine: Engine) -> list[list[_Piece]] | None:
    """The chunks of each file and their outcomes. None if a file changed."""
    parts, plans, work = prepared.parts, prepared.plans, prepared.work
    results: list[Any] = []
    done = 0
    for item, result in zip(work, engine.map(do, sinks, work), strict=True):
        if result is None:
            return None
        results.append(result)
        done += item.span.end - item.span.start if isinstance(item, Chunk) else 0
        report_read(parts, done)
    report_read(parts)
    chunks = sum(map(len, plans))
    hashes, outcomes = iter(results[:-chunks]), iter(results[-chunks:])
    files = [[_Piece(chunk, next(outcomes)) for chunk in plan] for plan in plans]
    for number, part in enumerate(parts):
        found = next(hashes) if _is_hashed_apart(plans[number]) else None
        if not all(piece.outcome.complete for piece in files[number]):
            rest = _read_rest(part, files[number], sinks, engine)
            if rest is None:
                return None
            files[number], found = rest
        if not _is_unchanged(part, files[number], found):
            return None
    return files


def _is_hashed_apart(plan: Sequence[Chunk]) -> bool:
    """Whether the hash of a file is needed, and not that of its only chunk."""
    return plan[0].watched and len(plan) > 1


def _whole(plan: Sequence[Chunk]) -> WholeFile:
    return WholeFile(plan[0].path, plan[0].version, [chunk.span for chunk in plan])


def _read_rest(
    part: Part, pieces: Sequence[_Piece], sinks: Sinks, engine: Engine
) -> tuple[list[_Piece], tuple[str, list[str]] | None] | None:
    """Read a file as one chunk from the first one that is not complete on. Also returns the new hashes."""
    first = next(number for number, piece in enumerate(pieces) if not piece.outcome.complete)
    chunk = pieces[first].chunk
    span = chunk.span._replace(end=part.source.size, suffix=b"")
    rest = chunk._replace(span=span, last=True, whole=first == 0)
    chunks = [*(piece.chunk for piece in pieces[:first]), rest]
    apart = _is_hashed_apart(chunks)
    work: list[Chunk | WholeFile] = [rest, _whole(chunks)] if apart else [rest]
    results = list(engine.map(do, sinks, work))
    if None in results:
        return None
    return [*pieces[:first], _Piece(rest, results[0])], results[1] if apart else None


def _is_unchanged(part: Part, pieces: Sequence[_Piece], hashes: tuple[str, list[str]] | None) -> bool:
    """Whether all chunks are of the same version of the file. Its hash is noted. May raise `FileChanged`."""
    watched = pieces[0].chunk.watched
    if not part.source.is_unchanged():  # also before any chunk was read: then the hashes agree
        if watched:
            raise part.source.changed()
        return False
    if watched and len(pieces) == 1:
        part.source.note_hash(pieces[0].outcome.digest)
        return True
    if hashes:
        whole, digests = hashes
        if any(piece.outcome.digest not in ("", digest) for piece, digest in zip(pieces, digests, strict=True)):
            raise part.source.changed()
        part.source.note_hash(whole)
    return True


def _retry_here(engine: Engine, work: Callable[[Any, Chunk], Any], shared: Any, chunks: Sequence[Chunk]) -> list[Any]:
    """Results for which it is too late to start again: if the engine fails, this process computes them.

    Raises `FileChanged` if a file cannot be read any more.
    """
    try:
        results = list(engine.map(work, shared, chunks))
    except EngineFailed:
        results = [None] * len(chunks)
    for number, chunk in enumerate(chunks):
        if results[number] is None:
            results[number] = work(shared, chunk)
        if results[number] is None:
            raise FileChanged(f"{chunk.name}: the file changed while it was being read")
    return results


def _merge_states(
    files: Sequence[_File], sink: ChunkSink | None, sinks: Sinks, engine: Engine
) -> tuple[list[Accumulator], bool]:
    """Merge what accumulators and sinks know, and read again the chunks that report something wrong.

    Also returns whether all files can be read completely.
    """
    accumulators = [rule.begin() for rule in files[0].part.contract.list_rules]
    again: list[tuple[_Piece, Chunk]] = []
    base, all_complete = 0, True
    for file in files:
        file.base, complete = base, not file.is_broken()
        if sink:
            sink.begin()
        for piece in file.pieces:
            outcome, move = piece.outcome, piece.move_in_collection(base)
            known = [each.known() for each in accumulators]
            right = [mine.absorb(theirs, move) for mine, theirs in zip(accumulators, outcome.accumulators, strict=True)]
            earlier = sink.conflict(outcome.sink) if sink else None
            if earlier is not None or not all(right):
                again.append((piece, piece.chunk._replace(earlier=(known, earlier))))
            if sink:
                sink.absorb(outcome.sink)
        if sink:
            sink.end(complete)
        base += file.records if complete else 0
        all_complete = all_complete and complete
    if again:
        results = _retry_here(engine, do, sinks, [chunk for _, chunk in again])
        for (piece, _), result in zip(again, results, strict=True):
            piece.outcome = piece.outcome._replace(collector=result.collector, lacking=result.lacking)
        _check_unchanged(files)
    return accumulators, all_complete


def _check_unchanged(files: Sequence[_File]) -> None:
    """Raise `FileChanged` if a file changed since its chunks were read first: what was read again may not match."""
    for file in files:
        if not file.part.source.is_unchanged():
            raise file.part.source.changed()


Found = list[tuple[int, Any, Ref]]
"""The number of a rule, a key and its place in a chunk."""


def _find_repeats(files: Sequence[_File], indexes: Sequence[UniqueIndex], engine: Engine) -> list[Found]:
    """For each chunk, the records whose keys may be repeated; nothing if there are none."""
    pieces = [piece for file in files for piece in file.pieces]
    for index, repeated in zip(indexes, _repeated_hashes(pieces, engine), strict=True):
        index.suspects = index.suspects | repeated
    wanted = [index if index.suspects else None for index in indexes]
    if not any(wanted):
        return []
    found = _retry_here(engine, find_repeats, wanted, [piece.chunk for piece in pieces])
    _check_unchanged(files)
    return found


def _repeated_hashes(pieces: Sequence[_Piece], engine: Engine) -> list[set[int]]:
    """For each rule, the hashes of keys in more than one chunk. If they are lost, the chunks are read again."""
    try:
        return engine.repeated([piece.outcome.keys for piece in pieces])
    except EngineFailed:
        here = SerialEngine()
        again = list(here.map(read_chunk, NoSink(), [piece.chunk for piece in pieces]))
        if None in again:
            raise FileChanged(f"{pieces[0].chunk.name}: the file changed while it was being read") from None
        return here.repeated([outcome.keys for outcome in again if outcome])


def _report(
    files: Sequence[_File],
    validators: Sequence[RecordsValidator],
    accumulators: Sequence[Accumulator],
    found: Sequence[Found],
) -> None:
    """Give all findings to the validators of the files, in the order of one process."""
    for file, validator in zip(files, validators, strict=True):
        file.complete(validator)
        file.part.validator, file.part.collector = validator, validator.collector
        for piece in file.pieces:
            validator.collector.absorb(piece.outcome.collector, piece.move_finding)
            if isinstance(validator, TableValidator):
                validator.also_lacks(piece.outcome.lacking)
        validator.collector.new_series()
        validator.finish()
    settle_parts(validators, [each for each in accumulators if not isinstance(each, UniqueIndex)])
    indexes = [each for each in accumulators if isinstance(each, UniqueIndex)]
    of_pieces = iter(found)
    for number, (file, validator) in enumerate(zip(files, validators, strict=True) if found else ()):
        validator.collector.new_series()
        repeats = Repeats(validator, indexes, (number, os.path.basename(file.part.source.name)))
        for piece in file.pieces:
            for rule, key, ref in next(of_pieces):
                repeats.see_key(indexes[rule], key, piece.move(ref))
        repeats.finish()
