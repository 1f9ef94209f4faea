"""Checks one file: determines its container and its contract, and lets their reader and validator do the rest."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from medcontract.containers import BY_ENDING, BY_MAGIC, CSV, FRAME, JSON, JSONL, Container
from medcontract.contracts import registry
from medcontract.contracts.contract import RecordSink, Validated, mark_validated
from medcontract.contracts.fast_decoder import quick_parse
from medcontract.contracts.recognition import Recognized, role_by_name
from medcontract.contracts.registry import CompiledContract
from medcontract.contracts.rules import Covers
from medcontract.errors import (
    CallError,
    FileChanged,
    InvalidData,
    MedcontractError,
    NotRecognized,
    internal_error,
    plugin_failure,
    report_plugin_errors,
)
from medcontract.problems import Finding
from medcontract.reading.limits import MAX_DEPTH
from medcontract.reading.source import Source, Unreadable, unreadable
from medcontract.results.validation import FileReport
from medcontract.validation.records import Progress, Recognition, RecordReader, RecordsValidator
from medcontract.validation.report import ProblemCollector, make_report

if TYPE_CHECKING:
    from medcontract.validation.referenced_files import ReferencedFiles


GIVEN = "given"
"""How a contract is known that the caller specified."""
_MOST_LOADED_PROBLEMS = 10_000


class Identified(NamedTuple):
    """The contract of a file, and how it is known."""

    contract: CompiledContract
    how: str
    """In words, such as `recognized by its columns`."""
    recognized: Recognized | None = None

    @property
    def how_and_renames(self) -> str:
        if not self.recognized or not self.recognized.renames:
            return self.how
        from medcontract.hints import how_and_renames

        return how_and_renames(self.recognized, self.contract)

    def report(self, validator: RecordsValidator, referenced: ReferencedFiles | None = None) -> FileReport:
        """Return what was found in the file, after checking the files that its records refer to."""
        field = referenced.field(self.contract.id) if referenced else None
        if referenced is None or field is None:
            return replace(validator.report(), _how=self.how_and_renames)
        from medcontract.validation.referenced_files import check_referenced_files

        images = check_referenced_files(validator, field, referenced)
        return replace(validator.report(), _how=self.how_and_renames, _images=images)


def guarded(check: Callable[..., FileReport], source: Source, contract_id: str | None, *settings: Any) -> FileReport:
    """Check one file. Unexpected errors become problems, so that the reports of other files are not lost."""
    try:
        return unchanged(check, source, contract_id, *settings)
    except MedcontractError:
        raise
    except OSError as error:  # after it was opened, such as a disk error
        return _only(unreadable(error).finding, source, contract_id, usage_error=True)
    except Exception as error:  # noqa: BLE001  # any bug
        failure = plugin_failure(error)
        if failure is not None:
            raise failure from None
        return _only(Finding("MC029", internal_error(error)), source, contract_id)


def unchanged(check: Callable[..., FileReport], source: Source, contract_id: str | None, *settings: Any) -> FileReport:
    """Check one file. It is a problem of the file if it changes while it is read."""
    try:
        return check(source, contract_id, *settings)
    except FileChanged as error:
        return _only(Finding("MC003", str(error).removeprefix(f"{source.name}: ")), source, contract_id)


def _only(finding: Finding, source: Source, contract_id: str | None, usage_error: bool = False) -> FileReport:
    collector = ProblemCollector(1)
    collector.add(finding)
    return make_report(source, contract_id, None, collector, usage_error)


def validate_source(source: Source, contract_id: str | None, collector: ProblemCollector) -> FileReport:
    """Find all that is wrong with a file. Never raises because of the file's content."""
    identified = identify(source, contract_id, collector)
    if isinstance(identified, FileReport):
        return identified
    with source.kept_open():
        validator = validator_for(source, identified.contract, collector)
        validator.run()
        return identified.report(validator)


@report_plugin_errors()
def load_source(source: Source, contract: str | None) -> Validated[Any]:
    """Return the validated value of a whole file. Raises `InvalidData` and `CallError`."""
    source.watched = True
    report = validate_source(source, contract, ProblemCollector(_MOST_LOADED_PROBLEMS))
    if report.usage_error:
        problem = report.problems[0]
        kind = NotRecognized if problem.code == "MC009" else CallError
        raise kind(f"{report.path}: {problem.message}", problem.hint)
    if not report.ok or report.contract is None:
        raise InvalidData(report)
    value = reader_for(source, registry.find(report.contract), ProblemCollector(0)).load()
    source.sha256()  # the bytes that were read were also checked
    return mark_validated(value, report.contract)


def identify(source: Source, contract_id: str | None, collector: ProblemCollector) -> Identified | FileReport:
    """Return the contract of a file, or a report that says why it cannot be checked."""
    with source.kept_open():
        try:
            source.prepare()
            return _identify(source, contract_id, collector)
        except Unreadable as unreadable:
            collector.add(unreadable.finding)
            return make_report(source, contract_id, None, collector, usage_error=unreadable.usage_error)


def _identify(source: Source, contract_id: str | None, collector: ProblemCollector) -> Identified | FileReport:
    container, how = container_of(source), GIVEN
    recognized: Recognized | None = None
    if contract_id is None:
        found = _recognize(source, container)
        if not isinstance(found, Recognized):
            return _unrecognized(source, container, found, collector)
        recognized, contract_id, how = found, found.contract_id, found.how
    contract = registry.find(contract_id)
    container = container_for(source, contract)
    if container.name in contract.containers or (container is FRAME and contract.columns):
        if recognized:
            _check_role(source, recognized, contract, collector)
        return Identified(contract, how, recognized)
    what = "; ".join(f".{name}" for name in contract.containers)
    collector.add(Finding("MC033", f"{contract_id} cannot be stored as .{container.name}", f"use one of: {what}"))
    return replace(make_report(source, contract_id, None, collector, usage_error=True), _how=how)


