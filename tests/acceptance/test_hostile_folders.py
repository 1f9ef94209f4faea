"""Folders that somebody else made: links, pipes, what cannot be read, any depth. And files that must not end a call."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.test_leaderboard import entry
from tests.commands import Call, all_files, sent_file, truth_file
from tests.scoring_files import document, model

import medcontract
from medcontract.reading.folders import list_files

COMMANDS = ("validate", "score", "preflight", "leaderboard")


def told(call: Call, command: str, truth: Path, folder: Path, *options: str) -> tuple[int, str]:
    """The exit code (for a ranking: 1 when the only submission is refused) and the JSON that a command prints."""
    files = [folder] if command == "validate" else [truth, folder]
    ran = call(command, *files, "--format", "json", *options)
    if command == "leaderboard":
        return int(not ran.json["submissions"][0]["valid"]), ran.out
    return ran.code, ran.out


def refusal(command: str) -> int:
    return 2 if command == "validate" else 1


# --- depth ---------------------------------------------------------------------------------------


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A submission in the innermost of 1,500 nested folders."""
    folder = tmp_path / "deep"
    here = os.getcwd()
    try:
        folder.mkdir()
        os.chdir(folder)
        for _ in range(1500):
            os.mkdir("d")
            os.chdir("d")
        sent_file(Path(), "lesions")
    finally:
        os.chdir(here)
    yield folder
    subprocess.run(["rm", "-rf", folder], check=True)  # shutil.rmtree is recursive


@pytest.mark.slow
def test_deep_folders(call: Call, tmp_path: Path, deep: Path) -> None:
    """A file 1,500 folders deep is found by every command that takes folders."""
    truth = truth_file(tmp_path, "lesions")
    for command in COMMANDS:
        code, out = told(call, command, truth, deep)
        assert code == 0
        assert "sent.json" in out
    assert call("schema", "diff", deep, deep).code == 2  # it is found, and is no schema
    (deep / "index.json").write_text("{}", encoding="utf-8")
    assert call("schema", "check", deep).code == 1


def test_a_path_that_is_too_long(call: Call, tmp_path: Path) -> None:
    """What is nested so deep that the system has no path for it is a problem, not silence."""
    here = os.getcwd()
    name = "d" * 200
    try:
        for _ in range(25):
            os.mkdir(name)
            os.chdir(name)
    finally:
        os.chdir(here)
    ran = call("validate", tmp_path, "--format", "json")
    assert ran.code == 2
    assert ran.json["files"][0]["problems"][0]["message"] == "the folder cannot be read: file name too long"
    subprocess.run(["rm", "-rf", tmp_path / name], check=True)  # shutil.rmtree would fail, too


# --- what cannot be read -------------------------------------------------------------------------


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the path of a socket has at most 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path.name)
    finally:
        os.chdir(here)


