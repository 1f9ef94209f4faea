"""The fast path: decodes a record and proves, at parser speed, that its structure is right.

A msgspec type is derived from the record's JSON Schema. It may reject a valid record (then the slow path
in `medcontract.contracts.pydantic_errors` decides), but it never accepts an invalid one:

- a schema with an unsupported keyword has no fast path;
- of the two variants of a record, many at once are decoded only if most are of the first (answered);
- `1.0` for an integer is left to the slow path;
- strings that are blank according to `str.isspace` are left to the slow path;
- values of any type are accepted up to a few levels of nesting, deeper ones are left to the slow path;
- repeated keys, which no parser reports, are excluded by counting: every key is followed by a colon, so if the
  text has no more colons than the value has keys (and strings have colons), no key was dropped.

Many records, one per line, are decoded at once, which is faster: if all of them together have as many colons as keys,
no record has a repeated key, because a record never has fewer colons than keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from io import BytesIO
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from medcontract.contracts.row_types import NOT_JSON, Compiler, Names, NotFast, ObjectSpec, make_function
from medcontract.types import Schema

_HUGE_LENGTH = 300
_HUGE = re.compile(rb"[0-9]{%d}" % _HUGE_LENGTH)
_OPEN, _CLOSE = b"{}"
_plain = msgspec.json.Decoder()

Rows = list[Any]
DecodeOne = Callable[[bytes], Any]
"""Decodes a record. None if in doubt."""
DecodeLines = Callable[[bytes], Rows | None]
"""Decodes records, one per line. None if in doubt about any of them."""


class RowDecoders(NamedTuple):
    """Functions that decode the objects of a schema. The result is None if in doubt."""

    one: DecodeOne
    lines: DecodeLines


def row_decoders(schema: Schema, raw_objects: bool = False) -> RowDecoders | None:
    """Compile the JSON Schema of an object. None if there is no fast path.

    `raw_objects`: members with any content are decoded when they are read.
    """
    try:
        first, *others = Compiler(schema).object_specs(schema, raw_objects)
    except (NotFast, RecursionError):  # or a recursive model
        return None
    one = _one_decoder(first)
    for spec in others:
        one = _either(one, _one_decoder(spec))
    return RowDecoders(one, _all_lines_decoder(first, others, one))


def _either(first: DecodeOne, second: DecodeOne) -> DecodeOne:
    """Decode a record of one of two variants."""

    def decode(raw: bytes) -> object:
        row = first(raw)
        return second(raw) if row is None else row

    return decode


def _all_lines_decoder(spec: ObjectSpec, others: list[ObjectSpec], one: DecodeOne) -> DecodeLines:
    decode = _lines_decoder(spec)
    only_there = [name for other in others for name in other.required_keys() if name not in spec.required_keys()]
    return _with_other_variants(decode, one, only_there) if only_there else decode


def _with_other_variants(decode: DecodeLines, one: DecodeOne, keys: list[str]) -> DecodeLines:
    """Decode lines of which a few are of another variant: records with one of these keys, whose value is a string.

    The other lines are decoded at once, and in the next texts such lines are sought first.
    """
    spellings = [f'"{key}":{space}"'.encode() for key in keys for space in (" ", "")]
    sought: list[bytes] = []

    def decode_lines(text: bytes) -> Rows | None:
        if b"\r" in text:  # a line break, too
            return decode(text)
        if not sought:
            rows = decode(text)
            sought[:] = [spelling for spelling in spellings if spelling in text][:1] if rows is None else []
            if rows is not None or not sought:
                return rows
        found: Rows = []
        for before, line in _lines_with(sought[0], text):
            rows = decode(before) if before else []
            row = one(line) if line else None
            if rows is None or (line and row is None):
                sought.clear()
                return None
            found += [*rows, row] if line else rows
        return found

    return decode_lines


def _lines_with(key: bytes, text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the lines before each line that contains a key, and that line. At the end, yield the rest, and no line."""
    end = 0
    while (at := text.find(key, end)) >= 0:
        start = text.rfind(b"\n", end, at) + 1 or end
        before, end = text[end:start], text.find(b"\n", at) + 1 or len(text)
        yield before, text[start:end]
    yield text[end:], b""


