"""One schema file: read with all care that data files get, and blamed at its line and column."""

from __future__ import annotations

import os
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from medcontract.errors import CallError
from medcontract.foreign.drafts import LATEST, SUPPORTED, Draft, draft_named
from medcontract.problems import Path, pointer
from medcontract.reading.limits import MAX_RECORD
from medcontract.reading.locate import Locator
from medcontract.reading.places import places
from medcontract.reading.scan import Broken, scan
from medcontract.reading.source import Source, Unreadable

_OLD = ("draft-00", "draft-01", "draft-02", "draft-03", "draft-04", "draft-05", "draft-06")


class Document(NamedTuple):
    """A schema file, or a meta-schema that comes with the library."""

    name: str
    uri: str
    contents: Any
    source: Source | None = None
    """None for meta-schemas, which are known to be good."""


def read_document(path: str) -> Document:
    """A schema file. Raises `CallError` when it is not there or not JSON."""
    source = Source(path)
    try:
        source.prepare()
        raw = _raw(source)
    except Unreadable as unreadable:
        raise CallError(f"schema {path}: {unreadable.finding.message}", unreadable.finding.hint) from None
    if len(raw) > MAX_RECORD:
        raise CallError(
            f"schema {path}: larger than {MAX_RECORD >> 20} MiB", "split it into files that refer to each other"
        )
    document = Document(path, FilePath(os.path.abspath(path)).as_uri(), None, source)
    try:
        scanned = scan(raw)
    except Broken as broken:
        raise _blame(document, source.start + broken.offset, f"not JSON: {broken.message}", broken.hint) from None
    if scanned.faults:
        fault = scanned.faults[0]
        raise _blame(document, source.start + fault.offset, fault.message, fault.hint)
    if not isinstance(scanned.value, dict | bool):
        raise wrong_schema(document, (), "a JSON Schema is an object, true or false")
    return document._replace(contents=scanned.value)


def _raw(source: Source) -> bytes:
    return source.read(source.start, MAX_RECORD + 1)


def _blame(document: Document, offset: int, message: str, hint: str | None) -> CallError:
    assert document.source is not None  # noqa: S101  # meta-schemas are never to blame
    place = places(document.source, [offset])[offset]
    return CallError(f"schema {document.name}:{place.line}:{place.column}: {message}", hint)


def wrong_schema(document: Document, path: Path, message: str, hint: str | None = None) -> CallError:
    """What is wrong at this path of a schema file, ready to be raised."""
    where = f" (at {pointer(path)})" if path else ""
    if document.source is None:
        return CallError(f"schema {document.name}: {message}{where}", hint)
    offset = document.source.start + Locator(_raw(document.source)).find(path)[0]
    return _blame(document, offset, f"{message}{where}", hint)


def draft_of(document: Document, schema: Any, path: Path = (), default: Draft = LATEST) -> Draft:
    """The draft of a schema, from its `$schema`. Raises `CallError` for one that is not read here."""
    declared = schema.get("$schema") if isinstance(schema, dict) else None
    if declared is None:
        return default
    place = (*path, "$schema")
    if not isinstance(declared, str):
        raise wrong_schema(document, place, "'$schema' must be a string", f"supported: {SUPPORTED}")
    draft = draft_named(declared)
    if draft is not None:
        return draft
    old = next((name for name in _OLD if f"json-schema.org/{name}/" in declared), None)
    if old:
        raise wrong_schema(document, place, f"{old} is not supported", f"supported: {SUPPORTED}")
    raise wrong_schema(document, place, "'$schema' names no draft that is known here", f"supported: {SUPPORTED}")
