"""Pages as HTML: one file each, without scripts and without anything to download. The template is the same for all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from medcontract.catalog import problem_codes
from medcontract.problems import plural
from medcontract.rendering import formats_of, page_of
from medcontract.rendering import render as rendered
from medcontract.rendering.grouping import Grouped, grouped, left
from medcontract.rendering.html import charts
from medcontract.rendering.page import (
    Block,
    Bullets,
    ChangeTable,
    FigureName,
    FileProblems,
    Line,
    Link,
    Outcomes,
    Page,
    Pairs,
    Paragraph,
    Preformatted,
    Problems,
    Section,
    View,
    clean,
    clipped,
)
from medcontract.results.base import Result
from medcontract.results.tables import MOST_ROWS, Bars, Curve, Distribution, Matrix, Ranges, Table
from medcontract.results.validation import FileReport, Validation

_LABEL_AND_VALUE = 2
"""The columns of a table that a bar chart shows completely."""
_MOST = 2000
"""The number of rows of any table."""
_FEW_ROWS, _FIRST_ROWS = 30, 20
"""A table with more rows than the first shows the second number of them; the reader unfolds the others."""
_LONG = 20
"""A column with a longer text is wrapped."""


def document(result: Result, view: View) -> str:
    return write(page_of(result, view), view.show_values)


def write(page: Page, show_values: bool = False) -> str:
    """Return the page as one file that needs nothing else."""
    return _render("page.html", page, show_values)


def fragment(page: Page) -> str:
    """Return the page as part of another one, such as a notebook: styles apply inside it only."""
    return _render("fragment.html", page, False)


def notebook(result: Result) -> str:
    """Return what a notebook displays: the page, or the text if there is no page. Values of records are hidden."""
    view = View()
    if isinstance(result, FileReport):
        result = Validation.of((result,))
    formats = formats_of(type(result).__name__)
    if "html" in formats:
        return fragment(page_of(result, view))
    text = rendered(result, "text" if "text" in formats else "json", view) if formats else result.to_json()
    return Markup("<pre>{}</pre>").format(text)


def _render(template: str, page: Page, show_values: bool) -> str:
    shown = [
        (section.title, [each for block in section.blocks for each in _blocks(block, section, show_values)],
         section.folded)
        for section in page.sections if section.on != "terminal"
    ]  # fmt: skip
    facts = [(fact, "" if fact.gauge is None else charts.gauge(fact.gauge, f"{fact.name} {fact.value}: {fact.note}"))
             for fact in page.facts]  # fmt: skip
    sections = [each for each in shown if each[1]]
    return _environment().get_template(template).render(page=page, facts=facts, sections=sections)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("medcontract.rendering.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_final,
    )
    environment.filters["code"] = _with_code
    environment.filters["breakable"] = _breakable
    environment.filters["plain_words"] = lambda text: text.words if isinstance(text, FigureName) else text
    environment.filters["line"] = _line
    return environment


def _final(value: Any) -> Any:
    if isinstance(value, FigureName):
        return _breakable(value)
    if isinstance(value, Link):
        return _linked(value, clean(value))
    return clean(value) if type(value) is str else value


def _linked(link: Link, text: str) -> Markup:
    return Markup('<a href="{}">{}</a>').format(link.target, text)


def _with_code(text: str) -> Markup:
    """Text of the catalog, with `names` as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704  # escaped


def _breakable(text: str) -> Markup:
    """Return a name that may be broken after an underscore or a slash, which browsers do not do by themselves."""
    shown = Markup(re.sub("(?<=[_/])", "<wbr>", str(escape(clean(text)))))  # noqa: S704  # escaped
    if isinstance(text, FigureName) and "_" in text:
        return Markup('{} <code class="field">{}</code>').format(clean(text.words), clean(text))
    return _linked(text, shown) if isinstance(text, Link) else shown


_CODE = Markup("<code>{}</code>")
_SPANS = {"code": _CODE, "digest": _CODE, "strong": Markup("<strong>{}</strong>")}


