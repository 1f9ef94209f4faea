"""`medcontract preflight`: no READY for a submission that cannot be right, and a warning about what looks wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.acceptance.test_preflight import LISTS, codes, list_file, one, statuses
from tests.commands import (
    KEYS,
    SENT,
    TRACKS,
    TRUTH,
    Call,
    Ran,
    all_files,
    beside_files,
    on_a_terminal,
    put,
    sent_file,
    truth_file,
)
from tests.scoring_files import (
    CONTRACTS,
    Record,
    answer,
    case,
    document,
    drug,
    evidence,
    guess,
    lab,
    labs,
    listed,
    no_answer,
    read,
    read_labs,
    read_rx,
    response,
    rx,
    says,
    write,
)

import medcontract


@pytest.fixture
def check(call: Call) -> Call:
    return partial(call, "preflight")


@pytest.fixture
def checked(call: Call) -> Call:
    return partial(call, "preflight", "--format", "json")


def predicted(*groups: str) -> list[Record]:
    """The right triage responses with the same groups in each."""
    return [response(true, *groups) for true in TRUTH["triage"]]


def test_examples_of_labels_are_sorted(check: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They do not depend on the seed of hashes, which differs from process to process."""
    groups = ["Resuscitation", "Airway", "Medication", "Bleeding control"]
    records = case("C-1", ("S-1", 0, 10, [(group, 15.0) for group in groups]))
    files = write(tmp_path, CONTRACTS["triage"][0], records), sent_file(tmp_path, "triage", [response(records[0], "x")])
    on_a_terminal(monkeypatch)
    assert "in the truth: 'Airway', 'Bleeding control', 'Medication'" in check(*files).out


# --- there is nothing to score ---------------------------------------------------------------------


def empty(folder: Path, track: str) -> str:
    """A submission without records, whose contract may be ambiguous if it is not specified."""
    return f"{CONTRACTS[track][1]}={sent_file(folder, track, [])}"


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("others", [[], [list_file], [truth_file]], ids=["alone", "list", "truth"])
def test_an_empty_table(
    checked: Call, tmp_path: Path, track: str, others: Sequence[Callable[[Path, str], Path]]
) -> None:
    """A submission without records is valid, but never ready, whatever else is given."""
    ran = checked(empty(tmp_path, track), *(other(tmp_path, track) for other in others))
    assert (ran.code, statuses(ran)["answers"]) == (1, "failed")
    assert codes(one(ran, "answers")) == ["MC403"]
    assert one(ran, "answers")["problems"][0]["file"] == "sent.json"


def test_a_header_row_alone(check: Call) -> None:
    """A CSV with nothing but its header row contains no answers."""
    Path("out.csv").write_text("report_id,specialty,urgency,follow_up,processing_time_sec\n")
    ran = check("out.csv")
    assert ran.code == 1
    assert "FAIL  The submission contains answers: 0 records" in ran.out


def test_an_empty_part_is_allowed(checked: Call, tmp_path: Path) -> None:
    """Parts are one collection: only all of them together must have records."""
    parts = empty(tmp_path, "lesions"), sent_file(tmp_path, "lesions", name="more.json")
    assert statuses(checked(*parts))["answers"] == "passed"


def test_a_kind_of_which_none_is_expected_may_be_empty(checked: Call, tmp_path: Path) -> None:
    """An empty file of laboratory reports fails, unless the manifest lists prescriptions only."""
    no_labs = write(tmp_path, "extraction/lab-predictions", [], name="labs")
    sent = sent_file(tmp_path, "extraction"), f"extraction/lab-predictions={no_labs}"
    assert statuses(checked(*sent))["answers"] == "failed"
    assert statuses(checked(*sent, list_file(tmp_path, "extraction")))["answers"] == "passed"


FAILURES: dict[str, list[Record]] = {
    "reports": [no_answer(true["report_id"]) for true in TRUTH["reports"]],
    "triage": [{**record, "error": "no memory"} for record in SENT["triage"]],
    "lesions": [{"image_id": true["image_id"], "error": "no memory"} for true in TRUTH["lesions"]],
    "extraction": [read_rx(true["doc_id"], parse_success=False) for true in TRUTH["extraction"]],
    "benchmark": [{**record, "error": "no memory"} for record in SENT["benchmark"]],
}


