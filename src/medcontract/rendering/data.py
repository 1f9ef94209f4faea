"""Results for programs: JSON, with a published schema for each result (`medcontract/*`), and CSV for spreadsheets."""

from __future__ import annotations

import csv
import io
import re

from medcontract.rendering.page import View, clean
from medcontract.results.base import Result, dumps

__all__ = ["csv_document", "dumps", "json_document"]


def json_document(result: Result, view: View) -> str:
    """Serialize a result: what is printed is what the API returns."""
    return result.to_json(view.show_values)


_FORMULA = re.compile(r"(^\s*|;\s*)(?=[=+\-@＝＋－＠])")
"""Where a spreadsheet may take what follows for a formula: at the start, or after a semicolon, which separates cells in
some locales."""


def csv_document(result: Result, view: View) -> str:
    """Write one row per problem, submission or figure."""
    rows = result._rows(view.show_values)
    names = result._head(rows)
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(map(_cell, names))
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return written.getvalue()


def _cell(value: object) -> object:
    """Return the value; a text is on one line, with an apostrophe in front of what a spreadsheet would run."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return value
    return _FORMULA.sub(r"\1'", clean(value))
