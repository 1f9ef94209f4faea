"""Judge one file with a schema that is not ours: `.json` as one document, `.jsonl` record by record."""

from __future__ import annotations

import json
import re
import warnings
from typing import Any

from medcontract.definitions.decode import no_repeated_key
from medcontract.foreign.schema import Foreign
from medcontract.judging.examining import Rest, counted_only, fault_finding
from medcontract.judging.records import Progress
from medcontract.judging.report import make_report
from medcontract.judging.start import container_of
from medcontract.problems import Finding, Path, Ref
from medcontract.reading import lines
from medcontract.reading.json_file import too_large
from medcontract.reading.limits import MAX_DEPTH, MAX_DOCUMENT
from medcontract.reading.locate import Locator
from medcontract.reading.scan import Broken, scan
from medcontract.reading.source import Source, Unreadable
from medcontract.results.validation import FileReport
from medcontract.tally import Tally

_HUGE = re.compile(rb"[0-9]{300}")


def judge_foreign(source: Source, schema: Foreign, tally: Tally, progress: Progress | None = None) -> FileReport:
    """Everything that is wrong with one file. Nothing that the file holds makes this raise."""
    try:
        source.prepare()
        return _judge(source, schema, tally, progress)
    except Unreadable as unreadable:
        tally.add(unreadable.finding)
        return make_report(source, None, None, tally, wrong_call=unreadable.wrong_call)


def _judge(source: Source, schema: Foreign, tally: Tally, progress: Progress | None) -> FileReport:
    container = _container(source)
    if container not in ("json", "jsonl"):
        message = f"a JSON Schema cannot be applied to .{container}: a table has no JSON form without a contract"
        tally.add(Finding("MC033", message, "write the rows as JSON Lines (.jsonl), or name a contract"))
        return make_report(source, None, None, tally, wrong_call=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the schema's patterns, which are not ours to mend
        records = _judge_lines(source, schema, tally, progress) if container == "jsonl" else None
        if container == "json":
            _judge_document(source, schema, tally)
    return make_report(source, None, records, tally)


def _container(source: Source) -> str:
    """As for contracts; but any JSON value can be a document, not only an object or a list."""
    container = container_of(source)
    if container == "csv" and source.ending != ".csv":
        return "json"
    return container


def _judge_document(source: Source, schema: Foreign, tally: Tally) -> None:
    raw = source.read(source.start, MAX_DOCUMENT + 1)
    if len(raw) > MAX_DOCUMENT:
        message = f"the document is larger than {MAX_DOCUMENT >> 20} MiB"
        tally.add(Finding("MC020", message, "write one record a line, as .jsonl", offset=0))
        return
    if not raw.strip(b" \t\r\n"):
        tally.add(_empty(source))
        return
    findings, rest = _examine(raw, Ref(source.start, len(raw)), schema)
    for finding in findings:
        tally.add(finding)
    tally.count_rest(rest)


def _judge_lines(source: Source, schema: Foreign, tally: Tally, progress: Progress | None) -> int:
    count = 0
    for raw, offset, _ in lines.records(source, lambda raw: None):
        ref = Ref(offset, len(raw), count)
        findings, rest = _examine(raw, ref, schema) if raw else ([too_large(source.limits.record, None, ref)], [])
        for finding in findings:
            tally.add(_on_one_line(finding))
        tally.count_rest(rest, count)
        count += 1
        if tally.codes(lambda code: code == "MC024"):  # the next record would take as long
            break
        if progress:
            progress(source.done(offset), source.size)
    if not count and not tally.errors:
        tally.add(_empty(source))
    return count


def _empty(source: Source) -> Finding:
    return Finding("MC004", "the file is empty", "was it written to the end?", offset=source.start)


def _on_one_line(finding: Finding) -> Finding:
    if finding.code != "MC011":
        return finding
    return finding._replace(hint="each record stands on one line; a file written over several lines is a .json")


def _examine(raw: bytes, ref: Ref, schema: Foreign) -> tuple[list[Finding], Rest]:
    """What is wrong with one JSON text that stands at `ref`, in the order of the text, and what is counted only."""
    try:
        value, faults, rest = _parse(raw)
    except Broken as broken:
        return [Finding(broken.code, broken.message, broken.hint, offset=ref.offset + broken.offset, ref=ref)], []
    findings = faults
    if not any(fault.code == "MC019" for fault in faults):
        spoilt = {fault.path for fault in faults if not fault.at_key and fault.path}
        found = [f for f in schema.findings(value) if not _inside(f.path, spoilt)]
        findings = faults + _located(found, raw)
    else:
        findings, rest = faults[:1], []
    findings.sort(key=lambda finding: finding.offset or 0)
    return [f._replace(ref=ref, offset=ref.offset + (f.offset or 0)) for f in findings], rest


def _parse(raw: bytes) -> tuple[Any, list[Finding], Rest]:
    """The value of a JSON text, and the faults in it that do not break its syntax. May raise `Broken`."""
    if not _HUGE.search(raw) and no_repeated_key(raw):
        value = json.loads(raw)  # msgspec, which found no oddity, would make floats of large integers
        if _depth(value) <= MAX_DEPTH:
            return value, [], []
    scanned = scan(raw)
    return scanned.value, list(map(fault_finding, scanned.faults)), counted_only(scanned)


def _depth(value: Any) -> int:
    """The levels of lists and objects."""
    depth, level = 0, [value]
    while level := [item for item in level if type(item) in (dict, list)]:
        depth += 1
        level = [inner for item in level for inner in (item.values() if type(item) is dict else item)]
    return depth


def _inside(path: Path, spoilt: set[Path]) -> bool:
    return bool(spoilt) and any(path[:length] in spoilt for length in range(1, len(path) + 1))


def _located(findings: list[Finding], raw: bytes) -> list[Finding]:
    locator = Locator(raw)
    places = ((finding, *locator.find(finding.path)) for finding in findings)
    return [finding._replace(offset=key_at if finding.at_key else at) for finding, at, key_at in places]
