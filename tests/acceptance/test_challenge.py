"""A challenge from its file to scores and leaderboards, by the commands and in Python."""

from __future__ import annotations

import json
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.challenge_files import REGRESSION, SMALL, STROKE, changed, stroke_predictions, stroke_truth, write
from tests.commands import Call, caller
from tests.fake_cluster import Cluster
from tests.support import published

import medcontract
from medcontract import Challenge
from medcontract.contracts import registry
from medcontract.reading import chunks
from medcontract.scoring import tracks


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(capsys)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the challenge of the specification, a truth and a submission; it is the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "challenge.toml").write_text(STROKE)
    write(tmp_path / "truth.json", {"truth": stroke_truth()})
    write(tmp_path / "predictions.json", {"team_name": "Andes", "predictions": stroke_predictions()})
    write(tmp_path / "cases.csv", [{"case_id": f"C-{n}", "age": 60 + n} for n in range(4)])
    return tmp_path


USE = ("--challenge", "challenge.toml")

# By hand: ischemic has TP 1, FP 1, FN 0, hemorrhagic TP 2, none FN 1: F1 is 2/3, 1 and 0, macro 5/9.
# Positives have 0.9 and 0.25, negatives 0.2 and 0.3: 3 of 4 pairs are in the right order.
MACRO_F1, AUROC = 5 / 9, 0.75
TOTAL = (7 * 20 + 3 * 27) / 360
RESULT = {
    "metrics": {"macro_f1": MACRO_F1, "auroc": AUROC},
    "sums": {"total": TOTAL},
    "headline": {"name": "total", "value": TOTAL},
    "undefined": {},
    "left_out": {},
    "by_class": {"macro_f1": {"ischemic": 2 / 3, "hemorrhagic": 1.0, "none": 0.0}},
    "confusion_matrix": {
        "label": {
            "ischemic": {"ischemic": 1, "hemorrhagic": 0, "none": 0, "unprocessed": 0},
            "hemorrhagic": {"ischemic": 0, "hemorrhagic": 2, "none": 0, "unprocessed": 0},
            "none": {"ischemic": 1, "hemorrhagic": 0, "none": 0, "unprocessed": 0},
        }
    },
}


# --- commands ---------------------------------------------------------------------------------------------------------


def test_check(folder: Path, call: Call) -> None:
    """`challenge check` exits with 0, 1 or 2; problems are rendered like in any file."""
    assert call("challenge", "check", "challenge.toml").code == 0
    (folder / "wrong.toml").write_text(changed(STROKE, 'average = "macro"', 'average = "makro"'))
    ran = call("challenge", "check", "wrong.toml")
    assert ran.code == 1
    assert "wrong.toml:19:1: error MC104 metric.macro_f1.average: " in ran.out
    ran = call("challenge", "check", "wrong.toml", "--format", "json")
    published("medcontract/validation").validate(ran.json)
    (problem,) = ran.json["files"][0]["problems"]
    assert (problem["code"], problem["pointer"], problem["line"]) == ("MC104", "/metric/0/average", 19)
    assert call("challenge", "check", "no.toml").code == 2


def test_wrong_challenge(folder: Path, call: Call) -> None:
    """Other commands do not run with a challenge that has errors; they show the first problems."""
    (folder / "wrong.toml").write_text(changed(STROKE, 'average = "macro"', 'average = "makro"'))
    ran = call("score", "truth.json", "predictions.json", "--challenge", "wrong.toml")
    assert (ran.code, ran.out) == (1, "")
    assert "wrong.toml:19:1: error MC104" in ran.err
    ran = call("score", "truth.json", "predictions.json", "--challenge", "no.toml")
    assert ran.code == 2
    assert "no.toml: no such file" in ran.err


