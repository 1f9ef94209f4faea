"""Laws of scoring: the same bits as a naive scorer, whatever the order, split or container; and what never helps."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import naive
from tests.commands import RESULT_BELOW_GATE
from tests.naive import Sent
from tests.scoring_files import (
    CLASSES,
    COLUMNS,
    CONTRACTS,
    HEADERS,
    LABS,
    Record,
    answer,
    assert_keeps_contract,
    case,
    document,
    drug,
    evidence,
    guess,
    image,
    lab,
    labs,
    listed,
    model,
    no_answer,
    pipeline_run,
    read,
    reference,
    repeats,
    report,
    response,
    run,
    rx,
    telemetry,
    weights,
    write,
)
from tests.support import property_settings, sample

import medcontract
from medcontract.evaluation.files import GivenFiles
from medcontract.evaluation.result import score_result
from medcontract.evaluation.score import score_files
from medcontract.evaluation.settings import Settings
from medcontract.normalizers.terms import CATEGORIES, LEXICON
from medcontract.scoring import tracks
from medcontract.scoring.track import Figure

pytestmark = pytest.mark.sampled(1)  # and a quarter of the examples

AWKWARD = (0.0, 5e-324, 1e-300, 0.1, 0.2, 0.3, 1 / 3, 1.0, 4.999999999999999, 5.0, 7.5, 1e15 + 0.1, 2.0**53 + 2, 1e300)
SPECIALTIES = ("Cardiology", "Neurology", "Oncology", "Internal Medicine", "Emergency Medicine", "Other")
URGENCIES = ("Emergency", "Urgent", "Routine")
GROUPS = ("Airway", "Blood", "airway", " Chest", "Ünit")
MINIMA = ("0", "0.5", "0.95")


class Made(NamedTuple):
    """A submission and what it is scored against."""

    track: str
    truth: list[Record]
    sent: list[Sent]
    referenced: Record | None = None
    """Telemetry, model, weights file or inventory; of extraction, whichever there are of `runs`, `manifest`,
    `evidence`."""
    times: tuple[str, str] | None = None

    def parameters(self, minimum: str) -> dict[str, str]:
        found = {"min_processed": minimum}
        return found if self.times is None else {**found, "t_min_ms": self.times[0], "t_max_ms": self.times[1]}


Maker = Callable[[random.Random, bool], Made]
"""Makes a submission; with True, one that has at most one record an item, and runs that telemetry names."""


def fate(rng: random.Random, tame: bool) -> list[str]:
    """The records that an item gets, by kind."""
    kinds = ["right", "right", "any", "any", "failed", "invalid"]
    many = rng.choice([1, 1, 1, 1, 0, 1 if tame else 2, 1 if tame else 3])
    return [rng.choice(kinds) for _ in range(many)]


# --- reports -------------------------------------------------------------------------------------


def make_report_records(rng: random.Random, true: Record, name: str | None, kind: str) -> Sent:
    """A record for a report."""
    if kind == "failed":
        return Sent(no_answer(true["report_id"], name))
    right = answer(true, rng.choice(AWKWARD), name)
    if kind == "right":
        return Sent(right)
    guessed = report("", rng.choice(SPECIALTIES), rng.choice(URGENCIES), rng.choice([True, False]))
    record = {**right, **guessed, "report_id": true["report_id"]}
    if kind == "any":
        return Sent({**record, "error": rng.choice([None, "", " "])})
    faults: list[Record] = [
        {"specialty": "cardiology"},
        {"urgency": None},
        {"follow_up": "yes"},
        {"processing_time_sec": -0.5},
        {"processing_time_sec": "fast"},
        {"error": "both"},
    ]
    return Sent({**record, **rng.choice(faults)}, valid=False)


def make_reports(rng: random.Random, tame: bool = False) -> Made:
    """Random reports, runs and telemetry."""
    truth = [
        report(f"R-{n}", rng.choice(SPECIALTIES), rng.choice(URGENCIES), rng.choice([True, False]))
        for n in range(rng.randint(1, 5))
    ]
    choices: list[list[str | None]] = [[None], ["1"], ["1", "2"], [None, "b", "ä"]]
    names = rng.choice(choices)
    sent = [make_report_records(rng, true, name, kind) for true in truth for name in names for kind in fate(rng, tame)]
    strangers = rng.randint(0, 2)
    sent += [make_report_records(rng, report(f"X-{n}"), rng.choice(names), "right") for n in range(strangers)]
    if not tame and rng.random() < 0.3:
        sent.append(make_report_records(rng, truth[0], "unheard-of", rng.choice(["right", "invalid"])))
    rng.shuffle(sent)
    referenced = None
    if tame or rng.random() < 0.7:
        known = [name or "1" for name in names] + ([] if tame or rng.random() < 0.8 else ["idle"])
        referenced = telemetry(*(make_run(rng, name) for name in known))
    return Made("reports", truth, sent, referenced)


def make_run(rng: random.Random, name: str) -> Record:
    """What a run needed."""
    memory = rng.choice([0.1, 256.0, 512.0, 600.3, 1024.0, 1024.0000000000002, 1e300])
    cpu = rng.choice([0.1, 25.0, 50.0, 55.55, 90.0, 90.00000000000001])
    seconds = rng.choice([None, None, 0.0, 0.1, 1.0, 1.7, 5.0, 5.000000000000001])
    exception = rng.choice([None, None, "", "killed"])
    return run(name, memory, cpu, avg_processing_time_sec=seconds, exception=exception)


# --- triage --------------------------------------------------------------------------------------


def make_triage(rng: random.Random, tame: bool = False) -> Made:
    """Random cases, and responses to their segments."""
    truth: list[Record] = []
    for number in range(rng.randint(1, 3)):
        spans = sorted(sorted(rng.choice(AWKWARD) for _ in range(2)) for _ in range(rng.randint(1, 4)))
        ids = [f"S-{number}-{n}" for n in range(len(spans))]
        rng.shuffle(ids)
        segments = [
            (name, start, stop, [(rng.choice(GROUPS), rng.choice(AWKWARD)) for _ in range(rng.randint(0, 3))])
            for name, (start, stop) in zip(ids, spans, strict=True)
        ]
        truth += case(f"C-{number}", *segments)
    sent = [make_response(rng, segment, kind) for segment in truth for kind in fate(rng, tame)]
    strangers = [{**truth[0], "segment_id": f"X-{n}"} for n in range(rng.randint(0, 2))]
    sent += [make_response(rng, segment, "any") for segment in strangers]
    rng.shuffle(sent)
    rng.shuffle(truth)
    if tame or rng.random() < 0.5:
        return Made("triage", truth, sent)
    rows = [{name: segment[name] for name in ("case_id", "segment_id")} for segment in truth]
    rows = [row for row in rows if rng.random() < 0.9] + [{"case_id": "C-0", "segment_id": "X"}, rng.choice(rows)]
    rng.shuffle(rows)
    return Made("triage", truth, sent, {"segments": rows})


def make_response(rng: random.Random, segment: Record, kind: str) -> Sent:
    """A response to a segment."""
    if kind == "right":
        return Sent(response(segment, *sorted({one["lsi_group"] for one in segment["gt_lsi_list"]})))
    record = response(segment, *(rng.choice(GROUPS) for _ in range(rng.randint(0, 3))))
    if kind == "any":
        return Sent({**record, "error": rng.choice([None, "", "\t"])})
    if kind == "failed":
        return Sent({**record, "error": rng.choice(["time out", " x "])})
    faults: list[Record] = [
        {"run_id": "7"},
        {"message_received_time": 0.0},
        {"model_predictions": [""]},
        {"end_of_case": None},
        {"strange": 1},
    ]
    disagreements: list[Record] = [{"case_id": "another"}, {"end_of_case": not segment["end_of_case"]}]
    if rng.random() < 0.4:  # by itself such a record is good
        return Sent({**record, **rng.choice(disagreements)})
    return Sent({**record, **rng.choice(faults)}, valid=False)


# --- lesions -------------------------------------------------------------------------------------


def make_lesions(rng: random.Random, tame: bool = False) -> Made:
    """Random images, guesses, and maybe a model file and the times of a competition."""
    truth = [image(f"I-{n}", rng.choice(CLASSES)) for n in range(rng.randint(1, 12))]
    sent = [make_guess(rng, true, kind) for true in truth for kind in fate(rng, tame)]
    sent += [make_guess(rng, image(f"X-{n}", "NV"), "any") for n in range(rng.randint(0, 2))]
    rng.shuffle(sent)
    if not tame and rng.random() < 0.3:
        return Made("lesions", truth, sent)
    size = rng.choice([5e-324, 0.1, 20.0, 49.99, 50.0, 77.7, 149.99999999999997, 150.0, 1e300])
    referenced = model(size, rng.choice([0.1, 0.3, 99.9, 5e-324, 1e15 + 0.1]))
    if not tame and rng.random() < 0.3:
        referenced["gpu"] = rng.choice([None, False, True])
    times = rng.choice([None, ("0.1", "0.3"), ("0.1", "0.1"), ("0", "1e15"), ("33.3", "99.9")])
    return Made("lesions", truth, sent, referenced, times)


def make_guess(rng: random.Random, true: Record, kind: str) -> Sent:
    """A guess at an image."""
    if kind == "right":
        return Sent(guess(true["image_id"], true["label"]))
    if kind == "failed":
        return Sent({"image_id": true["image_id"], "error": "unreadable"})
    parts = [rng.randint(0, 3) for _ in CLASSES]
    parts[rng.randrange(10)] += 1
    record: Record = {"image_id": true["image_id"], "probabilities": [part / sum(parts) for part in parts]}
    if kind == "any":
        return Sent({**record, "error": rng.choice([None, "", " "])})
    faults: list[Record] = [
        {"probabilities": [0.5] * 10},
        {"probabilities": [0.0] * 10},
        {"probabilities": [1.0] + [0.0] * 8},
        {"probabilities": [1.5, -0.5] + [0.0] * 8},
        {"error": "both"},
    ]
    return Sent({**record, **rng.choice(faults)}, valid=False)


# --- extraction ----------------------------------------------------------------------------------

DRUGS = (
    "Losartán", "LOSARTAN.", "losartan", "Vitamina B1", "vitamina  B12", "Insulina", "insulina", "***", "µ", "M",
    "co-trimoxazol", "Cotrimoxazol", "co trimoxazol", "Vitamina B.12",
)  # fmt: skip
TESTS = ("Glucosa", "GLUCOSA", "glucosa *", "HDL-1", "HDL 1", "(-)", "Sodio", "T.S.H.", "TSH", "t.s.h", "T S H")
NOTES = (
    "", " ", "-", "*", "50 mg", "50mg", "50 MG.", "5 µg", "5 ug", "5 mg", "1/2", "1-2", "70 - 110", "(70-110)", "V.O.",
    "VO", "U/L", "UL", "U.L.",
)  # fmt: skip
VALUES = (
    "1.00", "1,02", "1.02", "0.98", "0.9799999", "1.0200001", "-1.00", "-1.02", "-0,98", "0", "0.0", "-0", "0.00001",
    ">100", "> 100", "<100", "100", "102", "102.0000000000000000000000000001", "98", "1.000.000", ".5", "0,51", "1/640",
    "positivo", "", " ", "9" * 40, "9" * 40 + ".5", "12345678901234567890", "12592592479012592591.8",
    "12592592479012592591.81",
)  # fmt: skip
"""With pairs on both sides of 2 %, some that only exact numbers tell apart."""
CLOCKS = (
    "2026-05-01T10:00:00+00:00", "2026-05-01T12:00:00+03:00", "2026-05-01 10:00:00.5Z", "2026-04-30T23:59:59-11:00",
    "2026-05-01T10:00:00.25Z", "2026-05-02T00:00:00Z", "2026-05-01T09:30:00-00:30", "2025-12-31T00:00:00+14:00",
)  # fmt: skip
"""Instants that sort otherwise as texts; the first and the next to the last are one instant."""


def make_extraction(rng: random.Random, tame: bool = False) -> Made:
    """Random documents of either kind or both, and maybe runs, a manifest and evidence."""
    kinds = rng.choice(["rx", "lab", "both", "both"])
    truth = [make_rx(rng, f"P-{n}") for n in range(rng.randint(1, 5))] if kinds != "lab" else []
    truth += [make_labs(rng, f"L-{n}") for n in range(rng.randint(1, 5))] if kinds != "rx" else []
    sent = [make_read(rng, label, kind) for label in truth for kind in fate(rng, tame)]
    for number in range(rng.randint(0, 2)):  # of unknown documents, or of the other kind
        label = dict(rng.choice(truth))
        maker = make_rx if label["doc_type"] == "prescription" else make_labs
        sent.append(make_read(rng, maker(rng, f"X-{number}"), "right"))
        if not tame and kinds == "both":
            other = make_labs if label["doc_type"] == "prescription" else make_rx
            sent.append(make_read(rng, other(rng, label["doc_id"]), rng.choice(["right", "invalid"])))
    rng.shuffle(sent)
    rng.shuffle(truth)
    referenced: Record = {}
    if rng.random() < 0.6:
        referenced["runs"] = make_pipeline_runs(rng)
    ids = [label["doc_id"] for label in truth] + ["elsewhere"]
    if rng.random() < 0.6:
        proofs = [(rng.choice(ids), rng.choice(["before_after", "measured"])) for _ in range(rng.randint(0, 4))]
        referenced["evidence"] = evidence(rng.randint(0, 2), *proofs)
        for run in referenced["evidence"]["offline_runs"]:
            run["backend"] = rng.choice(["transformers", "modal", "HF Inference", "modality"])
        for proof in referenced["evidence"]["proofs"]:
            proof["interpretation"] = rng.choice("ij")
    if rng.random() < 0.6:
        referenced["manifest"] = [listed(doc_id) for doc_id in ids[:-1] if rng.random() < 0.8]
    return Made("extraction", truth, sent, referenced)


def make_rx(rng: random.Random, doc_id: str) -> Record:
    """The labels of a prescription."""
    return rx(doc_id, *(make_drug(rng, DRUGS) for _ in range(rng.randint(1, 4))))


def make_labs(rng: random.Random, doc_id: str) -> Record:
    """The labels of a laboratory report."""
    return labs(doc_id, *(make_test(rng, TESTS) for _ in range(rng.randint(1, 4))))


def make_drug(rng: random.Random, names: Sequence[str]) -> Record:
    return drug(rng.choice(names), *(rng.choice(NOTES) for _ in range(4)))


def make_test(rng: random.Random, names: Sequence[str]) -> Record:
    return lab(rng.choice(names), rng.choice(VALUES), *(rng.choice(NOTES) for _ in range(3)))


def make_read(rng: random.Random, label: Record, kind: str) -> Sent:
    """What was read in a document."""
    right = read(label)
    if kind == "right":
        return Sent(right)
    if kind == "failed":
        failures: list[Record] = [{"parse_success": False}, {"exception": "killed"}]
        return Sent({**right, **rng.choice(failures)})
    items = "medicamentos" if label["doc_type"] == "prescription" else "resultados"
    found = [dict(item) for item in right[items] if rng.random() < 0.8]
    for item in found:
        for name in item:
            if rng.random() < 0.3:
                item[name] = rng.choice([None, *(VALUES if name == "valor" else NOTES)])
        if rng.random() < 0.2:
            del item[rng.choice(list(item))]
    if rng.random() < 0.5:
        blank = ("", " ", "\u00a0")
        more = make_drug(rng, (*DRUGS, *blank)) if items == "medicamentos" else make_test(rng, (*TESTS, *blank))
        found.insert(rng.randint(0, len(found)), more)
    rng.shuffle(found)
    record = {**right, items: found, "exception": rng.choice([None, "", " \t"])}
    if kind == "any":
        return Sent(record)
    faults: list[Record] = [
        {"parse_success": None},
        {"latency_sec": -1},
        {items: None},
        {items: [None]},
        {items: [{**right[items][0], "strange": ""}]},
        {"strange": 1},
        {"exception": 7},
    ]
    return Sent({**record, **rng.choice(faults)}, valid=False)


def make_pipeline_runs(rng: random.Random) -> list[Record]:
    """Runs of both kinds, most of them good, with a clock or without."""
    clock = rng.choice(["none", "all", "some", "local"])
    good = rng.random() < 0.5
    count = rng.randint(0, 9)
    times = [*rng.sample(CLOCKS, len(CLOCKS)), CLOCKS[0]]
    runs = []
    for number in range(count):
        made = pipeline_run(number, rng.choice(["evaluation", "reliability", "reliability"]))
        if not good and rng.random() < 0.4:
            faults: list[Record] = [
                {"parse_success": False},
                {"exception": "killed"},
                {"valid_items": 0},
                {"restarted": True},
                {"code_version": "2"},
            ]
            made |= rng.choice(faults)
        made["exception"] = made.get("exception") or rng.choice([None, " "])
        if clock == "all" or (clock == "some" and rng.random() < 0.8):
            made["started_at"] = times[number]
        elif clock == "local":
            made["started_at"] = times[number][: rng.choice([10, 19, 19])]
        runs.append(made)
    if good and runs:
        runs[0]["restarted"] = rng.choice([True, False])
    return runs


# --- benchmark -----------------------------------------------------------------------------------

TERMS: dict[str, Any] = json.loads(LEXICON.read_text(encoding="utf-8"))
NAMES = [name for names in TERMS["entities"].values() for name in names]
SPELLINGS = [spelling for spellings in TERMS["synonyms"].values() for spelling in spellings]
MARKERS = [*TERMS["structure_markers"], *TERMS["evidence_markers"]]
WORDS = ("the", "patient", "with", "2", "of", "6.5 %", "sin", "niño", "heart", "blood", "type", "pain", "x", "ST", "µ")
FEW = ("chest pain", "HTA", "hypertension", "metformin", "troponina", "appendicitis", "surgery", "because", "first")
GIVEN = ("helpfulness", "coherence", "safety", "harm_avoidance", "communication", "rouge1", "rouge_l", "exact_match")
COMPUTED = ("clinical_accuracy", "reasoning_quality", "diagnostic_accuracy")


def make_text(rng: random.Random, longest: int) -> str:
    """Terms, markers, fallacies and ordinary words, written as people write."""
    pieces = []
    for _ in range(rng.randint(1, longest)):
        source = rng.choice([FEW, FEW, WORDS, NAMES, SPELLINGS, MARKERS, TERMS["fallacies"]])
        piece = rng.choice(source)
        pieces.append(rng.choice([piece, piece, piece.upper(), piece.title(), f"{piece[:1]}\u0301{piece[1:]}"]))
        pieces.append(rng.choice([" ", " ", " ", ", ", ". ", "-", " (", ") ", "\n", "\u00a0", "…", " no "]))
    return "".join(pieces)


def make_facts(rng: random.Random) -> tuple[str, str]:
    """A diagnosis, and some of what is expected to be said of it."""
    name = rng.choice(sorted(TERMS["facts"]))
    return name, ", ".join(fact for fact in TERMS["facts"][name] if rng.random() < 0.4)


def make_entities(rng: random.Random) -> Record:
    """Entities of some categories; not always in the right one, nor known."""
    chosen = [category for category in CATEGORIES if rng.random() < 0.4]
    return {category: [rng.choice([*FEW, "rana"]) for _ in range(rng.randint(0, 3))] for category in chosen}


def make_said(rng: random.Random) -> Record:
    """One side of a sample: something, here and there blank or null."""
    name, facts = make_facts(rng)
    said: Record = {}
    if rng.random() < 0.7:
        said["answer"] = rng.choice([make_text(rng, 4), make_text(rng, 4), name, "so it is", None, " "])
    if rng.random() < 0.7:
        lines = rng.choice(["1. ", "(2) ", "- ", "x\n  3) ", "• ", "1. x\n* ", "38.5 "]) + make_text(rng, 3)
        said["rationale"] = rng.choice([make_text(rng, 9), make_text(rng, 9) + facts, lines, None, "\n"])
    if rng.random() < 0.6:
        short = rng.choice(sorted(TERMS["abbreviations"]))
        shorts = [short, *TERMS["abbreviations"][short]]
        said["diagnosis"] = rng.choice(
            [name, name.upper(), make_text(rng, 1), make_text(rng, 2), rng.choice(shorts), None, ""]
        )
    if rng.random() < 0.3:
        said["entities"] = rng.choice([make_entities(rng), {}, None])
    return said


def make_reference(rng: random.Random, sample_id: str, task_id: str) -> Record:
    """A reference that holds something to score."""
    said = make_said(rng)
    while all(naive.blank(said.get(name)) for name in ("answer", "rationale", "diagnosis")) and not said.get(
        "entities"
    ):
        said = make_said(rng)
    return reference(sample_id, task_id, **said)


def make_given(rng: random.Random, names: Sequence[str]) -> Record:
    """Metrics that were computed elsewhere."""
    return {name: rng.choice([0, 1, 0.1, 0.7, 1 / 3, 5e-324]) for name in names if rng.random() < 0.25}


def make_prediction(rng: random.Random, true: Record, kind: str, tame: bool = False) -> Sent:
    """What a model says to a sample."""
    if kind == "right":
        return Sent(repeats(true))
    said = make_said(rng)
    for name, value in true["reference"].items():  # not all is wrong
        if rng.random() < 0.4:
            said[name] = value
    names = (*GIVEN, *(naive.asked(true["reference"]) if tame else COMPUTED))
    record = repeats(true, scores=rng.choice([None, make_given(rng, names)])) | {"prediction": said}
    if kind == "any":
        return Sent({**record, "error": rng.choice([None, "", " \t"])})
    if kind == "failed":
        return Sent({**record, "error": rng.choice(["time out", " x "])})
    faults: list[Record] = [
        {"prediction": None},
        {"prediction": {"answer": 7}},
        {"prediction": {"entities": {"diagnosis": []}}},
        {"scores": {"safety": 1.5}},
        {"error": 7},
        {"strange": 1},
    ]
    return Sent({**record, **rng.choice(faults)}, valid=False)


def make_weights(rng: random.Random) -> Record:
    """Weights of some metrics and categories, one of them above 0."""
    names = [*COMPUTED, *GIVEN, *naive.METRIC_CATEGORIES, "never there"]
    found = {name: rng.choice([0, 0.1, 0.2, 0.3, 1, 7, 1e-7, 1 / 3]) for name in names if rng.random() < 0.3}
    name = rng.choice([None, None, "index", "diagnostics", "summarization"])
    made = weights(rng.choice([None, True, False, False]), name, **{**found, rng.choice(names): 0.6})
    if rng.random() < 0.3:
        metrics = rng.sample([*COMPUTED, *GIVEN], rng.randint(0, 3))
        made["categories"] = {rng.choice([*naive.METRIC_CATEGORIES, "never there"]): metrics}
    return made


def make_benchmark(rng: random.Random, tame: bool = False) -> Made:
    """Random samples of up to three tasks, predictions, and maybe weights that find something."""
    truth = [
        make_reference(rng, f"S-{n}", task)
        for task in ("qa", "rx", "Fälle")[: rng.randint(1, 3)]
        for n in range(rng.randint(1, 4))
    ]
    sent = [make_prediction(rng, true, kind, tame) for true in truth for kind in fate(rng, tame)]
    strangers = [make_reference(rng, f"X-{n}", "qa") for n in range(rng.randint(0, 2))]
    sent += [make_prediction(rng, true, rng.choice(["right", "any"]), tame) for true in strangers]
    rng.shuffle(sent)
    rng.shuffle(truth)
    referenced = make_weights(rng) if rng.random() < 0.7 else None
    if tame:  # whatever is left out, there is something to weigh
        referenced = weights(diagnostics=0.3, reasoning_quality=0.1)
    made = Made("benchmark", truth, sent, referenced)
    try:
        naively(made, "0")
    except naive.UsageError:  # that has tests of its own
        return made._replace(referenced=None)
    return made


MAKERS: dict[str, Maker] = {
    "benchmark": make_benchmark,
    "extraction": make_extraction,
    "lesions": make_lesions,
    "reports": make_reports,
    "triage": make_triage,
}
TRACKS = sorted(MAKERS)


# --- scoring -------------------------------------------------------------------------------------


def collections(made: Made) -> list[tuple[str, list[Record]]]:
    """The collections that a submission and its truth are made of, by contract."""
    truth_id, sent_id, _ = CONTRACTS[made.track]
    sent = [one.record for one in made.sent]
    if made.track != "extraction":
        return [(truth_id, made.truth), (sent_id, sent)]
    found = []
    for contract, doc_type in ((truth_id, "prescription"), (LABS[0], "lab")):
        found.append((contract, [label for label in made.truth if label["doc_type"] == doc_type]))
    for contract, key in ((sent_id, "medicamentos"), (LABS[1], "resultados")):
        found.append((contract, [record for record in sent if key in record]))
    kept = [(contract, records) for contract, records in found if records]
    return kept if any("predictions" in contract for contract, _ in kept) else [*kept, (sent_id, [])]


def documents(made: Made, folder: Path) -> list[tuple[str, str | None]]:
    """The files beside them; the order of runs says something, so they stay together."""
    if made.track == "triage" and made.referenced is not None:
        return [(str(write(folder, "triage/inventory", made.referenced["segments"], "csv")), None)]
    if made.track != "extraction" or made.referenced is None:
        return [(str(path), None) for path in document(folder, CONTRACTS[made.track][2], made.referenced)]
    found: list[tuple[str, str | None]] = []
    for name in ("runs", "manifest"):
        if name in made.referenced:
            contract = f"extraction/{name}"
            found.append((str(write(folder, contract, made.referenced[name])), contract))
    return found + [(str(path), None) for path in document(folder, "evidence", made.referenced.get("evidence"))]


ALL_FIGURES = {"benchmark": {"answer_metrics": "exact_match+rouge_l"}}
"""Parameters with which a result has all figures of the table."""


def plainly(made: Made, minimum: str, more: Mapping[str, str] = MappingProxyType({})) -> medcontract.Score:
    """The score of a submission in `.json` files; `more` are other parameters."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files: list[tuple[str, str | None]] = [
            (str(write(folder, contract, records)), contract) for contract, records in collections(made)
        ]
        files += documents(made, folder)
        return score_result(
            score_files(GivenFiles(files), Settings(parameters=tuple({**made.parameters(minimum), **more}.items())))
        )


