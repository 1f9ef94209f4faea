"""All contracts by id, in compiled form immediately, as models on demand; and what is at which place of their schemas.

`compiled.json` is generated from the models. It contains what is needed to recognize and check a valid file (keys,
schemas without annotations, columns, rules), so that Pydantic and the models are only imported if something is
wrong with a file.
"""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from medcontract.contracts.rules import CollectionRule, CrossFileRule, RecordRule, Rule, unpublish
from medcontract.errors import LIST_CONTRACTS, UnknownContract, words
from medcontract.problems import Path
from medcontract.types import Column, JsonObject, Schema

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from medcontract.contracts.contract import AnyContract
    from medcontract.contracts.fast_decoder import DecodeLines, DecodeOne, RowDecoders

TRACKS = ("benchmark", "extraction", "lesions", "reports", "triage")
"""The built-in tracks. No other place outside their modules names them."""
COMPILED = os.path.join(os.path.dirname(__file__), "compiled.json")


class CompiledContract(msgspec.Struct, dict=True):
    """A compiled contract."""

    id: str
    module: str
    """The module that defines it."""
    kind: Literal["collection", "document"]
    containers: tuple[str, ...]
    list_key: str | None
    header: frozenset[str]
    header_required: frozenset[str]
    record: frozenset[str]
    forms: tuple[frozenset[str], ...]
    """The required keys of each variant of a record; a failed record is one with `error`."""
    column_forms: tuple[frozenset[str], ...]
    columns: tuple[Column, ...]
    """The columns of its table; empty for contracts without a table form."""
    spread: dict[str, tuple[str, ...]]
    """List fields that are spread over columns."""
    open: bool
    """Whether records may have unknown keys."""
    published_rules: tuple[JsonObject, ...]
    published_record_rules: tuple[JsonObject, ...]
    schema: Schema
    record_schema: Schema
    contract: Any = None
    """The contract itself, if it was registered at run time."""
    schema_is_complete: bool = True
    """Whether the schema expresses all that the models check: there is no custom validator."""

    @cached_property
    def list_rules(self) -> tuple[CollectionRule, ...]:
        return tuple(rule for rule in self._rules if isinstance(rule, CollectionRule))

    @cached_property
    def file_rules(self) -> tuple[CrossFileRule, ...]:
        """Rules about this file and one of another contract."""
        return tuple(rule for rule in self._rules if isinstance(rule, CrossFileRule))

    @cached_property
    def header_rules(self) -> tuple[RecordRule, ...]:
        """Rules about the fields of the document or header."""
        return tuple(rule for rule in self._rules if isinstance(rule, RecordRule))

    @cached_property
    def record_rules(self) -> tuple[RecordRule, ...]:
        if self.contract is not None:
            return tuple(self.contract.record_rules)
        rules = map(unpublish, self.published_record_rules)
        return tuple(rule for rule in rules if isinstance(rule, RecordRule))

    @cached_property
    def _rules(self) -> tuple[Rule, ...]:
        """The rules that are not about one record. Rules of plugins may be of kinds that only the plugin defines."""
        return tuple(self.contract.rules if self.contract is not None else map(unpublish, self.published_rules))

    @cached_property
    def decode_record(self) -> DecodeOne:
        """Return the fast path for a record: its value, or None if in doubt."""
        return self._record_decoders.one if self._record_decoders else _in_doubt

    @cached_property
    def decode_lines(self) -> DecodeLines:
        """Return the fast path for records, one per line: their values, or None if in doubt about any of them."""
        return self._record_decoders.lines if self._record_decoders else _in_doubt

    @cached_property
    def _record_decoders(self) -> RowDecoders | None:
        """Records of plugins are decoded completely: a plugin may do anything with them."""
        return self._decoders(self.record_schema, raw_objects=self.contract is None)

    @cached_property
    def decode_whole(self) -> DecodeOne:
        """Return the fast path for a document, or for a collection's header with an empty list."""
        decoders = self._decoders(self._header_schema)
        return decoders.one if decoders else _in_doubt

    @property
    def _header_schema(self) -> Schema:
        """The schema, for a collection without its record schema, because compiling it takes longer than decoding."""
        properties = self.schema["properties"]
        records = properties.get(self.list_key, {})
        if records.get("type") != "array":
            return self.schema
        return {**self.schema, "properties": {**properties, self.list_key: {**records, "items": {"type": "null"}}}}

    def _decoders(self, schema: Schema, raw_objects: bool = False) -> RowDecoders | None:
        from medcontract.contracts.fast_decoder import row_decoders

        return row_decoders(schema, raw_objects) if self.schema_is_complete else None

    @cached_property
    def record_adapter(self) -> TypeAdapter[object]:
        """Validates one record of a collection. Cached because it is slow to build."""
        adapter: TypeAdapter[object] = self.definition.record_adapter()
        return adapter

    @cached_property
    def whole_adapter(self) -> TypeAdapter[object]:
        """Validates a document, or a collection's header with an empty list."""
        from pydantic import TypeAdapter

        return TypeAdapter(self.definition.model)

    @property
    def definition(self) -> AnyContract:
        """Return the contract itself, with its Pydantic models."""
        return self.contract or _module_contracts(self.module)[self.id]


