"""Files that used to pass, or whose hints led the wrong way: what they are taken for, and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.commands import SENT, Call, sent_file, truth_file
from tests.scoring_files import CLASSES, GUID, response

import medcontract
from medcontract.reading.csv_rows import TOTAL_HINT, is_total

_REPORTS = "report_id,specialty,urgency,follow_up,processing_time_sec"
_ROWS = ["R-1,Oncology,Urgent,true,0.5", "R-2,Other,Routine,false,0.5", "R-3,Other,Urgent,true,0.25"]


def _checked(*lines: str, name: str = "x.csv", contract: str | None = None) -> medcontract.Report:
    return medcontract.validate("\n".join([*lines, ""]).encode(), contract, name=name)


def _hints(report: medcontract.Report, code: str) -> set[str | None]:
    return {problem.hint for problem in report.problems if problem.code == code}


# --- a stray comma


@pytest.mark.parametrize(
    ("header", "where"),
    [
        (_REPORTS + ",", "from the end of the header"),
        ("," + _REPORTS, "from the header"),
        (_REPORTS.replace(",urgency", ",,urgency"), "from the header"),
    ],
)
def test_comma_too_many_in_the_header(header: str, where: str) -> None:
    """It is not called an index, and the rows are not to blame."""
    report = _checked(header, *_ROWS)
    assert report.contract == "reports/predictions"
    assert _hints(report, "MC102") == {f"remove the extra comma {where}: the rows have no cell for it"}
    assert _hints(report, "MC031") == {"remove the extra comma from the header"}
    assert {problem.code for problem in report.problems} == {"MC102", "MC031"}


def test_rows_that_lack_other_cells() -> None:
    """Only rows without as many cells as there are columns without a name are explained by the header."""
    report = _checked("," + _REPORTS, "R-1,Oncology,Urgent")
    assert _hints(report, "MC031") == {"add the missing cells, which may be empty"}


@pytest.mark.parametrize(
    ("cells", "hint"),
    [
        (("0", "1", "2"), "index of a DataFrame"), (("2", "3", "1"), "index of a DataFrame"),
        (("a", "b", "c"), "name the column after its field, or remove it"),
        ((" ", "", ""), "remove the empty column"),
    ],
)  # fmt: skip
def test_first_column_without_a_name(cells: tuple[str, ...], hint: str) -> None:
    """The first column is the index if it has the numbers of the rows."""
    report = _checked("," + _REPORTS, *(f"{cell},{row}" for cell, row in zip(cells, _ROWS, strict=True)))
    (problem,) = report.problems
    assert hint in (problem.hint or "")


@pytest.mark.parametrize(
    ("cells", "hint"),
    [
        (("1", "2", "3"), "index of a DataFrame"), (("7", "9", "8"), "name the column after its field, or remove it"),
        (("x", "y", "z"), "name the column after its field, or remove it"), (("", "", ""), "remove the empty column"),
    ],
)  # fmt: skip
def test_other_column_without_a_name(cells: tuple[str, ...], hint: str) -> None:
    """Another column is no different."""
    rows = [row.replace(",", f",{cell},", 1) for cell, row in zip(cells, _ROWS, strict=True)]
    (problem,) = _checked(_REPORTS.replace(",", ",,", 1), *rows).problems
    assert hint in (problem.hint or "")


# --- totals


@pytest.mark.parametrize(
    "word", ["Total", "TOTALS", "Grand total", "subtotal", "Suma", "mean", "Total: 12", "Promedio"]
)
def test_words_for_totals(word: str) -> None:
    assert is_total(word)
    assert _hints(_checked(_REPORTS, *_ROWS, f"{word},,,,12.5"), "MC103") == {TOTAL_HINT}


@pytest.mark.parametrize("word", ["", "R-1", "total-1", "Totality", "meantime", "12", "mean " + "9" * 99])
def test_ids_that_are_not_totals(word: str) -> None:
    assert not is_total(word)


@pytest.mark.parametrize("line", ["3 rows selected", "(3 rows)", "Total 3", "3 filas"])
def test_count_below_a_table(line: str) -> None:
    """What database clients print below a table."""
    assert _hints(_checked(_REPORTS, *_ROWS, line), "MC031") == {TOTAL_HINT}


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
def test_total_that_is_valid(name: str) -> None:
    """A mean of probabilities sums to 1: it is valid, with a warning. In other rows the word may be an id."""
    import gzip

    header, row = ",".join(("image_id", *CLASSES)), ",".join(["0.1"] * 10)
    for last, codes in (("mean", ["MC503"]), ("I-9", [])):
        text = "\n".join([header, f"total,{row}", f"{last},{row}", ""]).encode()
        report = medcontract.validate(gzip.compress(text) if name.endswith("gz") else text, name=name)
        assert report.ok
        assert [problem.code for problem in report.problems] == codes
        for problem in report.problems:
            assert (problem.line, problem.record, problem.field, problem.severity) == (3, 1, "image_id", "warning")
            assert "mean" not in problem.message


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
@pytest.mark.parametrize("good", [1, 3000])
def test_total_is_the_last_problem(name: str, good: int, call: Call, tmp_path: Path) -> None:
    """The warning follows the problems of earlier rows, and shows its own row."""
    rows = [("I-1", "XX"), *((f"I-{number + 2}", "NV") for number in range(good)), ("total", "NV")]
    frame = pd.DataFrame(rows, columns=["image_id", "label"])
    if name.endswith(".csv"):
        frame.to_csv(tmp_path / name, index=False)
    else:
        frame.to_parquet(tmp_path / name)
    report = medcontract.validate(tmp_path / name)
    found = [(problem.code, problem.record) for problem in report.problems]
    assert found == [("MC104", 0), ("MC503", good + 1)]
    if name.endswith(".csv"):
        assert f" {good + 3} | total,NV\n" in call("validate", tmp_path / name, "--show-values").out


def test_total_with_another_problem() -> None:
    """The warning explains why the last row violates a rule."""
    report = _checked(
        ",".join(("image_id", *CLASSES)), "I-1," + ",".join(["0.1"] * 10), "Sum," + ",".join(["0.2"] * 10)
    )
    assert sorted(problem.code for problem in report.problems) == ["MC202", "MC503"]


def test_total_in_parallel(call: Call, tmp_path: Path) -> None:
    """The same bytes with several processes, which read chunks: only the last row of the file may be a total."""
    count = 60_000
    row = ",".join(["0.1"] * 10)
    lines = [f"{'total' if n == count // 2 else f'I-{n}'},{row}" for n in range(count)]
    (tmp_path / "sent.csv").write_text("\n".join([",".join(("image_id", *CLASSES)), *lines, f"Total,{row}", ""]))
    (tmp_path / "truth.csv").write_text("image_id,label\n" + "".join(f"I-{n},AK\n" for n in range(count)))
    outputs = [
        call("score", tmp_path / "truth.csv", tmp_path / "sent.csv", "--format", "json", "--jobs", jobs).out
        for jobs in (1, 2)
    ]
    assert outputs[0] == outputs[1]
    found = [problem["line"] for problem in json.loads(outputs[0])["problems"] if problem["code"] == "MC503"]
    assert found == [count + 2]


# --- objects in place of lists of names


@pytest.mark.parametrize(
    "value", [{"Airway": 1, "CPR": 0}, {"Airway": True, "CPR": False}, {"Airway": 0.9, "CPR": 0.2}]
)
def test_one_hot_names(value: dict[str, Any]) -> None:
    """The keys are the names: a list of the values would be wrong."""
    record = {**response({"case_id": "C", "segment_id": "S", "end_of_case": True}), "model_predictions": value}
    report = medcontract.validate(json.dumps(record).encode(), "triage/response", name="x.jsonl")
    (problem,) = report.problems
    assert problem.hint == "write a list of the names that apply: [name for name, value in data.items() if value]"


def test_names_by_number() -> None:
    """The values are the names."""
    value = {"0": "Airway", "1": "CPR"}
    record = {**response({"case_id": "C", "segment_id": "S", "end_of_case": True}), "model_predictions": value}
    report = medcontract.validate(json.dumps(record).encode(), "triage/response", name="x.jsonl")
    assert _hints(report, "MC103") == {"write a list: [ … ] instead of { … }, without keys"}


# --- predictions that resemble a truth


@pytest.mark.parametrize(
    "header",
    ["image_id,predicted_class,confidence", "image_id,prediction", "image_id,label,prob", "image_id,predictedClass"],
)
def test_predicted_class_is_not_a_truth(header: str) -> None:
    """Without probabilities of all classes these are not predictions, but by no means a truth."""
    report = _checked(header, *(",".join([f"I-{n}", "MEL", "0.9"][: header.count(",") + 1]) for n in range(3)))
    (problem,) = report.problems
    assert (problem.code, report.contract) == ("MC009", None)
    assert problem.message.startswith("its columns match lesions/truth, but '")
    assert problem.message.endswith("' belongs to predictions")
    assert problem.hint == (
        f"for lesions/predictions, write image_id, {', '.join(CLASSES[:-1])} and ON; "
        "or specify --contract lesions/truth"
    )


@pytest.mark.parametrize(("text", "name", "contract"), [
    ("report_id,predicted_specialty,predicted_urgency,predicted_follow_up\nR,Other,Urgent,true", "x.csv",
     "reports/predictions"),
    ('{"task_id": "a", "sample_id": "b", "predicted_answer": "x"}', "x.jsonl", "benchmark/predictions"),
    ('{"image_id": "a", "predicted_class": "NV", "confidence": 0.5}', "x.jsonl", "lesions/predictions"),
    ("report_id,Specialty,Urgency,Follow_up\nR,Other,Urgent,true", "x.csv", "reports/truth"),
    ("image_id,class\nI,NV", "x.csv", "lesions/truth"),
])  # fmt: skip
def test_predicted_names(text: str, name: str, contract: str) -> None:
    """Names that say `predicted` never count as names of a truth; other names still do."""
    assert _checked(text, name=name).contract == contract


def test_missing_list_of_numbers() -> None:
    """The hint says which numbers."""
    report = _checked('{"image_id": "a", "predicted_class": "NV"}', name="x.jsonl", contract="lesions/predictions")
    assert _hints(report, "MC101") == {f"write a list of 10 numbers, in this order: {', '.join(CLASSES)}"}


# --- records in groups


def _grouped(contract: str, groups: str, inner: str, shared: str, **header: Any) -> dict[str, Any]:
    records = SENT[contract.partition("/")[0]][:4]
    records = [{"run_id": GUID, **record} for record in records]
    items: dict[str, list[Any]] = {}
    for record in records:
        items.setdefault(record[shared], []).append({k: v for k, v in record.items() if k != shared})
    return {**header, groups: [{shared: key, inner: found} for key, found in items.items()]}


@pytest.mark.parametrize(
    ("contract", "groups", "inner", "shared", "header"),
    [
        ("reports/predictions", "runs", "predictions", "run_id", {"team_name": "a"}),
        ("reports/predictions", "runs", "predictions", "run_id", {"team_name": "a", "evaluation_date": "2026-01-01"}),
        ("triage/response", "cases", "responses", "case_id", {"team_name": "a", "event": "e"}),
        ("triage/response", "responses", "segments", "case_id", {"team_name": "a", "event": "e"}),
    ],
)
def test_records_in_groups(contract: str, groups: str, inner: str, shared: str, header: dict[str, str]) -> None:
    """Predictions in each run are valid as nothing else, and the missing list is reported."""
    content = json.dumps(_grouped(contract, groups, inner, shared, **header)).encode()
    for given in (None, contract):
        report = medcontract.validate(content, given, name="x.json")
        assert not report.ok
        assert "MC101" in {problem.code for problem in report.problems}


def test_files_with_lists_in_records(tmp_path: Path) -> None:
    """Contracts whose records contain lists are recognized as before."""
    for track in SENT:
        for path in (sent_file(tmp_path, track), truth_file(tmp_path, track)):
            assert medcontract.validate(path).ok


# --- what is closest, and keys of an object


def test_keys_that_belong_into_an_object() -> None:
    """A flattened answer is not another name of the object that it belongs into."""
    record = '{"task_id": "a", "sample_id": "b", "answer": "x", "rationale": "y"}'
    report = _checked(record, name="x.jsonl", contract="benchmark/predictions")
    assert [(problem.code, problem.hint) for problem in report.problems] == [
        ("MC101", 'write an object: "prediction": {"answer": …, "rationale": …}'),
        ("MC102", "move it into the object 'prediction'"),
        ("MC102", "move it into the object 'prediction'"),
    ]
    content = f'{{"model_id": "m", "predictions": [{record}]}}'
    found = _checked(content, name="x.json")
    assert (found.contract, found._how) == ("benchmark/predictions", "recognized by its keys")


def test_no_document_is_closest_to_a_record() -> None:
    """Lines and rows are records: no result of medcontract is suggested for them."""
    (problem,) = _checked('{"id": "a", "messages": [{"role": "user", "content": "x"}]}', name="x.jsonl").problems
    assert problem.hint == "specify --contract ID; see: medcontract schema list"


def test_closest_contract_without_a_table_form() -> None:
    """One row per medication: a table cannot be what it resembles."""
    report = _checked("doc_id,nombre_medicamento,dosis,frecuencia,duracion,instrucciones", "P-1,a,b,c,d,e")
    (problem,) = report.problems
    assert problem.code == "MC009"
    assert "extraction/prescription-predictions" in (problem.hint or "")
    assert "extraction/prescription-labels has no table form: write .json or .jsonl; see" in (problem.hint or "")


def test_processing_times_in_milliseconds(call: Call, tmp_path: Path) -> None:
    """The organizer's telemetry decides the score, but the times in the predictions are a warning all the same."""
    hint = "write 'processing_time_sec' in seconds: if it is in milliseconds, divide it by 1000"
    for slow, message, expected in (
        (0, None, None), (1, "1 processed record took more than 5 s", None),
        (20, "20 processed records took more than 5 s", hint),
    ):  # fmt: skip
        sent = [
            {**record, "processing_time_sec": 500.0 if n < slow else 5.0} for n, record in enumerate(SENT["reports"])
        ]
        telemetry = {"team_name": "a", "evaluation_date": "2026-01-01", "runs": [
            {"run_id": "1", "max_memory_mb": 1, "avg_cpu_percent": 1, "avg_processing_time_sec": 0.5}
        ]}  # fmt: skip
        (tmp_path / "telemetry.json").write_text(json.dumps(telemetry))
        files = (sent_file(tmp_path, "reports", sent), truth_file(tmp_path, "reports"), tmp_path / "telemetry.json")
        ran = call("preflight", "--format", "json", *files)
        (check,) = (check for check in ran.json["checks"] if check["id"] == "reports/predictions")
        assert [(problem["message"], problem["hint"]) for problem in check["problems"]] == (
            [(message, expected)] if message else []
        )


