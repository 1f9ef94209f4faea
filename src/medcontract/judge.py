"""Judge one file: read it, check every record, run the rules, and work out where each problem stands."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from medcontract.contracts import recognition, registry
from medcontract.contracts.decode import quick_parse
from medcontract.contracts.registry import Compiled
from medcontract.contracts.rules import UNKNOWN, Accumulator, UniqueIndex, check_list, first_hint
from medcontract.contracts.suggest import nearest
from medcontract.errors import CallError, NotRecognised
from medcontract.problems import FileReport, Finding, Path, Problem, Ref, pointer
from medcontract.reading import lines
from medcontract.reading.json_file import Block, Cut, Decode, JsonFile, Member, TooLarge, outline, too_large
from medcontract.reading.limits import MAX_DEPTH, MAX_DOCUMENT
from medcontract.reading.places import Place, excerpt, places
from medcontract.reading.scan import Broken, find, scan
from medcontract.reading.source import Source, Unreadable
from medcontract.reading.table import CsvFile, Row, header_findings
from medcontract.tally import Likeness, Tally, likeness

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Progress = Callable[[int, int], None]
"""Called now and then with the bytes done and the bytes in all."""

_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
CONTAINERS = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}


def judge(source: Source, contract_id: str | None, tally: Tally, progress: Progress | None = None) -> FileReport:
    """Everything that is wrong with one file. Nothing that the file holds makes this raise."""
    try:
        source.prepare()
    except Unreadable as unreadable:
        tally.add(unreadable.finding)
        return _report(source, contract_id, None, tally, wrong_call=unreadable.wrong_call)
    container = container_of(source)
    if contract_id is None:
        try:
            contract_id = recognise(source, container)
        except NotRecognised as doubt:
            return _unrecognised(source, container, doubt, tally)
    contract = registry.find(contract_id)
    if container not in contract.containers:
        what = "; ".join(f".{name}" for name in contract.containers)
        tally.add(Finding("MC033", f"{contract_id} cannot be read from .{container}", f"it can be read from: {what}"))
        return _report(source, contract_id, None, tally, wrong_call=True)
    if container == "parquet":
        from medcontract.tables import ParquetJudge

        return ParquetJudge(source, contract, tally, progress).report()
    judge_type = _DocumentJudge if contract.kind == "document" else _BY_CONTAINER[container]
    return judge_type(source, contract, tally, progress).report()


def container_of(source: Source) -> str:
    """By the ending of the name; where that says nothing, by a look at the text."""
    ending = os.path.splitext(source.name)[1].lower()
    if ending in CONTAINERS:
        return CONTAINERS[ending]
    if source.is_parquet:
        return "parquet"
    text = source.head[source.start :].lstrip()
    if not text.startswith((b"{", b"[")):
        return "csv" if text else "json"
    first, _, rest = text.partition(b"\n")
    whole_line = first.rstrip().endswith(b"}") and quick_parse(first, MAX_DEPTH) is not msgspec.UNSET
    return "jsonl" if whole_line and rest.lstrip().startswith(b"{") else "json"


def recognise(source: Source, container: str) -> str:
    """The contract of a file, from its keys. Raises `NotRecognised`."""
    if container == "json":
        return recognition.of_outline(outline(source, recognition.certain))
    if container == "parquet":
        from medcontract.tables import parquet_columns

        return recognition.of_columns(frozenset(parquet_columns(source)))
    if container == "csv":
        header = CsvFile(source).header
        try:
            return recognition.of_columns(frozenset(header))
        except NotRecognised as doubt:
            other = next((name for char, name in _SEPARATORS.items() if len(header) == 1 and char in header[0]), None)
            if other:
                raise NotRecognised(str(doubt), f"the columns seem to be separated by {other}: use commas") from None
            raise
    for raw, _, _ in islice(lines.records(source, lambda raw: None), 1000):
        try:
            value = scan(raw).value
        except Broken:
            continue
        if isinstance(value, dict):
            return recognition.of_record(frozenset(value))
    raise NotRecognised("no line of the first 1000 is a JSON object")


def _unrecognised(source: Source, container: str, doubt: NotRecognised, tally: Tally) -> FileReport:
    """A file of no known contract: if its syntax is broken, that is what is wrong with it."""
    for finding in _syntax(source, container):
        tally.add(finding)
    if tally.errors:
        return _report(source, None, None, tally)
    tally.add(Finding("MC009", str(doubt), doubt.hint))
    return _report(source, None, None, tally, wrong_call=True)


def _syntax(source: Source, container: str) -> Iterator[Finding]:
    """What breaks the syntax of a file whose contract is not known."""
    if container == "parquet":
        return
    if container == "csv":
        table = CsvFile(source)
        if table.broken:
            yield _broken_header(table.broken, source)
        return
    if container == "jsonl":
        index = -1
        for index, (raw, offset, _) in enumerate(lines.records(source, lambda raw: None)):
            try:
                scan(raw)
            except Broken as b:
                yield _broken(b, offset, Ref(offset, len(raw), index))
        if index < 0:
            yield Finding("MC004", "the file is empty", "was it written to the end?", offset=source.start)
        return
    try:
        file = JsonFile(source, None, lambda raw: None)
        for _ in file.records():
            pass
        for member in file.header:
            _scan_member(member)
    except Broken as b:
        yield _broken(b)
    except TooLarge as large:
        yield too_large(large.offset)


def _broken_header(finding: Finding, source: Source) -> Finding:
    """A table has lines, but no columns of characters; an empty file is an empty file."""
    return finding if finding.code == "MC004" else finding._replace(offset=None, ref=header_ref(source))


def header_ref(source: Source) -> Ref:
    """The header row of a table."""
    return Ref(source.start, 0, None, (), 1)


def _scan_member(member: Member) -> tuple[Any, list[Finding]]:
    """The value of a header field, and its faults as findings with exact places."""
    try:
        scanned = scan(member.raw, depth=1)
    except Broken as broken:
        broken.offset += member.offset
        raise
    faults = [
        Finding(f.code, f.message, f.hint, path=(member.key, *f.path), offset=member.offset + f.offset)
        for f in scanned.faults
    ]
    return scanned.value, faults


def _broken(broken: Broken, base: int = 0, ref: Ref | None = None) -> Finding:
    return Finding(broken.code, broken.message, broken.hint, offset=base + broken.offset, ref=ref)


class _Judge:
    """What all containers of a collection share: the path of one record."""

    depth = 0
    """Levels that enclose a record in this container."""

    def __init__(self, source: Source, contract: Compiled, tally: Tally, progress: Progress | None) -> None:
        self.source = source
        self.contract = contract
        self.tally = tally
        self.progress = progress
        self.records: int | None = 0
        self.broken = False

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        return self.contract.model.record_adapter()

    @property
    def decode(self) -> Decode:
        return self.contract.decode_record

    def cuts(self) -> Iterator[Cut]:
        """The records of the file. May raise `Broken` or `TooLarge`."""
        raise NotImplementedError

    def report(self) -> FileReport:
        self.run()
        return _report(self.source, self.contract.id, self.records, self.tally)

    def blocks(self) -> Iterator[Cut | Block]:
        """As `cuts`; a container that can hands out many good records at a time."""
        return self.cuts()

    def run(self) -> None:
        accumulators = [rule.begin() for rule in self.contract.list_rules]
        self._stream(accumulators)
        if not self.broken:
            for accumulator in accumulators:
                for finding in accumulator.finish():
                    ref = finding.ref
                    self.tally.defer(
                        finding._replace(ref=self.ref(ref.record or 0, ref.offset, ref.length) if ref else None)
                    )
            self._second_look([a for a in accumulators if isinstance(a, UniqueIndex) and a.suspects])
        self.finish()

    def finish(self) -> None:
        """What comes after the records: the header, where there is one."""

    def _stream(self, accumulators: Sequence[Accumulator]) -> None:
        index = 0
        try:
            for raw, offset, value in self.blocks():
                if isinstance(raw, bytes):
                    self._record(raw, offset, value, index, accumulators)
                    index += 1
                elif self._all_keep(value, accumulators):
                    index += len(raw)
                else:
                    for line, one in zip(raw, value, strict=True):
                        self._record(line, offset, one, index, accumulators)
                        index += 1
                        offset += len(line)
                if self.progress:
                    self.progress(offset, self.source.size)
        except Broken as broken:
            self.tally.add(_broken(broken))
            self.broken = True
        except TooLarge as large:
            self.tally.add(too_large(large.offset))
            self.broken = True
        self.records = 0 if self.broken else index

    def _all_keep(self, values: list[Any], accumulators: Sequence[Accumulator]) -> bool:
        """Whether a block of good records keeps all rules; what the accumulators need is then remembered."""
        return (
            len(accumulators) < 2
            and all(rule.all_keep(values) for rule in self.contract.record_rules)
            and all(accumulator.see_all(values) for accumulator in accumulators)
        )

    def _record(self, raw: bytes, offset: int, value: Any, index: int, accumulators: Sequence[Accumulator]) -> None:
        if value is None:
            value = self._thorough(raw, offset, index)
            if value is None:
                return
        for rule in self.contract.record_rules:
            for finding in rule.check(value):
                self.add(finding, index, offset, len(raw))
        for accumulator in accumulators:
            at_once = accumulator.see(value, index, offset, raw)
            if at_once:
                self.add(at_once, index, offset, len(raw))

    def ref(self, index: int, offset: int, length: int) -> Ref:
        return Ref(offset, length, index)

    def add(self, finding: Finding, index: int, offset: int, length: int) -> None:
        self.tally.add(finding._replace(ref=self.ref(index, offset, length)))

    def _thorough(self, raw: bytes, offset: int, index: int) -> Any:
        """The value of a record that the fast path did not accept, or None when it is bad."""
        if not raw:
            self.add(too_large(None), index, offset, 0)
            return None
        try:
            value, findings = examine(raw, self.adapter, self.contract.record_schema, self.depth)
        except Broken as broken:
            return self.break_off(broken, index, offset, len(raw))
        for finding in findings:
            exact = None if finding.offset is None else offset + finding.offset
            self.add(finding._replace(offset=exact), index, offset, len(raw))
        return value

    def break_off(self, broken: Broken, index: int, offset: int, length: int) -> None:
        """A line whose syntax is broken is one bad record."""
        self.add(_broken(broken, offset), index, offset, length)

    def _second_look(self, indexes: list[UniqueIndex]) -> None:
        """Where the repeated keys stood first, and where the records are of which only the number is known."""
        wanted = {f.ref.record for f in self.tally.deferred if f.ref and f.ref.offset == UNKNOWN}
        if not indexes and not wanted:
            return
        firsts: list[dict[Any, int]] = [{} for _ in indexes]
        found: dict[int, tuple[int, int]] = {}
        offsets: dict[int, int] = {}
        for number, (raw, offset, value) in enumerate(self.cuts()):
            if number in wanted:
                found[number] = offset, len(raw)
            if value is None and indexes and raw:
                value = self._quietly(raw)
            if value is None:
                continue
            for index, first in zip(indexes, firsts, strict=True):
                key = index.key(value)
                if key in index.suspects and key not in first:
                    first[key] = number
                    offsets[number] = offset
        self.tally.place_deferred(found)
        lines_of = places(self.source, offsets.values()) if offsets else {}
        for index, first in zip(indexes, firsts, strict=True):
            self._settle(index, first, {n: lines_of[o].line for n, o in offsets.items() if o in lines_of})

    def _quietly(self, raw: bytes) -> Any:
        try:
            return examine(raw, self.adapter, self.contract.record_schema, self.depth)[0]
        except Broken:
            return None

    def _settle(self, index: UniqueIndex, first: dict[Any, int], line_of: dict[int, int]) -> None:
        """Tell the suspects where their key stood first; drop those that only shared a hash."""
        innocent = {suspect for key, suspect in index.suspects.items() if first.get(key) == suspect}
        hints = {
            suspect: first_hint(index.rule, first[key], line_of.get(first[key]))
            for key, suspect in index.suspects.items()
            if key in first
        }
        self.tally.settle(index.rule.code, innocent, hints)


def examine(raw: bytes, adapter: TypeAdapter[Any], schema: dict[str, Any], depth: int) -> tuple[Any, list[Finding]]:
    """A record's value (None when it is bad) and its findings, offsets counted from its start. May raise `Broken`."""
    parsed = quick_parse(raw, MAX_DEPTH - depth)
    faults: list[Finding] = []
    if parsed is msgspec.UNSET:
        scanned = scan(raw, depth=depth)
        parsed = scanned.value
        faults = [
            Finding(f.code, f.message, f.hint, path=f.path, offset=f.offset, at_key=f.at_key) for f in scanned.faults
        ]
        if any(fault.code == "MC019" for fault in faults):
            return None, faults[:1]
    from medcontract.contracts.check import check_shape

    value, shape = check_shape(adapter, parsed)
    spoilt = [fault.path for fault in faults if not fault.at_key]
    shape = [f for f in shape if not any(f.path[: len(path)] == path and path for path in spoilt)]
    findings = faults + [_with_hint(f, schema) for f in shape]
    return (None if findings else value), findings


