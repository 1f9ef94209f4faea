"""The supported drafts of JSON Schema, and the keywords that contain schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import attrs
import jsonschema
from jsonschema.protocols import Validator
from referencing import Specification
from referencing import jsonschema as specifications

from medcontract.problems import Path, Token

SAME_VALUE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"})
"""Keywords whose schemas apply to the same value, not to one inside it."""
_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"})
_EVERY = SAME_VALUE - {"dependentSchemas", "dependencies"} | {
    "properties", "patternProperties", "additionalProperties", "propertyNames", "items", "contains", "definitions",
}  # fmt: skip
_SINCE_2019 = _EVERY | {"$defs", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}


class Subschema(NamedTuple):
    """A schema inside a schema: `holder[key]`. The path starts with the keyword."""

    path: Path
    holder: Any
    key: Token

    @property
    def schema(self) -> Any:
        return self.holder[self.key]


class Draft:
    """A draft of JSON Schema."""

    def __init__(self, name: str, validator: type[Validator], specification: Any, keywords: frozenset[str]) -> None:
        self.name = name
        self.validator = validator
        self.uri = str(validator.META_SCHEMA["$id"])
        self.ignores_ref_siblings = name == "draft-07"
        self._keywords = keywords
        # the original raises AttributeError if draft-07's `dependencies` contain both schemas and lists
        self.specification: Specification[Any] = attrs.evolve(
            specification, subresources_of=lambda schema: (inner.schema for inner in self.subschemas(schema))
        )

    def subschemas(self, schema: Any) -> Iterator[Subschema]:
        """The schemas directly inside this one."""
        for keyword, value in schema.items() if isinstance(schema, dict) else ():
            if keyword not in self._keywords:
                continue
            found = [Subschema((keyword,), schema, keyword)]
            if isinstance(value, list) or (keyword in _BY_NAME and isinstance(value, dict)):
                keys = range(len(value)) if isinstance(value, list) else value
                found = [Subschema((keyword, key), value, key) for key in keys]
            yield from (inner for inner in found if isinstance(inner.schema, dict | bool))


DRAFTS = (
    Draft("draft-07", jsonschema.Draft7Validator, specifications.DRAFT7, _EVERY | {"additionalItems", "dependencies"}),
    Draft(
        "2019-09", jsonschema.Draft201909Validator, specifications.DRAFT201909, _SINCE_2019 | {"additionalItems"}
    ),
    Draft("2020-12", jsonschema.Draft202012Validator, specifications.DRAFT202012, _SINCE_2019 | {"prefixItems"}),
)  # fmt: skip
LATEST = DRAFTS[-1]
SUPPORTED = f"supported: {', '.join(draft.name for draft in DRAFTS)}"


def draft_named(uri: str) -> Draft | None:
    """The draft of a `$schema`; http or https and an empty fragment make no difference."""
    return next((draft for draft in DRAFTS if _bare(draft.uri) == _bare(uri)), None)


def _bare(uri: str) -> str:
    return uri.removesuffix("#").removeprefix("https://").removeprefix("http://")
