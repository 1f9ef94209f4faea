"""One submission never ends a ranking: neither by what nobody expected, nor by killing the process that scores it."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.commands import Call
from tests.scoring_files import CLASSES, document, drug, evidence, guess, image, model, pipeline_run, read, rx, write

from medcontract.evaluation import contest
from medcontract.evaluation.score import score_against
from medcontract.validation import dispatch


def competition(folder: Path, *names: str) -> list[Path]:
    """A truth of `lesions`, and submissions that are all right."""
    records = [guess(f"I-{number}", CLASSES[number]) for number in range(10)]
    truth = write(folder, "lesions/truth", [image(f"I-{number}", CLASSES[number]) for number in range(10)])
    for name in names:
        (folder / name).mkdir()
        write(folder / name, "lesions/predictions", records)
    return [truth, *(Path(name) for name in names)]


def outcomes(board: Any) -> dict[str, tuple[int | None, list[str]]]:
    return {entry["name"]: (entry["rank"], entry["reasons"]) for entry in board["submissions"]}


def test_an_unexpected_exception_is_a_refusal(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the one submission; the message says where, and how to report it, and holds nothing of the data."""
    real = score_against

    def fails(truth: Any, files: Any, *given: Any) -> Any:
        if any("crashes" in part.source.name for part in files.parts()):
            raise ZeroDivisionError("MARIA")
        return real(truth, files, *given)

    monkeypatch.setattr(contest, "score_against", fails)
    ran = call("leaderboard", *competition(tmp_path, "a", "crashes", "z"), "--format", "json")
    assert ran.code == 0
    rank, reasons = outcomes(ran.json)["crashes"]
    assert rank is None
    assert "internal error (ZeroDivisionError in evaluation/contest.py, line " in reasons[0]
    assert "please report it" in reasons[0]
    assert "MARIA" not in ran.out + ran.err


# --- whose word it is -----------------------------------------------------------------------------

LINKS = {
    "another submission": ("crane", "another submission"),
    "another submission, with a slash": ("crane/", "another submission"),
    "a file of another submission": ("crane/lesions-predictions.json", "another submission"),
    "another link": ("second", "another submission"),
    "all submissions": (".", "out of its folder"),
    "the truth": ("../lesions-truth.json", "out of its folder"),
    "a folder of the organizer": ("../organizer", "out of its folder"),
    "nothing outside": ("../nothing", "out of its folder"),
    "nothing": ("nothing", "is broken"),
    "itself": ("aaa", "out of its folder"),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("options", [(), ("--jobs", "2"), ("--cache", "cache")])
@pytest.mark.parametrize("where", LINKS)
def test_a_submission_that_is_a_link(call: Call, tmp_path: Path, where: str, options: tuple[str, ...]) -> None:
    """It is refused and never read; the others have the ranks that they have without it, in any order of the call."""
    target, message = LINKS[where]
    competition(tmp_path, "subs", "subs/crane", "subs/heron", "organizer")
    (tmp_path / "organizer" / "secret-name.json").write_text("{}")
    (tmp_path / "subs" / "aaa").symlink_to(target)
    given = ["subs/aaa/" if "slash" in where else "subs/aaa", "subs/crane", "subs/heron"]
    if where == "another link":
        (tmp_path / "subs" / "second").symlink_to("crane")
        given.append("subs/second")
    ran = call("leaderboard", "lesions-truth.json", *given, *options, "--reports", "reports", "--format", "json")
    found = outcomes(ran.json)
    assert (ran.code, found["crane"][0], found["heron"][0]) == (0, 1, 1)
    (refused,) = (each for each in ran.json["submissions"] if each["name"] == "aaa")
    assert refused["problem"]["code"] == ("MC003" if where == "nothing" else "MC028")
    assert message in refused["problem"]["message"]
    assert found["aaa"] == (None, [f"aaa cannot be read ({refused['problem']['message']})"])
    report = (tmp_path / "reports" / "aaa.json").read_text()
    assert refused["problem"]["message"] in report
    assert "secret-name" not in ran.out + report
    assert call("leaderboard", "lesions-truth.json", *reversed(given), "--format", "json") == ran


def test_a_link_to_what_is_no_submission(call: Call, tmp_path: Path) -> None:
    """Is followed in its folder, also if two lead there: neither can remove the other."""
    competition(tmp_path, "subs", "subs/.data")
    for name in ("a", "b"):
        (tmp_path / "subs" / name).symlink_to(".data")
    ran = call("leaderboard", "lesions-truth.json", "subs/a", "subs/b", "--format", "json")
    assert outcomes(ran.json) == {"a": (1, []), "b": (1, [])}


@contextmanager
def never_opened(path: Path) -> Iterator[None]:
    """A pipe that nobody may open meanwhile. If somebody does, it is empty instead of blocking."""
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.open("wb").close(), daemon=True)
    writer.start()
    yield
    assert writer.is_alive()
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    writer.join()
    os.close(reader)


