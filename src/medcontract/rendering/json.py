"""JSON, with a published schema for each result (`medcontract/*`)."""

from __future__ import annotations

from medcontract.rendering.view import View
from medcontract.results.base import Result, dumps

__all__ = ["document", "dumps"]


def document(result: Result, view: View) -> str:
    """Serialize a result: what is printed is what the API returns."""
    return result.to_json(view.show_values)
