"""The types of values in a challenge file: names, texts and numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, GetCoreSchemaHandler, PlainValidator, Strict
from pydantic import Field as Info
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

from medcontract.catalog import problem_codes
from medcontract.contracts.base import OpenModel
from medcontract.contracts.registry import TRACKS

LONGEST_NAME = 64
_LONGEST_VALUE = 200
_LARGEST = Decimal("1e308")
_LARGEST_EXACT = 2**53
_MOST_DIGITS = 17
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_ID = re.compile(r"[a-z][a-z0-9-]*")
_LINE_BREAKS = str.maketrans("\r\n\t", "   ")
RESERVED_NAMES = frozenset(name for name in dir(OpenModel) if name.startswith("model_")) | {"schema_"}
"""Names that the models of records need for themselves."""


def problem(code: str, message: str, hint: str | None = None) -> PydanticCustomError:
    """Return an error whose type is a problem code: `contracts.pydantic_errors` takes code, message and hint as is."""
    return PydanticCustomError(code, message, {"hint": hint})


def _text(value: str) -> str:
    if not value.strip():
        raise problem("MC106", "must not be blank")
    if not value.translate(_LINE_BREAKS).isprintable():
        raise problem("MC107", "contains a control character, or another one that cannot be displayed")
    return value


def _line(value: str) -> str:
    if not _text(value).isprintable():
        raise problem("MC107", "must be a single line")
    return value


def is_name(name: str) -> bool:
    """Return whether a metric, a mean or a sum may have this name, unless it is reserved."""
    return _NAME.fullmatch(name) is not None and len(name) <= LONGEST_NAME


def is_id(text: str) -> bool:
    """Return whether a challenge may have this id, unless a built-in track has it."""
    return _ID.fullmatch(text) is not None and len(text) <= LONGEST_NAME


def is_field_name(name: str) -> bool:
    """Return whether a field may have this name, unless it is reserved: a letter, then letters, digits and `_`."""
    return name.isidentifier() and name[0].isalpha() and len(name) <= LONGEST_NAME


def _short(value: str) -> str:
    if len(value) > _LONGEST_VALUE:
        raise problem("MC107", f"longer than {_LONGEST_VALUE} characters")
    return value


def is_class(value: str) -> bool:
    """Return whether an enumeration may have this value."""
    return bool(value.strip()) and value.isprintable() and len(value) <= _LONGEST_VALUE


def _name(value: str) -> str:
    if not is_name(value):
        raise problem("MC107", "invalid name", "use lower-case letters, digits and _, starting with a letter")
    return _not_reserved(value)


def _not_reserved(value: str) -> str:
    if value in RESERVED_NAMES:
        raise problem("MC225", f"'{value}' is a reserved name", "choose another name")
    return value


def _field_name(value: str) -> str:
    if value == "error":
        raise problem("MC225", "'error' is a reserved name", "choose another name")
    if not is_field_name(value):
        raise problem("MC107", "invalid name", "use letters, digits and _, starting with a letter")
    return _not_reserved(value)


def _id(value: str) -> str:
    if not is_id(value):
        raise problem("MC107", "invalid id", "use lower-case letters, digits and -, starting with a letter")
    if value in (*TRACKS, "medcontract"):
        raise problem("MC225", f"'{value}' is a built-in track", "choose another id")
    return value


def _code(value: str) -> str:
    if value not in problem_codes() or not value.startswith("MC2"):
        raise problem("MC104", "unknown code", "use a code of MC2xx, or remove it")
    return value


def _names(value: object) -> object:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list):
        return tuple(value)
    raise problem("MC103", "must be a string or a list of strings")


def _number(value: object) -> Decimal:
    """Return a number of at most 17 digits: more than a double has, so that is the shortest decimal of its double."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise PydanticKnownError("float_type")
    number = Decimal(value)
    if not number.is_finite() or number.copy_abs() > _LARGEST:
        raise problem("MC105", "must be a finite number")
    double = Decimal(repr(float(number)))
    if len("".join(map(str, number.as_tuple().digits)).strip("0")) > _MOST_DIGITS:
        raise problem("MC105", f"has more than {_MOST_DIGITS} significant digits", "use fewer digits")
    if number and not double:
        raise problem("MC105", "is too close to 0 for a double")
    return (number if double == number else double) + 0  # not -0


def without_anchors(pattern: str) -> str:
    """Return a pattern without a `^` at its start and a `$` at its end: it matches complete values anyway."""
    body = pattern.removesuffix("$")
    is_escaped = (len(body) - len(body.rstrip("\\"))) % 2 == 1
    return (pattern if is_escaped else body).removeprefix("^")


def _bound(value: Decimal) -> Decimal:
    if abs(value) >= _LARGEST_EXACT:
        raise problem("MC105", "must be below 2**53")
    return value


Line = Annotated[str, AfterValidator(_line)]
Pattern = Annotated[Line, AfterValidator(without_anchors)]
Text = Annotated[str, AfterValidator(_text)]
"""May have several lines: a description."""
Name = Annotated[Line, AfterValidator(_name)]
FieldName = Annotated[Line, AfterValidator(_field_name)]
ClassName = Annotated[Line, AfterValidator(_short)]
Lines = Annotated[tuple[Line, ...], Strict(False)]
Number = Annotated[Decimal, PlainValidator(_number)]
Bound = Annotated[Number, AfterValidator(_bound)]
Length = Annotated[int, Info(ge=0, le=10**9)]
Id = Annotated[Line, AfterValidator(_id)]
Key = Annotated[tuple[FieldName, ...], Info(min_length=1, max_length=8), BeforeValidator(_names)]
RuleCode = Annotated[str, AfterValidator(_code)]


@dataclass(frozen=True)
class OneModelPerKind:
    """Annotates the base of several models: the key `kind` says which one it is."""

    models: Mapping[str, type[BaseModel]]

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        choices = {kind: handler.generate_schema(model) for kind, model in self.models.items()}
        return core_schema.tagged_union_schema(choices, discriminator="kind")
