"""Checks the images of `lesions/cases`: JPEG or PNG by content, 8-bit RGB, large enough, complete.

`check_image` checks one file, `check_images` the files of many cases, in worker processes if there are enough.
Both need the extra `images`. The header of an image is checked before anything is decoded. See `docs/images.md`.
"""

from medcontract.images.batch import Case, CaseProblem, Progress, check_images
from medcontract.images.check import MAX_BYTES, MAX_PIXELS, MIN_SIDE, ImageProblem, check_image

__all__ = [
    "MAX_BYTES",
    "MAX_PIXELS",
    "MIN_SIDE",
    "Case",
    "CaseProblem",
    "ImageProblem",
    "Progress",
    "check_image",
    "check_images",
]
