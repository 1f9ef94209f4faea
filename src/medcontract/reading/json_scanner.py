"""A tolerant JSON parser for text that the fast one rejected: it reports exactly what is wrong, and where.

There are two kinds of errors. *Faults* (a repeated key, NaN, a number that is too large, a lone surrogate) affect
one value: they are collected and parsing continues. Syntax errors (`Broken`) end it.
Offsets are in bytes from the start of the given text.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import Path, Token
from medcontract.reading.diagnosis import (
    WORD,
    after_end,
    bad_string,
    no_colon,
    no_comma,
    no_key,
    no_value,
    not_utf8,
    trailing_comma,
)
from medcontract.reading.limits import MAX_DEPTH
from medcontract.reading.located_records import Broken
from medcontract.types import JsonObject


class Fault(NamedTuple):
    """An error in one value; the text around it can still be parsed."""

    code: str
    message: str
    hint: str | None
    path: Path
    offset: int
    at_key: bool = False


class Scanned(NamedTuple):
    value: Any
    end: int
    faults: list[Fault]
    """The first `MOST_FAULTS`."""
    rest: dict[Fault, int]
    """How many more there are of each kind of fault: indexes in the path are stars, and there is no place."""


MOST_FAULTS = 10_000
"""Faults, and kinds of others, that are kept per text: millions would take far more memory than the record."""


_SPACE = re.compile(rb"[ \t\n\r]*+")
_STRING = re.compile(rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?(?![0-9A-Za-z_.+-])")
_SURROGATE = lazy_pattern("[\ud800-\udfff]")
_TOKEN = lazy_pattern(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\]]', re.DOTALL)
_WORDS: dict[bytes, Any] = {b"true": True, b"false": False, b"null": None}
_NOT_FINITE = (b"NaN", b"Infinity", b"-Infinity")


def scan(data: bytes, start: int = 0, depth: int = 0, whole: bool = True) -> Scanned:
    """Parse the JSON value at `start`; with `whole`, only whitespace may follow it.

    `depth` is the number of levels that already enclose the value.
    """
    try:
        data[start:].decode() if start else data.decode()
    except UnicodeDecodeError as error:
        bad = start + error.start
        try:
            scanned = _Scanner(data[:bad], depth).run(start)
        except Broken as broken:
            if broken.offset < bad:
                raise
        else:
            _end_of_text(data[:bad], scanned.end, whole)
        raise not_utf8(data, bad) from None
    scanned = _Scanner(data, depth).run(start)
    _end_of_text(data, scanned.end, whole)
    return scanned


def _end_of_text(data: bytes, end: int, whole: bool) -> None:
    if not whole:
        return
    rest = skip_space(data, end)
    if rest < len(data):
        raise after_end(data, rest)


def skip_space(data: bytes, offset: int) -> int:
    return _SPACE.match(data, offset).end()  # type: ignore[union-attr]  # the pattern matches anything


def read_string(data: bytes, offset: int) -> tuple[str, int]:
    """Return the string that opens at `offset`, and its end. May contain lone surrogates."""
    match = _STRING.match(data, offset)
    if match is None:
        raise bad_string(data, offset)
    raw = match.group()
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(data, offset + error.start) from None
    return (json.loads(text) if "\\" in text else text[1:-1]), match.end()


class _Scanner:
    """One pass over one value, with a stack of open containers instead of recursion."""

    def __init__(self, data: bytes, depth: int = 0) -> None:
        self.data = data
        self.depth = depth
        self.faults: list[Fault] = []
        self.rest: dict[Fault, int] = {}
        self.path: list[Token] = []

    def run(self, start: int) -> Scanned:
        data = self.data
        stack: list[Any] = []
        position = skip_space(data, start)
        while True:
            char = data[position : position + 1]
            if char in (b"{", b"[") and char:
                if self.depth + len(stack) >= MAX_DEPTH:
                    value, position = None, self._too_deep(position)
                else:
                    container: Any = {} if char == b"{" else []
                    after = skip_space(data, position + 1)
                    if data[after : after + 1] == (b"}" if char == b"{" else b"]"):
                        value, position = container, after + 1
                    else:
                        stack.append(container)
                        position = self._open(container, after)
                        continue
            else:
                value, position = self._scalar(position)
            while True:  # a value is complete: add it to its container, close containers that end
                if not stack:
                    return Scanned(value, position, self.faults, self.rest)
                container = stack[-1]
                if type(container) is dict:
                    container[self.path.pop()] = value
                else:
                    self.path.pop()
                    container.append(value)
                position = skip_space(data, position)
                char = data[position : position + 1]
                closing = b"}" if type(container) is dict else b"]"
                if char == b",":
                    position = self._after_comma(container, skip_space(data, position + 1))
                    break
                if char != closing:
                    raise no_comma(data, position, closing)
                value, position = stack.pop(), position + 1

    def _open(self, container: Any, position: int) -> int:
        """Step to the first value of a container that is not empty."""
        if type(container) is dict:
            return self._key(container, position)
        self.path.append(0)
        return position

    def _after_comma(self, container: Any, position: int) -> int:
        char = self.data[position : position + 1]
        if char in (b"}", b"]") and char:
            raise trailing_comma(self.data, position)
        if type(container) is dict:
            return self._key(container, position)
        self.path.append(len(container))
        return position

    def _key(self, container: JsonObject, position: int) -> int:
        data = self.data
        if data[position : position + 1] != b'"':
            raise no_key(data, position)
        key, after = read_string(data, position)
        if has_surrogate(key):
            self._fault("MC018", "a key with a lone surrogate", _SURROGATE_HINT, position, at_key=True)
            key = without_surrogates(key)
        if key in container:
            path = (*self.path, key)
            self._fault("MC015", "this key is repeated", "keep one of them", position, path, at_key=True)
        colon = skip_space(data, after)
        if data[colon : colon + 1] != b":":
            raise no_colon(data, colon)
        self.path.append(key)
        return skip_space(data, colon + 1)

    def _fault(
        self, code: str, message: str, hint: str | None, offset: int, path: Path | None = None, at_key: bool = False
    ) -> None:
        """Keep a fault, by default at the current path; beyond a limit count it."""
        path = tuple(self.path) if path is None else path
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(Fault(code, message, hint, path, offset, at_key))
            return
        kind = Fault(code, message, hint, tuple("*" if type(token) is int else token for token in path), 0, at_key)
        if kind not in self.rest and len(self.rest) >= MOST_FAULTS:
            kind = kind._replace(path=())  # too many kinds to distinguish
        self.rest[kind] = self.rest.get(kind, 0) + 1

    def _scalar(self, position: int) -> tuple[Any, int]:
        data = self.data
        char = data[position : position + 1]
        if char == b'"':
            text, end = read_string(data, position)
            if has_surrogate(text):
                self._fault("MC018", "a lone surrogate", _SURROGATE_HINT, position)
                text = without_surrogates(text)
            return text, end
        number = _NUMBER.match(data, position)
        if number:
            return self._number(number, position), number.end()
        word = WORD.match(data, position)
        if word:
            if word.group() in _WORDS:
                return _WORDS[word.group()], word.end()
            if word.group() in _NOT_FINITE:
                self._fault("MC016", "not a finite number", "write a number, or null where that is allowed", position)
                return 0.0, word.end()
        raise no_value(data, position, is_first=not self.path)

    def _number(self, match: re.Match[bytes], position: int) -> float | int:
        text = match.group()
        number = float(text)
        if number in (float("inf"), float("-inf")):
            self._fault("MC017", "a number too large for a double", "the limit is about 1.8e308", position)
            return 0.0
        return number if match.group(1) or match.group(2) else int(text)

    def _too_deep(self, position: int) -> int:
        self._fault("MC019", f"nested deeper than {MAX_DEPTH} levels", "flatten the structure", position, ())
        end = skip_container(self.data, position)
        if end is None:
            raise Broken("MC019", position, f"nested deeper than {MAX_DEPTH} levels", "flatten the structure")
        return end


def has_surrogate(text: str) -> bool:
    return _SURROGATE.search(text) is not None


def surrogate_in_key(path: Path, position: int) -> Fault:
    """Return the fault for a key with a lone surrogate, in the object at `path`."""
    return Fault("MC018", "a key with a lone surrogate", _SURROGATE_HINT, path, position, at_key=True)


def without_surrogates(text: str) -> str:
    """Return the text as valid Unicode: lone surrogates become replacement characters."""
    return _SURROGATE.sub("\ufffd", text)


_SURROGATE_HINT = "write the complete surrogate pair, or the character itself in UTF-8"


def skip_container(data: bytes, offset: int) -> int | None:
    """Find the end of the object or list that opens at `offset`, or None. Brackets are counted, not matched by kind."""
    depth = 0
    for match in _TOKEN.finditer(data, offset):
        token = match.group()
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
            if depth == 0:
                return match.end()
        elif token == b'"':
            return None
    return None


# --- places -----------------------------------------------------------------------------------------------------------

_SCALAR = re.compile(rb"[^ \t\n\r,:\]}]*+")

Members = dict[Token, tuple[int, int]]
"""The offsets of the key (for a list item: of the item) and value of each member."""


class Locator:
    """Finds values by path in a text that is known to be JSON. Fastest for paths in file order."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._entered: list[_Container] = []

    def find(self, path: Path) -> tuple[int, int]:
        """Find the offsets of the value at `path` and of its key or, if there is none, of the longest existing part."""
        position = key_at = skip_space(self._raw, 0)
        for depth, token in enumerate(path):
            found = self._enter(depth, position).find(token)
            if found is None:
                break
            key_at, position = found
        return position, key_at

    def _enter(self, depth: int, position: int) -> _Container:
        if depth < len(self._entered) and self._entered[depth].start == position:
            return self._entered[depth]
        del self._entered[depth:]
        self._entered.append(_Container(self._raw, position))
        return self._entered[depth]


