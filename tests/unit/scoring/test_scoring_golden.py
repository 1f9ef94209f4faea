"""Scores worked out by hand: each formula of three tracks on data so small that the arithmetic fits a comment.

The expected numbers are fractions from the text of SCORING.md; none of them was printed by the code under test.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.scoring_files import (
    CLASSES,
    CONTRACTS,
    HEADERS,
    OFF,
    Record,
    answer,
    as_jsonl,
    assert_keeps_contract,
    case,
    document,
    drug,
    guess,
    image,
    model,
    no_answer,
    read,
    reference,
    repeats,
    report,
    response,
    result_of,
    run,
    rx,
    score_of,
    sure,
    telemetry,
    write,
)

import medcontract
from medcontract.contracts.contract import Validated
from medcontract.evaluation.files import GivenFiles
from medcontract.evaluation.result import score_result
from medcontract.evaluation.score import score_files
from medcontract.scoring.expected import Expected, validated
from medcontract.scoring.pairing import Pair, Pairing

F = Fraction


def codes(score: medcontract.Score) -> list[str]:
    """The codes of all problems that a score lists."""
    return [one.code for one in score.problems]


def processing(score: medcontract.Score) -> tuple[int, int]:
    """(processed, expected)."""
    assert score.processing is not None, score.reasons
    return score.processing.processed, score.processing.expected


def refused(score: medcontract.Score) -> bool:
    """No result, and a reason for it."""
    return not score.valid and score.result is None and bool(score.reasons)


# --- reports: the formulas -----------------------------------------------------------------------

THREE = [
    report("E", "Cardiology", "Emergency", True),
    report("U", "Oncology", "Urgent", False),
    report("R", "Other", "Routine", True),
]
RIGHT = [answer(true) for true in THREE]


def twenty() -> list[Record]:
    """20 reports: 10 Emergency, 5 Urgent, 5 Routine; 10 with a follow-up."""
    urgencies = ["Emergency"] * 10 + ["Urgent"] * 5 + ["Routine"] * 5
    return [report(f"R-{n:02}", "Neurology", urgency, n % 2 == 0) for n, urgency in enumerate(urgencies)]


def the_source_example() -> list[Record]:
    """Answers to `twenty` with the accuracies of the source's example.

    specialty: 3 of 20 wrong: 17/20 = 0.85.
    urgency: of 10 Emergency 2 are called Urgent, of 5 Urgent 2 are called Emergency, all Routine are right:
    F1(Emergency) = 16/(16+2+2) = 4/5, F1(Urgent) = 6/(6+2+2) = 3/5, F1(Routine) = 1;
    0.40·4/5 + 0.35·3/5 + 0.25·1 = 0.32 + 0.21 + 0.25 = 0.78.
    follow-up: of 10 true 1 is missed, of 10 false 1 is called true: 18/(18+1+1) = 0.90.
    """
    answers = [answer(true, 1.5) for true in twenty()]
    for number in (0, 7, 19):
        answers[number]["specialty"] = "Other"
    for number in (3, 4):
        answers[number]["urgency"] = "Urgent"
    for number in (10, 14):
        answers[number]["urgency"] = "Emergency"
    answers[6]["follow_up"] = False
    answers[11]["follow_up"] = True
    return answers


def test_the_example_of_the_source(tmp_path: Path) -> None:
    """Accuracies 0.85, 0.78, 0.90 with 1.5 s, 600 MB, 55 % give 58.5, 26.24, 84.74.

    (0.30·0.85 + 0.25·0.78 + 0.15·0.90)·100 = 25.5 + 19.5 + 13.5 = 58.5;
    30 − (1.5 − 1)·2 − (600 − 512)/50 − (55 − 50)/5 = 30 − 1 − 1.76 − 1 = 26.24.
    """
    result = result_of(tmp_path, "reports", twenty(), the_source_example(), telemetry(run("1", 600, 55)))
    figures = {
        "specialty_accuracy": 0.85, "urgency_f1": 0.78, "follow_up_f1": 0.90,
        "urgency_f1_by_class": {"Emergency": 0.8, "Urgent": 0.6, "Routine": 1.0},
        "avg_processing_time": 1.5, "max_memory_usage": 600.0, "avg_cpu_usage": 55.0,
        "time_penalty": 1.0, "memory_penalty": 1.76, "cpu_penalty": 1.0,
        "accuracy_score": 58.5, "performance_score": 26.24, "total_score": 84.74,
    }  # fmt: skip
    one_run = {**figures, "run_id": "1", "success_rate": 1.0, "valid": True, "reasons": []}
    assert result == {**figures, "runs": [one_run]}


def test_what_was_not_processed_is_wrong(tmp_path: Path) -> None:
    """One failed record of three: specialty 2/3; Emergency is a FN: F1 0; follow-up 2/(2+0+1) = 2/3.

    urgency 0.35 + 0.25 = 3/5; accuracy (3/10·2/3 + 1/4·3/5 + 3/20·2/3)·100 = 20 + 15 + 10 = 45.
    """
    sent = [no_answer("E"), *RIGHT[1:]]
    result = result_of(tmp_path, "reports", THREE, sent, telemetry(), OFF)
    assert result["specialty_accuracy"] == float(F(2, 3))
    assert result["urgency_f1_by_class"] == {"Emergency": 0.0, "Urgent": 1.0, "Routine": 1.0}
    assert result["urgency_f1"] == float(F(3, 5))
    assert result["follow_up_f1"] == float(F(2, 3))
    assert result["accuracy_score"] == 45.0
    assert result["runs"][0]["success_rate"] == float(F(2, 3))


def test_follow_up_that_was_not_processed(tmp_path: Path) -> None:
    """An unprocessed report whose truth is false is nothing to follow_up_f1: 4/(4+0+0) = 1."""
    sent = [RIGHT[0], no_answer("U"), RIGHT[2]]
    assert result_of(tmp_path, "reports", THREE, sent, None, OFF)["follow_up_f1"] == 1.0


def test_follow_up_without_any(tmp_path: Path) -> None:
    """No truth is true and none is called true: the denominator is 0 and so is F1, with a warning."""
    score = score_of(tmp_path, "reports", [THREE[1]], [RIGHT[1]])
    assert score.result is not None
    assert score.result["follow_up_f1"] == 0.0
    assert any("follow" in warning for warning in score.warnings)


def test_a_class_that_the_truth_lacks(tmp_path: Path) -> None:
    """Without an Urgent report F1(Urgent) is 0 for everybody, and a warning says so: 0.40 + 0.25 = 13/20."""
    score = score_of(tmp_path, "reports", [THREE[0], THREE[2]], [RIGHT[0], RIGHT[2]])
    assert score.result is not None
    assert score.result["urgency_f1"] == float(F(13, 20))
    assert [name for name in ("Emergency", "Urgent", "Routine") if name in " ".join(score.warnings)] == ["Urgent"]


def test_mean_time_over_processed_records(tmp_path: Path) -> None:
    """0.1 and 0.2 are doubles; their exact mean is rounded once. The time of a failed record does not count."""
    sent = [answer(THREE[0], 0.1), answer(THREE[1], 0.2), {**no_answer("R"), "processing_time_sec": 400.0}]
    result = result_of(tmp_path, "reports", THREE, sent, telemetry(), OFF)
    assert result["avg_processing_time"] == float((F(0.1) + F(0.2)) / 2)
    assert result["performance_score"] == 30.0


def test_one_rounding(tmp_path: Path) -> None:
    """1e16, 1, 1: a running sum in doubles forgets the ones; the exact mean is (10^16 + 2)/3."""
    sent = [answer(true, seconds) for true, seconds in zip(THREE, (1e16, 1.0, 1.0), strict=True)]
    score = score_of(tmp_path, "reports", THREE, sent)
    assert score.result is not None
    assert score.result["avg_processing_time"] == float(F(10**16 + 2, 3)) != (1e16 + 1.0 + 1.0) / 3


def test_performance_uses_the_exact_time(tmp_path: Path) -> None:
    """Three times t = 4/3 + something: the penalty is that of the exact mean, not of the rounded one."""
    times = (1.1, 1.3, 1.7)
    exact = sum(map(F, times), F(0)) / 3
    sent = [answer(true, seconds) for true, seconds in zip(THREE, times, strict=True)]
    result = result_of(tmp_path, "reports", THREE, sent, telemetry())
    assert result["performance_score"] == float(30 - (exact - 1) * 2)
    assert result["total_score"] == float(70 + 30 - (exact - 1) * 2)


@pytest.mark.parametrize(("seconds", "memory", "cpu", "points"), [
    (1.0, 512.0, 50.0, F(30)),
    (0.0, 0.0, 0.0, F(30)),
    (1.5, 512.0, 50.0, F(29)),
    (5.0, 512.0, 50.0, F(22)),
    (1.0, 537.0, 50.0, F(59, 2)),
    (1.0, 1024.0, 50.0, 30 - F(512, 50)),
    (1.0, 512.0, 52.5, F(59, 2)),
    (1.0, 512.0, 90.0, F(22)),
    (5.0, 1024.0, 90.0, 30 - 8 - F(512, 50) - 8),
])  # fmt: skip
def test_penalties(seconds: float, memory: float, cpu: float, points: Fraction, tmp_path: Path) -> None:
    """max(0, t − 1)·2, max(0, (m − 512)/50), max(0, (c − 50)/5): continuous, and exactly at a limit a run is valid."""
    sent = [answer(true, seconds) for true in THREE]
    score = score_of(tmp_path, "reports", THREE, sent, telemetry(run("1", memory, cpu)))
    assert score.valid
    assert score.result is not None
    assert score.result["performance_score"] == float(points)
    assert score.result["total_score"] == float(70 + points)


def test_performance_may_be_negative(tmp_path: Path) -> None:
    """Not clamped: 300 s cost 598 points; the run is invalid, and the figure is there: 30 − 598 = −568."""
    score = score_of(tmp_path, "reports", THREE, [answer(true, 300) for true in THREE], telemetry())
    assert score.result is not None
    assert_keeps_contract("reports", score.result)
    assert (score.valid, score.result["performance_score"], score.result["total_score"]) == (False, -568.0, None)


# --- reports: limits and runs --------------------------------------------------------------------

BEYOND = [
    (5.0000000000000009, run("1")),
    (0.5, run("1", memory=1024.0000000000002)),
    (0.5, run("1", cpu=90.00000000000001)),
    (0.5, run("1", exception="killed")),
]


@pytest.mark.parametrize(("seconds", "used"), BEYOND, ids=["time", "memory", "cpu", "exception"])
def test_limits_that_are_exceeded(seconds: float, used: Record, tmp_path: Path) -> None:
    """t > 5, m > 1024, c > 90 or an exception: invalid, all figures there, but no total_score."""
    score = score_of(tmp_path, "reports", THREE, [answer(true, seconds) for true in THREE], telemetry(used))
    assert not score.valid
    assert score.reasons
    assert score.result is not None
    assert_keeps_contract("reports", score.result)
    only = score.result["runs"][0]
    assert (only["valid"], bool(only["reasons"]), only["total_score"]) == (False, True, None)
    assert score.result["total_score"] is None
    others = [name for name in only if name not in ("total_score", "valid", "reasons")]
    assert None not in [only[name] for name in others]
    assert None not in [score.result[name] for name in score.result if name != "total_score"]


@pytest.mark.parametrize("exception", [None, "", " \t\u00a0"])
def test_a_blank_exception_is_none(exception: str | None, tmp_path: Path) -> None:
    """Absent, null and blank all mean: no exception."""
    assert score_of(tmp_path, "reports", THREE, RIGHT, telemetry(run("1", exception=exception))).valid


def test_limits_compare_rounded_figures(tmp_path: Path) -> None:
    """The mean of 5 and the next double is above 5 by half a step; it is printed as 5, and 5 is within the limit."""
    sent = [answer(THREE[0], 5.0), answer(THREE[1], 5.000000000000001)]
    assert (F(5.0) + F(5.000000000000001)) / 2 > 5
    score = score_of(tmp_path, "reports", THREE[:2], sent, telemetry())
    assert score.valid
    assert score.result is not None
    assert score.result["avg_processing_time"] == 5.0


def test_time_limit_without_telemetry(tmp_path: Path) -> None:
    """The time comes from the predictions: a run that is too slow is invalid without telemetry too."""
    score = score_of(tmp_path, "reports", THREE, [answer(true, 6) for true in THREE])
    assert not score.valid
    assert score.result is not None
    assert (score.result["accuracy_score"], score.result["runs"][0]["valid"]) == (70.0, False)


def test_without_telemetry(tmp_path: Path) -> None:
    """The accuracy part is given; memory, CPU, performance and total are null, with a warning."""
    score = score_of(tmp_path, "reports", THREE, RIGHT)
    assert score.valid
    assert score.result is not None
    assert_keeps_contract("reports", score.result)
    null = [name for name, value in score.result.items() if value is None]
    assert null == [
        "max_memory_usage", "avg_cpu_usage", "memory_penalty", "cpu_penalty", "performance_score", "total_score",
    ]  # fmt: skip
    assert (score.result["accuracy_score"], score.result["avg_processing_time"]) == (70.0, 0.5)
    assert score.result["time_penalty"] == 0.0
    assert any("telemetry" in warning for warning in score.warnings)


def test_means_of_scores(tmp_path: Path) -> None:
    """Runs of 0.5 s and 2.5 s: (30 + 27)/2 = 28.5. The score of the mean, 1.5 s, would be 29."""
    sent = [answer(true, 0.5, "a") for true in THREE] + [answer(true, 2.5, "b") for true in THREE]
    result = result_of(tmp_path, "reports", THREE, sent, telemetry(run("b"), run("a")))
    assert [one["run_id"] for one in result["runs"]] == ["a", "b"]
    assert [one["performance_score"] for one in result["runs"]] == [30.0, 27.0]
    assert (result["performance_score"], result["avg_processing_time"], result["total_score"]) == (28.5, 1.5, 98.5)
    assert [one["time_penalty"] for one in result["runs"]] == [0.0, 3.0]
    assert result["time_penalty"] == 1.5


def test_the_time_of_the_telemetry_takes_precedence(tmp_path: Path) -> None:
    """The predictions say 0.5 s, the organizer measured 3.25 s in run a: (3.25 − 1)·2 = 4.5, and 30 − 4.5 = 25.5.

    Run b has no measured time: 0.5 s, 30. The means: 1.875 s, 2.25 lost, 27.75; with an accuracy of 70, 97.75.
    """
    sent = [answer(true, 0.5, name) for true in THREE for name in "ab"]
    measured = telemetry(run("a", avg_processing_time_sec=3.25), run("b", avg_processing_time_sec=None))
    result = result_of(tmp_path, "reports", THREE, sent, measured)
    names = ("avg_processing_time", "time_penalty", "performance_score", "total_score")
    assert [tuple(one[name] for name in names) for one in (*result["runs"], result)] == [
        (3.25, 4.5, 25.5, 95.5),
        (0.5, 0.0, 30.0, 100.0),
        (1.875, 2.25, 27.75, 97.75),
    ]


@pytest.mark.parametrize(
    ("said", "measured", "valid"), [(0.5, 5.5, False), (6.0, 4.0, True), (6.0, None, False), (0.5, 0.0, True)]
)
def test_the_limit_applies_to_the_measured_time(
    said: float, measured: float | None, valid: bool, tmp_path: Path
) -> None:
    """A run is invalid by the time that the organizer measured, whatever the predictions say."""
    used = telemetry(run("1", avg_processing_time_sec=measured))
    score = score_of(tmp_path, "reports", THREE, [answer(true, said) for true in THREE], used)
    assert score.valid == valid
    assert score.result is not None
    assert score.result["avg_processing_time"] == (said if measured is None else measured)


@pytest.mark.parametrize("used", [None, telemetry(run("a", avg_processing_time_sec=0.5), run("b"))])
def test_slow_records_are_counted(used: Record | None, tmp_path: Path) -> None:
    """Records of 5.000000000000001 and 7 s in run a and of 6 s in run b are 3; 5 s and a failed record do not count."""
    five = [report(f"R-{n}") for n in range(5)]
    sent = [answer(true, seconds, "a") for true, seconds in zip(five, (5.0, 5.000000000000001, 7.0, 1, 1), strict=True)]
    sent += [answer(true, seconds, "b") for true, seconds in zip(five, (6.0, 1, 1, 1), strict=False)]
    sent.append({**no_answer("R-4", "b"), "processing_time_sec": 9.0})
    score = score_of(tmp_path, "reports", five, sent, used, OFF)
    slow = [warning for warning in score.warnings if "more than 5 s" in warning]
    assert slow == ["3 processed records took more than 5 s"]
    assert score.valid


def test_no_slow_record(tmp_path: Path) -> None:
    """5 s are within the limit: no warning, except that there is a single run; of two runs there is none."""
    score = score_of(tmp_path, "reports", THREE, [answer(true, 5.0) for true in THREE], telemetry())
    assert score.warnings == ("there is a single run: the source averages several",)
    twice = [answer(true, 5.0, run) for true in THREE for run in "12"]
    assert score_of(tmp_path, "reports", THREE, twice, telemetry(run("1"), run("2"))).warnings == ()


def test_means_of_memory_and_cpu(tmp_path: Path) -> None:
    """400 and 712 MB: penalties 0 and 4, mean 2, though 556 MB would cost 0.88; 40 and 60 %: 0 and 2, mean 1."""
    sent = [answer(true, 0.5, name) for true in THREE for name in "ab"]
    result = result_of(tmp_path, "reports", THREE, sent, telemetry(run("a", 400, 40), run("b", 712, 60)))
    assert (result["max_memory_usage"], result["avg_cpu_usage"]) == (556.0, 50.0)
    assert [one["memory_penalty"] for one in result["runs"]] == [0.0, 4.0]
    assert [one["cpu_penalty"] for one in result["runs"]] == [0.0, 2.0]
    assert (result["memory_penalty"], result["cpu_penalty"]) == (2.0, 1.0)
    assert result["performance_score"] == 27.0


def test_means_of_accuracies(tmp_path: Path) -> None:
    """Run a is perfect, run b calls all Routine: F1(Routine) = 2/(2+2) = 1/2, and so (1 + 0.125)/2 = 9/16."""
    sent = [answer(true, run="a") for true in THREE] + [answer(true, run="b", urgency="Routine") for true in THREE]
    result = result_of(tmp_path, "reports", THREE, sent)
    assert result["urgency_f1_by_class"] == {"Emergency": 0.5, "Urgent": 0.5, "Routine": 0.75}
    assert result["urgency_f1"] == float(F(9, 16))
    assert result["accuracy_score"] == float(F(70 + 30 + 15, 2) + F(25, 2) * F(1, 8))


def test_mean_of_three_runs_is_rounded_once(tmp_path: Path) -> None:
    """Specialty accuracies 1, 2/3, 1/3, 0 … of runs: the mean of (1, 2/3, 2/3) is 7/9."""
    sent = [answer(true, run="a") for true in THREE]
    for name in "bc":
        sent += [answer(THREE[0], run=name, specialty="Neurology"), *(answer(true, run=name) for true in THREE[1:])]
    assert result_of(tmp_path, "reports", THREE, sent)["specialty_accuracy"] == float(F(7, 9))


def test_one_invalid_run(tmp_path: Path) -> None:
    """It makes the submission invalid; the other run keeps its total_score."""
    sent = [answer(true, run=name) for true in THREE for name in "ab"]
    score = score_of(tmp_path, "reports", THREE, sent, telemetry(run("a"), run("b", cpu=91.0)))
    assert not score.valid
    assert score.result is not None
    assert_keeps_contract("reports", score.result)
    assert [(one["valid"], one["total_score"]) for one in score.result["runs"]] == [(True, 100.0), (False, None)]
    # (30 + 30 − 41/5)/2
    assert (score.result["total_score"], score.result["performance_score"]) == (None, float(30 - F(41, 10)))


def test_an_absent_run_is_run_1(tmp_path: Path) -> None:
    """Absent, null and "1" are one run: a report in two of these is repeated."""
    sent = [answer(THREE[0]), answer(THREE[1], run="1"), {**answer(THREE[2]), "run_id": None}]
    score = score_of(tmp_path, "reports", THREE, sent, telemetry(run("1")))
    assert score.valid
    assert score.result is not None
    assert [one["run_id"] for one in score.result["runs"]] == ["1"]
    again = score_of(tmp_path, "reports", THREE, [*sent, answer(THREE[0], run="1")], None, OFF)
    assert processing(again) == (2, 3)


def test_a_run_without_records(tmp_path: Path) -> None:
    """A run of the telemetry that has no record processed nothing: the score is refused, by the worst run."""
    score = score_of(tmp_path, "reports", THREE, RIGHT, telemetry(run("1"), run("2")))
    assert refused(score)
    assert processing(score) == (0, 3)


def test_a_run_without_records_under_a_changed_parameter(tmp_path: Path) -> None:
    """It has a null time, even if the telemetry has one, and null scores that need it; its accuracies are 0."""
    used = telemetry(run("1"), run("2", avg_processing_time_sec=0.25))
    result = result_of(tmp_path, "reports", THREE, RIGHT, used, OFF)
    empty = result["runs"][1]
    assert (empty["run_id"], empty["success_rate"], empty["specialty_accuracy"], empty["accuracy_score"]) == (
        "2", 0.0, 0.0, 0.0,
    )  # fmt: skip
    for name in ("avg_processing_time", "time_penalty", "performance_score", "total_score"):
        assert empty[name] is None
        assert result[name] is None
    assert (empty["max_memory_usage"], empty["avg_cpu_usage"]) == (256.0, 25.0)
    assert (result["accuracy_score"], result["runs"][0]["total_score"]) == (35.0, 100.0)


def test_a_record_of_a_run_that_the_telemetry_lacks(tmp_path: Path) -> None:
    """It is a problem and counts nowhere."""
    sent = [*RIGHT, answer(THREE[0], 99.0, "7", specialty="Neurology")]
    score = score_of(tmp_path, "reports", THREE, sent, telemetry())
    assert score.valid
    assert score.result is not None
    assert [one["run_id"] for one in score.result["runs"]] == ["1"]
    assert (score.result["total_score"], codes(score)) == (100.0, ["MC307"])


def test_the_worst_run_decides(tmp_path: Path) -> None:
    """`processing` is that of the worst run, and one below the gate refuses the score of all."""
    sent = [answer(true, run="a") for true in THREE] + [answer(THREE[0], run="b")]
    score = score_of(tmp_path, "reports", THREE, sent)
    assert refused(score)
    assert processing(score) == (1, 3)


def test_a_run_that_only_an_invalid_record_names(tmp_path: Path) -> None:
    """Without telemetry the runs are those named in valid predictions."""
    sent = [*RIGHT, answer(THREE[0], run="2", specialty="cardiology")]
    score = score_of(tmp_path, "reports", THREE, sent)
    assert score.valid
    assert score.result is not None
    assert [one["run_id"] for one in score.result["runs"]] == ["1"]


def test_a_run_that_only_failed(tmp_path: Path) -> None:
    """A failed record is a valid one: its run counts, and has processed nothing."""
    assert refused(score_of(tmp_path, "reports", THREE, [*RIGHT, no_answer("E", "2")]))


# --- the gate ------------------------------------------------------------------------------------


def many(track: str, count: int) -> tuple[list[Record], list[Record]]:
    """A truth of that many items, and right answers to all."""
    if track == "reports":
        truth = [report(f"R-{n}") for n in range(count)]
        return truth, [answer(true) for true in truth]
    if track == "lesions":
        return [image(f"I-{n}", "NV") for n in range(count)], [guess(f"I-{n}", "NV") for n in range(count)]
    if track == "extraction":
        truth = [rx(f"P-{n}", drug("Losartán", "50 mg"), drug("Insulina")) for n in range(count)]
        return truth, [read(true) for true in truth]
    if track == "benchmark":
        truth = [reference(f"B-{n}", answer="gout") for n in range(count)]
        return truth, [repeats(true) for true in truth]
    truth = [segment for n in range(count) for segment in case(f"C-{n}", (f"S-{n}", 0, 1, [("Airway", 2)]))]
    return truth, [response(segment, "Airway") for segment in truth]


KEYS = {
    "reports": "report_id", "lesions": "image_id", "triage": "segment_id", "extraction": "doc_id",
    "benchmark": "sample_id",
}  # fmt: skip
TRACKS = sorted(KEYS)
FAILING = ("benchmark", "lesions", "reports", "triage")
"""Whose records can say that they failed. (In extraction, such a record is processed.)"""


def spoilt(track: str, record: Record) -> Record:
    """The record with a value that breaks its contract."""
    if track == "reports":
        return {**record, "urgency": "urgent"}
    if track == "lesions":
        return {**record, "probabilities": [0.5] * 10}
    if track == "extraction":
        return {**record, "medicamentos": [{"nombre_medicamento": 7}]}
    if track == "benchmark":
        return {**record, "scores": {"safety": 2}}
    return {**record, "run_id": "7"}


def failed(track: str, record: Record) -> Record:
    """The record as one that reports an error."""
    if track in ("benchmark", "triage"):
        return {**record, "error": "time out"}
    if track == "extraction":
        return {**record, "exception": "time out"}
    return {KEYS[track]: record[KEYS[track]], "error": "time out"}


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize(("there", "expected", "passes"), [(20, 20, True), (19, 20, True), (18, 20, False)])
def test_the_gate_is_exact(track: str, there: int, expected: int, passes: bool, tmp_path: Path) -> None:
    """19 of 20 are 95 % and pass; 18 do not: no result (except NO-GO and the metrics of triage), and a reason."""
    truth, sent = many(track, expected)
    score = score_of(tmp_path, track, truth, sent[:there])
    assert processing(score) == (there, expected)
    assert score.processing is not None
    assert score.processing.passed == passes
    assert score.valid == passes
    if track == "extraction":
        assert score.result is not None
        assert (score.result["decision"], bool(score.reasons)) == ("NO-GO", not passes)
    elif track == "triage":
        assert score.result is not None
        assert bool(score.reasons) == (not passes)
    else:
        assert refused(score) != passes


@pytest.mark.parametrize(("there", "passes"), [(9499, False), (9500, True)])
def test_the_gate_at_ten_thousand(there: int, passes: bool, tmp_path: Path) -> None:
    """94.99 % do not pass, though they are 95.0 % to people; 95 % do."""
    truth, sent = many("lesions", 10_000)
    score = score_of(tmp_path, "lesions", truth, sent[:there])
    assert processing(score) == (there, 10_000)
    assert (score.valid, score.result is not None) == (passes, passes)


@pytest.mark.parametrize(
    ("minimum", "there", "passes"),
    [("0.9", 9, True), ("0.9", 8, False), ("1", 9, False), ("1", 10, True), ("0.30", 3, True), ("0", 1, True)],
)
def test_another_minimum(minimum: str, there: int, passes: bool, tmp_path: Path) -> None:
    """A parameter is a decimal: 0.9 is 9/10 (as a double it would be more, and 3 of 10 would miss 0.3)."""
    truth, sent = many("lesions", 10)
    parameters = {"min_processed": minimum}
    score = score_of(tmp_path, "lesions", truth, sent[:there], model(), parameters)
    assert (score.valid, score.result is not None) == (passes, passes)
    usual = score_of(tmp_path, "lesions", truth, sent, model())
    assert score.protocol.fingerprint != usual.protocol.fingerprint


@pytest.mark.parametrize("track", TRACKS)
def test_unknown_ids_do_not_change_the_rate(track: str, tmp_path: Path) -> None:
    """18 of 20 and two strangers do not pass; 19 of 20 and two strangers do; the strangers are problems."""
    truth, sent = many(track, 20)
    strangers = [{**sent[0], KEYS[track]: f"X-{n}"} for n in range(2)]
    few = score_of(tmp_path, track, truth, sent[:18] + strangers)
    assert (processing(few), few.valid) == ((18, 20), False)
    enough = score_of(tmp_path, track, truth, sent[:19] + strangers)
    assert (processing(enough), enough.valid) == ((19, 20), True)
    if track != "extraction":  # there it is a bug: test_ids_of_one_side_only
        assert codes(enough).count("MC303") == 2
    assert enough.result == score_of(tmp_path, track, truth, sent[:19]).result


UNPROCESSED = ("failed", "invalid", "repeated", "with an invalid one", "with a failed one")


@pytest.mark.parametrize(
    ("track", "kind"), [(track, kind) for track in TRACKS for kind in UNPROCESSED[track not in FAILING :]]
)
def test_what_is_not_processed(track: str, kind: str, tmp_path: Path) -> None:
    """One of 20 items is not processed, for each reason that there is; the rate is 19/20."""
    truth, sent = many(track, 20)
    first = {
        "failed": [failed(track, sent[0])],
        "invalid": [spoilt(track, sent[0])],
        "repeated": [sent[0], sent[0]],
        "with an invalid one": [sent[0], spoilt(track, sent[0])],
        "with a failed one": [sent[0], failed(track, sent[0])],
    }[kind]
    for records in (first + sent[1:], [*first[1:], *sent[1:], first[0]]):
        score = score_of(tmp_path, track, truth, records)
        assert processing(score) == (19, 20)
        assert score.valid
        assert score.result is not None
        assert_keeps_contract(track, score.result)
        assert bool(score.errors) == (kind != "failed")


@pytest.mark.parametrize("track", TRACKS)
def test_repeated_twice_over(track: str, tmp_path: Path) -> None:
    """Three records for one item, and two invalid ones for another: both are not processed."""
    truth, sent = many(track, 40)
    bad = spoilt(track, sent[1])
    score = score_of(tmp_path, track, truth, [sent[0], bad, *sent[2:], sent[0], bad, sent[0]])
    assert processing(score) == (38, 40)


@pytest.mark.parametrize("track", TRACKS)
def test_a_blank_error_is_none(track: str, tmp_path: Path) -> None:
    """Absent, null and blank all mean: no error."""
    truth, sent = many(track, 3)
    name = "exception" if track == "extraction" else "error"
    records = [{**record, name: error} for record, error in zip(sent, (None, "", " \t\u00a0"), strict=True)]
    score = score_of(tmp_path, track, truth, records)
    assert processing(score) == (3, 3)
    if track == "extraction":
        assert score.result is not None
        assert (score.result["prescription_accuracy"], score.result["pipeline_success_rate"]) == (100, 100)


@pytest.mark.parametrize("track", ["lesions", "reports"])
def test_an_error_beside_an_answer_is_invalid(track: str, tmp_path: Path) -> None:
    """A record that both answers and failed breaks its contract: not processed, and a problem."""
    truth, sent = many(track, 20)
    score = score_of(tmp_path, track, truth, [{**sent[0], "error": "time out"}, *sent[1:]])
    assert processing(score) == (19, 20)
    assert score.errors


@pytest.mark.parametrize("fault", ["NaN", "1e999", "repeated key", "surrogate"])
@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_a_fault_of_one_record(fault: str, ending: str, tmp_path: Path) -> None:
    """Such a fault is one of the record that holds it, and that record is a second one for its report."""
    truth, sent = many("reports", 20)
    line = json.dumps(sent[3])
    spoils = {
        "NaN": line.replace("0.5", "NaN"),
        "1e999": line.replace("0.5", "1e999"),
        "repeated key": line.replace('"follow_up": false', '"follow_up": false, "follow_up": false'),
        "surrogate": line.replace('"Other"', '"\\ud800"'),
    }
    assert spoils[fault] != line
    path = write(tmp_path, "reports/predictions", sent, ending)
    text = path.read_text()
    path.write_text(text.replace(line, f"{line}, {spoils[fault]}" if ending == "json" else f"{line}\n{spoils[fault]}"))
    score = medcontract.score(write(tmp_path, "reports/truth", truth), path)
    assert processing(score) == (19, 20)
    assert sorted(code[:3] for code in codes(score)) == ["MC0", "MC2"]


def test_a_record_that_is_too_deep_is_a_record(tmp_path: Path) -> None:
    """A response nested beyond the limit is invalid, not missing; beside a good one it makes it repeated."""
    (segment,) = case("C", ("S", 0, 10, [("Airway", 20)]))
    deep: Record = {}
    for _ in range(150):
        deep = {"a": deep}
    too_deep = response(segment, "Airway", embeddings=deep)
    both = score_of(tmp_path, "triage", [segment], [response(segment, "Airway"), too_deep], None, OFF)
    assert processing(both) == (0, 1)
    alone = result_of(tmp_path, "triage", [segment], [too_deep], None, OFF)
    assert SAYS["invalid"].search(alone["metrics"][0]["errors"][0]["error"])


def test_a_line_that_cannot_be_read(tmp_path: Path) -> None:
    """It is one bad record; the others stand."""
    truth, sent = many("reports", 20)
    path = write(tmp_path, "reports/predictions", sent[1:], "jsonl")
    path.write_text(path.read_text() + json.dumps(sent[0])[:-9] + "\n")
    score = medcontract.score(write(tmp_path, "reports/truth", truth), path)
    assert (processing(score), score.valid) == ((19, 20), True)
    assert score.errors


def test_a_part_that_cannot_be_read(tmp_path: Path) -> None:
    """A `.json` whose syntax breaks has no records: those before the break do not count either."""
    truth, sent = many("reports", 20)
    good = write(tmp_path, "reports/predictions", sent[:19], "json", "a")
    bad = write(tmp_path, "reports/predictions", sent[19:], "json", "b")
    bad.write_text(bad.read_text()[:-1])
    truth_file = write(tmp_path, "reports/truth", truth)
    for files in ([good, bad, truth_file], [bad, truth_file, good]):
        score = medcontract.score(*files)
        assert (processing(score), score.valid, bool(score.errors)) == ((19, 20), True, True)


# --- refused outright ----------------------------------------------------------------------------


@pytest.mark.parametrize("track", TRACKS)
def test_a_truth_with_errors(track: str, tmp_path: Path) -> None:
    """A repeated id in the truth, or a record that breaks its contract: nothing is scored."""
    truth, sent = many(track, 3)
    score = score_of(tmp_path, track, [*truth, truth[0]], sent)
    assert refused(score)
    assert score.processing is None


@pytest.mark.parametrize("track", TRACKS)
def test_an_empty_truth(track: str, tmp_path: Path) -> None:
    """There is nothing that could be right."""
    _, sent = many(track, 1)
    truth_id, sent_id, _ = CONTRACTS[track]
    files = [
        (str(write(tmp_path, truth_id, [])), truth_id),
        (str(write(tmp_path, sent_id, sent)), sent_id),
    ]
    score = score_result(score_files(GivenFiles(files)))
    assert refused(score)
    assert score.processing is None


@pytest.mark.parametrize("runs", [[run("1"), run("1")], [run("1", memory=-1.0)], []])
def test_telemetry_with_errors(runs: list[Record], tmp_path: Path) -> None:
    """A bad auxiliary file is never ignored."""
    score = score_of(tmp_path, "reports", THREE, RIGHT, {**telemetry(), "runs": runs})
    assert refused(score)
    assert score.processing is None


def test_a_model_file_with_errors(tmp_path: Path) -> None:
    """As telemetry."""
    truth, sent = many("lesions", 3)
    score = score_of(tmp_path, "lesions", truth, sent, {**model(), "uses_image": False})
    assert refused(score)
    assert score.processing is None


@pytest.mark.parametrize("track", ["reports", "triage"])
@pytest.mark.parametrize("change", [{"event": "Frühling"}, {"team_name": " "}, {"evaluation_date": "2025-02-30"}])
def test_headers_that_are_wrong(track: str, change: Record, tmp_path: Path) -> None:
    """Another event, a header that breaks its contract: nothing is scored."""
    truth, sent = many(track, 3)
    contract = {"reports": "reports/predictions", "triage": "triage/response"}[track]
    truth_file = write(tmp_path, {"reports": "reports/truth", "triage": "triage/ground-truth"}[track], truth)
    path = write(tmp_path, contract, sent)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    score = medcontract.score(truth_file, path)
    assert refused(score)
    assert score.processing is None


def test_figures_beyond_all_doubles(tmp_path: Path) -> None:
    """A penalty that no double holds is a reason, never a crash."""
    score = score_of(tmp_path, "reports", THREE, [answer(true, 1.7e308) for true in THREE], telemetry())
    assert not score.valid
    assert score.reasons
    truth = case("C", ("S", 0, 1, [("Airway", 1.7e308), ("Breathing", 1.7e308)]))
    assert not score_of(tmp_path, "triage", truth, [response(truth[0], "Airway", "Breathing")]).valid


# --- triage --------------------------------------------------------------------------------------

SAYS = {
    "missing": re.compile("no response|missing|not answered"),
    "repeated": re.compile("repeated|more than one|twice"),
    "invalid": re.compile("invalid|not valid|violates"),
}
"""What the text of an error must say; its wording is free."""


def triage_case(folder: Path, truth: list[Record], sent: list[Record]) -> Record:
    """The metrics of the only case of a truth, whatever was processed."""
    result = result_of(folder, "triage", truth, sent, None, OFF)
    (only,) = result["metrics"]
    metrics: Record = only
    return metrics


def test_a_case_worked_out(tmp_path: Path) -> None:
    """Three segments that stop at 10, 20, 30.

    Listed: s1 Airway@12; s2 Airway@12, Blood@25; s3 Blood@25, Blood@40, Chest@35.
    Predicted: s1 Blood (wrong segment); s2 Airway, Drain; s3 Blood.
    Jaccard: right somewhere: Airway (s2), Blood (s3); all: Airway, Blood, Chest, Drain: 2/4.
    Airway@12 at s2: 12 − 20 = −8. Blood@25 at s3: 25 − 30 = −5; Blood@40 at s3: 40 − 30 = 10.
    Lead time: Airway −8, Blood: earliest instance listed at s3 is 25: −5; sum −13.
    """
    truth = case(
        "C",
        ("s1", 0, 10, [("Airway", 12)]),
        ("s2", 10, 20, [("Airway", 12), ("Blood", 25)]),
        ("s3", 20, 30, [("Blood", 25), ("Blood", 40), ("Chest", 35)]),
    )
    sent = [response(truth[0], "Blood"), response(truth[1], "Airway", "Drain"), response(truth[2], "Blood")]
    result = result_of(tmp_path, "triage", truth, sent)
    assert result == {
        **HEADERS["triage/response"],
        "response_file_name": "triage-response.json",
        "metrics": [
            {
                "case_id": "C",
                "jaccard_index": 0.5,
                "prediction_lead_time": -13.0,
                "correct_predictions": [
                    {"lsi_group": "Airway", "lead_time": -8.0},
                    {"lsi_group": "Blood", "lead_time": -5.0},
                    {"lsi_group": "Blood", "lead_time": 10.0},
                ],
                "incorrect_predictions": {"false_positives": ["Drain"], "misses": ["Chest"]},
                "errors": [],
            }
        ],
    }


def test_both_empty(tmp_path: Path) -> None:
    """Nothing listed and nothing predicted: Jaccard 1, lead time 0."""
    truth = case("C", ("s1", 0, 10, []), ("s2", 10, 20, []))
    only = triage_case(tmp_path, truth, [response(segment) for segment in truth])
    assert (only["jaccard_index"], only["prediction_lead_time"], only["correct_predictions"]) == (1.0, 0.0, [])


def test_both_empty_though_nothing_was_processed(tmp_path: Path) -> None:
    """P_t is empty where the segment is not processed: the formula gives 1 all the same."""
    truth = case("C", ("s1", 0, 10, []))
    assert triage_case(tmp_path, truth, [response(truth[0], "Airway", error="time out")])["jaccard_index"] == 1.0


@pytest.mark.parametrize(("groups", "listed"), [([], ["Airway"]), (["Airway"], []), (["airway"], ["Airway"])])
def test_nothing_right(groups: list[str], listed: list[str], tmp_path: Path) -> None:
    """Only misses, only false positives, and groups that differ in case, which are different groups: 0."""
    truth = case("C", ("s1", 0, 10, [(group, 5) for group in listed]))
    only = triage_case(tmp_path, truth, [response(truth[0], *groups)])
    assert (only["jaccard_index"], only["prediction_lead_time"]) == (0.0, 0.0)
    assert only["incorrect_predictions"] == {"false_positives": groups, "misses": listed}


def test_a_group_in_the_wrong_segment(tmp_path: Path) -> None:
    """Predicted where it is not listed and listed where it is not predicted: neither right, nor a false positive,
    nor a miss; the union counts it once: 0/1."""
    truth = case("C", ("s1", 0, 10, []), ("s2", 10, 20, [("Airway", 25)]))
    only = triage_case(tmp_path, truth, [response(truth[0], "Airway"), response(truth[1])])
    assert (only["jaccard_index"], only["correct_predictions"]) == (0.0, [])
    assert only["incorrect_predictions"] == {"false_positives": [], "misses": []}


def test_jaccard_counts_groups_not_segments(tmp_path: Path) -> None:
    """Airway in both segments, right in one: 1/3 with Blood missed and Chest false, each once: 1/(1+1+1)."""
    truth = case("C", ("s1", 0, 10, [("Airway", 5), ("Blood", 5)]), ("s2", 10, 20, [("Airway", 15), ("Blood", 5)]))
    sent = [response(truth[0], "Chest"), response(truth[1], "Airway", "Chest")]
    assert triage_case(tmp_path, truth, sent)["jaccard_index"] == float(F(1, 3))


def test_an_instance_in_several_segments(tmp_path: Path) -> None:
    """Airway@50 is listed in three segments and predicted in two: one instance, at the earlier: 50 − 20 = 30."""
    here = [("Airway", 50.0)]
    truth = case("C", ("s1", 0, 10, here), ("s2", 10, 20, here), ("s3", 20, 30, here))
    sent = [response(truth[0]), response(truth[1], "Airway"), response(truth[2], "Airway")]
    only = triage_case(tmp_path, truth, sent)
    assert only["correct_predictions"] == [{"lsi_group": "Airway", "lead_time": 30.0}]
    assert only["prediction_lead_time"] == 30.0


def test_instances_with_different_descriptions(tmp_path: Path) -> None:
    """Two interventions of one group at the same time are two: 50 − 10 = 40 each; the sum over groups counts one."""
    truth = case("C", ("s1", 0, 10, [("Airway", 50), ("Airway", 50), ("Blood", 50)]))
    truth[0]["gt_lsi_list"][1]["lsi_description"] = "again"
    only = triage_case(tmp_path, truth, [response(truth[0], "Airway")])
    assert only["correct_predictions"] == [{"lsi_group": "Airway", "lead_time": 40.0}] * 2
    assert only["prediction_lead_time"] == 40.0
    assert only["jaccard_index"] == 0.5


def test_instances_are_ordered_by_time_group_and_description(tmp_path: Path) -> None:
    """The one that the second segment lists first has the later description: 30 − 10 = 20 comes after 30 − 20 = 10."""
    truth = case("C", ("s1", 0, 10, [("Airway", 30)]), ("s2", 10, 20, [("Airway", 30)]))
    truth[0]["gt_lsi_list"][0]["lsi_description"] = "b"
    truth[1]["gt_lsi_list"][0]["lsi_description"] = "a"
    only = triage_case(tmp_path, truth, [response(segment, "Airway") for segment in truth])
    assert [one["lead_time"] for one in only["correct_predictions"]] == [10.0, 20.0]


LISTED = case("C", ("s1", 0, 10, [("Airway", 50)]), ("s2", 10, 20, [("Airway", 50)]))
IN_EITHER = [response(segment, "Airway") for segment in LISTED]


@pytest.mark.parametrize(
    ("rows", "lead"),
    [
        ("C,s1 C,s2", 40.0), ("C,s2 C,s1", 30.0), ("C,s2 D,x C,s1", 30.0), ("C,s2", 40.0), ("C,s2 D,s1", 40.0),
        ("C,s2 C,s1 C,s2", 30.0), ("C,s1 C,s2 C,s1", 40.0),
    ],
)  # fmt: skip
def test_the_inventory_gives_the_order(tmp_path: Path, rows: str, lead: float) -> None:
    """Airway@50 is right in s1 and s2: 50 − 10 = 40 if s1 is the earlier one, 50 − 20 = 30 if s2 is.

    The inventory decides if it lists all segments of the case.
    """
    inventory = tmp_path / "inventory.csv"
    inventory.write_text("case_id,segment_id\n" + "".join(f"{row}\n" for row in rows.split()))
    files = [write(tmp_path, "triage/ground-truth", LISTED), write(tmp_path, "triage/response", IN_EITHER)]
    for given in (files, files[::-1]):
        found = medcontract.score(*given, inventory)
        assert found.result is not None
        assert found.result["metrics"][0]["prediction_lead_time"] == lead
        assert found.result["metrics"][0]["correct_predictions"] == [{"lsi_group": "Airway", "lead_time": lead}]


def test_only_the_organizers_inventory(tmp_path: Path) -> None:
    """One in the submission's folder never gives the order; one beside the truth does, in rankings, too."""
    truth, sent = tmp_path / "truth", tmp_path / "sent"
    for folder in (truth, sent):
        folder.mkdir()
    write(truth, "triage/ground-truth", LISTED)
    write(sent, "triage/response", IN_EITHER)
    rows = "case_id,segment_id\nC,s2\nC,s1\n"

    def lead_times() -> tuple[float, float]:
        scored = medcontract.score(truth, sent)
        medcontract.leaderboard(truth, sent, reports=tmp_path / "reports")
        assert scored.result is not None
        (one,) = scored.result["metrics"]
        (other,) = json.loads((tmp_path / "reports" / "sent.json").read_text())["result"]["metrics"]
        return one["prediction_lead_time"], other["prediction_lead_time"]

    (sent / "inventory.csv").write_text(rows)
    assert lead_times() == (40.0, 40.0)
    ignored = "inventory.csv (triage/inventory) is ignored: only the organizer's file counts"
    assert ignored in medcontract.score(truth, sent).warnings
    (truth / "inventory.csv").write_text(rows)
    assert lead_times() == (30.0, 30.0)
    (sent / "inventory.csv").unlink()
    assert lead_times() == (30.0, 30.0)


