"""Hints about a path that does not exist."""

from __future__ import annotations

import os
import re
from itertools import islice

_MOST_NAMES = 1000
_CLOSE = 0.8
_DIGITS = re.compile(r"[0-9]+")


def missing_file_hint(path: str) -> str:
    """A similar name in the same folder, or what is wrong with an argument that names a contract."""
    folder, name = os.path.split(path)
    contract, _, given = path.partition("=")
    if contract and os.path.exists(given.strip()):
        return "to specify a contract, write TRACK/NAME=PATH without spaces; see: medcontract schema list"
    similar = _similar(name, folder)
    return f"a similar name exists: '{similar}'" if similar else "check the name and the folder"


def _similar(name: str, folder: str) -> str | None:
    from difflib import get_close_matches

    try:
        with os.scandir(folder or os.curdir) as entries:
            found = [entry.name for entry in islice(entries, _MOST_NAMES)]
    except (OSError, ValueError):
        return None
    same = [other for other in found if _DIGITS.findall(other) == _DIGITS.findall(name)]  # 1.json is not 2.json
    return next(iter(get_close_matches(name, same, 1, _CLOSE)), None)
