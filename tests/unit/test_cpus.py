"""The number of CPUs, and of the processes that are started by default."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from medcontract import cpus, workers
from medcontract.addresses import Address
from medcontract.evaluation import contest, engine
from medcontract.evaluation.inputs import Part, Settings
from medcontract.evaluation.submissions import Submission
from medcontract.reading import chunks
from medcontract.reading.source import Source


def fail() -> int:
    raise AssertionError


MB = 1 << 20


def write(folder: Path, files: dict[str, str]) -> str:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return str(folder)


@pytest.mark.parametrize(("own", "files", "expected"), [
    ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
    ("0::/\n", {"cpu.max": "max 100000\n"}, math.inf),
    ("0::/\n", {}, math.inf),
    ("0::/a/b\n", {"a/cpu.max": "200000 100000", "a/b/cpu.max": "max 100000"}, 2),
    ("0::/a/b\n", {"a/cpu.max": "200000 100000", "a/b/cpu.max": "50000 100000"}, 0.5),
    ("0::/a/b\n", {"cpu.max": "100000 100000", "a/b/cpu.max": "200000 100000"}, 1),
    ("2:cpuset:/\n1:cpu:/x\n0::/\n",
     {"cpu/x/cpu.cfs_quota_us": "300000", "cpu/x/cpu.cfs_period_us": "100000", "cpuset/cpu.max": "1 1"}, 3),
    ("1:cpu,cpuacct:/\n",
     {"cpu,cpuacct/cpu.cfs_quota_us": "-1", "cpu,cpuacct/cpu.cfs_period_us": "100000"}, math.inf),
    ("0::/\n", {"cpu.max": "damaged file"}, math.inf),
    ("damaged", {}, math.inf),
])  # fmt: skip
def test_the_quota_of_control_groups(own: str, files: dict[str, str], expected: float, tmp_path: Path) -> None:
    """The smallest of those of a group and of the groups that contain it, in version 1 and 2."""
    (tmp_path / "own").write_text(own)
    assert cpus._quota(write(tmp_path / "groups", files), str(tmp_path / "own")) == expected


def test_no_control_groups(tmp_path: Path) -> None:
    assert cpus._quota(str(tmp_path), str(tmp_path / "nothing")) == math.inf


@pytest.mark.parametrize(("affinity", "quota", "expected"), [(8, math.inf, 8), (8, 2.9, 2), (2, 4, 2), (4, 0.5, 1)])
def test_allowed(affinity: int, quota: float, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a CPU is not worth a process."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(affinity)), raising=False)
    monkeypatch.setattr(cpus, "_quota", lambda: quota)
    assert cpus.allowed() == expected


@pytest.mark.parametrize(("allowed", "total", "running", "expected"), [
    (2, 2, [1, 1, 1], 2),
    (2, 2, [2, 2, 2], 1),
    (2, 2, [1, 9, 1], 2),
    (2, 2, [9, 9, 1], 1),
    (2, 2, [0, 0, 0], 2),
    (8, 8, [4, 4, 4], 5),
    (2, 8, [4, 4, 4], 2),
    (2, 8, [8, 8, 8], 1),
    (2, 2, [None], 2),
])  # fmt: skip
def test_free(
    allowed: int, total: int, running: list[int | None], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that others use now are not free; this process itself does not count."""
    samples = iter(running)
    monkeypatch.setattr(cpus, "allowed", lambda: allowed)
    monkeypatch.setattr(os, "cpu_count", lambda: total)
    monkeypatch.setattr(cpus, "_running", lambda: next(samples))
    assert cpus.free() == expected


