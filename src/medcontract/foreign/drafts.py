"""The drafts of JSON Schema that are read, and where schemas stand inside schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import attrs
import jsonschema
from jsonschema.protocols import Validator
from referencing import Specification
from referencing import jsonschema as specifications

from medcontract.problems import Path, Token

_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"})
"""Keywords that hold schemas by name."""
IN_PLACE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"})
"""Keywords whose schemas are about the same value, not about one inside it."""
_EVERY = IN_PLACE - {"dependentSchemas", "dependencies"} | {
    "properties", "patternProperties", "additionalProperties", "propertyNames", "items", "contains", "definitions",
}  # fmt: skip
_SINCE_2019 = _EVERY | {"$defs", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}
_KEEPS_BOOLEAN = frozenset({"additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems"})
"""Where jsonschema itself knows what `false` means. Elsewhere it forgets the place of the value."""


class Draft:
    """One draft, and what differs from draft to draft."""

    def __init__(
        self, name: str, uri: str, base: type[Validator], specification: Specification[Any], keywords: frozenset[str]
    ) -> None:
        self.name = name
        self.uri = uri
        # the original takes the lists among draft-07's dependencies for schemas
        self.specification: Specification[Any] = attrs.evolve(
            specification,  # type: ignore[misc]  # an attrs class, though mypy does not see it
            subresources_of=self._subresources,
        )
        self.keywords = keywords
        self.base = base

    def _subresources(self, schema: Any) -> Iterator[Any]:
        return (inner.schema for inner in inner_schemas(schema, self)) if isinstance(schema, dict) else iter(())

    @property
    def lonely_ref(self) -> bool:
        """Whether what stands beside a `$ref` is ignored."""
        return self.name == "draft-07"

    def keeps_boolean(self, keyword: str) -> bool:
        """Whether a schema that is true or false can stay so; else it is written as an object."""
        return keyword in _KEEPS_BOOLEAN or (keyword == "items" and self.name == "2020-12")


DRAFTS = (
    Draft(
        "draft-07", "json-schema.org/draft-07/schema", jsonschema.Draft7Validator, specifications.DRAFT7,
        _EVERY | {"additionalItems", "dependencies"},
    ),
    Draft(
        "2019-09", "json-schema.org/draft/2019-09/schema", jsonschema.Draft201909Validator, specifications.DRAFT201909,
        _SINCE_2019 | {"additionalItems"},
    ),
    Draft(
        "2020-12", "json-schema.org/draft/2020-12/schema", jsonschema.Draft202012Validator, specifications.DRAFT202012,
        _SINCE_2019 | {"prefixItems"},
    ),
)  # fmt: skip
LATEST = DRAFTS[-1]
SUPPORTED = ", ".join(draft.name for draft in DRAFTS)


def draft_named(uri: str) -> Draft | None:
    """The draft that a `$schema` names; `http` and `https`, with and without an empty fragment, are the same."""
    bare = uri.removesuffix("#").removeprefix("https://").removeprefix("http://")
    return next((draft for draft in DRAFTS if draft.uri == bare), None)


class Inner(NamedTuple):
    """A schema inside a schema: `holder[key]`."""

    keyword: str
    holder: Any
    key: Token
    path: Path

    @property
    def schema(self) -> Any:
        return self.holder[self.key]


def inner_schemas(schema: dict[str, Any], draft: Draft) -> Iterator[Inner]:
    """The schemas directly inside this one."""
    for keyword, value in schema.items():
        if keyword not in draft.keywords:
            continue
        if keyword in _MAPS and isinstance(value, dict):
            members = [Inner(keyword, value, name, (keyword, name)) for name in value]
        elif isinstance(value, list):
            members = [Inner(keyword, value, index, (keyword, index)) for index in range(len(value))]
        else:
            members = [Inner(keyword, schema, keyword, (keyword,))]
        yield from (member for member in members if isinstance(member.schema, dict | bool))