def test_validate(folder: Path, call: Call) -> None:
    """Files are recognized as files of the challenge, and checked against its contracts."""
    ran = call("validate", "truth.json", "predictions.json", "cases.csv", *USE, "--format", "json")
    assert ran.code == 0
    contracts = [file["contract"] for file in ran.json["files"]]
    assert contracts == ["stroke/truth", "stroke/predictions", "stroke/cases"]
    assert ran.err == "challenge: stroke v1 (challenge.toml)\n"
    wrong = [{"case_id": "C-1", "label": "ischaemic", "probability": 1.5, "findings": ["edema", "edema"]}]
    write(folder / "wrong.jsonl", wrong)
    ran = call("validate", "wrong.jsonl", *USE, "--format", "json")
    assert ran.code == 1
    problems = ran.json["files"][0]["problems"]
    assert [(each["code"], each["pointer"]) for each in problems] == [("MC104", "/label"), ("MC105", "/probability")]
    assert problems[0]["hint"] == "did you mean 'ischemic'?"
    wrong[0] |= {"label": "ischemic", "probability": 0.5}
    ran = call("validate", write(folder / "wrong.jsonl", wrong), *USE, "--format", "json")
    assert [(each["code"], each["pointer"]) for each in ran.json["files"][0]["problems"]] == [("MC228", "/findings/1")]


def test_failed_prediction(folder: Path, call: Call) -> None:
    """A failed prediction has an error, and no other field besides the key."""
    records = [{"case_id": "C-1", "error": "timeout"}, {"case_id": "C-2", "error": "x", "label": "none"}]
    ran = call("validate", write(folder / "failed.jsonl", records), *USE, "--format", "json")
    assert [(each["code"], each["record"]) for each in ran.json["files"][0]["problems"]] == [("MC109", 1)]


def test_only_candidates(folder: Path, call: Call) -> None:
    """With a challenge, files of other tracks are not recognized; without it, its files are not."""
    write(folder / "reports.jsonl", [{"report_id": "R-1", "urgency": "Routine"}])
    assert "reports/cases" in call("validate", "reports.jsonl").out
    ran = call("validate", "reports.jsonl", *USE)
    assert (ran.code, "MC009" in ran.out, "reports/cases" in ran.out) == (2, True, False)
    assert call("validate", "truth.json").code == 2


