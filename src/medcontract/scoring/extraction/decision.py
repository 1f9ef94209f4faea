"""The decision of `extraction`: six gates, GO or NO-GO."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from functools import cache
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from medcontract.scoring.extraction.documents import LAB, PRESCRIPTION, failed
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import coarse, rounded
from medcontract.scoring.scorer import shown_id

RELIABILITY_RUNS = 5
_PROOF = attrgetter("doc_id", "kind", "evidence", "interpretation")
_NO_EVIDENCE = "no file of extraction/evidence was given"
_MOST_NAMED = 5
_READY = ("labeled", "reviewed")


class Run(NamedTuple):
    """What the gates need from one run of the pipeline."""

    kind: str
    succeeded: bool
    restarted: bool
    code_version: str
    started_at: str | None


def run_of(record: Any) -> Run:
    succeeded = not failed(record) and record.valid_items >= 1
    return Run(record.kind, succeeded, record.restarted, record.code_version, record.started_at)


class ManifestEntry(NamedTuple):
    """What the gates and warnings need from one document of the manifest."""

    doc_id: str
    label_status: str
    pii_checked: str


def manifest_entry_of(record: Any) -> ManifestEntry:
    return ManifestEntry(record.doc_id, record.label_status, record.pii_checked)


class AuxiliaryFiles(Struct, kw_only=True):
    """The content of the files besides labels and predictions; None for a file that was not given."""

    runs: list[Run] | None
    offline_backends: tuple[str, ...] | None
    """The backend of each offline run."""
    proofs: frozenset[tuple[str, ...]] | None
    """The content of each proof, so that identical ones count once; its document comes first."""
    manifest: list[ManifestEntry] | None

    @classmethod
    def of(cls, files: Mapping[str, Any]) -> AuxiliaryFiles:
        evidence = files.get("extraction/evidence")
        return cls(
            runs=files.get("extraction/runs"),
            offline_backends=None if evidence is None else tuple(run.backend for run in evidence.offline_runs),
            proofs=None if evidence is None else frozenset(map(_PROOF, evidence.proofs)),
            manifest=files.get("extraction/manifest"),
        )

    def warnings(self) -> Iterator[tuple[str, str]]:
        """Manifest rows that are not ready, and offline runs that do not count: (contract, message)."""
        for message in _not_ready(self.manifest or ()):
            yield "extraction/manifest", message
        remote = self.remote_backends
        if remote:
            runs = "1 offline run names" if len(remote) == 1 else f"{len(remote):,} offline runs name"
            message = f"{runs} a remote or hosted backend, and so do not count"
            yield "extraction/evidence", message.replace("do not", "does not") if len(remote) == 1 else message

    @property
    def remote_backends(self) -> list[str]:
        """The backends of the offline runs that do not count."""
        return [backend for backend in self.offline_backends or () if remote_words_in(backend)]


def _not_ready(manifest: Sequence[ManifestEntry]) -> Iterator[str]:
    found = [row for row in manifest if row.label_status not in _READY or row.pii_checked == "no"]
    if not found:
        return
    statuses = Counter(row.label_status for row in found if row.label_status not in _READY)
    counts = [f"label_status {status}: {count:,}" for status, count in sorted(statuses.items())]
    unchecked = sum(row.pii_checked == "no" for row in found)
    counts += [f"pii_checked no: {unchecked:,}"] if unchecked else []
    rows = "document of the manifest is" if len(found) == 1 else "documents of the manifest are"
    yield f"{len(found):,} {rows} not ready ({', '.join(counts)})"


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
    "standout_proofs": ("extraction/evidence", "evidence (extraction/evidence) and a manifest (extraction/manifest)"),
}
"""For each gate: the contract of the files that fail it, and the files that are needed to check it."""


def pipeline_success_rate(files: AuxiliaryFiles, succeeded: int = 0, documents: int = 0) -> Fraction | None:
    """Successes / runs · 100, over evaluation runs, or over labeled documents if there are none."""
    runs = [run.succeeded for run in files.runs or () if run.kind == "evaluation"]
    if runs:
        succeeded, documents = sum(runs), len(runs)
    return Fraction(100 * succeeded, documents) if documents else None


def gates(
    files: AuxiliaryFiles,
    prescriptions: Fraction | None,
    labs: Fraction | None,
    pipeline: Fraction | None,
    protocol: Protocol,
) -> list[Gate]:
    return [
        _at_least("prescription_accuracy", prescriptions, protocol, "%", "no labels of prescriptions were given"),
        _at_least("lab_accuracy", labs, protocol, "%", "no labels of laboratory reports were given"),
        _at_least("pipeline_success_rate", pipeline, protocol, "%", "there are no runs and no documents"),
        _reliability(files.runs, protocol),
        _offline(files, protocol),
        _at_least(
            "standout_proofs", _proofs(files), protocol, "proofs",
            _NO_EVIDENCE if files.proofs is None else "no manifest was given",
        ),
    ]  # fmt: skip


def _at_least(name: str, measured: Fraction | None, protocol: Protocol, unit: str, missing: str) -> Gate:
    goal = protocol[f"goal_{name}"]
    if measured is None:
        return Gate(name, goal, None, None, missing)
    passed = rounded(measured) >= rounded(goal)
    unit = unit.removesuffix("s") if measured == 1 else unit
    verb = ("reach" if passed else "are below") if unit.endswith("s") else "reaches" if passed else "is below"
    shown = distinguishable(measured, goal)
    return Gate(name, goal, measured, passed, f"{shown} {unit} {verb} the goal of {rounded(goal):.16g}")


def with_bounds(row: dict[str, Any], interval: tuple[float, float] | None, on_bound: bool) -> dict[str, Any]:
    """Return a gate of a result, with what its interval says: None if there is none."""
    if row["measured"] is None:
        return row
    goal, passed = row["goal"], row["passed"]
    low, high = interval or (None, None)
    if on_bound:
        passed = low is not None and low >= goal
        bound = "there is no lower bound" if low is None else f"the lower bound is {coarse(low):.7g}"
        return {**row, "passed": passed, "reason": f"{row['reason']}; {bound}, which has to reach the goal"}
    if low is None or high is None or not low < goal <= high:
        return row
    inside = f"{'met' if passed else 'not met'}, but the interval includes the goal"
    return {**row, "reason": f"{row['reason']}; {inside}"}


def distinguishable(measured: Fraction, goal: Fraction) -> str:
    """Return the measured value, with as many digits as participants may see, and on which side of the goal it is."""
    shown, limit = coarse(rounded(measured)), rounded(goal)
    below = rounded(measured) < limit
    side = "" if (shown < limit) == below else "just below " if below else "just above "
    return f"{side}{shown:.7g}"


def _offline(files: AuxiliaryFiles, protocol: Protocol) -> Gate:
    """Return the offline runs, without those whose backend is a remote or hosted one."""
    runs, remote = files.offline_backends, files.remote_backends
    counted = None if runs is None else Fraction(len(runs) - len(remote))
    gate = _at_least("offline_evidence", counted, protocol, "offline runs", _NO_EVIDENCE)
    if not remote:
        return gate
    shown = {name: shown_id(name) for name in remote}
    shown = {name: f"… {' '.join(remote_words_in(name))}" if text == "…" else text for name, text in shown.items()}
    names = list(dict.fromkeys(shown.values()))
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return gate._replace(reason=f"{gate.reason}; not counted, remote or hosted: {', '.join(names[:_MOST_NAMED])}{more}")


def _proofs(files: AuxiliaryFiles) -> Fraction | None:
    """Return the different proofs about documents of the manifest."""
    if files.proofs is None or files.manifest is None:
        return None
    known = {row.doc_id for row in files.manifest}
    return Fraction(sum(doc_id in known for doc_id, *_ in files.proofs))


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
        faults.append("a run was restarted by hand")
    if len({run.code_version for run in last}) > 1:
        faults.append("the code changed between the runs")
    passed = not faults and successes >= goal
    return Gate(name, goal, successes, passed, "; ".join(faults) or f"the last {len(last)} runs succeeded")


def _in_order(runs: Sequence[Run]) -> list[Run]:
    """By start time if all runs have one, and all with an offset or all without; otherwise in file order.

    Runs with equal times stay in file order.
    """
    times = [_start_time(run.started_at) for run in runs if run.started_at is not None]
    if len(times) < len(runs) or len({time.second.tzinfo is None for time in times}) > 1:
        return list(runs)
    return [runs[place] for place in sorted(range(len(runs)), key=times.__getitem__)]


class _Time(NamedTuple):
    second: datetime
    fraction: str
    """The digits after the point, without trailing zeros: as texts they sort like numbers, however many there are."""


_FRACTION = re.compile(r"\.([0-9]+)")


def _start_time(text: str) -> _Time:
    """Return the time of a date or date-time that satisfies its contract; a date is its midnight."""
    found = _FRACTION.search(text)
    second = datetime.fromisoformat(_FRACTION.sub("", text, count=1))
    return _Time(second, found[1].rstrip("0") if found else "")


WORDS = Path(__file__).parent / "data" / "remote_backends.json"
_WORD = re.compile(r"[a-z0-9]+")


@cache
def remote_words() -> frozenset[str]:
    """Names of hosted services, and words for running elsewhere, in lower case."""
    groups: dict[str, list[str]] = json.loads(WORDS.read_text(encoding="utf-8"))["words"]
    return frozenset(word for words in groups.values() for word in words)


def remote_words_sha256() -> str:
    """Return the hash of the sorted words, one per line."""
    return sha256("\n".join(sorted(remote_words())).encode()).hexdigest()


def remote_words_in(backend: str) -> list[str]:
    """Return the words in the name of a backend, as whole words of letters and digits, in any case.

    Other characters only separate words: `hf_inference` is also `HF Inference`.
    """
    text = _spaced(backend)
    return sorted(word for word in remote_words() if _spaced(word) in text)


def _spaced(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} "
