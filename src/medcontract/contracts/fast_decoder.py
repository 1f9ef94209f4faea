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

import keyword
import re
from collections.abc import Callable, Iterator
from functools import cache
from io import BytesIO
from operator import attrgetter, itemgetter
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType, defstruct

from medcontract.contracts.raw_objects import SENDABLE, Members, WithRawObjects, count_keys_inside, field_name, reader
from medcontract.contracts.schema_nodes import ANNOTATIONS
from medcontract.contracts.string_patterns import NON_BLANK

_IGNORED = ANNOTATIONS | {"$defs"}
_OBJECT_KEYWORDS = {"type", "properties", "required", "additionalProperties"}
_ANY_LEVELS = 6
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_HUGE_LENGTH = 300
_HUGE = re.compile(rb"[0-9]{%d}" % _HUGE_LENGTH)
_OPEN, _CLOSE = b"{}"
_plain = msgspec.json.Decoder()


class _NotFast(Exception):
    """The schema uses a keyword that the fast path does not support."""


@cache
def _anything(levels: int) -> Any:
    scalar = None | bool | float | str
    return scalar if levels == 0 else scalar | list[_anything(levels - 1)] | dict[str, _anything(levels - 1)]  # type: ignore[misc]


Check = Callable[[Any], int]
"""Counts the keys inside a value; negative if the value is left to the slow path."""
_LEAVE = -(1 << 60)


class RowDecoders(NamedTuple):
    """Functions that decode the objects of a schema. The result is None if in doubt."""

    one: Callable[[bytes], Any]
    """Decodes one object."""
    lines: DecodeLines
    """Decodes objects, one per line; None if in doubt about any of them."""


def row_decoders(schema: dict[str, Any], raw_objects: bool = False) -> RowDecoders | None:
    """Compile the JSON Schema of an object. None if there is no fast path.

    `raw_objects`: members with any content are decoded when they are read.
    """
    try:
        first, *others = _Compiler(schema).object_specs(schema, raw_objects)
    except (_NotFast, RecursionError):  # or a recursive model
        return None
    one = _one_decoder(first)
    for spec in others:
        one = _either(one, _one_decoder(spec))
    return RowDecoders(one, _all_lines_decoder(first, others, one))