def test_an_instance_that_is_listed_twice_in_a_segment(tmp_path: Path) -> None:
    """The same group, description and time: one instance. As doubles, 2^53 and 2^53 + 1 are the same."""
    truth = case("C", ("s1", 0, 10, [("Airway", 50), ("Airway", 50), ("Blood", 2**53), ("Blood", 2**53 + 1)]))
    only = triage_case(tmp_path, truth, [response(truth[0], "Airway", "Blood")])
    assert [one["lsi_group"] for one in only["correct_predictions"]] == ["Airway", "Blood"]
    assert only["correct_predictions"][1]["lead_time"] == float(2**53 - 10)


def test_lead_time_of_a_group_at_its_earliest_segment(tmp_path: Path) -> None:
    """Airway is right in s1 for @90 alone; @15 is listed in s2 only. The sum takes 90 − 10 = 80, not 15 − 20."""
    truth = case("C", ("s1", 0, 10, [("Airway", 90)]), ("s2", 10, 20, [("Airway", 15), ("Airway", 90)]))
    only = triage_case(tmp_path, truth, [response(truth[0], "Airway"), response(truth[1], "Airway")])
    assert only["prediction_lead_time"] == 80.0
    assert [one["lead_time"] for one in only["correct_predictions"]] == [-5.0, 80.0]


