"""The msgspec types of records, derived from their JSON Schemas, and what remains to be checked of their values.

Objects with any content, such as embeddings, may be most of a file, and creating an object for each of their numbers
takes most of the time. So their members are only decoded when they are read. The parser checks the syntax of a value
without decoding it (`msgspec.Raw`), but then it accepts what must be left to the slow path: numbers that are not
finite, text that is not UTF-8, repeated keys, deep nesting. A value of numbers only is checked for these without
decoding it; any other value is decoded.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType, defstruct

from medcontract.contracts.registry import ANNOTATIONS
from medcontract.contracts.string_patterns import NON_BLANK
from medcontract.types import Schema

Type: TypeAlias = Any
"""A type for msgspec that is created at run time."""
Check = Callable[[Any], int]
"""Counts the keys inside a value; negative if the value is left to the slow path."""
Names = dict[str, object]
"""The values of the names in generated code."""
Members = dict[str, msgspec.Raw]
"""An object whose members are not decoded."""
LEAVE = -(1 << 60)
NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_IGNORED = ANNOTATIONS | {"$defs"}
_OBJECT_KEYWORDS = {"type", "properties", "required", "additionalProperties"}
_ANY_LEVELS = 6
_PREFIX = "members_of_"
"""The start of the name of the field with the members of an object; its own name is the name of the decoded value."""


class NotFast(Exception):
    """The schema uses a keyword that the fast path does not support."""


class Row(msgspec.Struct):
    """Base class of records. Another process does not have their type, so it gets one with the same attributes."""

    @staticmethod
    def from_fields(**fields: object) -> msgspec.Struct:
        """Make a row of any type again, from the fields that a cache keeps."""
        return _plain_row(tuple(fields), tuple(fields.values()))

    def __reduce__(self) -> tuple[Callable[..., msgspec.Struct], tuple[tuple[str, ...], tuple[object, ...]]]:
        names = _attributes(type(self))
        return _plain_row, (names, tuple(getattr(self, name) for name in names))


class RowWithRawObjects(Row):
    """Base class of records with objects that are not decoded. Each can be read as an attribute, like other fields."""


@cache
def _attributes(kind: type[Row]) -> tuple[str, ...]:
    """Return the attributes that have the decoded values of a record of this type."""
    names = kind.__struct_fields__
    return tuple(name.removeprefix(_PREFIX) for name in names) if issubclass(kind, RowWithRawObjects) else names


def decoded(record: Row) -> msgspec.Struct:
    """Return a record of which everything is decoded, without the types of its fields."""
    restore, state = record.__reduce__()
    return restore(*state)


def _plain_row(names: tuple[str, ...], values: tuple[object, ...]) -> msgspec.Struct:
    return _plain_type(names)(*values)


@cache
def _plain_type(names: tuple[str, ...]) -> type[msgspec.Struct]:
    return defstruct("Row", [(name, Any) for name in names], bases=(Row,), gc=False)


def _reader(field: str) -> property:
    """Return the attribute that decodes an object each time it is read."""

    def read(row: Row) -> dict[str, object] | None:
        members: Members | None = getattr(row, field)
        return None if members is None else {key: _any_decoder()(raw) for key, raw in members.items()}

    return property(read)


class ObjectSpec(NamedTuple):
    """How to decode an object, and what remains to be checked."""

    struct: type[msgspec.Struct]
    needed: int
    required: list[tuple[str, Check]]
    optional: list[tuple[str, Check | None]]

    def required_keys(self) -> list[str]:
        return [field.encode_name for field in msgspec.structs.fields(self.struct) if field.required]

    def count_required_keys_of_all(self, names: Names) -> list[str]:
        """Lines that add to `keys` the number of keys in the required fields of all `rows`."""
        names["isspace"] = str.isspace
        lines: list[str] = []
        for name, check in self.required:
            names[f"get_{name}"], names[f"check_{name}"] = attrgetter(name), check
            if check is is_blank:
                lines += [f"    if any(map(isspace, map(get_{name}, rows))):", "        return None"]
            else:
                lines.append(f"    keys += sum(map(check_{name}, map(get_{name}, rows)))")
        return lines

    def count_optional_keys(self, names: Names) -> list[str]:
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

    def count_keys(self, names: Names, leave: str) -> list[str]:
        """Lines that add to `keys` the number of keys in `row` beyond `needed`, and make absent fields None."""
        lines: list[str] = []
        for name, check in self.required:
            names[f"check_{name}"] = check
            blank = [f"    if row.{name}.isspace():", f"        {leave}"]
            lines += blank if check is is_blank else [f"    keys += check_{name}(row.{name})"]
        return lines + self.count_optional_keys(names)

    def check(self) -> Check:
        """Return the check of a nested object."""
        names: Names = {}
        body = self.count_keys(names, f"return {LEAVE}")
        check: Check = make_function(
            ["def function(row):", f"    keys = {self.needed}", *body, "    return keys"], names
        )
        return check


def _is_as_written(name: str) -> bool:
    """Return whether Python takes a name in generated code as it is, without normalizing it."""
    if name.isascii():
        return True
    from unicodedata import is_normalized

    return is_normalized("NFKC", name)


def make_function(lines: list[str], names: Names) -> Any:
    """Return a function generated for one type: one call per record instead of one per field."""
    exec("\n".join(lines), names)  # noqa: S102  # consists of identifiers and numbers, checked in `_struct`
    return names["function"]


class Compiler:
    """Translates schemas to msgspec types and checks."""

    def __init__(self, root: Schema) -> None:
        self._defs: dict[str, Schema] = root.get("$defs", {})

    def compile(self, schema: Schema) -> tuple[Type, Check | None]:
        """Return the type of a schema, and the check that its values still need (None: no check)."""
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
            raise NotFast
        result: tuple[Type, Check | None] = make(keywords)
        if keywords:
            raise NotFast
        return result

    def _optional(self, choices: list[Schema]) -> tuple[Type, Check | None]:
        if len(choices) != 2 or choices[1] != {"type": "null"}:
            raise NotFast
        inner, check = self.compile(choices[0])
        if check is None:
            return inner | None, None
        return inner | None, lambda value: 0 if value is None else check(value)

    def _null(self, keywords: Schema) -> tuple[Type, Check | None]:
        return None, None

    def _boolean(self, keywords: Schema) -> tuple[Type, Check | None]:
        if "const" in keywords:
            only = keywords.pop("const")
            return bool, lambda value: 0 if value is only else LEAVE
        return bool, None

    def _number(self, keywords: Schema) -> tuple[Type, Check | None]:
        return Annotated[float, Meta(**_bounds(keywords))], None

    def _integer(self, keywords: Schema) -> tuple[Type, Check | None]:
        if "enum" in keywords:
            return Literal[tuple(keywords.pop("enum"))], None
        bounds = _bounds(keywords)
        if not set(bounds) <= {"ge", "le"} or any(int(bound) != bound for bound in bounds.values()):
            raise NotFast
        return Annotated[int, Meta(ge=int(bounds.get("ge", -(2**63))), le=int(bounds.get("le", 2**63 - 1)))], None

    def _string(self, keywords: Schema) -> tuple[Type, Check | None]:
        if "enum" in keywords:
            return Literal[tuple(keywords.pop("enum"))], None
        if "const" in keywords:
            return Literal[(keywords.pop("const"),)], None
        pattern, banned = keywords.pop("pattern", None), keywords.pop("not", None)
        shortest, longest = keywords.pop("minLength", None), keywords.pop("maxLength", None)
        if pattern is None and banned is None:
            return Annotated[str, Meta(min_length=shortest, max_length=longest)], None
        if pattern == NON_BLANK and banned is None:
            return Annotated[str, Meta(min_length=max(shortest or 1, 1), max_length=longest)], is_blank
        if pattern is not None and not (pattern.startswith("^") and pattern.endswith("$")):
            raise NotFast
        unless = f"(?![\\s\\S]*(?:{banned['pattern']}))" if banned else ""
        body = "" if pattern is None else rf"(?:{pattern[1:-1]})\Z"
        return Annotated[str, Meta(pattern=rf"\A{unless}{body}", min_length=shortest, max_length=longest)], None

    def _array(self, keywords: Schema) -> tuple[Type, Check | None]:
        item, check = self.compile(keywords.pop("items", {}))
        limits = {"min_length": keywords.pop("minItems", None), "max_length": keywords.pop("maxItems", None)}
        list_type = Annotated[list[item], Meta(**limits)]  # type: ignore[valid-type]  # created at run time
        return list_type, None if check is None else lambda value: sum(map(check, value))

    def _object(self, keywords: Schema) -> tuple[Type, Check | None]:
        other = keywords.pop("additionalProperties", True)
        if "properties" not in keywords:
            if other is False:
                raise NotFast
            inner, check = self.compile({} if other is True else other)
            if other is not True and check is not None:
                raise NotFast
            return dict[str, inner], _count_keys if other is True else len  # type: ignore[valid-type]  # created at run time
        spec = self._struct(keywords.pop("properties"), set(keywords.pop("required", ())), closed=other is False)
        return spec.struct, spec.check()

    def object_specs(self, schema: Schema, raw_objects: bool = False) -> list[ObjectSpec]:
        """Return how to decode the objects of a schema: one for each variant."""
        keywords = {key: value for key, value in schema.items() if key not in _IGNORED}
        if "$ref" in keywords:
            return self.object_specs(self._defs[keywords["$ref"].rpartition("/")[2]], raw_objects)
        if "oneOf" in keywords:
            return [spec for variant in keywords["oneOf"] for spec in self.object_specs(variant, raw_objects)]
        if keywords.get("type") != "object" or not set(keywords) <= _OBJECT_KEYWORDS:
            raise NotFast
        closed = keywords.get("additionalProperties") is False
        return [self._struct(keywords.get("properties", {}), set(keywords.get("required", ())), closed, raw_objects)]

    def _struct(
        self, properties: dict[str, Schema], required: set[str], closed: bool, raw_objects: bool = False
    ) -> ObjectSpec:
        if not closed:
            raise NotFast
        needed: list[tuple[str, Type]] = []
        optional: list[tuple[str, Type, UnsetType]] = []
        readers: dict[str, object] = {}
        spec = ObjectSpec(Row, len(required), [], [])
        names = {key: "schema_" if key == "$schema" else key for key in properties}
        for key, name in names.items():
            if not name.isidentifier() or keyword.iskeyword(name) or not _is_as_written(name):
                raise NotFast
            inner, check = self.compile(properties[key])
            if raw_objects and inner in _ANY_OBJECT and _PREFIX + name not in properties:
                readers[name] = _reader(_PREFIX + name)
                names[key] = name = _PREFIX + name
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
            "Row", [*needed, *optional], bases=(RowWithRawObjects if readers else Row,), namespace=readers,
            forbid_unknown_fields=True, rename=rename or None, gc=False,
        )  # fmt: skip
        return spec._replace(struct=struct)


def is_blank(value: str) -> int:
    return LEAVE if value.isspace() else 0


def _bounds(keywords: Schema) -> Schema:
    names = {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"}
    return {short: keywords.pop(word) for word, short in names.items() if word in keywords}


# --- values of any type


@cache
def _anything(levels: int) -> Type:
    scalar = None | bool | float | str
    return scalar if levels == 0 else scalar | list[_anything(levels - 1)] | dict[str, _anything(levels - 1)]  # type: ignore[misc]


@cache
def _any_decoder() -> Callable[[msgspec.Raw], object]:
    return msgspec.json.Decoder(_anything(_ANY_LEVELS)).decode


_ANY_OBJECT: dict[Type, Type] = {
    dict[str, _anything(_ANY_LEVELS)]: Members,  # type: ignore[misc]  # created at run time
    dict[str, _anything(_ANY_LEVELS)] | None: Members | None,  # type: ignore[misc]  # created at run time
}
"""The types of objects with any content, and of the same objects if they are not decoded."""


def _count_keys(value: object) -> int:
    """Count the keys in any value, ignoring lists: objects in lists make the count too small, never too large."""
    if type(value) is not dict:
        return 0
    return len(value) + sum(map(_count_keys, value.values()))


def _count_raw_keys(members: Members | None) -> int:
    """Return the number of keys in an object whose members are not decoded."""
    if members is None:
        return 0
    keys = len(members)
    for raw in members.values():
        if not has_only_numbers(bytes(raw), _ANY_LEVELS):
            try:
                keys += _count_keys(_any_decoder()(raw))
            except NOT_JSON:
                return LEAVE
    return keys


_LONGEST_NUMBER = 299
"""Bytes. A number without exponent that is not finite has at least 309 digits."""
_SHORT_NUMBERS = re.compile(rb"(?s:(?:.{0,%d},)*+.{0,%d})" % (_LONGEST_NUMBER, _LONGEST_NUMBER)).fullmatch
"""Matches if there is a comma in each run of this many bytes. Fast: it looks only at the bytes before a comma."""
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]"))


def has_only_numbers(text: bytes, levels: int) -> bool:
    """Return whether a value certainly has only finite numbers, null and empty objects, within the allowed levels.

    The syntax must be right. Then there is neither a string nor a key without a quote, and all objects are empty.
    """
    if b'"' in text or b"e" in text or b"E" in text:
        return False
    lists = len(text) - len(text.replace(b"[", b""))  # faster than to count
    return (lists < levels or _depth_is_at_most(levels, text)) and _SHORT_NUMBERS(text) is not None


def _depth_is_at_most(levels: int, text: bytes) -> bool:
    """Return whether lists are not nested deeper than that, and there is no object."""
    if b"{" in text:
        return False
    brackets = text.translate(None, _NOT_BRACKETS)
    for _ in range(levels):
        brackets = brackets.replace(b"[]", b"")  # the innermost lists
    return not brackets
