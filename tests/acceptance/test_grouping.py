"""The same problem in several fields, records and files is shown once, with counts, wherever people read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.commands import Call
from tests.scoring_files import CLASSES

import medcontract
from medcontract.testing import assert_valid

PREDICTION: dict[str, Any] = {
    "report_id": "R-1", "specialty": "Cardiology", "urgency": "Urgent", "follow_up": True, "processing_time_sec": 0.5,
}  # fmt: skip
ANSWERS = ("specialty", "urgency", "follow_up", "processing_time_sec")
FORMATS = ("text", "markdown", "html", "github")


def _write(path: str, count: int = 5, old: str = "", new: str = "", **changes: Any) -> None:
    records = [{**PREDICTION, **changes, "report_id": f"R-{number}"} for number in range(count)]
    text = "".join(f"{json.dumps(record)}\n" for record in records)
    Path(path).write_text(text.replace(f'"{old}"', f'"{new}"') if old else text, encoding="utf-8")


def _shown(call: Call, form: str, *files: str) -> str:
    return call("validate", *files, "--format", form).out.replace("&#39;", "'").replace("\\_", "_")


@pytest.mark.parametrize("form", FORMATS)
def test_a_rename_is_one_problem(call: Call, form: str) -> None:
    """The missing key is not shown next to the unknown one, and the problems are counted once; JSON has both."""
    _write("sent.jsonl", old="specialty", new="especialidad")
    out = _shown(call, form, "reports/predictions=sent.jsonl")
    assert out.count("'especialidad' is not in this contract") == 1
    assert "is missing" not in out
    assert "MC101" not in out
    assert "and 4 more records like this" in out
    assert "5 errors" in out or "errors **5**" in out or '<span class="value">5</span>' in out or ">5<" in out
    (file,) = call("validate", "reports/predictions=sent.jsonl", "--format", "json").json["files"]
    assert file["errors"] == 10
    assert {problem["code"] for problem in file["problems"]} == {"MC101", "MC102"}


def test_many_renames_are_one_problem(call: Call) -> None:
    """From three on, they are one list; keys that may be data are not in it."""
    _write("sent.jsonl")
    text = Path("sent.jsonl").read_text(encoding="utf-8")
    for name in ("specialty", "urgency", "follow_up"):
        text = text.replace(f'"{name}"', f'"pred_{name}"')
    Path("sent.jsonl").write_text(text.replace('"report_id"', '"report id"'), encoding="utf-8")
    out = call("validate", "reports/predictions=sent.jsonl").out
    assert "error MC102 3 keys are not in this contract\n" in out
    shown = "rename 'pred_specialty' to 'specialty', 'pred_urgency' to 'urgency' and 'pred_follow_up' to 'follow_up'"
    assert f"hint: {shown}\n" in out
    assert "… 15 problems in all\n" in out
    assert "report id" not in out
    classes = ",".join(f"prob_{name}" for name in CLASSES)
    Path("sent.csv").write_text(f"image_id,{classes}\nI-1,1{',0' * 9}\n", encoding="utf-8")
    out = call("validate", "lesions/predictions=sent.csv").out
    assert out.count("error MC") == 1
    assert "10 columns are not in this contract\n" in out
    assert "hint: rename 'prob_AK' to 'AK', 'prob_BCC' to 'BCC'" in out


def test_a_rename_of_a_column_is_one_problem(call: Call) -> None:
    """Also in a table, and not where other columns are allowed, so that the unknown one is no problem."""
    Path("sent.csv").write_text("imageid,label\nI-1,NV\n", encoding="utf-8")
    assert call("validate", "lesions/truth=sent.csv").out.endswith("1 error in 1 of 1 file, 1 record.\n")
    Path("cases.csv").write_text("reportid\nR-1\n", encoding="utf-8")
    out = call("validate", "reports/cases=cases.csv").out
    assert "column 'report_id' is missing" in out
    assert "hint: rename 'reportid'" in out


@pytest.mark.parametrize("form", FORMATS)
def test_several_fields(call: Call, form: str) -> None:
    """The fields with the same problem are named."""
    _write("sent.jsonl", specialty=None, urgency=None, follow_up=None)
    out = _shown(call, form, "sent.jsonl")
    assert out.count("'specialty' must be a string, not null") == 1
    assert "the same for 'urgency' and 'follow_up': 15 problems in all" in out


@pytest.mark.parametrize("form", FORMATS)
def test_several_files(call: Call, form: str) -> None:
    """The files with the same problem are named, and each still has its outcome."""
    for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
        _write(name, follow_up="maybe")
    out = _shown(call, form, "a.jsonl", "b.jsonl", "c.jsonl")
    assert out.count("'follow_up' must be true or false, not a string") == 1
    assert "the same in b.jsonl and c.jsonl: 15 problems in all" in out
    if form == "text":
        assert out.count(": not ok  reports/predictions, 5 records") == 3
        assert out.endswith("15 errors in 3 of 3 files, 15 records.\n")


def test_different_problems_stay_apart(call: Call) -> None:
    """Hints that differ, and other fields of rules, are other problems."""
    _write("sent.jsonl", specialty=3, urgency=4)
    out = call("validate", "sent.jsonl").out
    assert out.count("error MC103") == 2
    assert "the same" not in out


@pytest.mark.parametrize("form", ["json", "jsonl", "csv"])
def test_a_template_is_one_sentence(call: Call, form: str) -> None:
    """What is to be filled in is named once, in every container; one record with an answer makes a difference."""
    Path("cases.csv").write_text("report_id\nR-0\nR-1\n", encoding="utf-8")
    text = medcontract.template("reports/predictions", "reports/cases=cases.csv", format=form)
    Path(f"sent.{form}").write_text(text, encoding="utf-8")
    out = call("validate", f"reports/predictions=sent.{form}").out
    assert out.count("error MC") == 1
    assert "the file is not filled in: none of the 2 records has an answer" in out
    fields = ["team_name"] * (form == "json") + [*ANSWERS]
    assert f"hint: fill in {', '.join(map(repr, fields[:-1]))} and '{fields[-1]}'; if there is no answer" in out
    _write("part.jsonl", 1)
    with Path("part.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({**dict.fromkeys(PREDICTION), "report_id": "R-9"}))
    assert "not filled in" not in call("validate", "part.jsonl").out


def test_in_tests(tmp_path: Path) -> None:
    """The message of an assertion, which has no option to be shorter."""
    records = [{**PREDICTION, "report_id": f"R-{number}", "follow_up": "maybe"} for number in range(1204)]
    data = "".join(f"{json.dumps(record)}\n" for record in records).encode()
    with pytest.raises(AssertionError, match="and 1,203 more records like this") as caught:
        assert_valid(data, "reports/predictions", name="x.jsonl")
    assert len(str(caught.value).splitlines()) < 10


def test_after_repairs(call: Call) -> None:
    """What remains after `fix`, with which the same file was a thousand lines long."""
    _write("sent.jsonl", 1204, follow_up="maybe", urgency="urgent")
    ran = call("fix", "sent.jsonl")
    assert ran.code == 1
    assert "corrected 'urgency' (1,204 times)" in ran.out
    assert "and 1,203 more records like this (lines 2, 3, …)" in ran.out
    assert len(ran.out.splitlines()) < 12
