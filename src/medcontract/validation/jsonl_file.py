"""Collections in JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from medcontract.contracts import recognition
from medcontract.contracts.recognition import Recognized
from medcontract.errors import NotRecognised
from medcontract.problems import Finding, Ref, empty_file
from medcontract.reading import jsonl_file
from medcontract.reading.json_file import Block, Cut, check_syntax, too_large
from medcontract.reading.json_scanner import Broken, scan
from medcontract.reading.source import Source
from medcontract.validation.record_errors import Examined
from medcontract.validation.records import RecordsValidator, broken_finding


def one_line_hint(broken: Broken) -> Broken:
    """A truncated line is most likely part of a record that spans several lines."""
    if broken.code == "MC011":
        broken.hint = "write each record on one line; use .json for a file that spans several lines"
    return broken


class JsonLinesValidator(RecordsValidator):
    @classmethod
    def recognise(cls, source: Source) -> Recognized:
        for number, (raw, offset, _) in enumerate(islice(jsonl_file.records(source, lambda raw: None), 1000)):
            try:
                value = scan(raw).value
            except Broken:
                continue
            if isinstance(value, dict):
                return recognition.of_record(frozenset(value), Ref(offset, len(raw), number))
        raise NotRecognised(
            "none of the first 1000 lines is a JSON object", "write one record per line, or name the file .json"
        )

    @classmethod
    def syntax_errors(cls, source: Source) -> Iterator[Finding]:
        index = -1
        for index, (raw, offset, _) in enumerate(jsonl_file.records(source, lambda raw: None)):
            ref = Ref(offset, len(raw), index)
            if not raw:
                yield too_large(source.limits.record, None, ref)
                continue
            try:
                check_syntax(raw)
            except Broken as broken:
                yield broken_finding(one_line_hint(broken), offset, ref)
        if index < 0:
            yield empty_file(source.start)

    def cuts(self) -> Iterator[Cut]:
        return jsonl_file.records(self.source, self.decode)

    def blocks(self) -> Iterator[Cut | Block]:
        return jsonl_file.records_in_blocks(self.source, self.decode, self.contract.decode_lines)

    def examine_record(self, raw: bytes) -> Examined:
        """Like the base method, but a syntax error makes only this line invalid."""
        try:
            return super().examine_record(raw)
        except Broken as broken:
            return Examined(None, [broken_finding(one_line_hint(broken))])

    def finish(self) -> None:
        if self.records == 0 and not self.collector.errors:
            self.collector.add(empty_file(self.source.start))
