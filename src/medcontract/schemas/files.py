"""Folders of published schemas: written, checked, compared."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from medcontract._version import __version__
from medcontract.addresses import require_local
from medcontract.atomic_write import write_file
from medcontract.contracts import registry
from medcontract.errors import LIST_CONTRACTS, CallError, command, words
from medcontract.reading.folders import list_files
from medcontract.results.schemas import Draft, SchemaCheck, SchemaDiff, SchemaExport
from medcontract.schemas import publishing
from medcontract.schemas.diff import compare_files
from medcontract.schemas.diff_nodes import parse
from medcontract.schemas.publishing import INDEX
from medcontract.types import AnySchema, Schema

Folder = str | os.PathLike[str]


def schema_of(contract_id: str, record: bool = False, draft: Draft = "2020-12") -> Schema:
    """The schema of a contract. Raises `CallError` for a record of a document."""
    found = registry.contract(contract_id)
    if record and found.list_key is None:
        raise CallError(f"{contract_id} is a document: it has no records")
    return publishing.schema_of(found, record, draft)


def export(folder: Folder, ids: Sequence[str], draft: Draft, base_url: str | None) -> SchemaExport:
    """Write the schemas of these contracts, or of all, and an index of what is there of the same sort."""
    require_local(folder, "cannot write", "export to a local folder, and copy it")
    chosen = (
        {contract_id: registry.contract(contract_id) for contract_id in ids}.values() if ids else registry.contracts()
    )
    there = _files(Path(folder))
    before = publishing.found_export(there)
    alike = (before.draft, before.base_url) == (draft, base_url and publishing.checked_base_url(base_url))
    kept = [entry for entry in before.entries.values() if alike and entry and entry["path"] in there]
    files = publishing.export(chosen, __version__, draft, base_url, others=kept)
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


def check(folder: Folder, base_url: str | None = None) -> SchemaCheck:
    """What is stale, missing, unknown or invalid in a folder of schemas. Raises `CallError` for any other folder."""
    if not os.path.isdir(folder):
        raise CallError(f"{os.fspath(folder)}: no such folder")
    there = _files(Path(folder))
    found = publishing.found_export(there, base_url)
    if INDEX not in there:
        raise CallError(
            f"{os.fspath(folder)}: no {INDEX}: not a folder of exported schemas",
            words("make one with: ", command("schema export DIR", "export_schemas(…)")),
        )
    wrong = publishing.wrong_files(there, found, __version__)
    known = registry.compiled().keys()
    return SchemaCheck(
        ok=not wrong, schemas=len(there) - 1,
        faults=tuple(wrong),
        _folder=os.fspath(folder), _draft=found.draft, _base_url=found.base_url,
        _ids=None if found.entries.keys() == known else tuple(sorted(found.entries)),
        _unknown=tuple(sorted(found.entries.keys() - known)),
    )  # fmt: skip


def _files(root: Path) -> dict[str, str | None]:
    """The JSON files in a folder: schemas, their index, and what else there is."""
    return {path.relative_to(root).as_posix(): _text(path) for path in _json_files(root)}


def _json_files(folder: Path) -> list[Path]:
    """The JSON files in a folder. Raises `CallError` for what cannot be read."""
    found = list_files(str(folder), (".json",)).data if folder.is_dir() else []
    for file, refused in found:
        if refused:
            raise CallError(f"{file}: {refused.message}", refused.hint)
    return [Path(file) for file, _ in found if file.endswith(".json")]


def _text(path: Path) -> str | None:
    """What a file holds, to the byte; None when it cannot be read."""
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def diff(old: Folder, new: Folder, record: bool = False) -> SchemaDiff:
    """What changed between two schemas (files, or ids of contracts) or two folders of them."""
    name = os.fspath(new)
    before, now = _schemas(os.fspath(old), record), _schemas(name, record)
    if isinstance(before, dict) != isinstance(now, dict):
        raise CallError("one is a folder and the other is not", "compare two folders, or two schemas")
    changes = compare_files(
        before if isinstance(before, dict) else {name: before[0]}, now if isinstance(now, dict) else {name: now[0]}
    )
    return SchemaDiff.of(tuple(changes))


def _schemas(given: str, record: bool) -> dict[str, AnySchema] | tuple[AnySchema]:
    """The schemas of a folder by name, or the one that a file or an id stands for."""
    from medcontract.contracts.registry import load_installed

    if given not in registry.compiled() and not Path(given).exists():
        load_installed()
    if given in registry.compiled():
        return (schema_of(given, record),)
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
