"""Folders and patterns at addresses: `s3://bucket/teams/`, `s3://bucket/teams/*`."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from medcontract.addresses import Address
from medcontract.errors import CallError
from medcontract.reading.exclude import Exclude
from medcontract.reading.folders import Entry, Listing, has_ending
from medcontract.reading.remote import file_info, filesystem, guarded, path_in

_WILDCARD = re.compile(r"[*?\[]")


def matches(address: Address) -> list[Address]:
    """The files and folders that match a pattern, sorted, without hidden ones; the address itself if it has none.

    Raises `CallError` if nothing matches, and if the pattern cannot be evaluated.
    """
    archive, _, member = address.full.partition("!/")
    if address.is_web or not _WILDCARD.search(archive):
        return [address]
    files = filesystem(address)
    if member:
        raise CallError(f"{address}: a pattern cannot match files in archives", "pass each archive")
    try:
        found: list[str] = guarded(lambda: files.glob(path_in(files, Address(address.full.rstrip("/")))))
    except OSError as error:
        raise CallError(f"{address}: {error.strerror}", getattr(error, "hint", None)) from None
    start = _start(files, address)
    inside = [Address(f"{start[0]}{path.removeprefix(start[1])}") for path in sorted(found)]
    visible = [each for each in inside if not each.rpartition("/")[2].startswith(".")]
    if not visible:
        raise CallError(f"{address}: no file or folder matches this pattern", "check the address")
    return visible


def _start(files: Any, address: Address) -> tuple[str, str]:
    """The start of an address before any wildcard, with the scheme, and as the filesystem names it."""
    full = address.full
    match = _WILDCARD.search(full)
    folder = full[: full.rindex("/", 0, match.start() if match else None)]
    return folder, path_in(files, Address(folder)) if folder.partition("://")[2] else ""


def exists(address: Address) -> bool:
    """Whether there is a file or a folder; also if that cannot be found out, which reading it will explain."""
    try:
        file_info(address)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def is_folder(address: Address) -> bool:
    try:
        return not address.is_web and file_info(address).is_folder
    except OSError:
        return False


def list_remote(folder: Address, endings: Collection[str], exclude: Exclude | None = None) -> Listing | None:
    """The data files below an address, and its other files; None if it is not a folder, or cannot be listed."""
    files = filesystem(folder)
    if not is_folder(folder):
        return None
    start = path_in(files, folder)
    try:
        paths: list[str] = guarded(lambda: files.find(start))
    except OSError:
        return None
    found = Listing([], [])
    for path in sorted(paths):
        name = path.removeprefix(start).strip("/")
        if not name or any(part.startswith(".") for part in name.split("/")) or path.endswith("/"):
            continue
        if exclude and exclude.in_archive(folder, name):
            continue
        if has_ending(name, endings):
            found.data.append(Entry(folder.inside(name)))
        else:
            found.others.append(folder.inside(name))
    return found


def entries(folder: Address) -> list[tuple[str, Address, bool]]:
    """The name and address of each visible entry of a folder, and whether it is a folder. Raises `OSError`."""
    files = filesystem(folder)
    start = path_in(files, folder)
    listed: list[dict[str, Any]] = guarded(lambda: files.ls(start, detail=True))
    found = []
    for each in listed:
        name = each["name"].rstrip("/").rpartition("/")[2]
        if name and not name.startswith(".") and each["name"].rstrip("/") != start:
            found.append((name, folder.inside(name), each["type"] == "directory"))
    return sorted(found)


def file_size(address: Address) -> int | None:
    """The size of a file; None if there is none."""
    try:
        info = file_info(address)
    except OSError:
        return None
    return None if info.is_folder else info.size
