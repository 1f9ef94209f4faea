"""Does a model mean the same to Pydantic and in its exported schema? What may not is refused at registration.

What is looked at is the core schema, Pydantic's own plan of a model: annotations can say one thing in many ways.
Only what is known to be sound passes, so that a type that nobody thought of is refused, not let through.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic_core import SchemaError

from medcontract.definitions.base import OWN_FORMS, OWN_SCHEMAS, WHOLE, Matching, Open, Strictest, form
from medcontract.errors import CallError

if TYPE_CHECKING:
    from medcontract.definitions.contract import Contract

_INSTEAD = {
    "int": ("a plain int, which refuses 2.0 where JSON Schema takes it for 2",
            "use Count, Position, ZeroOrOne, or Annotated[int, Field(ge=1, le=9), WHOLE]"),
    "date": ("a date of Python, which JSON does not have", "use Date: a string, checked"),
    "datetime": ("a datetime of Python, which JSON does not have", "use Date: a string, checked"),
    "time": ("a time of Python, which JSON does not have", 'use Annotated[str, Matching("…")]'),
    "timedelta": ("a timedelta of Python, which JSON does not have", "use NonNegative: seconds, say"),
    "decimal": ("a Decimal, which JSON does not have", "use float, Unit, NonNegative or Positive; or Text"),
    "bytes": ("bytes, which JSON does not have", "use Text"),
    "uuid": ("a UUID of Python, which JSON does not have", "use Guid: a string, checked"),
    "url": ("a URL of Pydantic, whose check no schema tells", 'use Str, or Annotated[str, Matching("…")]'),
    "enum": ("an Enum, which JSON does not have", 'use Literal["a", "b"]'),
    "lax-or-strict": ("of a class of Python, which JSON does not have", "use RelativePath for a path, else Text"),
    "set": ("a set, which JSON does not have", "use Many[…], and the rule Distinct"),
    "frozenset": ("a frozenset, which JSON does not have", "use Many[…], and the rule Distinct"),
    "tuple": ("a tuple, which JSON does not have", "use Many[…]"),
    "union": ("a choice of types, which makes several problems of one mistake", "choose one; '… | None' may stay"),
    "tagged-union": ("a choice of models", "Either[…] is for the records of a collection; elsewhere choose one model"),
    "function-before": ("changed before it is checked, which no schema tells", "use mode='after'"),
    "function-wrap": ("checked by a wrapping validator, which no schema tells", "use mode='after'"),
    "function-plain": ("checked by a function alone, which no schema tells", "give it a type, and use mode='after'"),
}  # fmt: skip
_OPTIONS = {
    "str": {"pattern", "min_length", "max_length"},
    "float": {"ge", "le", "gt", "lt"},
    "whole": {"ge", "le", "gt", "lt"},
    "list": {"items_schema", "min_length", "max_length"},
    "tuple": {"items_schema", "min_length", "max_length", "variadic_item_index", "strict"},
    "dict": {"keys_schema", "values_schema", "min_length", "max_length"},
}
"""What a type may be told beyond itself; all of it stands in the schema too."""
_PROSE = {"title", "description", "examples", "deprecated"}
_EXACT = 2**53
"""Beyond it a double skips integers: a bound there cuts elsewhere than in JSON Schema."""


def tells_all(contract: Contract[Any]) -> bool:
    """Whether the schema says all that the models check, so that the fast path may judge by it.

    Raises `CallError` when schema and models may come to different verdicts on a value's shape.
    """
    try:
        plans = [_plan(contract.model)] + ([_plan(contract.record)] if contract.list_key else [])
        walk = _Walk(contract)
        for plan in plans:
            walk.root(plan)
    except (PydanticUserError, PydanticUndefinedAnnotation, SchemaError) as error:
        raise CallError(f"{contract.id}: its models cannot be built: {str(error).splitlines()[0]}") from None
    return walk.tells_all


def _plan(model: Any) -> dict[str, Any]:
    adapter = TypeAdapter(model)
    adapter.rebuild()
    return dict(adapter.core_schema)


class _Walk:
    """One pass over the core schema of a contract's models."""

    def __init__(self, contract: Contract[Any]) -> None:
        self.contract = contract
        self.tells_all = True
        self.place = "it"
        self.model: type[BaseModel] = BaseModel
        self.definitions: dict[str, Any] = {}
        self.seen: set[str] = set()

    def root(self, schema: dict[str, Any]) -> None:
        """The model of a file, or the type of a record: a model, or two forms of one."""
        if schema["type"] == "definitions":
            self.definitions.update({item["ref"]: item for item in schema["definitions"]})
            return self.root(schema["schema"])
        if schema["type"] == "tagged-union" and schema["discriminator"] is form:
            for choice in schema["choices"].values():
                self.walk(choice)
            return None
        return self.walk(schema)

    def walk(self, schema: dict[str, Any]) -> None:
        kind = schema["type"]
        step = getattr(self, "_" + kind.replace("-", "_"), None)
        if step is None:
            self.refuse(kind)
        known = _OPTIONS.get(kind, set(schema)) | {"type", "ref", "metadata", "serialization"}
        extra = {name for name in set(schema) - known if (name, schema[name]) != ("strict", True)}
        if extra:
            self.stop(f"has '{min(extra)}', which the schema cannot tell exactly", "leave it out")
        step(schema)
        self._metadata(schema)

    def refuse(self, kind: str) -> NoReturn:
        what, hint = _INSTEAD.get(kind, (f"of a type ({kind}) that JSON does not have", "use the types of modeling"))
        self.stop(f"is {what}", f"{hint} (medcontract.modeling)")

    def stop(self, what: str, hint: str) -> NoReturn:
        raise CallError(f"{self.contract.id}: {self.place} {what}", hint)

    def _metadata(self, schema: dict[str, Any]) -> None:
        """A schema that the author wrote by hand may say anything."""
        data = schema.get("metadata") or {}
        makers = [*data.get("pydantic_js_functions", ()), *data.get("pydantic_js_annotation_functions", ())]
        own = BaseModel.__get_pydantic_json_schema__.__func__  # type: ignore[attr-defined]  # a bound method
        by_hand = [m for m in makers if getattr(m, "__func__", m) is not own and not _is_ours(m)]
        if by_hand or data.get("pydantic_js_extra") or set(data.get("pydantic_js_updates", ())) - _PROSE:
            self.stop(
                "has a JSON Schema that is not derived from its type",
                "leave WithJsonSchema and json_schema_extra out",
            )

    # --- models ---

    def _definition_ref(self, schema: dict[str, Any]) -> None:
        if schema["schema_ref"] not in self.seen:
            self.seen.add(schema["schema_ref"])
            self.walk(self.definitions[schema["schema_ref"]])

    def _model(self, schema: dict[str, Any]) -> None:
        cls, around = schema["cls"], (self.place, self.model)
        self.place, self.model = cls.__name__, cls
        if not issubclass(cls, Strictest) or schema.get("root_model"):
            self.stop("is no model of medcontract", "derive it from Strictest (medcontract.modeling)")
        known = (Open if cls.model_config.get("extra") == "allow" else Strictest).model_config
        changed = sorted(name for name in known | cls.model_config if known.get(name) != cls.model_config.get(name))
        if changed and changed != ["title"]:
            self.stop(f"changes '{changed[0]}' in its model_config", "leave that as Strictest or Open has it")
        if schema.get("custom_init"):
            self.stop("has an __init__ of its own", "use a validator: mode='after'")
        self.tells_all = self.tells_all and not schema.get("post_init")
        self.walk(schema["schema"])
        self.place, self.model = around

    def _model_fields(self, schema: dict[str, Any]) -> None:
        if schema.get("extras_schema"):
            self.stop("gives a type to other keys", "leave __pydantic_extra__ out")
        for name, field in schema["fields"].items():
            self.place = f"'{name}' of {self.model.__name__}"
            alias = field.get("validation_alias", name)
            if not isinstance(alias, str):
                self.stop("has several names", "give one alias")
            self.tells_all = self.tells_all and alias in (name, "$schema")  # rules know fields by one name
            self._metadata(field)
            if (self.model, name) != (self.contract.model, self.contract.list_key):
                self.walk(field["schema"])
            elif "function" in field["schema"]["type"]:  # the records are looked at as such
                self.stop("has a validator, but the list is read record by record", "put it into the record, or a rule")

    def _default(self, schema: dict[str, Any]) -> None:
        self.tells_all = self.tells_all and schema.get("default", ...) is None  # the fast path fills in None
        self.walk(schema["schema"])

    def _nullable(self, schema: dict[str, Any]) -> None:
        self.walk(schema["schema"])

    # --- lists and objects ---

    def _tuple(self, schema: dict[str, Any]) -> None:
        if schema.get("strict") is not False or "variadic_item_index" not in schema or len(schema["items_schema"]) != 1:
            self.refuse("tuple")
        self.walk(schema["items_schema"][0])

    def _list(self, schema: dict[str, Any]) -> None:
        self.walk(schema.get("items_schema", {"type": "any"}))

    def _dict(self, schema: dict[str, Any]) -> None:
        if schema.get("keys_schema", {"type": "any"}) not in ({"type": "str"}, {"type": "any"}):
            self.stop("has keys of a special type", "write dict[str, …]; for known keys, a model")
        self.walk(schema.get("values_schema", {"type": "any"}))

    # --- scalars ---

    def _str(self, schema: dict[str, Any]) -> None:
        pattern = schema.get("pattern")
        if pattern is not None and pattern not in OWN_FORMS:
            self.stop("has a pattern, which languages read differently", 'write Annotated[str, Matching("…")]')

    def _float(self, schema: dict[str, Any]) -> None:
        if any(abs(schema.get(bound, 0)) >= _EXACT for bound in ("ge", "le", "gt", "lt")):
            self.stop("has a bound that a double cannot hold exactly", "choose one below 2**53")

    def _bool(self, schema: dict[str, Any]) -> None:
        """True and false, and nothing else."""

    _any = _none = _bool

    def _literal(self, schema: dict[str, Any]) -> None:
        if not all(type(value) is str for value in schema["expected"]):
            self.stop(
                "has a Literal that is no string: there 1 equals true, and 1.0 is not 1",
                "use Yes, bool, ZeroOrOne, or bounds on an integer (medcontract.modeling)",
            )

    # --- validators ---

    def _function_before(self, schema: dict[str, Any]) -> None:
        inner = schema["schema"]
        while inner["type"] == "function-after" and _is_own(inner):
            inner = inner["schema"]
        if schema["function"]["function"] is not WHOLE.func or inner["type"] != "int":
            self.refuse("function-before")
        self.walk({**inner, "type": "whole"})

    _whole = _float

    def _function_after(self, schema: dict[str, Any]) -> None:
        function = schema["function"]["function"]
        if isinstance(function, partial) and function.func.__module__.startswith("pydantic."):
            self.stop("has a bound in the wrong place", "Annotated[int, Field(ge=1, le=9), WHOLE]: WHOLE comes last")
        if not isinstance(getattr(function, "__self__", None), Matching):  # whose pattern is known to be sound
            self.tells_all = self.tells_all and _is_own(schema)
            self.walk(schema["schema"])


def _is_own(schema: dict[str, Any]) -> bool:
    """Whether a validator is one of those behind our own types, whose schema tells of it."""
    return bool(schema["function"]["function"].__module__ == Strictest.__module__)


def _is_ours(maker: Any) -> bool:
    owner = getattr(maker, "__self__", None)
    return isinstance(owner, Matching) or owner in OWN_SCHEMAS
