"""The figures of docs/scale.md: the cost of a million records, and a projection to a billion."""

from __future__ import annotations

from benchmarks.cluster import WORKERS
from benchmarks.measure import CLUSTER
from benchmarks.results import Result, Results, Run
from benchmarks.tables import COLUMNS, NONE, cells, environment_text, number, start_of_cluster, table, title

MILLION = 1_000_000
BILLION = 1_000_000_000
MANY = 100
"""Workers of the cluster in the projection."""
_SHOWN = ("score-lesions", "score-triage", "score-prescriptions", "score-answers", "validate-lesions")
"""The rows that are projected."""


def machine(results: Results) -> str:
    """Where it was measured, and what the cluster costs."""
    if not results.rows:
        return "Not measured yet.\n"
    return f"{environment_text(results)}\n\n{start_of_cluster(results.rows)}"


def _per(result: Result, count: int) -> float:
    return count / result.records


def cost(results: Results) -> str:
    """Seconds and CPU seconds of a million records, and the memory of the measured files."""

    def line(row: Result) -> list[str]:
        times = _per(row, MILLION)
        labels = ("one", "two", CLUSTER)
        seconds = cells(row, labels, lambda run: number(run.seconds * times))
        cpu = cells(row, ("one", CLUSTER), lambda run: number(run.cpu_seconds * times))
        memory = cells(row, labels, lambda run: number(run.peak_mb))
        return [title(row), number(row.megabytes * times), *seconds, *cpu, *memory]

    header = ["work", "MB", "s, one process", "s, two processes", "s, Dask", "CPU s, one process", "CPU s, Dask"]
    memory = ["memory MB, one process", "two processes", "Dask"]
    return table([*header, *memory], map(line, results.rows))


def projection(results: Results) -> str:
    """A billion records: what is read, computed and kept in memory."""

    def line(row: Result) -> list[str]:
        hours = _per(row, BILLION) / 3600
        megabytes = row.megabytes + row.truth_megabytes
        return [
            f"{title(row).partition(',')[0]}, {kind(row)}",
            number(megabytes * _per(row, BILLION) / 1e3),
            *cells(row, ["one"], lambda run: number(run.cpu_seconds * hours)),
            *cells(row, ("one", "two"), lambda run: number(run.seconds * hours)),
            *cells(row, [CLUSTER], lambda run: number(worker_seconds(run) * hours / MANY)),
            *cells(row, [CLUSTER], lambda run: number(megabytes / worker_seconds(run))),
        ]

    rows = [row for row in results.rows if row.id in _SHOWN]
    header = ["work", "GB", "CPU hours", "hours, one process", "hours, two processes", f"hours, {MANY} workers"]
    return table([*header, "MB/s that a worker reads"], map(line, rows))


def kind(row: Result) -> str:
    """What the records are: the title without the command and the number."""
    return title(row).partition(f"{row.records:,} ")[2]


def worker_seconds(run: Run) -> float:
    """The time of all workers together, as if they were busy all the time."""
    return run.seconds * WORKERS


def truth(results: Results) -> str:
    """The memory of a truth with a billion records on each worker."""

    def line(row: Result) -> list[str]:
        each = bytes_per_record(row, start_up_mb(results))
        if each is None:
            return [kind(row), NONE, NONE]
        return [kind(row), number(each), number(each * BILLION / 1e9)]

    rows = [row for row in results.rows if row.id in _SHOWN and row.truth_megabytes]
    return table(["truth of", "bytes per record", "GB on each worker"], map(line, rows))


def start_up_mb(results: Results) -> float:
    """The memory of a process that has read next to nothing: the lowest that was measured."""
    runs = [run for row in results.rows for label, run in row.runs.items() if label in COLUMNS]
    return min((run.peak_mb for run in runs if run.peak_mb and run.exit_code is None), default=0)


def bytes_per_record(row: Result, start_up: float) -> float | None:
    """The memory that one process needs for each record of the truth, together with what it keeps of the submission."""
    run = row.runs.get("one")
    if run is None or run.peak_mb is None or run.exit_code is not None:
        return None
    return max(run.peak_mb - start_up, 0) * 1e6 / row.records