def with_all_figures(made: Made, minimum: str) -> medcontract.Score:
    """Like `plainly`, with metrics that are computed only if the protocol names them."""
    return plainly(made, minimum, ALL_FIGURES.get(made.track, {}))


def naively(made: Made, minimum: str) -> naive.Outcome:
    """What the naive scorer makes of it."""
    least = Fraction(minimum)
    if made.track == "reports":
        return naive.reports(made.truth, made.sent, made.referenced, least)
    if made.track == "lesions":
        return naive.lesions(made.truth, made.sent, made.referenced, made.times, least)
    if made.track == "extraction":
        return naive.extraction(made.truth, made.sent, **(made.referenced or {}), minimum=least)
    if made.track == "benchmark":
        model_id = HEADERS["benchmark/predictions"]["model_id"]
        return naive.benchmark(made.truth, made.sent, model_id, made.referenced, least)
    header = {**HEADERS["triage/response"], "response_file_name": "triage-response.json"}
    return naive.triage(made.truth, made.sent, header, (made.referenced or {}).get("segments", ()), least)


STATES = {
    "no response for this segment": "missing",
    "more than one response for this segment": "repeated",
    "the response violates its contract": "invalid",
}
"""The wording is the engine's own (the specification leaves it free); which of them stands where is checked."""


