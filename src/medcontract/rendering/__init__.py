"""Render results as text, by format. Nothing here prints, reads a file or exits.

A format is a module of functions that take a result and a `View` and return text. Each function is registered in
`RENDERERS`, by the class of the result and the format. The options of the commands, their help texts and the file
extensions of `--out` are derived from this table.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medcontract.rendering.view import View
    from medcontract.results.base import Result

Renderer = Callable[[Any, "View"], str]

RENDERERS: dict[tuple[str, str], str | Renderer] = {
    ("Validation", "text"): "text.validation:validation",
    ("Fix", "text"): "text.fix:fix",
    ("CacheInfo", "text"): "text.cache:cache_info",
    ("Preflight", "text"): "text.preflight:preflight",
    ("Score", "text"): "text.score:score",
    ("Leaderboard", "text"): "text.leaderboard:leaderboard",
    ("Comparison", "text"): "text.comparison:comparison",
    ("Explanation", "text"): "text.reference:explanation",
    ("ContractList", "text"): "text.reference:contract_list",
    ("Normalization", "text"): "text.reference:normalization",
    ("Protocol", "text"): "text.reference:protocol",
    ("ProtocolCheck", "text"): "text.reference:protocol_check",
    ("ProtocolList", "text"): "text.reference:protocol_list",
    ("SchemaDiff", "text"): "text.schemas:schema_diff",
    ("SchemaCheck", "text"): "text.schemas:schema_check",
    ("Validation", "json"): "json:document",
    ("CacheInfo", "json"): "json:document",
    ("Preflight", "json"): "json:document",
    ("Score", "json"): "json:document",
    ("Leaderboard", "json"): "json:document",
    ("Comparison", "json"): "json:document",
    ("Explanation", "json"): "json:document",
    ("ContractList", "json"): "json:document",
    ("Normalization", "json"): "json:document",
    ("Protocol", "json"): "json:document",
    ("ProtocolCheck", "json"): "json:document",
    ("ProtocolList", "json"): "json:document",
    ("SchemaDiff", "json"): "json:document",
    ("Score", "markdown"): "markdown:score",
    ("Leaderboard", "markdown"): "markdown:leaderboard",
    ("Comparison", "markdown"): "markdown:comparison",
    ("ContractSchema", "json"): "json:document",
    ("ContractSchema", "markdown"): "markdown:contract_schema",
    ("Validation", "markdown"): "markdown:validation",
    ("Preflight", "markdown"): "markdown:preflight",
    ("Validation", "csv"): "csv:document",
    ("Preflight", "csv"): "csv:document",
    ("Leaderboard", "csv"): "csv:document",
    ("Comparison", "csv"): "csv:document",
    ("Validation", "github"): "github:document",
    ("Preflight", "github"): "github:document",
    ("Validation", "gitlab"): "gitlab:document",
    ("Preflight", "gitlab"): "gitlab:document",
    ("Validation", "sarif"): "sarif:document",
    ("Preflight", "sarif"): "sarif:document",
    ("Validation", "junit"): "junit:document",
    ("Preflight", "junit"): "junit:document",
    ("Validation", "html"): "html:document",
    ("Preflight", "html"): "html:document",
    ("Score", "html"): "html:document",
    ("Leaderboard", "html"): "html:document",
    ("Comparison", "html"): "html:document",
}
"""The function for each class of results and format: itself, or its module in this package and its name."""

QUIET: dict[str, str | Renderer] = {
    "Validation": "text.quiet:validation",
    "Fix": "text.quiet:fix",
    "Preflight": "text.quiet:preflight",
    "Score": "text.quiet:score",
    "Leaderboard": "text.quiet:leaderboard",
    "Comparison": "text.quiet:comparison",
    "SchemaDiff": "text.quiet:schema_diff",
    "ProtocolCheck": "text.quiet:protocol_check",
}
"""The function for the text of each class of results with `--quiet`."""

EXTENSIONS: dict[str, str] = {
    ".txt": "text",
    "": "text",
    ".json": "json",
    ".md": "markdown",
    ".html": "html",
    ".csv": "csv",
    ".sarif": "sarif",
    ".xml": "junit",
}
"""The format for each file extension. Formats that no extension stands for are selected with `--format`."""


WITH_EXCERPTS = frozenset({"text", "html"})
"""Formats that show the source line of a problem, if values may be shown."""

_AS_TEXT = frozenset({"text", "markdown", "csv", "junit", "html"})
"""Formats in which a name is not encoded, so that a log would take it for a command of a CI system."""

REPORT_FORMAT = "markdown"
"""The format of reports for participants, unless another one is chosen."""


def formats_of(result: str) -> list[str]:
    """The formats that a class of results can be rendered in."""
    return [format_name for name, format_name in RENDERERS if name == result]


def all_formats() -> tuple[str, ...]:
    """Every format that some class of results can be rendered in."""
    return tuple(dict.fromkeys(format_name for _, format_name in RENDERERS))


def extensions_of(result: str) -> dict[str, str]:
    """The file extensions of these formats."""
    known = formats_of(result)
    return {extension: format_name for extension, format_name in EXTENSIONS.items() if format_name in known}


def render(result: Result, format_name: str = "text", view: View | None = None) -> str:
    """Render a result. Raises `KeyError` if the format is not registered for it."""
    from medcontract.rendering.view import View, without_commands

    view = View() if view is None else view
    name = type(result).__name__
    found = RENDERERS[name, format_name]
    if view.quiet and format_name == "text":
        found = QUIET.get(name, found)
    if isinstance(found, str):
        module, _, function = found.partition(":")
        found = getattr(import_module(f"medcontract.rendering.{module}"), function)
    text = found(result, view)
    return without_commands(text) if format_name in _AS_TEXT else text
