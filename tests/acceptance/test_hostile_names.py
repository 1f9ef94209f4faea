"""Names of files, teams and classes are only names: not options, rows of a table, or commands."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
import yaml
from tests.commands import Call
from tests.scoring_files import CLASSES, guess, image
from tests.support import ROOT

import medcontract
from medcontract import rendering
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
    entry: list[str] = hook["entry"].split()
    assert entry[0] == "medcontract"
    shutil.copy("bad.csv", folder / "--schema=any.json")
    ran = call(*entry[1:], *hook["args"], "--schema=any.json", "truth.csv")
    assert ran.code == 1
    assert "--schema=any.json" in ran.out
    assert "1 of 2 files" in ran.out


# --- what is printed -----------------------------------------------------------------------------

NAMES = {
    "command": "::error title=x::y",
    "command after spaces": "  ::error::y",
    "old command": "a ##[error]y",
    "command on a new line": "a\n::error::y",
    "command after a carriage return": "a\r::error::y",
    "escape sequence": "a\x1b[31mb",
    "control sequence": "a\x9b2Jb",
    "text direction": "a\u202eb\u2066c\u200f",
    "row": "a\r=1+1",
    "formula": "=cmd|' _C calc'!A0",
    "formula after a tab": "\t=1+1",
    "negative": "-1+1",
    "not UTF-8": "a\udcff",
}
FORMATS = [
    (command, format_name)
    for command, result in {
        "validate": "Validation", "preflight": "Preflight", "score": "Score", "leaderboard": "Leaderboard",
        "compare": "Comparison",
    }.items()
    for format_name in rendering.formats_of(result)
]  # fmt: skip


def printed(call: Call, command: str, name: str, *options: str) -> str:
    """The output for a truth, a team and a submission of that name, whose last record is not valid."""
    records = [*(guess(f"I-{n}", CLASSES[n % 10]) for n in range(20)), {**guess("I-20", "NV"), "image_id": 5}]
    folder = Path(f"{name} truth")
    folder.mkdir()
    labels = [image(f"I-{n}", CLASSES[n % 10]) for n in range(21)]
    (folder / f"{name}.json").write_text(json.dumps({"labels": labels}))
    sent = Path(f"{name}.json")
    team = name.replace("\udcff", "\ufffd")
    sent.write_text(json.dumps({"team_name": team, "predictions": records}))
    arguments: list[object] = [folder, sent]
    if command == "compare":
        for score in ("a.json", f"{name} score.json"):
            Path(score).write_text(call("score", "--format", "json", "--", folder, sent).out)
        arguments = ["a.json", f"{name} score.json"]
    ran = call(command, *options, "--", *arguments)
    assert ran.code in (0, 1)
    assert ran.err == ""
    return ran.out


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize(("command", "format_name"), FORMATS)
def test_names_are_only_shown(call: Call, folder: Path, command: str, format_name: str, kind: str) -> None:
    """No line is a workflow command of GitHub because of a name, and no control character is printed."""
    text = printed(call, command, NAMES[kind], "--format", format_name)
    assert {c for c in text if not c.isprintable()} == {"\n"}
    for line in text.splitlines():
        if format_name == "github":
            assert re.fullmatch(r"::(error|warning)( [a-z]+=[^,:]*(,[a-z]+=[^,:]*)*)::.*", line)
        else:
            assert not line.lstrip().startswith("::")
            assert "##[" not in line
    if format_name == "json":
        shown = json.dumps(json.loads(text), ensure_ascii=False)
        assert (
            json.dumps(NAMES[kind].replace("\udcff", "\ufffd"), ensure_ascii=False)[1:-1] in shown
            or command == "compare"
        )


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize(("command", "rows"), [("validate", 1), ("preflight", 2), ("leaderboard", 1)])
def test_names_in_spreadsheets(call: Call, folder: Path, command: str, rows: int, kind: str) -> None:
    """A name is one cell, and not a formula."""
    head, *found = csv.reader(io.StringIO(printed(call, command, NAMES[kind], "--format", "csv"), newline=""))
    assert sum(row[head.index("code")] != "" for row in found) == rows if "code" in head else len(found) == rows
    assert {len(row) for row in found} == {len(head)}
    assert not [cell for row in found for cell in row if re.match(r"\s*[=+@-]", cell)]


def test_negative_numbers_in_spreadsheets(call: Call, folder: Path) -> None:
    for name, label in (("a", "NV"), ("b", "AK")):
        Path("truth.json").write_text(json.dumps({"labels": [image("I-1", "NV"), image("I-2", "AK")]}))
        sent = {"team_name": "T", "predictions": [guess("I-1", label), guess("I-2", "AK")]}
        Path("sent.json").write_text(json.dumps(sent))
        assert call("score", "truth.json", "sent.json", "--out", f"{name}.json").code == 0
    rows = list(csv.DictReader(io.StringIO(call("compare", "a.json", "b.json", "--format", "csv").out)))
    assert min(float(row["delta"]) for row in rows if row["delta"]) < 0


@pytest.mark.parametrize("kind", NAMES)
def test_names_in_messages(call: Call, folder: Path, kind: str) -> None:
    ran = call("score", "--", "truth.csv", f"{NAMES[kind]}.json")
    assert ran.code == 2
    assert ran.err.startswith("medcontract: ")
    assert "no such file" in ran.err
    for line in ran.err.splitlines():
        assert line.isprintable()
        assert not line.lstrip().startswith("::")
        assert "##[" not in line


def test_names_in_frames(folder: Path) -> None:
    """A name that is not UTF-8 is one in a frame as well."""
    Path("a\udcff.csv").write_text("image_id,label\ni1,nothing\n")
    assert list(medcontract.validate_files(["a\udcff.csv"]).to_frame()["file"]) == ["a\ufffd.csv"]


def test_names_in_differences(call: Call, folder: Path) -> None:
    for side in ("old", "new"):
        Path(side).mkdir()
        schema = {"type": "object", "properties": {"\x1b[31m\r": {}} if side == "old" else {}}
        Path(side, "a\n::error::\x1b.json").write_text(json.dumps(schema))
    ran = call("schema", "diff", "old", "new")
    assert ran.out.startswith("a·::error::·.json\n")
    assert "/properties/·[31m·" in ran.out
    assert {c for c in ran.out if not c.isprintable()} == {"\n"}
