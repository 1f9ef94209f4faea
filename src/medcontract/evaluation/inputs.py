"""Identifies the files of a call: contracts, tracks, parts of one collection, headers."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec.structs import replace

from medcontract.addresses import real_path
from medcontract.containers import BY_ENDING
from medcontract.contracts.contract import RecordSink
from medcontract.contracts.recognition import is_truth_or_submission, other_role
from medcontract.contracts.registry import CompiledContract, scope
from medcontract.errors import CallError, NotRecognised
from medcontract.parallel import cpus
from medcontract.problems import Finding
from medcontract.reading.archive_paths import open_source, without_ending
from medcontract.reading.limits import Limits
from medcontract.reading.source import STDIN, Source
from medcontract.results.validation import FileReport, Problem
from medcontract.scoring.scorer import NO_OPTIONS, ScoringOptions
from medcontract.validation.dispatch import Identified, container_for, identify, validator_for
from medcontract.validation.parts import Part, base_name, report_read
from medcontract.validation.problem_collector import ProblemCollector
from medcontract.validation.records import Progress, run_parts

if TYPE_CHECKING:
    from medcontract.evaluation.protocols import FrozenProtocol
    from medcontract.evaluation.unused_files import SkippedFile
    from medcontract.parallel.pool import Pool

Header = dict[str, Any]
_UNREADABLE = ("MC001", "MC002", "MC003")
GivenFile = tuple[str | Source, str | None]
"""A path or an open source, and the contract given by the caller."""


class Settings(NamedTuple):
    """How files are read, and how many problems are kept for each."""

    keep: int = 100
    alike: int | None = None
    excerpts: bool = False
    limits: Limits | None = None
    progress: Progress | None = None
    """Gets the bytes that were read of all files, and their total (`report_progress`)."""
    jobs: int | None = 1
    """Worker processes for large files. None: as many as pay off."""
    pool: Pool | None = None
    """Reads large files, instead of worker processes."""
    participant: bool = False
    """The output must not reveal the truth."""

    scoring: ScoringOptions = NO_OPTIONS
    """The caller's options for scoring."""
    frozen: FrozenProtocol | None = None
    """The protocol to score under, if it is frozen."""

    def collector(self) -> ProblemCollector:
        return ProblemCollector(self.keep, self.alike, self.excerpts, self.participant)

    def pool_for(self, parts: Sequence[Part]) -> Pool | None:
        """What reads these files in chunks. None: it is not worth it."""
        if self.pool:
            return self.pool
        size = sum(part.source.size for part in parts)
        if cpus.workers_for(self.jobs, size) < 2:
            return None
        from medcontract.parallel.pool import pool_for  # slow to import

        return pool_for(self.jobs, size)


DEFAULT = Settings()


def without_extensions(name: str) -> str:
    """The name of a data file or an archive without its extensions (`.json`, `.csv.gz`, `.tar.gz`)."""
    if without_ending(name) != name:
        return without_ending(name)
    plain = name[:-3] if name.lower().endswith(".gz") else name
    stem, extension = os.path.splitext(plain)
    return stem if extension.lower() in BY_ENDING else name


def has_data_extension(path: str) -> bool:
    """Whether the extension is one of a data file (`.json`, `.csv.gz`)."""
    return without_extensions(os.path.basename(path)) != os.path.basename(path)


