"""How a result is to be shown, and text that is fit to be shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from medcontract.results.base import printable

Style = Callable[[str, str], str]
"""(text, role) to text with colour; roles are error, warning, hint, dim, strong, good."""


def plain(text: str, role: str) -> str:
    return text


class View(NamedTuple):
    """What a caller wants to see. Formats ignore what they have no use for."""

    style: Style = plain
    show_values: bool = False
    """Offending values may be shown."""
    max_problems: int = 50
    """At most so many problems of a score or of a check."""


def clean(text: str) -> str:
    """Text from a file, fit for a terminal: on one line, without control characters."""
    return "".join(c if c.isprintable() else "·" for c in printable(text))
