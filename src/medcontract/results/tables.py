"""Tables with a title, and charts of the same numbers: how a track presents a result, for all formats for people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from medcontract.results.score import Score

MOST_CASES = 20
"""The number of rows of a long table in text and Markdown."""
MOST_ROWS = 200
"""The number of rows of a long table in HTML, the largest of all formats except JSON."""


Interval = tuple[float, float]


class Bars(Struct, frozen=True, tag=True):
    """A bar for each label, from 0 to `high`; a missing value has no bar."""

    labels: Sequence[str]
    values: Sequence[float | None]
    high: float = 1
    unit: str = ""
    intervals: Sequence[Interval | None] = ()
    """The interval of each value, drawn on its bar."""

    @classmethod
    def of(
        cls, labels: Sequence[str], values: Sequence[float | None], intervals: Sequence[Interval | None] = ()
    ) -> Bars | None:
        """Bars up to 1, or to the largest value if that is more; None if they cannot start at 0."""
        known = [value for value in values if value is not None]
        if not known or min(known) < 0:
            return None
        return cls(labels, values, max(1.0, *known), intervals=intervals)


class Ranges(Struct, frozen=True, tag=True):
    """A point and its interval for each label, on an axis from the lowest bound to the highest."""

    labels: Sequence[str]
    values: Sequence[float]
    intervals: Sequence[Interval | None]
    texts: Sequence[str]
    """The value of each label, as shown."""
    strong: int = 0
    """The number of labels, from the first, that stand out."""
    whole: bool = False
    """The values are whole numbers."""


class Matrix(Struct, frozen=True, tag=True):
    """Counts by row and column, shown as a heat map: each cell in proportion to its row."""

    rows: Sequence[str]
    columns: Sequence[str]
    counts: Sequence[Sequence[int]]
    row_title: str = "true"
    column_title: str = "predicted"
    about: str = "The stronger the color, the larger the share of its row."
    percent: bool = False
    """The numbers are shares, in percent, of the same whole; none is on the diagonal."""


class Distribution(Struct, frozen=True, tag=True):
    """A histogram of values from `low` to `high`."""

    name: str
    """What is counted, in the plural."""
    axis: str
    """The name of the values."""
    values: Sequence[float]
    low: float = 0
    high: float = 1


class Curve(Struct, frozen=True, tag=True):
    """A line through points from (0, 0) to (1, 1), with a diagonal to compare it with."""

    x: str
    y: str
    points: Sequence[tuple[float, float]]
    diagonal: str
    """What the diagonal is."""
    dots: bool = False
    """The points are measurements, and not the corners of a line."""


Chart = Bars | Ranges | Matrix | Distribution | Curve


class Table(NamedTuple):
    """A table. The first `text_columns` columns are text; the others are numbers if `numeric` is set."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""
    numeric: bool = True
    text_columns: int = 1
    total: int | None = None
    """The number of rows before the table was limited to `MOST_ROWS`. None: the table is never truncated."""
    chart: Chart | None = None
    """The same numbers as a chart, for formats that can show one."""
    last_columns: int = 0
    """The number of columns after the numbers that are text."""
    shares: Sequence[float | None] = ()
    """The first number of each row as a share of its range, from 0 to 1; None if the range is not known."""
    ranges: Sequence[Interval | None] = ()
    """The interval of the first number of each row, as shares of its range."""
    about: Sequence[str] = ()
    """What each row is, for formats with room for it."""
    pages_only: bool = False
    """It is too long for a terminal."""
    line_after: int = 0
    """The number of rows above a line that divides the table."""

    def first(self, most: int) -> Table:
        """Return the table with at most this many rows, if it is a long one; a note counts the others."""
        if self.total is None:
            return self
        left = self.total - min(most, len(self.rows))
        notes = [f"and {left:,} more (--format json lists all)"] if left > 0 else []
        note = "; ".join([*notes, *filter(None, [self.note])])
        columns = {name: getattr(self, name)[:most] for name in ("rows", "shares", "ranges", "about")}
        return self._replace(**columns, note=note)

    def only(self, columns: Sequence[int]) -> Table:
        """Return the table with some of its columns, by position in this order."""
        end = len(self.head) - self.last_columns
        return self._replace(
            head=tuple(self.head[n] for n in columns), rows=[tuple(row[n] for n in columns) for row in self.rows],
            text_columns=sum(n < self.text_columns for n in columns), last_columns=sum(n >= end for n in columns),
        )  # fmt: skip

    @property
    def right_aligned(self) -> tuple[bool, ...]:
        """Whether each column is aligned right."""
        end = len(self.head) - self.last_columns
        return tuple(self.numeric and self.text_columns <= position < end for position in range(len(self.head)))


