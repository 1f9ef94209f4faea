"""Whose file it is: nothing in a submission's folder extends or replaces what the organizer gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.test_leaderboard import entry
from tests.commands import SENT, TRUTH, Call, sent_file, truth_file
from tests.scoring_files import (
    Record,
    document,
    drug,
    evidence,
    listed,
    model,
    pipeline_run,
    read,
    run,
    telemetry,
    weights,
    write,
)

import medcontract
from medcontract.scoring import tracks

GOOD_RUNS = [pipeline_run(number) for number in range(5)]
BAD_RUNS = [pipeline_run(number, parse_success=False) for number in range(5)]
PROOFS = evidence(2, ("X-1", "measured"), ("X-2", "measured"))


def warnings_of(command: str, ran: Any) -> list[str]:
    """Warnings of the only submission, wherever the command has them."""
    if command == "score":
        return list(ran.json["warnings"])
    if command == "preflight":
        return list(ran.json["score"]["warnings"])
    return [*ran.json["warnings"], *ran.json["submissions"][0]["warnings"]]


def gates(ran: Any, command: str) -> dict[str, Any]:
    result = (ran.json if command == "score" else ran.json["score"])["result"]
    return {gate["gate"]: gate["passed"] for gate in result["gates"]}


def extraction_submission(folder: Path) -> Path:
    """Predictions, and everything that would make a GO of them."""
    sent_file(folder, "extraction")
    write(folder, "extraction/runs", GOOD_RUNS, "jsonl", "own-runs")
    documents = [listed(each["doc_id"]) for each in TRUTH["extraction"]]
    write(folder, "extraction/manifest", [*documents, listed("X-1"), listed("X-2")], "csv", "own-manifest")
    document(folder, "own-evidence", PROOFS)
    return folder


@pytest.mark.parametrize("command", ["score", "preflight"])
@pytest.mark.parametrize("side", ["named", "beside the truth"])
def test_runs_manifest_and_evidence(call: Call, tmp_path: Path, command: str, side: str) -> None:
    """Failed runs, a manifest and evidence of the organizer are neither replaced nor extended."""
    truth = tmp_path / "truth"
    given: list[Path] = [truth_file(truth, "extraction")]
    given.append(write(truth, "extraction/runs", BAD_RUNS, "jsonl", "runs"))
    given.append(write(truth, "extraction/manifest", [listed(each["doc_id"]) for each in TRUTH["extraction"]], "csv"))
    given += document(truth, "evidence", evidence(0))
    sub = extraction_submission(tmp_path / "sub")
    ran = call(command, *(given if side == "named" else [truth]), sub, "--format", "json")
    found = gates(ran, command)
    assert (found["reliability"], found["offline_evidence"], found["standout_proofs"]) == (False, False, False)
    told = warnings_of(command, ran)
    for name in ("own-runs.jsonl", "own-manifest.csv", "own-evidence.json"):
        assert [warning for warning in told if name in warning and "is ignored" in warning], name
    if command == "preflight":
        unused = " ".join(check["detail"] for check in ran.json["checks"] if check["id"].startswith("unused"))
        assert all(name in unused for name in ("own-runs", "own-manifest", "own-evidence"))


@pytest.mark.parametrize("command", ["score", "preflight"])
def test_what_nobody_else_gives_is_the_submissions_own(call: Call, tmp_path: Path, command: str) -> None:
    """It counts, and a warning says whose it is."""
    truth, sub = truth_file(tmp_path, "extraction"), extraction_submission(tmp_path / "sub")
    ran = call(command, truth, sub, "--format", "json")
    assert gates(ran, command)["reliability"] is True
    told = warnings_of(command, ran)
    for name in ("own-runs.jsonl", "own-manifest.csv", "own-evidence.json"):
        assert [warning for warning in told if name in warning and "comes from the submission" in warning], name


def test_the_python_api_alike(tmp_path: Path) -> None:
    """`medcontract.score` settles it in the same way."""
    truth = truth_file(tmp_path / "truth", "extraction")
    write(tmp_path / "truth", "extraction/runs", BAD_RUNS, "jsonl", "runs")
    sub = extraction_submission(tmp_path / "sub")
    score = medcontract.score(truth.parent, sub)
    assert score.result
    assert {gate["gate"]: gate["passed"] for gate in score.result["gates"]}["reliability"] is False
    assert any("own-runs.jsonl" in warning for warning in score.warnings)


@pytest.mark.parametrize("command", ["score", "preflight"])
@pytest.mark.parametrize("how", ["a file", "beside the truth", "--weights"])
def test_weights(call: Call, tmp_path: Path, command: str, how: str) -> None:
    """The headline is weighed as the organizer says."""
    truth = truth_file(tmp_path / "truth", "benchmark")
    sub = tmp_path / "sub"
    sent_file(sub, "benchmark", [{**record, "prediction": {"diagnosis": "asthma"}} for record in SENT["benchmark"]])
    document(sub, "own-weights", weights(diagnostic_accuracy=1))
    options: tuple[object, ...] = (truth,)
    if how == "--weights":
        options = (truth, "--weights", "clinical_accuracy=1")
    else:
        own = document(truth.parent, "weights", weights(clinical_accuracy=1))
        options = (truth, *own) if how == "a file" else (truth.parent,)
    ran = call(command, *options, sub, "--format", "json")
    score = ran.json if command == "score" else ran.json["score"]
    assert score["result"]["overall_scores"]["combined_score"] == 0
    assert [each for each in warnings_of(command, ran) if "own-weights.json" in each and "is ignored" in each]


def test_weights_of_a_report(call: Call, tmp_path: Path) -> None:
    """A report that stands beside weights of its own is weighed as the caller says."""
    files = truth_file(tmp_path, "benchmark"), sent_file(tmp_path, "benchmark")
    report = call("score", *files, "--result-only").out
    sub = tmp_path / "sub"
    document(sub, "own-weights", weights(diagnostic_accuracy=1))
    (sub / "report.json").write_text(report)
    named = document(tmp_path / "mine", "weights", weights(clinical_accuracy=1))
    ran = call("score", *named, sub, "--format", "json")
    assert list(ran.json["result"]["metadata"]["combined_scores"]["combined_score"]["weights"]) == ["clinical_accuracy"]
    assert [warning for warning in ran.json["warnings"] if "own-weights.json" in warning]


@pytest.mark.parametrize("command", ["score", "preflight"])
@pytest.mark.parametrize("track", ["reports", "lesions"])
def test_telemetry_and_model(call: Call, tmp_path: Path, command: str, track: str) -> None:
    """What was measured wins over what the submission says."""
    truth = truth_file(tmp_path, track)
    sub = sent_file(tmp_path / "sub", track).parent
    slow, quick = (telemetry(run(memory=900.0)), telemetry()) if track == "reports" else (model(140.0), model(1.0))
    named = document(tmp_path / "mine", "measured", slow)
    document(sub, "own", quick)
    ran = call(command, truth, *named, sub, "--format", "json")
    score = ran.json if command == "score" else ran.json["score"]
    figure = {"reports": "performance_score", "lesions": "efficiency_score"}[track]
    assert score["result"][figure] < {"reports": 30, "lesions": 1}[track]
    assert [warning for warning in warnings_of(command, ran) if "own.json" in warning and "ignored" in warning]


def test_cases_of_the_submission_do_not_say_what_is_expected(call: Call, tmp_path: Path) -> None:
    """A list of expected ids that was named is not extended."""
    cases = [
        {"image_id": f"I-{n:02}", "image_path": f"{n}.jpg", "age": 61, "gender": "f", "location": 7} for n in range(20)
    ]
    named = tmp_path / "cases.jsonl"
    named.write_text("".join(json.dumps(each) + "\n" for each in cases))
    sub = sent_file(tmp_path / "sub", "lesions").parent
    (sub / "own-cases.jsonl").write_text(
        '{"image_id": "X-1", "image_path": "x.jpg", "age": 61, "gender": "f", "location": 7}\n'
    )
    ran = call("preflight", named, sub, "--format", "json")
    coverage = next(check for check in ran.json["checks"] if check["id"] == "coverage")
    assert coverage["detail"] == "20 ids in cases.jsonl"
    assert "own-cases.jsonl (lesions/cases) in a folder is ignored" in ran.json["checks"][1]["detail"]


def test_the_folder_of_the_truth_wins(call: Call, tmp_path: Path) -> None:
    """A truth in a submission's folder is ignored where another folder holds one: no reason to refuse the call."""
    truth_file(tmp_path / "a", "lesions")
    truth_file(tmp_path / "b", "lesions", TRUTH["lesions"][:3]).rename(tmp_path / "b" / "mine.json")
    sent_file(tmp_path / "b", "lesions")
    ran = call("score", tmp_path / "a", tmp_path / "b", "--format", "json")
    assert ran.json["processing"]["expected"] == 20
    assert [warning for warning in ran.json["warnings"] if "mine.json" in warning]