def test_not_used_unless_named(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A challenge.toml in the current folder is used only if an option or the environment names it."""
    ran = call("validate", "truth.json")
    assert ran.code == 2
    assert ran.err == "challenge: none (challenge.toml is not used without --challenge challenge.toml)\n"
    assert call("challenge", "check", "challenge.toml").err == ""
    monkeypatch.setenv("MEDCONTRACT_CHALLENGE", "challenge.toml")
    ran = call("validate", "truth.json")
    assert (ran.code, ran.err) == (0, "challenge: stroke v1 (challenge.toml)\n")


def test_preflight(folder: Path, call: Call) -> None:
    """`preflight` runs with the cases alone, and with the truth."""
    ran = call("preflight", "predictions.json", "cases.csv", *USE, "--format", "json")
    assert ran.code == 0
    states = {check["id"]: check["status"] for check in ran.json["checks"]}
    assert list(states.values()).count("passed") == 6
    assert call("preflight", "predictions.json", "truth.json", *USE).code == 0
    write(folder / "few.jsonl", stroke_predictions()[:2])
    assert call("preflight", "few.jsonl", "cases.csv", *USE).code == 1


def test_score(folder: Path, call: Call) -> None:
    """The result is the one computed by hand, and a document of stroke/score."""
    ran = call("score", "truth.json", "predictions.json", *USE, "--format", "json")
    assert ran.code == 0
    published("medcontract/score").validate(ran.json)
    assert ran.json["result"] == RESULT
    write(folder / "result.json", ran.json["result"])
    assert call("validate", "stroke/score=result.json", *USE).code == 0
    text = call("score", "truth.json", "predictions.json", *USE).out
    assert text.startswith("VALID  stroke, Andes  total 0.6139\n")
    assert "macro_f1  0.5556" in text
    assert "Confusion matrix of label" in text
    assert call("score", "truth.json", "predictions.json", *USE, "--format", "markdown").code == 0


def test_participant(folder: Path, call: Call) -> None:
    """Participants see neither figures by class nor the confusion matrix, and 4 decimals."""
    ran = call("score", "truth.json", "predictions.json", *USE, "--participant", "--result-only")
    figures = {"metrics": {"macro_f1": 0.5556, "auroc": 0.75}, "sums": {"total": 0.6139}}
    headline = {"name": "total", "value": 0.6139}
    assert ran.json == {**figures, "headline": headline, "undefined": {}, "left_out": {}}


def test_gate(folder: Path, call: Call) -> None:
    """Below the processing gate there is no result; the parameter changes it, and the fingerprint."""
    write(folder / "few.jsonl", stroke_predictions()[:3])
    ran = call("score", "truth.json", "few.jsonl", *USE, "--format", "json")
    assert (ran.code, ran.json["result"]) == (1, None)
    assert "75 % processed" in ran.json["reasons"][0]
    again = call("score", "truth.json", "few.jsonl", *USE, "--format", "json", "--parameter", "min_processed=0.5")
    assert again.code == 0
    assert again.json["protocol"]["fingerprint"] != ran.json["protocol"]["fingerprint"]
    # hemorrhagic now has TP 1 and FN 1: F1 2/3; the case left out loses its two pairs: 2 of 4
    assert again.json["result"]["metrics"] == {"macro_f1": 4 / 9, "auroc": 0.5}


def test_parameters(folder: Path, call: Call) -> None:
    """Every number of the file is a parameter, and `--parameter` gives what a changed file would give."""
    ran = call("score", "truth.json", "predictions.json", *USE, "--format", "json", "--parameter", "sums.total.auroc=1")
    assert ran.json["result"]["sums"] == {"total": (7 * 5 / 90) + 0.75}
    (folder / "other.toml").write_text(changed(STROKE, "auroc = 0.3", "auroc = 1.0").replace("Stroke type", "Any"))
    other = call("score", "truth.json", "predictions.json", "--challenge", "other.toml", "--format", "json")
    assert other.json["protocol"] == ran.json["protocol"]
    shown = call("protocol", "show", "stroke", *USE, "--format", "json").json
    names = [parameter["name"] for parameter in shown["parameters"]]
    assert names == ["min_processed", "sums.total.macro_f1", "sums.total.auroc", "definition"]
    abouts = [figure["about"] for figure in shown["figures"]]
    assert any(about.startswith("auroc of probability (positive: label is hemorrhagic): ") for about in abouts)
    wrong = call("score", "truth.json", "predictions.json", *USE, "--parameter", "sums.total.aurok=1")
    assert wrong.code == 2
    assert "did you mean 'sums.total.auroc'?" in wrong.err
    zero = ("--parameter", "sums.total.auroc=0", "--parameter", "sums.total.macro_f1=0")
    assert call("score", "truth.json", "predictions.json", *USE, *zero).code == 2
    assert call("score", "truth.json", "predictions.json", *USE, "--parameter", "definition=x").code == 2


WEIGHTS = """\
id = "risk"
key = "case_id"
[prediction]
label = { one_of = ["a", "b", "c=d", "e.f"] }
[truth]
label = { one_of = ["a", "b", "c=d", "e.f"] }
[[metric]]
name = "f1"
kind = "f1"
field = "label"
weights = { a = 0.5, "c=d" = 1 }
[score]
headline = "f1"
"""


def test_weights_of_classes(folder: Path, call: Call) -> None:
    """The weight of a class that is not listed is 0, as if it was written; names of classes may contain anything."""
    listed = changed(WEIGHTS, "a = 0.5", 'a = 0.50, b = 0, "e.f" = 0.0')
    assert Challenge.load(WEIGHTS.encode()).fingerprint == Challenge.load(listed.encode()).fingerprint
    (folder / "challenge.toml").write_text(WEIGHTS)
    write(folder / "truth.json", {"truth": [{"case_id": "1", "label": "a"}, {"case_id": "2", "label": "c=d"}]})
    write(folder / "p.json", {"team_name": "x", "predictions": [{"case_id": str(n), "label": "a"} for n in (1, 2)]})

    def score(*parameters: str) -> float:
        changes = [word for each in parameters for word in ("--parameter", f"metric.f1.weights.{each}")]
        headline = call("score", "truth.json", "p.json", *USE, "--format", "json", *changes).json["result"]["headline"]
        return float(headline["value"])

    # F1 of a is 2/3, of all others 0
    assert score() == float(Fraction(2, 3) / 2 / Fraction(3, 2))
    assert score("c=d=3") == float(Fraction(2, 3) / 2 / Fraction(7, 2))
    assert score("e.f=1", "b=2") == float(Fraction(2, 3) / 2 / Fraction(9, 2))
    ran = call("score", "truth.json", "p.json", *USE, "--parameter", "metric.f1.weights.g=1")
    assert (ran.code, "has no parameter 'metric.f1.weights.g'" in ran.err) == (2, True)
    assert "the parameters are min_processed, " in ran.err


def test_fingerprint() -> None:
    """It depends on everything but title, about, comments, order of keys and notation of numbers."""
    base = Challenge.load(STROKE.encode()).fingerprint
    same = [
        changed(STROKE, "Stroke type from CT reports", "Other"),
        changed(STROKE, ', about = "of hemorrhagic"', ""),
        changed(STROKE, "[gate]\nmin_processed = 0.95\n", ""),
        changed(STROKE, "min = 0, max = 1", "max = 1.0, min = 0e0"),
        changed(STROKE, "version = 1\n", ""),
        changed(STROKE, 'key = "case_id"', 'key = ["case_id"]'),
        changed(STROKE, '"none"] }', '"none"], optional = false }'),
        changed(STROKE, "auroc = 0.3", "auroc = 3e-1"),
        changed(STROKE, "macro_f1 = 0.7, auroc = 0.3", "auroc = 0.3, macro_f1 = 0.70"),
    ]
    assert {Challenge.load(text.encode()).fingerprint for text in same} == {base}
    different = [
        changed(STROKE, 'average = "macro"', 'average = "micro"'),
        changed(STROKE, "min_processed = 0.95", "min_processed = 0.96"),
        changed(STROKE, "auroc = 0.3", "auroc = 0.31"),
        changed(STROKE, "version = 1", "version = 2"),
        changed(STROKE, 'is = "hemorrhagic"', 'is = "ischemic"'),
        changed(STROKE, "max = 1", "max = 2"),
        changed(STROKE, 'headline = "total"', 'headline = "auroc"'),
        changed(STROKE, ", optional = true, about", ", about"),
        changed(STROKE, 'id = "stroke"', 'id = "strokes"'),
        changed(STROKE, 'key = "case_id"', 'key = "case"'),
        changed(STROKE, 'kind = "f1"', 'kind = "recall"'),
        STROKE.replace('["ischemic", "hemorrhagic", "none"]', '["hemorrhagic", "ischemic", "none"]'),
        changed(STROKE, "[truth]\n", '[truth]\nage = { type = "integer" }\n'),
        changed(STROKE, "[[metric]]", '[[rule]]\nkind = "unique"\nfields = ["case_id"]\n[[metric]]'),
    ]
    fingerprints = {base, *(Challenge.load(text.encode()).fingerprint for text in different)}
    assert len(fingerprints) == len(different) + 1


def test_leaderboard_and_compare(folder: Path, call: Call) -> None:
    """Submissions are ranked by the headline, in one process or two; two scores are compared."""
    better = stroke_predictions()
    better[2]["label"] = "none"
    write(folder / "better.jsonl", better)
    arguments = ("leaderboard", "truth.json", "predictions.json", "better.jsonl", *USE, "--format", "json")
    ran = call(*arguments)
    published("medcontract/leaderboard").validate(ran.json)
    assert ran.json["headline"] == "total"
    ranked = [(each["name"], each["rank"], each["figures"]) for each in ran.json["submissions"]]
    assert ranked == [
        ("better.jsonl", 1, {"total": 0.925, "macro_f1": 1.0, "auroc": 0.75}),
        ("predictions.json", 2, {"total": TOTAL, "macro_f1": MACRO_F1, "auroc": 0.75}),
    ]
    assert call(*arguments, "--jobs", "2").json == ran.json
    for name in ("predictions.json", "better.jsonl"):
        call("score", "truth.json", name, *USE, "--format", "json", "--out", f"{name}.score.json")
    ran = call("compare", "predictions.json.score.json", "better.jsonl.score.json", *USE, "--format", "json")
    assert ran.code == 0
    assert [figure["name"] for figure in ran.json["figures"]] == ["total", "macro_f1", "auroc"]
    assert ran.json["warnings"] == []


def test_freeze(folder: Path, call: Call) -> None:
    """A frozen protocol is used and checked like for a built-in track."""
    assert call("protocol", "freeze", "stroke", *USE, "--truth", "truth.json", "--out", "frozen.json").code == 0
    assert call("protocol", "check", "frozen.json", *USE).code == 0
    assert call("score", "truth.json", "predictions.json", *USE, "--protocol", "frozen.json").code == 0
    (folder / "other.toml").write_text(changed(STROKE, 'average = "macro"', 'average = "micro"'))
    assert call("protocol", "check", "frozen.json", "--challenge", "other.toml").code == 1


def test_schemas(folder: Path, call: Call) -> None:
    """The contracts are listed, shown, exported, checked and compared."""
    listed = call("schema", "list", *USE, "--format", "json").json["contracts"]
    found = {each["id"]: each["containers"] for each in listed}
    assert found == {
        "stroke/cases": ["json", "jsonl", "csv", "parquet"],
        "stroke/predictions": ["json", "jsonl"],
        "stroke/score": ["json"],
        "stroke/truth": ["json", "jsonl"],
    }
    shown = call("schema", "show", "stroke/truth", *USE, "--record").json
    assert shown["required"] == ["case_id", "label", "findings"]
    assert shown["properties"]["label"]["enum"] == ["ischemic", "hemorrhagic", "none"]
    assert call("schema", "export", "old", *USE).code == 0
    assert call("schema", "check", "old", *USE).code == 0
    (folder / "other.toml").write_text(STROKE.replace('"none"]', '"none", "unknown"]'))
    assert call("schema", "export", "new", "--challenge", "other.toml").code == 0
    ran = call("schema", "diff", "old", "new", "--format", "json")
    assert ran.code == 1
    assert "unknown" in ran.out
    assert call("schema", "diff", "old/stroke/truth/v1.json", "stroke/truth", *USE).code == 0
    assert call("schema", "check", "old", "--challenge", "other.toml").code == 1


def test_init(folder: Path, call: Call) -> None:
    """The example files are valid, and can be scored."""
    ran = call("init", "stroke", "demo", *USE)
    assert ran.code == 0
    assert "medcontract validate --challenge challenge.toml demo" in ran.err
    assert call("validate", "demo", *USE).code == 0
    assert call("score", "demo", *USE).code == 0


def test_out_is_not_the_challenge(folder: Path, call: Call) -> None:
    """The challenge is an input: it is not overwritten."""
    ran = call("score", "truth.json", "predictions.json", *USE, "--format", "json", "--out", "challenge.toml")
    assert ran.code == 2
    assert (folder / "challenge.toml").read_text() == STROKE


def test_jobs(folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large files are read in two processes, with the same output."""
    monkeypatch.setattr(chunks, "SMALLEST", 4096)
    truth, predictions = [], []
    labels = ("ischemic", "hemorrhagic", "none")
    for number in range(500):
        padded = f"C-{number:060}"
        truth.append({"case_id": padded, "label": labels[number % 3], "findings": []})
        predictions.append({"case_id": padded, "label": labels[number * 7 % 5 % 3], "probability": number % 101 / 100})
    write(folder / "truth.jsonl", truth)
    write(folder / "big.jsonl", predictions)
    arguments = ("score", "truth.jsonl", "big.jsonl", *USE, "--format", "json")
    one, two = call(*arguments, "--jobs", "1"), call(*arguments, "--jobs", "2")
    assert one.code == 0
    assert one == two
    cluster = Cluster()
    medcontract.Challenge.load("challenge.toml").score("truth.jsonl", "big.jsonl", client=cluster)
    assert cluster.tasks > 4


# --- truth and predictions that look alike ----------------------------------------------------------------------------


@pytest.fixture
def alike(folder: Path) -> Path:
    (folder / "challenge.toml").write_text(SMALL)
    records = [{"case_id": "1", "label": "yes"}, {"case_id": "2", "label": "no"}]
    write(folder / "a.csv", records)
    write(folder / "b.csv", records)
    write(folder / "truth.json", {"truth": records})
    write(folder / "predictions.json", {"team_name": "Andes", "predictions": records})
    write(folder / "failed.csv", [{"case_id": "1", "label": "yes", "error": ""}, {"case_id": "2", "error": "x"}])
    return folder


@pytest.mark.parametrize("files", [("truth.json", "a.csv"), ("a.csv", "predictions.json"), ("a.csv", "failed.csv")])
def test_the_other_role(alike: Path, call: Call, files: tuple[str, str]) -> None:
    """A file that matches both is what the other file is not."""
    ran = call("score", *files, *USE, "--parameter", "min_processed=0", "--format", "json")
    assert ran.code == 0
    assert sorted(each["contract"] for each in ran.json["inputs"]) == ["risk/predictions", "risk/truth"]
    ran = call("validate", *files, *USE, "--format", "json")
    assert {each["contract"] for each in ran.json["files"]} == {"risk/predictions", "risk/truth"}


def test_both_alike(alike: Path, call: Call) -> None:
    """If both match both, the call is wrong, and the message says how to specify the truth."""
    for command in ("score", "preflight", "validate"):
        ran = call(command, "a.csv", "b.csv", *USE)
        assert ran.code == 2
        assert "risk/truth=PATH" in ran.err + ran.out
    assert call("score", "risk/truth=a.csv", "b.csv", *USE).code == 0
    assert call("leaderboard", "a.csv", "b.csv", *USE).code == 0  # the order of the arguments says it
    assert call("protocol", "freeze", "risk", "--truth", "a.csv", *USE, "--out", "frozen.json").code == 0


def test_cases_or_truth(alike: Path, call: Call) -> None:
    """If all fields of the truth are optional, a list of cases may be a truth: the message names both."""
    (alike / "challenge.toml").write_text(SMALL.replace('"no"] }', '"no"], optional = true }'))
    write(alike / "ids.csv", [{"case_id": "1"}, {"case_id": "2"}])
    three = "risk/truth=PATH, or risk/predictions=PATH, or risk/cases=PATH"
    for call_ in (("preflight", "predictions.json", "ids.csv"), ("validate", "ids.csv", "predictions.json")):
        ran = call(*call_, *USE)
        assert (ran.code, three in ran.err + ran.out) == (2, True)
    ran = call("preflight", "predictions.json", "risk/cases=ids.csv", *USE)
    assert (ran.code, "2 ids in ids.csv" in ran.out) == (0, True)
    assert call("template", "risk/predictions", "--cases", "risk/cases=ids.csv", *USE).code == 0
    (alike / "challenge.toml").write_text(changed(SMALL, '"no"] }\n[[', '"no"], optional = true }\n[['))
    ran = call("validate", "ids.csv", *USE)
    assert "specify it: risk/truth=PATH, or risk/cases=PATH" in ran.out


def test_the_position_decides(alike: Path, call: Call) -> None:
    """The first argument of `leaderboard` is the truth, even if its first record has only a key."""
    (alike / "challenge.toml").write_text(changed(SMALL, '"no"] }\n[[', '"no"], optional = true }\n[['))
    write(alike / "truth.jsonl", [{"case_id": "1"}, {"case_id": "2", "label": "no"}])
    ran = call("leaderboard", "truth.jsonl", "b.csv", *USE, "--format", "json")
    assert (ran.code, ran.json["submissions"][0]["headline"]) == (0, 1.0)


def test_a_truth_in_a_submission_decides_nothing(alike: Path, call: Call) -> None:
    """A truth in the folder of a submission does not turn the organizer's truth into a submission."""
    (alike / "submission").mkdir()
    write(alike / "submission" / "mine.json", {"truth": [{"case_id": "1", "label": "yes"}]})
    ran = call("score", "a.csv", "submission", *USE)
    assert (ran.code, "risk/truth=PATH" in ran.err) == (2, True)
    write(alike / "submission" / "predictions.csv", [{"case_id": "1", "label": "yes"}, {"case_id": "2", "label": "no"}])
    ran = call("score", "risk/truth=a.csv", "submission", *USE, "--format", "json")
    assert ran.code == 0
    assert [each["name"] for each in ran.json["inputs"]] == ["predictions.csv", "a.csv"]


# --- undefined figures and direction ----------------------------------------------------------------------------------


def test_undefined_headline(folder: Path, call: Call) -> None:
    """With an undefined headline the score is valid, with a warning, and there is no rank."""
    truth = [{**record, "label": "none"} for record in stroke_truth()]
    write(folder / "truth.json", {"truth": truth})
    ran = call("score", "truth.json", "predictions.json", *USE, "--format", "json")
    assert ran.code == 0
    assert ran.json["valid"] is True
    result = ran.json["result"]
    assert result["headline"] == {"name": "total", "value": None}
    assert (result["metrics"]["auroc"], result["sums"]["total"]) == (None, None)
    assert set(result["undefined"]) == {"auroc", "total"}
    assert any(warning.startswith("total is undefined") for warning in ran.json["warnings"])
    board = call("leaderboard", "truth.json", "predictions.json", *USE, "--format", "json").json
    assert board["headline"] == "total"
    assert [(each["rank"], each["valid"]) for each in board["submissions"]] == [(None, True)]
    assert call("score", "truth.json", "predictions.json", *USE).code == 0


def test_lower_is_better(folder: Path, call: Call) -> None:
    """A headline that is better when lower is ranked in ascending order."""
    (folder / "challenge.toml").write_text(REGRESSION)
    write(folder / "truth.csv", [{"case_id": "1", "days": 10}, {"case_id": "2", "days": 20}])
    for name, days in (("far.jsonl", (15, 30)), ("near.jsonl", (11, 20))):
        write(folder / name, [{"case_id": str(n), "days": each} for n, each in enumerate(days, 1)])
    files = ("risk/predictions=far.jsonl", "risk/predictions=near.jsonl")
    scores = [call("score", "risk/truth=truth.csv", file, *USE, "--result-only").json for file in files]
    assert [score["headline"]["value"] for score in scores] == [7.5, 0.5]
    board = call("leaderboard", "truth.csv", "far.jsonl", "near.jsonl", *USE, "--format", "json").json
    assert [(each["name"], each["rank"]) for each in board["submissions"]] == [("near.jsonl", 1), ("far.jsonl", 2)]
    write(folder / "perfect.jsonl", [{"case_id": "1", "days": 10}, {"case_id": "2", "days": 20}])
    files = ("risk/truth=truth.csv", "risk/predictions=perfect.jsonl")
    assert "MC504" not in call("preflight", *files, *USE).out  # an error of 0 is no cause for concern


def test_left_out(folder: Path, call: Call) -> None:
    """Cases without a true value are left out of the metric, and counted."""
    text = changed(
        SMALL,
        '[truth]\nlabel = { one_of = ["yes", "no"] }',
        '[truth]\nlabel = { one_of = ["yes", "no"], optional = true }',
    )
    (folder / "challenge.toml").write_text(text)
    write(folder / "truth.json", {"truth": [{"case_id": "1", "label": "yes"}, {"case_id": "2"}]})
    write(folder / "p.json", {"team_name": "A", "predictions": [{"case_id": n, "label": "yes"} for n in ("1", "2")]})
    result = call("score", "truth.json", "p.json", *USE, "--result-only").json
    assert (result["metrics"], result["left_out"]) == ({"accuracy": 1.0}, {"accuracy": 1})


# --- Python -----------------------------------------------------------------------------------------------------------


def test_python(folder: Path) -> None:
    """In a `with` block, the functions of the API use the challenge; they are methods, too."""
    challenge = Challenge.load("challenge.toml")
    assert medcontract.validate("truth.json").contract is None
    with challenge, challenge as used:
        assert used is challenge
        with Challenge.load(SMALL.encode()):
            assert medcontract.list_protocols().protocols[0].id == "risk"
        assert medcontract.load("truth.json").value.truth[1].label == "hemorrhagic"
        assert medcontract.score("truth.json", "predictions.json").result == RESULT
    assert medcontract.validate("truth.json").contract is None
    with pytest.raises(AttributeError, match="no 'nothing'"):
        challenge.nothing()
    assert "score" in dir(challenge)
    assert (challenge.id, challenge.version, challenge.title) == ("stroke", 1, "Stroke type from CT reports")
    assert repr(challenge) == "<Challenge stroke v1>"
    assert challenge.validate("truth.json").contract == "stroke/truth"
    assert challenge.validate_files(["truth.json", "predictions.json"])
    score = challenge.score("truth.json", "predictions.json")
    assert score.result == RESULT
    assert score == Challenge.load("challenge.toml").score("truth.json", "predictions.json")
    assert challenge.preflight("predictions.json", "cases.csv")
    assert challenge.leaderboard("truth.json", "predictions.json").submissions[0].rank == 1
    assert not [figure for figure in challenge.compare(score, score).figures if figure.delta]
    assert "stroke/cases" in [contract.id for contract in challenge.list_contracts().contracts]
    assert challenge.get_contract("stroke/truth").list_key == "truth"
    assert challenge.json_schema("stroke/truth")["title"] == "StrokeTruth"
    assert challenge.get_protocol().fingerprint == challenge.fingerprint
    assert challenge.check_protocol(challenge.freeze_protocol(truth="truth.json"))
    assert [protocol.id for protocol in challenge.list_protocols().protocols] == ["stroke"]
    assert [path.name for path in challenge.init(folder / "demo")] == ["truth.json", "predictions.json", "cases.json"]
    assert challenge.export_schemas(folder / "schemas").contracts == 4
    assert challenge.check_schemas(folder / "schemas")
    assert challenge.diff_schemas("stroke/truth", "stroke/truth")
    from medcontract.rendering import render

    assert "Confusion matrix" in render(score)  # outside of any call of the challenge
    with pytest.raises(medcontract.InvalidData, match="MC101"):
        Challenge.load(b'id = "x"\n')
    with pytest.raises(medcontract.CallError, match="no such file"):
        Challenge.load("no.toml")


def test_challenges_do_not_mix(folder: Path) -> None:
    """Two challenges with the same id are independent of each other, also in threads; nothing is registered."""
    before = dict(registry.compiled()), tracks.names()
    one = Challenge.load(STROKE.encode())
    two = Challenge.load(changed(STROKE.replace('"none"]', '"other"]'), "0.7", "0.5").encode())
    assert one.validate("truth.json")
    assert not two.validate("truth.json")
    assert one.json_schema("stroke/truth") != two.json_schema("stroke/truth")
    assert one.fingerprint != two.fingerprint
    found: dict[str, list[bool]] = {"one": [], "two": []}

    def run(name: str, challenge: Challenge) -> None:
        found[name] += [bool(challenge.validate("truth.json", "stroke/truth")) for _ in range(20)]

    threads = [threading.Thread(target=run, args=each) for each in (("one", one), ("two", two))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"one": [True] * 20, "two": [False] * 20}
    assert (dict(registry.compiled()), tracks.names()) == before
    with pytest.raises(medcontract.UnknownContract):
        medcontract.validate("truth.json", "stroke/truth")


def test_frames(folder: Path) -> None:
    """DataFrames are checked, scored, and have a pandera schema."""
    challenge = Challenge.load(SMALL.encode())
    truth = pd.DataFrame({"case_id": ["1", "2"], "label": ["yes", "no"]})
    predictions = pd.DataFrame({"case_id": ["1", "2"], "label": ["yes", "yes"]})
    assert challenge.validate_frame(truth, "risk/truth")
    wrong = challenge.validate_frame(predictions.assign(label=["yes", "maybe"]), "risk/predictions")
    assert [(problem.code, problem.record, problem.field) for problem in wrong.problems] == [("MC104", 1, "label")]
    result: Any = challenge.score(truth=truth, predictions=predictions).result
    assert result["headline"] == {"name": "accuracy", "value": 0.5}
    challenge.frame_schema("risk/truth").validate(truth)
    truth.to_parquet(folder / "truth.parquet")
    predictions.assign(error=None).to_parquet(folder / "predictions.parquet")
    result = challenge.score(folder / "truth.parquet", folder / "predictions.parquet").result
    assert result["headline"]["value"] == 0.5
    with pytest.raises(medcontract.CallError):
        Challenge.load(STROKE.encode()).frame_schema("stroke/truth")


def test_json_of_the_challenge_is_stable(folder: Path) -> None:
    """Scores in one and several containers have the same content hash and the same figures."""
    challenge = Challenge.load("challenge.toml")
    write(folder / "truth.jsonl", list(reversed(stroke_truth())))
    one = challenge.score("truth.json", "predictions.json")
    two = challenge.score("truth.jsonl", "predictions.json")
    assert one.result == two.result
    assert [file.content_sha256 for file in one.inputs] == [file.content_sha256 for file in two.inputs]
    assert json.loads(one.to_json())["track"] == "stroke"
