"""A `.json` file as a header and a stream of records, never completely in memory.

The file is one object. All members except the list of records are small and kept; the records are cut
out one by one. The end of a record is guessed first: two consecutive records show what separates
records (`}, {"case_id"`), and the next such separator is very likely the next border. The guess is right if
and only if the bytes up to it are a complete JSON value, which decoding proves anyway; if it is wrong,
brackets are counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from medcontract.lazy_patterns import lazy_pattern
from medcontract.problems import empty_file
from medcontract.reading.diagnosis import MOST_BYTES, before_json
from medcontract.reading.json_scanner import Broken, Scanner, after_end, read_string, scan
from medcontract.reading.limits import BLOCK, MAX_DOCUMENT, MAX_MEMBERS
from medcontract.reading.located_records import Decode, LocatedRecord, TooLarge
from medcontract.reading.source import Source


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
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'


def _nested(levels: int, opening: bytes = rb"\{", closing: bytes = rb"\}") -> bytes:
    """An object or a list with limited nesting of its own kind of bracket; the other kind is ignored."""
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
_PLAIN_ITEM = re.compile(rb"([0-9A-Za-z.+-]++),(?=[0-9A-Za-z.+-])")
"""A number or a word in a list, with another one right after its comma."""
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

    def broken(self, make: Callable[[bytes, int], Broken]) -> Broken:
        """The syntax error at the current position, with enough text after it for a good message."""
        while len(self.data) - self.at < 64 and self.fill():
            pass
        return self.move(make(self.data, self.at))

    def move(self, broken: Broken, at: int = 0) -> Broken:
        """The syntax error with its offset in the file."""
        broken.offset += self.base + at
        return broken

    def string(self) -> tuple[str, int, bytes]:
        """Return the key at the current position, its offset in the file, and its bytes."""
        offset = self.base + self.at
        raw = self.cut()
        try:
            return _decode_key(raw), offset, raw
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass
        try:
            return read_string(raw, 0)[0], offset, raw
        except Broken as broken:
            broken.offset += offset
            raise

    def cut(self) -> bytes:
        """The bytes of the value at the current position, which is not whitespace."""
        match = _WHOLE.match(self.data, self.at)
        size = match.end() - self.at if match else self._size(self.data[self.at : self.at + 1])
        if size is None:
            raw = self.data[self.at :]
            self._fail(raw)
            self.at = len(self.data)
            return raw
        if size == 0:
            raise self.broken(_no_value)
        if size > self._limit:
            raise TooLarge(self.base + self.at)
        raw = self.data[self.at : self.at + size]
        self.at += size
        return raw

    def _fail(self, raw: bytes) -> None:
        try:
            scan(raw, depth=self.levels, whole=False)
        except Broken as broken:
            raise self.move(broken, self.at) from None

    def _size(self, first: bytes) -> int | None:
        """The length of the value, or None if the file ends first."""
        if first not in (b"{", b"["):
            return self._scalar_size(first)
        done, depth = 0, 0
        while True:
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
                return None

    def _scalar_size(self, first: bytes) -> int | None:
        done = 0
        while True:
            match = _WHOLE.match(self.data, self.at) if first == b'"' else _SCALAR_END.search(self.data, self.at + done)
            if match:
                return (match.end() if first == b'"' else match.start()) - self.at
            done = len(self.data) - self.at
            self._check_size()
            if not self.fill():
                return None if first == b'"' else done

    def _check_size(self) -> None:
        """A value without an end is either very large or, more likely, has a syntax error."""
        if len(self.data) - self.at > self._limit:
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
                    raise self.move(broken, self.at) from None
            raise TooLarge(self.base + self.at)

    def skip_run(self) -> bytes:
        """Skip text and complete values in memory, and return what is there then: a bracket, or nothing."""
        self.at = _RUN.match(self.data, self.at).end()  # type: ignore[union-attr]  # the pattern matches anything
        return self.data[self.at : self.at + 1]

    def plain_item(self) -> bytes | None:
        """The bytes of the item at the current position, where it is a number or a word with another one after it."""
        match = _PLAIN_ITEM.match(self.data, self.at)
        return match.group(1) if match and match.end() - self.at <= self._limit else None

    def guess(self, decode: Decode) -> tuple[bytes, Any] | None:
        """The record that starts here, cut at the guessed border, if decoding proves the guess right.

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
        """The next border, or -1. More is read if the record may end there, but not more than two records need."""
        end = self.data.find(border, self.at)
        if end >= 0:
            return end
        if len(self.data) - self.at >= max(BLOCK // 2, 2 * self._usual_size):
            self._misses += 1  # a search in so many bytes takes long
            return -1
        return self.data.find(border, self.at) if self.fill() else -1

    def learn(self, size: int) -> None:
        """Remember what separates the record that ends here, of so many bytes, from the next one."""
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
        """The records in file order. Raises `Broken` or `TooLarge`, with offsets in the file."""
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
            raise window.broken(_no_value)
        offset = window.base + window.at
        if first == b"[":
            for record in self._items(window, lambda raw: None):
                check_syntax(record.raw, record.offset)
            return Member("", offset, b"[]", offset)
        start = window.data[window.at : window.at + MOST_BYTES]
        raw = window.cut()
        try:
            check_syntax(raw, offset)
        except Broken as broken:
            raise _at_the_start(broken, start) from None
        return Member("", offset, raw, offset)

    def _members(self, window: Window) -> Iterator[LocatedRecord]:
        window.at += 1
        window.levels = 1
        after_comma = False
        while True:
            char = window.space()
            if char == b"}" and not after_comma:
                break
            if char != b'"':
                raise window.broken(_trailing if after_comma and char in (b"}", b"]") else _no_key)
            key, key_offset, raw_key = window.string()
            if len(self.header) > MAX_MEMBERS:
                raise TooLarge(key_offset)
            if window.space() != b":":
                raise window.broken(_no_colon)
            window.at += 1
            char = window.space()
            offset = window.base + window.at
            if key == self._list_key and char == b"[" and self.list_at is None:
                self.list_at = offset
                yield from self._items(window, self._decode)
                self.header.append(Member(key, key_offset, b"[]", offset, raw_key))
            else:
                if char in (b"", b"}", b"]", b",", b":"):
                    raise window.broken(_no_value)
                raw = window.cut()
                check_syntax(raw, offset)
                self.header.append(Member(key, key_offset, raw, offset, raw_key))
            char = window.space()
            after_comma = char == b","
            if char == b"}":
                break
            if not after_comma:
                raise window.broken(_no_comma_in_object)
            window.at += 1
        window.at += 1

    def _items(self, window: Window, decode: Decode) -> Iterator[LocatedRecord]:
        window.at += 1
        window.levels += 1
        if window.space() == b"]":
            window.at += 1
            window.levels -= 1
            return
        while True:
            while raw := window.plain_item():
                yield LocatedRecord(raw, window.base + window.at, decode(raw))
                window.at += len(raw) + 1
            char = window.space()
            offset = window.base + window.at
            while char == b"{" and (guessed := window.guess(decode)):
                yield LocatedRecord(guessed[0], offset, guessed[1])
                offset = window.base + window.at
            if char in (b"", b"}", b"]", b",", b":"):
                raise window.broken(_trailing if char in (b"}", b"]") and char else _no_value)
            raw = window.cut()
            yield LocatedRecord(raw, offset, decode(raw))
            window.learn(len(raw))
            char = window.space()
            if char == b"]":
                window.at += 1
                window.levels -= 1
                return
            if char != b",":
                raise window.broken(_no_comma_in_list)
            window.at += 1


def check_syntax(raw: bytes, offset: int = 0) -> None:
    """Raise the syntax error of a value, if it has one."""
    try:
        _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    else:
        return
    try:
        scan(raw)
    except Broken as broken:
        broken.offset += offset
        raise


def is_json(source: Source) -> bool:
    """Whether the file is valid JSON for certain: checked at parser speed, if it fits into memory."""
    raw = source.read(source.start, MAX_DOCUMENT + 1)
    try:
        _pass(raw)
        return len(raw) <= MAX_DOCUMENT and (raw.isascii() or bool(raw.decode()))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _at_the_start(broken: Broken, text: bytes) -> Broken:
    """The syntax error of a text that does not start with an object or a list, with what precedes the JSON, if any."""
    around = before_json(text) if broken.code in ("MC010", "MC022", "MC023") else None
    return Broken("MC010", broken.offset, around.message, around.hint) if around else broken


def _no_key(data: bytes, at: int) -> Broken:
    return Scanner(data).no_key(at)


def _no_value(data: bytes, at: int) -> Broken:
    scanner = Scanner(data)
    scanner.path.append("")
    return scanner.no_value(at)


def _no_colon(data: bytes, at: int) -> Broken:
    return Scanner(data).no_colon(at)


def _no_comma_in_object(data: bytes, at: int) -> Broken:
    return Scanner(data).no_comma(at, b"}")


def _no_comma_in_list(data: bytes, at: int) -> Broken:
    return Scanner(data).no_comma(at, b"]")


def _trailing(data: bytes, at: int) -> Broken:
    return Broken("MC012", at, "a comma before the closing bracket", "remove the comma")