def _either(first: Callable[[bytes], Any], second: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """Decode a record of one of two variants."""

    def decode(raw: bytes) -> Any:
        row = first(raw)
        return second(raw) if row is None else row

    return decode


def _all_lines_decoder(spec: _ObjectSpec, others: list[_ObjectSpec], one: Callable[[bytes], Any]) -> DecodeLines:
    decode = _lines_decoder(spec)
    only_there = [name for other in others for name in other.required_keys() if name not in spec.required_keys()]
    return _with_other_variants(decode, one, only_there) if only_there else decode


def _with_other_variants(decode: DecodeLines, one: Callable[[bytes], Any], keys: list[str]) -> DecodeLines:
    """Decode lines of which a few are of another variant: records with one of these keys, whose value is a string.

    The other lines are decoded at once, and in the next texts such lines are sought first.
    """
    spellings = [f'"{key}":{space}"'.encode() for key in keys for space in (" ", "")]
    sought: list[bytes] = []

    def decode_lines(text: bytes) -> list[Any] | None:
        if b"\r" in text:  # a line break, too
            return decode(text)
        if not sought:
            rows = decode(text)
            sought[:] = [spelling for spelling in spellings if spelling in text][:1] if rows is None else []
            if rows is not None or not sought:
                return rows
        found: list[Any] = []
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


def _one_decoder(spec: _ObjectSpec) -> Callable[[bytes], Any]:
    decode = msgspec.json.Decoder(spec.struct).decode
    names: dict[str, Any] = {"decode": decode, "NOT_JSON": _NOT_JSON, "no_repeated_key": no_repeated_key}
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
    decode_row: Callable[[bytes], Any] = _function(lines, names)
    return decode_row


@cache
def key_decoders(fields: tuple[str, ...]) -> RowDecoders | None:
    """Return functions that decode nothing but these fields of a record, whatever else it contains.

    None if there is no fast path. Only for records of which it is known, or checked later, that they are valid: keys
    are single values.
    """
    if not all(name.isidentifier() and not keyword.iskeyword(name) for name in fields):
        return None
    decoder = msgspec.json.Decoder(
        defstruct("Key", [(name, None | bool | int | float | str, None) for name in fields], gc=False)
    )

    def one(raw: bytes) -> Any:
        try:
            return decoder.decode(raw)
        except _NOT_JSON:
            return None

    def lines(text: bytes) -> list[Any] | None:
        try:
            rows = decoder.decode_lines(text)
        except _NOT_JSON:
            return None
        return rows if _one_object_per_line(text, len(rows)) else None

    return RowDecoders(one, lines)


DecodeLines = Callable[[bytes], list[Any] | None]


def _lines_decoder(spec: _ObjectSpec) -> DecodeLines:
    names: dict[str, Any] = {
        "decode_lines": msgspec.json.Decoder(spec.struct).decode_lines, "NOT_JSON": _NOT_JSON,
        "one_object_per_line": _one_object_per_line, "NOT_IN_OUTLINE": _NOT_IN_OUTLINE,
    }  # fmt: skip
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
        "    colons = len(outline) - len(borders)",
        *spec.count_optional_keys_of_all(names),
        "    return rows if colons == keys else None",
    ]
    decode_rows: Callable[[bytes], list[Any] | None] = _function(lines, names)
    return decode_rows


_NOT_IN_OUTLINE = bytes(set(range(256)) - set(b"{}:\n\r"))
"""All but what separates objects and follows keys: to delete it is the fastest way to count the rest."""
_first, _before_line_break = itemgetter(0), itemgetter(-2)


def _one_object_per_line(text: bytes, objects: int) -> bool:
    """Whether each line is one of the objects that the text consists of: `}` and `{` around each line break.

    Inside an object there is a comma between the two.
    """
    if not text.endswith(b"}\n") or b"\r" in text:  # also a line break
        return False
    lines = BytesIO(text).readlines()  # much faster than to split or to count
    return (
        len(lines) == objects and set(map(_first, lines)) == {_OPEN} and set(map(_before_line_break, lines)) == {_CLOSE}
    )


def quick_parse(raw: bytes, levels: int) -> Any:
    """The value of a JSON text without anything unusual, else `UNSET`. `levels`: the maximum nesting depth."""
    if len(raw) >= _HUGE_LENGTH and _HUGE.search(raw):
        return UNSET
    value = _without_repeated_keys(raw)
    few_brackets = raw.count(b"[") + raw.count(b"{") <= levels
    return value if few_brackets or value is UNSET or _is_flat(value, levels) else UNSET


def _is_flat(value: Any, levels: int) -> bool:
    """Whether no more than `levels` lists and objects are inside each other."""
    layer = [value]
    for _ in range(levels):
        objects = (item.values() if type(item) is dict else item for item in layer if type(item) in (dict, list))
        layer = [inner for members in objects for inner in members if type(inner) in (dict, list)]
        if not layer:
            return True
    return False


def no_repeated_key(raw: bytes) -> bool:
    """Whether no object in the JSON text repeats a key, for certain."""
    return _without_repeated_keys(raw) is not UNSET


def _without_repeated_keys(raw: bytes) -> Any:
    """The value of a JSON text in which no object repeats a key, for certain; else `UNSET`."""
    if b"\\u003" in raw:  # may be an escaped colon
        return UNSET
    try:
        value = _plain.decode(raw)
    except _NOT_JSON:
        return UNSET
    colons = raw.count(b":")
    if type(value) is dict and colons == len(value):  # each key has its colon: there is no other key
        return value
    return value if colons == _colons(value) else UNSET


