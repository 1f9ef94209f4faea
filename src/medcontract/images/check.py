"""Checks one image: reads its file, once and completely, and decodes it with Pillow. Reports its most basic problem.

Pillow runs in another process, which an image may crash, with limits that are checked before anything is decoded.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from medcontract.errors import CallError
from medcontract.isolated import Crashed, run_isolated

MIN_SIDE = 512
"""Pixels of the shorter side."""
MAX_PIXELS = 100_000_000
"""Larger images are not decoded."""
MAX_BYTES = 200_000_000
"""Larger files are not read."""
MAX_SCANS = 100
"""A progressive JPEG has about ten. Each scan takes a pass over the image, even if it has only a few bytes."""
MAX_SCANNED = 2_000_000_000
"""Pixels of all scans together: 20 scans of the largest image."""

_JPEG = b"\xff\xd8\xff"
_PNG = b"\x89PNG\r\n\x1a\n"
_SCAN, _END = b"\xff\xda", b"\xff\xd9"
_PNG_BITS_AT = 24
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
_MODES = {
    "1": "grayscale", "L": "grayscale", "I": "grayscale", "I;16": "grayscale", "CMYK": "CMYK", "P": "a color palette",
    "LA": "grayscale with an alpha channel", "PA": "a color palette", "RGBA": "RGB with alpha",
}  # fmt: skip


class ImageProblem(NamedTuple):
    """Why an image is refused. The texts contain nothing of the path or the image."""

    code: str
    message: str
    hint: str | None = None


class _Refused(Exception):
    """Ends the check of an image."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.problem = ImageProblem(code, message, hint)


def _damaged(what: str) -> _Refused:
    return _Refused("MC324", what, "copy the file again, or export the image again")


def check_image(path: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None) -> ImageProblem | None:
    """Return what is wrong with an image file, or None. Never raises because of the content of the file.

    With a folder, the path is relative to it, and links must not lead out of it. Needs the extra `images`.
    """
    require_pillow()
    try:
        data = _read(os.fspath(path), None if folder is None else os.fspath(folder))
        problem: ImageProblem | None = next(run_isolated(examine, io.BytesIO(data)))
    except _Refused as refused:
        return refused.problem
    except Crashed:
        return _damaged("the decoder crashed on this image").problem
    except MemoryError:
        return ImageProblem("MC324", "there is not enough memory to decode the image")
    return problem


