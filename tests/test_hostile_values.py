"""What must not be printed: values of records, and for participants anything of the truth."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pydantic import field_validator
from tests.scoring_files import answer, document, reference, repeats, report, run, telemetry
from tests.test_metric_plugins import metric
from tests.test_score_command import Call, on_a_terminal, sent_file, truth_file

import medcontract
from medcontract.cli import output
from medcontract.definitions import plugins, registry
from medcontract.modeling import Contract, Document, Many, Strictest

MARKER = "Pérez"


@pytest.fixture(autouse=True)
def _no_plugins_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test loads is gone after it."""
    monkeypatch.setattr(plugins, "_metrics", {})
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "plugin", raising=False)


@pytest.mark.parametrize("format_", ["text", "markdown", "json"])
@pytest.mark.parametrize("how", ["two runs", "an invalid run"])
def test_runs_for_participants(call: Call, tmp_path: Path, format_: str, how: str) -> None:
    """Runs have no figures for participants: a table of them has what is left."""
    truth = [report(f"R-{n}") for n in range(4)]
    runs = ("1", "2") if how == "two runs" else ("1",)
    sent = [answer(true, run=each) for each in runs for true in truth]
    files = [truth_file(tmp_path, "reports", truth), sent_file(tmp_path, "reports", sent)]
    measured = [run(each, memory=2000.0 if how == "an invalid run" else 256.0) for each in runs]
    files += document(tmp_path, "telemetry", telemetry(*measured))
    ran = call("score", *files, "--participant", "--format", format_)
    assert ran.code == (0 if how == "two runs" else 1)
    assert ran.err == ""
    if format_ == "text":
        assert "Runs" in ran.out
        assert "accuracy" not in ran.out.split("Runs")[1].splitlines()[1]


# --- exceptions ----------------------------------------------------------------------------------

QUOTES = {
    "prediction": metric("raise ValueError(prediction.answer)"),
    "reference": metric("raise ValueError(reference.answer)"),
    "number": metric("return 1948.0"),
}


def quoting(folder: Path, kind: str) -> list[Path]:
    (folder / "plugin.py").write_text(QUOTES[kind])
    truth = [reference("1", answer=f"gout of {MARKER}")]
    sent = [repeats(true) for true in truth]
    return [truth_file(folder, "benchmark", truth), sent_file(folder / "sub", "benchmark", sent).parent]


def leaks(out: str) -> bool:
    return MARKER in out or "1948" in out


@pytest.mark.parametrize("kind", QUOTES)
@pytest.mark.parametrize("command", ["score", "preflight", "leaderboard"])
@pytest.mark.parametrize("extra", [(), ("--participant",), ("--format", "json")])
def test_metrics_that_quote_a_record(
    call: Call, tmp_path: Path, command: str, extra: tuple[str, ...], kind: str
) -> None:
    """A plugin metric that raises with a value in its message: a pipe does not hold it."""
    ran = call(command, *quoting(tmp_path, kind), "--plugin", "plugin.py", *extra)
    assert "'odd'" in ran.err + ran.out
    assert not leaks(ran.err + ran.out)


@pytest.mark.parametrize("command", ["score", "preflight", "leaderboard"])
def test_metrics_that_quote_a_record_on_a_terminal(
    call: Call, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person sees what went wrong, unless the result is for participants, or errors go to a log."""
    on_a_terminal(monkeypatch)
    arguments = (command, *quoting(tmp_path, "reference"), "--plugin", "plugin.py")
    assert not leaks(call(*arguments).err)
    monkeypatch.setattr(output, "error_terminal", lambda: True)
    assert leaks(call(*arguments).err)
    ran = call(*arguments, "--participant")
    assert not leaks(ran.err + ran.out)


@pytest.mark.parametrize("command", ["score", "preflight"])
@pytest.mark.parametrize("kind", QUOTES)
def test_show_values_is_not_for_participants(call: Call, tmp_path: Path, command: str, kind: str) -> None:
    """--show-values tells what a metric says, but not to participants: it may quote the truth."""
    arguments = (command, *quoting(tmp_path, kind), "--plugin", "plugin.py", "--show-values")
    assert leaks(call(*arguments).err)
    ran = call(*arguments, "--participant")
    assert not leaks(ran.err + ran.out)


class _Person(Strictest):
    name: str

    @field_validator("name")
    @classmethod
    def known(cls, value: str) -> str:
        raise ValueError(f"nobody here is called {value.upper()}, see the list")


class _People(Document):
    people: Many[_Person]


def test_validators_that_quote_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of a contract's own validator are shown without what they quote."""
    known = dict(registry.compiled())
    monkeypatch.setattr(registry, "compiled", lambda: known)
    plugins.register(Contract(id="leak/people", model=_People, record=_Person, list_key="people", title="People"))
    found = medcontract.validate('{"name": "Ana Pérez"}\n'.encode(), "leak/people", name="x.jsonl")
    (problem,) = found.problems
    assert problem.message == "'name': nobody here is called … …, see the list"
    assert problem.value == '"Ana Pérez"'
