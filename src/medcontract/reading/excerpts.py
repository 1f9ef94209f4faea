"""Lines, columns and excerpts of a text file, all found in one pass over it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO, NamedTuple

from medcontract.reading.limits import BLOCK
from medcontract.reading.source import Source, Unreadable

_AROUND = 240
"""Bytes before and after an offset that its excerpt is made from."""
_ROOM = 100
"""Characters of an excerpt."""
_CONTINUATION = bytes(range(0x80, 0xC0))


class Place(NamedTuple):
    line: int
    column: int


class Excerpt(NamedTuple):
    """A part of a line, and the position of an offset in it."""

    text: str
    caret: int


def find_positions(
    source: Source, offsets: Iterable[int], excerpts: Iterable[int] = ()
) -> tuple[dict[int, Place], dict[int, Excerpt]]:
    """Find line and column (1-based, in code points) of the offsets, and the text around the `excerpts`.

    Lines end with LF, CRLF or CR; a byte order mark is not counted. The file is opened once and read in order, so that
    a compressed one is decompressed once.
    """
    placed, shown = set(offsets), set(excerpts)
    last = max(placed, default=-1)
    places: dict[int, Place] = {}
    texts: dict[int, Excerpt] = {}
    if not placed | shown:
        return places, texts
    line, column, at = 1, 1, source.start
    with source.open() as stream:
        reader = _Reader(stream, source.start)
        for offset in sorted(placed | shown):
            in_crlf = False  # a CRLF is one line break: what is between its halves belongs to the line that it ends
            while at < min(offset, last) and not in_crlf and (block := reader.read(at, min(offset, at + BLOCK))):
                if block.endswith(b"\r") and reader.read(at + len(block), at + len(block) + 1) == b"\n":
                    in_crlf = at + len(block) == offset
                    block = block[:-1] if in_crlf or len(block) > 1 else b"\r\n"
                if breaks := block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n"):
                    line, column = line + breaks, 1
                column += _count_characters(block[max(block.rfind(b"\n"), block.rfind(b"\r")) + 1 :])
                at += len(block)
            if offset in placed:
                places[offset] = Place(line, column + in_crlf)
            if offset in shown:
                start = max(source.start, offset - _AROUND)
                text = reader.read(start, offset + _AROUND)
                before = max(offset - start, 0)  # the byte order mark has an offset, too
                texts[offset] = _excerpt(text[:before], text[before:], is_cut=start > source.start)
    return places, texts


class _Reader:
    """Reads parts of a stream whose ends ascend; keeps the bytes before each, of which the next part may need some."""

    def __init__(self, stream: BinaryIO, start: int) -> None:
        stream.seek(start)
        self._stream = stream
        self._start = start
        self._data = b""

    def read(self, start: int, stop: int) -> bytes:
        """Read the bytes between two offsets; fewer at the end of the file, or of what can be decompressed of it."""
        end = self._start + len(self._data)
        try:
            if start > end:
                end = self._stream.seek(start)
                self._start, self._data = end, b""
            while end < stop and (block := self._stream.read1(BLOCK)):  # type: ignore[attr-defined]  # streams of `Source` have it
                kept = max(start - _AROUND - self._start, 0)
                self._start, self._data = self._start + kept, self._data[kept:] + block
                end += len(block)
        except Unreadable:
            pass
        return self._data[start - self._start : stop - self._start] if start >= self._start else b""


def _count_characters(text: bytes) -> int:
    """Count the code points in (any part of) UTF-8 text."""
    return len(text) if text.isascii() else len(text.translate(None, _CONTINUATION))


def _excerpt(before: bytes, after: bytes, is_cut: bool) -> Excerpt:
    """Cut the line around an offset. `is_cut`: the text before it may start within a character."""
    cut = max(before.rfind(b"\n"), before.rfind(b"\r")) + 1
    left = before[cut:].decode(errors="replace")
    if cut == 0 and is_cut:
        left = left.lstrip("\ufffd")
    right = after.replace(b"\r", b"\n").split(b"\n", 1)[0].decode(errors="replace")
    keep_left = max(_ROOM * 3 // 5, _ROOM - len(right))
    if len(left) > keep_left:
        left = "…" + left[-keep_left + 1 :]
    keep_right = _ROOM - len(left)
    if len(right) > keep_right:
        right = right[: keep_right - 1] + "…"
    return Excerpt(_printable(left) + _printable(right), len(left))


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " if c == "\t" else "·" for c in text)
