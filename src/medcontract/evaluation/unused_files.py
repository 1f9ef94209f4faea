"""Says why files in a folder are not used for a score: they match no contract, or are not read at all."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from medcontract.evaluation.inputs import Files, without_contract_option
from medcontract.evaluation.skipped_files import MOST_LISTED, SkippedFile, describe_skipped, notes_on_skipped
from medcontract.problems import plural
from medcontract.reading.archive_paths import SEPARATOR
from medcontract.results.score import FileProblem, in_file
from medcontract.results.validation import FileReport
from medcontract.scoring.track import Track
from medcontract.validation.parts import base_name


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
