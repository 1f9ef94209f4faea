"""Reads schemas from files, and compares sets of them by name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from medcontract.errors import CallError
from medcontract.schemas.diff.change import Breaks, Change, listed
from medcontract.schemas.diff.node import ANNOTATIONS, DEFINITIONS, find_reference, is_annotation, is_own
from medcontract.schemas.diff.walk import compare
from medcontract.schemas.json_schema import fault

_DIALECTS = ("draft/2020-12/schema", "draft/2019-09/schema", "draft-07/schema", "draft-06/schema")
_SHARED = ANNOTATIONS - {"$id", "$comment"}
"""Keywords that are as common in data as in schemas: they alone do not make a schema."""
_DATA = frozenset({"const", "enum", "default", "examples"})
_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies", *DEFINITIONS})
"""Keywords whose keys are names."""


class FileChange(NamedTuple):
    """A change and its file."""

    path: str
    pointer: str
    message: str
    breaks: Breaks


def compare_files(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[FileChange]:
    """What changed from one set of schemas to another, by name. Raises `CallError` for those nested too deeply.

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
    """The schema in a file. Raises `CallError` if it does not contain one."""
    try:
        schema = json.loads(content.decode("utf-8-sig"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise CallError(f"{name}: not JSON") from None
    try:
        reason = next(_faults(schema), None)
    except RecursionError:
        reason = "nested too deeply to be compared"
    if reason:
        raise CallError(f"{name}: {reason}")
    return schema


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _faults(schema: Any) -> Iterator[str]:
    """Why a value is not a JSON Schema that can be compared."""
    from jsonschema import Draft201909Validator

    if isinstance(schema, dict):
        dialect = schema.get("$schema")
        if isinstance(dialect, str) and not dialect.rstrip("#").endswith(_DIALECTS):
            yield "'$schema' is not a supported draft of JSON Schema"
        known = {*Draft201909Validator.VALIDATORS, "prefixItems", "dependencies", *DEFINITIONS}
        if schema and not any(is_annotation(word) or word in known for word in schema.keys() - _SHARED):
            yield "not a JSON Schema: it has none of its keywords"
    yield from filter(None, [fault(schema, schema)])
    yield from _obstacles(schema, schema, {""})


def _obstacles(root: Any, schema: Any, checked: set[str]) -> Iterator[str]:
    """Refuse references that cannot be resolved, or in an unsupported way: changes there would be missed."""
    if not isinstance(schema, dict):
        return
    reference = schema.get("$ref")
    if isinstance(reference, str) and is_own(root, reference):
        found = find_reference(root, reference)
        if found is None:
            yield f"the reference '{listed([reference])}' cannot be resolved"
        elif found[0] not in checked:  # it may be where no schema is expected
            checked.add(found[0])
            yield from filter(None, [fault(found[1], root)])
            yield from _obstacles(root, found[1], checked)
    if schema is not root and isinstance(schema.get("$id"), str):
        yield "it contains a schema with its own '$id', which cannot be compared"
    for word in ("$dynamicRef", "$recursiveRef"):
        if isinstance(schema.get(word), str):
            yield f"it uses '{word}', which cannot be compared"
    for inner in _inside(schema):
        yield from _obstacles(root, inner, checked)


def _inside(schema: dict[str, Any]) -> Iterator[Any]:
    """All direct subschemas."""
    for word, value in schema.items():
        if word in _DATA or word.startswith("x-"):
            continue
        if isinstance(value, list) or (word in _NAMED and isinstance(value, dict)):
            yield from value.values() if isinstance(value, dict) else value
        else:
            yield value
