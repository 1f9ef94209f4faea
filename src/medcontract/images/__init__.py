"""The images of `lesions/cases`: JPEG or PNG by content, RGB of 8 bits, large enough, whole.

`check_image` judges one file, `check_images` the files of many cases, in worker processes where that pays.
Both need the extra `images`. What an image announces is read from its bytes before anything is decoded, and only
the pixels are decoded: text, colour profiles and Exif data are passed over. See `docs/images.md`.
"""

from medcontract.images.many import Case, CaseProblem, Progress, check_images
from medcontract.images.one import check_image
from medcontract.images.refusal import MAX_BYTES, MAX_PIXELS, MIN_SIDE, ImageProblem

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