def _line(line: Line) -> Markup:
    if any(isinstance(part, Link) for part in line):
        return Markup("").join(_final(part) if isinstance(part, str) else _line([part]) for part in line)
    parts = [(part, "") if isinstance(part, str) else part for part in line]
    return Markup("").join(_SPANS.get(role, Markup("{}")).format(clean(text)) for text, role in parts)


# --- blocks


Shown = tuple[str, object]
"""A macro of the template, and what it shows."""


def _note(text: str) -> list[Shown]:
    return [("note", [text])] if text else []


def _blocks(block: Block, section: Section, show_values: bool) -> Iterator[Shown]:
    match block:
        case Table():
            yield from table_blocks(block, section.most or MOST_ROWS)
        case ChangeTable():
            yield from _changes(block)
        case Problems(parts, totals):
            if found := _groups(parts, show_values):
                yield from [("problem_groups", found), *_note(_left(*parts))]
            yield from _note(f"Total: {'; '.join(totals)}." if totals else "")
        case Outcomes(_, items):
            data = [(item, _groups([item.problems], show_values), _left(item.problems)) for item in items]
            yield "items", data
        case Bullets(lines):
            yield from [("bullets", lines)] if lines else []
        case Pairs(_, rows):
            yield from [("pairs", [clipped(row) for row in rows])] if rows else []
        case Preformatted(lines):
            yield "lines", lines
        case Paragraph(line, note):
            yield "note" if note else "paragraph", line


def _left(*parts: FileProblems) -> str:
    more = sum(map(left, parts))
    return f"and {plural(more, 'more problem')} that are not listed (--max-problems shows more)" if more > 0 else ""


# --- tables


class Cell(NamedTuple):
    text: str
    kind: str = ""
    """The class of the cell: number or long."""
    share: int | None = None
    """The length of a bar behind the number, in percent of the cell."""
    range: tuple[int, int] | None = None
    """The start and the end of its interval on the bar, likewise."""
    cut: bool = False
    """There is a line below its row."""


class ShownTable(NamedTuple):
    """A table as the template shows it: the first rows, and the others folded."""

    title: str
    head: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    rest: Sequence[Sequence[Cell]]
    more: str
    note: str


def table_blocks(table: Table, most: int = MOST_ROWS) -> Iterator[Shown]:
    """Yield the chart of a table, then the table; a matrix is shown as a heat map only."""
    total, most = (len(table.rows), _MOST) if table.total is None else (table.total, most)
    table = table._replace(total=total).first(most)
    if not table.rows:
        return
    if isinstance(table.chart, Matrix):
        counts = table.chart.counts
        wholes = [100 if table.chart.percent else sum(row) for row in counts]
        shares = [
            [round(100 * count / of) if of else 0 for count in row] for row, of in zip(counts, wholes, strict=True)
        ]
        yield from [("heat_map", (table.chart, shares)), *_note(table.note)]
        return
    shown = _shown(table)
    match table.chart:
        case Curve():
            yield from [("curve", charts.curve(table.chart)), ("folded_table", shown)]
            return
        case Distribution():
            yield "chart", charts.distribution(table.chart)
        case Bars():
            yield "chart", charts.bars(table.chart, table.title)
        case Ranges():
            yield "chart", charts.ranges(table.chart, table.title)
    if isinstance(table.chart, Bars | Ranges) and len(table.head) == _LABEL_AND_VALUE:
        yield from [("folded_table", shown._replace(note="")), *_note(table.note)]
    else:
        yield "table", shown


def _shown(table: Table) -> ShownTable:
    if table.about:
        rows = [(*row, about) for row, about in zip(table.rows, table.about, strict=True)]
        table = table._replace(head=(*table.head, "what it is"), rows=rows, last_columns=table.last_columns + 1)
    aligned = table.right_aligned
    head = [Cell(name, "number" if right else "") for name, right in zip(clipped(table.head), aligned, strict=True)]
    shares = table.shares or [None] * len(table.rows)
    texts = [clipped(row) for row in table.rows]
    if table.head[0] == "figure":
        texts = [[FigureName(name), *others] for name, *others in texts]
    kinds = [
        "number" if right else "long" if any(len(text) > _LONG for text in column) else ""
        for right, column in zip(aligned, zip(*texts, strict=True), strict=True)
    ]
    ranges = table.ranges or [None] * len(table.rows)
    shown = [_cells(row, kinds, share, its) for row, share, its in zip(texts, shares, ranges, strict=True)]
    if 0 < table.line_after < len(shown):
        first, *others = shown[table.line_after - 1]
        shown[table.line_after - 1] = [first._replace(cut=True), *others]
    split = len(shown) if len(shown) <= _FEW_ROWS else _FIRST_ROWS
    more = plural(len(shown) - split, "more row")
    return ShownTable(table.title, head, shown[:split], shown[split:], more, table.note)


