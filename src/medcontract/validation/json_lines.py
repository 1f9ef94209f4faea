"""Collections in JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from medcontract.contracts import recognition
from medcontract.contracts.fast_decoder import RowDecoders, quick_parse
from medcontract.errors import NotRecognized
from medcontract.problems import Finding, Ref, empty_file
from medcontract.reading import jsonl
from medcontract.reading.json_scanner import scan
from medcontract.reading.json_stream import check_syntax
from medcontract.reading.limits import MAX_DEPTH
from medcontract.reading.located_records import Broken, Located, LocatedRecord
from medcontract.reading.source import Source
from medcontract.validation.records import Recognition, RecordReader, broken_finding

if TYPE_CHECKING:
    from medcontract.hints.lines import LastLine

_MOST_LINES = 1000
"""Lines that are searched for the first record."""


class JsonLinesReader(RecordReader):
    is_json = True
    has_parts = True
    _last_line: LastLine | None = None

    @classmethod
    def recognize(cls, source: Source) -> Recognition:
        for number, record in enumerate(islice(jsonl.records(source, lambda raw: None), _MOST_LINES)):
            try:
                value = scan(record.raw).value
            except Broken:
                continue
            if isinstance(value, dict):
                return recognition.of_record(frozenset(value), Ref(record.offset, len(record.raw), number))
        return NotRecognized(
            f"none of the first {_MOST_LINES} lines is a JSON object",
            "write one record per line, or name the file .json",
        )

    @classmethod
    def syntax_errors(cls, source: Source) -> Iterator[Finding]:
        from medcontract.hints.lines import LastLine, explain_line

        index = -1
        last_line = LastLine(source)
        for index, record in enumerate(jsonl.records(source, lambda raw: None)):
            ref = Ref(record.offset, len(record.raw), index)
            if record.finding:
                yield record.finding._replace(ref=ref)
                continue
            try:
                check_syntax(record.raw)
            except Broken as broken:
                yield last_line.explain(broken_finding(explain_line(broken, record.raw), record.offset, ref), ref)
        if index < 0:
            yield empty_file(source.start)

    def begin(self) -> bool:
        head = self.source.head[self.source.start :].lstrip()
        line = head.splitlines()[0] if head else b""
        if head[len(line) :].strip() and isinstance(quick_parse(line, MAX_DEPTH), dict):
            return True  # almost every file: an object, and more lines
        first = next(jsonl.records(self.source, self.contract.decode_record), None)
        if first is None or first.value is not None or self._is_valid(first):
            return True
        from medcontract.hints.lines import one_value

        whole = one_value(self.source, self.contract)
        if whole:
            self.collector.add(whole)
        return whole is None

    def _is_valid(self, record: LocatedRecord) -> bool:
        from medcontract.validation.slow_path import SlowPath

        try:
            return record.finding is None and SlowPath(self.contract).examine(record.raw).value is not None
        except Broken:
            return False

    def records(self, decode: RowDecoders) -> Iterator[Located]:
        limit = self.source.limits.record
        return jsonl.records_in_blocks(jsonl.texts(self.source), limit, decode.one, decode.lines)

    def between(self, start: int, end: int, decode: RowDecoders) -> Iterator[Located]:
        limit = self.source.limits.record
        texts = jsonl.without_long_lines(self.source.read(start, end - start), start, limit)
        return jsonl.records_in_blocks(texts, limit, decode.one, decode.lines)

    def syntax_error(self, broken: Broken, record: LocatedRecord) -> Finding:
        from medcontract.hints.lines import explain_line

        return broken_finding(explain_line(broken, record.raw), record.offset)

    def explain(self, finding: Finding, ref: Ref) -> Finding:
        if finding.code != "MC011":
            return finding
        from medcontract.hints.lines import LastLine

        self._last_line = self._last_line or LastLine(self.source)
        return self._last_line.explain(finding, ref)

    def finish(self, records: int) -> bool:
        if records == 0 and not self.collector.errors:
            self.collector.add(empty_file(self.source.start))
        return True
