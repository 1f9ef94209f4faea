"""JSON Schemas (draft 2020-12) of the contracts, derived from their models."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Collection
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from medcontract.contracts.base import StrictModel
from medcontract.contracts.registry import ANNOTATIONS, TRACKS, rewritten, subschemas, variants_of
from medcontract.problems import Path
from medcontract.results.base import ResultItem
from medcontract.schemas.result_models import RESULT_OF
from medcontract.types import CellKind, Column, JsonObject, Schema

if TYPE_CHECKING:
    from jsonschema import FormatChecker

    from medcontract.contracts.contract import AnyContract

DIALECT = "https://json-schema.org/draft/2020-12/schema"
RULES_KEYWORD = "x-medcontract-rules"
_TITLE = ("title",)
"""Pydantic derives it from the name of a field."""


@cache
def contract_schema(contract: AnyContract) -> Schema:
    """Return the schema of the contract as a `.json` file, with its rules."""
    schema = _without(contract.model.model_json_schema(by_alias=True), _TITLE)
    schema = _documented(schema, contract.model, contract.model.__module__)
    rules = [rule.publish() for rule in contract.rules]
    if contract.list_key:
        rules += [{**rule.publish(), "within": contract.list_key} for rule in contract.record_rules]
        items = schema["properties"][contract.list_key]["items"]
        if "$ref" not in items:  # the union of the two variants of a record has a name, too
            schema["properties"][contract.list_key]["items"] = {"title": type_name(contract, record=True), **items}
    return _published(schema, contract, rules)


@cache
def record_schema(contract: AnyContract) -> Schema:
    """Return the schema of one record of a collection, with the rules about it."""
    schema = _without(contract.record_adapter().json_schema(by_alias=True), _TITLE)
    schema = _documented(schema, contract.record, contract.model.__module__)
    rules = [rule.publish() for rule in contract.record_rules]
    return _published(schema, contract, rules, record=True)


def type_name(contract: AnyContract, record: bool = False) -> str:
    """Return the type name of a file or record, such as `ReportsPredictions`. Code generators take it from `title`."""
    if not record:
        return "".join(map(_pascal, contract.id.split("/")))
    if isinstance(contract.record, type):
        return _in_track(contract, contract.record.__name__)
    return type_name(contract) + "Record"


def _in_track(contract: AnyContract, model_name: str) -> str:
    """Return the name of a model with its track as a prefix, so that a name means the same in all schemas."""
    return _pascal(contract.id.partition("/")[0]) + model_name


def _pascal(text: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in text.split("-"))


def type_names(schema: Schema) -> list[str]:
    """Return the names of all types that a schema describes."""
    return sorted({node["title"] for node in subschemas(schema) if "title" in node})


def bare(schema: Schema) -> Schema:
    """Return the schema without annotations."""
    return _without(schema, ANNOTATIONS)


def _published(schema: Schema, contract: AnyContract, rules: list[Schema], record: bool = False) -> Schema:
    """Return the schema with type names, description, examples and rules."""
    _name_types(schema, contract)
    _add_results(schema)
    _drop_wrong_defaults(schema)
    about = f"{contract.title}{' (one record)' if record else ''}. {schema.pop('description', '')}".strip()
    found = {
        "$schema": DIALECT,
        "$id": contract.urn + (":record" if record else ""),
        "title": type_name(contract, record),
        "description": about,
        **schema,
    }
    examples = _examples(contract, record)
    if examples:
        found["examples"] = examples
    if rules:
        found[RULES_KEYWORD] = rules
    return found


def _name_types(schema: Schema, contract: AnyContract) -> None:
    """Use the type name as key and title of each definition."""
    definitions = schema.get("$defs", {})
    names = {key: _in_track(contract, key) for key in definitions}
    for node in list(subschemas(schema)):
        if "$ref" in node:
            node["$ref"] = "#/$defs/" + names[node["$ref"].rpartition("/")[2]]
    if definitions:
        schema["$defs"] = {names[key]: {"title": names[key], **node} for key, node in definitions.items()}
    for owner, node in ((type_name(contract), schema), *schema.get("$defs", {}).items()):
        _name_enumerations(contract, owner, node)


_VAGUE = frozenset(("decision", "gate", "kind", "state", "status", "type"))
"""Fields that have other values in other objects of a track."""


def _name_enumerations(contract: AnyContract, owner: str, node: Schema) -> None:
    """Give enumerations a title: by the field, such as `ReportsUrgency`, or by object and field."""
    for name, field in node.get("properties", {}).items():
        words = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
        title = owner + words if name in _VAGUE else _in_track(contract, words)
        for option in (field, *field.get("anyOf", ())):
            if len([value for value in option.get("enum", ()) if isinstance(value, str)]) > 1:
                option["title"] = title


def _add_results(schema: Schema) -> None:
    """State the contract of a field with the result of a track, track by track.

    Other tracks may have any result. The contracts are definitions, so that a schema can be used by itself. It is a
    chain of `if`, `then` and `else`, which generators of types leave out: of alternatives quicktype would make one
    type, and for `allOf` json-schema-to-typescript writes copies.
    """
    from medcontract.contracts import registry

    added: Schema = {}
    for node in list(subschemas(schema)):
        for name, field in node.get("properties", {}).items():
            if [option for option in subschemas(field) if option.pop(RESULT_OF, None)]:
                chain: Schema = _NO_SUBGROUPS if "subgroups" in node["properties"] else {}
                for track, contract in sorted(registry.results().items(), reverse=True):
                    chain = _result_of(track, contract, name, added) | ({"else": chain} if chain else {})
                node.update(chain)
                break
    if added:
        schema["$defs"] = dict(sorted({**schema.get("$defs", {}), **added}.items()))


_NO_SUBGROUPS = {
    "if": {
        "description": "A score for a participant.",
        "properties": {"participant": {"description": "For a participant.", "const": True}},
        "required": ["participant"],
    },
    "then": {
        "description": "It has no subgroups.",
        "properties": {
            "subgroups": {"description": "None.", "anyOf": [{"type": "array", "maxItems": 0}, {"type": "null"}]}
        },
    },
}
"""The end of that chain: all scores for participants come to it."""


def _result_of(track: str, contract: AnyContract, name: str, added: Schema) -> Schema:
    """That a score of this track, if it is not for a participant, has a result of this contract."""
    whole = contract_schema(contract)
    added.update(whole.get("$defs", {}))
    dropped = ("$schema", "$id", "$defs", "examples", RULES_KEYWORD)
    added[whole["title"]] = {word: value for word, value in whole.items() if word not in dropped}
    about = {"track": "The track.", "participant": "Not for a participant.", name: f"A document of {contract.id}."}
    return {
        "if": {
            "description": f"A score of {track}.",
            "properties": {
                "track": {"description": about["track"], "const": track},
                "participant": {"description": about["participant"], "enum": [False, None]},
            },
            "required": ["track"],
        },
        "then": {
            "description": f"Its result is a document of {contract.id}.",
            "properties": {
                name: {"description": about[name], "anyOf": [{"$ref": f"#/$defs/{whole['title']}"}, {"type": "null"}]}
            },
        },
    }


def _drop_wrong_defaults(schema: Schema) -> None:
    """Remove the default None of keys that may be absent but not null: their schema would reject it."""
    for node in list(subschemas(schema)):
        if "default" in node and not _accepts(node, node["default"], schema.get("$defs", {})):
            del node["default"]


def _accepts(node: Schema, value: object, definitions: Schema) -> bool:
    if value is None and {"type": "null"} in node.get("anyOf", ()):
        return True
    from jsonschema import Draft202012Validator

    return Draft202012Validator({**node, "$defs": definitions}).is_valid(value)


_EXAMPLES = FilePath(__file__).with_name("examples")


def _examples(contract: AnyContract, record: bool) -> list[JsonObject]:
    """Return the small valid file `examples/TRACK/NAME.json`, or its records. Plugin contracts have none."""
    path = _EXAMPLES / f"{contract.id}.json"
    if not contract.model.__module__.startswith("medcontract.") or not path.is_file():
        return []
    whole = json.loads(path.read_bytes())
    return list(whole[contract.list_key]) if record else [whole]


def _without(schema: Schema, words: Collection[str]) -> Schema:
    return rewritten(schema, lambda node: {word: value for word, value in node.items() if word not in words})


def _documented(schema: Schema, root: object, module: str) -> Schema:
    """Return the schema with docstrings of model fields as descriptions. `root`: the type that the schema describes."""
    models = getattr(sys.modules.get(module), "__dict__", {})
    objects = {getattr(root, "__name__", ""): schema, **schema.get("$defs", {})}
    for name, node in objects.items():
        for parent in _documenting(models.get(name, root if node is schema else None)):
            for field, doc in _field_docs(parent.__module__).get(parent.__name__, {}).items():
                key = "$schema" if field == "schema_" else field
                if key in node.get("properties", {}):
                    node["properties"][key] = {"description": doc, **node["properties"][key]}
    return schema


def _documenting(model: object) -> list[type]:
    """Return the classes whose docstrings describe the fields of a model, base classes first."""
    parents = [parent for parent in reversed(getattr(model, "__mro__", ())) if issubclass(parent, StrictModel)]
    struct = getattr(model, "__struct__", None)  # a derived model
    return parents + [parent for parent in reversed(getattr(struct, "__mro__", ())) if issubclass(parent, ResultItem)]


@cache
def _field_docs(module: str) -> dict[str, dict[str, str]]:
    """Return the field docstrings of each class of a module; none if its source is not available (a notebook)."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError):
        return {}
    return {
        node.name: {
            field.target.id: inspect.cleandoc(doc.value.value)
            for field, doc in pairwise(node.body)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
            and isinstance(doc, ast.Expr) and isinstance(doc.value, ast.Constant) and isinstance(doc.value.value, str)
        }
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }  # fmt: skip


