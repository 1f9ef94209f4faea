"""The contracts of a challenge, with models that are created from its definition."""

from __future__ import annotations

import warnings
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field as Info
from pydantic import StringConstraints, create_model

from medcontract.challenges.model import Definition, Field, FieldItem
from medcontract.challenges.patterns import BoundedMatching, is_fast
from medcontract.contracts.base import (
    AcceptIntegral,
    Count,
    Date,
    Document,
    Either,
    ListOf,
    NoError,
    OpenModel,
    Str,
    StrictModel,
)
from medcontract.contracts.contract import AnyContract, Contract, StandIn
from medcontract.contracts.registry import CompiledContract
from medcontract.contracts.rules import (
    CalendarDate,
    Covers,
    Distinct,
    RecordRule,
    Reference,
    Rule,
    Unique,
    unpublish,
)
from medcontract.contracts.string_patterns import NON_BLANK
from medcontract.contracts.wrong_values import no_reason_rule
from medcontract.plugins.registration import compiled_form
from medcontract.types import JsonObject

MODULE = "medcontract-challenge"
"""The module of the models. It does not exist: their fields are documented by descriptions."""

FieldDefinitions = dict[str, Any]
"""What Pydantic makes the fields of a model from."""


class Ids(NamedTuple):
    """The ids of the contracts of a challenge."""

    predictions: str
    truth: str
    cases: str
    score: str

    @classmethod
    def of(cls, challenge: str) -> Ids:
        return cls(*(f"{challenge}/{name}" for name in cls._fields))


def compiled_contracts(definition: Definition) -> dict[str, CompiledContract]:
    """Return the contracts of a challenge in compiled form, by id."""
    fast = all(is_fast(pattern) for pattern in _patterns(definition))
    found = {}
    for contract in make_contracts(definition):
        compiled = found[contract.id] = compiled_form(contract)
        compiled.schema_is_complete = compiled.schema_is_complete and fast
    return found


def _patterns(definition: Definition) -> list[str]:
    fields = (*definition.prediction.values(), *definition.truth.values())
    return [each.pattern for field in fields for each in (field, field.of) if each is not None and each.pattern]


def make_contracts(definition: Definition) -> tuple[AnyContract, ...]:
    ids = Ids.of(definition.id)
    version = definition.version
    key_note = " and ".join(definition.key)
    truth_record = _model(
        "TruthRecord", StrictModel, "What is true of one case.",
        {**_keys(definition, "unique in the file"), **_fields(definition.truth)},
    )  # fmt: skip
    truth = Contract(
        id=ids.truth, version=version, title=f"Ground truth of {definition.title}",
        model=_list_model("Truth", "The ground truth of all cases.", "truth", truth_record), record=truth_record,
        list_key="truth", **_table(definition.truth), rules=(_unique(definition, "truth"),
        *_rules(definition, "truth", of_records=False)), record_rules=_record_rules(definition, "truth"),
    )  # fmt: skip
    case = _model("Case", OpenModel, "A case that a prediction is expected for.", _keys(definition, "unique"))
    cases = Contract(
        id=ids.cases, version=version, title=f"Cases of {definition.title}",
        model=_list_model("Cases", "The cases that predictions are expected for.", "cases", case), record=case,
        list_key="cases", flat=True, rules=(_unique(definition, "cases"),), stands_in_for=(StandIn(ids.truth),),
    )  # fmt: skip
    record = _prediction(definition)
    predictions = Contract(
        id=ids.predictions, version=version, title=f"Predictions of {definition.title}",
        model=_list_model(
            "Predictions", "The submission of one team.", "predictions", record,
            team_name=(Annotated[Str, Info(description="Name of the team that submits the predictions.")], ...),
        ),
        record=record, list_key="predictions", **_table(definition.prediction),
        record_rules=_record_rules(definition, "predictions"),
        rules=(
            _unique(definition, "predictions"), *_rules(definition, "predictions", of_records=False),
            Reference(other=ids.truth, **_reference(definition), code="MC303",
                      message=f"no case with this {key_note} is expected", hint="check case and spaces"),
            Covers(other=ids.truth, **_reference(definition), code="MC302", message="an expected case has no record",
                   hint="write a record with 'error' if it could not be processed"),
        ),
    )  # fmt: skip
    score = Contract(
        id=ids.score, version=version, title=f"Score of {definition.title}", model=_score(definition), output=True,
        result=True,
    )  # fmt: skip
    return predictions, truth, cases, score


