"""Reads the bytes of an image file, once and completely; handles anything else at its path."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

from medcontract.images.errors import MAX_BYTES, Refused

JPEG = b"\xff\xd8\xff"
PNG = b"\x89PNG\r\n\x1a\n"

_ENDINGS = (".jpg", ".jpeg", ".png", ".JPG", ".JPEG", ".PNG")
_OTHERS = (
    (0, b"GIF8", "a GIF image"),
    (8, b"WEBP", "a WebP image"),
    (0, b"BM", "a BMP image"),
    (0, b"II*\0", "a TIFF image"),
    (0, b"MM\0*", "a TIFF image"),
    (4, b"ftyphei", "a HEIC image"),
    (4, b"ftypmif1", "a HEIF image"),
    (4, b"ftypavif", "an AVIF image"),
    (0, b"\0\0\0\x0cjP  ", "a JPEG 2000 image"),
    (128, b"DICM", "a DICOM file"),
    (0, b"%PDF", "a PDF document"),
    (0, b"PK\x03\x04", "a zip archive"),
)
# A FIFO without a writer must not block, and Windows must not translate line ends.
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


def read_image(path: str, folder: str | None) -> bytes:
    """The content of a JPEG or PNG file. With a folder, the path is relative to it and must not lead out of it."""
    try:
        if folder is not None:
            path = _inside(path, folder)
        _regular(os.stat(path))
        with open(os.open(path, _FLAGS | (0 if folder is None else _NO_FOLLOW)), "rb") as stream:
            return _content(stream)
    except FileNotFoundError:
        raise Refused("MC320", "no such file in the image folder", _missing_hint(path, folder)) from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise Refused("MC320", f"the file cannot be read: {reason}") from None
    except ValueError:  # a NUL byte or a lone surrogate
        raise Refused("MC320", "invalid file name") from None


def _inside(path: str, folder: str) -> str:
    root = os.path.realpath(folder)
    real = os.path.realpath(os.path.join(root, path))
    if not real.startswith(os.path.join(root, "")):
        raise Refused("MC320", "the path leads out of the image folder", "copy the image into the folder")
    return real


def _regular(found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise Refused("MC320", "this is a folder, not an image")
    if not stat.S_ISREG(found.st_mode):
        raise Refused("MC320", "this is a pipe, a socket or a device, not a file")


def _missing_hint(path: str, folder: str | None) -> str:
    """A hint for the most common causes. It does not contain the file name, which may be that of a patient."""
    stem, ending = os.path.splitext(path)
    other = next((e for e in _ENDINGS if e != ending and os.path.exists(stem + e)), None)
    if other:
        return f"there is a file of this name with the extension {other}"
    if folder is not None and _names_folder(path, os.path.realpath(folder)):
        return "the path starts with the image folder itself: pass its parent folder"
    return "check the folder, case and extension"


def _names_folder(path: str, root: str) -> bool:
    """Whether the path is right as seen from the folder above."""
    first, _, rest = os.path.relpath(path, root).partition(os.sep)
    return bool(rest) and first == os.path.basename(root) and os.path.exists(os.path.join(root, rest))


def _content(stream: BinaryIO) -> bytes:
    before = os.fstat(stream.fileno())
    _regular(before)
    _sniff(stream.read(132))
    if before.st_size > MAX_BYTES:
        raise Refused("MC325", f"files of more than {MAX_BYTES // 1_000_000} MB are not read", "compress the image")
    stream.seek(0)
    content = stream.read(before.st_size + 1)
    after = os.fstat(stream.fileno())
    if len(content) != before.st_size or after.st_mtime_ns != before.st_mtime_ns:
        raise Refused("MC320", "the file changed while it was being read", "wait until it is written, then check again")
    return content


def _sniff(head: bytes) -> None:
    if head.startswith((JPEG, PNG)):
        return
    if not head:
        raise Refused("MC321", "the file is empty", "check that it was copied completely")
    name = next((name for at, magic, name in _OTHERS if head.startswith(magic, at)), None)
    found = f"this is {name}, not JPEG or PNG" if name else "the content is neither JPEG nor PNG"
    raise Refused("MC321", found, "save the image as JPEG or PNG; renaming it does not change its format")