def _with_hint(finding: Finding, schema: dict[str, Any]) -> Finding:
    """An unknown key, with the nearest known one."""
    if finding.code != "MC102" or finding.hint:
        return finding
    from medcontract.contracts.keys import known_keys

    guess = nearest(str(finding.path[-1]), known_keys(schema, finding.path[:-1]))
    return finding._replace(hint=f"did you mean '{guess}'?") if guess else finding


class _LinesJudge(_Judge):
    def cuts(self) -> Iterator[Cut]:
        return lines.records(self.source, self.decode)

    def blocks(self) -> Iterator[Cut | Block]:
        return lines.records_in_blocks(self.source, self.decode)

    def break_off(self, broken: Broken, index: int, offset: int, length: int) -> None:
        if broken.code == "MC011":
            broken.hint = "each record stands on one line; a file written over several lines is a .json"
        super().break_off(broken, index, offset, length)

    def finish(self) -> None:
        if self.records == 0 and not self.tally.errors:
            self.tally.add(
                Finding("MC004", "the file is empty", "was it written to the end?", offset=self.source.start)
            )


class _JsonJudge(_Judge):
    depth = 2

    def cuts(self) -> Iterator[Cut]:
        self.file = JsonFile(self.source, self.contract.list_key, self.decode)
        return self.file.records()

    def ref(self, index: int, offset: int, length: int) -> Ref:
        return Ref(offset, length, index, (self.contract.list_key or "", index))

    def break_off(self, broken: Broken, index: int, offset: int, length: int) -> None:
        broken.offset += offset
        raise broken

    def finish(self) -> None:
        if self.broken:
            return
        try:
            self._check_header()
        except Broken as broken:
            self.tally.defer(_broken(broken))
            self.records = 0

    def _check_header(self) -> None:
        """The header is checked as a file whose list is empty."""
        outer = self.file.outer
        if outer is not None:
            self.tally.defer(_not_an_object(outer, self.contract))
            self.records = 0
            return
        parts = (msgspec.json.encode(member.key) + b":" + member.raw for member in self.file.header)
        good = self.contract.decode_whole(b"{" + b",".join(parts) + b"}")
        members = {member.key: member for member in self.file.header}
        if good is None:
            good = self._examine_header()
        if good is not None:
            for rule in self.contract.header_rules:
                for finding in rule.check(good):
                    self.tally.defer(self._placed(finding, members))

    def _examine_header(self) -> Any:
        """The header that the fast path did not accept: its value, or None when it is bad."""
        from pydantic import TypeAdapter

        from medcontract.contracts.check import check_shape

        header: dict[str, Any] = {}
        members: dict[str, Member] = {}
        spoilt: list[Path] = []
        for member in self.file.header:
            value, faults = _scan_member(member)
            if member.key in header:
                faults = [Finding("MC015", "this key is repeated", "keep one of them", path=(member.key,),
                                  offset=member.key_offset)]  # fmt: skip
            else:
                header[member.key], members[member.key] = value, member
                spoilt += [fault.path for fault in faults]
            for fault in faults:
                self.tally.defer(fault)
        value, findings = check_shape(TypeAdapter(self.contract.model.model), header)
        for finding in findings:
            if not any(finding.path[: len(path)] == path for path in spoilt):
                self.tally.defer(self._placed(_with_hint(finding, self.contract.schema), members))
        return None if findings or spoilt else value

    def _placed(self, finding: Finding, members: dict[str, Member]) -> Finding:
        if not finding.path:
            return finding._replace(offset=self.file.start, field=None)
        member = members[str(finding.path[0])]
        if finding.at_key and len(finding.path) == 1:
            return finding._replace(offset=member.key_offset)
        value_at, key_at = find(member.raw, finding.path[1:])
        return finding._replace(offset=member.offset + (key_at if finding.at_key else value_at), field=None)


