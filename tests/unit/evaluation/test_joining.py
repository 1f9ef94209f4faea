"""A truth that stays on the workers gives the bytes of one process."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.challenge_files import SMALL
from tests.challenge_files import write as write_challenge
from tests.commands import Call
from tests.fake_cluster import Cluster
from tests.scoring_files import CLASSES, drug, guess, image, lab, labs, read, reference, repeats, rx, write
from tests.unit.evaluation.test_chunks import TRACKS, TRUTHS, content, damage

import medcontract
from medcontract.evaluation import dask_join, joining
from medcontract.reading import chunks

pytest.importorskip("distributed", reason="needs the extra dask")
Record = dict[str, Any]


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many chunks of submissions were read with a part of the truth, in each call."""
    counted: list[int] = []
    real = dask_join.DaskTruth.parts

    def noted(truth: Any, ids_of: Any, chunks: Any) -> Any:
        counted.append(len(chunks))
        return real(truth, ids_of, chunks)

    monkeypatch.setattr(dask_join.DaskTruth, "parts", noted)
    return counted


def spoiled(rng: random.Random, records: list[Record], key: str, invalid: Record) -> list[Record]:
    """Records some of which are repeated, invalid, missing, or have an id that is not expected."""
    found = [dict(record) for record in records]
    for _ in range(rng.choice([0, 2, 6])):
        place = rng.randrange(len(found))
        how = rng.randrange(6)
        if how == 0:
            found.append(dict(found[place]))
        elif how == 1:
            found[place].update(invalid)
        elif how == 2:
            found.append({**found[place], **invalid})
        elif how == 3:
            del found[place]
        elif how == 4:
            found[place][key] = rng.choice(["elsewhere", "7", "D-7", f"{found[place].get(key)}.0", "d-0003"])
        else:
            found[place].pop(key, None)
    if rng.random() < 0.5:
        rng.shuffle(found)
    return found


def extraction(rng: random.Random) -> dict[str, list[Record]]:
    drugs = [drug(name, "500 mg", "cada 8 horas") for name in ("Ibuprofeno", "Metformina", "Paracetamol")]
    tests = [lab("Glucosa", "90"), lab("Creatinina", "1,1")]
    truth = [rx(f"D-{n:04}", *rng.sample(drugs, 2)) for n in range(rng.randrange(10, 40))]
    others = [labs(f"L-{n:04}", *tests) for n in range(rng.randrange(10, 40))]
    if rng.random() < 0.2:
        others[3]["doc_id"] = truth[5]["doc_id"]
    sent = [read(label) for label in truth]
    sent[0]["medicamentos"] = drugs[:1]
    return {
        "extraction/prescription-labels": truth,
        "extraction/lab-labels": others,
        "extraction/prescription-predictions": spoiled(rng, sent, "doc_id", {"parse_success": "yes"}),
        "extraction/lab-predictions": spoiled(rng, [read(label) for label in others], "doc_id", {"resultados": 7}),
    }


def benchmark(rng: random.Random) -> dict[str, list[Record]]:
    truth = [
        reference(f"D-{n:04}", rng.choice(["qa", "summary"]), answer=rng.choice(["aspirin", "not aspirin", "yes"]))
        for n in range(rng.randrange(20, 60))
    ]
    if rng.random() < 0.2:
        truth.append(dict(truth[2]))
    sent = [repeats(each) for each in truth]
    sent[1]["prediction"] = {"answer": "no"}
    return {
        "benchmark/references": truth,
        "benchmark/predictions": spoiled(rng, sent, "sample_id", {"prediction": {"answer": 3}}),
    }


def of_chunks(track: str) -> Callable[[random.Random], dict[str, list[Record]]]:
    def make(rng: random.Random) -> dict[str, list[Record]]:
        contract, truth, sent = TRACKS[track][0](rng)
        return {TRUTHS[contract]: truth, contract: sent}

    return make


MAKERS = {"extraction": extraction, "benchmark": benchmark, **{track: of_chunks(track) for track in TRACKS}}


ENDINGS = {
    "lesions": ("csv", "jsonl", "json"), "reports": ("csv", "json"), "triage": ("json",),
    "extraction": ("jsonl", "json"), "benchmark": ("jsonl", "json"),
}  # fmt: skip
"""Containers that have all fields of the header that the result needs."""


def files(rng: random.Random, track: str, folder: Path) -> list[str]:
    given: list[str] = []
    for contract, records in MAKERS[track](rng).items():
        ending = rng.choice(ENDINGS[track])
        path = folder / f"{contract.partition('/')[2]}.{ending}"
        data = content(rng, contract, records, path.suffix[1:])
        path.write_bytes(damage(rng, data) if contract in TRUTHS else data)
        given.append(f"{contract}={path}")
    return given


def score(given: list[str], **how: Any) -> list[str]:
    try:
        return medcontract.score(*given, excerpts=True, **how).to_json(show_values=True).splitlines()
    except medcontract.MedcontractError as error:
        return [str(error)]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("track", MAKERS)
