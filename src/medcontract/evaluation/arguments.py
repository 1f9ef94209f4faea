"""The files of a call: paths, `CONTRACT=PATH`, folders, standard input."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from medcontract.contracts import registry
from medcontract.errors import CallError
from medcontract.reading.source import STDIN, Source
from medcontract.validation.dispatch import CONTAINERS

FileName = str | os.PathLike[str]
_NAMED = re.compile(r"([a-z0-9-]+/[a-z0-9-]+)=(.+)", re.DOTALL)


class GivenFiles(NamedTuple):
    """What was asked for, folders replaced by the data files in them."""

    files: list[tuple[str | Source, str | None]]
    """Paths, each with the contract that the call names."""
    found: dict[str, str]
    """Of these, the files that nobody named, and the folder that each stands in."""


def given_files(
    names: Iterable[FileName],
    contract: str | None = None,
    schema: FileName | None = None,
    others: Iterable[object] = (),
) -> GivenFiles:
    """The files of a call. Raises `CallError` for an unknown contract, and for standard input without one.

    `others`: files that the call reads besides.
    """
    wanted = [split(name, contract) for name in names]
    stdin_once([*(path for path, _ in wanted), schema, *others])
    for path, contract_id in wanted:
        if contract_id and schema:
            raise CallError("--schema and a contract were both given", "say which of the two is meant")
        if contract_id:
            registry.find(contract_id)
        elif path == STDIN and not schema:
            raise CallError(
                "standard input needs its contract",
                "say CONTRACT=-, or --contract where there is that option; medcontract schema list shows the ids",
            )
    walked = [(path, contract_id, walk([path])) for path, contract_id in wanted]
    return GivenFiles(
        files=[(inside, contract_id) for _, contract_id, paths in walked for inside in paths],
        found=_found_in_folders(walked),
    )


def _found_in_folders(walked: Iterable[tuple[str, str | None, list[str | Source]]]) -> dict[str, str]:
    """The files that nobody named, and the folder that each stands in."""
    walked = list(walked)
    named = {os.path.realpath(path) for path, _, _ in walked if not os.path.isdir(path)}
    inside = (
        (file.name if isinstance(file, Source) else file, path)
        for path, _, files in walked
        if os.path.isdir(path)
        for file in files
    )
    return {file: path for file, path in inside if os.path.realpath(file) not in named}


def split(name: FileName, contract: str | None = None) -> tuple[str, str | None]:
    """`CONTRACT=PATH`, unless a file has that very name or it is a `Path`."""
    match = _NAMED.fullmatch(name) if isinstance(name, str) else None
    if match and not os.path.lexists(name):
        return match.group(2), match.group(1)
    return os.fspath(name), contract


def stdin_once(names: Iterable[object]) -> None:
    """Raises `CallError` when more than one file is to be read from standard input."""
    if list(names).count(STDIN) > 1:
        raise CallError("standard input was given twice", "it can be one file only: save one of them to a file")


def walk(paths: Iterable[str]) -> list[str | Source]:
    """Files as they are, folders as the data files in them, sorted. Raises `CallError` for a folder without any.

    What stands in a folder and is not read is there too, as a source that says why.
    """
    found: list[str | Source] = []
    for path in paths:
        if os.path.isdir(path):
            from medcontract.reading.folders import data_files

            inside = data_files(path, CONTAINERS)
            if not inside:
                endings = ", ".join(CONTAINERS)
                raise CallError(f"{path}: no data files in this folder", f"looked for {endings}")
            found += [Source(file, refused=refused) if refused else file for file, refused in inside]
        else:
            found.append(path)
    return found
