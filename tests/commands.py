"""Helpers for tests of complete commands: the command line as a function, and files with twenty items per track."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.scoring_files import (
    CLASSES,
    CONTRACTS,
    HEADERS,
    LIST_KEYS,
    Record,
    answer,
    case,
    document,
    drug,
    guess,
    image,
    model,
    read,
    reference,
    repeats,
    report,
    response,
    rx,
    telemetry,
)
from tests.support import published

import medcontract
from medcontract.cli import output
from medcontract.cli.main import main
from medcontract.contracts import registry

TRACKS = registry.TRACKS


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Call = Callable[..., Ran]


def caller(capsys: pytest.CaptureFixture[str]) -> Call:
    """The command line as a function."""

    def run(*arguments: object) -> Ran:
        code = main([str(argument) for argument in arguments])
        return Ran(code, *capsys.readouterr())

    return run


# --- twenty items per track, all answered correctly ----------------------------------------------


def _reports() -> list[Record]:
    urgencies = ("Emergency", "Urgent", "Routine")
    return [report(f"R-{n:02}", ("Oncology", "Cardiology")[n % 2], urgencies[n % 3], n % 2 == 0) for n in range(20)]


def _segments() -> list[Record]:
    """Ten cases with two segments each."""
    found: list[Record] = []
    for n in range(10):
        first, second = f"S-{2 * n:02}", f"S-{2 * n + 1:02}"
        found += case(f"C-{n}", (first, 0, 30, [("airway", 50.0)]), (second, 30, 60, [("bleeding", 90.0)]))
    return found


TRUTH: dict[str, list[Record]] = {
    "reports": _reports(),
    "triage": _segments(),
    "lesions": [image(f"I-{n:02}", CLASSES[n % 10]) for n in range(20)],
    "extraction": [rx(f"P-{n:02}", drug("Losartán", "50 mg"), drug("Insulina", f"{n} UI")) for n in range(20)],
    "benchmark": [
        reference(f"B-{n:02}", answer="asthma" if n else "Asthma", diagnosis="asthma" if n else "Asthma")
        for n in range(20)
    ],
}
SENT: dict[str, list[Record]] = {
    "reports": [answer(true) for true in TRUTH["reports"]],
    "triage": [response(true, true["gt_lsi_list"][0]["lsi_group"]) for true in TRUTH["triage"]],
    "lesions": [guess(true["image_id"], true["label"]) for true in TRUTH["lesions"]],
    "extraction": [read(true) for true in TRUTH["extraction"]],
    "benchmark": [repeats(true) for true in TRUTH["benchmark"]],
}
AUXILIARY: dict[str, Record | None] = {
    "reports": telemetry(), "lesions": {**model(), "inference_script": "infer.py"},
    "triage": None, "extraction": None, "benchmark": None,
}  # fmt: skip
KEYS = {
    "reports": "report_id", "triage": "segment_id", "lesions": "image_id", "extraction": "doc_id",
    "benchmark": "sample_id",
}  # fmt: skip
EXIT = {"reports": 0, "triage": 0, "lesions": 0, "extraction": 1, "benchmark": 0}
"""The exit code of a valid score. Prescriptions alone are NO-GO, because gates without input do not pass."""
HEADLINES = {
    "reports": ("total_score 100.00 points", 100.0),
    "triage": ("mean_jaccard_index 1.0000", 1.0),
    "lesions": ("final_score 1.0000", 1.0),
    "extraction": ("mean_accuracy 100.00 %", 100.0),
    "benchmark": ("clinical_accuracy 1.0000", 1.0),
}
"""The headline of a perfect submission."""


def coarse(result: Any) -> Any:
    """The figures of a submission, which are nested in a benchmark report."""
    return result.get("overall_scores", result)


RESULT_BELOW_GATE = ("extraction", "triage")
"""The tracks that have a result below the processing gate."""


def as_below_gate(track: str, result: Any, participant: bool = False) -> bool:
    """Whether a result is what the specification wants below the gate: none, NO-GO, or the metrics of triage."""
    if track == "extraction":
        return bool(result["decision"] == "NO-GO")
    if track == "triage":
        return "mean_jaccard_index" in result if participant else bool(result["metrics"])
    return result is None


def put(path: Path, contract: str, records: Sequence[Record], **header: Any) -> Path:
    """Write a collection as `.json` with a changed header; None removes a field."""
    fields = {key: value for key, value in {**HEADERS[contract], **header}.items() if value is not None}
    path.parent.mkdir(parents=True, exist_ok=True)
    value = {**fields, LIST_KEYS[contract]: list(records)}
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def truth_file(folder: Path, track: str, records: Sequence[Record] | None = None, **header: Any) -> Path:
    chosen = TRUTH[track] if records is None else records
    return put(folder / "truth.json", CONTRACTS[track][0], chosen, **header)


def sent_file(
    folder: Path, track: str, records: Sequence[Record] | None = None, name: str = "sent.json", **header: Any
) -> Path:
    chosen = SENT[track] if records is None else records
    return put(folder / name, CONTRACTS[track][1], chosen, **header)


def beside_files(folder: Path, track: str, **changes: Any) -> list[Path]:
    """The telemetry or the model file, if the track has one, and the script that a model file names."""
    value = AUXILIARY[track]
    if value is None:
        return []
    files = document(folder, CONTRACTS[track][2], {**value, **changes})
    if "inference_script" in value:
        (folder / value["inference_script"]).write_text("pass\n", encoding="utf-8")
    return files


def all_files(folder: Path, track: str) -> list[Path]:
    """Write a truth and a perfect submission."""
    return [truth_file(folder, track), sent_file(folder, track), *beside_files(folder, track)]


def keeps(text: str, contract: str) -> Any:
    """Parse JSON, and check that it matches its published schema and that its contract is recognized."""
    value = json.loads(text)
    published(contract).validate(value)
    checked = medcontract.validate(text.encode(), name="out.json")
    assert (checked.contract, checked.problems) == (contract, ())
    return value


def codes(envelope: Any) -> list[str]:
    return [problem["code"] for problem in envelope["problems"]]


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that standard output is a terminal."""
    monkeypatch.delenv("COLUMNS", raising=False)  # its width is not known, so that nothing is wrapped
    monkeypatch.setattr(output, "terminal", lambda: True)
