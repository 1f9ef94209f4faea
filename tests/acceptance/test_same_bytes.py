"""A sample of script/equality: every engine gives the bytes of one process, wherever files are cut."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from fuzz import engine_files, engines

from medcontract.parallel import merge as parallel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="runs each case in a forked process")


def differences(folder: Path, number: int, name: str) -> list[int]:
    """The commands of a random case for which an engine differs from one process."""
    case = folder / f"{number}"
    engines.write_case(case, f"test {number}", runs=3)
    expected, found = (engines.outcomes(case, each) for each in ("one process", name))
    assert not any("Traceback" in run[2] or "internal error" in run[1] + run[2] for run in expected)
    return [place for place, (one, other) in enumerate(zip(expected, found, strict=True)) if one != other]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", range(24))
def test_chunks(tmp_path: Path, number: int) -> None:
    assert differences(tmp_path, number, "pickled") == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", range(100, 108))
def test_worker_processes(tmp_path: Path, number: int) -> None:
    assert differences(tmp_path, number, "jobs 2") == []


def test_all_tracks_and_commands_are_tried(tmp_path: Path) -> None:
    cases = [engines.write_case(tmp_path / f"{number}", f"test {number}", runs=3) for number in range(48)]
    assert set(cases) == set(engine_files.TRACKS)
    runs: list[Any] = []
    for path in tmp_path.glob("*/case.json"):
        runs += json.loads(path.read_text(encoding="utf-8"))["runs"]
    assert {run[0] for run in runs} == {"validate", "score", "leaderboard", "preflight"}
    assert {container for run in runs for container in run[1]} == set(engine_files.CONTAINERS)


def test_a_mistake_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If records were counted from the start of each chunk, the comparison would fail."""
    monkeypatch.setattr(parallel._Piece, "move", lambda piece, ref: ref)
    assert any(differences(tmp_path, number, "pickled") for number in range(12))