def _cells(
    texts: Sequence[str], kinds: Sequence[str], share: float | None, interval: tuple[float, float] | None
) -> list[Cell]:
    """Return the cells of a row; the first number of the row has the bar."""
    bar = kinds.index("number") if share is not None and "number" in kinds else None
    length = round(100 * min(max(share or 0, 0), 1))
    ends = None if interval is None else (round(100 * interval[0]), round(100 * interval[1]))
    return [
        Cell(text, kind, length, ends) if position == bar else Cell(text, kind)
        for position, (text, kind) in enumerate(zip(texts, kinds, strict=True))
    ]


def _changes(block: ChangeTable) -> Iterator[Shown]:
    """Rows with the direction of the change, and a line from the value before to that after."""
    table = block.table._replace(total=len(block.table.rows)).first(MOST_ROWS)
    rows = []
    for row, change in zip(table.rows, block.changes, strict=False):
        name, before, after, text = clipped(row)
        text = {"+": "▲ +", "-": "▼ −"}.get(text[0], text[0]) + text[1:]
        label = f"from {before} to {after}, on a scale from 0 to 1"
        chart = "" if change.scale is None else charts.change(*change.scale, change.role, label)
        name = FigureName(name) if table.title == "Figures" else name  # otherwise a class
        rows.append((name, before, after, text, change.role, chart))
    yield from [("changes", rows), *_note(table.note)]


# --- problems by code: the same problem in many places is shown once, with the places


_MOST_PROBLEMS = 100
"""The number of different problems that a group lists."""
_MOST_PLACES = 12
"""The number of other places of a problem that are listed."""


def _groups(parts: Sequence[FileProblems], show_values: bool) -> list[dict[str, object]]:
    """Return all problems by code: errors first, then warnings."""
    by_code: dict[tuple[str, str], list[Grouped]] = {}
    for each in (each for some in grouped(parts, show_values, _MOST_PLACES) for each in some):
        by_code.setdefault((each.problem.severity, each.problem.code), []).append(each)
    return [_group(code, severity, some, show_values) for (severity, code), some in sorted(by_code.items())]


def _group(code: str, severity: str, some: Sequence[Grouped], show_values: bool) -> dict[str, object]:
    hints = {each.problem.hint for each in some}
    shared = next(iter(hints)) if len(hints) == 1 else None
    more = len(some) - _MOST_PROBLEMS
    entry = problem_codes().get(code)
    return {
        "code": code, "severity": severity, "title": entry.title if entry else "",
        "meaning": entry.meaning if entry else "", "hint": shared or "",
        "size": plural(sum(each.total for each in some), "problem"),
        "rows": [_row(each, show_values, not shared) for each in some[:_MOST_PROBLEMS]],
        "left": f"and {more:,} more different ones (--format json lists all)" if more > 0 else "",
    }  # fmt: skip


def _row(group: Grouped, show_values: bool, own_hint: bool) -> dict[str, str | None]:
    """Return a problem, and the other places in the same file where it occurs."""
    first = group.problem
    excerpt = first._excerpt if show_values else None
    indent = len(excerpt) - len(excerpt.lstrip()) if excerpt else 0
    return {
        "file": group.file, "place": first._place, "also": group.others, "hint": first.hint if own_hint else "",
        "message": first.message_with_value if show_values and excerpt is None else first.message,
        "excerpt": clean(excerpt.lstrip()) if excerpt else None,
        "caret": " " * (first._caret - indent) + "^" if excerpt is not None and first._caret >= indent else "",
    }  # fmt: skip
