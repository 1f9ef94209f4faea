"""The progress bar covers the truth and the submission, whatever reads them."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.scoring_files import CLASSES, guess, image, write
from tests.unit.evaluation.test_chunks_of_containers import as_row, write_parquet

import medcontract
from medcontract.reading import chunks

pty = pytest.importorskip("pty", reason="a pseudo-terminal")
PROGRAM = """
import sys
from types import SimpleNamespace
from itertools import count
from medcontract.cli import output
from medcontract.reading import chunks
chunks.SMALLEST = 20_000
seconds = count(0, 2)
output.time = SimpleNamespace(monotonic=lambda: next(seconds))
if __name__ == "__main__":
    from medcontract.cli.main import main
    sys.exit(main())
"""
"""The command line with small chunks, and with a clock on which each step takes seconds, so that all are shown."""
STATE = re.compile(r"\[[# ]{30}\] ( *\d+)% (\w+)(?:, [\d.]+ MB/s, ((?:\d+:)?\d+:\d\d) left)?")
Steps = list[tuple[str, int, int]]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A truth and a submission, of about the same size."""
    truth = [image(f"I-{n:05}", CLASSES[n % len(CLASSES)]) for n in range(6000)]
    sent = [guess(each["image_id"], each["label"]) for each in truth[:1500]]
    return write(tmp_path, "lesions/truth", truth, "csv"), write(tmp_path, "lesions/predictions", sent, "jsonl")


def on_a_terminal(folder: Path, arguments: Sequence[object]) -> list[tuple[int, str, str]]:
    """What the bar shows: share, step, and time left."""
    script = folder / "program.py"
    script.write_text(PROGRAM)
    mine, theirs = pty.openpty()
    shown = b""
    with subprocess.Popen(
        [sys.executable, str(script), *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=theirs, env={**os.environ, "TERM": "xterm"},
    ) as running:  # fmt: skip
        os.close(theirs)
        while True:
            try:
                shown += os.read(mine, 1 << 16)
            except OSError:  # the other end is closed
                break
    os.close(mine)
    assert running.returncode in (0, 1), shown
    return [(int(share), step, left) for share, step, left in STATE.findall(shown.decode())]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "step", "how"),
    [
        ("score", "scoring", ["--jobs", "1"]),
        ("score", "scoring", ["--jobs", "2"]),
        ("score", "scoring", ["--jobs", "2", "--engine", "dask"]),
        ("preflight", "checking", []),
    ],
)
def test_on_a_terminal(command: str, step: str, how: list[str], files: tuple[Path, Path], tmp_path: Path) -> None:
    """With the time left, from the start of the truth on."""
    if "dask" in how:
        pytest.importorskip("distributed", reason="needs the extra dask")
    shown = on_a_terminal(tmp_path, [command, *files, *how])
    share_of_truth = 100 * files[0].stat().st_size / sum(path.stat().st_size for path in files)
    shares = [share for share, _, _ in shown]
    assert {name for _, name, _ in shown} == {step}
    assert shares == sorted(shares)
    assert shares[-1] == 100
    assert any(0 < share < share_of_truth - 1 for share in shares)
    assert all(left for _, _, left in shown[1:])
    assert shown[-1][2] == "0:00"


def steps(*arguments: Any, how: Any = medcontract.score, **options: Any) -> Steps:
    """The calls of `progress`, which never goes back."""
    found: Steps = []
    how(*arguments, progress=lambda *step: found.append(step), **options)
    done = [step[1] for step in found]
    assert done == sorted(done)
    return found


@pytest.mark.parametrize("jobs", [1, 2])
def test_total(files: tuple[Path, Path], jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All bytes of all files, also if the truth is divided over several."""
    monkeypatch.setattr(chunks, "SMALLEST", 20_000)
    truth, sent = files
    header, *lines = truth.read_bytes().splitlines(keepends=True)
    truth.write_bytes(header + b"".join(lines[:2000]))
    other = truth.with_name("more.csv")
    other.write_bytes(header + b"".join(lines[2000:]))
    total = sum(path.stat().st_size for path in (truth, other, sent))
    found = steps(truth, other, sent, jobs=jobs)
    assert {(name, of) for name, _, of in found} == {("scoring", total)}
    assert found[-1][1] == total


def test_a_file_that_is_read_twice(files: tuple[Path, Path]) -> None:
    """It counts once: records with repeated ids are located in a second pass."""
    truth, sent = files
    sent.write_bytes(sent.read_bytes() + sent.read_bytes()[:20_000])
    found = steps(truth, sent, jobs=2)
    assert found[-1][1] == found[-1][2] == truth.stat().st_size + sent.stat().st_size


def test_parquet(files: tuple[Path, Path]) -> None:
    """In bytes as well, not in rows."""
    rows = [as_row(guess(f"I-{n:05}", "NV")) for n in range(6000)]
    sent = write_parquet(files[1].with_name("sent.parquet"), rows, random.Random(1))
    sizes = [path.stat().st_size for path in (files[0], sent)]
    found = steps(files[0], sent, jobs=1)
    assert found[-1][2] == sum(sizes)
    assert found[-1][1] > sizes[0] + 0.9 * sizes[1]


def test_preflight(files: tuple[Path, Path]) -> None:
    """The same, with another name."""
    found = steps(*files, how=medcontract.preflight)
    assert {(name, of) for name, _, of in found} == {("checking", sum(path.stat().st_size for path in files))}
