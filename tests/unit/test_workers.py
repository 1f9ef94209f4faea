"""Workers that end while they are sending a result. Each test has a process of its own, which may be forked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.scoring_files import guess, image, write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only forked workers inherit the change")

SEND_HALF = """
import os, sys, time
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
import medcontract
from medcontract.parallel import processes as workers
from medcontract.reading import chunks

LARGE = 1000
real, parent = Connection._send_bytes, os.getpid()

def send_half(self, data):
    if os.getpid() == parent or len(data) < LARGE:
        real(self, data)
    else:
        self._send(len(data).to_bytes(4) + bytes(data[: len(data) // 2]))
        then()

Connection._send_bytes = send_half
workers._PATROL = 0.05
"""


def run(code: str, *arguments: object) -> str:
    """What a process prints in which workers send only half of a large result, and then call `then`."""
    command = [sys.executable, "-c", SEND_HALF + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_killed() -> None:
    """The pool is broken, as after any worker that was killed: nobody waits for the other half."""
    code = """
then = lambda: os._exit(9)
with workers.Workers(2, fork=True) as pool:
    print(len(pool.result(pool.submit(bytes, 10))))
    try:
        pool.result(pool.submit(bytes, 1 << 20))
    except BrokenProcessPool:
        print("broken")
"""
    assert run(code) == "10\nbroken\n"


def test_interrupted() -> None:
    """Workers whose results are not needed any more are not waited for."""
    code = """
then = lambda: time.sleep(600)
try:
    with workers.Workers(2, fork=True) as pool:
        pool.submit(bytes, 1 << 20)
        time.sleep(0.2)
        raise KeyboardInterrupt
except KeyboardInterrupt:
    print("interrupted")
"""
    assert run(code) == "interrupted\n"


def test_score(tmp_path: Path) -> None:
    """One process reads what they did not send."""
    code = """
died = sys.argv[3]
def then():
    open(died, "a").close()
    os._exit(9)
files = sys.argv[1:3]
alone = medcontract.score(*files, jobs=1).to_json()
chunks.SMALLEST = 2000
print(medcontract.score(*files, jobs=2).to_json() == alone, os.path.exists(died))
"""
    truth = write(tmp_path, "lesions/truth", [image(f"I-{n:04}", "NV") for n in range(500)], "csv", "truth")
    sent = write(tmp_path, "lesions/predictions", [guess(f"I-{n:04}", "NV") for n in range(500)], "jsonl", "sent")
    assert run(code, truth, sent, tmp_path / "died") == "True True\n"