def _one_decoder(spec: ObjectSpec) -> DecodeOne:
    decode = msgspec.json.Decoder(spec.struct).decode
    names: Names = {"decode": decode, "NOT_JSON": NOT_JSON, "no_repeated_key": no_repeated_key}
    lines = [
        "def function(raw):",
        "    try:",
        "        row = decode(raw)",
        "    except NOT_JSON:",
        "        return None",
        f"    keys = {spec.needed}",
        *spec.count_keys(names, leave="return None"),
        "    colons = len(raw) - len(raw.replace(b':', b''))",  # faster than to count
        "    return row if colons == keys or (keys > 0 and no_repeated_key(raw)) else None",
    ]
    decode_row: DecodeOne = make_function(lines, names)
    return decode_row


def _lines_decoder(spec: ObjectSpec) -> DecodeLines:
    names: Names = {
        "decode_lines": msgspec.json.Decoder(spec.struct).decode_lines, "NOT_JSON": NOT_JSON,
        "one_object_per_line": _one_object_per_line, "NOT_IN_OUTLINE": _NOT_IN_OUTLINE,
    }  # fmt: skip
    optional = spec.count_optional_keys(names)
    lines = [
        "def function(text):",
        "    try:",
        "        rows = decode_lines(text)",
        "    except NOT_JSON:",
        "        return None",
        "    outline = text.translate(None, NOT_IN_OUTLINE)",
        "    borders = outline.replace(b':', b'')",
        "    if not text.endswith(b'}\\n'):",
        "        return None",
        "    if borders != b'{}\\n' * len(rows) and not one_object_per_line(text, len(rows)):",
        "        return None",
        f"    keys = {spec.needed} * len(rows)",
        *spec.count_required_keys_of_all(names),
        *(["    for row in rows:", *(f"    {line}" for line in optional)] if optional else []),
        "    return rows if len(outline) - len(borders) == keys else None",
    ]
    decode_rows: DecodeLines = make_function(lines, names)
    return decode_rows


_NOT_IN_OUTLINE = bytes(set(range(256)) - set(b"{}:\n\r"))
"""All but what separates objects and follows keys: to delete it is the fastest way to count the rest."""
_first, _before_line_break = itemgetter(0), itemgetter(-2)


def _one_object_per_line(text: bytes, objects: int) -> bool:
    """Return whether each line is one of the objects that the text consists of: `}` and `{` around each line break.

    Inside an object there is a comma between the two.
    """
    if not text.endswith(b"}\n") or b"\r" in text:  # also a line break
        return False
    lines = BytesIO(text).readlines()  # much faster than to split or to count
    return (
        len(lines) == objects and set(map(_first, lines)) == {_OPEN} and set(map(_before_line_break, lines)) == {_CLOSE}
    )


def quick_parse(raw: bytes, levels: int) -> Any:
    """Return the value of a JSON text without anything unusual, else `UNSET`. `levels`: the maximum nesting depth."""
    if len(raw) >= _HUGE_LENGTH and _HUGE.search(raw):
        return UNSET
    value = _without_repeated_keys(raw)
    few_brackets = raw.count(b"[") + raw.count(b"{") <= levels
    return value if few_brackets or value is UNSET or _is_flat(value, levels) else UNSET


def _is_flat(value: Any, levels: int) -> bool:
    """Return whether no more than `levels` lists and objects are inside each other."""
    layer = [value]
    for _ in range(levels):
        objects = (item.values() if type(item) is dict else item for item in layer if type(item) in (dict, list))
        layer = [inner for members in objects for inner in members if type(inner) in (dict, list)]
        if not layer:
            return True
    return False


def no_repeated_key(raw: bytes) -> bool:
    """Return whether no object in the JSON text repeats a key, for certain."""
    return _without_repeated_keys(raw) is not UNSET


def _without_repeated_keys(raw: bytes) -> Any:
    """Return the value of a JSON text in which no object repeats a key, for certain; else `UNSET`."""
    if b"\\u003" in raw:  # may be an escaped colon
        return UNSET
    try:
        value = _plain.decode(raw)
    except NOT_JSON:
        return UNSET
    colons = raw.count(b":")
    if type(value) is dict and colons == len(value):  # each key has its colon: there is no other key
        return value
    return value if colons == _colons(value) else UNSET


def _colons(value: Any) -> int:
    """Return the number of colons in the text of a value if no key is repeated."""
    count = 0
    stack = [value]
    while stack:
        item = stack.pop()
        if type(item) is str:
            count += item.count(":")
            continue
        if type(item) is dict:
            count += len(item)
            for key in item:
                if ":" in key:
                    count += key.count(":")
            item = item.values()
        elif type(item) is not list:
            continue
        for inner in item:
            if type(inner) is str:
                if ":" in inner:
                    count += inner.count(":")
            elif type(inner) in (dict, list):
                stack.append(inner)
    return count