# --- rules ------------------------------------------------------------------------------------------------------------


def _unique(definition: Definition, within: str) -> Unique:
    names = " and ".join(f"'{name}'" for name in definition.key)
    repeated = "is repeated" if len(definition.key) == 1 else "are repeated"
    return Unique(
        within=within, fields=definition.key, code="MC201", message=f"{names} {repeated}", hint="write each case once"
    )


def _reference(definition: Definition) -> JsonObject:
    """Return the key fields, as rules across files name them."""
    *others, last = definition.key
    if len(others) < 2:
        return {"field": last, "with_field": others[0] if others else None}
    return {"field": last, "with_fields": tuple(others)}


def _rules(definition: Definition, within: str, of_records: bool) -> tuple[Rule, ...]:
    """Return the rules of the file about each record of a list, or about the list."""
    found = []
    for entry in definition.rules:
        if within in definition.lists_of(entry):
            is_list_rule = entry.kind in ("unique", "constant", "monotonic")
            data = {**entry.data(), "within": within} if is_list_rule else entry.data()
            if is_list_rule != of_records:
                found.append(unpublish({name: value for name, value in data.items() if value is not None}))
    return tuple(found)


def _record_rules(definition: Definition, within: str) -> tuple[RecordRule, ...]:
    fields = definition.prediction if within == "predictions" else definition.truth
    found: list[Any] = [
        CalendarDate(
            field=name, code="MC204", message=f"{'an item of ' * field.nested}'{name}' is not a date of the calendar",
            hint="check day and month",
        )
        for name, field in fields.items()
        if "date" in (field.type, field.of and field.of.type)
    ]  # fmt: skip
    found += [
        Distinct(
            field=name, code="MC228", message=f"an item of '{name}' is repeated",
            hint="list each item once: it is a set",
        )
        for name, field in fields.items()
        if field.type == "set"
    ]  # fmt: skip
    found += [no_reason_rule()] if within == "predictions" else []
    return (*found, *_rules(definition, within, of_records=True))


# --- models -----------------------------------------------------------------------------------------------------------


def _model(name: str, base: type[StrictModel], about: str, fields: FieldDefinitions) -> type[StrictModel]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a field may have the name of a method
        model: type[StrictModel] = create_model(name, __base__=base, __module__=MODULE, __doc__=about, **fields)
    return model


def _list_model(name: str, about: str, list_key: str, record: object, **header: object) -> type[Document]:
    records = Annotated[_list_of(record), Info(description="One record per case.")]  # type: ignore[valid-type]
    return _model(name, Document, about, {**header, list_key: (records, ...)})  # type: ignore[return-value]


def _keys(definition: Definition, note: str) -> FieldDefinitions:
    about = "Identifies the case" if len(definition.key) == 1 else "A part of what identifies the case"
    return {name: (Annotated[Str, Info(description=f"{about}; {note}.")], ...) for name in definition.key}


def _fields(fields: dict[str, Field]) -> FieldDefinitions:
    return {name: _field(field) for name, field in fields.items()}


def _field(field: Field) -> tuple[Any, Any]:
    """Return the annotation and the default of a field."""
    kind = _type(field)
    if field.optional:
        kind = kind | None
    return Annotated[kind, Info(description=_about(field))], None if field.optional else ...


def _about(field: Field) -> str:
    found = f"Of type {field.type}." if not field.classes else "One of the listed values."
    if field.type == "set":
        found = "A list without repetition."
    found = field.about or found
    return found if field.separator is None else f"{found} In tables one cell, with '{field.separator}' between items."


