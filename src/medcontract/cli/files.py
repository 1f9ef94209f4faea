"""Files as arguments: `PATH`, `CONTRACT=PATH`, folders, standard input."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from medcontract.errors import CallError

if TYPE_CHECKING:
    from medcontract.reading.source import Source

_NAMED = re.compile(r"([a-z0-9-]+/[a-z0-9-]+)=(.+)", re.DOTALL)


def inputs(
    files: Sequence[str], contract: str | None = None, schema: str | None = None
) -> list[tuple[str | Source, str | None]]:
    """The files that were meant, each with the contract that the call names. `schema` is a file, too."""
    from medcontract import flow
    from medcontract.definitions import registry

    wanted = [split(name, contract) for name in files]
    stdin_once([*(name for name, _ in wanted), schema])
    for name, contract_id in wanted:
        if contract_id and schema:
            raise CallError("--schema and a contract were both given", "say which of the two is meant")
        if contract_id:
            registry.find(contract_id)
        elif name == "-" and not schema:
            raise CallError(
                "standard input needs its contract",
                "say CONTRACT=-, or --contract where there is that option; medcontract schema list shows the ids",
            )
    return [(path, contract_id) for name, contract_id in wanted for path in flow.walk([name])]


def stdin_once(names: Iterable[str | None]) -> None:
    """Raises `CallError` when more than one file is to be read from standard input."""
    if list(names).count("-") > 1:
        raise CallError("standard input was given twice", "it can be one file only: save one of them to a file")


def found(files: Sequence[str]) -> dict[str, str]:
    """The files that nobody named, and the folder that each stands in."""
    from medcontract import flow

    return flow.found_in_folders([split(name)[0] for name in files])


def split(name: str, contract: str | None = None) -> tuple[str, str | None]:
    """`CONTRACT=PATH`, unless a file has that very name."""
    match = _NAMED.fullmatch(name)
    if match and not os.path.lexists(name):
        return match.group(2), match.group(1)
    return name, contract
