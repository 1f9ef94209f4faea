"""Empty files of a contract for given cases: the ids are filled in, and everything else is missing on purpose.

Only ids are copied from the file of cases, so a truth can be passed without revealing its labels. What the author has
to fill in is null, or an empty cell, which is not valid, so that an unfinished template cannot pass as a submission.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from medcontract.containers import BY_ENDING, CSV, JSON, JSONL
from medcontract.contracts import registry
from medcontract.contracts.contract import StandIn
from medcontract.contracts.registry import CompiledContract, variants_of
from medcontract.contracts.rules import Covers, Equal, Unique
from medcontract.errors import CallError, InvalidData, NotRecognized, option, words
from medcontract.evaluation.files import Kept
from medcontract.reading.source import Source
from medcontract.results.validation import FileReport
from medcontract.validation.dispatch import identify, validate_source, validator_for
from medcontract.validation.report import ProblemCollector

FORMATS = (JSON.name, JSONL.name, CSV.name)
_KEPT_PROBLEMS = 100


class Template(NamedTuple):
    """The text of a new file."""

    text: str
    lacking: tuple[str, ...]
    """Required header fields that the container cannot store."""
    is_valid: bool
    """Whether it is valid although fields are not filled in, since the contract allows null or blank values there."""


class _Ids(NamedTuple):
    """What is copied from a file of cases."""

    fields: tuple[str, ...]
    where: tuple[tuple[str, str], ...] = ()
    """Only records with these values in these fields count."""
    header: tuple[str, ...] = ()


def format_for(out: str) -> str:
    """Return the container for the extension of a file. Raises `CallError`."""
    known = {ending: each.name for ending, each in BY_ENDING.items() if each.name in FORMATS}
    found = next((name for ending, name in known.items() if out.lower().endswith(ending)), None)
    if found is None:
        raise CallError(
            f"{out}: no format has this extension", words(f"use {', '.join(known)}, or pass ", option("--format"))
        )
    return found


def template(contract_id: str, cases: Source, cases_contract: str | None, container: str) -> Template:
    """Return a file of a contract with one record for each case, in the order of the cases.

    Raises `CallError` if the cases do not belong to the contract, and `InvalidData` if they are not valid.
    """
    contract = registry.find(contract_id)
    if contract.kind != "collection" or contract.definition.output:
        raise CallError(f"{contract_id} does not have one record per case, so there is no template for it")
    if container not in contract.containers:
        what = " or ".join(name for name in contract.containers if name in FORMATS)
        raise CallError(f"{contract_id} cannot be stored as .{container}", f"use {what}")
    _, rows, header = _rows_of(contract, cases, cases_contract)
    return _filled(contract, rows, header, container)


def expected_ids(
    contract: CompiledContract, cases: Source, cases_contract: str | None
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the fields that identify a case for a contract, and their values for each case. Raises as `template`."""
    copied, rows, _ = _rows_of(contract, cases, cases_contract)
    return copied.fields, [tuple(row[name] for name in copied.fields) for row in rows]


def _rows_of(
    contract: CompiledContract, cases: Source, cases_contract: str | None
) -> tuple[_Ids, list[dict[str, str]], dict[str, object]]:
    """Return what is copied from the cases: for each of them, and of their header."""
    collector = ProblemCollector(_KEPT_PROBLEMS)
    found = identify(cases, cases_contract, collector)
    if isinstance(found, FileReport):
        if not found.usage_error:
            raise InvalidData(found)
        problem = found.problems[0]
        kind = NotRecognized if problem.code == "MC009" else CallError
        raise kind(f"{found.path}: {problem.message}", problem.hint)
    copied = _copied(contract, found.contract)
    where, fields = dict(copied.where), copied.fields

    def row_of(record: object) -> dict[str, str | None] | None:
        wanted = all(getattr(record, name, None) == value for name, value in where.items())
        return {name: getattr(record, name, None) for name in fields} if wanted else None

    sink = Kept(row_of)
    validator = validator_for(cases, found.contract, collector, sink=sink)
    validator.run()
    report = validator.report()
    if not report.ok:
        raise InvalidData(report)
    rows = [row for row in sink.found if row is not None]
    if not rows:
        raise CallError(f"{cases.name}: there are no cases for {contract.id}")
    return copied, rows, {name: getattr(validator.reader.header, name, None) for name in copied.header}