@pytest.mark.parametrize("track", TRACKS)
def test_every_record_failed(checked: Call, tmp_path: Path, track: str) -> None:
    """A model that failed for every item has no answers, which is known without a list of ids."""
    ran = checked(sent_file(tmp_path, track, FAILURES[track]))
    assert (ran.code, statuses(ran)["answers"]) == (1, "failed")
    assert codes(one(ran, "answers")) == ["MC403"]
    one_of_them = [*FAILURES[track][1:], SENT[track][0]]
    assert statuses(checked(sent_file(tmp_path, track, one_of_them)))["answers"] == "passed"


def test_no_group_in_any_record(check: Call, checked: Call, tmp_path: Path) -> None:
    """Cases may be without interventions, so that empty predictions alone are a warning."""
    sent = sent_file(tmp_path, "triage", predicted())
    ran = checked(sent)
    assert (ran.code, statuses(ran)["answers"]) == (0, "passed")
    (problem,) = one(ran, "answers")["problems"]
    assert (problem["code"], problem["severity"]) == ("MC403", "warning")
    assert check(sent).out.splitlines()[-1] == "READY, 1 warning, 5 checks skipped."


# --- labels that the truth does not have -----------------------------------------------------------


def test_groups_of_which_none_is_known(check: Call, checked: Call, tmp_path: Path) -> None:
    """Groups that the truth does not list anywhere fail; one that it lists is enough."""
    truth = truth_file(tmp_path, "triage")
    sent = sent_file(tmp_path, "triage", predicted("Vía aérea", "Hemorragia"))
    ran = checked(sent, truth)
    assert (ran.code, statuses(ran)["labels"]) == (1, "failed")
    assert codes(one(ran, "labels")) == ["MC404"]
    assert one(ran, "labels")["detail"] == "0 of 40 groups"
    assert "error MC404 none of the predicted groups occurs in the truth" in check(sent, truth).out
    some = sent_file(tmp_path, "triage", [*predicted("Hemorragia")[1:], response(TRUTH["triage"][0], "airway")])
    ran = checked(some, truth)
    assert statuses(ran)["labels"] == "passed"
    assert one(ran, "labels")["detail"] == "1 of 20 groups"


def test_names_of_which_none_is_known(checked: Call, tmp_path: Path) -> None:
    """Medications and tests are compared as in a score: normalized, each kind with its own labels."""
    truth = [
        write(tmp_path, "extraction/prescription-labels", [rx("P-1", drug("Losartán", "50 mg"))], name="t1"),
        write(tmp_path, "extraction/lab-labels", [labs("L-1", lab("T.S.H.", "4,5"))], name="t2"),
    ]

    def label_check(medication: str, test: str, *more: str) -> Any:
        sent = [
            write(tmp_path, "extraction/prescription-predictions", [read_rx("P-1", drug(medication))], name="s1"),
            write(tmp_path, "extraction/lab-predictions", [read_labs("L-1", lab(test, "4,5"))], name="s2"),
        ]
        ran = checked(*truth, *sent, *more)
        return next((each for each in ran.json["checks"] if each["id"] == "labels"), None)

    assert label_check("LOSARTAN", "tsh")["status"] == "passed"
    found = label_check("metformin", "tsh")
    assert (found["status"], [each["file"] for each in found["problems"]]) == ("failed", ["s1.json"])
    assert found["detail"] == "0 of 1 medications, 1 of 1 tests"
    assert label_check("LOSARTAN", "glucose")["status"] == "failed"
    assert label_check("losartana", "tsh", "--match", "fuzzy") is None  # such names need not be equal


def test_labels_without_a_truth(checked: Call, tmp_path: Path) -> None:
    """What cannot be compared is skipped, with what is missing."""
    sent = sent_file(tmp_path, "triage")
    assert one(checked(sent), "labels")["detail"] == "needs a truth (triage/ground-truth)"
    assert one(checked(truth_file(tmp_path, "triage")), "labels")["detail"] == "needs a submission"
    no_groups = truth_file(tmp_path, "triage", [{**true, "gt_lsi_list": []} for true in TRUTH["triage"]])
    assert one(checked(sent, no_groups), "labels")["detail"] == "needs groups in the truth"
    wrong = truth_file(tmp_path, "triage", [{**TRUTH["triage"][0], "x": 1}, *TRUTH["triage"][1:]])
    assert one(checked(sent, wrong), "labels")["detail"] == "needs a truth without errors"
    none = sent_file(tmp_path, "triage", predicted())
    assert one(checked(none, truth_file(tmp_path, "triage")), "labels")["detail"] == "needs groups in the submission"


