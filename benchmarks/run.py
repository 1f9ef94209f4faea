"""Measure everything, and keep the results in benchmarks/: results.json and RESULTS.md.

script/benchmark [--repeats N] [--rows NAME ...]

The repeats are interleaved (one of each command, then again), so that temporary load affects all of them. Each row is
kept as soon as it is finished: an interrupted run can be continued with --rows.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import results, tables
from benchmarks.cluster import running
from benchmarks.measure import HERE, Command, Measured, measure
from benchmarks.results import Result, Results
from benchmarks.rows import BY_ID, OURS, ROWS, Row, count_records
from benchmarks.tables import COLUMNS

REPEATS = 5


class ProgressLine:
    """Says on standard error what is being measured: in one line on a terminal."""

    def __init__(self, rows: int, repeats: int) -> None:
        self._rows = rows
        self._repeats = repeats
        self._started = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self.row = 0
        self.title = ""

    def elapsed(self) -> str:
        seconds = int(time.monotonic() - self._started)
        return f"{seconds // 60}:{seconds % 60:02}"

    def __call__(self, number: int, command: Command) -> None:
        turn = f"run {number} of {self._repeats}" if number else "warm-up"
        label = COLUMNS.get(command.label, command.label)
        where = f"[{self.row}/{self._rows}] {self.title}: {turn}, {label}"
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            line = f"{self.elapsed()} {where}"
            print(f"\r{line[:width]:<{width}}", end="", file=sys.stderr, flush=True)
        elif command.label == "baseline":
            print(f"{self.elapsed()} {where.rpartition(',')[0]}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{'':<{width}}\r", end="", file=sys.stderr, flush=True)


def measure_row(row: Row, data: Path, repeats: int, progress: ProgressLine) -> tuple[Result, list[Measured]]:
    """Measure one row, with a new cluster."""
    sent = row.submissions(data)
    with running() as cluster:
        found = measure(row.commands(data, cluster.address), repeats, cluster.pid, progress)
    digests = {each.first.digest for each in found if each.command.label in OURS and each.failure() is None}
    return Result(
        id=row.id,
        records=count_records(row, data),
        files=len(sent),
        megabytes=round(sum(path.stat().st_size for path in sent) / 1e6, 3),
        truth_megabytes=round((data / row.truth).stat().st_size / 1e6, 3) if row.truth else 0,
        runs={each.command.label: results.run_of(each) for each in found},
        same_output=len(digests) < 2,
        cluster_seconds=round(cluster.seconds, 2),
        cluster_mb=None if cluster.idle_mb is None else round(cluster.idle_mb, 1),
        environment=results.environment(),
    ), found


def report_failures(row: Row, result: Result, found: Sequence[Measured]) -> bool:
    """Say what went wrong. Returns whether everything succeeded."""
    for each in found:
        if failed := each.failure():
            label = COLUMNS.get(each.command.label, each.command.label)
            print(f"{row.id}, {label}: exit code {failed.exit_code}: {failed.error}", file=sys.stderr)
    if not result.same_output:
        print(f"{row.id}: the output differs between engines", file=sys.stderr)
    return result.same_output and all(each.failure() is None for each in found)


def run(rows: Sequence[Row], data: Path, repeats: int, out: Path) -> int:
    """Measure rows, and keep each as soon as it is finished."""
    kept: Results = results.load(out)
    progress = ProgressLine(len(rows), repeats)
    succeeded = True
    for number, row in enumerate(rows):
        progress.row, progress.title = number + 1, row.id
        try:
            result, found = measure_row(row, data, repeats, progress)
        except KeyboardInterrupt:
            progress.clear()
            left = " ".join(each.id for each in rows[number:])
            print(f"interrupted: the finished rows are kept; continue with --rows {left}", file=sys.stderr)
            return 130
        kept = kept.with_row(result, list(BY_ID))
        results.save(kept, out)
        tables.write(kept, out)
        progress.clear()
        succeeded &= report_failures(row, result, found)
    print(tables.results_page(kept))
    print(f"measured {len(rows)} of {len(ROWS)} rows in {progress.elapsed()} minutes", file=sys.stderr)
    return 0 if succeeded else 1


def missing_data(rows: Sequence[Row], data: Path) -> list[str]:
    """The names of the files for generate.py that do not exist."""
    return list(dict.fromkeys(row.data for row in rows if not all(path.exists() for path in row.needed(data))))


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure medcontract, and keep the results.", prog="script/benchmark")
    names = ", ".join(BY_ID)
    parser.add_argument("--repeats", type=int, default=REPEATS, help="counted runs of each command (%(default)s)")
    parser.add_argument("--rows", nargs="+", choices=BY_ID, metavar="NAME", help=f"only these rows, out of: {names}")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="folder of the files (benchmarks/data)")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the results (benchmarks)")
    parser.add_argument("--generate", action="store_true", help="write files that do not exist yet")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error("--repeats must be at least 1")
    if not options.out.is_dir():
        parser.error(f"--out: {options.out} is not a folder")
    rows = [row for row in ROWS if row.id in (options.rows or BY_ID)]
    missing = missing_data(rows, options.data)
    if missing and not options.generate:
        parser.error(f"{options.data} does not have all files: {', '.join(missing)}; --generate writes them")
    try:
        results.load(options.out)
        if missing:
            print(f"writing to {options.data}: {', '.join(missing)}", file=sys.stderr)
            script = (sys.executable, str(HERE / "generate.py"))
            subprocess.run((*script, "--out", str(options.data), "--only", *missing), check=True, stdout=sys.stderr)
        return run(rows, options.data, options.repeats, options.out.resolve())
    except KeyboardInterrupt:
        return 130
    except (ValueError, OSError, RuntimeError, subprocess.CalledProcessError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
