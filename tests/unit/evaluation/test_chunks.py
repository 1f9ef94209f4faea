"""Files that are read in chunks give the bytes of one process, wherever they are cut and whatever is in them."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.scoring_files import GUID, LIST_KEYS, answer, as_csv, as_json, as_jsonl, report

import medcontract
from medcontract.evaluation import ahead, engine, parallel
from medcontract.evaluation.engine import SerialEngine
from medcontract.reading import chunks

Record = dict[str, Any]
CLASSES = ("AK", "BCC", "SK", "SCC", "VASC", "DF", "NV", "NON", "MEL", "ON")


class Pieces(SerialEngine):
    """Reads chunks in this process, as if they came from others: everything is pickled on its way."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.stable = workers % 2 == 0

    def map(self, work: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any]) -> Iterator[Any]:
        for item in items:
            yield sent(work(*sent((shared, item))))


def sent(value: Any) -> Any:
    """The value in another process."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301  # written a moment ago


@pytest.fixture
def in_chunks(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[bool]]:
    """Sets the number of workers and the minimum size of a chunk, and whether a submission is read before its truth,
    if possible. Returns what was read in chunks otherwise.
    """

    def set_up(workers: int, smallest: int, is_ahead: bool = False) -> list[bool]:
        read: list[bool] = []
        real = parallel.read_in_chunks

        def noted(*arguments: Any) -> bool:
            read.append(real(*arguments))
            return read[-1]

        monkeypatch.setattr(chunks, "SMALLEST", smallest)
        monkeypatch.setattr(chunks, "SMALL_RECORD", 0)
        monkeypatch.setattr(chunks, "workers_for", lambda jobs, size: 1 if jobs == 1 else workers)
        monkeypatch.setattr(engine, "engine_for", lambda jobs, size, to_spawn: Pieces(workers))
        monkeypatch.setattr(parallel, "read_in_chunks", noted)
        monkeypatch.setattr(ahead, "_is_shorter", lambda *arguments: is_ahead)
        return read

    return set_up


def lesion(rng: random.Random, number: int) -> Record:
    values = [0.0] * 10
    values[rng.randrange(10)] = 1.0
    return {"image_id": f"I-{number}", "probabilities": values}


def spoil_lesion(rng: random.Random, record: Record, ids: Sequence[str]) -> Record:
    how = rng.randrange(9)
    if how == 0:
        record["probabilities"] = [2.0, *record["probabilities"][1:]]
    elif how == 1:
        record["probabilities"] = [0.5] * 10
    elif how == 2:
        record = {"image_id": record["image_id"], "error": "time out"}
    elif how == 3:
        record["image_id"] = rng.choice(["other", "elsewhere", "I-00"])
    elif how in (4, 5):
        record["image_id"] = rng.choice(ids)
    elif how == 6:
        record["image_id"] = rng.choice(ids)
        record["probabilities"] = record["probabilities"][:-1]
    elif how == 7:
        del record["image_id"]
    else:
        record["error"] = 'line one\nline "two", and\r\nthree'
    return record


def lesions(rng: random.Random) -> tuple[str, list[Record], list[Record]]:
    count = rng.randrange(20, 120)
    ids = [f"I-{number}" for number in range(count)]
    truth = [{"image_id": name, "label": rng.choice(CLASSES)} for name in ids]
    sent = [lesion(rng, number) for number in range(count)]
    if rng.random() < 0.8:
        for place in rng.sample(range(count), rng.choice([1, 3, 12])):
            sent[place] = spoil_lesion(rng, dict(sent[place]), ids[:5])
    if rng.random() < 0.3:
        sent += [dict(record) for record in rng.sample(sent, 5)]
    if rng.random() < 0.2:
        truth.append(dict(rng.choice(truth)))
    if rng.random() < 0.5:
        rng.shuffle(sent)
    return "lesions/predictions", truth, sent


def triage(rng: random.Random) -> tuple[str, list[Record], list[Record]]:
    truth: list[Record] = []
    sent: list[Record] = []
    for number in range(rng.randrange(12, 60)):
        case, place = divmod(number, 4)
        start = place * 10.0
        truth.append({
            "case_id": f"C-{case}", "segment_id": f"S-{number}", "segment_start_time_sec": start,
            "segment_stop_time_sec": start + 10, "start_of_case": place == 0, "at_admission": False,
            "end_of_case": place == 3, "gt_lsi_list": [{"lsi_group": "Airway", "lsi_description": "x",
            "in_hospital": 0, "elapsed_from_start": 35.5}], "ehr_file_name": "e", "vs_file_name": "v",
            "gt_file_name": "g",
        })  # fmt: skip
        sent.append({
            "message_sent_time": number * 2.0, "message_received_time": number * 2 + 0.5, "case_id": f"C-{case}",
            "segment_id": f"S-{number}", "model_predictions": ["Airway"] if number % 3 else [],
            "cumulative_runtime_sec": float(number), "run_id": GUID, "end_of_case": place == 3,
            "embeddings": {"layers": [{"a": [1, 2]}, {"b": '}, {"message_sent_time"'}]},
        })  # fmt: skip
    for _ in range(rng.choice([0, 0, 1, 3])):
        record = rng.choice(sent)
        record.update(
            rng.choice([
                {"cumulative_runtime_sec": 1.0}, {"run_id": GUID[:-1] + "0"}, {"case_id": "C-0"},
                {"error": "time out", "model_predictions": []}, {"segment_id": "S-1"}, {"segment_id": "S-x"},
                {"end_of_case": "yes"}, {"segment_id": "S-2", "model_predictions": 7},
            ])
        )  # fmt: skip
    for _ in range(rng.choice([0, 0, 1])):
        rng.choice(truth).update(rng.choice([{"start_of_case": True}, {"end_of_case": False}, {"segment_id": "S-3"}]))
    if rng.random() < 0.3:
        one, two = rng.randrange(len(sent)), rng.randrange(len(sent))
        sent[one], sent[two] = sent[two], sent[one]
    return "triage/response", truth, sent


def reports(rng: random.Random) -> tuple[str, list[Record], list[Record]]:
    truth = [
        report(f"R-{n}", rng.choice(["Other", "Oncology"]), follow_up=rng.random() < 0.5)
        for n in range(rng.randrange(15, 60))
    ]
    runs: Sequence[str | None] = rng.choice(((None,), ("1", "2")))
    sent = [answer(each, run=run) for run in runs for each in truth]
    for _ in range(rng.choice([0, 1, 4])):
        rng.choice(sent).update(
            rng.choice([{"report_id": "R-1"}, {"report_id": "R-x"}, {"urgency": "soon"}, {"run_id": "3"}])
        )
    return "reports/predictions", truth, sent


TRUTHS = {"lesions/predictions": "lesions/truth", "triage/response": "triage/ground-truth",
          "reports/predictions": "reports/truth"}  # fmt: skip
TRACKS = {"lesions": (lesions, ("json", "jsonl", "csv")), "triage": (triage, ("json", "jsonl")),
          "reports": (reports, ("json", "jsonl", "csv"))}  # fmt: skip


def content(rng: random.Random, contract: str, records: Sequence[Record], ending: str) -> bytes:
    if ending == "csv":
        text = as_csv(contract, records)
        return text if rng.random() < 0.5 else text.replace(b"\r\n", b"\n")
    if ending == "jsonl":
        lines = as_jsonl(contract, records).splitlines()
        end = rng.choice([b"\n", b"\r\n", b"\n\n"])
        return end.join(lines) + rng.choice([b"", end])
    if rng.random() < 0.3:
        return json.dumps(json.loads(as_json(contract, records)), indent=1).encode()
    return as_json(contract, records)


def damage(rng: random.Random, data: bytes) -> bytes:
    """The bytes of a file after an accident."""
    how, place = rng.randrange(12), rng.randrange(len(data))
    if how == 0:
        return data[:place]
    if how == 1:
        return (
            data[:place]
            + rng.choice([b'"', b"}", b"\n", b"\r", b",", b"\xff", b"\0", b"\n\n \n", b'{"a"'])
            + data[place:]
        )
    if how == 2:
        return data[:place] + data[place + 1 :]
    if how == 3:
        return b"\xef\xbb\xbf" + data
    if how == 4:
        return data[: place // 2] + data
    if how == 5:
        return data.replace(b"image_id", b"imageid").replace(b"report_id", b"reportid")
    return data


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(120))
@pytest.mark.parametrize("track", TRACKS)
def test_same_result(track: str, seed: int, tmp_path: Path, in_chunks: Callable[..., list[bool]]) -> None:
    rng = random.Random(f"{track} {seed}")
    make, endings = TRACKS[track]
    contract, truth, sent = make(rng)
    files = [tmp_path / f"truth.{rng.choice(endings)}", tmp_path / f"sent.{rng.choice(endings)}"]
    for path, name, records in zip(files, (TRUTHS[contract], contract), (truth, sent), strict=True):
        data = content(rng, name, records, path.suffix[1:])
        path.write_bytes(damage(rng, data) if name == contract or rng.random() < 0.2 else data)
    given = [f"{TRUTHS[contract]}={files[0]}", f"{contract}={files[1]}"]
    limits = {"max_problems": rng.choice([3, 100]), "max_alike": rng.choice([None, 1, 3])}
    participant = rng.random() < 0.2

    def results() -> list[str]:
        found = [
            medcontract.validate_files(given, excerpts=True, **limits).to_json(show_values=True)  # type: ignore[arg-type]
        ]
        try:
            score = medcontract.score(*given, participant=participant, jobs=None, excerpts=True, **limits)  # type: ignore[arg-type]
        except medcontract.MedcontractError as error:
            return [*found, str(error)]
        return [*found, score.to_json(show_values=not participant)]

    expected = results()
    in_chunks(rng.choice([2, 3, 4]), rng.choice([128, 300, 1000]), rng.random() < 0.5)
    for mine, theirs in zip(results(), expected, strict=True):
        assert mine.splitlines() == theirs.splitlines()


def test_list_keys() -> None:
    """The contracts above are collections."""
    assert all(LIST_KEYS[name] for name in (*TRUTHS, *TRUTHS.values()))
