"""One schema file, read with the same checks as data files; errors have a line and column."""

from __future__ import annotations

import os
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from medcontract.errors import CallError
from medcontract.jsonschema_files.drafts import LATEST, SUPPORTED, Draft, draft_named
from medcontract.problems import Path, pointer
from medcontract.reading.json_locator import Locator
from medcontract.reading.json_scanner import Broken, scan
from medcontract.reading.limits import MAX_RECORD
from medcontract.reading.positions import find_positions
from medcontract.reading.source import Source, Unreadable


class SchemaFile(NamedTuple):
    """A schema file."""

    uri: str
    id: str
    """Its `$id`, or its URI."""
    contents: Any
    source: Source

    def error(self, path: Path, message: str, hint: str | None = None) -> CallError:
        """An exception about the value at this path."""
        message += f" (at {pointer(path)})" if path else ""
        return _error_at(self.source, Locator(_bytes(self.source)).find(path)[0], message, hint)


def read_schema(path: str) -> SchemaFile:
    """Read a schema file. Raises `CallError` if it does not exist or is not JSON."""
    source = Source(path)
    try:
        source.prepare()
        raw = _bytes(source)
    except Unreadable as error:
        raise CallError(f"schema {path}: {error.finding.message}", error.finding.hint) from None
    if len(raw) > MAX_RECORD:
        message = f"schema {path}: larger than {MAX_RECORD >> 20} MiB"
        raise CallError(message, "split it into files that refer to each other")
    try:
        scanned = scan(raw)
    except Broken as broken:
        raise _error_at(source, broken.offset, f"not JSON: {broken.message}", broken.hint) from None
    for fault in scanned.faults:
        raise _error_at(source, fault.offset, fault.message, fault.hint)
    uri = FilePath(os.path.abspath(path)).as_uri()
    identity = scanned.value.get("$id") if isinstance(scanned.value, dict) else None
    file = SchemaFile(uri, identity if isinstance(identity, str) else uri, scanned.value, source)
    if not isinstance(scanned.value, dict | bool):
        raise file.error((), "expected an object, true or false")
    return file


def _bytes(source: Source) -> bytes:
    return source.read(source.start, MAX_RECORD + 1)


def _error_at(source: Source, offset: int, message: str, hint: str | None) -> CallError:
    ((line, column),) = find_positions(source, [source.start + offset])[0].values()
    return CallError(f"schema {source.name}:{line}:{column}: {message}", hint)


def draft_of(file: SchemaFile, schema: Any, path: Path = (), default: Draft = LATEST) -> Draft:
    """The draft of a schema, from its `$schema`. Raises `CallError` if it is not supported."""
    declared = schema.get("$schema") if isinstance(schema, dict) else None
    draft = default if declared is None else draft_named(declared) if isinstance(declared, str) else None
    if draft is None:
        raise file.error((*path, "$schema"), "'$schema' is not a supported draft", SUPPORTED)
    return draft