def test_the_sum_of_lead_times_is_rounded_once(tmp_path: Path) -> None:
    """0.1 + 0.2 + 0.3 as exact doubles, minus three times 0.7."""
    times = {"Airway": 0.1, "Blood": 0.2, "Chest": 0.3}
    truth = case("C", ("s1", 0, 0.7, list(times.items())))
    only = triage_case(tmp_path, truth, [response(truth[0], *times)])
    assert only["prediction_lead_time"] == float(sum((F(time) - F(0.7) for time in times.values()), F(0)))


def test_tiny_and_huge_times(tmp_path: Path) -> None:
    """1/8 − 2e15 lies half way between two doubles; the 5e-324 that is left of Blood decides which one is nearest."""
    truth = case("C", ("s1", 0, 1e15, [("Airway", 1e15 + 0.125)]), ("s2", 0, 2e15, [("Blood", 5e-324)]))
    only = triage_case(tmp_path, truth, [response(truth[0], "Airway"), response(truth[1], "Blood")])
    assert [one["lead_time"] for one in only["correct_predictions"]] == [-2e15, 0.125]
    assert float(F(1, 8) - F(2e15)) == -2e15
    assert only["prediction_lead_time"] == -1999999999999999.75


def test_correct_predictions_are_ordered_by_time_then_group(tmp_path: Path) -> None:
    """@9 before @10 though "10" < "9"; at the same time by group."""
    truth = case("C", ("s1", 0, 1, [("Blood", 10), ("Airway", 10), ("Chest", 9), ("Blood", 100)]))
    only = triage_case(tmp_path, truth, [response(truth[0], "Airway", "Blood", "Chest")])
    assert [(one["lsi_group"], one["lead_time"]) for one in only["correct_predictions"]] == [
        ("Chest", 8.0), ("Airway", 9.0), ("Blood", 9.0), ("Blood", 99.0),
    ]  # fmt: skip


