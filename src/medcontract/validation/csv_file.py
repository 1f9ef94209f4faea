"""Tables: what they have in common, and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from medcontract.contracts import recognition
from medcontract.contracts.contract import RecordSink
from medcontract.contracts.recognition import Recognized
from medcontract.contracts.registry import CompiledContract, find
from medcontract.contracts.rules import UNKNOWN, Accumulator
from medcontract.contracts.suggestions import did_you_mean
from medcontract.errors import NotRecognized
from medcontract.hints.csv_formats import known_column, other_format, unnamed_hint
from medcontract.hints.keys import rename_hint
from medcontract.hints.table_arrangements import IN_CSV, csv_rows, matches_exactly, other_arrangement
from medcontract.problems import Finding, Ref
from medcontract.reading.csv_rows import CsvFile, header_findings
from medcontract.reading.diagnosis import TOTAL_HINT, is_total
from medcontract.reading.located_records import Block, Cut
from medcontract.reading.row_layout import Row
from medcontract.reading.source import Source
from medcontract.validation.problem_collector import ProblemCollector
from medcontract.validation.records import Progress, RecordsValidator

_MOST_NAMED = 1000
"""The number of cached findings with their column: the same mistake tends to occur many times."""

_REPEATED_HEADER = "the row repeats the column names: remove it"
_EMPTY_ROW = "the row is empty: remove it"
_MAYBE_TOTAL = "if it is a total and not a record, remove the row"


class TableValidator(RecordsValidator):
    """A table: its header once, then its rows as records."""

    names: Sequence[str] = ()
    """The column names, as in the file."""

    def __init__(
        self,
        source: Source,
        contract: CompiledContract,
        collector: ProblemCollector,
        progress: Progress | None = None,
        sink: RecordSink | None = None,
    ) -> None:
        super().__init__(source, contract, collector, progress, sink)
        self.columns = contract.columns
        self.column_of = {column.path: column.name for column in self.columns}
        self.column_of.update({(name,): group[0] for name, group in contract.spread.items()})
        self.line = 1
        self.number = 0
        """The index of the record on `line`; the records after it in a block take one line each."""
        self.lacking: dict[str, None] = {}
        """Missing columns, in the order in which they were found."""
        self.bad_row = Finding("MC031", "")
        self._named: dict[Finding, Finding] = {}
        self.row_hint: str | None = None
        """The hint for all findings of the current row."""
        self._last: tuple[bytes, Any, int] = b"", None, 0
        """The last row: as JSON, if its value is None, its value, and its offset."""
        self.at_the_end = True
        """Whether the source ends where the file ends: false for chunks, except the last one."""

    def rows(self) -> Iterator[Row]:
        """The rows, each as a JSON record."""
        raise NotImplementedError

    def cuts(self) -> Iterator[Cut]:
        for number, row in enumerate(self.rows()):
            yield self._cut(row, number)

    def _cut(self, row: Row, number: int) -> Cut:
        self.line, self.number, self._last = row.line, number, (row.raw, row.value, row.offset)
        if row.finding:
            self.bad_row = row.finding
        return row.raw, row.offset, row.value

    def begin(self) -> bool:
        known = [column.name for column in self.columns]
        there = set(self.names)
        self.collector.columns = list(self.names)
        self.collector.renames = _renames(there, known)
        self.collector.spread = {name: field for field, group in self.contract.spread.items() for name in group}
        for finding in header_findings(self.names, known, self.contract.open, self.header_ref()):
            is_unknown = finding.code == "MC102" and not finding.hint
            guess = self._guess(str(finding.path[0])) if is_unknown else None
            self.collector.add(self.explain_header(finding._replace(hint=guess) if guess else finding))
            self.all_invalid = True  # every row has that column
        for column in self.columns:
            if not column.nullable and column.name not in there:
                self._lacks(column.name)
        return True

    def finish(self) -> None:
        super().finish()
        if self.records == 0 and not self.broken:
            hint = "check that the rows were written"
            self.collector.add(Finding("MC511", "there are no rows", hint, severity="warning", ref=self.header_ref()))

    def header_ref(self) -> Ref:
        return header_ref(self.source)

    def explain_header(self, finding: Finding) -> Finding:
        """A finding about the column names with a better hint, if the rows allow one."""
        return finding

    def _guess(self, unknown: str) -> str | None:
        """The hint about an unknown column."""
        if unknown in self.collector.renames:
            return f"rename it to '{self.collector.renames[unknown]}'"
        if group := self.contract.spread.get(unknown):
            return f"use one column each: {', '.join(group)}"
        return did_you_mean(unknown, {column.name for column in self.columns} - set(self.names))

    def _lacks(self, name: str) -> None:
        """Report a missing column, once. Of a chunk of a file it is only noted."""
        if name not in self.lacking:
            self.lacking[name] = None
            if self.in_chunk:
                return
            given = next((given for given, meant in self.collector.renames.items() if meant == name), None)
            self.collector.defer(
                Finding("MC101", "is missing", rename_hint(given), path=(name,), ref=self.header_ref(), field=name,
                        name=f"column '{name}'")
            )  # fmt: skip

    def also_lacks(self, names: Iterable[str]) -> None:
        """Report columns that chunks of the file lack."""
        for name in names:
            self._lacks(name)

    def ref(self, index: int, offset: int, length: int) -> Ref:
        return Ref(offset, length, index, (), self.line + max(0, index - self.number))

    def ref_of_earlier(self, ref: Ref) -> Ref:
        """Its line was not kept; a second pass finds it."""
        return Ref(UNKNOWN, UNKNOWN, ref.record)

    def _slow_path(self, raw: bytes, offset: int, index: int) -> tuple[Any, Any]:
        if not raw:
            self.add(self.bad_row, index, offset, 0)
            return None, None
        self.row_hint = self._hint_for(raw)
        outcome = super()._slow_path(raw, offset, index)
        self.row_hint = None
        return outcome

    def _hint_for(self, raw: bytes) -> str | None:
        """The hint about a row that is not a record at all."""
        if self._repeats_header(raw):
            return _REPEATED_HEADER
        return _EMPTY_ROW if self._is_empty(raw) else TOTAL_HINT if self._is_total(raw) else None

    def _is_total(self, raw: bytes) -> bool:
        """Whether the first field of a row says that it is a total."""
        start = f'{{"{self.columns[0].name}":"'.encode() if self.columns else b""
        return bool(start) and raw.startswith(start) and is_total(raw[len(start) :].partition(b'"')[0].decode())

    def stream(self, accumulators: Sequence[Accumulator]) -> None:
        super().stream(accumulators)
        if self.at_the_end and self.records and self.columns:
            self._warn_of_total(self.columns[0].name, self.records - 1)

    def _warn_of_total(self, name: str, index: int) -> None:
        """Warn about a last row that is valid, but probably a total."""
        raw, value, offset = self._last
        first = getattr(self.value_of(raw) if value is None else value, name, None)
        if isinstance(first, str) and is_total(first):
            message = "the last row seems to be a total"
            finding = Finding("MC503", message, _MAYBE_TOTAL, severity="warning", path=(name,), field=name)
            self.add(finding, index, offset, 0)

    def _repeats_header(self, raw: bytes) -> bool:
        """Whether the cells of a row are the column names: tables were joined with their headers."""
        first = self.columns[0].name if self.columns else ""
        return raw.startswith(f'{{"{first}":"{first}"'.encode()) and len(self.names) > 1

    def _is_empty(self, raw: bytes) -> bool:
        """Whether no cell of a row has content, as in rows that a spreadsheet leaves at the end."""
        first = self.columns[0].name if self.columns else ""
        if not raw.startswith((f'{{"{first}":""'.encode(), f'{{"{first}":null'.encode())):
            return False
        values = msgspec.json.decode(raw).values()
        return not any(any(value) if isinstance(value, list) else value for value in values)

    def collect(self, finding: Finding, ref: Ref) -> None:
        """Add the column to findings; a missing column is reported once, not for each row."""
        named = self._in_a_column(finding)
        if named is not None:
            super().collect(named._replace(hint=self.row_hint) if self.row_hint else named, ref)

    def _in_a_column(self, finding: Finding) -> Finding | None:
        """The finding with its place in the table; None if it is about a column that the table lacks."""
        if finding.code == "MC101" and finding.field:
            for name in self.contract.spread.get(finding.field, (finding.field,)):
                self._lacks(name)
            return None
        finding = self.named(finding)
        if finding.field is not None and finding.field not in self.names:
            self._lacks(finding.field)
            return None
        return finding if finding.offset is None else finding._replace(offset=None)

    def named(self, finding: Finding) -> Finding:
        if finding.ref or finding.offset is not None:
            return self._with_column(finding)
        known = self._named.get(finding)
        if known is None:
            known = self._with_column(finding)
            if len(self._named) < _MOST_NAMED:
                self._named[finding] = known
        return known

    def _with_column(self, finding: Finding) -> Finding:
        path = finding.path
        column = self.column_of.get(path[:2]) or self.column_of.get(path[:1]) or (str(path[0]) if path else None)
        named = finding._replace(path=(column,) if column else (), field=column)
        if finding.got == "null" or (finding.expected and finding.value == '""'):
            named = named._replace(got="empty")
        group = self.contract.spread.get(str(path[0])) if path and finding.name else None
        if not group:
            return named
        if len(path) > 1:
            return named._replace(name=f"'{column}'")
        is_empty = finding.expected and finding.got == "null"
        name = f"'{group[0]}' to '{group[-1]}'"
        return named._replace(name=name, message="are empty", expected=()) if is_empty else named._replace(name=name)


def _renames(names: set[str], known: list[str]) -> dict[str, str]:
    unknown, missing = names.difference(known), set(known) - names
    if not unknown or not missing:
        return {}
    from medcontract.contracts.suggestions import pair_renamed

    return pair_renamed(unknown, missing)


class CsvValidator(TableValidator):
    @classmethod
    def recognize(cls, source: Source) -> Recognized:
        header = CsvFile(source).header
        found = recognition.of_columns(frozenset(header), header_ref(source))
        exact = matches_exactly(header, find(found.contract_id))
        other = None if exact else other_arrangement(header, lambda: csv_rows(source), IN_CSV, found.renames)
        if other:
            raise NotRecognized(other.message, other.hint)
        return found

    @classmethod
    def syntax_errors(cls, source: Source) -> Iterator[Finding]:
        table = CsvFile(source)
        broken = table.broken or other_format(source, _of_any_contract)
        broken = broken or other_arrangement(table.header, lambda: csv_rows(source), IN_CSV)
        if broken:
            yield broken_header(broken, source)

    def rows(self) -> Iterator[Row]:
        return CsvFile(self.source).rows(self.columns, self.contract.open, self.decode)

    def blocks(self) -> Iterator[Cut | Block]:
        number = 0
        table = CsvFile(self.source)
        for rows in table.rows_in_blocks(self.columns, self.contract.open, self.decode, self.decode_lines):
            if isinstance(rows, Row):
                yield self._cut(rows, number)
                number += 1
            else:
                last = rows.raws.last_offset(rows.offset)
                self.line, self.number, self._last = rows.line, number, (b"", rows.values[-1], last)
                yield rows.raws, rows.offset, rows.values
                number += len(rows.raws)

    def begin(self) -> bool:
        table = CsvFile(self.source)
        broken = table.broken or self._other_format(table.header)
        if broken:
            self.collector.add(broken_header(broken, self.source))
            self.broken = True
            return False
        self.names = table.header
        return super().begin()

    def explain_header(self, finding: Finding) -> Finding:
        hint = unnamed_hint(self.source, self.names) if finding.code == "MC102" and not finding.field else None
        return finding._replace(hint=hint) if hint else finding

    def _other_format(self, header: Sequence[str]) -> Finding | None:
        """Why no column is known, if that is clear: one finding instead of one for each column."""
        known = frozenset(column.name for column in self.columns)
        if known_column(header, known) or (self.contract.open and all(column.nullable for column in self.columns)):
            return None  # the table may be valid
        spread = self.contract.spread
        names = [column.name for column in self.columns if not column.nullable or column.path[0] in spread]
        return other_format(self.source, lambda names: not known.isdisjoint(names), names)


def _of_any_contract(names: frozenset[str]) -> bool:
    try:
        recognition.of_columns(names)
    except NotRecognized:
        return False
    return True


def broken_header(finding: Finding, source: Source) -> Finding:
    """Positions in a table have a line, but no column; except in an empty file."""
    return finding if finding.code == "MC004" else finding._replace(offset=None, ref=header_ref(source))


def header_ref(source: Source) -> Ref:
    """The header row of a table."""
    return Ref(source.start, 0, None, (), 1)
