"""The scripts of benchmarks/ run; their figures are for people to look at."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import ROOT

SIZES = (
    "--embeddings-mb", "0.05", "--plain-mb", "0.05", "--lesions", "40", "--lesions-small", "40",
    "--prescriptions", "20", "--answers", "10", "--reports", "5",
)  # fmt: skip


@pytest.mark.slow
def test_every_benchmark_runs_on_tiny_files(tmp_path: Path) -> None:
    """Files with and without a truth are measured, and no command fails."""
    data = tmp_path / "data"
    written = _run("generate.py", "--out", str(data), *SIZES)
    measured = _run("run.py", "--data", str(data), "--repeats", "1")
    files = {line.partition(":")[0] for line in written.splitlines()}
    assert {"triage_10mb.json", "lesions_100k.csv", "lesions_1m.jsonl", "answers_20k.jsonl"} <= files
    titles = {line.removeprefix("### ").partition(",")[0] for line in measured.splitlines() if line.startswith("### ")}
    assert {"start-up", "triage_10mb.json", "triage_100mb.json", "lesions_1m.jsonl", "answers_20k.jsonl"} <= titles
    assert "challenge_1m.jsonl" in titles
    assert "| medcontract score, lesions_1m.jsonl |" in measured
    assert "exit code" not in measured


def _run(script: str, *arguments: str) -> str:
    command = [sys.executable, str(ROOT / "benchmarks" / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout
