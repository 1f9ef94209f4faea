"""Hints about single values: what the schema expects there, and what such a value usually means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.commands import SENT, TRUTH, sent_file, truth_file
from tests.scoring_files import CLASSES, drug, read_rx

import medcontract

_NO_ANSWER = "if there is no answer, write the reason into 'error', without the answers"
_SPECIALTIES = "one of Cardiology, Neurology, Oncology, Internal Medicine, Emergency Medicine, Other"


def hints(contract: str, record: dict[str, Any]) -> list[str | None]:
    """The hints about a record, without repetitions."""
    found = medcontract.validate(json.dumps(record).encode(), contract, name="x.jsonl").problems
    return list(dict.fromkeys(problem.hint for problem in found))


@pytest.mark.parametrize(
    ("contract", "changes", "hint"),
    [
        ("reports/predictions", {"specialty": "Oncology "}, "remove leading and trailing whitespace"),
        ("reports/predictions", {"urgency": "2"}, "write the name itself, not a number"),
        ("reports/predictions", {"urgency": "N/A"}, _NO_ANSWER),
        ("reports/predictions", {"specialty": None}, f"{_SPECIALTIES}; {_NO_ANSWER}"),
        ("reports/predictions", {"follow_up": None}, _NO_ANSWER),
        ("reports/predictions", {"processing_time_sec": "00:00:01"},
         "write a number of seconds, not a date or a time of day"),
        ("triage/response", {"message_sent_time": "2025-05-20T10:00:00Z"},
         "write a number of seconds, not a date or a time of day"),
        ("triage/response", {"model_predictions": "airway, bleeding"}, 'write a list of strings: ["…", "…"]'),
        ("triage/response", {"model_predictions": '["airway"]'},
         "write the list itself, not a string: do not call json.dumps on a part of the data"),
        ("triage/ground-truth", {"gt_lsi_list": ["airway"]},
         "write an object { … }; its keys are lsi_group, lsi_description, in_hospital, elapsed_from_start"),
        ("benchmark/predictions", {"prediction": "Asthma"},
         "write an object { … }; its keys are answer, rationale, diagnosis, entities"),
        ("benchmark/predictions", {"prediction": {"entities": ["asthma"]}},
         "write an object { … }; its keys are diagnoses, treatments, medications, symptoms, labs"),
        ("lesions/predictions", {"probabilities": [-2.5] * 10},
         "if these are logits, apply softmax: expected numbers from 0 to 1"),
        ("extraction/prescription-predictions", {"medicamentos": [{**drug("Losartán"), "duracion": None}]},
         'if there is none, write an empty string: ""'),
    ],
)  # fmt: skip
def test_hint(contract: str, changes: dict[str, Any], hint: str) -> None:
    """A wrong value has one hint, which says how to write it."""
    track = contract.partition("/")[0]
    records = TRUTH[track] if contract.endswith("truth") else SENT[track]
    record = {**records[0], **changes}
    assert hints(contract, record) == [hint]


def test_no_answer_is_not_meant() -> None:
    """Where a record cannot say that there is no answer, or where the value is another one, the hint is not given."""
    record = {**TRUTH["reports"][0], "specialty": None}
    assert hints("reports/truth", record) == [_SPECIALTIES]
    assert hints("reports/predictions", {**SENT["reports"][0], "report_id": None}) == [None]


@pytest.mark.parametrize("path", ["C:\\data\\images\\a.png", "/home/ana/images/a.png"])
def test_absolute_paths(path: str) -> None:
    """One hint for all that has to change."""
    case = {"image_id": "a", "image_path": path, "age": 50, "gender": "f", "location": 3}
    expected = "write the path relative to the folder of the data, with '/' between its parts"
    assert hints("lesions/cases", case) == [expected]


def test_records_of_another_contract() -> None:
    """A record that satisfies another contract is not to be renamed into one of this contract."""
    lab = {"doc_id": "L-1", "parse_success": True, "resultados": []}
    lines = "\n".join(json.dumps(record) for record in (read_rx("P-1", drug("Losartán")), lab))
    missing, unknown = medcontract.validate(lines.encode(), name="x.jsonl").problems
    assert (missing.code, missing.hint, unknown.code) == ("MC101", None, "MC102")
    assert unknown.hint == "the record is one of extraction/lab-predictions: move it to a file of that contract"


def test_the_header_among_the_rows() -> None:
    """Joined tables: all problems of the row have the same hint."""
    header = f"image_id,{','.join(CLASSES)}"
    row = f"I-1,1{',0' * 9}"
    found = medcontract.validate(f"{header}\n{row}\n{header}\n".encode(), name="x.csv").problems
    assert {(problem.line, problem.hint) for problem in found} == {(3, "the row repeats the column names: remove it")}


def test_an_event_in_another_spelling(tmp_path: Path) -> None:
    """The hint says that only the spelling differs; participants see the number of such problems only."""
    truth = truth_file(tmp_path, "reports", event="Spring 2026")
    sent = sent_file(tmp_path, "reports", event="spring 2026 ")
    (problem,) = medcontract.score(truth, sent).problems
    assert problem.hint == "write it as in the truth: it differs only in case or whitespace"
    assert "case or whitespace" not in medcontract.score(truth, sent, participant=True).to_json()
    other = sent_file(tmp_path, "reports", event="Autumn")
    (problem,) = medcontract.score(truth, other).problems
    assert problem.hint == "check that this is the right truth"
