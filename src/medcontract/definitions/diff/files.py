"""Schemas from files, and many of them compared by name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from medcontract.definitions.diff.change import Breaks
from medcontract.definitions.diff.node import ANNOTATIONS, DEFINITIONS, find_reference, is_annotation, is_own
from medcontract.definitions.diff.walk import DECISIVE, compare
from medcontract.definitions.json_schema import fault
from medcontract.errors import CallError

_DIALECTS = ("draft/2020-12/schema", "draft/2019-09/schema", "draft-07/schema", "draft-06/schema")


class FileChange(NamedTuple):
    """One change, and the file that it is in."""

    path: str
    pointer: str
    message: str
    breaks: Breaks


def compare_files(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[FileChange]:
    """What changed from one set of schemas to another, by name. Raises `CallError` for those that are nested too deep.

    A schema that is new breaks no one: nobody has files of it. One that is gone leaves its writers without a reader.
    """
    found: list[FileChange] = []
    for path in sorted(old.keys() | new.keys()):
        if path not in old:
            found.append(FileChange(path, "", "this schema is new", "none"))
        elif path not in new:
            found.append(FileChange(path, "", "this schema is gone", "writers"))
        else:
            found += [FileChange(path, c.pointer, c.message, c.breaks) for c in _compared(path, old[path], new[path])]
    return found


def _compared(path: str, old: Any, new: Any) -> Any:
    try:
        return compare(old, new)
    except RecursionError:
        raise CallError(f"{path}: nested too deep to be compared") from None


def parse(content: bytes, name: str) -> Any:
    """The schema in a file. Raises `CallError` when it holds none."""
    try:
        schema = json.loads(content.decode("utf-8-sig"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise CallError(f"{name}: not JSON") from None
    try:
        reason = _no_schema(schema)
    except RecursionError:
        reason = "nested too deep to be compared"
    if reason:
        raise CallError(f"{name}: {reason}")
    return schema


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _no_schema(schema: Any) -> str | None:
    """Why a value is no JSON Schema that can be compared."""
    if not isinstance(schema, dict):
        return fault(schema)
    dialect = schema.get("$schema")
    if isinstance(dialect, str) and not dialect.rstrip("#").endswith(_DIALECTS):
        return "its '$schema' names no draft of JSON Schema that is known here"
    if schema and not any(is_annotation(word) or word in DECISIVE | DEFINITIONS for word in schema.keys() - _SHARED):
        return "no JSON Schema: it has none of its keywords"
    faults = (fault(part, schema) for part in (schema, *dict(_referred(schema, schema)).values()))
    return next(filter(None, (*faults, *_obstacles(schema, schema))), None)


_SHARED = ANNOTATIONS - {"$id", "$comment"}
"""Names that are as common in data as in schemas: they alone make none."""


def _referred(root: Any, value: Any) -> Iterator[tuple[str, Any]]:
    """What references lead to, by place: it may stand where no schema is looked for, and has to be one all the same."""
    if isinstance(value, dict):
        found = find_reference(root, value.get("$ref"))
        if found is not None:
            yield found
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inside:
        yield from _referred(root, item)


_DATA = frozenset({"const", "enum", "default", "examples"})


def _obstacles(root: Any, value: Any) -> Iterator[str]:
    """References that lead to a part of the schema by ways that are not known here: changes there would be missed."""
    if isinstance(value, list):
        for item in value:
            yield from _obstacles(root, item)
    if not isinstance(value, dict):
        return
    reference = value.get("$ref")
    if isinstance(reference, str) and is_own(root, reference) and find_reference(root, reference) is None:
        yield f"its reference to '{reference}' cannot be followed"
    if value is not root and isinstance(value.get("$id"), str):
        yield "a schema with an '$id' of its own stands in it: cannot be compared"
    for word in ("$dynamicRef", "$recursiveRef"):
        if isinstance(value.get(word), str):
            yield f"it uses '{word}': cannot be compared"
    for word, inner in value.items():
        if word not in _DATA and not word.startswith("x-"):
            yield from _obstacles(root, inner)
