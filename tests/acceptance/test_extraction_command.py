"""Extraction through the whole command: the 2 % rule, gates at their borders, rankings, preflight, workers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.test_leaderboard import names
from tests.acceptance.test_preflight import codes, one, statuses
from tests.commands import Call, keeps, sent_file, truth_file
from tests.scoring_files import (
    CONTRACTS,
    LABS,
    Record,
    document,
    drug,
    evidence,
    lab,
    labs,
    listed,
    pipeline_run,
    read,
    read_labs,
    read_rx,
    rx,
    write,
)

from medcontract.reading import chunks

RX, RX_READ, _ = CONTRACTS["extraction"]
LAB, LAB_READ = LABS
Result = Callable[..., Any]


@pytest.fixture
def result(call: Call) -> Result:
    """The result of `medcontract score`."""

    def of(*arguments: object) -> Any:
        return call("score", *arguments, "--result-only").json

    return of


# --- the 2 % rule --------------------------------------------------------------------------------


ZEROS, NINES = "0" * 400, "9" * 6000
"""The latter has more digits than Python turns into an int at once."""


@pytest.mark.parametrize(("label", "got", "right"), [
    (f"1{ZEROS}", f"102{ZEROS[2:]}", True),
    (f"1{ZEROS}", f"102{ZEROS[3:]}1", False),
    (f"0.{ZEROS}1", f"0.{ZEROS}102", True),
    (f"0.{ZEROS}1", f"0.{ZEROS}10201", False),
    (NINES, f"{NINES}.5", True),
    (NINES, f"1{NINES}", False),
    (f"-{NINES}", NINES, False),
], ids=range(7))  # fmt: skip
def test_two_percent_of_long_numbers(result: Result, tmp_path: Path, label: str, got: str, right: bool) -> None:
    """Numbers are compared as decimals, whatever their length."""
    files = (
        write(tmp_path, LAB, [labs("L", lab("A", label))]),
        write(tmp_path, LAB_READ, [read_labs("L", lab("A", got))]),
    )
    (row,) = result(*files)["documents"]
    assert (row["correct_fields"], row["total_fields"]) == (3 if right else 2, 3)


def test_another_tolerance(result: Result, tmp_path: Path) -> None:
    """The 2 % are a parameter, in decimal too."""
    files = (
        write(tmp_path, LAB, [labs("L", lab("A", "1"))]),
        write(tmp_path, LAB_READ, [read_labs("L", lab("A", "1.3"))]),
    )
    for tolerance, right in (("0.3", 3), ("0.29999", 2), ("0", 2)):
        (row,) = result(*files, "--parameter", f"value_tolerance={tolerance}")["documents"]
        assert row["correct_fields"] == right


@pytest.mark.parametrize(("rango", "counted"), [("", 3), (" ", 3), ("\u00a0\t", 3), ("*", 3), ("(-)", 3), ("-1", 4)])
def test_blank_ranges(result: Result, tmp_path: Path, rango: str, counted: int) -> None:
    """A range counts when its label is more than blanks and marks, whatever was read."""
    for got in (rango, "70-110"):
        files = (
            write(tmp_path, LAB, [labs("L", lab("A", "1", rango=rango))]),
            write(tmp_path, LAB_READ, [read_labs("L", lab("A", "1", rango=got))]),
        )
        (row,) = result(*files)["documents"]
        right = counted - (got != rango and counted == 4)
        assert (row["correct_fields"], row["total_fields"]) == (right, counted)


# --- gates ---------------------------------------------------------------------------------------


def made(
    folder: Path,
    truth: Sequence[Record],
    sent: Sequence[Record],
    runs: Sequence[Record] | None = None,
    proofs: Record | None = None,
    manifest: Sequence[Record] | None = None,
) -> list[str]:
    """Files of everything that is given."""
    folder.mkdir(parents=True, exist_ok=True)
    groups = {
        RX: [label for label in truth if label["doc_type"] == "prescription"],
        LAB: [label for label in truth if label["doc_type"] == "lab"],
        RX_READ: [record for record in sent if "medicamentos" in record],
        LAB_READ: [record for record in sent if "resultados" in record],
    }
    found = [f"{contract}={write(folder, contract, records)}" for contract, records in groups.items() if records]
    if runs is not None:
        found.append(f"extraction/runs={write(folder, 'extraction/runs', runs)}")
    if manifest is not None:
        found.append(f"extraction/manifest={write(folder, 'extraction/manifest', manifest)}")
    return found + list(map(str, document(folder, "evidence", proofs)))


PAIR = [rx("P", drug("Losartán", "50 mg")), labs("L", lab("Glucosa", "100"))]
RIGHT = [read(label) for label in PAIR]
FIVE = [pipeline_run(number) for number in range(5)]
PROOFS = evidence(1, ("P", "measured"), ("L", "measured"))
MANIFEST = [listed("P"), listed("L", "lab")]
EVERYTHING: dict[str, Any] = {"runs": FIVE, "proofs": PROOFS, "manifest": MANIFEST}


def gate(found: Any, name: str) -> tuple[float | None, bool | None]:
    (one_gate,) = [each for each in found["gates"] if each["gate"] == name]
    return one_gate["measured"], one_gate["passed"]


def test_go(call: Call, tmp_path: Path) -> None:
    """Exit 0 and GO on top, where all six gates are passed."""
    files = made(tmp_path, PAIR, RIGHT, **EVERYTHING)
    ran = call("score", *files)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("GO\nVALID  extraction")
    assert call("score", *files, "--participant").code == 0
    assert call("score", *files, "--format", "markdown").out.splitlines()[2].startswith("**GO**. Valid.")


@pytest.mark.parametrize("change", [
    {"runs": None}, {"proofs": None}, {"manifest": None}, {"runs": FIVE[1:]}, {"manifest": MANIFEST[1:]},
    {"proofs": evidence(0, ("P", "measured"), ("L", "measured"))}, {"proofs": evidence(1, ("P", "measured"))},
    {"proofs": evidence(1, ("P", "measured"), ("P", "measured"))}, {"runs": []},
    {"runs": [*FIVE, pipeline_run(5, valid_items=0)]}, {"truth": PAIR[:1]}, {"truth": PAIR[1:]},
    {"sent": RIGHT[:1]}, {"runs": [*FIVE, pipeline_run(9, "evaluation", exception="killed")]},
])  # fmt: skip
def test_one_gate_is_enough_for_no_go(call: Call, tmp_path: Path, change: Record) -> None:
    """Exit 1 and NO-GO, whichever of the gates is not passed or cannot be judged."""
    given = {"truth": PAIR, "sent": RIGHT, **EVERYTHING, **change}
    ran = call("score", *made(tmp_path, **given), "--result-only", "--parameter", "min_processed=0")
    assert (ran.code, ran.json["decision"]) == (1, "NO-GO")
    assert [each["passed"] for each in ran.json["gates"]].count(True) < 6


@pytest.mark.parametrize(("there", "measured", "passed"), [(17, 85.0, True), (16, 80.0, False), (20, 100.0, True)])
def test_the_border_of_prescriptions(result: Result, tmp_path: Path, there: int, measured: float, passed: bool) -> None:
    """85 % are enough."""
    truth = [rx(f"P-{n}", drug("Losartán", "50 mg")) for n in range(20)]
    found = result(*made(tmp_path, truth, [read(label) for label in truth[:there]]))
    assert gate(found, "prescription_accuracy") == (measured, passed)


@pytest.mark.parametrize(("there", "measured", "passed"), [(3, 75.0, True), (2, 50.0, False)])
def test_the_border_of_laboratory_reports(
    result: Result, tmp_path: Path, there: int, measured: float, passed: bool
) -> None:
    """75 % are enough."""
    truth = [labs(f"L-{n}", lab("Glucosa", "1")) for n in range(4)]
    found = result(*made(tmp_path, truth, [read(label) for label in truth[:there]]))
    assert gate(found, "lab_accuracy") == (measured, passed)


@pytest.mark.parametrize(("there", "passed"), [(9, True), (8, False)])
@pytest.mark.parametrize("from_runs", [True, False])
def test_the_border_of_the_pipeline(result: Result, tmp_path: Path, there: int, passed: bool, from_runs: bool) -> None:
    """90 % are enough, over runs or over documents."""
    truth = [rx(f"P-{n}", drug("Losartán")) for n in range(10)]
    sent = [read(label, parse_success=from_runs or n < there) for n, label in enumerate(truth)]
    runs = [pipeline_run(n, "evaluation", parse_success=n < there) for n in range(10)] if from_runs else None
    assert gate(result(*made(tmp_path, truth, sent, runs)), "pipeline_success_rate") == (10.0 * there, passed)


def test_runs_without_evaluation(result: Result, tmp_path: Path) -> None:
    """Where the runs file has no evaluation runs, documents count: one without a valid record failed."""
    assert gate(result(*made(tmp_path, PAIR, RIGHT[:1], FIVE)), "pipeline_success_rate") == (50.0, False)


@pytest.mark.parametrize("name", ["", " ", "\u00a0\t"])
def test_a_document_with_blank_names_only(result: Result, tmp_path: Path, name: str) -> None:
    """It has no valid item: its run failed. A mark is not blank, though no name equals it."""
    truth = [rx("P", drug("Losartán"))]
    failed = result(*made(tmp_path, truth, [read_rx("P", drug(name))]))
    assert gate(failed, "pipeline_success_rate") == (0.0, False)
    marked = result(*made(tmp_path, truth, [read_rx("P", drug(name), drug("***"))]))
    assert gate(marked, "pipeline_success_rate") == (100.0, True)


def test_a_record_of_the_other_kind(result: Result, tmp_path: Path) -> None:
    """A laboratory prediction says nothing of a prescription of the same id."""
    sent = [read_labs("P", lab("Losartán", "50 mg")), RIGHT[1]]
    found = result(*made(tmp_path, PAIR, sent))
    assert (found["prescription_accuracy"], found["lab_accuracy"]) == (0, 100)
    assert result(*made(tmp_path, PAIR, [*RIGHT, read_labs("P", lab("X", "1"))]))["prescription_accuracy"] == 100


@pytest.mark.parametrize(("extra", "passed"), [({}, True), ({"restarted": True}, True), ({"valid_items": 0}, False)])
def test_reliability_is_of_the_last_five(result: Result, tmp_path: Path, extra: Record, passed: bool) -> None:
    """What was before the last five does not matter; the first of these may have been restarted."""
    runs = [pipeline_run(8, parse_success=False, code_version="0"), {**FIVE[0], **extra}, *FIVE[1:]]
    runs.insert(3, pipeline_run(9, "evaluation", restarted=True, code_version="7"))
    assert gate(result(*made(tmp_path, PAIR, RIGHT, runs)), "reliability") == (5.0 if passed else 4.0, passed)


def test_reliability_by_the_clock(result: Result, tmp_path: Path) -> None:
    """Instants are compared, not texts; with one local time among them, the order of the file holds."""
    times = ["2026-05-01T10:00:00+09:00", "2026-05-01T02:00:00Z", "2026-05-01 02:00:00.5Z", "2026-05-01T01:30:00-01:00",
             "2026-05-01T00:00:00-03:00", "2026-05-02T00:00:00Z"]  # fmt: skip
    runs = [pipeline_run(n, started_at=time, parse_success=n != 0) for n, time in enumerate(times)]
    for seed in range(5):
        random.Random(seed).shuffle(runs)
        assert gate(result(*made(tmp_path, PAIR, RIGHT, runs)), "reliability") == (5.0, True)
    runs.sort(key=lambda run: run["run_id"] == "R-0")
    assert gate(result(*made(tmp_path, PAIR, RIGHT, runs)), "reliability") == (5.0, True)
    runs[2]["started_at"] = "2026-05-01"
    assert gate(result(*made(tmp_path, PAIR, RIGHT, runs)), "reliability") == (4.0, False)


def test_reliability_by_a_fine_clock(result: Result, tmp_path: Path) -> None:
    """A second may have any number of digits."""
    runs = [pipeline_run(n, started_at=f"2026-05-01T10:00:00.00000000{n}Z", parse_success=n != 0) for n in range(6)]
    assert gate(result(*made(tmp_path, PAIR, RIGHT, runs[::-1])), "reliability") == (5.0, True)


def test_gates_compare_rounded_figures(result: Result, tmp_path: Path) -> None:
    """Two of three are the double 66.66666666666667, which reaches a goal of that number (principle 4: limits)."""
    truth = [rx(f"P-{n}", drug("Losartán")) for n in range(3)]
    files = made(tmp_path, truth, [read(label) for label in truth[:2]])
    found = result(*files, "--parameter", "goal_prescription_accuracy=66.66666666666667")
    assert gate(found, "prescription_accuracy") == (66.66666666666667, True)


def test_goals_are_parameters(call: Call, tmp_path: Path) -> None:
    """Lower goals let it pass, under another fingerprint."""
    files = made(tmp_path, PAIR, RIGHT, FIVE[1:], PROOFS, MANIFEST)
    usual = call("score", *files, "--format", "json")
    assert usual.json["result"]["decision"] == "NO-GO"
    other = call("score", *files, "--format", "json", "--parameter", "goal_lab_accuracy=10")
    assert other.json["protocol"]["fingerprint"] != usual.json["protocol"]["fingerprint"]
    assert other.json["result"]["gates"][1]["goal"] == 10


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("runs", [{**FIVE[0], "valid_items": -1}]), ("runs", [FIVE[0], FIVE[0]]),
        ("runs", [{**FIVE[0], "started_at": "2026-02-30"}]), ("manifest", [MANIFEST[0], MANIFEST[0]]),
        ("manifest", [{**MANIFEST[0], "doc_type": "photo"}]), ("proofs", {**PROOFS, "x": 1}),
        ("proofs", {"offline_runs": []}),
    ],
)  # fmt: skip
def test_auxiliary_files_with_errors(call: Call, tmp_path: Path, name: str, content: Any) -> None:
    """Runs, manifest or evidence with errors refuse the score outright: no result, and the file is named."""
    ran = call("score", *made(tmp_path, PAIR, RIGHT, **{**EVERYTHING, name: content}), "--format", "json")
    envelope = keeps(ran.out, "medcontract/score")
    assert ran.code == 1
    assert (envelope["valid"], envelope["result"], envelope["processing"]) == (False, None, None)
    assert {"proofs": "evidence"}.get(name, name) in envelope["reasons"][0]


def test_the_gate_counts_both_kinds_together(call: Call, tmp_path: Path) -> None:
    """19 of 20 documents pass, though of 2 laboratory reports only one is there."""
    truth = [rx(f"P-{n:02}", drug("Losartán")) for n in range(18)] + [labs(f"L-{n}", lab("A", "1")) for n in range(2)]
    sent = [read(label) for label in truth]
    ran = call("score", *made(tmp_path, truth, sent[:19]), "--format", "json").json
    assert (ran["valid"], ran["processing"]["processed"], ran["result"]["lab_accuracy"]) == (True, 19, 50)
    ran = call("score", *made(tmp_path, truth, sent[:18]), "--format", "json").json
    assert (ran["valid"], ran["result"]["decision"], ran["result"]["lab_accuracy"]) == (False, "NO-GO", 0)


# --- rankings ------------------------------------------------------------------------------------

TEN = [rx(f"P-{n}", drug("Losartán", "50 mg"), drug("Insulina")) for n in range(10)]
TEN_LABS = [labs(f"L-{n}", lab("Glucosa", "100")) for n in range(10)]


def entry(folder: Path, right: int, of_labs: int = 10, **referenced: Any) -> Path:
    """A submission with that many documents of each kind right, and the others read as nothing."""
    sent = [read(label) if n < right else read_rx(label["doc_id"]) for n, label in enumerate(TEN)]
    sent += [read(label) if n < of_labs else read_labs(label["doc_id"]) for n, label in enumerate(TEN_LABS)]
    made(folder, [], sent, **referenced)
    return folder


def truth_of(folder: Path) -> Path:
    made(folder / "labels", [*TEN, *TEN_LABS], [])
    return folder / "labels"


def test_ranking(call: Call, tmp_path: Path) -> None:
    """By the mean of both accuracies, ties share a rank; NO-GO is ranked, what is below the gate is not."""
    folders = [
        entry(tmp_path / "b", 9, 5),
        entry(tmp_path / "a", 5, 9),
        entry(tmp_path / "c", 10),
        entry(tmp_path / "d", 0, 0),
    ]
    made(tmp_path / "z", [], [read(label) for label in TEN])
    ran = call("leaderboard", truth_of(tmp_path), *folders, tmp_path / "z", "--format", "json")
    envelope = keeps(ran.out, "medcontract/leaderboard")
    assert (ran.code, envelope["headline"]) == (0, "mean_accuracy")
    assert names(envelope) == [(1, "c"), (2, "a"), (2, "b"), (4, "d"), (None, "z")]
    assert [each["headline"] for each in envelope["submissions"]] == [100, 70, 70, 0, None]
    assert [each["valid"] for each in envelope["submissions"]] == [True, True, True, True, False]
    assert "50 % processed" in envelope["submissions"][4]["reasons"][0]
    figures = envelope["submissions"][1]["figures"]
    assert (figures["prescription_accuracy"], figures["lab_accuracy"]) == (50, 90)
    assert not {"documents", "score", "recall"} & set(figures)


def test_ranking_of_one_kind(call: Call, tmp_path: Path) -> None:
    """With labels of one kind only, the mean is the mean of this kind."""
    made(tmp_path / "labels", TEN, [])
    folders = [entry(tmp_path / "a", 5), entry(tmp_path / "b", 7)]
    envelope = call("leaderboard", tmp_path / "labels", *folders, "--format", "json").json
    assert [(each["name"], each["headline"]) for each in envelope["submissions"]] == [("b", 70), ("a", 50)]


def test_ranking_with_gates(call: Call, tmp_path: Path) -> None:
    """A GO and a NO-GO of the same accuracies: gates are no part of the ranking, so they share a rank."""
    folders = [
        entry(tmp_path / "b", 10, runs=FIVE, proofs=evidence(1, ("P-1", "measured"), ("P-2", "measured")),
              manifest=[listed("P-1"), listed("P-2")]),
        entry(tmp_path / "a", 10),
    ]  # fmt: skip
    ran = call("leaderboard", truth_of(tmp_path), *folders, "--format", "json")
    assert names(ran.json) == [(1, "a"), (1, "b")]
    assert ran.code == 0


def test_a_ranking_tells_no_documents(call: Call, tmp_path: Path) -> None:
    """No id of a document and nothing printed in one is in a ranking."""
    truth, folder = truth_of(tmp_path), entry(tmp_path / "a", 5)
    for format_ in ("text", "json", "markdown"):
        for extra in ((), ("--participant",), ("--show-values",)):
            out = call("leaderboard", truth, folder, "--format", format_, *extra).out
            assert [word for word in ("P-1", "L-1", "Losart", "Glucosa", "mend") if word in out] == []


def test_a_broken_evidence_file(call: Call, tmp_path: Path) -> None:
    """It refuses its own submission only."""
    bad, good = entry(tmp_path / "bad", 10, proofs={**PROOFS, "x": 1}), entry(tmp_path / "good", 5)
    envelope = call("leaderboard", truth_of(tmp_path), bad, good, "--format", "json").json
    assert names(envelope) == [(1, "good"), (None, "bad")]
    assert "evidence.json" in envelope["submissions"][1]["reasons"][0]


# --- preflight -----------------------------------------------------------------------------------

GATES = ("pipeline_success_rate", "reliability", "offline_evidence", "standout_proofs")


@pytest.fixture
def checked(call: Call) -> Call:
    """`medcontract preflight` as JSON."""
    return partial(call, "preflight", "--format", "json")


def test_ready(call: Call, checked: Call, tmp_path: Path) -> None:
    """With everything, and GO: READY."""
    runs = [*FIVE, pipeline_run(9, "evaluation")]
    files = made(tmp_path, PAIR, RIGHT, **{**EVERYTHING, "runs": runs})
    assert set(statuses(checked(*files)).values()) == {"passed"}
    assert call("preflight", *files).out.splitlines()[-1] == "READY."
    assert checked(*files).json["score"]["result"]["decision"] == "GO"


def test_gates_without_labels(checked: Call, tmp_path: Path) -> None:
    """What needs no labels is judged without them; a participant is told of what is missing."""
    runs = [*FIVE, pipeline_run(9, "evaluation")]
    ran = checked(*made(tmp_path, [], RIGHT, runs, PROOFS, MANIFEST))
    found = statuses(ran)
    assert {found[name] for name in GATES} == {"passed"}
    assert (found["coverage"], found["gate"], found["score"]) == ("passed", "passed", "skipped")
    assert ran.json["ready"] is True


@pytest.mark.parametrize(("given", "wanted"), [
    ({}, ("skipped", "skipped", "skipped", "skipped")),
    ({"runs": FIVE}, ("skipped", "passed", "skipped", "skipped")),
    ({"runs": [pipeline_run(9, "evaluation")]}, ("passed", "failed", "skipped", "skipped")),
    ({"runs": [*FIVE, pipeline_run(9, "evaluation", valid_items=0)]}, ("failed", "passed", "skipped", "skipped")),
    ({"proofs": PROOFS}, ("skipped", "skipped", "passed", "skipped")),
    ({"proofs": PROOFS, "manifest": MANIFEST}, ("skipped", "skipped", "passed", "passed")),
    ({"proofs": PROOFS, "manifest": MANIFEST[:1]}, ("skipped", "skipped", "passed", "failed")),
    ({"proofs": evidence(0), "manifest": MANIFEST}, ("skipped", "skipped", "failed", "failed")),
    ({"manifest": MANIFEST}, ("skipped", "skipped", "skipped", "skipped")),
])  # fmt: skip
def test_gates_that_can_be_judged(checked: Call, tmp_path: Path, given: Record, wanted: tuple[str, ...]) -> None:
    """Passed, failed, or not possible with the file that is missing; one that failed is NOT READY."""
    ran = checked(*made(tmp_path, [], RIGHT, **given))
    found = statuses(ran)
    assert tuple(found[name] for name in GATES) == wanted
    for name in GATES:
        if found[name] == "skipped":
            assert "manifest" in one(ran, name)["detail"] or "extraction/" in one(ran, name)["detail"]


def test_no_go_is_not_ready(call: Call, checked: Call, tmp_path: Path) -> None:
    """With labels, a NO-GO is NOT READY, and the score says so."""
    files = made(tmp_path, PAIR, [RIGHT[0], read_labs("L")], **EVERYTHING)
    ran = checked(*files)
    assert (statuses(ran)["score"], ran.json["score"]["valid"]) == ("failed", True)
    assert "NO-GO" in one(ran, "score")["detail"]
    text = call("preflight", *files)
    assert text.code == 1
    assert text.out.splitlines()[-1].startswith("NOT READY")


def test_gates_with_labels(checked: Call, tmp_path: Path) -> None:
    """With labels, accuracies can be judged, and the pipeline too, over documents: each gate is a check."""
    found = statuses(checked(*made(tmp_path, PAIR, [RIGHT[0], read_labs("L")])))
    wanted = {"prescription_accuracy": "passed", "lab_accuracy": "failed", "pipeline_success_rate": "failed"}
    assert {name: found.get(name) for name in wanted} == wanted


def test_the_manifest_says_what_is_expected(checked: Call, tmp_path: Path) -> None:
    """By kind: a prescription that was read as a laboratory report is missing, and of another id."""
    manifest = [*(listed(f"P-{n}") for n in range(10)), *(listed(f"L-{n}", "lab") for n in range(10))]
    sent = [read(label) for label in [*TEN, *TEN_LABS]]
    ran = checked(*made(tmp_path, [], sent, manifest=manifest))
    assert (statuses(ran)["coverage"], statuses(ran)["gate"]) == ("passed", "passed")
    assert "20 of 20" in one(ran, "gate")["detail"]
    moved = [*sent[1:], read_labs("P-0", lab("A", "1"))]
    ran = checked(*made(tmp_path, [], moved, manifest=manifest))
    assert (statuses(ran)["coverage"], statuses(ran)["gate"]) == ("failed", "passed")
    assert "1 without a record" in one(ran, "coverage")["detail"]
    ran = checked(*made(tmp_path, [], sent[:18], manifest=manifest))
    assert codes(one(ran, "gate")) == ["MC401"]


def test_labels_outside_the_manifest(checked: Call, tmp_path: Path) -> None:
    """A labeled document that the manifest lacks is a warning, and so is a proof: told, and passed."""
    ran = checked(*made(tmp_path, PAIR, RIGHT, **{**EVERYTHING, "manifest": MANIFEST[:1]}))
    found = statuses(ran)
    assert found["between-files"] == "passed"
    assert sorted(codes(one(ran, "between-files"))) == ["MC308", "MC309"]
    assert found["standout_proofs"] == "failed"


# --- workers -------------------------------------------------------------------------------------


def test_workers_with_fuzzy_names(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options of the protocol reach the workers."""
    monkeypatch.setattr(chunks, "SMALLEST", 4096)
    truth = [rx(f"P-{n:03}", drug("Acetaminofén")) for n in range(200)]
    sent = [read_rx(label["doc_id"], drug("Acetaminofem")) for label in truth]
    files = write(tmp_path, RX, truth, "jsonl"), write(tmp_path, RX_READ, sent, "jsonl")
    for match, accuracy in (("fuzzy", 100), ("exact", 0)):
        call_it = partial(call, "score", *files, "--match", match, "--format", "json")
        assert call_it("--jobs", "2").out == call_it().out
        assert json.loads(call_it().out)["result"]["prescription_accuracy"] == accuracy


def test_a_goal_that_is_not_to_be_changed(call: Call, tmp_path: Path) -> None:
    """Five runs, all of them: another number would change nothing but the fingerprint."""
    files = truth_file(tmp_path, "extraction"), sent_file(tmp_path, "extraction")
    assert call("score", *files, "--parameter", "goal_reliability=4").code == 2


def test_a_kind_without_predictions(call: Call, tmp_path: Path) -> None:
    """That a whole file is not there is said, not only that its documents are missing."""
    files = [truth_file(tmp_path, "extraction"), sent_file(tmp_path, "extraction")]
    assert "there is no file of" not in call("score", *files).out
    files.append(write(tmp_path, LABS[0], [labs("L", lab("A", "1"))], "jsonl"))
    assert (
        "there is no file of extraction/lab-predictions: its items count as not processed" in call("score", *files).out
    )
