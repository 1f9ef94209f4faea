"""Reads a TOML file: its values, and where each key is."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from medcontract.problems import Finding, Path, empty_file
from medcontract.reading.source import Source, Unreadable
from medcontract.types import JsonObject

LARGEST = 1 << 20
"""The maximum size of a file in bytes. Parsing can take quadratic time."""
_MOST_PARTS = 16
"""The maximum number of parts of a dotted key: tomllib needs quadratic time for long ones."""
_TOKENS = re.compile(r"""[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*'|\.|[ \t]+|[^A-Za-z0-9_\-"'. \t]+|["']""")
_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_TOKEN = re.compile(
    r"""[ \t\r]+|\#[^\n]*                                 # between tokens
    |(?P<string>\"{3}(?:[^\\"]|\\.|"(?!""))*+\"{3,5}|\'{3}(?:[^']|'(?!''))*+\'{3,5}|"(?:[^\\"]|\\.)*+"|'[^']*')
    |(?P<mark>[\[\]{},=.\n])|(?P<word>[^\s\[\]{},=.\#"']+)""",
    re.DOTALL | re.VERBOSE,
)


class TomlFile(NamedTuple):
    """The content of a TOML file. Numbers are decimals, as written."""

    values: JsonObject
    text: str
    start: int
    """The offset of the text in the file: after a byte order mark."""
    places: dict[Path, int]
    """Where each key is in the text."""

    def offset(self, path: Path) -> int | None:
        """Return the byte offset of a key, or of the innermost object around it."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.places:
                return self.start + len(self.text[: self.places[path[:length]]].encode())
        return None


def read(source: Source) -> TomlFile | Finding:
    """Read a prepared source. Returns a finding if it is not valid TOML. Raises `Unreadable`."""
    with source.open() as stream:
        stream.seek(source.start)
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise Unreadable(Finding("MC020", "the file is larger than 1 MB", "is this the right file?"))
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        return Finding("MC007", "invalid UTF-8", "save the file as UTF-8", offset=source.start + error.start)
    if not text.strip():
        return empty_file(source.start)
    deep = _deep_key(text)
    if deep is not None:
        return Finding("MC019", "a dotted key has too many parts", offset=source.start + len(text[:deep].encode()))
    try:
        values = tomllib.loads(text, parse_float=_decimal)
    except RecursionError:
        return Finding("MC019", "nested too deeply", "a challenge file has at most four levels")
    except ValueError as error:  # a syntax error, or an integer with thousands of digits
        return _syntax_error(error, text, source.start)
    return TomlFile(values, text, source.start, _places(text))


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent with more than 18 digits
        return Decimal("NaN")


def _deep_key(text: str) -> int | None:
    """Return where a dotted key with too many parts starts."""
    start, parts = 0, 0
    after_dot = False
    for token in _TOKENS.finditer(text):
        word = token.group()
        if word == ".":
            after_dot = True
        elif not word.isspace() or "\n" in word:
            if not after_dot:
                start, parts = token.start(), 0
            after_dot = False
            parts += 1
            if parts > _MOST_PARTS:
                return start
    return None


def _syntax_error(error: ValueError, text: str, start: int) -> Finding:
    message = str(error)
    match = _AT.search(message)
    if match is None:
        return Finding("MC035", "TOML syntax error: a number has too many digits")
    offset = len(text)
    if match.group(1):
        lines = text.replace("\r\n", " \n").split("\n")  # tomllib counts a line break as one character
        line = int(match.group(1)) - 1
        offset = sum(len(each) + 1 for each in lines[:line]) + int(match.group(2)) - 1
    what = message[: match.start()]
    return Finding(
        "MC035", f"TOML syntax error: {what[:1].lower()}{what[1:]}", "see https://toml.io",
        offset=start + len(text[:offset].encode()),
    )  # fmt: skip


def _places(text: str) -> dict[Path, int]:
    """Return the place of each key in valid TOML."""
    scanner = _KeyFinder(text)
    with suppress(StopIteration, RecursionError):  # the remaining keys have no place
        scanner.run()
    return scanner.places


class _KeyFinder:
    """Walks over valid TOML, token by token, and notes where the keys are."""

    def __init__(self, text: str) -> None:
        self.places: dict[Path, int] = {}
        self.lengths: dict[Path, int] = {}
        """The number of tables in each array of tables."""
        self._matches = (match for match in _TOKEN.finditer(text) if match.lastgroup)
        self.text, self.kind, self.at = "", "", 0

    def _next(self) -> None:
        match = next(self._matches)
        self.text, self.kind, self.at = match.group(), match.lastgroup or "", match.start()

    def run(self) -> None:
        table: Path = ()
        self._next()
        while True:
            if self.text == "\n":
                self._next()
            elif self.text == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Path:
        start = self.at
        self._next()
        is_array = self.text == "["
        if is_array:
            self._next()
        *outer, last = self._key()
        path: Path = ()
        for part in outer:
            path = self._inside((*path, part))
        path = (*path, last) if is_array else self._inside((*path, last))
        if is_array:
            self.lengths[path] = self.lengths.get(path, 0) + 1
            self.places.setdefault(path, start)
            path = (*path, self.lengths[path] - 1)
        self.places.setdefault(path, start)
        while self.text == "]":
            self._next()
        return path

    def _inside(self, path: Path) -> Path:
        """Return the path; in an array of tables, the path of its last table."""
        return (*path, self.lengths[path] - 1) if path in self.lengths else path

    def _key(self) -> list[str]:
        parts = []
        while True:
            parts.append(self.text[1:-1] if self.kind == "string" else self.text)
            self._next()
            if self.text != ".":
                return parts
            self._next()

    def _pair(self, path: Path) -> None:
        start = self.at
        for part in self._key():
            path = (*path, part)
            self.places.setdefault(path, start)
        self._next()  # =
        self._value(path)

    def _value(self, path: Path) -> None:
        if self.text not in ("[", "{"):
            while self.kind != "mark" or self.text == ".":
                self._next()
            return
        index, is_array = 0, self.text == "["
        self._next()
        while self.text not in ("]", "}"):
            if self.text in (",", "\n"):
                self._next()
            elif is_array:
                self.places.setdefault((*path, index), self.at)
                self._value((*path, index))
                index += 1
            else:
                self._pair(path)
        self._next()
