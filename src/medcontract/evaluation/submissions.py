"""Finds the submissions of a ranking, measurements by the organizer, and who sent which."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar, get_args

from msgspec import Struct
from msgspec.structs import replace

from medcontract.addresses import ARCHIVES, Address, as_address, is_archive, real_path, split_member
from medcontract.containers import BY_ENDING
from medcontract.errors import CallError, option, words
from medcontract.evaluation.files import Expanded, GivenFile, expand, list_path, no_data_files, path_of, split_known
from medcontract.evaluation.named_tables import table_source
from medcontract.evaluation.selection import IgnoredFile, skipped
from medcontract.extras import TABLES, is_table
from medcontract.reading.folders import Exclude, missing_file_hint, why_refused, why_unreadable
from medcontract.reading.limits import Limits
from medcontract.reading.source import Source, open_source
from medcontract.validation.dispatch import Identified, base_name, identify
from medcontract.validation.report import ProblemCollector


class Submission(Struct, frozen=True, kw_only=True):
    """The files of one participant, and the name of the folder."""

    name: str
    files: tuple[GivenFile, ...]
    given: str = ""
    """The path in the call."""
    error: str | None = None
    """Why there are no files."""
    is_folder: bool = True
    """Whether the files were found in a folder or an archive."""
    is_archive: bool = False
    skipped: tuple[IgnoredFile, ...] = ()
    """Files in the folder that are not read, because of their names."""
    measured: tuple[str | Source, ...] | None = None
    """Files with measurements by the organizer; None if there are none for any submission."""

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(path_of(file) for file, _ in self.files)

    @property
    def plain_name(self) -> str:
        """The name of the folder, or of the file or archive without its extension."""
        return self.name if self.is_folder and not self.is_archive else _without_extensions(self.name)


def _without_extensions(name: str) -> str:
    """Return the name of a data file or an archive without its extensions (`.json`, `.csv.gz`, `.tar.gz`)."""
    for ending in ARCHIVES:
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    plain = name[:-3] if name.lower().endswith(".gz") else name
    stem, extension = os.path.splitext(plain)
    return stem if extension.lower() in BY_ENDING else name


def _has_data_extension(path: str) -> bool:
    return _without_extensions(os.path.basename(path)) != os.path.basename(path)


class FoundSubmissions(NamedTuple):
    """The submissions of a ranking."""

    submissions: list[Submission]
    notes: list[str]
    """Warnings about files among them that are not submissions."""


def named_submissions(given: Iterable[object]) -> tuple[list[Submission], list[object]]:
    """Return the tables among submissions, and those in dicts by name, as submissions; and the others, which are paths.

    Raises `CallError` for a name that is repeated or not a text.
    """
    named: dict[str, object] = {}
    others = []
    for number, each in enumerate(given, 1):
        by_name: Mapping[object, object] = each if isinstance(each, Mapping) else {f"submission {number}": each}
        if not is_table(each) and by_name is not each:
            others.append(each)
            continue
        for name, value in by_name.items():
            if not isinstance(name, str) or not name.strip() or name in named:
                raise CallError(f"the name of a submission is repeated, blank or not a text: {name!r}")
            named[name] = value
    found = []
    for name, value in named.items():
        if is_table(value):
            found.append(Submission(name=name, files=(table_source(value),), given=name, is_folder=False))
        elif isinstance(value, str | os.PathLike):
            path, contract_id = split_known(value)
            _require_existing(path)
            found.append(replace(_submission_at(path, contract_id), name=name))
        else:
            raise CallError(f"expected a file or a table, got {type(value).__name__}", TABLES)
    return found, others


def submissions_in(
    given: Sequence[tuple[str, str | None]], limits: Limits | None = None, exclude: Exclude | None = None,
    named: Sequence[Submission] = (),
) -> FoundSubmissions:  # fmt: skip
    """Return a submission for each folder, archive or data file; it may have a contract, which all its files have.

    A pipe, a device, and a link that leads out of its folder or to another submission are submissions that cannot be
    read. Raises `CallError` if there are none.
    """
    found = [*named]
    notes: list[str] = []
    unique = {_place(path): (path, contract_id) for path, contract_id in reversed(given)}
    for place, (path, contract_id) in reversed(unique.items()):
        is_local = not isinstance(path, Address) and not split_member(path)
        _require_existing(path)
        refused = why_refused(path, [each for each in unique if each != place]) if is_local else None
        if refused:
            source = Source(place, refused=refused)
            found.append(Submission(name=_name(path), files=((source, None),), given=path, is_folder=False))
        elif not contract_id and (reason := _no_submission(path)):
            notes.append(f"{base_name(path)} is not a submission: ignored ({reason})")
        else:
            found.append(_submission_at(path, contract_id, limits, exclude))
    if not found:
        hint = "; ".join(["pass each submission, a folder or a file, after the truth", *notes])
        raise CallError("there are no submissions to rank", hint)
    return FoundSubmissions(found, notes)


def _place(path: str) -> str:
    """Return a text that is the same for two paths of one submission, but not for a link and what it leads to."""
    if isinstance(path, Address):
        return real_path(path)
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(real_path(folder), name)


def _name(path: str) -> str:
    return base_name(path.rstrip("/") if isinstance(path, Address) else os.path.abspath(path))


def _require_existing(path: str) -> None:
    """Raise `CallError` for a path that does not exist; a path in an archive is checked when it is read."""
    found = bool(split_member(path)) or (not isinstance(path, Address) and os.path.lexists(path))
    if isinstance(path, Address) and not found:
        from medcontract.reading.remote import exists

        found = exists(path)
    if not found:
        raise CallError(f"{path}: no such file or folder", missing_file_hint(path))


def _submission_at(
    path: str, contract_id: str | None = None, limits: Limits | None = None, exclude: Exclude | None = None
) -> Submission:
    """Return the submission in a folder, an archive or a file."""
    inside = list_path(path, limits, exclude)
    return Submission(
        name=_name(path),
        files=tuple((file, contract_id) for file in inside.files),
        given=path,
        error=None if inside.files else no_data_files(inside),
        is_folder=inside.files != [path],
        is_archive=inside.is_archive,
        skipped=inside.skipped,
    )


def _no_submission(path: str) -> str | None:
    """Say why a file among the submissions is not one, such as a readme or a script; None if it may be one.

    A file that may be meant as data, such as a spreadsheet, is a submission: it is refused with the reason. Any other
    file is one only if its contract is recognized.
    """
    file = skipped(path)
    if _has_data_extension(path) or file.may_be_data:
        return None
    if isinstance(path, Address):
        from medcontract.reading.remote import is_folder

        if is_folder(path) or is_archive(path):
            return None
    elif not os.path.isfile(path):
        return None
    found = identify(open_source(path), None, ProblemCollector(1))
    return None if isinstance(found, Identified) else file.reason


def with_measured(found: FoundSubmissions, folder: str, limits: Limits | None = None) -> FoundSubmissions:
    """Add measurements by the organizer: `folder/NAME/` and `folder/NAME.json` belong to the submission NAME.

    They replace measurements in the submission. One whose name others have, too, has no files then. Raises `CallError`.
    """
    measured: dict[str, tuple[str | Source, ...]] = {}
    for entry, path, is_folder in _entries(as_address(folder)):
        name = base_name(entry) if is_folder else _without_extensions(base_name(entry))
        refused = None if isinstance(path, Address) else why_unreadable(path)
        files = [Source(path, refused=refused)] if refused else expand(path, limits).files
        measured[name] = (*measured.get(name, ()), *files)
    counts = Counter(submission.plain_name for submission in found.submissions)
    submissions = []
    for submission in found.submissions:
        name = submission.plain_name
        if counts[name] > 1 and name in measured:
            error = f"{counts[name]} submissions are named {name}, so --measured is ambiguous (rename them)"
            submissions.append(replace(submission, files=(), error=error))
        else:
            submissions.append(replace(submission, measured=measured.get(name, ())))
    unknown = sorted(measured.keys() - counts.keys())
    notes = [f"--measured: there is no submission {name}: ignored" for name in unknown]
    return FoundSubmissions(submissions, found.notes + notes)


def _entries(folder: str) -> Sequence[tuple[str, str, bool]]:
    """Return name and path of each visible entry of a folder, and whether it is a folder. Raises `CallError`."""
    missing = CallError(
        f"{folder}: no such folder",
        words("pass to ", option("--measured"), " a folder with an entry for each submission"),
    )
    if isinstance(folder, Address):
        from medcontract.reading.remote import entries, is_folder

        try:
            found = entries(folder) if is_folder(folder) else []
        except OSError as error:
            raise CallError(f"{folder}: {error.strerror}", getattr(error, "hint", None)) from None
        if not found:
            raise missing
        return found
    if not os.path.isdir(folder):
        raise missing
    names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    paths = [os.path.join(folder, name) for name in names]
    return [(name, path, os.path.isdir(path)) for name, path in zip(names, paths, strict=True)]


def find_submission(path: str, ignored: Collection[str] = ()) -> Submission:
    """Return the submission in a folder, or a file or an archive, on a platform.

    `ignored`: names of files that the platform adds to the folder. If there is only one data file or archive besides
    them, it is the submission.
    """
    if not os.path.isdir(path):
        return _submission_at(path)
    others = [name for name in os.listdir(path) if name not in ignored and not name.startswith(".")]
    only = os.path.join(path, others[0]) if len(others) == 1 else ""
    if os.path.isfile(only) and not os.path.islink(only) and (_has_data_extension(only) or is_archive(only)):
        return _submission_at(only)
    inside, paths = _submission_at(path), {os.path.join(path, name) for name in ignored}
    files = tuple(given for given in inside.files if given[0] not in paths)
    left = tuple(file for file in inside.skipped if file.path not in paths)
    error = inside.error if files else no_data_files(Expanded([], left))
    return replace(inside, files=files, skipped=left, error=error)


# --- the organizer's table of teams

Attempts = Literal["best", "last", "all"]
ATTEMPTS: tuple[Attempts, ...] = get_args(Attempts)
_COLUMNS = ("submission", "team")
T = TypeVar("T")


class Teams(NamedTuple):
    """What the organizer's table says about the submissions of a ranking."""

    listed: Sequence[tuple[int, str] | None]
    """For each submission its row and its team, or None if the table does not list it."""
    notes: Sequence[str] = ()
    attempts: Attempts = "all"

    def of(self, number: int) -> str | None:
        """Return the team of a submission, by its number in the call."""
        listed = self.listed[number] if self.listed else None
        return listed and listed[1]

    def counted(self, ranked: Sequence[T], number: Callable[[T], int]) -> list[T]:
        """Keep one attempt of each team: the first of `ranked`, or the one that the table lists last."""
        if self.attempts == "all":
            return list(ranked)
        kept: dict[str | int, tuple[int, T]] = {}
        for place, each in enumerate(ranked):
            row, team = self.listed[number(each)] or (0, number(each))
            order = row if self.attempts == "last" else -place
            if team not in kept or kept[team][0] < order:
                kept[team] = order, each
        chosen = {id(each) for _, each in kept.values()}
        return [each for each in ranked if id(each) in chosen]


