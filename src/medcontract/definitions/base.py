"""The strict base model and the field types that all contracts share.

Every type here means the same to Pydantic and in the exported JSON Schema.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Strict,
    Tag,
    WithJsonSchema,
)  # fmt: skip
from pydantic import StringConstraints as Constraints
from pydantic_core import PydanticCustomError

from medcontract.definitions.forms import ANSWERED, BLANK, BLANKS, DATE, FAILED, GUID, NON_BLANK, RELATIVE_PATH


def _integral(value: Any) -> Any:
    """`1.0` is the integer 1, as in JSON Schema."""
    return int(value) if type(value) is float and value.is_integer() else value


WHOLE = BeforeValidator(_integral)
"""For integers; stands after the bounds: `Annotated[int, Field(ge=0), WHOLE]`."""
Str = Annotated[str, Constraints(pattern=NON_BLANK)]
Text = str
NoError = Annotated[str, Constraints(pattern=BLANK)] | None
"""The `error` of a record that has none: absent, null and blank all mean that."""
Date = Annotated[
    str,
    Constraints(pattern=DATE),
    WithJsonSchema({"type": "string", "pattern": DATE, "not": {"type": "string", "pattern": "[^0-9TZ:. +-]"}}),
]
Guid = Annotated[str, Constraints(pattern=GUID), WithJsonSchema({"type": "string", "pattern": GUID, "maxLength": 36})]
RelativePath = Annotated[str, Constraints(pattern=RELATIVE_PATH)]
Count = Annotated[int, Field(ge=0), WHOLE]
Position = Annotated[int, Field(ge=1), WHOLE]
NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Unit = Annotated[float, Field(ge=0, le=1)]


def _only(*values: Any) -> AfterValidator:
    """Only these values. (`Literal` will not do for booleans and numbers: there, 1 equals true.)"""

    def check(value: Any) -> Any:
        if value not in values:
            raise PydanticCustomError("literal_error", "not one of these", {"expected": " or ".join(map(str, values))})
        return value

    return AfterValidator(check)


Yes = Annotated[bool, _only(True), WithJsonSchema({"type": "boolean", "const": True})]
ZeroOrOne = Annotated[int, _only(0, 1), WHOLE, WithJsonSchema({"type": "integer", "enum": [0, 1]})]

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
    """A whole file. Editors use `$schema` to offer completion."""

    schema_: Annotated[str | None, Field(alias="$schema")] = None
    """The schema of this file, for editors."""


def _form(value: Any) -> str:
    """A record with an `error` (not null, not blank) is a failed one; what else it holds does not matter for that."""
    error = value.get("error") if isinstance(value, dict) else getattr(value, "error", None)
    none = error is None or (isinstance(error, str) and not error.strip(BLANKS))
    return ANSWERED if none else FAILED


_Answered = TypeVar("_Answered")
_Failed = TypeVar("_Failed")
Either = Annotated[
    Annotated[_Answered, Tag(ANSWERED)] | Annotated[_Failed, Tag(FAILED)],
    Discriminator(_form),
]
"""A record in one of two forms, told apart by `error`: one wrong value gives one problem, not one for each form."""
