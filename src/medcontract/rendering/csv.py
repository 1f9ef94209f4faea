"""Results as CSV, for spreadsheets: one row per problem, submission or figure."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

from medcontract.rendering.view import View, clean
from medcontract.results.base import Result

_FORMULA = re.compile(r"(^\s*|;\s*)(?=[=+\-@＝＋－＠])")
"""Where a spreadsheet may take what follows for a formula: at the start, or after a semicolon, which separates cells in
some locales."""


def document(result: Result, view: View) -> str:
    rows = result._rows(view.show_values)
    names = list(dict.fromkeys([*result._columns(), *(name for row in rows for name in row)]))
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(map(_cell, names))
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return written.getvalue()


def _cell(value: Any) -> Any:
    """The value; a text is on one line, with an apostrophe in front of what a spreadsheet would run."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return value
    return _FORMULA.sub(r"\1'", clean(value))
