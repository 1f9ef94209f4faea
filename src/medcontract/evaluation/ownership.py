"""Whose file it is: nothing in a submission's folder extends or replaces what the organizer gives."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from medcontract.errors import CallError
from medcontract.evaluation.inputs import Files, Part
from medcontract.scoring.track import Roles

_NAMED, _ORGANIZER, _WITH_TRUTH, _SUBMISSION = range(4)
"""Who gives a file, the first that does wins: the caller by name, a folder without a submission, a folder with a
submission and the truth that counts, a folder with a submission."""


class _Folders(NamedTuple):
    """The folders of a call that hold more than the organizer's files."""

    found: Mapping[str, str]
    """The files that nobody named, and the folder that each stands in."""
    of_submissions: frozenset[str]
    with_truth: frozenset[str] = frozenset()
    alone: bool = False
    """All files of the call stand in one folder: there is no other side."""

    def giver(self, part: Part) -> int:
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
    """Of each kind of file besides the submission, keep what comes from the best giver; the rest is ignored.

    `by_option`: contracts that an option of the call stands for. Notes say what was ignored, and what of the
    submission's own was used. Raises `CallError` where it is unclear which truth is meant. Returns the folders that
    hold a submission.
    """
    everywhere = {found.get(part.source.name) for part in files.parts()}
    alone = len(everywhere) == 1 and None not in everywhere
    folders = _Folders(found, _submission_folders(roles, files, found), alone=alone)
    truths = _settle(roles.truths, files, folders)
    if truths and folders.giver(truths[0]) != _NAMED and len(folders.of(truths)) > 1:
        raise CallError("more than one folder holds a truth", "name the file that is the truth")
    folders = folders._replace(with_truth=folders.of(truths))
    for part in truths:
        _note_own(part, files, folders)
    for name in dict.fromkeys((*roles.auxiliaries(), *roles.id_lists)):
        for part in _settle((name,), files, folders, by_option):
            _note_own(part, files, folders)
    files.groups = {name: parts for name, parts in files.groups.items() if parts}
    return folders.of_submissions


def _submission_folders(roles: Roles, files: Files, found: Mapping[str, str]) -> frozenset[str]:
    """Those with predictions; where there are none anywhere, those with a report that is to be weighed."""
    there = [name for name in roles.submissions if name in files.groups] or [roles.result]
    parts = [part for name in there for part in files.groups.get(name, ())]
    return frozenset(found[part.source.name] for part in parts if part.source.name in found)


def _settle(kind: Collection[str], files: Files, folders: _Folders, by_option: Collection[str] = ()) -> list[Part]:
    """The files of a kind that count."""
    parts = [part for name in kind for part in files.groups.get(name, ())]
    if not parts:
        return []
    best = min(map(folders.giver, parts))
    if not set(kind).isdisjoint(by_option):
        best = min(best, _ORGANIZER)
    for part in parts:
        if folders.giver(part) > best:
            files.groups[part.contract.id].remove(part)
            files.notes.append(_ignored(part, best))
    return [part for part in parts if folders.giver(part) <= best]


def _ignored(part: Part, best: int) -> str:
    if best == _NAMED:
        return f"{part.name} ({part.contract.id}) in a folder is ignored: another one was named"
    return f"{part.name} ({part.contract.id}) in the submission's folder is ignored: the organizer gives one"


def _note_own(part: Part, files: Files, folders: _Folders) -> None:
    if folders.giver(part) > _ORGANIZER and not folders.alone:
        files.notes.append(f"{part.name} ({part.contract.id}) is the submission's own: nobody else gives one")
