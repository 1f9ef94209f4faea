"""Submissions of all tracks that are large enough for intervals, each with mistakes of all kinds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from tests.scoring_files import (
    CLASSES,
    Record,
    answer,
    case,
    document,
    drug,
    guess,
    image,
    lab,
    labs,
    model,
    no_answer,
    read,
    reference,
    report,
    response,
    run,
    rx,
    says,
    telemetry,
    weights,
    write,
)


def _reports(folder: Path, random: Random, cases: int) -> list[Path]:
    truth = [
        report(
            f"R-{n}",
            random.choice(["Oncology", "Other"]),
            random.choice(["Emergency", "Urgent", "Routine"]),
            n % 3 == 0,
        )
        for n in range(cases)
    ]
    sent = []
    for name in ("one", "two"):
        for true in truth:
            changes: Record = {"urgency": "Routine"} if random.random() < 0.3 else {}
            changes |= {"specialty": "Other", "follow_up": True} if random.random() < 0.3 else {}
            fails = random.random() < 0.03
            seconds = round(random.uniform(0.5, 2.5), 3)
            sent.append(no_answer(true["report_id"], name) if fails else answer(true, seconds, name, **changes))
    measured = document(folder, "telemetry", telemetry(run("one", 600), run("two", cpu=60)))
    return [write(folder, "reports/truth", truth), write(folder, "reports/predictions", sent), *measured]


def _extraction(folder: Path, random: Random, cases: int) -> list[Path]:
    drugs = [drug("Metformina", "5 mg", "cada 8 h"), drug("Losartan", "50 mg"), drug("Ibuprofeno", "400 mg")]
    tests = [lab("TSH", "2.1", rango="0.4 - 4.0"), lab("Glucosa", "95"), lab("Urea", "31")]
    documents: dict[str, list[Record]] = {"prescription": [], "lab": []}
    found: dict[str, list[Record]] = {"prescription": [], "lab": []}
    for kind, make, items in (("prescription", rx, drugs), ("lab", labs, tests)):
        for number in range(cases // 2):
            label = make(f"{kind[0].upper()}-{number}", *random.sample(items, random.randint(1, 3)))
            said = make(label["doc_id"], *random.sample(items, random.randint(1, 3)))
            documents[kind].append(label)
            record = read(label if random.random() < 0.6 else said)
            if random.random() > 0.03:
                found[kind].append(record | ({"parse_success": False} if random.random() < 0.1 else {}))
    return [
        write(folder, f"extraction/{kind}-{part}", records[kind])
        for part, records in (("labels", documents), ("predictions", found))
        for kind in documents
    ]


def _triage(folder: Path, random: Random, cases: int) -> list[Path]:
    truth, sent = [], []
    for number in range(cases):
        groups = random.sample(["airway", "chest", "blood"], random.randint(1, 2))
        parts = [(f"S-{number}-{at}", 60.0 * at, 60.0 * at + 60, [(g, 400.0) for g in groups]) for at in range(2)]
        segments = case(f"C-{number}", *parts)
        truth += segments
        sent += [
            response(each, *random.sample(["airway", "chest", "blood"], random.randint(0, 2))) for each in segments
        ]
    return [write(folder, "triage/ground-truth", truth), write(folder, "triage/response", sent[:-3])]


def _benchmark(folder: Path, random: Random, cases: int) -> list[Path]:
    truth, sent = [], []
    for number in range(cases):
        task = random.choice(["qa", "notes", "triage"])
        said = {"answer": "pneumonia", "rationale": "Because of fever, the x-ray shows an infiltrate."}
        if task != "notes":
            said["diagnosis"] = "pneumonia"
        truth.append(reference(f"{number}", task, **said))
        if random.random() > 0.03:
            given = {"coherence": round(random.random(), 2)} if random.random() < 0.5 else None
            answers = [{}, {"answer": "asthma", "diagnosis": "asthma"}, {"rationale": "Fever. The x-ray is normal."}]
            sent.append(says(f"{number}", task, given, **said | random.choice(answers)))
    shares = document(folder, "weights", weights(diagnostics=0.6, communication=0.4))
    return [write(folder, "benchmark/references", truth), write(folder, "benchmark/predictions", sent), *shares]


def _lesions(folder: Path, random: Random, cases: int) -> list[Path]:
    truth = [image(f"I-{n}", random.choice(CLASSES)) for n in range(cases)]
    sent = [
        guess(each["image_id"], each["label"] if random.random() < 0.7 else random.choice(CLASSES)) for each in truth
    ]
    beside = document(folder, "model", model())
    return [write(folder, "lesions/truth", truth), write(folder, "lesions/predictions", sent[:-3]), *beside]


_MAKERS = {
    "reports": _reports, "extraction": _extraction, "triage": _triage, "benchmark": _benchmark, "lesions": _lesions,
}  # fmt: skip
TRACKS = tuple(_MAKERS)


def submission(folder: Path, track: str, cases: int = 200, seed: int = 1) -> list[Path]:
    """Write a truth and a submission."""
    return _MAKERS[track](folder, Random(f"{track} {seed}"), cases)


CHALLENGE = """
id = "stroke"
key = "case_id"
[prediction]
label = { one_of = ["none", "minor", "major"] }
probability = { type = "number", min = 0, max = 1 }
[truth]
label = { one_of = ["none", "minor", "major"] }
patient = { type = "str", optional = true }
[[metric]]
name = "macro_f1"
kind = "f1"
field = "label"
average = "macro"
[[metric]]
name = "auroc"
kind = "auroc"
field = "probability"
positive = { field = "label", is = "major" }
[score]
headline = "total"
[score.sums]
total = { macro_f1 = 0.5, auroc = 0.5 }
"""


def challenge_records(cases: int = 200, seed: int = 1) -> tuple[list[Record], list[Record]]:
    """Make a truth and predictions of the challenge, with about three cases a patient."""
    random = Random(seed)
    labels = ["none", "minor", "major"]
    truth: list[Record] = []
    sent: list[Record] = []
    for number in range(cases):
        label = random.choice(labels)
        patient: dict[str, Any] = {} if number % 20 == 0 else {"patient": f"P-{random.randrange(cases // 3)}"}
        truth.append({"case_id": f"K-{number}", "label": label, **patient})
        said = label if random.random() < 0.7 else random.choice(labels)
        probability = round(random.betavariate(3, 2) if label == "major" else random.betavariate(2, 3), 2)
        sent.append({"case_id": f"K-{number}", "label": said, "probability": probability})
    return truth, sent


def jsonl(path: Path, records: Sequence[Record]) -> Path:
    """Write records as JSON Lines."""
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records), encoding="utf-8")
    return path
