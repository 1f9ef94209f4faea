"""Names of files, teams and classes are only names: not options, rows of a table, or commands."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
import yaml
from tests.commands import Call
from tests.support import ROOT

import medcontract
from medcontract.cli.main import COMMANDS

LESIONS = Path(medcontract.__file__).parent / "examples" / "lesions"


# --- options -------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a truth, a file that is not valid, and a plugin that leaves a mark."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "mark", raising=False)
    shutil.copy(LESIONS / "truth.csv", "truth.csv")
    Path("bad.csv").write_text("image_id,label\ni1,nothing\n")
    Path("any.json").write_text("{}")
    Path("mark.py").write_text("open('RAN', 'w').close()\nCONTRACTS = ()\n")
    Path("a\\x.json").symlink_to("mark.py")
    return tmp_path


OPTIONS = ["--plugin=a\\x.json", "--plugin=mark.py", "--schema=any.json", "--out=any.json", "-q", "--help", "-"]


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("command", ["validate", "score", "preflight", "leaderboard"])
def test_a_file_name_is_not_an_option(call: Call, folder: Path, command: str, name: str) -> None:
    """In a folder with such a file, what `*` expands to is a usage error. After `--`, it is the name of a file."""
    shutil.copy("bad.csv", folder / name)  # not Path(name): the names are relative
    ran = call(command, *sorted(os.listdir()))
    assert (ran.code, ran.out) == (2, "")
    assert "./" in ran.err
    assert "what follows -- is never an option" in ran.err
    if name != "-":  # standard input
        ran = call(command, "--", name, "truth.csv")
        assert ran.code in (1, 2)
        assert name in ran.out + ran.err
        assert "Usage" not in ran.out
    assert not Path("RAN").exists()
    assert Path("any.json").read_text() == "{}"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("before", [[], ["--"]])
def test_every_command(call: Call, folder: Path, command: str, before: list[str]) -> None:
    """A `--` before the command does not end its options."""
    Path("-x.json").touch()
    inside = {"schema": ["show"], "protocol": ["show"], "cache": ["info"], "challenge": ["check"]}.get(command, [])
    for arguments in ([*before, command, *inside, "-x.json"], [command, *before[: len(inside)], *inside, "-x.json"]):
        ran = call(*arguments)
        assert (ran.code, ran.out) == (2, "")
        assert "'-x.json' is also the name of a file" in ran.err
        assert "write ./-x.json for the file" in ran.err


def test_an_option_that_is_not_a_file(call: Call, folder: Path) -> None:
    """Options work as before, also twice, and where other names start with a dash."""
    Path("-x.csv").write_text("")
    assert call("validate", "--out=any.txt", "--out=report.html", "truth.csv").code == 0
    assert Path("report.html").exists()
    assert call("validate", "--out", "-x.csv", "truth.csv").code == 2  # the value of an option, too
    assert call("validate", "--out", "./-x.csv", "truth.csv").code == 0


@pytest.mark.parametrize("name", ["a\\x.json", "./a\\x.json", "~/x.json", "mark.txt"])
def test_a_plugin_that_is_called_something_else(
    call: Call, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link to a .py file is run only if it ends in .py itself."""
    monkeypatch.setenv("HOME", str(folder))
    for link in ("x.json", "mark.txt", "link.py"):
        (folder / link).symlink_to("mark.py")
    ran = call("validate", "--plugin", name, "truth.csv")
    assert (ran.code, ran.out) == (2, "")
    assert f"the plugin '{name}'" in ran.err
    assert not Path("RAN").exists()
    assert call("validate", "--plugin", "./link.py", "truth.csv").code == 0
    assert Path("RAN").exists()


def test_the_hook_ends_its_options(call: Call, folder: Path) -> None:
    """pre-commit puts the names of files after `entry` and `args`."""
    hook = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())[0]
    program, *arguments = [*hook["entry"].split(), *hook["args"]]
    assert program == "medcontract"
    shutil.copy("bad.csv", folder / "--schema=any.json")
    ran = call(*arguments, "--schema=any.json", "truth.csv")
    assert ran.code == 1
    assert "--schema=any.json" in ran.out
    assert "1 of 2 files" in ran.out