def bits(result: Record | None) -> str:
    """A result as a text that shows every bit of its numbers; free wording is left out, or told by what it says."""
    if result is None:
        return "null"
    copy: Record = json.loads(json.dumps(result))
    copy.pop("metadata", None)
    copy.pop("detailed_results", None)  # asked for where they are compared
    for one in copy.get("runs", []):
        one.pop("reasons", None)
    for one in copy.get("gates", []):
        one.pop("reason", None)
    for metrics in copy.get("metrics", []):
        for error in metrics["errors"]:
            if error.get("error") in STATES:
                error["state"] = STATES[error.pop("error")]
    return json.dumps(copy, sort_keys=True, indent=1)


# --- the same as a naive scorer ------------------------------------------------------------------


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("minimum", MINIMA)
def test_the_same_bits_as_a_naive_scorer(track: str, minimum: str) -> None:
    """Result, validity and processing equal the output of a second scorer that shares no code with the first."""

    @property_settings(60)
    @given(st.randoms(use_true_random=False))
    def law(rng: random.Random) -> None:
        made = MAKERS[track](rng, False)
        score, wanted = plainly(made, minimum), naively(made, minimum)
        assert bits(score.result) == bits(wanted.result)
        assert score.valid == wanted.valid
        gate = score.processing
        assert gate is not None
        assert (gate.expected, gate.processed) == (wanted.expected, wanted.processed)
        if score.result is not None:
            assert_keeps_contract(track, score.result)
            slow = [int(warning.split()[0]) for warning in score.warnings if "took more than 5 s" in warning]
            assert slow == ([wanted.slow] if wanted.slow else [])

    law()