UNREADABLE: dict[str, Callable[[Path], object]] = {
    "dangling": lambda path: path.symlink_to("nothing.json"), "loop": lambda path: path.symlink_to(path.name),
    "pipe": os.mkfifo, "socket": _socket,
    "link to a pipe": lambda path: (os.mkfifo(path.with_name("pipe")), path.symlink_to("pipe")),  # type: ignore[func-returns-value]  # for both effects
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", UNREADABLE)
def test_unreadable_files(call: Call, tmp_path: Path, command: str, kind: str) -> None:
    """A file in a folder that cannot be read is named and refuses the submission; nothing blocks."""
    folder = entry(tmp_path / "sub", "lesions")
    UNREADABLE[kind](folder / "more.json")
    code, out = told(call, command, truth_file(tmp_path, "lesions"), folder)
    assert code == refusal(command)
    assert "more.json" in out
    assert "sent.json" in out


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("what", ["folder", "file"])
def test_no_permission(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, what: str) -> None:
    """So is what the system keeps from us: a subfolder, or a file."""
    truth = truth_file(tmp_path, "lesions")
    folder = entry(tmp_path / "sub", "lesions")
    locked = folder / ("inner" if what == "folder" else "inner.json")
    if what == "folder":
        locked.mkdir()
    else:
        locked.write_bytes(b"{}")

    def refusing(function: Callable[..., Any]) -> Callable[..., Any]:
        def refuse(path: Any, *given: Any, **named: Any) -> Any:
            if isinstance(path, str) and path == str(locked):
                raise PermissionError(13, "Permission denied")
            return function(path, *given, **named)

        return refuse

    monkeypatch.setattr(os, "scandir", refusing(os.scandir))
    monkeypatch.setattr("builtins.open", refusing(open))
    code, out = told(call, command, truth, folder)
    assert code == refusal(command)
    assert "permission denied" in out
    assert str(locked) in out if command == "validate" else str(tmp_path) not in out


@contextmanager
def as_nobody() -> Iterator[None]:
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("command", COMMANDS)
def test_no_permission_really(call: Call, command: str) -> None:
    """The same as a user who really has no permission."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        truth = truth_file(folder, "lesions")
        submission = entry(folder / "sub", "lesions")
        assert told(call, command, truth, submission)[0] == 0  # all modules are loaded, as nobody may not
        (submission / "locked").mkdir()
        (submission / "locked.json").write_bytes(b"{}")
        for path in [folder, submission, truth, *submission.iterdir()]:
            path.chmod(0 if path.name.startswith("locked") else 0o755)
        with as_nobody():
            code, out = told(call, command, truth, submission)
    assert code == refusal(command)
    for message in ("the folder cannot be read: permission denied", "the file cannot be read: permission denied"):
        assert message in out


def test_a_folder_of_nothing_but_trouble(call: Call, tmp_path: Path) -> None:
    """A folder that cannot be read is not one without data files."""
    (tmp_path / "sub").mkdir()
    UNREADABLE["dangling"](tmp_path / "sub" / "x.json")
    assert "MC003" in call("validate", tmp_path / "sub").out
    assert "x.json cannot be read" in call("score", truth_file(tmp_path, "lesions"), tmp_path / "sub").out


def test_no_problem_is_to_be_listed(call: Call, tmp_path: Path) -> None:
    """With --max-problems 0, too, it is said why a file cannot be used, whether it was named or found."""
    truth = truth_file(tmp_path, "lesions")
    folder = entry(tmp_path / "sub", "lesions")
    (folder / "broken.json").write_text("{")
    (folder / "notes.json").write_text("{}")
    for command in ("score", "preflight"):
        ran = call(command, truth, folder, "--max-problems", "0")
        assert ran.code == 0
        assert "broken.json" in ran.out
        assert call(command, truth, folder / "notes.json", "--max-problems", "0").code == 2


# --- links out of the folder ---------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("where", ["a file", "nothing", "a folder", "a folder, by two links"])
def test_links_that_lead_out(call: Call, tmp_path: Path, command: str, where: str) -> None:
    """A link out of the folder is not followed, but named; whether anything is there is not said."""
    truth = truth_file(tmp_path, "lesions")
    folder = entry(tmp_path / "sub", "lesions")
    elsewhere = tmp_path / "elsewhere"
    sent_file(elsewhere, "lesions", [], "secret.json")
    if where.startswith("a folder"):
        link = folder / "link"
        link.symlink_to("second" if "two" in where else elsewhere)
        if "two" in where:
            (folder / "second").symlink_to("../elsewhere")
    else:
        link = folder / "link.json"
        link.symlink_to(elsewhere / ("secret.json" if where == "a file" else "nothing.json"))
    code, out = told(call, command, truth, folder)
    assert code == (2 if command == "validate" else 0)
    assert f"{link.name}: this link leads out of its folder and is not followed" in out or command == "validate"
    assert '"MC028"' in out or command != "validate"
    assert "secret" not in out
    assert "elsewhere" not in out


@pytest.mark.parametrize("command", COMMANDS)
def test_links_that_stay_inside(call: Call, tmp_path: Path, command: str) -> None:
    """Links inside the folder do no harm, not even in a circle."""
    folder = entry(tmp_path / "sub", "lesions")
    (folder / "parts").mkdir()
    (folder / "model.json").rename(folder / "parts" / "model.txt")
    (folder / "model.json").symlink_to("parts/model.txt")
    (folder / "circle").symlink_to(".")
    (folder / "parts" / "up").symlink_to("..")
    (folder / "python").symlink_to(sys.executable)
    code, out = told(call, command, truth_file(tmp_path, "lesions"), folder)
    assert code == 0
    assert "this link" not in out


@pytest.mark.parametrize("command", COMMANDS)
def test_links_that_are_named(call: Call, tmp_path: Path, command: str) -> None:
    """A link that the caller names is followed, to a file or a folder; but not a submission of a ranking: see there."""
    truth = truth_file(tmp_path, "lesions")
    folder = entry(tmp_path / "sub", "lesions")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "folder").symlink_to(folder)
    (tmp_path / "links" / "sent.json").symlink_to(folder / "sent.json")
    for name in ("folder", "sent.json"):
        code, out = told(call, command, truth, tmp_path / "links" / name)
        assert (code, "MC028" in out) == ((1, True) if command == "leaderboard" else (0, False))
        (tmp_path / "links" / truth.name).symlink_to(truth)
        assert told(call, command, tmp_path / "links" / truth.name, folder)[0] == 0
        (tmp_path / "links" / truth.name).unlink()


def test_a_link_to_a_hidden_folder(tmp_path: Path) -> None:
    """A link to a folder that is not walked is not followed, and that is said."""
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "link").symlink_to(".hidden")
    (found,) = list_files(str(tmp_path), (".json",)).data
    assert found.refused
    assert found.refused.code == "MC028"


def test_a_long_chain_of_links(tmp_path: Path) -> None:
    """A thousand links one after the other lead nowhere."""
    for number in range(1500):
        (tmp_path / f"{number}.json").symlink_to(f"{number + 1}.json")
    (tmp_path / "1500.json").write_text("{}")
    found = list_files(str(tmp_path), (".json",)).data
    assert len(found) == 1501
    assert sum(file.refused is None for file in found) <= 41


@pytest.mark.parametrize("inside", [True, False])
def test_a_model_file_that_is_a_link(call: Call, tmp_path: Path, inside: bool) -> None:
    """The size of a file outside of the submission is not looked up."""
    folder = entry(tmp_path / "sub", "lesions", referenced=False)
    document(folder, "model", {**model(size=0.003), "model_file": "net.bin", "inference_script": "net.bin"})
    target = (folder if inside else tmp_path) / "blob"
    target.write_bytes(bytes(4567 if not inside else 3000))
    (folder / "net.bin").symlink_to(target)
    ran = call("preflight", folder)
    assert ran.code == int(not inside)
    assert ("net.bin is a link that leads out of its folder" in ran.out) != inside
    assert "0.004567" not in ran.out


# --- one file among others -----------------------------------------------------------------------


def test_a_surrogate_in_a_header_key(call: Call, tmp_path: Path) -> None:
    """Half of a surrogate pair in a key of a header is one problem, at that key; the other files are checked."""
    bad = tmp_path / "bad.json"
    bad.write_bytes(rb'{"labels": [], "\ud800": 1}')
    ran = call("validate", f"lesions/truth={bad}", truth_file(tmp_path, "lesions"), "--format", "json")
    first, second = ran.json["files"]
    assert [(p["code"], p["line"], p["column"], p["pointer"]) for p in first["problems"]] == [("MC018", 1, 16, "")]
    assert second["ok"]
    assert ran.code == 1


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (rb'{"labels": [], "\ud800": 1, "\ud800": 2}', ["MC018", "MC018", "MC015"]),
        (rb'{"\ud800": NaN, "labels": []}', ["MC018", "MC016"]),
        (rb'{"a\udfff": 1, "labels": [{"image_id": "a", "label": "NV"}]}', ["MC018"]),
        (rb'{"\ud83d\ude00": 1, "labels": []}', ["MC102"]),
    ],
)
def test_surrogates_in_header_keys(text: bytes, codes: list[str]) -> None:
    """The same codes as in a key of a record."""
    report = medcontract.validate(text, "lesions/truth", name="x.json")
    assert [problem.code for problem in report.problems] == codes


@pytest.mark.parametrize("error", [KeyError("ANA"), RecursionError(), MemoryError(), OSError(5, "I/O error")])
def test_a_mistake_of_ours(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """What nobody expected of one file is a problem of that file, without any value; the others are checked."""
    from medcontract.validation.dispatch import identify

    def fail(source: Any, *given: Any, **named: Any) -> Any:
        if source.name.endswith("truth.json"):
            raise error
        return identify(source, *given, **named)

    monkeypatch.setattr("medcontract.validation.dispatch.identify", fail)
    ran = call("validate", *all_files(tmp_path, "lesions"), "--format", "json")
    assert ran.code in (1, 2)
    assert [file["ok"] for file in ran.json["files"]] == [False, True, True]
    assert "ANA" not in ran.out + ran.err


# --- standard input ------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [
    ("validate", "--contract", "lesions/truth", "-", "-"),
    ("validate", "lesions/truth=-", "lesions/predictions=-"),
    ("validate", "--schema", "-", "-"),
    ("score", "lesions/truth=-", "lesions/predictions=-"),
    ("preflight", "lesions/truth=-", "lesions/predictions=-"),
    ("compare", "-", "-"),
    ("score", "--lexicon", "-", "benchmark/references=-", "sent.json"),
])  # fmt: skip
def test_standard_input_twice(call: Call, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]) -> None:
    """Standard input can be one file only: twice is a usage error, and nothing is read."""
    stdin = io.TextIOWrapper(io.BytesIO(json.dumps({"labels": []}).encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    ran = call(*arguments)
    assert ran.code == 2
    assert "standard input was given twice" in ran.err
    assert stdin.buffer.tell() == 0


def test_broken_standard_input_in_preflight(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came in and is broken is scored as it was read, not looked for in a file of that name."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"predictions": [')))
    files = [truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions")]
    ran = call("preflight", *files, "lesions/model=-", "--format", "json")
    assert ran.code == 1
    assert "no such file" not in ran.out
