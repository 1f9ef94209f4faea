"""A local Dask cluster in a separate process, so that its start is not part of what is measured on it."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from benchmarks.measure import HERE, memory_mb

WORKERS = 2
_PATIENCE = 30
"""Seconds to wait for the end of the process."""


class Cluster(NamedTuple):
    address: str
    pid: int
    seconds: float
    """How long it took to start."""
    idle_mb: float | None
    """The memory of its processes before they have work."""


@contextmanager
def running() -> Iterator[Cluster]:
    """A cluster with two workers of one thread each."""
    command = (sys.executable, "-m", "benchmarks.cluster")
    pipe = subprocess.PIPE
    started = time.perf_counter()
    with subprocess.Popen(
        command, cwd=HERE.parent, stdin=pipe, stdout=pipe, text=True, start_new_session=True
    ) as child:
        try:
            line = child.stdout.readline() if child.stdout else ""
            if not line:
                raise RuntimeError("the Dask cluster cannot be started")
            seconds = time.perf_counter() - started
            yield Cluster(json.loads(line), child.pid, seconds, memory_mb(child.pid))
        finally:
            _end(child)


def _end(child: subprocess.Popen[str]) -> None:
    """The process ends when its standard input is closed."""
    if child.stdin:
        child.stdin.close()
    try:
        child.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()


def main() -> None:
    """Print the address, then wait for the end of standard input."""
    from distributed import LocalCluster

    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL, local_directory=folder,
        ) as cluster,
    ):  # fmt: skip
        cluster.wait_for_workers(WORKERS)
        print(json.dumps(cluster.scheduler_address), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
