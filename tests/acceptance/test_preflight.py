"""`medcontract preflight`: each check passed, failed or not possible, and what comes of it."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.commands import (
    HEADLINES,
    KEYS,
    SENT,
    TRACKS,
    TRUTH,
    Call,
    Ran,
    all_files,
    beside_files,
    coarse,
    keeps,
    on_a_terminal,
    put,
    sent_file,
    truth_file,
)
from tests.scoring_files import CONTRACTS, RESULTS, Record, answer, case, document, guess, model, telemetry, write
from tests.scoring_files import run as run_of

import medcontract
from medcontract.problems import reveals_truth


@pytest.fixture
def check(call: Call) -> Call:
    """`medcontract preflight`."""
    return partial(call, "preflight")


@pytest.fixture
def checked(call: Call) -> Call:
    """`medcontract preflight` as JSON."""
    return partial(call, "preflight", "--format", "json")


def statuses(ran: Ran) -> dict[str, str]:
    """Of each check; the list keeps its contract, and `ready` and the exit code follow from it."""
    page = keeps(ran.out, "medcontract/preflight")
    assert list(page) == ["ready", "checks", "score"]
    assert all(list(each) == ["id", "title", "status", "detail", "problems"] for each in page["checks"])
    found = {each["id"]: each["status"] for each in page["checks"]}
    assert len(found) == len(page["checks"]), "an id belongs to one check"
    assert page["ready"] == ("failed" not in found.values())
    assert ran.code == (0 if page["ready"] else 1)
    assert ran.err == ""
    return found


def one(ran: Ran, check_id: str) -> Any:
    """The check of this id."""
    return next(each for each in ran.json["checks"] if each["id"] == check_id)


def codes(found: Any) -> list[str]:
    return [problem["code"] for problem in found["problems"]]


LISTS = {
    "reports": "reports/cases",
    "triage": "triage/inventory",
    "lesions": "lesions/cases",
    "extraction": "extraction/manifest",
    "benchmark": "benchmark/cases",
}
"""The contract that lists the expected ids, for those who have no truth."""


def list_file(folder: Path, track: str, records: Sequence[Record] | None = None, name: str = "list.csv") -> Path:
    """The expected ids as CSV."""
    key = KEYS[track]
    head = {
        "reports": "report_id,metadata",
        "triage": "case_id,segment_id",
        "lesions": "image_id,image_path,age,gender,location",
        "extraction": "doc_id,doc_type,image_path,label_status,pii_checked",
        "benchmark": "task_id,sample_id",
    }
    lines = [head[track]]
    for record in TRUTH[track] if records is None else records:
        row = {
            "reports": [record[key], "B2"],
            "triage": [record.get("case_id", ""), record[key]],
            "lesions": [record[key], f"{record[key]}.png", "50", "f", "3"],
            "extraction": [record[key], "prescription", "page.png", "labeled", "yes"],
            "benchmark": [record.get("task_id", ""), record[key]],
        }
        lines.append(",".join(row[track]))
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


# --- ready or not --------------------------------------------------------------------------------

EVERY = {
    "reports": ["time", "memory", "cpu", "exceptions"],
    "triage": ["header", "labels"],
    "lesions": ["images", "model-size", "model-file", "inference-script"],
    "extraction": ["labels", "prescription_accuracy", "lab_accuracy", "pipeline_success_rate", "reliability",
        "offline_evidence", "standout_proofs"],
    "benchmark": ["header"],
}  # fmt: skip
"""Checks of one track only."""
SHARED = ["files", "answers", "between-files", "coverage", "gate", "score"]
SCORED = {"reports": "passed", "triage": "passed", "lesions": "passed", "extraction": "failed", "benchmark": "passed"}
"""The check of a score of right answers: prescriptions alone are NO-GO, which is not ready."""


@pytest.mark.parametrize("track", TRACKS)
def test_every_check_is_listed(checked: Call, tmp_path: Path, track: str) -> None:
    """Whatever files are there, the same checks are listed: passed, failed, or not possible."""
    for files in ([sent_file(tmp_path, track)], all_files(tmp_path, track), [truth_file(tmp_path, track)]):
        found = statuses(checked(*files))
        assert {name for name in found if "/" not in name} == {*SHARED, *EVERY[track]}


@pytest.mark.parametrize("track", ["reports", "triage", "benchmark"])
def test_ready(check: Call, checked: Call, tmp_path: Path, track: str) -> None:
    """All checks passed: READY, exit 0."""
    all_files(tmp_path, track)
    list_file(tmp_path, track)
    assert set(statuses(checked(tmp_path)).values()) == {"passed"}
    ran = check(tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[-1] == "READY."


def _whole_submission(folder: Path, size: int = 2000) -> Path:
    """A submission to lesions with model, script and images: everything that can be checked is there."""
    (folder / "submission" / "weights").mkdir(parents=True)
    (folder / "submission" / "weights" / "net.onnx").write_bytes(bytes(size))
    (folder / "submission" / "infer.py").write_text("pass\n")
    sent_file(folder / "submission", "lesions")
    more = {"model_file": "weights/net.onnx", "inference_script": "infer.py"}
    document(folder / "submission", "model", {**model(size=size / 1e6), **more})
    (folder / "images").mkdir()
    picture = Image.new("RGB", (512, 512))
    for true in TRUTH["lesions"][:2]:
        picture.save(folder / "images" / f"{true['image_id']}.png")
    return folder / "submission"


def test_ready_with_everything(check: Call, checked: Call, tmp_path: Path) -> None:
    """Model, script and images are there and right: nothing is left out."""
    folder = _whole_submission(tmp_path)
    truth = truth_file(tmp_path, "lesions", TRUTH["lesions"][:2])
    sent_file(folder, "lesions", SENT["lesions"][:2])
    cases = list_file(tmp_path, "lesions", TRUTH["lesions"][:2])
    arguments = (folder, truth, cases, "--images", tmp_path / "images")
    assert set(statuses(checked(*arguments)).values()) == {"passed"}
    assert one(checked(*arguments), "images")["detail"].startswith("2 images")
    assert check(*arguments).out.splitlines()[-1] == "READY."


@pytest.mark.parametrize("track", TRACKS)
def test_ready_with_checks_not_possible(check: Call, checked: Call, tmp_path: Path, track: str) -> None:
    """A submission alone: what is not possible is counted and says what is missing; exit 0."""
    sent = sent_file(tmp_path, track)
    ran = checked(sent)
    found = statuses(ran)
    skipped = [name for name, status in found.items() if status == "skipped"]
    assert set(skipped) >= {"between-files", "coverage", "gate", "score"}
    assert "failed" not in found.values()
    for name in skipped:
        detail = one(ran, name)["detail"]
        assert detail.startswith("needs ") or re.fullmatch(r"no file of extraction/\w+ was given", detail)
    truth, of_list = CONTRACTS[track][0], LISTS[track]
    assert truth in one(ran, "score")["detail"]
    assert truth in one(ran, "coverage")["detail"]
    assert of_list in one(ran, "coverage")["detail"]
    assert of_list in one(ran, "gate")["detail"]
    assert ran.json["score"] is None
    text = check(sent)
    assert text.code == 0
    assert text.out.splitlines()[-1] == f"READY, {len(skipped)} checks skipped."


def test_one_check_not_possible(check: Call, tmp_path: Path) -> None:
    """One is not many."""
    folder = _whole_submission(tmp_path)
    ran = check(folder, truth_file(tmp_path, "lesions"))
    assert ran.out.splitlines()[-1] == "READY, 1 check skipped."


@pytest.mark.parametrize("track", TRACKS)
def test_not_ready(check: Call, checked: Call, tmp_path: Path, track: str) -> None:
    """A check failed: NOT READY, exit 1, and how many."""
    files = sent_file(tmp_path, track, SENT[track][:10]), list_file(tmp_path, track)
    found = statuses(checked(*files))
    assert (found["coverage"], found["gate"]) == ("failed", "failed")
    ran = check(*files)
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.splitlines()[-1] == "NOT READY: 2 checks failed."
    assert "50 % processed" in ran.out


def test_text(check: Call, tmp_path: Path) -> None:
    """A line for each check, with what was found."""
    out = check(sent_file(tmp_path, "triage"), list_file(tmp_path, "triage")).out
    words = [line.split("  ")[0] for line in out.splitlines()[:-2]]
    assert words == ["Passed checks:", *["pass"] * 7, "", "Not checked:", "skip", "skip", "skip"]
    assert "sent.json is triage/response" in out
    assert "20 ids in list.csv" in out


# --- the checks of all tracks --------------------------------------------------------------------


@pytest.mark.parametrize("track", TRACKS)
def test_the_expected_ids_of_a_list(checked: Call, tmp_path: Path, track: str) -> None:
    """A list of cases or an inventory says what is expected, for coverage and for the gate."""
    ran = checked(sent_file(tmp_path, track), list_file(tmp_path, track))
    found = statuses(ran)
    assert (found["coverage"], found["gate"], found["score"]) == ("passed", "passed", "skipped")
    assert found[LISTS[track]] == "passed"
    assert one(ran, "coverage")["detail"] == "20 ids in list.csv"
    assert "20 of 20" in one(ran, "gate")["detail"]


@pytest.mark.parametrize("track", ["reports", "triage"])
def test_other_columns_of_a_list(call: Call, checked: Call, tmp_path: Path, track: str) -> None:
    """They are no doubt about a list that has the ids of all answers; otherwise, and in `validate`, a warning."""
    listed = list_file(tmp_path, track)
    header, *rows = listed.read_text().splitlines()
    listed.write_text("\n".join([f"{header},ward", *(f"{row},A" for row in rows)]) + "\n")
    check = one(checked(sent_file(tmp_path, track), listed), LISTS[track])
    assert (check["status"], codes(check), check["detail"]) == ("passed", [], "20 records")
    unknown = [*SENT[track][1:], {**SENT[track][1], KEYS[track]: "nobody"}]
    assert codes(one(checked(sent_file(tmp_path, track, unknown), listed), LISTS[track])) == ["MC510"]
    assert codes(one(checked(listed), LISTS[track])) == ["MC510"]
    assert "MC510" in call("validate", listed).out


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("with_truth", [True, False])
def test_coverage(checked: Call, tmp_path: Path, track: str, with_truth: bool) -> None:
    """What is missing and what is unknown is counted, against a truth and against a list."""
    sent = [*SENT[track][1:], {**SENT[track][1], KEYS[track]: "nobody"}]
    other = truth_file(tmp_path, track) if with_truth else list_file(tmp_path, track)
    ran = checked(sent_file(tmp_path, track, sent), other)
    found = statuses(ran)
    assert (found["coverage"], found["gate"]) == ("failed", "passed")
    detail = one(ran, "coverage")["detail"]
    assert "1 without a record" in detail
    assert "1 record with other ids" in detail
    assert "19 of 20" in one(ran, "gate")["detail"]


@pytest.mark.parametrize("track", TRACKS)
def test_problems_of_coverage(checked: Call, tmp_path: Path, track: str) -> None:
    """Against a truth they are listed with their codes."""
    sent = [*SENT[track][1:], {**SENT[track][1], KEYS[track]: "nobody"}]
    ran = checked(sent_file(tmp_path, track, sent), truth_file(tmp_path, track))
    assert sorted(codes(one(ran, "coverage"))) == ["MC302", "MC303"]


@pytest.mark.parametrize("track", TRACKS)
def test_the_gate_counts_what_is_valid(checked: Call, tmp_path: Path, track: str) -> None:
    """Invalid, repeated and failed records are answered but not processed."""
    sent = [dict(record) for record in SENT[track]]
    sent[0]["x"] = 1
    ran = checked(sent_file(tmp_path, track, [*sent, sent[1]]), list_file(tmp_path, track))
    found = statuses(ran)
    assert (found["coverage"], found["gate"]) == ("passed", "failed")
    assert "18 of 20" in one(ran, "gate")["detail"]
    assert "1 more record needed" in one(ran, "gate")["detail"]
    assert codes(one(ran, "gate")) == ["MC401"]


@pytest.mark.parametrize("track", TRACKS)
def test_another_minimum(checked: Call, tmp_path: Path, track: str) -> None:
    """The protocol sets the gate: --parameter changes it."""
    files = sent_file(tmp_path, track, SENT[track][:10]), list_file(tmp_path, track)
    ran = checked(*files, "--parameter", "min_processed=0.5")
    assert statuses(ran)["gate"] == "passed"
    assert "50 %" in one(ran, "gate")["title"]
    assert one(checked(*files, "--parameter", "min_processed=0.51"), "gate")["status"] == "failed"


@pytest.mark.parametrize("track", TRACKS)
def test_contracts(checked: Call, tmp_path: Path, track: str) -> None:
    """Each file is checked against its contract; errors fail, and are located in their file."""
    sent = [{**SENT[track][0], "x": 1}, *SENT[track][1:]]
    ran = checked(sent_file(tmp_path, track, sent), truth_file(tmp_path, track))
    found = statuses(ran)
    truth_id, sent_id, _ = CONTRACTS[track]
    assert (found[truth_id], found[sent_id], found["gate"]) == ("passed", "failed", "passed")
    assert found["score"] == SCORED[track]
    (problem,) = one(ran, sent_id)["problems"]
    assert (problem["code"], problem["file"], problem["line"], problem["record"]) == ("MC102", "sent.json", 1, 0)
    assert one(ran, sent_id)["detail"] == "1 error, 20 records"


def test_warnings_pass(checked: Call, tmp_path: Path) -> None:
    """Warnings are told and fail nothing."""
    ran = checked(sent_file(tmp_path, "lesions"), *document(tmp_path, "model", model(size=60)))
    assert statuses(ran)["lesions/model"] == "passed"
    assert codes(one(ran, "lesions/model")) == ["MC501"]
    assert "1 warning" in one(ran, "lesions/model")["detail"]


@pytest.mark.parametrize("track", TRACKS)
def test_broken_syntax(checked: Call, tmp_path: Path, track: str) -> None:
    """A submission that breaks off fails its contract; what follows from it is not judged, and nothing is thrown."""
    sent = sent_file(tmp_path, track)
    sent.write_bytes(sent.read_bytes()[:-30])
    ran = checked(sent, list_file(tmp_path, track))
    found = statuses(ran)
    assert (found[CONTRACTS[track][1]], found["coverage"], found["gate"]) == ("failed", "skipped", "skipped")
    assert one(ran, "coverage")["detail"] == "not possible until sent.json is fixed"
    assert [code[:3] for code in codes(one(ran, CONTRACTS[track][1]))] == ["MC0"]


@pytest.mark.parametrize("track", TRACKS)
def test_broken_syntax_beside_a_truth(checked: Call, tmp_path: Path, track: str) -> None:
    """With a truth nothing would be processed: NOT READY, because of the syntax alone."""
    sent = sent_file(tmp_path, track)
    sent.write_bytes(sent.read_bytes()[:-30])
    ran = checked(sent, truth_file(tmp_path, track))
    assert ran.code == 1
    assert statuses(ran)["score"] != "passed"
    assert ran.json["score"]["processing"]["processed"] == 0


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b""])
def test_a_file_that_nobody_can_tell(checked: Call, tmp_path: Path, content: bytes) -> None:
    """A broken file whose contract cannot be told fails, alone and beside others."""
    (tmp_path / "broken.json").write_bytes(content)
    for files in (["broken.json"], ["broken.json", sent_file(tmp_path, "lesions")]):
        ran = checked(*files)
        assert statuses(ran)["files"] == "failed"
        assert "broken.json" in one(ran, "files")["detail"]
        assert [problem["file"] for problem in one(ran, "files")["problems"]] == ["broken.json"]


@pytest.mark.parametrize("track", TRACKS)
def test_no_submission(check: Call, checked: Call, tmp_path: Path, track: str) -> None:
    """A truth without a submission is not ready, and what is asked for is said."""
    ran = checked(truth_file(tmp_path, track))
    assert statuses(ran)["files"] == "failed"
    assert CONTRACTS[track][1] in one(ran, "files")["detail"]
    assert check(truth_file(tmp_path, track)).code == 1


@pytest.mark.parametrize("track", ["reports", "triage"])
def test_event_differs(checked: Call, tmp_path: Path, track: str) -> None:
    """Files of two events do not agree with each other, and the place is told."""
    ran = checked(sent_file(tmp_path, track, event="Other"), truth_file(tmp_path, track))
    found = statuses(ran)
    assert (found["between-files"], found["score"]) == ("failed", "failed")
    assert codes(one(ran, "between-files")) == ["MC301"]
    assert one(ran, "between-files")["problems"][0]["pointer"] == "/event"
    assert ran.json["score"]["processing"] is None


def test_records_that_disagree(checked: Call, tmp_path: Path) -> None:
    """A segment in another case, and an end that is none."""
    sent = [dict(record) for record in SENT["triage"]]
    sent[0]["case_id"] = "C-9"
    sent[2]["end_of_case"] = True
    ran = checked(sent_file(tmp_path, "triage", sent), truth_file(tmp_path, "triage"))
    assert statuses(ran)["between-files"] == "failed"
    assert sorted(codes(one(ran, "between-files"))) == ["MC304", "MC305"]


def test_an_unknown_run(checked: Call, tmp_path: Path) -> None:
    """A run that the telemetry lacks is found without a truth."""
    sent = [*SENT["reports"], answer(TRUTH["reports"][0], run="9")]
    ran = checked(sent_file(tmp_path, "reports", sent), *beside_files(tmp_path, "reports"))
    assert statuses(ran)["between-files"] == "failed"
    assert codes(one(ran, "between-files")) == ["MC307"]


def test_an_inventory_out_of_order(checked: Call, tmp_path: Path) -> None:
    """The order of the inventory is a warning: told, and passed."""
    order = list_file(tmp_path, "triage", TRUTH["triage"][::-1])
    ran = checked(*all_files(tmp_path, "triage"), order)
    assert statuses(ran)["between-files"] == "passed"
    assert set(codes(one(ran, "between-files"))) == {"MC306"}


@pytest.mark.parametrize("track", TRACKS)
def test_score(checked: Call, call: Call, tmp_path: Path, track: str) -> None:
    """With a truth there is a score: the envelope that `score` prints."""
    files = all_files(tmp_path, track)
    ran = checked(*files)
    assert statuses(ran)["score"] == SCORED[track]
    assert ran.json["score"] == call("score", *files, "--format", "json").json
    assert HEADLINES[track][0].split()[0] in one(ran, "score")["detail"]
    assert medcontract.validate(json.dumps(ran.json["score"]["result"]).encode(), RESULTS[track]).ok


@pytest.mark.parametrize("track", TRACKS)
def test_a_truth_with_errors(checked: Call, tmp_path: Path, track: str) -> None:
    """A broken truth is told, and no score is made."""
    truth = truth_file(tmp_path, track, [*TRUTH[track], TRUTH[track][0]])
    ran = checked(sent_file(tmp_path, track), truth)
    found = statuses(ran)
    assert (found[CONTRACTS[track][0]], found["score"]) == ("failed", "failed")
    assert ran.json["score"]["result"] is None


def test_an_empty_list(checked: Call, tmp_path: Path) -> None:
    """Where nothing is expected, nothing can be ready: a list without ids does not pass as covered."""
    ran = checked(sent_file(tmp_path, "reports"), f"reports/cases={list_file(tmp_path, 'reports', [])}")
    assert statuses(ran)["coverage"] == "failed"


def test_a_header_that_is_missing(checked: Call, tmp_path: Path) -> None:
    """What the result needs and the files do not say makes a score impossible, and can be set."""
    files = truth_file(tmp_path, "triage"), write(tmp_path, "triage/response", SENT["triage"], "jsonl")
    ran = checked(*files)
    assert (statuses(ran)["header"], statuses(ran)["score"]) == ("failed", "failed")
    assert "evaluation_date" in one(ran, "header")["detail"]
    assert "evaluation_date" in one(ran, "score")["detail"]
    ran = checked(*files, "--set", "team_name=A", "--set", "evaluation_date=2025-05-20")
    assert statuses(ran)["score"] == "passed"
    assert ran.json["score"]["result"]["team_name"] == "A"


def test_a_wrong_header(checked: Call, tmp_path: Path) -> None:
    """A header that breaks the contract fails."""
    ran = checked(sent_file(tmp_path, "lesions", team_name=" "), truth_file(tmp_path, "lesions"))
    found = statuses(ran)
    assert (found["lesions/predictions"], found["score"]) == ("failed", "failed")


@pytest.mark.parametrize("track", TRACKS)
def test_parts(checked: Call, tmp_path: Path, track: str) -> None:
    """Parts with equal headers are one collection, and one check."""
    (tmp_path / "a").mkdir()
    for n in range(2):
        sent_file(tmp_path / "a", track, SENT[track][n::2], f"{n}.json")
        put(tmp_path / "a" / f"t{n}.json", CONTRACTS[track][0], TRUTH[track][n::2])
    ran = checked("a")
    found = statuses(ran)
    assert {found[name] for name in ("between-files", "coverage", "gate", *CONTRACTS[track][:2])} == {"passed"}
    assert found["score"] == SCORED[track]
    assert "20 records" in one(ran, CONTRACTS[track][1])["detail"]


def test_a_case_over_two_files(checked: Call, tmp_path: Path) -> None:
    """The start of a case may stand in another file than its end."""
    truth = case("C", ("S-1", 0, 10, []), ("S-2", 10, 20, []))
    for n in range(2):
        put(tmp_path / f"{n}.json", "triage/ground-truth", truth[n : n + 1])
    ran = checked("0.json", "1.json", sent_file(tmp_path, "triage", []))
    assert statuses(ran)["triage/ground-truth"] == "passed"


# --- limits of reports ---------------------------------------------------------------------------


@pytest.mark.parametrize(("check_id", "auxiliary", "seconds"), [
    ("time", telemetry(), 5.5),
    ("time", telemetry(run_of("1", avg_processing_time_sec=5.5)), 1.0),
    ("memory", telemetry(run_of("1", memory=1024.5)), 1.0),
    ("cpu", telemetry(run_of("1", cpu=90.5)), 1.0),
    ("exceptions", telemetry(run_of("1", exception="killed")), 1.0),
])  # fmt: skip
@pytest.mark.parametrize("with_truth", [True, False])
def test_limits_of_reports(
    checked: Call, tmp_path: Path, check_id: str, auxiliary: Record, seconds: float, with_truth: bool
) -> None:
    """Each limit of time, memory and CPU, and exceptions, with or without a truth."""
    files = [sent_file(tmp_path, "reports", [answer(true, seconds) for true in TRUTH["reports"]])]
    files += document(tmp_path, "telemetry", auxiliary)
    files += [truth_file(tmp_path, "reports")] if with_truth else []
    ran = checked(*files)
    found = statuses(ran)
    limits = {name: found[name] for name in EVERY["reports"]}
    assert limits == {name: "failed" if name == check_id else "passed" for name in limits}
    (problem,) = one(ran, check_id)["problems"]
    assert problem["code"] == "MC402"
    assert problem["file"] == ("sent.json" if seconds > 5 else "telemetry.json")
    assert found["score"] == ("failed" if with_truth else "skipped")


def test_limits_are_inclusive(checked: Call, tmp_path: Path) -> None:
    """5 s, 1024 MB and 90 % are allowed."""
    sent = sent_file(tmp_path, "reports", [answer(true, 5) for true in TRUTH["reports"]])
    found = statuses(checked(sent, *document(tmp_path, "telemetry", telemetry(run_of("1", 1024, 90)))))
    assert {found[name] for name in EVERY["reports"]} == {"passed"}


def test_the_measured_time_takes_precedence(checked: Call, tmp_path: Path) -> None:
    """The predictions say 6 s; the organizer measured 2 s."""
    sent = sent_file(tmp_path, "reports", [answer(true, 6) for true in TRUTH["reports"]])
    measured = document(tmp_path, "telemetry", telemetry(run_of("1", avg_processing_time_sec=2)))
    ran = checked(sent, *measured)
    assert (statuses(ran)["time"], one(ran, "time")["detail"]) == ("passed", "largest: 2")


def test_the_worst_run_decides(checked: Call, tmp_path: Path) -> None:
    """The mean time is of one run, not of all."""
    sent = [answer(true, 0.1, "1") for true in TRUTH["reports"]] + [answer(true, 6, "2") for true in TRUTH["reports"]]
    ran = checked(sent_file(tmp_path, "reports", sent))
    assert statuses(ran)["time"] == "failed"
    assert "run 2" in one(ran, "time")["detail"]


def test_changed_limits(checked: Call, tmp_path: Path) -> None:
    """The protocol sets the limits."""
    sent = sent_file(tmp_path, "reports", [answer(true, 6) for true in TRUTH["reports"]])
    assert statuses(checked(sent, "--parameter", "time_limit_sec=7"))["time"] == "passed"


def test_broken_telemetry(checked: Call, tmp_path: Path) -> None:
    """Telemetry with errors fails its contract; what it would say cannot be checked."""
    files = sent_file(tmp_path, "reports"), *document(tmp_path, "telemetry", {**telemetry(), "runs": []})
    found = statuses(checked(*files))
    assert (found["reports/telemetry"], found["memory"], found["cpu"]) == ("failed", "skipped", "skipped")


# --- model and images of lesions -----------------------------------------------------------------


@pytest.mark.parametrize(("size", "status"), [(149.999, "passed"), (150.0, "failed"), (400.0, "failed")])
def test_size_of_the_model(checked: Call, tmp_path: Path, size: float, status: str) -> None:
    """A model of 150 MB or more is beyond the limit."""
    ran = checked(sent_file(tmp_path, "lesions"), *document(tmp_path, "model", model(size=size)))
    assert statuses(ran)["model-size"] == status
    assert codes(one(ran, "model-size")) == ["MC402"] * (status == "failed")


@pytest.mark.parametrize(
    ("stated", "status"),
    [(2.0, "passed"), (1.99, "passed"), (2.02, "passed"), (1.98, "failed"), (2.03, "failed"), (1.9073, "failed")],
)
def test_size_of_the_model_file(checked: Call, tmp_path: Path, stated: float, status: str) -> None:
    """A file of 2,000,000 bytes has 2 MB, within 1 % of the size stated: 2.02·0.99 = 1.9998, 2.03·0.99 = 2.0097."""
    folder = _whole_submission(tmp_path, 2_000_000)
    document(folder, "model", {**model(size=stated), "model_file": "weights/net.onnx"})
    ran = checked(folder)
    assert statuses(ran)["model-file"] == status
    assert codes(one(ran, "model-file")) == ["MC312"] * (status == "failed")


@pytest.mark.parametrize("field", ["model_file", "inference_script"])
def test_files_of_the_model_are_there(checked: Call, tmp_path: Path, field: str) -> None:
    """They are sought in the folder of the model file, not where the command runs."""
    folder = _whole_submission(tmp_path)
    (tmp_path / "elsewhere.bin").write_bytes(bytes(2000))
    document(folder, "model", {**model(size=0.002), field: "elsewhere.bin"})
    ran = checked(folder)
    check_id = field.replace("_", "-")
    assert statuses(ran)[check_id] == "failed"
    assert codes(one(ran, check_id)) == ["MC311"]
    (folder / "elsewhere.bin").write_bytes(bytes(2000))
    assert statuses(checked(folder))[check_id] == "passed"


def test_a_folder_is_no_model(checked: Call, tmp_path: Path) -> None:
    """A folder of that name is not the file."""
    folder = _whole_submission(tmp_path)
    document(folder, "model", {**model(size=0.002), "model_file": "weights"})
    assert codes(one(checked(folder), "model-file")) == ["MC311"]


def test_a_model_file_that_names_none(checked: Call, tmp_path: Path) -> None:
    """Without a model file that check is skipped; without an inference script, which is required, it fails."""
    ran = checked(sent_file(tmp_path, "lesions"), *document(tmp_path, "model", model()))
    assert statuses(ran)["model-file"] == "skipped"
    assert one(ran, "model-file")["detail"] == "model.json has no 'model_file'"
    assert statuses(ran)["inference-script"] == "failed"
    assert one(ran, "inference-script")["detail"] == "model.json has no 'inference_script'"
    assert codes(one(ran, "inference-script")) == ["MC311"]
    assert ran.code == 1


def test_no_model_file(checked: Call, tmp_path: Path) -> None:
    """Then nothing names an inference script: the checks are skipped."""
    found = statuses(checked(sent_file(tmp_path, "lesions")))
    assert (found["model-file"], found["inference-script"]) == ("skipped", "skipped")


def test_the_example_of_lesions_runs_in_one_command(call: Call, tmp_path: Path) -> None:
    """From the model to the score: it is READY, and 10 of 12 images are right."""
    call("init", "lesions", tmp_path)
    (tmp_path / "toy.model").unlink()
    ran = subprocess.run([sys.executable, tmp_path / "run_pipeline.py"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "READY." in ran.stdout
    assert re.search(r"accuracy +0\.8333", ran.stdout)
    (tmp_path / "truth.csv").unlink()
    ran = subprocess.run([sys.executable, tmp_path / "run_pipeline.py"], capture_output=True, text=True, check=False)
    assert ran.returncode != 0


def test_the_example_of_lesions_runs(checked: Call, call: Call, tmp_path: Path) -> None:
    """Its scripts make the images, model and predictions that come with it; preflight is READY without a skip."""
    assert call("init", "lesions", "demo").code == 0
    demo = tmp_path / "demo"
    images = sorted((demo / "images").iterdir())
    pixels = {path.name: Image.open(path).tobytes() for path in images}
    shipped = {name: (demo / name).read_bytes() for name in ("predictions.csv", "toy.model")}
    for path in (*images, demo / "predictions.csv", demo / "toy.model"):
        path.unlink()
    for script in ("make_example.py", "run_inference.py"):
        subprocess.run([sys.executable, str(demo / script)], check=True, timeout=60, capture_output=True)
    assert {path.name: Image.open(path).tobytes() for path in (demo / "images").iterdir()} == pixels
    assert {name: (demo / name).read_bytes() for name in shipped} == shipped
    ran = checked("demo", "--images", "demo")
    assert ran.code == 0
    assert set(statuses(ran).values()) == {"passed"}
    assert ran.json["ready"]
    assert sum(path.stat().st_size for path in demo.rglob("*") if path.is_file()) < 50_000


def test_the_inference_script_with_a_broken_image(checked: Call, call: Call, tmp_path: Path) -> None:
    """It writes a record with an error, and its options say where files are."""
    call("init", "lesions", "demo")
    (tmp_path / "demo" / "images" / "drm-00214.png").write_bytes(b"no image")
    options = ["--cases", "demo/cases.csv", "--images", "demo", "--model", "demo/toy.model", "--out", "mine.csv"]
    subprocess.run([sys.executable, "demo/run_inference.py", *options], check=True, timeout=60, cwd=tmp_path)
    ran = checked("lesions/predictions=mine.csv", "demo/cases.csv")
    assert (statuses(ran)["lesions/predictions"], statuses(ran)["coverage"]) == ("passed", "passed")
    assert statuses(ran)["gate"] == "failed"  # 11 of 12


def test_images(checked: Call, check: Call, tmp_path: Path) -> None:
    """Images that are missing or bad fail, each with its record and code."""
    (tmp_path / "images").mkdir()
    Image.new("RGB", (512, 512)).save(tmp_path / "images" / "I-00.png")
    Image.new("RGB", (512, 511)).save(tmp_path / "images" / "I-01.png")
    files = sent_file(tmp_path, "lesions"), list_file(tmp_path, "lesions", TRUTH["lesions"][:3])
    ran = checked(*files, "--images", "images")
    assert statuses(ran)["images"] == "failed"
    found = one(ran, "images")
    assert found["detail"] == "3 images checked, 2 invalid"
    assert [(p["code"], p["record"], p["file"]) for p in found["problems"]] == [
        ("MC323", 1, "list.csv"), ("MC320", 2, "list.csv"),
    ]  # fmt: skip
    assert one(ran, "lesions/cases")["status"] == "passed"
    assert "MC323" in check(*files, "--images", "images").out


def test_images_in_processes(checked: Call, tmp_path: Path) -> None:
    """Two processes find the same as one."""
    (tmp_path / "images").mkdir()
    Image.new("RGB", (512, 512)).save(tmp_path / "images" / "I-00.png")
    arguments = (sent_file(tmp_path, "lesions"), list_file(tmp_path, "lesions"), "--images", "images")
    assert checked(*arguments, "--jobs", "2") == checked(*arguments)


@pytest.mark.parametrize(("images", "words"), [((), "--images"), (("--images", "images"), "lesions/cases")])
def test_images_that_cannot_be_checked(checked: Call, tmp_path: Path, images: Sequence[str], words: str) -> None:
    """Without the folder, or without the list that names them, images cannot be checked."""
    (tmp_path / "images").mkdir()
    ran = checked(sent_file(tmp_path, "lesions"), *images)
    assert statuses(ran)["images"] == "skipped"
    assert words in one(ran, "images")["detail"]


def test_images_in_vain(checked: Call, tmp_path: Path) -> None:
    """A folder of images for a track that has none is not passed over in silence."""
    (tmp_path / "images").mkdir()
    ran = checked(sent_file(tmp_path, "reports"), "--images", "images")
    assert ran.code == 2 or "skipped" in [each["status"] for each in ran.json["checks"] if each["id"] == "images"]


# --- codes that only preflight gives -------------------------------------------------------------


def _without_its_model(folder: Path) -> list[Path]:
    model_document = {**model(), "model_file": "net.onnx"}
    return [sent_file(folder, "lesions"), *document(folder, "model", model_document)]


def _with_another_model(folder: Path) -> list[Path]:
    (folder / "net.onnx").write_bytes(bytes(1000))
    return _without_its_model(folder)


def _of_too_little(folder: Path) -> list[Path]:
    return [sent_file(folder, "triage", SENT["triage"][:9]), list_file(folder, "triage")]


def _of_too_much(folder: Path) -> list[Path]:
    return [sent_file(folder, "reports"), *document(folder, "telemetry", telemetry(run_of("1", memory=2000)))]


PREFLIGHT_CODES: dict[str, Callable[[Path], list[Path]]] = {
    "MC311": _without_its_model,
    "MC312": _with_another_model,
    "MC401": _of_too_little,
    "MC402": _of_too_much,
}
"""What gives a code that no single file can show, when preflight looks at it."""


@pytest.mark.parametrize(("code", "files"), PREFLIGHT_CODES.items(), ids=PREFLIGHT_CODES)
def test_code_occurs(
    checked: Call, check: Call, tmp_path: Path, code: str, files: Callable[[Path], list[Path]]
) -> None:
    """A code of preflight comes about, in JSON and in text, and makes the submission not ready."""
    paths = files(tmp_path)
    ran = checked(*paths)
    statuses(ran)
    assert ran.code == 1
    assert code in {problem["code"] for each in ran.json["checks"] for problem in each["problems"]}
    assert f"error {code}" in check(*paths).out


# --- folders and other files ---------------------------------------------------------------------


def test_a_folder(checked: Call, tmp_path: Path) -> None:
    """Files in folders within the folder are found; others than data files are not looked at."""
    folder = tmp_path / "a"
    sent_file(folder / "deep" / "er", "lesions")
    truth_file(folder, "lesions")
    (folder / "README.md").write_text("# hello")
    (folder / "net.onnx").write_bytes(bytes(10))
    (folder / ".hidden.json").write_text("{")
    assert statuses(checked(folder))["score"] == "passed"


def test_files_of_no_contract(checked: Call, check: Call, tmp_path: Path) -> None:
    """Data files of no contract in a folder are named, and break nothing."""
    folder = tmp_path / "a"
    sent_file(folder, "lesions")
    (folder / "package.json").write_text('{"name": "x", "private": true}')
    (folder / "losses.csv").write_text("epoch,loss\n1,0.5\n")
    ran = checked(folder, truth_file(tmp_path, "lesions"))
    found = statuses(ran)
    assert (found["files"], found["score"]) == ("passed", "passed")
    assert "losses.csv is ignored" in one(ran, "unused")["detail"]
    assert "package.json is ignored" in one(ran, "unused-2")["detail"]
    assert "WARN  All files are used, and none is missing: losses.csv is ignored" in check(folder).out
    assert check(folder).code == 0


def test_a_named_file_of_no_contract(check: Call, tmp_path: Path) -> None:
    """A file that the caller names has to be something: else it is a usage error."""
    Path("x.json").write_text('{"name": "x"}')
    code, out, err = check(sent_file(tmp_path, "lesions"), "x.json")
    assert (code, out) == (2, "")
    assert "x.json" in err


def test_archives(checked: Call, tmp_path: Path) -> None:
    """Packed files are files."""
    sent = sent_file(tmp_path, "lesions")
    (tmp_path / "sent.json.gz").write_bytes(gzip.compress(sent.read_bytes(), mtime=0))
    assert statuses(checked("sent.json.gz", truth_file(tmp_path, "lesions")))["score"] == "passed"


def test_files_that_a_score_has_no_use_for(checked: Call, tmp_path: Path) -> None:
    """Output of an earlier run in the folder breaks nothing."""
    folder = tmp_path / "a"
    sent_file(folder, "lesions")
    truth_file(folder, "lesions")
    (folder / "earlier.json").write_text(checked(folder).out)
    assert statuses(checked(folder))["score"] == "passed"


def test_standard_input(checked: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A submission from standard input is read once and checked and scored."""
    sent = sent_file(tmp_path, "lesions")
    with sent.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        ran = checked("lesions/predictions=-", truth_file(tmp_path, "lesions"))
    found = statuses(ran)
    assert (found["lesions/predictions"], found["coverage"], found["score"]) == ("passed", "passed", "passed")


