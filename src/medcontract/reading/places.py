"""From byte offsets to lines and columns, for what is wrong only, in one pass over the file."""

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


def places(source: Source, offsets: Iterable[int]) -> dict[int, Place]:
    """Line and column (1-based, in code points) of each offset. Lines end with LF, CRLF or CR; a BOM is no column."""
    wanted = sorted(set(offsets), reverse=True)
    found: dict[int, Place] = {}
    line, column, after_cr = 1, 1, False
    with source.open() as stream:
        stream.seek(source.start)
        position = source.start
        while wanted:
            block = _next_block(stream)
            done = 0
            while wanted and (wanted[-1] < position + len(block) or not block):
                stop = max(min(wanted[-1] - position, len(block)), done)
                line, column, after_cr = _advance(block[done:stop], line, column, after_cr)
                if after_cr and block[stop : stop + 1] == b"\n":  # inside CRLF: still the line that it ends
                    found[wanted.pop()] = Place(line - 1, column)
                else:
                    found[wanted.pop()] = Place(line, column)
                done = stop
            line, column, after_cr = _advance(block[done:], line, column, after_cr)
            position += len(block)
    return found


def _next_block(stream: BinaryIO) -> bytes:
    """Some bytes; none where the file, or the part of an archive that can be unpacked, ends."""
    try:
        block: bytes = stream.read1(BLOCK)  # type: ignore[attr-defined]  # all that `Source.open` gives have it
    except Unreadable:
        return b""
    return block


def _advance(text: bytes, line: int, column: int, after_cr: bool) -> tuple[int, int, bool]:
    """Line and column after `text`."""
    if not text:
        return line, column, after_cr
    if after_cr and text[0] == 0x0A:
        text = text[1:]
        if not text:
            return line, column, False
    breaks = text.count(b"\n")
    returns = text.count(b"\r")
    if returns:
        breaks += returns - text.count(b"\r\n")
    if breaks:
        line += breaks
        column = 1
        text_left = text[max(text.rfind(b"\n"), text.rfind(b"\r")) + 1 :]
    else:
        text_left = text
    return line, column + count_characters(text_left), text[-1] == 0x0D


def count_characters(text: bytes) -> int:
    """Code points in (any part of) UTF-8 text."""
    return len(text) if text.isascii() else len(text.translate(None, _CONTINUATION))


def excerpt(source: Source, offset: int, room: int = 100) -> tuple[str, int]:
    """The source line around `offset`, cut to `room` characters, and where the offset stands in it."""
    start = max(source.start, offset - _AROUND)
    data = source.read(start, offset - start + _AROUND)
    before, after = data[: offset - start], data[offset - start :]
    cut = max(before.rfind(b"\n"), before.rfind(b"\r")) + 1
    left = before[cut:].decode(errors="replace")
    if cut == 0 and start > source.start:
        left = left.lstrip("\ufffd")
    right = after.replace(b"\r", b"\n").split(b"\n", 1)[0].decode(errors="replace")
    keep_left = max(room * 3 // 5, room - len(right))
    if len(left) > keep_left:
        left = "…" + left[-keep_left + 1 :]
    keep_right = room - len(left)
    if len(right) > keep_right:
        right = right[: keep_right - 1] + "…"
    return _printable(left) + _printable(right), len(left)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " if c == "\t" else "·" for c in text)