def _check_role(
    source: Source, recognized: Recognized, contract: CompiledContract, collector: ProblemCollector
) -> None:
    """Warn if a recognized file may be meant as something else."""
    finding = None
    is_submission = any(isinstance(rule, Covers) for rule in contract.file_rules)
    if contract.list_key and not is_submission and role_by_name(source.name) == "submission":
        from medcontract.hints import misnamed

        finding = misnamed(recognized, contract)
    if finding is None and recognized.extra:
        from medcontract.hints import extra_keys

        finding = extra_keys(recognized)
    if finding:
        collector.add(finding)


def _recognize(source: Source, container: Container) -> Recognition:
    """Recognize the contract of a file. If the contract does not match exactly, say what the file probably is."""
    found = _reader(container.collections).recognize(source)
    if isinstance(found, Finding) or (isinstance(found, Recognized) and found.exact):
        return found
    from medcontract.hints import explain_file

    return explain_file(source, container, found) or found


def _unrecognized(
    source: Source, container: Container, found: Finding | NotRecognized, collector: ProblemCollector
) -> FileReport:
    """Report a file whose contract is not recognized, with its syntax errors, if it has any."""
    findings = [found] if isinstance(found, Finding) else _reader(container.collections).syntax_errors(source)
    for finding in findings:
        collector.add(finding)
    if collector.errors or isinstance(found, Finding):
        return make_report(source, None, None, collector)
    collector.add(Finding("MC009", *found.as_options))
    return replace(make_report(source, None, None, collector, usage_error=True), _candidates=found.candidates)


def validator_for(
    source: Source,
    contract: CompiledContract,
    collector: ProblemCollector,
    progress: Progress | None = None,
    sink: RecordSink | None = None,
) -> RecordsValidator:
    """Return the validator of an identified file; call its `run`. Valid records go to `sink`, if given."""
    return RecordsValidator(reader_for(source, contract, collector), progress, sink)


def reader_for(source: Source, contract: CompiledContract, collector: ProblemCollector) -> RecordReader:
    """Return the reader of an identified file."""
    container = container_for(source, contract)
    return _reader(container.documents if contract.kind == "document" else container.collections)(
        source, contract, collector
    )


def _reader(name: str) -> type[RecordReader]:
    """Return the reader that a container names; only now is its module imported."""
    module, _, class_name = name.partition(":")
    found: type[RecordReader] = getattr(import_module(f"medcontract.validation.{module}"), class_name)
    return found


def container_of(source: Source) -> Container:
    """Determine the container by the file extension or, if that is unknown, by the content."""
    if known := source.container or BY_MAGIC.get(source.head[:4]) or BY_ENDING.get(source.ending):
        return known
    text = source.head[source.start :].lstrip()
    if not text.startswith((b"{", b"[")):
        return CSV if text else JSON
    first = text.splitlines()[0]
    whole_line = first.rstrip().endswith(b"}") and quick_parse(first, MAX_DEPTH) is not msgspec.UNSET
    return JSONL if whole_line and text[len(first) :].lstrip().startswith(b"{") else JSON


def container_for(source: Source, contract: CompiledContract) -> Container:
    """Determine the container of a file whose contract is known: JSON with a record on its first line is JSON Lines."""
    container = container_of(source)
    if container is not JSON or source.ending in BY_ENDING:
        return container
    lines_there = source.head[source.start :].lstrip().splitlines()
    value = quick_parse(lines_there[0], MAX_DEPTH) if lines_there else None
    is_record = isinstance(value, dict) and contract.list_key is not None and contract.list_key not in value
    return JSONL if is_record else JSON


class Part:
    """One file whose contract is known."""

    def __init__(
        self, source: Source, contract: CompiledContract, collector: ProblemCollector, how: str | None = None
    ) -> None:
        self.source = source
        self.contract = contract
        self.collector = collector
        self.how = how
        """How the contract is known, such as `recognized by its columns`."""
        self.alias = ""
        """What is shown in place of its name, if that must not be shown."""
        self.progress: Progress | None = None
        """Gets the bytes of this file that were read, and its size."""
        self.validator: RecordsValidator | None = None
        self._report: FileReport | None = None

    @property
    def name(self) -> str:
        """The base name, as text: do not expose paths."""
        return self.alias or base_name(self.source.name)

    @property
    def header(self) -> Any:
        """The header, if the file was read and has a valid one."""
        return self.validator.reader.header if self.validator else None

    @property
    def is_misnamed(self) -> bool:
        """Whether its name says that it has predictions, but its keys belong to a truth."""
        return bool(self.collector.codes(lambda code: code == "MC513"))

    @property
    def has_bad_header(self) -> bool:
        return self.validator is not None and self.validator.reader.bad_header

    @property
    def report(self) -> FileReport:
        """Built on first access: until then, findings may be added to the collector."""
        if self._report is None:
            validator = self.validator or validator_for(self.source, self.contract, self.collector)
            self._report = replace(validator.report(), _how=self.how)
        return self._report


def base_name(path: str) -> str:
    return os.path.basename(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def report_read(parts: Sequence[Part], done: int | None = None) -> None:
    """Report how many bytes of these files were read, from the first file on; without a number, all of them."""
    left = sum(part.source.size for part in parts) if done is None else done
    for part in parts:
        size = part.source.size
        if part.progress and left > 0:
            part.progress(min(left, size), size)
        left -= size
