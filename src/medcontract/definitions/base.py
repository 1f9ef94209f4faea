"""The strict base model and the field types that all contracts share.

Every type here means the same in Pydantic and in the exported JSON Schema.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

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

from medcontract.definitions.forms import (
    ANSWERED,
    BLANK,
    BLANKS,
    DATE,
    FAILED,
    FORMS,
    GUID,
    NON_BLANK,
    RELATIVE_PATH,
)  # fmt: skip
from medcontract.errors import CallError


def _integral(value: Any) -> Any:
    """`1.0` is the integer 1, as in JSON Schema."""
    return int(value) if type(value) is float and value.is_integer() else value


WHOLE = BeforeValidator(_integral)
"""For integers; comes after the bounds: `Annotated[int, Field(ge=0), WHOLE]`."""
Str = Annotated[str, Constraints(pattern=NON_BLANK)]
Text = str
_BLANK = WithJsonSchema({"type": "string", "not": {"type": "string", "pattern": NON_BLANK}})
"""Without `$`: Java finds the end of `^…$` before a last U+2028, too, which is not blank."""
NoError = Annotated[str, Constraints(pattern=BLANK), _BLANK] | None
"""The `error` of a record that has none: absent, null and blank all mean that."""
_DATE = WithJsonSchema({"type": "string", "pattern": DATE, "not": {"type": "string", "pattern": "[^0-9TZ:. +-]"}})
_GUID = WithJsonSchema({"type": "string", "pattern": GUID, "maxLength": 36})
_YES = WithJsonSchema({"type": "boolean", "const": True})
_ZERO_OR_ONE = WithJsonSchema({"type": "integer", "enum": [0, 1]})
OWN_SCHEMAS = (_BLANK, _DATE, _GUID, _YES, _ZERO_OR_ONE)
"""Schemas written by hand, each with the same verdict as its type."""
OWN_FORMS = frozenset({*FORMS, BLANK})
"""Patterns that mean the same in every language, in the schemas that they are part of."""
Date = Annotated[str, Constraints(pattern=DATE), _DATE]
Guid = Annotated[str, Constraints(pattern=GUID), _GUID]
RelativePath = Annotated[str, Constraints(pattern=RELATIVE_PATH)]
Count = Annotated[int, Field(ge=0), WHOLE]
Position = Annotated[int, Field(ge=1), WHOLE]
NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Unit = Annotated[float, Field(ge=0, le=1)]


def _only(*values: Any) -> AfterValidator:
    """Only these values. (`Literal` does not work for booleans and numbers: there, 1 equals true.)"""

    def check(value: Any) -> Any:
        if value not in values:
            raise PydanticCustomError("literal_error", "not one of these", {"expected": " or ".join(map(str, values))})
        return value

    return AfterValidator(check)


Yes = Annotated[bool, _only(True), _YES]
ZeroOrOne = Annotated[int, _only(0, 1), WHOLE, _ZERO_OR_ONE]


LINE_BREAKS = frozenset("\n\r\x85\u2028\u2029")
"""What `$` may stop before in Java; in Python it is the line feed alone."""
_ESCAPED = r"\\[\\.^$|()\[\]{}*+?]"
_IN_CLASS = rf"(?:[^\\\[\]^&~-]|{_ESCAPED}|\\-|\\x[0-9a-fA-F]{{2}})"
_PORTABLE = re.compile(
    rf"(?:(?:[^\\.^$|()\[\]{{}}*+?]|{_ESCAPED}|\[\^?{_IN_CLASS}(?:-{_IN_CLASS}|{_IN_CLASS})*-?\]|\)|\|)"
    r"(?:[?*+]|\{[0-9]{1,4}(?:,[0-9]{0,4})?\})?(?![?*+{])|\((?:\?:)?)*"
)
"""Patterns that ECMA-262, Python, Rust and Java read alike: no `\\d` and its like, no dot, anchor or lookaround."""


@dataclass(frozen=True)
class Matching:
    """A string of one line that has this form from end to end: `Annotated[str, Matching("ICU-[0-9]{4}")]`.

    Some languages let a line break at the end pass `$`, so no line break is allowed, at the end or elsewhere.
    """

    pattern: str

    def __post_init__(self) -> None:
        if not _PORTABLE.fullmatch(self.pattern):
            raise CallError(
                f"the pattern '{self.pattern}' is not read alike in all languages",
                "use characters, […], (…), |, ?, *, + and {…}; write [0-9] for \\d; '^' and '$' are added",
            )
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise CallError(f"the pattern '{self.pattern}' is wrong: {error}") from None

    @property
    def whole(self) -> str:
        return f"^(?:{self.pattern})$"

    def one_line(self, value: str) -> str:
        if LINE_BREAKS.intersection(value):
            raise PydanticCustomError("string_pattern_mismatch", "a line break", {"pattern": self.whole})
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        if handler(source) != {"type": "str"}:
            raise CallError(f"Matching('{self.pattern}') stands on more than str", "the pattern has to say it all")
        return core_schema.no_info_after_validator_function(self.one_line, core_schema.str_schema(pattern=self.whole))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {
            "type": "string",
            "pattern": self.whole,
            "not": {"type": "string", "pattern": r"[\n\r\x85\u2028\u2029]"},
        }


T = TypeVar("T")
Many = Annotated[tuple[T, ...], Strict(False)]
"""A JSON list, frozen."""


class Strictest(BaseModel):
    """Strict types, no unknown keys, immutable, and never a value in an error message."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=True,
        protected_namespaces=(),
    )


class Open(Strictest):
    """As `Strictest`, but other keys are allowed and kept."""

    model_config = ConfigDict(extra="allow")


class Document(Strictest):
    """A whole file."""

    schema_: Annotated[str | None, Field(alias="$schema")] = None
    """The `$id` of the schema of this file; editors use it to offer completion."""


def form(value: Any) -> str:
    """A record with an `error` (not null, not blank) is a failed one, whatever else it holds."""
    error = value.get("error") if isinstance(value, dict) else getattr(value, "error", None)
    none = error is None or (isinstance(error, str) and not error.strip(BLANKS))
    return ANSWERED if none else FAILED


_Answered = TypeVar("_Answered")
_Failed = TypeVar("_Failed")
Either = Annotated[
    Annotated[_Answered, Tag(ANSWERED)] | Annotated[_Failed, Tag(FAILED)],
    Discriminator(form),
]
"""A record in one of two forms, distinguished by `error`: one wrong value gives one problem, not one per form."""