def test_same_bytes(track: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, joined: list[int]) -> None:
    """With unknown, repeated, invalid and missing records, and wherever the files are cut."""
    rng = random.Random(f"{track} {seed}")
    given = files(rng, track, tmp_path)
    how: dict[str, Any] = {"max_problems": rng.choice([3, 100]), "max_alike": rng.choice([None, 1, 3])}
    expected = score(given, jobs=1, **how)
    monkeypatch.setattr(chunks, "SMALLEST", rng.choice([128, 300, 700]))
    assert score(given, client=Cluster(), broadcast_limit=1, **how) == expected


@pytest.mark.parametrize("track", MAKERS)
def test_every_track_is_joined(track: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, joined: list[int]) -> None:
    monkeypatch.setattr(chunks, "SMALLEST", 128)
    for seed in range(3):
        score(files(random.Random(seed), track, tmp_path), client=Cluster(), broadcast_limit=1)
    assert max(joined) > 2


def lesions(folder: Path, count: int = 300) -> list[Path]:
    truth = [image(f"I-{n:03}", CLASSES[n % len(CLASSES)]) for n in range(count)]
    random.Random(1).shuffle(truth)
    sent = [guess(each["image_id"], each["label"]) for each in truth]
    return [write(folder, "lesions/truth", truth, "csv"), write(folder, "lesions/predictions", sent, "jsonl")]


@pytest.fixture
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "SMALLEST", 700)


@pytest.mark.usefixtures("_small_chunks")
def test_the_limit(tmp_path: Path, joined: list[int]) -> None:
    """A truth whose files are not larger is sent to each worker."""
    given = lesions(tmp_path)
    size = given[0].stat().st_size
    results = {
        medcontract.score(*given, client=Cluster(), broadcast_limit=limit).to_json() for limit in (None, size, size - 1)
    }
    assert (len(results), len(joined)) == (1, 1)


@pytest.mark.usefixtures("_small_chunks")
def test_ids_are_not_fetched(tmp_path: Path, joined: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """If every id is expected and has a record, this process never has the ids of the truth."""
    given = lesions(tmp_path)
    expected = medcontract.score(*given, jobs=1)
    monkeypatch.setattr(dask_join.DaskTruth, "keys", None)
    monkeypatch.setattr(dask_join.DaskTruth, "states", None)
    monkeypatch.setattr(joining.KeptExpected, "export", None)
    assert medcontract.score(*given, client=Cluster(), broadcast_limit=1).to_json() == expected.to_json()
    assert joined


@pytest.mark.usefixtures("_small_chunks")
def test_a_repeated_id_in_the_truth(tmp_path: Path, joined: list[int]) -> None:
    """The items are numbered here, and the truth is sent to each worker."""
    given = lesions(tmp_path)
    lines = given[0].read_text().splitlines()
    given[0].write_text("\n".join([*lines, lines[1]]) + "\n")
    expected = medcontract.score(*given, jobs=1)
    assert medcontract.score(*given, client=Cluster(), broadcast_limit=1).to_json() == expected.to_json()
    assert [problem.code for problem in expected.problems] == ["MC201"]
    assert not joined


@pytest.mark.usefixtures("_small_chunks")
def test_a_submission_that_changes(tmp_path: Path, joined: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """After its ids were read: it is read again, from start to end."""
    given = lesions(tmp_path)
    real = dask_join.DaskTruth.parts

    def changing(truth: Any, ids_of: Any, parts: Any) -> Any:
        found = real(truth, ids_of, parts)
        given[1].write_bytes(given[1].read_bytes().replace(b"I-001", b"I-00x"))
        return found

    monkeypatch.setattr(dask_join.DaskTruth, "parts", changing)
    with pytest.raises(medcontract.MedcontractError, match="changed while it was being read"):
        medcontract.score(*given, client=Cluster(), broadcast_limit=1)


def test_a_challenge(tmp_path: Path, joined: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "SMALLEST", 300)
    for seed in range(4):
        rng = random.Random(seed)
        truth = [{"case_id": f"D-{n:04}", "label": rng.choice(["yes", "no"])} for n in range(80)]
        sent = spoiled(rng, truth, "case_id", {"label": "perhaps"})
        given = [f"risk/truth={tmp_path / 'truth.csv'}", f"risk/predictions={tmp_path / 'sent.jsonl'}"]
        write_challenge(tmp_path / "truth.csv", truth)
        write_challenge(tmp_path / "sent.jsonl", sent)
        challenge = medcontract.Challenge.load(SMALL.encode())
        expected = challenge.score(*given, jobs=1).to_json()
        assert challenge.score(*given, client=Cluster(), broadcast_limit=1).to_json() == expected
    assert len(joined) >= 4


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"broadcast_limit": 5}, "broadcast_limit requires"),
        ({"broadcast_limit": -1, "engine": "dask"}, "'broadcast_limit' must be at least 0"),
    ],
)
def test_wrong_calls(tmp_path: Path, how: dict[str, Any], said: str) -> None:
    with pytest.raises(medcontract.CallError, match=said):
        medcontract.score(*lesions(tmp_path, 3), **how)


def test_the_option(call: Call, tmp_path: Path) -> None:
    """Without a cluster there is nothing to limit."""
    ran = call("score", *lesions(tmp_path, 3), "--broadcast-limit", "5M")
    assert (ran.code, ran.out) == (2, "")
    assert "--broadcast-limit requires --engine dask" in ran.err
    assert call("score", *lesions(tmp_path, 3), "--engine", "dask", "--broadcast-limit", "x").code == 2
