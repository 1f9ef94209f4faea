"""Patterns of schemas from somebody else: the package `regex` searches, and gives up after a second.

Their syntax is that of `re`, with Unicode properties (`\\p{L}`) and named groups (`(?<name>…)`) of ECMA-262.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any

SECONDS = 1.0
"""The time limit of one search. On a busy computer a shorter one would reject harmless patterns."""
_MOST_COMPILED = 1_000_000
"""The maximum size of a compiled pattern, which takes about 100 MB."""
_UNKNOWN_TO_RE = re.compile(r"\\[pP](?:\{[^{}]*\}|[A-Z])|\(\?<(?=\w)|\\.", re.DOTALL)
"""Unicode properties and named groups, which `re` does not know or spells differently; and other escapes."""


class NoPattern(ValueError):
    """A pattern that cannot be compiled; the message says why."""


class TooSlow(Exception):
    """Matching the pattern takes too long."""


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Any:
    """Compile a pattern, without warnings. Raises `NoPattern`."""
    from re import _parser  # type: ignore[attr-defined]  # the only way to see repeats before they are compiled

    import regex

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if _compiled_size(_parser.parse(_UNKNOWN_TO_RE.sub(_spelled_for_re, pattern))) > _MOST_COMPILED:
                raise NoPattern("too large")
            return regex.compile(pattern)
    except (re.error, regex.error) as error:
        raise NoPattern(error.msg) from None
    except (RecursionError, OverflowError):
        raise NoPattern("too large") from None


def _spelled_for_re(found: re.Match[str]) -> str:
    """Return something of the same size that `re` knows."""
    text = found.group()
    return r"\w" if text[:2] in (r"\p", r"\P") else "(?P<" if text == "(?<" else text


def _compiled_size(part: Any) -> int:
    """Return the size of a part of a parsed pattern. `regex` copies required repeats, also those inside repeats."""
    if not hasattr(part, "__len__"):
        return 1
    if isinstance(part, tuple) and str(part[0]).endswith("_REPEAT"):
        least: int = part[1][0]
        return max(1, least) * _compiled_size(part[1][2])
    if isinstance(part, tuple) and str(part[0]) == "IN":
        return len(part[1])
    return 1 + sum(map(_compiled_size, part))


def matches(pattern: str, text: str) -> bool:
    """Check whether the pattern is found in the text. Raises `NoPattern`, and `TooSlow` after a second."""
    try:
        return compile_pattern(pattern).search(text, timeout=SECONDS) is not None
    except (TimeoutError, MemoryError):
        raise TooSlow from None