# --- output --------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", ["text", "json"])
def test_same_bytes(check: Call, tmp_path: Path, format_: str) -> None:
    """The same files give the same bytes again, and no path is in them."""
    folder = _whole_submission(tmp_path)
    sent_file(folder, "lesions", [*SENT["lesions"][:17], {**SENT["lesions"][17], "x": 1}])
    arguments = (folder, truth_file(tmp_path, "lesions"), "--format", format_)
    first = check(*arguments)
    assert check(*arguments) == first
    assert str(tmp_path) not in first.out


@pytest.mark.parametrize("format_", ["text", "json"])
def test_any_order(check: Call, tmp_path: Path, format_: str) -> None:
    """The order of the files in the call does not show."""
    sent = [*SENT["lesions"][:17], {**SENT["lesions"][17], "x": 1}]
    files = [truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions", sent), *beside_files(tmp_path, "lesions")]
    assert check(*files, "--format", format_).out == check(*reversed(files), "--format", format_).out


def _secret_files(folder: Path, track: str) -> list[Path]:
    """A submission whose ids and wrong values are somebody's, beside its truth."""
    key = KEYS[track]
    sent = [dict(record) for record in SENT[track]]
    sent[0][key] = "Juan Pérez"
    sent[1][key] = f"{sent[1][key].lower()} "
    sent[2]["19481103"] = "María"
    sent[3]["Ana López"] = "Juan"
    sent[4][key] = 19481103
    return [sent_file(folder, track, sent), truth_file(folder, track), *beside_files(folder, track)]


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("format_", ["text", "json"])
def test_participants(check: Call, tmp_path: Path, track: str, format_: str) -> None:
    """With --participant, of rules between files only counts remain; problems of own files and the gate stay."""
    files = _secret_files(tmp_path, track)
    whole = check(*files, "--format", format_).out
    ran = check(*files, "--format", format_, "--participant")
    assert ran.code == 1
    assert "MC303" in whole
    assert "without a record" in ran.out
    assert "with other ids" in ran.out
    assert "MC102" in ran.out
    assert "MC401" in ran.out
    assert "only in case or whitespace" in whole
    assert "only in" not in ran.out
    if format_ == "text":
        assert "MC303" not in ran.out
        return
    page = keeps(ran.out, "medcontract/preflight")
    listed = [*page["checks"], page["score"]]
    assert [problem for each in listed for problem in each["problems"] if reveals_truth(problem["code"])] == []


@pytest.mark.parametrize("track", TRACKS)
def test_participants_see_no_fine_figures(checked: Call, tmp_path: Path, track: str) -> None:
    """The score in it is the same as from `score --participant`."""
    files = all_files(tmp_path, track)
    ran = checked(*files, "--participant")
    result = statuses(ran) and ran.json["score"]["result"]
    assert not {"urgency_f1_by_class", "f1_by_class", "confusion_matrix", "metrics", "documents", "task_scores"} & set(
        result
    )
    assert HEADLINES[track][1] in coarse(result).values()


@pytest.mark.parametrize("format_", ["text", "json"])
def test_participants_see_no_problems_of_the_truth(
    check: Call, tmp_path: Path, format_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That the truth has errors is said, but not which and where."""
    on_a_terminal(monkeypatch)
    truth = truth_file(tmp_path, "lesions", [{**TRUTH["lesions"][0], "label": "SECRET"}, *TRUTH["lesions"][1:]])
    ran = check(sent_file(tmp_path, "lesions"), truth, "--format", format_, "--participant")
    assert ran.code == 1
    assert "MC104" not in ran.out
    assert "SECRET" not in ran.out
    assert "MC104" in check(sent_file(tmp_path, "lesions"), truth, "--format", format_).out


def test_participants_see_what_is_wrong_with_their_model(check: Call, tmp_path: Path) -> None:
    """A model that is missing from the submission's own folder tells nothing of the truth: it is said."""
    ran = check(*_without_its_model(tmp_path), "--participant")
    assert ran.code == 1
    assert "net.onnx" in ran.out


def test_max_problems(check: Call, tmp_path: Path) -> None:
    """With --max-problems, what is not listed is counted."""
    wrong: list[dict[str, Any]] = [{"x": 1}, {"image_id": 1}, {"probabilities": "a"}, {"probabilities": [2.0] * 10}]
    sent = [{**record, **change} for record, change in zip(SENT["lesions"], wrong, strict=False)]
    path = sent_file(tmp_path, "lesions", sent)
    assert check(path).out.count(": error MC1") == 4
    out = check(path, "--max-problems", "2").out
    assert out.count(": error MC1") == 2
    assert "… and 11 more problems" in out


def test_guesses_of_nobody(checked: Call, tmp_path: Path) -> None:
    """No id in common: nothing is processed, and both counts are told."""
    sent = [guess(f"X-{n}", "NV") for n in range(20)]
    ran = checked(sent_file(tmp_path, "lesions", sent), truth_file(tmp_path, "lesions"))
    assert statuses(ran)["gate"] == "failed"
    told = one(ran, "coverage")["detail"]
    assert told.startswith("20 ids in truth.json, 20 without a record, 20 records with other ids; none of the ids")
