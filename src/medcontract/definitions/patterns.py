"""Patterns in schemas that are not ours: they may be anything."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache


class NoPattern(ValueError):
    """A pattern that Python's `re` cannot read; the text says why."""


@lru_cache(maxsize=1024)
def read_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern, ready for use; what `re` warns of is not ours to mend. Raises `NoPattern`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(pattern)
    except re.error as error:
        raise NoPattern(error.msg) from None
    except (RecursionError, OverflowError):
        raise NoPattern("too large") from None
