"""The public functions, as their docstrings promise."""

from __future__ import annotations

import doctest
import importlib
import json
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support import SCHEMAS, VECTORS, lesion, lesions

import medcontract
from medcontract import CallError, InvalidData, MedcontractError, NotRecognized, UnknownContract
from medcontract.contracts import registry

RECORD = json.dumps(lesion(1)).encode()


def _modules_with_examples() -> list[str]:
    names = ["medcontract"]
    names += [m.name for m in pkgutil.walk_packages(medcontract.__path__, "medcontract.") if "__main__" not in m.name]
    return names


def test_documented_examples() -> None:
    """Every example in a docstring runs and gives what it says."""
    results = [doctest.testmod(importlib.import_module(name)) for name in _modules_with_examples()]
    assert sum(result.failed for result in results) == 0
    assert sum(result.attempted for result in results) >= 3


# --- validate ------------------------------------------------------------------------------------


def test_validate_a_path(tmp_path: Path) -> None:
    """A path may be a string or a `Path`; the report names it as it was given."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(RECORD)
    for given in (path, str(path)):
        report = medcontract.validate(given)
        assert (report.path, report.contract, report.ok, report.records) == (str(path), "lesions/truth", True, 1)


def test_validate_returns_problems() -> None:
    """What is wrong in a file is returned, not raised: code, severity, place, pointer, and a hint."""
    report = medcontract.validate(json.dumps(lesion(1, label="mel")).encode(), name="x.jsonl")
    problem = report.problems[0]
    assert (report.ok, report.errors, report.warnings, report.omitted) == (False, 1, 0, 0)
    assert (problem.code, problem.severity, problem.record) == ("MC104", "error", 0)
    assert (problem.line, problem.column, problem.pointer) == (1, 37, "/label")
    assert problem.hint == "did you mean 'MEL'?"


@pytest.mark.parametrize(("content", "contract"), [
    (RECORD + b"\n" + RECORD.replace(b"1", b"2"), "lesions/truth"),
    (b'{"labels": []}', "lesions/truth"),
    (b'\n  {"labels": []}', "lesions/truth"),
    (b"image_id,label\nI-1,NV\n", "lesions/truth"),
    (b'\xef\xbb\xbf{"labels": []}', "lesions/truth"),
])  # fmt: skip
def test_container_of_bytes_without_a_name(content: bytes, contract: str) -> None:
    """Without a name, a look at the text tells the container."""
    report = medcontract.validate(content)
    assert (report.contract, report.problems, report.path) == (contract, (), "<bytes>")


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_lines_without_a_name(line_end: bytes) -> None:
    """Two records on two lines are lines, whatever ends them."""
    report = medcontract.validate(line_end.join([RECORD, RECORD.replace(b"1", b"2")]))
    assert (report.contract, report.records, report.problems) == ("lesions/truth", 2, ())


def test_max_problems() -> None:
    """Only the first problems are kept, up to the limit; all are counted."""
    report = medcontract.validate(lesions(5, label="XX"), name="x.jsonl", max_problems=2)
    assert [p.record for p in report.problems] == [0, 1]
    assert (report.errors, report.omitted) == (5, 3)


def test_unknown_contract() -> None:
    """A contract that does not exist is a usage error, with the nearest id as hint."""
    with pytest.raises(UnknownContract) as caught:
        medcontract.validate(RECORD, "lesions/truht")
    assert "lesions/truth" in (caught.value.hint or "")
    with pytest.raises(UnknownContract):
        medcontract.load(RECORD, "lesions/truht")
    with pytest.raises(UnknownContract):
        medcontract.json_schema("no/such")


@pytest.mark.parametrize("name", ["no-such-file.json", "a\0b.json", ""])
def test_validate_no_file(name: str) -> None:
    """A file that is not there is a problem of the call, told in the report."""
    report = medcontract.validate(name)
    assert [p.code for p in report.problems] == ["MC001"]
    assert (report.usage_error, report.contract, report.records) == (True, None, None)


# --- load ----------------------------------------------------------------------------------------


def test_load_a_json_file() -> None:
    """A `.json` gives the model of its contract, with its header and its records."""
    loaded = medcontract.load(json.dumps({"event": "spring", "labels": [lesion(1)]}).encode(), name="x.json")
    assert loaded.contract == "lesions/truth"
    assert (loaded.value.event, loaded.value.labels[0].label) == ("spring", "NV")
    assert repr(loaded) == "<Validated lesions/truth>"


def test_load_lines_and_tables() -> None:
    """Lines and tables have no header: they give a tuple of records, the same from both."""
    from_lines = medcontract.load(RECORD, name="x.jsonl").value
    from_table = medcontract.load(b"label,image_id\nNV,ISLA-00001\n", name="x.csv").value
    assert isinstance(from_lines, tuple)
    assert from_lines == from_table
    assert from_lines[0].image_id == "ISLA-00001"


def test_load_a_table_with_a_spread_list() -> None:
    """The columns of the classes become one list; an empty cell of an optional field becomes None."""
    header = "image_id,AK,BCC,SK,SCC,VASC,DF,NV,NON,MEL,ON,error\n"
    content = header + "I-1,1,0,0,0,0,0,0,0,0,0,\nI-2,,,,,,,,,,,unreadable\n"
    good, failed = medcontract.load(content.encode(), name="x.csv").value
    assert (good.probabilities, good.error) == ((1, 0, 0, 0, 0, 0, 0, 0, 0, 0), None)
    assert (failed.probabilities, failed.error) == (None, "unreadable")


def test_load_every_valid_vector() -> None:
    """Whatever is valid can be loaded, as a value of its contract with as many records as were counted."""
    for path in sorted(VECTORS.glob("*/*/valid/*")):
        loaded = medcontract.load(path)
        assert loaded.contract == "/".join(path.relative_to(VECTORS).parts[:2])
        list_key = registry.contract(loaded.contract).list_key
        records = loaded.value if isinstance(loaded.value, tuple) else getattr(loaded.value, list_key or "x", None)
        assert (None if records is None else len(records)) == medcontract.validate(path).records


def test_load_bad_data() -> None:
    """A file that breaks its contract raises `InvalidData`, which carries the report."""
    with pytest.raises(InvalidData) as caught:
        medcontract.load(lesions(2, label="XX"), name="x.jsonl")
    assert caught.value.report.errors == 2
    assert "x.jsonl: 2 errors (first: MC104" in str(caught.value)


def test_load_with_warnings() -> None:
    """Warnings do not keep a file from being loaded."""
    path = VECTORS / "lesions" / "model" / "valid" / "warn-size-150.json"
    assert medcontract.load(path).value.model_size_mb == 150


@pytest.mark.parametrize(
    ("content", "name", "contract"),
    [(b"{}", "x.json", None), (b'{"a": 1}', "x.jsonl", None), (b"run_id\n1\n", "x.csv", "reports/telemetry")],
)
def test_load_a_usage_error(content: bytes, name: str, contract: str | None) -> None:
    """What cannot be judged at all raises `CallError`."""
    with pytest.raises(CallError) as caught:
        medcontract.load(content, contract, name=name)
    assert str(caught.value).startswith(f"{name}: ")


def test_load_what_is_not_recognized() -> None:
    """A file that reads well and fits no contract raises `NotRecognized`, as the tree of errors says."""
    with pytest.raises(NotRecognized):
        medcontract.load(b"{}", name="x.json")


@pytest.mark.parametrize("name", ["no-such-file.json", "."])
def test_load_no_file(name: str) -> None:
    """A path that is no file raises `CallError`."""
    with pytest.raises(CallError):
        medcontract.load(name)


def test_errors_do_not_show_values() -> None:
    """What is raised names no value of a record."""
    with pytest.raises(InvalidData) as caught:
        medcontract.load(json.dumps(lesion(1, label="Juan Pérez")).encode(), name="x.jsonl")
    assert "Juan" not in str(caught.value)


def test_tree_of_errors() -> None:
    """The root class catches all; usage errors and wrong data can be told apart."""
    assert issubclass(NotRecognized, CallError)
    assert issubclass(UnknownContract, CallError)
    assert issubclass(CallError, MedcontractError)
    assert issubclass(InvalidData, MedcontractError)
    assert not issubclass(InvalidData, CallError)


# --- contracts and schema ------------------------------------------------------------------------


def test_contracts() -> None:
    """All contracts, sorted by id."""
    found = list(medcontract.list_contracts())
    ids = [contract.id for contract in found]
    assert ids == sorted(ids)
    assert {"lesions/truth", "reports/predictions", "triage/response", "medcontract/validation"} <= set(ids)
    assert isinstance(medcontract.get_contract("lesions/truth"), medcontract.Contract)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("before", [
    "",
    "import medcontract.contracts.registry",
    "medcontract.validate(b'{}')",
    "medcontract.list_contracts()",
    "medcontract.json_schema('lesions/truth')",
    "from medcontract.contracts.contract import Contract",
])  # fmt: skip
def test_public_names_in_a_new_process(before: str) -> None:
    """`medcontract.list_contracts` is the function, whatever was imported or called before."""
    code = f"import medcontract\n{before}\nprint(len(medcontract.list_contracts()) > 10)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr


def test_schema() -> None:
    """A schema is the published one, for the file and for a record."""
    for record, name in ((False, "v1.json"), (True, "v1.record.json")):
        published = json.loads((SCHEMAS / "lesions" / "truth" / name).read_bytes())
        assert medcontract.json_schema("lesions/truth", record=record) == published


def test_schema_is_a_copy() -> None:
    """Changing a schema that was returned changes no other."""
    medcontract.json_schema("lesions/truth")["properties"].clear()
    assert medcontract.json_schema("lesions/truth")["properties"]


def test_schema_of_a_record_of_a_document() -> None:
    """A document has no records: asking for one is a usage error."""
    with pytest.raises(CallError, match="document"):
        medcontract.json_schema("lesions/model", record=True)


def test_no_other_names() -> None:
    """A name that the package does not have raises AttributeError."""
    with pytest.raises(AttributeError, match="no_such_name"):
        _: Any = medcontract.no_such_name


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("1", "write true"), ("1.0", "write true"), ("0", "write false"), ("2", None), ("null", None),
        ('"true"', "write true without quotes"), ('"No"', "write false without quotes"),
        ('"maybe"', "write true or false without quotes"),
    ],
)  # fmt: skip
def test_the_boolean_that_is_meant(given: str, hint: str | None) -> None:
    """Where true or false should stand, the hint says which is meant, where that is clear; in a cell without quotes."""
    record = f'{{"report_id": "a", "specialty": "Other", "urgency": "Routine", "follow_up": {given}}}'
    report = medcontract.validate(record.encode(), "reports/truth", name="x.jsonl")
    assert [(problem.code, problem.hint) for problem in report.problems] == [("MC103", hint)]
    if given.startswith('"') and given != '"true"':
        cell = given.strip('"')
        row = f"report_id,specialty,urgency,follow_up\na,Other,Routine,{cell}\n".encode()
        assert medcontract.validate(row, name="x.csv").problems[0].hint == (hint or "").removesuffix(" without quotes")


# --- usage errors -----------------------------------------------------------------------------------------------------


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    medcontract.init("reports", tmp_path / "reports")
    return tmp_path / "reports"


@pytest.mark.parametrize("kind", [str, Path])
def test_a_single_path(reports: Path, kind: Callable[[Path], Any]) -> None:
    """A single path means the same as a list of one path."""
    folder, truth = kind(reports), kind(reports / "truth.json")
    assert medcontract.validate_files(folder) == medcontract.validate_files([folder])
    assert medcontract.freeze_protocol("reports", truth=truth) == medcontract.freeze_protocol("reports", truth=[truth])
    schema = SCHEMAS / "reports/truth/v1.json"
    assert medcontract.validate(truth, schema=schema, allow_refs=folder).ok
    assert medcontract.validate_files(truth, schema=schema, allow_refs=folder).ok


def test_a_single_plugin(reports: Path) -> None:
    """A plugin is named, not spelt."""
    with pytest.raises(CallError, match="'nosuch'"):
        medcontract.score(reports, plugins="nosuch")


_ANY: Any = medcontract

_USAGE_ERRORS: dict[str, Callable[[Path], object]] = {
    "there are no submissions": lambda reports: medcontract.leaderboard(reports / "truth.json"),
    "expected a path or a result of score, got int": lambda reports: _ANY.compare(3, 4),
    "expected a path or a result of freeze_protocol, got int": lambda reports: _ANY.check_protocol(3),
    "expected a string, got list": lambda reports: _ANY.explain(["MC104"]),
    "expected a string, got int": lambda reports: _ANY.normalize(3),
    "expected a string, got tuple": lambda reports: _ANY.export_schemas(reports / "x", ("reports/truth",)),
    "expected a string, got dict": lambda reports: _ANY.json_schema({}),
    "expected a string, got set": lambda reports: _ANY.get_contract(set()),
    "expected a string, got float": lambda reports: _ANY.validate(reports / "truth.json", 3.0),
    "'parameters' must be a mapping, not list": lambda reports: _ANY.get_protocol("reports", parameters=["a"]),
    "'parameters' must be a mapping, not tuple": lambda reports: _ANY.score(reports, parameters=("a",)),
    "'header' must be a mapping, not list": lambda reports: _ANY.score(reports, header=["a"]),
    "expected one file, got 0": lambda reports: _ANY.fix([]),
    "expected one file, got 2": lambda reports: _ANY.fix([reports / "truth.json", reports / "cases.csv"], write=True),
    "runs/--old.json: no such file": lambda reports: medcontract.load("runs/--old.json"),
    "--old.json: no such file": lambda reports: medcontract.load("--old.json"),
    "cache cannot be used with schema": lambda reports: medcontract.validate_files(reports, schema="x", cache="y"),
    "expected a path, got list": lambda reports: _ANY.score([reports]),
    "expected a path, got tuple": lambda reports: _ANY.preflight((reports,)),
    "expected a path, got set": lambda reports: _ANY.leaderboard(reports / "truth.json", {reports}),
    "expected a path, got int": lambda reports: _ANY.validate_files([3]),
    "expected a path or a list of paths, got int": lambda reports: _ANY.validate_files(3),
    "expected a path or a list of paths, got bytes": lambda reports: _ANY.freeze_protocol("reports", truth=b"x"),
    "expected a string, got complex": lambda reports: _ANY.score(reports, contract=1j),
    "expected a string, got bytearray": lambda reports: _ANY.leaderboard(reports, reports, contract=bytearray()),
    "expected a string, got frozenset": lambda reports: _ANY.compare("a", "b", contract=frozenset()),
    "'lexicon' must be a path, not int": lambda reports: _ANY.score(reports, lexicon=5),
    "unknown draft '7'": lambda reports: _ANY.json_schema("reports/truth", draft="7"),
    "unknown draft 'draft-7'": lambda reports: _ANY.export_schemas(reports / "x", draft="draft-7"),
    "'jobs' must be at least 1, not 0": lambda reports: medcontract.score(reports, jobs=0),
    "'jobs' must be at least 1, not -1": lambda reports: medcontract.preflight(reports, jobs=-1),
    "'jobs' must be at least 1, not -2": lambda reports: medcontract.leaderboard(reports, reports, jobs=-2),
    "'jobs' must be an integer, not str": lambda reports: _ANY.score(reports, jobs="2"),
    "'max_problems' must be at least 0, not -1": lambda reports: medcontract.validate(reports, max_problems=-1),
    "'max_problems' must be at least 0, not -2": lambda reports: medcontract.validate_files(reports, max_problems=-2),
    "'max_problems' must be at least 0, not -3": lambda reports: medcontract.score(reports, max_problems=-3),
    "'max_record' must be at least 1, not -1": lambda reports: medcontract.score(reports, max_record=-1),
}


@pytest.mark.parametrize("message", _USAGE_ERRORS)
def test_wrong_arguments(reports: Path, message: str) -> None:
    """An argument of a wrong type or out of range raises `CallError`, before anything is written."""
    with pytest.raises(CallError) as caught:
        _USAGE_ERRORS[message](reports)
    assert str(caught.value).startswith(message)
    assert not (reports / "x").exists()


@pytest.mark.parametrize("cell", ["99.7%", "0,5 %", " 12 % "])
def test_percent_cells(cell: str) -> None:
    """A percentage where a number belongs gets a hint, in a table and in JSON."""
    row = f'image_id,AK,BCC,SK,SCC,VASC,DF,NV,NON,MEL,ON\nI-1,"{cell}",0,0,0,0,0,0,0,0,0\n'
    problems = medcontract.validate(row.encode(), "lesions/predictions", name="x.csv").problems
    record = {"image_id": "I-1", "probabilities": [cell, *[0] * 9]}
    problems += medcontract.validate(json.dumps(record).encode(), "lesions/predictions", name="x.jsonl").problems
    assert len(problems) == 2
    assert {problem.hint for problem in problems} == {"write the share as a number from 0 to 1: 25 % is 0.25"}
