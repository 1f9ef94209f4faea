"""All contracts by id, and the index of their keys.

The index (`index.json`, generated) is all that recognition needs: only the track in use is imported.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from medcontract.errors import UnknownContract

if TYPE_CHECKING:
    from medcontract.contracts.contract import Contract

MODULES = ("lesions", "own", "reports", "triage")
INDEX = Path(__file__).with_name("index.json")


class Entry(NamedTuple):
    """The keys of one contract."""

    id: str
    module: str
    list_key: str | None
    header: frozenset[str]
    header_required: frozenset[str]
    record: frozenset[str]
    forms: tuple[frozenset[str], ...]
    """For each form of a record, the keys that it requires; a failed record is one with `error`."""
    columns: frozenset[str]
    """Of its table; empty for contracts that have none."""
    column_forms: tuple[frozenset[str], ...]


@cache
def entries() -> dict[str, Entry]:
    """The index, by id."""
    found = {}
    for item in json.loads(INDEX.read_bytes()):
        forms = {key: tuple(map(frozenset, item.pop(key))) for key in ("forms", "column_forms")}
        sets = {key: frozenset(value) if isinstance(value, list) else value for key, value in item.items()}
        found[item["id"]] = Entry(**sets, **forms)
    return found


def contract(contract_id: str) -> Contract[Any]:
    """The contract with this id. Raises `UnknownContract`, with the nearest ids as a hint."""
    entry = entries().get(contract_id)
    if entry is None:
        raise _unknown(contract_id)
    return _module_contracts(entry.module)[contract_id]


def contracts() -> tuple[Contract[Any], ...]:
    """All contracts, sorted by id."""
    return tuple(contract(contract_id) for contract_id in sorted(entries()))


def build_index() -> list[dict[str, Any]]:
    """The index as it should be, from the models."""
    from medcontract.contracts.keys import index_entry

    found = [index_entry(c, module) for module in MODULES for c in _module_contracts(module).values()]
    return sorted(found, key=lambda item: str(item["id"]))


@cache
def _module_contracts(module: str) -> dict[str, Contract[Any]]:
    return {c.id: c for c in import_module(f"medcontract.contracts.{module}").CONTRACTS}


def _unknown(contract_id: str) -> UnknownContract:
    from medcontract.contracts.suggest import nearest

    guess = nearest(contract_id, entries())
    hint = f"did you mean '{guess}'? " if guess else ""
    return UnknownContract(f"no contract has the id '{contract_id}'", hint + "see: medcontract schema list")