def _not_an_object(outer: Member, contract: Compiled) -> Finding:
    hint = f'wrap it: {{"{contract.list_key}": …}}' if outer.raw == b"[]" and contract.list_key else None
    what = "a list" if outer.raw == b"[]" else "this"
    return Finding("MC103", f"an object should stand here, not {what}", hint, offset=outer.offset)


class _DocumentJudge(_Judge):
    """A document is one value, held as a whole."""

    def run(self) -> None:
        self.records = None
        if self.source.size > MAX_DOCUMENT:
            self.tally.add(too_large(0)._replace(message=f"the document is larger than {MAX_DOCUMENT >> 20} MiB"))
            return
        raw = self.source.read(self.source.start, self.source.size)
        ref = Ref(self.source.start, len(raw))
        if not raw.strip(b" \t\r\n"):
            self.tally.add(Finding("MC004", "the file is empty", "was it written to the end?", offset=ref.offset))
            return
        try:
            value, findings = self._value(raw)
        except Broken as broken:
            self.tally.add(_broken(broken, ref.offset))
            return
        for finding in findings or self._rules(value):
            exact = None if finding.offset is None else ref.offset + finding.offset
            self.tally.add(finding._replace(ref=ref, offset=exact, field=None))

    def _value(self, raw: bytes) -> tuple[Any, list[Finding]]:
        value = self.contract.decode_whole(raw)
        if value is not None:
            return value, []
        from pydantic import TypeAdapter

        return examine(raw, TypeAdapter(self.contract.model.model), self.contract.schema, 0)

    def _rules(self, value: Any) -> Iterator[Finding]:
        for rule in self.contract.header_rules:
            yield from rule.check(value)
        for list_rule in self.contract.list_rules:
            for index, finding in check_list(list_rule, getattr(value, list_rule.within)):
                yield finding._replace(path=(list_rule.within, index, *finding.path))