def read_teams(file: str | None, attempts: Attempts, submissions: Sequence[Submission], limits: Limits) -> Teams:
    """Read the table. Raises `CallError` for a table that does not say clearly which submission is meant."""
    if attempts not in ATTEMPTS:
        raise CallError(f"unknown attempts '{attempts}'", f"use one of: {', '.join(ATTEMPTS)}")
    if file is None and attempts != "all":
        raise CallError(
            words(option("--attempts", attempts), " requires ", option("--teams", "FILE")),
            "a name in a submission is only its own claim, which must not remove another submission",
        )
    if file is None:
        return Teams(())
    listed: list[tuple[int, str] | None] = [None] * len(submissions)
    notes: list[str] = []
    for row, (name, team) in enumerate(_rows(file, limits), 1):
        found = _meant(name, submissions)
        if not found:
            notes.append(f"--teams: there is no submission {name}: ignored")
        elif len(found) > 1:
            raise CallError(f"{file}: {len(found)} submissions are named {name}", "write them as in the call")
        elif listed[found[0]] is not None:
            raise CallError(f"{file}: {name} is listed twice", "list each submission once")
        else:
            listed[found[0]] = row, team
    unlisted = [submission.name for submission, its in zip(submissions, listed, strict=True) if its is None]
    notes += [f"--teams does not list {name}" for name in unlisted]
    return Teams(listed, notes, attempts)


def _rows(file: str, limits: Limits) -> list[tuple[str, str]]:
    from medcontract.challenges.new.read import load_table

    table = load_table(open_source(file, limits), ProblemCollector(10))
    lacking = [name for name in _COLUMNS if name not in table.columns]
    if lacking:
        got = ", ".join(table.columns) or "none"
        raise CallError(f"{file}: there is no column '{lacking[0]}'", f"columns: {', '.join(_COLUMNS)}; got {got}")
    rows = list(zip(*(table.columns[name] for name in _COLUMNS), strict=True))
    for number, row in enumerate(rows, 1):
        if not all(isinstance(cell, str) and cell.strip() for cell in row):
            raise CallError(f"{file}: row {number} has no submission or no team", "fill in both, as text")
    return rows


def _meant(name: str, submissions: Sequence[Submission]) -> list[int]:
    """Find the submissions that a name means: a path as in the call, else a base name, else one without extension."""
    known = [(os.path.normpath(each.given), each.name, each.plain_name) for each in submissions]
    for way, wanted in enumerate((os.path.normpath(name), name, name)):
        found = [number for number, names in enumerate(known) if names[way] == wanted]
        if found:
            return found
    return []
