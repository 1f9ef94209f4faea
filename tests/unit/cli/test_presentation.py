"""Presentation of results: suggestions, --quiet, colors, and defaults from the environment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.commands import TRACKS, Call, all_files
from tests.support import VECTORS, lesion, lesions

from medcontract.cli import output

WARNING = VECTORS / "lesions" / "model" / "valid" / "warn-size-150.json"


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(lesions(2) + json.dumps(lesion(2, label="Secreto")).encode() + b"\n")
    return path


# --- suggestions


@pytest.mark.parametrize(("arguments", "expected"), [
    (["validat", "x"], "No such command 'validat'. Did you mean 'validate'?"),
    (["Validate", "x"], "Did you mean 'validate'?"),
    (["schema", "shw"], "No such command 'shw'. Did you mean 'show'?"),
    (["protocol", "frezee"], "Did you mean 'freeze'?"),
    (["score", "--parametr", "a=1", "x"], "--parameter"),
    (["validate", "--quite", "x"], "--quiet"),
])  # fmt: skip
def test_misspelled(call: Call, arguments: list[str], expected: str) -> None:
    """A misspelled command, subcommand or option suggests the most similar one."""
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert expected in err


def test_nothing_similar(call: Call) -> None:
    """A word that is similar to no command has no suggestion."""
    assert call("xyzzy").err.endswith("No such command 'xyzzy'.\n")


def test_forgotten_command(call: Call, bad: Path) -> None:
    """A file in place of a command: the command to check it is shown."""
    assert "medcontract validate bad.jsonl" in call("bad.jsonl").err


# --- --quiet


def test_quiet_validate(call: Call, bad: Path) -> None:
    """One line per file with its contract, and the count; the exit code stays the same."""
    code, out, err = call("validate", "--quiet", bad, WARNING)
    assert (code, err) == (1, "")
    assert out == (
        f"{bad}: not ok  lesions/truth, 1 error\n{WARNING}: ok  lesions/model, 1 warning\n"
        "1 error and 1 warning in 1 of 2 files, 3 records.\n"
    )


def test_quiet_keeps_errors_of_the_call(call: Call) -> None:
    """What could not be checked is still reported, with its reason."""
    code, out, _ = call("validate", "-q", "missing.json")
    assert code == 2
    assert "MC001" in out
    assert "missing.json" in out
    code, out, err = call("score", "--quiet", "missing.json")
    assert (code, out) == (2, "")
    assert "missing.json" in err


@pytest.mark.parametrize("command", ["score", "preflight"])
@pytest.mark.parametrize("track", TRACKS)
def test_quiet_is_shorter(call: Call, tmp_path: Path, command: str, track: str) -> None:
    """The outcome and the contracts of a score and a preflight without details; JSON stays the same."""
    files = all_files(tmp_path / "files", track)
    full, quiet = call(command, *files), call(command, "--quiet", *files)
    assert quiet.code == full.code
    lines = quiet.out.splitlines()
    (contracts,) = (line.strip() for line in lines if line.strip().startswith("contracts: "))
    assert {line for line in lines if line.strip() != contracts} <= set(full.out.splitlines())
    assert 0 < len(lines) <= 7
    used = {file["contract"] for file in json.loads(call("score", "--format", "json", *files).out)["inputs"]}
    assert contracts == f"contracts: {', '.join(sorted(used))}"
    assert call(command, "--format", "json", *files).out == call(command, "-q", "--format", "json", *files).out


def test_quiet_leaderboard_and_compare(call: Call, tmp_path: Path) -> None:
    """The ranking and the changed figures stay; provenance and warnings do not."""
    truth, sent, model = all_files(tmp_path / "files", "lesions")
    quiet = call("leaderboard", "--quiet", truth, sent)
    assert quiet.out.endswith("1 submission, 1 valid, ranked by prediction_score.\n")
    assert "contracts: lesions/truth; submissions: lesions/predictions\n" in quiet.out
    assert "fingerprint" not in quiet.out
    assert "fingerprint" in call("leaderboard", truth, sent).out
    for name in ("a.json", "b.json"):
        call("score", truth, sent, model, "--format", "json", "--out", name)
    quiet = call("compare", "--quiet", "a.json", "b.json")
    assert quiet.out.startswith(
        "lesions: valid before, valid after\n  contracts: lesions/model, lesions/predictions, lesions/truth\n"
    )


def test_quiet_init(call: Call) -> None:
    """`init --quiet` prints nothing."""
    assert call("init", "lesions", "demo", "--quiet") == (0, "", "")
    assert Path("demo/truth.csv").exists()


# --- colors


@pytest.mark.parametrize(("environment", "options", "terminal", "colored"), [
    ({}, [], True, True),
    ({}, [], False, False),
    ({"TERM": "dumb"}, [], True, False),
    ({"FORCE_COLOR": "1"}, [], False, True),
    ({"FORCE_COLOR": ""}, [], False, False),
    ({"FORCE_COLOR": "0"}, [], True, False),
    ({"FORCE_COLOR": "1", "TERM": "dumb"}, [], False, True),
    ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], True, False),
    ({"FORCE_COLOR": "1", "NO_COLOR": ""}, [], False, True),
    ({"FORCE_COLOR": "1"}, ["--no-color"], True, False),
    ({"FORCE_COLOR": "1"}, ["--format", "json"], False, False),
])  # fmt: skip
def test_colors(
    call: Call,
    bad: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    options: list[str],
    terminal: bool,
    colored: bool,
) -> None:
    """--no-color, NO_COLOR, FORCE_COLOR, TERM=dumb and the terminal, in this order. None of them shows values."""
    for name in ("FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(output, "terminal", lambda: terminal)
    if terminal:
        monkeypatch.setattr("click.utils.should_strip_ansi", lambda *arguments: False)
    out = call("validate", bad, *options).out
    assert ("\x1b[" in out) == colored
    assert ("Secreto" in out) == (terminal and options != ["--format", "json"])


def test_no_progress_on_a_dumb_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal without escape sequences gets no progress bar."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    assert output.Progress().show is None


# --- defaults from the environment


def test_default_format(call: Call, bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The format of the environment is used unless the call has another one."""
    monkeypatch.setenv("MEDCONTRACT_FORMAT", "json")
    ran = call("validate", bad)
    assert (ran.json["ok"], ran.err) == (False, "")
    assert call("validate", bad, "--format", "text").out.startswith(str(bad))
    call("validate", bad, "--out", "out.txt")
    assert Path("out.txt").read_text(encoding="utf-8").startswith(str(bad))


