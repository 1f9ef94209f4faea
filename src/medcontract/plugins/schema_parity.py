"""Checks at registration that a model and its exported schema accept the same values.

The check works on the core schema, Pydantic's internal form of a model, because annotations can express the same
thing in many ways. Only types that are known to be equivalent in both pass; all others are refused.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic_core import SchemaError

from medcontract.contracts.base import (
    BUILT_IN_SCHEMAS,
    PORTABLE_PATTERNS,
    AcceptIntegral,
    Matching,
    OpenModel,
    StrictModel,
    variant,
)
from medcontract.errors import CallError

if TYPE_CHECKING:
    from medcontract.contracts.contract import AnyContract

CoreSchema = dict[str, Any]
"""A part of the core schema of a model."""
_INSTEAD = {
    "int": ("a plain int, which rejects 2.0 although it is an integer in JSON Schema",
            "use Count, Position, ZeroOrOne, or Annotated[int, Field(ge=1, le=9), AcceptIntegral]"),
    "date": ("a Python date, which JSON does not have", "use Date, a checked string"),
    "datetime": ("a Python datetime, which JSON does not have", "use Date, a checked string"),
    "time": ("a Python time, which JSON does not have", 'use Annotated[str, Matching("…")]'),
    "timedelta": ("a Python timedelta, which JSON does not have", "use NonNegative, for example for seconds"),
    "decimal": ("a Decimal, which JSON does not have", "use float, Unit, NonNegative or Positive; or Text"),
    "bytes": ("bytes, which JSON does not have", "use Text"),
    "uuid": ("a Python UUID, which JSON does not have", "use Guid, a checked string"),
    "url": ("a Pydantic URL, whose check a schema cannot express", 'use Str, or Annotated[str, Matching("…")]'),
    "enum": ("an Enum, which JSON does not have", 'use Literal["a", "b"]'),
    "lax-or-strict": ("of a Python class, which JSON does not have", "use RelativePath for a path, otherwise Text"),
    "set": ("a set, which JSON does not have", "use ListOf[…], and the rule Distinct"),
    "frozenset": ("a frozenset, which JSON does not have", "use ListOf[…], and the rule Distinct"),
    "tuple": ("a tuple, which JSON does not have", "use ListOf[…]"),
    "union": ("a union, which reports one mistake as several problems", "use a single type; '… | None' is allowed"),
    "tagged-union": ("a union of models", "use a single model; Either[…] is only for records of a collection"),
    "function-before": ("changed before it is checked, which a schema cannot express", "use mode='after'"),
    "function-wrap": ("checked by a wrap validator, which a schema cannot express", "use mode='after'"),
    "function-plain": ("checked by a plain validator, which a schema cannot express",
                       "give it a type, and use mode='after'"),
}  # fmt: skip
_OPTIONS = {
    "str": {"pattern", "min_length", "max_length"},
    "float": {"ge", "le", "gt", "lt"},
    "whole": {"ge", "le", "gt", "lt"},
    "list": {"items_schema", "min_length", "max_length"},
    "tuple": {"items_schema", "min_length", "max_length", "variadic_item_index", "strict"},
    "dict": {"keys_schema", "values_schema", "min_length", "max_length"},
}
"""The supported options of each type, all of which the schema can express."""
_PROSE = {"title", "description", "examples", "deprecated"}
_EXACT = 2**53
"""Beyond it not every integer is a double: a bound there would differ from JSON Schema."""


def schema_is_complete(contract: AnyContract) -> bool:
    """Return whether the schema expresses all that the models check, so that the fast path can rely on it.

    Raises `CallError` if schema and models may disagree about the structure of a value.
    """
    try:
        core_schemas = [_core_schema(contract.model)] + ([_core_schema(contract.record)] if contract.list_key else [])
        walk = _ModelCheck(contract)
        for core_schema in core_schemas:
            walk.root(core_schema)
    except (PydanticUserError, PydanticUndefinedAnnotation, SchemaError) as error:
        raise CallError(f"{contract.id}: its models cannot be built: {str(error).splitlines()[0]}") from None
    return walk.schema_is_complete


def _core_schema(model: Any) -> CoreSchema:
    adapter = TypeAdapter(model)
    adapter.rebuild()
    return dict(adapter.core_schema)


class _ModelCheck:
    """One pass over the core schema of a contract's models."""

    def __init__(self, contract: AnyContract) -> None:
        self.contract = contract
        self.schema_is_complete = True
        self.place = "it"
        self.model: type[BaseModel] = BaseModel
        self.definitions: CoreSchema = {}
        self.seen: set[str] = set()

    def root(self, schema: CoreSchema) -> None:
        """Check the model of a file, or the type of a record: a model, or its two variants."""
        if schema["type"] == "definitions":
            self.definitions.update({item["ref"]: item for item in schema["definitions"]})
            return self.root(schema["schema"])
        if schema["type"] == "tagged-union" and schema["discriminator"] is variant:
            for choice in schema["choices"].values():
                self.walk(choice)
            return None
        return self.walk(schema)

    def walk(self, schema: CoreSchema) -> None:
        kind = schema["type"]
        step = getattr(self, "_" + kind.replace("-", "_"), None)
        if step is None:
            self.refuse(kind)
        known = _OPTIONS.get(kind, set(schema)) | {"type", "ref", "metadata", "serialization"}
        extra = {name for name in set(schema) - known if (name, schema[name]) != ("strict", True)}
        if extra:
            self.stop(f"has '{min(extra)}', which a schema cannot express exactly", "remove it")
        step(schema)
        self._metadata(schema)

    def refuse(self, kind: str) -> NoReturn:
        what, hint = _INSTEAD.get(kind, (f"of a type ({kind}) that JSON does not have", "use the types of modeling"))
        self.stop(f"is {what}", f"{hint} (medcontract.modeling)")

    def stop(self, what: str, hint: str) -> NoReturn:
        raise CallError(f"{self.contract.id}: {self.place} {what}", hint)

    def _metadata(self, schema: CoreSchema) -> None:
        """Refuse custom JSON Schemas, which need not match the type."""
        data = schema.get("metadata") or {}
        makers = [*data.get("pydantic_js_functions", ()), *data.get("pydantic_js_annotation_functions", ())]
        own = BaseModel.__get_pydantic_json_schema__.__func__  # type: ignore[attr-defined]  # a bound method
        by_hand = [m for m in makers if getattr(m, "__func__", m) is not own and not _is_ours(m)]
        if by_hand or data.get("pydantic_js_extra") or set(data.get("pydantic_js_updates", ())) - _PROSE:
            hint = "remove WithJsonSchema and json_schema_extra"
            self.stop("has a JSON Schema that is not derived from its type", hint)

    # --- models ---

    def _definition_ref(self, schema: CoreSchema) -> None:
        if schema["schema_ref"] not in self.seen:
            self.seen.add(schema["schema_ref"])
            self.walk(self.definitions[schema["schema_ref"]])

    def _model(self, schema: CoreSchema) -> None:
        cls, around = schema["cls"], (self.place, self.model)
        self.place, self.model = cls.__name__, cls
        if not issubclass(cls, StrictModel) or schema.get("root_model"):
            self.stop("is not a medcontract model", "derive it from StrictModel (medcontract.modeling)")
        known = (OpenModel if cls.model_config.get("extra") == "allow" else StrictModel).model_config
        changed = sorted(name for name in known | cls.model_config if known.get(name) != cls.model_config.get(name))
        if changed and changed != ["title"]:
            self.stop(f"changes '{changed[0]}' in its model_config", "keep the setting of StrictModel or OpenModel")
        if schema.get("custom_init"):
            self.stop("has a custom __init__", "use a validator with mode='after'")
        self.schema_is_complete &= not schema.get("post_init")
        self.walk(schema["schema"])
        self.place, self.model = around

    def _model_fields(self, schema: CoreSchema) -> None:
        if schema.get("extras_schema"):
            self.stop("declares a type for unknown keys", "remove __pydantic_extra__")
        for name, field in schema["fields"].items():
            self.place = f"'{name}' of {self.model.__name__}"
            alias = field.get("validation_alias", name)
            if not isinstance(alias, str):
                self.stop("has several aliases", "use a single alias")
            self.schema_is_complete &= alias in (name, "$schema")  # rules refer to fields by one name
            self._metadata(field)
            if (self.model, name) != (self.contract.model, self.contract.list_key):
                self.walk(field["schema"])
            elif "function" in field["schema"]["type"]:  # records are checked separately
                hint = "move it to the record model, or use a rule"
                self.stop("has a validator, but the list is read record by record", hint)

    def _default(self, schema: CoreSchema) -> None:
        self.schema_is_complete &= schema.get("default", ...) is None  # the fast path fills in None
        self.walk(schema["schema"])

    def _nullable(self, schema: CoreSchema) -> None:
        self.walk(schema["schema"])

    # --- lists and objects ---

    def _tuple(self, schema: CoreSchema) -> None:
        if schema.get("strict") is not False or "variadic_item_index" not in schema or len(schema["items_schema"]) != 1:
            self.refuse("tuple")
        self.walk(schema["items_schema"][0])

    def _list(self, schema: CoreSchema) -> None:
        self.walk(schema.get("items_schema", {"type": "any"}))

    def _dict(self, schema: CoreSchema) -> None:
        if schema.get("keys_schema", {"type": "any"}) not in ({"type": "str"}, {"type": "any"}):
            self.stop("has keys that are not plain str", "use dict[str, …], or a model for known keys")
        self.walk(schema.get("values_schema", {"type": "any"}))

    # --- scalars ---

    def _str(self, schema: CoreSchema) -> None:
        pattern = schema.get("pattern")
        if pattern is not None and pattern not in PORTABLE_PATTERNS:
            self.stop("has a pattern, which languages interpret differently", 'use Annotated[str, Matching("…")]')

    def _float(self, schema: CoreSchema) -> None:
        if any(abs(schema.get(bound, 0)) >= _EXACT for bound in ("ge", "le", "gt", "lt")):
            self.stop("has a bound that a double cannot represent exactly", "choose one below 2**53")

    def _bool(self, schema: CoreSchema) -> None:
        """Booleans need no further check."""

    _any = _none = _bool

    def _literal(self, schema: CoreSchema) -> None:
        if not all(type(value) is str for value in schema["expected"]):
            self.stop(
                "has a Literal that is not a string: 1 would equal true, and 1.0 would differ from 1",
                "use AlwaysTrue, bool, ZeroOrOne, or bounds on an integer (medcontract.modeling)",
            )

    # --- validators ---

    def _function_before(self, schema: CoreSchema) -> None:
        inner = schema["schema"]
        while inner["type"] == "function-after" and _is_own(inner):
            inner = inner["schema"]
        if schema["function"]["function"] is not AcceptIntegral.func or inner["type"] != "int":
            self.refuse("function-before")
        self.walk({**inner, "type": "whole"})

    _whole = _float

    def _function_after(self, schema: CoreSchema) -> None:
        function = schema["function"]["function"]
        if isinstance(function, partial) and function.func.__module__.startswith("pydantic."):
            self.stop(
                "has a bound in the wrong place",
                "put AcceptIntegral last: Annotated[int, Field(ge=1, le=9), AcceptIntegral] (medcontract.modeling)",
            )
        if not isinstance(getattr(function, "__self__", None), Matching):  # whose pattern is known to be portable
            self.schema_is_complete &= _is_own(schema)
            self.walk(schema["schema"])


def _is_own(schema: CoreSchema) -> bool:
    """Return whether a validator belongs to one of the built-in types, whose schema expresses it."""
    return bool(schema["function"]["function"].__module__ == StrictModel.__module__)


def _is_ours(maker: object) -> bool:
    owner = getattr(maker, "__self__", None)
    return isinstance(owner, Matching) or owner in BUILT_IN_SCHEMAS
