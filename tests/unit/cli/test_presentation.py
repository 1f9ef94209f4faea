"""Presentation of results: suggestions, --quiet, colors, and defaults from a file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.commands import TRACKS, Call, all_files, on_a_terminal
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


def test_forced_colors_are_not_written_to_a_file(call: Call, bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FORCE_COLOR is for standard output."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    call("validate", bad, "--out", "out.txt")
    assert "\x1b" not in Path("out.txt").read_text(encoding="utf-8")


def test_no_progress_on_a_dumb_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal without escape sequences gets no progress bar."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    assert output.Progress().show is None


# --- defaults from a file


def defaults(text: str, name: str = "medcontract.toml") -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("medcontract.toml", 'format = "json"'),
        ("pyproject.toml", '[tool.medcontract]\nformat = "json"'),
        ("pyproject.toml", '[tool]\nmedcontract = {format = "json"}'),
    ],
)
def test_default_format(call: Call, bad: Path, name: str, text: str) -> None:
    """The format of the file is used unless the call has another one; the file is named on standard error."""
    defaults(text, name)
    ran = call("validate", bad)
    assert ran.json["ok"] is False
    assert ran.err == f"medcontract: using presentation defaults from {Path.cwd() / name}\n"
    assert call("validate", bad, "--format", "text").out.startswith(str(bad))
    call("validate", bad, "--out", "out.txt")
    assert Path("out.txt").read_text(encoding="utf-8").startswith(str(bad))


def test_default_format_that_a_command_lacks(call: Call) -> None:
    """A format of other commands is ignored."""
    defaults('format = "markdown"')
    assert call("explain", "MC104").out == call("explain", "MC104", "--format", "text").out


def test_default_quiet_and_max_problems(call: Call, bad: Path) -> None:
    """Both can be overridden in the call, and neither changes the exit code."""
    defaults("quiet = true\nmax-problems = 0")
    assert call("validate", bad).out.startswith(f"{bad}: not ok")
    shown = call("validate", bad, "--no-quiet")
    assert "1 problem (use --max-problems to show more)" in shown.out
    assert "MC104" in call("validate", bad, "--no-quiet", "--max-problems", 5).out
    assert call("validate", "--quiet", bad).err == ""
    assert shown.code == call("validate", bad).code == 1


def test_default_color(call: Call, bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`color` counts less than the environment and the option."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    defaults('color = "always"')
    assert "\x1b[" in call("validate", bad).out
    assert "\x1b[" not in call("validate", bad, "--no-color").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in call("validate", bad).out
    monkeypatch.delenv("NO_COLOR")
    defaults('color = "never"')
    on_a_terminal(monkeypatch)
    assert "\x1b[" not in call("validate", bad).out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fromat = 'json'", "did you mean 'format'?"),
        ("max_problems = 3", "did you mean 'max-problems'?"),
        ("zzz = 1", "the settings are format, color, quiet, max-problems"),
        ("show-values = true", "cannot be set in a file: a file cannot make values of records visible"),
        ("strict = true", "cannot be set in a file: it changes the result"),
        ("exclude = ['x']", "cannot be set in a file: it changes what is checked"),
        ("plugin = 'x.py'", "cannot be set in a file: it runs code"),
        ("parameter = {a = 1}", "cannot be set in a file: it changes the score"),
        ("format = 'jsn'", "did you mean 'json'?"),
        ("format = 3", "'format' must be one of"),
        ("color = true", "'color' must be one of auto, always, never"),
        ("quiet = 1", "'quiet' must be true or false"),
        ("max-problems = -1", "at least 0"),
        ("max-problems = true", "at least 0"),
        ("quiet = ", "not valid TOML"),
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("a = " + "9" * 10_000, "not valid TOML"),
        ("#" * ((1 << 20) + 1), "larger than"),
    ],
    ids=lambda text: text[:20],
)
def test_wrong_defaults(call: Call, bad: Path, text: str, expected: str) -> None:
    """A wrong setting is a wrong call, with a suggestion; nothing is checked."""
    defaults(text)
    code, out, err = call("validate", bad)
    assert (code, out) == (2, "")
    assert expected in err
    assert "medcontract.toml" in err


def test_defaults_that_are_no_file(call: Call, bad: Path) -> None:
    """A pipe, a folder or a broken link is not read."""
    os.mkfifo("medcontract.toml")
    Path("pyproject.toml").mkdir()
    assert call("validate", bad).err == ""
    assert call("validate", bad).code == 1


def test_bytes_that_are_no_text(call: Call, bad: Path) -> None:
    """Invalid UTF-8 is a wrong call."""
    Path("medcontract.toml").write_bytes(b"quiet = \xff")
    assert call("validate", bad).code == 2


@pytest.mark.parametrize(
    "text", ["[project]\nname = 'medcontract-demo'", "[tool.other", "[tool.other]\nx = 'medcontract'"]
)
def test_a_pyproject_of_other_tools(call: Call, bad: Path, text: str) -> None:
    """A pyproject.toml without [tool.medcontract] is ignored, even if it is broken."""
    defaults(text, "pyproject.toml")
    assert call("validate", bad).err == ""


def test_defaults_of_the_repository(call: Call, bad: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parents count up to the root of the repository; without a repository only the current folder counts."""
    inner = Path("repository/data")
    inner.mkdir(parents=True)
    defaults('format = "json"')
    defaults('color = "never"', "repository/medcontract.toml")
    monkeypatch.chdir(inner)
    assert call("validate", bad).err == ""
    Path("../.git").mkdir()
    assert "repository/medcontract.toml" in call("validate", bad).err
    Path("../medcontract.toml").unlink()
    assert call("validate", bad).err == ""
    defaults('format = "json"', "medcontract.toml")
    assert call("validate", bad).json["ok"] is False
