"""A call makes one scorer: for all its steps and, in a ranking, for all submissions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.commands import Call, sent_file, truth_file
from tests.scoring_files import document, model

from medcontract.contracts.registry import TRACKS
from medcontract.modeling import Scorer

Made = list[str]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    """The fingerprints of the protocols of all scorers that were made."""
    found: Made = []
    real: Any = Scorer.__init__

    def counting(self: Scorer, protocol: Any, *arguments: Any) -> None:
        found.append(protocol.fingerprint)
        real(self, protocol, *arguments)

    monkeypatch.setattr(Scorer, "__init__", counting)
    return found


@pytest.mark.parametrize("command", ["score", "preflight"])
@pytest.mark.parametrize("track", TRACKS)
def test_one_scorer_per_call(track: str, command: str, call: Call, made: Made) -> None:
    call("init", track, "demo")
    assert call(command, "demo").code == 0
    assert len(made) == 1


def test_an_existing_result(call: Call, made: Made) -> None:
    """A report that is scored again."""
    call("init", "benchmark", "demo")
    result = call("score", "demo/references.json", "demo/predictions.json", "--format", "json").json["result"]
    Path("report.json").write_text(json.dumps(result))
    made.clear()
    assert call("score", "report.json", "demo/weights.json").code == 0
    assert len(made) == 1


def test_a_submission_that_is_its_own_truth(call: Call, made: Made) -> None:
    """It is read against the list of cases for the checks, and again for the score."""
    call("init", "benchmark", "demo")
    cases = [row.split(",") for row in Path("demo/cases.csv").read_text().splitlines()[1:]]
    same = {"reference": {"answer": "a"}, "prediction": {"answer": "a"}}
    samples = [{"task_id": task, "sample_id": case, **same} for task, case in cases]
    Path("samples.jsonl").write_text("".join(f"{json.dumps(sample)}\n" for sample in samples))
    files = ("benchmark/samples=samples.jsonl", "demo/cases.csv", "--set", "model_id=m")
    assert call("preflight", *files, "--format", "json").json["score"]["valid"]
    assert len(made) == 1


@pytest.mark.parametrize("has_model", [False, True])
@pytest.mark.parametrize("track", TRACKS)
def test_one_scorer_per_protocol_of_a_ranking(
    track: str, has_model: bool, tmp_path: Path, call: Call, made: Made
) -> None:
    """None per submission. Inference times of the submissions can change the protocol."""
    truth = truth_file(tmp_path, track)
    teams = [tmp_path / name for name in ("crane", "heron", "stork")]
    for time, team in enumerate(teams, 1):
        team.mkdir()
        sent_file(team, track)
        if has_model and track == "lesions":
            document(team, "model", model(time=time))
    assert call("leaderboard", truth, *teams).code == 0
    assert len(made) == len(set(made)) == (2 if has_model and track == "lesions" else 1)
