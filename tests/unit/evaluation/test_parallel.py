"""Worker processes give the bytes of one process, whatever is in the file."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import medcontract
from medcontract.cli.main import main
from medcontract.containers import BY_ENDING
from medcontract.parallel import merge as parallel
from medcontract.reading import chunks
from medcontract.reading.limits import Limits
from medcontract.reading.slices import Slice, Span
from medcontract.reading.source import Source

Record = dict[str, Any]
COUNT = 400


@pytest.fixture(autouse=True)
def _small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a few kilobytes are large enough here. Workers get their slices from this process."""
    monkeypatch.setattr(chunks, "SMALLEST", 1024)


def lesion(number: int) -> Record:
    values = [0.0] * 10
    values[number % 10] = 1.0
    return {"image_id": f"I-{number:04d}", "probabilities": values}


def lesions(folder: Path, records: Sequence[Record], ending: str = "jsonl") -> tuple[Path, Path]:
    truth = folder / "truth.csv"
    classes = ["AK", "BCC", "SK", "SCC", "VASC", "DF", "NV", "NON", "MEL", "ON"]
    rows = [f"I-{number:04d},{classes[number * 7 % 10]}" for number in range(COUNT)]
    truth.write_text("\n".join(["image_id,label", *rows]) + "\n")
    sent = folder / f"sent.{ending}"
    if ending == "jsonl":
        sent.write_text("".join(json.dumps(record) + "\n" for record in records))
    elif ending == "json":
        head = json.dumps({"team_name": "Team"})[:-1]
        body = ",\n".join(json.dumps(record) for record in records)
        sent.write_text(f'{head}, "predictions": [\n{body}\n], "$schema": "urn:medcontract:lesions:predictions:v1"}}\n')
    else:
        lines = [
            ",".join([r["image_id"], *map(str, r.get("probabilities") or [""] * 10), r.get("error") or ""])
            for r in records
        ]
        sent.write_text("\n".join([",".join(["image_id", *classes, "error"]), *lines]) + "\n")
    return truth, sent


def out(capsys: pytest.CaptureFixture[str], files: Sequence[Path], *more: str) -> tuple[int, str]:
    code = main(["score", *map(str, files), *more])
    return code, capsys.readouterr().out


