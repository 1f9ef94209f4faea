"""How many processes to use: it follows from the CPUs that this process may use and the size of the files."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

from medcontract.reading import chunks

WORTH_IT = 16 << 20
"""The minimum size of the files, in bytes, for each worker that is started by default: one process reads a small file
in the time that it takes to start workers."""


def workers_for(jobs: int | None, size: int) -> int:
    """Return the number of processes that read files of `size` bytes; without `jobs`, it follows from the CPUs."""
    most = size // (chunks.SMALLEST if jobs else WORTH_IT)
    return min(most, jobs or allowed()) if most > 1 and jobs != 1 else 1


def allowed() -> int:
    """The number of CPUs that this process may use: by its affinity, and by the quota of its control groups."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.floor(min(count, _quota())))


def _quota(groups: str = "/sys/fs/cgroup", own: str = "/proc/self/cgroup") -> float:
    """The CPU time per time that the control groups of this process allow (Linux, cgroup 1 and 2)."""
    try:
        with open(own, encoding="utf-8") as lines:
            return min((limit for line in lines for limit in _limits(groups, line.strip())), default=math.inf)
    except (OSError, ValueError):
        return math.inf


def _limits(groups: str, line: str) -> Iterator[float]:
    """The limits of one control group and of those that contain it; the line is `number:controllers:path`."""
    _, controllers, path = line.split(":", 2)
    if controllers and "cpu" not in controllers.split(","):
        return
    folder = os.path.join(groups, controllers).rstrip("/")
    for name in ("", *path.strip("/").split("/")):
        folder = os.path.join(folder, name)
        limit = _read_v1(folder) if controllers else _read_v2(folder)
        if limit is not None:
            yield limit


def _read_v2(folder: str) -> float | None:
    text = _content(os.path.join(folder, "cpu.max")).split()
    return int(text[0]) / int(text[1]) if len(text) == 2 and text[0] != "max" else None


def _read_v1(folder: str) -> float | None:
    quota = _content(os.path.join(folder, "cpu.cfs_quota_us"))
    period = _content(os.path.join(folder, "cpu.cfs_period_us"))
    return int(quota) / int(period) if quota and period and int(quota) > 0 else None


def _content(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read().strip()
    except OSError:
        return ""
