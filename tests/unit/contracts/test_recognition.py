"""Recognition: the contract of a file with misspelled, translated or otherwise changed names."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.commands import Call
from tests.support import ROOT, VECTORS, property_settings

import medcontract
from medcontract.contracts import suggestions
from medcontract.contracts.registry import TRACKS, CompiledContract, compiled
from medcontract.results.validation import FileReport

Rename = Callable[[str], str]
Record = dict[str, Any]

INPUTS = [
    entry.id
    for entry in compiled().values()
    if entry.id.partition("/")[0] in TRACKS and (VECTORS / entry.id / "valid").is_dir()
]
COLLECTIONS = [contract_id for contract_id in INPUTS if compiled()[contract_id].list_key]
TABLES = [contract_id for contract_id in INPUTS if compiled()[contract_id].columns]


def _words(name: str) -> list[str]:
    return name.split("_")


def _translated(name: str) -> str:
    return next(iter(suggestions._field_names().names.get(name, [name])))


MESSES: dict[str, Rename] = {
    "title": lambda name: "_".join(word[:1].upper() + word[1:] for word in _words(name)),
    "upper": str.upper,
    "lower": str.lower,
    "camel": lambda name: _words(name)[0] + "".join(word.capitalize() for word in _words(name)[1:]),
    "spaces": lambda name: " ".join(word.capitalize() for word in _words(name)),
    "hyphens": lambda name: name.replace("_", "-"),
    "padded": lambda name: f" {name} ",
    "translated": _translated,
    "accents": lambda name: name.replace("o", "ó", 1).replace("a", "á", 1),
    "typo": lambda name: name[:3] + name[4:] if len(name) > 6 else name,
    "prefix": lambda name: f"pred_{name}",
}


@cache
def _document(contract_id: str) -> Record:
    """A valid file of a contract, with usual records that are not failed ones."""
    for path in sorted((VECTORS / contract_id / "valid").glob("*.json")):
        if not any(word in path.name for word in ("edges", "empty", "failed")):
            found: Record = json.loads(path.read_text("utf-8-sig"))
            return found
    raise AssertionError(f"add a .json to conformance/files/{contract_id}/valid")


def _entry(contract_id: str) -> CompiledContract:
    return compiled()[contract_id]


def _records(contract_id: str) -> list[Record]:
    records: list[Record] = _document(contract_id)[_entry(contract_id).list_key or ""]
    return records


def _rows(contract_id: str) -> list[Record]:
    """The records as flat rows; a contract without a table form keeps its nested values."""
    entry = _entry(contract_id)
    if not entry.columns:
        return _records(contract_id)
    rows = []
    for record in _records(contract_id):
        row: Record = {}
        for column in entry.columns:
            value: Any = record.get(str(column.path[0]))
            for token in column.path[1:]:
                value = None if value is None else value[token]
            row[column.name] = value
        rows.append(row)
    used = [column.name for column in entry.columns if any(row[column.name] is not None for row in rows)]
    return [{name: row[name] for name in used} for row in rows]


def _renamed(record: Record, rename: Rename) -> Record:
    return {rename(key): value for key, value in record.items()}


def _json(contract_id: str, rename: Rename) -> bytes:
    """A `.json` with renamed records, header fields and list."""
    entry, document = _entry(contract_id), _document(contract_id)
    header = {key: value for key, value in document.items() if key != entry.list_key}
    whole = _renamed(header, lambda key: key if key == "$schema" else rename(key))
    if entry.list_key:
        whole[rename(entry.list_key)] = [_renamed(record, rename) for record in _records(contract_id)]
    return json.dumps(whole).encode()


def _records_json(contract_id: str, rename: Rename) -> bytes:
    """A `.json` with renamed records only."""
    key = _entry(contract_id).list_key or ""
    records = [_renamed(record, rename) for record in _records(contract_id)]
    return json.dumps({**_document(contract_id), key: records}).encode()


def _list_json(contract_id: str, rename: Rename) -> bytes:
    return json.dumps([_renamed(record, rename) for record in _records(contract_id)]).encode()


def _jsonl(contract_id: str, rename: Rename) -> bytes:
    return b"\n".join(json.dumps(_renamed(record, rename)).encode() for record in _records(contract_id))


def _csv(contract_id: str, rename: Rename) -> bytes:
    rows = _rows(contract_id)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([rename(name) for name in rows[0]])
    for row in rows:
        writer.writerow([value if isinstance(value, str) else json.dumps(value) for value in row.values()])
    return text.getvalue().encode()


CONTAINERS: dict[str, Callable[[str, Rename], bytes]] = {
    "all.json": _json,
    "records.json": _records_json,
    "list.json": _list_json,
    "lines.jsonl": _jsonl,
    "table.csv": _csv,
}


def _check_renamed(report: FileReport, contract_id: str, what: object) -> None:
    """The file is checked against its contract and is not ok, or its contract is left open."""
    assert not report.ok, what
    assert report.contract == contract_id, (what, report.problems)
    assert all("did you mean" not in (problem.hint or "") for problem in report.problems if problem.code == "MC101")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("mess", MESSES)
@pytest.mark.parametrize("contract_id", INPUTS)
def test_renamed_keys(contract_id: str, mess: str) -> None:
    """A file whose names are all changed is recognized in each container, and never ok."""
    rename = MESSES[mess]
    keys = _records(contract_id)[0] if _entry(contract_id).list_key else _document(contract_id)
    for name, make in CONTAINERS.items():
        if name != "all.json" and contract_id not in COLLECTIONS:
            continue
        shown = _rows(contract_id)[0] if name == "table.csv" else keys
        if all(rename(key) == key for key in shown):
            continue  # such as `label`, which is in lower case already
        report = medcontract.validate(make(contract_id, rename), name=name)
        _check_renamed(report, contract_id, (mess, name))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("mess", ["title", "translated", "upper", "spaces"])
@pytest.mark.parametrize("contract_id", TABLES)
def test_renamed_columns_of_binary_tables(contract_id: str, mess: str, tmp_path: Path) -> None:
    """DataFrames and Parquet files are recognized as a CSV with the same columns."""
    frame = pd.DataFrame(_rows(contract_id)).rename(columns=MESSES[mess])
    assert list(frame.columns) != list(_rows(contract_id)[0])
    path = tmp_path / "x.parquet"
    frame.to_parquet(path)
    for report in (medcontract.validate(frame), medcontract.validate(path)):
        _check_renamed(report, contract_id, mess)
        assert report._how is not None
        assert report._how.startswith("recognized by its columns; rename ")


@property_settings(30)
@given(data=st.data())
def test_changed_names_are_never_another_contract(data: st.DataObject) -> None:
    """A valid file with some names in another case or with other separators is never ok as another contract."""
    contract_id = data.draw(st.sampled_from(COLLECTIONS))
    chosen: dict[str, str] = {}

    def rename(name: str) -> str:
        if name not in chosen:
            words = [data.draw(st.sampled_from([word, word.upper(), word.capitalize()])) for word in _words(name)]
            chosen[name] = data.draw(st.sampled_from(["_", "-", " ", ".", ""])).join(words)
        return chosen[name]

    container = data.draw(st.sampled_from(sorted(CONTAINERS)))
    report = medcontract.validate(CONTAINERS[container](contract_id, rename), name=container)
    assert report.contract in (contract_id, None)
    assert report.contract or not report.ok


@pytest.mark.parametrize("key", ["results", "resultados", "data", "output_list"])
@pytest.mark.parametrize("contract_id", ["lesions/predictions", "reports/predictions", "benchmark/predictions"])
def test_list_under_another_name(contract_id: str, key: str) -> None:
    """A list of predictions under another key is recognized by its records, and the rename is the hint."""
    document = {**_document(contract_id)}
    document[key] = document.pop("predictions")
    report = medcontract.validate(json.dumps(document).encode(), name="x.json")
    assert report.contract == contract_id
    hints = {problem.code: problem.hint for problem in report.problems}
    assert hints == {"MC101": f"rename '{key}'", "MC102": "rename it to 'predictions'"}


@pytest.mark.parametrize(
    ("contract_id", "key", "other"),
    [
        ("extraction/prescription-predictions", "medicamentos", "medications"),
        ("extraction/lab-predictions", "resultados", "results"),
        ("extraction/prescription-labels", "medications", "medicamentos"),
        ("extraction/lab-labels", "results", "resultados"),
    ],
)
@pytest.mark.parametrize("container", ["records.json", "lines.jsonl", "list.json"])
def test_key_of_the_other_language(contract_id: str, key: str, other: str, container: str) -> None:
    """Labels have English keys and predictions Spanish ones; with the keys of the other, a file is what it was."""
    content = CONTAINERS[container](contract_id, lambda name: other if name == key else name)
    report = medcontract.validate(content, name=container)
    _check_renamed(report, contract_id, container)


# --- tables of nested records ---------------------------------------------------------------------


@pytest.mark.parametrize(("columns", "contract_id"), [
    ("task_id,sample_id,prediction.answer,prediction.rationale", "benchmark/predictions"),
    ("task_id,sample_id,prediction_answer,prediction_rationale", "benchmark/predictions"),
    ("Unnamed: 0,task_id,sample_id,prediction.answer", "benchmark/predictions"),
    ("task_id,sample_id,reference.answer,prediction.answer,scores.bleu", "benchmark/samples"),
    ("task_id,sample_id,reference.entities.diagnoses", "benchmark/references"),
    ("doc_id,parse_success,medicamentos", "extraction/prescription-predictions"),
    (
        "case_id,segment_id,model_predictions,cumulative_runtime_sec,run_id,end_of_case,"  # noqa: ISC004
        "message_sent_time,message_received_time",
        "triage/response",
    ),
])  # fmt: skip
def test_nested_records_as_a_table(columns: str, contract_id: str) -> None:
    """A flattened export is what its records were, which a table cannot store: a usage error."""
    row = ",".join("x" for _ in columns.split(","))
    report = medcontract.validate(f"{columns}\n{row}\n".encode(), name="x.csv")
    assert report.contract == contract_id
    assert report.usage_error
    assert [problem.code for problem in report.problems] == ["MC033"]


def test_list_in_one_column() -> None:
    """Probabilities in one column are predictions, with a hint about the columns."""
    report = medcontract.validate(b'image_id,probabilities\nI-1,"[0.1, 0.9]"\n', name="x.csv")
    assert report.contract == "lesions/predictions"
    (hint,) = [problem.hint for problem in report.problems if problem.code == "MC102"]
    assert hint == "use one column each: AK, BCC, SK, SCC, VASC, DF, NV, NON, MEL, ON"


# --- contracts that allow other columns -----------------------------------------------------------


@pytest.mark.parametrize(("columns", "contract_id"), [
    ("report_id,ward,shift", "reports/cases"),
    ("report_id,Content", "reports/cases"),
    ("report_id,Specialty,ward,bed", "reports/cases"),
    ("task_id,sample_id,prompt", "benchmark/cases"),
    ("case_id,segment_id,stop_time_sec", "triage/inventory"),
    (
        "case_id,segment_id,segment_start_time_sec,segment_stop_time_sec,start_of_case,end_of_case",
        "triage/inventory",
    ),
])  # fmt: skip
@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.json"])
def test_other_columns_are_accepted_with_a_warning(columns: str, contract_id: str, name: str) -> None:
    """Columns that an open contract does not know are named in a warning, unless the contract is specified."""
    report = medcontract.validate(_one_record(columns, contract_id, name), name=name)
    assert (report.contract, report.ok) == (contract_id, True)
    (problem,) = report.problems
    assert (problem.code, problem.severity) == ("MC510", "warning")
    assert problem.line == 1
    extra = sorted(set(columns.split(",")) - _entry(contract_id).record)
    what = "column" if name == "x.csv" else "key"
    assert problem.message == f"{len(extra)} {what}{'s' * (len(extra) > 1)} not in {contract_id}: {', '.join(extra)}"
    assert medcontract.validate(_one_record(columns, contract_id, name), contract_id, name=name).problems == ()


def _one_record(columns: str, contract_id: str, name: str) -> bytes:
    keys = columns.split(",")
    if name == "x.csv":
        return f"{columns}\n{','.join('x' for _ in keys)}\n".encode()
    record = json.dumps(dict.fromkeys(keys, "x"))
    return (f'{{"{_entry(contract_id).list_key}": [{record}]}}' if name == "x.json" else record).encode()


@pytest.mark.parametrize(("columns", "contract_id", "others", "renames"), [
    ("report_id,content,metadata,specialty,urgency", "reports/cases", ["reports/predictions", "reports/truth"], {}),
    ("report_id,content,metadata,Specialty,Urgencia", "reports/cases", ["reports/predictions", "reports/truth"],
     {"Specialty": "specialty", "Urgencia": "urgency"}),
    ("case_id,segment_id,run_id,end_of_case,predicciones", "triage/inventory", ["triage/response"],
     {"predicciones": "model_predictions"}),
    ("case_id,segment_id,segment_start_time_sec,segment_stop_time_sec,start_of_case,at_admission,end_of_case",
     "triage/inventory", ["triage/ground-truth"], {}),
])  # fmt: skip
@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.json"])
def test_open_contract_in_doubt(
    columns: str, contract_id: str, others: list[str], renames: dict[str, str], name: str
) -> None:
    """With half or more of the remaining fields of another contract, an open one is in doubt."""
    report = medcontract.validate(_one_record(columns, contract_id, name), name=name)
    named = medcontract.validate(_one_record(columns, contract_id, name), contract_id, name=name)
    assert named.ok, "the caller knows"
    assert not report.ok
    if report.contract in others:
        assert name == "x.jsonl", "a record with more keys of the other contract than of this one"
        return
    assert (report.contract, report.usage_error) == (None, True)
    (problem,) = report.problems
    assert problem.code == "MC009"
    assert contract_id in problem.message
    assert all(other in problem.message for other in others)
    assert problem.hint is not None
    assert all(f"'{name}' to '{field}'" in problem.hint for name, field in renames.items())


def test_doubt_ends_with_the_schema() -> None:
    """A file that names its `$schema` is recognized by it."""
    record = {"report_id": "R-1", "specialty": "Other", "urgency": "Routine", "follow_up": True}
    document = {"$schema": "urn:medcontract:reports:cases:v1", "cases": [record]}
    report = medcontract.validate(json.dumps(document).encode(), name="x.json")
    assert (report.contract, report.ok, report._how) == ("reports/cases", True, "recognized by its $schema")
    del document["$schema"]
    assert medcontract.validate(json.dumps(document).encode(), name="x.json").contract is None


def test_names_that_may_be_data_are_not_shown() -> None:
    """Columns that look like values are counted only, in the warning and in the renames."""
    warning = medcontract.validate(b"report_id,ward,Juan Perez 12345678\nR-1,x,y\n", name="x.csv")
    assert "Perez" not in warning.to_json()
    assert warning.problems[0].message == "2 columns not in reports/cases: ward and 1 more"
    assert "Perez" in warning.to_json(show_values=True)
    renamed = medcontract.validate(b"Report ID,Specialty,Urgency,Follow Up\nR-1,Other,Routine,true\n", name="x.csv")
    assert renamed.contract == "reports/truth"
    assert "Report ID" not in renamed.to_json()
    assert (
        renamed._how
        == "recognized by its columns; rename 'Specialty' to 'specialty', 'Urgency' to 'urgency' and 2 more"
    )


# --- truncated files ------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "contract_id"), [
    ('{"event": "spring", "team_na', None),
    ('{"event": "spring"', None),
    ('{"team_name": "T", "evaluation_date": "2025-01-01", ', None),
    ('{"event": "spring", "reports": [{"report_id": "R-1", "spec', "reports/truth"),
    ('{"team_name": "T", "model_size_mb": 3, "inference_time_ms": 4, "uses_', "lesions/model"),
])  # fmt: skip
def test_truncated_header(text: str, contract_id: str | None) -> None:
    """A header without its list may belong to a truth or to a submission: its contract is left open."""
    report = medcontract.validate(text.encode(), name="x.json")
    assert (report.contract, report.usage_error) == (contract_id, False)
    assert [problem.code for problem in report.problems] == ["MC011"]


# --- names ----------------------------------------------------------------------------------------


def _fields(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        inside = set().union(*map(_fields, schema.values())) if schema else set()
        return inside | set(schema.get("properties", ()))
    return set().union(*map(_fields, schema)) if isinstance(schema, list) and schema else set()


def test_every_field_has_other_names() -> None:
    """Each field of the built-in tracks has names in the other language, and no name is only another spelling."""
    names = suggestions._field_names().names
    entries = [entry for entry in compiled().values() if entry.id.partition("/")[0] in TRACKS]
    fields = set().union(*(_fields(entry.schema) | _fields(entry.record_schema) for entry in entries))
    symbols = {field for field in fields if re.fullmatch("[A-Z]{2,4}", field)} | {"Emergency", "Urgent", "Routine"}
    assert fields - symbols - {"$schema"} == set(names)
    for field, others in names.items():
        assert others, field
        assert len(set(map(suggestions.folded, others))) == len(others), field
        assert suggestions.folded(field) not in set(map(suggestions.folded, others)), field


@pytest.mark.parametrize(("name", "fields", "field"), [
    ("Follow-Up", ["follow_up", "follow_up_f1"], "follow_up"),
    ("Tamaño modelo MB", ["model_size_mb"], "model_size_mb"),
    ("especialidad", ["specialty", "urgency"], "specialty"),
    ("specialty_pred", ["specialty"], "specialty"),
    ("prob_MEL", ["MEL", "ON"], "MEL"),
    ("pred_prediction", ["prediction"], "prediction"),
    ("speciality", ["specialty"], "specialty"),
    ("on", ["NON", "ON"], "ON"),
    ("nv", ["NON", "DF"], None),
    ("task_id", ["case_id"], None),
    ("run_id", ["doc_id"], None),
    ("…", ["—"], None),
    ("", ["a"], None),
])  # fmt: skip
def test_alike(name: str, fields: list[str], field: str | None) -> None:
    """Other spellings, translations, affixes and one or two typos; short names must be equal."""
    assert suggestions.pair_similar([name], fields) == ({name: field} if field else {})


def test_each_name_means_one_field() -> None:
    """Names are paired one to one, by the best evidence."""
    pairs = suggestions.pair_similar(["Answer", "reference_text", "REFERENCE"], ["prediction", "reference"])
    assert pairs == {"REFERENCE": "reference", "Answer": "prediction"}


def test_a_column_called_id() -> None:
    """It does not help to recognize a contract; if that is known, it means the only id that is missing."""
    report = medcontract.validate(b"ID,specialty,urgency,follow_up\nR-1,Other,Routine,true\n", name="x.csv")
    assert report.contract == "reports/truth"
    assert [problem.hint for problem in report.problems] == ["rename 'ID'", "rename it to 'report_id'"]
    assert medcontract.validate(b"id,name\n1,x\n", name="x.csv").contract is None
    assert suggestions.pair_renamed(["id"], ["case_id", "segment_id"]) == {}


def test_exact_matches_load_nothing_else() -> None:
    """A file that matches a contract exactly needs neither the names nor the edit distance."""
    code = "import sys; from medcontract.cli.main import main; main(sys.argv[1:]); print(*sys.modules)"
    example = ROOT / "src" / "medcontract" / "examples" / "reports" / "truth.json"
    arguments = [sys.executable, "-c", code, "validate", str(example)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    unwanted = {"medcontract.contracts.near_recognition", "rapidfuzz", "pydantic"}
    assert not unwanted & set(done.stdout.split())


# --- all commands ---------------------------------------------------------------------------------

_EXAMPLES = ROOT / "src" / "medcontract" / "examples"


def _title_case_submission(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    records = json.loads((_EXAMPLES / "reports" / "predictions.json").read_text("utf-8"))["predictions"]
    rows = [record for record in records if not record.get("error")]
    path = folder / "predictions.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        names = ["report_id", "specialty", "urgency", "follow_up", "processing_time_sec"]
        writer.writerow([name.title() for name in names])
        writer.writerows([[row[name] for name in names] for row in rows])
    return path


def test_commands_do_not_take_predictions_for_cases(call: Call, tmp_path: Path) -> None:
    """Predictions in title case are never the list of cases of a preflight, a score or a ranking."""
    path = _title_case_submission(tmp_path / "heron")
    truth = str(_EXAMPLES / "reports" / "truth.json")
    for command in (["preflight", str(path)], ["preflight", truth, str(path)], ["score", truth, str(path)]):
        ran = call(*command)
        assert ran.code == 1, command
        assert "reports/predictions" in ran.out
        assert "reports/cases" not in ran.out.replace("reports/truth or reports/cases", "")
    ranked = call("leaderboard", truth, str(path.parent))
    assert "1 submission, 0 valid" in ranked.out


@pytest.mark.parametrize("name", ["reports", "triage", "benchmark", "lesions", "extraction"])
def test_examples_have_no_warnings(name: str) -> None:
    """The files that `init` writes match their contracts exactly."""
    report = medcontract.validate_files([_EXAMPLES / name])
    assert [file.path for file in report.files if file.problems] == []


def test_text_says_which_contract_and_how(call: Call, tmp_path: Path) -> None:
    """Each text output names the contract of a file, and how it is known."""
    example = _EXAMPLES / "reports"
    files = [str(example / name) for name in ("truth.json", "predictions.json", "cases.csv")]
    assert "cases.csv: ok  reports/cases, 20 records (recognized by its columns)\n" in call("validate", *files).out
    given = call("validate", f"reports/truth={files[0]}").out
    assert given.splitlines()[0].endswith("truth.json: ok  reports/truth, 20 records (given)")
    bad = call("validate", str(_title_case_submission(tmp_path)))
    assert next(line for line in bad.out.splitlines() if ": not ok" in line).endswith(
        "predictions.csv: not ok  reports/predictions, 19 records (recognized by its columns; "
        "rename 'Follow_Up' to 'follow_up', 'Processing_Time_Sec' to 'processing_time_sec', "
        "'Report_Id' to 'report_id' and 2 more)"
    )
    assert bad.out.splitlines()[-1].startswith("5 errors in 1 of 1 file")
    score = call("score", *files[:1], f"reports/predictions={files[1]}").out
    assert "truth.json: reports/truth (recognized by its keys), sha256" in score
    assert "predictions.json: reports/predictions (given), sha256" in score
    preflight = call("preflight", *files).out
    assert (
        "cases.csv is reports/cases (by its columns), predictions.json is reports/predictions (by its keys)"
        in preflight
    )
    ranking = call("leaderboard", files[0], files[1]).out
    assert "truth.json: reports/truth (recognized by its keys), sha256" in ranking
