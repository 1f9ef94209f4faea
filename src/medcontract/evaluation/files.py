"""The files of a call: paths, folders, archives, `CONTRACT=PATH`, standard input, and the contract of each file."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from medcontract.addresses import Address, as_address, is_archive, is_table, real_path
from medcontract.containers import BY_ENDING
from medcontract.contracts import registry
from medcontract.contracts.contract import RecordSink, Validated
from medcontract.contracts.recognition import is_truth_or_submission, other_role, role_by_name
from medcontract.errors import LIST_CONTRACTS, CallError, NotRecognized, option, words
from medcontract.evaluation.selection import IgnoredFile, describe_skipped, skipped, without_contract_option
from medcontract.problems import Finding
from medcontract.reading.folders import Exclude
from medcontract.reading.source import STDIN, Source, open_source
from medcontract.results.validation import FileReport, Problem
from medcontract.scoring.expected import validated
from medcontract.validation.dispatch import Identified, Part, base_name, identify, report_read, validator_for
from medcontract.validation.records import Progress, run_parts
from medcontract.validation.report import ProblemCollector

if TYPE_CHECKING:
    from medcontract.evaluation.settings import Settings
    from medcontract.reading.folders import Listing
    from medcontract.reading.limits import Limits

FileName = str | os.PathLike[str]
GivenFile = tuple[str | Source, str | None]
"""A path or an open source, and the contract given by the caller."""
_NAMED = re.compile(r"([a-z0-9-]+/[a-z0-9-]+)=(.+)", re.DOTALL)
_UNREADABLE = ("MC001", "MC002", "MC003")


class GivenFiles(NamedTuple):
    """The files of a call, with folders and archives replaced by the data files in them."""

    files: Sequence[GivenFile]
    found: Mapping[str, str] = MappingProxyType({})
    """The files that were found in a folder or archive, not named in the call, and the folder or archive of each."""
    skipped: tuple[IgnoredFile, ...] = ()
    """The files in these folders that are not read, because of their names."""


class Expanded(NamedTuple):
    """A path of a call: a file, or the data files in a folder or an archive."""

    files: list[str | Source]
    """Entries of a folder that cannot be read are included, as a source with the reason."""
    skipped: tuple[IgnoredFile, ...] = ()
    is_archive: bool = False


def path_of(file: str | Source) -> str:
    return file.name if isinstance(file, Source) else file


def given_files(
    names: Iterable[FileName],
    contract: str | None = None,
    schema: FileName | None = None,
    others: Iterable[object] = (),
    limits: Limits | None = None,
    exclude: Exclude | None = None,
    named: Mapping[str, FileName] = MappingProxyType({}),
) -> GivenFiles:
    """Return the files of a call. Raises `CallError` for an unknown contract, and for standard input without one.

    `others`: other files that the call reads. `limits`: for archives. `exclude`: files in folders that are not read.
    `named`: files by the name of their contract, which is recognized if several have this name.
    """
    by_name: list[tuple[str, str | None]] = []
    if named:
        from medcontract.evaluation.named_tables import contracts_named

        by_id = [(as_address(os.fspath(path)), contracts_named(name)) for name, path in named.items()]
        by_name = [(path, ids[0] if len(ids) == 1 else None) for path, ids in by_id]
    wanted = matching([*(split(name, contract) for name in names), *by_name])
    stdin_once([*(path for path, _ in wanted), schema, *others])
    for path, contract_id in wanted:
        if contract_id and schema:
            raise CallError(words(option("--schema"), " and a contract cannot be used together"), "pass one of the two")
        if contract_id:
            registry.find(contract_id)
        elif path == STDIN and not schema:
            raise CallError(
                "standard input needs a contract", words("pass CONTRACT=- instead of -; for the ids ", LIST_CONTRACTS)
            )
    expanded = [(path, contract_id, expand(path, limits, exclude)) for path, contract_id in wanted]
    themselves = {real_path(path) for path, _, inside in expanded if inside.files == [path]}
    folders = [(path, inside) for path, _, inside in expanded if inside.files != [path]]
    found = {path_of(file): path for path, inside in folders for file in inside.files}
    skipped_files = {file.path: file for _, inside in folders for file in inside.skipped}
    return GivenFiles(
        files=[(file, contract_id) for _, contract_id, inside in expanded for file in inside.files],
        found={file: path for file, path in found.items() if real_path(file) not in themselves},
        skipped=tuple(file for file in skipped_files.values() if real_path(file.path) not in themselves),
    )


def split(name: FileName, contract: str | None = None) -> tuple[str, str | None]:
    """Split `CONTRACT=PATH`, unless it is a `Path` or there is a file with exactly that name."""
    match = _NAMED.fullmatch(name) if isinstance(name, str) else None
    if match and not os.path.lexists(name):
        return as_address(match.group(2)), match.group(1)
    return as_address(os.fspath(name)), contract


def split_known(name: FileName, contract: str | None = None) -> tuple[str, str | None]:
    """Split like `split`. Raises `CallError` for an unknown contract."""
    path, contract_id = split(name, contract)
    if contract_id is not None:
        registry.find(contract_id)
    return path, contract_id


def matching(given: Iterable[tuple[str, str | None]]) -> list[tuple[str, str | None]]:
    """Replace patterns in addresses by what they match: no shell did so. Raises `CallError` if nothing matches."""
    found: list[tuple[str, str | None]] = []
    for path, contract_id in given:
        if isinstance(path, Address):
            from medcontract.reading.remote import matches

            found += [(each, contract_id) for each in matches(path)]
        else:
            found.append((path, contract_id))
    return found


def stdin_once(names: Iterable[object]) -> None:
    """Raise `CallError` if more than one file is standard input."""
    if list(names).count(STDIN) > 1:
        raise CallError("standard input was given twice", "save one of the two to a file")


def expand(path: str, limits: Limits | None = None, exclude: Exclude | None = None) -> Expanded:
    """List a path like `list_path`. Raises `CallError` for a folder or an archive without data files."""
    inside = list_path(path, limits, exclude)
    if not inside.files and exclude and list_path(path, limits).files:
        raise CallError(
            f"{path}: all data files in this folder are excluded",
            words("pass fewer ", option("--exclude"), " patterns"),
        )
    if not inside.files:
        raise CallError(f"{path}: {no_data_files(inside)}", f"expected files with {', '.join(BY_ENDING)}")
    return inside


def list_path(path: str, limits: Limits | None = None, exclude: Exclude | None = None) -> Expanded:
    """Return a file as it is, a folder or an archive as the data files in it, sorted, which may be none.

    An archive that cannot be read is a file.
    """
    inside: Listing | None = None
    if isinstance(path, Address) and not path.split_member() and not is_archive(path):
        from medcontract.reading.remote import list_remote

        inside = list_remote(path, BY_ENDING, exclude)
    elif os.path.isdir(path):
        from medcontract.reading.folders import list_files

        inside = list_files(path, BY_ENDING, exclude)
    elif is_archive(path):
        from medcontract.reading.archives import list_archive

        inside = list_archive(path, BY_ENDING, limits, exclude)
    if inside is None:
        return Expanded([path])
    files = [Source(file, refused=refused) if refused else file for file, refused in inside.data]
    return Expanded(files, tuple(map(skipped, inside.others)), is_archive(path))


def no_data_files(inside: Expanded) -> str:
    """Say that a folder or an archive has no data files, and what it contains instead."""
    others = describe_skipped(inside.skipped)
    return f"no data files in this {'archive' if inside.is_archive else 'folder'}{f' ({others})' if others else ''}"


def input_file(file: FileName | bytes, name: str | None) -> Source:
    """Open a file or bytes, with the name that messages show. An archive means the only data file in it."""
    if isinstance(file, bytes):
        return Source(file, name)
    path = as_address(os.fspath(file))
    files = expand(path).files if is_archive(path) else [path]
    only = files[0]
    source = only if isinstance(only, Source) else open_source(path if len(files) > 1 else only)
    source.name = source.name if name is None else name
    return source


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
        self.skipped: Sequence[IgnoredFile] = ()
        """Files in a folder that are not read, because they do not have the extension of a data file."""
        self.found: Collection[str] = ()
        """Files that were found in a folder, not named in the call."""
        self.notes: list[str] = []
        """Warnings about files that were ignored, or used from an unexpected place."""

    def parts(self) -> list[Part]:
        return [part for group in self.groups.values() for part in group]

    def describe(self) -> str:
        return ", ".join(f"{part.name} is {part.contract.id}" for part in self.parts())

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
        """Return only the files of these contracts."""
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
    files.found = lenient
    challenge = registry.scope()
    undecided: list[tuple[Source, FileReport]] = []
    refused: list[tuple[FileReport, Problem]] = []
    for path, contract_id in once(given):
        collector = settings.collector()
        source = path if isinstance(path, Source) else open_source(path, settings.limits)
        source.watched = True
        report = identify(source, contract_id, collector)
        if isinstance(report, Identified):
            part = Part(source, report.contract, collector, report.how)
            files.groups.setdefault(part.contract.id, []).append(part)
            continue
        if challenge and role:
            is_undecided = getattr(challenge, role) in report._candidates
        else:
            is_undecided = is_truth_or_submission(report._candidates)
        if is_undecided:
            undecided.append((source, report))
            continue
        problem = _first_problem(report, source, contract_id)
        found = report.path in lenient
        if not report.usage_error or (found and problem.code in (*_UNREADABLE, "MC028")):
            if settings.participant:  # without any text from the file: it may be the truth
                bare = tuple(replace(each, _value=None, _excerpt=None) for each in report.problems)
                report = replace(report, problems=bare)
            files.add_unread(source, report, problem)
        elif found:
            files.unrecognized.append(report)
        elif problem.code == "MC009":
            refused.append((report, problem))
        else:
            raise CallError(f"{report.path}: {problem.message}", without_contract_option(problem.hint))
    for report, problem in refused:
        hint = None if report._candidates else _hint_from_others(files, report.path)
        raise NotRecognized(f"{report.path}: {problem.message}", hint or without_contract_option(problem.hint))
    _decide(files, undecided, settings, role)
    _drop_misnamed(files)
    names = Counter((part.contract.id, part.name) for part in files.parts())
    for name in sorted(files.groups):  # by name; parts of the same name by content
        parts = files.groups.pop(name)
        parts.sort(key=lambda part: (part.name, part.source.sha256() if names[part.contract.id, part.name] > 1 else ""))
        files.groups[name] = parts
    files.unread.sort(
        key=lambda report: (base_name(report.path), *((p.code, p.message, p.line or 0) for p in report.problems[:1]))
    )
    files.unrecognized.sort(key=lambda report: base_name(report.path))
    return files


def _hint_from_others(files: Files, path: str) -> str | None:
    """Say what a submission of the track of the other files needs, if there is none among them."""
    tracks = {name.partition("/")[0] for name in files.groups} - {"medcontract"}
    if len(tracks) != 1:
        return None
    from medcontract.contracts.near_recognition import submission_of, what_it_needs

    wanted = submission_of(min(tracks))
    if wanted is None or wanted.id in files.groups:
        return None
    named = f"{wanted.id}={base_name(path)}"
    needs = what_it_needs(wanted, is_table(path))
    return f"the other files are of {min(tracks)}: for {wanted.id}, write {needs}; or specify {named}"


def _drop_misnamed(files: Files) -> None:
    """Ignore a file whose name says that it has predictions, if another file is the truth that it looks like."""
    for name, parts in files.groups.items():
        right = [part for part in parts if not part.is_misnamed]
        if right and len(right) < len(parts):
            files.groups[name] = right
            wrong = [part.name for part in parts if part.is_misnamed]
            files.notes.append(f"{', '.join(wrong)} is ignored: the name says predictions, the content is of {name}")


def _decide(files: Files, undecided: Sequence[tuple[Source, FileReport]], settings: Settings, role: str | None) -> None:
    """Add the files that match the truth and the submission of a challenge equally well."""
    challenge = registry.scope()
    if challenge is None or not undecided:
        return
    others = set(files.groups)
    if all(part.source.name in files.found for part in files.groups.get(challenge.truth, [])):
        others.discard(challenge.truth)  # a truth in the folder of a submission must not replace the organizer's
    decided = None if role is None else getattr(challenge, role)
    by_name = {} if decided else {id(source): role_by_name(source.name) for source, _ in undecided}
    others |= {getattr(challenge, name) for name in by_name.values() if name}
    fallback = decided or other_role(others)
    for source, report in undecided:
        named = by_name.get(id(source))
        decided = getattr(challenge, named) if named else fallback
        if decided is None:
            problem = _first_problem(report, source, None)
            hint = f"specify it: {challenge.truth}=PATH, or {challenge.submission}=PATH"
            raise NotRecognized(f"{report.path}: {problem.message}", hint)
        collector = settings.collector()
        identified = identify(source, decided, collector)
        if isinstance(identified, Identified):
            how = "by its name" if named else "because of the other files" if role is None else "by its position"
            files.groups.setdefault(decided, []).append(Part(source, identified.contract, collector, how))
        else:
            files.add_unread(source, identified, _first_problem(identified, source, decided))


def _first_problem(report: FileReport, source: Source, contract_id: str | None) -> Problem:
    """Return why a file cannot be checked, even if no problems were kept."""
    if not report.problems:
        again = identify(source, contract_id, ProblemCollector(1))
        report = again if isinstance(again, FileReport) else report
    return report.problems[0]


def once(given: Iterable[GivenFile]) -> Iterator[GivenFile]:
    """Skip files that are given twice; one that is given with and without a contract has it."""
    given = list(given)
    stdin_once(path for path, _ in given)
    seen: set[tuple[str, str | None]] = set()
    with_contract = {real_path(path) for path, contract_id in given if isinstance(path, str) and contract_id}
    for path, contract_id in given:
        if isinstance(path, Source) or path == STDIN:
            yield path, contract_id
            continue
        real = real_path(path)
        if (contract_id is not None or real not in with_contract) and (real, contract_id) not in seen:
            seen.add((real, contract_id))
            yield path, contract_id


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


class Kept(Struct):
    """A sink that keeps something of each valid record."""

    keep: Callable[[Any], object] | None
    found: list[Any] = []

    def begin(self) -> None:
        """Nothing to do."""

    def take(self, records: Validated[Sequence[Any]]) -> Sequence[tuple[int, Finding]]:
        if self.keep:
            self.found += map(self.keep, validated(records))
        return ()

    def reject(self, parsed: object) -> Sequence[Finding]:
        return ()

    def end(self, complete: bool) -> None:
        """Nothing to do."""


def read(parts: Sequence[Part], sink: RecordSink | None = None) -> None:
    """Read and check files of one contract, as parts of one collection."""
    is_document = parts[0].contract.kind == "document"
    if is_document and len(parts) > 1:
        names = ", ".join(part.name for part in parts)
        raise CallError(
            f"expected one file of {parts[0].contract.id}, got {len(parts)}: {names}", "pass only one of them"
        )
    validators = [validator_for(part.source, part.contract, part.collector, part.progress, sink) for part in parts]
    for part, validator in zip(parts, validators, strict=True):
        part.validator = validator
    if is_document:
        validators[0].run()
    else:
        run_parts(validators)
    report_read(parts)
