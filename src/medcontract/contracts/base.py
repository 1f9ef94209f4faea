"""The strict base model and the field types that all contracts share.

Every type accepts the same values in Pydantic and in the exported JSON Schema.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    Strict,
    Tag,
    WithJsonSchema,
)  # fmt: skip
from pydantic import StringConstraints as Constraints
from pydantic_core import PydanticCustomError, core_schema

from medcontract.contracts.string_patterns import (
    ANSWERED,
    BLANK,
    BLANKS,
    DATE,
    FAILED,
    GUID,
    NON_BLANK,
    PATTERN_DESCRIPTIONS,
    RELATIVE_PATH,
)  # fmt: skip
from medcontract.errors import CallError
from medcontract.types import JsonObject


def _integral(value: object) -> object:
    """`1.0` is the integer 1, as in JSON Schema."""
    return int(value) if type(value) is float and value.is_integer() else value


AcceptIntegral = BeforeValidator(_integral)
"""Accepts `1.0` for integers; must come after the bounds: `Annotated[int, Field(ge=0), AcceptIntegral]`."""
Str = Annotated[str, Constraints(pattern=NON_BLANK)]
Text = str
_BLANK = WithJsonSchema({"type": "string", "not": {"type": "string", "pattern": NON_BLANK}})
"""Without `$`, which in Java also matches before a final U+2028; that character is not blank."""
NoError = Annotated[str, Constraints(pattern=BLANK), _BLANK] | None
"""The `error` of a record that has none: absent, null and blank all mean that."""
_DATE = WithJsonSchema({"type": "string", "pattern": DATE, "not": {"type": "string", "pattern": "[^0-9TZ:. +-]"}})
_GUID = WithJsonSchema({"type": "string", "pattern": GUID, "maxLength": 36})
_YES = WithJsonSchema({"type": "boolean", "const": True})
_ZERO_OR_ONE = WithJsonSchema({"type": "integer", "enum": [0, 1]})
BUILT_IN_SCHEMAS = (_BLANK, _DATE, _GUID, _YES, _ZERO_OR_ONE)
"""Handwritten schemas, each equivalent to its type."""
PORTABLE_PATTERNS = frozenset({*PATTERN_DESCRIPTIONS, BLANK})
"""Patterns that mean the same in every language within the schemas that contain them."""
Date = Annotated[str, Constraints(pattern=DATE), _DATE]
Guid = Annotated[str, Constraints(pattern=GUID), _GUID]
RelativePath = Annotated[str, Constraints(pattern=RELATIVE_PATH)]
Count = Annotated[int, Field(ge=0), AcceptIntegral]
Position = Annotated[int, Field(ge=1), AcceptIntegral]
NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Unit = Annotated[float, Field(ge=0, le=1)]


def _only(*values: object) -> AfterValidator:
    """Allow only these values. (`Literal` does not work for booleans and numbers because 1 == True.)"""

    def check(value: object) -> object:
        if value not in values:
            raise PydanticCustomError("literal_error", "not one of these", {"expected": " or ".join(map(str, values))})
        return value

    return AfterValidator(check)


AlwaysTrue = Annotated[bool, _only(True), _YES]
ZeroOrOne = Annotated[int, _only(0, 1), AcceptIntegral, _ZERO_OR_ONE]


LINE_BREAKS = frozenset("\n\r\x85\u2028\u2029")
"""Characters before which `$` may match at the end of a string in Java; in Python only the line feed."""
_ESCAPED = r"\\[\\.^$|()\[\]{}*+?]"
_IN_CLASS = rf"(?:[^\\\[\]^&~-]|{_ESCAPED}|\\-|\\x[0-9a-fA-F]{{2}})"
_PORTABLE = re.compile(
    rf"(?:(?:[^\\.^$|()\[\]{{}}*+?]|{_ESCAPED}|\[\^?{_IN_CLASS}(?:-{_IN_CLASS}|{_IN_CLASS})*-?\]|\)|\|)"
    r"(?:[?*+]|\{[0-9]{1,4}(?:,[0-9]{0,4})?\})?(?![?*+{])|\((?:\?:)?)*"
)
"""Patterns that ECMA-262, Python, Rust and Java interpret alike: no `\\d` or similar, dot, anchor or lookaround."""


@dataclass(frozen=True)
class Matching:
    """A single-line string that matches the pattern completely: `Annotated[str, Matching("ICU-[0-9]{4}")]`.

    In some languages `$` also matches before a trailing line break, so line breaks are not allowed at all.
    """

    pattern: str

    def __post_init__(self) -> None:
        if not _PORTABLE.fullmatch(self.pattern):
            raise CallError(
                f"the pattern '{self.pattern}' is not portable across languages",
                "use only characters, […], (…), |, ?, *, + and {…}; write [0-9] instead of \\d; '^' and '$' are added",
            )
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise CallError(f"the pattern '{self.pattern}' is invalid: {error}") from None

    @property
    def anchored(self) -> str:
        return f"^(?:{self.pattern})$"

    def one_line(self, value: str) -> str:
        if LINE_BREAKS.intersection(value):
            raise PydanticCustomError("string_pattern_mismatch", "a line break", {"pattern": self.anchored})
        return value

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        if handler(source) != {"type": "str"}:
            raise CallError(
                f"Matching('{self.pattern}') can only annotate plain str",
                "express the other constraints in the pattern",
            )
        return core_schema.no_info_after_validator_function(
            self.one_line, core_schema.str_schema(pattern=self.anchored)
        )

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> JsonObject:
        return {
            "type": "string",
            "pattern": self.anchored,
            "not": {"type": "string", "pattern": r"[\n\r\x85\u2028\u2029]"},
        }


T = TypeVar("T")
ListOf = Annotated[tuple[T, ...], Strict(False)]
"""A JSON list as an immutable tuple."""


class StrictModel(BaseModel):
    """Strict types, no unknown keys, immutable, no values in error messages."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=True,
        protected_namespaces=(),
    )


class OpenModel(StrictModel):
    """Like `StrictModel`, but unknown keys are allowed and kept."""

    model_config = ConfigDict(extra="allow")


class Document(StrictModel):
    """Base of all file models."""

    schema_: Annotated[str | None, Field(alias="$schema")] = None
    """The `$id` of the schema of this file; editors use it to offer completion."""


def variant(value: object) -> str:
    """Choose the variant: a record with an `error` (not null, not blank) failed, regardless of its other keys."""
    error = value.get("error") if isinstance(value, dict) else getattr(value, "error", None)
    none = error is None or (isinstance(error, str) and not error.strip(BLANKS))
    return ANSWERED if none else FAILED


_Answered = TypeVar("_Answered")
_Failed = TypeVar("_Failed")
Either = Annotated[
    Annotated[_Answered, Tag(ANSWERED)] | Annotated[_Failed, Tag(FAILED)],
    Discriminator(variant),
]
"""A record of one of two variants, distinguished by `error`: one wrong value is one problem, not one per variant."""
