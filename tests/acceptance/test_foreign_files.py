"""Files of other programs, and files in the wrong role."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.commands import SENT, TRUTH, Call, caller, sent_file, truth_file
from tests.support import ROOT

STROKE = ROOT / "examples/stroke"
RECORD = {"doc_id": "a", "parse_success": True, "medicamentos": []}


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(capsys)


def _lines(value: Any) -> bytes:
    return b"\n".join([json.dumps(value).encode()] * 4)


FILES: dict[str, tuple[str, bytes, str]] = {
    "batch output": ("a.jsonl", _lines({"id": "b", "custom_id": "1", "response": {"body": {}}, "error": None}),
                     "this is the output of an OpenAI batch"),
    "batch input": ("a.jsonl", _lines({"custom_id": "1", "method": "POST", "url": "/v1", "body": {}}), "the input of"),
    "samples": ("a.jsonl", _lines({"doc_id": 0, "doc": {}, "target": "x", "resps": [["y"]]}), "samples of lm-eval"),
    "results": ("a.json", json.dumps({"results": {}, "configs": {}, "versions": {}}).encode(), "results of lm-eval"),
    "notebook": ("predictions.json", json.dumps({"cells": [], "metadata": {}, "nbformat": 4}).encode(), "a Jupyter"),
    "matlab": ("a.csv", b"MATLAB 5.0 MAT-file, Platform: X".ljust(128) + b"\0\1\2", "a MATLAB file"),
    "pickle 0": ("a.json", pickle.dumps({"a": 1}, 0), "a Python pickle"),
    "pickle 2": ("a.csv", pickle.dumps([1, 2], 2), "a Python pickle"),
    "printed": ("a.csv", b"   image_id   AK\n0      I-1  0.5\n..     ...  ...\n\n[9 rows x 2 columns]\n", "a printed"),
    "whole print": ("a.csv", b"   image_id   AK\n0      I-1  0.5\n1      I-2  0.7\n", "a printed DataFrame"),
    "blanks": ("a.csv", b"image_id label\nI-1 NV\nI-2 NV\n", "the columns are separated by blanks"),
    "vLLM": ("a.jsonl", _lines({"request_id": "1", "outputs": [{"text": "x"}]}), "the output of vLLM"),
    "LangChain": ("a.json", json.dumps([{"lc": 1, "type": "constructor", "kwargs": {}}]).encode(), "of LangChain"),
    "write.table": ("a.csv", b'"report_id" "urgency"\n"1" "R 1" "Urgent"\n"2" "R 2" "Routine"\n', "write.table of R"),
    "savetxt": ("a.csv", b"1.0e-01 9.0e-01\n2.0e-01 8.0e-01\n", "numbers without ids and column names"),
    "a list": ("a.csv", b"Here are my predictions for all:\n- R-1: Oncology\n- R-2: Other\n", "a text with a list"),
    "single quotes": ("a.csv", b"'report_id','urgency'\n'R-1','Urgent'\n", "the cells are in single quotes"),
    "write.csv2": ("a.csv", b'"";"report_id";"urgency"\n"1";"R-1";"Urgent"\n', "separated by semicolons"),
    "two rows of names": ("a.csv", b",pred,pred\n,specialty,urgency\nreport_id,,\nR-1,Other,Urgent\n", "on line 2"),
    "strings": ("a.jsonl", _lines(json.dumps(RECORD)), "each line is a string with JSON in it"),
    "header": ("a.jsonl", b'{"team": "x"}\n' + _lines(RECORD), "the first line is not a record"),
    "log": ("a.jsonl", b"\n".join(b"2026-01-02 10:00:00 [INFO] " + json.dumps(RECORD).encode() for _ in range(4)),
            "each line has text before its record"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FILES)
def test_files_of_other_programs(call: Call, tmp_path: Path, kind: str) -> None:
    """One problem, with its name and a hint, whatever the extension says. Nothing is loaded that could run code."""
    name, content, says = FILES[kind]
    (tmp_path / name).write_bytes(content)
    (problem,) = call("validate", tmp_path / name, "--format", "json").json["files"][0]["problems"]
    assert problem["code"] == "MC005"
    assert says in problem["message"]
    assert problem["hint"]


@pytest.mark.parametrize("value", [
    {"learning_rate": 0.1, "model": "x", "epochs": 3, "seed": 1}, {"id": 1, "output": "x", "error": None},
    [{"epoch": 1, "loss": 0.5}],
])  # fmt: skip
def test_one_similar_key_is_no_contract(call: Call, tmp_path: Path, value: Any) -> None:
    (tmp_path / "a.json").write_text(json.dumps(value), encoding="utf-8")
    ran = call("validate", tmp_path / "a.json")
    assert ran.code == 2
    assert "MC009 no contract matches" in ran.out
    assert "closest" not in ran.out


def test_the_other_files_say_what_is_meant(call: Call, tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text(json.dumps([{"img": "I-1", "p": 0.5, "q": 1}]), encoding="utf-8")
    ran = call("preflight", tmp_path / "out.json", truth_file(tmp_path, "lesions"))
    assert ran.code == 2
    assert "for lesions/predictions, write image_id and probabilities" in ran.err


def _as_predictions(folder: Path) -> Path:
    path = folder / "predictions.csv"
    rows = [f"{record['image_id']},NV\n" for record in TRUTH["lesions"]]
    path.write_text("".join(["image_id,label\n", *rows]), encoding="utf-8")
    return path


def test_a_truth_with_the_name_of_predictions(call: Call, tmp_path: Path) -> None:
    """It is a warning of `validate`, and no submission: the truth is not read twice."""
    path = _as_predictions(tmp_path)
    ran = call("validate", path)
    assert ran.code == 0
    assert "warning MC513 the name says that these are predictions" in ran.out
    assert "MC513" not in call("validate", f"lesions/truth={path}").out
    ran = call("preflight", path, truth_file(tmp_path, "lesions"))
    assert ran.code == 1
    assert "predictions.csv is ignored: the name says predictions" in ran.out
    assert "MC201" not in ran.out
    scored = call("score", path, truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions"))
    assert scored.code == 0
    assert "warning: predictions.csv is ignored" in scored.out


@pytest.mark.parametrize("name", ["truth_of_predictions.csv", "labels.csv", "cases.csv", "a.csv"])
def test_other_names(call: Call, tmp_path: Path, name: str) -> None:
    path = _as_predictions(tmp_path).rename(tmp_path / name)
    assert "MC513" not in call("validate", path).out


def test_names_decide_where_columns_are_equal(call: Call, tmp_path: Path) -> None:
    """Truth and predictions of a challenge have the same columns: both are given, in any order."""
    toml = (STROKE / "challenge.toml").read_text(encoding="utf-8")
    kept = toml.replace("probability = ", "# ").replace("[score.sums]\ntotal = { macro_f1 = 0.7, auroc = 0.3 }", "")
    start, end = kept.index('[[metric]]\nname = "auroc"'), kept.index("[score]")
    (tmp_path / "c.toml").write_text((kept[:start] + kept[end:]).replace('"total"', '"macro_f1"'), encoding="utf-8")
    text = (STROKE / "truth.csv").read_text(encoding="utf-8")
    for name in ("truth.csv", "predictions.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [tmp_path / "predictions.csv", tmp_path / "truth.csv"]
    for each in (files, files[::-1]):
        ran = call("score", "--challenge", tmp_path / "c.toml", *each)
        assert (ran.code, "macro_f1 1.0000" in ran.out) == (0, True)
        assert "predictions.csv: stroke/predictions (by its name)" in ran.out


@pytest.mark.parametrize("track", SENT)
def test_right_roles(call: Call, tmp_path: Path, track: str) -> None:
    files = sent_file(tmp_path, track, name="predictions.json"), truth_file(tmp_path, track)
    assert "MC513" not in call("validate", *files).out
