"""The keys and columns of contracts, read off their schemas."""

from __future__ import annotations

from functools import cache
from typing import Any

from medcontract.contracts.contract import Contract
from medcontract.contracts.json_schema import contract_schema, record_schema
from medcontract.layout import CellKind, Column
from medcontract.problems import Path


def index_entry(contract: Contract[Any], module: str) -> dict[str, Any]:
    """What the index holds of a contract."""
    whole = contract_schema(contract)
    columns = table_columns(contract)
    forms = _forms(record_schema(contract)) if contract.list_key else []
    spread = dict(contract.spread)
    return {
        "id": contract.id,
        "module": module,
        "list_key": contract.list_key,
        "header": sorted(set(whole["properties"]) - {"$schema"}),
        "header_required": sorted(whole["required"]),
        "record": sorted({name for form in forms for name in form["properties"]}),
        "forms": [sorted(form["required"]) for form in forms],
        "columns": [column.name for column in columns],
        "column_forms": [
            [name for key in form["required"] for name in spread.get(key, (key,))] for form in forms if columns
        ],
    }


def is_open(contract: Contract[Any]) -> bool:
    """Whether records may have other keys."""
    return any(form.get("additionalProperties") is not False for form in _forms(record_schema(contract)))


@cache
def table_columns(contract: Contract[Any]) -> tuple[Column, ...]:
    """The columns of a flat contract, in the order of its fields."""
    if not contract.flat:
        return ()
    forms = _forms(record_schema(contract))
    spread = dict(contract.spread)
    columns: list[Column] = []
    for name in dict.fromkeys(name for form in forms for name in form["properties"]):
        needed = all(name in form.get("required", ()) for form in forms)
        for position, column in enumerate(spread.get(name, (name,))):
            path: Path = (name, position) if name in spread else (name,)
            columns.append(Column(column, _cell_kind(forms, name), not needed, path))
    return tuple(columns)


def always_required(contract: Contract[Any]) -> tuple[str, ...]:
    """Columns that every form of a record needs."""
    return tuple(column.name for column in table_columns(contract) if not column.nullable)


def known_keys(schema: dict[str, Any], path: Path) -> list[str]:
    """The keys that the object at `path` may have."""
    nodes = [schema]
    for token in path:
        step: list[dict[str, Any]] = []
        for form in (f for node in nodes for f in _forms(node, schema)):
            if isinstance(token, int):
                step.append(form.get("items", {}))
            else:
                step.append(form.get("properties", {}).get(token, {}))
        nodes = step
    return list(dict.fromkeys(key for node in nodes for form in _forms(node, schema) for key in form.get("properties", ())))


def _forms(node: dict[str, Any], root: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The alternatives of a schema, references followed."""
    root = root or node
    if "$ref" in node:
        return _forms(root["$defs"][node["$ref"].rpartition("/")[2]], root)
    for word in ("oneOf", "anyOf"):
        if word in node:
            return [form for choice in node[word] for form in _forms(choice, root)]
    return [node]


def _cell_kind(forms: list[dict[str, Any]], name: str) -> CellKind:
    kinds = {
        kind
        for form in forms
        if name in form["properties"]
        for choice in _forms(form["properties"][name], forms[0])
        for kind in [choice.get("items", choice).get("type")]
    }
    if kinds & {"number", "integer"}:
        return "number"
    return "boolean" if "boolean" in kinds else "text"