def _type(field: FieldItem) -> Any:
    if field.classes:
        return Literal[field.classes]
    if field.items is not None:
        items: Any = _list_of(_type(field.items))
        return (
            Annotated[items, Info(min_length=field.min_length, max_length=field.max_length)] if _sized(field) else items
        )
    if field.type in ("text", "str"):
        return _string(field)
    bounds: dict[str, Any] = {"ge": field.min, "le": field.max}
    if field.type == "integer":
        bounds = {name: int(value) for name, value in bounds.items() if value is not None}
        return Annotated[int, Info(**bounds), AcceptIntegral]
    if field.type == "number":
        bounds = {name: float(value) for name, value in bounds.items() if value is not None}
        return Annotated[float, Info(**bounds)]
    return bool if field.type == "boolean" else Date


def _list_of(item: Any) -> Any:
    return ListOf[item]


def _sized(field: FieldItem) -> bool:
    return field.min_length is not None or field.max_length is not None


def _string(field: FieldItem) -> Any:
    if field.pattern is not None:
        blank = field.type == "text"
        return Annotated[str, BoundedMatching(field.pattern, field.min_length, field.max_length, blank)]
    pattern = None if field.type == "text" else NON_BLANK
    if pattern is None and not _sized(field):
        return str
    return Annotated[str, StringConstraints(pattern=pattern, min_length=field.min_length, max_length=field.max_length)]


def _table(fields: dict[str, Field]) -> JsonObject:
    """Return what contracts say about tables."""
    return {
        "flat": not any(field.nested and field.separator is None for field in fields.values()),
        "separators": tuple((name, field.separator) for name, field in fields.items() if field.separator is not None),
        "texts": frozenset(name for name, field in fields.items() if field.kind == "text"),
    }


def _prediction(definition: Definition) -> Any:
    """Return a record of either variant: answered or failed."""
    keys = _keys(definition, "as in the truth")
    no_error = "Absent, null or blank: no error, the case was processed."
    why = "Why the case could not be processed."
    answered = _model(
        "Prediction", StrictModel, "What a model predicts for one case.",
        {**keys, **_fields(definition.prediction), "error": (Annotated[NoError, Info(description=no_error)], None)},
    )  # fmt: skip
    failed = _model(
        "FailedPrediction", StrictModel, "A case that a model could not process.",
        {
            **keys,
            "error": (Annotated[Str, Info(description=why)], ...),
            **{
                name: (Annotated[None, Info(description="Absent or null: the case failed.")], None)
                for name in definition.prediction
            },
        },
    )  # fmt: skip
    either: Any = Either
    return either[answered, failed]


# --- the result -------------------------------------------------------------------------------------------------------


def _score(definition: Definition) -> type[Document]:
    metrics = _figures("Metrics", "The metrics by name; null if undefined.", [each.name for each in definition.metrics])
    means = _figures("Means", "The means by name; null if undefined.", list(definition.means))
    sums = _figures("Sums", "The sums by name; null if undefined.", list(definition.score.sums))
    headline = _model(
        "Headline", StrictModel, "The figure that submissions are ranked by.",
        {
            "name": (Annotated[Literal[definition.score.headline], Info(description="The metric or sum.")], ...),
            "value": (Annotated[float | None, Info(description="Its value; null if undefined.")], ...),
        },
    )  # fmt: skip
    by_class = dict[str, dict[str, float]]
    matrix = dict[str, dict[str, dict[str, Count]]]
    fields = {
        "metrics": (metrics, "The metrics by name."),
        **({"means": (means, "The means of metrics by name.")} if definition.means else {}),
        "sums": (sums, "The weighted sums of metrics by name."),
        "headline": (headline, "The figure that submissions are ranked by."),
        "undefined": (dict[str, str], "Why each undefined metric or sum is undefined."),
        "left_out": (dict[str, Count], "The number of cases without a true value, by metric, where above 0."),
        "by_class": (by_class, "Figures by metric and class."),
        "confusion_matrix": (matrix, "Number of cases by field, true class and predicted class, and unprocessed."),
    }
    annotated = {name: (Annotated[kind, Info(description=about)], ...) for name, (kind, about) in fields.items()}
    return _model("Score", Document, "The result of a submission.", annotated)  # type: ignore[return-value]


def _figures(name: str, about: str, names: list[str]) -> type[StrictModel]:
    return _model(
        name, StrictModel, about,
        {each: (Annotated[float | None, Info(description="Null if it is undefined.")], ...) for each in names},
    )  # fmt: skip