@pytest.mark.parametrize("track", TRACKS)
def test_both_sides_of_the_gate_are_met(track: str) -> None:
    """The generators reach scores, refusals and, for reports, invalid runs: the law above is not empty."""
    met = set()
    for seed in range(60):
        made = MAKERS[track](random.Random(seed), False)
        outcome = naively(made, "0.5")
        met.add((outcome.valid, outcome.result is not None))
    wanted = {(True, True), (False, False)} | ({(False, True)} if track == "reports" else set())
    if track in RESULT_BELOW_GATE:  # the result stays: with NO-GO, or with the errors of the segments
        wanted = {(True, True), (False, True)}
    assert met == wanted


def test_all_gates_are_met_on_both_sides() -> None:
    """The generator of extraction reaches each gate passed, failed and without input, and both decisions."""
    met: dict[str, set[bool | None]] = {}
    decisions = set()
    for seed in range(400):
        result = naively(make_extraction(random.Random(seed)), "0").result
        assert result is not None
        decisions.add(result["decision"])
        for gate in result["gates"]:
            met.setdefault(gate["gate"], set()).add(gate["passed"])
    assert met.pop("pipeline_success_rate") == {True, False}
    assert set(map(frozenset, met.values())) == {frozenset([True, False, None])}
    assert len(met) == 5


