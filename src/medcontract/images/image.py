"""Checks one image: reports its most basic problem, or none."""

from __future__ import annotations

import os

from medcontract.errors import CallError
from medcontract.images import jpeg, png
from medcontract.images.errors import MAX_PIXELS, MIN_SIDE, Header, ImageProblem, Refused
from medcontract.images.image_io import PNG, read_image


def check_image(path: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None) -> ImageProblem | None:
    """What is wrong with an image file, or None. Never raises because of the content of the file.

    With a folder, the path is relative to it, and links must not lead out of it. Needs the extra `images`.
    """
    require_pillow()
    try:
        _check(read_image(os.fspath(path), None if folder is None else os.fspath(folder)))
    except Refused as refused:
        return refused.problem
    except MemoryError:
        return ImageProblem("MC324", "there is not enough memory to decode the image")
    return None


def require_pillow() -> None:
    """Raises `CallError` if the extra is not installed."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        raise CallError("checking images needs Pillow: pip install 'medcontract[images]'") from None


def _check(data: bytes) -> None:
    image_format = png if data.startswith(PNG) else jpeg
    _check_header(image_format.header(data))
    image_format.decode(data)


def _check_header(announced: Header) -> None:
    width, height, not_rgb8 = announced
    size = f"{width} x {height} pixels"
    if width * height > MAX_PIXELS:
        most = f"images of more than {MAX_PIXELS // 1_000_000} megapixels are not decoded"
        raise Refused("MC325", f"{size}: {most}", "scale the image down")
    if not_rgb8:
        wanted = "the image must be RGB with 8 bits per channel and no alpha"
        raise Refused("MC322", f"{not_rgb8}: {wanted}", 'with Pillow: image.convert("RGB")')
    if min(width, height) < MIN_SIDE:
        least = f"the shorter side must be at least {MIN_SIDE}"
        raise Refused("MC323", f"{size}: {least}", "export the image in its original size; do not scale it up")
