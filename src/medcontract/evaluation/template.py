"""Empty files of a contract for given cases: the ids are filled in, and everything else is missing on purpose.

Only ids are copied from the file of cases, so a truth can be passed without revealing its labels. What the author has
to fill in is null, or an empty cell, which is not valid, so that an unfinished template cannot pass as a submission.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from medcontract.containers import BY_ENDING, CSV, JSON, JSONL
from medcontract.contracts import registry
from medcontract.contracts.compile import variants_of
from medcontract.contracts.contract import StandIn, Validated
from medcontract.contracts.registry import CompiledContract
from medcontract.contracts.rules import Covers, Equal, Unique
from medcontract.errors import CallError, InvalidData, NotRecognised
from medcontract.problems import Finding
from medcontract.reading.source import Source
from medcontract.results.validation import FileReport
from medcontract.validation.dispatch import identify, validate_source, validator_for
from medcontract.validation.problem_collector import ProblemCollector

FORMATS = (JSON.name, JSONL.name, CSV.name)
_KEPT_PROBLEMS = 100


class Template(NamedTuple):
    """The text of a new file."""

    text: str
    records: int
    lacking: tuple[str, ...]
    """Required header fields that the container cannot store."""
    is_valid: bool = False
    """Whether it is valid although fields are not filled in, since the contract allows null or blank values there."""


class _Source(NamedTuple):
    """What is copied from a file of cases."""

    fields: tuple[str, ...]
    where: tuple[tuple[str, str], ...] = ()
    """Only records with these values in these fields count."""
    header: tuple[str, ...] = ()


def format_for(out: str) -> str:
    """The container for the extension of a file. Raises `CallError`."""
    known = {ending: each.name for ending, each in BY_ENDING.items() if each.name in FORMATS}
    found = next((name for ending, name in known.items() if out.lower().endswith(ending)), None)
    if found is None:
        raise CallError(f"{out}: no format has this extension", f"use {', '.join(known)}, or pass --format")
    return found


def template(contract_id: str, cases: Source, cases_contract: str | None, container: str) -> Template:
    """A file of a contract with one record for each case, in the order of the cases.

    Raises `CallError` if the cases do not belong to the contract, and `InvalidData` if they are not valid.
    """
    contract = registry.find(contract_id)
    _require_collection(contract, container)
    collector = ProblemCollector(_KEPT_PROBLEMS)
    found = identify(cases, cases_contract, collector)
    if isinstance(found, FileReport):
        raise _cannot_check(found)
    given = found.contract
    copied = _copied(contract, given)
    sink = _Cases(copied)
    validator = validator_for(cases, given, collector, sink=sink)
    validator.run()
    report = validator.report()
    if not report.ok:
        raise InvalidData(report)
    if not sink.rows:
        raise CallError(f"{cases.name}: there are no cases for {contract_id}")
    header = {name: getattr(validator.header, name, None) for name in copied.header}
    written = _written(contract, sink.rows, header, container)
    return written._replace(is_valid=_is_valid(contract, written.text, container, sink.rows[0]))


def _is_valid(contract: CompiledContract, text: str, container: str, row: Mapping[str, Any]) -> bool:
    """Whether a template with fields to fill in is valid."""
    if set(_fields(contract)) <= {*row, *_constants(contract)}:
        return False
    source = Source(text.encode(), f"template.{container}")
    return validate_source(source, contract.id, ProblemCollector(0)).ok


def _require_collection(contract: CompiledContract, container: str) -> None:
    if contract.kind != "collection" or contract.definition.output:
        raise CallError(f"{contract.id} does not have one record per case, so there is no template for it")
    if container not in contract.containers:
        what = " or ".join(name for name in contract.containers if name in FORMATS)
        raise CallError(f"{contract.id} cannot be stored as .{container}", f"use {what}")


def _cannot_check(report: FileReport) -> Exception:
    if not report.wrong_call:
        return InvalidData(report)
    problem = report.problems[0]
    kind = NotRecognised if problem.code == "MC009" else CallError
    return kind(f"{report.path}: {problem.message}", problem.hint)


def _copied(contract: CompiledContract, given: CompiledContract) -> _Source:
    """What to copy from a file of the given contract. Raises `CallError` if it has no ids for this one."""
    sources = dict(_sources(contract))
    if given.id in sources:
        return sources[given.id]
    if sources:
        raise CallError(
            f"the ids for {contract.id} cannot be taken from {given.id}", f"pass a file of {' or '.join(sources)}"
        )
    shared = tuple(name for name in _unique_fields(contract) if name in given.record)
    if given.kind == "document" or not shared:
        raise CallError(f"{given.id} does not have the ids of {contract.id}")
    return _Source(shared)


def _unique_fields(contract: CompiledContract) -> list[str]:
    return [name for rule in contract.list_rules if isinstance(rule, Unique) for name in rule.fields]


def _sources(contract: CompiledContract) -> Iterator[tuple[str, _Source]]:
    """The contracts whose ids a file must cover, and those that list the same ids."""
    header = tuple(rule.field for rule in contract.file_rules if isinstance(rule, Equal))
    for rule in contract.file_rules:
        if not isinstance(rule, Covers):
            continue
        lists = list(_id_lists(rule.other))
        ids = tuple(name for name in (rule.with_field, rule.field) if name)
        listed = {name for each, _ in lists for form in each.forms for name in form}
        fields = tuple(name for name in _fields(contract) if name in ids or name in listed)
        yield rule.other, _Source(fields, header=header)
        for each, stand_in in lists:
            yield each.id, _Source(fields, stand_in.where, header)
    for each, stand_in in _id_lists(contract.id):  # it is a truth itself
        shared = tuple(name for name in _unique_fields(contract) if name in each.record)
        yield each.id, _Source(shared, stand_in.where, header)


def _id_lists(truth: str) -> Iterator[tuple[CompiledContract, StandIn]]:
    for found in registry.tracks().get(truth.partition("/")[0], []):
        for stand_in in found.definition.stands_in_for:
            if stand_in.contract == truth:
                yield found, stand_in


class _Cases:
    """A sink that keeps the ids of valid records."""

    def __init__(self, copied: _Source) -> None:
        self._copied = copied
        self.rows: list[dict[str, Any]] = []

    def begin(self) -> None:
        """Nothing to do."""

    def take(self, records: Validated[Sequence[Any]]) -> Sequence[tuple[int, Finding]]:
        fields, where = self._copied.fields, self._copied.where
        for record in records.value:
            if all(getattr(record, name, None) == value for name, value in where):
                self.rows.append({name: getattr(record, name, None) for name in fields})
        return ()

    def reject(self, parsed: Any) -> Sequence[Finding]:
        return ()

    def end(self, complete: bool) -> None:
        """Nothing to do."""


def _main_variant(contract: CompiledContract) -> dict[str, Any]:
    """The variant of a record with most required fields: the one that answers, not the one that failed."""
    return max(variants_of(contract.record_schema), key=lambda variant: len(variant.get("required", ())))


def _fields(contract: CompiledContract) -> list[str]:
    """The required fields of a record, in the order of the contract."""
    variant = _main_variant(contract)
    return [name for name in variant["properties"] if name in variant.get("required", ())]


def _constants(contract: CompiledContract) -> dict[str, Any]:
    """The fields that allow only one value, which is therefore filled in."""
    properties = _main_variant(contract)["properties"]
    return {name: node["const"] for name, node in properties.items() if "const" in node}


def _written(
    contract: CompiledContract, rows: Sequence[Mapping[str, Any]], header: Mapping[str, Any], container: str
) -> Template:
    blank = {**dict.fromkeys(_fields(contract)), **_constants(contract)}
    records = [{**blank, **{name: value for name, value in row.items() if value is not None}} for row in rows]
    if container == CSV.name:
        return Template(_csv(contract, records), len(records), _header_fields(contract))
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    if container == JSONL.name:
        return Template("".join(f"{line}\n" for line in lines), len(records), _header_fields(contract))
    known = {name: value for name, value in header.items() if value is not None and name in contract.header}
    first = {**dict.fromkeys(_header_fields(contract)), **known}
    fields = "".join(
        f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)},\n" for name, value in first.items()
    )
    listed = ",\n".join(f"    {line}" for line in lines)
    return Template(f"{{\n{fields}  {json.dumps(contract.list_key)}: [\n{listed}\n  ]\n}}\n", len(records), ())


def _header_fields(contract: CompiledContract) -> tuple[str, ...]:
    """The required header fields, in the order of the contract."""
    return tuple(
        name for name in contract.schema["properties"]
        if name in contract.header_required and name != contract.list_key
    )  # fmt: skip


def _csv(contract: CompiledContract, records: Sequence[Mapping[str, Any]]) -> str:
    import csv
    import io

    columns = [column for column in contract.columns if column.path[0] in records[0]]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(column.name for column in columns)
    for record in records:
        writer.writerow(record[str(column.path[0])] for column in columns)
    return stream.getvalue()
