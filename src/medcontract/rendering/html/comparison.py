"""The page of a comparison of two scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from medcontract.problems import plain_name, plural
from medcontract.rendering.html import charts, page
from medcontract.rendering.html.page import Block, Fact, Page, Role, Section
from medcontract.rendering.shared import gate_rows, versions, with_direction
from medcontract.rendering.view import View
from medcontract.results.comparison import ComparedRow, Comparison, Delta
from medcontract.results.tables import MOST_ROWS, Table, more_rows, number

_ROW_AND_COLUMN = 3
"""The parts of the name of a cell of a matrix, such as `confusion_matrix.NV.MEL`."""


class _Change(NamedTuple):
    name: str
    before: str
    after: str
    change: str
    role: Role
    chart: Any


def comparison_page(compared: Comparison, view: View) -> Page:
    first = compared.figures[0] if compared.figures else None
    verdict, role = _verdict(compared, first)
    name = "" if first is None else with_direction(plain_name(first.name), first.name in compared._lower)
    facts = [] if first is None else [Fact(name, _from_to(first, compared), _change_text(first, compared))]
    about = [f"Before: {compared.before}. After: {compared.after}."]
    if compared._names:
        about.append(f"From {' to '.join(compared._names)}.")
    sections = [*_figure_sections(compared), *_row_sections(compared)]
    if compared.warnings:
        sections.append(Section("Warnings", [page.list_block(compared.warnings)]))
    sections.append(Section("Protocol", [page.text_block(f"Fingerprint {compared.fingerprint} in both.")]))
    return Page(
        title=f"Comparison: {compared.track}", verdict=verdict, role=role, about=about, facts=facts,
        reasons=compared.reasons, sections=sections, version=versions(compared),
    )  # fmt: skip


def _verdict(compared: Comparison, headline: Delta | None) -> tuple[str, Role]:
    if headline is None or headline.delta is None:
        return "Compared", "neutral"
    if headline.delta == 0:
        return "Unchanged", "neutral"
    if (headline.delta > 0) == (headline.name in compared._lower):
        return "Worse", "bad"
    counts = compared.after in ("valid", "GO")
    return ("Better", "good") if counts else (f"Better, but {compared.after}", "warning")


# --- figures


def _figure_sections(compared: Comparison) -> Iterator[Section]:
    """Figures of the whole submission, then those by class, and the cells of matrices."""
    headline = compared.figures[0].name if compared.figures else ""
    parts: dict[str, list[Delta]] = {"": []}
    for delta in compared.figures:
        group, dot, _ = delta.name.partition(".")
        known = any(figure.name == group for figure in compared._figures)
        parts.setdefault(group if dot and known else "", []).append(delta)
    for group, deltas in parts.items():
        changed = [delta for delta in deltas if delta.changed]
        same = len(deltas) - len(changed)
        blocks = []
        if changed and _is_matrix(changed):
            blocks = page.table_blocks(_matrix(changed))
        elif changed:
            cut = len(group) + 1 if group else 0
            blocks = [Block("changes", [_change(delta, compared, headline, cut) for delta in changed[:MOST_ROWS]])]
        left = more_rows(len(changed), MOST_ROWS) if blocks and blocks[0].kind == "changes" else ""
        notes = [left] * bool(left) + [f"Unchanged: {plural(same, 'figure')}."] * bool(same)
        if blocks or (notes and not group):
            yield Section(group or "Figures", [*blocks, *map(page.note_block, notes)])


def _is_matrix(deltas: Sequence[Delta]) -> bool:
    return all(delta.name.count(".") == _ROW_AND_COLUMN - 1 for delta in deltas)


def _matrix(deltas: Sequence[Delta]) -> Table:
    """The changes of the cells of a matrix; `·` is unchanged."""
    cells = {tuple(delta.name.split(".")[1:]): delta.delta for delta in deltas}
    rows, columns = ([*dict.fromkeys(name[side] for name in cells)] for side in (0, 1))
    columns = [name for name in rows if name in columns] + [name for name in columns if name not in rows]
    lines = [(row, *(_signed(cells.get((row, column))) for column in columns)) for row in rows]
    return Table("", ("true \\ predicted", *columns), lines, "Changes of the counts.")


def _signed(change: float | None) -> str:
    return "·" if not change else f"{change:+,g}".replace("-", "−")


def _change(delta: Delta, compared: Comparison, headline: str, cut: int) -> _Change:
    figure = _figure_of(delta.name, compared)
    role = _role(delta, figure, compared, headline)
    chart: Any = ""
    before, after = delta.before, delta.after
    if figure is not None and (figure.low, figure.high) == (0, 1) and before is not None and after is not None:
        chart = charts.change(before, after, role, f"from {before:.4g} to {after:.4g}, on a scale from 0 to 1")
    old, new = (_shown(value, delta, figure) for value in (before, after))
    return _Change(delta.name[cut:], old, new, _change_text(delta, compared), role, chart)


def _figure_of(name: str, compared: Comparison) -> Any:
    """The description of a figure; those by class have the name of the group."""
    names = (name, name.partition(".")[0])
    return next((figure for wanted in names for figure in compared._figures if figure.name == wanted), None)


def _role(delta: Delta, figure: Any, compared: Comparison, headline: str) -> Role:
    """Whether the change is good, if it is known in which direction the figure is better."""
    name = delta.name if figure is None else figure.name
    lower = name in compared._lower
    known = lower or delta.name == headline or (figure is not None and figure.perfect is not None)
    if not known or not delta.delta:
        return "neutral"
    return "good" if (delta.delta > 0) != lower else "bad"


def _from_to(delta: Delta, compared: Comparison) -> str:
    figure = _figure_of(delta.name, compared)
    return f"{_shown(delta.before, delta, figure)} → {_shown(delta.after, delta, figure)}"


def _change_text(delta: Delta, compared: Comparison) -> str:
    if delta.delta is None or not delta.delta:
        return "–" if delta.delta is None else "no change"
    text = _shown(abs(delta.delta), delta, _figure_of(delta.name, compared)).removesuffix(" %")  # not percent of it
    return f"▲ +{text}" if delta.delta > 0 else f"▼ −{text}"


def _shown(value: float | None, delta: Delta, figure: Any) -> str:
    """Counts, which are integers in a result, without decimals; other figures with their unit."""
    known = [each for each in (delta.before, delta.after) if each is not None]
    if value is not None and all(isinstance(each, int) for each in known):
        return f"{value:,.0f}"
    return number(None if value is None else float(value), figure.unit if figure is not None else "")


# --- rows


def _row_sections(compared: Comparison) -> Iterator[Section]:
    for kind in compared._kinds:
        own = [row for row in compared.rows if row.kind == kind.kind]
        if kind.judged:
            if own:
                yield page.table_section(gate_rows(kind.title, own))
            continue
        moved = [row for row in own if row.changed]
        for word, some in (
            ("worsened", [row for row in moved if row._trend < 0]),
            ("improved", [row for row in moved if row._trend > 0]),
            ("changed in other ways", [row for row in moved if not row._trend]),
        ):
            if some:
                title = f"{kind.title.capitalize()} that {word} ({len(some):,})"
                yield page.table_section(_rows_table(title, kind.title[:-1], some))
        same = len(own) - len(moved)
        if same:
            yield Section("", [page.note_block(f"Unchanged {kind.title}: {same:,}.")])


def _rows_table(title: str, what: str, rows: Sequence[ComparedRow]) -> Table:
    """One line per row: the figure that decides, then the others that changed."""
    name = rows[0]._main.name if rows[0]._main else ""
    lines = [(row.id, *_main_cells(row), _others(row)) for row in rows[:MOST_ROWS]]
    head = (what, f"{name} before", "after", "change", "other changes")
    return Table(title, head, lines, last_columns=1, total=len(rows))


def _main_cells(row: ComparedRow) -> tuple[str, str, str]:
    main = row._main or Delta.of("")
    change = "–" if main.delta is None else _plain(main.delta)
    return _plain(main.before), _plain(main.after), f"+{change}" if main.delta and main.delta > 0 else change


def _plain(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.4f}".rstrip("0").rstrip(".").replace("-", "−")


def _others(row: ComparedRow) -> str:
    """The other figures of a row that changed, and its state."""
    others = [figure for figure in row.figures if figure.changed and figure != row._main]
    texts = [f"{figure.name} {_plain(figure.before)} → {_plain(figure.after)}" for figure in others]
    if row.before != row.after:
        texts.append(f"valid {row.before or '–'} → {row.after or '–'}")
    return ", ".join(texts)
