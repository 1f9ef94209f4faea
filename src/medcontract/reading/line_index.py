"""Converts byte offsets of findings to lines and columns, in one pass over the file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO, NamedTuple

from medcontract.reading.limits import BLOCK
from medcontract.reading.source import Source, Unreadable

_AROUND = 240
_CONTINUATION = bytes(range(0x80, 0xC0))


class Place(NamedTuple):
    line: int
    column: int


def line_breaks(text: bytes) -> int:
    """The number of line breaks: LF, CRLF or CR."""
    return text.count(b"\n") + (text.count(b"\r") - text.count(b"\r\n") if b"\r" in text else 0)


def places(source: Source, offsets: Iterable[int]) -> dict[int, Place]:
    """Line and column (1-based, in code points) of each offset. Lines end with LF, CRLF or CR; a BOM is not counted."""
    wanted = sorted(set(offsets), reverse=True)
    found: dict[int, Place] = {}
    here = _Position()
    with source.open() as stream:
        stream.seek(source.start)
        position = source.start
        while wanted:
            block = _next_block(stream)
            done = 0
            while wanted and (wanted[-1] < position + len(block) or not block):
                stop = max(min(wanted[-1] - position, len(block)), done)
                here = here.after(block[done:stop])
                found[wanted.pop()] = here.place(inside_crlf=block[stop : stop + 1] == b"\n")
                done = stop
            here = here.after(block[done:])
            position += len(block)
    return found


class _Position(NamedTuple):
    """A position between two bytes, and the column of the CR before it, if there is one."""

    line: int = 1
    column: int = 1
    cr: int | None = None

    def place(self, inside_crlf: bool) -> Place:
        """A position between CR and LF still belongs to the line that they end."""
        if self.cr is not None and inside_crlf:
            return Place(self.line - 1, self.cr + 1)
        return Place(self.line, self.column)

    def after(self, text: bytes) -> _Position:
        """The position after `text`."""
        if not text:
            return self
        if self.cr is not None and text[0] == 0x0A:
            text = text[1:]
        if text[-1:] != b"\r":
            return self._moved(text)
        before = self._moved(text[:-1])
        return _Position(before.line + 1, 1, before.column)

    def _moved(self, text: bytes) -> _Position:
        """The position after `text`, which is not followed by the other half of a CRLF."""
        breaks = text.count(b"\n")
        returns = text.count(b"\r")
        if returns:
            breaks += returns - text.count(b"\r\n")
        if not breaks:
            return _Position(self.line, self.column + count_characters(text))
        last_line = text[max(text.rfind(b"\n"), text.rfind(b"\r")) + 1 :]
        return _Position(self.line + breaks, 1 + count_characters(last_line))


def _next_block(stream: BinaryIO) -> bytes:
    """Some bytes; none at the end of the file, or of the part of an archive that can be decompressed."""
    try:
        block: bytes = stream.read1(BLOCK)  # type: ignore[attr-defined]  # all streams of `Source.open` have it
    except Unreadable:
        return b""
    return block


def count_characters(text: bytes) -> int:
    """Code points in (any part of) UTF-8 text."""
    return len(text) if text.isascii() else len(text.translate(None, _CONTINUATION))


class Excerpts:
    """Source lines around offsets, which ascend: a compressed file is then decompressed once, not for each of them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._stream: BinaryIO | None = None
        self._start = 0
        self._data = b""
        """The bytes that were read last, from `_start`. Seeking backward would decompress everything again."""

    def close(self) -> None:
        if self._stream:
            self._stream.close()

    def around(self, offset: int, room: int = 100) -> tuple[str, int]:
        """The source line around `offset`, cut to `room` characters, and the position of the offset in it."""
        start = max(self._source.start, offset - _AROUND)
        data = self._read(start, offset + _AROUND)
        before, after = data[: offset - start], data[offset - start :]
        cut = max(before.rfind(b"\n"), before.rfind(b"\r")) + 1
        left = before[cut:].decode(errors="replace")
        if cut == 0 and start > self._source.start:
            left = left.lstrip("\ufffd")
        right = after.replace(b"\r", b"\n").split(b"\n", 1)[0].decode(errors="replace")
        keep_left = max(room * 3 // 5, room - len(right))
        if len(left) > keep_left:
            left = "…" + left[-keep_left + 1 :]
        keep_right = room - len(left)
        if len(right) > keep_right:
            right = right[: keep_right - 1] + "…"
        return _printable(left) + _printable(right), len(left)

    def _read(self, start: int, stop: int) -> bytes:
        self._stream = self._stream or self._source.open()
        self._data = self._data[start - self._start :]
        self._start = start
        if not self._data:
            self._stream.seek(start)
        self._data += self._stream.read(stop - start - len(self._data))
        return self._data


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " if c == "\t" else "·" for c in text)
