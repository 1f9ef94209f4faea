"""JPEG: reads the header, and checks that the image can be decoded completely.

Pillow only gets the tables and the pixels: no Exif data, color profile, comments, or data after the end. It decodes
all coefficients but scales the image to an eighth of its size, which finds the same damage in less time and with a
sixty-fourth of the memory.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import BinaryIO

from medcontract.images.errors import MAX_PARTS, Header, damaged, too_many_parts
from medcontract.isolated import Crashed, run_isolated

_MARKER = re.compile(rb"\xff[\x02-\xcf\xd8-\xfe]")
"""All markers except those within pixel data: FF 00, fill bytes and restart markers."""
_SOI, _EOI, _SOS = 0xD8, 0xD9, 0xDA
_NO_FRAMES = (0xC4, 0xC8, 0xCC)
_COMMON = (0xC0, 0xC1, 0xC2, 0xC9, 0xCA)
"""Baseline, extended and progressive, with Huffman or arithmetic coding. The others are lossless or hierarchical."""
_CHANNELS = {1: "grayscale", 4: "CMYK"}

MAX_SCANS = 100
"""A progressive image has about ten. Each scan takes a pass over the image, even if it has only a few bytes."""
MAX_SCANNED = 2_000_000_000
"""Pixels of all scans together: 20 scans of the largest image."""


def header(data: bytes) -> Header:
    """The properties in the header; raises `Refused` if there is no valid header."""
    for code, start, end in _segments(data):
        if code == _SOS:
            break
        if _is_frame(code):
            frame = data[start + 4 : end]
            if len(frame) < 6 or len(frame) != 6 + 3 * frame[5]:
                break
            height, width = int.from_bytes(frame[1:3]), int.from_bytes(frame[3:5])
            if not width or not height:
                raise damaged(f"the header declares {width} x {height} pixels")
            return Header(width, height, _not_rgb8(frame[0], frame[5]))
    raise damaged("the header of the JPEG is truncated or damaged")


def _is_frame(code: int) -> bool:
    return 0xC0 <= code <= 0xCF and code not in _NO_FRAMES


def _not_rgb8(bits: int, channels: int) -> str | None:
    if channels != 3:
        return _CHANNELS.get(channels, f"{channels} channels")
    return None if bits == 8 else f"{bits} bits per channel"


def _segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Marker, start and end of each complete segment, up to the end of the image or of a truncated file."""
    at = 2
    for _ in range(MAX_PARTS):
        found = _MARKER.search(data, at)
        if not found:
            return
        start, code = found.start(), data[found.start() + 1]
        if code == _EOI:
            yield code, start, start + 2
        if code in (_SOI, _EOI):
            return
        length = int.from_bytes(data[start + 2 : start + 4])
        at = start + 2 + length
        if length < 2 or at > len(data):
            return
        yield code, start, at
    raise too_many_parts()


def decode(data: bytes) -> None:
    """Decode all pixels in another process; raises `Refused` if they cannot be decoded completely."""
    try:
        is_complete = next(run_isolated(_decode, io.BytesIO(_plain(data))))
    except Crashed:
        raise damaged("the JPEG decoder crashed on this image") from None
    if not is_complete:
        raise damaged("the JPEG cannot be decoded completely")


def _decode(stream: BinaryIO) -> Iterator[bool]:
    from PIL.JpegImagePlugin import JpegImageFile

    try:
        with JpegImageFile(stream) as image:
            image.draft("RGB", (1, 1))
            image.load()
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  # whatever Pillow raises, the image cannot be decoded
        yield False
    yield True


def _plain(data: bytes) -> bytes:
    """The image without data that is not needed to decode it."""
    parts = [data[:2]]
    frames = scans = first_scan = 0
    most = MAX_SCANS
    for code, start, end in _segments(data):
        frames += _is_frame(code)
        if _is_frame(code) and code not in _COMMON:
            raise damaged("this is a lossless or hierarchical JPEG, which common programs cannot decode")
        if _is_frame(code):
            pixels = int.from_bytes(data[start + 5 : start + 7]) * int.from_bytes(data[start + 7 : start + 9])
            most = min(MAX_SCANS, MAX_SCANNED // max(pixels, 1))
        if code == _SOS:
            scans += 1
            first_scan = first_scan or start
        if frames > 1 or scans > most:
            what = "two headers" if frames > 1 else f"more than {most} scans"
            raise damaged(f"the JPEG has {what}")
        if code == _EOI and scans:
            return b"".join([*parts, memoryview(data)[first_scan:end]])
        if not scans and not 0xE0 <= code <= 0xEF and code != 0xFE:
            parts.append(data[start:end])
    raise damaged("the JPEG is truncated: its end is missing")
