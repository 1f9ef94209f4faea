"""The entry points of bundles: default folders, and failures that are not caused by a submission."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.commands import truth_file

import medcontract
from medcontract.errors import CallError
from medcontract.platforms import codabench, evaluation, grand_challenge
from medcontract.platforms.evaluation import evaluate_submission


@pytest.mark.parametrize(
    ("module", "folders"),
    [
        (codabench, ("/app/input/ref", "/app/input/res", "/app/output")),
        (grand_challenge, ("/opt/ml/input/data/ground_truth", "/input", "/output")),
    ],
)
def test_default_folders(module: Any, folders: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without arguments, the folders of the platform are used."""
    given: list[tuple[str, ...]] = []

    def run(*paths: str, **_: Any) -> int:
        given.append(paths[:4])
        return 0

    monkeypatch.setattr(module, "run", run)
    assert module.main("/program", []) == 0
    assert given == [("/program", *folders)]


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (PermissionError(13, "SECRET"), "cannot write the result"),
        (CallError("cannot write SECRET"), "cannot write the result"),
        (ValueError("SECRET"), "internal error (ValueError in platforms/evaluation.py, line "),
    ],
)
def test_failures(
    error: Exception, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever goes wrong outside of scoring is one line without details, and the exit code 2."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(evaluation, "write_file", fail)
    program, output = str(tmp_path), tmp_path / "output"
    assert evaluation.run(program, program, program, str(output), "s.json", ignored=(), page="p.html") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"Submission not scored: the evaluation failed ({what}")
    assert err.endswith("; this is not a problem of the submission, please tell the organizers\n")
    assert err.count("\n") == 1
    assert "SECRET" not in err


@pytest.mark.parametrize("settings", ["", "{", "{}", '{"format": 2}', "[]"])
def test_damaged_settings(settings: str, tmp_path: Path) -> None:
    """Settings that cannot be used are a problem of the organizer."""
    medcontract.bundle("codabench", truth_file(tmp_path, "reports"), tmp_path / "bundle")
    program = tmp_path / "bundle/scoring_program"
    (program / "medcontract-bundle.json").write_text(settings)
    found = evaluate_submission(str(program), str(tmp_path), str(tmp_path))
    assert (found.exit_code, found.figures, found.score) == (2, {}, None)
    assert "tell the organizers" in found.reason
    assert found.reason in found.page()


def test_another_protocol(tmp_path: Path) -> None:
    """A protocol of another medcontract scores nothing."""
    truth = truth_file(tmp_path, "reports")
    medcontract.bundle("codabench", truth, tmp_path / "bundle")
    protocol = tmp_path / "bundle/scoring_program/protocol.json"
    protocol.write_text(protocol.read_text().replace('"value": 0.95', '"value": 0.1'))
    found = evaluate_submission(str(protocol.parent), str(tmp_path), str(truth))
    assert (found.exit_code, found.figures) == (2, {})
