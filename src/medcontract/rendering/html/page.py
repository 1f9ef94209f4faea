"""A page of HTML: what it consists of, and the template that all pages share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from medcontract.rendering.html import charts
from medcontract.rendering.shared import clipped
from medcontract.rendering.view import clean
from medcontract.results.tables import MOST_ROWS, Bars, Distribution, Matrix, Table

_LABEL_AND_VALUE = 2
"""The columns of a table that a bar chart shows completely."""
Role = Literal["good", "bad", "warning", "neutral"]


class Block(NamedTuple):
    """A part of a section: `kind` is the name of a macro of the template."""

    kind: str
    data: Any


class Section(NamedTuple):
    title: str
    blocks: Sequence[Block]
    folded: bool = False
    """Whether it is closed until the reader opens it."""


class Fact(NamedTuple):
    """A figure in large type at the top of a page."""

    name: str
    value: str


class Page(NamedTuple):
    """A result, with the most important facts first."""

    title: str
    verdict: str
    role: Role
    about: Sequence[str] = ()
    """What the verdict refers to, such as the file and its contract."""
    facts: Sequence[Fact] = ()
    gate: Markup | None = None
    gate_text: str = ""
    reasons: Sequence[str] = ()
    sections: Sequence[Section] = ()
    version: str = ""


class HeatMap(NamedTuple):
    """A matrix with the share of each cell in its row, in percent."""

    matrix: Matrix
    shares: Sequence[Sequence[int]]


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("medcontract.rendering.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: clean(value) if type(value) is str else value,
    )


def render(page: Page) -> str:
    """The page as one file that needs nothing else."""
    return _environment().get_template("page.html").render(page=page)


def fragment(page: Page) -> str:
    """The page as part of another one, such as a notebook: styles apply inside it only."""
    return _environment().get_template("fragment.html").render(page=page)


def text_block(text: str) -> Block:
    return Block("paragraph", text)


def list_block(lines: Sequence[str]) -> Block:
    return Block("bullets", lines)


def table_blocks(table: Table, most: int = MOST_ROWS) -> list[Block]:
    """The chart of a table, then the table; a matrix is shown as a heat map only."""
    table = table.first(most)
    if isinstance(table.chart, Matrix):
        blocks = [Block("heat_map", _heat_map(table.chart))]
        return [*blocks, Block("note", table.note)] if table.note else blocks
    shown = _safe(table)
    if isinstance(table.chart, Bars):
        same_numbers = len(table.head) == _LABEL_AND_VALUE
        return [
            Block("chart", charts.bars(table.chart, table.title)),
            Block("folded_table" if same_numbers else "table", shown),
        ]
    if isinstance(table.chart, Distribution):
        return [Block("chart", charts.distribution(table.chart)), Block("table", shown)]
    return [Block("table", shown)]


def _safe(table: Table) -> Table:
    return table._replace(head=tuple(clipped(table.head)), rows=[tuple(clipped(row)) for row in table.rows])


def _heat_map(matrix: Matrix) -> HeatMap:
    shares = []
    for row in matrix.counts:
        total = sum(row)
        shares.append([round(100 * count / total) if total else 0 for count in row])
    return HeatMap(matrix, shares)


def table_section(table: Table, title: str = "") -> Section:
    return Section(table.title or title, table_blocks(table))
