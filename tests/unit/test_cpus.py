"""The number of CPUs, and of the processes that are started by default."""

from __future__ import annotations

import math
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from medcontract.evaluation import contest
from medcontract.evaluation.settings import Settings
from medcontract.evaluation.submissions import Submission
from medcontract.parallel import cpus, processes

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
    ("2:cpuset:/\n1:cpu:/x\n0::/x\n", {"x/cpu.max": "300000 100000", "cpuset/cpu.max": "1 1"}, 3),
    ("0::/\n", {"cpu.max": "damaged file"}, math.inf),
    ("damaged", {}, math.inf),
])  # fmt: skip
def test_the_quota_of_control_groups(own: str, files: dict[str, str], expected: float, tmp_path: Path) -> None:
    """The smallest limit of a group and of the groups that contain it."""
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
    monkeypatch.setattr(cpus, "allowed", lambda: free)
    monkeypatch.setattr(processes, "can_fork", lambda: True)
    assert cpus.workers_for(jobs, megabytes * MB) == expected
    found = processes.pool_for(jobs, megabytes * MB)
    assert (found.workers if found else 1) == expected


def test_workers_that_cannot_be_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take long to start: only if the caller wants them, also if that is only known when the files are open."""
    monkeypatch.setattr(cpus, "allowed", lambda: 4)
    forks = [True]
    monkeypatch.setattr(processes, "can_fork", lambda: forks[0])
    early, asked = processes.pool_for(None, 100 * MB), processes.pool_for(3, 100 * MB)
    forks[0] = False
    assert early
    assert not early.is_ready()
    assert isinstance(asked, processes.ProcessPool)
    assert (asked.is_ready(), asked.workers, asked.forks) == (True, 3, False)
    assert processes.pool_for(None, 100 * MB) is None


@pytest.mark.parametrize(("sizes", "jobs", "free", "expected"), [
    ([9] * 4, None, 2, 2),
    ([9] * 4, None, 1, 1),
    ([1] * 4, None, 2, 1),
    ([99], None, 2, 1),
    ([1] * 4, 3, 1, 3),
    ([1] * 2, 3, 1, 2),
    ([99] * 4, 1, 2, 1),
])  # fmt: skip
def test_workers_for_submissions(
    sizes: list[int], jobs: int | None, free: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default only if they are large, in megabytes; with --jobs as many as were requested."""
    submissions = [Submission(name=str(number), files=((f"{size}", None),)) for number, size in enumerate(sizes)]
    monkeypatch.setattr(contest, "_size", lambda path: int(path) * MB)
    monkeypatch.setattr(processes, "can_fork", lambda: True)
    monkeypatch.setattr(cpus, "allowed", lambda: free)
    ranking: Any = SimpleNamespace(track=SimpleNamespace(id="lesions"), settings=Settings())
    found = contest._pool_for(ranking, submissions, jobs)
    assert (found.workers if found else 1) == expected
