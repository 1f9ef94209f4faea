"""Canonical JSON (RFC 8785): equal values have equal text, regardless of notation, key order or container."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cache
from io import BytesIO
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec
import msgspec.inspect
import rfc8785

from medcontract.contracts.row_types import RowWithRawObjects, decoded

_EXACT_INTEGERS = 1 << 53


def canonical(value: object) -> str:
    """Return the canonical text of a JSON value. Numbers are doubles; larger integers become the nearest one."""
    return rfc8785.dumps(_with_doubles(value)).decode()


def _with_doubles(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_doubles(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_doubles(item) for item in value]
    inexact = isinstance(value, int) and abs(value) >= _EXACT_INTEGERS
    return float(value) if inexact or isinstance(value, Decimal) else value


def sha256(text: str) -> str:
    import hashlib  # it loads OpenSSL, which `validate` does not need

    return hashlib.sha256(text.encode()).hexdigest()


_encoder = msgspec.json.Encoder(order="sorted")
_encode_sorted = _encoder.encode


def record_text(record: Any) -> bytes:
    """Return the canonical text of a record, without fields that are null: null means the same as absent."""
    if isinstance(record, RowWithRawObjects):
        record = decoded(record)
    if isinstance(record, msgspec.Struct):
        return _encode_sorted(_struct_converter(record.__class__)(record))
    return _encode_sorted(_for_msgspec(record.model_dump()))


def _for_msgspec(value: object) -> Any:
    """Return the value in a form that msgspec encodes canonically: without null, and with numbers as in ECMAScript."""
    if type(value) is dict:
        found = {key: _for_msgspec(item) for key, item in value.items() if item is not None}
        return found if all(map(str.isascii, found)) else _with_other_keys(found)
    if isinstance(value, list | tuple):
        return [_for_msgspec(item) for item in value]
    if type(value) is float:
        return _float_for_msgspec(value)
    if type(value) is int and abs(value) > _EXACT_INTEGERS:
        return msgspec.Raw(rfc8785.dumps(float(value)))
    return value


def _with_other_keys(found: dict[str, Any]) -> msgspec.Raw:
    """Sort keys by their UTF-16 code units, as RFC 8785 does. msgspec sorts keys beyond ASCII otherwise."""
    ordered = sorted(found.items(), key=lambda item: item[0].encode("utf-16-be", "surrogatepass"))
    return msgspec.Raw(b"{%b}" % b",".join(_encode_sorted(key) + b":" + _encode_sorted(item) for key, item in ordered))


def _float_for_msgspec(value: float) -> Any:
    if value.is_integer() and abs(value) <= _EXACT_INTEGERS:
        return int(value)
    return value if 1e-4 <= abs(value) < 1e15 else msgspec.Raw(rfc8785.dumps(value))


Convert = Callable[[Any], Any]


@cache
def _struct_converter(kind: type[msgspec.Struct]) -> Convert:
    """Does what `_for_msgspec` does, for the objects of one type: only the fields that need it are converted."""
    info = msgspec.inspect.type_info(kind)
    fields = [(field.name, field.encode_name, _converter(field.type)) for field in info.fields]  # type: ignore[attr-defined]  # as above

    def convert(record: object) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, key, inner in fields:
            value = getattr(record, name)
            if value is not None and value is not msgspec.UNSET:
                found[key] = inner(value) if inner else value
        return found

    return convert if all(key.isascii() for _, key, _ in fields) else _generic


def _converter(kind: msgspec.inspect.Type) -> Convert | None:
    """Return how values of a type other than None are converted; None if they stay as they are."""
    kind = _without_none(kind)
    if _is_plain(kind):
        return None
    if isinstance(kind, msgspec.inspect.FloatType):
        return _float_for_msgspec
    if isinstance(kind, msgspec.inspect.StructType):
        return _struct_converter(kind.cls)
    inner = _converter(kind.item_type) if isinstance(kind, msgspec.inspect.ListType) else None
    if inner is None:
        return _generic
    return lambda values: [None if value is None else inner(value) for value in values]


def _generic(value: object) -> Any:
    return _for_msgspec(msgspec.to_builtins(value))


@cache
def _nullable_fields(kind: Any) -> frozenset[str] | None:
    """Return the names of the fields that may be null, in a record and the structs in it.

    None if msgspec does not encode all other values canonically.
    """
    if not issubclass(kind, msgspec.Struct):
        return None
    names: set[str] = set()
    return frozenset(names) if _add_nullable(msgspec.inspect.type_info(kind), names) else None


def _add_nullable(kind: msgspec.inspect.Type, names: set[str]) -> bool:
    """Add the names of fields that may be null. Returns whether all values are strings or booleans."""
    if isinstance(kind, msgspec.inspect.ListType | msgspec.inspect.VarTupleType):
        return _add_nullable(kind.item_type, names)
    if not isinstance(kind, msgspec.inspect.StructType):
        return _is_plain(kind)
    if kind.array_like or kind.tag_field is not None:
        return False
    names.update(field.name for field in kind.fields if _without_none(field.type) is not field.type)
    return all(
        field.name == field.encode_name and field.name.isascii() and _add_nullable(_without_none(field.type), names)
        for field in kind.fields
    )


def _without_none(kind: msgspec.inspect.Type) -> msgspec.inspect.Type:
    """Return the type of a field's values other than None."""
    if not isinstance(kind, msgspec.inspect.UnionType):
        return kind
    others = [each for each in kind.types if not isinstance(each, msgspec.inspect.NoneType)]
    return others[0] if len(others) == 1 else kind


