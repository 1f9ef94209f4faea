"""Finds the data files in a folder, except excluded ones, and what cannot be read or is not followed."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import NamedTuple

from medcontract.addresses import ending_of
from medcontract.errors import LIST_CONTRACTS, words
from medcontract.problems import Finding

_BRACKETS = re.compile(r"\[!?\]?[^\]\n]*\]")
_DIGITS = re.compile(r"[0-9]+")
_MOST_NAMES = 1000
"""Names in a folder that are compared with one that does not exist."""
_CLOSE = 0.8


class Entry(NamedTuple):
    """A data file in a folder."""

    path: str
    refused: Finding | None = None
    """Why it cannot be read."""


class Listing(NamedTuple):
    """The files in a folder, sorted by path, without hidden ones."""

    data: list[Entry]
    others: list[str]
    """The paths of files with other extensions."""


def listed(
    folder: str, names: Iterable[str], path_of: Callable[[str], str], endings: Collection[str], exclude: Exclude | None
) -> Listing:
    """Return the data files and others among names in a folder that is not one of the file system, or in an archive."""
    found = Listing([], [])
    for name in sorted(names):
        if exclude and exclude.in_archive(folder, name):
            continue
        if ending_of(name) in endings:
            found.data.append(Entry(path_of(name)))
        else:
            found.others.append(path_of(name))
    return found


def list_files(folder: str, endings: Collection[str], exclude: Exclude | None = None) -> Listing:
    """List the files with one of these extensions (before .gz), and others.

    Links to files are followed if they stay within the folder. Links to folders are not: their content is found at
    its real path. Nothing is opened, so that a pipe cannot block.
    """
    found = Listing([], [])
    waiting = [folder]  # a stack, because recursion would fail at depth 1,000
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as entries:
                visible = [entry for entry in entries if not entry.name.startswith(".")]
        except OSError as error:
            found.data.append(Entry(here, _cannot_be_read("the folder", error)))
            continue
        for entry in visible:
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
                if exclude and exclude(folder, entry.path, is_folder):
                    continue
                is_data = ending_of(entry.name) in endings
                if is_folder:
                    waiting.append(entry.path)
                elif not is_data and not (entry.is_symlink() and os.path.isdir(entry.path)):
                    found.others.append(entry.path)
                elif entry.is_symlink():
                    found.data.extend(_link(entry.path, _real(folder), is_data))
                else:
                    found.data.append(Entry(entry.path, None if entry.is_file(follow_symlinks=False) else _NO_FILE))
            except OSError as error:
                found.data.append(Entry(entry.path, _cannot_be_read("the file", error)))
    return Listing(sorted(found.data), sorted(found.others))


def _link(path: str, root: str, is_data: bool) -> Iterator[Entry]:
    """Yield the entry of a link to a data file, or to a folder that is not at its real path, too."""
    if _is_endless(path):
        yield Entry(path, _NOWHERE)
        return
    target = _real(path)
    if not target.startswith(root):
        # do not reveal whether the target exists: a submission could probe any path of this machine
        yield Entry(path, _OUTSIDE)
    elif not is_data or os.path.isdir(path):
        if any(part.startswith(".") for part in target.removeprefix(root).split(os.sep)):
            yield Entry(path, _HIDDEN)
    else:
        yield Entry(path, _kind_of_target(path))


def leads_out_of(folder: str, path: str) -> bool:
    """Check whether a path leads out of the folder when its links are followed."""
    try:
        return _is_endless(path) or not _real(path).startswith(_real(folder))
    except ValueError:  # a NUL byte: there is no such file
        return False


def why_refused(path: str, others: Collection[str]) -> Finding | None:
    """Return why a file or folder must not be read that somebody else has put into its folder; None if it may be.

    `others`: the paths of the files and folders of others, which a link must not lead to. Nothing is opened.
    """
    place, real = os.path.abspath(path), _real(path)
    if os.path.islink(place):
        folder = os.path.dirname(place)
        if leads_out_of(folder, place) or real == _real(folder):
            return _OUTSIDE
        folders = [os.path.join(other, "") for other in others]
        if any(real.startswith(other) or other.startswith(real) for other in folders):
            return _TAKEN
    return why_unreadable(path)


def why_unreadable(path: str) -> Finding | None:
    """Return why there is neither a file nor a folder at a path; None if there is. Nothing is opened."""
    try:
        return None if os.path.isdir(path) else _kind_of_target(path)
    except OSError as error:
        return _cannot_be_read("the file", error)


def _is_endless(path: str) -> bool:
    """Check whether the operating system gives up on a path: cyclic links, or a chain that is too long for it."""
    try:
        os.stat(path)
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _real(path: str) -> str:
    return os.path.join(os.path.realpath(path), "")


def _kind_of_target(path: str) -> Finding | None:
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return _NOWHERE
    return None if stat.S_ISREG(mode) else _NO_FILE


def _cannot_be_read(what: str, error: OSError) -> Finding:
    return Finding("MC003", f"{what} cannot be read: {(error.strerror or type(error).__name__).lower()}")


_NO_FILE = Finding("MC003", "this is a pipe, a socket or a device, not a file", "remove it from the folder")
_NOWHERE = Finding("MC003", "this link is broken", "replace it with the file")
_OUTSIDE = Finding("MC028", "this link leads out of its folder and is not followed", "replace it with the file")
_TAKEN = Finding("MC028", "this link leads to another submission and is not followed", "replace it with the file")
_HIDDEN = Finding("MC028", "this link leads to a hidden folder and is not followed", "replace it with the folder")


class Exclude:
    """Glob patterns.

    One without a slash matches the name of a file or folder at any depth. One with a slash matches a path, relative to
    the folder or as shown in messages; `**` matches any number of folders. A trailing slash matches folders only.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        """Raises `re.error` for a range that ends before its start, such as `[z-a]`."""
        self._patterns = tuple(dict.fromkeys(patterns))
        for bracket in _BRACKETS.findall("\n".join(self._patterns)):
            re.compile(f"[{bracket[1:]}".replace("\\", r"\\").replace("[", r"\[").removeprefix("\\"))
        self._used: set[str] = set()

    def __call__(self, folder: str, path: str, is_folder: bool) -> bool:
        """Check whether to skip an entry, whose path starts with the path of the folder."""
        found = [each for each in self._patterns if self._matches(each, folder, path, is_folder)]
        self._used.update(found)
        return bool(found)

    def in_archive(self, archive: str, name: str) -> bool:
        """Check whether to skip a file in an archive, because of its name, or of a folder that it is in."""
        *folders, _ = parts = name.split("/")
        paths = ["/".join((archive, *parts[:depth])) for depth in range(1, len(parts) + 1)]
        found = [self(archive, path, depth < len(folders)) for depth, path in enumerate(paths)]
        return any(found)

    def _matches(self, pattern: str, folder: str, path: str, is_folder: bool) -> bool:
        if pattern.endswith("/") and not is_folder:
            return False
        parts = re.sub(r"^(\./)+", "", pattern).rstrip("/").split("/")
        if "/" not in pattern.rstrip("/"):
            return fnmatchcase(os.path.basename(path), parts[0])
        shown = (os.path.relpath(path, folder), os.path.normpath(path))
        return any(_fits(parts, each.replace(os.sep, "/").split("/")) for each in shown)

    @property
    def unused(self) -> list[str]:
        """Return the patterns that matched nothing."""
        return [pattern for pattern in self._patterns if pattern not in self._used]


