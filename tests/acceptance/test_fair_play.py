"""What a participant could try: to bring a truth, to ask for labels, to throw others out, to cost time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fuzz import failing
from tests.acceptance.test_leaderboard import entry, names, wrong
from tests.commands import SENT, Call, sent_file, truth_file
from tests.scoring_files import (
    LABS,
    answer,
    document,
    drug,
    guess,
    image,
    lab,
    labs,
    model,
    read,
    read_labs,
    read_rx,
    report,
    rx,
    write,
)


@pytest.mark.parametrize(
    ("track", "most"), [("reports", 1.5), ("extraction", 0), ("triage", 0.03), ("benchmark", 0), ("lesions", 0.02)]
)
def test_failing_on_purpose(track: str, most: float) -> None:
    """Errors instead of uncertain answers cost; instead of wrong ones, which nobody knows, they gain little."""
    changes = failing.of_track(track, seed=1, count=400)
    assert changes.least_certain < 0
    assert 0 <= changes.wrong <= most


@pytest.mark.parametrize("command", ["score", "preflight"])
def test_a_truth_in_the_submission(call: Call, tmp_path: Path, command: str) -> None:
    """A truth in a folder does not count where another one was named, and that is said."""
    truth = truth_file(tmp_path, "lesions")
    folder = tmp_path / "sub"
    extra = [image(f"X-{number}", "NV") for number in range(500)]
    folder.mkdir()
    write(folder, "lesions/truth", extra, "csv", "extra")
    sent_file(folder, "lesions", [*SENT["lesions"], *(guess(f"X-{number}", "NV") for number in range(500))])
    ran = call(command, truth, folder, "--format", "json")
    score = ran.json if command == "score" else ran.json["score"]
    assert score["processing"]["expected"] == 20
    assert "extra.csv" in ran.out


@pytest.mark.parametrize("command", ["score", "preflight", "leaderboard"])
@pytest.mark.parametrize("kind", ["the same kind", "the other kind"])
def test_labels_in_the_submission(call: Call, tmp_path: Path, command: str, kind: str) -> None:
    """Nor do labels, even of a kind of document that the organizer has none of."""
    truth = truth_file(tmp_path, "extraction")
    folder = tmp_path / "sub"
    sent_file(folder, "extraction", [read_rx(record["doc_id"]) for record in SENT["extraction"]])
    if kind == "the same kind":
        extra = [rx(f"X-{number}", drug("A")) for number in range(100)]
        write(folder, "extraction/prescription-labels", extra, "jsonl", "extra")
        write(folder, "extraction/prescription-predictions", [read(label) for label in extra], "jsonl", "more")
    else:
        extra = [labs(f"X-{number}", lab("A", "1")) for number in range(100)]
        write(folder, LABS[0], extra, "jsonl", "extra")
        write(folder, LABS[1], [read(label) for label in extra], "jsonl", "more")
    ran = call(command, truth, folder, "--format", "json")
    assert "extra.jsonl" in ran.out
    if command == "leaderboard":
        (found,) = ran.json["submissions"]
        assert (found["processing"]["expected"], found["headline"]) == (20, 0)
        assert found["figures"]["lab_accuracy"] is None
    else:
        score = ran.json if command == "score" else ran.json["score"]
        assert score["processing"]["expected"] == 20
        assert (score["result"]["prescription_accuracy"], score["result"]["lab_accuracy"]) == (0, None)


def test_a_number_with_very_many_digits(call: Call, tmp_path: Path) -> None:
    """A value of some hundred thousand digits costs no more than its reading."""
    files = (
        write(tmp_path, LABS[0], [labs("L", lab("A", "1.0"))], "jsonl"),
        write(tmp_path, LABS[1], [read_labs("L", lab("A", "7" * 450_000))], "jsonl"),
    )
    assert call("score", *files).code == 1


@pytest.mark.slow
def test_very_many_items(call: Call, tmp_path: Path) -> None:
    """Tens of thousands of items for one document, all near the labels, are soon compared."""
    items = [drug(f"Medicamento {number}") for number in range(10, 30_000)]
    files = (
        truth_file(tmp_path, "extraction", [rx("P", *(drug(f"Medicamentos {number}") for number in range(10)))]),
        sent_file(tmp_path, "extraction", [read_rx("P", *items)]),
    )
    assert call("score", *files, "--breakdown").code == 1


def test_two_folders_with_a_truth(call: Call, tmp_path: Path) -> None:
    """Where nobody named the truth, and no submission stands beside one, nobody can tell which one is meant."""
    for name in ("a", "b"):
        truth_file(tmp_path / name, "lesions")
    sent_file(tmp_path / "c", "lesions")
    ran = call("score", tmp_path / "a", tmp_path / "b", tmp_path / "c")
    assert ran.code == 2
    assert "more than one folder contains a truth" in ran.err


def test_runs_are_no_questions(call: Call, tmp_path: Path) -> None:
    """Without telemetry a participant names the runs: no figure of a single run is told."""
    truth = [report(f"R-{n}", "Cardiology" if n % 2 else "Other") for n in range(6)]
    sent = [answer(true, run=str(run), specialty="Other") for run in range(5) for true in truth]
    files = truth_file(tmp_path, "reports", truth), sent_file(tmp_path, "reports", sent)
    ran = call("score", *files, "--participant", "--format", "json")
    assert {frozenset(run) for run in ran.json["result"]["runs"]} == {
        frozenset({"run_id", "success_rate", "valid", "reasons"})
    }
    assert all(found["contract"] != "reports/truth" for found in ran.json["inputs"])


def test_one_file_does_not_throw_the_others_out(call: Call, tmp_path: Path) -> None:
    """Where most lack the headline figure, all are ranked by what they have."""
    truth = truth_file(tmp_path, "lesions")
    folders = [entry(tmp_path / name, "lesions", referenced=False) for name in "ab"]
    hostile = entry(tmp_path / "h", "lesions", wrong("lesions", 9), referenced=False)
    document(hostile, "model", {**model(), "team_name": "h"})
    board = call("leaderboard", truth, *folders, hostile, "--format", "json").json
    assert board["headline"] == "prediction_score"
    assert names(board) == [(1, "a"), (1, "b"), (3, "h")]


def test_links_out_of_the_folder(call: Call, tmp_path: Path) -> None:
    """A submission is what is in its folder, not what it links to."""
    truth = truth_file(tmp_path, "lesions")
    good = entry(tmp_path / "a", "lesions", referenced=False)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "mine.json").symlink_to(next(good.iterdir()))
    board = call("leaderboard", truth, good, tmp_path / "b", "--format", "json").json
    assert names(board) == [(1, "a"), (None, "b")]


def test_a_broken_stranger(call: Call, tmp_path: Path) -> None:
    """A broken file in the folder of a good submission is named, and does no harm."""
    truth = truth_file(tmp_path, "lesions")
    folder = entry(tmp_path / "a", "lesions")
    (folder / "tsconfig.json").write_text("{ // comment\n}")
    for command in ("score", "leaderboard", "preflight"):
        ran = call(command, truth, folder)
        assert ran.code == 0
        assert "tsconfig.json" in ran.out


def test_names_of_runs_are_data(call: Call, tmp_path: Path) -> None:
    """A run that is called like a patient is not told in formats that are shared."""
    files = (
        truth_file(tmp_path, "reports"),
        sent_file(tmp_path, "reports", [{**record, "run_id": "Juan Pérez 1234"} for record in SENT["reports"][:3]]),
    )
    assert "Pérez" not in call("score", *files, "--format", "json").out


def test_located_problems_come_first(call: Call, tmp_path: Path) -> None:
    """A thousand missing ids do not hide what is wrong in the file."""
    truth = [image(f"I-{number}", "NV") for number in range(1000)]
    sent: list[dict[str, Any]] = [{"image_id": "I-0", "probabilities": [2] * 10}]
    ran = call(
        "score", truth_file(tmp_path, "lesions", truth), sent_file(tmp_path, "lesions", sent), "--format", "json"
    )
    assert ran.json["problems"][0]["line"] is not None
    assert any("problems in total" in warning for warning in ran.json["warnings"])


def test_unreadable_files_in_any_order(call: Call, tmp_path: Path) -> None:
    """The order of the call does not show in what cannot be read."""
    truth, sent = truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions")
    bad = [tmp_path / name for name in ("x1.json", "x2.json")]
    for path in bad:
        path.write_text("{")
    there = call("score", truth, sent, *bad, "--format", "json").out
    assert call("score", *reversed(bad), sent, truth, "--format", "json").out == there


def test_standard_input_twice(call: Call) -> None:
    """Standard input is one file."""
    ran = call("score", "lesions/truth=-", "lesions/predictions=-")
    assert ran.code == 2
