"""The figures of documents in every replicate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from medcontract.scoring.extraction.documents import LAB, PRESCRIPTION, nothing_right
from medcontract.scoring.extraction.figures import Counts, score_of
from medcontract.scoring.pairing import marks
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.resampling import Samples
from medcontract.scoring.scorer import Answers
from medcontract.uncertainty.figures import Resampled, Resampling, kept, mean, quotient

_NAMES = {PRESCRIPTION: "prescription_accuracy", LAB: "lab_accuracy"}


def resampled(answers: Answers, samples: Samples, result: Mapping[str, Any], protocol: Protocol) -> Resampling:
    sample = samples.whole
    kinds = {kind.labels: kind for kind in _NAMES}
    kind_of, scores = np.full(sample.cases, -1), np.zeros(sample.cases)
    succeeded = np.zeros(sample.cases, np.int64)
    start = 0
    for number, truth in enumerate(samples.parts):
        pairing, known = answers.pairings[truth], dict[Counts, float]()
        for place, (mark, (items, _)) in enumerate(zip(marks(pairing, ""), pairing.expected.items, strict=True), start):
            mark = mark or nothing_right(len(items), "no record")
            counts = Counts.of(mark)
            if counts not in known:
                known[counts] = float(score_of(counts, kinds[truth], protocol))
            kind_of[place], scores[place], succeeded[place] = number, known[counts], mark.succeeded
        start += pairing.expected.total
    (documents,) = sample.count((kind_of, len(kinds)))
    totals = sample.totals(scores, kind_of, len(kinds))
    means = kept(quotient(totals, documents), documents)
    figures = {
        f"/{_NAMES[kinds[truth]]}": Resampled(values=means[:, number], cases=np.asarray(kind_of == number)).times(100)
        for number, truth in enumerate(samples.parts)
        if documents[0, number]
    }
    headline = mean(figures.values()) if figures else None
    runs = answers.documents.get("extraction/runs") or ()
    if not any(run.kind == "evaluation" for run in runs):  # else it does not depend on cases
        (successes,) = sample.count((succeeded, 2))
        everything = np.ones(sample.cases, bool)
        share = quotient(successes[:, 1], successes.sum(axis=1))
        rate = Resampled(values=share, cases=everything, counted=sample.cases)
        figures["/pipeline_success_rate"] = rate.times(100)
    for number, gate in enumerate(result["gates"]):
        if f"/{gate['gate']}" in figures:
            figures[f"/gates/{number}/measured"] = figures[f"/{gate['gate']}"]
    return Resampling(figures=figures, headline=headline)