def spoil(records: list[Record], how: str) -> list[Record]:
    """Records with something wrong in the first and in the last third."""
    for place in (len(records) // 5, len(records) * 4 // 5):
        record = dict(records[place])
        if how == "invalid":
            record["probabilities"] = [2, *record["probabilities"][1:]]
        elif how == "off":
            record["probabilities"] = [0.5, *[0.0] * 9]
        elif how == "failed":
            record = {"image_id": record["image_id"], "error": "time out"}
        elif how == "unknown":
            record["image_id"] = "elsewhere"
        elif how == "repeated":
            record["image_id"] = records[0]["image_id"]
        elif how == "twice":
            record["image_id"] = records[place + 1]["image_id"]
        records[place] = record
    return records


SPOILS = ("nothing", "invalid", "off", "failed", "unknown", "repeated", "twice")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("how", SPOILS)
@pytest.mark.parametrize(("ending", "chosen"), [("jsonl", "json"), ("json", "json"), ("csv", "text")])
def test_same_bytes(ending: str, how: str, chosen: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One process and three print the same, and the same exit code."""
    records = spoil([lesion(number) for number in range(COUNT)], how)
    random.Random(1).shuffle(records)
    files = lesions(tmp_path, records, ending)
    alone = out(capsys, files, "--format", chosen, "--show-values")
    together = out(capsys, files, "--format", chosen, "--show-values", "--jobs", "3")
    assert together == alone
    assert alone[0] == 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("ending", "quick"), [("jsonl", True), ("json", True), ("csv", True)])
def test_workers_do_it(ending: str, quick: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without repetitions is read by the workers: this process reads it only to be sure of nothing."""
    seen: list[bool] = []
    real: Callable[..., bool] = parallel.read_in_chunks

    def read(*arguments: Any) -> bool:
        seen.append(real(*arguments))
        return seen[-1]

    monkeypatch.setattr(parallel, "read_in_chunks", read)
    files = lesions(tmp_path, spoil([lesion(number) for number in range(COUNT)], "invalid"), ending)
    assert medcontract.score(*files, jobs=2).valid
    assert seen == [quick]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("cut", [0.3, 0.9])
@pytest.mark.parametrize("ending", ["jsonl", "json", "csv"])
def test_a_truncated_file(ending: str, cut: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is broken is told as by one process."""
    truth, sent = lesions(tmp_path, [lesion(number) for number in range(COUNT)], ending)
    data = sent.read_bytes()
    sent.write_bytes(data[: int(len(data) * cut) + 7])
    alone = out(capsys, (truth, sent), "--format", "json")
    assert out(capsys, (truth, sent), "--format", "json", "--jobs", "2") == alone
    assert alone[0] == 1


@pytest.mark.sampled(9)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("place", [0, 0.5, 0.892])
@pytest.mark.parametrize("ending", ["jsonl", "json", "csv"])
def test_a_byte_that_is_not_utf8(
    ending: str, place: float, packed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is the problem, also in a slice that nobody reads to its end."""
    truth, sent = lesions(tmp_path, [lesion(number) for number in range(COUNT)], ending)
    data = sent.read_bytes()
    if not packed:
        blank = b"\n" if ending == "csv" else b" "
        data = data.replace(b"\n", blank * 9_000 + b"\n")  # slices are larger than what is read at a time
    at = data.index(b"I-", int(len(data) * place))
    data = data[:at] + b"\xff" + data[at + 1 :]
    if packed:
        sent = tmp_path / f"{sent.name}.gz"
        data = gzip.compress(data, 1)
    sent.write_bytes(data)
    alone = out(capsys, (truth, sent), "--format", "json", "--jobs", "1")
    assert '"code": "MC007"' in alone[1]
    for jobs in "23":
        assert out(capsys, (truth, sent), "--format", "json", "--jobs", jobs) == alone


def segment(number: int) -> Record:
    case, place = divmod(number, 4)
    return {
        "case_id": f"C-{case}", "segment_id": f"S-{number}", "segment_start_time_sec": place * 10.0,
        "segment_stop_time_sec": place * 10 + 10.0, "start_of_case": place == 0, "at_admission": False,
        "end_of_case": place == 3, "gt_lsi_list": [{"lsi_group": "Airway", "lsi_description": "x", "in_hospital": 0,
        "elapsed_from_start": 35.5}], "ehr_file_name": "e", "vs_file_name": "v", "gt_file_name": "g",
    }  # fmt: skip


def response(number: int) -> Record:
    case, place = divmod(number, 4)
    return {
        "message_sent_time": number * 2.0, "message_received_time": number * 2 + 0.5, "case_id": f"C-{case}",
        "segment_id": f"S-{number}", "model_predictions": ["Airway"] if number % 3 else [],
        "cumulative_runtime_sec": float(number), "run_id": "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        "end_of_case": place == 3, "embeddings": {"layers": [{"a": [1, 2]}, {"b": '}, {"message_sent_time"'}]},
    }  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("how", ["nothing", "fell", "two runs", "other case", "error", "late header"])
def test_same_bytes_of_nested_records(how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Borders that only look like borders, rules about the list, header fields behind the list."""
    count = 120
    truth, sent = tmp_path / "truth.json", tmp_path / "response.json"
    truth.write_text(json.dumps({"event": "E", "ground_truth": [segment(n) for n in range(count)]}))
    records = [response(number) for number in range(count)]
    if how == "fell":
        records[90]["cumulative_runtime_sec"] = 1.0
    elif how == "two runs":
        records[100]["run_id"] = "00000000-4f89-41d3-9a0c-0305e82c3301"
    elif how == "other case":
        records[70]["case_id"] = "C-0"
    elif how == "error":
        records[110] |= {"error": "time out", "model_predictions": []}
    head = {"team_name": "T", "event": "E", "evaluation_date": "2026-05-31"}
    collection = {"responses": records, **head} if how == "late header" else {**head, "responses": records}
    sent.write_text(json.dumps(collection))
    alone = out(capsys, (truth, sent), "--format", "json")
    assert out(capsys, (truth, sent), "--format", "json", "--jobs", "3") == alone
    assert alone[0] == 0


def test_parts_in_workers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Several large parts are one collection; an id in two of them is told as by one process."""
    truth, sent = lesions(tmp_path, [lesion(number) for number in range(COUNT)])
    lines = sent.read_text().splitlines(keepends=True)
    parts = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for extra in ("", lines[0]):
        parts[0].write_text("".join(lines[:250]))
        parts[1].write_text("".join(lines[250:]) + extra)
        files = (truth, *parts)
        assert out(capsys, files, "--format", "json", "--jobs", "2") == out(capsys, files, "--format", "json")


def test_a_slice_reads_as_a_file(tmp_path: Path) -> None:
    """What stands around a slice is read with it, from any place."""
    path = tmp_path / "x.json"
    path.write_bytes(b"0123456789")
    source = Slice(str(path), "x.json", Span(3, 6, b"ab", b"yz"), Limits())
    with source.open() as stream:
        assert stream.read() == b"ab345yz"
        stream.seek(1)
        assert stream.read(3) == b"b34"
        assert stream.seek(0, 2) == 7


@pytest.mark.parametrize(("megabytes", "workers", "count"), [
    (7, 2, 1), (8, 2, 2), (15, 2, 2), (16, 2, 4), (100, 2, 6), (100, 4, 12), (1000, 2, 16), (9, 4, 2),
])  # fmt: skip
def test_each_worker_gets_as_many_slices(
    megabytes: int, workers: int, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slices of at least 4 and at most about 64 MB, several for each worker (here, a kB is an MB)."""
    monkeypatch.setattr(chunks, "SMALLEST", 4 << 10)
    monkeypatch.setattr(chunks, "LARGEST", 64 << 10)
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a":1}\n' * (megabytes << 7))
    source = Source(str(path))
    source.prepare()
    assert len(chunks.spans(source, BY_ENDING[".jsonl"], None, workers)) == count


@pytest.mark.parametrize(("text", "container", "cut"), [
    (b"a,b\n" + b"x,y\n" * 5000, "csv", True),
    (b"a,b\n" + b'"x",y\n' * 5000, "csv", True),
    (b"a,b\r\n" + b"x,y\r\n" * 5000, "csv", True),
    (b'"a",b\n' + b"x,y\n" * 5000, "csv", False),
    (b"a,b\r" + b"x,y\r" * 5000, "csv", False),
    (b'{"a": 1}\n' * 3000, "jsonl", True),
    (b'{"list": [' + b'{"a": 1},' * 3000 + b'{"a": 1}]}', "json", True),
    (b'{"list": [' + b"1," * 9000 + b"1]}", "json", False),
    (b'{"list": [', "json", False),
])  # fmt: skip
def test_where_a_file_is_cut(text: bytes, container: str, cut: bool, tmp_path: Path) -> None:
    """Only where a record certainly ends, and the slices hold all bytes between borders."""
    path = tmp_path / f"x.{container}"
    path.write_bytes(text)
    source = Source(str(path))
    source.prepare()
    found = chunks.spans(source, BY_ENDING[f".{container}"], "list", 3)
    assert (len(found) > 1) == cut
    assert found[0].start == 0
    assert found[-1].end == len(text)
