"""The list of problem codes: what each means, an example of the mistake, and its fix.

`medcontract explain` and `docs/codes.md` are generated from it, and a test proves that each code can occur. Plugins can
add codes with another prefix (`contracts.custom_codes`).
MC0xx: file and syntax, MC1xx: structure (what JSON Schema can express), MC2xx: rules within a file,
MC3xx: rules across files, MC4xx: gates, MC5xx: advice.
"""

from __future__ import annotations

from medcontract.catalog import across_files, files, gates_and_advice, structure, within_file
from medcontract.catalog.entry import Entry

__all__ = ["CATALOGUE", "Entry"]

_PARTS = (files, structure, within_file, across_files, gates_and_advice)

CATALOGUE: dict[str, Entry] = {entry.code: entry for part in _PARTS for entry in part.ENTRIES}
