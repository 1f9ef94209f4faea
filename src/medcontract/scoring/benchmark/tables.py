"""The result of the track as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

from medcontract.problems import plain_name, plural
from medcontract.results.tables import MOST_CASES, MOST_ROWS, Bars, Distribution, Table, more_rows, number
from medcontract.scoring.benchmark.comparing import table_in
from medcontract.types import JsonObject

if TYPE_CHECKING:
    from medcontract.results.score import Score

IntervalOf = Callable[..., tuple[float, float] | None]


def _no_interval(*path: str) -> None:
    """Reports of other tools have no intervals."""


_MOST_METRICS = 6
_MOST_ROWS = 40


def tables(score: Score) -> Iterator[Table]:
    """Return the tables of the report in a score."""
    return report_tables(score.result or {}, score.headline[0], score.processing is not None, score.interval_of)


def report_tables(
    report: JsonObject, headline: str, counted_here: bool, interval_of: IntervalOf = _no_interval
) -> Iterator[Table]:
    """Yield the combined score and its weights first; the worst of many tasks, the first of many metrics.

    `headline` is the name of the combined score, if there is one.
    """
    combined = _combined(report, headline)
    overall = report["overall_scores"]
    if combined:
        yield _overall(headline, number(overall[headline], "", interval_of("overall_scores", headline)), combined)
    intervals = {name: interval_of("overall_scores", name) for name in overall}
    others = [
        (plain_name(name), number(value, "", intervals[name]))
        for name, value in overall.items()
        if not combined or name != headline
    ]
    notes = report["metadata"]["notes"] if counted_here else []  # another tool may write anything there
    note = "; ".join([*_left(others, _MOST_ROWS), *notes])
    shown = [name for name in overall if not combined or name != headline][:_MOST_ROWS]
    drawn = [overall[name] for name in shown], [intervals[name] for name in shown]
    chart = Bars.of([plain_name(name) for name in shown], *drawn)
    yield Table("Metrics" if combined else "Overall", ("metric", "overall"), others[:_MOST_ROWS], note, chart=chart)
    yield from _finer(report, headline if combined else None, counted_here)


def _combined(report: JsonObject, headline: str) -> JsonObject | None:
    """Return how the combined score of this name was computed."""
    return dict(table_in(table_in(table_in(report, "metadata"), "combined_scores"), headline)) or None


def _overall(headline: str, value: str, combined: JsonObject) -> Table:
    """Return the combined score and its weights."""
    name = plain_name(headline)
    weights = [(f"weight of {plain_name(name)}", f"{weight:g}") for name, weight in combined["weights"].items()]
    missing = "redistributed among the others" if combined["renormalize_missing"] else "lost"
    notes = [f"the weight of metrics that a task lacks is {missing}"]
    for category, metrics in combined.get("categories", {}).items():
        notes.append(f"{plain_name(category)} is the mean of {', '.join(map(plain_name, metrics))}")
    return Table("Overall", ("combined score", "value"), [(name, value), *weights], "; ".join(notes))


def _finer(report: JsonObject, combined: str | None, counted_here: bool) -> Iterator[Table]:
    """Tasks, and samples if there are any. `combined` is the name of the combined score."""
    tasks = [((task,), metrics) for task, metrics in report.get("task_scores", {}).items()]
    names = list(dict.fromkeys([*report["overall_scores"], *(name for _, metrics in tasks for name in metrics)]))
    columns = names[:_MOST_METRICS]
    if not columns or not tasks:
        return
    yield _worst("Tasks", ("task",), tasks, columns, _left(names, _MOST_METRICS))
    if counted_here and "detailed_results" in report:
        rows = [((row["task_id"], row["sample_id"]), row["scores"]) for row in report["detailed_results"]]
        yield _worst(
            "Samples", ("task", "sample"), rows, [name for name in columns if name != combined], [], _lowest(rows)
        )
        yield _parts(report["detailed_results"])


def _lowest(rows: Sequence[Scored]) -> Distribution | None:
    """Return the distribution of the lowest metric of each sample."""
    values = [min(metrics.values()) for _, metrics in rows if metrics]
    inside = all(0 <= value <= 1 for value in values)
    return Distribution("samples", "lowest metric of the sample", values) if values and inside else None


def _parts(rows: Sequence[JsonObject]) -> Table:
    """Return the components of the metrics of the worst samples."""
    worst = nsmallest(
        MOST_CASES, rows, lambda row: (min(row["scores"].values(), default=2.0), row["task_id"], row["sample_id"])
    )
    cells = [
        (f"{row['task_id']} {row['sample_id']}", metric, "; ".join(_shown(parts)))
        for row in worst
        for metric, parts in row["breakdown"].items()
    ]
    return Table("Components", ("sample", "metric", "parts"), cells, more_rows(len(rows)), numeric=False)


def _shown(parts: Any) -> Iterator[str]:
    """Numbers, and terms if they may be shown; empty parts are omitted."""
    if not isinstance(parts, dict):
        yield str(parts)
        return
    for name, part in parts.items():
        if isinstance(part, dict):
            yield from (f"{name} {shown}" for shown in _shown(part))
        elif isinstance(part, list):
            if part:
                yield f"{name}: {', '.join(part)}"
        elif isinstance(part, bool):
            yield f"{name}: {'yes' if part else 'no'}"
        elif part:
            yield f"{name} {part:.4g}"


def _left(metrics: Sequence[Any], most: int) -> list[str]:
    left = len(metrics) - most
    return [f"{plural(left, 'more metric')} (json has all)"] if left > 0 else []


Scored = tuple[tuple[str, ...], dict[str, float]]
"""The id of a task or sample, and its metrics."""


def _worst(
    title: str,
    names: tuple[str, ...],
    rows: Sequence[Scored],
    columns: Sequence[str],
    notes: Sequence[str],
    chart: Distribution | None = None,
) -> Table:
    """Tasks with the lowest first metric, samples with the lowest metric."""

    def low(row: Scored) -> tuple[float, tuple[str, ...]]:
        if len(names) > 1:  # samples
            return min(row[1].values(), default=2.0), row[0]
        return next((row[1][name] for name in columns if name in row[1]), 2.0), row[0]

    worst = nsmallest(MOST_ROWS, rows, low)
    cells = [(*name, *(number(metrics.get(column)) for column in columns)) for name, metrics in worst]
    head = (*names, *map(plain_name, columns))
    return Table(
        f"{title}, the worst first", head, cells, "; ".join(notes), text_columns=len(names), total=len(rows),
        chart=chart,
    )  # fmt: skip
