"""The path of one record, the same in every container."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import msgspec

from medcontract.contracts.contract import RecordSink, mark_validated
from medcontract.contracts.registry import CompiledContract
from medcontract.contracts.rules import UNKNOWN, Accumulator, UniqueIndex
from medcontract.contracts.rules.collection import Part
from medcontract.problems import Finding, Ref
from medcontract.reading.json_file import Block, Cut, Decode, TooLarge, too_large
from medcontract.reading.json_scanner import Broken
from medcontract.reading.source import Source, Unreadable
from medcontract.results.validation import FileReport
from medcontract.validation.problem_collector import ProblemCollector
from medcontract.validation.record_errors import Examined, KnownMistakes, examine
from medcontract.validation.report import make_report

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_BATCH = 256
"""Good records that go to scoring at a time."""
_MOST_KNOWN = 1000
_LONGEST_KNOWN = 500
"""Bytes of a record that is kept, to be known again."""
_MOST_COMPARED = 100
"""Findings of a record that are compared with those of others."""
Progress = Callable[[int, int], None]
"""Called now and then with the bytes done and the bytes in all."""


class _Counted:
    """Findings of which nothing is kept any more, and in how many records they were found again."""

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = findings
        self.times = 0


class RecordsValidator:
    """What all containers of a collection share: the path of one record."""

    depth = 0
    """Levels that enclose a record in this container."""

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
        """How many records of the collection stand in the parts before this one."""
        self.broken = False
        """The file cannot be read to its end: it has no records."""
        self.spoilt = False
        """No record of the file can be good."""
        self.header: Any = None
        """The header, where the container has one and it is good; the whole value of a document."""
        self.bad_header = False
        self._held: list[Any] = []
        self._held_refs: list[Ref] = []
        self._known_mistakes = KnownMistakes(contract)
        self._known_records: dict[bytes, Examined] = {}
        self._counted: dict[Hashable, _Counted] = {}
        """What is found again and again, and not kept any more, by identity of the findings or by what they say."""
        self._counted_records: dict[bytes, _Counted] = {}
        """Records of which nothing is kept any more, to be counted without another look."""

    @classmethod
    def recognise(cls, source: Source) -> str:
        """The contract of a file, from its keys. Raises `NotRecognised`."""
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
        return self.contract.decode_record

    def cuts(self) -> Iterator[Cut]:
        """The records of the file. May raise `Broken` or `TooLarge`."""
        raise NotImplementedError

    def blocks(self) -> Iterator[Cut | Block]:
        """As `cuts`; a container that can hands out many good records at a time."""
        return self.cuts()

    def run(self) -> None:
        run_parts([self])

    def report(self) -> FileReport:
        """What `run` found."""
        return make_report(self.source, self.contract.id, self.records, self.collector)

    def begin(self) -> bool:
        """What comes before the records: the header of a table. False where there are none to be read."""
        return True

    def finish(self) -> None:
        """What comes after the records: the header, where there is one."""

    def in_header(self, finding: Finding) -> Finding:
        """A finding about a header field, at its place; without one where the container has no header."""
        return finding._replace(ref=None)

    def start(self, accumulators: Sequence[Accumulator]) -> None:
        try:
            if self.begin():
                self._stream(accumulators)
        except Unreadable as unreadable:  # a damaged table has not even a header
            self.collector.add(unreadable.finding)
            self.broken, self.records = True, None

    def _stream(self, accumulators: Sequence[Accumulator]) -> None:
        index = 0
        try:
            for raw, offset, value in self.blocks():
                if isinstance(raw, bytes):
                    self._record(raw, offset, value, index, accumulators)
                    index += 1
                elif not self.spoilt and self._all_keep(value, accumulators):
                    self._deliver(value, raw, index, offset)
                    index += len(raw)
                else:
                    for line, one in zip(raw, value, strict=True):
                        self._record(line, offset, one, index, accumulators)
                        index += 1
                        offset += len(line)
                if self.progress:
                    self.progress(self.source.done(offset), self.source.size)
            self._release()
        except Broken as broken:
            self.collector.add(broken_finding(broken))
            self.broken = True
        except TooLarge as large:
            self.collector.add(too_large(self.source.limits.record, large.offset))
            self.broken = True
        except Unreadable as unreadable:  # in the middle of an archive
            self.collector.add(unreadable.finding)
            self.broken = True
        self._count_again()
        self.records = 0 if self.broken else index

    def _all_keep(self, values: list[Any], accumulators: Sequence[Accumulator]) -> bool:
        """Whether a block of good records keeps all rules; what the accumulators need is then remembered."""
        return (
            len(accumulators) < 2
            and all(rule.all_pass(values) for rule in self.contract.record_rules)
            and all(accumulator.see_all(values) for accumulator in accumulators)
        )

    def _record(self, raw: bytes, offset: int, value: Any, index: int, accumulators: Sequence[Accumulator]) -> None:
        if value is None:
            if counted := self._counted_records.get(raw):
                counted.times += 1
                return
            value, parsed = self._thorough(raw, offset, index)
            if value is None:
                for accumulator in accumulators:
                    accumulator.miss(parsed)
                self._lose(parsed, raw, index, offset)
                return
        good = not self.spoilt
        for rule in self.contract.record_rules:
            for finding in rule.check(value):
                self.add(finding, index, offset, len(raw))
                good = good and finding.severity != "error"
        for accumulator in accumulators:
            at_once = accumulator.see(value, self.base + index, offset, raw)
            if at_once:
                self.add(at_once, index, offset, len(raw))
        if good:
            if self.sink:
                self._hold(value, self.ref(index, offset, len(raw)))
        else:
            self._lose(value, raw, index, offset)

    def _lose(self, parsed: Any, raw: bytes, index: int, offset: int) -> None:
        """Tell scoring of a record that it cannot have."""
        self._release()
        for finding in self.sink.lose(parsed) if self.sink else ():
            self.add(finding, index, offset, len(raw))

    def _hold(self, value: Any, ref: Ref) -> None:
        """Hand the record on with some others: one by one they take longer."""
        self._held.append(value)
        self._held_refs.append(ref)
        if len(self._held) >= _BATCH:
            self._release()

    def _release(self) -> None:
        """Hand on what is held, and tell what is wrong with it beside other files."""
        if self.sink is None or not self._held:
            return
        values, refs = self._held, self._held_refs
        self._held, self._held_refs = [], []
        for position, finding in self.sink.take(mark_validated(values, self.contract.id)):
            self.tell(finding, refs[position])

    def _deliver(self, values: list[Any], raws: list[bytes], index: int, offset: int) -> None:
        """Hand on records that follow each other without a gap."""
        if self.sink is None:
            return
        self._release()
        findings = self.sink.take(mark_validated(values, self.contract.id))
        if findings:
            starts = list(accumulate(map(len, raws), initial=offset))
            for position, finding in findings:
                self.tell(finding, self.ref(index + position, starts[position], len(raws[position])))

    def ref(self, index: int, offset: int, length: int) -> Ref:
        return Ref(offset, length, index)

    def ref_of_earlier(self, ref: Ref) -> Ref:
        """The reference of a record that passed by some time ago."""
        return self.ref(ref.record or 0, ref.offset, ref.length)

    def add(self, finding: Finding, index: int, offset: int, length: int) -> None:
        """A finding about the record that is at hand; what is held back stands before it."""
        if self._held:
            self._release()
        self.tell(finding, self.ref(index, offset, length))

    def tell(self, finding: Finding, ref: Ref) -> bool:
        """A finding about a record. False when it is not kept; no other like it will be then."""
        return self.collector.add(finding, ref)

    def tell_more(self, finding: Finding, times: int) -> None:
        """The same finding about so many other records; it was not kept."""
        self.collector.add_more(finding, times)

    def _thorough(self, raw: bytes, offset: int, index: int) -> tuple[Any, Any]:
        """The value of a record that the fast path did not accept (None when it is bad), and what was read there."""
        if not raw:
            self.add(too_large(self.source.limits.record, None), index, offset, 0)
            return None, None
        try:
            examined = self._examine(raw)
        except Broken as broken:
            self.break_off(broken, index, offset, len(raw))
            return None, None
        findings = examined.findings
        if self._held and examined.value is None:
            self._release()
        counted = self._counted_like(findings)
        if counted:
            counted.times += 1
            if self.sink is None and not examined.rest and len(raw) <= _LONGEST_KNOWN:
                if len(self._counted_records) >= _MOST_KNOWN:
                    self._counted_records.clear()
                self._counted_records[raw] = counted
        else:
            ref = self.ref(index, offset, len(raw))
            kept = False
            for finding in findings:
                if finding.offset is not None:
                    finding = finding._replace(offset=offset + finding.offset)
                kept = self.tell(finding, ref) or kept
            if findings and not kept and not examined.rest:
                self._count_only(examined)
        if examined.rest:
            self.collector.count_rest(examined.rest, index)
        return examined.value, examined.parsed

    def _counted_like(self, findings: list[Finding]) -> _Counted | None:
        """The count of findings like these, where they are only counted."""
        counted = self._counted.get(id(findings))
        if counted is None and self._counted and findings and findings[0].offset is not None:
            counted = self._counted.get(_without_places(findings))
        return counted

    def _count_only(self, examined: Examined) -> None:
        """From now on, what is found in this record, or in one like it, is only counted."""
        if len(self._counted) >= _MOST_KNOWN:
            self._count_again()
        findings = examined.findings
        self._counted[id(findings)] = _Counted(findings)
        in_all = self._known_mistakes.count_only(examined, self.collector.is_full)
        if in_all is not None:
            self._counted[id(in_all)] = _Counted(in_all)
        elif key := _without_places(findings):
            self._counted[key] = _Counted(findings)

    def _count_again(self) -> None:
        """Count what was found in records like those of which nothing is kept any more."""
        for again in self._counted.values():
            if again.times:
                for finding in again.findings:
                    self.tell_more(finding, again.times)
        self._counted.clear()
        self._counted_records.clear()
        self._known_mistakes.forget_counted()

    def break_off(self, broken: Broken, index: int, offset: int, length: int) -> None:
        """A line whose syntax is broken is one bad record."""
        self.add(broken_finding(broken, offset), index, offset, length)

    def second_look(self, indexes: Sequence[UniqueIndex] = (), part: Part = (0, "")) -> None:
        """Which keys really are repeated, and where the records are of which only the number is known."""
        unknown = (f.ref.record for f in self.collector.deferred if f.ref and f.ref.offset == UNKNOWN)
        found = {number: self.ref(number, 0, 0) for number in unknown if number is not None}
        if not indexes and not found:
            return
        self.collector.new_room()
        repeats = _Repeats(self, indexes, part)
        try:
            for number, raw, offset, value in self._one_by_one():
                if number in found:
                    found[number] = self.ref(number, offset, len(raw))
                if value is None and indexes and raw:
                    value = self._quietly(raw)
                if value is not None:
                    repeats.see(value, number, offset, len(raw))
        except (Broken, TooLarge, Unreadable):
            pass  # the file changed between the two looks: what was found stands
        repeats.finish()
        self.collector.place_deferred(found)

    def _one_by_one(self) -> Iterator[tuple[int, bytes, int, Any]]:
        """The number, bytes, offset and value of each record; as `cuts`, but good ones are read many at a time."""
        number = 0
        for raw, offset, value in self.blocks():
            if isinstance(raw, bytes):
                yield number, raw, offset, value
                number += 1
                continue
            for line, one in zip(raw, value, strict=True):
                yield number, line, offset, one
                number += 1
                offset += len(line)

    def settle(self, finding: Finding) -> None:
        """A finding that only the end of the collection showed."""
        ref = finding.ref or Ref(0, 0)
        here = self.ref_of_earlier(ref._replace(record=_record_of(finding) - self.base))
        self.collector.defer(self.named(finding._replace(ref=here)))

    def named(self, finding: Finding) -> Finding:
        """The finding as this container names its place."""
        return finding

    def _quietly(self, raw: bytes) -> Any:
        """The value of a record, None when it is bad, and nothing is reported."""
        if not raw:
            return None
        try:
            return self._examine(raw).value
        except Broken:
            return None

    def _examine(self, raw: bytes) -> Examined:
        """A thorough look at a record. Of records that are the same to the byte, one is looked at."""
        known = self._known_records.get(raw)
        if known is None:
            known = self.look_at(raw)
            if len(raw) <= _LONGEST_KNOWN:
                if len(self._known_records) >= _MOST_KNOWN:
                    self._known_records.clear()
                self._known_records[raw] = known
        return known

    def look_at(self, raw: bytes) -> Examined:
        """A thorough look at a record. May raise `Broken`."""
        return examine(raw, self.adapter, self.contract.record_schema, self.depth, self._known_mistakes)


class _Repeats:
    """Tells which records of a file repeat a key. Once no more of that is kept, it is counted only."""

    def __init__(self, validator: RecordsValidator, indexes: Sequence[UniqueIndex], part: Part) -> None:
        self._validator = validator
        self._indexes = indexes
        self._part = part
        self._counted: Counter[UniqueIndex] = Counter()

    def see(self, value: Any, number: int, offset: int, length: int) -> None:
        validator, part = self._validator, self._part
        for index in self._indexes:
            first = index.look_again(value, lambda: validator.ref(number, offset, length), part)
            if first is None:
                continue
            if index in self._counted:
                self._counted[index] += 1
            elif not validator.collector.defer(
                validator.named(index.repeated(validator.ref(number, offset, length), part, first))
            ):
                self._counted[index] = 0

    def finish(self) -> None:
        for index, times in self._counted.items():
            if times:
                rule = index.rule
                self._validator.collector.add_more(self._validator.named(rule.finding((rule.fields[-1],))), times)


def run_parts(parts: Sequence[RecordsValidator]) -> None:
    """Judge the files that one collection is spread over: rules about the list see all of them."""
    accumulators = [rule.begin() for rule in parts[0].contract.list_rules]
    base = 0
    for part in parts:
        part.base = base
        if part.sink:
            part.sink.begin()
        part.start(accumulators)
        base += part.records or 0
        part.collector.new_room()
        part.finish()
        if part.sink:
            part.sink.end(not part.broken)
    settle_parts(parts, [] if any(part.broken for part in parts) else accumulators)


def settle_parts(parts: Sequence[RecordsValidator], accumulators: Sequence[Accumulator]) -> None:
    """What only the end of a collection shows."""
    bases = [part.base for part in parts]
    for accumulator in accumulators:
        for part in parts:
            part.collector.new_room()
        for finding in accumulator.finish():
            owner = parts[bisect_right(bases, _record_of(finding)) - 1]
            owner.settle(finding)
    suspicious = [a for a in accumulators if isinstance(a, UniqueIndex) and a.suspects]
    for number, part in enumerate(parts):
        part.second_look(suspicious, (number, os.path.basename(part.source.name)))


def _record_of(finding: Finding) -> int:
    return (finding.ref.record if finding.ref else None) or 0


def _without_places(findings: list[Finding]) -> tuple[Hashable, ...] | None:
    """What decides how faults of a text are counted, wherever they are in it; None for other findings, or many."""
    if len(findings) > _MOST_COMPARED or any(finding.offset is None for finding in findings):
        return None
    return tuple([(finding.code, finding.message, finding.path) for finding in findings])


def broken_finding(broken: Broken, base: int = 0, ref: Ref | None = None) -> Finding:
    return Finding(broken.code, broken.message, broken.hint, offset=base + broken.offset, ref=ref)
