"""`script/safety-net` sees what changed between two versions, and nothing else."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of a small part of the runs."""
    folder = tmp_path_factory.mktemp("net")
    assert _net("corpus", folder / "corpus", "--submissions", 10).returncode == 0
    done = _net("record", folder / "corpus", folder / "first.jsonl.gz", "--jobs", 1, "--step", 40)
    assert done.returncode == 0, done.stderr
    return folder / "first.jsonl.gz"


def test_the_same_version_gives_the_same_recording(recording: Path) -> None:
    """Two recordings of one version are equal, though made in different folders."""
    again = recording.with_name("again.jsonl.gz")
    _net("record", recording.parent / "corpus", again, "--jobs", 1, "--step", 40)
    done = _net("compare", recording, again)
    assert (done.returncode, done.stdout.splitlines()[-1].partition(" ")[0]) == (0, "0")


@pytest.mark.parametrize(("change", "strict", "wording"), [("message", 1, 0), ("code", 1, 1), ("exit", 1, 1)])
def test_a_difference_is_found(recording: Path, change: str, strict: int, wording: int) -> None:
    """Codes and exit codes always count; texts for people can be left aside."""
    rows = [json.loads(line) for line in gzip.decompress(recording.read_bytes()).splitlines()]
    row = next(row for row in rows if row["id"].startswith("validate json") and '"message"' in row["stdout"])
    if change == "exit":
        row["exit"] = 77
    else:
        row["stdout"] = row["stdout"].replace(f'"{change}": "', f'"{change}": "X', 1)
    changed = recording.with_name(f"{change}.jsonl.gz")
    with gzip.open(changed, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(each) + "\n" for each in rows)
    assert _net("compare", recording, changed).returncode == strict
    assert _net("compare", recording, changed, "--ignore-wording").returncode == wording


def _net(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "script" / "safety_net.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
