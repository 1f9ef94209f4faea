"""Hints about single values: what the schema expects there, and what such a value usually means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.commands import SENT, TRUTH, Call, sent_file, truth_file
from tests.scoring_files import CLASSES, drug, read_rx, telemetry

import medcontract

AS_DATE = "write the date as in 2026-05-31, not as a number of seconds or days"
_NO_ANSWER = "if there is no answer, write the reason into 'error', without the answers"
_DATED = "a spreadsheet made a date of the number: format the column as text, and export it again"
_NO_NUMBER = "write a number; if there is none, use null or an empty cell where that is allowed"
_SHEET_ERROR = "a spreadsheet found no value for the cell: correct its formula, or write the value itself"
_SCALE = "the scale is 0 to 1: divide percentages by 100, apply the sigmoid to logits, rescale other values"
_SPECIALTIES = "one of Cardiology, Neurology, Oncology, Internal Medicine, Emergency Medicine, Other"


def hints(contract: str, record: dict[str, Any]) -> list[str | None]:
    """The hints about a record, without repetitions."""
    found = medcontract.validate(json.dumps(record).encode(), contract, name="x.jsonl").problems
    return list(dict.fromkeys(problem.hint for problem in found))


@pytest.mark.parametrize(("contract", "changes", "hint"), [
    ("reports/predictions", {"specialty": "Oncology "}, "remove leading and trailing whitespace"),
    ("reports/predictions", {"urgency": "2"}, "write the name, not its number"),
    ("reports/predictions", {"urgency": "N/A"}, _NO_ANSWER),
    ("reports/predictions", {"specialty": None}, _NO_ANSWER),
    ("reports/predictions", {"specialty": 3}, f"write the name, not its number: {_SPECIALTIES}"),
    ("reports/predictions", {"follow_up": None}, _NO_ANSWER),
    ("reports/predictions", {"processing_time_sec": "00:00:01"},
     "write a number of seconds: 00:01:30 is 90"),
    ("reports/predictions", {"processing_time_sec": "840 ms"},
     "write the number of seconds, without a unit: 1 ms is 0.001 seconds"),
    ("reports/predictions", {"processing_time_sec": "1,250"},
     "write the number with a dot before its decimals, and without thousands separators"),
    ("reports/predictions", {"processing_time_sec": "01. Mai"}, _DATED),
    ("reports/predictions", {"processing_time_sec": "5-Jan"}, _DATED),
    ("reports/predictions", {"processing_time_sec": "Jan-05"}, _DATED),
    ("reports/predictions", {"processing_time_sec": "٥٫٠"}, "write the digits 0 to 9, with a dot before decimals"),
    ("reports/predictions", {"processing_time_sec": "\\N"}, _NO_NUMBER),
    ("reports/predictions", {"processing_time_sec": "."}, _NO_NUMBER),
    ("reports/predictions", {"processing_time_sec": "five"}, "write a number, not a word"),
    ("reports/predictions", {"processing_time_sec": "#N/A", "urgency": "#REF!"}, _SHEET_ERROR),
    ("triage/response", {"message_sent_time": "2025-05-20T10:00:00Z"},
     "write the time as a number of seconds since 1970 (UNIX time)"),
    ("triage/response", {"model_predictions": [0, 1, 0]},
     "write the names that apply, not their numbers, nor a number for each name"),
    ("triage/response", {"run_id": f"{{{'ab' * 16}}}"},
     "write it as str(uuid.UUID(text)) does: without braces, and with hyphens"),
    ("triage/response", {"evaluation_date": "x"}, "remove it"),
    ("triage/response", {"model_predictions": [["Airway", 0.9]]}, "write the names alone, without their scores"),
    ("triage/response", {"model_predictions": [""]}, "leave it out: an empty list says that there is none"),
    ("triage/response", {"lsi_confidence_scores": [0.5]}, "write an object: { name: value, … }"),
    ("reports/predictions", {"specialty": "LABEL_3"}, "write the name, not its number"),
    ("reports/predictions", {"specialty": "The specialty is Oncology."}, "write only 'Oncology'"),
    ("reports/predictions", {"specialty": "not Oncology"}, None),
    ("reports/predictions", {"specialty": "Oncology or Neurology"}, "write one of them"),
    ("reports/predictions", {"urgency": "emerg"}, "did you mean 'Emergency'?"),
    ("reports/predictions", {"specialty": "Urgent", "urgency": "Other"},
     ["are the values of 'specialty' and 'urgency' swapped?", "are the values of 'urgency' and 'specialty' swapped?"]),
    ("reports/predictions", {"specialty": {"label": "Other", "score": 0.9}},
     "write the name alone: the value of 'label'"),
    ("reports/predictions", {"specialty": {"Other": 0.9, "Oncology": 0.1}},
     "write the name with the highest number, without the numbers"),
    ("reports/predictions", {"specialty": ["Other", "Oncology"]},
     "write one name: the first, if they are sorted by score"),
    ("reports/predictions", {"follow_up": 0.87}, "compare the number with a threshold, and write true or false"),
    ("reports/predictions", {"processing_time_sec": "0 days 00:00:01.5"},
     "write a number of seconds, not a duration (in pandas: column.dt.total_seconds())"),
    ("reports/predictions", {"processing_time_sec": "PT0.84S"},
     "write a number of seconds, not a duration (in pandas: column.dt.total_seconds())"),
    ("reports/predictions", {"processing_time_sec": "tensor(0.84)"},
     "write the number alone, without the name of its type (in Python: value.item())"),
    ("reports/predictions", {"processing_time_sec": "[0.84]"}, "write the number itself, without brackets"),
    ("reports/predictions", {"processing_time_sec": "(0.84,)"}, "write the number itself, without brackets"),
    ("reports/predictions", {"processing_time_sec": "0.8 ± 0.1"}, "write one number"),
    ("reports/predictions", {"processing_time_sec": "0,8 s"},
     "write only the number, without the unit, and with a dot"),
    ("benchmark/predictions", {"scores": {"rouge": "87 percent"}},
     "write the share as a number from 0 to 1: 25 % is 0.25"),
    ("extraction/prescription-predictions", {"medicamentos": "a; b"}, "write a list of objects: [ { … }, { … } ]"),
    ("reports/predictions", {"processing_time_sec": "1-2"}, "write one number, not a range"),
    ("reports/predictions", {"processing_time_sec": "fast"}, "write a number, not a word"),
    ("benchmark/predictions", {"scores": {"rouge": -1.5}}, _SCALE),
    ("benchmark/predictions", {"prediction": {"answer": {"text": "x"}}},
     "write the text itself, not an object with it"),
    ("benchmark/predictions", {"prediction": {"text": "x"}},
     "use one of the keys answer, rationale, diagnosis, entities"),
    ("benchmark/predictions", {"prediction": {"choices": [], "object": "o"}},
     "it is a response of a chat API: write one record for each case: the text from choices[0].message.content"),
    ("extraction/prescription-predictions", {"medicamentos": {"dosis": "1 mg"}},
     "put the object into a list: [ { … } ]"),
    ("lesions/predictions", {"probabilities": [[0.1] * 10]},
     ["write the inner list alone: [ … ] instead of [[ … ]]", "write one number"]),
    ("lesions/predictions", {"probabilities": [2.5, 0.5, *[0.25] * 8]},
     "if these are sums over 5 models, divide them by 5"),
    ("triage/response", {"run_id": 7}, "write a GUID (in Python: str(uuid.uuid4()))"),
    ("triage/response", {"error": False}, "this means that there was no error: leave it empty (in JSON: null)"),
    ("triage/response", {"error": "None"}, "leave it empty (in JSON: null)"),
    ("reports/predictions", {"error": "NaN "}, "leave it empty (in JSON: null)"),
    ("triage/response", {"model_predictions": "airway, bleeding"}, 'write a list of strings: ["…", "…"]'),
    ("triage/response", {"model_predictions": '["airway"]'},
     "write the list itself, not a string: do not call json.dumps on a part of the data"),
    ("triage/ground-truth", {"gt_lsi_list": ["airway"]},
     "write an object { … }; its keys are lsi_group, lsi_description, in_hospital, elapsed_from_start"),
    ("benchmark/predictions", {"prediction": "Asthma"},
     "write an object { … }; its keys are answer, rationale, diagnosis, entities"),
    ("benchmark/predictions", {"prediction": {"entities": ["asthma"]}},
     "write an object { … }; its keys are diagnoses, treatments, medications, symptoms, labs"),
    ("lesions/predictions", {"probabilities": [-2.5, 3.25, *[0.5] * 8]},
     "if these are logits, apply softmax: expected numbers from 0 to 1"),
    ("lesions/predictions", {"probabilities": [-0.0101, *[-6.9] * 9]},
     "these are logarithms of probabilities: apply exp"),
    ("lesions/predictions", {"probabilities": [-1.0] * 10}, None),
    ("lesions/predictions", {"probabilities": [90.5, 9.5, *[0] * 8]}, "these are percentages: divide them by 100"),
    ("lesions/predictions", {"probabilities": [4, 1, *[0] * 8]},
     "if these are numbers of votes, divide each by their sum"),
    ("lesions/predictions", {"probabilities": [1.7, 2.2, *[0] * 8]}, None),
    ("lesions/predictions", {"probabilities": [0] * 10},
     "all of them are 0: write the numbers, or why there are none"),
    ("lesions/predictions", {"probabilities": [0.3, 0.3, 0.3, *[0] * 7]},
     "if the numbers were rounded, write more decimals"),
    ("lesions/predictions", {"probabilities": [0.91, 0.874, *[0] * 8]},
     "each image has one class, so the sum is 1, with a tolerance of 0.001"),
    ("benchmark/predictions", {"scores": {"coherence": 4}}, _SCALE),
    ("benchmark/predictions", {"scores": {"coherence": 87.5}},
     "if it is a percentage, divide it by 100: 25 % is 0.25"),
    ("benchmark/predictions", {"prediction": {"answer": 2}},
     "write the text itself in quotes, not an index or a class number"),
    ("reports/predictions", {"report_id": 7},
     "write it in quotes, as the id was given, with its prefix and leading zeros (in pandas: read it with dtype=str)"),
])  # fmt: skip
def test_hint(contract: str, changes: dict[str, Any], hint: str | list[str] | None) -> None:
    """A wrong value has one hint, which says how to write it."""
    track = contract.partition("/")[0]
    records = TRUTH[track] if contract.endswith(("truth", "labels")) else SENT[track]
    record = {**records[0], **changes}
    assert hints(contract, record) == (hint if isinstance(hint, list) else [hint])


_COMPLETE: dict[str, dict[str, Any]] = {
    "lesions/cases": {"image_id": "a", "image_path": "a.png", "age": 61, "gender": "m", "location": 1},
    "extraction/runs": {"run_id": "a", "kind": "evaluation", "parse_success": True, "valid_items": 1,
                        "restarted": False, "code_version": "a"},
}  # fmt: skip


@pytest.mark.parametrize(("contract", "changes", "hint"), [
    ("lesions/cases", {"age": "Age 61"}, "write only the number"),
    ("lesions/cases", {"age": 61.5}, "round it to a whole number"),
    ("lesions/cases", {"age": "LXI"}, "write the number in digits: II is 2"),
    ("lesions/cases", {"age": -1}, f"{_NO_ANSWER}: -1 or 999 is read as a number"),
    ("lesions/cases", {"location": 0}, "if the numbers start from 0, add 1 to all of them"),
    ("extraction/runs", {"started_at": "20260216"}, "write it with hyphens: 2026-05-31"),
    ("extraction/runs", {"started_at": "2026/02/16"}, "write it with hyphens: 2026-05-31"),
    ("extraction/runs", {"started_at": "2026-02"}, "add the day: 2026-05-31"),
    ("extraction/runs", {"started_at": "2026-02-16 09:00:00 -0500"},
     "write the offset as -05:00, without a blank before it"),
    ("extraction/runs", {"started_at": "16 de febrero de 2026"},
     "write the year first, and the month as a number: 2026-05-31"),
])  # fmt: skip
def test_hint_of_other_records(contract: str, changes: dict[str, Any], hint: str) -> None:
    """Numbers and dates in other records have one hint, too."""
    assert hints(contract, {**_COMPLETE[contract], **changes}) == [hint]


@pytest.mark.parametrize("date", [1771232400, 46068, "46068", "1771232400.5"])
def test_numbers_for_dates(date: Any) -> None:
    """Seconds since 1970 and the day numbers of a spreadsheet are not dates, with or without quotes."""
    document = json.dumps({**telemetry(), "evaluation_date": date}).encode()
    (problem,) = medcontract.validate(document, "reports/telemetry").problems
    assert problem.hint == AS_DATE


LOCATIONS = "1 is arm, 2 is feet, 3 is genitalia, 4 is hand, 5 is head, 6 is leg, 7 is torso"


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("Torso", f"write 7: {LOCATIONS}"), (" head ", f"write 5: {LOCATIONS}"),
        ("Back", f"write its number: {LOCATIONS}"),
        ("7", "write the number without quotes"), (8, None),
    ],
)  # fmt: skip
def test_the_number_of_a_location(given: Any, hint: str | None) -> None:
    """The name of a body location gets the number that the contract expects, in a table, too."""
    record = {"image_id": "I", "image_path": "i.png", "age": 1, "gender": "f", "location": given}
    assert hints("lesions/cases", record) == [hint]
    if not isinstance(given, int) and given != "7":
        row = f"image_id,image_path,age,gender,location\nI,i.png,1,f,{given}\n".encode()
        assert [problem.hint for problem in medcontract.validate(row, name="x.csv").problems] == [hint]


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


# --- the arrangement of a file ---------------------------------------------------------------------


def test_fields_in_an_object_of_the_record() -> None:
    """Answers nested in one more object: one hint, and the contract that the id belongs to, not of another track."""
    nested = {"report_id": "R-1", "prediction": {k: v for k, v in SENT["reports"][0].items() if k != "report_id"}}
    found = medcontract.validate(json.dumps(nested).encode(), "reports/predictions", name="x.jsonl").problems
    (unknown,) = [problem for problem in found if problem.code == "MC102"]
    assert unknown.hint == "write its fields into the record itself, not into an object in it"
    whole = {"team_name": "a", "predictions": [nested]}
    report = medcontract.validate(json.dumps(whole).encode(), name="x.json")
    assert report.contract is None
    assert "lesions" not in report.problems[0].message
    assert "reports/predictions" in report.problems[0].message


@pytest.mark.parametrize(("content", "message", "hint"), [
    ({"data": {"team_name": "a", "predictions": SENT["reports"]}},
     "expected the keys of reports/predictions, got them under 'data'",
     "write the inner object itself, without the outer one"),
    ({"status": "ok", "meta": {"model": "x"}, "result": {"team_name": "a", "predictions": SENT["reports"]}},
     "expected the keys of reports/predictions, got them under 'result'",
     "write the inner object itself, without the outer one"),
    ({"data": {"weights": {"clinical_accuracy": 1}}, "version": 1},
     "expected the keys of benchmark/weights, got them under 'data'",
     "write the inner object itself, without the outer one"),
    ({"data": {"team_nam": "a", "predictions": SENT["reports"]}},
     "expected a list of records, got them under 'data'", "write the inner object itself, without the outer one"),
])  # fmt: skip
def test_arrangements(content: Any, message: str, hint: str) -> None:
    """Other arrangements of the same data."""
    (problem,) = medcontract.validate(json.dumps(content).encode(), name="x.json").problems
    assert problem.message == message
    assert hint in (problem.hint or "")


@pytest.mark.parametrize(
    "content",
    [
        {"data": {"model": "x", "version": 1}, "status": "ok"},
        {"a": {"weights": {"x": 1}}, "b": {"weights": {"x": 1}}},
        {"a": {"b": {"team_name": "a", "predictions": SENT["reports"]}}},
    ],
)
def test_no_hint_to_unwrap(content: Any) -> None:
    """The hint is given only if exactly one member has the keys of a contract."""
    problems = medcontract.validate(json.dumps(content).encode(), name="x.json").problems
    assert problems
    assert not any("inner object" in (problem.hint or "") for problem in problems)


def test_lines_that_are_complete_files() -> None:
    """One file per line is not one record per line."""
    line = json.dumps({"team_name": "a", "predictions": SENT["reports"][:1]})
    (problem,) = medcontract.validate(f"{line}\n{line}\n".encode(), name="x.jsonl").problems
    assert problem.message.startswith("the first line is a complete file with a list of records under 'predictions'")


def test_a_markdown_table() -> None:
    """The line of dashes and the bars at both ends are not CSV either."""
    table = b"| image_id | label |\n|---|---|\n| I-1 | MEL |\n"
    (problem,) = medcontract.validate(table, name="x.csv").problems
    assert (problem.code, problem.message) == ("MC005", "the table is in Markdown, not in CSV")


@pytest.mark.parametrize(
    ("records", "contract"),
    [
        ([{"doc_id": "P-1", "kind": "measured", "evidence": "a", "interpretation": "b"}], "extraction/evidence"),
        ([{"doc_id": "P-1", **drug("Losartán")}], "extraction/prescription-"),
    ],
)
def test_keys_of_inner_objects(records: Any, contract: str) -> None:
    """Keys of objects in the records of a contract make it one of the closest."""
    (problem,) = medcontract.validate(json.dumps(records).encode(), name="x.json").problems
    assert f"closest: {contract}" in (problem.hint or "")


def test_records_that_are_not_found(call: Call, tmp_path: Path) -> None:
    """The line about a file does not say that it has 0 records if its list has another name."""
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"team_name": "a", "answers": SENT["reports"]}), "utf-8")
    *_, verdict, last = call("validate", path).out.splitlines()
    assert "reports/predictions, no records read (recognized by its keys; rename 'answers' to 'predictions')" in verdict
    assert last == "1 error in 1 of 1 file, no records read."


@pytest.mark.parametrize("time", ["tiempo", "time", "Runtime"])
def test_short_names_of_the_time(time: str) -> None:
    """Predictions are not taken for a truth because of the name of their time."""
    table = f"id_informe,especialidad,urgencia,seguimiento,{time}\nR-1,Oncology,Urgent,true,0.5\n"
    assert medcontract.validate(table.encode(), name="x.csv").contract == "reports/predictions"


def test_names_of_a_list() -> None:
    """Probabilities with the classes as keys: the hint has their order."""
    order = f"write a list under 'probabilities', in this order: {', '.join(CLASSES)}"
    shares = dict.fromkeys(CLASSES, 0.1)
    assert hints("lesions/predictions", {"image_id": "I-1", "probabilities": shares}) == [order]
    missing = order.replace("list under 'probabilities',", "list of 10 numbers,")
    assert hints("lesions/predictions", {"image_id": "I-1", **shares}) == [missing, order]  # it is missing, too


def test_empty_rows() -> None:
    """Rows without any content, as spreadsheets leave them at the end."""
    table = f"image_id,{','.join(CLASSES)},error\nI-1,1{',0' * 9},\n{',' * 11}\n"
    found = medcontract.validate(table.encode(), name="x.csv").problems
    assert {(problem.line, problem.hint) for problem in found} == {(3, "the row is empty: remove it")}


@pytest.mark.parametrize(("given", "hint"), [
    ("prediction.json", "a similar name exists: 'predictions.json'"),
    ("other.csv", "check the name and the folder"),
    ("predictions2.json", "check the name and the folder"),
    ("predictions=predictions.json", "to specify a contract, write TRACK/NAME=PATH without spaces"),
    ("reports/predictions = predictions.json", "to specify a contract, write TRACK/NAME=PATH without spaces"),
])  # fmt: skip
def test_a_path_that_does_not_exist(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, hint: str
) -> None:
    """A similar name in the folder is suggested."""
    monkeypatch.chdir(tmp_path)
    sent_file(tmp_path, "reports", name="predictions.json")
    ran = call("validate", given)
    assert ran.code == 2
    assert hint in ran.out
    assert hint in call("leaderboard", truth_file(tmp_path, "reports"), given).err


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"{}", "x.json", "it is empty"),
        (b"[]", "x.json", "it is empty"),
        (b"{}\n", "x.jsonl", "its first record is empty"),
        (b"42", "x.json", "it is a single value, without keys"),
        (b"null", "x.json", "it is a single value, without keys"),
    ],
)
def test_no_data(content: bytes, name: str, message: str) -> None:
    """No contract is guessed for nothing."""
    (problem,) = medcontract.validate(content, name=name).problems
    assert (problem.code, problem.message) == ("MC009", message)


@pytest.mark.parametrize(("contract", "header", "row", "found"), [
    ("reports/predictions", "report_id,specialty_Other,specialty_Oncology,urgency,follow_up,processing_time_sec",
     "R-1,1,0,Urgent,true,1", {"write one column 'specialty' with the name, instead of one column for each name"}),
    ("reports/truth", "report_id,specialty_x,specialty_y,urgency,follow_up", "R-1,Other,Other,Urgent,true",
     {"keep one of 'specialty_x' and 'specialty_y', as 'specialty': pd.merge wrote both"}),
    ("reports/truth", "report_id,specialty,urgency,follow_up,correct", "R-1,Other,Urgent,true,1", {"remove it"}),
    ("reports/truth", "report_id,specialty,urgency,follow_up", "R-1,=VLOOKUP(A2;B:C;2),Urgent,true",
     {"the cell has a formula: export the values of the sheet"}),
    ("reports/truth", "report_id,specialty,urgency,follow_up", "the end of the table",
     {"remove the line if it is not a record; put a text with line breaks in double quotes"}),
    ("reports/truth", "report_id,specialty,urgency,follow_up", "<<<<<<< HEAD",
     {"resolve the conflict: keep one of both versions, and remove the three lines with the marks"}),
    ("reports/truth", "report_id,specialty,urgency,follow_up", "0,R-1,Other,Urgent,true\n1,R-2,Other,Urgent,true",
     {"the rows start with an index that the header lacks: write it with index=False (in R: row.names = FALSE)"}),
    ("reports/truth", "report_id,specialty,urgency,follow_up", "specialty,report_id,urgency,follow_up",
     {"the row has the column names in another order: join tables by their names (in pandas: pd.concat)"}),
    ("lesions/predictions", f"image_id,{','.join(CLASSES)}", f"I-1,nan{',0' * 9}",
     {f"write a number, or null where that is allowed; {_NO_ANSWER}"}),
])  # fmt: skip
def test_tables(contract: str, header: str, row: str, found: set[str | None]) -> None:
    """Columns and rows that exports, joins and tools leave behind."""
    report = medcontract.validate(f"{header}\n{row}\n".encode(), contract, name="x.csv")
    assert {problem.hint for problem in report.problems if problem.code != "MC101"} - {None} == found - {None}
    assert not report.ok


@pytest.mark.parametrize(("value", "how"), [
    ({"rows": [{"row_idx": 1, "row": 0}], "total": 1}, "[each['row'] for each in data['rows']]"),
    ([[0], [0]], "[record for each in data for record in each]"),
    ([{"content": "text"}], "[json.loads(each['content']) for each in data]"),
    ({"version": 1, "dataframe_split": {"columns": ["report_id", "specialty"], "data": []}}, "df.to_dict('records')"),
    ({"learning_rate": 0.1, "data": [1, 2]}, None),
    ({"a": {"x": [0]}, "b": "c", "d": [0]}, None),
])  # fmt: skip
def test_records_inside(value: Any, how: str | None) -> None:
    """Records that are deeper in a file are named by the expression that finds them; two such lists are not."""
    record = json.dumps(SENT["reports"][0])
    text = json.dumps(value).replace("[0]", f"[{record}]").replace(": 0}", f": {record}}}")
    text = text.replace('"text"', json.dumps(record))
    problems = medcontract.validate(text.encode(), name="x.json").problems
    assert ({problem.code for problem in problems} == {"MC103"}) == (how is not None), problems
    assert how is None or how in str(problems[0].hint)
