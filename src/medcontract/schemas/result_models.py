"""The contracts of what medcontract itself prints as JSON, and their Pydantic models, derived from Structs.

A result is defined once, in `medcontract.results`. Its model is only needed to publish a schema, and to report what
is wrong with a result used as input (a score passed to `compare`); never to check a valid file.
"""

from __future__ import annotations

import sys
from functools import cache
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from msgspec import Struct
from pydantic import AfterValidator, Field, ValidationError, ValidationInfo, create_model

from medcontract.contracts import base, registry
from medcontract.contracts.base import Document, ListOf, StrictModel
from medcontract.contracts.contract import Contract
from medcontract.problems import pointer
from medcontract.results.base import Result, public_fields
from medcontract.results.comparison import Comparison
from medcontract.results.leaderboard import Leaderboard
from medcontract.results.preflight import Preflight
from medcontract.results.reference import ContractList, Explanation, Protocol, ProtocolCheck, ProtocolList
from medcontract.results.rehearsal import Rehearsal
from medcontract.results.schemas import SchemaDiff, SchemaIndex
from medcontract.results.score import Score
from medcontract.results.validation import Validation
from medcontract.results.verification import Verification
from medcontract.types import JsonObject

RESULT_OF = "x-result-of"
"""In the schema of a field: its value satisfies the result contract of the track in this other field."""


def _keeps_result_contract(value: JsonObject, info: ValidationInfo) -> JsonObject:
    contract = registry.results().get(info.data.get("track", ""))
    if contract is not None and not info.data.get("participant"):
        try:
            contract.model.model_validate(value)
        except ValidationError as error:
            where = pointer(error.errors(include_url=False, include_input=False)[0]["loc"], plain=True)
            raise ValueError(f"not a document of {contract.id}: see {where or 'its keys'}") from None
    return value


def _hides_groups(groups: list[Any] | None, info: ValidationInfo) -> list[Any] | None:
    """Check what the schema says, too: participants see no subgroups, and a hidden one has no figures."""
    if groups and info.data.get("participant"):
        raise ValueError("participants do not see subgroups")
    hidden = [group for group in groups or () if group.cases is None]
    if any(group.figures or group.intervals or (group.headline, group.gap) != (None, None) for group in hidden):
        raise ValueError("a hidden subgroup has no figures")
    return groups


_CONDITIONS: dict[str, JsonObject] = {
    "Subgroup": {
        "if": {
            "description": "A hidden subgroup.",
            "properties": {"cases": {"description": "Not shown.", "type": "null"}},
            "required": ["cases"],
        },
        "then": {
            "description": "It has no figures.",
            "properties": {
                "headline": {"description": "Not shown.", "const": None},
                "figures": {"description": "Not shown.", "type": "object", "additionalProperties": False},
                "gap": {"description": "Not shown.", "const": None},
                "intervals": {
                    "description": "Not shown.",
                    "anyOf": [{"type": "object", "additionalProperties": False}, {"type": "null"}],
                },
            },
        },
    }
}
"""What the schemas of some results say besides their fields."""


_TYPES: dict[str, Any] = {
    "TrackResult": Annotated[
        JsonObject, AfterValidator(_keeps_result_contract), Field(json_schema_extra={RESULT_OF: "track"})
    ],
    "Code": Annotated[
        str,
        Field(
            pattern="^[A-Z]{2,12}[0-5][0-9][0-9]$",
            max_length=15,
            # in some languages `$` also matches before a trailing line break
            json_schema_extra={"not": {"type": "string", "pattern": r"[\x0a]"}},
        ),
    ],
    "Sha256": Annotated[str, Field(pattern="^[0-9a-f]{64}$", max_length=64)],
    **{name: getattr(base, name) for name in ("Count", "NonNegative", "Position", "RelativePath", "Str", "Unit")},
}
"""The field types for the markers of `results.base`."""
STRUCT = "__struct__"
"""The attribute of a model with the Struct that it was derived from: its fields are documented there."""


@cache
def model_of(struct: type[Struct], whole_file: bool = True) -> type[StrictModel]:
    """Return the model of a result. `whole_file`: it is a file, which may have a `$schema` key."""
    hints = get_type_hints(struct, include_extras=True)
    optional: frozenset[str] = getattr(struct, "_optional", frozenset()) | getattr(struct, "_values", frozenset())
    fields: dict[str, Any] = {
        name: (_field_type(hints[name]), None if name in optional else ...) for name in public_fields(struct)
    }
    document = whole_file and issubclass(struct, Result)
    model: type[StrictModel] = create_model(
        struct.__name__,
        __base__=Document if document else StrictModel,
        __module__=__name__,
        __doc__=struct.__doc__,
        __cls_kwargs__={"json_schema_extra": _CONDITIONS.get(struct.__name__)},
        **fields,
    )
    setattr(model, STRUCT, struct)
    setattr(sys.modules[__name__], struct.__name__, model)  # it can be found by its name, like handwritten ones
    return model


def _field_type(hint: Any) -> Any:
    """Return the Pydantic type of a field."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        if inner[1] == "Subgroups":
            return Annotated[_field_type(inner[0]), AfterValidator(_hides_groups)]
        return _TYPES[inner[1]]
    if origin is tuple:
        item: Any = _field_type(inner[0])
        return ListOf[item]
    if origin is dict:
        return GenericAlias(dict, (str, _field_type(inner[1])))
    if origin in (Union, UnionType):
        return Union[tuple(NoneType if each is NoneType else _field_type(each) for each in inner)]  # noqa: UP007
    if isinstance(hint, type) and issubclass(hint, Struct):  # a score in a preflight is a file, a report of one is not
        return model_of(hint, whole_file=hint.__name__ != "FileReport")
    return hint


CONTRACTS = tuple(
    Contract(id=f"medcontract/{name}", model=model_of(struct), title=title, output=True)
    for name, struct, title in (
        ("comparison", Comparison, "Comparison of two results"),
        ("explanation", Explanation, "Problem codes explained"),
        ("index", SchemaIndex, "Index of published schemas"),
        ("leaderboard", Leaderboard, "Ranking of submissions"),
        ("listing", ContractList, "List of contracts"),
        ("preflight", Preflight, "Preflight checklist of a submission"),
        ("protocol", Protocol, "Protocol of a track"),
        ("protocol-check", ProtocolCheck, "Check of a frozen protocol"),
        ("protocols", ProtocolList, "List of protocols"),
        ("rehearsal", Rehearsal, "Rehearsal of an evaluation"),
        ("schema-diff", SchemaDiff, "Changes between schemas"),
        ("score", Score, "Score with its inputs, protocol and processing"),
        ("validation", Validation, "Result of a validation"),
        ("verification", Verification, "Verification of a score"),
    )
)
