"""Results as titled tables: what text and Markdown have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, NamedTuple

from medcontract.problems import plain_name
from medcontract.results.score import Score

if TYPE_CHECKING:
    from medcontract.scoring.engine import Figure

MOST_CASES = 20
_MOST_METRICS = 6
_MOST_ROWS = 40


class Table(NamedTuple):
    """A few rows of cells. The first column is text, the others are numbers, unless `numeric` says no."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""
    numeric: bool = True


def number(value: Any, unit: str = "") -> str:
    """A figure as people read it."""
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


def headline(score: Score) -> tuple[str, str]:
    """The name and value of the figure that matters most."""
    units = {figure.name: figure.unit for figure in score._figures}
    for name, value in (score._headline, score._second):
        if value is not None:
            return plain_name(name), number(value, units.get(name, ""))
    return plain_name(score._headline[0]), number(None)


def tables(score: Score) -> Iterator[Table]:
    """The figures of the submission, then finer ones."""
    result = score.result
    if result is None:
        return
    if "overall_scores" in result:
        yield from _benchmark(score, result)
        return
    yield figures_table(score._figures, result)
    for name, make in _FINER.items():
        if name in result:
            yield from make(score, result[name])
    if score.failure_modes:
        rows = [(mode.field, mode.difference, number(mode.count)) for mode in score.failure_modes]
        yield _first(Table("What to mend first", ("field", "what", "how often"), rows, numeric=False))


def figures_table(figures: Sequence[Figure], result: dict[str, Any]) -> Table:
    rows = [
        (figure.name, number(result[figure.name], figure.unit))
        for figure in figures
        if figure.name in result and not isinstance(result[figure.name], dict | list)
    ]
    return Table("", ("figure", "value"), rows)


def _by_class(title: str) -> Callable[[Score, dict[str, float]], Iterator[Table]]:
    def make(score: Score, values: dict[str, float]) -> Iterator[Table]:
        yield Table(title, ("class", "F1"), [(name, number(value)) for name, value in values.items()])

    return make


def _runs(score: Score, runs: Sequence[dict[str, Any]]) -> Iterator[Table]:
    if len(runs) < 2 and all(run["valid"] for run in runs):
        return
    columns = {
        "processed": "success_rate", "time": "avg_processing_time", "memory": "max_memory_usage",
        "CPU": "avg_cpu_usage", "accuracy": "accuracy_score", "performance": "performance_score",
        "total": "total_score",
    }  # fmt: skip
    columns = {
        title: name for title, name in columns.items() if all(name in run for run in runs)
    }  # not for participants
    units = {figure.name: figure.unit for figure in score._figures}
    rows = [
        (
            run["run_id"],
            *(number(run[name], units.get(name, "")) for name in columns.values()),
            "yes" if run["valid"] else "no",
        )
        for run in runs
    ]
    yield _first(Table("Runs", ("run", *columns, "valid"), rows))


def _matrix(score: Score, matrix: dict[str, dict[str, int]]) -> Iterator[Table]:
    head = ("true \\ predicted", *(name if name != "unprocessed" else "none" for name in next(iter(matrix.values()))))
    rows = [(true, *(str(times or "·") for times in row.values())) for true, row in matrix.items()]
    yield Table("Confusion matrix", head, rows, "none: not processed")


def _cases(score: Score, cases: Sequence[dict[str, Any]]) -> Iterator[Table]:
    head = ("case", "jaccard", "lead time", "correct", "false positives", "misses", "errors")
    rows = [
        (
            case["case_id"],
            number(case["jaccard_index"]),
            number(case["prediction_lead_time"], "s"),
            number(len(case["correct_predictions"])),
            number(len(case["incorrect_predictions"]["false_positives"])),
            number(len(case["incorrect_predictions"]["misses"])),
            number(len(case["errors"])),
        )
        for case in cases
    ]
    yield _first(Table("Cases", head, rows))


def _gates(score: Score, gates: Sequence[dict[str, Any]]) -> Iterator[Table]:
    words = {True: "yes", False: "NO", None: "–"}
    rows = [
        (gate["gate"], f"{gate['goal']:g}", "–" if gate["measured"] is None else f"{gate['measured']:.6g}",
         words[gate["passed"]], gate["reason"])
        for gate in gates
    ]  # fmt: skip
    yield Table("Gates", ("gate", "goal", "measured", "passed", "reason"), rows, numeric=False)


def _documents(score: Score, documents: Sequence[dict[str, Any]]) -> Iterator[Table]:
    """The worst first: they are what a team looks at."""
    head = ("document", "type", "score", "recall", "items", "fields")

    def order(document: dict[str, Any]) -> tuple[float, str, str]:
        return document["score"], document["doc_type"], document["doc_id"]

    rows = [
        (
            document["doc_id"],
            document["doc_type"],
            number(document["score"]),
            number(document["recall"]),
            f"{document['matched']} of {document['labeled']}",
            f"{document['correct_fields']} of {document['total_fields']}",
        )
        for document in nsmallest(MOST_CASES, documents, order)
    ]
    yield Table("Documents, the worst first", head, rows, _more(len(documents)))


