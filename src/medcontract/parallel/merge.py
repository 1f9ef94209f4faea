"""Reads large files in chunks, on any pool, and merges the outcomes.

The result is the same, byte for byte, as if one process had read the files from start to end. Where repeated ids are
is found out by this process: it reads only the parts of the files that contain them. One process reads the files again
if the outcome of a chunk depends on others (it does not end where a record ends, or reports something about an item
that another chunk has, too), and if a file changes or the pool fails. That is simple, right, and rare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from itertools import islice
from typing import Any

from medcontract.containers import BY_ENDING
from medcontract.contracts.rules import Accumulator, UniqueIndex
from medcontract.parallel.chunk import Chunk, Outcome, PairingSinks, WholeFile, do
from medcontract.parallel.pool import Pool, PoolFailed
from medcontract.problems import Finding, Ref
from medcontract.reading.chunks import spans
from medcontract.reading.csv_rows import line_breaks
from medcontract.reading.json_stream import JsonFile
from medcontract.reading.located_records import Broken, Landmark, TooLarge, one_by_one
from medcontract.reading.source import Unreadable
from medcontract.scoring.pairing import Pairing
from medcontract.validation.dispatch import Part, container_for, report_read, validator_for
from medcontract.validation.json_objects import JsonReader
from medcontract.validation.records import RecordsValidator, begin_list_rules, settle_parts
from medcontract.validation.report import MOST_KINDS
from medcontract.validation.tables import TableReader

_FIRST = 64


class _Piece:
    """A chunk and its outcome, with the places of its records in the file and in the collection."""

    def __init__(self, chunk: Chunk, outcome: Outcome) -> None:
        self.chunk = chunk
        self.outcome = outcome
        self.before = 0
        """The number of records in the file before the chunk."""
        self.lines = 0
        """The number of lines before the chunk, minus the lines of its prefix."""

    def landmarks(self, unique: Sequence[UniqueIndex]) -> list[Landmark]:
        """Return the places in the file, given the keys of the chunks before this one."""
        before, shift = [index.key_count() for index in unique], self.chunk.span.shift
        return [
            Landmark(self.before + mark.record, shift + mark.offset, list(map(int.__add__, before, mark.keys)))
            for mark in self.outcome.landmarks
        ]

    def move(self, ref: Ref) -> Ref:
        """Return a place in the file, from one in the chunk."""
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
            lines = piece.lines + piece.outcome.breaks
        self.records = before
        self.base = 0
        self.landmarks: list[Landmark] = []

    def complete(self, validator: RecordsValidator) -> None:
        """Tell the validator of the whole file what was read."""
        if isinstance(validator.reader, JsonReader):
            validator.reader.file = self._json_file()
        validator.base = self.base
        validator.landmarks = self.landmarks
        validator.broken = any(piece.outcome.broken for piece in self.pieces)
        validator.records = 0 if validator.broken else self.records

    def is_broken(self) -> bool:
        """Check whether the file cannot be read completely; also if its header is to blame."""
        trial = validator_for(self.part.source, self.part.contract, self.part.collector.like())
        self.complete(trial)
        trial.finish()
        return trial.broken

    def _json_file(self) -> JsonFile:
        """Return the members around the list: those before it are in the first chunk, those after it in the last."""
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


def read_in_chunks(parts: Sequence[Part], sink: Pairing | None, sinks: PairingSinks | None, pool: Pool) -> bool:
    """Check files as parts of one collection. False if one process must do it; then nothing has changed."""
    if any(part.source.location is None for part in parts) or parts[0].contract.kind == "document":
        return False
    plans = [_chunks(part, pool) for part in parts]
    if sum(map(len, plans)) < 2:
        return False
    begun = [validator_for(part.source, part.contract, deepcopy(part.collector)) for part in parts]
    if not all(validator.begin() for validator in begun) or not pool.is_ready():
        return False
    merged = sinks.fresh() if sinks else None
    if merged:
        merged.look_at(_first_records(begun[0]))
    try:
        outcomes = _run(parts, plans, sinks, pool)
    except PoolFailed:
        return False
    if outcomes is None:
        _refuse_changed(parts)
        return False
    if sum(len(piece.outcome.collector.totals) for pieces in outcomes for piece in pieces) >= MOST_KINDS:
        return False  # a collector might not count all of them
    if any(map(_is_too_large, outcomes)):
        return False
    files = [_File(*each) for each in zip(parts, outcomes, strict=True)]
    accumulators = _merge_states(files, merged)
    if accumulators is None:
        return False
    _report(files, begun, accumulators)
    _refuse_changed(parts)
    if sink and merged:
        sink.absorb(merged.export())
    return True


def _first_records(validator: RecordsValidator) -> list[Any]:
    """Return some valid records at the start of a file; none if it starts with something else."""
    found: list[Any] = []
    with suppress(Broken, TooLarge, Unreadable):
        for item in islice(validator.reader.records(validator.decoders), _FIRST):
            found += [record.value for record in one_by_one(item) if record.value]
            if len(found) >= _FIRST:
                break
    return found


def run_validator(validator: RecordsValidator, pool: Pool) -> RecordsValidator:
    """Check one file, in chunks if that is possible. Returns the validator that has the findings."""
    part = Part(validator.source, validator.contract, validator.collector)
    part.progress = validator.progress
    if read_in_chunks([part], None, None, pool) and part.validator:
        return part.validator
    validator.run()
    return validator


def _refuse_changed(parts: Sequence[Part]) -> None:
    """Raise `FileChanged`, as one process would: no score for a file that is not the one that was given."""
    for part in parts:
        if part.source.watched and not part.source.is_unchanged():
            raise part.source.changed()


def _is_too_large(pieces: Sequence[_Piece]) -> bool:
    """Check whether a Parquet file may decompress to more than the limit: one process finds out where."""
    return sum(piece.outcome.unpacked for piece in pieces) > pieces[0].chunk.limits.unpacked


def _chunks(part: Part, pool: Pool) -> list[Chunk]:
    """Divide a file into chunks: a single one if that is not worth it."""
    source = part.source
    container = container_for(source, part.contract)
    found = spans(source, container, part.contract.list_key, pool.workers)
    name = source.name if source.ending in BY_ENDING else f"{source.name}{container.endings[0]}"
    return [
        Chunk(
            path=source.location or "", version=source.version, name=name, contract=part.contract.id, span=span,
            limits=source.limits, collector=part.collector.like(), last=span is found[-1],
            whole=len(found) == 1, watched=source.watched,
        )
        for span in found
    ]  # fmt: skip


def _run(
    parts: Sequence[Part], plans: Sequence[Sequence[Chunk]], sinks: PairingSinks | None, pool: Pool
) -> list[list[_Piece]] | None:
    """Return the chunks of each file and their outcomes. None if a file changed.

    Files are hashed first: for a large one, that takes longer than reading a chunk.
    """
    whole = [
        WholeFile(plan[0].path, plan[0].version, [chunk.span for chunk in plan])
        for plan in plans
        if _is_hashed_apart(plan)
    ]
    work: list[Chunk | WholeFile] = [*whole, *(chunk for plan in plans for chunk in plan)]
    results: list[Any] = []
    done = 0
    for item, result in zip(work, pool.map(do, sinks, work), strict=True):
        if result is None or (isinstance(result, Outcome) and not result.complete):
            return None
        results.append(result)
        done += item.span.end - item.span.start if isinstance(item, Chunk) else 0
        report_read(parts, done)
    report_read(parts)
    hashes, outcomes = iter(results[: len(whole)]), iter(results[len(whole) :])
    files = [[_Piece(chunk, next(outcomes)) for chunk in plan] for plan in plans]
    for part, pieces, plan in zip(parts, files, plans, strict=True):
        if not _is_unchanged(part, pieces, next(hashes) if _is_hashed_apart(plan) else None):
            return None
    return files


def _is_hashed_apart(plan: Sequence[Chunk]) -> bool:
    """Return whether the hash of a file is needed, and is not the hash of its only chunk."""
    return plan[0].watched and len(plan) > 1


def _is_unchanged(part: Part, pieces: Sequence[_Piece], hashes: tuple[str, list[str]] | None) -> bool:
    """Return whether all chunks are of the same version of the file. Its hash is noted. May raise `FileChanged`."""
    watched = pieces[0].chunk.watched
    if not part.source.is_unchanged():  # also before any chunk was read: then the hashes agree
        if watched:
            raise part.source.changed()
        return False
    if watched and len(pieces) == 1:
        part.source.note_digest(pieces[0].outcome.digest, read_here=False)
        return True
    if hashes:
        whole, digests = hashes
        if any(piece.outcome.digest not in ("", digest) for piece, digest in zip(pieces, digests, strict=True)):
            raise part.source.changed()
        part.source.note_digest(whole, read_here=False)
    return True


def _merge_states(files: Sequence[_File], sink: Pairing | None) -> list[Accumulator] | None:
    """Merge what accumulators and sinks know; None if a chunk reports something that depends on others.

    The list is empty if a file cannot be read completely.
    """
    accumulators = begin_list_rules(files[0].part.contract, sink)
    unique = [each for each in accumulators if isinstance(each, UniqueIndex)]
    base, all_complete = 0, True
    for file in files:
        file.base, complete = base, not file.is_broken()
        if sink:
            sink.begin()
        for piece in file.pieces:
            outcome, move = piece.outcome, piece.move_in_collection(base)
            file.landmarks += piece.landmarks(unique)
            right = [mine.absorb(theirs, move) for mine, theirs in zip(accumulators, outcome.accumulators, strict=True)]
            if not all(right) or (sink and not sink.absorb(outcome.sink)):
                return None
        if sink:
            sink.end(complete)
        base += file.records if complete else 0
        all_complete = all_complete and complete
    return accumulators if all_complete else []


def _report(
    files: Sequence[_File], validators: Sequence[RecordsValidator], accumulators: Sequence[Accumulator]
) -> None:
    """Give all findings to the validators of the files, in the order of one process."""
    for file, validator in zip(files, validators, strict=True):
        file.complete(validator)
        file.part.validator, file.part.collector = validator, validator.collector
        for piece in file.pieces:
            validator.collector.absorb(piece.outcome.collector, piece.move_finding)
            if isinstance(validator.reader, TableReader):
                validator.reader.also_lacks(piece.outcome.lacking)
        validator.collector.new_series()
        validator.finish()
    settle_parts(validators, accumulators)
