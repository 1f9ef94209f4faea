"""Adds up what is counted over cases, and multiplies it by a weight, whatever it is made of.

Numbers are integers or fractions. A `Counter`, a dict of sums, and a list (whose order has no meaning) do not contain
what was never counted. Tuples and Structs are added by field, unless a Struct defines `+` and `*`. None stays None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from hashlib import sha256
from typing import Any

from msgspec import Struct


def added(one: Any, other: Any) -> Any:
    """Return the sum over the cases of both. Raises `TypeError` for what does not add up exactly."""
    if isinstance(one, Counter):
        total = one.copy()
        total.update(other)
        return total
    if isinstance(one, dict):
        return {**one, **{key: added(one[key], value) if key in one else value for key, value in other.items()}}
    return one + other if _has_operators(one) else _by_field(added, one, other)


def multiplied(one: Any, weight: int) -> Any:
    """Return the sum if each case counts `weight` times. Raises `TypeError` for what does not add up exactly."""
    if isinstance(one, Counter):
        return Counter({key: times * weight for key, times in one.items()} if weight else {})
    if isinstance(one, dict):
        return {key: multiplied(value, weight) for key, value in one.items()} if weight else {}
    return one * weight if _has_operators(one) else _by_field(lambda value: multiplied(value, weight), one)


def _has_operators(one: object) -> bool:
    """Return whether it is a number, a list, or of a class that defines `+` and `*`."""
    defined = all(hasattr(type(one), name) for name in ("__add__", "__mul__"))
    return defined and not isinstance(one, tuple | float | Decimal | str | bytes)


def _by_field(function: Callable[..., Any], *values: object) -> Any:
    one = values[0]
    if isinstance(one, Struct):
        return type(one)(
            **{name: function(*(getattr(each, name) for each in values)) for name in one.__struct_fields__}
        )
    if isinstance(one, tuple):
        fields = [function(*each) for each in zip(*values, strict=True)]
        return type(one)(*fields) if hasattr(one, "_fields") else tuple(fields)
    if one is not None:
        raise TypeError(f"values of type {type(one).__name__} do not add up exactly")
    return None


def digest(data: object) -> str:
    """Hash a sum: equal cases have the same hash, in any order."""
    return sha256(_text(data).encode("utf-8", "surrogatepass")).hexdigest()


def _text(value: object) -> str:
    if isinstance(value, dict):
        return f"{{{','.join(sorted(f'{key!r}:{_text(each)}' for key, each in value.items()))}}}"
    if isinstance(value, list):
        return f"[{','.join(sorted(map(_text, value)))}]"
    if isinstance(value, tuple):
        return f"({','.join(map(_text, value))})"
    if isinstance(value, Struct):
        return f"({','.join(_text(getattr(value, name)) for name in value.__struct_fields__)})"
    return repr(value)
