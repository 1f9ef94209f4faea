"""Determines the container and the contract of a file, and chooses its validator."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from medcontract.contracts import recognition, registry
from medcontract.contracts.contract import RecordSink
from medcontract.contracts.fast_decoder import quick_parse
from medcontract.contracts.registry import CompiledContract
from medcontract.errors import NotRecognised
from medcontract.problems import Finding, Ref, empty_file
from medcontract.reading import jsonl_file
from medcontract.reading.json_file import JsonFile, TooLarge, check_syntax, is_json, outline, too_large
from medcontract.reading.json_scanner import Broken, scan
from medcontract.reading.limits import MAX_DEPTH
from medcontract.reading.source import Source, Unreadable
from medcontract.results.validation import FileReport
from medcontract.validation.problem_collector import ProblemCollector
from medcontract.validation.records import Progress, RecordsValidator, broken_finding
from medcontract.validation.report import make_report

if TYPE_CHECKING:
    from medcontract.validation.referenced_files import ReferencedFiles

_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
CONTAINERS = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}
_VALIDATORS = {
    "document": ("medcontract.validation.json_file", "DocumentValidator"),
    "json": ("medcontract.validation.json_file", "JsonValidator"),
    "jsonl": ("medcontract.validation.json_file", "JsonLinesValidator"),
    "csv": ("medcontract.validation.csv_file", "CsvValidator"),
    "parquet": ("medcontract.validation.frames", "ParquetValidator"),
}
"""The validator of a document, or of a collection in each container: imported on demand."""


def validate_source(
    source: Source,
    contract_id: str | None,
    collector: ProblemCollector,
    progress: Progress | None = None,
    referenced: ReferencedFiles | None = None,
) -> FileReport:
    """Everything that is wrong with a file and the files it refers to. Never raises because of the file's content."""
    contract = identify(source, contract_id, collector)
    if isinstance(contract, FileReport):
        return contract
    judging = validator_for(source, contract, collector, progress)
    judging.run()
    field = referenced.field(contract.id) if referenced else None
    if referenced is None or field is None:
        return judging.report()
    from medcontract.validation.referenced_files import check_referenced_files

    images = check_referenced_files(judging, field, referenced)
    return replace(judging.report(), _images=images)


def identify(source: Source, contract_id: str | None, collector: ProblemCollector) -> CompiledContract | FileReport:
    """The contract of a file, or a report that says why it cannot be checked."""
    try:
        source.prepare()
        return _identify(source, contract_id, collector)
    except Unreadable as unreadable:
        collector.add(unreadable.finding)
        return make_report(source, contract_id, None, collector, wrong_call=unreadable.wrong_call)


def _identify(source: Source, contract_id: str | None, collector: ProblemCollector) -> CompiledContract | FileReport:
    if contract_id is None:
        container = container_of(source)
        try:
            contract_id = recognise(source, container)
        except NotRecognised as doubt:
            return _unrecognised(source, container, doubt, collector)
    contract = registry.find(contract_id)
    container = container_for(source, contract)
    if container in contract.containers:
        return contract
    what = "; ".join(f".{name}" for name in contract.containers)
    collector.add(Finding("MC033", f"{contract_id} cannot be stored as .{container}", f"use one of: {what}"))
    return make_report(source, contract_id, None, collector, wrong_call=True)


def validator_for(
    source: Source,
    contract: CompiledContract,
    collector: ProblemCollector,
    progress: Progress | None = None,
    sink: RecordSink | None = None,
) -> RecordsValidator:
    """The validator of an identified file; call its `run`. Valid records go to `sink`, if given."""
    container = container_for(source, contract)
    module, name = _VALIDATORS["document" if contract.kind == "document" else container]
    validator_type: type[RecordsValidator] = getattr(import_module(module), name)
    return validator_type(source, contract, collector, progress, sink)


