"""Tables of challenges: lists in one cell, empty texts, booleans, and columns as they are called elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from medcontract import Challenge

FIELDS = """
"Diagnóstico" = { type = "boolean" }
findings = { type = "set", of = { one_of = ["edema", "shift", "mass, large"] }, separator = "|" }
note = { type = "text" }
"""
CHALLENGE = f"""
id = "cells"
key = "ID"
[prediction]{FIELDS}
[truth]{FIELDS}
[[metric]]
name = "f1"
kind = "f1"
field = "Diagnóstico"
positive = true
[[metric]]
name = "sets"
kind = "jaccard"
field = "findings"
[[metric]]
name = "texts"
kind = "exact_match"
field = "note"
[score]
headline = "f1"
"""
TRUTH = 'ID,Diagnóstico,findings,note\na,1,edema|shift,seen\nb,FALSE,,\nc,True,"mass, large",x\n'
SENT = "ID,Diagnóstico,findings,note,error\na,true,shift|edema,seen,\nb,0,,,\nc,,,,no image\n"
RECORDS = [
    {"ID": "a", "Diagnóstico": True, "findings": ["edema", "shift"], "note": "seen"},
    {"ID": "b", "Diagnóstico": False, "findings": [], "note": ""},
    {"ID": "c", "Diagnóstico": True, "findings": ["mass, large"], "note": "x"},
]


@pytest.fixture
def challenge() -> Challenge:
    return Challenge.load(CHALLENGE.encode())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "truth.csv").write_text(TRUTH, encoding="utf-8")
    (tmp_path / "sent.csv").write_text(SENT, encoding="utf-8")
    (tmp_path / "truth.jsonl").write_text("".join(json.dumps(each) + "\n" for each in RECORDS), encoding="utf-8")
    return tmp_path


def test_tables_are_allowed(challenge: Challenge) -> None:
    assert all("csv" in each.containers for each in challenge.list_contracts() if each.id != "cells/score")
    without = Challenge.load(CHALLENGE.replace(', separator = "|"', "").encode())
    assert without.get_contract("cells/truth").containers == ("json", "jsonl")


@pytest.mark.parametrize("rows", [1, 3000])
def test_a_csv_is_the_same_as_its_records(challenge: Challenge, folder: Path, rows: int) -> None:
    """An empty cell is the empty set or text, but null in the row of a case that failed. Also in large files."""
    if rows > 1:
        head, *lines = TRUTH.splitlines(keepends=True)
        (folder / "truth.csv").write_text(head + "".join(f"{n}{line}" for n in range(rows) for line in lines))
        copies = [{**each, "ID": f"{n}{each['ID']}"} for n in range(rows) for each in RECORDS]
        (folder / "truth.jsonl").write_text("".join(json.dumps(each) + "\n" for each in copies))
        head, *lines = SENT.splitlines(keepends=True)
        (folder / "sent.csv").write_text(head + "".join(f"{n}{line}" for n in range(rows) for line in lines))
    scores = [
        challenge.score(folder / name, folder / "sent.csv", parameters={"min_processed": 0})
        for name in ("truth.csv", "truth.jsonl")
    ]
    one, two = (score.result for score in scores)
    assert one == two
    assert one is not None
    assert one["metrics"] == {"f1": 2 / 3, "sets": 2 / 3, "texts": 2 / 3}
    assert (
        len({input_.content_sha256 for score in scores for input_ in score.inputs if "truth" in input_.contract}) == 1
    )


def test_other_tables(challenge: Challenge, folder: Path) -> None:
    """In Parquet and DataFrames a cell may be a list, or text with separators; there, null is not the empty text."""
    frame = pd.DataFrame(RECORDS)
    joined = frame.assign(findings=["edema|shift", "", "mass, large"])
    for each in (frame, joined, joined.assign(Diagnóstico=["1", "False", "TRUE"])):
        assert challenge.validate_frame(each, "cells/truth"), challenge.validate_frame(each, "cells/truth").problems
        challenge.frame_schema("cells/truth").validate(each)
        each.to_parquet(folder / "truth.parquet")
        score = challenge.score(folder / "truth.parquet", folder / "sent.csv", parameters={"min_processed": 0})
        assert score.result is not None
        assert score.result["metrics"]["sets"] == 2 / 3
    report = challenge.validate_frame(joined.assign(note=joined.note.where(joined.ID != "b")), "cells/truth")
    assert [(each.code, each.record, each.field) for each in report.problems] == [("MC103", 1, "note")]


def test_items_are_checked(challenge: Challenge, folder: Path) -> None:
    """With the line and the column, as any other cell."""
    text = SENT.replace("shift|edema", "shift|oedema").replace("b,0,,", "b,0,edema|edema,")
    (folder / "sent.csv").write_text(text, encoding="utf-8")
    found: Any = challenge.validate(folder / "sent.csv").problems
    assert [(each.code, each.line, each.field) for each in found] == [
        ("MC104", 2, "findings"),
        ("MC228", 3, "findings"),
    ]


def test_a_failed_row_must_be_empty(challenge: Challenge, folder: Path) -> None:
    (folder / "sent.csv").write_text(SENT.replace("c,,,,", "c,,edema,,"), encoding="utf-8")
    (problem,) = challenge.validate(folder / "sent.csv").problems
    assert (problem.line, problem.field) == (4, "findings")


@pytest.mark.parametrize("name", ["診断", "निदान", "Diagno\u0301stico", "\ufb01eld", "class", "K"])
def test_names_of_any_script(folder: Path, name: str) -> None:
    """Also names that Python would write in another way, and its keywords."""
    challenge = Challenge.load(CHALLENGE.replace("Diagnóstico", name).encode())
    for file, text in (("truth.csv", TRUTH), ("sent.csv", SENT)):
        (folder / file).write_text(text.replace("Diagnóstico", name), encoding="utf-8")
    score = challenge.score(folder / "truth.csv", folder / "sent.csv", parameters={"min_processed": 0})
    assert score.result is not None
    assert score.result["metrics"] == {"f1": 2 / 3, "sets": 2 / 3, "texts": 2 / 3}
