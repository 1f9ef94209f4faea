"""How many CPUs this process may use, and how many of them are free: more workers than that only cost time."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator

_SAMPLES = 3
_PAUSE = 0.001
"""Seconds between two samples."""


def allowed() -> int:
    """The number of CPUs that this process may use: by its affinity, and by the quota of its control groups."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.floor(min(count, _quota())))


def free() -> int:
    """The number of CPUs that this process may use and that nobody else uses now; at least 1."""
    return max(1, min(allowed(), (os.cpu_count() or 1) - _busy_elsewhere()))


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


def _busy_elsewhere() -> int:
    """The number of threads of other processes that run or wait for a CPU now: the median of a few samples."""
    samples: list[int] = []
    for number in range(_SAMPLES):
        if number:
            time.sleep(_PAUSE)
        running = _running()
        if running is None:
            return 0
        samples.append(max(0, running - 1))
    return sorted(samples)[_SAMPLES // 2]


def _running(path: str = "/proc/stat") -> int | None:
    """The number of threads that run or wait for a CPU, this one included. None if it is not known."""
    for line in _content(path).splitlines():
        name, _, value = line.partition(" ")
        if name == "procs_running" and value.isdecimal():
            return int(value)
    return None
