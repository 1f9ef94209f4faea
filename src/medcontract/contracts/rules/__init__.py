"""Rules: constraints that JSON Schema cannot express, as data of a few kinds.

A rule is a frozen value: fields, bounds, code, severity, message, hint. It is published with the
schema (`x-medcontract-rules`), so that other languages can implement each kind once and check all
rules. Kinds about one object implement `check`; kinds about a list implement `begin`, which
returns an accumulator; kinds across files implement `record_check`, `check_header` or `check_missing`.

Rules only get values with the right structure, with fields as attributes.
"""

# ruff: noqa: I001  # would write one statement for each name that is exported
from __future__ import annotations

from functools import cache

from medcontract.contracts.rules.collection import (
    UNKNOWN as UNKNOWN,
    Accumulator as Accumulator,
    CollectionRule as CollectionRule,
    Constant as Constant,
    Flag as Flag,
    KeyIndex as KeyIndex,
    Monotonic as Monotonic,
    Unique as Unique,
    UniqueIndex as UniqueIndex,
    check_list as check_list,
    is_ascending as is_ascending,
)
from medcontract.contracts.rules.cross_file import (
    Covers as Covers,
    CrossFileRule as CrossFileRule,
    Equal as Equal,
    Excludes as Excludes,
    Key as Key,
    OrderCheck as OrderCheck,
    OrderState as OrderState,
    OtherFile as OtherFile,
    RecordCheck as RecordCheck,
    Reference as Reference,
    SameOrder as SameOrder,
    SameValue as SameValue,
    record_checks as record_checks,
    run_checks as run_checks,
)
from medcontract.contracts.rules.record import (
    AnyAbove as AnyAbove,
    CalendarDate as CalendarDate,
    Disjoint as Disjoint,
    Distinct as Distinct,
    EmptyWhenFailed as EmptyWhenFailed,
    ForbidPattern as ForbidPattern,
    ForbidValue as ForbidValue,
    Limit as Limit,
    Order as Order,
    RecordRule as RecordRule,
    RequireAny as RequireAny,
    Requires as Requires,
    Rule as Rule,
    Sum as Sum,
    UniqueSpellings as UniqueSpellings,
    has_content as has_content,
)
from medcontract.types import JsonObject


def _tupled(value: object) -> object:
    return tuple(map(_tupled, value)) if isinstance(value, list) else value


@cache
def built_in_kinds() -> dict[str, type[Rule]]:
    """The kinds of rules of this package. Plugins can define others."""
    kinds = (kind for scope in (RecordRule, CollectionRule, CrossFileRule) for kind in scope.__subclasses__())
    return {kind.kind: kind for kind in kinds if kind.__module__.startswith(f"{__name__}.")}


def unpublish(data: JsonObject) -> Rule:
    """The rule that was published as this JSON."""
    fields: JsonObject = {name: _tupled(value) for name, value in data.items() if name not in ("kind", "scope")}
    return built_in_kinds()[data["kind"]](**fields)
