"""Repairs a file, limited to mistakes that have exactly one right repair, and validates the result.

::

    meanings    what a wrong name or value can only mean: extend its tables for other mistakes
    ids         what an id can only mean, if the expected ones are known
    json_texts  JSON with these repairs; everything else stays as it is, byte for byte
    tables      the same for CSV
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from medcontract.addresses import require_local
from medcontract.containers import CSV, JSON, JSONL, Container
from medcontract.contracts import registry
from medcontract.contracts.registry import CompiledContract
from medcontract.errors import CallError
from medcontract.evaluation.template import expected_ids
from medcontract.fixing.ids import UNKNOWN_ID, Id, IdSink, right_ids
from medcontract.fixing.json_texts import Place, Repaired, fixed_document, fixed_lines, fixed_values
from medcontract.fixing.meanings import Repair
from medcontract.fixing.tables import fixed_rows, fixed_table
from medcontract.reading.source import Source, Unreadable, open_source
from medcontract.results.validation import FileReport, Problem
from medcontract.validation.dispatch import container_of, validate_source, validator_for
from medcontract.validation.report import ProblemCollector

_WESTERN = re.compile("[\t\n\r -~áéíóúüÁÉÍÓÚÜäöÄÖß°–—‘’“”…€]|[ñÑ](?=[aeiouáéíóúüAEIOUÁÉÍÓÚÜ])|(?<=[0-9 ])µ(?=[glmU])")

MAX_BYTES = 50_000_000
_MOST_PROBLEMS = 100_000
_ROUNDS = 4
"""A repair may reveal other mistakes: mistakes in a record are found once its list has the right name."""


class Fixed(NamedTuple):
    """A file before and after."""

    before: str
    """Its text; for bytes that are not UTF-8, as UTF-16 or Windows-1252, or empty."""
    after: str
    repairs: list[Repair]
    report: FileReport
    """What is wrong with the repaired text."""


def fix_file(path: str, contract_id: str | None, cases: tuple[str, str | None] | None = None) -> Fixed:
    """Repair what has exactly one right repair. Raises `CallError` for a file that cannot be repaired in memory.

    `cases`: a file with the expected ids, and its contract, if it is specified.
    """
    require_local(path, "cannot fix", "download the file first")
    raw = _read(path)
    decoded = _decoded(raw)
    container = _container(raw if decoded is None else decoded[0].encode(), path)
    if decoded is None or container is None:
        return Fixed("", "", [], _validated(raw, path, contract_id))
    before, was = decoded
    repairs = [Repair(f"converted {was} to UTF-8")] if was else []
    after, found = _fixed_text(before, container, path, contract_id, cases)
    return Fixed(before, after, repairs + found, _remaining(after, path, contract_id, cases))


def _read(path: str) -> bytes:
    if path == "-":
        raise CallError("standard input cannot be fixed", "save it to a file")
    if path.lower().endswith(".gz"):
        raise CallError(f"{path}: a compressed file cannot be fixed", "decompress it first")
    if os.path.isdir(path):
        raise CallError(f"{path} is a folder", "pass the files in it: fix takes several")
    try:
        if os.path.isfile(path) and os.path.getsize(path) > MAX_BYTES:
            raise CallError(f"{path}: larger than {MAX_BYTES:,} bytes, which is too large to fix")
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise CallError(f"cannot read {path}: {reason}") from None


def _decoded(raw: bytes) -> tuple[str, str] | None:
    """Return the text, and its encoding if that is not UTF-8; None if it is unknown.

    UTF-16 is certain with its mark. A byte means different letters in different encodings. It is certain only for
    letters that the Western and Central European ones share, for ñ before a vowel, and for µ in a unit.
    """
    wide = raw.startswith((b"\xff\xfe", b"\xfe\xff")) and not raw.startswith(b"\xff\xfe\0\0")
    for codec, name in (("utf-16", "UTF-16"),) if wide else (("utf-8", ""), ("cp1252", "Windows-1252")):
        try:
            text = raw.decode(codec)
        except UnicodeDecodeError:
            continue
        return (text, name) if codec != "cp1252" or not _WESTERN.sub("", text) else None
    return None


def _container(raw: bytes, path: str) -> Container | None:
    """Return the container of a text; None if it cannot be read, such as an empty file."""
    source = Source(raw, path)
    try:
        source.prepare()
    except Unreadable:
        return None
    container = container_of(source)
    if container not in (JSON, JSONL, CSV):
        raise CallError(f"{path}: only .json, .jsonl and .csv files can be fixed")
    return container


def _validated(raw: bytes, path: str, contract_id: str | None) -> FileReport:
    return validate_source(Source(raw, path), contract_id, ProblemCollector(_MOST_PROBLEMS))


def _remaining(text: str, path: str, contract_id: str | None, cases: tuple[str, str | None] | None) -> FileReport:
    """Return what is wrong with the repaired text; an id that is not expected is a warning."""
    report = _validated(text.encode(), path, contract_id)
    if cases is None or report.contract is None:
        return report
    contract = registry.find(report.contract)
    fields, expected = expected_ids(contract, open_source(cases[0]), cases[1])
    return replace(_read_ids(text, contract, path, IdSink(fields, expected=set(expected))), _how=report._how)


def _fixed_text(
    text: str, container: Container, path: str, contract_id: str | None, cases: tuple[str, str | None] | None
) -> tuple[str, list[Repair]]:
    repairs: list[Repair] = []
    commas = False
    report = _validated(text.encode(), path, contract_id)
    if not report.ok:
        if container is CSV:
            (text, found), commas = fixed_rows(text)
        else:
            text, found = fixed_document(text) if container is JSON else fixed_lines(text)
        repairs += found
        report = _validated(text.encode(), path, contract_id) if found else report
    left: set[str] = set()
    for _ in range(_ROUNDS):
        if report.contract is None:
            break
        contract = registry.find(report.contract)
        ids = _wrong_ids(text, contract, path, cases) if cases else _WrongIds()
        repair = partial(_repaired, text, report, contract, container, commas, ids)
        new, found = repair(left)
        after = report if new == text else _validated(new.encode(), path, contract_id)
        if _is_worse(after, report):
            kinds = dict.fromkeys(each.what for each in found)  # each one that does no harm is made
            new, found, after = text, [], report
            left.update(kinds)
            for kind in kinds:
                more, some = repair(left - {kind})
                then = _validated(more.encode(), path, contract_id)
                if not _is_worse(then, after):
                    new, found, after = more, some, then
                    left.remove(kind)
        if new == text or after.contract != report.contract:
            break
        text, report = new, after
        repairs += found
    return text, repairs


def _repaired(
    text: str,
    report: FileReport,
    contract: CompiledContract,
    container: Container,
    commas: bool,
    ids: _WrongIds,
    left: Collection[str],
) -> Repaired:
    if container is CSV:
        return fixed_table(text, contract, commas, ids.fields, ids.right, left)
    problems = [*report.problems, *ids.problems]
    return fixed_values(text, contract, problems, container is JSONL, ids.by_place, left)


def _is_worse(after: FileReport, before: FileReport) -> bool:
    """Return whether the file has more errors: rules are only checked for records with the right structure.

    They are not compared if other records were read.
    """
    return after.records == before.records and _errors(after) > _errors(before)


def _errors(report: FileReport) -> int:
    """Count the errors. One in the columns of a table counts for each record, like a wrong key in JSON."""
    errors = [problem for problem in report.problems if problem.severity == "error"]
    columns = sum(problem.line == 1 and problem.column is None and problem.record is None for problem in errors)
    return len(errors) + columns * (report.records or 0)


class _WrongIds(NamedTuple):
    """The ids of a file that are to be changed."""

    fields: tuple[str, ...] = ()
    right: Mapping[Id, Id] = MappingProxyType({})
    problems: Sequence[Problem] = ()
    """Where they are."""
    by_place: Mapping[Place, str] = MappingProxyType({})


def _wrong_ids(text: str, contract: CompiledContract, path: str, cases: tuple[str, str | None]) -> _WrongIds:
    fields, expected = expected_ids(contract, open_source(cases[0]), cases[1])
    sink = IdSink(fields)
    _read_ids(text, contract, path, sink)
    right = right_ids(sink.ids, expected)
    if not right:
        return _WrongIds()
    report = _read_ids(text, contract, path, IdSink(fields, right))
    problems = [problem for problem in report.problems if problem.code == UNKNOWN_ID]
    by_place: dict[Place, str] = {
        (record, field): true
        for record, mine in enumerate(sink.ids)
        for field, true in zip(fields, right.get(mine, ()) if mine else (), strict=False)
    }
    return _WrongIds(fields, right, problems, by_place)


def _read_ids(text: str, contract: CompiledContract, path: str, sink: IdSink) -> FileReport:
    validator = validator_for(Source(text.encode(), path), contract, ProblemCollector(_MOST_PROBLEMS), sink=sink)
    validator.run()
    return validator.report()
