"""Determines which files of a call count, and says why others are not read or not used."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from medcontract.addresses import SEPARATOR
from medcontract.containers import BY_ENDING
from medcontract.errors import CallError, Wording, in_python, option
from medcontract.problems import plural, printable
from medcontract.results.score import FileProblem, in_file
from medcontract.results.validation import FileReport
from medcontract.validation.dispatch import Part, base_name

if TYPE_CHECKING:
    from medcontract.evaluation.files import Files
    from medcontract.evaluation.settings import Settings
    from medcontract.scoring.track import Roles, Track

_MOST_LISTED = 10
_FEW = 3
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".7z", ".rar")
_COMPRESSED = (".bz2", ".xz", ".zst", ".lz4", ".z")
_OTHER_DATA = (
    ".tsv", ".tab", ".txt", ".dat", ".data", ".psv", ".xml", ".yaml", ".yml", ".json5", ".feather", ".arrow", ".orc",
    ".avro", ".db", ".sqlite", ".sqlite3", ".sav", ".rds", ".mat", "",
)  # fmt: skip
"""Extensions of files that may be meant as data."""
_ABOUT = frozenset(
    {
        "authors", "changelog", "changes", "citation", "copying", "dockerfile", "gemfile", "licence", "license",
        "makefile", "notes", "notice", "readme", "requirements",
    }
)  # fmt: skip
"""Names, without extension, of files that are not data."""


class IgnoredFile(NamedTuple):
    """A file in a folder that is not read, because of its name."""

    path: str
    message: str = "not a data file"
    hint: str | None = None
    """What to do if it is meant as data; None if it is not, such as a readme, a script or an image."""

    @property
    def may_be_data(self) -> bool:
        return self.hint is not None

    @property
    def is_archive(self) -> bool:
        return self.path.lower().endswith(_ARCHIVES)

    @property
    def reason(self) -> str:
        return "; ".join(filter(None, (self.message, self.hint)))

    @property
    def name(self) -> str:
        return printable(os.path.basename(self.path))


def skipped(path: str) -> IgnoredFile:
    """Say why a file that does not have the extension of a data file is not read."""
    name = os.path.basename(path).lower()
    stem, extension = os.path.splitext(name)
    inner = os.path.splitext(stem)[1]
    if name.endswith(_ARCHIVES):
        return IgnoredFile(path, "an archive in a folder is not read", "unpack it, or submit it alone")
    if extension in _SPREADSHEETS:
        return IgnoredFile(path, "a spreadsheet is not read", "save it as .csv")
    if extension in _COMPRESSED:
        hint = "decompress it, or use .gz" if inner in BY_ENDING else None
        return IgnoredFile(path, f"{extension} is not supported", hint)
    if extension == inner == ".gz":
        return IgnoredFile(path, "it is gzipped twice", "decompress it once")
    if inner in BY_ENDING:  # predictions.csv.txt, predictions.json.bak
        return IgnoredFile(path, f"its extension is {extension}", f"if it is data, rename it to end in {inner}")
    if extension == ".gz" or extension not in _OTHER_DATA or stem in _ABOUT or name.startswith("."):
        return IgnoredFile(path)
    message = f"its extension is {extension}" if extension else "it has no extension"
    *most, last = BY_ENDING
    return IgnoredFile(path, message, f"if it is data, convert it to {', '.join(most)} or {last}")


def describe_skipped(files: Sequence[IgnoredFile]) -> str:
    """Describe all skipped files in one line; files without data are grouped."""
    return "; ".join([*_notes_on_skipped(files), *_other_files(files)])


def _other_files(files: Sequence[IgnoredFile]) -> list[str]:
    """Name the first files that are not data, as one text."""
    others = [file.name for file in files if not file.may_be_data]
    left = len(others) - _FEW
    listed = ", ".join(others[:_FEW]) + (f" and {plural(left, 'other')}" if left > 0 else "")
    return [f"not {'data files' if others[1:] else 'a data file'}: {listed}"] if others else []


def _notes_on_skipped(files: Sequence[IgnoredFile]) -> list[str]:
    notes = [f"{file.name} is ignored: {file.reason}" for file in files if file.may_be_data]
    return _first(notes, "with other extensions")


def _first(notes: list[str], which: str) -> list[str]:
    """Return the first notes, and the number of the others."""
    left = len(notes) - _MOST_LISTED
    return notes[:_MOST_LISTED] + ([f"{plural(left, 'more file')} {which} ignored"] if left > 0 else [])


def skipped_problems(files: Sequence[IgnoredFile]) -> tuple[FileProblem, ...]:
    """Return the problems of files that may be data but are not read."""
    found = [
        FileProblem(file=file.name, code="MC005", severity="error", message=file.message, hint=file.hint)
        for file in files
        if file.may_be_data
    ]
    return tuple(found[:_MOST_LISTED])


def notes_on_files(files: Files, used: Collection[str], track: Track) -> list[str]:
    """Return warnings about files that are not used for a score, or used from an unexpected place.

    `used`: the contracts that a score needs. A list of the expected ids in a folder is not worth a warning.
    """
    by_option = {option.contract: f"only used with {option.on_command_line}" for option in track.options}
    not_needed = [
        f"{part.name} ({contract_id}) is {by_option.get(contract_id, 'not needed for a score')}"
        for contract_id, parts in sorted(files.groups.items())
        if contract_id not in used
        for part in parts
        if contract_id not in track.roles.id_lists or part.source.name not in files.found
    ]
    return [*files.notes, *_unrecognized_notes(files), *_notes_on_skipped(files.skipped), *not_needed]


def describe_unused(files: Files) -> list[str]:
    """Say why files are not used: they match no contract, or are not read; files that are not data are one text."""
    return [*ignored_data(files), *_other_files(files.skipped)]


def ignored_data(files: Files) -> list[str]:
    """Say why files that may be data are not used."""
    return [*_unrecognized_notes(files), *_notes_on_skipped(files.skipped)]


def unused_problems(files: Files) -> tuple[FileProblem, ...]:
    """Return the problems of files that match no contract, and of files that may be data but are not read."""
    unrecognized = tuple(
        in_file(base_name(report.path), replace(problem, hint=without_contract_option(problem.hint)))
        for report in files.unrecognized
        for problem in report.problems
    )
    return unrecognized + skipped_problems(files.skipped)


def _unrecognized_notes(files: Files) -> list[str]:
    notes = [f"{base_name(report.path)} is ignored: {reason_for(report)}" for report in files.unrecognized]
    return _first(notes, "that match no contract")


def reason_for(report: FileReport) -> str:
    """Say why a file matches no contract: its first problem, with the hint."""
    problem = next(iter(report.problems), None)
    if problem is None:
        return "it matches no contract"
    place = f"line {problem.line}: " if problem.line is not None else ""
    hint = without_contract_option(problem.hint)
    return f"{place}{problem.message}{f' ({hint})' if hint else ''}"


_CONTRACT_OPTION = re.compile(r'(?:--contract |contract=")([a-z0-9-]+/[a-z0-9-]+)"?(?:, or \1=PATH)?')


def without_contract_option(hint: str | None) -> str | None:
    """Change a hint for commands that have no --contract: `CONTRACT=PATH` instead."""
    if hint is None:
        return None
    forms = (
        hint.replace(option("--contract", "ID"), "CONTRACT=PATH"),
        in_python(hint).replace(in_python(option("--contract", "ID")), "CONTRACT=PATH"),
    )
    return Wording(*(_CONTRACT_OPTION.sub(r"\1=PATH", form) for form in forms))


_CALLER, _ORGANIZER, _WITH_TRUTH, _SUBMISSION = range(4)
"""Where a file comes from, in order of precedence: named by the caller, from a folder without a submission, from a
folder with a submission and the truth, from any other folder with a submission."""


FROM_SUBMISSION = "comes from the submission: the organizer does not provide one"


class _Folders(NamedTuple):
    """The folders of a call, and which of them contain submissions."""

    found: Mapping[str, str]
    """The files that were found in a folder, not named in the call, and the folder of each."""
    of_submissions: frozenset[str] = frozenset()
    with_truth: frozenset[str] = frozenset()
    alone: bool = False
    """All files of the call are in one folder, so that it cannot be known whose they are."""

    def origin(self, part: Part) -> int:
        folder = self.found.get(part.source.name)
        if folder is None:
            return _CALLER
        if folder not in self.of_submissions:
            return _ORGANIZER
        return _WITH_TRUTH if folder in self.with_truth else _SUBMISSION

    def of(self, parts: Iterable[Part]) -> frozenset[str]:
        return frozenset(self.found[part.source.name] for part in parts if part.source.name in self.found)


def select_files(track: Track, files: Files, found: Mapping[str, str], settings: Settings) -> None:
    """Remove files that the organizer provides elsewhere, and broken files in the folder of a submission.

    No file in a submission's folder can extend or replace one of the organizer. For each kind of file except the
    submission, the files of the origin that takes precedence are kept. Notes list the files that were ignored, and the
    files of a submission that were used. Raises `CallError` if it is ambiguous which file is the truth.
    """
    roles = track.roles
    if settings.participant:
        _hide_organizers_files(roles, files, found)
    everywhere = {found.get(part.source.name) for part in files.parts()}
    there = [name for name in roles.submissions if name in files.groups] or [roles.result]  # a report to score again
    folders = _Folders(found, alone=len(everywhere) == 1 and None not in everywhere)
    folders = folders._replace(of_submissions=folders.of(files.take(there).parts()))
    truths = _select(roles.truths, files, folders)
    if truths and folders.origin(truths[0]) != _CALLER and len(folders.of(truths)) > 1:
        raise CallError("more than one folder contains a truth", "pass the path of the truth")
    folders = folders._replace(with_truth=folders.of(truths))
    by_option = {option.stands_for for option in track.options if option.name in settings.scoring.options}
    for name in dict.fromkeys((*roles.auxiliaries(), *roles.id_lists)):
        kept = _select((name,), files, folders, name in by_option)
        auxiliary = roles.find_auxiliary(name)
        if auxiliary and auxiliary.only_organizers and truths and not folders.alone:
            for part in kept:
                if folders.origin(part) > _ORGANIZER:
                    own = f"{part.name} ({part.contract.id})"
                    files.groups[part.contract.id].remove(part)
                    files.notes.remove(f"{own} {FROM_SUBMISSION}")
                    files.notes.append(f"{own} is ignored: only the organizer's file counts")
    files.groups = {name: parts for name, parts in files.groups.items() if parts}
    inside = [path for path, folder in found.items() if folder in folders.of_submissions]
    files.ignore_broken(inside, roles.submissions)


def _select(kind: Iterable[str], files: Files, folders: _Folders, by_option: bool = False) -> list[Part]:
    """Return the files of a kind that count, and remove the others. `by_option`: an option replaces them."""
    parts = files.take(kind).parts()
    best = min(map(folders.origin, parts), default=_CALLER)
    if by_option:
        best = min(best, _ORGANIZER)
    where = "a folder is ignored: the call names another one"
    if best != _CALLER:
        where = "the submission's folder is ignored: the organizer provides one"
    for part in parts:
        if folders.origin(part) > best:
            files.groups[part.contract.id].remove(part)
            files.notes.append(f"{part.name} ({part.contract.id}) in {where}")
    kept = [part for part in parts if folders.origin(part) <= best]
    if best > _ORGANIZER and not folders.alone:
        files.notes += [f"{part.name} ({part.contract.id}) {FROM_SUBMISSION}" for part in kept]
    return kept


def _hide_organizers_files(roles: Roles, files: Files, found: Mapping[str, str]) -> None:
    """Remove the names of truths and what is known about unused files in their folders: not for participants."""
    parts = files.take(name for name in roles.truths if name not in roles.submissions).parts()
    for part in parts:
        part.alias = "the truth"
    folders = _Folders(found).of(parts)
    inside = tuple(start for folder in folders for start in (os.path.join(folder, ""), folder + SEPARATOR))
    files.skipped = [file for file in files.skipped if not file.path.startswith(inside)]
    files.unrecognized = [
        replace(report, problems=()) if found.get(report.path) in folders else report for report in files.unrecognized
    ]
