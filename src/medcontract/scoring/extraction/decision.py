"""The decision of `extraction`: six gates, GO or NO-GO."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any, NamedTuple

from msgspec import Struct

from medcontract.scoring.extraction.documents import LAB, PRESCRIPTION, failed
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import rounded

RELIABILITY_RUNS = 5


class Run(NamedTuple):
    """What matters of one run of the pipeline."""

    kind: str
    succeeded: bool
    restarted: bool
    code_version: str
    started_at: str | None


def run_of(record: Any) -> Run:
    succeeded = not failed(record) and record.valid_items >= 1
    return Run(record.kind, succeeded, record.restarted, record.code_version, record.started_at)


class Beside(Struct, kw_only=True):
    """What the files beside labels and predictions say; None for one that was not given."""

    runs: list[Run] | None
    offline_runs: int | None
    proofs: frozenset[tuple[str, str]] | None
    manifest: frozenset[str] | None

    @classmethod
    def of(cls, files: Mapping[str, Any]) -> Beside:
        evidence, manifest = files.get("extraction/evidence"), files.get("extraction/manifest")
        return cls(
            runs=files.get("extraction/runs"),
            offline_runs=None if evidence is None else len(evidence.offline_runs),
            proofs=None if evidence is None else frozenset((proof.doc_id, proof.kind) for proof in evidence.proofs),
            manifest=None if manifest is None else frozenset(manifest),
        )


class Gate(NamedTuple):
    """One gate of the decision."""

    name: str
    goal: Fraction
    measured: Fraction | None
    passed: bool | None
    reason: str


NEEDED = {
    "prescription_accuracy": (PRESCRIPTION.predictions, f"labels ({PRESCRIPTION.labels})"),
    "lab_accuracy": (LAB.predictions, f"labels ({LAB.labels})"),
    "pipeline_success_rate": ("extraction/runs", "evaluation runs (extraction/runs), or labels"),
    "reliability": ("extraction/runs", "runs (extraction/runs)"),
    "offline_evidence": ("extraction/evidence", "evidence (extraction/evidence)"),
    "standout_proofs": (
        "extraction/evidence",
        "evidence (extraction/evidence) and a manifest (extraction/manifest)",
    ),
}
"""For each gate: the contract whose files fail, and what it takes to judge it."""


def pipeline_success_rate(beside: Beside, documents: Iterable[bool] = ()) -> Fraction | None:
    """Successes / runs · 100: over evaluation runs, or over labeled documents where there are none."""
    runs = [run.succeeded for run in beside.runs or () if run.kind == "evaluation"] or list(documents)
    return Fraction(100 * sum(runs), len(runs)) if runs else None


def gates(
    beside: Beside, prescriptions: Fraction | None, labs: Fraction | None, pipeline: Fraction | None, protocol: Protocol
) -> list[Gate]:
    return [
        _at_least("prescription_accuracy", prescriptions, protocol, "%", "no labels of prescriptions were given"),
        _at_least("lab_accuracy", labs, protocol, "%", "no labels of laboratory reports were given"),
        _at_least("pipeline_success_rate", pipeline, protocol, "%", "there is no run and no document"),
        _reliability(beside.runs, protocol),
        _at_least(
            "offline_evidence", None if beside.offline_runs is None else Fraction(beside.offline_runs), protocol,
            "offline runs", "no file of extraction/evidence was given",
        ),
        _at_least(
            "standout_proofs", _proofs(beside), protocol, "proofs",
            "no file of extraction/evidence was given" if beside.proofs is None else "no manifest was given",
        ),
    ]  # fmt: skip


def _at_least(name: str, measured: Fraction | None, protocol: Protocol, unit: str, missing: str) -> Gate:
    goal = protocol[f"goal_{name}"]
    if measured is None:
        return Gate(name, goal, None, None, missing)
    passed = rounded(measured) >= rounded(goal)
    unit = unit.removesuffix("s") if measured == 1 else unit
    verb = ("reach" if passed else "stay below") if unit.endswith("s") else "reaches" if passed else "is below"
    return Gate(name, goal, measured, passed, f"{told(measured, goal)} {unit} {verb} the goal of {rounded(goal):.16g}")


def told(measured: Fraction, goal: Fraction) -> str:
    """With as many digits as it takes to see on which side of the goal it is."""
    texts = (f"{rounded(measured):.{digits}g}" for digits in range(6, 18))
    below = rounded(measured) < rounded(goal)
    return next((text for text in texts if (float(text) < rounded(goal)) == below), repr(rounded(measured)))


def _proofs(beside: Beside) -> Fraction | None:
    """One for each document and kind of proof, if the manifest has the document."""
    if beside.proofs is None or beside.manifest is None:
        return None
    return Fraction(sum(doc_id in beside.manifest for doc_id, _ in beside.proofs))


def _reliability(runs: Sequence[Run] | None, protocol: Protocol) -> Gate:
    name, goal = "reliability", protocol["goal_reliability"]
    if runs is None:
        return Gate(name, goal, None, None, "no file of extraction/runs was given")
    last = _in_order([run for run in runs if run.kind == "reliability"])[-RELIABILITY_RUNS:]
    successes = Fraction(sum(run.succeeded for run in last))
    faults = []
    if len(last) < RELIABILITY_RUNS:
        faults.append(f"only {len(last)} of {RELIABILITY_RUNS} runs")
    if successes < len(last):
        faults.append(f"{successes} of {len(last)} succeeded")
    if any(run.restarted for run in last[1:]):
        faults.append("one was restarted by hand")
    if len({run.code_version for run in last}) > 1:
        faults.append("the code changed between them")
    passed = not faults and successes >= goal
    return Gate(name, goal, successes, passed, "; ".join(faults) or f"the last {len(last)} runs succeeded")


def _in_order(runs: Sequence[Run]) -> list[Run]:
    """By the time when they started, where all of them say so with an offset; else as they stand in the file."""
    times = [_instant(run.started_at) for run in runs]
    known = [time for time in times if time is not None]
    if len(known) < len(runs):
        return list(runs)
    return [run for _, _, run in sorted(zip(known, range(len(runs)), runs, strict=True), key=lambda row: row[:2])]


_FRACTION = re.compile(r"[.,]([0-9]+)")


def _instant(text: str | None) -> tuple[datetime, str] | None:
    """The second, and the digits of its fraction, which sort as they are; None for a time without an offset."""
    if text is None:
        return None
    try:
        second = datetime.fromisoformat(_FRACTION.sub("", text, count=1))
    except ValueError:  # a leap second
        return None
    found = _FRACTION.search(text)
    return (second, found[1].rstrip("0") if found else "") if second.tzinfo is not None else None
