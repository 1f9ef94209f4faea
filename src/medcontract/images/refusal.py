"""What is wrong with one image, and the limits that it is measured by."""

from __future__ import annotations

from typing import NamedTuple

MIN_SIDE = 512
"""Pixels of the shorter side."""

MAX_PIXELS = 100_000_000
"""More than this, and the image is not decoded."""

MAX_BYTES = 200_000_000
"""More than this, and the file is not read."""

MAX_PARTS = 100_000
"""Chunks of a PNG or segments of a JPEG. Files of 200 MB have some 25,000; millions of empty ones only take time."""


class ImageProblem(NamedTuple):
    """Why an image is refused. Neither text holds anything of the path or of the picture."""

    code: str
    message: str
    hint: str | None = None


class Header(NamedTuple):
    """What an image announces of itself."""

    width: int
    height: int
    not_rgb8: str | None = None
    """What it is instead of RGB of 8 bits."""


class Refused(Exception):
    """Ends the check of one image; never leaves this package."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.problem = ImageProblem(code, message, hint)


def too_many_parts() -> Refused:
    return damaged(f"the file is cut into more than {MAX_PARTS:,} parts")


def damaged(what: str) -> Refused:
    """The image is cut off or cannot be decoded to its end."""
    return Refused("MC324", what, "copy the file again, or export the image anew")
