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
    forms = forms_of(record) if record else []
    spread = dict(contract.spread)
    columns = _columns(forms, spread) if contract.flat else []
    return {
        "id": contract.id,
        "module": module,
        "kind": contract.kind,
        "containers": contract.containers,
        "list_key": contract.list_key,
        "header": sorted(set(whole["properties"]) - {"$schema"}),
        "header_required": sorted(_required(whole)),
        "record": sorted({name for form in forms for name in form["properties"]}),
        "forms": [sorted(_required(form)) for form in forms],
        "column_forms": [[n for key in _required(form) for n in spread.get(key, (key,))] for form in forms if columns],
        "columns": columns,
        "spread": spread,
        "open": any(form.get("additionalProperties") is not False for form in forms),
        "published_rules": [rule.publish() for rule in contract.rules],
        "published_record_rules": [rule.publish() for rule in contract.record_rules],
        "schema": whole,
        "record_schema": record,
    }


def _required(schema: dict[str, Any]) -> list[str]:
    """The required keys of an object; Pydantic omits the keyword if there are none."""
    return list(schema.get("required", ()))


def _columns(forms: list[dict[str, Any]], spread: dict[str, tuple[str, ...]]) -> list[Column]:
    """The columns of flat records, in the order of their fields."""
    columns: list[Column] = []
    for name in dict.fromkeys(name for form in forms for name in form["properties"]):
        needed = all(name in _required(form) for form in forms)
        for position, column in enumerate(spread.get(name, (name,))):
            path: Path = (name, position) if name in spread else (name,)
            columns.append(Column(column, _cell_kind(forms, name), not needed, path))
    return columns


def known_keys(schema: dict[str, Any], path: Path) -> list[str]:
    """The keys that the object at `path` may have."""
    nodes = [schema]
    for token in path:
        forms = [form for node in nodes for form in forms_of(node, schema)]
        if isinstance(token, int):
            nodes = [form.get("items", {}) for form in forms]
        else:
            nodes = [form.get("properties", {}).get(token, {}) for form in forms]
    keys = (key for node in nodes for form in forms_of(node, schema) for key in form.get("properties", ()))
    return list(dict.fromkeys(keys))


def all_keys(schema: dict[str, Any]) -> frozenset[str]:
    """All keys that any object in a schema may have."""
    objects = [schema, *schema.get("$defs", {}).values()]
    return frozenset(key for node in objects for key in node.get("properties", ()))


def forms_of(node: dict[str, Any], root: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The alternatives of a schema, with references resolved."""
    root = root or node
    if "$ref" in node:
        return forms_of(root["$defs"][node["$ref"].rpartition("/")[2]], root)
    for word in ("oneOf", "anyOf"):
        if word in node:
            return [form for choice in node[word] for form in forms_of(choice, root)]
    return [node]


def _cell_kind(forms: list[dict[str, Any]], name: str) -> CellKind:
    kinds = {
        choice.get("items", choice).get("type")
        for form in forms
        if name in form["properties"]
        for choice in forms_of(form["properties"][name])
    }
    if kinds & {"number", "integer"}:
        return "number"
    return "boolean" if "boolean" in kinds else "text"
