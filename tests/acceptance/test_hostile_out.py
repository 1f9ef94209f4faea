"""`--out` never replaces what the call reads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands import Call
from tests.scoring_files import CLASSES, guess, image, reference, repeats, write

from medcontract.cli.main import COMMANDS

SCHEMA = '{"type": "object"}'
PLUGIN = "METRICS = {}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A truth, a submission in a folder, two scores, and files of other kinds."""
    monkeypatch.delitem(sys.modules, "plugin_of_out", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "sub").mkdir()
    (tmp_path / "images").mkdir()
    (tmp_path / "kept" / "medcontract-cache-2").mkdir(parents=True, mode=0o700)
    (tmp_path / "kept" / "medcontract-cache-2" / "one.json").touch()
    write(tmp_path, "lesions/truth", [image(f"I-{n}", CLASSES[n]) for n in range(10)], name="truth")
    write(tmp_path / "sub", "lesions/predictions", [guess(f"I-{n}", CLASSES[n]) for n in range(10)], name="sent")
    write(tmp_path, "benchmark/references", [reference("S", answer="gout")], name="references")
    write(tmp_path, "benchmark/predictions", [repeats(reference("S", answer="gout"))], name="predictions")
    (tmp_path / "cases.csv").write_text("image_id,image_path,age,gender,location\nI-0,a.jpg,61,f,7\n")
    (tmp_path / "images" / "a.jpg").write_bytes(b"a picture")
    (tmp_path / "plain.schema.json").write_text(SCHEMA)
    (tmp_path / "lexicon.json").write_text(json.dumps({"synonyms": {"gout": ["podagra"]}}))
    (tmp_path / "plugin_of_out.py").write_text(PLUGIN)
    (tmp_path / "challenge.toml").write_text('id = "x"\n')
    return tmp_path


CALLS = [
    ("validate truth.json", "truth.json"),
    ("validate lesions/truth=truth.json", "./truth.json"),
    ("validate sub", "sub/sent.json"),
    ("validate sub/", "images/../sub/sent.json"),
    ("validate --schema plain.schema.json truth.json", "plain.schema.json"),
    ("validate --images images cases.csv", "images/a.jpg"),
    ("validate --plugin ./plugin_of_out.py truth.json", "plugin_of_out.py"),
    ("preflight sub truth.json", "truth.json"),
    ("preflight sub truth.json", "sub/sent.json"),
    ("score truth.json sub/sent.json", "sub/sent.json"),
    ("score truth.json sub", "truth.json"),
    ("score truth.json sub --result-only", "sub/sent.json"),
    ("score references.json predictions.json --lexicon lexicon.json", "lexicon.json"),
    ("leaderboard truth.json sub", "truth.json"),
    ("leaderboard truth.json sub", "sub/sent.json"),
    ("verify truth.json sub/sent.json", "truth.json"),
    ("verify truth.json sub/sent.json", "sub/sent.json"),
    ("rehearse truth.json", "truth.json"),
    ("challenge rehearse challenge.toml --truth truth.json", "truth.json"),
    ("compare truth.json sub/sent.json", "truth.json"),
    ("compare truth.json sub/sent.json", "sub/sent.json"),
    ("template lesions/predictions --cases truth.json", "truth.json"),
    ("schema diff plain.schema.json plain.schema.json", "plain.schema.json"),
    ("schema show lesions/truth --plugin ./plugin_of_out.py", "plugin_of_out.py"),
    ("challenge check challenge.toml", "challenge.toml"),
    ("cache info kept", "kept/medcontract-cache-2/one.json"),
    ("validate truth.json --cache kept", "kept/medcontract-cache-2/one.json"),
]


def contents(folder: Path) -> dict[Path, bytes]:
    return {
        path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and "cache" not in str(path)
    }


@pytest.mark.parametrize(("arguments", "out"), CALLS)
def test_an_input(call: Call, folder: Path, arguments: str, out: str) -> None:
    """Is refused as a usage error, in every command, before anything is done."""
    before = contents(folder)
    shown = ["--format", "json"] if "schema show" not in arguments else []
    for spelled in (out, os.path.abspath(out)):
        ran = call(*arguments.split(), "--out", spelled, *shown)
        assert (ran.code, ran.out) == (2, "")
        assert "an input of this call" in ran.err
    assert contents(folder) == before


@pytest.mark.parametrize("given", ["sub", "sub/sent.json"])
@pytest.mark.parametrize("how", ["symlink", "hard link", "folder"])
def test_by_another_name(call: Call, folder: Path, given: str, how: str) -> None:
    """Links to an input, and links to the folder that it is in, are the input."""
    out = folder / "other.json"
    if how == "symlink":
        out.symlink_to(folder / "sub" / "sent.json")
    elif how == "hard link":
        os.link(folder / "sub" / "sent.json", out)
    else:
        (folder / "link").symlink_to("sub")
        out = folder / "link" / "sent.json"
    before = contents(folder)
    ran = call("score", "truth.json", given, "--out", out, "--format", "json")
    assert (ran.code, ran.out) == (2, "")
    assert "an input of this call" in ran.err
    assert contents(folder) == before


def test_standard_input(folder: Path) -> None:
    """A file that comes through standard input is one, too."""
    path = folder / "truth.json"
    before = path.read_bytes()
    with path.open("rb") as stream:
        done = subprocess.run(
            [sys.executable, "-m", "medcontract", "validate", "lesions/truth=-", "--out", "truth.json"],
            cwd=folder, stdin=stream, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert "an input of this call" in done.stderr
    assert path.read_bytes() == before


def test_what_is_no_input(call: Call, folder: Path) -> None:
    """Other files are written: new ones in a folder that is read, copies, devices."""
    shutil.copy(folder / "truth.json", folder / "copy.json")
    for out in ("new.json", "sub/new.md", "copy.json", os.devnull):
        assert call("score", "truth.json", "sub/sent.json", "--out", out, "--format", "json").code == 0
    assert json.loads((folder / "copy.json").read_text())["track"] == "lesions"
    assert call("normalize", "copy.json", "--out", "copy.json").code == 0


def test_every_command_with_out_was_tried() -> None:
    """All that read files; the others have no input to lose. `bundle` writes to a folder: see test_platforms.py."""
    tried = {arguments.split()[0] for arguments, _ in CALLS}
    assert set(COMMANDS) - tried == {"normalize", "explain", "protocol", "init", "fix", "bundle", "conformance"}
