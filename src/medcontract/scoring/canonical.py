"""Canonical JSON (RFC 8785): one text for one value, whatever its spelling, key order or container."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from typing import Any

import msgspec
import msgspec.inspect

_EXACT_INTEGERS = 1 << 53


def canonical(value: Any) -> str:
    """The canonical text of a JSON value. Numbers are doubles; an integer beyond them is the nearest one."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) <= _EXACT_INTEGERS:
        return str(value)
    if isinstance(value, int | float | Decimal):
        return _number(float(value))
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: str(key).encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{canonical(key)}:{canonical(value[key])}" for key in keys) + "}"
    return "[" + ",".join(map(canonical, value)) + "]"


def _number(value: float) -> str:
    """As ECMAScript writes it: the shortest digits that give the double back."""
    if value == 0:
        return "0"
    sign, digit_tuple, exponent = Decimal(repr(value)).as_tuple()
    digits = "".join(map(str, digit_tuple))
    point = len(digits) + int(exponent)
    digits = digits.rstrip("0")
    minus, count = "-" * sign, len(digits)
    if count <= point <= 21:
        return minus + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{minus}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{minus}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if count > 1 else ""
    return f"{minus}{digits[0]}{fraction}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_encode_sorted = msgspec.json.Encoder(order="sorted").encode


def record_text(record: Any) -> bytes:
    """The canonical text of a record: a field that is absent and one that is null say the same."""
    plain = _plain_fields(record.__class__)
    if plain is not None:
        found = ((name, getattr(record, name)) for name in plain)
        return _encode_sorted({name: value for name, value in found if value is not None})
    value = record.model_dump() if hasattr(record, "model_dump") else msgspec.to_builtins(record)
    try:
        return _encode_sorted(_for_msgspec(value))
    except _OddKeyError:
        return canonical(_without_null(value)).encode()


class _OddKeyError(Exception):
    """A key that msgspec might sort in another order."""


def _for_msgspec(value: Any) -> Any:
    """A value whose text by msgspec is canonical: without null, and with numbers as ECMAScript writes them."""
    if type(value) is dict:
        if not all(map(str.isascii, value)):
            raise _OddKeyError
        return {key: _for_msgspec(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_for_msgspec(item) for item in value]
    if type(value) is float:
        if value.is_integer() and abs(value) <= _EXACT_INTEGERS:
            return int(value)
        return value if 1e-4 <= abs(value) < 1e15 else msgspec.Raw(_number(value).encode())
    if type(value) is int and abs(value) > _EXACT_INTEGERS:
        return msgspec.Raw(_number(float(value)).encode())
    return value


@cache
def _plain_fields(kind: Any) -> tuple[str, ...] | None:
    """The fields of a record, if msgspec's own text of each that is not None is canonical."""
    if not issubclass(kind, msgspec.Struct):
        return None
    fields = msgspec.inspect.type_info(kind).fields  # type: ignore[attr-defined]  # that of a Struct has them
    return tuple(field.name for field in fields) if all(_is_plain(_needed(field.type)) for field in fields) else None


def _needed(kind: msgspec.inspect.Type) -> msgspec.inspect.Type:
    """The type that a field has when it is not None."""
    if not isinstance(kind, msgspec.inspect.UnionType):
        return kind
    others = [each for each in kind.types if not isinstance(each, msgspec.inspect.NoneType)]
    return others[0] if len(others) == 1 else kind


def _is_plain(kind: msgspec.inspect.Type) -> bool:
    """Texts and booleans, lists of them, and structs that always have all their fields."""
    if isinstance(kind, msgspec.inspect.LiteralType):
        return all(isinstance(word, str) for word in kind.values)
    if isinstance(kind, msgspec.inspect.ListType | msgspec.inspect.VarTupleType):
        return _is_plain(kind.item_type)
    if isinstance(kind, msgspec.inspect.StructType):
        return all(field.required and _is_plain(field.type) for field in kind.fields)
    return isinstance(kind, msgspec.inspect.StrType | msgspec.inspect.BoolType)


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_null(item) for key, item in value.items() if item is not None}
    return [_without_null(item) for item in value] if isinstance(value, list | tuple) else value


def content_sha256(records: Iterable[bytes]) -> str:
    """A hash of records that does not depend on their order: each on a line, the lines sorted by their bytes."""
    digest = hashlib.sha256()
    for record in sorted(records):
        digest.update(record)
        digest.update(b"\n")
    return digest.hexdigest()
