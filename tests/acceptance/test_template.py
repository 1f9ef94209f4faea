"""`medcontract template`: an empty submission for given cases."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.commands import SENT, TRUTH, Call, put
from tests.scoring_files import CONTRACTS, LIST_KEYS
from tests.support import ROOT, VECTORS

import medcontract

EXAMPLES = Path(medcontract.__file__).parent / "examples"
CASES = [
    ("reports/predictions", "reports/cases.csv", "report_id"),
    ("reports/predictions", "reports/truth.json", "report_id"),
    ("triage/response", "triage/inventory.csv", "segment_id"),
    ("triage/response", "triage/ground-truth.json", "segment_id"),
    ("benchmark/predictions", "benchmark/cases.csv", "sample_id"),
    ("benchmark/predictions", "benchmark/references.json", "sample_id"),
    ("lesions/predictions", "lesions/cases.csv", "image_id"),
    ("lesions/predictions", "lesions/truth.csv", "image_id"),
    ("extraction/prescription-predictions", "extraction/manifest.csv", "doc_id"),
    ("extraction/lab-predictions", "extraction/manifest.csv", "doc_id"),
    ("extraction/lab-labels", "extraction/manifest.csv", "doc_id"),
    ("reports/truth", "reports/cases.csv", "report_id"),
]
ID_FIELDS = {"report_id", "segment_id", "case_id", "task_id", "sample_id", "image_id", "doc_id"}


def _ids(path: Path, key: str, contract: str) -> list[str]:
    if path.suffix == ".csv":
        rows: list[dict[str, Any]] = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    else:
        (rows,) = [each for each in json.loads(path.read_bytes()).values() if isinstance(each, list)]
    kind = {"lab": "lab", "prescription": "prescription"}.get(contract.partition("/")[2].partition("-")[0])
    return [row[key] for row in rows if kind is None or row["doc_type"] == kind]


@pytest.mark.parametrize("container", ["json", "jsonl", "csv"])
@pytest.mark.parametrize(("contract", "cases", "key"), CASES)
def test_template(call: Call, contract: str, cases: str, key: str, container: str) -> None:
    """The ids of the cases, in their order, and nothing else; every record still has something to fill in."""
    ran = call("template", contract, "--cases", EXAMPLES / cases, "--out", f"new.{container}")
    if container not in medcontract.get_contract(contract).containers:
        assert ran.code == 2
        assert "use json or jsonl" in ran.err
        return
    assert (ran.code, ran.out) == (0, "")
    report = medcontract.validate(f"new.{container}", contract)
    wanted = _ids(EXAMPLES / cases, key, contract)
    assert report.records == len(wanted) > 0
    assert {problem.record for problem in report} - {None} == set(range(len(wanted)))
    text = Path(f"new.{container}").read_text(encoding="utf-8")
    if container == "csv":
        rows = list(csv.DictReader(io.StringIO(text)))
    elif container == "jsonl":
        rows = [json.loads(line) for line in text.splitlines()]
    else:
        rows = json.loads(text)[medcontract.get_contract(contract).list_key or ""]
    assert [row[key] for row in rows] == wanted
    filled = {name for row in rows for name, value in row.items() if value not in (None, "")}
    assert filled <= ID_FIELDS | {"doc_type"}
    assert "doc_type" not in filled or contract == "extraction/lab-labels"


@pytest.mark.parametrize("track", TRUTH)
def test_filled_in(call: Call, tmp_path: Path, track: str) -> None:
    """A template whose blanks are filled in is a valid submission that covers all cases."""
    truth_contract, contract = CONTRACTS[track][:2]
    truth = put(tmp_path / "truth.json", truth_contract, TRUTH[track])
    value = json.loads(call("template", contract, "--cases", truth).out)
    sent = put(tmp_path / "sent.json", contract, SENT[track])
    answers = json.loads(sent.read_bytes())
    listed = value[LIST_KEYS[contract]]
    assert len(listed) == len(SENT[track])
    for record, answer in zip(listed, SENT[track], strict=True):
        assert {name: value for name, value in record.items() if value is not None}.items() <= answer.items()
        record.update({name: answer[name] for name in record})
    value |= {name: answers[name] for name in value if name != LIST_KEYS[contract]}
    Path("filled.json").write_text(json.dumps(value), encoding="utf-8")
    ran = call("preflight", truth, "filled.json", "--format", "json")
    checks = {check["id"]: check["status"] for check in ran.json["checks"]}
    assert checks[contract] == checks["coverage"] == checks["gate"] == "passed"


def test_no_label_leaks(call: Call, tmp_path: Path) -> None:
    """Of a truth, only ids and the header are used, though predictions have fields of the same names."""
    truth = put(tmp_path / "truth.json", "reports/truth", TRUTH["reports"])
    for container in ("json", "jsonl", "csv"):
        ran = call("template", "reports/predictions", "--cases", truth, "--format", container)
        for label in ("Oncology", "Urgent", "Routine", "Emergency", "true", "True", "false", "False"):
            assert label not in ran.out


def test_header_that_a_table_lacks(call: Call) -> None:
    """It is reported on standard error how to pass it."""
    call_ = ("template", "lesions/predictions", "--cases", EXAMPLES / "lesions" / "cases.csv", "--format", "csv")
    ran = call(*call_)
    assert ran.out.startswith("image_id,AK,BCC,SK,SCC,VASC,DF,NV,NON,MEL,ON\nDRM-00214,,,,,,,,,,\n")
    assert (
        ran.err == "medcontract: .csv cannot contain the header (team_name): pass it to score with --set NAME=VALUE\n"
    )
    assert call(*call_, "--quiet").err == ""


def test_header_of_the_truth(call: Call) -> None:
    """A header field that must be as in the truth is filled in."""
    value = json.loads(call("template", "triage/response", "--cases", EXAMPLES / "triage" / "ground-truth.json").out)
    assert value["event"] == json.loads((EXAMPLES / "triage" / "ground-truth.json").read_bytes())["event"]
    assert value["team_name"] is value["evaluation_date"] is None


def test_named_contract_of_the_cases(call: Call, tmp_path: Path) -> None:
    """`CONTRACT=PATH` specifies the contract of the cases."""
    (tmp_path / "ids.csv").write_text("report_id\nR-1\n007\n", encoding="utf-8")
    ran = call("template", "reports/predictions", "--cases", "reports/cases=ids.csv", "--format", "csv", "-q")
    assert ran.out == "report_id,specialty,urgency,follow_up,processing_time_sec\nR-1,,,,\n007,,,,\n"


def test_cases_are_checked_first(call: Call) -> None:
    """Cases with errors have no template."""
    Path("cases.csv").write_text("report_id,content\nR-1,x\nR-1,x\n", encoding="utf-8")
    ran = call("template", "reports/predictions", "--cases", "cases.csv", "--out", "x.csv")
    assert (ran.code, ran.out, "MC201" in ran.err) == (1, "", True)
    assert not Path("x.csv").exists()


def test_plugins(call: Call, tmp_path: Path) -> None:
    """A contract of a plugin has templates, too, if it covers the ids of another one."""
    plugin = ROOT / "tests" / "toy_track.py"
    truth = ROOT / "tests" / "toy" / "truth.json"
    value = json.loads(call("template", "toy/answers", "--plugin", plugin, "--cases", truth).out)
    ids = [record["item"] for record in json.loads(truth.read_bytes())["truth"]]
    assert value["answers"] == [{"item": each, "said": None} for each in ids]


PLUGIN = '''
from medcontract.modeling import Contract, Document, ListOf, Str, StrictModel, Text, Unique


class Row(StrictModel):
    """A row."""

    patient: Str
    """The patient."""
    note: Text
    """A note."""


class Notes(Document):
    """Notes."""

    notes: ListOf[Row]
    """All notes."""


CONTRACTS = (
    Contract(
        id="notes/notes", model=Notes, record=Row, list_key="notes", flat=True, title="Notes",
        rules=(Unique(within="notes", fields=("patient",), code="MC201", message="repeated", hint="remove it"),),
    ),
)
'''


def test_a_template_that_is_valid(call: Call, tmp_path: Path) -> None:
    """If an empty cell is a valid value, this is reported; null is not."""
    (tmp_path / "notes_plugin.py").write_text(PLUGIN, encoding="utf-8")
    (tmp_path / "notes.jsonl").write_text('{"patient": "P-1", "note": "secret"}\n', encoding="utf-8")
    arguments = ("template", "notes/notes", "--plugin", "./notes_plugin.py", "--cases", "notes.jsonl", "--format")
    assert call(*arguments, "jsonl") == (0, '{"patient": "P-1", "note": null}\n', "")
    ran = call(*arguments, "csv")
    assert ran.out == "patient,note\nP-1,\n"
    assert "this file is valid as it is" in ran.err


def test_python(tmp_path: Path) -> None:
    """The same as a function, which returns the text."""
    cases = EXAMPLES / "reports" / "cases.csv"
    text = medcontract.template("reports/predictions", cases)
    assert not medcontract.validate(text.encode(), "reports/predictions", name="x.json")
    with pytest.raises(medcontract.CallError, match="unknown format"):
        medcontract.template("reports/predictions", cases, format="xlsx")
    with pytest.raises(medcontract.InvalidData):
        medcontract.template("reports/predictions", VECTORS / "reports" / "cases" / "invalid" / "report-id-twice.csv")