class TableJudge(_Judge):
    """A table: its header once, then its rows as records."""

    header: Sequence[str] = ()

    def __init__(self, source: Source, contract: Compiled, tally: Tally, progress: Progress | None = None) -> None:
        super().__init__(source, contract, tally, progress)
        self.columns = contract.columns
        self.column_of = {column.path: column.name for column in self.columns}
        self.column_of.update({(name,): group[0] for name, group in contract.spread.items()})
        self.line = 1
        self.lacking: set[str] = set()
        self.bad_row = Finding("MC031", "")

    def rows(self) -> Iterator[Row]:
        """The rows, each as the JSON of its record."""
        raise NotImplementedError

    def cuts(self) -> Iterator[Cut]:
        for row in self.rows():
            self.line = row.line
            if row.finding:
                self.bad_row = row.finding
            yield row.raw, row.offset, None if row.finding else self.decode(row.raw)

    def run(self) -> None:
        names = [column.name for column in self.columns]
        there = set(self.header)
        self.tally.columns = list(self.header)
        for finding in header_findings(self.header, names, self.contract.open, self.header_ref()):
            guess = nearest(str(finding.path[0]), set(names) - there) if finding.code == "MC102" else None
            self.tally.add(finding._replace(hint=f"did you mean '{guess}'?") if guess else finding)
        for column in self.columns:
            if not column.nullable and column.name not in there:
                self._lacks(column.name)
        super().run()

    def header_ref(self) -> Ref:
        return header_ref(self.source)

    def _lacks(self, name: str) -> None:
        if name not in self.lacking:
            self.lacking.add(name)
            ref = self.header_ref()
            self.tally.defer(Finding("MC101", f"column '{name}' is missing", path=(name,), ref=ref, field=name))

    def ref(self, index: int, offset: int, length: int) -> Ref:
        return Ref(offset, length, index, (), self.line)

    def _thorough(self, raw: bytes, offset: int, index: int) -> Any:
        if not raw:
            self.add(self.bad_row, index, offset, 0)
            return None
        return super()._thorough(raw, offset, index)

    def add(self, finding: Finding, index: int, offset: int, length: int) -> None:
        """Name the column; a column that the whole table lacks is told once."""
        path = finding.path
        if finding.code == "MC101" and finding.field:
            for name in self.contract.spread.get(finding.field, (finding.field,)):
                self._lacks(name)
            return
        column = self.column_of.get(path[:2]) or self.column_of.get(path[:1]) or (str(path[0]) if path else None)
        if column is not None and column not in self.header:
            self._lacks(column)
            return
        value_path: Path = (column,) if column else ()
        super().add(finding._replace(path=value_path, field=column, offset=None), index, offset, length)


