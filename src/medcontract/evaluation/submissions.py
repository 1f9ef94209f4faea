"""Finds the submissions of a ranking, and measurements by the organizer."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from medcontract.addresses import Address, as_address, real_path
from medcontract.errors import CallError
from medcontract.evaluation.arguments import expand, list_path, no_data_files
from medcontract.evaluation.inputs import GivenFile, has_data_extension, without_extensions
from medcontract.evaluation.unused_files import SkippedFile, skipped
from medcontract.reading.archive_paths import is_archive, open_source, split_member
from medcontract.reading.exclude import Exclude
from medcontract.reading.folders import why_refused, why_unreadable
from medcontract.reading.limits import Limits
from medcontract.reading.missing_files import missing_file_hint
from medcontract.reading.source import Source
from medcontract.validation.dispatch import Identified, identify
from medcontract.validation.parts import base_name
from medcontract.validation.problem_collector import ProblemCollector


class Submission(Struct, frozen=True, kw_only=True):
    """The files of one participant, and the name of the folder."""

    name: str
    files: tuple[GivenFile, ...]
    error: str | None = None
    """Why there are no files."""
    is_folder: bool = True
    """Whether the files were found in a folder or an archive."""
    is_archive: bool = False
    skipped: tuple[SkippedFile, ...] = ()
    """Files in the folder that are not read, because of their names."""
    measured: tuple[str | Source, ...] | None = None
    """Files with measurements by the organizer; None if there are none for any submission."""

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(map(path_of, (file for file, _ in self.files)))

    @property
    def plain_name(self) -> str:
        """The name of the folder, or of the file or archive without its extension."""
        return self.name if self.is_folder and not self.is_archive else without_extensions(self.name)


def path_of(file: str | Source) -> str:
    return file.name if isinstance(file, Source) else file


class Measured(Struct, frozen=True, kw_only=True):
    """Measurements by the organizer (`--measured`): files, by name of the submission."""

    files: dict[str, tuple[str | Source, ...]]

    def assigned_to(self, submissions: Sequence[Submission]) -> list[Submission]:
        """The submissions with their measurements; without files, if others have the same name."""
        counts = Counter(submission.plain_name for submission in submissions)
        return [self._assigned(submission, counts[submission.plain_name]) for submission in submissions]

    def _assigned(self, submission: Submission, count: int) -> Submission:
        name = submission.plain_name
        if count > 1 and name in self.files:
            error = f"{count} submissions are named {name}, so --measured is ambiguous (rename them)"
            return replace(submission, files=(), error=error)
        return replace(submission, measured=self.files.get(name, ()))

    def unknown(self, submissions: Sequence[Submission]) -> list[str]:
        """Warnings about measurements without a submission."""
        names = {submission.plain_name for submission in submissions}
        return [f"--measured: there is no submission {name}: ignored" for name in sorted(self.files.keys() - names)]


def measured_in(folder: str, limits: Limits | None = None) -> Measured:
    """`folder/NAME/` and `folder/NAME.json` contain measurements of the submission NAME. Raises `CallError`."""
    folder = as_address(folder)
    found: dict[str, tuple[str | Source, ...]] = {}
    for entry, path, is_folder in _entries(folder):
        name = base_name(entry) if is_folder else without_extensions(base_name(entry))
        refused = None if isinstance(path, Address) else why_unreadable(path)
        files = [Source(path, refused=refused)] if refused else expand(path, limits).files
        found[name] = (*found.get(name, ()), *files)
    return Measured(files=found)


def _entries(folder: str) -> list[tuple[str, str, bool]]:
    """The name and path of each visible entry of a folder, and whether it is a folder. Raises `CallError`."""
    hint = "pass to --measured a folder with an entry for each submission"
    if isinstance(folder, Address):
        from medcontract.reading.remote_folders import entries, is_folder

        try:
            found = entries(folder) if is_folder(folder) else []
        except OSError as error:
            raise CallError(f"{folder}: {error.strerror}", getattr(error, "hint", None)) from None
        if not found:
            raise CallError(f"{folder}: no such folder", hint)
        return [(name, path, inside) for name, path, inside in found]
    if not os.path.isdir(folder):
        raise CallError(f"{folder}: no such folder", hint)
    names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    paths = [os.path.join(folder, name) for name in names]
    return [(name, path, os.path.isdir(path)) for name, path in zip(names, paths, strict=True)]


class FoundSubmissions(NamedTuple):
    """The submissions of a ranking."""

    submissions: list[Submission]
    notes: list[str]
    """Warnings about files among them that are not submissions."""


def submissions_in(
    given: Sequence[tuple[str, str | None]], limits: Limits | None = None, exclude: Exclude | None = None
) -> FoundSubmissions:
    """Each folder, archive or data file is a submission; it may have a contract, which is that of all its files.

    A pipe, a device, and a link that leads out of its folder or to another submission are submissions that cannot be
    read. Raises `CallError` if there are none.
    """
    found: list[Submission] = []
    notes: list[str] = []
    unique = {_place(path): (path, contract_id) for path, contract_id in reversed(given)}
    for place, (path, contract_id) in reversed(unique.items()):
        if not _exists(path):
            raise CallError(f"{path}: no such file or folder", missing_file_hint(path))
        is_local = not isinstance(path, Address) and not split_member(path)
        refused = why_refused(path, [each for each in unique if each != place]) if is_local else None
        reason = None if contract_id or refused else _no_submission(path)
        if refused:
            source = Source(place, refused=refused)
            found.append(Submission(name=_name(path), files=((source, None),), is_folder=False))
        elif reason:
            notes.append(f"{base_name(path)} is not a submission: ignored ({reason})")
        else:
            found.append(submission_at(path, contract_id, limits, exclude))
    if not found:
        hint = "; ".join(["pass each submission, a folder or a file, after the truth", *notes])
        raise CallError("there are no submissions to rank", hint)
    return FoundSubmissions(found, notes)


def _place(path: str) -> str:
    """A text that is the same for two paths of one submission, but not for a link and what it leads to."""
    if isinstance(path, Address):
        return real_path(path)
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(real_path(folder), name)


def _name(path: str) -> str:
    return base_name(path.rstrip("/") if isinstance(path, Address) else os.path.abspath(path))


def _exists(path: str) -> bool:
    if split_member(path):
        return True  # if not, reading it explains that
    if isinstance(path, Address):
        from medcontract.reading.remote_folders import exists

        return exists(path)
    return os.path.lexists(path)


def submission_at(
    path: str, contract_id: str | None = None, limits: Limits | None = None, exclude: Exclude | None = None
) -> Submission:
    """The submission in a folder, an archive or a file."""
    inside = list_path(path, limits, exclude)
    files = tuple((file, contract_id) for file in inside.files)
    error = None if files else no_data_files(inside)
    is_folder = inside.files != [path]
    return Submission(
        name=_name(path), files=files, error=error, is_folder=is_folder, is_archive=inside.is_archive,
        skipped=inside.skipped,
    )  # fmt: skip


def _no_submission(path: str) -> str | None:
    """Why a file among the submissions is not one, such as a readme or a script; None if it may be one.

    A file that may be meant as data, such as a spreadsheet, is a submission: it is refused with the reason. Any other
    file is one only if its contract is recognized.
    """
    if has_data_extension(path) or not _is_file(path):
        return None
    file = skipped(path)
    if file.may_be_data:
        return None
    found = identify(open_source(path), None, ProblemCollector(1))
    return None if isinstance(found, Identified) else file.reason


def _is_file(path: str) -> bool:
    if isinstance(path, Address):
        from medcontract.reading.remote_folders import is_folder

        return not is_folder(path) and not is_archive(path)
    return os.path.isfile(path)
