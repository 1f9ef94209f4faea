"""Collections and documents in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from medcontract.contracts import recognition
from medcontract.contracts.fast_decoder import RowDecoders
from medcontract.contracts.rules import check_list
from medcontract.problems import Finding, Path, Ref, empty_file
from medcontract.reading.json_scanner import has_surrogate, scan, surrogate_in_key, without_surrogates
from medcontract.reading.json_stream import JsonFile, Member, is_json, outline
from medcontract.reading.limits import MAX_DOCUMENT
from medcontract.reading.located_records import Broken, LocatedRecord, TooLarge, too_large
from medcontract.reading.source import Source
from medcontract.types import JsonObject
from medcontract.validation.records import Recognition, RecordReader, broken_finding


class JsonReader(RecordReader):
    """A collection: an object with a header and a list of records."""

    is_json = True
    has_parts = True
    depth = 2
    file: JsonFile

    @classmethod
    def recognize(cls, source: Source) -> Recognition:
        seen, found = outline(source, recognition.certain)
        return found or recognition.of_outline(seen)

    @classmethod
    def syntax_errors(cls, source: Source) -> Iterator[Finding]:
        if is_json(source):
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

    def records(self, decode: RowDecoders) -> Iterator[LocatedRecord]:
        self.file = JsonFile(self.source, self.contract.list_key, decode.one)
        return self.file.records()

    def between(self, start: int, end: int, decode: RowDecoders) -> Iterator[LocatedRecord]:
        text = b'{"":[' + self.source.read(start, end - start).rstrip(b" \t\r\n,") + b"]}"
        part = JsonFile(Source(text, limits=self.source.limits), "", decode.one)
        return (LocatedRecord(each.raw, start + each.offset - 5, each.value) for each in part.records())

    def prefix(self, index: int) -> Path:
        return (self.contract.list_key or "", index)

    def syntax_error(self, broken: Broken, record: LocatedRecord) -> Finding:
        broken.offset += record.offset
        raise broken

    def finish(self, records: int) -> bool:
        try:
            return self._check_header()
        except Broken as broken:
            self.collector.defer(broken_finding(broken))
            return False

    def _check_header(self) -> bool:
        """Check the header like a file with an empty list. False if the file has another structure."""
        members = {member.key: member for member in self.file.header}
        if self.file.outer or self.contract.list_key in self.contract.header_required - members.keys():
            from medcontract.hints.json_arrangements import explain_structure

            finding = explain_structure(self.source, self.contract, self.file.outer)
            if finding:
                self.collector.defer(finding)
                return False
        good = self.contract.decode_whole(self.file.header_text())
        if good is None:
            good = self._examine_header()
        if good is not None:
            for rule in self.contract.header_rules:
                for finding in rule.check(good):
                    self.collector.defer(self._placed(finding, members))
                    self.bad_header = self.bad_header or finding.severity == "error"
        self.bad_header = self.bad_header or good is None
        self.header = None if self.bad_header else good
        return True

    def in_header(self, finding: Finding) -> Finding:
        members = {member.key: member for member in self.file.header}
        placed = super().in_header(finding)
        return self._placed(placed, members) if str(finding.path[0]) in members else placed

    def _examine_header(self) -> Any:
        """Return the header by the slow path: its value, or None if it is invalid."""
        from medcontract.contracts.pydantic_errors import check_structure
        from medcontract.hints.json_arrangements import list_hint
        from medcontract.hints.values import with_hints

        header: JsonObject = {}
        members: dict[str, Member] = {}
        spoilt: list[Path] = []
        for member in self.file.header:
            if has_surrogate(member.key):
                bad_key = surrogate_in_key((), member.key_offset)
                self.collector.defer(Finding(bad_key.code, bad_key.message, bad_key.hint, offset=bad_key.offset))
                member = member._replace(key=without_surrogates(member.key))
                spoilt.append((member.key,))
            value, faults, rest = _scan_member(member)
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
        from medcontract.reading.json_scanner import find

        value_at, key_at = find(member.raw, finding.path[1:])
        return finding._replace(offset=member.offset + (key_at if finding.at_key else value_at), field=None)


def _scan_member(member: Member) -> tuple[Any, list[Finding], list[tuple[Finding, int]]]:
    """Return the value of a header field, its faults with exact places, and faults that are only counted."""
    from medcontract.validation.slow_path import counted_only

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


class DocumentReader(RecordReader):
    """A document: one value, held in memory, without records."""

    def load(self) -> Any:
        return _load(self)

    def begin(self) -> bool:
        source, collector = self.source, self.collector
        raw = source.read(source.start, MAX_DOCUMENT + 1)
        if len(raw) > MAX_DOCUMENT:
            message = f"the document is larger than {MAX_DOCUMENT >> 20} MiB"
            collector.add(too_large(source.limits.record, 0)._replace(message=message))
            return False
        if not raw.strip(b" \t\r\n"):
            collector.add(empty_file(source.start))
            return False
        value = self.contract.decode_whole(raw)
        findings = self._rules(value) if value is not None else []
        if value is None:
            from medcontract.validation.slow_path import examine_document

            try:
                value, findings, _, rest = examine_document(raw, self.contract)
            except Broken as broken:
                collector.add(broken_finding(broken, source.start))
                return False
            findings = findings or self._rules(value)
            collector.count_rest(rest)
        ref = Ref(source.start, len(raw))
        for finding in findings:
            exact = None if finding.offset is None else ref.offset + finding.offset
            collector.add(finding._replace(ref=ref, offset=exact, field=None))
        self.header = None if collector.errors else value
        return False

    def _rules(self, value: Any) -> list[Finding]:
        found = [finding for rule in self.contract.header_rules for finding in rule.check(value)]
        for list_rule in self.contract.list_rules:
            for index, finding in check_list(list_rule, getattr(value, list_rule.within)):
                found.append(finding._replace(path=(list_rule.within, index, *finding.path)))
        return found


def _load(reader: RecordReader) -> Any:
    """Return the model of the whole file, with its header."""
    source = reader.source
    return reader.contract.definition.model.model_validate(msgspec.json.decode(source.read(source.start, -1)))