@pytest.mark.parametrize(
    ("groups", "difference"),
    [
        (("AIRWAY", "bleeding"), "case"),
        (("aírway", "bleeding"), "accents"),
        (("air way", "bleeding"), "whitespace"),
        (("Aírway", "bleeding"), "case or accents"),
    ],
)
def test_labels_that_differ_in_spelling(
    check: Call, checked: Call, tmp_path: Path, groups: Sequence[str], difference: str
) -> None:
    """Labels that are nearly as in the truth are a warning that says in what they differ."""
    files = sent_file(tmp_path, "triage", predicted(*groups)), truth_file(tmp_path, "triage")
    ran = checked(*files)
    assert statuses(ran)["labels"] == "passed"
    (problem,) = one(ran, "labels")["problems"]
    assert (problem["code"], problem["severity"]) == ("MC502", "warning")
    assert problem["message"] == f"1 label among the groups differs from the truth only in {difference}"
    assert "WARN  The submission and the truth have groups in common" in check(*files).out


def test_spellings_on_a_terminal(check: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person at a terminal sees which labels differ, both ways; a pipe does not."""
    files = sent_file(tmp_path, "triage", predicted("AIRWAY", "bleeding")), truth_file(tmp_path, "triage")
    assert "AIRWAY" not in check(*files).out
    on_a_terminal(monkeypatch)
    assert "'AIRWAY'; in the truth: 'airway'" in check(*files).out
    assert "AIRWAY" not in check(*files, "--participant").out


# --- ids -------------------------------------------------------------------------------------------

SPELLINGS: dict[str, Callable[[str], str]] = {
    "case": str.lower,
    "accents": lambda key: key.replace("-", "\u0301-"),
    "whitespace": lambda key: f"{key} ",
    "leading zeros": lambda key: key.replace("-0", "-"),
}


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("difference", SPELLINGS)
@pytest.mark.parametrize("other", [truth_file, list_file])
def test_ids_that_differ_in_spelling(
    checked: Call, tmp_path: Path, track: str, difference: str, other: Callable[..., Path]
) -> None:
    """Ids that are nearly the expected ones are a warning of their own; the error, once, if no id is right."""
    key = KEYS[track]
    sent = [{**record, key: SPELLINGS[difference](record[key])} for record in SENT[track]]
    ran = checked(sent_file(tmp_path, track, sent), other(tmp_path, track))
    assert statuses(ran)["coverage"] == "failed"
    problem, *others = one(ran, "coverage")["problems"]
    explains_all = difference != "leading zeros"  # half of the ids have none
    assert (problem["code"], problem["severity"]) == ("MC502", "error" if explains_all else "warning")
    changed = sum(record[key] != before[key] for record, before in zip(sent, SENT[track], strict=True))
    assert problem["message"] == f"all {changed} unknown ids (MC303) differ from an expected one only in {difference}"
    assert {each["code"] for each in others} == (set() if explains_all else {"MC302", "MC303"})
    assert statuses(ran)["gate"] == ("skipped" if explains_all else "failed")


def test_some_ids_differ_in_spelling(checked: Call, tmp_path: Path) -> None:
    """Unknown ids that are not similar to any keep their hint."""
    changes = {0: "r-00", 1: "r-01", 2: "unlike"}
    sent = [{**record, "report_id": changes.get(n, record["report_id"])} for n, record in enumerate(SENT["reports"])]
    near, *others = one(checked(sent_file(tmp_path, "reports", sent), truth_file(tmp_path, "reports")), "coverage")[
        "problems"
    ]
    assert near["message"] == "2 of 3 unknown ids (MC303) differ from an expected one only in case"
    hints = {each["hint"] for each in others if each["code"] == "MC303"}
    assert hints == {"check case, spaces and leading zeros"}
    sent[1:3] = SENT["reports"][1:3]
    ran = checked(sent_file(tmp_path, "reports", sent), truth_file(tmp_path, "reports"))
    message = one(ran, "coverage")["problems"][0]["message"]
    assert message == "the unknown id (MC303) differs from an expected one only in case"


@pytest.mark.parametrize(
    ("name", "content"),
    [("x.csv", b"report_id;specialty\nR;Other\n"), ("x.csv", b""), ("x.json", b'{"predictions": [{"repo')],
)
@pytest.mark.parametrize("with_truth", [True, False])
def test_unreadable_submission(checked: Call, tmp_path: Path, name: str, content: bytes, with_truth: bool) -> None:
    """Whether an unreadable file of a given contract contains answers, or agrees with others, was not checked."""
    (tmp_path / name).write_bytes(content)
    truth = [truth_file(tmp_path, "reports")] if with_truth else []
    ran = checked(f"reports/predictions={tmp_path / name}", *truth)
    assert ran.code == 1
    assert statuses(ran)["reports/predictions"] == "failed"
    for check_id in ("answers", "between-files"):
        assert statuses(ran)[check_id] == "skipped"
    assert one(ran, "answers")["detail"] == f"needs a readable submission, unlike {name}"


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("other", [truth_file, list_file])
def test_ids_of_which_none_is_known(checked: Call, tmp_path: Path, track: str, other: Callable[..., Path]) -> None:
    """Ids of another set are not ready."""
    sent = [{**record, KEYS[track]: f"X{n}"} for n, record in enumerate(SENT[track])]
    ran = checked(sent_file(tmp_path, track, sent), other(tmp_path, track))
    assert (ran.code, statuses(ran)["coverage"]) == (1, "failed")
    assert "none of the ids is expected" in one(ran, "coverage")["detail"]


def test_cases_of_which_none_is_known(checked: Call, tmp_path: Path) -> None:
    """An inventory also says which case a segment belongs to."""
    sent = [{**record, "case_id": "another"} for record in SENT["triage"]]
    ran = checked(sent_file(tmp_path, "triage", sent), list_file(tmp_path, "triage"))
    found = statuses(ran)
    assert (found["between-files"], found["gate"]) == ("failed", "failed")
    assert set(codes(one(ran, "between-files"))) == {"MC304"}


@pytest.mark.parametrize(
    ("track", "row"), [("lesions", "I-00,I-00.png,500,f,3"), ("extraction", "P-00,prescription,page.png,labelled,yes")]
)
def test_an_invalid_record_of_a_list(checked: Call, tmp_path: Path, track: str, row: str) -> None:
    """The id of an invalid record is expected all the same: only the list is reported."""
    cases = list_file(tmp_path, track)
    head, _, *rows = cases.read_text(encoding="utf-8").splitlines()
    cases.write_text("\n".join([head, row, *rows]) + "\n", encoding="utf-8")
    found = statuses(checked(sent_file(tmp_path, track), cases))
    assert [name for name, status in found.items() if status == "failed"] == [LISTS[track]]


# --- what looks like a mistake ---------------------------------------------------------------------


def test_cases_without_an_end(check: Call, checked: Call, tmp_path: Path) -> None:
    """Beside an inventory, cases that no record ends are a warning; with a truth its rule reports them."""
    sent = sent_file(tmp_path, "triage", [{**record, "end_of_case": False} for record in SENT["triage"]])
    inventory = list_file(tmp_path, "triage")
    ran = checked(sent, inventory)
    assert (ran.code, statuses(ran)["triage/response"]) == (0, "passed")
    (problem,) = one(ran, "triage/response")["problems"]
    assert (problem["code"], problem["severity"]) == ("MC503", "warning")
    assert problem["message"] == "10 of 10 cases of the inventory have no record with 'end_of_case' true"
    assert "WARN  sent.json satisfies triage/response: 1 warning, 20 records" in check(sent, inventory).out
    ran = checked(sent, inventory, truth_file(tmp_path, "triage"))
    assert codes(one(ran, "triage/response")) == []
    assert set(codes(one(ran, "between-files"))) == {"MC305"}
    assert codes(one(checked(sent_file(tmp_path, "triage"), inventory), "triage/response")) == []


def _problems(ran: Ran, check_id: str) -> list[str]:
    return [f"{problem['code']} {problem['message']}" for problem in one(ran, check_id)["problems"]]


def test_every_record_ends_its_case(checked: Call, tmp_path: Path) -> None:
    """Only the last segment of a case ends it."""
    sent = sent_file(tmp_path, "triage", [{**record, "end_of_case": True} for record in SENT["triage"]])
    (message,) = _problems(checked(sent, list_file(tmp_path, "triage")), "triage/response")
    assert message == "MC503 'end_of_case' is true in every record of 10 cases"


def test_runtime_in_milliseconds(checked: Call, tmp_path: Path) -> None:
    """A runtime of about 1000 times the time between the first and the last message: 20 s and 20,000."""
    times = [(1747735000.0 + n, 1747735001.0 + n, n + 1.0) for n in range(20)]
    message = "MC503 'cumulative_runtime_sec' is about 1000 times as long as the time between the messages"
    for factor, found in ((1, []), (1000, [message]), (199, []), (5001, [])):
        sent = [
            {**record, "message_sent_time": at, "message_received_time": to, "cumulative_runtime_sec": factor * runtime}
            for record, (at, to, runtime) in zip(SENT["triage"], times, strict=True)
        ]
        ran = checked(sent_file(tmp_path, "triage", sent), list_file(tmp_path, "triage"))
        assert _problems(ran, "triage/response") == found
        assert ran.code == 0


def test_truth_in_milliseconds(checked: Call, tmp_path: Path) -> None:
    """Segments that are longer than a day, 30 s in milliseconds are not: it is a guess."""
    sent = sent_file(tmp_path, "triage")
    for factor, found in ((1000, []), (2880, ["MC503 most segments are longer than a day"])):
        times = ("segment_start_time_sec", "segment_stop_time_sec")
        truth = [{**record, **{name: factor * record[name] for name in times}} for record in TRUTH["triage"]]
        ran = checked(sent, truth_file(tmp_path, "triage", truth))
        assert _problems(ran, "triage/ground-truth") == found
    hidden = checked(sent, truth_file(tmp_path, "triage", truth), "--participant")
    assert _problems(hidden, "triage/ground-truth") == []


@pytest.mark.parametrize("with_truth", [True, False])
def test_documents_that_are_not_ready(checked: Call, tmp_path: Path, with_truth: bool) -> None:
    """Rows of the manifest that are not ready, and remote backends, are reported with and without labels."""
    rows = [{**listed("P-1"), "label_status": "todo"}, {**listed("P-2"), "pii_checked": "no"}]
    true = [rx("P-1", drug("Losartán")), rx("P-2", drug("Insulina"))]
    proof = evidence(1, ("P-1", "measured"))
    proof["offline_runs"][0]["backend"] = "OpenAI API"
    files = [
        write(tmp_path, "extraction/manifest", rows, "csv"),
        write(tmp_path, "extraction/prescription-predictions", [read(label) for label in true]),
        *document(tmp_path, "evidence", proof),
    ]
    if with_truth:
        files.append(write(tmp_path, "extraction/prescription-labels", true))
    ran = checked(*files)
    statuses(ran)
    (manifest,) = one(ran, "extraction/manifest")["problems"]
    assert manifest["message"] == (
        "2 documents of the manifest are not ready (label_status todo: 1, pii_checked no: 1)"
    )
    (backend,) = one(ran, "extraction/evidence")["problems"]
    assert backend["message"].startswith("1 offline run names a remote or hosted backend")
    assert {manifest["code"], backend["code"]} == {"MC503"}
    assert {manifest["severity"], backend["severity"]} == {"warning"}


ALL_WRONG: dict[str, tuple[list[Record], str]] = {
    "reports": (
        [answer(true, specialty="Other", urgency="Routine" if true["urgency"] != "Routine" else "Urgent",
                follow_up=False) for true in TRUTH["reports"]],
        "accuracy_score",
    ),
    "triage": ([response(true, "bleeding" if "airway" in json.dumps(true) else "airway") for true in TRUTH["triage"]],
               "mean_jaccard_index"),
    "lesions": ([guess(true["image_id"], "NV" if true["label"] != "NV" else "MEL") for true in TRUTH["lesions"]],
                "prediction_score"),
    "extraction": ([read_rx(true["doc_id"], drug("Agua")) for true in TRUTH["extraction"]], "mean_accuracy"),
    "benchmark": ([says(true["sample_id"], answer="no", diagnosis="none") for true in TRUTH["benchmark"]],
                  "clinical_accuracy"),
}  # fmt: skip
"""Valid submissions in which everything is wrong, and the figure that is 0."""


@pytest.mark.parametrize("track", TRACKS)
def test_a_headline_of_0(check: Call, checked: Call, tmp_path: Path, track: str) -> None:
    """A valid submission that gets nothing right is a warning, with the figure."""
    records, figure = ALL_WRONG[track]
    files = sent_file(tmp_path, track, records), truth_file(tmp_path, track), *beside_files(tmp_path, track)
    ran = checked(*files)
    assert codes(one(ran, "score")) == ["MC504"]
    assert one(ran, "score")["problems"][0]["message"] == f"{figure} is 0"
    assert f"warning MC504 {figure} is 0" in check(*files, "--participant").out
    assert codes(one(checked(*all_files(tmp_path, track)), "score")) == []


def _scientific(track: str) -> list[Record]:
    """The right answers, two of them with ids that a spreadsheet changed."""
    changed = [{**record, KEYS[track]: f"1.{n}E+05"} for n, record in enumerate(SENT[track][:2])]
    return [*changed, *SENT[track][2:]]


UNPARSED = [{**each, "parse_success": False, "medicamentos": []} for each in SENT["extraction"]]
REMARKS: dict[str, tuple[str, list[Record], list[str]]] = {
    "groups in another case": ("triage", predicted("AIRWAY", "BLEEDING"), ["MC404", "MC502", "MC504"]),
    "other groups": ("triage", predicted("x"), ["MC404", "MC504"]),
    "one group in another case": ("triage", predicted("AIRWAY", "bleeding"), ["MC502"]),
    "names without a label": ("extraction", ALL_WRONG["extraction"][0], ["MC404", "MC504"]),
    "nothing parsed": ("extraction", UNPARSED, ["MC403", "MC504"]),
    "scientific notation": ("lesions", _scientific("lesions"), ["MC503"]),
    "scientific notation of one of two ids": ("benchmark", _scientific("benchmark"), ["MC503"]),
    **{f"wrong {track}": (track, ALL_WRONG[track][0], ["MC504"]) for track in ("reports", "lesions", "benchmark")},
    **{f"right {track}": (track, SENT[track], []) for track in TRACKS},
}
"""Submissions, and the codes of what looks wrong in them."""


@pytest.mark.parametrize("case", REMARKS)
def test_same_remarks_in_all_commands(call: Call, checked: Call, tmp_path: Path, case: str) -> None:
    """What `preflight` finds suspicious in the answers, `score` and `leaderboard` report as warnings."""
    track, records, expected = REMARKS[case]
    truth, sent = truth_file(tmp_path, track), sent_file(tmp_path, track, records)
    remarked = {"MC403", "MC404", "MC502", "MC503", "MC504"}
    for more in ((), ("--participant",)):
        visible = [code for code in expected if not more or code != "MC502"]
        found = {problem["code"] for each in checked(truth, sent, *more).json["checks"] for problem in each["problems"]}
        assert sorted(found & remarked) == visible
        for jobs in (1, 2):
            score = call("score", truth, sent, "--format", "json", "--jobs", jobs, *more).json
            board = call("leaderboard", truth, sent, "--format", "json", "--jobs", jobs, *more).json
            for warnings in (score["warnings"], board["submissions"][0]["warnings"]):
                assert sorted(text[:5] for text in warnings if text[:5] in remarked) == visible
    for text in score["warnings"]:
        assert "AIRWAY" not in text


@pytest.mark.parametrize(("case", "says"), [
    ("groups in another case", "MC404 none of the predicted groups occurs in the truth: check how they are written"),
    ("names without a label", "MC404 none of the predicted items is labeled in its prescription document: "),
    ("nothing parsed", "MC403 no prescription document was parsed: 'parse_success' is false or there is an"),
    ("scientific notation", "MC503 2 unknown ids in scientific notation, such as 1.2E+05: a spreadsheet changed them"),
])  # fmt: skip
def test_remarks_in_a_score(call: Call, checked: Call, tmp_path: Path, case: str, says: str) -> None:
    track, records, _ = REMARKS[case]
    files = truth_file(tmp_path, track), sent_file(tmp_path, track, records)
    assert f"warning: {says}" in call("score", *files).out
    assert says.partition(": ")[0].partition(" ")[2] in checked(*files).out


def test_nothing_parsed_without_a_truth(checked: Call, tmp_path: Path) -> None:
    """It is named as such, in place of a submission that predicts no names."""
    ran = checked(sent_file(tmp_path, "extraction", UNPARSED))
    (problem,) = one(ran, "answers")["problems"]
    assert problem["message"].startswith("no prescription document was parsed")
    one_parsed = sent_file(tmp_path, "extraction", [SENT["extraction"][0], *UNPARSED[1:]])
    assert one(checked(one_parsed), "answers")["problems"] == []


def test_hint_for_scientific_notation(call: Call, tmp_path: Path) -> None:
    """Each unknown id says so, with a decimal comma, too; an id that only resembles it does not."""
    others = [{**SENT["lesions"][n], "image_id": name} for n, name in ((2, "1E5"), (3, "1,2E+05"))]
    records = [*_scientific("lesions"), *others]
    files = truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions", records)
    unknown = [each for each in call("score", *files, "--format", "json").json["problems"] if each["code"] == "MC303"]
    assert ["scientific notation" in each["hint"] for each in unknown] == [True, True, False, True]


class Occurs(NamedTuple):
    severity: str
    files: Callable[[Path], list[Any]]


ANSWER_CODES: dict[str, Occurs] = {
    "MC403": Occurs("error", lambda folder: [empty(folder, "triage")]),
    "MC404": Occurs("error", lambda f: [sent_file(f, "triage", predicted("x")), truth_file(f, "triage")]),
    "MC502": Occurs("warning", lambda f: [sent_file(f, "triage", predicted("airway ")), truth_file(f, "triage")]),
    "MC503": Occurs("warning", lambda f: [
        sent_file(f, "triage", [{**each, "end_of_case": False} for each in SENT["triage"]]), list_file(f, "triage"),
    ]),
    "MC504": Occurs("warning", lambda f: [sent_file(f, "triage", predicted()), truth_file(f, "triage")]),
    "MC506": Occurs("warning", lambda f: [
        sent_file(f, "extraction", [read_rx(true["doc_id"], *[drug(f"D{n}") for n in range(9)])
                                    for true in TRUTH["extraction"]]), truth_file(f, "extraction"),
    ]),
    "MC507": Occurs("warning", lambda f: [
        sent_file(f, "benchmark", [{**each, "prediction": {"answer": "As an AI, no"}} for each in SENT["benchmark"]]),
    ]),
    "MC513": Occurs("warning", lambda f: [put(f / "predictions.json", "lesions/truth", TRUTH["lesions"])]),
    "MC508": Occurs("warning", lambda f: [sent_file(f, "triage", predicted("airway"))]),
}  # fmt: skip
"""Files that have a code which no file alone can have."""


@pytest.mark.parametrize("code", ANSWER_CODES)
def test_code_occurs(check: Call, checked: Call, tmp_path: Path, code: str) -> None:
    """Each code occurs in JSON and in text; only errors make the submission not ready."""
    severity, files = ANSWER_CODES[code]
    paths = files(tmp_path)
    ran = checked(*paths)
    found = {problem["code"]: problem["severity"] for each in ran.json["checks"] for problem in each["problems"]}
    assert found[code] == severity
    assert f"{severity} {code}" in check(*paths).out
    assert medcontract.explain(code)


# --- what was not checked --------------------------------------------------------------------------


@pytest.mark.parametrize("track", TRACKS)
def test_what_was_not_checked(check: Call, checked: Call, tmp_path: Path, track: str) -> None:
    """Without a truth the text ends with a list of what was not checked, each with the file that would allow it."""
    sent = sent_file(tmp_path, track)
    skipped = [each for each in checked(sent).json["checks"] if each["status"] == "skipped"]
    out = check(sent).out
    shown = out.partition("\nNot checked:\n")[2].splitlines()[:-2]
    assert shown == [f"skip  {each['title']}: {each['detail']}" for each in skipped]
    assert "skip" not in out.partition("\nNot checked:\n")[0]
    assert any("needs a truth" in line for line in shown)


# --- participants ----------------------------------------------------------------------------------

MARK = "Zq7"


def marked_truth(track: str) -> list[Record]:
    """The truth with markers in its ids, and in labels where the contract allows any text."""
    changes: dict[str, Callable[[Record], Record]] = {
        "triage": lambda true: {
            **true, "gt_lsi_list": [{**lsi, "lsi_group": f"{MARK}{lsi['lsi_group']}"} for lsi in true["gt_lsi_list"]],
        },
        "extraction": lambda true: {
            **true, "medications": [{**each, "nombre_medicamento": f"{MARK}ina"} for each in true["medications"]],
        },
        "benchmark": lambda true: {**true, "reference": {"answer": f"{MARK}itis", "diagnosis": f"{MARK}itis"}},
    }  # fmt: skip
    found = [changes.get(track, dict)(true) for true in TRUTH[track]]
    return [*found[:-1], {**found[-1], KEYS[track]: f"{MARK}-1"}]


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("format_", ["text", "json"])
@pytest.mark.parametrize("terminal", [True, False])
def test_participants_see_no_vocabulary(
    call: Call, tmp_path: Path, track: str, format_: str, terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --participant no id or label of the truth is printed, whether the submission is near to it or not."""
    if terminal:
        on_a_terminal(monkeypatch)
    truth = truth_file(tmp_path, track, marked_truth(track))
    key = KEYS[track]
    near = [*SENT[track][:-1], {**SENT[track][-1], key: f"{MARK}-1".lower()}]
    spelled = [{**record, "model_predictions": [f"{MARK}AIRWAY"]} for record in near] if track == "triage" else near
    sent = sent_file(tmp_path, track, near)
    assert MARK in call("score", sent, truth, "--show-values", "--format", format_).out  # it is there to be revealed
    for records in (SENT[track], near, spelled, [], [{**SENT[track][0], "x": 1}]):
        sent = sent_file(tmp_path, track, records)
        for command in (["preflight"], ["score"], ["leaderboard"]):
            order = [truth, sent] if command == ["leaderboard"] else [sent, truth]
            more = ["--show-values"] if command != ["leaderboard"] else []
            ran = call(*command, *order, "--participant", "--format", format_, *more)
            assert MARK not in ran.out.replace(f"{MARK}AIRWAY", "") + ran.err


# --- files that do not belong together, and records without answers --------------------------------


@pytest.mark.parametrize("track", ["reports", "lesions"])
@pytest.mark.parametrize("with_truth", [True, False])
def test_files_of_different_teams(checked: Call, tmp_path: Path, track: str, with_truth: bool) -> None:
    """Telemetry or a model file of another team is a warning, also without a truth."""
    files = [sent_file(tmp_path, track), *beside_files(tmp_path, track, team_name="Another team")]
    files += [truth_file(tmp_path, track)] if with_truth else []
    ran = checked(*files)
    check = one(ran, "between-files")
    (problem,) = check["problems"]
    assert (ran.code, check["status"]) == (0, "passed")
    assert (problem["code"], problem["severity"]) == ("MC503", "warning")
    assert problem["message"] == "the files name different teams"
    assert "Another team" not in ran.out


@pytest.mark.parametrize(("blank", "severity"), [(20, "error"), (10, "warning"), (9, None)])
def test_blank_predictions(checked: Call, tmp_path: Path, blank: int, severity: str | None) -> None:
    """Predictions that are all blank fail; half of them are a warning."""
    records = [{**record, "prediction": {"answer": " "}} for record in SENT["benchmark"][:blank]]
    sent = sent_file(tmp_path, "benchmark", [*records, *SENT["benchmark"][blank:]])
    ran = checked(sent, truth_file(tmp_path, "benchmark"))
    found = one(ran, "benchmark/predictions")["problems"]
    assert [problem["severity"] for problem in found] == [severity] * (severity is not None)
    assert ran.json["ready"] is (severity != "error")


def test_scores_and_entities_are_answers(checked: Call, tmp_path: Path) -> None:
    """A record with scores, or with entities, even none, contains an answer."""
    without = [{**record, "prediction": {}, "scores": {"helpfulness": 0.5}} for record in SENT["benchmark"][:10]]
    without += [{**record, "prediction": {"entities": {}}} for record in SENT["benchmark"][10:]]
    ran = checked(sent_file(tmp_path, "benchmark", without), truth_file(tmp_path, "benchmark"))
    assert one(ran, "benchmark/predictions")["problems"] == []


def test_a_header_that_cannot_be_read(checked: Call, tmp_path: Path) -> None:
    """Header fields are not called missing if the file has errors outside of its records."""
    sent = sent_file(tmp_path, "triage")
    value = json.loads(sent.read_text("utf-8"))
    sent.write_text(json.dumps({**value, "responses": {"C-0": value["responses"]}}), "utf-8")
    ran = checked(sent, truth_file(tmp_path, "triage"))
    assert one(ran, "header") == {
        "id": "header", "title": "The header fields of the result are present", "status": "skipped",
        "detail": "needs a header without errors", "problems": [],
    }  # fmt: skip
