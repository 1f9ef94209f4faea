"""Hints about wrong values that depend on what the schema expects there, and on the rest of the record."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from medcontract.contracts.compile import known_keys, schemas_at, variants_of
from medcontract.contracts.messages import NUMBERS_BY_NAME
from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import Finding

_MOST_KEYS = 8
_NOTHING = lazy_pattern(r'null|"\s*(?:n/?a|nan|null|none|nil|unknown|error|failed|-|\?)?\s*"', re.IGNORECASE)
"""Values, as JSON, that mean that there is no answer."""
_NAMES_THAT_APPLY = "write a list of the names that apply: [name for name, value in data.items() if value]"
_WITHOUT_ANSWER = "if there is no answer, write the reason into 'error', without the answers"


def value_hint(finding: Finding, schema: dict[str, Any]) -> str | None:
    """The hint about a wrong value, instead of the one that it has."""
    if finding.code not in ("MC103", "MC104", "MC105", "MC106"):
        return finding.hint
    if _may_be_failed(finding, schema):
        return f"{finding.hint}; {_WITHOUT_ANSWER}" if finding.hint else _WITHOUT_ANSWER
    if finding.hint:
        return _names_hint(finding, schema)
    if finding.code == "MC103":
        return _object_hint(finding, schema) or _empty_text_hint(finding, schema)
    return _share_hint(finding, schema) if finding.code == "MC105" else None


def list_of_names_hint(finding: Finding, spread: Mapping[str, Sequence[str]]) -> str | None:
    """The hint about a list that has one item per name, which is written with the names as keys."""
    for field, names in spread.items():
        if finding.code == "MC101" and finding.field == field and not finding.hint and not finding.path:
            return f"write a list of {len(names)} numbers, in this order: {', '.join(names)}"
        as_object = finding.path == (field,) and finding.message.endswith("must be a list, not an object")
        if as_object or (finding.code == "MC102" and len(finding.path) == 1 and finding.path[0] in names):
            return f"write a list under '{field}', in this order: {', '.join(names)}"
    return finding.hint


def _names_hint(finding: Finding, schema: dict[str, Any]) -> str | None:
    """A list of names that is written as an object with a number or a boolean for each name."""
    if finding.hint != NUMBERS_BY_NAME:
        return finding.hint
    lists = [node for node in schemas_at(schema, finding.path) if node.get("type") == "array"]
    items = [item for node in lists for item in variants_of(node.get("items", {}), schema)]
    return _NAMES_THAT_APPLY if items and all(item.get("type") == "string" for item in items) else finding.hint


def _may_be_failed(finding: Finding, schema: dict[str, Any]) -> bool:
    """Whether an answer lacks a value, in a contract with records that say why there is no answer."""
    if len(finding.path) != 1 or not finding.value or not _NOTHING.fullmatch(finding.value):
        return False
    variants = variants_of(schema)
    name = finding.path[0]
    return len(variants) > 1 and any("error" in v.get("required", ()) and name not in v["required"] for v in variants)


def _object_hint(finding: Finding, schema: dict[str, Any]) -> str | None:
    """The keys of an object, where another value is."""
    keys = known_keys(schema, finding.path) if " must be an object, not " in finding.message else []
    if not keys:
        return None
    more = ", …" if len(keys) > _MOST_KEYS else ""
    return f"write an object {{ … }}; its keys are {', '.join(keys[:_MOST_KEYS])}{more}"


def _empty_text_hint(finding: Finding, schema: dict[str, Any]) -> str | None:
    """A string that may be empty, but not null."""
    texts = finding.value == "null" and all(node == {"type": "string"} for node in schemas_at(schema, finding.path))
    return 'if there is none, write an empty string: ""' if texts else None


def _share_hint(finding: Finding, schema: dict[str, Any]) -> str | None:
    """A negative number where one from 0 to 1 is expected."""
    nodes = [node for node in schemas_at(schema, finding.path) if node]
    in_range = nodes and all(node.get("minimum") == 0 and node.get("maximum") == 1 for node in nodes)
    is_item = finding.path and isinstance(finding.path[-1], int)
    return "if these are logits, apply softmax: expected numbers from 0 to 1" if in_range and is_item else None
