"""Data dictionaries: contracts as tables of fields, derived from their JSON Schemas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from medcontract.contracts import registry
from medcontract.contracts.registry import subschemas
from medcontract.contracts.string_patterns import NON_BLANK, PATTERN_DESCRIPTIONS
from medcontract.problems import plural
from medcontract.results.schemas import DataDictionary, DictionaryField, DictionaryRule, DictionarySection
from medcontract.schemas.publishing import schema_by_id
from medcontract.types import JsonObject, Schema

_BOUNDS = (("minimum", "at least"), ("exclusiveMinimum", "greater than"), ("maximum", "at most"),
           ("exclusiveMaximum", "less than"))  # fmt: skip
_SIZES = {
    "array": ("minItems", "maxItems", "item"),
    "object": ("minProperties", "maxProperties", "key"),
    "string": ("minLength", "maxLength", "character"),
}
_ABOUT_ITSELF = frozenset({"kind", "scope", "code", "severity", "message", "hint"})
"""Fields of a rule that are not part of what it requires."""
_LONGEST_PATTERN = 60


def data_dictionary(contract_id: str, record: bool = False) -> DataDictionary:
    """Return the data dictionary of a contract, or of one record of a collection. Raises `CallError` for other ids."""
    schema = schema_by_id(contract_id, record)
    contract, compiled = registry.contract(contract_id), registry.find(contract_id)
    return DataDictionary(
        id=contract.id, version=contract.version, title=contract.title, description=schema.get("description", ""),
        kind=contract.kind, list_key=contract.list_key, containers=contract.containers, source=contract.source,
        columns=tuple(column.name for column in compiled.columns), sections=tuple(_sections(schema)),
        rules=tuple(map(_rule, schema.get("x-medcontract-rules", ()))), examples=tuple(schema.get("examples", ())),
    )  # fmt: skip


def _sections(schema: Schema) -> Iterator[DictionarySection]:
    """Yield the file itself, then all objects in it, in the order in which they are used."""
    if "properties" in schema:
        yield _section("The file", {**schema, "description": ""})
    for name in _used(schema, schema, {}):
        node = schema["$defs"][name]
        if "properties" in node:
            yield _section(name, node)


def _used(node: Schema, schema: Schema, seen: dict[str, None]) -> Iterable[str]:
    """Return the names of the definitions that a node refers to, directly or not, without repetition."""
    for inner in subschemas({word: value for word, value in node.items() if word != "$defs"}):
        name = _reference(inner)
        if name is not None and name not in seen:
            seen[name] = None
            _used(schema["$defs"][name], schema, seen)
    return seen


def _reference(node: Schema) -> str | None:
    found = (node.get("allOf") or [node])[0].get("$ref")
    return found.rpartition("/")[2] if isinstance(found, str) else None


def _section(title: str, node: Schema) -> DictionarySection:
    required = node.get("required", ())
    return DictionarySection(
        title=title, description=node.get("description", ""), open=node.get("additionalProperties") is not False,
        fields=tuple(
            DictionaryField(
                name=name, type=_type(field), required=name in required, values=", ".join(_values(field)),
                description=field.get("description", ""),
            )
            for name, field in node["properties"].items()
            if name != "$schema"
        ),
    )  # fmt: skip


def _choices(node: Schema) -> list[Schema]:
    return [each for word in ("oneOf", "anyOf") for each in node.get(word, ())]


def _type(node: Schema) -> str:
    """Return the type of a value, in words."""
    name = _reference(node)
    if name is not None:
        return name
    choices = _choices(node)
    if choices:
        return " or ".join(dict.fromkeys(map(_type, choices)))
    kind = node.get("type", "")
    if kind == "array":
        return f"list of {_type(node.get('items', {}))}"
    if kind == "object" and isinstance(node.get("additionalProperties"), dict) and "properties" not in node:
        return f"object with values of type {_type(node['additionalProperties'])}"
    return _described(node) if kind == "string" else kind or "any value"


def _described(node: Schema) -> str:
    """Describe a type of strings."""
    pattern = node.get("pattern")
    if pattern is None:
        return "blank string" if "not" in node and node["not"].get("pattern") == NON_BLANK else "string"
    described = PATTERN_DESCRIPTIONS.get(pattern)
    return "string (not blank)" if pattern == NON_BLANK else described or f"string that matches {_cut(pattern)}"


def _values(node: Schema) -> Iterator[str]:
    """Return the allowed values and bounds of a value and of its items, in words."""
    for choice in _choices(node):
        yield from _values(choice)
    if "const" in node:
        yield f"only {_shown(node['const'])}"
    elif "enum" in node:
        yield "one of " + ", ".join(map(_shown, node["enum"]))
    yield from (f"{words} {node[keyword]}" for keyword, words in _BOUNDS if keyword in node)
    yield from _size(node)
    for inner in (node.get("items"), node.get("additionalProperties")):
        found = list(_values(inner)) if isinstance(inner, dict) else []
        if found:
            yield f"each {', '.join(found)}"


def _size(node: Schema) -> Iterator[str]:
    low_word, high_word, what = _SIZES.get(node.get("type", ""), ("", "", ""))
    low, high = node.get(low_word), node.get(high_word)
    if low is not None and low == high:
        yield f"exactly {low} {what}s"
    else:
        yield from (
            f"{words} {plural(size, what)}"
            for size, words in ((low, "at least"), (high, "at most"))
            if size is not None
        )


def _shown(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)


def _rule(rule: JsonObject) -> DictionaryRule:
    details = ", ".join(
        f"{name} {_cut(value) if name == 'pattern' else _listed(value)}"
        for name, value in rule.items()
        if name not in _ABOUT_ITSELF
    )
    return DictionaryRule(
        code=rule["code"], severity=rule["severity"], message=rule["message"], hint=rule.get("hint"),
        details=f"{rule['kind']}: {details}" if details else rule["kind"],
    )  # fmt: skip


def _cut(pattern: str) -> str:
    """Return the start of a long pattern, which the schema has whole."""
    return pattern if len(pattern) <= _LONGEST_PATTERN else f"{pattern[:_LONGEST_PATTERN]}…"


def _listed(value: object) -> str:
    if isinstance(value, list | tuple):
        return " + ".join(map(_listed, value))
    return _shown(value)
