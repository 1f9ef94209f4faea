"""What must not be printed: values of records, and for participants anything of the truth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import field_validator
from tests.acceptance.test_metric_plugins import metric
from tests.commands import SENT, Call, on_a_terminal, sent_file, truth_file
from tests.scoring_files import answer, document, reference, repeats, report, run, telemetry

import medcontract
from medcontract.cli import output
from medcontract.modeling import Contract, Document, ListOf, StrictModel
from medcontract.plugins.registration import register

MARKER = "Pérez"


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


# --- names of metrics, and a truth that is not recognized -----------------------------------------


@pytest.mark.parametrize("weighed", [(), ("--weights", "clinical_accuracy=1,safty=1"), ("--weights", "nothing=1")])
@pytest.mark.parametrize(("command", "format_"), [
    (command, name) for command in ("score", "leaderboard", "preflight") for name in ("text", "markdown", "json")
    if (command, name) != ("preflight", "markdown")
])  # fmt: skip
def test_names_of_metrics(call: Call, tmp_path: Path, command: str, weighed: tuple[str, ...], format_: str) -> None:
    """A metric that a submission names like a patient is not told; result, which its contract exempts, aside."""
    given = {f"Ana {MARKER}": 0.5, "safety": 1, "x" * 65: 0.5, "a.b": 1}
    sent = [{**record, "scores": given} for record in SENT["benchmark"]]
    files = truth_file(tmp_path, "benchmark"), sent_file(tmp_path / "sub", "benchmark", sent).parent
    ran = call(command, *files, *weighed, "--parameter", "given_scores=taken", "--format", format_)
    out = ran.out
    if format_ == "json" and command != "leaderboard" and out:
        score = ran.json["score"] if command == "preflight" else ran.json
        score.pop("result")
        out = json.dumps(score, ensure_ascii=False)
    assert [word for word in (MARKER, "x" * 65, "a.b") if word in out + ran.err] == []
    assert "safety" in ran.out + ran.err or command == "preflight"


def test_figures_of_masked_names(call: Call, tmp_path: Path) -> None:
    """In the JSON of a ranking they are told apart, and are the same metric in all entries."""
    truth = truth_file(tmp_path, "benchmark")
    for name, given in (("a", {"A b": 0.25, "C d": 0.5}), ("b", {"C d": 0.75})):
        sent_file(tmp_path / name, "benchmark", [{**record, "scores": given} for record in SENT["benchmark"]])
    ran = call("leaderboard", truth, tmp_path / "a", tmp_path / "b", "--parameter", "given_scores=taken",
               "--format", "json")  # fmt: skip
    figures = {found["name"]: found["figures"] for found in ran.json["submissions"]}
    assert (figures["a"]["…1"], figures["a"]["…2"]) == (0.25, 0.5)
    assert "…1" not in figures["b"]
    assert figures["b"]["…2"] == 0.75


@pytest.mark.parametrize("format_", ["text", "json"])
@pytest.mark.parametrize("command", ["score", "preflight"])
def test_a_truth_that_is_not_recognized(call: Call, tmp_path: Path, command: str, format_: str) -> None:
    """It may be the truth: participants see nothing of it, whatever is asked for."""
    (tmp_path / "truth.jsonl").write_text(f'{{"image_id": "{MARKER}" "label": "MEL"}}\n')
    sent = sent_file(tmp_path / "sub", "lesions").parent
    ran = call(command, "truth.jsonl", sent, "--participant", "--show-values", "--format", format_)
    assert ran.code != 0
    assert MARKER not in ran.out + ran.err
    assert "truth.jsonl" in ran.out + ran.err


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


class _Person(StrictModel):
    name: str

    @field_validator("name")
    @classmethod
    def known(cls, value: str) -> str:
        raise ValueError(f"nobody here is called {value.upper()}, see the list")


class _People(Document):
    people: ListOf[_Person]


def test_validators_that_quote_a_value() -> None:
    """The words of a contract's own validator are shown without what they quote."""
    register(Contract(id="leak/people", model=_People, record=_Person, list_key="people", title="People"))
    found = medcontract.validate('{"name": "Ana Pérez"}\n'.encode(), "leak/people", name="x.jsonl")
    (problem,) = found.problems
    assert problem.message == "'name': nobody here is called … …, see the list"
    assert problem._value == '"Ana Pérez"'
