"""Rules: constraints that JSON Schema cannot express, as data of a few kinds.

A rule is a frozen value: fields, bounds, code, severity, message, hint. It is published with the
schema (`x-medcontract-rules`), so that other languages can implement each kind once and check all
rules. Kinds about one object implement `check`; kinds about a list implement `begin`, which
returns an accumulator; kinds across files implement `record_check`, `check_header` or `check_missing`.

Rules only get values with the right structure, with fields as attributes.
"""

from __future__ import annotations

from typing import Any

from medcontract.definitions.rules.base import Rule
from medcontract.definitions.rules.files import (
    Agrees,
    Apart,
    Covers,
    Equal,
    FilesRule,
    Key,
    OtherFile,
    RecordCheck,
    Reference,
    SameOrder,
    record_checks,
    run_checks,
)
from medcontract.definitions.rules.lists import (
    UNKNOWN,
    Accumulator,
    Constant,
    Flag,
    ListRule,
    Rising,
    Unique,
    UniqueIndex,
    check_list,
)
from medcontract.definitions.rules.objects import (
    Disjoint,
    Distinct,
    Empty,
    Exists,
    Limit,
    ObjectRule,
    OneName,
    Order,
    Requires,
    SomeAbove,
    Something,
    Sum,
    Unlike,
    says_something,
)

__all__ = [
    "UNKNOWN",
    "Accumulator",
    "Agrees",
    "Apart",
    "Constant",
    "Covers",
    "Disjoint",
    "Distinct",
    "Empty",
    "Equal",
    "Exists",
    "FilesRule",
    "Flag",
    "Key",
    "Limit",
    "ListRule",
    "ObjectRule",
    "OneName",
    "Order",
    "OtherFile",
    "RecordCheck",
    "Reference",
    "Requires",
    "Rising",
    "Rule",
    "SameOrder",
    "SomeAbove",
    "Something",
    "Sum",
    "Unique",
    "UniqueIndex",
    "Unlike",
    "check_list",
    "record_checks",
    "run_checks",
    "says_something",
    "unpublish",
]


def _tupled(value: Any) -> Any:
    return tuple(map(_tupled, value)) if isinstance(value, list) else value


def unpublish(data: dict[str, Any]) -> Rule:
    """The rule that was published as this JSON."""
    kinds = {kind.kind: kind for scope in (ObjectRule, ListRule, FilesRule) for kind in scope.__subclasses__()}
    return kinds[data["kind"]](**{name: _tupled(v) for name, v in data.items() if name not in ("kind", "scope")})
