"""Render results as text, by format. Nothing here prints, reads a file or exits.

A format is a function that takes a result and a `View` and returns text. Text, Markdown and HTML are writers of the
`Page` that `pages` makes of a result; the others read the result. Formats are registered in `_WRITERS`, and in
`_RESULTS` by the class of the result. The options of the commands, their help texts and the file extensions of `--out`
are derived from these tables.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medcontract.rendering.page import Page, View
    from medcontract.results.base import Result

Renderer = Callable[[Any, "View"], str]

_WRITERS = {
    "text": "text:document",
    "json": "data:json_document",
    "markdown": "markdown:document",
    "csv": "data:csv_document",
    "github": "ci:github",
    "gitlab": "ci:gitlab",
    "sarif": "ci:sarif",
    "junit": "ci:junit",
    "html": "html:document",
}
"""The function of each format, after its module in this package."""
_RESULTS = {
    "Validation": ("checks:validation", "text json markdown csv github gitlab sarif junit html"),
    "Preflight": ("checks:preflight", "text json markdown csv github gitlab sarif junit html"),
    "Score": ("score:score", "text json markdown html"),
    "Leaderboard": ("leaderboard:leaderboard", "text json markdown csv html"),
    "Comparison": ("comparison:comparison", "text json markdown csv html"),
    "Rehearsal": ("rehearsal:rehearsal", "text json markdown html"),
    "Verification": ("comparison:verification", "text json markdown html"),
    "Fix": ("checks:fix", "text"),
    "CacheInfo": ("reference:cache_info", "text json"),
    "Explanation": ("reference:explanation", "text json"),
    "ContractList": ("reference:contract_list", "text json"),
    "ContractSchema": ("reference:contract_schema", "json markdown"),
    "Normalization": ("reference:normalization", "text json"),
    "Protocol": ("reference:protocol", "text json"),
    "ProtocolCheck": ("reference:protocol_check", "text json"),
    "ProtocolList": ("reference:protocol_list", "text json"),
    "SchemaDiff": ("reference:schema_diff", "text json"),
    "SchemaCheck": ("reference:schema_check", "text"),
}
"""For each class of results, the function in `pages` that describes it as a `Page`, and its formats."""
RENDERERS: dict[tuple[str, str], str | Renderer] = {
    (result, name): _WRITERS[name] for result, (_, names) in _RESULTS.items() for name in names.split()
}
"""The function for each class of results and format: itself, or as in `_WRITERS`."""

QUIET = frozenset({
    "Validation", "Fix", "Preflight", "Score", "Leaderboard", "Comparison", "Rehearsal", "SchemaDiff", "ProtocolCheck",
    "Verification",
})  # fmt: skip
"""Classes of results whose text is shorter with `--quiet`."""

EXTENSIONS = {
    ".txt": "text",
    "": "text",
    ".json": "json",
    ".md": "markdown",
    ".html": "html",
    ".csv": "csv",
    ".sarif": "sarif",
    ".xml": "junit",
}
"""The format for each file extension. Formats without an extension are selected with `--format`."""

WITH_EXCERPTS = frozenset({"text", "html"})
"""Formats that show the source line of a problem, if values may be shown."""
_AS_TEXT = frozenset({"text", "markdown", "csv", "junit", "html"})
"""Formats in which a name is not encoded, so that a log would take it for a command of a CI system."""
REPORT_FORMAT = "markdown"
"""The format of reports for participants, unless another one is chosen."""


def formats_of(result: str) -> list[str]:
    """Return the formats that a class of results can be rendered in."""
    return [format_name for name, format_name in RENDERERS if name == result]


def all_formats() -> tuple[str, ...]:
    """Every format that some class of results can be rendered in."""
    return tuple(dict.fromkeys(format_name for _, format_name in RENDERERS))


def extensions_of(result: str) -> dict[str, str]:
    """Return the file extensions of these formats."""
    known = formats_of(result)
    return {extension: format_name for extension, format_name in EXTENSIONS.items() if format_name in known}


def page_of(result: Result, view: View) -> Page:
    """Describe a result. Values of records are included only if the view shows them."""
    page: Page = _function(f"pages.{_RESULTS[type(result).__name__][0]}")(result, view)
    return page


def render(result: Result, format_name: str = "text", view: View | None = None) -> str:
    """Render a result. Raises `KeyError` if the format is not registered for it."""
    from medcontract.rendering.page import View, without_commands

    found = RENDERERS[type(result).__name__, format_name]
    renderer: Renderer = _function(found) if isinstance(found, str) else found
    text = renderer(result, View() if view is None else view)
    return without_commands(text) if format_name in _AS_TEXT else text


def _function(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    function: Callable[..., Any] = getattr(import_module(f"medcontract.rendering.{module}"), name)
    return function