def test_a_truth_of_the_submission_alone(call: Call, tmp_path: Path) -> None:
    """Where nobody else gives a truth it counts, and a warning says so; one folder with everything is no such case."""
    truth_file(tmp_path / "sub", "lesions")
    sent_file(tmp_path / "sub", "lesions")
    named = document(tmp_path / "mine", "model", model())
    ran = call("score", tmp_path / "sub", *named, "--format", "json")
    assert [each for each in ran.json["warnings"] if "truth.json" in each and "comes from the submission" in each]
    alone = call("score", tmp_path / "sub", "--format", "json")
    assert not [each for each in alone.json["warnings"] if "comes from the submission" in each]


def test_a_broken_file_beside_the_truth(call: Call, tmp_path: Path) -> None:
    """It is no reason to take the submission's: the score is refused."""
    truth = truth_file(tmp_path / "truth", "extraction").parent
    (truth / "runs.jsonl").write_text("{\n")
    sub = extraction_submission(tmp_path / "sub")
    ran = call("score", truth, sub, "--format", "json")
    assert ran.json["valid"] is False
    assert any("runs.jsonl cannot be read" in reason for reason in ran.json["reasons"])


# --- rankings ------------------------------------------------------------------------------------


def test_a_ranking_takes_nothing_of_the_organizers(call: Call, tmp_path: Path) -> None:
    """The submission's manifest never counts; what stands beside the truth counts for all."""
    truth = truth_file(tmp_path / "truth", "extraction").parent
    write(truth, "extraction/runs", BAD_RUNS, "jsonl", "runs")
    sub = extraction_submission(tmp_path / "sub")
    ran = call("leaderboard", truth, sub, "--format", "json")
    assert ran.json["submissions"][0]["decision"] == "NO-GO"
    told = warnings_of("leaderboard", ran)
    assert [each for each in told if "own-runs.jsonl" in each and "ignored" in each]
    assert [each for each in told if "own-manifest.csv" in each and "ignored" in each]
    assert [each for each in told if "extraction/evidence" in each and "self-reported" in each]
    assert [each for each in told if "runs.jsonl (extraction/runs) was passed with the truth" in each]


