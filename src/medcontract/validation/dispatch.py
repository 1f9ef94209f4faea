"""Determines the container and the contract of a file, and chooses its validator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from medcontract.containers import BY_ENDING, CSV, FRAME, JSON, JSONL, Container, with_magic
from medcontract.contracts import registry
from medcontract.contracts.contract import RecordSink
from medcontract.contracts.fast_decoder import quick_parse
from medcontract.contracts.recognition import NO_RENAMES, Recognized
from medcontract.contracts.registry import CompiledContract
from medcontract.contracts.schema_nodes import known_keys
from medcontract.contracts.suggestions import renames_text
from medcontract.errors import NotRecognized
from medcontract.problems import Finding, is_plain, plural, shorten
from medcontract.reading.limits import MAX_DEPTH
from medcontract.reading.source import Source, Unreadable
from medcontract.results.validation import FileReport
from medcontract.validation.problem_collector import ProblemCollector
from medcontract.validation.records import Progress, RecordsValidator
from medcontract.validation.report import make_report

if TYPE_CHECKING:
    from medcontract.validation.referenced_files import ReferencedFiles


GIVEN = "given"
"""How a contract is known that the caller specified."""


class Identified(NamedTuple):
    """The contract of a file, and how it is known."""

    contract: CompiledContract
    how: str
    """In words, such as `recognized by its columns`."""
    renames: Mapping[str, str] = NO_RENAMES
    """Keys of the file that count as keys of the contract."""

    @property
    def how_and_renames(self) -> str:
        # A key of an object in the record is not another name of that object: it belongs into it.
        renames = {name: to for name, to in self.renames.items() if name not in self._keys_of(to)}
        return self.how + (f"; rename {renames_text(renames, 3)}" if renames else "")

    def _keys_of(self, field: str) -> list[str]:
        return known_keys(self.contract.record_schema, (field,)) if self.contract.list_key else []


def validate_source(
    source: Source,
    contract_id: str | None,
    collector: ProblemCollector,
    progress: Progress | None = None,
    referenced: ReferencedFiles | None = None,
    run: Callable[[RecordsValidator], RecordsValidator] | None = None,
) -> FileReport:
    """Everything that is wrong with a file and the files it refers to. Never raises because of the file's content.

    `run` checks the file with its validator, and returns the one that has the findings; by default, this process does.
    """
    identified = identify(source, contract_id, collector)
    if isinstance(identified, FileReport):
        return identified
    contract, how = identified.contract, identified.how_and_renames
    validator = validator_for(source, contract, collector, progress)
    if run:
        validator = run(validator)
    else:
        validator.run()
    field = referenced.field(contract.id) if referenced else None
    if referenced is None or field is None:
        return replace(validator.report(), _how=how)
    from medcontract.validation.referenced_files import check_referenced_files

    images = check_referenced_files(validator, field, referenced)
    return replace(validator.report(), _how=how, _images=images)


def identify(source: Source, contract_id: str | None, collector: ProblemCollector) -> Identified | FileReport:
    """The contract of a file, or a report that says why it cannot be checked."""
    try:
        source.prepare()
        return _identify(source, contract_id, collector)
    except Unreadable as unreadable:
        collector.add(unreadable.finding)
        return make_report(source, contract_id, None, collector, wrong_call=unreadable.wrong_call)


def _identify(source: Source, contract_id: str | None, collector: ProblemCollector) -> Identified | FileReport:
    how, renames, recognized = GIVEN, NO_RENAMES, None
    if contract_id is None:
        container = container_of(source)
        try:
            recognized = _validator(container.collections).recognize(source)
        except NotRecognized as doubt:
            return _unrecognized(source, container, doubt, collector)
        contract_id, how, renames = recognized.contract_id, recognized.how, recognized.renames
    contract = registry.find(contract_id)
    container = container_for(source, contract)
    if container.name in contract.containers or (container is FRAME and contract.columns):
        if recognized and recognized.extra:
            collector.add(_extra_keys(recognized))
        return Identified(contract, how, renames)
    what = "; ".join(f".{name}" for name in contract.containers)
    collector.add(Finding("MC033", f"{contract_id} cannot be stored as .{container.name}", f"use one of: {what}"))
    return replace(make_report(source, contract_id, None, collector, wrong_call=True), _how=how)


_MOST_NAMED = 8


def _extra_keys(recognized: Recognized) -> Finding:
    """The warning about keys that the contract allows, but does not know: the file may be something else."""
    what = "column" if recognized.by == "its columns" else "key"
    plain = [name for name in recognized.extra if is_plain(name)]
    hidden = [name for name in recognized.extra if not is_plain(name)]
    shown, left = plain[:_MOST_NAMED], len(recognized.extra) - len(plain[:_MOST_NAMED])
    names = f": {', '.join(shown)}" if shown else ""
    more = f" and {left:,} more" if shown and left else ""
    contract_id = recognized.contract_id
    renames = {name: field for name, field in recognized.renames.items() if name in recognized.extra}
    rename = f"rename {renames_text(renames)}, or " if renames else ""
    return Finding(
        "MC510",
        f"{plural(len(recognized.extra), what)} not in {contract_id}{names}{more}",
        f"{rename}check that the file is meant as {contract_id}; to accept it without this warning: {contract_id}=PATH",
        severity="warning",
        ref=recognized.ref,
        value=shorten(", ".join(hidden)) if hidden else None,
    )


def validator_for(
    source: Source,
    contract: CompiledContract,
    collector: ProblemCollector,
    progress: Progress | None = None,
    sink: RecordSink | None = None,
) -> RecordsValidator:
    """The validator of an identified file; call its `run`. Valid records go to `sink`, if given."""
    container = container_for(source, contract)
    validator = _validator(container.documents if contract.kind == "document" else container.collections)
    return validator(source, contract, collector, progress, sink)


def _validator(name: str) -> type[RecordsValidator]:
    """The validator that a container names; only now is its module imported."""
    module, _, class_name = name.partition(":")
    found: type[RecordsValidator] = getattr(import_module(f"medcontract.validation.{module}"), class_name)
    return found


def container_of(source: Source) -> Container:
    """The container by file extension or, if that is unknown, by the content."""
    if known := source.container or with_magic(source.head) or BY_ENDING.get(source.ending):
        return known
    text = source.head[source.start :].lstrip()
    if not text.startswith((b"{", b"[")):
        return CSV if text else JSON
    first = text.splitlines()[0]
    whole_line = first.rstrip().endswith(b"}") and quick_parse(first, MAX_DEPTH) is not msgspec.UNSET
    return JSONL if whole_line and text[len(first) :].lstrip().startswith(b"{") else JSON


def container_for(source: Source, contract: CompiledContract) -> Container:
    """Like `container_of`, for a text whose contract is known."""
    container = container_of(source)
    is_lines = container is JSON and source.ending not in BY_ENDING and _is_record(source, contract)
    return JSONL if is_lines else container


def _is_record(source: Source, contract: CompiledContract) -> bool:
    """Whether a text of unknown container starts with a complete record on one line, not with a header."""
    lines_there = source.head[source.start :].lstrip().splitlines()
    value = quick_parse(lines_there[0], MAX_DEPTH) if lines_there else None
    return isinstance(value, dict) and contract.list_key is not None and contract.list_key not in value


def _unrecognized(
    source: Source, container: Container, doubt: NotRecognized, collector: ProblemCollector
) -> FileReport:
    """The report of a file whose contract is not recognized: its syntax errors, if it has any."""
    for finding in _validator(container.collections).syntax_errors(source):
        collector.add(finding)
    if collector.errors:
        return make_report(source, None, None, collector)
    collector.add(Finding("MC009", *doubt.as_options))
    return replace(make_report(source, None, None, collector, wrong_call=True), _candidates=doubt.candidates)
