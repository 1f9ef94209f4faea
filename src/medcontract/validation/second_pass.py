"""Reads the records in question a second time: for repeated keys, and for records of which only the index is known."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from medcontract.contracts.rules import UNKNOWN, UniqueIndex
from medcontract.contracts.rules.collection import Part
from medcontract.problems import Ref
from medcontract.reading.json_scanner import Broken
from medcontract.reading.located_records import Located, LocatedRecord, TooLarge
from medcontract.reading.source import Unreadable
from medcontract.validation.records import Landmark, RecordsValidator

Parts = Sequence[tuple[Landmark, Landmark]]
"""Where parts of a file start and end."""


def second_pass(validator: RecordsValidator, unique: Sequence[UniqueIndex] = (), part: Part = (0, "")) -> None:
    """Find the keys that are really repeated, and the positions of records of which only the index is known."""
    collector, reader = validator.collector, validator.reader
    indexes = [index for index in unique if index.suspects]
    unknown = (f.ref.record for f in collector.deferred if f.ref and f.ref.offset == UNKNOWN)
    found = {number: Ref(0, 0, number, reader.prefix(number)) for number in unknown if number is not None}
    if not indexes and not found:
        return
    collector.new_series()
    repeats = _Repeats(validator, indexes, part)
    try:
        parts = _parts_in_question(validator, unique, found)
        for number, record, value in _in_question(validator, indexes, found, parts):
            ref = reader.ref(number, record)
            if number in found:
                found[number] = ref
            if value is not None:
                repeats.see(value, ref)
    except (Broken, TooLarge, Unreadable):
        pass  # the file changed between the two passes: keep the findings
    repeats.finish()
    collector.place_deferred(found)


def _in_question(
    validator: RecordsValidator, indexes: Sequence[UniqueIndex], numbers: Collection[int], parts: Parts | None
) -> Iterator[tuple[int, LocatedRecord, Any]]:
    """Yield the records whose keys may be repeated, with index and value, and those `numbers`.

    They are in these parts of the file or, without any, anywhere. Of others, no more than the keys is decoded.
    """
    reader, contract = validator.reader, validator.contract
    fields = [name for index in indexes for name in index.rule.fields]
    keys = contract.decode_keys(fields) if reader.is_json and fields else None
    decode = keys or validator.decoders
    places = sorted(numbers)
    pieces = [(0, reader.records(decode))]
    if parts is not None:
        pieces = [(start.record, reader.between(start.offset, end.offset, decode)) for start, end in parts]
    for index, item in _numbered(pieces):
        records = [(index, item)] if isinstance(item, LocatedRecord) else []
        if not isinstance(item, LocatedRecord):
            near = places[bisect_left(places, index) : bisect_left(places, index + len(item.values))]
            chosen = {place - index for place in near}.union(*(each.suspects_among(item.values) for each in indexes))
            every = enumerate(item.records()) if chosen else ()
            records = [(index + position, record) for position, record in every if position in chosen]
        for number, record in records:
            value, is_there = record.value, record.finding is None
            if is_there and indexes and (value is None or any(each.suspects_among([value]) for each in indexes)):
                complete = validator.value_of(record.raw.rstrip(b"\r\n")) if value is None or keys else value
                yield number, record, complete
            elif places:
                yield number, record, None


def _numbered(pieces: Sequence[tuple[int, Iterator[Located]]]) -> Iterator[tuple[int, Located]]:
    """Yield what is read with the index of its first record, given that of each piece."""
    for number, items in pieces:
        for item in items:
            yield number, item
            number += 1 if isinstance(item, LocatedRecord) else len(item.values)


def _parts_in_question(
    validator: RecordsValidator, unique: Sequence[UniqueIndex], numbers: Collection[int]
) -> Parts | None:
    """Return the parts of the file with these records and with suspicious keys; None for the whole file."""
    marks, found = validator.landmarks, set[int]()
    if validator.source.packed or validator.source.in_archive or not validator.reader.has_parts:
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


class _Repeats:
    """Finds the records of a file that repeat a key. Once its findings are no longer kept, they are only counted."""

    def __init__(self, validator: RecordsValidator, indexes: Sequence[UniqueIndex], part: Part) -> None:
        self._validator = validator
        self._indexes = indexes
        self._part = part
        self._counted: Counter[UniqueIndex] = Counter()

    def see(self, value: Any, ref: Ref) -> None:
        """Process a record whose keys may be repeated."""
        validator, part = self._validator, self._part
        for index in self._indexes:
            first = index.find_first(value, ref, part)
            if first is None:
                continue
            if index in self._counted:
                self._counted[index] += 1
            elif not validator.collector.defer(validator.reader.named(index.repeated(ref, part, first))):
                self._counted[index] = 0

    def finish(self) -> None:
        for index, times in self._counted.items():
            if times:
                finding = index.rule.finding((index.rule.fields[-1],))
                self._validator.collector.add_more(self._validator.reader.named(finding), times)