@pytest.mark.sampled(5)
@pytest.mark.skipif(sys.platform == "win32", reason="named pipes as on Unix")
@pytest.mark.parametrize("options", [(), ("--jobs", "2"), ("--cache", "cache"), ("--measured", "measured")])
@pytest.mark.parametrize("name", ["pipe.json", "pipe", "pipe.zip", "link.json", "/dev/null"])
def test_a_submission_that_is_no_file(call: Call, tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    """A pipe, a device and a link to one are refused and never opened; the others are ranked."""
    files = competition(tmp_path, "a", "measured", "z")
    if name == "link.json":
        (tmp_path / name).symlink_to("pipe")
    with never_opened(tmp_path / (name if name.startswith("pipe") else "pipe")):
        ran = call("leaderboard", files[0], "a", name, "z", *options, "--format", "json")
    found = outcomes(ran.json)
    assert (ran.code, found["a"][0], found["z"][0]) == (0, 1, 1)
    message = "this is a pipe, a socket or a device, not a file"
    assert found[Path(name).name] == (None, [f"{Path(name).name} cannot be read ({message})"])


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes as on Unix")
@pytest.mark.parametrize("name", ["a.json", "a/model.json"])
def test_a_measurement_that_is_no_file(call: Call, tmp_path: Path, name: str) -> None:
    """A pipe in the folder of measurements is not opened either."""
    files = competition(tmp_path, "a", "z", "measured")
    (tmp_path / "measured" / name).parent.mkdir(exist_ok=True)
    (tmp_path / "measured" / "lesions-predictions.json").unlink()
    with never_opened(tmp_path / "measured" / name):
        ran = call("leaderboard", *files[:3], "--measured", "measured", "--format", "json")
    found = outcomes(ran.json)
    assert found["z"][0] == 1
    assert "this is a pipe, a socket or a device, not a file" in found["a"][1][0]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_two_submissions_of_one_name(call: Call, tmp_path: Path, jobs: str) -> None:
    """Measurements of this name are ambiguous, which concerns these two; without any, both are ranked."""
    truth, *_ = competition(tmp_path, "crane", "heron")
    (tmp_path / "heron.json").write_bytes((tmp_path / "heron" / "lesions-predictions.json").read_bytes())
    call_of = ("leaderboard", truth, "crane", "heron", "heron.json", "--jobs", jobs, "--format", "json", "--measured")
    for name in ("crane", "heron"):
        document(tmp_path / "measured" / name, "model", model())
    ran = call(*call_of, "measured")
    assert ran.code == 0
    reason = "2 submissions are named heron, so --measured is ambiguous (rename them)"
    assert outcomes(ran.json) == {"crane": (1, []), "heron": (None, [reason]), "heron.json": (None, [reason])}
    document(tmp_path / "other" / "crane", "model", model())
    assert [entry["valid"] for entry in call(*call_of, "other").json["submissions"]] == [True] * 3


# --- the cause that was found ---------------------------------------------------------------------


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_time_with_thousands_of_digits(call: Call, tmp_path: Path, jobs: str) -> None:
    """It is a valid time, and runs are ordered by it to the last digit."""
    label = rx("D-1", drug("Losartán", "50 mg"))
    truth = write(tmp_path, "extraction/prescription-labels", [label])
    digits = "1" * 5000
    late, early = f"2026-01-01T00:00:00.{digits}2Z", f"2026-01-01T00:00:00.{digits}10Z"
    runs = [pipeline_run(0, started_at=late), *(pipeline_run(n, started_at=early) for n in range(1, 11))]
    runs[0]["parse_success"] = False
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, "extraction/prescription-predictions", [read(label)])
        write(tmp_path / name, "extraction/runs", runs, "jsonl")
        (tmp_path / name / "evidence.json").write_text(json.dumps(evidence(1)))
    ran = call("leaderboard", truth, "a", "b", "--format", "json", "--jobs", jobs)
    assert (ran.code, ran.err) == (0, "")
    assert not any("internal error" in reason for entry in ran.json["submissions"] for reason in entry["reasons"])
    ran = call("score", truth, "a", "--format", "json")
    assert "4 of 5 succeeded" in ran.out


# --- one submission, or a file by itself ----------------------------------------------------------


@pytest.fixture
def crash(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make a function of ours fail, as nobody expects."""

    def fail(*_: object, **__: object) -> None:
        raise KeyError("MARIA")

    return lambda name: monkeypatch.setattr(name, fail)


@pytest.mark.parametrize(("command", "module"), [("score", "score"), ("preflight", "preflight.checks")])
def test_no_traceback(
    call: Call, tmp_path: Path, crash: Callable[[str], None], command: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message without any value, exit code 1; the traceback is there for those who ask for it."""
    monkeypatch.delenv("MEDCONTRACT_DEBUG", raising=False)
    files = competition(tmp_path, "a")
    crash(f"medcontract.evaluation.{module}.track_of")
    ran = call(command, *files)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("medcontract: internal error (KeyError in evaluation/")
    assert "Traceback" not in ran.err
    assert "MARIA" not in ran.err
    monkeypatch.setenv("MEDCONTRACT_DEBUG", "1")
    assert "KeyError: 'MARIA'" in call(command, *files).err


def test_one_file_of_many(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In `validate` it is a problem of that file, and the others are reported."""

    real = dispatch.identify

    def identify(source: Any, *more: Any, **named: Any) -> Any:
        if source.name == "b.json":
            raise KeyError("MARIA")
        return real(source, *more, **named)

    monkeypatch.setattr(dispatch, "identify", identify)
    for name in ("a.json", "b.json", "c.json"):
        (tmp_path / name).write_text(json.dumps({"labels": [image("I-1", "NV")]}))
    ran = call("validate", "a.json", "b.json", "c.json", "--format", "json")
    assert ran.code == 1
    assert [file["ok"] for file in ran.json["files"]] == [True, False, True]
    assert "internal error (KeyError" in ran.json["files"][1]["problems"][0]["message"]
    assert "MARIA" not in ran.out + ran.err
