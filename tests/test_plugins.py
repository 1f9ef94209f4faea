"""Contracts of users: the example in `examples/sepsis`, and what can go wrong with one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import field_validator
from tests.support import ROOT

import medcontract
from medcontract.cli.main import main
from medcontract.definitions import plugins, registry
from medcontract.modeling import (
    Contract,
    Document,
    Flag,
    Limit,
    Many,
    Order,
    Rising,
    Str,
    Strictest,
    Unique,
    Unit,
    register,
)

SEPSIS = ROOT / "examples" / "sepsis"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """What a test registers is gone after it."""
    known = dict(registry.compiled())
    yield
    registry.compiled().clear()
    registry.compiled().update(known)
    sys.modules.pop("sepsis_challenge", None)


@pytest.fixture
def sepsis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SEPSIS)
    monkeypatch.syspath_prepend(SEPSIS)
    plugins.load_module("sepsis_challenge")


def test_the_example_from_the_command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The commands of the documentation work, and the bad file is refused with its three problems."""
    monkeypatch.chdir(SEPSIS)
    assert main(["validate", "--plugin", "sepsis_challenge", "data/"]) == 0
    assert main(["validate", "--plugin", "sepsis_challenge", "--format", "json", "bad-alarms.csv"]) == 1
    output = capsys.readouterr().out
    report = json.loads(output[output.index("{") :])
    found = [(p["code"], p["line"], p["field"]) for p in report["files"][0]["problems"]]
    assert found == [("MC105", 2, "risk"), ("MC203", 3, "cleared_hour"), ("MC201", 4, "stay_id")]