def container_of(source: Source) -> str:
    """The container by file extension or, if that is unknown, by the content."""
    if source.is_parquet:
        return "parquet"
    if source.ending in CONTAINERS:
        return CONTAINERS[source.ending]
    text = source.head[source.start :].lstrip()
    if not text.startswith((b"{", b"[")):
        return "csv" if text else "json"
    first = text.splitlines()[0]
    whole_line = first.rstrip().endswith(b"}") and quick_parse(first, MAX_DEPTH) is not msgspec.UNSET
    return "jsonl" if whole_line and text[len(first) :].lstrip().startswith(b"{") else "json"


def container_for(source: Source, contract: CompiledContract) -> str:
    """Like `container_of`, for a text whose contract is known."""
    container = container_of(source)
    is_lines = container == "json" and source.ending not in CONTAINERS and _is_record(source, contract)
    return "jsonl" if is_lines else container


def _is_record(source: Source, contract: CompiledContract) -> bool:
    """Whether a text of unknown container starts with a complete record on one line, not with a header."""
    lines_there = source.head[source.start :].lstrip().splitlines()
    value = quick_parse(lines_there[0], MAX_DEPTH) if lines_there else None
    return isinstance(value, dict) and contract.list_key is not None and contract.list_key not in value


def recognise(source: Source, container: str) -> str:
    """The contract of a file, from its keys. Raises `NotRecognised`."""
    if container == "json":
        return recognition.of_outline(outline(source, recognition.certain))
    if container == "parquet":
        from medcontract.validation.frames import parquet_columns

        return recognition.of_columns(frozenset(parquet_columns(source)))
    if container == "csv":
        from medcontract.reading.csv_file import CsvFile

        header = CsvFile(source).header
        try:
            return recognition.of_columns(frozenset(header))
        except NotRecognised as doubt:
            other = next((name for char, name in _SEPARATORS.items() if len(header) == 1 and char in header[0]), None)
            if other:
                raise NotRecognised(str(doubt), f"the columns seem to be separated by {other}; use commas") from None
            raise
    for raw, _, _ in islice(jsonl_file.records(source, lambda raw: None), 1000):
        try:
            value = scan(raw).value
        except Broken:
            continue
        if isinstance(value, dict):
            return recognition.of_record(frozenset(value))
    raise NotRecognised(
        "none of the first 1000 lines is a JSON object", "write one record per line, or name the file .json"
    )


def _unrecognised(source: Source, container: str, doubt: NotRecognised, collector: ProblemCollector) -> FileReport:
    """The report of a file whose contract is not recognized: its syntax errors, if it has any."""
    for finding in _syntax(source, container):
        collector.add(finding)
    if collector.errors:
        return make_report(source, None, None, collector)
    collector.add(Finding("MC009", *doubt.as_options))
    return make_report(source, None, None, collector, wrong_call=True)


def _syntax(source: Source, container: str) -> Iterator[Finding]:
    """The syntax error of a file whose contract is not recognized."""
    if container == "csv":
        from medcontract.reading.csv_file import CsvFile
        from medcontract.validation.csv_file import broken_header

        table = CsvFile(source)
        if table.broken:
            yield broken_header(table.broken, source)
    elif container == "jsonl":
        yield from _line_syntax(source)
    elif container == "json" and not is_json(source):
        try:
            for _ in JsonFile(source, None, lambda raw: None).records():
                pass
        except Broken as broken:
            yield broken_finding(broken)
        except TooLarge as large:
            yield too_large(source.limits.record, large.offset)


def _line_syntax(source: Source) -> Iterator[Finding]:
    index = -1
    for index, (raw, offset, _) in enumerate(jsonl_file.records(source, lambda raw: None)):
        ref = Ref(offset, len(raw), index)
        if not raw:
            yield too_large(source.limits.record, None, ref)
            continue
        try:
            check_syntax(raw)
        except Broken as broken:
            from medcontract.validation.json_file import one_line_hint

            yield broken_finding(one_line_hint(broken), offset, ref)
    if index < 0:
        yield empty_file(source.start)