@pytest.mark.parametrize("track", ["reports", "lesions"])
def test_self_reported(call: Call, tmp_path: Path, track: str) -> None:
    """Telemetry and model files of submissions count, with a warning."""
    truth = truth_file(tmp_path, track)
    folders = [entry(tmp_path / name, track) for name in "ab"]
    ran = call("leaderboard", truth, *folders, "--format", "json")
    assert [each for each in ran.json["warnings"] if "self-reported" in each]
    assert all(found["headline"] is not None for found in ran.json["submissions"])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("shape", ["folder", "file"])
def test_measured(call: Call, tmp_path: Path, shape: str, jobs: str) -> None:
    """What the organizer measured counts in place of what submissions say; who was not measured is named."""
    truth = truth_file(tmp_path, "reports")
    folders = [entry(tmp_path / name, "reports") for name in ("a", "b", "c")]
    for name in ("a", "b", "nobody"):
        place = (tmp_path / "measured" / name, "t") if shape == "folder" else (tmp_path / "measured", name)
        document(*place, {**telemetry(run(memory=612.0)), "team_name": name})
    ran = call("leaderboard", truth, *folders, "--measured", tmp_path / "measured", "--format", "json", "--jobs", jobs)
    found = {each["name"]: each for each in ran.json["submissions"]}
    assert [found[name]["figures"]["performance_score"] for name in "abc"] == [28, 28, None]
    assert [
        each for each in found["a"]["warnings"] + ran.json["warnings"] if "telemetry.json" in each and "ignored" in each
    ]
    assert "--measured contains nothing for this submission" in found["c"]["warnings"]
    assert [each for each in ran.json["warnings"] if "nobody" in each]
    assert not [each for each in found["a"]["warnings"] + ran.json["warnings"] if "self-reported" in each]


def test_measured_of_a_file(call: Call, tmp_path: Path) -> None:
    """A submission that is one file is named without its ending."""
    truth = truth_file(tmp_path, "lesions")
    sent = sent_file(tmp_path / "sub", "lesions")
    document(tmp_path / "measured", sent.stem, model())
    ran = call("leaderboard", truth, sent, "--measured", tmp_path / "measured", "--format", "json")
    assert ran.json["submissions"][0]["headline"] == 1


