"""Public functions about contracts as such."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from medcontract.definitions import json_schema, registry
from medcontract.definitions.contract import Contract
from medcontract.errors import CallError


def contracts() -> tuple[Contract[Any], ...]:
    """All contracts, sorted by id."""
    return registry.contracts()


def schema(contract_id: str, *, record: bool = False) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a contract, or of one record of a collection."""
    contract = registry.contract(contract_id)
    if record and contract.list_key is None:
        raise CallError(f"{contract_id} is a document: it has no records")
    return deepcopy(json_schema.record_schema(contract) if record else json_schema.contract_schema(contract))