def _in_doubt(raw: bytes) -> None:
    return None


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What a challenge adds to the contracts and tracks, for the calls that use it."""

    name: str
    """The file, as shown to users."""
    source: bytes
    """Its content, for worker processes."""
    contracts: dict[str, CompiledContract]
    """By id. Only these are candidates for recognition."""
    track: Any
    """A `scoring.track.Track`."""
    definition: Any
    """The content of the file: a `challenges.model.Definition`."""
    truth: str
    """The contract of the truth."""
    submission: str
    """The contract of the submission, whose tables may look like tables of the truth."""


_scope: ContextVar[Scope | None] = ContextVar("medcontract challenge", default=None)
"""Set while a challenge is used, in this thread only: two challenges with the same id do not mix."""


def scope() -> Scope | None:
    """Return the challenge that is in use, if any."""
    return _scope.get()


@contextmanager
def using(challenge: Scope) -> Iterator[None]:
    """Use a challenge."""
    token = _scope.set(challenge)
    try:
        yield
    finally:
        _scope.reset(token)


def use(challenge: Scope | None) -> None:
    """Use a challenge, or none, until another one is used: worker processes use one until they end."""
    _scope.set(challenge)


def compiled() -> Mapping[str, CompiledContract]:
    """Return all contracts, by id, including the contracts of the challenge in use."""
    active = _scope.get()
    return registered() if active is None else ChainMap(active.contracts, registered())


def candidates() -> Mapping[str, CompiledContract]:
    """Return the contracts that files are recognized as and that are listed: with a challenge, only its contracts."""
    active, shown = _scope.get(), _shown.get()
    if active is not None:
        return active.contracts
    found = registered()
    return found if shown is None else {name: each for name, each in found.items() if name in shown}


_shown: ContextVar[frozenset[str] | None] = ContextVar("medcontract contracts", default=None)
"""The only candidates for the work at hand, in a worker that also has the plugins of other calls."""


@contextmanager
def showing_only(contracts: frozenset[str]) -> Iterator[None]:
    """Recognize files only as these contracts, in this thread."""
    token = _shown.set(contracts)
    try:
        yield
    finally:
        _shown.reset(token)


@cache
def registered() -> dict[str, CompiledContract]:
    """Return all contracts that are built in or registered, by id."""
    with open(COMPILED, "rb") as file:
        found = msgspec.json.decode(file.read(), type=list[CompiledContract])
    return {item.id: item for item in found}


def load_installed() -> bool:
    """Register the contracts of installed packages, once. Returns whether there are any.

    Plugins are a layer above, which needs schemas and problem codes; so their module is only named here.
    """
    return bool(import_module("medcontract.plugins.loading").load_installed())


def find(contract_id: str) -> CompiledContract:
    """Return the contract with this id. Raises `UnknownContract`, with the most similar id as a hint."""
    item = compiled().get(contract_id)
    if item is None:
        if not load_installed() or contract_id not in compiled():
            raise _unknown(contract_id)
        item = compiled()[contract_id]
    return item


def contract(contract_id: str) -> AnyContract:
    """Return the contract with this id, with its models."""
    return find(contract_id).definition


def contracts() -> tuple[AnyContract, ...]:
    """Return all contracts, including installed plugins, sorted by id; with a challenge, only its contracts."""
    if scope() is None:
        load_installed()
    return tuple(contract(contract_id) for contract_id in sorted(candidates()))


def tracks() -> dict[str, list[CompiledContract]]:
    """Return the contracts of each track, including installed plugins."""
    load_installed()
    found: dict[str, list[CompiledContract]] = {}
    for contract_id, entry in sorted(candidates().items()):
        found.setdefault(contract_id.partition("/")[0], []).append(entry)
    return found


@cache
def results() -> dict[str, AnyContract]:
    """Return the contracts of results, by track; without plugins, so that published schemas are the same everywhere."""
    defined = {track: _module_contracts(f"medcontract.contracts.{track}").values() for track in TRACKS}
    return {track: found for track, contracts in defined.items() for found in contracts if found.result}


@cache
def _module_contracts(module: str) -> dict[str, AnyContract]:
    return {c.id: c for c in import_module(module).CONTRACTS}


def _unknown(contract_id: str) -> UnknownContract:
    from medcontract.contracts.suggestions import did_you_mean

    guess = did_you_mean(contract_id, candidates())
    hint = words(guess, " ", LIST_CONTRACTS) if guess else LIST_CONTRACTS
    return UnknownContract(f"unknown contract '{contract_id}'", hint)


# --- schemas as medcontract generates them

ANNOTATIONS = frozenset({"title", "description", "default", "examples", "$schema", "$id", "x-medcontract-rules"})
"""Keywords of generated schemas that do not restrict values."""
NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords that map names to schemas."""
NESTED = frozenset({
    "items", "prefixItems", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else",
    "anyOf", "oneOf", "allOf",
})  # fmt: skip
"""Keywords whose value is a schema or a list of schemas."""


