"""The problem codes: what each means, an example of the mistake, and its fix. They are data, in `codes.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).with_name("codes.toml")


class ProblemCode(NamedTuple):
    """A problem code."""

    code: str
    title: str
    meaning: str
    mistake: str
    """An example of the mistake."""
    fix: str
    """The same example without the mistake."""


@cache
def problem_codes() -> dict[str, ProblemCode]:
    """Return all codes by name, read at the first call; plugins add codes of their own (`plugins.codes`)."""
    entries = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return {code: _problem_code(code, **entry) for code, entry in entries.items()}


def _problem_code(code: str, title: str, meaning: str, mistake: str, fix: str) -> ProblemCode:
    return ProblemCode(code, title, " ".join(meaning.split()), mistake, fix)
