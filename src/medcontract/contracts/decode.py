"""The fast path: decode a record and prove, at parser speed, that its shape is right.

A msgspec type is derived from the record's JSON Schema. It may refuse a good record (the thorough path
in `medcontract.contracts.check` then decides), but it never accepts a bad one:

- a keyword that is not understood here means: no fast path;
- of two forms of a record, the first (answered) is taken;
- `1.0` for an integer is left to the thorough path;
- strings that `str.isspace` calls blank are left to the thorough path;
- values of any shape are accepted down to a few levels, deeper ones are left to the thorough path;
- repeated keys, which no parser reports, are excluded by counting: every key has its colon, so when the
  text has no more colons than the value has keys (and strings have colons), no key was dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, defstruct

from medcontract.contracts.base import NON_BLANK

_IGNORED = {"title", "description", "default", "$schema", "$id", "$defs", "x-medcontract-rules"}
_ANY_LEVELS = 6
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_plain = msgspec.json.Decoder()


class _NotFast(Exception):
    """The schema says something that has no counterpart here."""


def _anything(levels: int) -> Any:
    scalar = None | bool | float | str
    return scalar if levels == 0 else scalar | list[_anything(levels - 1)] | dict[str, _anything(levels - 1)]  # type: ignore[misc]


Check = Callable[[Any], int]
"""Counts the keys inside a value; negative when the value is left to the thorough path."""
_LEAVE = -1_000_000


def row_decoder(schema: dict[str, Any]) -> Callable[[bytes], Any] | None:
    """From the JSON Schema of a record to a function from bytes to a value, or to None when in doubt."""
    try:
        row_type, check = _Compiler(schema).compile(schema)
    except _NotFast:
        return None
    if check is None or not isinstance(row_type, type) or not issubclass(row_type, msgspec.Struct):
        return None
    decode = msgspec.json.Decoder(row_type).decode

    def row(raw: bytes) -> Any:
        try:
            value = decode(raw)
        except _NOT_JSON:
            return None
        keys = check(value)
        if raw.count(b":") == keys or (keys > 0 and no_repeated_key(raw)):
            return value
        return None

    return row


def no_repeated_key(raw: bytes) -> bool:
    """Whether the JSON text certainly repeats no key in any object."""
    if b"\\u003" in raw:  # may be an escaped colon
        return False
    try:
        return raw.count(b":") == _colons(_plain.decode(raw))
    except _NOT_JSON:
        return False


def _colons(value: Any) -> int:
    count = 0
    stack = [value]
    while stack:
        item = stack.pop()
        if type(item) is str:
            count += item.count(":")
        elif type(item) is dict:
            count += len(item) + sum(key.count(":") for key in item)
            stack.extend(v for v in item.values() if type(v) in (str, dict, list))
        elif type(item) is list:
            stack.extend(v for v in item if type(v) in (str, dict, list))
    return count


class _Compiler:
    """From schemas to msgspec types and checks."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._defs: dict[str, Any] = root.get("$defs", {})

    def compile(self, schema: dict[str, Any]) -> tuple[Any, Check | None]:
        """The type of a schema, and what remains to be checked of its values (None: nothing)."""
        words = {key: value for key, value in schema.items() if key not in _IGNORED}
        if "$ref" in words:
            return self.compile(self._defs[words["$ref"].rpartition("/")[2]])
        if "oneOf" in words:
            return self.compile(words["oneOf"][0])
        if "anyOf" in words:
            return self._optional(words["anyOf"])
        if not words:
            return _anything(_ANY_LEVELS), _count_keys
        kind = words.pop("type", None)
        make = getattr(self, f"_{kind}", None)
        if make is None:
            raise _NotFast
        result: tuple[Any, Check | None] = make(words)
        if words:
            raise _NotFast
        return result

    def _optional(self, choices: list[dict[str, Any]]) -> tuple[Any, Check | None]:
        if len(choices) != 2 or choices[1] != {"type": "null"}:
            raise _NotFast
        inner, check = self.compile(choices[0])
        if check is None:
            return inner | None, None
        return inner | None, lambda value: 0 if value is None else check(value)

    def _null(self, words: dict[str, Any]) -> tuple[Any, Check | None]:
        return None, None

    def _boolean(self, words: dict[str, Any]) -> tuple[Any, Check | None]:
        return bool, None

    def _number(self, words: dict[str, Any]) -> tuple[Any, Check | None]:
        return Annotated[float, Meta(**_bounds(words))], None

    def _integer(self, words: dict[str, Any]) -> tuple[Any, Check | None]:
        if "enum" in words:
            return Literal[tuple(words.pop("enum"))], None
        bounds = {"ge": -(2**63), "le": 2**63 - 1} | {key: int(value) for key, value in _bounds(words).items()}
        return Annotated[int, Meta(**bounds)], None

    def _string(self, words: dict[str, Any]) -> tuple[Any, Check | None]:
        if "enum" in words:
            return Literal[tuple(words.pop("enum"))], None
        pattern, banned = words.pop("pattern", None), words.pop("not", None)
        longest = words.pop("maxLength", None)
        if pattern is None:
            return Annotated[str, Meta(max_length=longest)], None
        if pattern == NON_BLANK and banned is None:
            return Annotated[str, Meta(min_length=1, max_length=longest)], lambda value: _LEAVE if value.isspace() else 0
        if banned is not None:
            pattern = f"(?![\\s\\S]*(?:{banned['pattern']}))[\\s\\S]*?(?:{pattern})"
        if not pattern.endswith("$"):
            raise _NotFast
        return Annotated[str, Meta(pattern=r"\A(?:" + pattern[:-1] + r")\Z", max_length=longest)], None

    def _array(self, words: dict[str, Any]) -> tuple[Any, Check | None]:
        item, check = self.compile(words.pop("items", {}))
        limits = {"min_length": words.pop("minItems", None), "max_length": words.pop("maxItems", None)}
        list_type = Annotated[list[item], Meta(**limits)]
        if check is None:
            return list_type, None
        return list_type, lambda value: sum(map(check, value))

    def _object(self, words: dict[str, Any]) -> tuple[Any, Check | None]:
        other = words.pop("additionalProperties", True)
        if "properties" not in words:
            if other is False:
                raise _NotFast
            inner, check = self.compile({} if other is True else other)
            if other is not True and check is not None:
                raise _NotFast
            return dict[str, inner], _count_keys
        return self._struct(words, closed=other is False)

    def _struct(self, words: dict[str, Any], closed: bool) -> tuple[Any, Check | None]:
        properties, required = words.pop("properties"), set(words.pop("required", ()))
        if not closed:
            raise _NotFast
        needed: list[Any] = []
        optional: list[Any] = []
        needed_checks: list[tuple[str, Check]] = []
        optional_checks: list[tuple[str, Check]] = []
        for name, schema in properties.items():
            inner, check = self.compile(schema)
            if name in required:
                needed.append((name, inner))
                if check is not None:
                    needed_checks.append((name, check))
            else:
                optional.append((name, inner | UnsetType, UNSET))
                optional_checks.append((name, check or _nothing))
        struct = defstruct("Row", needed + optional, forbid_unknown_fields=True)
        return struct, _struct_check(len(needed), needed_checks, optional_checks)


def _nothing(value: Any) -> int:
    return 0


def _struct_check(needed: int, required: list[tuple[str, Check]], optional: list[tuple[str, Check]]) -> Check:
    """Counts the keys of an object; an optional one that is absent becomes None, as for the model."""

    def check(row: Any) -> int:
        keys = needed
        for name, inner in required:
            keys += inner(getattr(row, name))
        for name, inner in optional:
            value = getattr(row, name)
            if value is UNSET:
                setattr(row, name, None)
            else:
                keys += 1 + inner(value)
        return keys

    return check


def _count_keys(value: Any) -> int:
    """The keys in a value of any shape, lists left out: objects in a list make the count too small, never too large."""
    if type(value) is not dict:
        return 0
    return len(value) + sum(map(_count_keys, value.values()))


def _bounds(words: dict[str, Any]) -> dict[str, Any]:
    names = {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"}
    return {short: words.pop(word) for word, short in names.items() if word in words}
