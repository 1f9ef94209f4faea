"""Commands that halt at a record, in any engine, so that a test can do something to them from outside.

The plugin `tests/faulty_track.py` halts: in the process of the command, in a worker that was forked or spawned, or in a
worker of a Dask cluster.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.commands import Ran
from tests.support import ROOT

MAIN = (sys.executable, "-m", "medcontract")
PLACES = {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "src")))}
CLUSTER = """
import sys, time
from distributed import LocalCluster
if __name__ == "__main__":
    workers = int(sys.argv[1])
    with LocalCluster(n_workers=workers, threads_per_worker=1, processes=workers > 1, dashboard_address=":0",
                      protocol="tcp://") as cluster:
        print(cluster.scheduler_address, flush=True)
        time.sleep(600)
"""
"""A Dask cluster: its workers are processes if there are several. Nothing restarts one that is in its process."""
ENGINES = {
    "one process": ("--jobs", "1"),
    "forked": ("--jobs", "2"),
    "spawned": ("--jobs", "2"),
    "dask": ("--engine", "dask", "--scheduler"),
    "local dask": ("--engine", "dask", "--jobs", "2"),
}
COMMANDS = {
    "validate": "validate b/sent.jsonl",
    "score": "score truth.jsonl b/sent.jsonl",
    "leaderboard": "leaderboard truth.jsonl a b c",
}
COUNT, HALTING = 200, 150


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until something is so; fail if that takes a minute."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "waited for a minute"
        time.sleep(0.02)


def processes_of(session: int) -> list[int]:
    """The processes of a session that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, number = path.read_text().rpartition(")")[2].split()[:4]
            if int(number) == session and state != "Z":
                found.append(int(path.parent.name))
    return found


def as_usual() -> None:
    """Handle signals as usual, also where the tests were started with them ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def cluster(folder: Path, workers: int, **config: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address of the scheduler of a new Dask cluster, and its process."""
    (folder / "cluster.py").write_text(CLUSTER)
    with subprocess.Popen(
        [sys.executable, str(folder / "cluster.py"), str(workers)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, start_new_session=True, env={**os.environ, **PLACES, **config},
    ) as running:  # fmt: skip
        try:
            assert running.stdout
            yield running.stdout.readline().strip(), running
        finally:
            os.killpg(running.pid, signal.SIGKILL)


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def overwritten(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.seek(100)
        stream.write(b"xxxx")


def replaced(path: Path) -> None:
    path.with_suffix(".new").write_bytes(path.read_bytes().replace(b"yes", b"why"))
    path.with_suffix(".new").replace(path)


def removed(path: Path) -> None:
    path.unlink()


def now_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


ACCIDENTS = (truncated, emptied, overwritten, replaced, removed, now_a_folder)
"""What happens to a file while it is read."""


class Halted:
    """A command that waits at a record."""

    def __init__(self, arena: Arena, running: subprocess.Popen[str]) -> None:
        self.arena = arena
        self.running = running
        self.reader = int((arena.folder / "halted").read_text())
        """The process that reads the record: the command's, or a worker."""

    @property
    def file(self) -> Path:
        """The file that is read."""
        return self.arena.folder / "b" / "sent.jsonl"

    def go_on(self) -> None:
        (self.arena.folder / "go").touch()


class Arena:
    """A folder with a truth and three submissions of the toy track, with temporary files in another folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temporary = folder / "temporary"
        shutil.copy(ROOT / "tests" / "faulty_track.py", folder)
        self._expected: dict[tuple[str, ...], Ran] = {}

    def reset(self, said: str = "halt", place: str = "b/sent.jsonl") -> None:
        """Write all files. One record, of the submission `b` or of the truth, says what happens."""
        for name in ("halted", "go"):
            (self.folder / name).unlink(missing_ok=True)
        for name in ("a", "b", "c", "temporary"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            (self.folder / name).mkdir()
        for name in ("truth.jsonl", "a/sent.jsonl", "b/sent.jsonl", "c/sent.jsonl"):
            words = ["yes" if number % 3 else "no" for number in range(COUNT)]
            if name == place:
                words[HALTING] = said
            field = "word" if name == "truth.jsonl" else "said"
            records = [{"item": f"W-{number:03}", field: word} for number, word in enumerate(words)]
            (self.folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))

    def expected(self, command: str, said: str = "halt", place: str = "b/sent.jsonl") -> Ran:
        """What one process prints without a fault."""
        key = (command, said, place)
        if key not in self._expected:
            self.reset(said, place)
            (self.folder / "go").touch()
            self._expected[key] = self.run("one process", command)
        return self._expected[key]

    def run(self, engine: str, command: str, *options: str, fault: str = "", **how: Any) -> Ran:
        """Run a command to its end, perhaps with a fault that the plugin knows by its name."""
        with self._started(engine, command, options, fault, **how) as running:
            return self.finish(running)

    @contextmanager
    def halted(self, engine: str, command: str, *options: str) -> Iterator[Halted]:
        """Start a command, and wait until it halts."""
        with self._started(engine, command, options) as running:
            wait_for(lambda: (self.folder / "halted").exists() or running.poll() is not None)
            assert running.poll() is None, running.communicate()
            yield Halted(self, running)

    @contextmanager
    def _started(
        self, engine: str, command: str, options: tuple[str, ...], fault: str = "", **how: Any
    ) -> Iterator[subprocess.Popen[str]]:
        arguments = [*COMMANDS[command].split(), *ENGINES[engine], *options]
        environment = {**os.environ, **PLACES, "TMPDIR": str(self.temporary), "NO_COLOR": "1"}
        environment |= {"FAULT": fault, "SPAWN": "1" if engine == "spawned" else ""}
        with subprocess.Popen(
            [*MAIN, *arguments, "--plugin", "./faulty_track.py", "--format", "json"], cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env=environment,
            **{"preexec_fn": as_usual, **how},
        ) as running:  # fmt: skip
            try:
                yield running
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(running.pid, signal.SIGKILL)

    def finish(self, running: subprocess.Popen[str]) -> Ran:
        """Wait for the end of a command, after which none of its processes is left."""
        out, err = running.communicate(timeout=120)
        wait_for(lambda: not processes_of(running.pid))
        assert "Traceback" not in err, err
        return Ran(running.returncode, out, err)
