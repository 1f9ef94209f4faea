"""Tables: what they have in common, and CSV."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from medcontract.contracts import recognition
from medcontract.contracts.fast_decoder import RowDecoders
from medcontract.contracts.registry import CompiledContract
from medcontract.contracts.rules import UNKNOWN
from medcontract.problems import Finding, Ref, is_plain, shorten
from medcontract.reading.csv_rows import TOTAL_HINT, CsvFile, is_total
from medcontract.reading.diagnosis import index_hint
from medcontract.reading.located_records import Located
from medcontract.reading.source import Source
from medcontract.validation.records import Recognition, RecordReader
from medcontract.validation.report import ProblemCollector

if TYPE_CHECKING:
    from medcontract.hints.csv_formats import StrayRows

_REPEATED_HEADER = "the row repeats the column names: remove it"
_OTHER_ORDER = "the row has the column names in another order: join tables by their names (in pandas: pd.concat)"
_EMPTY_ROW = "the row is empty: remove it"
_MAYBE_TOTAL = "if it is a total and not a record, remove the row"


class TableReader(RecordReader):
    """A table: its header once, then its rows as records."""

    names: Sequence[str] = ()
    """The column names, as in the file."""
    may_end_with_total = True

    def __init__(self, source: Source, contract: CompiledContract, collector: ProblemCollector) -> None:
        super().__init__(source, contract, collector)
        self.columns = contract.columns
        self._column_of = {column.path: column.name for column in self.columns}
        self._column_of.update({(name,): group[0] for name, group in contract.spread.items()})
        self.lacking: dict[str, None] = {}
        """Missing columns, in the order in which they were found."""
        self._in_its_column = lru_cache(1000)(self._with_column)
        """Cached, since the same mistake tends to occur many times."""

    def begin(self) -> bool:
        """Compare the columns with the contract. Subclasses set `names` first."""
        known, there = [column.name for column in self.columns], set(self.names)
        self.collector.columns = list(self.names)
        self.collector.spread = {name: field for field, group in self.contract.spread.items() for name in group}
        self.collector.renames = _renames(there, known, self.contract)
        for finding in header_findings(self.names, known, self.contract.open, self.header_ref()):
            self.collector.add(self.explain_header(finding))
            self.all_invalid = True  # every row has that column
        for column in self.columns:
            if not column.nullable and column.name not in there:
                self._lacks(column.name)
        return True

    def finish(self, records: int) -> bool:
        if records == 0:
            hint = "check that the rows were written"
            self.collector.add(Finding("MC511", "there are no rows", hint, severity="warning", ref=self.header_ref()))
        return True

    def header_ref(self) -> Ref:
        return header_ref(self.source)

    def explain_header(self, finding: Finding) -> Finding:
        """Return a finding about the column names with a better hint, if there is one."""
        if finding.code != "MC102" or finding.hint:
            return finding
        from medcontract.hints.keys import column_hint

        hint = column_hint(str(finding.path[0]), self.names, self.collector.renames, self.contract)
        renamed = self.collector.renames.get(str(finding.path[0]), "") if is_plain(str(finding.path[0])) else ""
        return finding._replace(hint=hint, renamed=renamed)

    def _lacks(self, name: str) -> None:
        """Report a missing column, once. Of a chunk of a file it is only noted."""
        if name in self.lacking:
            return
        self.lacking[name] = None
        if self.in_chunk:
            return
        from medcontract.hints.keys import meant_columns, rename_hint

        hint = rename_hint(next((given for given, meant in self.collector.renames.items() if meant == name), None))
        is_there = hint is not None or name in meant_columns(self.names, self.contract)
        self.collector.defer(
            Finding("MC101", "is missing", hint, path=(name,), ref=self.header_ref(), field=name,
                    name=f"column '{name}'", merged=is_there and not self.contract.open)
        )  # fmt: skip

    def also_lacks(self, names: Iterable[str]) -> None:
        """Report columns that chunks of the file lack."""
        for name in names:
            self._lacks(name)

    def ref_of_earlier(self, ref: Ref) -> Ref:
        """Leave the line, which was not kept, to a second pass."""
        return Ref(UNKNOWN, UNKNOWN, ref.record)

    def hint_for(self, raw: bytes) -> str | None:
        first = self.columns[0].name if self.columns else ""
        if len(self.names) > 1 and raw.startswith(f'{{"{first}":"{first}"'.encode()):
            return _REPEATED_HEADER  # tables were joined with their headers
        if len(self.columns) > 1 and all(raw.count(f'"{each.name}"'.encode()) > 1 for each in self.columns[:2]):
            return _OTHER_ORDER
        if raw.startswith((f'{{"{first}":""'.encode(), f'{{"{first}":null'.encode())):
            values = json.loads(raw).values()  # also NaN
            has_content = any(any(value) if isinstance(value, list) else value for value in values)
            return None if has_content else _EMPTY_ROW
        start = f'{{"{first}":"'.encode()
        if first and raw.startswith(start) and is_total(raw[len(start) :].partition(b'"')[0].decode()):
            return TOTAL_HINT
        return None

    def about_total(self, value: Any) -> Finding | None:
        name = self.columns[0].name if self.columns else ""
        first = getattr(value, name, None) if name else None
        if not isinstance(first, str) or not is_total(first):
            return None
        message = "the last row seems to be a total"
        return Finding("MC503", message, _MAYBE_TOTAL, severity="warning", path=(name,), field=name)

    def explain(self, finding: Finding, ref: Ref) -> Finding | None:
        """Add the column to findings; a missing column is reported once, not for each row."""
        if finding.code == "MC101" and finding.field:
            self.also_lacks(self.contract.spread.get(finding.field, (finding.field,)))
            return None
        finding = self.named(finding)
        if finding.field is not None and finding.field not in self.names:
            self._lacks(finding.field)
            return None
        return finding if finding.offset is None else finding._replace(offset=None)

    def named(self, finding: Finding) -> Finding:
        is_placed = finding.ref or finding.offset is not None
        return self._with_column(finding) if is_placed else self._in_its_column(finding)

    def _with_column(self, finding: Finding) -> Finding:
        path = finding.path
        column = self._column_of.get(path[:2]) or self._column_of.get(path[:1]) or (str(path[0]) if path else None)
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


def _renames(names: set[str], known: list[str], contract: CompiledContract) -> dict[str, str]:
    """Return the columns that mean a missing one; `id` does not if it may be made of several."""
    unknown, missing = names.difference(known), set(known) - names
    if not unknown or not missing:
        return {}
    from medcontract.contracts.suggestions import folded, pair_renamed
    from medcontract.hints.keys import key_parts

    found = pair_renamed(unknown, missing)
    is_joined = len(key_parts(names, contract)) > 1
    return {name: field for name, field in found.items() if not is_joined or folded(name) != "id"}


class CsvReader(TableReader):
    @classmethod
    def recognize(cls, source: Source) -> Recognition:
        table = CsvFile(source)
        if table.broken:
            from medcontract.hints.csv_formats import broken_table

            return broken_header(broken_table(source) or table.broken, source)
        return recognition.of_columns(frozenset(table.header), header_ref(source))

    file: CsvFile | None = None
    """What was read."""

    def records(self, decode: RowDecoders) -> Iterator[Located]:
        self.file = CsvFile(self.source)
        return self.file.rows_in_blocks(self.columns, self.contract.open, decode.one, decode.lines)

    def begin(self) -> bool:
        table = CsvFile(self.source)
        self.names = table.header
        broken = table.broken
        known = {column.name for column in self.columns}
        may_be_valid = self.contract.open and all(column.nullable for column in self.columns)
        if not broken and not may_be_valid and (known.isdisjoint(self.names) or self.names[0].startswith("\ufeff")):
            from medcontract.hints.csv_formats import other_format_of

            broken = other_format_of(self.source, self.names, self.contract)
        if table.broken:
            from medcontract.hints.csv_formats import broken_table

            broken = broken_table(self.source, self.contract) or broken
        if broken:
            self.collector.add(broken_header(broken, self.source))
            return False
        return super().begin()

    def explain_broken(self, finding: Finding, offset: int) -> Finding:
        if finding.code != "MC031" or finding.hint == TOTAL_HINT:
            return finding
        line = self.source.read(offset, _LONGEST_LINE).splitlines()[:1]
        hint = self._stray_rows.hint(line[0].decode(errors="replace")) if line else None
        return finding._replace(hint=hint) if hint else finding

    @cached_property
    def _stray_rows(self) -> StrayRows:
        from medcontract.hints.csv_formats import StrayRows

        return StrayRows(self.source, self.names)

    def explain_header(self, finding: Finding) -> Finding:
        if finding.code == "MC102" and not finding.field:
            from medcontract.hints.csv_formats import unnamed_hint

            columns = [each.name for each in self.contract.columns if not each.nullable]
            absent = [name for name in columns if name not in self.names]
            hint = unnamed_hint(self.source, self.names, absent)
            return finding._replace(hint=hint) if hint else super().explain_header(finding)
        return super().explain_header(finding)


_LONGEST_LINE = 1000


def broken_header(finding: Finding, source: Source) -> Finding:
    """Positions in a table have a line, but no column; except in an empty file."""
    return finding if finding.code == "MC004" else finding._replace(offset=None, ref=header_ref(source))


def header_ref(source: Source) -> Ref:
    """Return the place of the header row of a table."""
    return Ref(source.start, 0, None, (), 1)


def header_findings(header: Sequence[str], known: Sequence[str], open_record: bool, ref: Ref) -> list[Finding]:
    """Return the findings about a header row: repeated and unknown columns. Columns without a name are one finding."""
    findings: list[Finding] = []
    seen: set[str] = set()
    for name in header:
        shown = f"column '{name}'" if is_plain(name) else "a column" if name else "a column without a name"
        if name in seen and (name or open_record):
            findings.append(
                Finding("MC015", "is repeated", "keep one of them", path=(name,), ref=ref, field=name,
                        value=shorten(name), name=shown)
            )  # fmt: skip
        elif name not in seen and name not in known and not open_record:
            hint = index_hint(name) if any(header[header.index(name) :]) else _EMPTY_AT_THE_END
            findings.append(
                Finding("MC102", "is not in this contract", hint, path=(name,), ref=ref, field=name,
                        value=shorten(name), name=shown)
            )  # fmt: skip
        seen.add(name)
    return findings


_EMPTY_AT_THE_END = "remove the commas at the end of each line, or the empty columns at the end of the sheet"
