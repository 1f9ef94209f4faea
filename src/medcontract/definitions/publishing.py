"""The files of an export: a schema for each contract, and an index of them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any, Literal
from urllib.parse import urlsplit

from medcontract.definitions.contract import Contract
from medcontract.definitions.draft07 import to_draft07
from medcontract.definitions.json_schema import contract_schema, fault, record_schema, text
from medcontract.errors import CallError

Draft = Literal["2020-12", "draft-07"]
DRAFTS: tuple[Draft, ...] = ("2020-12", "draft-07")
INDEX = "index.json"


def file_name(contract: Contract[Any], record: bool = False, draft: Draft = "2020-12") -> str:
    """Where a schema stands in an export. The drafts differ in name, so that both can live in one folder."""
    part = ".record" if record else ""
    return f"{contract.id}/v{contract.version}{part}{'' if draft == '2020-12' else '.' + draft}.json"


def schema_of(
    contract: Contract[Any], record: bool = False, draft: Draft = "2020-12", base_url: str | None = None
) -> dict[str, Any]:
    """The schema in one draft. `$id` differs between drafts: a validator that loads both keeps them apart."""
    schema = record_schema(contract) if record else contract_schema(contract)
    if draft == "draft-07":
        schema = {**to_draft07(schema), "$id": f"{schema['$id']}:{draft}"}
    if base_url is not None:
        schema = {**schema, "$id": f"{sound_base(base_url)}/{file_name(contract, record, draft)}"}
    return schema


def published(
    contracts: Iterable[Contract[Any]], draft: Draft = "2020-12", base_url: str | None = None
) -> dict[str, str]:
    """The schemas of contracts: path to content."""
    files: dict[str, str] = {}
    for contract in contracts:
        for record in (False, True) if contract.list_key else (False,):
            files[file_name(contract, record, draft)] = text(schema_of(contract, record, draft, base_url))
    return files


def export(
    contracts: Iterable[Contract[Any]], medcontract_version: str, draft: Draft = "2020-12", base_url: str | None = None
) -> dict[str, str]:
    """The schemas of contracts and their index: path to content. The same contracts give the same bytes."""
    chosen = sorted({contract.id: contract for contract in contracts}.values(), key=lambda contract: contract.id)
    files = published(chosen, draft, base_url)
    index = {
        "medcontract_version": medcontract_version,
        "draft": draft,
        "schemas": [_entry(contract, draft, files) for contract in chosen],
    }
    return {**files, INDEX: text(index)}


def _entry(contract: Contract[Any], draft: Draft, files: dict[str, str]) -> dict[str, Any]:
    path = file_name(contract, draft=draft)
    record_path = file_name(contract, record=True, draft=draft) if contract.list_key else None
    return {
        "id": contract.id,
        "version": contract.version,
        "kind": contract.kind,
        "containers": contract.containers,
        "title": contract.title,
        "path": path,
        "record_path": record_path,
        "sha256": _sha256(files[path]),
        "record_sha256": record_path and _sha256(files[record_path]),
    }


def _sha256(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


_BASE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[A-Za-z0-9._~!$&'()*+,;=:/\[\]-]|%[0-9A-Fa-f]{2})+\Z")
"""A URL with a host, and without user, query and fragment."""


def sound_base(url: str) -> str:
    """A base URL without its last slash. Raises `CallError` when file names cannot be put after it."""
    try:
        parts = urlsplit(url)
        sound = bool(_BASE.match(url)) and bool(parts.hostname or parts.scheme == "file") and parts.port != 0
    except ValueError:
        sound = False
    if not sound or {".", ".."} & set(url.split("/")):
        raise CallError(
            f"'{url}' is no base URL", "give scheme, host and path and nothing else: https://example.org/schemas"
        )
    return url.rstrip("/")


def wrong_files(there: dict[str, str | None], medcontract_version: str, base_url: str | None = None) -> list[str]:
    """What is wrong with a folder of schemas, given its files (None: cannot be read), one line each.

    A folder holds the schemas of either draft, or of both: of a draft that is there at all, every file has to be.
    The index is that of the last export, so it may be of either draft that is there.
    """
    exports = {draft: export(_all(), medcontract_version, draft, base_url) for draft in DRAFTS}
    present = [draft for draft in DRAFTS if (exports[draft].keys() - {INDEX}) & there.keys()] or ["2020-12"]
    wanted = {name: content for draft in present for name, content in exports[draft].items()}
    wanted[INDEX] = exports[_draft_of_index(there.get(INDEX), present)][INDEX]
    found = [line for name, content in wanted.items() for line in _wrong_file(name, content, there)]
    return found + [f"{name}: of no contract" for name in sorted(there.keys() - wanted.keys())]


def _all() -> tuple[Contract[Any], ...]:
    from medcontract.definitions.registry import contracts

    return contracts()


def _draft_of_index(content: str | None, present: list[Any]) -> Draft:
    drafts = [draft for draft in present if f'"draft": "{draft}"' in (content or "")]
    found: Draft = (drafts or present)[0]
    return found


def _wrong_file(name: str, content: str, there: dict[str, str | None]) -> Iterable[str]:
    if name not in there:
        yield f"{name}: missing"
        return
    found = there[name]
    if found is None:
        yield f"{name}: cannot be read"
        return
    if found != content:
        yield f"{name}: stale, not what today's models give"
    reason = unsound(found) if name != INDEX else None
    if reason:
        yield f"{name}: {reason}"


def unsound(content: str) -> str | None:
    """Why a text is no valid JSON Schema of the draft that it names, or None."""
    try:
        return fault(json.loads(content))
    except (ValueError, RecursionError):
        return "not JSON"