@pytest.mark.usefixtures("sepsis")
def test_everything_that_built_in_contracts_have(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Recognition, load, schemas and tables work for a registered contract."""
    loaded = medcontract.load("data/truth.json")
    assert (loaded.contract, loaded.value.stays[2].onset_hour) == ("sepsis/truth", 0)
    assert medcontract.load("data/alarms.csv").value[0].risk == 0.83
    assert medcontract.schema("sepsis/alarms")["x-medcontract-rules"][0]["kind"] == "unique"
    described = medcontract.schema("sepsis/alarms", record=True)["properties"]["risk"]["description"]
    assert described == "The highest risk that the model saw."
    assert main(["schema", "show", "sepsis/truth"]) == 0
    assert main(["schema", "export", str(tmp_path), "sepsis/truth"]) == 0
    assert (tmp_path / "sepsis" / "truth" / "v1.record.json").is_file()
    assert main(["schema", "list"]) == 0
    assert "sepsis/alarms" in capsys.readouterr().out
    import pandas as pd

    frame = pd.DataFrame([{"stay_id": "a", "risk": 2, "raised_hour": 1, "cleared_hour": 2}])
    assert [p.code for p in medcontract.validate_frame(frame, "sepsis/alarms").problems] == ["MC105"]


@pytest.mark.usefixtures("sepsis")
def test_same_verdict_as_its_schema() -> None:
    """The exported schema of a registered contract judges as the contract does."""
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(medcontract.schema("sepsis/alarms", record=True))
    good = {"stay_id": "a", "risk": 0.5, "raised_hour": 1, "cleared_hour": 2}
    for change in (
        {},
        {"risk": 2},
        {"risk": "x"},
        {"stay_id": ""},
        {"extra": 1},
        {"raised_hour": None},
        {"risk": True},
    ):
        record = good | change
        report = medcontract.validate(json.dumps(record).encode(), "sepsis/alarms", name="x.jsonl")
        assert report.ok == validator.is_valid(record)


def test_an_installed_package(tmp_path: Path) -> None:
    """An entry point makes contracts known without a word on the command line."""
    info = tmp_path / "sepsis_challenge-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sepsis-challenge\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[medcontract.contracts]\nsepsis = sepsis_challenge\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(SEPSIS)])}
    command = [sys.executable, "-m", "medcontract", "validate", str(SEPSIS / "data")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "sepsis/truth" in done.stdout


class _Record(Strictest):
    """One."""

    name: Str
    """Its name."""
    share: Unit
    """Its share."""

    @field_validator("name")
    @classmethod
    def _no_shouting(cls, value: str) -> str:
        if value.isupper():
            raise ValueError("no shouting")
        return value


class _File(Document):
    """All."""

    records: Many[_Record]
    """One each."""


def _contract(**changes: Any) -> Contract[Any]:
    settings: dict[str, Any] = {"id": "my/file", "model": _File, "record": _Record, "list_key": "records",
                                "title": "Mine"}  # fmt: skip
    return Contract(**{**settings, **changes})


def test_a_validator_of_the_users_own() -> None:
    """What a user's validator refuses is a problem at its place, with the user's words."""
    register(_contract())
    report = medcontract.validate(b'{"name": "LOUD", "share": 0.5}\n', "my/file", name="x.jsonl")
    assert [(p.code, p.message, p.column) for p in report.problems] == [("MC110", "'name': no shouting", 10)]
    assert medcontract.validate(b'{"name": "soft", "share": 0.5}\n', "my/file", name="x.jsonl").ok


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"id": "My File"}, "no id of a contract"),
        ({"id": "reports/truth"}, "another contract has this id"),
        ({"list_key": "rows"}, "has no field 'rows'"),
        ({"list_key": None}, "both list_key and record"),
        ({"model": _Record}, "must derive from medcontract.modeling.Document"),
    ],
)
def test_unsound_contracts_are_refused(changes: dict[str, Any], words: str) -> None:
    """A contract that would break our promises is refused when it is registered, with the reason."""
    with pytest.raises(medcontract.CallError, match=words):
        register(_contract(**changes))


def _rule(kind: type[Any], **settings: Any) -> Any:
    return kind(**{"code": "MC201", "message": "wrong", **settings})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"record_rules": (_rule(Order, fields=("nope", "share")),)}, "names 'nope', which is no field"),
        ({"rules": (_rule(Unique, within="records", fields=("nope",)),)}, "names 'nope', which is no field"),
        ({"rules": (_rule(Unique, within="nope", fields=("name",)),)}, "a list 'nope'"),
        ({"record_rules": (_rule(Unique, within="records", fields=("name",)),)}, "not into record_rules|whole list"),
        ({"record_rules": (_rule(Limit, field="share", minimum=1, code="XX1"),)}, "unknown code"),
        ({"record_rules": (_rule(Limit, field="share", minimum=1, severity="fatal"),)}, "severity 'fatal'"),
    ],
)
def test_unsound_rules_are_refused(changes: dict[str, Any], words: str) -> None:
    """A rule that could not be run, or not as it is meant, is refused when it is registered."""
    with pytest.raises(medcontract.CallError, match=words):
        register(_contract(**changes))


def test_a_validator_that_crashes() -> None:
    """A user's validator that raises anything is a problem of the record, not a traceback."""

    class Crashing(Strictest):
        name: Str

        @field_validator("name")
        @classmethod
        def _crash(cls, value: str) -> str:
            return value[1000]

    class Crashes(Document):
        records: Many[Crashing]

    register(_contract(model=Crashes, record=Crashing))
    report = medcontract.validate(b'{"name": "x"}', "my/file", name="x.jsonl")
    assert [problem.code for problem in report.problems] == ["MC110"]


def test_a_built_in_contract_is_preferred() -> None:
    """Where a registered contract fits as well as a built-in one, the built-in one is meant."""

    class Twin(Strictest):
        image_id: Str
        label: Str

    class Twins(Document):
        labels: Many[Twin]

    register(_contract(model=Twins, record=Twin, list_key="labels"))
    assert medcontract.validate(b'{"image_id": "a", "label": "MEL"}', name="x.jsonl").contract == "lesions/truth"


def test_what_is_no_contract() -> None:
    """Anything else than a Contract is refused."""
    with pytest.raises(medcontract.CallError, match="not a Contract"):
        register(_File)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("raise RuntimeError('boom')", "cannot be imported: RuntimeError: boom"),
        ("import no_such_module_anywhere", "cannot be imported: ModuleNotFoundError"),
        ("x = 1", "has no CONTRACTS"),
        ("import sys; sys.exit(3)", "cannot be imported: SystemExit: 3"),
        ("def f(:", "cannot be imported: SyntaxError"),
    ],
)
def test_bad_plugins(
    source: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plugin that does not work is a wrong call with a clear message, never a traceback."""
    (tmp_path / "bad_plugin.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["validate", "--plugin", "bad_plugin", "x.json"]) == 2
    sys.modules.pop("bad_plugin", None)
    assert words in capsys.readouterr().err


def test_rules_about_a_list_in_a_table() -> None:
    """What only the end of a table shows is told at the line of its row."""

    class Step(Strictest):
        case: Str
        first: bool
        at: Unit
        cost: Unit

    class Steps(Document):
        steps: Many[Step]

    register(
        Contract(
            id="x/steps", model=Steps, record=Step, list_key="steps", flat=True, title="steps",
            rules=(
                Flag(within="steps", field="first", group="case", code="MC205", message="no first step"),
                Rising(within="steps", field="cost", by="at", code="MC208", message="the cost fell"),
            ),
        )
    )  # fmt: skip
    rows = b"case,first,at,cost\nA,true,0,0.5\n\nA,true,0.1,0.4\nA,false,0.2,0.9\nB,true,0.3,1\n"
    report = medcontract.validate(rows, "x/steps", name="x.csv")
    found = [(p.code, p.line, p.record, p.field) for p in report.problems]
    assert found == [("MC205", 4, 1, "first"), ("MC208", 4, 1, "cost")]
