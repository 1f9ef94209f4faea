"""Results as HTML pages: one file each, without scripts and without anything to download.

Each result has a function that describes a `Page` (`page.py`): the verdict, the most important figures, then sections
from the most to the least important. The template is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup

from medcontract.rendering import formats_of
from medcontract.rendering import render as rendered
from medcontract.rendering.html import page
from medcontract.rendering.html.checks import preflight_page, validation_page
from medcontract.rendering.html.comparison import comparison_page
from medcontract.rendering.html.leaderboard import leaderboard_page
from medcontract.rendering.html.page import Page
from medcontract.rendering.html.score import score_page
from medcontract.rendering.view import View
from medcontract.results.base import Result
from medcontract.results.comparison import Comparison
from medcontract.results.leaderboard import Leaderboard
from medcontract.results.preflight import Preflight
from medcontract.results.score import Score
from medcontract.results.validation import FileReport, Validation

_PAGES: dict[type, Callable[[Any, View], Page]] = {
    Validation: validation_page,
    Preflight: preflight_page,
    Score: score_page,
    Leaderboard: leaderboard_page,
    Comparison: comparison_page,
}
"""The page of each kind of result."""


def document(result: Result, view: View) -> str:
    """The page of a result."""
    return page.render(_PAGES[type(result)](result, view))


def notebook(result: Result) -> str:
    """The display of a result in a notebook: its page, or its text if it has no page. Values of records are hidden."""
    view = View()
    if isinstance(result, FileReport):
        result = Validation.of((result,))
    describe = _PAGES.get(type(result))
    return page.fragment(describe(result, view)) if describe else _as_text(result, view)


def _as_text(result: Result, view: View) -> str:
    name = "text" if "text" in formats_of(type(result).__name__) else "json"
    text = rendered(result, name, view) if formats_of(type(result).__name__) else result.to_json()
    return Markup("<pre>{}</pre>").format(text)
