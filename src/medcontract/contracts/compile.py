"""Compiles contracts from their models and schemas; finds the keys in schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from medcontract.problems import Path
from medcontract.types import CellKind, Column

if TYPE_CHECKING:
    from medcontract.contracts.contract import Contract


def compile_contract(contract: Contract[Any], module: str) -> dict[str, Any]:
    """The contract as stored in `compiled.json`."""
    from medcontract.schemas.json_schema import bare, contract_schema, record_schema

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


def _required(schema: dict[str, Any]) -> list[str]:
    """The required keys of an object; Pydantic omits the keyword if there are none."""
    return list(schema.get("required", ()))


def _required_columns(variant: dict[str, Any], spread: dict[str, tuple[str, ...]]) -> list[str]:
    return [column for key in _required(variant) for column in spread.get(key, (key,))]


def _columns(variants: list[dict[str, Any]], spread: dict[str, tuple[str, ...]]) -> list[Column]:
    """The columns of flat records, in the order of their fields."""
    columns: list[Column] = []
    for name in dict.fromkeys(name for variant in variants for name in variant["properties"]):
        needed = all(name in _required(variant) for variant in variants)
        for position, column in enumerate(spread.get(name, (name,))):
            path: Path = (name, position) if name in spread else (name,)
            columns.append(Column(column, _cell_kind(variants, name), not needed, path))
    return columns


def known_keys(schema: dict[str, Any], path: Path) -> list[str]:
    """The keys that the object at `path` may have."""
    return list(dict.fromkeys(key for node in schemas_at(schema, path) for key in node.get("properties", ())))


def schemas_at(schema: dict[str, Any], path: Path) -> list[dict[str, Any]]:
    """The schemas of the value at `path`: one for each alternative. Empty ones if it may not be there."""
    nodes = [schema]
    for token in path:
        variants = [variant for node in nodes for variant in variants_of(node, schema)]
        if isinstance(token, int):
            nodes = [variant.get("items", {}) for variant in variants]
        else:
            nodes = [variant.get("properties", {}).get(token, {}) for variant in variants]
    return [variant for node in nodes for variant in variants_of(node, schema)]


def all_keys(schema: dict[str, Any]) -> frozenset[str]:
    """All keys that any object in a schema may have."""
    objects = [schema, *schema.get("$defs", {}).values()]
    return frozenset(key for node in objects for key in node.get("properties", ()))


def variants_of(node: dict[str, Any], root: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The alternatives of a schema, with references resolved."""
    root = root or node
    if "$ref" in node:
        return variants_of(root["$defs"][node["$ref"].rpartition("/")[2]], root)
    for word in ("oneOf", "anyOf"):
        if word in node:
            return [variant for choice in node[word] for variant in variants_of(choice, root)]
    return [node]


def _cell_kind(variants: list[dict[str, Any]], name: str) -> CellKind:
    kinds = {
        choice.get("items", choice).get("type")
        for variant in variants
        if name in variant["properties"]
        for choice in variants_of(variant["properties"][name])
    }
    if kinds & {"number", "integer"}:
        return "number"
    return "boolean" if "boolean" in kinds else "text"