def _fits(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Check whether a pattern matches a path, part by part: `**` matches any number of folders."""
    if not pattern or not path:
        return not pattern and not path
    if pattern[0] == "**":
        return len(pattern) == 1 or any(_fits(pattern[1:], path[start:]) for start in range(len(path)))
    return fnmatchcase(path[0], pattern[0]) and _fits(pattern[1:], path[1:])


def missing_file_hint(path: str) -> str:
    """Suggest a similar name in the same folder, or say what is wrong with an argument that names a contract."""
    folder, name = os.path.split(path)
    contract, _, given = path.partition("=")
    if contract and os.path.exists(given.strip()):
        return words("to specify a contract, write TRACK/NAME=PATH without spaces; ", LIST_CONTRACTS)
    similar = _similar(name, folder)
    return f"a similar name exists: '{similar}'" if similar else "check the name and the folder"


def _similar(name: str, folder: str) -> str | None:
    from difflib import get_close_matches

    try:
        with os.scandir(folder or os.curdir) as entries:
            found = [entry.name for entry in islice(entries, _MOST_NAMES)]
    except (OSError, ValueError):
        return None
    same = [other for other in found if _DIGITS.findall(other) == _DIGITS.findall(name)]  # 1.json is not 2.json
    return next(iter(get_close_matches(name, same, 1, _CLOSE)), None)