def test_false_positives_and_misses_are_sorted(tmp_path: Path) -> None:
    """Each group once, by code points."""
    truth = case("C", ("s1", 0, 10, [("d", 1), ("B", 1)]), ("s2", 10, 20, [("d", 2), ("Z", 2)]))
    sent = [response(truth[0], "y", "É"), response(truth[1], "y", "X")]
    assert triage_case(tmp_path, truth, sent)["incorrect_predictions"] == {
        "false_positives": ["X", "y", "É"],
        "misses": ["B", "Z", "d"],
    }


def test_segments_are_ordered_by_stop(tmp_path: Path) -> None:
    """The long segment starts first and stops last: the short one is the earlier. 120 − 50 = 70."""
    truth = case("C", ("a", 0, 100, [("Airway", 120)]), ("b", 10, 50, [("Airway", 120)]))
    only = triage_case(tmp_path, truth, [response(truth[0], "Airway"), response(truth[1], "Airway")])
    assert only["prediction_lead_time"] == 70.0


def test_segments_are_ordered_by_start_then_id(tmp_path: Path) -> None:
    """All stop at 30: by start, then by id. The order shows in the errors, and in which instance is earliest."""
    truth = case(
        "C",
        ("z", 0, 30, [("Airway", 90)]),
        ("y", 10, 30, [("Airway", 40), ("Airway", 90)]),
        ("x", 10, 30, []),
        ("w", 20, 30, []),
    )
    truth[1]["segment_id"], truth[2]["segment_id"] = "y2", "y10"
    right = [response(truth[0], "Airway"), response(truth[1], "Airway")]
    assert triage_case(tmp_path, truth, right)["prediction_lead_time"] == 60.0
    assert [one["segment_id"] for one in triage_case(tmp_path, truth, [])["errors"]] == ["z", "y10", "y2", "w"]


