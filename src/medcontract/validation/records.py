"""Reads the records of a file, and checks them, in the same way for every container."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from os.path import basename
from typing import TYPE_CHECKING, Any, cast

import msgspec

from medcontract.contracts.contract import RecordSink, mark_validated
from medcontract.contracts.fast_decoder import RowDecoders
from medcontract.contracts.recognition import Recognized
from medcontract.contracts.registry import CompiledContract
from medcontract.contracts.rules import Accumulator, UniqueIndex
from medcontract.errors import NotRecognized
from medcontract.problems import Finding, Ref
from medcontract.reading.limits import LINES_BLOCK
from medcontract.reading.located_records import (
    Broken,
    Landmark,
    Located,
    LocatedRecord,
    RecordBlock,
    TooLarge,
    one_by_one,
    too_large,
)
from medcontract.reading.source import Source, Unreadable
from medcontract.results.validation import FileReport
from medcontract.validation.report import ProblemCollector, make_report

if TYPE_CHECKING:
    from medcontract.contracts.rules import KeyIndex
    from medcontract.validation.slow_path import SlowPath

Recognition = Recognized | Finding | NotRecognized
"""The contract of a file, why the file cannot be read, or why its contract is not clear."""


class RecordReader:
    """Base class for all containers."""

    depth = 0
    """The nesting depth of a record in this container."""
    is_json = False
    """Whether the bytes of a record are its JSON text."""
    has_parts = False
    """Whether a part of the file can be read (`between`)."""
    in_chunk = False
    """Whether the source is a chunk of a file, whose outcome is merged with the other outcomes."""
    may_end_with_total = False
    """Whether the last record may be a total, as below a table."""
    all_invalid = False
    """No record of the file can be valid."""
    header: Any = None
    """The header, if the container has one and it is valid; for documents, the document."""
    bad_header = False

    def __init__(self, source: Source, contract: CompiledContract, collector: ProblemCollector) -> None:
        self.source = source
        self.contract = contract
        self.collector = collector

    @classmethod
    def recognize(cls, source: Source) -> Recognition:
        """Recognize the contract of a file from its keys."""
        raise NotImplementedError

    @classmethod
    def syntax_errors(cls, source: Source) -> Iterator[Finding]:
        """Find out what is wrong with a file whose contract is not recognized."""
        return iter(())

    def begin(self) -> bool:
        """Check what precedes the records: the header of a table. False if the records cannot be read."""
        return True

    def records(self, decode: RowDecoders) -> Iterator[Located]:
        """Yield the records. A container may yield blocks of valid ones. May raise `Broken` or `TooLarge`."""
        raise NotImplementedError

    def between(self, start: int, end: int, decode: RowDecoders) -> Iterator[Located]:
        """Yield the records in a part of the file that starts and ends between two records (see `has_parts`)."""
        raise NotImplementedError

    def finish(self, records: int) -> bool:
        """Check what is left after the records: the header, if there is one. False if the file counts as broken."""
        return True

    def done(self, offset: int) -> int:
        """Return the progress of reading, in bytes of the file itself."""
        return self.source.done(offset)

    def ref(self, index: int, record: LocatedRecord) -> Ref:
        """Return the place of a record."""
        return Ref(record.offset, len(record.raw), index, self.prefix(index), record.line)

    def prefix(self, index: int) -> tuple[str | int, ...]:
        """Return the path of a record."""
        return ()

    def ref_of_earlier(self, ref: Ref) -> Ref:
        """Complete the place of an earlier record, of which no more than the index and the offset was kept."""
        return ref._replace(prefix=self.prefix(ref.record or 0))

    def explain(self, finding: Finding, ref: Ref) -> Finding | None:
        """Return a finding about a record in terms of this container; None if it is reported otherwise."""
        return finding

    def named(self, finding: Finding) -> Finding:
        """Return a finding that does not depend on a single record in terms of this container."""
        return finding

    def explain_broken(self, finding: Finding, offset: int) -> Finding:
        """Return the finding about a record at `offset` that cannot be read, with a better hint, if there is one."""
        return finding

    def hint_for(self, raw: bytes) -> str | None:
        """Return the hint about an invalid record that is not a record at all."""
        return None

    def syntax_error(self, broken: Broken, record: LocatedRecord) -> Finding:
        """Return the finding about a record with a syntax error, or raise it if the file ends there."""
        return broken_finding(broken, record.offset)

    def about_total(self, value: Any) -> Finding | None:
        """Return the warning about the last record, if it looks like a total (see `may_end_with_total`)."""
        return None

    def in_header(self, finding: Finding) -> Finding:
        """Return a finding about a header field with its place, or without one if there is no header."""
        return finding._replace(ref=None)

    def load(self) -> Any:
        """Return the content of a valid file: its records, or the whole model if the container has a header."""
        self.begin()
        adapter = self.contract.definition.record_adapter()
        undecoded = RowDecoders(lambda raw: None, lambda text: None)
        records = (record for item in self.records(undecoded) for record in one_by_one(item))
        return tuple(adapter.validate_python(msgspec.json.decode(record.raw)) for record in records)


def broken_finding(broken: Broken, base: int = 0, ref: Ref | None = None) -> Finding:
    """Return the finding about a syntax error in a text that starts at `base`."""
    return Finding(broken.code, broken.message, broken.hint, offset=base + broken.offset, ref=ref)


_BATCH = 256
"""Valid records that are passed to scoring at a time, unless they are large."""
_MOST_LANDMARKS = 4096
_MOST_EXPLAINED = 200
Progress = Callable[[int, int], None]
"""Called regularly with the number of bytes read and the total."""


class RecordsValidator:
    """Checks the records that a reader yields."""

    def __init__(self, reader: RecordReader, progress: Progress | None = None, sink: RecordSink | None = None) -> None:
        self.reader = reader
        self.source = reader.source
        self.contract: CompiledContract = reader.contract
        self.progress = progress
        self.sink = sink
        self.records: int | None = None if reader.contract.kind == "document" else 0
        self.base = 0
        """The number of records in the previous parts of the collection."""
        self.broken = False
        """The file cannot be read completely, and counts as one without records."""
        self.last_finding: Finding | None = None
        """Why the last record could not be read."""
        self.landmarks: list[Landmark] = []
        """Places in the file, in their order, at which a second pass can start."""
        self._others: Sequence[Accumulator] = ()
        """The states of the rules that the sink does not check itself."""
        self._held: list[Any] = []
        """Valid records for the sink: one call per record would be slow."""
        self._held_refs: list[Ref] = []
        self._held_size = 0
        self._unreadable = 0

    @property
    def collector(self) -> ProblemCollector:
        return self.reader.collector

    @cached_property
    def slow_path(self) -> SlowPath:
        """What checks records if the fast path is in doubt."""
        from medcontract.validation.slow_path import SlowPath

        return SlowPath(self.contract, self.reader.depth, in_table=not self.reader.is_json)

    @cached_property
    def decoders(self) -> RowDecoders:
        """The fast path for complete records."""
        return RowDecoders(self.contract.decode_record, self.contract.decode_lines)

    def run(self) -> None:
        """Check the whole file."""
        if self.contract.kind == "document":
            self.begin()
        else:
            run_parts([self])

    def report(self) -> FileReport:
        """Return what `run` found."""
        return make_report(self.source, self.contract.id, self.records, self.collector)

    def begin(self) -> bool:
        """Check what precedes the records. False if they cannot be read."""
        try:
            if self.reader.begin():
                return True
        except Unreadable as unreadable:  # a damaged table, without even a header
            self.collector.add(unreadable.finding)
            self.records = None
        self.broken = self.contract.kind != "document"
        return False

    def finish(self) -> None:
        """Check what is left after the records."""
        if not self.broken and not self.reader.finish(self.records or 0):
            self.broken, self.records = True, 0

    def stream(self, accumulators: Sequence[Accumulator]) -> None:
        """Check the records."""
        index = 0
        unique = [each for each in accumulators if isinstance(each, UniqueIndex)]
        self._others = [each for each in accumulators if not (isinstance(each, UniqueIndex) and each.sink)]
        step = max(LINES_BLOCK, self.source.size // _MOST_LANDMARKS)
        next_landmark = end = 0
        item: LocatedRecord | RecordBlock | None = None
        try:
            for item in self.reader.records(self.decoders):
                offset = item.offset
                if offset >= next_landmark and not self._held:
                    self.landmarks.append(Landmark(index, offset, [each.key_count() for each in unique]))
                    next_landmark = offset + step
                end = offset + len(item.raw)
                if isinstance(item, LocatedRecord):
                    self._check(item, index, accumulators)
                    index += 1
                else:
                    self._check_block(item, index, accumulators)
                    index += len(item.values)
                if self.progress:
                    self.progress(self.reader.done(offset), self.source.size)
            self._release()
        except Broken as broken:
            self._break_off(broken_finding(broken))
        except TooLarge as large:
            self._break_off(too_large(self.source.limits.record, large.offset))
        except Unreadable as unreadable:  # in the middle of an archive
            self._break_off(unreadable.finding)
        self.landmarks.append(Landmark(index, end, [each.key_count() for each in unique]))
        self.records = 0 if self.broken else index
        if item and not self.broken:
            self.last_finding = item.finding if isinstance(item, LocatedRecord) else None
            if self.reader.may_end_with_total:
                self._warn_of_total(item, index - 1)

    def _break_off(self, finding: Finding) -> None:
        """Report that the rest of the file cannot be read."""
        self._release()
        self.collector.add(self._explained(finding, finding.offset))
        self.broken = True

    def _explained(self, finding: Finding, offset: int | None) -> Finding:
        """Return a finding about the syntax; the first ones say what the line is, if not a record."""
        self._unreadable += 1
        is_slow = self.source.in_archive or (self.source.packed and (offset or 0) > LINES_BLOCK)
        if offset is None or self._unreadable > _MOST_EXPLAINED or is_slow:
            return finding
        from medcontract.hints.lines import conflict_marker

        if mark := conflict_marker(self.source, offset):
            return finding._replace(message=mark.message, hint=mark.hint)
        return self.reader.explain_broken(finding, offset)

    def _warn_of_total(self, last: Located, index: int) -> None:
        value = last.value if isinstance(last, LocatedRecord) else last.values[-1]
        if warning := self.reader.about_total(self.value_of(last.raw) if value is None else value):
            self._add(warning, last if isinstance(last, LocatedRecord) else last.last(), index)

    def _check_block(self, block: RecordBlock, index: int, accumulators: Sequence[Accumulator]) -> None:
        """Check records whose structure is right. All at once if no rule has to see them one by one."""
        unique = [accumulator for accumulator in accumulators if isinstance(accumulator, UniqueIndex)]
        at_once = (
            not self.reader.all_invalid
            and len(unique) == len(accumulators)
            and all(rule.all_pass(block.values) for rule in self.contract.record_rules)
        )
        if not at_once:
            for number, record in enumerate(block.records(), index):
                self._check(record, number, accumulators)
            return
        for accumulator in unique:
            accumulator.see_all(block.values)
        if self.sink:
            self._release()
            if findings := self.sink.take(mark_validated(block.values, self.contract.id)):
                records = list(block.records())
                for position, finding in findings:
                    self._collect(finding, self.reader.ref(index + position, records[position]))

    def _check(self, record: LocatedRecord, index: int, accumulators: Sequence[Accumulator]) -> None:
        value = record.value
        if value is None:
            value, parsed = self._examine(record, index)
            if value is None:
                for accumulator in accumulators:
                    accumulator.miss(parsed)
                self._reject(parsed, record, index)
                return
        valid = not self.reader.all_invalid
        for rule in self.contract.record_rules:
            for finding in rule.check(value):
                self._add(finding, record, index)
                valid = valid and finding.severity != "error"
        for accumulator in self._others if valid and self.sink else accumulators:
            immediate = accumulator.see(value, self.base + index, record.offset, record.raw)
            if immediate:
                self._add(immediate, record, index)
        if not valid:
            self._reject(value, record, index)
        elif self.sink:
            self._hold(value, self.reader.ref(index, record))

    def _examine(self, record: LocatedRecord, index: int) -> tuple[Any, Any]:
        """Check a record that the fast path rejected. Returns its value (None if it is invalid) and the parsed JSON."""
        if record.finding:
            self._add(self._explained(record.finding, record.offset), record, index)
            return None, None
        try:
            examined = self.slow_path.examine(record.raw)
        except Broken as broken:
            self._add(self.reader.syntax_error(broken, record), record, index)
            return None, None
        if examined.value is None:
            self._release()
        ref = self.reader.ref(index, record)
        hint = self.reader.hint_for(record.raw) if examined.findings else None
        for number, finding in enumerate(examined.findings):
            at = None if finding.offset is None else record.offset + finding.offset
            same = finding.merged or (hint is not None and number > 0)  # the row is not a record: one problem
            self._collect(finding._replace(offset=at, merged=same), ref, hint)
        if examined.rest:
            self.collector.count_rest(examined.rest, index)
        return examined.value, examined.parsed

    def value_of(self, raw: bytes) -> Any:
        """Return the value of a record, or None if it is invalid, without reporting anything."""
        if not raw:
            return None
        try:
            return self.contract.decode_record(raw) or self.slow_path.examine(raw).value
        except Broken:
            return None

    def _reject(self, parsed: Any, record: LocatedRecord, index: int) -> None:
        """Notify the sink of an invalid record."""
        if self.sink:
            self._release()
            for finding in self.sink.reject(parsed):
                self._add(finding, record, index)

    def _hold(self, value: Any, ref: Ref) -> None:
        """Add a record to the batch for the sink."""
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
            self._collect(finding, refs[position])

    def _add(self, finding: Finding, record: LocatedRecord, index: int) -> None:
        """Add a finding about the current record, after findings about the records in the batch, which precede it."""
        self._release()
        self._collect(finding, self.reader.ref(index, record))

    def _collect(self, finding: Finding, ref: Ref, hint: str | None = None) -> None:
        explained = self.reader.explain(finding, ref)
        if explained:
            self.collector.add(explained._replace(hint=hint) if hint else explained, ref)

    def settle(self, finding: Finding) -> None:
        """Add a finding that is known only at the end of the collection."""
        ref = finding.ref or Ref(0, 0)
        here = self.reader.ref_of_earlier(ref._replace(record=record_of(finding) - self.base))
        self.collector.defer(self.reader.named(finding._replace(ref=here)))


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
        if part.begin():
            part.stream(accumulators)
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
            parts[bisect_right(bases, record_of(finding)) - 1].settle(finding)
    unique = [each for each in accumulators if isinstance(each, UniqueIndex)]
    for number, part in enumerate(parts):
        if part.collector.has_deferred or any(index.suspects for index in unique):
            from medcontract.validation.slow_path import second_pass  # only if something is repeated, or has no place

            second_pass(part, unique, (number, basename(part.source.name)))


def record_of(finding: Finding) -> int:
    """Return the index of the record that a finding is about."""
    return (finding.ref.record if finding.ref else None) or 0