def test_running(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu  1 2 3\nctxt 12\nprocs_running 3\nprocs_blocked 7\n")
    assert cpus._running(str(tmp_path / "stat")) == 3
    assert cpus._running(str(tmp_path / "nothing")) is None


@pytest.mark.parametrize(("jobs", "megabytes", "free", "expected"), [
    (None, 31, 8, 1),
    (None, 32, 8, 2),
    (None, 200, 8, 8),
    (None, 200, 2, 2),
    (None, 200, 1, 1),
    (1, 200, 8, 1),
    (2, 200, 1, 2),
    (2, 5, 8, 1),
    (4, 8, 1, 2),
])  # fmt: skip
def test_workers_for_a_file(
    jobs: int | None, megabytes: int, free: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default only for large files and on free CPUs; with --jobs as many as were requested."""
    monkeypatch.setattr(cpus, "free", lambda: free)
    monkeypatch.setattr(engine, "can_fork", lambda: True)
    assert chunks.workers_for(jobs, megabytes * MB) == expected
    found = engine.engine_for(jobs, megabytes * MB, fail)
    assert (found.workers if found else 1) == expected


def test_the_load_does_not_matter_for_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """So nothing is measured."""
    monkeypatch.setattr(cpus, "free", fail)
    assert chunks.workers_for(None, 31 * MB) == 1
    assert chunks.workers_for(2, 100 * MB) == 2


@pytest.mark.parametrize("to_spawn", [1, 2])
def test_workers_that_cannot_be_forked(to_spawn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default, as many as pay off: also if that is only known when the files are open."""
    monkeypatch.setattr(cpus, "free", lambda: 4)
    forks = [True]
    monkeypatch.setattr(engine, "can_fork", lambda: forks[0])
    early = engine.engine_for(None, 100 * MB, lambda: to_spawn)
    asked = engine.engine_for(3, 100 * MB, fail)
    forks[0] = False
    assert early
    assert (early.is_ready(), early.workers, early.stable) == (to_spawn > 1, to_spawn, True)
    assert asked
    assert (asked.is_ready(), asked.workers, asked.stable) == (True, 3, True)
    late = engine.engine_for(None, 100 * MB, lambda: to_spawn)
    assert (late.workers if late else 1) == to_spawn


def text(size: int, watched: bool = False, at_address: bool = False) -> Source:
    source = Source(Address("https://example.org/a.csv") if at_address else "a.csv")
    source.size, source.watched = size, watched
    return source


def table(folder: Path, rows: int) -> Source:
    pa = pytest.importorskip("pyarrow")
    path = folder / f"{rows}.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({"a": range(rows), "b": range(rows)}), path)
    source = Source(str(path))
    source.prepare()
    return source


def test_workers_that_are_worth_spawning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By size, for Parquet by the number of cells. A text at an address is not transferred twice."""
    monkeypatch.setattr(cpus, "free", lambda: 4)
    monkeypatch.setattr(chunks, "CELLS_WORTH_SPAWNING", 100)
    one = chunks.WORTH_SPAWNING
    found = {
        "small": chunks.workers_to_spawn([text(2 * one - 1)]),
        "large": chunks.workers_to_spawn([text(one), text(one + 1)]),
        "very large": chunks.workers_to_spawn([text(99 * one, watched=True)]),
        "at an address": chunks.workers_to_spawn([text(3 * one, at_address=True)]),
        "at an address, hashed": chunks.workers_to_spawn([text(3 * one, watched=True, at_address=True)]),
        "few cells": chunks.workers_to_spawn([table(tmp_path, 99)]),
        "cells": chunks.workers_to_spawn([table(tmp_path, 100)]),
        "both": chunks.workers_to_spawn([table(tmp_path, 50), text(one)]),
    }
    assert found == {
        "small": 1, "large": 2, "very large": 4, "at an address": 3, "at an address, hashed": 1,
        "few cells": 1, "cells": 2, "both": 2,
    }  # fmt: skip


def test_a_damaged_table_has_no_cells(tmp_path: Path) -> None:
    whole = table(tmp_path, 100)
    path = tmp_path / "half.parquet"
    path.write_bytes(Path(whole.name).read_bytes()[:300])
    source = Source(str(path))
    source.prepare()
    assert chunks.workers_to_spawn([source]) == 1


def test_a_table_has_no_small_records(tmp_path: Path) -> None:
    """Its bytes are not lines."""
    source = table(tmp_path, 100)
    Path(source.name).write_bytes(Path(source.name).read_bytes() + b"\n" * 1000)
    assert not chunks.has_small_records(source)


def test_a_busy_machine_loads_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """To load it takes a while, too."""
    calls: list[Any] = []
    monkeypatch.setattr(engine, "engine_for", lambda jobs, size, to_spawn: calls.append((jobs, size)))
    source: Any = type("Large", (), {"size": 100 * MB})
    parts: Sequence[Part] = [Part(source, None, None)]  # type: ignore[arg-type]
    for free, jobs in ((1, None), (2, 1), (2, None), (1, 2)):
        monkeypatch.setattr(cpus, "free", lambda free=free: free)
        Settings(jobs=jobs).engine_for(parts)
    assert [jobs for jobs, _ in calls] == [None, 2]


@pytest.mark.parametrize(("sizes", "seconds", "free", "here"), [
    ([1] * 4, 0.01, 2, 4),
    ([1] * 4, 1, 2, 1),
    ([1] * 4, 1, 1, 4),
    ([9] * 4, 0.01, 2, 0),
    ([9] * 4, 0.01, 1, 4),
    ([99], 1, 2, 1),
    ([0] * 100, 0.01, 2, 1),
    ([1, 1], 0.2, 2, 2),
])  # fmt: skip
def test_submissions_in_workers_by_default(
    sizes: list[int], seconds: float, free: int, here: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once if they are large, in megabytes; otherwise if scoring the first ones shows that it takes long."""
    clock = [0.0]
    submissions = [Submission(name=str(number), files=((f"{size}", None),)) for number, size in enumerate(sizes)]
    in_workers: list[str] = []

    class FakeContest:
        def score(self, submission: Submission) -> str:
            clock[0] += seconds
            return submission.name

    def fake_workers(_: Any, rest: Sequence[Submission], count: int) -> list[str]:
        assert count == min(free, len(rest)) > 1
        in_workers.extend(each.name for each in rest)
        return in_workers

    monkeypatch.setattr(contest, "_in_workers", fake_workers)
    monkeypatch.setattr(contest, "_size", lambda path: int(path) * MB)
    monkeypatch.setattr(workers, "can_fork", lambda: True)
    monkeypatch.setattr(contest, "time", type("Time", (), {"perf_counter": staticmethod(lambda: clock[0])}))
    monkeypatch.setattr(cpus, "free", lambda: free)
    scored: list[Any] = list(contest._scores_by_default(FakeContest(), submissions))  # type: ignore[arg-type]
    assert scored == [each.name for each in submissions]
    assert len(scored) - len(in_workers) == here


@pytest.mark.parametrize(("length", "jobs", "keeps_records", "expected"), [
    (80, None, True, 0),
    (80, None, False, 1),
    (80, 2, True, 1),
    (2000, None, True, 1),
])  # fmt: skip
def test_small_records_by_default(
    length: int, jobs: int | None, keeps_records: bool, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are scored by one process: to send what is kept of each record would take as long as to read it."""
    calls: list[Any] = []
    monkeypatch.setattr(engine, "engine_for", lambda jobs, size, to_spawn: calls.append((jobs, size)))
    monkeypatch.setattr(cpus, "free", lambda: 2)
    monkeypatch.setattr(chunks, "SMALLEST", 1000)
    monkeypatch.setattr(chunks, "WORTH_IT", 1000)
    path = tmp_path / "a.jsonl"
    path.write_bytes((b"x" * (length - 1) + b"\n") * 100)
    source = Source(str(path))
    source.prepare()
    Settings(jobs=jobs).engine_for([Part(source, None, None)], keeps_records)  # type: ignore[arg-type]
    assert len(calls) == expected