def test_errors_of_a_case(tmp_path: Path) -> None:
    """Failed ones with their own text, missing, repeated and invalid ones with one that says so; in order."""
    names = ["failed", "fine", "invalid", "missing", "repeated", "worse"]
    truth = case("C", *((name, 10 * n, 10 * n + 10, []) for n, name in enumerate(names)))
    of = {segment["segment_id"]: segment for segment in truth}
    sent = [
        response(of["failed"], error=" no answer in 30 s ", raw_response=["?"]),
        response(of["fine"]),
        response(of["invalid"], cumulative_runtime_sec="long"),
        response(of["repeated"]),
        response(of["repeated"]),
        response(of["worse"], error="first"),
        response(of["worse"], error="second"),
    ]
    errors = {one["segment_id"]: one["error"] for one in triage_case(tmp_path, truth, sent[::-1])["errors"]}
    assert list(errors) == ["failed", "invalid", "missing", "repeated", "worse"]
    assert errors["failed"] == " no answer in 30 s "
    for name, kind in (("invalid", "invalid"), ("missing", "missing"), ("repeated", "repeated"), ("worse", "repeated")):
        assert SAYS[kind].search(errors[name]), errors


@pytest.mark.parametrize("change", [{"case_id": "D"}, {"end_of_case": False}])
def test_responses_that_disagree_with_the_truth(change: Record, tmp_path: Path) -> None:
    """Another case, or another end of the case: an error of that record, which then counts as nothing."""
    truth = case("C", ("s1", 0, 10, [("Airway", 20)])) + case("D", ("s2", 0, 10, [("Airway", 20)]))
    sent = [response(truth[0], "Airway", **change), response(truth[1], "Airway")]
    score = score_of(tmp_path, "triage", truth, sent, None, OFF)
    assert processing(score) == (1, 2)
    assert score.result is not None
    assert [one["jaccard_index"] for one in score.result["metrics"]] == [0.0, 1.0]
    assert SAYS["invalid"].search(score.result["metrics"][0]["errors"][0]["error"])
    assert codes(score) == ["MC304" if "case_id" in change else "MC305"]


