"""Small tables with a title: how a track presents a result, for text and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from medcontract.results.score import Score

MOST_CASES = 20


class Table(NamedTuple):
    """A table. The first `text_columns` columns are text; the others are numbers if `numeric` is set."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""
    numeric: bool = True
    text_columns: int = 1

    @property
    def right_aligned(self) -> tuple[bool, ...]:
        """Whether each column is aligned right."""
        return tuple(self.numeric and position >= self.text_columns for position in range(len(self.head)))


def number(value: Any, unit: str = "") -> str:
    """Format a figure for people."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if abs(value) >= 1e9 or (value and abs(value) < 5e-5):
        text = f"{value:.3g}"
    else:
        text = f"{value:,.{2 if unit in ('points', 's', 'MB', '%') else 4}f}"
    return f"{text} {unit}".rstrip()


def figures_table(score: Score) -> Table:
    """The figures of the whole submission that are single numbers."""
    result = score.result or {}
    rows = [
        (figure.name, number(result[figure.name], figure.unit))
        for figure in score._figures
        if figure.name in result and not isinstance(result[figure.name], dict | list)
    ]
    return Table("", ("figure", "value"), rows)


def failure_modes_table(score: Score) -> Iterator[Table]:
    """What to fix first, if the track reports it."""
    if score.failure_modes:
        rows = [(mode.field, mode.difference, number(mode.count)) for mode in score.failure_modes]
        yield first_rows(Table("What to fix first", ("field", "difference", "count"), rows, numeric=False))


def by_class_table(title: str, values: Mapping[str, float]) -> Table:
    return Table(title, ("class", "F1"), [(name, number(value)) for name, value in values.items()])


def first_rows(table: Table) -> Table:
    """The table, truncated if it is long."""
    return table._replace(rows=table.rows[:MOST_CASES], note=more_rows(len(table.rows)))


def more_rows(rows: int) -> str:
    return f"and {rows - MOST_CASES:,} more (--format json lists all)" if rows > MOST_CASES else ""
