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
from medcontract.results.score import MIN_CELL, Score
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


def _hides_small_groups(groups: list[Any] | None, info: ValidationInfo) -> list[Any] | None:
    """Check that participants see no subgroups, and that nothing can be known of a hidden one."""
    if groups and info.data.get("participant"):
        raise ValueError("participants do not see subgroups")
    parameters = info.data["protocol"].parameters if "protocol" in info.data else {}
    least = parameters.get("min_cell", MIN_CELL)
    for field in dict.fromkeys(group.field for group in groups or ()):
        those = [group for group in groups or () if group.field == field]
        hidden = [group for group in those if group.cases is None]
        if any(group.figures or (group.headline, group.gap) != (None, None) for group in hidden):
            raise ValueError("a hidden subgroup has no figures")
        if any(group.cases is not None and group.cases < least for group in those):
            raise ValueError(f"subgroups with fewer than {least} cases must be hidden")
        if len(hidden) == 1 < len(those):
            raise ValueError("a single hidden subgroup can be computed from the others")
    return groups


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
    """The model of a result. `whole_file`: it is a file, which may have a `$schema` key."""
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
        **fields,
    )
    setattr(model, STRUCT, struct)
    setattr(
        sys.modules[__name__], struct.__name__, model
    )  # so that the model can be found by its name, like handwritten ones
    return model


def _field_type(hint: Any) -> Any:
    """The Pydantic type of a field."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        if inner[1] == "Subgroups":
            return Annotated[_field_type(inner[0]), AfterValidator(_hides_small_groups)]
        return _TYPES[inner[1]]
    if origin is tuple:
        item: Any = _field_type(inner[0])
        return ListOf[item]
    if origin is dict:
        return GenericAlias(dict, (str, _field_type(inner[1])))
    if origin in (Union, UnionType):
        return Union[tuple(NoneType if each is NoneType else _field_type(each) for each in inner)]  # noqa: UP007
    if isinstance(hint, type) and issubclass(hint, Struct):
        return _nested(hint)
    return hint


def _nested(struct: type[Struct]) -> type[StrictModel]:
    """Whether a result is a document: a score inside a preflight is, a report of one file is not."""
    return model_of(struct, struct.__name__ != "FileReport")


VALIDATION = Contract(
    id="medcontract/validation", model=model_of(Validation), title="Result of a validation", output=True
)
LISTING = Contract(id="medcontract/listing", model=model_of(ContractList), title="List of contracts", output=True)
EXPLANATION = Contract(
    id="medcontract/explanation", model=model_of(Explanation), title="Problem codes explained", output=True
)
INDEX = Contract(id="medcontract/index", model=model_of(SchemaIndex), title="Index of published schemas", output=True)
SCHEMA_DIFF = Contract(
    id="medcontract/schema-diff", model=model_of(SchemaDiff), title="Changes between schemas", output=True
)
SCORE = Contract(
    id="medcontract/score", model=model_of(Score), title="Score with its inputs, protocol and processing", output=True
)
LEADERBOARD = Contract(
    id="medcontract/leaderboard", model=model_of(Leaderboard), title="Ranking of submissions", output=True
)
COMPARISON = Contract(
    id="medcontract/comparison", model=model_of(Comparison), title="Comparison of two results", output=True
)
PREFLIGHT = Contract(
    id="medcontract/preflight", model=model_of(Preflight), title="Preflight checklist of a submission", output=True
)
PROTOCOL = Contract(id="medcontract/protocol", model=model_of(Protocol), title="Protocol of a track", output=True)
PROTOCOL_CHECK = Contract(
    id="medcontract/protocol-check", model=model_of(ProtocolCheck), title="Check of a frozen protocol", output=True
)
REHEARSAL = Contract(
    id="medcontract/rehearsal", model=model_of(Rehearsal), title="Rehearsal of an evaluation", output=True
)
VERIFICATION = Contract(
    id="medcontract/verification", model=model_of(Verification), title="Verification of a score", output=True
)
PROTOCOLS = Contract(id="medcontract/protocols", model=model_of(ProtocolList), title="List of protocols", output=True)

CONTRACTS = (
    COMPARISON, EXPLANATION, INDEX, LEADERBOARD, LISTING, PREFLIGHT, PROTOCOL, PROTOCOL_CHECK, PROTOCOLS, REHEARSAL,
    SCHEMA_DIFF, SCORE, VALIDATION, VERIFICATION,
)  # fmt: skip
