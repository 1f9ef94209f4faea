"""Published schemas: a file for each contract in one of two drafts, and their index; written, checked, compared."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from pydantic import ValidationError

from medcontract._version import __version__
from medcontract.addresses import require_local
from medcontract.atomic_write import write_file
from medcontract.contracts import registry
from medcontract.contracts.contract import AnyContract
from medcontract.contracts.registry import rewritten
from medcontract.errors import LIST_CONTRACTS, CallError, command, words
from medcontract.problems import pointer
from medcontract.reading.folders import list_files
from medcontract.results.schemas import Draft, SchemaCheck, SchemaDiff, SchemaExport, SchemaFault
from medcontract.schemas.diff import compare_files
from medcontract.schemas.diff_nodes import parse
from medcontract.schemas.json_schema import compile_contract, contract_schema, fault, record_schema, text
from medcontract.types import AnySchema, Column, JsonObject, Schema

DRAFTS: tuple[Draft, ...] = ("2020-12", "draft-07")
INDEX = "index.json"


def file_name(contract: AnyContract, record: bool = False, draft: Draft = "2020-12") -> str:
    """Return the path of a schema in an export. The name includes the draft, so that one folder can contain both."""
    part = ".record" if record else ""
    return f"{contract.id}/v{contract.version}{part}{'' if draft == '2020-12' else '.' + draft}.json"


def schema_of(
    contract: AnyContract, record: bool = False, draft: Draft = "2020-12", base_url: str | None = None
) -> Schema:
    """Return the schema in one draft. `$id` differs between drafts, so that a validator can load both."""
    schema = rewritten(record_schema(contract) if record else contract_schema(contract), _lone_reference)
    if draft == "draft-07":
        schema = rewritten(schema, _in_draft07)
        schema |= {"$schema": "http://json-schema.org/draft-07/schema#", "$id": f"{schema['$id']}:{draft}"}
    if base_url is not None:
        schema = {**schema, "$id": f"{checked_base_url(base_url)}/{file_name(contract, record, draft)}"}
    return schema


def schema_by_id(contract_id: str, record: bool = False, draft: Draft = "2020-12") -> Schema:
    """Return the schema of a contract. Raises `CallError` for a record of a document."""
    found = registry.contract(contract_id)
    if record and found.list_key is None:
        raise CallError(f"{contract_id} is a document: it has no records")
    return schema_of(found, record, draft)


def _lone_reference(node: Schema) -> Schema:
    """Draft-07 ignores what is next to `$ref`; from a description there, generators of types make copies of a type."""
    if "$ref" not in node or len(node) == 1:
        return node
    return {word: value for word, value in node.items() if word != "$ref"} | {"allOf": [{"$ref": node["$ref"]}]}


def _in_draft07(node: Schema) -> Schema:
    """Rename the only keywords of generated schemas that draft-07 does not have."""
    node = {"definitions" if word == "$defs" else word: value for word, value in node.items() if word != "deprecated"}
    if "$ref" in node:
        node["$ref"] = node["$ref"].replace("#/$defs/", "#/definitions/", 1)
    return node


def published(
    contracts: Iterable[AnyContract], draft: Draft = "2020-12", base_url: str | None = None
) -> dict[str, str]:
    """Return the schemas of contracts: path to content."""
    files: dict[str, str] = {}
    for contract in contracts:
        for record in (False, True) if contract.list_key else (False,):
            files[file_name(contract, record, draft)] = text(schema_of(contract, record, draft, base_url))
    return files


def export(
    contracts: Iterable[AnyContract],
    draft: Draft = "2020-12",
    base_url: str | None = None,
    others: Iterable[JsonObject] = (),
) -> dict[str, str]:
    """Return the schemas of contracts and their index: path to content. The same contracts give the same bytes.

    `others`: index entries of schemas that already exist.
    """
    chosen = {contract.id: contract for contract in contracts}
    files = published(chosen.values(), draft, base_url)
    entries = {entry["id"]: entry for entry in others}
    entries |= {contract.id: _entry(contract, draft, files) for contract in chosen.values()}
    index = {
        "medcontract_version": __version__,
        "draft": draft,
        "schemas": [entries[contract_id] for contract_id in sorted(entries)],
    }
    return {**files, INDEX: text(index)}


def _entry(contract: AnyContract, draft: Draft, files: dict[str, str]) -> JsonObject:
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
        "list_key": contract.list_key,
        "reference_list": contract.reference_list,
        "stands_in_for": [{"contract": s.contract, "where": dict(s.where)} for s in contract.stands_in_for],
        "columns": _columns(contract),
    }


def _columns(contract: AnyContract) -> list[JsonObject] | None:
    """Maps table columns to values of a record; None for contracts without a table form."""
    if not contract.flat:
        return None
    columns: list[Column] = compile_contract(contract, contract.model.__module__)["columns"]
    return [
        {"column": column.name, "pointer": pointer(column.path), "type": column.kind, "nullable": column.nullable}
        for column in columns
    ]


def _sha256(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


_BASE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[A-Za-z0-9._~!$&'()*+,;=:/\[\]-]|%[0-9A-Fa-f]{2})+\Z")
"""A URL with a host, and without user, query or fragment."""


def checked_base_url(url: str) -> str:
    """Return a base URL without its trailing slash. Raises `CallError` if file names cannot be appended to it."""
    try:
        parts = urlsplit(url)
        valid = bool(_BASE.match(url)) and bool(parts.hostname or parts.scheme == "file") and parts.port != 0
    except ValueError:
        valid = False
    if not valid or {".", ".."} & set(url.split("/")):
        raise CallError(f"invalid base URL '{url}'", "use only scheme, host and path: https://example.org/schemas")
    return url.rstrip("/")


Folder = Mapping[str, str | None]
"""The files of a folder: path to content, None for one that cannot be read."""


class Export(NamedTuple):
    """The export in a folder: its contracts, draft and base URL."""

    draft: Draft
    base_url: str | None
    entries: dict[str, JsonObject]
    """The entries of its index, by id."""


def found_export(there: Folder, base_url: str | None = None) -> Export:
    """Return the export described by a folder's index or, without an index, the one that its files match.

    The base URL is the given one, else the one that most `$id`s start with.
    """
    base = None if base_url is None else checked_base_url(base_url)
    index = _read_index(there.get(INDEX))
    if index is None:
        drafts = [draft for draft in DRAFTS if any(_is_in(draft, name) for name in there)]
        draft = (drafts or DRAFTS)[0]
        known = registry.contracts()
        here = [contract for contract in known if file_name(contract, draft=draft) in there]
        entries: dict[str, JsonObject] = {contract.id: {} for contract in here or known}
    else:
        draft = index["draft"]
        entries = {entry["id"]: entry for entry in index["schemas"]}
    return Export(draft, base or _base_of({name: text for name, text in there.items() if _is_in(draft, name)}), entries)


def _read_index(content: str | None) -> JsonObject | None:
    try:
        return registry.contract("medcontract/index").model.model_validate_json(content or "").model_dump()
    except ValidationError:
        return None


_SCHEMA = re.compile(r"(?:.*/)?v[0-9]+(?:\.record)?(?P<draft>\.draft-07)?\.json")


def _is_in(draft: Draft, name: str) -> bool:
    """Return whether a schema in this draft has this file name."""
    match = _SCHEMA.fullmatch(name)
    return match is not None and (match["draft"] is not None) == (draft == "draft-07")


def _base_of(schemas: Folder) -> str | None:
    """Return the base URL that most of these schemas have in their `$id`; None if they have URNs."""
    bases = Counter(map(_base_in, schemas.items()))
    return bases.most_common(1)[0][0] if bases else None


def _base_in(file: tuple[str, str | None]) -> str | None:
    name, content = file
    try:
        own_id = json.loads(content or "")["$id"]
        return checked_base_url(own_id.removesuffix(f"/{name}")) if own_id.endswith(f"/{name}") else None
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError, CallError):
        return None


def wrong_files(there: Folder, export_there: Export) -> list[SchemaFault]:
    """Return what is wrong with a folder of schemas.

    Every file in the index must exist. The folder may also contain files of the other draft, which is not in the
    index; existing files must be up to date.
    """
    draft, base_url, entries = export_there
    known = {contract.id: contract for contract in registry.contracts()}
    strange = {contract_id: entry for contract_id, entry in entries.items() if contract_id not in known}
    listed_here = [known[contract_id] for contract_id in entries if contract_id in known]
    wanted = export(listed_here, draft, base_url, others=strange.values())
    wanted |= _of_other_draft(there, known.values(), export_there)
    wrong = [(name, reason) for name, content in wanted.items() for reason in _reasons(name, content, there)]
    wrong += [(entry["path"], f"belongs to the unknown contract {name}") for name, entry in strange.items()]
    found = [SchemaFault(file=name, reason=reason) for name, reason in wrong]
    listed = {*wanted, *(entry[key] for entry in strange.values() for key in ("path", "record_path"))}
    return found + [
        SchemaFault(file=name, reason="not in the index", stray=True) for name in sorted(there.keys() - listed)
    ]


def _of_other_draft(there: Folder, known: Iterable[AnyContract], export_there: Export) -> dict[str, str]:
    """Return the expected content of those files of the other draft that exist."""
    other = DRAFTS[1 - DRAFTS.index(export_there.draft)]
    both = [c for c in known if {file_name(c, record, other) for record in (False, True)} & there.keys()]
    return {name: text for name, text in published(both, other, export_there.base_url).items() if name in there}


def _reasons(name: str, content: str, there: Folder) -> Iterator[str]:
    """Return what is wrong with a file that should have this content."""
    found = there.get(name)
    if found is None:
        yield "cannot be read" if name in there else "missing"
        return
    if found != content:
        yield "stale (differs from the current models)"
    if name == INDEX:
        return
    try:
        reason = fault(json.loads(found))
    except (ValueError, RecursionError):
        reason = "not JSON"
    if reason:
        yield reason


# --- folders

FolderPath = str | os.PathLike[str]


def export_to(folder: FolderPath, ids: Sequence[str], draft: Draft, base_url: str | None) -> SchemaExport:
    """Write the schemas of these contracts, or of all, and an index of what is there of the same sort."""
    require_local(folder, "cannot write", "export to a local folder, and copy it")
    chosen = (
        {contract_id: registry.contract(contract_id) for contract_id in ids}.values() if ids else registry.contracts()
    )
    there = _files(Path(folder))
    before = found_export(there)
    alike = (before.draft, before.base_url) == (draft, base_url and checked_base_url(base_url))
    kept = [entry for entry in before.entries.values() if alike and entry and entry["path"] in there]
    files = export(chosen, draft, base_url, others=kept)
    for name, content in files.items():
        target = Path(folder) / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CallError(f"cannot make {target.parent}: {error.strerror}") from None
        write_file(content, target)
    return SchemaExport(
        folder=os.fspath(folder), files=tuple(files), contracts=len(chosen),
        index_replaced=INDEX in there and not alike,
    )  # fmt: skip


def check(folder: FolderPath, base_url: str | None = None) -> SchemaCheck:
    """Find what is stale, missing, unknown or invalid in a folder of schemas. Raises `CallError` for other folders."""
    if not os.path.isdir(folder):
        raise CallError(f"{os.fspath(folder)}: no such folder")
    there = _files(Path(folder))
    found = found_export(there, base_url)
    if INDEX not in there:
        raise CallError(
            f"{os.fspath(folder)}: no {INDEX}: not a folder of exported schemas",
            words("make one with: ", command("schema export DIR", "export_schemas(…)")),
        )
    wrong = wrong_files(there, found)
    known = registry.compiled().keys()
    return SchemaCheck(
        ok=not wrong, schemas=len(there) - 1,
        faults=tuple(wrong),
        _folder=os.fspath(folder), _draft=found.draft, _base_url=found.base_url,
        _ids=None if found.entries.keys() == known else tuple(sorted(found.entries)),
        _unknown=tuple(sorted(found.entries.keys() - known)),
    )  # fmt: skip


def _files(root: Path) -> dict[str, str | None]:
    return {path.relative_to(root).as_posix(): _text(path) for path in _json_files(root)}


def _json_files(folder: Path) -> list[Path]:
    """Return the JSON files in a folder. Raises `CallError` for what cannot be read."""
    found = list_files(str(folder), (".json",)).data if folder.is_dir() else []
    for file, refused in found:
        if refused:
            raise CallError(f"{file}: {refused.message}", refused.hint)
    return [Path(file) for file, _ in found if file.endswith(".json")]


def _text(path: Path) -> str | None:
    """Return what a file holds, to the byte; None when it cannot be read."""
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def diff(old: FolderPath, new: FolderPath, record: bool = False) -> SchemaDiff:
    """Return what changed between two schemas (files, or ids of contracts) or two folders of them."""
    name = os.fspath(new)
    before, now = _schemas(os.fspath(old), record), _schemas(name, record)
    if isinstance(before, dict) != isinstance(now, dict):
        raise CallError("one is a folder and the other is not", "compare two folders, or two schemas")
    changes = compare_files(
        before if isinstance(before, dict) else {name: before[0]}, now if isinstance(now, dict) else {name: now[0]}
    )
    return SchemaDiff.of(tuple(changes))


def _schemas(given: str, record: bool) -> dict[str, AnySchema] | tuple[AnySchema]:
    """Return the schemas of a folder by name, or the one of a file or contract."""
    if given not in registry.compiled() and not Path(given).exists():
        registry.load_installed()
    if given in registry.compiled():
        return (schema_by_id(given, record),)
    path = Path(given)
    if not path.is_dir():
        return (_parsed(path, given),)
    found = sorted(inner for inner in _json_files(path) if inner != path / INDEX)
    if not found:
        raise CallError(f"{given}: no schemas in this folder")
    return {inner.relative_to(path).as_posix(): _parsed(inner, str(inner)) for inner in found}


def _parsed(path: Path, given: str) -> AnySchema:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise CallError(f"{given}: no such file, and no contract has that id", LIST_CONTRACTS) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CallError(f"{given}: cannot be read: {reason.lower()}") from None
    return parse(content, given)
