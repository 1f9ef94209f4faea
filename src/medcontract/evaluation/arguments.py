"""The files of a call: paths, `CONTRACT=PATH`, folders, standard input."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from medcontract.definitions import registry
from medcontract.errors import CallError
from medcontract.judging.start import CONTAINERS
from medcontract.reading.source import STDIN

FileName = str | os.PathLike[str]
_NAMED = re.compile(r"([a-z0-9-]+/[a-z0-9-]+)=(.+)", re.DOTALL)


class GivenFiles(NamedTuple):
    """What was asked for, folders replaced by the data files in them."""

    files: list[tuple[str, str | None]]
    """Paths, each with the contract that the call names."""
    found: dict[str, str]
    """Of these, the files that nobody named, and the folder that each stands in."""


def given_files(names: Iterable[FileName], contract: str | None = None, schema: FileName | None = None) -> GivenFiles:
    """The files of a call. Raises `CallError` for an unknown contract, and for standard input without one."""
    wanted = [split(name, contract) for name in names]
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
        found={inside: path for path, _, paths in walked if os.path.isdir(path) for inside in paths},
    )


def split(name: FileName, contract: str | None = None) -> tuple[str, str | None]:
    """`CONTRACT=PATH`, unless a file has that very name or it is a `Path`."""
    match = _NAMED.fullmatch(name) if isinstance(name, str) else None
    if match and not os.path.lexists(name):
        return match.group(2), match.group(1)
    return os.fspath(name), contract


def walk(paths: Iterable[str]) -> list[str]:
    """Files as they are, folders as the data files in them, sorted. Raises `CallError` for a folder without any."""
    found: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            inside = sorted(_data_files(path))
            if not inside:
                endings = ", ".join(CONTAINERS)
                raise CallError(f"{path}: no data files in this folder", f"looked for {endings}")
            found += inside
        else:
            found.append(path)
    return found


def _data_files(folder: str) -> Iterable[str]:
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith(".") and os.path.splitext(name.lower().removesuffix(".gz"))[1] in CONTAINERS:
                path = os.path.join(root, name)
                if os.path.isfile(path):  # no pipes: nobody may ever write to them
                    yield path