def _is_plain(kind: msgspec.inspect.Type) -> bool:
    """Return whether values are strings or booleans, lists of them, or structs without optional fields."""
    if isinstance(kind, msgspec.inspect.LiteralType):
        return all(isinstance(value, str) for value in kind.values)
    if isinstance(kind, msgspec.inspect.ListType | msgspec.inspect.VarTupleType):
        return _is_plain(kind.item_type)
    if isinstance(kind, msgspec.inspect.StructType):
        return all(field.required and _is_plain(field.type) for field in kind.fields)
    return isinstance(kind, msgspec.inspect.StrType | msgspec.inspect.BoolType)


_FEW = 64
"""Records whose text stays in the cache of the CPU while it is changed."""


def record_lines(records: Sequence[object]) -> bytes:
    """Return the canonical texts of records, one per line: all at once if they are of one simple type."""
    kinds = set(map(type, records))
    kind: Any = kinds.pop() if len(kinds) == 1 else None
    fields = _nullable_fields(kind) if kind else None
    if fields is None:
        return b"".join([record_text(record) + b"\n" for record in records])
    if not fields:
        return _encoder.encode_lines(records)
    few = [records[at : at + _FEW] for at in range(0, len(records), _FEW)]
    return b"".join([_without_null_fields(_encoder.encode_lines(each), fields) for each in few])


def _without_null_fields(lines: bytes, fields: Iterable[str]) -> bytes:
    """Remove fields that are null from encoded records. In a string, the quotes around a name would be escaped."""
    before_null = lines.split(b":null")[:-1]
    found = {text[text.rfind(b'"', 0, -1) - 1 :] for text in before_null}  # names with the sign before them
    names = [b'"%b"' % field.encode() for field in fields]
    for name in names:
        if b"," + name in found:
            lines = b"".join(lines.split(b",%b:null" % name))  # faster than `replace`, which searches twice
    for name in names:
        if b"{" + name in found:
            lines = lines.replace(b"{%b:null," % name, b"{").replace(b"{%b:null}" % name, b"{}")
    return lines


class ContentHash:
    """An order-independent hash of records: each on one line, with lines sorted by their bytes."""

    def __init__(self) -> None:
        self._text = bytearray()
        """All lines: the system gets the memory of one large object back, but not of many small ones."""
        self._sorted = True
        """The lines are already sorted."""
        self._last = b""
        """The last line, while lines are sorted."""

    def state(self) -> tuple[int, bool, bytes]:
        """Return what `restore` needs to drop the records that are added later."""
        return len(self._text), self._sorted, self._last

    def restore(self, state: tuple[int, bool, bytes]) -> None:
        length, self._sorted, self._last = state
        del self._text[length:]

    def add(self, records: Sequence[object]) -> None:
        text = record_lines(records)
        if self._sorted and text:
            lines = [self._last, *BytesIO(text).readlines()]  # much faster than to split
            self._sorted = lines == sorted(lines)
            self._last = lines[-1]
        self._text += text

    def sha256(self) -> str:
        """Return the hash of all records. They are dropped, to save memory."""
        text, self._text = self._text, bytearray()
        import hashlib  # as above

        digest = hashlib.sha256()
        for part in (text,) if self._sorted else _sorted_lines(text):
            digest.update(part)
        return digest.hexdigest()


_MANY, _PIECE = 1 << 10, 1 << 20
_LONG, _START = 1000, 200
"""From how many bytes on a line is long, and how many of them are compared first."""


def _sorted_lines(text: bytearray) -> Iterator[bytes]:
    """Yield the sorted lines of a text, many short ones at a time. The text may be dropped, to save memory."""
    if text.find(b"\n") >= _LONG:
        for _, places in groupby(sorted(_long_lines(text)), itemgetter(0)):
            yield from sorted([bytes(text[at:end]) for _, at, end in places])
        return
    lines: list[bytes] = []
    while text:
        at = text.rfind(b"\n", 0, max(len(text) - _PIECE, 0)) + 1
        lines += bytes(text[at:]).splitlines()
        del text[at:]
    lines.sort()
    for at in range(0, len(lines), _MANY):
        yield b"\n".join(lines[at : at + _MANY]) + b"\n"


def _long_lines(text: bytearray) -> Iterator[tuple[bytes, int, int]]:
    """Yield the start of each line, and its place: a copy of all lines would take as much memory as the text."""
    at = 0
    while end := text.find(b"\n", at) + 1:
        yield bytes(text[at : min(at + _START, end)]), at, end
        at = end
