"""Problems as plain values: what is wrong, where it is, how to fix it.

The reading and contract layers produce a `Finding` while they stream a file: a code, a message and a *reference*
to the place. A `Problem` (`medcontract.results.validation`) is a finding with line and column, which
`medcontract.reading.excerpts` computes. The list of codes is in `medcontract.catalog`.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Literal, NamedTuple

import msgspec

Severity = Literal["error", "warning"]
Token = str | int
Path = tuple[Token, ...]


NO_CARET = -1


class Ref(NamedTuple):
    """The position of one JSON value (a record, a header value, a document) in the bytes of the file."""

    offset: int
    length: int
    record: int | None = None
    prefix: Path = ()
    """The path of the value itself, such as ("responses", 3); pointers start with it."""
    line: int | None = None
    """The line where the record starts, for tables, whose values have no column; 0 for tables without lines."""


class Finding(NamedTuple):
    """A problem whose line and column are not computed yet."""

    code: str
    message: str
    hint: str | None = None
    severity: Severity = "error"
    path: Path = ()
    """The path from the value that `ref` points at to the wrong one."""
    ref: Ref | None = None
    at_key: bool = False
    """The finding is about the key at the end of `path`, not its value."""
    offset: int | None = None
    """The exact byte, where it is known (syntax errors). If given, `path` and `ref` are not used for the place."""
    value: str | None = None
    """The offending value, shortened. Shown on a terminal only."""
    field: str | None = None
    """The column name, for tables."""
    first: Ref | None = None
    """The earlier record that this one repeats."""
    name: str = ""
    """What to call the value or column that the message is about; the message continues it: `must be at most 1`."""
    expected: tuple[str, ...] = ()
    """The JSON types that the contract allows here, if the value has another one. Then there is no message."""
    got: str = ""
    """The JSON type of the value; `true`, `false` or `empty` where that says more."""
    merged: bool = False
    """The missing key is there under an unknown name, which is a finding of its own. For people, they are one."""
    renamed: str = ""
    """The field that the unknown key probably is."""
    unanswered: Literal["", "value", "record"] = ""
    """The value is null or an empty text: this one, or all in its record that are not ids."""

    @property
    def statement(self) -> str:
        """What is wrong, without the name of the value."""
        if not self.expected:
            return self.message
        wanted = " or ".join(map(in_words, self.expected))
        got = in_words(self.got)
        return f"must be {wanted}, not {got}" if self.name else f"expected {wanted}, got {got}"

    @property
    def text(self) -> str:
        """What is wrong, as a sentence."""
        return f"{self.name} {self.statement}" if self.name else self.statement


TYPES_IN_WORDS = {
    "string": "a string", "number": "a number", "integer": "an integer", "boolean": "true or false",
    "array": "a list", "object": "an object",
}  # fmt: skip


def in_words(json_type: str) -> str:
    """Return a JSON type, or what `Finding.got` may be instead, with an article where it needs one."""
    return TYPES_IN_WORDS.get(json_type, json_type)


def json_type(value: object) -> str:
    """Return the JSON type of a parsed value for `Finding.got`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    names: dict[type, str] = {
        str: "string", int: "number", float: "number", Decimal: "number", dict: "object", list: "array",
    }  # fmt: skip
    return names.get(type(value), "something else")


def value_name(path: Path) -> str:
    """Return what to call the value at a path: the nearest key, unless it may be data."""
    names = [token for token in path if isinstance(token, str)]
    if not names or not is_plain(names[-1]):
        return "this value" if path else "the value"
    return f"an item of '{names[-1]}'" if isinstance(path[-1], int) else f"'{names[-1]}'"


def shown_value(value: object) -> str | None:
    """Return the value for a terminal, as JSON; None for lists and objects."""
    return None if isinstance(value, dict | list) else json_text(value)


def json_text(value: object) -> str:
    """Return the value as JSON, shortened. (Integers without msgspec, which is limited to 64 bits.)"""
    return shorten(str(value).lower() if isinstance(value, int) else msgspec.json.encode(value).decode())


def pointer(path: Path, plain: bool = False) -> str:
    """Return the RFC 6901 pointer of a path. `plain`: with … in place of keys that may be data."""
    if plain:
        path = tuple(token if is_plain(token) else "…" for token in path)
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in path)


def pointer_tokens(text: str) -> list[str]:
    """Return the keys and indexes of an RFC 6901 pointer, as strings."""
    return [token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:]]


_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_-]{0,63}\Z")


def is_plain(token: Token) -> bool:
    """Return whether a key may be shown where values must not: it looks like an identifier, not like patient data."""
    return isinstance(token, int) or _PLAIN.match(token) is not None


def plain_name(name: str) -> str:
    """Return a name that comes from the data, such as of a metric, or … if it may be more than a name."""
    return name if is_plain(name) else "…"


_OF_NAMED_FILES = ("MC311", "MC312", "MC32")
"""Codes about a model or an image that a file refers to. All other 3xx codes compare records of two files."""


def is_cross_file(code: str) -> bool:
    """Return whether a code belongs to the range of rules across files: MC3xx, or 3xx with the prefix of a plugin."""
    return code[-3:-2] == "3"


def reveals_truth(code: str) -> bool:
    """Return whether the problem results from comparing files: participants must not see its details."""
    return is_cross_file(code) and not code.startswith(_OF_NAMED_FILES)


CODES_OF_MISSING_VALUES = {"MC302"}
"""Codes about a value that the file lacks: what is shown is that value. Plugins add codes of their rules."""


def empty_file(offset: int) -> Finding:
    """Return the finding about an empty file; the offset is that after a byte order mark."""
    return Finding("MC004", "the file is empty", "check that it was written completely", offset=offset)


def plural(count: int, word: str) -> str:
    """Return a count with its noun: 1 record, 1,000 records."""
    return f"{count:,} {word}{'s' * (count != 1)}"


def shorten(text: str, limit: int = 60) -> str:
    """Return the text on one line, shortened in the middle if it is long."""
    if len(text) <= limit and text.isprintable():
        return text
    flat = "".join(c if c.isprintable() else "·" for c in text[: 4 * limit])
    return flat if len(flat) <= limit else flat[: limit * 2 // 3] + "…" + flat[-limit // 4 :]


def printable(text: str) -> str:
    """Return the text as valid Unicode: bytes of a path that are not UTF-8 become replacement characters."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # a lone surrogate that is not from a file name
        return text.encode("utf-8", "replace").decode("utf-8")
