"""Repairs a file, limited to mistakes that have exactly one right repair, and validates the result.

::

    meanings  what a wrong name or value can only mean: extend its tables for other mistakes
    texts     JSON and CSV with these repairs; everything else stays as it is, byte for byte
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from medcontract.addresses import require_local
from medcontract.containers import CSV, JSON, JSONL, Container
from medcontract.contracts import registry
from medcontract.errors import CallError
from medcontract.fixing.meanings import Repair
from medcontract.fixing.texts import fixed_document, fixed_lines, fixed_table, fixed_values, with_commas
from medcontract.reading.source import Source, Unreadable
from medcontract.results.validation import FileReport
from medcontract.validation.dispatch import container_of, validate_source
from medcontract.validation.report import ProblemCollector

_WESTERN = re.compile("[\t\n\r -~áéíóúüÁÉÍÓÚÜäöÄÖß°–—‘’“”…€]|[ñÑ](?=[aeiouáéíóúüAEIOUÁÉÍÓÚÜ])|(?<=[0-9 ])µ(?=[glmU])")

MAX_BYTES = 50_000_000
_MOST_PROBLEMS = 100_000
_ROUNDS = 4
"""A repair may reveal other mistakes: those of a record are found once its list has the right name."""


class Fixed(NamedTuple):
    """A file before and after."""

    before: str
    """Its text; for bytes that are not UTF-8, as Windows-1252 or with replacement characters."""
    after: str
    repairs: list[Repair]
    report: FileReport
    """What is wrong with the repaired text."""


def fix_file(path: str, contract_id: str | None) -> Fixed:
    """Repair what has exactly one right repair. Raises `CallError` for a file that cannot be repaired in memory."""
    require_local(path, "cannot fix", "download the file first")
    raw = _read(path)
    container = _container(raw, path)
    text = _decoded(raw)
    if text is None or container is None:
        return Fixed("", "", [], _validated(raw, path, contract_id, _MOST_PROBLEMS))
    before, was_western = text
    repairs = [Repair("converted Windows-1252 to UTF-8")] if was_western else []
    after, found = _fixed_text(before, container, path, contract_id)
    return Fixed(before, after, repairs + found, _validated(after.encode(), path, contract_id, _MOST_PROBLEMS))


def _read(path: str) -> bytes:
    if path == "-":
        raise CallError("standard input cannot be fixed", "save it to a file")
    if path.lower().endswith(".gz"):
        raise CallError(f"{path}: a compressed file cannot be fixed", "decompress it first")
    try:
        if os.path.isfile(path) and os.path.getsize(path) > MAX_BYTES:
            raise CallError(f"{path}: larger than {MAX_BYTES:,} bytes, which is too large to fix")
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise CallError(f"cannot read {path}: {reason}") from None


def _decoded(raw: bytes) -> tuple[str, bool] | None:
    """Return the text, and whether it was Windows-1252 instead of UTF-8; None if the encoding is unknown.

    A byte means different letters in different encodings. It is certain only for letters that the Western and Central
    European ones share, for ñ before a vowel, and for µ in a unit.
    """
    try:
        return raw.decode("utf-8"), False
    except UnicodeDecodeError:
        pass
    try:
        text = raw.decode("cp1252")
    except UnicodeDecodeError:
        return None
    return (text, True) if not _WESTERN.sub("", text) else None


def _container(raw: bytes, path: str) -> Container | None:
    """The container of a text; None if it cannot be read, such as an empty file."""
    source = Source(raw, path)
    try:
        source.prepare()
    except Unreadable:
        return None
    container = container_of(source)
    if container not in (JSON, JSONL, CSV):
        raise CallError(f"{path}: only .json, .jsonl and .csv files can be fixed")
    return container


def _validated(raw: bytes, path: str, contract_id: str | None, keep: int) -> FileReport:
    return validate_source(Source(raw, path), contract_id, ProblemCollector(keep))


def _fixed_text(text: str, container: Container, path: str, contract_id: str | None) -> tuple[str, list[Repair]]:
    repairs: list[Repair] = []
    syntax = {JSON: fixed_document, JSONL: fixed_lines, CSV: with_commas}
    text, found = syntax[container](text)
    repairs += found
    decimal_commas = container is CSV and bool(found)
    for _ in range(_ROUNDS):
        report = _validated(text.encode(), path, contract_id, _MOST_PROBLEMS)
        if report.contract is None or (report.ok and not decimal_commas):
            break
        contract = registry.find(report.contract)
        if container is CSV:
            new, found = fixed_table(text, contract, decimal_commas)
        else:
            new, found = fixed_values(text, contract, report.problems, container is JSONL)
        if new == text:
            break
        text = new
        repairs += found
    return text, repairs