def test_measured_is_for_one(call: Call, tmp_path: Path) -> None:
    """Two submissions of one name cannot be told apart, and neither is valid; no folder is a usage error."""
    truth = truth_file(tmp_path, "lesions")
    folders = [entry(tmp_path / name / "same", "lesions") for name in "ab"]
    document(tmp_path / "measured", "same", model())
    ran = call("leaderboard", truth, *folders, "--measured", tmp_path / "measured")
    assert (ran.code, ran.out.count("2 submissions are named same, so --measured is ambiguous")) == (1, 2)
    assert call("leaderboard", truth, *folders, "--measured", tmp_path / "missing").code == 2


def test_measured_is_nothing_else(call: Call, tmp_path: Path) -> None:
    """A truth or predictions among what was measured do not count."""
    truth = truth_file(tmp_path, "lesions")
    folder = entry(tmp_path / "a", "lesions")
    document(tmp_path / "measured" / "a", "model", model())
    sent_file(tmp_path / "measured" / "a", "lesions", SENT["lesions"][:3], "strange.json")
    ran = call("leaderboard", truth, folder, "--measured", tmp_path / "measured", "--format", "json")
    assert ran.json["submissions"][0]["headline"] == 1
    assert [each for each in ran.json["submissions"][0]["warnings"] if "strange.json" in each]


def marked(records: list[Record]) -> list[Record]:
    """Wrong answers with marks that the submission gives itself."""
    return [
        {**record, "prediction": {"answer": "gout"}, "scores": {"clinical_accuracy": 1, "safety": 1}}
        for record in records
    ]


def test_given_scores_in_a_ranking(call: Call, tmp_path: Path) -> None:
    """They are ignored with a warning, under the fingerprint that says so, unless the parameter says otherwise."""
    truth = truth_file(tmp_path, "benchmark")
    folder = entry(tmp_path / "a", "benchmark", marked(SENT["benchmark"]))
    ran = call("leaderboard", truth, folder, "--format", "json")
    (found,) = ran.json["submissions"]
    assert (found["headline"], found["figures"].get("safety")) == (0, None)
    assert [warning for warning in found["warnings"] if "scores in the submission are ignored: 20 samples" in warning]
    protocol = tracks.track("benchmark").protocol
    assert ran.json["protocol"]["fingerprint"] == protocol.changed("given_scores", "ignored").fingerprint
    assert ran.json["protocol"]["parameters"]["given_scores"] == "ignored"
    taken = call("leaderboard", truth, folder, "--format", "json", "--parameter", "given_scores=taken")
    assert taken.json["submissions"][0]["headline"] == 1
    assert taken.json["protocol"]["fingerprint"] == protocol.fingerprint


@pytest.mark.parametrize(("times", "far"), [((10, 20, 41), True), ((10, 20, 40), False), ((10, 100), False)])
def test_one_entry_that_sets_t_max(call: Call, tmp_path: Path, times: tuple[float, ...], far: bool) -> None:
    """More than twice the next longest time is said, unless the caller gives the range."""
    truth = truth_file(tmp_path, "lesions")
    folders = []
    for number, time in enumerate(times):
        folder = entry(tmp_path / f"t{number}", "lesions", referenced=False)
        document(folder, "model", {**model(time=time), "team_name": f"t{number}"})
        folders.append(folder)
    ran = call("leaderboard", truth, *folders, "--format", "json")
    assert bool([each for each in ran.json["warnings"] if "alone sets t_max_ms" in each]) is far
    ran = call("leaderboard", truth, *folders, "--format", "json", "--t-min-ms", "1", "--t-max-ms", "50")
    assert "alone sets" not in ran.out


@pytest.mark.parametrize(("surplus", "told"), [(2, False), (3, True)])
def test_far_more_items_than_labeled(call: Call, tmp_path: Path, surplus: int, told: bool) -> None:
    """More than twice as many items as labeled ones are a warning, which is not for participants."""
    truth = truth_file(tmp_path, "extraction")
    more = [drug(f"Surplus {number}") for number in range(surplus)]
    records = [{**read(label), "medicamentos": [*read(label)["medicamentos"], *more]} for label in TRUTH["extraction"]]
    folder = entry(tmp_path / "a", "extraction", records)
    for command in ("score", "leaderboard"):
        ran = call(command, truth, folder, "--format", "json")
        assert bool([each for each in warnings_of(command, ran) if "only 40 are labeled" in each]) is told
        assert "are labeled" not in call(command, truth, folder, "--format", "json", "--participant").out