def _copied(contract: CompiledContract, given: CompiledContract) -> _Ids:
    """Say what to copy from a file of the given contract. Raises `CallError` if it has no ids for this one."""
    sources = dict(_sources(contract))
    if given.id in sources:
        return sources[given.id]
    if sources:
        raise CallError(
            f"the ids for {contract.id} cannot be taken from {given.id}", f"pass a file of {' or '.join(sources)}"
        )
    shared = _shared_fields(contract, given)
    if given.kind == "document" or not shared:
        raise CallError(f"{given.id} does not have the ids of {contract.id}")
    return _Ids(shared)


def _shared_fields(contract: CompiledContract, given: CompiledContract) -> tuple[str, ...]:
    """Return the fields that identify a record of the contract and that the given one has, too."""
    unique = [name for rule in contract.list_rules if isinstance(rule, Unique) for name in rule.fields]
    return tuple(name for name in unique if name in given.record)


def _sources(contract: CompiledContract) -> Iterator[tuple[str, _Ids]]:
    """Return the contracts whose ids a file must cover, and the contracts that list the same ids."""
    header = tuple(rule.field for rule in contract.file_rules if isinstance(rule, Equal))
    for rule in contract.file_rules:
        if not isinstance(rule, Covers):
            continue
        lists = list(_id_lists(rule.other))
        ids = tuple(name for name in (rule.with_field, rule.field) if name)
        listed = {name for each, _ in lists for form in each.forms for name in form}
        fields = tuple(name for name in _required_fields(contract)[0] if name in ids or name in listed)
        yield rule.other, _Ids(fields, header=header)
        for each, stand_in in lists:
            yield each.id, _Ids(fields, stand_in.where, header)
    for each, stand_in in _id_lists(contract.id):  # it is a truth itself
        yield each.id, _Ids(_shared_fields(contract, each), stand_in.where, header)


def _id_lists(truth: str) -> Iterator[tuple[CompiledContract, StandIn]]:
    for found in registry.tracks().get(truth.partition("/")[0], []):
        yield from ((found, each) for each in found.definition.stands_in_for if each.contract == truth)


def _required_fields(contract: CompiledContract) -> tuple[list[str], dict[str, object]]:
    """Return the required fields of a record, in the order of the contract, and the fields with only one value.

    Of several variants, the one with most required fields counts: the one that answers, not the one that failed.
    """
    variant = max(variants_of(contract.record_schema), key=lambda variant: len(variant.get("required", ())))
    properties = variant["properties"]
    constants = {name: node["const"] for name, node in properties.items() if "const" in node}
    return [name for name in properties if name in variant.get("required", ())], constants


def _filled(
    contract: CompiledContract, rows: Sequence[Mapping[str, object]], header: Mapping[str, object], container: str
) -> Template:
    fields, constants = _required_fields(contract)
    blank = {**dict.fromkeys(fields), **constants}
    records = [{**blank, **{name: value for name, value in row.items() if value is not None}} for row in rows]
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    required = [name for name in contract.schema["properties"] if name in contract.header_required]
    lacking = tuple(name for name in required if name != contract.list_key)
    if container == CSV.name:
        import csv
        import io

        columns = [column for column in contract.columns if column.path[0] in records[0]]
        rows_of_text = [[record[str(column.path[0])] for column in columns] for record in records]
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows([[column.name for column in columns], *rows_of_text])
        text = stream.getvalue()
    elif container == JSONL.name:
        text = "".join(f"{line}\n" for line in lines)
    else:
        known = {name: value for name, value in header.items() if value is not None and name in contract.header}
        first = {**dict.fromkeys(lacking), **known}.items()
        top = "".join(f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)},\n" for name, value in first)
        listed = ",\n".join(f"    {line}" for line in lines)
        text, lacking = f"{{\n{top}  {json.dumps(contract.list_key)}: [\n{listed}\n  ]\n}}\n", ()
    is_valid = False
    if not set(fields) <= {*rows[0], *constants}:  # otherwise, there is nothing to fill in
        source = Source(text.encode(), f"template.{container}")
        is_valid = validate_source(source, contract.id, ProblemCollector(0)).ok
    return Template(text, lacking, is_valid)