def text(schema: Schema) -> str:
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


def fault(schema: object) -> str | None:
    """Return why a value is not a valid JSON Schema of the draft that it declares, or None."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    if isinstance(schema, bool):
        return None
    if not isinstance(schema, dict):
        return "not a JSON Schema: expected an object"
    if not isinstance(schema.get("$schema", ""), str):
        return "not a JSON Schema: '$schema' must be a string"
    try:
        draft: Any = validator_for(schema, default=Draft202012Validator)  # the stubs lack an argument
        draft.check_schema(schema, format_checker=_formats())
    except SchemaError as error:
        return f"not valid under its meta-schema: {error.message}"
    return None


@cache
def _formats() -> FormatChecker:
    """Check only patterns, so that results do not depend on the packages that jsonschema finds for other formats."""
    from jsonschema import FormatChecker

    from medcontract.jsonschema_files.keywords import NoPattern, compile_pattern

    checker = FormatChecker(formats=())
    checker.checks("regex", raises=NoPattern)(lambda given: not isinstance(given, str) or bool(compile_pattern(given)))
    return checker


# --- compiled contracts -----------------------------------------------------------------------------------------------

MODULES = (*(f"medcontract.contracts.{track}" for track in TRACKS), "medcontract.schemas.result_models")
"""The modules with the built-in contracts."""


def build_index() -> list[JsonObject]:
    """Return the content of `compiled.json`, from the models."""
    found = [compile_contract(contract, name) for name in MODULES for contract in import_module(name).CONTRACTS]
    return sorted(found, key=lambda item: str(item["id"]))


def compile_contract(contract: AnyContract, module: str) -> JsonObject:
    """Return the contract as stored in `compiled.json`."""
    whole = bare(contract_schema(contract))
    record = bare(record_schema(contract)) if contract.list_key else {}
    variants = variants_of(record) if record else []
    spread = dict(contract.spread)
    columns = _columns(variants, spread) if contract.flat else []
    return {
        "id": contract.id,
        "module": module,
        "kind": contract.kind,
        "containers": contract.containers,
        "list_key": contract.list_key,
        "header": sorted(set(whole["properties"]) - {"$schema"}),
        "header_required": sorted(_required(whole)),
        "record": sorted({name for variant in variants for name in variant["properties"]}),
        "forms": [sorted(_required(variant)) for variant in variants],
        "column_forms": [_required_columns(variant, spread) for variant in variants if columns],
        "columns": columns,
        "spread": spread,
        "open": any(variant.get("additionalProperties") is not False for variant in variants),
        "published_rules": [rule.publish() for rule in contract.rules],
        "published_record_rules": [rule.publish() for rule in contract.record_rules],
        "schema": whole,
        "record_schema": record,
    }


def _required(schema: Schema) -> list[str]:
    """Return the required keys of an object; Pydantic omits the keyword if there are none."""
    return list(schema.get("required", ()))


def _required_columns(variant: Schema, spread: dict[str, tuple[str, ...]]) -> list[str]:
    return [column for key in _required(variant) for column in spread.get(key, (key,))]


def _columns(variants: list[Schema], spread: dict[str, tuple[str, ...]]) -> list[Column]:
    """Return the columns of flat records, in the order of their fields."""
    columns: list[Column] = []
    for name in dict.fromkeys(name for variant in variants for name in variant["properties"]):
        needed = all(name in _required(variant) for variant in variants)
        for position, column in enumerate(spread.get(name, (name,))):
            path: Path = (name, position) if name in spread else (name,)
            columns.append(Column(column, _cell_kind(variants, name), not needed, path))
    return columns


def _cell_kind(variants: list[Schema], name: str) -> CellKind:
    fields = [variant["properties"][name] for variant in variants if name in variant["properties"]]
    kinds = {choice.get("items", choice).get("type") for field in fields for choice in variants_of(field)}
    if kinds & {"number", "integer"}:
        return "number"
    return "boolean" if "boolean" in kinds else "text"
