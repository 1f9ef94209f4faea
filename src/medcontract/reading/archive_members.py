"""The files in an archive: what is common to all formats."""

from __future__ import annotations

import re
import stat
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from medcontract.problems import Finding, shorten
from medcontract.reading.gunzip import Unreadable
from medcontract.reading.limits import MAX_ARCHIVED, MAX_FOLDERS, MAX_NAME, MAX_NAMES

_AGAIN = "create the archive again from the folder with the files"
_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_OF_SYSTEMS = ("__MACOSX",)
"""Folders that operating systems add to archives."""

LINK = Finding("MC003", "this is a link; links in archives are not followed", "replace it by the file")
DEVICE = Finding("MC003", "this is a pipe or a device, not a file", "remove it from the archive")


class Member(NamedTuple):
    """A file in an archive."""

    name: str
    """Its path in the archive."""
    size: int
    """Its decompressed size, as stated: checked when it is read."""
    start: int
    """The offset of its bytes in the archive; for a gzipped one, after decompression."""
    packed_size: int = 0
    """For .zip, the size of these bytes."""
    method: int = 0
    """For .zip, how they are compressed."""
    crc: int | None = None
    refused: Finding | None = None
    """Why it cannot be read."""


def refuse(message: str, hint: str = _AGAIN) -> Unreadable:
    return Unreadable(Finding("MC037", message, hint))


def check_count(count: int) -> None:
    if count > MAX_ARCHIVED:
        raise refuse(f"the archive contains more than {MAX_ARCHIVED:,} files", "remove files that are not needed")


def safe_name(name: str) -> str:
    """The path of a file without empty parts and `.`. Raises `Unreadable` if it leads out of the archive."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    why = None
    if len(name) > MAX_NAME:
        why = f"is longer than {MAX_NAME:,} characters"
    elif len(parts) > MAX_FOLDERS + 1:
        why = f"is in more than {MAX_FOLDERS} nested folders"
    elif name.startswith("/"):
        why = "is absolute"
    elif ".." in parts:
        why = "leads out of the archive"
    elif "\\" in name:
        why = "contains a backslash"
    elif any(map(_DRIVE.match, parts)):
        why = "contains a drive letter"
    elif _CONTROL.search(name):
        why = "contains a control character"
    if why:
        raise refuse(f"a path in the archive {why}: {shorten(name)}", "create it again with relative paths (a/b.csv)")
    return "/".join(parts)


def is_hidden(name: str) -> bool:
    """Whether a file is ignored: hidden, or added by the operating system."""
    return any(part.startswith(".") or part in _OF_SYSTEMS for part in name.split("/"))


def kind_refused(mode: int) -> Finding | None:
    """Why a file with this Unix mode cannot be read. Some programs do not store the kind."""
    if stat.S_ISLNK(mode):
        return LINK
    return None if stat.S_ISREG(mode) or not stat.S_IFMT(mode) else DEVICE


def visible(members: Sequence[Member]) -> dict[str, Member]:
    """The files that count, by path. Raises `Unreadable` if two of them would be the same file on some system.

    Memory is proportional to the names, whose total length is limited: a few compressed bytes can contain many.
    """
    if sum(len(member.name) for member in members) > MAX_NAMES:
        hint = "use shorter names, or remove files that are not needed"
        raise refuse(f"the paths in the archive have more than {MAX_NAMES:,} characters together", hint)
    found: dict[str, Member] = {}
    seen: dict[str, str] = {}
    for member in members:
        if not member.name or is_hidden(member.name):
            continue
        key = _folded(member.name)
        if key in seen:
            first, second = shorten(seen[key]), shorten(member.name)
            same = "contains two files named" if first == second else f"contains {first} and"
            raise refuse(f"the archive {same} {second}", "remove one of them; names must differ in more than case")
        seen[key] = member.name
        found[member.name] = member
    # a file precedes what is in a folder of the same name: a slash is sorted before all characters of names
    for file, following in pairwise(sorted(seen, key=lambda key: key.replace("/", "\0"))):
        if following.startswith(f"{file}/"):
            raise refuse(f"{shorten(seen[file])} is both a file and a folder in the archive")
    return found


def _folded(name: str) -> str:
    """Equal for names that are the same on a system that ignores case or the composition of characters."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
