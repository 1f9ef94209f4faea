"""Determines which files count: no file in a submission's folder can extend or replace one of the organizer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from medcontract.errors import CallError
from medcontract.evaluation.inputs import Files
from medcontract.scoring.track import Roles
from medcontract.validation.parts import Part

_NAMED, _ORGANIZER, _WITH_TRUTH, _SUBMISSION = range(4)
"""Where a file comes from, in order of precedence: named by the caller, from a folder without a submission, from a
folder with a submission and the truth, from any other folder with a submission."""


class _Folders(NamedTuple):
    """The folders of a call, and which of them contain submissions."""

    found: Mapping[str, str]
    """The files that were found in a folder, not named in the call, and the folder of each."""
    of_submissions: frozenset[str]
    with_truth: frozenset[str] = frozenset()
    alone: bool = False
    """All files of the call are in one folder, so that it cannot be known whose they are."""

    def origin(self, part: Part) -> int:
        folder = self.found.get(part.source.name)
        if folder is None:
            return _NAMED
        if folder not in self.of_submissions:
            return _ORGANIZER
        return _WITH_TRUTH if folder in self.with_truth else _SUBMISSION

    def of(self, parts: Collection[Part]) -> frozenset[str]:
        return frozenset(self.found[part.source.name] for part in parts if part.source.name in self.found)


def keep_organizers_files(
    roles: Roles, files: Files, found: Mapping[str, str], by_option: Collection[str] = ()
) -> frozenset[str]:
    """For each kind of file except the submission, keep those of the origin that takes precedence; ignore the others.

    `by_option`: contracts that an option of the call replaces. Notes list the files that were ignored, and the files
    of a submission that were used. Raises `CallError` if it is ambiguous which file is the truth. Returns the folders
    that contain a submission.
    """
    everywhere = {found.get(part.source.name) for part in files.parts()}
    alone = len(everywhere) == 1 and None not in everywhere
    folders = _Folders(found, _submission_folders(roles, files, found), alone=alone)
    truths = _select(roles.truths, files, folders)
    if truths and folders.origin(truths[0]) != _NAMED and len(folders.of(truths)) > 1:
        raise CallError("more than one folder contains a truth", "pass the path of the truth")
    folders = folders._replace(with_truth=folders.of(truths))
    for part in truths:
        _note_if_from_submission(part, files, folders)
    for name in dict.fromkeys((*roles.auxiliaries(), *roles.id_lists)):
        for part in _select((name,), files, folders, by_option):
            _note_if_from_submission(part, files, folders)
    files.groups = {name: parts for name, parts in files.groups.items() if parts}
    return folders.of_submissions


def _submission_folders(roles: Roles, files: Files, found: Mapping[str, str]) -> frozenset[str]:
    """The folders with predictions; if there are none anywhere, those with a report to score again."""
    there = [name for name in roles.submissions if name in files.groups] or [roles.result]
    parts = [part for name in there for part in files.groups.get(name, ())]
    return frozenset(found[part.source.name] for part in parts if part.source.name in found)


def _select(kind: Collection[str], files: Files, folders: _Folders, by_option: Collection[str] = ()) -> list[Part]:
    """The files of a kind that count; the others are removed."""
    parts = [part for name in kind for part in files.groups.get(name, ())]
    if not parts:
        return []
    best = min(map(folders.origin, parts))
    if not set(kind).isdisjoint(by_option):
        best = min(best, _ORGANIZER)
    for part in parts:
        if folders.origin(part) > best:
            files.groups[part.contract.id].remove(part)
            files.notes.append(_ignored(part, best))
    return [part for part in parts if folders.origin(part) <= best]


def _ignored(part: Part, best: int) -> str:
    if best == _NAMED:
        return f"{part.name} ({part.contract.id}) in a folder is ignored: the call names another one"
    return f"{part.name} ({part.contract.id}) in the submission's folder is ignored: the organizer provides one"


def _note_if_from_submission(part: Part, files: Files, folders: _Folders) -> None:
    if folders.origin(part) > _ORGANIZER and not folders.alone:
        files.notes.append(
            f"{part.name} ({part.contract.id}) comes from the submission: the organizer does not provide one"
        )
