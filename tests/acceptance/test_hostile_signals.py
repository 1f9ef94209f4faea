"""A call that is ended with SIGTERM leaves nothing behind: no data, no half-written file, no process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.scoring_files import CLASSES, guess, image, write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals and processes as on Linux")
LINE = json.dumps(image("I-1", "NV")).encode() + b"\n"
MAIN = "import sys; from medcontract.cli.main import main; sys.exit(main())"


def as_usual() -> None:
    """In a child process: signals as usual, also where the tests were started with them ignored."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def wait_for(condition: object, *arguments: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + 30
    while not condition(*arguments):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_standard_input(tmp_path: Path, number: signal.Signals) -> None:
    """What came in is kept in a temporary file while it is read, and not longer."""
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, "validate", "lesions/truth=-"], env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=as_usual,
    ) as waiting:  # fmt: skip
        assert waiting.stdin
        waiting.stdin.write(LINE * (1 + (40 << 20) // len(LINE)))
        waiting.stdin.flush()
        wait_for(lambda: files(tmp_path))
        waiting.send_signal(number)
        waiting.wait(30)
        assert waiting.stderr
        assert waiting.stderr.read() == b""
    assert waiting.returncode == 128 + number
    assert files(tmp_path) == []


SLOW = """
import sys, time
from pathlib import Path
from medcontract.cli.main import main

def chmod(*_):
    print("writing", flush=True)
    time.sleep(60)

Path.chmod = chmod
sys.exit(main())
"""


def test_a_half_written_result(tmp_path: Path) -> None:
    """The old file is whole, and nothing stands beside it."""
    (tmp_path / "truth.jsonl").write_bytes(LINE)
    (tmp_path / "out.json").write_text("old")
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, "validate", "truth.jsonl", "--out", "out.json"], cwd=tmp_path,
        stdout=subprocess.PIPE, preexec_fn=as_usual,
    ) as writing:  # fmt: skip
        assert writing.stdout
        assert writing.stdout.readline() == b"writing\n"
        assert len(files(tmp_path)) == 3
        writing.terminate()
    assert writing.returncode == 143
    assert files(tmp_path) == ["out.json", "truth.jsonl"]
    assert (tmp_path / "out.json").read_text() == "old"


PLUGIN = """
import os, time
from medcontract.evaluation import contest

def score_against(*_):
    open(f"worker-{os.getpid()}", "w").close()
    time.sleep(60)

contest.score_against = score_against
METRICS = {}
"""


def exists(process: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.sampled(2)
@pytest.mark.parametrize("everyone", [False, True])
def test_workers(tmp_path: Path, everyone: bool) -> None:
    """They end with the process that asked, also where the signal goes to all of them."""
    write(tmp_path, "lesions/truth", [image(f"I-{n}", CLASSES[n]) for n in range(10)], name="truth")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, "lesions/predictions", [guess(f"I-{n}", CLASSES[n]) for n in range(10)])
    (tmp_path / "slow_scoring.py").write_text(PLUGIN)
    arguments = ["leaderboard", "truth.json", "a", "b", "--jobs", "2", "--plugin", "./slow_scoring.py"]
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, *arguments, "--out", "out.md"], cwd=tmp_path, stderr=subprocess.PIPE,
        preexec_fn=as_usual, start_new_session=True,
    ) as asking:  # fmt: skip
        wait_for(lambda: len(list(tmp_path.glob("worker-*"))) == 2)
        if everyone:
            os.killpg(asking.pid, signal.SIGTERM)
        else:
            asking.terminate()
        assert asking.wait(30) == 143
        assert asking.stderr
        assert asking.stderr.read() == b""
    workers = [int(path.name.removeprefix("worker-")) for path in tmp_path.glob("worker-*")]
    wait_for(lambda: not any(map(exists, workers)))
    assert not list(tmp_path.glob("*out.md*"))
