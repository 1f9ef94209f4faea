"""Says why files in a folder are not read, or not used for a score."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from medcontract.containers import BY_ENDING
from medcontract.evaluation.inputs import Files, without_contract_option
from medcontract.problems import plural
from medcontract.reading.archive_paths import SEPARATOR
from medcontract.results.base import printable
from medcontract.results.score import FileProblem, in_file
from medcontract.results.validation import FileReport
from medcontract.scoring.track import Track
from medcontract.validation.parts import base_name

MOST_LISTED = 10
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


class SkippedFile(NamedTuple):
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

    @property
    def note(self) -> str:
        return f"{self.name} is ignored: {self.reason}"


def skipped(path: str) -> SkippedFile:
    """Why a file that does not have the extension of a data file is not read."""
    name = os.path.basename(path).lower()
    stem, extension = os.path.splitext(name)
    inner = os.path.splitext(stem)[1]
    if name.endswith(_ARCHIVES):
        return SkippedFile(path, "an archive in a folder is not read", "unpack it, or submit it alone")
    if extension in _SPREADSHEETS:
        return SkippedFile(path, "a spreadsheet is not read", "save it as .csv")
    if extension in _COMPRESSED:
        hint = "decompress it, or use .gz" if inner in BY_ENDING else None
        return SkippedFile(path, f"{extension} is not supported", hint)
    if extension == inner == ".gz":
        return SkippedFile(path, "it is gzipped twice", "decompress it once")
    if inner in BY_ENDING:  # predictions.csv.txt, predictions.json.bak
        return SkippedFile(path, f"its extension is {extension}", f"if it is data, rename it to end in {inner}")
    if extension == ".gz" or extension not in _OTHER_DATA or stem in _ABOUT or name.startswith("."):
        return SkippedFile(path)
    message = f"its extension is {extension}" if extension else "it has no extension"
    return SkippedFile(path, message, f"if it is data, convert it to {_expected()}")


def _expected() -> str:
    *most, last = BY_ENDING
    return f"{', '.join(most)} or {last}"


def notes_on_skipped(files: Sequence[SkippedFile]) -> list[str]:
    """Warnings about skipped files that may be data; the first ones, and the number of the others."""
    notes = [file.note for file in files if file.may_be_data]
    left = len(notes) - MOST_LISTED
    return notes[:MOST_LISTED] + ([f"{plural(left, 'more file')} with other extensions ignored"] if left > 0 else [])


def describe_skipped(files: Sequence[SkippedFile]) -> str:
    """All skipped files in one line; those that are not data are grouped."""
    others = [file.name for file in files if not file.may_be_data]
    left = len(others) - _FEW
    listed = ", ".join(others[:_FEW]) + (f" and {plural(left, 'other')}" if left > 0 else "")
    grouped = [f"not {'data files' if others[1:] else 'a data file'}: {listed}"] if others else []
    return "; ".join([*notes_on_skipped(files), *grouped])


def notes_on_files(files: Files, used: Collection[str], track: Track) -> list[str]:
    """Warnings about files that are not used for a score, or used from an unexpected place.

    `used`: the contracts that a score needs. A list of the expected ids in a folder is not worth a warning.
    """
    id_lists, options = track.roles.id_lists, track.options
    by_option = {option.contract: f"only used with {option.on_command_line}" for option in options}
    not_needed = [
        f"{part.name} ({contract_id}) is {by_option.get(contract_id, 'not needed for a score')}"
        for contract_id, parts in sorted(files.groups.items())
        if contract_id not in used
        for part in parts
        if contract_id not in id_lists or part.source.name not in files.found
    ]
    return [*files.notes, *_unrecognized_notes(files), *notes_on_skipped(files.skipped), *not_needed]


def describe_unused(files: Files) -> list[str]:
    """Why files are not used: they match no contract, or are not read; files that are not data are one text."""
    skipped = describe_skipped(files.skipped)
    return [*_unrecognized_notes(files), *([skipped] if skipped else [])]


def unused_problems(files: Files) -> tuple[FileProblem, ...]:
    """The problems of files that match no contract, and of files that may be data but are not read."""
    unrecognized = tuple(
        in_file(base_name(report.path), replace(problem, hint=without_contract_option(problem.hint)))
        for report in files.unrecognized
        for problem in report.problems
    )
    return unrecognized + skipped_problems(files.skipped)


def skipped_problems(files: Sequence[SkippedFile]) -> tuple[FileProblem, ...]:
    """The problems of files that may be data but are not read."""
    return tuple(
        FileProblem(file=file.name, code="MC005", severity="error", message=file.message, hint=file.hint)
        for file in [file for file in files if file.may_be_data][:MOST_LISTED]
    )


def hide_organizers_files(truths: Collection[str], files: Files, found: Mapping[str, str]) -> None:
    """Remove the names of truths and what is known about unused files in their folders: not for participants.

    `truths` are contracts of truths that are not also those of submissions.
    """
    parts = [part for name in truths for part in files.groups.get(name, ())]
    for part in parts:
        part.alias = "the truth"
    folders = {found[part.source.name] for part in parts if part.source.name in found}
    inside = tuple(start for folder in folders for start in (os.path.join(folder, ""), folder + SEPARATOR))
    files.skipped = [file for file in files.skipped if not file.path.startswith(inside)]
    files.unrecognized = [
        replace(report, problems=()) if found.get(report.path) in folders else report for report in files.unrecognized
    ]


def _unrecognized_notes(files: Files) -> list[str]:
    notes = [f"{base_name(report.path)} is ignored: {reason_for(report)}" for report in files.unrecognized]
    left = len(notes) - MOST_LISTED
    more = [f"{plural(left, 'more file')} that match no contract ignored"] if left > 0 else []
    return notes[:MOST_LISTED] + more


def reason_for(report: FileReport) -> str:
    """Why a file matches no contract: its first problem, with the hint."""
    problem = next(iter(report.problems), None)
    if problem is None:
        return "it matches no contract"
    place = f"line {problem.line}: " if problem.line is not None else ""
    hint = without_contract_option(problem.hint)
    return f"{place}{problem.message}{f' ({hint})' if hint else ''}"
