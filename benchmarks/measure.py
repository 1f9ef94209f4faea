"""Runs commands and measures them: time, and the memory of all their processes together."""

from __future__ import annotations

import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from resource import struct_rusage

HERE = Path(__file__).resolve().parent
PEERS = HERE / "peers"
MEDCONTRACT = (sys.executable, "-m", "medcontract")
TIMEOUT = 600.0
"""Seconds after which a command is killed."""
_INTERVAL = 0.01
"""Seconds between two samples of the memory, at least."""
_REST = 4
"""And at least this many times as long as a sample takes, so that most of the CPU is left to the command."""
_NOT_PASSED_ON = ("PYTHONDONTWRITEBYTECODE", "MEDCONTRACT_CHALLENGE")


class Command(NamedTuple):
    label: str
    argv: Sequence[str]
    success: tuple[int, ...] = (0,)
    """The exit codes that mean success."""
    patience: float | None = None
    """If the first run takes more seconds than this, it is the only one."""
    most: int | None = None
    """The maximum number of counted runs, even if other commands are repeated more often."""


class Sample(NamedTuple):
    """One run of one command."""

    seconds: float
    cpu_seconds: float
    exit_code: int
    error: str = ""
    peak_mb: float | None = None
    """Peak memory of all processes, in millions of bytes, if it was observed and the system tells it."""
    digest: str = ""
    """A hash of standard output, if it was observed."""


class Measured(NamedTuple):
    """All runs of one command."""

    command: Command
    first: Sample
    """The warm-up: its memory is observed, its time is not counted."""
    samples: list[Sample]

    def failure(self) -> Sample | None:
        return next((each for each in (self.first, *self.samples) if each.exit_code not in self.command.success), None)

    def counted(self) -> list[Sample]:
        """The runs whose time counts: the first one if there is no other."""
        return self.samples or [self.first]

    def seconds(self) -> float:
        return statistics.median(each.seconds for each in self.counted())

    def cpu_seconds(self) -> float:
        return statistics.median(each.cpu_seconds for each in self.counted())

    def spread(self) -> tuple[float, float]:
        seconds = [each.seconds for each in self.counted()]
        return min(seconds), max(seconds)


def python_peer(script: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, str(PEERS / script), *arguments)


Progress = Callable[[int, Command], None]
"""Gets the number of the round, 0 for the warm-up, and the command that is run next."""


def measure(
    commands: Sequence[Command], repeats: int, cluster: int | None = None, progress: Progress | None = None
) -> list[Measured]:
    """A warm-up round that is not timed, then `repeats` rounds of all commands.

    The work and the memory of the processes of a cluster, by its process id, count as those of each command that has
    its label.
    """
    found: list[Measured] = []
    for number in range(repeats + 1):
        for position, command in enumerate(commands):
            if number and not _is_repeated(found[position], number):
                continue
            if progress:
                progress(number, command)
            used = cluster if command.label == CLUSTER else None
            sample = run_once(command, cluster=used, observe=number == 0)
            if number:
                found[position].samples.append(sample)
            else:
                found.append(Measured(command, sample, []))
    return found


CLUSTER = "dask"
"""The label of the commands that run on the cluster."""


def _is_repeated(measured: Measured, number: int) -> bool:
    """Whether it is run in this round."""
    patience, most = measured.command.patience, measured.command.most
    enough = most is not None and number > most
    return measured.failure() is None and not enough and (patience is None or measured.first.seconds <= patience)


def run_once(
    command: Command, *, cluster: int | None = None, observe: bool = False, timeout: float = TIMEOUT
) -> Sample:
    """Run a command. To observe its memory and output makes it slower."""
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}
    before = _cpu_seconds_of_family(cluster)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        child = subprocess.Popen(
            command.argv, stdin=subprocess.DEVNULL, stdout=output if observe else subprocess.DEVNULL, stderr=errors,
            env=environment,
        )  # fmt: skip
        killer = threading.Timer(timeout, child.kill)
        killer.start()
        try:
            peak, status, usage = _wait(child.pid, cluster, observe=observe)
        except BaseException:
            child.kill()
            child.wait()
            raise
        finally:
            killer.cancel()
        seconds = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        error = _end_of(errors) or _end_of(output)
        output.seek(0)
        digest = hashlib.file_digest(output, "sha256").hexdigest() if observe else ""
    if seconds >= timeout:
        error = f"killed after {timeout:.0f} s; {error}"
    cpu_seconds = usage.ru_utime + usage.ru_stime + _cpu_seconds_of_family(cluster) - before
    return Sample(seconds, cpu_seconds, child.returncode, error, peak, digest)


def _wait(pid: int, cluster: int | None, *, observe: bool) -> tuple[float | None, int, struct_rusage]:
    """Wait for the end of a child: peak memory, status and resource usage."""
    if not observe:
        _, status, usage = os.wait4(pid, 0)
        return None, status, usage
    peak: float | None = None
    while True:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            return peak, status, usage
        started = time.perf_counter()
        if (now := memory_mb(pid, cluster)) is not None:
            peak = max(peak or 0, now)
        time.sleep(max(_INTERVAL, _REST * (time.perf_counter() - started)))


def _end_of(stream: BinaryIO) -> str:
    stream.seek(0)
    return stream.read().decode(errors="replace").strip()[-500:]


def memory_mb(*roots: int | None) -> float | None:
    """The memory of processes and their descendants, in millions of bytes; shared pages count once.

    None if the system does not tell it: only Linux does.
    """
    found = [size for root in roots if root for pid in _family(root) if (size := _proportional_set_size(pid))]
    return sum(found) / 1e6 if found else None


def _family(root: int) -> Iterator[int]:
    """A process and its descendants."""
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        with suppress(OSError):  # it has just ended, or this is not Linux
            for thread in os.listdir(f"/proc/{pid}/task"):
                with suppress(OSError):
                    waiting += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text("ascii").split())


def _proportional_set_size(pid: int) -> int:
    """Its memory in bytes, where each shared page is divided by the number of processes that share it."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def _cpu_seconds_of_family(root: int | None) -> float:
    """User and system time of the processes of a cluster so far."""
    if root is None:
        return 0
    ticks = 0
    for pid in _family(root):
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
