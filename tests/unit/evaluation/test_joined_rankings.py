"""A ranking against a truth that stays on the workers gives the bytes of one process."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.challenge_files import SMALL
from tests.challenge_files import write as write_challenge
from tests.commands import Call
from tests.fake_cluster import Cluster, Task
from tests.scoring_files import write
from tests.unit.evaluation.test_chunks import damage
from tests.unit.evaluation.test_cluster_scores import contest as folders
from tests.unit.evaluation.test_cluster_scores import ranked
from tests.unit.evaluation.test_joining import MAKERS, spoiled

import medcontract
from medcontract.evaluation import cluster_scores, dask_engine, dask_join
from medcontract.evaluation.contest import Contest
from medcontract.reading import chunks

distributed = pytest.importorskip("distributed", reason="needs the extra dask")
TRUTHS = ("labels", "truth", "references")


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "SMALLEST", 128)


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many chunks of submissions were read with a part of the truth, in each call."""
    counted: list[int] = []
    real = dask_join.DaskTruth.parts

    def noted(truth: Any, ids_of: Any, parts: Any) -> Any:
        counted.append(len(parts))
        return real(truth, ids_of, parts)

    monkeypatch.setattr(dask_join.DaskTruth, "parts", noted)
    return counted


@pytest.fixture
def _nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker gets a whole truth, nor reads it."""
    monkeypatch.setattr(cluster_scores, "_Shared", None)
    monkeypatch.setattr(dask_engine.DaskEngine, "each", None)


def spoiled_folders(rng: random.Random, track: str, folder: Path) -> tuple[Path, list[Path]]:
    """A truth and submissions with repeated, unknown, invalid and missing records, one of them unreadable."""
    truth, teams = folders(folder, track)
    for number, team in enumerate(teams):
        for path in team.iterdir():
            data = path.read_bytes()
            path.write_bytes(damage(rng, data) if number else data)
    good = {contract: rows for contract, rows in MAKERS[track](rng).items() if not contract.endswith(TRUTHS)}
    other = folder / "other"
    other.mkdir()
    for contract, rows in good.items():
        key = next(iter(rows[0]))
        write(other, contract, spoiled(rng, rows, key, {key: 7}))
    broken = folder / "broken"
    broken.mkdir()
    (broken / "out.json").write_bytes(b'{"predictions": [')
    return truth, [*teams, other, broken]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("track", MAKERS)
def test_same_bytes(track: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"{track} {seed}")
    truth, teams = spoiled_folders(rng, track, tmp_path)
    expected = ranked(truth, teams, jobs=1)
    assert len(expected) > len(teams)
    assert ranked(truth, teams, client=Cluster(), broadcast_limit=1) == expected


@pytest.mark.usefixtures("_nothing_is_sent")
@pytest.mark.parametrize("participant", [False, True])
@pytest.mark.parametrize("track", MAKERS)
def test_every_track_is_joined(track: str, participant: bool, tmp_path: Path, joined: list[int]) -> None:
    """With the same reports, too."""
    truth, teams = folders(tmp_path, track)
    found = []
    for folder, how in (("one", {"jobs": 1}), ("many", {"client": Cluster(), "broadcast_limit": 1})):
        board = ranked(truth, teams, reports=tmp_path / folder, participant=participant, **how)
        found.append((board, {path.name: path.read_text() for path in (tmp_path / folder).iterdir()}))
    assert found[0] == found[1]
    assert '"rank": 1' in "".join(found[0][0])
    assert sum(count > 1 for count in joined) >= len(teams)


def test_the_limit(tmp_path: Path, joined: list[int]) -> None:
    """A truth whose files are not larger is sent to each worker."""
    truth, teams = folders(tmp_path, "lesions")
    size = sum(path.stat().st_size for path in truth.iterdir())
    results = {
        medcontract.leaderboard(truth, *teams, client=Cluster(), broadcast_limit=limit).to_json()
        for limit in (None, size)
    }
    assert not joined
    results.add(medcontract.leaderboard(truth, *teams, client=Cluster(), broadcast_limit=size - 1).to_json())
    assert (len(results), len(joined)) == (1, len(teams))


def test_a_truth_that_cannot_be_divided(tmp_path: Path, joined: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is sent to the workers; they do not read it."""
    monkeypatch.setattr(chunks, "SMALLEST", 1 << 20)
    monkeypatch.setattr(cluster_scores, "read_again", None)
    truth, teams = folders(tmp_path, "lesions")
    assert ranked(truth, teams, client=Cluster(), broadcast_limit=1) == ranked(truth, teams, jobs=1)
    assert not joined


