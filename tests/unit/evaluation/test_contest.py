"""Rankings: what is not needed is not done."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.scoring_files import document, guess, image, model, write

import medcontract
from medcontract.scoring.lesions import LesionsScorer


def ranking(folder: Path, has_model: bool = False) -> list[Path]:
    """A truth and a submission, with or without a model file."""
    (folder / "team").mkdir()
    document(folder / "team", "model", model() if has_model else None)
    write(folder / "team", "lesions/predictions", [guess("I-1", "NV")], "jsonl")
    return [write(folder, "lesions/truth", [image("I-1", "NV")], "csv"), folder / "team"]


def test_one_process_starts_quickly(tmp_path: Path) -> None:
    """What only workers or reports need is not imported."""
    files = [str(path) for path in ranking(tmp_path)]
    code = f"import sys, medcontract; medcontract.leaderboard(*{files!r}, jobs=1); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = ran.stdout.split()
    assert "medcontract.evaluation.contest" in names
    assert {"medcontract.parallel.processes", "multiprocessing", "concurrent.futures", "tempfile"}.isdisjoint(names)


@pytest.mark.parametrize(("has_model", "times"), [(False, 1), (True, 2)])
def test_figures_are_computed_again_if_the_protocol_depends_on_all_submissions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_model: bool, times: int
) -> None:
    figures, found = LesionsScorer.figures, []

    def counting(self: LesionsScorer, tally: Any) -> Any:
        found.append(tally)
        return figures(self, tally)

    monkeypatch.setattr(LesionsScorer, "figures", counting)
    board = medcontract.leaderboard(*ranking(tmp_path, has_model))
    assert len(found) == times
    assert board.submissions[0].figures["accuracy"] == 1
