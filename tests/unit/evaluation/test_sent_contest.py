"""Rankings on a cluster: the truth is read once, and the result is the same as in one process."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from tests.challenge_files import SMALL
from tests.challenge_files import write as write_challenge
from tests.fake_cluster import Cluster, Task
from tests.random_files import MAKERS, spoiled
from tests.scoring_files import document, model, telemetry, weights, write
from tests.scoring_files import run as measured_run

import medcontract
from medcontract.parallel import dask_pool

pytest.importorskip("distributed", reason="needs the extra dask")
SEEDS = {"extraction": 2, "benchmark": 10, "lesions": 6, "triage": 7, "reports": 8}
"""For a truth without errors, and at least one valid submission."""
TEAMS = ("crane", "heron", "stork")


def contest(folder: Path, track: str) -> tuple[Path, list[Path]]:
    """The folders of the truth and of the submissions."""
    truth = folder / "truth"
    truth.mkdir()
    teams = [folder / name for name in TEAMS]
    for seed, team in enumerate(teams):
        team.mkdir()
        for contract, records in MAKERS[track](random.Random(SEEDS[track])).items():
            if contract.endswith(("labels", "truth", "references")):
                write(truth, contract, records)
            else:
                write(team, contract, records[seed:])
    return truth, teams


@pytest.mark.parametrize("participant", [False, True])
@pytest.mark.parametrize("track", MAKERS)
def test_same_bytes(track: str, participant: bool, tmp_path: Path) -> None:
    """Also in the reports for the submissions, and with files about a competition or a submission."""
    truth, teams = contest(tmp_path, track)
    for team in teams:
        if track == "lesions":
            document(team, "model", model())
        if track == "reports":
            document(team, "telemetry", telemetry(measured_run("1")))
    if track == "benchmark":
        document(truth, "weights", weights(clinical_accuracy=1))

    def no_truth(_: int) -> None:
        """No worker reads it."""
        for path in truth.iterdir():
            path.unlink()

    found = []
    ways: list[dict[str, Any]] = [{"jobs": 1}, {"client": Cluster(before=no_truth)}]
    for number, how in enumerate(ways):
        reports = tmp_path / f"{number}"
        board = medcontract.leaderboard(truth, *teams, reports=reports, participant=participant, **how).to_json()
        found.append((board, {path.name: path.read_text() for path in reports.iterdir()}))
    assert found[0] == found[1]
    assert len(found[0][1]) >= len(TEAMS)
    assert '"rank": 1' in found[0][0]


def test_a_challenge(tmp_path: Path) -> None:
    rng = random.Random(1)
    truth = [{"case_id": f"D-{n:04}", "label": rng.choice(["yes", "no"])} for n in range(30)]
    write_challenge(tmp_path / "truth.csv", truth)
    sent = [
        write_challenge(tmp_path / f"{name}.jsonl", spoiled(rng, truth, "case_id", {"label": "perhaps"}))
        for name in TEAMS
    ]
    challenge = medcontract.Challenge.load(SMALL.encode())
    alone = challenge.leaderboard(tmp_path / "truth.csv", *sent, jobs=1)
    assert challenge.leaderboard(tmp_path / "truth.csv", *sent, client=Cluster()).to_json() == alone.to_json()


class _Lossy(Cluster):
    """A cluster whose worker ends while it gets the truth, once."""

    lost = False

    def scatter(self, value: Any, **how: Any) -> Task:
        if not self.lost:
            self.lost = True
            raise OSError
        return super().scatter(value, **how)


def test_a_worker_that_ends_while_it_gets_the_truth(tmp_path: Path) -> None:
    """Another one gets it."""
    truth, teams = contest(tmp_path, "lesions")
    cluster = _Lossy()
    alone = medcontract.leaderboard(truth, *teams, jobs=1)
    assert medcontract.leaderboard(truth, *teams, client=cluster).to_json() == alone.to_json()
    assert cluster.lost


class _Endless(Task):
    def result(self, timeout: float) -> Any:
        raise TimeoutError


class _Empty(Cluster):
    """A cluster whose workers are gone."""

    def submit(self, *arguments: Any, **how: Any) -> Any:
        self.nthreads = dict  # type: ignore[method-assign]
        return _Endless(None)


def test_no_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error, not a hang."""
    monkeypatch.setattr(dask_pool, "PATIENCE", 0)
    truth, teams = contest(tmp_path, "lesions")
    with pytest.raises(medcontract.MedcontractError, match="no workers any more"):
        medcontract.leaderboard(truth, *teams, client=_Empty())


def test_finished_submissions_are_kept(tmp_path: Path) -> None:
    """A run that ends early is resumed, also in one process."""
    truth, (first, *_) = contest(tmp_path, "lesions")
    teams = [first]
    for number in range(5):
        teams.append(tmp_path / f"{number}")
        teams[-1].mkdir()
        (teams[-1] / "sent.json").write_bytes((first / "lesions-predictions.json").read_bytes() + b" " * number)

    def stop(number: int) -> None:
        if number == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        medcontract.leaderboard(truth, *teams, client=Cluster(1, stop), cache=tmp_path / "kept")
    kept = medcontract.cache_info(tmp_path / "kept").count
    assert kept
    cluster = Cluster()
    board = medcontract.leaderboard(truth, *teams, client=cluster, cache=tmp_path / "kept")
    assert cluster.tasks == len(teams) - kept
    assert medcontract.leaderboard(truth, *teams, jobs=1, cache=tmp_path / "kept").to_json() == board.to_json()
    assert medcontract.leaderboard(truth, *teams, jobs=1).to_json() == board.to_json()


def test_paths_do_not_depend_on_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, _ = contest(tmp_path, "lesions")
    monkeypatch.chdir(tmp_path)
    alone = medcontract.leaderboard(truth, *TEAMS, jobs=1)
    elsewhere = Cluster(before=lambda number: os.chdir("/"))
    assert medcontract.leaderboard(truth, *TEAMS, client=elsewhere).to_json() == alone.to_json()
