"""The rules of a challenge file: a selection of the published kinds, each with a model of its keys."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field as Info
from pydantic import create_model

from medcontract.challenges.values import Line, Lines, Number, RuleCode
from medcontract.contracts.base import StrictModel
from medcontract.scoring.metrics.kinds import FieldType
from medcontract.types import JsonObject

RULE_CODE = "MC227"
_NUMBERS: tuple[FieldType, ...] = ("number", "integer")


class RuleKind(NamedTuple):
    """A kind of rule: its keys, and the types of the fields that these name."""

    fields: dict[str, tuple[FieldType, ...]]
    """The keys that name a field (`fields`: several), and the allowed types; empty: all."""
    message: str
    numbers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    several: int | None = None
    """How many names `fields` has, exactly; at least one by default."""


RULE_KINDS = {
    "sum": RuleKind({"field": ("list",)}, "the sum of '{0}' is out of range", ("minimum", "maximum")),
    "order": RuleKind({"fields": _NUMBERS}, "'{1}' is less than '{0}'", several=2),
    "limit": RuleKind({"field": _NUMBERS}, "'{0}' exceeds the limit", ("minimum", "below"), optional=("below",)),
    "distinct": RuleKind({"field": ("list",)}, "an item of '{0}' is repeated"),
    "requires": RuleKind({"field": (), "requires": ()}, "'{0}' requires '{1}'", texts=("value",), optional=("value",)),
    "unique": RuleKind({"fields": ()}, "{all} repeated"),
    "constant": RuleKind({"field": ("str", "text", "one_of")}, "'{0}' differs between records"),
    "monotonic": RuleKind({"field": _NUMBERS, "by": _NUMBERS}, "'{0}' decreases"),
}
"""The kinds that a challenge file may use. The others are about nested objects, or about other files."""


class RuleEntry(StrictModel):
    """A `[[rule]]`. The model of each kind is made from the table of kinds."""

    kind: str
    within: Literal["predictions", "truth"] | None = None
    code: RuleCode = RULE_CODE
    message: Line | None = None
    hint: Line | None = None
    severity: Literal["error", "warning"] = "error"

    @property
    def fields_by_key(self) -> dict[str, tuple[str, ...]]:
        """The names of the fields that it refers to, by key."""
        given = {key: getattr(self, key) for key in RULE_KINDS[self.kind].fields}
        return {key: names if isinstance(names, tuple) else (names,) for key, names in given.items()}

    @property
    def field_names(self) -> tuple[str, ...]:
        return tuple(name for names in self.fields_by_key.values() for name in names)

    def data(self) -> JsonObject:
        """Return the rule as published."""
        names = self.field_names
        listed = f"{', '.join(map(repr, names))} {'is' if len(names) == 1 else 'are'}"
        message = RULE_KINDS[self.kind].message.format(*names, all=listed)
        found = self.model_dump(exclude={"within"}, exclude_none=True)
        found = {key: float(value) if isinstance(value, Decimal) else value for key, value in found.items()}
        return {"hint": None, "message": message, **found}


def _rule_model(name: str, kind: RuleKind) -> type[RuleEntry]:
    several = Annotated[Lines, Info(min_length=kind.several or 1, max_length=kind.several)]
    types: dict[str, Any] = {key: several if key == "fields" else Line for key in (*kind.fields, *kind.texts)}
    types |= dict.fromkeys(kind.numbers, Number)
    fields: dict[str, Any] = {
        key: (type_ | None, None) if key in kind.optional else (type_, ...) for key, type_ in types.items()
    }
    return create_model(f"Rule_{name}", __base__=RuleEntry, **{"kind": (Literal[name], ...), **fields})


RULES = {name: _rule_model(name, kind) for name, kind in RULE_KINDS.items()}
