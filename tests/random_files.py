"""Random files of every track, with everything that goes wrong in practice."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.scoring_files import (
    GUID,
    answer,
    as_csv,
    as_json,
    as_jsonl,
    drug,
    lab,
    labs,
    read,
    reference,
    repeats,
    report,
    rx,
)

Record = dict[str, Any]
CLASSES = ("AK", "BCC", "SK", "SCC", "VASC", "DF", "NV", "NON", "MEL", "ON")


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


TRUTHS = {"lesions/predictions": "lesions/truth", "triage/response": "triage/ground-truth",
          "reports/predictions": "reports/truth"}  # fmt: skip
TRACKS = {"lesions": (lesions, ("json", "jsonl", "csv")), "triage": (triage, ("json", "jsonl")),
          "reports": (reports, ("json", "jsonl", "csv"))}  # fmt: skip


def _of_one_pair(track: str) -> Callable[[random.Random], dict[str, list[Record]]]:
    def make(rng: random.Random) -> dict[str, list[Record]]:
        contract, truth, sent = TRACKS[track][0](rng)
        return {TRUTHS[contract]: truth, contract: sent}

    return make


MAKERS = {"extraction": extraction, "benchmark": benchmark, **{track: _of_one_pair(track) for track in TRACKS}}
"""By track: makes the records of each contract."""
ENDINGS = {
    "lesions": ("csv", "jsonl", "json"), "reports": ("csv", "jsonl", "json"), "triage": ("json", "jsonl"),
    "extraction": ("jsonl", "json"), "benchmark": ("jsonl", "json"),
}  # fmt: skip


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


def write_files(rng: random.Random, track: str, folder: Path) -> list[str]:
    """Write a truth and a submission, perhaps damaged; returns them as arguments of `score`."""
    given: list[str] = []
    for contract, records in MAKERS[track](rng).items():
        is_truth = contract.endswith(("labels", "truth", "references"))
        path = folder / f"{contract.partition('/')[2]}.{rng.choice(ENDINGS[track])}"
        data = content(rng, contract, records, path.suffix[1:])
        path.write_bytes(data if is_truth and rng.random() < 0.8 else damage(rng, data))
        given.append(f"{contract}={path}")
    return given