def number(value: Any, unit: str = "", interval: Interval | None = None) -> str:
    """Format a figure for people: 0.8420 or, with its interval, 0.8420 [0.8010, 0.8800]."""
    if value is None:
        return "–"
    if interval is not None:
        text, low, high = (number(each, unit).removesuffix(unit).rstrip() for each in (value, *interval))
        return f"{text} [{low}, {high}] {unit}".rstrip()
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
    """Return the figures of the whole submission that are single numbers."""
    result = score.result or {}
    shown = [
        (figure, result[figure.name])
        for figure in score._figures
        if figure.name in result and not isinstance(result[figure.name], dict | list)
    ]
    intervals = [score.interval_of(figure.name) for figure, _ in shown]
    rows = [
        (figure.name, number(value, figure.unit, interval))
        for (figure, value), interval in zip(shown, intervals, strict=True)
    ]
    return Table(
        "", ("figure", "value"), rows, shares=[share_of(figure, value) for figure, value in shown],
        ranges=[range_of(figure, each) for (figure, _), each in zip(shown, intervals, strict=True)],
    )  # fmt: skip


def explained(table: Table, score: Score) -> Table:
    """Return a table of figures with what they are: formulas with the values of parameters in place of their names."""
    if table.head != ("figure", "value"):
        return table
    about = {figure.name: figure.about for figure in score._figures}
    parameters = score.protocol.parameters
    numbers = {name: value for name, value in parameters.items() if isinstance(value, int | float)}
    names = "|".join(re.escape(name) for name in sorted(numbers, key=len, reverse=True)) or r"\b\B"
    named = re.compile(rf"(?<![\w.-])(?:{names})(?![\w-])")
    formulas = [named.sub(lambda found: parameter_text(numbers[found[0]]), about.get(row[0], "")) for row in table.rows]
    return table._replace(about=formulas) if any(formulas) else table


def parameter_text(value: float | str | None) -> str:
    """Return a parameter as a decimal, with all digits."""
    if value is None or isinstance(value, str):
        return value or "null"
    return f"{Decimal(repr(value)).normalize():f}" if abs(value) < 10**15 else repr(float(value))


def share_of(figure: Any, value: Any) -> float | None:
    """Return the value of a figure (`scoring.track.Figure`) as a share of its range, if this starts at 0 and ends."""
    if figure.low != 0 or not figure.high or not isinstance(value, int | float) or not 0 <= value <= figure.high:
        return None
    return float(value / figure.high)


def range_of(figure: Any, interval: Interval | None) -> Interval | None:
    """Return an interval as shares of the range of its figure, if it is within that."""
    low, high = (share_of(figure, bound) for bound in interval or (None, None))
    return None if low is None or high is None else (low, high)


def failure_modes_table(score: Score) -> Iterator[Table]:
    """Yield what to fix first, if the track reports it."""
    if score.failure_modes:
        rows = [(mode.field, mode.difference, number(mode.count)) for mode in score.failure_modes]
        yield long_table(Table("What to fix first", ("field", "difference", "count"), rows, numeric=False))


def by_class_table(title: str, score: Score, field: str) -> Table:
    values: Mapping[str, float] = (score.result or {})[field]
    intervals = [score.interval_of(field, name) for name in values]
    rows = [(name, number(each, "", found)) for (name, each), found in zip(values.items(), intervals, strict=True)]
    return Table(
        title, ("class", "F1"), rows, chart=Bars(list(values), list(values.values()), intervals=intervals)
    )  # fmt: skip


