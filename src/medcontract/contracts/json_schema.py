"""JSON Schemas (draft 2020-12) of the contracts, derived from their models."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from medcontract.contracts.contract import Contract

DIALECT = "https://json-schema.org/draft/2020-12/schema"
RULES_KEYWORD = "x-medcontract-rules"


@cache
def contract_schema(contract: Contract[Any]) -> dict[str, Any]:
    """The schema of the contract's `.json` form, with its rules."""
    schema = _tidy(contract.model.model_json_schema(by_alias=True))
    rules = [rule.publish() for rule in contract.rules]
    if contract.list_key:
        rules += [{**rule.publish(), "within": contract.list_key} for rule in contract.record_rules]
    return _dressed(schema, contract, contract.urn, contract.title, rules)


@cache
def record_schema(contract: Contract[Any]) -> dict[str, Any]:
    """The schema of one record of a collection, with the rules about it."""
    schema = _tidy(contract.record_adapter().json_schema(by_alias=True))
    rules = [rule.publish() for rule in contract.record_rules]
    return _dressed(schema, contract, contract.urn + ":record", contract.title + " (one record)", rules)


def _dressed(
    schema: dict[str, Any], contract: Contract[Any], urn: str, title: str, rules: list[dict[str, Any]]
) -> dict[str, Any]:
    dressed = {"$schema": DIALECT, "$id": urn, "title": f"{contract.id}: {title}", **schema}
    if rules:
        dressed[RULES_KEYWORD] = rules
    return dressed


def _tidy(schema: Any, name_map: bool = False) -> Any:
    """Without the titles that Pydantic makes up from names. `name_map`: the keys are names, not keywords."""
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _tidy(value, name_map=not name_map and key in ("properties", "$defs"))
        for key, value in schema.items()
        if name_map or not (key == "title" and isinstance(value, str))
    }


def text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


def published(contracts: Iterable[Contract[Any]]) -> dict[str, str]:
    """The files of the published schemas: path to content."""
    files: dict[str, str] = {}
    for contract in contracts:
        files[f"{contract.id}/v{contract.version}.json"] = text(contract_schema(contract))
        if contract.list_key:
            files[f"{contract.id}/v{contract.version}.record.json"] = text(record_schema(contract))
    return files


def unsound(content: str) -> str | None:
    """Why a text is no valid JSON Schema, or None."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(json.loads(content))
    except ValueError:
        return "not JSON"
    except SchemaError as error:
        return f"fails its meta-schema: {error.message}"
    return None
