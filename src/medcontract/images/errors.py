"""What is wrong with an image, and the limits for images."""

from __future__ import annotations

from typing import NamedTuple

MIN_SIDE = 512
"""Pixels of the shorter side."""

MAX_PIXELS = 100_000_000
"""Larger images are not decoded."""

MAX_BYTES = 200_000_000
"""Larger files are not read."""

MAX_PARTS = 100_000
"""Chunks of a PNG or segments of a JPEG. Files of 200 MB have some 25,000; millions of empty ones only take time."""


class ImageProblem(NamedTuple):
    """Why an image is refused. The texts contain nothing of the path or the image."""

    code: str
    message: str
    hint: str | None = None


class Header(NamedTuple):
    """The properties of an image according to its header."""

    width: int
    height: int
    not_rgb8: str | None = None
    """What it is instead of 8-bit RGB."""


class Refused(Exception):
    """Ends the check of an image; never raised to callers of this package."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.problem = ImageProblem(code, message, hint)


def too_many_parts() -> Refused:
    return damaged(f"the file has more than {MAX_PARTS:,} chunks or segments")


def damaged(what: str) -> Refused:
    """The image is truncated or cannot be decoded completely."""
    return Refused("MC324", what, "copy the file again, or export the image again")
