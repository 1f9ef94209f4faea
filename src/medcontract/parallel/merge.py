"""Reads large files in chunks, on any pool, and merges the outcomes.

The result is the same, byte for byte, as if one process had read the files from start to end. Repeated ids are found by
their hashes, then located in a second pass, also in chunks. One process reads the files again if the outcome of a chunk
depends on others (it does not end where a record ends, or reports something about an item that another chunk has, too),
and if a file changes or the pool fails. That is simple, right, and rare.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any, NamedTuple

from medcontract.containers import BY_ENDING
from medcontract.contracts.rules import Accumulator, KeyHashes, UniqueIndex, is_ascending
from medcontract.parallel.chunk import Chunk, ChunkSink, Outcome, Sinks, WholeFile, do, find_repeats
from medcontract.parallel.pool import Pool, PoolFailed
from medcontract.parallel.sinks import NoSink
from medcontract.problems import Finding, Ref
from medcontract.reading.chunks import spans
from medcontract.reading.json_file import JsonFile
from medcontract.reading.line_index import line_breaks
from medcontract.reading.slices import Span
from medcontract.reading.source import Unreadable
from medcontract.validation.csv_file import TableValidator
from medcontract.validation.dispatch import container_for, validator_for
from medcontract.validation.json_file import JsonValidator
from medcontract.validation.parts import Part, report_read
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


def read_in_chunks(parts: Sequence[Part], sink: ChunkSink | None, sinks: Sinks, pool: Pool) -> bool:
    """Check files as parts of one collection. False if one process must do it; then nothing has changed."""
    prepared = _prepare(parts, pool)
    if prepared is None:
        return False
    merged = sinks.fresh()
    try:
        outcomes = _run(prepared, sinks, pool)
        if outcomes is None:
            _refuse_changed(parts)
            return False
        if _too_many_kinds(outcomes) or any(map(_is_too_large, outcomes)):
            return False
        files = [_File(*each) for each in zip(parts, outcomes, strict=True)]
        accumulators = _merge_states(files, merged)
        repeats = None if accumulators is None else _find_repeats(files, accumulators, pool)
    except PoolFailed:
        return False
    if accumulators is None or repeats is None:
        return False
    if sink and merged:
        sink.absorb(merged.export())
    _report(files, prepared.begun, accumulators, repeats)
    return True


def _prepare(parts: Sequence[Part], pool: Pool) -> Prepared | None:
    """Divide files into chunks. None if one process must read them."""
    if any(part.source.location is None for part in parts) or parts[0].contract.kind == "document":
        return None
    found = [_spans(part, pool) for part in parts]
    if sum(map(len, found)) < 2:
        return None
    begun = [_begin(part) for part in parts]
    if not all(begun) or not pool.is_ready():
        return None
    plans = [_chunks(part, each, pool) for part, each in zip(parts, found, strict=True)]
    return Prepared(parts, [each for each in begun if each], plans)


def run_validator(validator: RecordsValidator, pool: Pool) -> RecordsValidator:
    """Check one file, in chunks if that is possible. Returns the validator that has the findings."""
    part = Part(validator.source, validator.contract, validator.collector)
    part.progress = validator.progress
    if read_in_chunks([part], None, NoSink(), pool) and part.validator:
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


def _spans(part: Part, pool: Pool) -> list[Span]:
    return spans(part.source, container_for(part.source, part.contract), part.contract.list_key, pool.workers)


def _chunks(part: Part, found: Sequence[Span], pool: Pool) -> list[Chunk]:
    source = part.source
    container = container_for(source, part.contract)
    name = source.name if source.ending in BY_ENDING else f"{source.name}{container.endings[0]}"
    return [
        Chunk(
            path=source.location or "", version=source.version, name=name, contract=part.contract.id, span=span,
            limits=source.limits, collector=part.collector.like(), stable=pool.stable, last=span is found[-1],
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


def _run(prepared: Prepared, sinks: Sinks, pool: Pool) -> list[list[_Piece]] | None:
    """The chunks of each file and their outcomes. None if a file changed."""
    parts, plans, work = prepared.parts, prepared.plans, prepared.work
    results: list[Any] = []
    done = 0
    for item, result in zip(work, pool.map(do, sinks, work), strict=True):
        if result is None or (isinstance(result, Outcome) and not result.complete):
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
        if not _is_unchanged(part, files[number], found):
            return None
    return files


def _is_hashed_apart(plan: Sequence[Chunk]) -> bool:
    """Whether the hash of a file is needed, and not that of its only chunk."""
    return plan[0].watched and len(plan) > 1


def _whole(plan: Sequence[Chunk]) -> WholeFile:
    return WholeFile(plan[0].path, plan[0].version, [chunk.span for chunk in plan])


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


def _merge_states(files: Sequence[_File], sink: ChunkSink | None) -> list[Accumulator] | None:
    """Merge what accumulators and sinks know; None if a chunk reports something that depends on others.

    The list is empty if a file cannot be read completely.
    """
    accumulators = [rule.begin() for rule in files[0].part.contract.list_rules]
    base, all_complete = 0, True
    for file in files:
        file.base, complete = base, not file.is_broken()
        if sink:
            sink.begin()
        for piece in file.pieces:
            outcome, move = piece.outcome, piece.move_in_collection(base)
            right = [mine.absorb(theirs, move) for mine, theirs in zip(accumulators, outcome.accumulators, strict=True)]
            if not all(right) or (sink and not sink.absorb(outcome.sink)):
                return None
        if sink:
            sink.end(complete)
        base += file.records if complete else 0
        all_complete = all_complete and complete
    return accumulators if all_complete else []


Found = list[tuple[int, Any, Ref]]
"""The number of a rule, a key and its place in a chunk."""


def _find_repeats(files: Sequence[_File], accumulators: Sequence[Accumulator], pool: Pool) -> list[Found] | None:
    """For each chunk, the records whose keys may be repeated; nothing if there are none. None if a file changed."""
    indexes = [each for each in accumulators if isinstance(each, UniqueIndex)]
    if not indexes:
        return []
    pieces = [piece for file in files for piece in file.pieces]
    for index, keys in zip(indexes, zip(*(piece.outcome.keys for piece in pieces), strict=True), strict=True):
        repeated = _repeated_hashes(keys)
        index.suspects = index.suspects | repeated
    wanted = [index if index.suspects else None for index in indexes]
    if not any(wanted):
        return []
    results = list(pool.map(find_repeats, wanted, [piece.chunk for piece in pieces]))
    _refuse_changed([file.part for file in files])
    found = [result for result in results if result is not None]
    return found if len(found) == len(pieces) else None


def _repeated_hashes(chunks: Sequence[KeyHashes]) -> set[int]:
    """Return the hashes that occur in more than one chunk."""
    found = [chunk for chunk in chunks if chunk]
    ends = [chunk.ends for chunk in found if chunk.ends]
    if len(ends) == len(found) and all(is_ascending([one[1], two[0]]) for one, two in pairwise(ends)):
        return set()  # all keys ascend, so none is repeated
    seen: set[int] = set()
    repeated: set[int] = set()
    for chunk in found:
        repeated |= seen.intersection(chunk.hashes)
        seen.update(chunk.hashes)
    return repeated


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