def _benchmark(score: Score, report: dict[str, Any]) -> Iterator[Table]:
    """The combined score and its weights first; of many tasks the worst, of many metrics the first."""
    headline = score._headline[0]
    combined = report["metadata"].get("combined_scores", {}).get(headline)
    overall = report["overall_scores"]
    if combined:
        name = plain_name(headline)
        yield Table("", ("metric", "overall"), [(name, number(overall[headline]))])
        weights = [(plain_name(name), f"{weight:g}") for name, weight in combined["weights"].items()]
        missing = "shared among the others" if combined["renormalize_missing"] else "lost"
        note = f"the weight of what a task lacks is {missing}"
        yield Table(f"Weights of {name}", ("metric or category", "weight"), weights, note)
    others = [(plain_name(name), number(value)) for name, value in overall.items() if not combined or name != headline]
    notes = report["metadata"]["notes"] if score._counted_here else []  # another tool's may be anything
    yield Table("Metrics", ("metric", "overall"), others[:_MOST_ROWS], "; ".join([*_left(others, _MOST_ROWS), *notes]))
    tasks = [((task,), metrics) for task, metrics in report.get("task_scores", {}).items()]
    names = list(dict.fromkeys([*overall, *(name for _, metrics in tasks for name in metrics)]))
    columns = names[:_MOST_METRICS]
    if not columns or not tasks:
        return
    yield _worst("Tasks", ("task",), tasks, columns, _left(names, _MOST_METRICS))
    if score._counted_here and "detailed_results" in report:
        rows = [((row["task_id"], row["sample_id"]), row["scores"]) for row in report["detailed_results"]]
        wanted = [name for name in columns if name != headline or not combined]
        yield _worst("Samples", ("task", "sample"), rows, wanted, [])
        yield _parts(report["detailed_results"])


def _parts(rows: Sequence[dict[str, Any]]) -> Table:
    """What the metrics of the worst samples are made of."""
    worst = nsmallest(
        MOST_CASES, rows, lambda row: (min(row["scores"].values(), default=2.0), row["task_id"], row["sample_id"])
    )
    cells = [
        (f"{row['task_id']} {row['sample_id']}", metric, "; ".join(_told(parts)))
        for row in worst
        for metric, parts in row["breakdown"].items()
    ]
    return Table("What they are made of", ("sample", "metric", "parts"), cells, _more(len(rows)), numeric=False)


def _told(parts: Any) -> Iterator[str]:
    """Numbers, and terms where they may be told; what is empty is left out."""
    if not isinstance(parts, dict):
        yield str(parts)
        return
    for name, part in parts.items():
        if isinstance(part, dict):
            yield from (f"{name} {told}" for told in _told(part))
        elif isinstance(part, list):
            if part:
                yield f"{name}: {', '.join(part)}"
        elif isinstance(part, bool):
            yield f"{name}: {'yes' if part else 'no'}"
        elif part:
            yield f"{name} {part:.4g}"


def _left(metrics: Sequence[Any], most: int) -> list[str]:
    left = len(metrics) - most
    return [f"{left:,} more metric{'s' * (left != 1)} (json has all)"] if left > 0 else []


Scored = tuple[tuple[str, ...], dict[str, float]]
"""What something is named by, and its metrics."""


def _worst(
    title: str, names: tuple[str, ...], rows: Sequence[Scored], columns: Sequence[str], notes: Sequence[str]
) -> Table:
    """Tasks with the lowest first metric, samples with the lowest of all."""

    def low(row: Scored) -> tuple[float, tuple[str, ...]]:
        if len(names) > 1:  # samples: by what is worst of them
            return min(row[1].values(), default=2.0), row[0]
        return next((row[1][name] for name in columns if name in row[1]), 2.0), row[0]

    worst = nsmallest(MOST_CASES, rows, low)
    cells = [(*name, *(number(metrics.get(column)) for column in columns)) for name, metrics in worst]
    more = _more(len(rows))
    note = "; ".join([*([more] if more else []), *notes])
    return Table(f"{title}, the worst first", (*names, *map(plain_name, columns)), cells, note)


def _first(table: Table) -> Table:
    return table._replace(rows=table.rows[:MOST_CASES], note=_more(len(table.rows)))


def _more(rows: int) -> str:
    return f"and {rows - MOST_CASES:,} more (json has all)" if rows > MOST_CASES else ""


_FINER: dict[str, Callable[[Score, Any], Iterable[Table]]] = {
    "urgency_f1_by_class": _by_class("Urgency"),
    "f1_by_class": _by_class("Classes"),
    "runs": _runs,
    "confusion_matrix": _matrix,
    "gates": _gates,
    "documents": _documents,
    "metrics": _cases,
}
