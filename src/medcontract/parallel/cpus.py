"""How many processes to use: it follows from the CPUs that this process may use and the size of the files."""

from __future__ import annotations

import math
import os
from itertools import accumulate

from medcontract.reading import chunks

WORTH_IT = 16 << 20
"""The minimum size of the files, in bytes, for each worker that is started by default: one process reads a small file
in the time that it takes to start workers."""


def workers_for(jobs: int | None, size: int) -> int:
    """Return the number of processes that read files of `size` bytes; without `jobs`, it follows from the CPUs."""
    most = size // (chunks.SMALLEST if jobs else WORTH_IT)
    return min(most, jobs or allowed()) if most > 1 and jobs != 1 else 1


def allowed() -> int:
    """Return the number of CPUs that this process may use: by its affinity, and by the quota of its control groups."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.floor(min(count, _quota())))


def _quota(groups: str = "/sys/fs/cgroup", own: str = "/proc/self/cgroup") -> float:
    """Return the CPU time per time that the control groups of this process allow (Linux)."""
    lines = _content(own).splitlines()
    path = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), "")
    folders = accumulate(path.strip("/").split("/"), os.path.join, initial=groups)
    return min(map(_limit, folders), default=math.inf)


def _limit(folder: str) -> float:
    """Return the limit of one control group, regardless of the groups that contain it."""
    try:
        quota, period = _content(os.path.join(folder, "cpu.max")).split()
        return int(quota) / int(period)
    except ValueError:  # "max", or there is none
        return math.inf


def _content(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read().strip()
    except OSError:
        return ""
