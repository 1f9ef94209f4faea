"""Examines invalid records: what is wrong with each, and which of them repeat a key."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from medcontract.contracts.fast_decoder import quick_parse
from medcontract.contracts.registry import CompiledContract, all_keys, variants_of
from medcontract.contracts.rules import UNKNOWN, UniqueIndex
from medcontract.contracts.rules.collection import Part
from medcontract.contracts.string_patterns import NON_BLANK
from medcontract.problems import Finding, Path, Ref
from medcontract.reading.json_scanner import Fault, Scanned, scan
from medcontract.reading.limits import MAX_DEPTH
from medcontract.reading.located_records import Broken, Landmark, Located, LocatedRecord, TooLarge
from medcontract.reading.source import Unreadable
from medcontract.types import JsonObject
from medcontract.validation.records import RecordsValidator

if TYPE_CHECKING:
    from pydantic import TypeAdapter


_MOST_HINTS = 100
_MOST_KNOWN = 4096
_LONGEST_KNOWN = 2000
_PLAIN_TEXT = re.compile(r"[!-~][ -~]{0,63}")
_ANY_TEXT: tuple[JsonObject, ...] = ({"type": "string"}, {"type": "string", "pattern": NON_BLANK})


Rest = list[tuple[Finding, int]]
"""Findings that are only counted: one of each kind, and their number."""


class Examined(NamedTuple):
    """The outcome of the slow path for a record."""

    value: Any
    """None if the record is invalid."""
    findings: list[Finding]
    """Their offsets are relative to the start of the record."""
    parsed: Any = None
    """The parsed JSON, valid or not."""
    rest: Rest | tuple[()] = ()


class SlowPath:
    """Checks records one by one, with a cache of the findings about their structure.

    A file of invalid records usually repeats the same few mistakes. The cache key is the record, except for short plain
    strings in fields that accept any string: whether an id is r1 or r2 makes no difference.
    """

    def __init__(self, contract: CompiledContract, depth: int = 0, in_table: bool = False) -> None:
        self._contract = contract
        self._depth = depth
        """The nesting depth of a record in its file."""
        self._in_table = in_table
        self._known: dict[bytes, list[Finding]] = {}

    def examine(self, raw: bytes) -> Examined:
        """Check one record. May raise `Broken`."""
        parsed, faults, rest, is_whole = parse(raw, self._depth)
        if not is_whole:
            return Examined(None, faults, parsed)
        key = None if rest else self.key(parsed, faults)
        if key is not None and (errors := self._known.get(key)) is not None:
            return Examined(None, faults + errors if faults else errors, parsed)
        contract = self._contract
        examined = examine_structure(
            parsed, faults, rest, contract.record_adapter, contract.record_schema, contract.spread, self._in_table
        )
        if key is not None and examined.findings:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = examined.findings[len(faults) :]
        return examined

    def key(self, parsed: Any, faults: Sequence[Finding]) -> bytes | None:
        """Return the cache key of a record; None if there is none, or if it is too long."""
        if self._free_text is None or type(parsed) is not dict or len(parsed) > _MOST_HINTS or len(faults) > 100:
            return None
        outline = dict(parsed)
        for name in self._free_text:
            text = outline.get(name)
            if type(text) is str and _PLAIN_TEXT.fullmatch(text):
                outline[name] = "x"
        try:
            key = msgspec.msgpack.encode((outline, [(f.code, f.path, f.at_key) for f in faults]))
        except (OverflowError, UnicodeEncodeError):  # an integer beyond 64 bits, a lone surrogate
            return None
        return key if len(key) <= _LONGEST_KNOWN else None

    @cached_property
    def _free_text(self) -> tuple[str, ...] | None:
        """The fields of a record that accept any string (or any that is not blank), in each variant that has them."""
        if not self._contract.schema_is_complete:
            return None
        variants = [variant.get("properties", {}) for variant in variants_of(self._contract.record_schema)]
        names = {name for fields in variants for name in fields}
        free = (name for name in names if all(fields.get(name, _ANY_TEXT[0]) in _ANY_TEXT for fields in variants))
        return tuple(sorted(free))


def examine_document(raw: bytes, contract: CompiledContract) -> Examined:
    """Check a document. May raise `Broken`."""
    parsed, faults, rest, is_whole = parse(raw)
    if not is_whole:
        return Examined(None, faults, parsed)
    return examine_structure(parsed, faults, rest, contract.whole_adapter, contract.schema)


def parse(raw: bytes, depth: int = 0) -> tuple[Any, list[Finding], Rest, bool]:
    """Return the value of a JSON text, its faults, faults that are only counted, and whether the value is complete.

    It is not if the text is nested too deep: then no more than the first fault counts. May raise `Broken`.
    """
    parsed = quick_parse(raw, MAX_DEPTH - depth)
    if parsed is not msgspec.UNSET:
        return parsed, [], [], True
    scanned = scan(raw, depth=depth)
    faults = list(map(fault_finding, scanned.faults))
    if any(fault.code == "MC019" for fault in faults):
        return scanned.value, faults[:1], [], False
    return scanned.value, faults, counted_only(scanned), True


def examine_structure(
    parsed: Any,
    faults: list[Finding],
    rest: Rest,
    adapter: TypeAdapter[Any],
    schema: JsonObject,
    spread: Mapping[str, Sequence[str]] = MappingProxyType({}),
    in_table: bool = False,
) -> Examined:
    """Check a value that was parsed with these faults."""
    from medcontract.contracts.pydantic_errors import check_structure

    value, errors = check_structure(adapter, parsed, all_keys(schema))
    if any(fault.code == "MC016" for fault in faults):
        from medcontract.hints.values import not_a_number_hint

        faults = [each._replace(hint=not_a_number_hint(each, schema)) if each.code == "MC016" else each
                  for each in faults]  # fmt: skip
    if errors:
        from medcontract.hints.values import no_error, with_hints

        meant = no_error(parsed, errors)
        if meant:
            errors = check_structure(adapter, {**parsed, "error": None}, all_keys(schema)).findings
        errors = with_hints(_without_consequences(errors, faults, rest), schema, parsed, spread, in_table) + meant
    findings = faults + errors if faults else errors
    return Examined(None if findings else value, findings, parsed, rest)


def fault_finding(fault: Fault) -> Finding:
    return Finding(fault.code, fault.message, fault.hint, path=fault.path, offset=fault.offset, at_key=fault.at_key)


def counted_only(scanned: Scanned) -> Rest:
    """Return the faults of a text that are counted, but not listed."""
    return [(fault_finding(fault), times) for fault, times in scanned.rest.items()]


def is_inside(path: Path, others: set[Path]) -> bool:
    """Return whether one of the other paths leads to the value at this path, or to one that contains it."""
    return bool(others) and any(path[:length] in others for length in range(len(path) + 1))


def _without_consequences(errors: list[Finding], faults: list[Finding], rest: Rest) -> list[Finding]:
    """Return the errors in the structure, except errors that only result from a fault of the same value."""
    error_is_bad = any(finding.path == ("error",) for finding in errors)
    faulty = {fault.path for fault in faults if not fault.at_key}
    faulty_patterns = {fault.path for fault, _ in rest if not fault.at_key}
    bad_keys = {fault.path for fault in faults if fault.code == "MC018" and fault.at_key}

    def is_consequence(finding: Finding) -> bool:
        path = finding.path
        pattern = tuple("*" if isinstance(token, int) else token for token in path) if faulty_patterns else ()
        if is_inside(path, faulty) or is_inside(pattern, faulty_patterns):
            return True
        if finding.code == "MC109":
            return error_is_bad
        return finding.code == "MC102" and path[:-1] in bad_keys and "\ufffd" in str(path[-1])

    return [finding for finding in errors if not is_consequence(finding)]


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

    They are in these parts of the file or, without any, anywhere.
    """
    reader, decode = validator.reader, validator.decoders
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
                yield number, record, validator.value_of(record.raw.rstrip(b"\r\n")) if value is None else value
            elif places:
                yield number, record, None


def _numbered(pieces: Sequence[tuple[int, Iterator[Located]]]) -> Iterator[tuple[int, Located]]:
    """Yield what is read with the index of its first record, given the index of each piece."""
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
