"""Lists in texts as written: lines that start with a number or with a bullet."""

from __future__ import annotations

import re

_LINE_BREAK = re.compile("[\n\r\v\f\x85\u2028\u2029]")
_OTHER_SEPARATORS = "\x1c\x1d\x1e"
"""Not line breaks, except for `str.splitlines`, which is much faster than a pattern."""
_LINE_START = r"[ \t\u00a0]*+"
"""Repetitions are possessive, so that long runs of spaces take linear time."""
_LINE_KINDS = {
    "numbered lines": re.compile(_LINE_START + r"[*_#>(]*+[ \t]*+[0-9]{1,2}(?:\.\)|\.-|[.)])[*_]*[ \t\u00a0]+\S"),
    "bulleted lines": re.compile(_LINE_START + r"[-*+\u00b7\u2013\u2014\u2022\u2023\u25aa\u25cf\u25e6][ \t\u00a0]+\S"),
}


def line_kinds(text: str) -> frozenset[str]:
    """The kinds of lists in a text as written, each once: lines that start with a number or with a bullet.

    A number has one or two digits and `.`, `)`, `.)` or `.-` after it, then a space: "38.5 °C" is not numbered.
    """
    exact = any([char in text for char in _OTHER_SEPARATORS])  # noqa: C419  # faster than a generator
    lines = _LINE_BREAK.split(text) if exact else text.splitlines()
    return frozenset([kind for kind, pattern in _LINE_KINDS.items() if any(map(pattern.match, lines))])
