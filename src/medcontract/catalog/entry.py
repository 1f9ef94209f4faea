"""What the catalog knows about a problem code."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """A problem code."""

    code: str
    title: str
    meaning: str
    mistake: str
    """An example of the mistake."""
    fix: str
    """The same example without the mistake."""
