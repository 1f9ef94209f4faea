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
from medcontract.reading.diagnosis import FENCE, FENCE_MESSAGE, ONLY_JSON, after_json_hint, not_utf8_hint
from medcontract.reading.limits import MAX_DEPTH


class Fault(NamedTuple):
    """An error in one value; the text around it can still be parsed."""

    code: str
    message: str
    hint: str | None
    path: Path
    offset: int
    at_key: bool = False


class Broken(Exception):
    """A syntax error."""

    def __init__(self, code: str, offset: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code, self.offset, self.message, self.hint = code, offset, message, hint


class Scanned(NamedTuple):
    value: Any
    end: int
    faults: list[Fault]
    """The first `MOST_FAULTS`, and after these the first of each kind."""
    rest: dict[Fault, int]
    """How many more there are of each kind of fault: indexes in the path are stars, and there is no place."""


MOST_FAULTS = 10_000
"""Faults that are kept per text: millions of them would take far more memory than the record."""
_MOST_LATE = 3
"""Faults of each kind that are kept beyond that number."""


_SPACE = re.compile(rb"[ \t\n\r]*+")
_STRING = re.compile(rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"')
_STRING_START = lazy_pattern(rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?(?![0-9A-Za-z_.+-])")
_WORD = re.compile(rb"-?[A-Za-z_$][A-Za-z0-9_$]*+")
_SURROGATE = lazy_pattern("[\ud800-\udfff]")
_TOKEN = lazy_pattern(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\]]', re.DOTALL)
_CUT_OFF = lazy_pattern(
    rb"-?(?:0|[1-9][0-9]*)?(?:\.[0-9]*)?(?:[eE][+-]?)?|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|N(?:a)?|-?I(?:n(?:f(?:i(?:n(?:it?)?)?)?)?)?"
)

_CUT_HINT = "the file may be truncated; check that it was written completely"
_WORDS: dict[bytes, Any] = {b"true": True, b"false": False, b"null": None}
_NOT_FINITE = (b"NaN", b"Infinity", b"-Infinity")
_QUOTES = (b"`", "\u2018".encode(), "\u2019".encode(), "\u201c".encode(), "\u201d".encode())
_BOM = "\ufeff".encode()
_FROM_PYTHON = "if it is Python data, write it with json.dump(data, file), not with str(data)"
_WORD_HINTS = {
    b"True": f"write true; {_FROM_PYTHON}", b"False": f"write false; {_FROM_PYTHON}",
    b"None": f"write null; {_FROM_PYTHON}", b"undefined": "write null",
    b"nan": "omit the value, or write null where that is allowed", b"inf": "write a finite number",
}  # fmt: skip


def scan(data: bytes, start: int = 0, depth: int = 0, whole: bool = True) -> Scanned:
    """Parse the JSON value at `start`; with `whole`, only whitespace may follow it.

    `depth` is the number of levels that already enclose the value.
    """
    try:
        data[start:].decode() if start else data.decode()
    except UnicodeDecodeError as error:
        bad = start + error.start
        try:
            scanned = Scanner(data[:bad], depth).run(start)
        except Broken as broken:
            if broken.offset < bad:
                raise
        else:
            _end_of_text(data[:bad], scanned.end, whole)
        raise not_utf8(data, bad) from None
    scanned = Scanner(data, depth).run(start)
    _end_of_text(data, scanned.end, whole)
    return scanned


def _end_of_text(data: bytes, end: int, whole: bool) -> None:
    if not whole:
        return
    rest = skip_space(data, end)
    if rest < len(data):
        raise after_end(data, rest)


def after_end(data: bytes, offset: int) -> Broken:
    """The syntax error for text after the end of a JSON value."""
    first = data[offset : offset + 1]
    if first == b"\0":
        return Broken("MC008", offset, "a NUL byte", "remove it; the file may be damaged or binary")
    if first in (b"/", b"#"):
        return _comment(offset)
    if data.startswith(_BOM, offset):
        return _late_mark("MC014", offset)
    if first >= b"\x80" and _is_not_utf8(data[offset : offset + 4]):
        return not_utf8(data, offset)
    if first in (b"}", b"]"):
        hint: str | None = "remove the extra closing bracket"
    elif first in (b"{", b"["):
        hint = _SEVERAL_LINES if _one_per_line(data, offset) else _SEVERAL
    elif first == b",":
        hint = "remove the comma"
    else:
        hint = after_json_hint(data[offset : offset + 16])
    return Broken("MC014", offset, "text after the end of the JSON value", hint)


_SEVERAL = (
    "keep one JSON value; for several records, write one per line and name the file .jsonl, or put them into a list"
)
_SEVERAL_LINES = "each line is a JSON value of its own: name the file .jsonl, or put the values into a list"


def _one_per_line(data: bytes, offset: int) -> bool:
    """Whether the values before and after an offset, the start of a value, are on one line each."""
    before = data[:offset].rstrip(b"\r\n")
    if before == data[:offset]:
        return False
    line = before[max(before.rfind(b"\n"), before.rfind(b"\r")) + 1 :].strip()
    after = data[offset : offset + _LONGEST_LINE].splitlines()[0].rstrip()
    return line.startswith((b"{", b"[")) and line.endswith((b"}", b"]")) and after.endswith((b"}", b"]"))


_LONGEST_LINE = 1 << 16


def _is_not_utf8(data: bytes) -> bool:
    """Whether the first character of the text is not valid UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start == 0
    return False


def not_utf8(data: bytes, offset: int) -> Broken:
    """The error about the invalid byte at an offset in the data."""
    return Broken("MC007", offset, "this byte is not valid UTF-8", not_utf8_hint(data, offset))


def _comment(offset: int) -> Broken:
    return Broken("MC013", offset, "JSON does not allow comments", "remove all comments")


LATE_MARK_HINT = "remove it: it is only allowed at the start of a file; were files concatenated?"


def _late_mark(code: str, offset: int) -> Broken:
    return Broken(code, offset, "a byte order mark (U+FEFF) in the middle of the file", LATE_MARK_HINT)


def skip_space(data: bytes, offset: int) -> int:
    return _SPACE.match(data, offset).end()  # type: ignore[union-attr]  # the pattern matches anything


def read_string(data: bytes, offset: int) -> tuple[str, int]:
    """The string that opens at `offset`, and its end. May contain lone surrogates."""
    match = _STRING.match(data, offset)
    if match is None:
        raise _bad_string(data, offset)
    raw = match.group()
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise not_utf8(data, offset + error.start) from None
    return (json.loads(text) if "\\" in text else text[1:-1]), match.end()


def _bad_string(data: bytes, offset: int) -> Broken:
    stop = _STRING_START.match(data, offset).end()  # type: ignore[union-attr]  # there is a quote at offset
    if stop >= len(data):
        return _truncated(data, "inside a string")
    char = data[stop]
    if char == 0:
        return Broken("MC008", stop, "a NUL byte in a string", "remove it; the file may be damaged or binary")
    if char == 0x5C:
        if len(data) - stop < 6 and re.fullmatch(rb"\\(?:u[0-9a-fA-F]*)?", data[stop:]):
            return _truncated(data, "inside a string")
        return Broken("MC021", stop, "an invalid escape", r"write \\ for a backslash")
    name, hint = {
        0x09: ("a tab", r"write \t"),
        0x0A: ("a line break", r"close the string, or write \n for a line break in it"),
        0x0D: ("a line break", r"close the string, or write \n for a line break in it"),
    }.get(char, (f"the control character U+{char:04X}", f"remove it or write \\u{char:04x}"))
    return Broken("MC021", stop, f"{name} in a string", hint)


def _truncated(data: bytes, where: str) -> Broken:
    return Broken("MC011", len(data), f"the text ends {where}", _CUT_HINT)


class Scanner:
    """One pass over one value, with a stack of open containers instead of recursion."""

    def __init__(self, data: bytes, depth: int = 0) -> None:
        self.data = data
        self.depth = depth
        self.faults: list[Fault] = []
        self.rest: dict[Fault, int] = {}
        self._late: dict[Fault, int] = {}
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
                    raise self.no_comma(position, closing)
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
            raise Broken("MC012", position, "a comma before the closing bracket", "remove the comma")
        if type(container) is dict:
            return self._key(container, position)
        self.path.append(len(container))
        return position

    def _key(self, container: dict[str, Any], position: int) -> int:
        data = self.data
        if data[position : position + 1] != b'"':
            raise self.no_key(position)
        key, after = read_string(data, position)
        if has_surrogate(key):
            self._fault("MC018", "a key with a lone surrogate", _SURROGATE_HINT, position, at_key=True)
            key = without_surrogates(key)
        if key in container:
            path = (*self.path, key)
            self._fault("MC015", "this key is repeated", "keep one of them", position, path, at_key=True)
        colon = skip_space(data, after)
        if data[colon : colon + 1] != b":":
            raise self.no_colon(colon)
        self.path.append(key)
        return skip_space(data, colon + 1)

    def _fault(
        self, code: str, message: str, hint: str | None, offset: int, path: Path | None = None, at_key: bool = False
    ) -> None:
        """Keep a fault, by default at the current path; beyond a limit keep one of each kind, and count the rest."""
        if path is None:
            path = tuple(self.path)
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(Fault(code, message, hint, path, offset, at_key))
            return
        sort = Fault(code, message, hint, tuple("*" if type(token) is int else token for token in path), 0, at_key)
        late = self._late.get(sort, 0)
        if late < _MOST_LATE and len(self._late) < MOST_FAULTS:
            self._late[sort] = late + 1
            self.faults.append(Fault(code, message, hint, path, offset, at_key))
            return
        if sort not in self._late:
            sort = sort._replace(path=())  # too many kinds to distinguish
        self.rest[sort] = self.rest.get(sort, 0) + 1

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
        word = _WORD.match(data, position)
        if word:
            if word.group() in _WORDS:
                return _WORDS[word.group()], word.end()
            if word.group() in _NOT_FINITE:
                self._fault("MC016", "not a finite number", "write a number, or null where that is allowed", position)
                return 0.0, word.end()
        raise self.no_value(position)

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

    def no_value(self, position: int) -> Broken:
        data = self.data
        if position >= len(data):
            return _truncated(data, "where a value is expected" if self.path else "before the first value")
        char = data[position : position + 1]
        if char in (b"}", b"]", b",", b":"):
            return Broken("MC010", position, f"a value is missing before '{char.decode()}'")
        return self.unexpected(position, "expected a value")

    def no_key(self, position: int) -> Broken:
        if position >= len(self.data):
            return _truncated(self.data, "where a key is expected")
        hint = None
        if re.search(rb"[0-9],\Z", self.data[:position][-2:]) and self.data[position : position + 1].isdigit():
            hint = "write decimal numbers with a dot, not a comma"
        return self.unexpected(position, "expected a key in double quotes", hint=hint)

    def no_colon(self, position: int) -> Broken:
        if position >= len(self.data):
            return _truncated(self.data, "after a key")
        return self.unexpected(position, "expected ':' after the key", word_code="MC010")

    def no_comma(self, position: int, closing: bytes) -> Broken:
        data = self.data
        if position >= len(data):
            return _truncated(data, f"before the closing '{closing.decode()}'")
        char = data[position : position + 1]
        if char in (b"}", b"]"):
            return Broken("MC010", position, f"expected '{closing.decode()}', got '{char.decode()}'")
        what = "expected ',' or the end, got ':'" if char == b":" else "expected ','"
        return self.unexpected(position, what, word_code="MC010")

    def unexpected(self, position: int, expected: str, word_code: str = "MC023", hint: str | None = None) -> Broken:
        """The most specific error for an unexpected character."""
        rest = self.data[position : position + 32]
        never_right = self._wrong_anywhere(position, rest)
        if never_right:
            return never_right
        if re.match(rb"[-+]?\.?[0-9]|[-+]\.?", rest):
            if word_code == "MC010" or "key" in expected:
                return Broken("MC010", position, expected, hint)
            return Broken(
                "MC022",
                position,
                "not a JSON number",
                "omit leading zeros and '+', and write digits on both sides of the dot",
            )
        word = _WORD.match(rest)
        if word and word_code != "MC010":
            hint = _WORD_HINTS.get(word.group())
            if "key" in expected:
                hint = "put the key in double quotes"
            return Broken("MC023", position, expected + ", got a bare word", hint)
        if rest[:1] >= b"\x80" and _is_not_utf8(rest):
            return not_utf8(self.data, position)
        if rest.startswith(b"\xc2\xa0"):
            return Broken("MC010", position, expected, "replace the no-break space (U+00A0) by a plain space")
        return Broken("MC010", position, expected)

    def _wrong_anywhere(self, position: int, rest: bytes) -> Broken | None:
        """The error for text that is never valid JSON."""
        if _CUT_OFF.fullmatch(self.data, position):
            return _truncated(self.data, "inside a value")
        if rest[:1] == b"\0":
            return Broken("MC008", position, "a NUL byte", "remove it; the file may be damaged or binary")
        if rest[:2] in (b"//", b"/*") or rest[:1] == b"#":
            return _comment(position)
        if rest.startswith(_BOM):
            return _late_mark("MC010", position)
        if rest.startswith(FENCE):
            return Broken("MC010", position, FENCE_MESSAGE, ONLY_JSON)
        if rest.startswith(b"'"):
            return Broken("MC023", position, "JSON strings need double quotes", f'write "…"; {_FROM_PYTHON}')
        if rest.startswith(_QUOTES):
            return Broken("MC023", position, "JSON strings need double quotes", 'write "…" with straight quotes')
        return None


def has_surrogate(text: str) -> bool:
    return _SURROGATE.search(text) is not None


def surrogate_in_key(path: Path, position: int) -> Fault:
    """The fault for a key with a lone surrogate, in the object at `path`."""
    return Fault("MC018", "a key with a lone surrogate", _SURROGATE_HINT, path, position, at_key=True)


def without_surrogates(text: str) -> str:
    """The text as valid Unicode: lone surrogates become replacement characters."""
    return _SURROGATE.sub("\ufffd", text)


_SURROGATE_HINT = "write the complete surrogate pair, or the character itself in UTF-8"


def skip_container(data: bytes, offset: int) -> int | None:
    """The end of the object or list that opens at `offset`, or None. Brackets are counted, not matched by kind."""
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
