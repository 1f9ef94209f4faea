"""A `.json` file as a header and a stream of records, never completely in memory.

The file is one object. All members except the list of records are small and kept; the records are cut out one by one.
The end of a record is guessed first: two records show what separates them (`}, {"case_id"`), and the next such
separator is very likely the next border. The guess is right if and only if the bytes up to it are a complete JSON
value, which decoding proves anyway; if it is wrong, brackets are counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import msgspec

from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import Ref, empty_file
from medcontract.reading.diagnosis import (
    MOST_BYTES,
    after_end,
    before_json,
    first_error,
    no_colon,
    no_comma,
    no_key,
    no_value,
    trailing_comma,
)
from medcontract.reading.json_scanner import read_string, scan
from medcontract.reading.limits import BLOCK, MAX_DOCUMENT, MAX_MEMBERS
from medcontract.reading.located_records import Broken, Decode, LocatedRecord, TooLarge
from medcontract.reading.source import Source
from medcontract.types import Outline

Decided = TypeVar("Decided")


class Member(NamedTuple):
    """A header field of the file."""

    key: str
    key_offset: int
    raw: bytes
    offset: int
    raw_key: bytes = b""
    """The key as in the file, with its quotes."""


_decode = msgspec.json.Decoder().decode
_decode_key = msgspec.json.Decoder(str).decode
_pass = msgspec.json.Decoder(msgspec.Raw).decode
_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'


def _nested(levels: int, opening: bytes = rb"\{", closing: bytes = rb"\}") -> bytes:
    """Return the pattern of an object or a list with limited nesting of its brackets; others are ignored."""
    plain = rb'[^"' + opening + closing + rb"]*+"
    inside = _STRING if levels == 1 else rb"(?:" + _STRING + rb"|" + _nested(levels - 1, opening, closing) + rb")"
    return opening + plain + rb"(?:" + inside + plain + rb")*+" + closing


_VALUE = rb"|".join([_STRING, _nested(4), _nested(4, rb"\[", rb"\]")])
_WHOLE = re.compile(_VALUE, re.DOTALL)
"""A string, an object or a list, if the pattern can match it."""
_VALUES = rb'(?:[^"{}\[\]]++|' + _VALUE + rb")"
_RUN = lazy_pattern(_VALUES + rb"*+", re.DOTALL)
"""Complete values, and what separates them."""
_BORDER = re.compile(rb'\}[ \t\n\r]*+,[ \t\n\r]*+\{[ \t\n\r]*+"[^"\\]*+"')
_TOKEN = lazy_pattern(_VALUES + rb'++|["{}\[\]]', re.DOTALL)
"""Complete values, or a bracket or quote that opens or closes something larger."""
_SPACE = re.compile(rb"[ \t\n\r]*+")
_SCALAR_END = re.compile(rb"[ \t\n\r,\]}]")


class Window:
    """The part of the file in memory, and a position in it."""

    def __init__(self, source: Source) -> None:
        self._stream = source.open()
        self._stream.seek(source.start)
        self.base = source.start
        self._limit = source.limits.record
        self.data = b""
        self.at = 0
        self.ended = False
        self.levels = 0
        """The number of open brackets around the values that are cut out."""
        self._border: bytes | None = None
        self._usual_size = 0
        self._misses = 0

    def close(self) -> None:
        self._stream.close()

    def fill(self) -> bool:
        """Read more, and discard what was consumed. False at the end of the file."""
        if self.ended:
            return False
        self.base += self.at
        rest = self.data[self.at :]
        block = self._stream.read(max(BLOCK, len(rest)))
        self.data, self.at, self.ended = rest + block, 0, not block
        return bool(block)

    def space(self) -> bytes:
        """Skip whitespace; returns the next byte, empty at the end of the file."""
        while True:
            self.at = _SPACE.match(self.data, self.at).end()  # type: ignore[union-attr]  # the pattern matches anything
            if self.at < len(self.data):
                return self.data[self.at : self.at + 1]
            if not self.fill():
                return b""

    def broken(self, explain: Callable[..., Broken], *arguments: bytes) -> Broken:
        """Return the syntax error at the current position, explained with enough text after it."""
        while len(self.data) - self.at < 64 and self.fill():
            pass
        broken = first_error(self.data, self.at, lambda data: explain(data, self.at, *arguments))
        broken.offset += self.base
        return broken

    def string(self) -> tuple[str, int, bytes]:
        """Return the key at the current position, its offset in the file, and its bytes."""
        offset = self.base + self.at
        raw = self.cut()
        try:
            return _decode_key(raw), offset, raw
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
        with _moved(offset):
            scan(raw)
            return read_string(raw, 0)[0], offset, raw

    def cut(self) -> bytes:
        """Return the bytes of the value at the current position, which is not whitespace."""
        match = _WHOLE.match(self.data, self.at)
        size = match.end() - self.at if match else self._size(self.data[self.at : self.at + 1])
        if size == 0:
            raise self.broken(no_value)
        if size is None:
            size = len(self.data) - self.at
            with _moved(self.base + self.at):
                scan(self.data[self.at :], depth=self.levels, whole=False)
        elif size > self._limit:
            raise TooLarge(self.base + self.at)
        raw = self.data[self.at : self.at + size]
        self.at += size
        return raw

    def _size(self, first: bytes) -> int | None:
        """Return the length of the value, or None if the file ends first."""
        done = depth = 0
        while True:
            if first == b'"':
                if match := _WHOLE.match(self.data, self.at):
                    return match.end() - self.at
            elif first not in (b"{", b"["):
                if match := _SCALAR_END.search(self.data, self.at + done):
                    return match.start() - self.at
                done = len(self.data) - self.at
            else:
                for match in _TOKEN.finditer(self.data, self.at + done):
                    token = match.group()
                    if token in (b"{", b"["):
                        depth += 1
                    elif token in (b"}", b"]"):
                        depth -= 1
                    elif token == b'"':
                        done = match.start() - self.at
                        break
                    done = match.end() - self.at
                    if depth <= 0:
                        return done
            self._check_size()
            if not self.fill():
                return None if first in (b'"', b"{", b"[") else done

    def _check_size(self) -> None:
        """Raise `TooLarge` or, more likely for a value that does not end within the limit, its syntax error."""
        if len(self.data) - self.at <= self._limit:
            return
        raw = self.data[self.at : self.at + self._limit]
        try:
            _pass(raw)
        except (msgspec.DecodeError, RecursionError) as error:
            if "truncated" in str(error):  # only its size is wrong
                raise TooLarge(self.base + self.at) from None
        try:
            scan(raw, depth=self.levels, whole=False)
        except Broken as broken:
            if broken.offset < len(raw):
                broken.offset += self.base + self.at
                raise
        raise TooLarge(self.base + self.at)

    def skip_items(self) -> None:
        """Skip to the end of the list; complete items in memory are skipped in one step."""
        while True:
            self.at = _RUN.match(self.data, self.at).end()  # type: ignore[union-attr]  # the pattern matches anything
            char = self.data[self.at : self.at + 1]
            if char == b"]":
                self.at += 1
                return
            if char:
                self.cut()
            elif not self.fill():
                return

    def guess(self, decode: Decode) -> tuple[bytes, Any] | None:
        """Return the record that starts here, cut at the guessed border, if decoding proves the guess right.

        Moves the position to the start of the next record.
        """
        if self._border is None:
            return None
        end = self._find(self._border)
        if end < 0:
            return None
        raw = self.data[self.at : end + 1]
        value = decode(raw) if len(raw) <= self._limit else None
        if value is None:
            self._misses += 1
            return None
        self._misses = max(0, self._misses - 1)
        self.at = end + self._border.index(b"{")
        return raw, value

    def _find(self, border: bytes) -> int:
        """Find the next border, or -1. More is read if the record may end there, but not more than two records need."""
        end = self.data.find(border, self.at)
        if end >= 0:
            return end
        if len(self.data) - self.at >= max(BLOCK // 2, 2 * self._usual_size):
            self._misses += 1  # searching this much takes long
            return -1
        return self.data.find(border, self.at) if self.fill() else -1

    def learn(self, size: int) -> None:
        """Remember what separates the record that ends here, of `size` bytes, from the next one."""
        match = _BORDER.match(self.data, self.at - 1)
        self._border = match.group() if match and self._misses < 16 else None
        self._usual_size = size


class JsonFile:
    """Reads one `.json` file from start to end. After `records()` is exhausted, `header` is complete."""

    def __init__(self, source: Source, list_key: str | None, decode: Decode) -> None:
        self._source = source
        self._list_key = list_key
        self._decode = decode
        self.header: list[Member] = []
        self.list_at: int | None = None
        """The offset of the list of records, once it was found."""
        self.start = 0
        """The offset of the text after leading whitespace."""
        self.outer: Member | None = None
        """The complete text, if it is not an object."""

    def records(self) -> Iterator[LocatedRecord]:
        """Yield the records in file order. Raises `Broken` or `TooLarge`, with offsets in the file."""
        window = Window(self._source)
        try:
            first = window.space()
            self.start = window.base + window.at
            if first != b"{":
                self.outer = self._whole(window, first)
            else:
                yield from self._members(window)
            if window.space():
                raise window.broken(after_end)
        finally:
            window.close()

    def header_text(self) -> bytes:
        """Return the text of the file with an empty list of records."""
        return b"{" + b",".join(member.raw_key + b":" + member.raw for member in self.header) + b"}"

    def _whole(self, window: Window, first: bytes) -> Member:
        if not first:
            empty = empty_file(self._source.start)
            raise Broken(empty.code, self._source.start, empty.message, empty.hint)
        if first in (b"}", b"]", b",", b":"):
            raise window.broken(no_value)
        offset = window.base + window.at
        if first == b"[":
            for record in self._items(window, lambda raw: None):
                check_syntax(record.raw, record.offset, window.data[window.at : window.at + 1])
            return Member("", offset, b"[]", offset)
        start = window.data[window.at : window.at + MOST_BYTES]
        raw = window.cut()
        try:
            check_syntax(raw, offset)
        except Broken as broken:
            around = before_json(start) if broken.code in ("MC010", "MC022", "MC023") else None
            if around is None:
                raise
            raise Broken("MC010", broken.offset, around.message, around.hint) from None
        return Member("", offset, raw, offset)

    def _members(self, window: Window) -> Iterator[LocatedRecord]:
        window.levels = 1
        for key, key_offset, raw_key, first in _members(window):
            if len(self.header) > MAX_MEMBERS:
                raise TooLarge(key_offset)
            offset = window.base + window.at
            if key == self._list_key and first == b"[" and self.list_at is None:
                self.list_at = offset
                yield from self._items(window, self._decode)
                raw = b"[]"
            else:
                raw = window.cut()
                check_syntax(raw, offset, window.data[window.at : window.at + 1])
            self.header.append(Member(key, key_offset, raw, offset, raw_key))

    def _items(self, window: Window, decode: Decode) -> Iterator[LocatedRecord]:
        window.at += 1
        window.levels += 1
        char = window.space()
        while char != b"]":
            char = window.space()
            offset = window.base + window.at
            while char == b"{" and (guessed := window.guess(decode)):
                yield LocatedRecord(guessed[0], offset, guessed[1])
                offset = window.base + window.at
            if char in (b"}", b"]"):
                raise window.broken(trailing_comma)
            if char == b":":
                raise window.broken(no_value)
            raw = window.cut()
            yield LocatedRecord(raw, offset, decode(raw))
            window.learn(len(raw))
            char = window.space()
            if char == b",":
                window.at += 1
            elif char != b"]":
                raise window.broken(no_comma, b"]")
        window.at += 1
        window.levels -= 1


def _members(window: Window) -> Iterator[tuple[str, int, bytes, bytes]]:
    """Yield key, offset and bytes of each key of an object, and the first byte of its value, which has to be read."""
    window.at += 1
    char = window.space()
    while char != b"}":
        if char != b'"':
            raise window.broken(no_key)
        key = window.string()
        if window.space() != b":":
            raise window.broken(no_colon)
        window.at += 1
        yield *key, window.space()
        char = window.space()
        if char == b",":
            window.at += 1
            char = window.space()
            if char in (b"}", b"]"):
                raise window.broken(trailing_comma)
        elif char != b"}":
            raise window.broken(no_comma, b"}")
    window.at += 1


def outline(source: Source, decide: Callable[[Outline], Decided | None]) -> tuple[Outline, Decided | None]:
    """Read only keys, until `decide` returns something or the file ends. Syntax errors end it silently."""
    keys: set[str] = set()
    items: dict[str, frozenset[str]] = {}
    places: dict[str, Ref] = {}
    schema: str | None = None
    complete = False
    window = Window(source)
    try:
        first = window.space()
        if first == b"[":
            return Outline(frozenset(), {"": _first_keys(window, "", places)}, None, "list", places), None
        if first != b"{":
            return Outline(frozenset(), {}, None, "other"), None
        for key, _, _, char in _members(window):
            if len(keys) > MAX_MEMBERS:
                break
            keys.add(key)
            if char == b"[":
                early = Outline(frozenset(keys), items, schema, "object", places)
                items[key] = _first_keys(window, key, places)
                if (decided := decide(early)) is not None:
                    return early, decided
                window.skip_items()
            else:
                raw = window.cut()
                if key == "$schema" and raw.startswith(b'"'):
                    schema = read_string(raw, 0)[0]
        else:
            complete = True
    except (Broken, TooLarge):
        pass
    finally:
        window.close()
    return Outline(frozenset(keys), items, schema, "object", places, complete), None


def _first_keys(window: Window, list_key: str, places: dict[str, Ref]) -> frozenset[str]:
    """Return the keys of the first item of the list that opens here; the window stays after that item."""
    window.at += 1
    if window.space() != b"{":
        return frozenset()
    offset = window.base + window.at
    raw = window.cut()
    places[list_key] = Ref(offset, len(raw), 0, (list_key, 0) if list_key else (0,))
    try:
        return frozenset(_decode_object(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = scan(raw).value
    return frozenset(value) if isinstance(value, dict) else frozenset()


@contextmanager
def _moved(offset: int) -> Iterator[None]:
    """Give syntax errors in a part of the file, which starts at an offset, their offset in the file."""
    try:
        yield
    except Broken as broken:
        broken.offset += offset
        raise


def check_syntax(raw: bytes, offset: int = 0, after: bytes = b"") -> None:
    """Raise the syntax error of a value, if it has one. `after`: what follows it; `1e` breaks off only at the end."""
    try:
        _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        with _moved(offset):
            try:
                scan(raw)
            except Broken as broken:
                scan(raw + after if broken.code == "MC011" else raw)
                raise


def is_json(source: Source) -> bool:
    """Check whether the file is valid JSON for certain: at parser speed, if it fits into memory."""
    raw = source.read(source.start, MAX_DOCUMENT + 1)
    try:
        _pass(raw)
        return len(raw) <= MAX_DOCUMENT and (raw.isascii() or bool(raw.decode()))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