@pytest.mark.usefixtures("_nothing_is_sent")
def test_a_challenge(tmp_path: Path, joined: list[int]) -> None:
    rng = random.Random(1)
    truth = [{"case_id": f"D-{n:04}", "label": rng.choice(["yes", "no"])} for n in range(60)]
    write_challenge(tmp_path / "truth.csv", truth)
    sent = [
        write_challenge(tmp_path / f"{name}.jsonl", spoiled(rng, truth, "case_id", {"label": "perhaps"}))
        for name in ("crane", "heron")
    ]
    challenge = medcontract.Challenge.load(SMALL.encode())
    alone = challenge.leaderboard(tmp_path / "truth.csv", *sent, jobs=1)
    board = challenge.leaderboard(tmp_path / "truth.csv", *sent, client=Cluster(), broadcast_limit=1)
    assert board.to_json() == alone.to_json()
    assert len(joined) >= 2


@pytest.mark.usefixtures("_nothing_is_sent")
def test_workers_discard_what_they_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each submission, they only keep the truth."""
    truth, teams = folders(tmp_path, "lesions")
    kept: list[tuple[int, int]] = []
    real = dask_engine.DaskEngine.discarding

    def noted(engine: Any) -> Any:
        kept.append((len(engine._outcomes), len(engine._common)))
        return real(engine)

    monkeypatch.setattr(dask_engine.DaskEngine, "discarding", noted)
    medcontract.leaderboard(truth, *teams, client=Cluster(), broadcast_limit=1)
    assert len(kept) == len(teams)
    assert len(set(kept)) == 1
    assert kept[0] > (1, 0)


class _Lost(Task):
    def __init__(self, error: Exception) -> None:
        super().__init__(None, "lost")
        self._error = error

    def result(self, timeout: float) -> Any:
        raise self._error


def lose(monkeypatch: pytest.MonkeyPatch, name: str, error: Exception, times: int) -> list[str]:
    """Tasks that read this submission fail so often. Returns the names of the submissions that were scored."""
    scored: list[str] = []
    current, left = "", times
    real, real_submit = Contest.score, Cluster.submit

    def score(contest: Contest, submission: Any) -> Any:
        nonlocal current
        current = submission.name
        scored.append(current)
        try:
            return real(contest, submission)
        finally:
            current = ""

    def submit(cluster: Cluster, function: Any, *arguments: Any, **how: Any) -> Any:
        nonlocal left
        if function is dask_engine._light and current == name and left:
            left -= 1
            return _Lost(error)
        return real_submit(cluster, function, *arguments, **how)

    monkeypatch.setattr(Contest, "score", score)
    monkeypatch.setattr(Cluster, "submit", submit)
    return scored


def test_a_truth_that_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all workers that had it: it is read again, and the submission is scored again."""
    truth, teams = folders(tmp_path, "lesions")
    expected = ranked(truth, teams, jobs=1)
    scored = lose(monkeypatch, "heron", distributed.CancelledError(), 30)
    assert ranked(truth, teams, client=Cluster(), broadcast_limit=1) == expected
    assert scored.count("heron") == 2


def test_a_truth_that_is_lost_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error, not a submission that is refused."""
    truth, teams = folders(tmp_path, "lesions")
    lose(monkeypatch, "heron", distributed.CancelledError(), 100_000)
    with pytest.raises(medcontract.MedcontractError, match="the truth was lost with Dask workers"):
        medcontract.leaderboard(truth, *teams, client=Cluster(), broadcast_limit=1)


def test_a_submission_that_kills_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused, and not kept as such; the others are scored."""
    truth, teams = folders(tmp_path, "lesions")
    alone = {entry.name: entry for entry in medcontract.leaderboard(truth, *teams, jobs=1).submissions}
    lose(monkeypatch, "heron", distributed.KilledWorker("heron", SimpleNamespace(address="here"), 3), 100_000)
    board = medcontract.leaderboard(truth, *teams, client=Cluster(), broadcast_limit=1, cache=tmp_path / "kept")
    found = {entry.name: entry for entry in board.submissions}
    assert found.pop("heron").reasons == (
        "scoring it terminated its process repeatedly: it ran out of memory or was killed",
    )
    assert {name: entry.figures for name, entry in found.items()} == {name: alone[name].figures for name in found}
    assert medcontract.cache_info(tmp_path / "kept").count == len(teams) - 1


def test_a_lost_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong call, not a ranking of submissions that are refused."""
    truth, teams = folders(tmp_path, "lesions")
    lose(monkeypatch, "heron", distributed.comm.CommClosedError(), 100_000)
    with pytest.raises(medcontract.CallError, match="the connection to the Dask scheduler was lost"):
        medcontract.leaderboard(truth, *teams, client=Cluster(), broadcast_limit=1)


def test_the_option(call: Call, tmp_path: Path) -> None:
    """Without a cluster there is nothing to limit."""
    truth, teams = folders(tmp_path, "lesions")
    ran = call("leaderboard", truth, *teams, "--broadcast-limit", "5M")
    assert (ran.code, ran.out) == (2, "")
    assert "--broadcast-limit requires --engine dask" in ran.err
