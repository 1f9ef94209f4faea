"""Collections and documents in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from medcontract.contracts import recognition, registry
from medcontract.contracts.recognition import Recognized
from medcontract.contracts.registry import CompiledContract
from medcontract.contracts.rules import check_list
from medcontract.errors import NotRecognized
from medcontract.hints.json_arrangements import has_nested_lists, in_file, list_hint, rows_of_a_table, wrap_hint
from medcontract.hints.keys import with_hints
from medcontract.hints.table_arrangements import records_match_exactly
from medcontract.problems import Finding, Path, Ref, empty_file
from medcontract.reading.json_locator import find
from medcontract.reading.json_scanner import Broken, has_surrogate, scan, surrogate_in_key, without_surrogates
from medcontract.reading.json_stream import JsonFile, Member, is_json, outline
from medcontract.reading.limits import MAX_DOCUMENT
from medcontract.reading.located_records import Cut, TooLarge, too_large
from medcontract.reading.source import Source
from medcontract.types import Outline
from medcontract.validation.record_errors import Examined, Rest, counted_only, examine
from medcontract.validation.records import RecordsValidator, broken_finding


def _first_keys(seen: Outline, contract: CompiledContract, found: Recognized) -> frozenset[str]:
    """The keys of the first record, whichever name its list has."""
    lists = (name for name in seen.items if found.renames.get(name, name) in (contract.list_key, ""))
    return next((seen.items[name] for name in lists), frozenset())


class JsonValidator(RecordsValidator):
    is_json = True
    has_parts = True
    depth = 2
    file: JsonFile

    @classmethod
    def recognize(cls, source: Source) -> Recognized:
        seen = outline(source, recognition.certain)
        found = recognition.of_outline(seen)
        contract = registry.find(found.contract_id)
        shape = in_file(source) if has_nested_lists(seen, contract) else None
        first = _first_keys(seen, contract, found)
        if first and not shape and not records_match_exactly(first, contract):
            shape = rows_of_a_table(source, found.renames)
        if shape:
            raise NotRecognized(shape.message, shape.hint)
        return found

    @classmethod
    def syntax_errors(cls, source: Source) -> Iterator[Finding]:
        if is_json(source):
            finding = in_file(source)
            yield from [finding] if finding else []
            return
        try:
            for _ in JsonFile(source, None, lambda raw: None).records():
                pass
        except Broken as broken:
            yield broken_finding(broken)
        except TooLarge as large:
            yield too_large(source.limits.record, large.offset)

    def load(self) -> Any:
        return _load(self)

    def cuts(self) -> Iterator[Cut]:
        self.file = JsonFile(self.source, self.contract.list_key, self.decode)
        return self.file.records()

    def blocks_between(self, start: int, end: int) -> Iterator[Cut]:
        text = b'{"":[' + self.source.read(start, end - start).rstrip(b" \t\r\n,") + b"]}"
        part = JsonFile(Source(text, limits=self.source.limits), "", self.decode)
        return ((raw, start + offset - 5, value) for raw, offset, value in part.records())

    def ref(self, index: int, offset: int, length: int) -> Ref:
        return Ref(offset, length, index, (self.contract.list_key or "", index))

    def add_syntax_error(self, broken: Broken, index: int, offset: int, length: int) -> None:
        broken.offset += offset
        raise broken

    def finish(self) -> None:
        if self.broken:
            return
        try:
            self._check_header()
        except Broken as broken:
            self.collector.defer(broken_finding(broken))
            self.broken = True
            self.records = 0

    def _check_header(self) -> None:
        """The header is checked like a file with an empty list."""
        outer = self.file.outer
        members = {member.key: member for member in self.file.header}
        lacks_list = self.contract.list_key in self.contract.header_required - members.keys()
        shape = in_file(self.source, self.contract) if lacks_list else None
        if outer is not None or shape:
            self.collector.defer(shape or _not_an_object(outer, self.contract))
            self.broken = True
            self.records = 0
            return
        good = self._decode_header()
        if good is None:
            good = self._examine_header()
        if good is not None:
            for rule in self.contract.header_rules:
                for finding in rule.check(good):
                    self.collector.defer(self._placed(finding, members))
                    self.bad_header = self.bad_header or finding.severity == "error"
        self.bad_header = self.bad_header or good is None
        self.header = None if self.bad_header else good

    def _decode_header(self) -> Any:
        """The header by the fast path, or None if that rejects it."""
        try:
            parts = [msgspec.json.encode(member.key) + b":" + member.raw for member in self.file.header]
        except UnicodeEncodeError:  # a lone surrogate in a key
            return None
        return self.contract.decode_whole(b"{" + b",".join(parts) + b"}")

    def in_header(self, finding: Finding) -> Finding:
        members = {member.key: member for member in self.file.header}
        placed = super().in_header(finding)
        return self._placed(placed, members) if str(finding.path[0]) in members else placed

    def _examine_header(self) -> Any:
        """The header by the slow path: its value, or None if it is invalid."""
        from medcontract.contracts.pydantic_errors import check_structure

        header: dict[str, Any] = {}
        members: dict[str, Member] = {}
        spoilt: list[Path] = []
        for member in self.file.header:
            if has_surrogate(member.key):
                bad_key = surrogate_in_key((), member.key_offset)
                self.collector.defer(Finding(bad_key.code, bad_key.message, bad_key.hint, offset=bad_key.offset))
                member = member._replace(key=without_surrogates(member.key))
                spoilt.append((member.key,))
            value, faults, rest = scan_member(member)
            if member.key in header:
                faults = [Finding("MC015", "this key is repeated", "keep one of them", path=(member.key,),
                                  offset=member.key_offset)]  # fmt: skip
            else:
                header[member.key], members[member.key] = value, member
                self.collector.count_rest(rest)
                spoilt += [fault.path for fault in faults]
            for fault in faults:
                self.collector.defer(fault)
        value, findings = check_structure(self.contract.whole_adapter, header)
        for finding in with_hints(findings, self.contract.schema, header):
            if not any(finding.path[: len(path)] == path for path in spoilt):
                if finding.path == (self.contract.list_key,):
                    finding = finding._replace(hint=list_hint(header.get(str(finding.path[0]))))
                self.collector.defer(self._placed(finding, members))
        return None if findings or spoilt else value

    def _placed(self, finding: Finding, members: dict[str, Member]) -> Finding:
        if not finding.path:
            return finding._replace(offset=self.file.start, field=None)
        member = members[str(finding.path[0])]
        if finding.at_key and len(finding.path) == 1:
            return finding._replace(offset=member.key_offset)
        value_at, key_at = find(member.raw, finding.path[1:])
        return finding._replace(offset=member.offset + (key_at if finding.at_key else value_at), field=None)


def scan_member(member: Member) -> tuple[Any, list[Finding], Rest]:
    """The value of a header field, its faults as findings with exact places, and faults that are only counted."""
    try:
        scanned = scan(member.raw, depth=1)
    except Broken as broken:
        broken.offset += member.offset
        raise
    faults = [
        Finding(f.code, f.message, f.hint, path=(member.key, *f.path), offset=member.offset + f.offset)
        for f in scanned.faults
    ]
    rest = [(fault._replace(path=(member.key, *fault.path)), times) for fault, times in counted_only(scanned)]
    return scanned.value, faults, rest


def _not_an_object(outer: Member | None, contract: CompiledContract) -> Finding:
    is_list = outer is not None and outer.raw == b"[]"
    hint = wrap_hint(contract) if is_list and contract.list_key else None
    offset = None if outer is None else outer.offset
    return Finding("MC103", f"expected an object, got {'a list' if is_list else 'this'}", hint, offset=offset)


class DocumentValidator(RecordsValidator):
    """A document is one value, held in memory."""

    def load(self) -> Any:
        return _load(self)

    def run(self) -> None:
        self.records = None
        raw = self.source.read(self.source.start, MAX_DOCUMENT + 1)
        if len(raw) > MAX_DOCUMENT:
            self.collector.add(
                too_large(self.source.limits.record, 0)._replace(
                    message=f"the document is larger than {MAX_DOCUMENT >> 20} MiB"
                )
            )
            return
        ref = Ref(self.source.start, len(raw))
        if not raw.strip(b" \t\r\n"):
            self.collector.add(empty_file(ref.offset))
            return
        try:
            value, findings, _, rest = self._value(raw)
        except Broken as broken:
            self.collector.add(broken_finding(broken, ref.offset))
            return
        for finding in findings or self._rules(value):
            exact = None if finding.offset is None else ref.offset + finding.offset
            self.collector.add(finding._replace(ref=ref, offset=exact, field=None))
        self.collector.count_rest(rest)
        self.header = None if self.collector.errors else value

    def _value(self, raw: bytes) -> Examined:
        value = self.contract.decode_whole(raw)
        if value is not None:
            return Examined(value, [])
        return examine(raw, self.contract.whole_adapter, self.contract.schema, 0)

    def _rules(self, value: Any) -> Iterator[Finding]:
        for rule in self.contract.header_rules:
            yield from rule.check(value)
        for list_rule in self.contract.list_rules:
            for index, finding in check_list(list_rule, getattr(value, list_rule.within)):
                yield finding._replace(path=(list_rule.within, index, *finding.path))


def _load(validator: RecordsValidator) -> Any:
    """The model of the whole file, with its header."""
    source = validator.source
    return validator.contract.definition.model.model_validate(msgspec.json.decode(source.read(source.start, -1)))
