"""Rules: constraints that JSON Schema cannot express, as data of a few kinds.

A rule is a frozen value: fields, bounds, code, severity, message, hint. It is published with the
schema (`x-medcontract-rules`), so that other languages can implement each kind once and check all
rules. Kinds about one object implement `check`; kinds about a list implement `begin`, which
returns an accumulator; kinds across files implement `record_check`, `check_header` or `check_missing`.

Rules only get values with the right structure, with fields as attributes.
"""

# ruff: noqa: I001  # would write one line for each name
from __future__ import annotations

from functools import cache

from medcontract.contracts.rules.collection import (
    UNKNOWN, Accumulator, CollectionRule, Constant, Flag, KeyIndex, Monotonic, Unique, UniqueIndex, check_list,
    is_ascending,
)  # fmt: skip
from medcontract.contracts.rules.cross_file import (
    Covers, CrossFileRule, Equal, Excludes, Key, OrderCheck, OrderState, OtherFile, RecordCheck, Reference, SameOrder,
    SameValue, record_checks, run_checks,
)  # fmt: skip
from medcontract.contracts.rules.record import (
    AnyAbove, CalendarDate, Disjoint, Distinct, EmptyWhenFailed, ForbidPattern, ForbidValue, Limit, Order, RecordRule,
    RequireAny, Requires, Rule, Sum, UniqueSpellings, has_content,
)  # fmt: skip
from medcontract.types import JsonObject

__all__ = [
    "UNKNOWN", "Accumulator", "AnyAbove", "CalendarDate", "CollectionRule", "Constant", "Covers", "CrossFileRule",
    "Disjoint", "Distinct", "EmptyWhenFailed", "Equal", "Excludes", "Flag", "ForbidPattern", "ForbidValue", "Key",
    "KeyIndex", "Limit", "Monotonic", "Order", "OrderCheck", "OrderState", "OtherFile", "RecordCheck", "RecordRule",
    "Reference", "RequireAny", "Requires", "Rule", "SameOrder", "SameValue", "Sum", "Unique", "UniqueIndex",
    "UniqueSpellings", "built_in_kinds", "check_list", "has_content", "is_ascending", "record_checks", "run_checks",
    "unpublish",
]  # fmt: skip


def _tupled(value: object) -> object:
    return tuple(map(_tupled, value)) if isinstance(value, list) else value


@cache
def built_in_kinds() -> dict[str, type[Rule]]:
    """Return the kinds of rules of this package. Plugins can define others."""
    kinds = (kind for scope in (RecordRule, CollectionRule, CrossFileRule) for kind in scope.__subclasses__())
    return {kind.kind: kind for kind in kinds if kind.__module__.startswith(f"{__name__}.")}


def unpublish(data: JsonObject) -> Rule:
    """Return the rule that was published as this JSON."""
    fields: JsonObject = {name: _tupled(value) for name, value in data.items() if name not in ("kind", "scope")}
    return built_in_kinds()[data["kind"]](**fields)
