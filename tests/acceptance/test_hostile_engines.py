"""Faults of engines: killed workers, schedulers that are gone, files that change. Nothing is lost or hangs."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.evaluation.test_changing_files import (
    check_accident,
    copied,
    emptied,
    lesions,
    removed,
    replaced,
    truncated,
)

import medcontract
from medcontract.parallel import dask_pool
from medcontract.reading import chunks

distributed = pytest.importorskip("distributed", reason="needs the extra dask")
psutil = pytest.importorskip("psutil", reason="needs the extra dask")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="signals and processes as on Linux"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]
SMALL_CHUNKS = """
import sys
from medcontract.reading import chunks
chunks.SMALLEST, chunks.LARGEST = 15_000, 30_000
if __name__ == "__main__":
    from medcontract.cli.main import main
    sys.exit(main())
"""
"""The command line, with chunks that are small enough for tests."""
CLUSTER = """
import sys, time
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=int(sys.argv[1]), threads_per_worker=1, processes=False, dashboard_address=":0",
                      protocol="tcp://") as cluster:
        print(cluster.scheduler_address, flush=True)
        time.sleep(120)
"""


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "SMALLEST", 15_000)
    monkeypatch.setattr(chunks, "LARGEST", 30_000)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A truth and a submission."""
    return lesions(tmp_path_factory.mktemp("files"), 3_000)


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    (tmp_path / "program.py").write_text(SMALL_CHUNKS)
    return [sys.executable, str(tmp_path / "program.py")]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with dask_pool.connected(None, 2) as connection:
        yield connection


def scored(files: list[str], **how: Any) -> str:
    return medcontract.score(*files, **how).to_json(show_values=True)


# --- killed workers ------------------------------------------------------------------------------


def test_workers_of_a_cluster_that_are_killed(files: list[str]) -> None:
    """At random moments: others do the work, with the same bytes."""
    expected = scored(files, jobs=1)
    chance = random.Random(5)
    with dask_pool.connected(None, 4) as client:
        started = time.monotonic()
        assert scored(files, client=client) == expected
        usual = time.monotonic() - started
        victims = sorted(client.run(os.getpid).values())[:3]
        for victim in victims:
            killer = threading.Timer(usual * chance.random(), os.kill, (victim, signal.SIGKILL))
            killer.start()
            assert scored(files, client=client) == expected
            killer.join()
        assert not set(victims) & set(client.run(os.getpid, on_error="ignore").values())


def test_forked_workers_that_are_killed(files: list[str], program: list[str]) -> None:
    """At random moments: this process does their work, with the same bytes."""
    command = [*program, "score", *files, "--format", "json"]
    expected = subprocess.run([*command, "--jobs", "1"], capture_output=True, check=False)
    chance = random.Random(6)
    killed = 0
    for _ in range(4):
        with subprocess.Popen([*command, "--jobs", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            found = chance.randrange(1, 8)
            seen: set[int] = set()
            while running.poll() is None and len(seen) < found:
                seen |= {child.pid for child in children(running.pid)}
            time.sleep(0.05 * chance.random())
            for child in children(running.pid)[: chance.choice((1, 2))]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()
                    killed += 1
            out, err = running.communicate(timeout=60)
        assert (running.returncode, out, err) == (expected.returncode, expected.stdout, expected.stderr)
    assert killed


def children(process: int) -> list[Any]:
    try:
        found: list[Any] = psutil.Process(process).children(recursive=True)
    except psutil.Error:
        return []
    return found


# --- schedulers ----------------------------------------------------------------------------------


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Callable[[int], tuple[str, subprocess.Popen[str]]]]:
    """Starts a scheduler with so many workers. Returns its address and its process."""
    (tmp_path / "cluster.py").write_text(CLUSTER)
    started: list[subprocess.Popen[str]] = []

    def start(workers: int) -> tuple[str, subprocess.Popen[str]]:
        command = [sys.executable, str(tmp_path / "cluster.py"), str(workers)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
        assert started[-1].stdout
        return started[-1].stdout.readline().strip(), started[-1]

    yield start
    for each in started:
        each.kill()
        each.communicate()


@pytest.mark.parametrize("share", [0.0, 0.5, 0.8])
def test_a_scheduler_that_is_killed(
    files: list[str], program: list[str], cluster: Callable[[int], tuple[str, Any]], share: float, tmp_path: Path
) -> None:
    """Before the work or at any moment of it: one message within seconds."""
    address, process = cluster(1)
    command = [*program, "score", *files, "--engine", "dask", "--scheduler", address]
    started = time.monotonic()
    if share:
        subprocess.run(command, capture_output=True, check=False)
    usual = time.monotonic() - started
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        time.sleep(usual * share)
        process.kill()
        killed = time.monotonic()
        out, err = running.communicate(timeout=60)
    if running.returncode == 2:  # otherwise it had just finished
        assert time.monotonic() - killed < 30
        assert out == ""
        first, hint = err.splitlines()
        assert "the Dask scheduler" in first
        assert hint.startswith("  hint: is it ")
    else:
        assert share == 0.8


def test_a_cluster_without_workers(
    files: list[str], program: list[str], cluster: Callable[[int], tuple[str, Any]]
) -> None:
    command = [*program, "validate", *files, "--engine", "dask", "--scheduler", cluster(0)[0]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "medcontract: the Dask cluster has no workers\n  hint: start at least one\n"


# --- files that change ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moment", "accident"), [("_begin", truncated), ("_run", replaced), ("_run", removed), ("_find_repeats", emptied)]
)
def test_a_file_that_changes(
    files: list[str], client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str,
    accident: Callable[[Path], None],
) -> None:  # fmt: skip
    """All moments and accidents: tests/unit/evaluation/test_changing_files.py."""
    copies = copied(files, tmp_path)
    check_accident(copies, monkeypatch, moment, accident, client=client)
