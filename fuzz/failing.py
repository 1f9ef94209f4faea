"""Measure what a participant gains by failing on purpose: `python -m fuzz.failing`. docs/security.md has the results.

A simulated model is right with the probability that it states. For 5 % of the cases, which is as many as the gate
tolerates, it reports an error instead of an answer: where it is least certain, as anybody can, or where it is wrong, as
only somebody can who knows the truth.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from tests.metric_cases import VARIANTS, Variant, perfect, values
from tests.scoring_files import (
    CLASSES,
    Record,
    answer,
    case,
    drug,
    guess,
    image,
    no_answer,
    read_rx,
    reference,
    report,
    response,
    rx,
    says,
    score_of,
)

SHARE = 20
"""One of so many cases fails."""


SPECIALTIES = ("Cardiology", "Neurology", "Oncology", "Internal Medicine", "Emergency Medicine", "Other")
URGENCIES = ("Emergency", "Urgent", "Routine")
GROUPS = ("airway", "bleeding", "blood products", "medication", "resuscitation")
ANSWERS = ("asthma with dyspnea", "gout", "myocardial infarction", "heart failure and edema")


def _reports(rng: random.Random, number: int, right: bool) -> tuple[Record, ...]:
    (specialty, other), (urgency, wrong) = (rng.sample(each, 2) for each in (SPECIALTIES, URGENCIES))
    true = report(f"R-{number}", specialty, urgency, rng.random() < 0.4)
    changed = {**true, "specialty": other, "urgency": wrong, "follow_up": not true["follow_up"]}
    return true, answer(true if right else changed), no_answer(true["report_id"])


def _lesions(rng: random.Random, number: int, right: bool) -> tuple[Record, ...]:
    """A class is the more frequent, the later it is listed."""
    label, other = rng.choices(CLASSES, range(1, 11))[0], rng.choice(CLASSES)
    true = image(f"I-{number}", label)
    sent = guess(true["image_id"], label if right else next(each for each in (other, *CLASSES) if each != label))
    return true, sent, {"image_id": true["image_id"], "error": "x"}


def _triage(rng: random.Random, number: int, right: bool) -> tuple[Record, ...]:
    """A segment of a case of four."""
    group, other = rng.sample(GROUPS, 2)
    ids = [f"C-{number // 4}-{each}" for each in range(4)]
    segments = [(name, 30.0 * n, 30.0 * n + 30, [(group, 500.0)]) for n, name in enumerate(ids)]
    true = case(f"C-{number // 4}", *segments)[number % 4]
    seconds = {"message_sent_time": float(number), "message_received_time": number + 0.5}
    own = response(true, group if right else other, cumulative_runtime_sec=float(number), **seconds)
    return true, own, {**own, "model_predictions": [], "error": "x"}


def _extraction(rng: random.Random, number: int, right: bool) -> tuple[Record, ...]:
    drugs = [drug(f"Medicamento {letter}", f"{rng.randrange(9)} mg") for letter in "ABC"]
    true = rx(f"D-{number}", *drugs)
    return true, read_rx(true["doc_id"], *(drugs if right else [drug("otro")])), read_rx(true["doc_id"], exception="x")


def _benchmark(rng: random.Random, number: int, right: bool) -> tuple[Record, ...]:
    said, other = rng.sample(ANSWERS, 2)
    true = reference(f"S-{number}", answer=said)
    failed = {name: true[name] for name in ("task_id", "sample_id")} | {"error": "x"}
    return true, says(true["sample_id"], answer=said if right else other), failed


class Simulation(NamedTuple):
    """How answers of a track are simulated, and the figure that may change."""

    simulate: Callable[[random.Random, int, bool], tuple[Record, ...]]
    """Returns the truth of a case, an answer, and what is sent instead of it to fail on purpose."""
    figure: Callable[[Mapping[str, Any]], float]


def _mean_jaccard(result: Mapping[str, Any]) -> float:
    return fmean(each["jaccard_index"] for each in result["metrics"])


TRACKS = {
    "reports": Simulation(_reports, itemgetter("accuracy_score")),
    "extraction": Simulation(_extraction, itemgetter("prescription_accuracy")),
    "triage": Simulation(_triage, _mean_jaccard),
    "benchmark": Simulation(_benchmark, lambda result: result["overall_scores"]["clinical_accuracy"]),
    "lesions": Simulation(_lesions, itemgetter("prediction_score")),
}


class Change(NamedTuple):
    """The change of a figure if cases fail; a positive one is a gain."""

    least_certain: float
    wrong: float


def of_track(track: str, seed: int, count: int) -> Change:
    simulation, rng = TRACKS[track], random.Random(seed)
    certainties = [rng.uniform(0.5, 1) for _ in range(count)]
    right = [rng.random() < certainty for certainty in certainties]
    truth, sent, failed = zip(*(simulation.simulate(rng, n, good) for n, good in enumerate(right)), strict=True)

    def figure(failing: Sequence[int]) -> float:
        records = [failed[n] if n in failing else record for n, record in enumerate(sent)]
        with tempfile.TemporaryDirectory() as folder:
            scored = score_of(Path(folder), track, truth, records)
        return simulation.figure(scored.result or {})

    return _changes(figure, certainties, right)


def of_metric(each: Variant, seed: int, count: int) -> Change:
    """The change of a metric of a challenge, negative if a figure that is better when lower rises."""
    rng, metric = random.Random(seed), each.metric
    truths = [rng.choice(values(metric.truth)) for _ in range(count)]
    certainties = [rng.uniform(0.5, 1) for _ in range(count)]
    right = [rng.random() < certainty for certainty in certainties]
    best = [perfect(metric, y) for y in truths]
    predictions = [
        p if good else rng.choice([other for other in values(metric.prediction) if other != p])
        for p, good in zip(best, right, strict=True)
    ]
    if metric.kind.positive_case:  # the probability that it states
        predictions = [
            certainty if (y == metric.positive) == good else 1 - certainty
            for y, good, certainty in zip(truths, right, certainties, strict=True)
        ]

    def figure(failing: Sequence[int]) -> float:
        value = each.value(truths, [None if n in failing else p for n, p in enumerate(predictions)]).value
        return float(value or 0) * (1 if metric.kind.higher_is_better else -1)

    return _changes(figure, certainties, right)


def _changes(figure: Callable[[Sequence[int]], float], certainties: Sequence[float], right: Sequence[bool]) -> Change:
    cases, most = range(len(right)), len(right) // SHARE
    least_certain = sorted(cases, key=certainties.__getitem__)[:most]
    wrong = sorted(cases, key=lambda n: (right[n], -certainties[n]))[:most]
    base = figure(())
    return Change(figure(least_certain) - base, figure(wrong) - base)


def main(seeds: int = 5, count: int = 1000) -> None:
    works: dict[str, Callable[[int, int], Change]] = {track: partial(of_track, track) for track in TRACKS}
    works |= {name: partial(of_metric, each) for name, each in VARIANTS.items()}
    for name, measure in works.items():
        found = [measure(seed, count) for seed in range(seeds)]
        ranges = (f"{min(each):+.4f} to {max(each):+.4f}" for each in zip(*found, strict=True))
        print(f"{name:34} least certain: {' wrong: '.join(ranges)}")


if __name__ == "__main__":
    main()