def matrix_table(title: str, matrix: Mapping[str, Mapping[str, int]]) -> Table:
    """Return a confusion matrix as a heat map on pages."""
    columns = tuple(next(iter(matrix.values()), {}))
    rows = [(true, *(str(times or "·") for times in row.values())) for true, row in matrix.items()]
    chart = Matrix(list(matrix), columns, [list(row.values()) for row in matrix.values()])
    return Table(title, ("true \\ predicted", *columns), rows, chart=chart, pages_only=True)


def class_table(
    title: str, matrix: Mapping[str, Mapping[str, int]], meanings: Mapping[str, str] | None = None
) -> Table:
    """Precision, recall and the number of cases of each class, from a confusion matrix with `unprocessed`."""
    rows = []
    for name, row in matrix.items():
        right, cases, predicted = row[name], sum(row.values()), sum(each.get(name, 0) for each in matrix.values())
        shares = [number(right / of if of else None) for of in (predicted, cases)]
        meaning = [meanings.get(name, "")] if meanings else []
        rows.append((name, *meaning, *shares, number(cases)))
    head = ("class", *(["meaning"] if meanings else []), "precision", "recall", "cases")
    return Table(f"{title}by class", head, rows, text_columns=len(head) - 3, pages_only=True)


def long_table(table: Table) -> Table:
    """Return a table that formats may truncate."""
    return table._replace(rows=table.rows[:MOST_ROWS], total=len(table.rows))


def more_rows(rows: int, most: int = MOST_CASES) -> str:
    return f"and {rows - most:,} more (--format json lists all)" if rows > most else ""


_BINS, _MOST_POINTS = 10, 200


def curves(
    title: str, positives: Mapping[float | None, int], negatives: Mapping[float | None, int], is_share: bool
) -> Iterator[Table]:
    """Yield the ROC curve of a score and, of probabilities, their calibration. None is a case that is not processed.

    The counts of cases are by score. A case without a score is never found, or found before all others.
    """
    total, others = sum(positives.values()), sum(negatives.values())
    if not total or not others:
        return
    found, wrong = 0, negatives.get(None, 0)
    points = [(0.0, 0.0), (wrong / others, 0.0)]
    scores = sorted({score for score in (*positives, *negatives) if score is not None}, reverse=True)
    for score in scores:
        found, wrong = found + positives.get(score, 0), wrong + negatives.get(score, 0)
        points.append((wrong / others, found / total))
    points = [*points[:: max(1, len(points) // _MOST_POINTS)], points[-1], (1.0, 1.0)]
    axes = "share of the negative cases above the threshold", "share of the positive cases"
    rows = [(number(x), number(y)) for x, y in points]
    yield Table(
        f"ROC of {title}", ("negative", "positive"), rows, chart=Curve(*axes, points, "chance"), text_columns=0,
        pages_only=True,
    )  # fmt: skip
    if not is_share:
        return
    bins: list[list[float]] = [[0, 0, 0] for _ in range(_BINS)]
    for score in scores:
        yes, no = positives.get(score, 0), negatives.get(score, 0)
        place = bins[min(int(score * _BINS), _BINS - 1)]
        place[0], place[1], place[2] = place[0] + yes + no, place[1] + score * (yes + no), place[2] + yes
    measured = [(sum_ / cases, yes / cases, int(cases)) for cases, sum_, yes in bins if cases]
    counted = [(number(x), number(y), number(cases)) for x, y, cases in measured]
    chart = Curve(
        "mean probability of a tenth of the scale", "share that is positive", [(x, y) for x, y, _ in measured],
        "calibrated", dots=True,
    )  # fmt: skip
    head = ("mean probability", "positive", "cases")
    yield Table(f"Calibration of {title}", head, counted, chart=chart, text_columns=0, pages_only=True)