# --- free of order, split and container ----------------------------------------------------------


def scattered(made: Made, rng: random.Random) -> medcontract.Score:
    """The score of the same records: shuffled, split, and each part in a container of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files: list[tuple[str, str | None]] = []
        for contract, records in collections(made):
            files += [(str(path), contract) for path in _scatter(folder, contract, records, rng)]
        sent_id = CONTRACTS[made.track][1]
        bare = not any(".json" in Path(path).suffixes for path, contract in files if contract == sent_id)
        header: Mapping[str, str] = HEADERS[sent_id] if made.track in ("triage", "benchmark") and bare else {}
        files += documents(made, folder)
        rng.shuffle(files)
        return score_result(
            score_files(
                GivenFiles(files),
                Settings(parameters=tuple(made.parameters("0").items()), header=tuple(header.items())),
            )
        )


def _scatter(folder: Path, contract: str, records: Sequence[Record], rng: random.Random) -> list[Path]:
    shuffled = list(records)
    rng.shuffle(shuffled)
    cut = rng.randint(0, len(shuffled))
    parts = [part for part in (shuffled[:cut], shuffled[cut:]) if part] or [[]]
    forms = ["json", "jsonl", "csv"] if contract in COLUMNS else ["json", "jsonl"]
    found = []
    for number, part in enumerate(parts):
        form = rng.choice(forms) if part else "json"
        ending = rng.choice([form, f"{form}.gz"])
        found.append(write(folder, contract, part, ending, f"{contract.replace('/', '-')}-{number}"))
    return found


def contents(score: medcontract.Score) -> set[str]:
    """The content hashes of the truth."""
    return {one.content_sha256 for one in score.inputs if one.content_sha256 is not None}


@pytest.mark.parametrize("track", TRACKS)
def test_order_split_and_container_do_not_matter(track: str) -> None:
    """Shuffled, split and packed, the same records give the same bits and the same content of the truth."""

    @property_settings(60)
    @given(st.randoms(use_true_random=False), st.integers(0, 2**32))
    def law(rng: random.Random, seed: int) -> None:
        made = MAKERS[track](rng, False)
        plain, other = plainly(made, "0"), scattered(made, random.Random(seed))
        results = []
        for score in (plain, other):
            assert score.result is not None, score.reasons
            results.append(bits({name: v for name, v in score.result.items() if name != "response_file_name"}))
        assert results[0] == results[1]
        assert plain.processing == other.processing
        assert len(contents(plain)) == len({true.get("doc_type") for true in made.truth})
        assert contents(plain) == contents(other)

    law()


# --- the table of figures ------------------------------------------------------------------------

TABLE = [(name, figure) for name in TRACKS for figure in tracks.track(name).figures]
IDS = [f"{name}-{figure.name}" for name, figure in TABLE]
IDENTITIES = ("case_id", "run_id", "doc_id", "gate")


def figures_in(track: str, score: medcontract.Score) -> Iterator[tuple[str, tuple[str, ...], float]]:
    """Every number of a result: the name of its figure, its place, its value."""
    assert score.result is not None, score.reasons
    yield from _numbers({name: value for name, value in score.result.items() if name != "metadata"}, ())
    headline = {"triage": "mean_jaccard_index", "extraction": "mean_accuracy"}.get(track)
    if headline is not None and score.headline[1] is not None:
        yield headline, (headline,), score.headline[1]


def _numbers(value: Any, place: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...], float]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _numbers(inner, (*place, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            own = next((inner[key] for key in IDENTITIES if isinstance(inner, dict) and key in inner), str(number))
            yield from _numbers(inner, (*place, f"[{own}]"))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield _name(place), place, value


def _name(place: tuple[str, ...]) -> str:
    names = [
        part for part in place if not part.startswith("[") and part not in ("runs", "metrics", "documents", "gates")
    ]
    if names[0] in ("overall_scores", "task_scores"):
        return names[-1]
    if names[0] == "correct_predictions":
        return ".".join(names)
    return names[0]


class Compared(NamedTuple):
    """The figures of a submission, and those without one of its records."""

    whole: dict[tuple[str, ...], tuple[str, float]]
    without: dict[tuple[str, ...], tuple[str, float]]
    right: bool
    """Whether the record that was left out was wholly right."""


def _by_place(track: str, score: medcontract.Score) -> dict[tuple[str, ...], tuple[str, float]]:
    return {place: (name, value) for name, place, value in figures_in(track, score)}


@cache
def comparisons(track: str) -> tuple[Compared, ...]:
    """Random submissions with at most one record an item, each with up to three records left out in turn."""
    found = []
    for seed in sample(range(50), 2):
        rng = random.Random(seed)
        made = MAKERS[track](rng, True)
        whole = _by_place(track, with_all_figures(made, "0"))
        for index in rng.sample(range(len(made.sent)), min(3, len(made.sent))):
            rest = made._replace(sent=made.sent[:index] + made.sent[index + 1 :])
            without = _by_place(track, with_all_figures(rest, "0"))
            found.append(Compared(whole, without, is_right(made, made.sent[index])))
    return tuple(found)


KEYS = {
    "reports": ("report_id",), "triage": ("segment_id",), "lesions": ("image_id",), "extraction": ("doc_id",),
    "benchmark": ("task_id", "sample_id"),
}  # fmt: skip


def is_right(made: Made, one: Sent) -> bool:
    """Whether a record says exactly what is true."""
    keys = KEYS[made.track]
    true = next((true for true in made.truth if all(true[key] == one.record[key] for key in keys)), None)
    if true is None or not one.valid or not naive.blank(one.record.get("error")):
        return False
    if made.track == "reports":
        return all(one.record[name] == true[name] for name in ("specialty", "urgency", "follow_up"))
    if made.track == "lesions":
        return bool(naive.largest(one.record["probabilities"]) == true["label"])
    if made.track == "extraction":
        return one.record == read(true)
    if made.track == "benchmark":
        return one.record == repeats(true)
    agrees = all(one.record[name] == true[name] for name in ("case_id", "end_of_case"))
    return agrees and set(one.record["model_predictions"]) == {lsi["lsi_group"] for lsi in true["gt_lsi_list"]}


@pytest.mark.slow
@pytest.mark.parametrize("track", TRACKS)
def test_right_records_are_among_those_left_out(track: str) -> None:
    """The laws below are not empty: of eight records, at least one is right, and one is not."""
    rights = [one.right for one in comparisons(track)]
    assert 8 * rights.count(True) >= len(rights) > 0
    assert 8 * rights.count(False) >= len(rights)


@pytest.mark.parametrize(("track", "figure"), TABLE, ids=IDS)
def test_figures_are_in_their_range(track: str, figure: Figure) -> None:
    """Whatever is submitted, a figure lies within the bounds that the table gives."""
    seen = 0
    for compared in comparisons(track):
        for name, value in compared.whole.values():
            if name == figure.name:
                seen += 1
                assert figure.low is None or value >= figure.low
                assert figure.high is None or value <= figure.high
    assert seen


@pytest.mark.parametrize(("track", "figure"), [each for each in TABLE if each[1].leaving_out is not None])
def test_leaving_a_record_out(track: str, figure: Figure) -> None:
    """No figure rises where the table says that leaving a record out, or a wholly right one, never helps."""
    for compared in comparisons(track):
        if figure.leaving_out == "never helps" or compared.right:
            for place, (name, value) in compared.without.items():
                if name == figure.name and place in compared.whole:
                    assert value <= compared.whole[place][1], place


def perfect(track: str) -> Made:
    """A truth with every class, and a submission that says exactly that, at no cost."""
    if track == "reports":
        truth = [report(f"R-{n}", SPECIALTIES[n], URGENCIES[n % 3], n % 2 == 0) for n in range(6)]
        return Made(track, truth, [Sent(answer(true)) for true in truth], telemetry())
    if track == "lesions":
        images = [image(f"I-{label}", label) for label in CLASSES]
        return Made(track, images, [Sent(guess(true["image_id"], true["label"])) for true in images], model())
    if track == "extraction":
        truth = [
            rx("P", drug("Losartán", "50 mg"), drug("Insulina", "10 UI"), drug("Insulina", "20 UI")),
            labs("L", lab("Glucosa", "100", rango="70-110"), lab("Sodio", "> 100")),
        ]
        referenced = {
            "runs": [pipeline_run(number) for number in range(5)],
            "evidence": evidence(1, ("P", "measured"), ("L", "measured")),
            "manifest": [listed("P"), listed("L", "lab")],
        }
        return Made(track, truth, [Sent(read(label)) for label in truth], referenced)
    if track == "benchmark":
        truth = [
            reference("1", "qa", answer="Metformin for type 2 diabetes", diagnosis="asthma"),
            reference("2", "qa", answer="so it is", rationale="first, because of the fever"),
            reference("1", "rx", entities={"symptoms": ["rash"], "labs": ["troponin"]}),
        ]
        return Made(track, truth, [Sent(repeats(true)) for true in truth], weights(diagnostics=0.3))
    truth = [
        *case("C", ("S-1", 0, 10, [("Airway", 20), ("Blood", 30)]), ("S-2", 10, 20, [("Blood", 30)])),
        *case("D", ("S-3", 0, 10, [])),
    ]
    return Made(track, truth, [make_response(random.Random(0), segment, "right") for segment in truth])


@pytest.mark.parametrize(("track", "figure"), TABLE, ids=IDS)
def test_a_perfect_submission(track: str, figure: Figure) -> None:
    """It gets what the table promises, for every class, case and run."""
    score = with_all_figures(perfect(track), "0.95")
    values = [value for name, _, value in figures_in(track, score) if name == figure.name]
    assert values
    if figure.perfect is not None:
        assert set(values) == {figure.perfect}


@pytest.mark.parametrize("track", TRACKS)
def test_the_table_is_complete(track: str) -> None:
    """Every number of a result stands in the table, and everything in the table stands in some result."""
    met = {name for name, _, _ in figures_in(track, with_all_figures(perfect(track), "0.95"))}
    assert met == {figure.name for figure in tracks.track(track).figures}