class Files:
    """The files of one call, by contract."""

    def __init__(self) -> None:
        self.groups: dict[str, list[Part]] = {}
        self.unread: list[FileReport] = []
        """Files that cannot be read, or that are so broken that their contract cannot be recognized."""
        self.unread_sources: dict[str, Source] = {}
        """These files, by path."""
        self._unread_because: dict[str, Problem] = {}
        self.unrecognized: list[FileReport] = []
        """Files in a folder that match no contract."""
        self.skipped: Sequence[SkippedFile] = ()
        """Files in a folder that are not read, because they do not have the extension of a data file."""
        self.found: Collection[str] = ()
        """Files that were found in a folder, not named in the call."""
        self.notes: list[str] = []
        """Warnings about files that were ignored, or used from an unexpected place."""

    def parts(self) -> list[Part]:
        return [part for group in self.groups.values() for part in group]

    def remove(self, part: Part) -> None:
        group = self.groups[part.contract.id]
        group.remove(part)
        if not group:
            del self.groups[part.contract.id]

    def ignore_broken(self, found: Collection[str], submissions: Iterable[str]) -> None:
        """Ignore broken files in folders with a submission: they are most likely not part of it."""
        if any(name in self.groups for name in submissions):
            for report in [report for report in self.unread if report.path in found]:
                problem = self._unread_because[report.path]
                if problem.code in _UNREADABLE:  # it may be part of the submission
                    continue
                self.unread.remove(report)
                is_link = problem.code == "MC028"
                place = f"line {problem.line}: " if problem.line is not None else ""
                why = f": {problem.message}" if is_link else f" cannot be read: ignored ({place}{problem.message})"
                self.notes.append(base_name(report.path) + why)

    def add_unread(self, source: Source, report: FileReport, because: Problem) -> None:
        self.unread.append(report)
        self.unread_sources[report.path] = source
        self._unread_because[report.path] = because

    def take(self, contracts: Iterable[str]) -> Files:
        """Only the files of these contracts."""
        some = Files()
        some.groups = {name: self.groups[name] for name in contracts if name in self.groups}
        some.found = self.found
        return some


def gather(
    given: Iterable[GivenFile],
    settings: Settings,
    lenient: Collection[str] = (),
    role: Literal["truth", "submission"] | None = None,
) -> Files:
    """Identify each file. Raises `CallError` for one that cannot be checked, unless its path is in `lenient`.

    A file that is given twice counts once. The order of the files does not matter. `role`: what files are that match
    the truth and the submission of a challenge equally well.
    """
    files = Files()
    undecided: list[tuple[Source, FileReport]] = []
    files.found = lenient
    for path, contract_id in _once(given):
        collector = settings.collector()
        source = path if isinstance(path, Source) else open_source(path, settings.limits)
        source.watched = True
        identified = identify(source, contract_id, collector)
        if isinstance(identified, Identified):
            part = Part(source, identified.contract, collector, identified.how)
            files.groups.setdefault(part.contract.id, []).append(part)
            continue
        report = identified
        if _is_decided_later(report._candidates, role):
            undecided.append((source, report))
            continue
        problem = _first_problem(report, source, contract_id)
        found = report.path in lenient
        if not report.wrong_call or (found and problem.code in (*_UNREADABLE, "MC028")):
            files.add_unread(source, _without_text(report) if settings.participant else report, problem)
        elif found:
            files.unrecognized.append(report)
        else:
            kind = NotRecognised if problem.code == "MC009" else CallError
            raise kind(f"{report.path}: {problem.message}", without_contract_option(problem.hint))
    _decide(files, undecided, settings, role, lenient)
    files.groups = {name: _in_order(files.groups[name]) for name in sorted(files.groups)}
    files.unread.sort(key=_by_name_and_problem)
    files.unrecognized.sort(key=lambda report: base_name(report.path))
    return files


def _is_decided_later(candidates: Collection[str], role: str | None) -> bool:
    """Whether the other files, or the role of a file, decide which of these contracts of a challenge it has."""
    challenge = scope()
    if challenge is None or role is None:
        return is_truth_or_submission(candidates)
    return getattr(challenge, role) in candidates