def require_pillow() -> None:
    """Raise `CallError` if the extra is not installed."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        raise CallError("checking images needs Pillow: pip install 'medcontract[images]'") from None


# --- the content, in another process ----------------------------------------------------------------------------------


def examine(stream: BinaryIO) -> Iterator[ImageProblem | None]:
    """Yield what is wrong with the content of a JPEG or PNG file, or None."""
    try:
        _examine(stream.read())
    except _Refused as refused:
        yield refused.problem
    else:
        yield None


def _examine(data: bytes) -> None:
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # ours is checked instead
    kind = "PNG" if data.startswith(_PNG) else "JPEG"
    stream = io.BytesIO(data)
    try:
        image = Image.open(stream, formats=[kind])
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  # whatever Pillow raises
        raise _damaged(f"the header of the {kind} is truncated or damaged") from None
    bits = data[_PNG_BITS_AT] if kind == "PNG" else 8
    transparent = "RGB with a transparent color (tRNS)" if "transparency" in image.info else None
    _check_header(image.width, image.height, _MODES.get(image.mode, image.mode), max(bits, 8), transparent)
    if kind == "JPEG":
        _check_scans(data[stream.tell() :], image.width * image.height)
    try:
        if kind == "PNG":
            image.verify()  # checksums
            image = Image.open(io.BytesIO(data), formats=[kind])
        image.draft("RGB", (1, 1))  # an eighth of a JPEG, of which all coefficients are decoded
        image.load()
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  # whatever Pillow raises
        raise _damaged(f"the {kind} is truncated or damaged: it cannot be decoded completely") from None


def _check_header(width: int, height: int, mode: str, bits: int, transparent: str | None) -> None:
    size = f"{width} x {height} pixels"
    if not width or not height:
        raise _damaged(f"the header declares {size}")
    if width * height > MAX_PIXELS:
        most = f"images of more than {MAX_PIXELS // 1_000_000} megapixels are not decoded"
        raise _Refused("MC325", f"{size}: {most}", "scale the image down")
    if mode != "RGB" or bits != 8 or transparent:
        found = mode if mode != "RGB" else transparent or f"{bits} bits per channel"
        wanted = "the image must be RGB with 8 bits per channel and no alpha"
        raise _Refused("MC322", f"{found}: {wanted}", 'with Pillow: image.convert("RGB")')
    if min(width, height) < MIN_SIDE:
        least = f"the shorter side must be at least {MIN_SIDE}"
        raise _Refused("MC323", f"{size}: {least}", "export the image in its original size; do not scale it up")


def _check_scans(scans: bytes, pixels: int) -> None:
    """Check what follows the header of the first scan, which contains no markers except of other scans.

    Pillow does not notice if only the end is missing, and takes time for each scan.
    """
    end = scans.find(_END)
    if end < 0:
        raise _damaged("the JPEG is truncated: its end is missing")
    most = min(MAX_SCANS, MAX_SCANNED // pixels)
    if scans.count(_SCAN, 0, end) >= most:
        raise _damaged(f"the JPEG has more than {most} scans")


# --- the file ---------------------------------------------------------------------------------------------------------


def _read(path: str, folder: str | None) -> bytes:
    """Return the content of a JPEG or PNG file. With a folder, the path must be in it."""
    try:
        if folder is not None:
            path = _inside(path, folder)
        _regular(os.stat(path))
        with open(os.open(path, _FLAGS | (0 if folder is None else _NO_FOLLOW)), "rb") as stream:
            return _content(stream)
    except FileNotFoundError:
        raise _Refused("MC320", "no such file in the image folder", _missing_hint(path, folder)) from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise _Refused("MC320", f"the file cannot be read: {reason}") from None
    except ValueError:  # a NUL byte or a lone surrogate
        raise _Refused("MC320", "invalid file name") from None


def _inside(path: str, folder: str) -> str:
    root = os.path.realpath(folder)
    real = os.path.realpath(os.path.join(root, path))
    if not real.startswith(os.path.join(root, "")):
        raise _Refused("MC320", "the path leads out of the image folder", "copy the image into the folder")
    return real


def _regular(found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise _Refused("MC320", "this is a folder, not an image")
    if not stat.S_ISREG(found.st_mode):
        raise _Refused("MC320", "this is a pipe, a socket or a device, not a file")


def _missing_hint(path: str, folder: str | None) -> str:
    """Return a hint for the most common causes. It does not contain the file name, which may name a patient."""
    stem, ending = os.path.splitext(path)
    other = next((e for e in _ENDINGS if e != ending and os.path.exists(stem + e)), None)
    if other:
        return f"there is a file of this name with the extension {other}"
    if folder is not None and _names_folder(path, os.path.realpath(folder)):
        return "the path starts with the image folder itself: pass its parent folder"
    return "check the folder, case and extension"


def _names_folder(path: str, root: str) -> bool:
    """Check whether the path is right as seen from the folder above."""
    first, _, rest = os.path.relpath(path, root).partition(os.sep)
    return bool(rest) and first == os.path.basename(root) and os.path.exists(os.path.join(root, rest))


def _content(stream: BinaryIO) -> bytes:
    before = os.fstat(stream.fileno())
    _regular(before)
    _sniff(stream.read(132))
    if before.st_size > MAX_BYTES:
        raise _Refused("MC325", f"files of more than {MAX_BYTES // 1_000_000} MB are not read", "compress the image")
    stream.seek(0)
    content = stream.read(before.st_size + 1)
    after = os.fstat(stream.fileno())
    if len(content) != before.st_size or after.st_mtime_ns != before.st_mtime_ns:
        raise _Refused(
            "MC320", "the file changed while it was being read", "wait until it is written, then check again"
        )
    return content


def _sniff(head: bytes) -> None:
    if head.startswith((_JPEG, _PNG)):
        return
    if not head:
        raise _Refused("MC321", "the file is empty", "check that it was copied completely")
    name = next((name for at, magic, name in _OTHERS if head.startswith(magic, at)), None)
    found = f"this is {name}, not JPEG or PNG" if name else "the content is neither JPEG nor PNG"
    raise _Refused("MC321", found, "save the image as JPEG or PNG; renaming it does not change its format")
