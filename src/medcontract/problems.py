"""Problems as plain values: what is wrong, where it is, how to fix it.

The reading and contract layers produce a `Finding` while they stream a file: a code, a message and a *reference*
to the place. A `Problem` (`medcontract.results.validation`) is a finding with line and column, which
`medcontract.reading.line_index` computes. The list of codes is in `medcontract.catalog`.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

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


def pointer(path: Path, plain: bool = False) -> str:
    """The RFC 6901 pointer of a path. `plain`: with … in place of keys that may be data."""
    if plain:
        path = tuple(token if is_plain(token) else "…" for token in path)
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in path)


_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_-]{0,63}\Z")


def is_plain(token: Token) -> bool:
    """Whether a key may be shown where values must not: it looks like an identifier, not like patient data."""
    return isinstance(token, int) or _PLAIN.match(token) is not None


def plain_name(name: str) -> str:
    """A name that comes from the data, such as that of a metric, or … if it may be more than a name."""
    return name if is_plain(name) else "…"


_OF_NAMED_FILES = ("MC311", "MC312", "MC32")
"""Codes about a model or an image that a file refers to. All other 3xx codes compare records of two files."""


def is_cross_file(code: str) -> bool:
    """Whether a code belongs to the range of rules across files: MC3xx, or 3xx with the prefix of a plugin."""
    return code[-3:-2] == "3"


def reveals_truth(code: str) -> bool:
    """Whether the problem results from comparing files, so that its details must not be shown to participants."""
    return is_cross_file(code) and not code.startswith(_OF_NAMED_FILES)


def empty_file(offset: int) -> Finding:
    """The finding about an empty file; the offset is that after a byte order mark."""
    return Finding("MC004", "the file is empty", "check that it was written completely", offset=offset)


def plural(count: int, word: str) -> str:
    """A count with its noun: 1 record, 1,000 records."""
    return f"{count:,} {word}{'s' * (count != 1)}"


def shorten(text: str, limit: int = 60) -> str:
    """The text on one line, shortened in the middle if it is long."""
    if len(text) <= limit and text.isprintable():
        return text
    flat = "".join(c if c.isprintable() else "·" for c in text[: 4 * limit])
    return flat if len(flat) <= limit else flat[: limit * 2 // 3] + "…" + flat[-limit // 4 :]