def variants_of(node: Schema, root: Schema | None = None) -> list[Schema]:
    """Return the alternatives of a schema, with references resolved."""
    root = root or node
    if "$ref" in node:
        return variants_of(root["$defs"][node["$ref"].rpartition("/")[2]], root)
    for word in ("oneOf", "anyOf"):
        if word in node:
            return [variant for choice in node[word] for variant in variants_of(choice, root)]
    return [node]


def schemas_at(schema: Schema, path: Path) -> list[Schema]:
    """Return the schemas of the value at `path`, one for each alternative; empty ones where it may not be."""
    nodes = [schema]
    for token in path:
        variants = [variant for node in nodes for variant in variants_of(node, schema)]
        if isinstance(token, int):
            nodes = [variant.get("items", {}) for variant in variants]
        else:
            nodes = [_member(variant, token) for variant in variants]
    return [variant for node in nodes for variant in variants_of(node, schema)]


def _member(schema: Schema, name: str) -> Schema:
    others = schema.get("additionalProperties")
    found: Schema = schema.get("properties", {}).get(name, others if isinstance(others, dict) else {})
    return found


def value_at(value: Any, path: Path) -> Any:
    """Return the part of a parsed value at `path`; None if there is none."""
    try:
        for token in path:
            value = value[token]
    except (KeyError, IndexError, TypeError):
        return None
    return value


def known_keys(schema: Schema, path: Path) -> list[str]:
    """Return the keys that the object at `path` may have."""
    return list(dict.fromkeys(key for node in schemas_at(schema, path) for key in node.get("properties", ())))


def all_keys(schema: Schema) -> frozenset[str]:
    """Return all keys that any object in a schema may have."""
    objects = [schema, *schema.get("$defs", {}).values()]
    return frozenset(key for node in objects for key in node.get("properties", ()))


def subschemas(schema: object) -> Iterator[Schema]:
    """Yield the schema and all its subschemas, but not data (`const`, `default`)."""
    if not isinstance(schema, dict):
        return
    yield schema
    for word, value in schema.items():
        if word in NAMED:
            inside = list(value.values())
        elif word in NESTED:
            inside = value if isinstance(value, list) else [value]
        else:
            continue
        for node in inside:
            yield from subschemas(node)


def rewritten(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """Return the schema after a change of each schema in it, innermost first. Data is left as it is."""

    def inner(value: object) -> object:
        return rewritten(value, change) if isinstance(value, dict) else value

    node: Schema = {}
    for word, value in schema.items():
        if word in NAMED:
            node[word] = {name: inner(each) for name, each in value.items()}
        elif word in NESTED:
            node[word] = [inner(each) for each in value] if isinstance(value, list) else inner(value)
        else:
            node[word] = value
    return change(node)
