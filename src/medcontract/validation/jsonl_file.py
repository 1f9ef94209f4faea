"""Collections in JSON Lines."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import islice

from medcontract.contracts import recognition, registry
from medcontract.contracts.recognition import Recognized
from medcontract.errors import NotRecognized
from medcontract.hints.json_arrangements import parsed
from medcontract.hints.lines import LastLine, explain_line, one_value, whole_files
from medcontract.hints.table_arrangements import in_records, records_match_exactly
from medcontract.problems import Finding, Ref, empty_file
from medcontract.reading import jsonl
from medcontract.reading.diagnosis import MOST_BYTES
from medcontract.reading.json_scanner import Broken, scan
from medcontract.reading.json_stream import check_syntax
from medcontract.reading.located_records import Block, Cut, too_large
from medcontract.reading.source import Source
from medcontract.validation.record_errors import Examined
from medcontract.validation.records import RecordsValidator, broken_finding


def _other_arrangement(source: Source, renamed: Collection[str] = ()) -> Finding | None:
    """The finding about lines that are the rows of a table in another arrangement."""
    lines = source.read(source.start, MOST_BYTES).splitlines()
    records = [parsed(line) for line in lines[:_MOST_LINES]]
    finding = in_records(records, renamed)
    return finding._replace(offset=source.start) if finding else None


def _reject_other_arrangement(source: Source, found: Recognized) -> None:
    other = _other_arrangement(source, found.renames)
    if other:
        raise NotRecognized(other.message, other.hint)


_MOST_LINES = 50


class JsonLinesValidator(RecordsValidator):
    is_json = True
    has_parts = True

    @classmethod
    def recognize(cls, source: Source) -> Recognized:
        for number, (raw, offset, _) in enumerate(islice(jsonl.records(source, lambda raw: None), 1000)):
            try:
                value = scan(raw).value
            except Broken:
                continue
            if isinstance(value, dict):
                found = recognition.of_record(frozenset(value), Ref(offset, len(raw), number))
                if not records_match_exactly(value, registry.find(found.contract_id)):
                    _reject_other_arrangement(source, found)
                return found
        raise NotRecognized(
            "none of the first 1000 lines is a JSON object", "write one record per line, or name the file .json"
        )

    @classmethod
    def syntax_errors(cls, source: Source) -> Iterator[Finding]:
        if whole := one_value(source) or whole_files(source) or _other_arrangement(source):
            yield whole
            return
        index = -1
        last_line = LastLine(source)
        for index, (raw, offset, _) in enumerate(jsonl.records(source, lambda raw: None)):
            ref = Ref(offset, len(raw), index)
            if not raw:
                yield too_large(source.limits.record, None, ref)
                continue
            try:
                check_syntax(raw)
            except Broken as broken:
                yield last_line.explain(broken_finding(explain_line(broken, raw), offset, ref), ref)
        if index < 0:
            yield empty_file(source.start)

    def begin(self) -> bool:
        whole = one_value(self.source, self.contract)
        if whole is None or self._first_is_valid():
            return True
        self.collector.add(whole)
        self.broken = True
        return False

    def _first_is_valid(self) -> bool:
        raw, _, value = next(self.cuts(), (b"", 0, None))
        return value is not None or self.value_of(raw) is not None

    @cached_property
    def _last_line(self) -> LastLine:
        return LastLine(self.source)

    def collect(self, finding: Finding, ref: Ref) -> None:
        super().collect(self._last_line.explain(finding, ref), ref)

    def cuts(self) -> Iterator[Cut]:
        return jsonl.records(self.source, self.decode)

    def blocks(self) -> Iterator[Cut | Block]:
        return jsonl.records_in_blocks(self.source, self.decode, self.decode_lines)

    def blocks_between(self, start: int, end: int) -> Iterator[Cut | Block]:
        texts = jsonl.without_long_lines(self.source.read(start, end - start), start, self.source.limits.record)
        return jsonl.in_blocks(texts, self.decode, self.decode_lines)

    def examine_record(self, raw: bytes) -> Examined:
        """Like the base method, but a syntax error makes only this line invalid."""
        try:
            return super().examine_record(raw)
        except Broken as broken:
            return Examined(None, [broken_finding(explain_line(broken, raw))])

    def finish(self) -> None:
        if self.records == 0 and not self.collector.errors:
            self.collector.add(empty_file(self.source.start))
