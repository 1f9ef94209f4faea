"""The paths of archives, and of files in them: `submission.zip!/predictions.csv`.

What reads an archive is imported only if there is one.
"""

from __future__ import annotations

import os

from medcontract.addresses import Address, as_address
from medcontract.reading.limits import Limits
from medcontract.reading.source import Source

ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz")
SEPARATOR = "!/"


def is_archive(path: str) -> bool:
    """Whether a path is called like an archive. Whether there is one is found when it is read."""
    return path.lower().endswith(ENDINGS) and not os.path.isdir(path)


def split_member(path: str) -> tuple[str, str] | None:
    """The path of the archive, and that of the file in it; None if it is not the path of a file in an archive."""
    if isinstance(path, Address):
        return path.split_member()
    at = path.find(SEPARATOR)
    while at >= 0:
        if is_archive(path[:at]):
            return None if os.path.lexists(path) else (path[:at], path[at + len(SEPARATOR) :])
        at = path.find(SEPARATOR, at + 1)
    return None


def member_path(archive: str, name: str) -> str:
    """The path or address of a file in an archive."""
    return archive.member(name) if isinstance(archive, Address) else f"{archive}{SEPARATOR}{name}"


def without_ending(name: str) -> str:
    """The name of an archive without its extension."""
    found = [ending for ending in ENDINGS if name.lower().endswith(ending)]
    return name[: -max(map(len, found))] if found else name


def open_source(path: str | os.PathLike[str], limits: Limits | None = None) -> Source:
    """The source of a path or an address: a file, or a file in an archive."""
    path = as_address(os.fspath(path))
    member = split_member(path)
    if not member and not is_archive(path):
        return Source(path, limits=limits)
    from medcontract.reading.archives import ArchivedFile, WholeArchive

    return ArchivedFile(*member, limits) if member else WholeArchive(path, limits=limits)
