"""Validate one file against a JSON Schema: `.json` as one document, `.jsonl` record by record."""

from __future__ import annotations

import json
import warnings
from typing import Any

from msgspec import UNSET

from medcontract.containers import CSV, JSON, JSONL
from medcontract.contracts.fast_decoder import quick_parse
from medcontract.hints.lines import explain_line
from medcontract.jsonschema_files.checker import SchemaChecker
from medcontract.problems import Finding, Ref, empty_file
from medcontract.reading import jsonl
from medcontract.reading.json_scanner import Locator, scan
from medcontract.reading.limits import MAX_DEPTH, MAX_DOCUMENT
from medcontract.reading.located_records import Broken, too_large
from medcontract.reading.source import Source, Unreadable
from medcontract.results.validation import FileReport
from medcontract.validation.dispatch import container_of
from medcontract.validation.records import Progress, broken_finding
from medcontract.validation.report import ProblemCollector, make_report
from medcontract.validation.slow_path import Rest, counted_only, fault_finding


def validate_with_schema(
    source: Source, schema: SchemaChecker, collector: ProblemCollector, progress: Progress | None = None
) -> FileReport:  # fmt: skip
    """Check one file. Never raises because of its content."""
    try:
        source.prepare()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # from patterns in the schema
            records = _validate(source, schema, collector, progress)
    except Unreadable as unreadable:
        collector.add(unreadable.finding)
        return make_report(source, None, None, collector, wrong_call=unreadable.wrong_call)
    return make_report(source, None, records, collector)


def _validate(
    source: Source, schema: SchemaChecker, collector: ProblemCollector, progress: Progress | None
) -> int | None:
    container = container_of(source)
    if container is JSONL:
        return _validate_lines(source, schema, collector, progress)
    if container is JSON or (container is CSV and source.ending not in CSV.endings):  # any JSON value is a document
        _validate_document(source, schema, collector)
        return None
    message = f"a JSON Schema cannot be applied to .{container.name}: without a contract, a table has no JSON structure"
    hint = "write the rows as JSON Lines (.jsonl), or specify a contract"
    raise Unreadable(Finding("MC033", message, hint), wrong_call=True)


def _validate_document(source: Source, schema: SchemaChecker, collector: ProblemCollector) -> None:
    raw = source.read(source.start, MAX_DOCUMENT + 1)
    if len(raw) > MAX_DOCUMENT:
        message = f"the document is larger than {MAX_DOCUMENT >> 20} MiB"
        collector.add(Finding("MC020", message, "write one record per line, as .jsonl", offset=0))
    elif not raw.strip(b" \t\r\n"):
        collector.add(empty_file(source.start))
    else:
        _validate_text(raw, Ref(source.start, len(raw)), schema, collector)


def _validate_lines(
    source: Source, schema: SchemaChecker, collector: ProblemCollector, progress: Progress | None
) -> int:
    count = 0
    for record in jsonl.records(source, lambda raw: None):
        raw, offset = record.raw, record.offset
        ref = Ref(offset, len(raw), count)
        if raw:
            _validate_text(raw, ref, schema, collector)
        else:
            collector.add(too_large(source.limits.record, None, ref))
        count += 1
        if collector.codes(lambda code: code == "MC024"):  # the next record would take just as long
            break
        if progress:
            progress(source.done(offset), source.size)
    if not count and not collector.errors:
        collector.add(empty_file(source.start))
    return count


def _validate_text(raw: bytes, ref: Ref, schema: SchemaChecker, collector: ProblemCollector) -> None:
    """Check one JSON text at `ref`; findings are added in the order of the text."""
    rest: Rest = []
    try:
        value, findings, rest = _parse(raw)
    except Broken as broken:
        findings = [broken_finding(broken if ref.record is None else explain_line(broken, raw))]
    else:
        too_deep = [finding for finding in findings if finding.code == "MC019"]
        if too_deep:
            findings, rest = too_deep[:1], []
        else:
            findings += _checked(raw, value, findings, schema)
    for finding in sorted(findings, key=lambda finding: finding.offset or 0):
        collector.add(finding._replace(ref=ref, offset=ref.offset + (finding.offset or 0)))
    collector.count_rest(rest, ref.record)


def _checked(raw: bytes, value: Any, faults: list[Finding], schema: SchemaChecker) -> list[Finding]:
    """The findings of the schema with offsets, except those inside values that already have a fault."""
    faulty = {fault.path for fault in faults if not fault.at_key and fault.path}
    locator, found = Locator(raw), []
    for finding in schema.findings(value):
        path = finding.path
        if not faulty or not any(path[:length] in faulty for length in range(1, len(path) + 1)):
            value_at, key_at = locator.find(path)
            found.append(finding._replace(offset=key_at if finding.at_key else value_at))
    return found


def _parse(raw: bytes) -> tuple[Any, list[Finding], Rest]:
    """Return the value of a JSON text, and its faults other than syntax errors. Raises `Broken`."""
    if quick_parse(raw, MAX_DEPTH) is not UNSET:
        return json.loads(raw), [], []  # not the value of msgspec, which converts large integers to floats
    scanned = scan(raw)
    return scanned.value, list(map(fault_finding, scanned.faults)), counted_only(scanned)