def test_a_failed_response_predicts_nothing(tmp_path: Path) -> None:
    """What a response with an error lists does not count: neither as right nor as a false positive."""
    truth = case("C", ("s1", 0, 10, [("Airway", 20)]))
    only = triage_case(tmp_path, truth, [response(truth[0], "Airway", "Drain", error="time out")])
    assert only["incorrect_predictions"] == {"false_positives": [], "misses": ["Airway"]}


def test_metrics_below_the_gate(tmp_path: Path) -> None:
    """One of two segments answered: not valid, but the metrics are those of the formulas, with the errors.

    Listed: s1 Airway@12; s2 Blood@25. Predicted: s1 Airway; s2 nothing, for it has no response.
    Jaccard: right: Airway; all: Airway, Blood: 1/2. Lead time: 12 − 10 = 2. Missed: Blood.
    """
    truth = case("C", ("s1", 0, 10, [("Airway", 12)]), ("s2", 10, 20, [("Blood", 25)]))
    score = score_of(tmp_path, "triage", truth, [response(truth[0], "Airway")])
    assert (score.valid, processing(score)) == (False, (1, 2))
    assert len(score.reasons) == 1
    assert score.result is not None
    assert_keeps_contract("triage", score.result)
    assert score.result == {
        **HEADERS["triage/response"],
        "response_file_name": "triage-response.json",
        "metrics": [
            {
                "case_id": "C",
                "jaccard_index": 0.5,
                "prediction_lead_time": 2.0,
                "correct_predictions": [{"lsi_group": "Airway", "lead_time": 2.0}],
                "incorrect_predictions": {"false_positives": [], "misses": ["Blood"]},
                "errors": [{"segment_id": "s2", "error": "no response for this segment"}],
            }
        ],
    }


@pytest.mark.parametrize("there", [1, 0])
def test_a_missing_header_field_below_the_gate(there: int, tmp_path: Path) -> None:
    """The metrics need it there, too: a wrong call that says which."""
    truth, sent = many("triage", 2)
    files = [write(tmp_path, "triage/ground-truth", truth), write(tmp_path, "triage/response", sent[:there], "jsonl")]
    header = {"team_name": "Nordlicht"}
    with pytest.raises(medcontract.CallError, match="evaluation_date"):
        medcontract.score(files[0], f"triage/response={files[1]}", header=header)


def test_cases_are_sorted(tmp_path: Path) -> None:
    """By id, whatever the order in the files; C-10 comes before C-9."""
    truth, sent = many("triage", 11)
    names = [one["case_id"] for one in result_of(tmp_path, "triage", truth[::-1], sent)["metrics"]]
    assert names == sorted(f"C-{n}" for n in range(11))


@pytest.mark.parametrize("truth_ending", ["json", "jsonl"])
def test_a_header_that_the_caller_gives(truth_ending: str, tmp_path: Path) -> None:
    """JSON Lines have no header: `header` gives it, and it stands in the result."""
    truth, sent = many("triage", 2)
    files = [
        write(tmp_path, "triage/ground-truth", truth, truth_ending),
        write(tmp_path, "triage/response", sent, "jsonl"),
    ]
    score = medcontract.score(*files, header=HEADERS["triage/response"])
    assert score.result is not None
    assert_keeps_contract("triage", score.result)
    assert {name: score.result[name] for name in HEADERS["triage/response"]} == HEADERS["triage/response"]
    assert score.result["response_file_name"] == "triage-response.jsonl"


@pytest.mark.parametrize("lacking", ["team_name", "evaluation_date", "event"])
def test_a_header_field_that_nobody_gives(lacking: str, tmp_path: Path) -> None:
    """The call is wrong, and the message says which field is lacking."""
    truth, sent = many("triage", 2)
    files = [write(tmp_path, "triage/ground-truth", truth, "jsonl"), write(tmp_path, "triage/response", sent, "jsonl")]
    header = {name: value for name, value in HEADERS["triage/response"].items() if name != lacking}
    with pytest.raises(medcontract.CallError, match=lacking):
        medcontract.score(*files, header=header)


