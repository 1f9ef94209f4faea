"""A page of HTML: what it consists of, and the template that all pages share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from medcontract.problems import plural
from medcontract.rendering.html import charts
from medcontract.rendering.shared import clipped
from medcontract.rendering.view import clean
from medcontract.results.tables import MOST_ROWS, Bars, Distribution, Matrix, Table

_LABEL_AND_VALUE = 2
"""The columns of a table that a bar chart shows completely."""
_FEW_ROWS, _FIRST_ROWS = 30, 20
"""A table with more rows than the first shows the second number of them; the reader unfolds the others."""
_LONG = 20
"""A column with a longer text is wrapped."""
Role = Literal["good", "bad", "warning", "neutral"]


class Block(NamedTuple):
    """A part of a section: `kind` is the name of a macro of the template."""

    kind: str
    data: Any


class Section(NamedTuple):
    title: str
    blocks: Sequence[Block]


class Fact(NamedTuple):
    """A figure in large type at the top of a page."""

    name: str
    value: str
    note: str = ""
    chart: Markup = Markup()


class Page(NamedTuple):
    """A result, with the most important facts first."""

    title: str
    verdict: str
    role: Role
    about: Sequence[str] = ()
    """What the verdict refers to, such as the team."""
    facts: Sequence[Fact] = ()
    reasons: Sequence[str] = ()
    sections: Sequence[Section] = ()
    version: str = ""


class Cell(NamedTuple):
    text: str
    kind: str = ""
    """The class of the cell: number or long."""
    share: int | None = None
    """The length of a bar behind the number, in percent of the cell."""


class ShownTable(NamedTuple):
    """A table as the template shows it: the first rows, and the others folded."""

    title: str
    head: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    rest: Sequence[Sequence[Cell]]
    more: str
    note: str


class HeatMap(NamedTuple):
    """A matrix with the share of each cell in its row, in percent."""

    matrix: Matrix
    shares: Sequence[Sequence[int]]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("medcontract.rendering.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: clean(value) if type(value) is str else value,
    )
    environment.filters["code"] = _with_code
    environment.filters["breakable"] = _breakable
    return environment


def _with_code(text: str) -> Markup:
    """Text of the catalog, with `names` as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704  # escaped


def _breakable(text: str) -> Markup:
    """A name that may be broken after an underscore or a slash, which browsers do not do by themselves."""
    return Markup(re.sub("(?<=[_/])", "<wbr>", str(escape(clean(text)))))  # noqa: S704  # escaped


def render(page: Page) -> str:
    """The page as one file that needs nothing else."""
    return _environment().get_template("page.html").render(page=page)


def fragment(page: Page) -> str:
    """The page as part of another one, such as a notebook: styles apply inside it only."""
    return _environment().get_template("fragment.html").render(page=page)


def text_block(text: str) -> Block:
    return Block("paragraph", text)


def note_block(text: str) -> Block:
    return Block("note", text)


def list_block(lines: Sequence[str]) -> Block:
    return Block("bullets", lines)


def pairs_block(table: Table) -> Block:
    """A table with two columns as a list that fills the width."""
    return Block("pairs", [clipped(row) for row in table.rows])


def table_blocks(table: Table, most: int = MOST_ROWS) -> list[Block]:
    """The chart of a table, then the table; a matrix is shown as a heat map only."""
    table = table.first(most)
    if isinstance(table.chart, Matrix):
        blocks = [Block("heat_map", _heat_map(table.chart))]
        return [*blocks, note_block(table.note)] if table.note else blocks
    shown = Block("table", _shown(table))
    if isinstance(table.chart, Bars):
        if len(table.head) == _LABEL_AND_VALUE:
            shown = Block("folded_table", shown.data._replace(note=""))
        chart = [Block("chart", charts.bars(table.chart, table.title)), shown]
        return [*chart, note_block(table.note)] if shown.kind == "folded_table" and table.note else chart
    if isinstance(table.chart, Distribution):
        return [Block("chart", charts.distribution(table.chart)), shown]
    return [shown]


def _shown(table: Table) -> ShownTable:
    aligned = table.right_aligned
    head = [Cell(name, "number" if right else "") for name, right in zip(clipped(table.head), aligned, strict=True)]
    shares = table.shares or [None] * len(table.rows)
    texts = [clipped(row) for row in table.rows]
    kinds = [
        "number" if right else "long" if any(len(text) > _LONG for text in column) else ""
        for right, column in zip(aligned, zip(*texts, strict=True), strict=True)
    ]
    rows = [_cells(row, kinds, share) for row, share in zip(texts, shares, strict=True)]
    split = len(rows) if len(rows) <= _FEW_ROWS else _FIRST_ROWS
    return ShownTable(
        table.title, head, rows[:split], rows[split:], f"{plural(len(rows) - split, 'more row')}", table.note
    )


def _cells(texts: Sequence[str], kinds: Sequence[str], share: float | None) -> list[Cell]:
    """The cells of a row; the first number of the row has the bar."""
    bar = kinds.index("number") if share is not None and "number" in kinds else None
    length = round(100 * min(max(share or 0, 0), 1))
    return [
        Cell(text, kind, length if position == bar else None)
        for position, (text, kind) in enumerate(zip(texts, kinds, strict=True))
    ]


def _heat_map(matrix: Matrix) -> HeatMap:
    shares = []
    for row in matrix.counts:
        total = sum(row)
        shares.append([round(100 * count / total) if total else 0 for count in row])
    return HeatMap(matrix, shares)


def table_section(table: Table, title: str = "") -> Section:
    return Section(table.title or title, table_blocks(table))
