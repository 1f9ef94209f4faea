"""`--cache DIR`: finished work is not repeated, results are the same, and faults cost nothing but the cache."""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.commands import SENT, TRACKS, TRUTH, Call, beside_files, sent_file, truth_file

import medcontract
from medcontract.cache import FOLDER
from medcontract.cli import output
from medcontract.errors import CallError
from medcontract.evaluation import cached, contest
from medcontract.validation import dispatch

Counter = Callable[[], int]


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """How many submissions were scored, or files validated, since the last call."""
    done: list[object] = []

    def counting(function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            done.append(arguments)
            return function(*arguments)

        return call

    monkeypatch.setattr(contest.Contest, "_score", counting(contest.Contest._score))
    monkeypatch.setattr(dispatch, "unchanged", counting(dispatch.unchanged))

    def count() -> int:
        number = len(done)
        done.clear()
        return number

    return count


def make_contest(folder: Path, track: str, teams: int = 3) -> tuple[Path, list[Path]]:
    """A truth and submissions, of which the second lacks a record and the third has none that is valid."""
    truth = truth_file(folder / "truth", track)
    folders = []
    for number in range(teams):
        team = folder / "subs" / f"team{number}"
        records = [*SENT[track]]
        if number == 1:
            records = records[1:]
        if number == 2:
            records = [{**record, "unknown": "PATIENT"} for record in records]
        sent_file(team, track, records)
        beside_files(team, track)
        (team / "notes.txt").write_text("not a data file", encoding="utf-8")
        folders.append(team)
    return truth, folders


# --- the same results, without the work -------------------------------------------------------------------------------


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("options", [(), ("--participant",), ("--format", "json", "--strict")])
def test_leaderboard(track: str, options: tuple[str, ...], tmp_path: Path, call: Call, scored: Counter) -> None:
    truth, teams = make_contest(tmp_path, track)
    arguments = ("leaderboard", truth, *teams, *options)
    plain = call(*arguments)
    assert scored() == 3
    assert (call(*arguments, "--cache", tmp_path / "c"), scored()) == (plain, 3)
    assert (call(*arguments, "--cache", tmp_path / "c"), scored()) == (plain, 0)
    sent_file(teams[0], track, SENT[track][2:])
    changed = call(*arguments, "--cache", tmp_path / "c")
    assert scored() == 1  # only the submission that changed
    assert changed == call(*arguments)


@pytest.mark.parametrize("track", ["lesions", "extraction"])
def test_reports_and_workers(track: str, tmp_path: Path, call: Call, scored: Counter) -> None:
    """Complete scores, for reports, are kept separately; the number of processes does not matter."""
    truth, teams = make_contest(tmp_path, track)

    def run(name: str, *options: object) -> tuple[object, dict[str, bytes]]:
        folder = tmp_path / name
        ran = call("leaderboard", truth, *teams, "--reports", folder, *options)
        return ran, {path.name: path.read_bytes() for path in folder.iterdir()}

    plain = run("r0")
    cached = ("--cache", tmp_path / "c")
    assert run("r1", *cached, "--jobs", 2) == plain
    scored()
    assert run("r2", *cached) == plain
    assert scored() == 0
    assert call("leaderboard", truth, *teams, *cached) == call("leaderboard", truth, *teams)


def test_measured(tmp_path: Path, call: Call, scored: Counter) -> None:
    truth, teams = make_contest(tmp_path, "lesions")
    beside_files(tmp_path / "m" / "team0", "lesions")
    arguments = ("leaderboard", truth, *teams, "--measured", tmp_path / "m", "--format", "json")
    plain = call(*arguments)
    scored()
    for expected in (3, 0):
        assert (call(*arguments, "--cache", tmp_path / "c"), scored()) == (plain, expected)
    beside_files(tmp_path / "m" / "team0", "lesions", inference_time_ms=1.0)
    changed = call(*arguments, "--cache", tmp_path / "c")
    assert scored() == 1
    assert changed == call(*arguments) != plain


@pytest.mark.parametrize(
    "options",
    [("--parameter", "min_processed=0.9"), ("--participant",), ("--max-record", "1M"), ("--max-unpacked", "1G"),
     ("--t-min-ms", "1", "--t-max-ms", "1000"), ("--set", "event=x"), ("--contract", "lesions/predictions"),
     ("--reports", "r"), ("--protocol", "p.json")],
)  # fmt: skip
def test_options_that_change_a_score(options: tuple[str, ...], tmp_path: Path, call: Call, scored: Counter) -> None:
    truth, teams = make_contest(tmp_path, "lesions")
    files = [team / "sent.json" for team in teams]
    for number, file in enumerate(files):
        files[number] = file.rename(file.with_name(f"sent{number}.json"))
    assert call("protocol", "freeze", "lesions", "--out", "p.json").code == 0
    arguments = ("leaderboard", f"lesions/truth={truth}", *files, "--cache", "c")
    call(*arguments)
    scored()
    first = call(*arguments, *options)
    assert (first.code in (0, 1), scored()) == (True, 3)
    assert (call(*arguments, *options), scored()) == (first, 0)


def test_what_else_a_score_depends_on(
    tmp_path: Path, call: Call, scored: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The truth, names of files, our version, and versions of packages."""
    truth, teams = make_contest(tmp_path, "lesions")
    arguments = ("leaderboard", truth, *teams, "--cache", "c")
    call(*arguments)
    scored()
    truth.write_text(truth.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    call(*arguments)
    assert scored() == 3
    (teams[0] / "sent.json").rename(teams[0] / "other.json")
    call(*arguments)
    assert scored() == 1
    os.utime(teams[1] / "sent.json", (1, 1))
    call(*arguments)
    assert scored() == 0  # its content is the same
    for name in ("msgspec", "medcontract", "code", "environment"):
        monkeypatch.setattr(cached, "environment", lambda name=name: {name: "other"})
        call(*arguments)
        assert scored() == 3


@pytest.mark.slow
def test_plugins(tmp_path: Path) -> None:
    """A plugin is hashed, with the modules beside it."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.json").write_text('{"notes": [{"note_id": "N-1", "length": 3}]}', encoding="utf-8")
    plugin = """
from medcontract.modeling import Contract, Count, Document, ListOf, Str, StrictModel
import helper_of_plugin
class Note(StrictModel):
    note_id: Str
    length: Count
class Notes(Document):
    notes: ListOf[Note]
CONTRACTS = (Contract(id="mine/notes", model=Notes, record=Note, list_key="notes", title="Notes"),)
"""
    (tmp_path / "my_plugin.py").write_text(plugin, encoding="utf-8")
    helper = tmp_path / "helper_of_plugin.py"
    helper.write_text("LIMIT = 1\n", encoding="utf-8")

    def kept() -> int:
        command = [sys.executable, "-m", "medcontract", "validate", "--plugin", "./my_plugin.py", "d", "--cache", "c"]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return medcontract.cache_info(tmp_path / "c").count

    assert [kept(), kept()] == [1, 1]
    helper.write_text("LIMIT = 2\n", encoding="utf-8")
    assert [kept(), kept()] == [2, 2]
    (tmp_path / "my_plugin.py").write_text(plugin + "# changed\n", encoding="utf-8")
    assert kept() == 3


def test_challenge(tmp_path: Path, call: Call, scored: Counter) -> None:
    """A challenge file is hashed."""
    assert call("challenge", "new", "demo").code == 0
    file = next(Path("demo").glob("*.toml"))
    example = next(path for path in Path("demo").iterdir() if path.is_dir())
    arguments = ("validate", example, "--challenge", file, "--cache", "c")
    plain = call(*arguments[:-2])
    scored()
    first = call(*arguments)
    done = scored()
    assert (first, done > 0) == (plain, True)
    assert (call(*arguments), scored()) == (plain, 0)
    file.write_text(file.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
    call(*arguments)
    assert scored() == done


@pytest.mark.parametrize("form", ["text", "json", "sarif", "html"])
def test_validate(form: str, tmp_path: Path, call: Call, scored: Counter) -> None:
    _, teams = make_contest(tmp_path, "lesions")
    (tmp_path / "subs" / "utf16.json").write_bytes("{}".encode("utf-16"))
    (tmp_path / "subs" / "unknown.json").write_text('{"a": 1}', encoding="utf-8")
    arguments = ("validate", tmp_path / "subs", "--format", form, "--show-values")
    plain = call(*arguments)
    assert scored() == 8
    for expected in (6, 0):  # three of the files are equal
        assert (call(*arguments, "--cache", "c"), scored()) == (plain, expected)
    moved = teams[0].rename(tmp_path / "elsewhere")
    assert call("validate", moved, "--format", form, "--show-values", "--cache", "c") == call(
        "validate", moved, "--format", form, "--show-values"
    )


@pytest.mark.parametrize(
    "options", [("--max-problems", "1"), ("--max-record", "1M"), ("--contract", "lesions/predictions"),
                ("--max-unpacked", "1G"), ("--format", "text")],
)  # fmt: skip
def test_options_that_change_a_report(options: tuple[str, ...], tmp_path: Path, call: Call, scored: Counter) -> None:
    _, teams = make_contest(tmp_path, "lesions")
    arguments = ("validate", *(team / "sent.json" for team in teams), "--cache", "c")
    call(*arguments, "--format", "json")
    assert scored() == 3
    call(*arguments, "--format", "json", *options)
    assert scored() == 3
    call(*arguments, "--format", "json", "--strict", "--quiet")
    assert scored() == 0


def test_standard_input_and_pipes(tmp_path: Path) -> None:
    """What can be read only once is not kept, and is still read."""
    data = json.dumps({"labels": TRUTH["lesions"]}).encode()
    command = [sys.executable, "-m", "medcontract", "validate", "--cache", "c"]
    ran = subprocess.run([*command, "lesions/truth=-"], input=data, cwd=tmp_path, capture_output=True, check=False)
    assert ran.returncode == 0
    os.mkfifo(tmp_path / "pipe.json")
    with subprocess.Popen([*command, "pipe.json"], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        (tmp_path / "pipe.json").write_bytes(data)
        assert process.wait(30) == 0
    assert medcontract.cache_info(tmp_path / "c").count == 0


def test_file_that_changes(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result is kept under the hash of what it was computed from, or not at all."""
    truth, teams = make_contest(tmp_path, "lesions")
    score = contest.Contest._score

    def change(self: contest.Contest, submission: Any) -> Any:
        outcome = score(self, submission)
        if submission.name == "team0":
            sent_file(teams[0], "lesions", SENT["lesions"][3:])
        return outcome

    monkeypatch.setattr(contest.Contest, "_score", change)
    call("leaderboard", truth, *teams, "--cache", "c")
    assert medcontract.cache_info("c").count == 2


def test_failures_are_not_kept(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug, or a worker that died, says nothing about the submission."""
    truth, teams = make_contest(tmp_path, "lesions")

    def fail(*_: object) -> None:
        raise ValueError

    with monkeypatch.context() as patch:
        patch.setattr(contest.Contest, "_score", fail)
        assert "internal error" in call("leaderboard", truth, *teams, "--cache", "c").out
    assert medcontract.cache_info("c").count == 0
    assert call("leaderboard", truth, *teams, "--cache", "c").code == 0


def test_in_python(tmp_path: Path) -> None:
    truth, teams = make_contest(tmp_path, "reports")
    plain = medcontract.leaderboard(truth, *teams)
    notices: list[str] = []
    for _ in range(2):
        assert medcontract.leaderboard(truth, *teams, cache=tmp_path / "c", notice=notices.append) == plain
    wanted = medcontract.validate_files(teams)
    for _ in range(2):
        assert medcontract.validate_files(teams, cache=str(tmp_path / "c"), notice=notices.append) == wanted
    found = medcontract.cache_info(tmp_path / "c")
    assert (found.count, [each.kind for each in found.results], notices) == (7, ["leaderboard", "validate"], [])
    assert medcontract.clear_cache(tmp_path / "c").count == 7
    assert medcontract.cache_info(tmp_path / "c").count == 0
    assert len(found.to_frame()) == 2


# --- what is stored ---------------------------------------------------------------------------------------------------


def kept_files(folder: str | Path = "c") -> list[Path]:
    return sorted(Path(folder, FOLDER).glob("*.json"))


def test_private(tmp_path: Path, call: Call) -> None:
    """Nobody else can read it, and it contains neither labels nor texts beyond the result."""
    truth, teams = make_contest(tmp_path, "extraction")
    before = os.umask(0)
    try:
        call("leaderboard", truth, *teams, "--cache", "new/c", "--reports", "r")
        call("leaderboard", truth, *teams, "--cache", "new/c")
    finally:
        os.umask(before)
    for folder in (Path("new/c"), Path("new/c", FOLDER)):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    text = "".join(file.read_text(encoding="utf-8") for file in kept_files("new/c"))
    assert "headline" in text
    for private in ("Losart", "Insulina"):
        assert private in json.dumps(SENT["extraction"]) + truth.read_text(encoding="utf-8")
        assert private not in text


@pytest.mark.parametrize("value", [
    {"os.system": {"command": "touch pwned"}},
    {"medcontract.atomic_write.write_file": {"text": "", "out": "pwned"}},
    {"medcontract.evaluation.cached.Uncacheable": {}},
    {"medcontract.evaluation.score.Scored": {"track": "lesions"}},
    {"Fraction": "x"}, {"tuple": 5}, {"a": 1, "b": 2}, [[1]], "text", None,
])  # fmt: skip
def test_only_results_are_read(value: Any, tmp_path: Path, call: Call, scored: Counter) -> None:
    """A file with anything else, even with a valid checksum, is computed again."""
    truth, teams = make_contest(tmp_path, "lesions")
    arguments = ("leaderboard", truth, *teams, "--cache", "c")
    plain = call(*arguments)
    for file in kept_files():
        text = json.dumps(value).encode()
        key = file.stem.rpartition("-")[2]
        file.write_bytes(hashlib.sha256(key.encode() + text).hexdigest().encode() + b"\n" + text)
    scored()
    assert (call(*arguments), scored()) == (plain, 3)
    assert (call(*arguments), scored()) == (plain, 0)
    assert not Path("pwned").exists()


# --- faults -----------------------------------------------------------------------------------------------------------


def _of_others(path: Path) -> None:
    os.chown(path, 65534, 65534)


def _link(path: Path) -> None:
    path.rename(path.with_name("real"))
    path.symlink_to("real")


def _file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("x", encoding="utf-8")


@pytest.mark.parametrize(("damage", "why"), [
    (lambda path: path.chmod(0o770), "used: other users may write to the folder (chmod go-w)"),
    (lambda path: path.parent.chmod(0o1777), "used: other users may write to the folder (chmod go-w)"),
    pytest.param(_of_others, "used: the folder belongs to another user",
                 marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")),
    (_link, f"used: {FOLDER} is a link or not a folder"),
    (_file, "used: file exists"),
])  # fmt: skip
def test_unusable(damage: Callable[[Path], None], why: str, tmp_path: Path, call: Call) -> None:
    """A folder that cannot be used, or trusted, is a notice; the result is that without a cache."""
    truth, teams = make_contest(tmp_path, "lesions")
    plain = call("leaderboard", truth, *teams)
    call("leaderboard", truth, *teams[:1], "--cache", "c")
    damage(Path("c", FOLDER))
    before = sorted(Path("c").rglob("*"))
    ran = call("leaderboard", truth, *teams, "--cache", "c")
    assert (ran.code, ran.out) == (plain.code, plain.out)
    assert ran.err == f"medcontract: --cache: c cannot be {why}; going on without it\n"
    assert sorted(Path("c").rglob("*")) == before


def test_damaged(tmp_path: Path, call: Call, scored: Counter) -> None:
    """A damaged file is computed again; files of other versions are ignored."""
    truth, teams = make_contest(tmp_path, "lesions")
    arguments = ("leaderboard", truth, *teams, "--cache", "c")
    plain = call(*arguments)
    scored()
    first, second, third = kept_files()
    first.write_bytes(first.read_bytes()[:-100])
    second.write_bytes(second.read_bytes().replace(b'"track"', b'"tracc"'))
    third.rename(third.with_name(third.name.replace(f"-{medcontract.__version__}-", "-0.0.1-")))
    Path("c/medcontract-cache.sqlite3").write_bytes(b"of an older version")
    assert (call(*arguments), scored()) == (plain, 3)
    assert (call(*arguments), scored()) == (plain, 0)
    assert [each.medcontract_version for each in medcontract.cache_info("c").results] == [
        "0.0.1", medcontract.__version__
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "why"), [
    ("read_bytes", "cannot be read: no; going on without it"),
    ("replace", "cannot be written: no; further results are not kept"),
])  # fmt: skip
def test_errors(name: str, why: str, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are one notice, and the result is the same."""
    truth, teams = make_contest(tmp_path, "lesions")
    plain = call("leaderboard", truth, *teams)
    call("leaderboard", truth, *teams[:1], "--cache", "c")
    function = getattr(Path, name)

    def fail(path: Path, *arguments: Any) -> Any:
        if FOLDER in path.parts:
            raise OSError(5, "no")
        return function(path, *arguments)

    monkeypatch.setattr(Path, name, fail)
    ran = call("leaderboard", truth, *teams, "--cache", "c")
    assert (ran.code, ran.out, ran.err) == (plain.code, plain.out, f"medcontract: --cache: c {why}\n")


def test_folder_that_cannot_be_created(tmp_path: Path, call: Call) -> None:
    truth, teams = make_contest(tmp_path, "lesions")
    ran = call("leaderboard", truth, *teams, "--cache", "/proc/nothing/c")
    assert (ran.code, ran.out) == (0, call("leaderboard", truth, *teams).out)
    assert "--cache: /proc/nothing/c cannot be used: " in ran.err


@pytest.mark.parametrize("name", ["file", "subs", "subs/team0", "subs/team0/c", "s3://bucket/c", "truth/c"])
def test_wrong_folder(name: str, tmp_path: Path, call: Call) -> None:
    """A folder with inputs would become an input of the next call."""
    _, teams = make_contest(tmp_path, "lesions")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    ran = call("leaderboard", "truth", *teams, "--cache", name)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("medcontract: --cache: ")
    assert not list(tmp_path.rglob(FOLDER))
    assert call("validate", "subs", "--cache", "subs/team0").code == 2
    assert call("validate", "truth/truth.json", "--cache", "c", "--images", "i").code == 2
    assert call("validate", "truth/truth.json", "--cache", "c", "--schema", "s.json").code == 2
    with pytest.raises(CallError, match="'cache' must be a path"):
        medcontract.validate_files("truth", cache=5)  # type: ignore[arg-type]  # what is tested


def test_clear(tmp_path: Path, call: Call) -> None:
    """Removes our files only."""
    truth, teams = make_contest(tmp_path, "lesions")
    call("leaderboard", truth, *teams, "--cache", "c")
    for folder in ("c", f"c/{FOLDER}"):
        Path(folder, "mine.txt").write_text("x", encoding="utf-8")
    kept_files()[0].with_name(f".{kept_files()[0].name}.0123abcd").touch()  # a process was killed while it wrote it
    assert call("cache", "info", "c").out.endswith(f" MB\n  leaderboard, medcontract {medcontract.__version__}: 3\n")
    assert call("cache", "info", "c", "--format", "json").json["count"] == 3
    assert call("cache", "clear", "c").out.startswith("c: removed 3 results, ")
    assert call("cache", "info", "c").out == "c: 0 results, 0.0 MB\n"
    assert sorted(path.name for path in Path("c").rglob("*")) == [FOLDER, "mine.txt", "mine.txt"]
    for command in ("info", "clear"):
        ran = call("cache", command, "truth")
        assert (ran.code, ran.err.splitlines()[0]) == (2, "medcontract: truth: no cache in this folder")
    assert call("cache", "info", "s3://bucket/c").code == 2


COMMAND = (sys.executable, "-m", "medcontract")


def start(folder: Path, *options: str, **settings: Any) -> subprocess.Popen[bytes]:
    command = [*COMMAND, "leaderboard", "truth", *sorted(f"subs/{p.name}" for p in (folder / "subs").iterdir())]
    return subprocess.Popen(
        [*command, "--format", "json", *options], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **settings
    )


def finished(process: subprocess.Popen[bytes]) -> tuple[int, bytes, bytes]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def large_contest(folder: Path) -> None:
    make_contest(folder, "lesions", 12)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("limit", [10, 1000, 3000])
def test_full_disk(limit: int, tmp_path: Path) -> None:
    """A file that cannot grow is a notice. What was kept before is still readable."""
    large_contest(tmp_path)
    plain = finished(start(tmp_path))
    full = start(tmp_path, "--cache", "c", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    code, out, err = finished(full)
    assert (code, out) == plain[:2]
    assert err.count(b"\n") <= 1
    assert err.startswith(b"medcontract: --cache: c cannot be ")
    assert not list((tmp_path / "c" / FOLDER).glob(".*"))
    assert finished(start(tmp_path, "--cache", "c")) == plain


@pytest.mark.slow
def test_two_at_once(tmp_path: Path) -> None:
    large_contest(tmp_path)
    plain = finished(start(tmp_path))
    running = [start(tmp_path, "--cache", "c") for _ in range(3)]
    assert [finished(each) for each in running] == [plain] * 3
    assert medcontract.cache_info(tmp_path / "c").count == 12


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_at_any_moment(number: signal.Signals, tmp_path: Path) -> None:
    """Only work in progress is lost: results that were kept stay, and the next run gives the same bytes."""
    large_contest(tmp_path)
    plain = finished(start(tmp_path))
    chance = random.Random(7)
    counts = [0]
    for _ in range(20):
        if counts[-1] == 12:
            shutil.rmtree(tmp_path / "c")
            counts = [0]
        process = start(tmp_path, "--cache", "c")
        deadline = time.monotonic() + 20
        wanted = chance.randint(0, 11)
        while process.poll() is None and time.monotonic() < deadline and _count(tmp_path) < wanted:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.01)
        process.send_signal(number)
        code, out, err = finished(process)
        assert code in (0, 143, -number)
        assert out in (plain[1], b"")
        assert code or out
        if number == signal.SIGTERM:
            assert not list((tmp_path / "c").rglob(".*"))
            assert b"Traceback" not in err
        counts.append(_count(tmp_path))
        assert counts[-1] >= counts[-2]
    assert finished(start(tmp_path, "--cache", "c")) == plain
    assert medcontract.cache_info(tmp_path / "c").count == 12


def _count(folder: Path) -> int:
    try:
        return medcontract.cache_info(folder / "c").count
    except CallError:  # not created yet
        return 0


def test_closed_pipe(tmp_path: Path) -> None:
    """If nobody reads the output, what was computed is kept."""
    large_contest(tmp_path)
    process = start(tmp_path, "--cache", "c")
    assert process.stdout
    process.stdout.close()
    process.wait(60)
    assert process.stderr
    assert (process.returncode, process.stderr.read()) == (1, b"")
    process.stderr.close()
    assert medcontract.cache_info(tmp_path / "c").count == 12


# --- progress ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_progress(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    """Rate and time left, of what is counted."""

    def shown(progress: output.Progress, at: float, *state: Any) -> str:
        clock[0] = at
        progress._show(*state)
        return capsys.readouterr().err.strip("\r\x1b[K").partition("] ")[2]

    progress = output.Progress("submissions")
    assert shown(progress, 0, "scoring", 0, 100) == ""
    assert shown(progress, 10, "scoring", 25, 100) == " 25% scoring, 2.5 submissions/s, 0:30 left"
    assert shown(progress, 20, "scoring", 100, 100) == "100% scoring, 5.0 submissions/s, 0:00 left"
    progress = output.Progress()
    clock[0] = 100
    progress = output.Progress()
    assert shown(progress, 100, "checking", 0, 10**12) == ""
    assert shown(progress, 110, "checking", 10**9, 10**12) == "  0% checking, 100.0 MB/s, 2:46:30 left"
    assert shown(progress, 120, "checking images", 0, 10) == "  0% checking images"
    assert shown(progress, 122, "checking images", 5, 10) == " 50% checking images, 2.5 images/s, 0:02 left"


def test_progress_over_files(tmp_path: Path) -> None:
    """Several files are one bar, of all their bytes."""
    _, teams = make_contest(tmp_path, "lesions")
    files = [team / "sent.json" for team in teams]
    total = sum(file.stat().st_size for file in files)
    seen: list[tuple[str, int, int]] = []
    medcontract.validate_files(files, progress=lambda *state: seen.append(state))
    assert {(name, of) for name, _, of in seen} == {("checking", total)}
    done = [state[1] for state in seen]
    assert (done == sorted(done), done[0], done[-1] > files[0].stat().st_size) == (True, 0, True)