def test_answers_in_an_object() -> None:
    """The header matches other contracts better, but the list and the ids of its records belong to predictions."""
    record = {"report_id": "R", "prediction": {"specialty": "Other", "urgency": "Routine", "follow_up": True}}
    content = {"team_name": "a", "event": "e", "evaluation_date": "2026-01-01", "predictions": [record]}
    report = medcontract.validate(json.dumps(content).encode(), name="x.json")
    assert report.contract == "reports/predictions"
    assert "write its fields into the record itself, not into an object in it" in _hints(report, "MC102")


@pytest.mark.parametrize(
    ("header", "contract"),
    [
        ("run_id,max_memory_mb,avg_cpu_percent", "reports/telemetry"),
        ("task_id,sample_id,answer", "benchmark/predictions"),
    ],
)
def test_tables_of_contracts_without_a_table_form(header: str, contract: str) -> None:
    """It says so at once, instead of how to specify a contract that is then refused."""
    (problem,) = _checked(header, ",".join(["1"] * (header.count(",") + 1))).problems
    assert f"{contract} has no table form: write .json" in (problem.hint or "")
    assert "rename" not in (problem.hint or "")


def test_ids_without_a_name() -> None:
    """The only column that is missing is the one without a name."""
    report = _checked(_REPORTS.replace("report_id", ""), *_ROWS)
    assert "name it 'report_id'" in {problem.hint for problem in report.problems}


@pytest.mark.parametrize("cells", [2, 1])
def test_two_rows_on_one_line(cells: int) -> None:
    """The line break between two parts is missing: the last cell and the first one may be one."""
    first, second = _ROWS[:2]
    report = _checked(_REPORTS, f"{first}{',' if cells == 2 else ''}{second}")
    assert _hints(report, "MC031") == {"two rows are on one line: start a new line for the second"}


def test_full_width_commas() -> None:
    (problem,) = _checked(_REPORTS.replace(",", "，"), *(row.replace(",", "，") for row in _ROWS)).problems
    assert problem.message == "the columns are separated by full-width commas, not by commas"
