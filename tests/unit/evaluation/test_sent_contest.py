"""Rankings on a cluster: the truth is read once, and a submission that kills its worker is refused."""

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
from medcontract.evaluation import contest as sent_contest
from medcontract.evaluation.contest import Contest
from medcontract.parallel import dask_pool, pool

distributed = pytest.importorskip("distributed", reason="needs the extra dask")
SEEDS = {"extraction": 2, "benchmark": 10, "lesions": 6, "triage": 7, "reports": 8}
"""For a truth without errors, and at least one valid submission."""
TEAMS = ("crane", "heron", "stork")


@pytest.fixture(autouse=True)
def _read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker reads the truth."""
    monkeypatch.setattr(sent_contest, "read_again", None)


def contest(folder: Path, track: str) -> tuple[Path, list[Path]]:
    """A folder with the truth, and those of the submissions."""
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


def ranked(truth: Path, teams: list[Path], **how: Any) -> list[str]:
    try:
        return medcontract.leaderboard(truth, *teams, **how).to_json().splitlines()
    except medcontract.MedcontractError as error:
        return [str(error)]


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
    found = []
    for folder, how in (("one", {"jobs": 1}), ("many", {"client": Cluster()})):
        board = ranked(truth, teams, reports=tmp_path / folder, participant=participant, **how)
        reports = {path.name: path.read_text() for path in (tmp_path / folder).iterdir()}
        found.append((board, reports))
    assert found[0] == found[1]
    assert len(found[0][1]) >= len(TEAMS)
    assert '"rank": 1' in "".join(found[0][0])


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


class _Deadly(Cluster):
    """A cluster where tasks of one submission are lost: at first with the others in progress, then alone."""

    def __init__(self, error: Exception, innocent: int = 0) -> None:
        super().__init__()
        self._error = error
        self._innocent = innocent

    def submit(self, function: Any, *arguments: Any, **how: Any) -> Any:
        if len(arguments) > 1 and getattr(arguments[1], "name", "") == "heron":
            return _Lost(self._error)
        if len(arguments) > 1 and getattr(arguments[1], "name", "") == "stork" and self._innocent:
            self._innocent -= 1
            return _Lost(self._error)
        return super().submit(function, *arguments, **how)


class _Lost(Task):
    def __init__(self, error: Exception) -> None:
        super().__init__(None, "lost")
        self._error = error

    def result(self, timeout: float) -> Any:
        raise self._error


@pytest.mark.parametrize("innocent", [0, 2])
@pytest.mark.parametrize("kind", ["CancelledError", "KilledWorker"])
def test_a_submission_that_kills_workers(tmp_path: Path, kind: str, innocent: int) -> None:
    """It is refused; the others, which may have been lost with it, are scored."""
    truth, teams = contest(tmp_path, "lesions")
    error = distributed.CancelledError() if kind == "CancelledError" else distributed.KilledWorker("heron", None, 3)
    alone = medcontract.leaderboard(truth, *teams, jobs=1)
    board = medcontract.leaderboard(truth, *teams, client=_Deadly(error, innocent))
    by_name = {entry.name: entry for entry in board.submissions}
    for entry in alone.submissions:
        if entry.name != "heron":
            assert (by_name[entry.name].figures, by_name[entry.name].valid) == (entry.figures, entry.valid)
    assert by_name["heron"].reasons == (
        "scoring it terminated its process repeatedly: it ran out of memory or was killed",
    )


class _Endless(Task):
    def result(self, timeout: float) -> Any:
        raise TimeoutError


class _Empty(Cluster):
    """A cluster whose workers are gone."""

    def submit(self, function: Any, *arguments: Any, **how: Any) -> Any:
        self.nthreads = dict  # type: ignore[method-assign]
        return _Endless(None, "never")


def test_no_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error, not a hang."""
    monkeypatch.setattr(dask_pool, "PATIENCE", 0)
    truth, teams = contest(tmp_path, "lesions")
    with pytest.raises(medcontract.MedcontractError, match="no workers any more"):
        medcontract.leaderboard(truth, *teams, client=_Empty())


def test_finished_submissions_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ends early is resumed, also in one process."""
    truth, teams = contest(tmp_path, "lesions")
    scored: list[str] = []
    real = Contest.score

    def stop_at_the_third(self: Contest, submission: Any) -> Any:
        scored.append(submission.name)
        if scored.count("stork") == 1 and submission.name == "stork":
            raise KeyboardInterrupt
        return real(self, submission)

    monkeypatch.setattr(pool, "AHEAD", 1)
    monkeypatch.setattr(Cluster, "nthreads", lambda cluster: {"here": 1})
    monkeypatch.setattr(Contest, "score", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        medcontract.leaderboard(truth, *teams, client=Cluster(), cache=tmp_path / "kept")
    board = medcontract.leaderboard(truth, *teams, client=Cluster(), cache=tmp_path / "kept")
    assert scored == ["crane", "heron", "stork", "stork"]
    assert medcontract.leaderboard(truth, *teams, jobs=1, cache=tmp_path / "kept").to_json() == board.to_json()
    assert len(scored) == 4


def test_paths_do_not_depend_on_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, _ = contest(tmp_path, "lesions")
    monkeypatch.chdir(tmp_path)
    alone = medcontract.leaderboard(truth, *TEAMS, jobs=1)

    class Elsewhere(Cluster):
        def submit(self, function: Any, *arguments: Any, **how: Any) -> Any:
            os.chdir("/")
            return super().submit(function, *arguments, **how)

    assert medcontract.leaderboard(truth, *TEAMS, client=Elsewhere()).to_json() == alone.to_json()