class _Container:
    """An object or a list, scanned as far as needed; a list remembers only its last item."""

    def __init__(self, raw: bytes, start: int) -> None:
        self.start = start
        self._raw = raw
        self._is_list = raw[start : start + 1] == b"["
        self._item, self._at = 0, skip_space(raw, start + 1)
        self._members = {} if self._is_list else _members(raw, start)

    def find(self, token: Token) -> tuple[int, int] | None:
        """Return the offsets of a member's key (for a list item: of the item) and value."""
        if not self._is_list or isinstance(token, str):
            return self._members.get(token)
        if token < self._item:
            self._item, self._at = 0, skip_space(self._raw, self.start + 1)
        while self._at < len(self._raw) and self._raw[self._at : self._at + 1] != b"]":
            if self._item == token:
                return self._at, self._at
            self._at = _next(self._raw, self._at)
            self._item += 1
        return None


def _members(raw: bytes, position: int) -> Members:
    """Return the members of the object that opens here. The last of repeated keys wins, as in the value."""
    members: Members = {}
    if raw[position : position + 1] != b"{":
        return members
    position = skip_space(raw, position + 1)
    while raw[position : position + 1] == b'"':
        key_at = position
        key, position = read_string(raw, position)
        position = skip_space(raw, skip_space(raw, position) + 1)
        members[without_surrogates(key)] = key_at, position
        position = _next(raw, position)
    return members


def _next(raw: bytes, position: int) -> int:
    """Return the offset after the value that starts here and the comma that follows it."""
    char = raw[position : position + 1]
    if char == b'"':
        position = read_string(raw, position)[1]
    elif char in (b"{", b"["):
        position = skip_container(raw, position) or len(raw)
    else:
        position = _SCALAR.match(raw, position).end()  # type: ignore[union-attr]  # the pattern matches anything
    position = skip_space(raw, position)
    return skip_space(raw, position + 1) if raw[position : position + 1] == b"," else position


def find(raw: bytes, path: Path) -> tuple[int, int]:
    """Return the offsets of one value and of its key."""
    return Locator(raw).find(path)
