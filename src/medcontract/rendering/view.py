"""How to show a result, and how to make text safe to show."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from medcontract.results.base import printable

Style = Callable[[str, str], str]
"""Colors a text by its role: error, warning, hint, dim, strong or good."""


def plain(text: str, role: str) -> str:
    return text


class View(NamedTuple):
    """Settings of the caller. Formats ignore those that do not apply."""

    style: Style = plain
    show_values: bool = False
    """Whether values of records may be shown."""
    max_problems: int = 50
    """The maximum number of problems of a score or of a check."""
    quiet: bool = False
    """Whether text shows only the outcome."""


_COMMAND = re.compile(r"^ *(?=::)|##(?=\[)", re.MULTILINE)


def without_commands(text: str) -> str:
    """Keep GitHub Actions from running a name as a command: `::` at the start of a line, or `##[` anywhere in it."""
    return _COMMAND.sub(r"\g<0>·", text)


def clean(text: str) -> str:
    """Make text from a file safe for a terminal or a log: on one line, without control characters and commands."""
    return without_commands("".join(c if c.isprintable() else "·" for c in printable(text)))
