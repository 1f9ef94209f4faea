"""Compiles contracts from their models and schemas: the content of `contracts/compiled.json`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from medcontract.contracts.registry import TRACKS, variants_of
from medcontract.problems import Path
from medcontract.schemas.json_schema import bare, contract_schema, record_schema
from medcontract.types import CellKind, Column, JsonObject, Schema

if TYPE_CHECKING:
    from medcontract.contracts.contract import AnyContract

MODULES = (*(f"medcontract.contracts.{track}" for track in TRACKS), "medcontract.schemas.result_models")
"""The modules with the built-in contracts."""


def build_index() -> list[JsonObject]:
    """Return the content of `compiled.json`, from the models."""
    found = [compile_contract(contract, name) for name in MODULES for contract in import_module(name).CONTRACTS]
    return sorted(found, key=lambda item: str(item["id"]))


def compile_contract(contract: AnyContract, module: str) -> JsonObject:
    """Return the contract as stored in `compiled.json`."""
    whole = bare(contract_schema(contract))
    record = bare(record_schema(contract)) if contract.list_key else {}
    variants = variants_of(record) if record else []
    spread = dict(contract.spread)
    columns = _columns(variants, spread) if contract.flat else []
    return {
        "id": contract.id,
        "module": module,
        "kind": contract.kind,
        "containers": contract.containers,
        "list_key": contract.list_key,
        "header": sorted(set(whole["properties"]) - {"$schema"}),
        "header_required": sorted(_required(whole)),
        "record": sorted({name for variant in variants for name in variant["properties"]}),
        "forms": [sorted(_required(variant)) for variant in variants],
        "column_forms": [_required_columns(variant, spread) for variant in variants if columns],
        "columns": columns,
        "spread": spread,
        "open": any(variant.get("additionalProperties") is not False for variant in variants),
        "published_rules": [rule.publish() for rule in contract.rules],
        "published_record_rules": [rule.publish() for rule in contract.record_rules],
        "schema": whole,
        "record_schema": record,
    }


def _required(schema: Schema) -> list[str]:
    """The required keys of an object; Pydantic omits the keyword if there are none."""
    return list(schema.get("required", ()))


def _required_columns(variant: Schema, spread: dict[str, tuple[str, ...]]) -> list[str]:
    return [column for key in _required(variant) for column in spread.get(key, (key,))]


def _columns(variants: list[Schema], spread: dict[str, tuple[str, ...]]) -> list[Column]:
    """The columns of flat records, in the order of their fields."""
    columns: list[Column] = []
    for name in dict.fromkeys(name for variant in variants for name in variant["properties"]):
        needed = all(name in _required(variant) for variant in variants)
        for position, column in enumerate(spread.get(name, (name,))):
            path: Path = (name, position) if name in spread else (name,)
            columns.append(Column(column, _cell_kind(variants, name), not needed, path))
    return columns


def _cell_kind(variants: list[Schema], name: str) -> CellKind:
    kinds = {
        choice.get("items", choice).get("type")
        for variant in variants
        if name in variant["properties"]
        for choice in variants_of(variant["properties"][name])
    }
    if kinds & {"number", "integer"}:
        return "number"
    return "boolean" if "boolean" in kinds else "text"
