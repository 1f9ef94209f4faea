"""Contracts and their schemas, problem codes, normalization, examples, plugins: what one looks up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from medcontract.addresses import require_local
from medcontract.errors import CallError
from medcontract.options import FileName, load_plugins, require_strings

if TYPE_CHECKING:
    from medcontract.results.schemas import ContractSchema
    from medcontract.scoring.track import Option
    from medcontract.signatures import (
        Contract,
        ContractList,
        DataDictionary,
        Draft,
        Explanation,
        Normalization,
        Path,
        SchemaCheck,
        SchemaDiff,
        SchemaExport,
    )

__all__ = [
    "check_schemas", "contract_ids", "data_dictionary", "diff_schemas", "example_tracks", "explain",
    "export_schemas", "get_contract", "init", "json_schema", "list_contracts", "list_track_options", "load_plugin",
    "normalize", "path_of", "show_schema",
]  # fmt: skip


def list_contracts() -> ContractList:
    """Return all contracts, including installed plugins, sorted by id."""
    from medcontract.contracts import registry
    from medcontract.results.reference import ContractInfo, ContractList

    names = ("id", "version", "kind", "containers", "title", "source")
    found = registry.contracts()
    return ContractList(
        contracts=tuple(ContractInfo(**{name: getattr(each, name) for name in names}) for each in found)
    )


def get_contract(contract_id: str) -> Contract[Any]:
    """Return a contract with its models and rules. Raises `UnknownContract`."""
    from medcontract.contracts import registry

    require_strings([contract_id])
    return registry.contract(contract_id)


def contract_ids() -> tuple[str, ...]:
    """Return the ids of the built-in contracts, without loading plugins or models."""
    from medcontract.contracts import registry

    return tuple(registry.compiled())


def _require_draft(draft: str) -> None:
    from medcontract.schemas.publishing import DRAFTS

    if draft not in DRAFTS:
        raise CallError(f"unknown draft '{draft}'", f"use one of: {', '.join(DRAFTS)}")


def json_schema(contract_id: str, *, record: bool = False, draft: Draft = "2020-12") -> dict[str, Any]:
    """Return the JSON Schema of a contract, or of one record of a collection."""
    from copy import deepcopy

    from medcontract.schemas.publishing import schema_by_id

    require_strings([contract_id])
    _require_draft(draft)
    return deepcopy(schema_by_id(contract_id, record, draft))


def show_schema(contract_id: str, *, record: bool = False, draft: Draft = "2020-12") -> ContractSchema:
    """Return what `medcontract schema show` prints: the output of `json_schema`, or the `data_dictionary`."""
    from medcontract.results.schemas import ContractSchema

    schema = json_schema(contract_id, record=record, draft=draft)
    return ContractSchema(_schema=schema, _dictionary=data_dictionary(contract_id, record=record))


def data_dictionary(contract_id: str, *, record: bool = False) -> DataDictionary:
    """Describe a contract, or one record of a collection, in tables: fields, types, allowed values, rules, examples."""
    from medcontract.schemas import dictionary

    require_strings([contract_id])
    return dictionary.data_dictionary(contract_id, record)


def export_schemas(
    folder: FileName, *contract_ids: str, draft: Draft = "2020-12", base_url: str | None = None
) -> SchemaExport:
    """Write the schemas of the given contracts, or of all, to a folder, with an index.

    With `base_url`, each `$id` is a URL below it, instead of a URN.
    """
    from medcontract.schemas.publishing import export_to

    require_strings(contract_ids)
    _require_draft(draft)
    return export_to(folder, contract_ids, draft, base_url)


def check_schemas(folder: FileName, *, base_url: str | None = None) -> SchemaCheck:
    """Check that the schemas in a folder are valid and up to date. The result is truthy if they are."""
    from medcontract.schemas.publishing import check

    return check(folder, base_url)


def diff_schemas(old: FileName, new: FileName, *, record: bool = False) -> SchemaDiff:
    """Compare two schema files, two folders of them, or ids of current contracts.

    The result is truthy if no change is breaking. With `record`, an id means the schema of one record.
    """
    from medcontract.schemas.publishing import diff

    return diff(old, new, record)


def explain(*codes: str) -> Explanation:
    """Explain problem codes such as "MC104", with an example of the mistake and its fix; all codes if none is given."""
    from medcontract.catalog import problem_codes
    from medcontract.contracts.registry import load_installed
    from medcontract.plugins.registration import unknown_code
    from medcontract.results.reference import ExplainedCode, Explanation

    require_strings(codes)
    wanted = [f"MC{code}" if code[:1].isdecimal() else code.upper() for code in codes]
    if not codes or not all(name in problem_codes() for name in wanted):
        load_installed()
    for code, name in zip(codes, wanted, strict=True):
        if name not in problem_codes():
            raise unknown_code(code, name)
    found = (ExplainedCode(**problem_codes()[name]._asdict()) for name in wanted or problem_codes())
    return Explanation(codes=tuple(found), _all=not codes)


def normalize(*texts: str) -> Normalization:
    """Normalize texts, step by step. Two texts are equal if their normalized or their tight forms are equal."""
    from medcontract.normalizers.text import steps, tight
    from medcontract.results.reference import Normalization, NormalizationStep, NormalizedText

    require_strings(texts)

    def normalized(text: str) -> NormalizedText:
        applied = tuple(NormalizationStep(step=step.name, text=step.text, _about=step.about) for step in steps(text))
        return NormalizedText(text=text, normalized=applied[-1].text, tight=tight(text), steps=applied)

    return Normalization(texts=tuple(map(normalized, texts)))


def init(track: str, folder: FileName, *, force: bool = False) -> tuple[Path, ...]:
    """Create a small, valid set of example files of a track in a folder. Returns their paths."""
    from pathlib import Path

    from medcontract.contracts import registry
    from medcontract.example_files import copy_examples

    require_local(folder, "cannot write", "write to a local folder, and copy it")
    scope = registry.scope()
    if scope is not None and scope.track.id == track:
        from medcontract.atomic_write import write_new_files
        from medcontract.challenges.examples import example_files

        return write_new_files(folder, example_files(scope.definition), force)
    return copy_examples(track, Path(folder), force)


def example_tracks() -> tuple[str, ...]:
    """Return the built-in tracks that `init` supports."""
    from medcontract.example_files import built_in_tracks

    return built_in_tracks()


def list_track_options() -> tuple[tuple[str, Option], ...]:
    """Return the options of tracks with the track id: arguments of functions, and options of commands."""
    from medcontract.scoring import tracks

    return tuple((track.id, option) for track, option in tracks.options().values())


def load_plugin(name: str) -> None:
    """Load custom contracts, metrics and tracks from a module or a .py file. Raises `CallError`."""
    load_plugins(name)


def path_of(name: str) -> str:
    """Return the path in an argument that may be `CONTRACT=PATH`; for a file in an archive, the path of the archive."""
    from medcontract.addresses import split_member
    from medcontract.evaluation.files import split

    path, _ = split(name)
    member = split_member(path)
    return member[0] if member else path