def test_an_event_that_only_the_truth_has(tmp_path: Path) -> None:
    """The result is a `triage/metrics` document all the same: with the truth's event (never null), or no result."""
    truth, sent = many("triage", 2)
    files = [write(tmp_path, "triage/ground-truth", truth), write(tmp_path, "triage/response", sent, "jsonl")]
    header = {name: value for name, value in HEADERS["triage/response"].items() if name != "event"}
    score = medcontract.score(*files, header=header)
    assert score.result is not None
    assert score.result["event"] == "Abendstern"
    assert_keeps_contract("triage", score.result)


def test_a_given_event_that_differs(tmp_path: Path) -> None:
    """A header field that the caller gives is compared as any other."""
    truth, sent = many("triage", 2)
    files = [write(tmp_path, "triage/ground-truth", truth), write(tmp_path, "triage/response", sent, "jsonl")]
    assert refused(medcontract.score(*files, header={**HEADERS["triage/response"], "event": "Morgenstern"}))


def test_names_of_several_parts(tmp_path: Path) -> None:
    """`response_file_name` of several parts: base names, sorted, joined by a comma and a blank."""
    truth, sent = many("triage", 3)
    files = [write(tmp_path, "triage/ground-truth", truth)]
    files += [write(tmp_path, "triage/response", [sent[n]], "json", name) for n, name in enumerate(("b", "c", "a"))]
    score = medcontract.score(*files)
    assert score.result is not None
    assert score.result["response_file_name"] == "a.json, b.json, c.json"


# --- lesions -------------------------------------------------------------------------------------

TWO_EACH = [image(f"{label}-{n}", label) for label in CLASSES for n in range(2)]


def guesses(**changes: str | None) -> list[Record]:
    """Right guesses to `TWO_EACH`, but for the first image of some classes; None: failed."""
    found = []
    for true in TWO_EACH:
        label, _, number = true["image_id"].partition("-")
        said = changes.get(label, label) if number == "0" else label
        found.append({"image_id": true["image_id"], "error": "?"} if said is None else guess(true["image_id"], said))
    return found


def test_lesions_worked_out(tmp_path: Path) -> None:
    """Two images a class; one BCC is called MEL, one NV failed; 19/20 are processed.

    accuracy 18/20. F1: BCC 2/(2+0+1) = 2/3, MEL 4/(4+1+0) = 4/5, NV 2/(2+0+1) = 2/3, all others 1.
    malignant (2/3 + 1 + 4/5)/3 = 37/45; medium 1; benign (4 + 2/3)/5 = 14/15.
    weighted (3·37/45 + 2·1 + 14/15)/6 = (37/15 + 30/15 + 14/15)/6 = 81/90 = 9/10.
    prediction 1/2·9/10 + 1/2·9/10 = 9/10. 31.4 MB and the only time there is: efficiency 1.
    final 0.9·9/10 + 0.1·1 = 91/100; points 91.
    """
    result = result_of(tmp_path, "lesions", TWO_EACH, guesses(BCC="MEL", NV=None), model())
    by_class = {**dict.fromkeys(CLASSES, 1.0), "BCC": float(F(2, 3)), "MEL": 0.8, "NV": float(F(2, 3))}
    rows = {row: {**dict.fromkeys(CLASSES, 0), "unprocessed": 0, row: 2} for row in CLASSES}
    rows["BCC"] |= {"BCC": 1, "MEL": 1}
    rows["NV"] |= {"NV": 1, "unprocessed": 1}
    assert result == {
        "accuracy": 0.9, "f1_by_class": by_class, "f1_malignant": float(F(37, 45)), "f1_medium": 1.0,
        "f1_benign": float(F(14, 15)), "weighted_f1": 0.9, "prediction_score": 0.9, "efficiency_score": 1.0,
        "final_score": 0.91, "points": 91.0, "confusion_matrix": rows,
    }  # fmt: skip


GROUPS = {"malignant": ("BCC", "SCC", "MEL"), "medium": ("SK", "VASC"), "benign": ("AK", "DF", "NV", "NON", "ON")}


@pytest.mark.parametrize("label", CLASSES)
def test_each_class_has_its_group(label: str, tmp_path: Path) -> None:
    """One failed image of two: F1 2/3 of its class, and so 1 − 1/3/k of its group of k classes; the others keep 1.

    weighted: 1 − w/6·1/(3k) with w = 3, 2, 1.
    """
    result = result_of(tmp_path, "lesions", TWO_EACH, guesses(**{label: None}))
    assert result["f1_by_class"] == {**dict.fromkeys(CLASSES, 1.0), label: float(F(2, 3))}
    for weight, (name, classes) in zip((3, 2, 1), GROUPS.items(), strict=True):
        loss = F(1, 3 * len(classes)) if label in classes else F(0)
        assert result[f"f1_{name}"] == float(1 - loss)
        if loss:
            assert result["weighted_f1"] == float(1 - F(weight, 6) * loss)
            assert result["prediction_score"] == float((F(19, 20) + 1 - F(weight, 6) * loss) / 2)


def test_all_called_one_class(tmp_path: Path) -> None:
    """All 20 are called MEL: accuracy 2/20; F1(MEL) = 4/(4+18+0) = 2/11; malignant 2/33; weighted 3·2/33/6 = 1/33."""
    result = result_of(tmp_path, "lesions", TWO_EACH, [guess(true["image_id"], "MEL") for true in TWO_EACH])
    assert result["accuracy"] == 0.1
    assert result["f1_by_class"] == {**dict.fromkeys(CLASSES, 0.0), "MEL": float(F(2, 11))}
    assert (result["f1_malignant"], result["weighted_f1"]) == (float(F(2, 33)), float(F(1, 33)))
    assert [row["MEL"] for row in result["confusion_matrix"].values()] == [2] * 10


@pytest.mark.parametrize(("probabilities", "said"), [
    ([0.1] * 10, "AK"),
    ([0.0, 0.5, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], "BCC"),
    ([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5], "MEL"),
    ([0.2, 0.2, 0.2, 0.2, 0.2000000000000001, 0.0, 0.0, 0.0, 0.0, 0.0], "VASC"),
    ([5e-324, 1e-323, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], "ON"),
    ([0.25, 0.25, 0.25, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0005], "AK"),
    ([1, 0, 0, 0, 0, 0, 0, 0, 0, 0], "AK"),
])  # fmt: skip
def test_the_largest_probability(probabilities: list[float], said: str, tmp_path: Path) -> None:
    """The first of the largest, by the doubles alone."""
    sent = [{"image_id": "I", "probabilities": probabilities}]
    result = result_of(tmp_path, "lesions", [image("I", "NON")], sent)
    assert result["confusion_matrix"]["NON"] == {**dict.fromkeys(CLASSES, 0), "unprocessed": 0, said: 1}


def test_the_matrix_counts_all(tmp_path: Path) -> None:
    """Missing, failed, repeated and invalid images are all in the column `unprocessed` of their true class."""
    sent = guesses(AK=None, SK="VASC")
    sent = [one for one in sent if one["image_id"] != "BCC-0"] + [guess("SCC-0", "SCC")]
    sent = [{**one, "probabilities": [2.0] + [0.0] * 9} if one["image_id"] == "DF-0" else one for one in sent]
    matrix = result_of(tmp_path, "lesions", TWO_EACH, sent, None, OFF)["confusion_matrix"]
    assert {row: counts["unprocessed"] for row, counts in matrix.items() if counts["unprocessed"]} == {
        "AK": 1, "BCC": 1, "SCC": 1, "DF": 1,
    }  # fmt: skip
    assert matrix["SK"]["VASC"] == 1
    assert sum(sum(row.values()) for row in matrix.values()) == 20


def test_a_time_measured_with_a_gpu(tmp_path: Path) -> None:
    """It does not count: nothing that needs it is given, the rest is; the file is valid with a warning."""
    score = score_of(tmp_path, "lesions", TWO_EACH, guesses(), {**model(), "gpu": True})
    assert score.result is not None
    assert [score.result[name] for name in ("efficiency_score", "final_score", "points")] == [None] * 3
    assert score.result["prediction_score"] == 1.0
    assert (
        "the inference time was measured with a GPU, so no efficiency_score, final_score and points" in score.warnings
    )
    assert [problem.code for problem in score.problems] == ["MC229"]
    with_cpu = score_of(tmp_path, "lesions", TWO_EACH, guesses(), {**model(), "gpu": False})
    assert with_cpu.result is not None
    assert with_cpu.result["points"] == 100


ALONE = "t_min_ms and t_max_ms come from a single submission: its part for time is 1, whatever its time"


def is_told_to_be_alone(warnings: Iterable[str]) -> bool:
    return any(warning.startswith(ALONE) for warning in warnings)


def test_the_times_of_a_single_submission(tmp_path: Path) -> None:
    """Without times of a competition, the time part is 1 whatever the time: a warning. Without a time there is none."""
    for time in (1.0, 1e6):
        score = score_of(tmp_path, "lesions", TWO_EACH, guesses(), model(time=time))
        assert score.result is not None
        assert score.result["efficiency_score"] == 1
        assert is_told_to_be_alone(score.warnings)
    times = {"t_min_ms": "1", "t_max_ms": "1000"}
    for referenced, parameters in ((model(), times), (None, {}), ({**model(), "gpu": True}, {})):
        score = score_of(tmp_path, "lesions", TWO_EACH, guesses(), referenced, parameters)
        assert not is_told_to_be_alone(score.warnings)