class _CsvJudge(TableJudge):
    def rows(self) -> Iterator[Row]:
        return CsvFile(self.source).rows(self.columns, self.contract.open)

    def run(self) -> None:
        table = CsvFile(self.source)
        if table.broken:
            self.tally.add(_broken_header(table.broken, self.source))
            self.records = 0
            return
        self.header = table.header
        super().run()


_BY_CONTAINER: dict[str, type[_Judge]] = {"json": _JsonJudge, "jsonl": _LinesJudge, "csv": _CsvJudge}


def _report(
    source: Source, contract_id: str | None, records: int | None, tally: Tally, wrong_call: bool = False
) -> FileReport:
    findings = tally.kept()
    return FileReport(
        path=source.name,
        contract=contract_id,
        records=records,
        errors=tally.errors,
        warnings=tally.warnings,
        problems=tuple(_problems(source, findings, tally)),
        wrong_call=wrong_call,
    )


def _problems(source: Source, findings: Sequence[Finding], tally: Tally) -> list[Problem]:
    """Findings with line and column, in file order."""
    offsets = [None if is_tabular(finding) else _offset(source, finding) for finding in findings]
    placed = [offset for offset in offsets if offset is not None]
    found = places(source, placed) if placed else {}
    cells = {name: number for number, name in enumerate(tally.columns)}

    def in_file(i: int) -> tuple[int, int, int]:
        finding, offset = findings[i], offsets[i]
        where = offset if offset is not None else finding.ref.offset if finding.ref else -1
        return where, cells.get(finding.field or "", -1), i

    order = sorted(range(len(findings)), key=in_file)[: tally.keep]
    problems: list[Problem] = []
    left = dict(tally.totals)
    last: dict[Likeness, int] = {}
    for i in order:
        kind = likeness(findings[i])
        left[kind] = left.get(kind, 1) - 1
        last[kind] = len(problems)
        problems.append(_problem(source, findings[i], offsets[i], found, tally.excerpts))
    for kind, position in last.items():
        problems[position] = problems[position]._replace(more=left[kind])
    return problems


def _problem(
    source: Source, finding: Finding, offset: int | None, found: dict[int, Place], with_excerpt: bool
) -> Problem:
    ref = finding.ref or Ref(0, 0)
    place = None if offset is None else found[offset]
    line, column = (place.line, place.column) if place else (ref.line or None, None)
    text, caret = excerpt(source, offset) if with_excerpt and offset is not None else (None, 0)
    return Problem(
        finding.code, finding.severity, finding.message, finding.hint, pointer((*ref.prefix, *finding.path)),
        ref.record, line, column, finding.field, finding.value, text, caret,
    )  # fmt: skip


def is_tabular(finding: Finding) -> bool:
    """Whether the finding is in a table: there is a row, but no byte to point at."""
    return finding.ref is not None and finding.ref.line is not None


def _offset(source: Source, finding: Finding) -> int | None:
    """The byte that a finding is about."""
    if finding.offset is not None or finding.ref is None:
        return finding.offset
    ref = finding.ref
    try:
        value_at, key_at = find(source.read(ref.offset, ref.length), finding.path)
    except (Broken, CallError):
        return ref.offset
    return ref.offset + (key_at if finding.at_key else value_at)
