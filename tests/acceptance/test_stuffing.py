"""Answers made for the metric, not for the case: figures stay, but every command warns, and rankings mark them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.commands import TRACKS, Call, sent_file, truth_file
from tests.scoring_files import Record, drug, read_rx, reference, rx, says, write

import medcontract
from medcontract.normalizers.terms import built_in_terms
from medcontract.reading import chunks

CODE = "MC506"
EXAMPLES = Path(medcontract.__file__).parent / "examples"
DIAGNOSES = ("asthma", "appendicitis", "anemia", "anaphylaxis", "cirrhosis")
REFERENCES = [
    reference(f"B-{n:02}", answer=name, diagnosis=name, rationale=f"Because of sign {n}, {name} is likely ({n * 7}).")
    for n, name in enumerate(DIAGNOSES * 4)
]
FACTS = sorted({fact for diagnosis in DIAGNOSES for fact in built_in_terms().facts(diagnosis)})
STUFFED = f"First, then, therefore: based on evidence and guidelines, {', '.join(FACTS)}."
"""Markers and facts that are public: half of `reasoning_quality` for any case."""
MARKERS = (
    "first second third next then finally therefore thus hence consequently blood pressure heart rate temperature "
    "hemoglobin creatinine troponin glucose sodium potassium lactate bilirubin ferritin platelets urinalysis "
    "chest x ray ultrasound mri ecg ct scan echocardiogram based on according to guideline evidence"
)
HONEST = "Pain and fever suggest {}; the white cell count is raised. Therefore it is likely."


def _answers(rationales: Sequence[str]) -> list[Record]:
    return [
        says(true["sample_id"], answer="asthma", diagnosis="asthma", rationale=text)
        for true, text in zip(REFERENCES, rationales, strict=True)
    ]


def _extracted(extra: int) -> tuple[list[Record], list[Record]]:
    """Labels of two items, and predictions that contain these and `extra` others."""
    names = [f"Medicamento {chr(65 + n)}" for n in range(26)]
    labels = [rx(f"P-{n}", drug(names[n]), drug(names[n + 1])) for n in range(20)]
    sent = [read_rx(each["doc_id"], *each["medications"], *map(drug, names[:extra])) for each in labels]
    return labels, sent


LABELS, EVERY_NAME = _extracted(20)
SAME = f"{CODE} 20 of 20 rationales are the same text"
DENSE = f"{CODE} 20 of 20 rationales consist of markers to an improbable extent"
EXTRA = f"{CODE} 440 items are predicted, but only 40 are labeled"
NUMBERED = [f"{MARKERS} {n}" for n in range(20)]
STUFFING: dict[str, tuple[str, list[Record], list[Record], list[str]]] = {
    "one rationale": ("benchmark", REFERENCES, _answers([STUFFED] * 20), [SAME]),
    "markers": ("benchmark", REFERENCES, _answers(NUMBERED), [DENSE]),
    "every name": ("extraction", LABELS, EVERY_NAME, [EXTRA]),
}


def _begins(warnings: Sequence[str]) -> list[str]:
    return [warning.rpartition(": ")[0] for warning in warnings if warning.startswith(CODE)]


def _files(folder: Path, case: str) -> tuple[Path, Path]:
    track, truth, sent, _ = STUFFING[case]
    return truth_file(folder, track, truth), sent_file(folder, track, sent)


@pytest.mark.parametrize("case", STUFFING)
def test_stuffing(call: Call, tmp_path: Path, case: str) -> None:
    """Score, preflight and leaderboard warn, with the counts."""
    truth, sent = _files(tmp_path, case)
    expected = STUFFING[case][3]
    score = call("score", truth, sent, "--format", "json").json
    assert score["valid"]
    assert _begins(score["warnings"]) == expected
    checks = call("preflight", truth, sent, "--format", "json").json["checks"]
    found = [problem for check in checks for problem in check["problems"] if problem["code"] == CODE]
    assert [(f"{CODE} {each['message']}", each["severity"]) for each in found] == [
        (each, "warning") for each in expected
    ]
    (row,) = call("leaderboard", truth, sent, "--format", "json").json["submissions"]
    assert _begins(row["warnings"]) == expected


def test_one_rationale_scores_well(call: Call, tmp_path: Path) -> None:
    """The constant rationale is worth a warning: it scores higher than one about the case without such words."""
    truth = truth_file(tmp_path, "benchmark", REFERENCES)
    figures = []
    for rationales in ([STUFFED] * 20, [f"Sign {n} suggests it." for n in range(20)]):
        sent = sent_file(tmp_path, "benchmark", _answers(rationales))
        figures.append(call("score", truth, sent, "--format", "json").json["result"]["overall_scores"])
    assert figures[0]["reasoning_quality"] > 0.5 > figures[1]["reasoning_quality"]


@pytest.mark.parametrize("format_", ["text", "markdown", "html", "csv"])
def test_a_marked_row(call: Call, tmp_path: Path, format_: str) -> None:
    """Each format of a ranking marks the submission, and no other."""
    truth, sent = _files(tmp_path / "a", "one rationale")
    honest = sent_file(tmp_path / "b", "benchmark", _answers([HONEST.format(n) for n in range(20)]), model_id="honest")
    out = call("leaderboard", truth, sent, honest, "--format", format_).out
    mark = {"csv": f",{CODE},", "markdown": f"\\[{CODE}\\]"}.get(format_, f"[{CODE}]")
    (row,) = [line for line in out.replace("<tr>", "\n").splitlines() if mark in line]
    assert "honest" not in row
    assert "honest" in out
    assert mark not in call("leaderboard", truth, honest, "--format", format_).out


@pytest.mark.parametrize(("case", "shown"), [("one rationale", True), ("markers", True), ("every name", False)])
def test_participants(call: Call, tmp_path: Path, case: str, shown: bool) -> None:
    """Participants see what follows from the submission alone, not how many items are labeled."""
    truth, sent = _files(tmp_path, case)
    for command in ("score", "preflight", "leaderboard"):
        for format_ in ("text", "json"):
            assert (CODE in call(command, truth, sent, "--participant", "--format", format_).out) is shown
            assert CODE in call(command, truth, sent, "--format", format_).out


NOTE = (
    "Vitals: temperature 39.2, heart rate 124, blood pressure 84/50, respiratory rate 30, oxygen saturation 86 %. Lab: "
    "hemoglobin 10.2 g/dL, white blood cell count 21,000, platelets 88,000, sodium 129, potassium 5.4, creatinine 2.8, "
    "urea 60, glucose 210, lactate 5.1, bilirubin 3.2, AST 90, ALT 75, albumin 2.4, CRP 280, procalcitonin 18, "
    "troponin 0.3, D-dimer 3.1, INR 1.8. The chest x-ray shows a consolidation; ECG: sinus tachycardia. "
    "According to the guideline, it is septic shock due to pneumonia. Therefore: first fluids, then norepinephrine. {}"
)
"""An honest note of intensive care: a marker for every 3 words."""
REFUSAL = "I cannot determine the diagnosis from what is given."
HONEST_ANSWERS: dict[str, list[str]] = {
    "about each case": [HONEST.format(n) for n in range(20)],
    "a refusal": [REFUSAL] * 20,
    "blank": [" "] * 20,
    "some repeated": [STUFFED] * 9 + [HONEST.format(n) for n in range(11)],
    "one panel": [MARKERS] * 2 + [HONEST.format(n) for n in range(18)],
    "values of intensive care": [NOTE.format(n) for n in range(20)],
    "a long one": [f"{MARKERS} {' '.join(f'word{k}' for k in range(200))} {n}" for n in range(20)],
}


@pytest.mark.parametrize("case", HONEST_ANSWERS)
def test_honest_rationales(call: Call, tmp_path: Path, case: str) -> None:
    """Below the limits there is no warning."""
    truth = truth_file(tmp_path, "benchmark", REFERENCES)
    sent = sent_file(tmp_path, "benchmark", _answers(HONEST_ANSWERS[case]))
    assert _begins(call("score", truth, sent, "--format", "json").json["warnings"]) == []


@pytest.mark.parametrize(("extra", "warned"), [(2, False), (3, True)])
def test_extra_items(call: Call, tmp_path: Path, extra: int, warned: bool) -> None:
    """Twice as many items as are labeled are allowed."""
    labels, sent = _extracted(extra)
    files = truth_file(tmp_path, "extraction", labels), sent_file(tmp_path, "extraction", sent)
    assert (CODE in call("score", *files).out) is warned


@pytest.mark.parametrize("track", TRACKS)
def test_examples(call: Call, track: str) -> None:
    """The example submissions, which are made like participants' files, raise no such warning."""
    ran = call("preflight", EXAMPLES / track, "--format", "json")
    assert ran.json["score"] is not None
    assert CODE not in ran.out


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", STUFFING)
def test_same_warnings_with_any_engine(call: Call, tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They depend neither on processes, nor on a cache, nor on the order of records."""
    monkeypatch.setattr(chunks, "SMALLEST", 1024)
    track, records, sent, expected = STUFFING[case]
    truth = truth_file(tmp_path, track, records)
    contract = {"benchmark": "benchmark/predictions", "extraction": "extraction/prescription-predictions"}[track]
    header = ("--set", "model_id=m") if track == "benchmark" else ()

    def warnings(order: Sequence[Record], *more: object) -> list[Any]:
        path = write(tmp_path, contract, list(order), "jsonl", "sent")
        score, board = (
            call(command, truth, path, *header, "--format", "json", *(more if command == "score" else ())).json
            for command in ("score", "leaderboard")
        )
        return [score["warnings"], board["submissions"][0]["warnings"]]

    one = warnings(sent)
    assert _begins(one[0]) == _begins(one[1]) == expected
    assert warnings(sent, "--jobs", 2) == one
    assert warnings(random.Random(1).sample(sent, len(sent)), "--jobs", 2) == one
    assert warnings(random.Random(2).sample(sent, len(sent))) == one
    ranking = "leaderboard", truth, tmp_path / "sent.jsonl", *header, "--format", "csv"
    boards = [call(*ranking, *more).out for more in ((), *[("--cache", tmp_path / "cache")] * 2, ("--jobs", 2))]
    assert set(boards) == {boards[0]}
    assert f",{CODE}," in boards[0]
