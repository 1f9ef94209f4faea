"""Objects with any content, such as embeddings: checked at parser speed, and decoded only if somebody reads them.

They may be most of a file, and to create an object for each of their numbers takes most of the time. The parser checks
the syntax of a value without decoding it (`msgspec.Raw`), but then it accepts what must be left to the slow path:
numbers that are not finite, text that is not UTF-8, repeated keys, deep nesting. A value of numbers only is checked for
these without decoding it; any other value is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

Members = dict[str, msgspec.Raw]
"""An object whose members are not decoded."""

_LONGEST_NUMBER = 299
"""Bytes. A number without exponent that is not finite has at least 309 digits."""
_SHORT_NUMBERS = re.compile(rb"(?s:(?:.{0,%d},)*+.{0,%d})" % (_LONGEST_NUMBER, _LONGEST_NUMBER)).fullmatch
"""Matches if there is a comma in each run of so many bytes. Fast, because it looks only at the bytes before a comma."""
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]"))


_PREFIX = "members_of_"


class WithRawObjects(msgspec.Struct):
    """Base class of records with objects that are not decoded. Each can be read as an attribute, like other fields."""


def field_name(name: str) -> str:
    """The name of the field that has the members of an object; its own name is that of the decoded value."""
    return _PREFIX + name


@cache
def attributes(kind: Any) -> tuple[str, ...]:
    """The attributes that have the decoded values of a record of this type."""
    names: tuple[str, ...] = kind.__struct_fields__
    return tuple(name.removeprefix(_PREFIX) for name in names) if issubclass(kind, WithRawObjects) else names


def decoded(record: Any) -> Any:
    """A record of which everything is decoded, without the types of its fields."""
    names = attributes(record.__class__)
    return plain_row(names)(*[getattr(record, name) for name in names])


@cache
def plain_row(names: tuple[str, ...]) -> type[msgspec.Struct]:
    return msgspec.defstruct("Row", [(name, Any) for name in names], gc=False, namespace=SENDABLE)


def _reduce(row: Any) -> tuple[Any, ...]:
    """For pickle: another process does not have the type of the row, so it gets one with the same attributes."""
    names = attributes(row.__class__)
    return _restore, (names, tuple(getattr(row, name) for name in names))


def _restore(names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return plain_row(names)(*values)


SENDABLE: dict[str, Any] = {"__reduce__": _reduce}
"""What the types of rows have in common."""


def reader(name: str, decode: Callable[[msgspec.Raw], Any]) -> property:
    """The attribute that decodes an object each time it is read."""
    field = field_name(name)

    def read(row: Any) -> Any:
        members: Members | None = getattr(row, field)
        return members and {key: decode(raw) for key, raw in members.items()}

    return property(read)


def count_keys_inside(
    members: Members, levels: int, decode: Callable[[msgspec.Raw], Any], count_keys: Callable[[Any], int], leave: int
) -> int:
    """The number of keys that `count_keys` finds in an object. `leave` if the slow path must decide.

    `decode` decodes values with at most so many levels of nesting, and raises an error for others.
    """
    keys = len(members)
    for raw in members.values():
        if not has_only_numbers(bytes(raw), levels):
            try:
                keys += count_keys(decode(raw))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                return leave
    return keys


def has_only_numbers(text: bytes, levels: int) -> bool:
    """Whether a value consists of finite numbers, null and empty objects, in at most so many levels, for certain.

    The syntax must be right. Then there is neither a string nor a key without a quote, and all objects are empty.
    """
    if b'"' in text or b"e" in text or b"E" in text:
        return False
    lists = len(text) - len(text.replace(b"[", b""))  # faster than to count
    return (lists < levels or _depth_is_at_most(levels, text)) and _SHORT_NUMBERS(text) is not None


def _depth_is_at_most(levels: int, text: bytes) -> bool:
    """Whether lists are not nested deeper than that, and there is no object."""
    if b"{" in text:
        return False
    brackets = text.translate(None, _NOT_BRACKETS)
    for _ in range(levels):
        brackets = brackets.replace(b"[]", b"")  # the innermost lists
    return not brackets