@pytest.mark.parametrize(
    ("times", "gpu", "alone"), [((100.0, 300.0), False, False), ((100.0,), False, True), ((100.0, 300.0), True, True)]
)
def test_the_times_of_a_ranking(tmp_path: Path, times: tuple[float, ...], gpu: bool, alone: bool) -> None:
    """The warning is about the ranking, and only if one submission has a time that counts."""
    truth = write(tmp_path, "lesions/truth", TWO_EACH)
    folders = [tmp_path / f"team-{time:g}" for time in times]
    for folder, time in zip(folders, times, strict=True):
        folder.mkdir()
        write(folder, "lesions/predictions", guesses())
        document(folder, "model", {**model(time=time), "gpu": gpu and time == 300})
    board = medcontract.leaderboard(truth, *folders)
    assert is_told_to_be_alone(board.warnings) is alone
    assert not any(is_told_to_be_alone(entry.warnings) for entry in board.submissions)
    assert board.submissions[0].headline == 1
    if len(times) == 2:  # 1/2 + 1/2·0 for the slower one: 9/10 + 1/20
        assert board.submissions[1].headline == (None if gpu else 0.95)


SIZES = [
    (49.99, F(1)),
    (20.0, F(1)),
    (0.001, F(1)),
    (49.99999999999999, F(1)),
    (50.0, 1 - F(30, 130)),
    (85.0, F(1, 2)),
    (99.9, 1 - (F(99.9) - 20) / 130),
    (150.0, F(0)),
    (150.00000000000003, F(0)),
    (300.0, F(0)),
    (1e300, F(0)),
]


@pytest.mark.parametrize(("size", "part"), SIZES)
def test_the_size_part(size: float, part: Fraction, tmp_path: Path) -> None:
    """1 below 50 MB; 1 − (S − 20)/130 from there: 10/13 at 50 MB, a jump; 0 at 150 MB and beyond.

    All else is perfect: efficiency 1/2·part + 1/2, final 9/10 + 1/10·efficiency.
    """
    result = result_of(tmp_path, "lesions", TWO_EACH, guesses(), model(size))
    efficiency = part / 2 + F(1, 2)
    assert result["efficiency_score"] == float(efficiency)
    assert result["final_score"] == float(F(9, 10) + efficiency / 10)
    assert result["points"] == float(90 + 10 * efficiency)


TIMES = [
    (100.0, "100", "300", F(1)),
    (150.0, "100", "300", F(3, 4)),
    (300.0, "100", "300", F(0)),
    (50.0, "100", "300", F(1)),
    (400.0, "100", "300", F(0)),
    (100.0, "100", "100", F(1)),
    (250.0, "100", "100", F(1)),
    (0.25, "0.1", "0.4", 1 - (F(1, 4) - F(1, 10)) / F(3, 10)),
    (0.3, "0.1", "0.7", 1 - (F(0.3) - F(1, 10)) / F(6, 10)),
    (5e-324, "0", "1e-3", 1 - F(5e-324) * 1000),
]


@pytest.mark.parametrize(("time", "shortest", "longest", "part"), TIMES)
def test_the_time_part(time: float, shortest: str, longest: str, part: Fraction, tmp_path: Path) -> None:
    """1 − (T − T_min)/(T_max − T_min) within [0, 1], 1 when both are equal; 0.1 as a parameter is 1/10."""
    parameters = {"t_min_ms": shortest, "t_max_ms": longest}
    result = result_of(tmp_path, "lesions", TWO_EACH, guesses(), model(31.4, time), parameters)
    assert result["efficiency_score"] == float(F(1, 2) + part / 2)
    assert result["points"] == float(90 + 5 + 5 * part)


def test_times_of_a_competition_are_decimals(tmp_path: Path) -> None:
    """The double 0.3 is a little less than the decimal 0.3 that is T_max: the time part is tiny, and not 0.

    With 150 MB the size part is 0: efficiency = 1/2·(1 − (0.3 as a double − 1/10)/(3/10 − 1/10)) > 0.
    """
    parameters = {"t_min_ms": "0.1", "t_max_ms": "0.3"}
    result = result_of(tmp_path, "lesions", TWO_EACH, guesses(), model(150.0, 0.3), parameters)
    assert F(0.3) < F(3, 10)
    assert result["efficiency_score"] == float((1 - (F(0.3) - F(1, 10)) / F(2, 10)) / 2)


@pytest.mark.parametrize(
    "parameters", [{"t_min_ms": "1"}, {"t_max_ms": "1"}, {"t_min_ms": "2", "t_max_ms": "1"}, {"t_mean_ms": "1"}]
)
def test_times_that_do_not_fit(parameters: dict[str, str], tmp_path: Path) -> None:
    """Both or none, the shorter first; an unknown parameter is a wrong call."""
    with pytest.raises(medcontract.CallError):
        score_of(tmp_path, "lesions", TWO_EACH, guesses(), model(), parameters)


def test_without_a_model_file(tmp_path: Path) -> None:
    """efficiency_score, final_score and points are null; the rest is there."""
    score = score_of(tmp_path, "lesions", TWO_EACH, guesses())
    assert score.valid
    assert score.result is not None
    assert_keeps_contract("lesions", score.result)
    null = [name for name, value in score.result.items() if value is None]
    assert null == ["efficiency_score", "final_score", "points"]
    assert score.result["prediction_score"] == 1.0


def test_warnings_for_classes_that_the_truth_lacks(tmp_path: Path) -> None:
    """Each absent class gets one: its weight is lost to everybody."""
    truth = [image("I", "MEL"), image("J", "NON")]
    score = score_of(tmp_path, "lesions", truth, [guess("I", "MEL"), guess("J", "NON")], model())
    words = re.findall(r"\b[A-Z]{2,4}\b", " ".join(score.warnings))
    assert [name for name in CLASSES if name in words] == [c for c in CLASSES if c not in ("MEL", "NON")]
    times = {"t_min_ms": "1", "t_max_ms": "200"}
    assert not score_of(tmp_path, "lesions", TWO_EACH, guesses(), model(), times).warnings


# --- what a score carries ------------------------------------------------------------------------


@pytest.mark.parametrize("track", TRACKS)
def test_the_content_of_a_truth(track: str, tmp_path: Path) -> None:
    """`content_sha256` is that of the records: the same for any order, spelling and container, another for another."""
    truth, sent = many(track, 3)
    contract, submission, _ = CONTRACTS[track]
    sent_file = write(tmp_path, submission, sent)
    spelled = as_jsonl(contract, [dict(reversed(record.items())) for record in truth[::-1]]).decode()
    spelled = spelled.replace(" 0,", " 0.0,").replace(" 2}", " 0.2e1}").replace('"R-', '"\\u0052-')

    def content(*files: Path) -> set[str | None]:
        inputs = medcontract.score(*files, sent_file, header=given(files)).inputs
        assert [one.content_sha256 for one in inputs if one.contract == submission] == [None]
        return {one.content_sha256 for one in inputs if one.contract == contract}

    def given(files: tuple[Path, ...]) -> dict[str, str]:
        has_header = any(path.suffix == ".json" for path in files)
        return {} if has_header else HEADERS[contract]

    usual = content(write(tmp_path, contract, truth))
    assert len(usual) == 1
    other = tmp_path / "other.jsonl"
    other.write_text(spelled)
    assert content(other) == usual
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(spelled.encode()))
    assert content(packed) == usual
    assert content(*(write(tmp_path, contract, [true], "json", f"part{n}") for n, true in enumerate(truth))) == usual
    assert content(write(tmp_path, contract, truth[1:])) != usual


# --- only validated data is scored ---------------------------------------------------------------


def _anything(*_: Any) -> str:
    return ""


def test_plain_data_is_refused() -> None:
    """A dict, a list, a model that nobody vouched for: a type error, not a score."""
    plain_values: tuple[Any, ...] = ({}, [], [THREE[0]], (), None, "reports")
    for plain in plain_values:
        with pytest.raises(TypeError, match="validated"):
            validated(plain)


def test_a_truth_of_plain_records_is_refused() -> None:
    """The ignored type error is the proof that a type checker refuses it too: an unused ignore fails the build."""
    expected: Expected = Expected(("report_id",), _anything)
    with pytest.raises(TypeError):
        expected.take([THREE[0]])  # type: ignore[arg-type]
    assert not expected.items


def test_a_submission_of_plain_records_is_refused() -> None:
    """As for a truth."""
    pair: Pair = Pair(
        truth="reports/truth", submission="reports/predictions", key=("report_id",), item=_anything, measure=_anything
    )
    pairing = Pairing(pair, Expected(("report_id",), _anything))
    with pytest.raises(TypeError):
        pairing.take([RIGHT[0]])  # type: ignore[arg-type]
    assert not pairing.marks_by_run


def test_nobody_else_can_vouch() -> None:
    """A validated value cannot be made by a call, nor changed, nor passed off by a subclass."""
    with pytest.raises(TypeError):
        Validated(object(), [THREE[0]], "reports/truth")
    value = medcontract.load(as_jsonl("reports/truth", THREE), name="truth.jsonl")
    assert len(validated(value)) == 3
    with pytest.raises(AttributeError):
        value.value = []  # type: ignore[misc]

    class Mine(Validated[Any]):
        def __init__(self) -> None:
            self._value = [THREE[0]]

    with pytest.raises(TypeError):
        validated(Mine())


def test_score_takes_files_and_tables_only(tmp_path: Path) -> None:
    """The public function validates what it is given: a record or a whole document is neither a file nor a table."""
    with pytest.raises(medcontract.CallError, match="expected a path, got dict"):
        medcontract.score(THREE[0], RIGHT[0])  # type: ignore[arg-type]
    with pytest.raises(medcontract.CallError):
        medcontract.score(*document(tmp_path, "telemetry", telemetry()))


def test_a_sure_guess() -> None:
    """The helper of these tests, tested."""
    assert sure("BCC") == [0.001, 0.991] + [0.001] * 8