def _decide(
    files: Files,
    undecided: Sequence[tuple[Source, FileReport]],
    settings: Settings,
    role: str | None,
    found: Collection[str],
) -> None:
    """Add the files that match the truth and the submission of a challenge equally well."""
    challenge = scope()
    if challenge is None or not undecided:
        return
    others = set(files.groups)
    if all(part.source.name in found for part in files.groups.get(challenge.truth, [])):
        others.discard(challenge.truth)  # a truth in the folder of a submission must not replace that of the organizer
    decided = other_role(others) if role is None else getattr(challenge, role)
    for source, report in undecided:
        if decided is None:
            problem = _first_problem(report, source, None)
            hint = f"specify it: {challenge.truth}=PATH, or {challenge.submission}=PATH"
            raise NotRecognised(f"{report.path}: {problem.message}", hint)
        collector = settings.collector()
        identified = identify(source, decided, collector)
        if isinstance(identified, Identified):
            how = "because of the other files" if role is None else "by its position"
            part = Part(source, identified.contract, collector, how)
            files.groups.setdefault(part.contract.id, []).append(part)
        else:
            files.add_unread(source, identified, _first_problem(identified, source, decided))


def without_contract_option(hint: str | None) -> str | None:
    """A hint for commands that have no --contract: `CONTRACT=PATH` instead."""
    if hint is None:
        return None
    hint = hint.replace("--contract ID", "CONTRACT=PATH")
    return re.sub(r"--contract ([a-z0-9-]+/[a-z0-9-]+)(?:, or \1=PATH)?", r"\1=PATH", hint)


def _by_name_and_problem(report: FileReport) -> tuple[Any, ...]:
    first = report.problems[0] if report.problems else None
    return base_name(report.path), *((first.code, first.message, first.line or 0) if first else ())


def _without_text(report: FileReport) -> FileReport:
    """The report without any text from the file: a file whose contract is unknown may be the truth."""
    bare = tuple(replace(problem, _value=None, _excerpt=None) for problem in report.problems)
    return replace(report, problems=bare)


def _first_problem(report: FileReport, source: Source, contract_id: str | None) -> Problem:
    """Why a file cannot be checked, even if no problems were kept."""
    if not report.problems:
        again = identify(source, contract_id, ProblemCollector(1))
        report = again if isinstance(again, FileReport) else report
    return report.problems[0]


def _once(given: Iterable[GivenFile]) -> Iterator[GivenFile]:
    seen: set[tuple[str, str | None]] = set()
    given = list(given)
    if [path for path, _ in given].count(STDIN) > 1:
        raise CallError("standard input was given twice", "save one of the two to a file")
    with_contract = {real_path(path) for path, contract_id in given if isinstance(path, str) and contract_id}
    for path, contract_id in given:
        real = real_path(path) if isinstance(path, str) and path != STDIN else None
        if real is not None and contract_id is None and real in with_contract:
            continue  # its folder was also given
        if real is None or (real, contract_id) not in seen:
            yield path, contract_id
        if real is not None:
            seen.add((real, contract_id))


def _in_order(parts: list[Part]) -> list[Part]:
    """Sorted by name; parts of the same name by content."""
    names = Counter(part.name for part in parts)
    return sorted(parts, key=lambda p: (p.name, p.source.sha256() if names[p.name] > 1 else ""))


def report_progress(progress: Progress | None, parts: Sequence[Part]) -> None:
    """Report the progress of reading these files as bytes of all of them. What is read again counts once."""
    if progress is None:
        return
    total, done = sum(part.source.size for part in parts), 0

    def of_file() -> Progress:
        reported = 0

        def report(read: int, size: int) -> None:
            nonlocal done, reported
            new = max(min(read, size) - reported, 0)
            reported += new
            done += new
            progress(done, total)

        return report

    for part in parts:
        part.progress = of_file()


def read(parts: Sequence[Part], sink: RecordSink | None = None) -> None:
    """Read and check files of one contract, as parts of one collection."""
    if parts[0].contract.kind == "document" and len(parts) > 1:
        raise CallError(
            f"expected one file of {parts[0].contract.id}, got {len(parts)}: {_names(parts)}", "pass only one of them"
        )
    for part in parts:
        part.validator = validator_for(part.source, part.contract, part.collector, part.progress, sink)
    if parts[0].contract.kind == "document":
        for part in parts:
            if part.validator:
                part.validator.run()
    else:
        run_parts([part.validator for part in parts if part.validator])
    report_read(parts)


