"""The page of a report that is not a score, such as one of another tool."""

from __future__ import annotations

from collections.abc import Sequence

from medcontract.problems import plain_name
from medcontract.rendering.html.page import Fact, Page, table_section
from medcontract.results.tables import Table, number


def report_page(title: str, subject: str, headline: str, value: float | None, tables: Sequence[Table]) -> Page:
    """The subject, the headline in large type, if there is one, then the tables; the headline is not repeated."""
    facts = [Fact(plain_name(headline), number(value))] if value is not None else []
    sections = [table_section(table) for table in tables if table.rows and table.title]
    return Page(title=title, verdict=subject, role="neutral", facts=facts, sections=sections)