def _colons(value: Any) -> int:
    """The number of colons in the text of a value if no key is repeated."""
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


class _ObjectSpec(NamedTuple):
    """How to decode an object, and what remains to be checked."""

    struct: type[msgspec.Struct]
    needed: int
    required: list[tuple[str, Check]]
    optional: list[tuple[str, Check | None]]
    namespace: dict[str, Any] = SENDABLE
    """Other attributes of the struct."""

    def required_keys(self) -> list[str]:
        return [field.encode_name for field in msgspec.structs.fields(self.struct) if field.required]

    def count_required_keys_of_all(self, names: dict[str, Any]) -> list[str]:
        """Lines that add to `keys` the number of keys in the required fields of all `rows`."""
        names["isspace"] = str.isspace
        lines: list[str] = []
        for name, check in self.required:
            names[f"get_{name}"] = attrgetter(name)
            if check is _blank:
                lines += [f"    if any(map(isspace, map(get_{name}, rows))):", "        return None"]
            else:
                names[f"check_{name}"] = check
                lines.append(f"    keys += sum(map(check_{name}, map(get_{name}, rows)))")
        return lines

    def count_optional_keys_of_all(self, names: dict[str, Any]) -> list[str]:
        """Lines that add to `keys` the number of keys in the optional fields of all `rows`."""
        if not self.optional:
            return []
        return ["    for row in rows:", *(f"    {line}" for line in self.count_optional_keys(names))]

    def count_keys(self, names: dict[str, Any], leave: str) -> list[str]:
        """Lines that add to `keys` the number of keys in `row` beyond `needed`, and make absent fields None."""
        lines: list[str] = []
        for name, check in self.required:
            if check is _blank:
                lines += [f"    if row.{name}.isspace():", f"        {leave}"]
            else:
                names[f"check_{name}"] = check
                lines.append(f"    keys += check_{name}(row.{name})")
        return lines + self.count_optional_keys(names)

    def count_optional_keys(self, names: dict[str, Any]) -> list[str]:
        """Lines that add to `keys` the number of keys in the optional fields of `row`, and make absent ones None."""
        names["UNSET"] = UNSET
        lines: list[str] = []
        for name, inner in self.optional:
            names[f"check_{name}"] = inner
            more = f"1 + check_{name}(value)" if inner else "1"
            lines += [
                f"    value = row.{name}",
                "    if value is UNSET:",
                f"        row.{name} = None",
                "    else:",
                f"        keys += {more}",
            ]
        return lines

    def check(self) -> Check:
        names: dict[str, Any] = {}
        body = self.count_keys(names, f"return {_LEAVE}")
        lines = ["def function(row):", f"    keys = {self.needed}", *body, "    return keys"]
        check: Check = _function(lines, names)
        return check

    def check_list(self) -> Check:
        """Like `check`, for a list of objects: one call per list instead of one per object."""
        names: dict[str, Any] = {}
        body = self.count_keys(names, f"return {_LEAVE}")
        loop = ["    for row in rows:", *(f"    {line}" for line in body)] if body else []
        lines = ["def function(rows):", f"    keys = {self.needed} * len(rows)", *loop, "    return keys"]
        check: Check = _function(lines, names)
        return check


def _function(lines: list[str], names: dict[str, Any]) -> Any:
    """A function generated for one type: one call per record instead of one per field."""
    exec("\n".join(lines), names)  # noqa: S102  # consists of identifiers and numbers, checked in `_struct`
    return names["function"]


