"""PNG: reads the header, and checks that the pixels are complete.

The pixels are decompressed with zlib in blocks and discarded, so that memory does not depend on the size of the
image. Nothing else in the file is decompressed, so a bomb in a text or a color profile has no effect.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from medcontract.images.errors import MAX_PARTS, Header, damaged, too_many_parts

_COLORS = {0: "grayscale", 2: "RGB", 3: "a color palette", 4: "grayscale with an alpha channel", 6: "RGB with alpha"}
_CHECKED = (b"IHDR", b"PLTE", b"IDAT", b"IEND")
"""Chunks that decoding depends on: their checksums are checked."""
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""Passes of an interlaced image: first column, first row, and the steps between columns and rows."""
_LAST_FILTER = 4
_IN = 1 << 16
_OUT = 1 << 20


def header(data: bytes) -> Header:
    """The properties in the header; raises `Refused` if there is no valid header."""
    if len(data) < 33:
        raise damaged("the header of the PNG is truncated")
    length, kind, width, height, bits, color, packing, filtering, interlace = struct.unpack_from(">I4sIIBBBBB", data, 8)
    if kind != b"IHDR" or length != 13 or not _crc_matches(data, kind, 16, 13) or packing or filtering or interlace > 1:
        raise damaged("the header of the PNG is damaged")
    if not width or not height:
        raise damaged(f"the header declares {width} x {height} pixels")
    return Header(width, height, _not_rgb8(data, bits, color))


def _not_rgb8(data: bytes, bits: int, color: int) -> str | None:
    if color != 2:
        return _COLORS.get(color, f"the unknown color type {color}")
    if bits != 8:
        return f"{bits} bits per channel"
    for kind, _, _ in _chunks(data):
        if kind == b"tRNS":
            return "RGB with a transparent color (tRNS)"
        if kind == b"IDAT":
            break
    return None


def _chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Type, start and length of the content of each complete chunk, up to the last one or the truncation."""
    at = 8
    for _ in range(MAX_PARTS):
        if at + 12 > len(data):
            return
        length, kind = struct.unpack_from(">I4s", data, at)
        if at + 12 + length > len(data):
            return
        yield kind, at + 8, length
        if kind == b"IEND":
            return
        at += 12 + length
    raise too_many_parts()


def _crc_matches(data: bytes, kind: bytes, start: int, length: int) -> bool:
    content = memoryview(data)[start : start + length]
    stored = int.from_bytes(data[start + length : start + length + 4])
    return zlib.crc32(content, zlib.crc32(kind)) == stored


def decode(data: bytes) -> None:
    """Decompress all pixels; raises `Refused` if they do not match the (valid) header."""
    width, height = struct.unpack_from(">II", data, 16)
    pixels = _Pixels(width, height, interlaced=data[28] == 1)
    before = b""
    for kind, start, length in _chunks(data):
        if kind in _CHECKED and not _crc_matches(data, kind, start, length):
            raise damaged(f"the chunk {kind.decode()} of the PNG does not match its checksum")
        if kind == b"IHDR" and before:
            raise damaged("the PNG has two headers")
        if kind == b"IDAT":
            if pixels.at and before != b"IDAT":
                raise damaged("the pixel chunks of the PNG are not consecutive")
            pixels.feed(memoryview(data)[start : start + length])
        before = kind
    if before != b"IEND":
        raise damaged("the PNG is truncated: its end is missing")
    pixels.finish()


class _Pixels:
    """Checks that compressed pixels decompress to the declared number of rows, without keeping them."""

    def __init__(self, width: int, height: int, interlaced: bool) -> None:
        self.at = 0
        self._spans = list(_spans(width, height, _PASSES if interlaced else ((0, 0, 1, 1),)))
        self._size = self._spans[-1][1]
        self._unpacker = zlib.decompressobj()

    def feed(self, packed: memoryview) -> None:
        try:
            for start in range(0, len(packed), _IN):
                rest: bytes | memoryview = packed[start : start + _IN]
                while rest and not self._unpacker.eof:
                    self._take(self._unpacker.decompress(rest, _OUT))
                    rest = self._unpacker.unconsumed_tail
        except zlib.error:
            raise damaged("the pixels of the PNG cannot be decompressed") from None

    def finish(self) -> None:
        self._take(self._unpacker.flush())
        if self.at != self._size or not self._unpacker.eof:
            raise damaged("the PNG has fewer pixels than its header declares")

    def _take(self, block: bytes) -> None:
        end = self.at + len(block)
        if end > self._size:
            raise damaged("the PNG has more pixels than its header declares")
        for begin, stop, stride in self._spans:
            first = begin + -(-max(self.at - begin, 0) // stride) * stride
            if first < min(stop, end) and max(block[first - self.at : stop - self.at : stride]) > _LAST_FILTER:
                raise damaged("a row of the PNG cannot be decoded")
        self.at = end


def _spans(width: int, height: int, passes: tuple[tuple[int, int, int, int], ...]) -> Iterator[tuple[int, int, int]]:
    """Start, end and bytes per row of each pass in the decompressed data. A row starts with its filter type."""
    begin = 0
    for left, top, across, down in passes:
        columns = (width - left + across - 1) // across
        rows = (height - top + down - 1) // down
        stride = 1 + 3 * columns
        yield begin, begin + rows * stride, stride
        begin += rows * stride
