"""The kept results: what results.json contains."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec
from benchmarks.measure import HERE, Measured

NAME = "results.json"
PACKAGES = (
    "medcontract",
    "dask",
    "distributed",
    "msgspec",
    "orjson",
    "pandas",
    "pydantic",
    "rapidfuzz",
    "scikit-learn",
)


class Run(msgspec.Struct, frozen=True, omit_defaults=True):
    """The figures of one command. If it failed, only its exit code matters."""

    seconds: float
    fastest: float
    slowest: float
    cpu_seconds: float
    repeats: int
    """Counted runs; 0 if it was run only once because it is slow."""
    peak_mb: float | None = None
    exit_code: int | None = None


class Environment(msgspec.Struct, frozen=True):
    """Where it was measured; nothing that identifies a machine."""

    python: str
    system: str
    cpus: int
    versions: dict[str, str]


class Result(msgspec.Struct, frozen=True):
    """What was measured for one row."""

    id: str
    records: int
    files: int
    megabytes: float
    """The size of the submissions, in millions of bytes."""
    truth_megabytes: float
    runs: dict[str, Run]
    """By label: baseline, one, two, default, dask, instead; for some rows also reference and reference twice."""
    same_output: bool
    """Whether all engines printed the same bytes."""
    cluster_seconds: float
    """How long the Dask cluster took to start."""
    cluster_mb: float | None
    """The memory of the idle cluster."""
    environment: Environment


class Results(msgspec.Struct, frozen=True):
    rows: tuple[Result, ...] = ()

    def get(self, row_id: str) -> Result | None:
        return next((row for row in self.rows if row.id == row_id), None)

    def with_row(self, row: Result, order: Sequence[str]) -> Results:
        """With this row, instead of an older one."""
        rows = [*(each for each in self.rows if each.id != row.id), row]
        known = [each for each in rows if each.id in order]
        return Results(tuple(sorted(known, key=lambda each: order.index(each.id))))


def run_of(measured: Measured) -> Run:
    fastest, slowest = measured.spread()
    failed = measured.failure()
    peak = measured.first.peak_mb
    return Run(
        round(measured.seconds(), 4), round(fastest, 4), round(slowest, 4), round(measured.cpu_seconds(), 4),
        len(measured.samples), None if peak is None else round(peak, 1), failed.exit_code if failed else None,
    )  # fmt: skip


def environment() -> Environment:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return Environment(python, f"{platform.system()} {platform.machine()}", _cpus(), versions)


def _cpus() -> int:
    """The number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load(folder: Path = HERE) -> Results:
    """The kept results; none if there is no file. Raises `ValueError`, with the path, if it is damaged."""
    path = folder / NAME
    try:
        return msgspec.json.decode(path.read_bytes(), type=Results)
    except FileNotFoundError:
        return Results()
    except msgspec.DecodeError as error:
        raise ValueError(f"{path}: {error}") from None


def save(results: Results, folder: Path) -> None:
    """Replace the kept results, so that there is always a complete file."""
    content = msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n"
    unfinished = folder / f"{NAME}.new"
    unfinished.write_bytes(content)
    unfinished.replace(folder / NAME)
