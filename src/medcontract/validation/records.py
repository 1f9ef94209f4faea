"""Checks records, in the same way for every container."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import count, islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from medcontract.contracts.contract import RecordSink, mark_validated
from medcontract.contracts.recognition import Recognized
from medcontract.contracts.registry import CompiledContract
from medcontract.contracts.rules import UNKNOWN, Accumulator, UniqueIndex
from medcontract.contracts.rules.collection import Part
from medcontract.problems import Finding, Ref
from medcontract.reading.json_scanner import Broken
from medcontract.reading.limits import LINES_BLOCK
from medcontract.reading.located_records import Block, Cut, Decode, Lines, TooLarge, too_large
from medcontract.reading.source import Source, Unreadable
from medcontract.results.validation import FileReport
from medcontract.validation.problem_collector import ProblemCollector
from medcontract.validation.record_errors import Examined, KnownMistakes, examine
from medcontract.validation.report import make_report

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from medcontract.contracts.fast_decoder import RowDecoders
    from medcontract.contracts.rules import KeyIndex

_BATCH = 256
"""Valid records that are passed to scoring at a time, unless they are large."""
_MOST_LANDMARKS = 4096
Progress = Callable[[int, int], None]
"""Called regularly with the number of bytes read and the total."""


class Landmark(NamedTuple):
    """A place in a file between two records."""

    record: int
    """The index of the next record."""
    offset: int
    keys: Sequence[int]
    """How many keys each rule about unique keys has seen."""


class RecordsValidator:
    """Base class for all containers: checks the records of a file."""

    depth = 0
    """The nesting depth of a record in this container."""
    is_json = False
    """Whether the bytes of a record are its JSON text."""
    has_parts = False
    """Whether a part of the file can be read (`blocks_between`)."""

    def __init__(
        self,
        source: Source,
        contract: CompiledContract,
        collector: ProblemCollector,
        progress: Progress | None = None,
        sink: RecordSink | None = None,
    ) -> None:
        self.source = source
        self.contract = contract
        self.collector = collector
        self.progress = progress
        self.sink = sink
        self.records: int | None = 0
        self.base = 0
        """The number of records in the previous parts of the collection."""
        self.in_chunk = False
        """Whether the source is a chunk of a file, whose outcome is merged with that of the others."""
        self.broken = False
        """The file cannot be read completely, and counts as one without records."""
        self.all_invalid = False
        """No record of the file can be valid."""
        self.header: Any = None
        """The header, if the container has one and it is valid; for documents, the document."""
        self.bad_header = False
        self._keys: RowDecoders | None = None
        """Set while only the keys of records are read."""
        self.landmarks: list[Landmark] = []
        """Places in the file, in their order, at which a second pass can start."""
        self._others: list[Accumulator] = []
        """The states of the rules that the sink does not check itself."""
        self._held: list[Any] = []
        self._held_refs: list[Ref] = []
        self._held_size = 0
        """The size of the records in the batch, in bytes."""
        self._known_mistakes = KnownMistakes(contract)

    @classmethod
    def recognize(cls, source: Source) -> Recognized:
        """The contract of a file, from its keys. Raises `NotRecognized`."""
        raise NotImplementedError

    @classmethod
    def syntax_errors(cls, source: Source) -> Iterator[Finding]:
        """What is wrong with a file whose contract is not recognized."""
        return iter(())

    def load(self) -> Any:
        """The content of a valid file: its records, or the whole model if the container has a header."""
        self.begin()
        adapter = self.contract.definition.record_adapter()
        return tuple(adapter.validate_python(msgspec.json.decode(raw)) for raw, _, _ in self.cuts())

    @property
    def adapter(self) -> TypeAdapter[Any]:
        return self.contract.record_adapter

    @property
    def decode(self) -> Decode:
        return self._keys.one if self._keys else self.contract.decode_record

    @property
    def decode_lines(self) -> Callable[[bytes], list[Any] | None]:
        return self._keys.lines if self._keys else self.contract.decode_lines

    def cuts(self) -> Iterator[Cut]:
        """The records of the file. May raise `Broken` or `TooLarge`."""
        raise NotImplementedError

    def blocks(self) -> Iterator[Cut | Block]:
        """Like `cuts`, but a container may yield blocks of valid records."""
        return self.cuts()

    def run(self) -> None:
        run_parts([self])

    def report(self) -> FileReport:
        """What `run` found."""
        return make_report(self.source, self.contract.id, self.records, self.collector)

    def begin(self) -> bool:
        """Check what precedes the records: the header of a table. False if the records cannot be read."""
        return True

    def finish(self) -> None:
        """Check what is left after the records: the header, if there is one."""

    def in_header(self, finding: Finding) -> Finding:
        """A finding about a header field with its place, or without one if the container has no header."""
        return finding._replace(ref=None)

    def start(self, accumulators: Sequence[Accumulator]) -> None:
        try:
            if self.begin():
                self.stream(accumulators)
        except Unreadable as unreadable:  # a damaged table, without even a header
            self.collector.add(unreadable.finding)
            self.broken, self.records = True, None

    def stream(self, accumulators: Sequence[Accumulator]) -> None:
        """Check the records."""
        index = 0
        unique = [each for each in accumulators if isinstance(each, UniqueIndex)]
        self._others = [each for each in accumulators if not (isinstance(each, UniqueIndex) and each.sink)]
        step = max(LINES_BLOCK, self.source.size // _MOST_LANDMARKS)
        next_landmark = end = 0
        try:
            for raw, offset, value in self.blocks():
                if offset >= next_landmark and not self._held:
                    self.landmarks.append(Landmark(index, offset, [each.key_count() for each in unique]))
                    next_landmark = offset + step
                end = offset + (len(raw) if isinstance(raw, bytes) else raw.size)
                if isinstance(raw, bytes):
                    self._record(raw, offset, value, index, accumulators)
                    index += 1
                elif not self.all_invalid and self._all_valid(value, accumulators):
                    self._deliver(value, raw, index, offset)
                    index += len(raw)
                else:
                    for line, at, one in zip(raw, raw.offsets(offset), value):  # noqa: B905  # there is one more offset
                        self._record(line, at, one, index, accumulators)
                        index += 1
                if self.progress:
                    self.progress(self.source.done(offset), self.source.size)
            self._release()
        except Broken as broken:
            self._break_off(broken_finding(broken))
        except TooLarge as large:
            self._break_off(too_large(self.source.limits.record, large.offset))
        except Unreadable as unreadable:  # in the middle of an archive
            self._break_off(unreadable.finding)
        self.landmarks.append(Landmark(index, end, [each.key_count() for each in unique]))
        self.records = 0 if self.broken else index

    def _break_off(self, finding: Finding) -> None:
        """The rest of the file cannot be read."""
        self._release()
        self.collector.add(finding)
        self.broken = True

    def _all_valid(self, values: list[Any], accumulators: Sequence[Accumulator]) -> bool:
        """Whether all records of a block satisfy all rules; if so, the accumulators are updated."""
        return (
            len(accumulators) < 2
            and all(rule.all_pass(values) for rule in self.contract.record_rules)
            and all(accumulator.see_all(values) for accumulator in accumulators)
        )

    def _record(self, raw: bytes, offset: int, value: Any, index: int, accumulators: Sequence[Accumulator]) -> None:
        if value is None:
            value, parsed = self._slow_path(raw, offset, index)
            if value is None:
                for accumulator in accumulators:
                    accumulator.miss(parsed)
                self._reject(parsed, raw, index, offset)
                return
        valid = not self.all_invalid
        for rule in self.contract.record_rules:
            for finding in rule.check(value):
                self.add(finding, index, offset, len(raw))
                valid = valid and finding.severity != "error"
        for accumulator in self._others if valid and self.sink else accumulators:
            immediate = accumulator.see(value, self.base + index, offset, raw)
            if immediate:
                self.add(immediate, index, offset, len(raw))
        if valid:
            if self.sink:
                self._hold(value, self.ref(index, offset, len(raw)))
        else:
            self._reject(value, raw, index, offset)

    def _reject(self, parsed: Any, raw: bytes, index: int, offset: int) -> None:
        """Notify the sink of an invalid record."""
        self._release()
        for finding in self.sink.reject(parsed) if self.sink else ():
            self.add(finding, index, offset, len(raw))

    def _hold(self, value: Any, ref: Ref) -> None:
        """Add a record to the batch for the sink: one call per record would be slow."""
        self._held.append(value)
        self._held_refs.append(ref)
        self._held_size += ref.length
        if len(self._held) >= _BATCH or self._held_size >= LINES_BLOCK:
            self._release()

    def _release(self) -> None:
        """Pass the batch to the sink, and collect the findings of rules across files."""
        if self.sink is None or not self._held:
            return
        values, refs = self._held, self._held_refs
        self._held, self._held_refs, self._held_size = [], [], 0
        for position, finding in self.sink.take(mark_validated(values, self.contract.id)):
            self.collect(finding, refs[position])

    def _deliver(self, values: list[Any], lines: Lines, index: int, offset: int) -> None:
        """Pass a block of consecutive records to the sink."""
        if self.sink is None:
            return
        self._release()
        findings = self.sink.take(mark_validated(values, self.contract.id))
        if findings:
            sizes = list(map(len, lines))
            starts = list(islice(lines.offsets(offset), len(lines)))
            for position, finding in findings:
                self.collect(finding, self.ref(index + position, starts[position], sizes[position]))

    def ref(self, index: int, offset: int, length: int) -> Ref:
        return Ref(offset, length, index)

    def ref_of_earlier(self, ref: Ref) -> Ref:
        """The reference of an earlier record."""
        return self.ref(ref.record or 0, ref.offset, ref.length)

    def add(self, finding: Finding, index: int, offset: int, length: int) -> None:
        """Add a finding about the current record, after those of the records in the batch, which precede it."""
        if self._held:
            self._release()
        self.collect(finding, self.ref(index, offset, length))

    def collect(self, finding: Finding, ref: Ref) -> None:
        """Collect a finding about a record."""
        self.collector.add(finding, ref)

    def _slow_path(self, raw: bytes, offset: int, index: int) -> tuple[Any, Any]:
        """Check a record that the fast path rejected. Returns its value (None if it is invalid) and the parsed JSON."""
        if not raw:
            self.add(too_large(self.source.limits.record, None), index, offset, 0)
            return None, None
        try:
            examined = self.examine_record(raw)
        except Broken as broken:
            self.add_syntax_error(broken, index, offset, len(raw))
            return None, None
        if self._held and examined.value is None:
            self._release()
        ref = self.ref(index, offset, len(raw))
        for finding in examined.findings:
            self.collect(finding if finding.offset is None else finding._replace(offset=offset + finding.offset), ref)
        if examined.rest:
            self.collector.count_rest(examined.rest, index)
        return examined.value, examined.parsed

    def add_syntax_error(self, broken: Broken, index: int, offset: int, length: int) -> None:
        """Add a syntax error: a line with one is an invalid record."""
        self.add(broken_finding(broken, offset), index, offset, length)

    def second_pass(self, unique: Sequence[UniqueIndex] = (), part: Part = (0, "")) -> None:
        """Find the keys that are really repeated, and the positions of records of which only the index is known."""
        indexes = [index for index in unique if index.suspects]
        unknown = (f.ref.record for f in self.collector.deferred if f.ref and f.ref.offset == UNKNOWN)
        found = {number: self.ref(number, 0, 0) for number in unknown if number is not None}
        if not indexes and not found:
            return
        self.collector.new_series()
        repeats = Repeats(self, indexes, part)
        try:
            parts = self._parts_in_question(unique, found)
            for number, raw, offset, value in self._suspicious(indexes, found, parts):
                if number in found:
                    found[number] = self.ref(number, offset, len(raw))
                if value is not None:
                    repeats.see(value, number, offset, len(raw))
        except (Broken, TooLarge, Unreadable):
            pass  # the file changed between the two passes: keep the findings
        repeats.finish()
        self.collector.place_deferred(found)

    def _suspicious(
        self,
        indexes: Sequence[UniqueIndex],
        numbers: Collection[int],
        parts: Sequence[tuple[Landmark, Landmark]] | None,
    ) -> Iterator[tuple[int, bytes, int, Any]]:
        """Yield the index, bytes, offset and value of valid records whose keys may be repeated, and of those `numbers`.

        They are in these parts of the file or, without any, anywhere. Of others, no more than the keys is decoded.
        """
        fields = [name for index in indexes for name in index.rule.fields]
        self._keys = self.contract.decode_keys(fields) if self.is_json and fields else None
        places = sorted(numbers)
        pieces = [(0, self.blocks())]
        if parts is not None:
            pieces = [(start.record, self.blocks_between(start.offset, end.offset)) for start, end in parts]
        try:
            for number, (raw, offset, value) in _numbered(pieces):
                if isinstance(raw, bytes):
                    rows = [(number, raw, offset, value)]
                else:
                    near = places[bisect_left(places, number) : bisect_left(places, number + len(raw))]
                    chosen = {place - number for place in near}.union(*(each.suspects_among(value) for each in indexes))
                    every = zip(count(number), raw, raw.offsets(offset), value) if chosen else ()
                    rows = [row for position, row in enumerate(every) if position in chosen]
                for place, line, at, one in rows:
                    if line and indexes and (one is None or any(index.suspects_among([one]) for index in indexes)):
                        yield place, line, at, self._complete(line) if one is None or self._keys else one
                    elif places:
                        yield place, line, at, None
        finally:
            self._keys = None

    def _parts_in_question(
        self, unique: Sequence[UniqueIndex], numbers: Collection[int]
    ) -> Sequence[tuple[Landmark, Landmark]] | None:
        """Return where the parts of the file with these records and with suspicious keys start and end.

        None if the whole file has to be read.
        """
        marks, found = self.landmarks, set[int]()
        if self.source.packed or self.source.in_archive or not self.has_parts:
            return None
        for rule, index in enumerate(unique):
            positions = index.suspicious_positions() if index.suspects else ()
            if positions is None:
                return None
            counts = [mark.keys[rule] for mark in marks]
            found.update(bisect_right(counts, position) for position in positions)
        records = [mark.record for mark in marks]
        found.update(bisect_right(records, number) for number in numbers)
        return [(marks[number - 1], marks[number]) for number in sorted(found) if 0 < number < len(marks)]

    def blocks_between(self, start: int, end: int) -> Iterator[Cut | Block]:
        """The records in a part of the file that starts and ends between two records (see `has_parts`)."""
        raise NotImplementedError

    def _complete(self, raw: bytes) -> Any:
        """Return the value of a record; None if it is invalid."""
        return self.contract.decode_record(raw) or self.value_of(raw.rstrip(b"\r\n"))

    def settle(self, finding: Finding) -> None:
        """Add a finding that is known only at the end of the collection."""
        ref = finding.ref or Ref(0, 0)
        here = self.ref_of_earlier(ref._replace(record=_record_of(finding) - self.base))
        self.collector.defer(self.named(finding._replace(ref=here)))

    def named(self, finding: Finding) -> Finding:
        """The finding with its place in terms of this container."""
        return finding

    def value_of(self, raw: bytes) -> Any:
        """The value of a record, or None if it is invalid, without reporting anything."""
        if not raw:
            return None
        try:
            return self.examine_record(raw).value
        except Broken:
            return None

    def examine_record(self, raw: bytes) -> Examined:
        """Check a record by the slow path. May raise `Broken`."""
        schema, known = self.contract.record_schema, self._known_mistakes
        return examine(raw, self.adapter, schema, self.depth, known, in_table=not self.is_json)


class Repeats:
    """Finds the records of a file that repeat a key. Once its findings are no longer kept, they are only counted."""

    def __init__(self, validator: RecordsValidator, indexes: Sequence[UniqueIndex], part: Part) -> None:
        self._validator = validator
        self._indexes = indexes
        self._part = part
        self._counted: Counter[UniqueIndex] = Counter()

    def see(self, value: Any, number: int, offset: int, length: int) -> None:
        for index in self._indexes:
            key = index.key(value)
            if index.is_suspect(key):
                self.see_key(index, key, self._validator.ref(number, offset, length))

    def see_key(self, index: UniqueIndex, key: Any, ref: Ref) -> None:
        """Process a key that may be repeated."""
        validator, part = self._validator, self._part
        first = index.find_first(key, ref, part)
        if first is None:
            return
        if index in self._counted:
            self._counted[index] += 1
        elif not validator.collector.defer(validator.named(index.repeated(ref, part, first))):
            self._counted[index] = 0

    def finish(self) -> None:
        for index, times in self._counted.items():
            if times:
                rule = index.rule
                self._validator.collector.add_more(self._validator.named(rule.finding((rule.fields[-1],))), times)


def begin_list_rules(contract: CompiledContract, sink: RecordSink | None) -> list[Accumulator]:
    """Return the states of the rules about all records. Some sinks find repeated ids by themselves."""
    accumulators = [rule.begin() for rule in contract.list_rules]
    finds_repeated = getattr(sink, "finds_repeated", None)
    for accumulator in accumulators:
        if finds_repeated and isinstance(accumulator, UniqueIndex) and finds_repeated(accumulator.rule):
            accumulator.sink = cast("KeyIndex", sink)
    return accumulators


def run_parts(parts: Sequence[RecordsValidator]) -> None:
    """Check the files of one collection; rules about the list apply to all of them together."""
    accumulators = begin_list_rules(parts[0].contract, parts[0].sink)
    base = 0
    for part in parts:
        part.base = base
        if part.sink:
            part.sink.begin()
        part.start(accumulators)
        base += part.records or 0
        part.collector.new_series()
        part.finish()
        if part.sink:
            part.sink.end(not part.broken)
    settle_parts(parts, [] if any(part.broken for part in parts) else accumulators)


def settle_parts(parts: Sequence[RecordsValidator], accumulators: Sequence[Accumulator]) -> None:
    """Add the findings that are known only at the end of the collection."""
    bases = [part.base for part in parts]
    for accumulator in accumulators:
        for part in parts:
            part.collector.new_series()
        for finding in accumulator.finish():
            owner = parts[bisect_right(bases, _record_of(finding)) - 1]
            owner.settle(finding)
    unique = [each for each in accumulators if isinstance(each, UniqueIndex)]
    for number, part in enumerate(parts):
        part.second_pass(unique, (number, os.path.basename(part.source.name)))


def _numbered(pieces: Iterable[tuple[int, Iterator[Cut | Block]]]) -> Iterator[tuple[int, Cut | Block]]:
    """Yield records with the index of the first of each block, given that of each piece."""
    for number, blocks in pieces:
        for block in blocks:
            yield number, block
            number += 1 if isinstance(block[0], bytes) else len(block[0])


def _record_of(finding: Finding) -> int:
    return (finding.ref.record if finding.ref else None) or 0


def broken_finding(broken: Broken, base: int = 0, ref: Ref | None = None) -> Finding:
    return Finding(broken.code, broken.message, broken.hint, offset=base + broken.offset, ref=ref)
