"""Reads schemas from files, and compares sets of them by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from medcontract.contracts.registry import subschemas
from medcontract.errors import CallError
from medcontract.schemas.diff.compare import JUDGED, compare
from medcontract.schemas.diff.nodes import DEFINITIONS, Breaks, Change, find_reference, is_annotation, listed
from medcontract.schemas.json_schema import fault

_DIALECTS = ("draft/2020-12/schema", "draft-07/schema")
_KEYWORDS = JUDGED | DEFINITIONS | {"$ref", "anyOf", "oneOf", "allOf", "if", "then", "else"}
"""The keywords that `schema export` writes."""


class FileChange(NamedTuple):
    """A change and its file."""

    path: str
    pointer: str
    message: str
    breaks: Breaks


def compare_files(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[FileChange]:
    """Return what changed from one set of schemas to another, by name. Raises `CallError` for those nested too deeply.

    A new schema breaks no one, because no files exist for it yet. Removing a schema breaks its writers.
    """
    found: list[FileChange] = []
    for path in sorted(old.keys() | new.keys()):
        if path not in old:
            found.append(FileChange(path, "", "schema added", "none"))
        elif path not in new:
            found.append(FileChange(path, "", "schema removed", "writers"))
        else:
            found += [FileChange(path, c.pointer, c.message, c.breaks) for c in _compared(path, old[path], new[path])]
    return found


def _compared(path: str, old: Any, new: Any) -> list[Change]:
    try:
        return compare(old, new)
    except RecursionError:
        raise CallError(f"{path}: nested too deeply to be compared") from None


def parse(content: bytes, name: str) -> Any:
    """Return the schema in a file. Raises `CallError` if it does not contain one."""
    try:
        schema = json.loads(content.decode("utf-8-sig"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise CallError(f"{name}: not JSON") from None
    try:
        reason = refusal(schema)
    except RecursionError:
        reason = "nested too deeply to be compared"
    if reason:
        raise CallError(f"{name}: {reason}")
    return schema


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def refusal(schema: Any) -> str | None:
    """Return why a value is not a schema of the kind that `schema export` writes, or None."""
    dialect = schema.get("$schema") if isinstance(schema, dict) else None
    if isinstance(dialect, str) and not dialect.rstrip("#").endswith(_DIALECTS):
        return "'$schema' is not a supported draft of JSON Schema"
    reason = fault(schema)
    if reason:
        return reason
    if isinstance(schema, dict) and schema and not any(word in _KEYWORDS or word[:2] == "x-" for word in schema):
        return "not a JSON Schema: it has none of the keywords that 'schema export' writes"
    return next(filter(None, (_unsupported(schema, node) for node in subschemas(schema))), None)


def _unsupported(root: Any, node: dict[str, Any]) -> str | None:
    """Return what a node contains that published schemas do not, so that changes there could not be judged."""
    assertions = {word for word in node if not is_annotation(word) and word not in DEFINITIONS}
    if assertions - _KEYWORDS:
        return f"it uses {listed(sorted(assertions - _KEYWORDS))}, which 'schema export' does not write"
    if node is not root and "$id" in node:
        return "it contains a schema with its own '$id', which cannot be compared"
    if "$ref" in node and find_reference(root, node["$ref"]) is None:
        return f"the reference '{listed([node['$ref']])}' is not to a definition of this schema"
    if ("$ref" in node or "allOf" in node) and len(assertions) > 1:
        return "it uses '$ref' or 'allOf' next to other keywords, which 'schema export' does not write"
    if len(node.get("allOf", (1,))) > 1:
        return "it uses 'allOf' with several schemas, which 'schema export' does not write"
    if isinstance(node.get("items"), list):
        return "it uses 'items' with a list, which 'schema export' does not write"
    return None