def _names(parts: Sequence[Part]) -> str:
    return ", ".join(part.name for part in parts)


def header_fields(contract: CompiledContract) -> frozenset[str]:
    return contract.header - {contract.list_key, "$schema"}


def may_have_header(part: Part) -> bool:
    """Whether the container of the file can store header fields."""
    return bool(container_for(part.source, part.contract).documents)


def header_of(parts: Sequence[Part]) -> Header:
    """The header of the parts. Raises `CallError` if they differ: then they do not belong to one collection."""
    fields = sorted(header_fields(parts[0].contract))
    known: Header | None = None
    first = parts[0]
    for part in parts:
        header = part.validator.header if part.validator else None
        if header is None:
            continue
        mine = {name: getattr(header, name, None) for name in fields}
        if known is None:
            known, first = mine, part
        elif mine != known:
            field = next(name for name in fields if mine[name] != known[name])
            raise CallError(
                f"'{field}' differs between two files of {part.contract.id}: {first.name}, {part.name}",
                "the parts of a collection must have equal headers; pass the files of one team or model only",
            )
    return known if known is not None else dict.fromkeys(fields)


def set_options(names: Iterable[str]) -> str:
    """How to set header fields that the files lack, for hints."""
    return " ".join(f"--set {name}=…" for name in names)


class HeaderOverrides:
    """Header fields set by the caller (`--set name=value`), for containers that lack them."""

    def __init__(self, values: Mapping[str, str] | None = None, strict: bool = True) -> None:
        self._values = dict(values or {})
        self._strict = strict
        """Setting a field that the files contain is an error."""
        self._used: set[str] = set()
        self._known: set[str] = set()

    @property
    def names(self) -> frozenset[str]:
        """The names of the fields that the caller set."""
        return frozenset(self._values)

    def complete(self, header: Header, contract: CompiledContract, known: Collection[str] | None = None) -> Header:
        """The header with missing fields filled in, if the caller set them."""
        self._known |= header_fields(contract) if known is None else set(known)
        lacking = {n: v for n, v in self._values.items() if n in header and header[n] is None}
        for name, value in lacking.items():
            _check_field(contract, name, value)
        self._used |= set(lacking)
        return {**header, **lacking}

    def check_names(self, contracts: Iterable[CompiledContract]) -> None:
        """Raises `CallError` for a field that no contract has, or whose value its contract does not allow."""
        for name, value in self._values.items():
            having = [contract for contract in contracts if name in header_fields(contract)]
            if not having:
                raise self._no_such_field(name, {f for contract in contracts for f in header_fields(contract)})
            for contract in having:
                _check_field(contract, name, value)

    def _no_such_field(self, name: str, known: Collection[str]) -> CallError:
        from medcontract.contracts.suggestions import did_you_mean

        hint = did_you_mean(name, known) or f"these can be set: {', '.join(sorted(known))}"
        return CallError(f"no file has a header field '{name}'", hint)

    def check(self) -> None:
        """Raises `CallError` for a field that was not used."""
        for name in self._values:
            if name not in self._known:
                raise self._no_such_field(name, self._known)
            if name not in self._used and self._strict:
                raise CallError(f"'{name}' cannot be set: the files already contain it", "change it in the file")


def _check_field(contract: CompiledContract, name: str, value: str) -> None:
    from pydantic import TypeAdapter, ValidationError

    field = contract.definition.model.model_fields[name]
    findings: list[Finding] = []
    try:
        TypeAdapter(_annotated(field)).validate_python(value)
        for rule in contract.header_rules:
            blank = dict.fromkeys(header_fields(contract))
            findings += rule.check(SimpleNamespace(**{**blank, name: value}))
    except ValidationError:
        findings.append(Finding("MC107", "the value is not valid"))
    if findings:
        raise CallError(f"--set {name}: {findings[0].message}", f"see: medcontract schema show {contract.id}")


def _annotated(field: Any) -> Any:
    from typing import Annotated

    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