class _Compiler:
    """Translates schemas to msgspec types and checks."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._defs: dict[str, Any] = root.get("$defs", {})
        self._list_checks: dict[Check, Check] = {}
        """The checks of lists of objects, by the check of one object."""

    def compile(self, schema: dict[str, Any]) -> tuple[Any, Check | None]:
        """The type of a schema, and the check that its values still need (None: no check)."""
        keywords = {key: value for key, value in schema.items() if key not in _IGNORED}
        if "$ref" in keywords:
            return self.compile(self._defs[keywords["$ref"].rpartition("/")[2]])
        if "oneOf" in keywords:
            return self.compile(keywords["oneOf"][0])
        if "anyOf" in keywords:
            return self._optional(keywords["anyOf"])
        if not keywords:
            return _anything(_ANY_LEVELS), _count_keys
        kind = keywords.pop("type", None)
        make = getattr(self, f"_{kind}", None)
        if make is None:
            raise _NotFast
        result: tuple[Any, Check | None] = make(keywords)
        if keywords:
            raise _NotFast
        return result

    def _optional(self, choices: list[dict[str, Any]]) -> tuple[Any, Check | None]:
        if len(choices) != 2 or choices[1] != {"type": "null"}:
            raise _NotFast
        inner, check = self.compile(choices[0])
        if check is None:
            return inner | None, None
        return inner | None, lambda value: 0 if value is None else check(value)

    def _null(self, keywords: dict[str, Any]) -> tuple[Any, Check | None]:
        return None, None

    def _boolean(self, keywords: dict[str, Any]) -> tuple[Any, Check | None]:
        if "const" in keywords:
            only = keywords.pop("const")
            return bool, lambda value: 0 if value is only else _LEAVE
        return bool, None

    def _number(self, keywords: dict[str, Any]) -> tuple[Any, Check | None]:
        return Annotated[float, Meta(**_bounds(keywords))], None

    def _integer(self, keywords: dict[str, Any]) -> tuple[Any, Check | None]:
        if "enum" in keywords:
            return Literal[tuple(keywords.pop("enum"))], None
        bounds = _bounds(keywords)
        if not set(bounds) <= {"ge", "le"} or any(int(bound) != bound for bound in bounds.values()):
            raise _NotFast
        return Annotated[int, Meta(ge=int(bounds.get("ge", -(2**63))), le=int(bounds.get("le", 2**63 - 1)))], None

    def _string(self, keywords: dict[str, Any]) -> tuple[Any, Check | None]:
        if "enum" in keywords:
            return Literal[tuple(keywords.pop("enum"))], None
        if "const" in keywords:
            return Literal[(keywords.pop("const"),)], None
        pattern, banned = keywords.pop("pattern", None), keywords.pop("not", None)
        shortest, longest = keywords.pop("minLength", None), keywords.pop("maxLength", None)
        if pattern is None and banned is None:
            return Annotated[str, Meta(min_length=shortest, max_length=longest)], None
        if pattern == NON_BLANK and banned is None:
            return Annotated[str, Meta(min_length=max(shortest or 1, 1), max_length=longest)], _blank
        if pattern is not None and not (pattern.startswith("^") and pattern.endswith("$")):
            raise _NotFast
        unless = f"(?![\\s\\S]*(?:{banned['pattern']}))" if banned else ""
        body = "" if pattern is None else rf"(?:{pattern[1:-1]})\Z"
        return Annotated[str, Meta(pattern=rf"\A{unless}{body}", min_length=shortest, max_length=longest)], None

    def _array(self, keywords: dict[str, Any]) -> tuple[Any, Check | None]:
        item, check = self.compile(keywords.pop("items", {}))
        limits = {"min_length": keywords.pop("minItems", None), "max_length": keywords.pop("maxItems", None)}
        list_type = Annotated[list[item], Meta(**limits)]  # type: ignore[valid-type]  # created at run time
        if check is None:
            return list_type, None
        return list_type, self._list_checks.get(check) or (lambda value: sum(map(check, value)))

    def _object(self, keywords: dict[str, Any]) -> tuple[Any, Check | None]:
        other = keywords.pop("additionalProperties", True)
        if "properties" not in keywords:
            if other is False:
                raise _NotFast
            inner, check = self.compile({} if other is True else other)
            if other is not True and check is not None:
                raise _NotFast
            return dict[str, inner], _count_keys if other is True else len  # type: ignore[valid-type]  # created at run time
        spec = self._struct(keywords.pop("properties"), set(keywords.pop("required", ())), closed=other is False)
        check = spec.check()
        self._list_checks[check] = spec.check_list()
        return spec.struct, check

    def object_specs(self, schema: dict[str, Any], raw_objects: bool = False) -> list[_ObjectSpec]:
        """How to decode the objects of a schema: one for each variant."""
        keywords = {key: value for key, value in schema.items() if key not in _IGNORED}
        if "$ref" in keywords:
            return self.object_specs(self._defs[keywords["$ref"].rpartition("/")[2]], raw_objects)
        if "oneOf" in keywords:
            return [spec for variant in keywords["oneOf"] for spec in self.object_specs(variant, raw_objects)]
        if keywords.get("type") != "object" or not set(keywords) <= _OBJECT_KEYWORDS:
            raise _NotFast
        closed = keywords.get("additionalProperties") is False
        return [self._struct(keywords.get("properties", {}), set(keywords.get("required", ())), closed, raw_objects)]

    def _struct(
        self, properties: dict[str, Any], required: set[str], closed: bool, raw_objects: bool = False
    ) -> _ObjectSpec:
        if not closed:
            raise _NotFast
        needed: list[Any] = []
        optional: list[Any] = []
        spec = _ObjectSpec(msgspec.Struct, len(required), [], [], namespace=dict(SENDABLE))
        names = {key: "schema_" if key == "$schema" else key for key in properties}
        for key, name in names.items():
            if not name.isidentifier() or keyword.iskeyword(name):
                raise _NotFast
            inner, check = self.compile(properties[key])
            if raw_objects and inner in _ANY_OBJECT and field_name(name) not in properties:
                spec.namespace[name] = reader(name, _any_decoder())
                names[key] = name = field_name(name)
                inner, check = _ANY_OBJECT[inner], _count_raw_keys
            if key in required:
                needed.append((name, inner))
                if check is not None:
                    spec.required.append((name, check))
            else:
                optional.append((name, inner | UnsetType, UNSET))
                spec.optional.append((name, check))
        rename = {name: key for key, name in names.items() if key != name}
        # JSON values contain no cycles, so the garbage collector need not track them
        struct = defstruct(
            "Row", needed + optional, forbid_unknown_fields=True, rename=rename or None, gc=False,
            bases=(WithRawObjects if len(spec.namespace) > len(SENDABLE) else msgspec.Struct,),
            namespace=spec.namespace,
        )  # fmt: skip
        return spec._replace(struct=struct)


def _blank(value: str) -> int:
    return _LEAVE if value.isspace() else 0


def _count_keys(value: Any) -> int:
    """The number of keys in any value, ignoring lists: objects in lists make the count too small, never too large."""
    if type(value) is not dict:
        return 0
    return len(value) + sum(map(_count_keys, value.values()))


@cache
def _any_decoder() -> Callable[[Any], Any]:
    return msgspec.json.Decoder(_anything(_ANY_LEVELS)).decode


def _count_raw_keys(members: Members | None) -> int:
    return 0 if members is None else count_keys_inside(members, _ANY_LEVELS, _any_decoder(), _count_keys, _LEAVE)


_ANY_OBJECT = {dict[str, _anything(_ANY_LEVELS)]: Members, dict[str, _anything(_ANY_LEVELS)] | None: Members | None}  # type: ignore[misc]  # created at run time
"""The types of objects with any content, and those of the same objects if they are not decoded."""


def _bounds(keywords: dict[str, Any]) -> dict[str, Any]:
    names = {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"}
    return {short: keywords.pop(word) for word, short in names.items() if word in keywords}