def test_default_format_that_a_command_lacks(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A format of other commands is ignored."""
    monkeypatch.setenv("MEDCONTRACT_FORMAT", "sarif")
    assert call("explain", "MC104").out == call("explain", "MC104", "--format", "text").out


def test_default_quiet_and_max_problems(call: Call, bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both can be overridden in the call, and neither changes the exit code."""
    monkeypatch.setenv("MEDCONTRACT_QUIET", "1")
    monkeypatch.setenv("MEDCONTRACT_MAX_PROBLEMS", "0")
    assert call("validate", bad).out.startswith(f"{bad}: not ok")
    shown = call("validate", bad, "--no-quiet")
    assert "1 problem (use --max-problems to show more)" in shown.out
    assert "MC104" in call("validate", bad, "--no-quiet", "--max-problems", 5).out
    assert shown.code == call("validate", bad).code == 1


@pytest.mark.parametrize(("name", "value", "expected"), [
    ("FORMAT", "jsn", "did you mean 'json'?"),
    ("QUIET", "perhaps", "'perhaps' is not a valid boolean"),
    ("MAX_PROBLEMS", "-1", "'--max-problems'"),
])  # fmt: skip
def test_wrong_defaults(
    call: Call, bad: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: str
) -> None:
    """A wrong value is a usage error; nothing is checked."""
    monkeypatch.setenv(f"MEDCONTRACT_{name}", value)
    code, out, err = call("validate", bad)
    assert (code, out, expected in err) == (2, "", True), err


def test_no_defaults_from_a_file(call: Call, bad: Path) -> None:
    """A file that comes with the data changes nothing."""
    before = call("validate", bad)
    Path("medcontract.toml").write_text('format = "json"\nquiet = true\n', encoding="utf-8")
    Path("pyproject.toml").write_text('[tool.medcontract]\nformat = "json"\n', encoding="utf-8")
    assert call("validate", bad) == before


def test_other_options_have_no_variable(call: Call, bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment cannot make values visible, and does not change an outcome."""
    before = call("validate", WARNING, bad)
    for name in ("SHOW_VALUES", "STRICT", "EXCLUDE", "VALIDATE_STRICT", "VALIDATE_SHOW_VALUES"):
        monkeypatch.setenv(f"MEDCONTRACT_{name}", "1")
    assert call("validate", WARNING, bad) == before
