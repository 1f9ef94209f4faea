"""docs/scale.md: its examples run, and what it says about limits is true."""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.commands import Call
from tests.scoring_files import write
from tests.support import ROOT

from medcontract.parallel import cpus
from medcontract.reading import chunks
from medcontract.reading.limits import Limits

PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"(?ms)^```(python)?\n(.*?)^```")
HOST, PORT = "10.0.0.5", "8786"
"""The address of the scheduler in the examples."""


def test_limits() -> None:
    """The sizes of chunks and records match the code."""
    smallest, largest = chunks.SMALLEST >> 20, chunks.LARGEST >> 20
    assert f"chunks of {smallest} to {largest} MiB" in PAGE
    assert f"chunks of at most {largest} MiB" in PAGE
    assert f"Files below {2 * smallest} MiB are read by one process" in PAGE
    assert f"by default, also those below {2 * cpus.WORTH_IT >> 20} MiB" in PAGE
    assert f"`--max-record` ({Limits().record >> 20} MiB)" in PAGE


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the examples name, and small chunks."""
    monkeypatch.chdir(tmp_path)
    labels = [{"image_id": f"I-{n}", "label": "NV"} for n in range(200)]
    sent = [{"image_id": f"I-{n}", "probabilities": [0, 0, 0, 0, 0, 0, 1, 0, 0, 0]} for n in range(200)]
    write(tmp_path, "lesions/truth", labels, "csv").rename("truth.csv")
    path = write(tmp_path, "lesions/predictions", sent, "jsonl")
    (tmp_path / "submissions" / "heron").mkdir(parents=True)
    (tmp_path / "submissions" / "heron" / "predictions.jsonl").write_bytes(path.read_bytes())
    path.rename("predictions.jsonl")
    monkeypatch.setattr(chunks, "SMALLEST", 2000)
    return tmp_path


def _free_port() -> str:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return str(listening.getsockname()[1])


@contextmanager
def _started(line: str, said: str) -> Iterator[None]:
    """A command of Dask that runs until the end of this context; wait for a line that contains `said`."""
    command = [sys.executable, "-m", *shlex.split(line)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert running.stderr
            assert any(said in line for line in running.stderr)
            yield
        finally:
            running.terminate()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes as on Linux")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_examples(files: Path, call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    """All commands and the Python code, with a scheduler and a worker that are started as shown."""
    pytest.importorskip("distributed", reason="needs the extra dask")
    port = _free_port()
    text = PAGE.replace(HOST, "127.0.0.1").replace(PORT, port).replace("--nworkers 4", "--nworkers 1")
    blocks = _BLOCK.findall(text.replace("submissions/*", "submissions/heron"))
    lines = [line for language, block in blocks if not language for line in block.splitlines()]
    dask = [line for line in lines if line.startswith("dask ")]
    with ExitStack() as stack:
        stack.enter_context(_started(f"{dask[0]} --dashboard-address 127.0.0.1:0", "Scheduler at:"))
        stack.enter_context(
            _started(f"{dask[1]} --local-directory {files / 'dask'}", "Starting established connection")
        )
        time.sleep(0.1)
        commands = [line for line in lines if line.startswith("medcontract ")]
        ran = [call(*shlex.split(line)[1:]) for line in commands]
        for language, block in blocks:
            if language:
                exec(compile(block, "scale.md", "exec"), {})  # noqa: S102  # the example on the page
    assert len(dask) == 2
    assert [each.code for each in ran] == [0] * 4, [each.err for each in ran]
    assert ran[0].out == ran[2].out == ran[3].out
    assert capsys.readouterr().out == "1.0\n"
