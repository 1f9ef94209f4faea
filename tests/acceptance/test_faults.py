"""Faults in every engine, from outside: killed workers, a lost scheduler, files that change, full disks, signals.

The outcome equals the one of a single process without a fault, byte for byte, or is a message and an exit code: no file
is written by half, no temporary file is left, and no process goes on.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests import toy_track
from tests.commands import Ran
from tests.faults import (
    ACCIDENTS,
    COMMANDS,
    MAIN,
    Arena,
    Halted,
    as_usual,
    cluster,
    emptied,
    now_a_folder,
    overwritten,
    processes_of,
    removed,
    replaced,
    truncated,
    wait_for,
)
from tests.scoring_files import image

import medcontract
from medcontract import modeling
from medcontract.reading import chunks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals and processes as on Linux")
CHANGED = "the file changed while it was being read"
DIED = "scoring it terminated its process repeatedly: it ran out of memory or was killed"
Outcome = Callable[[Ran, Ran], None]
"""Asserts something about what a command printed, and what one process prints without a fault."""


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Arena:
    return Arena(tmp_path_factory.mktemp("arena"))


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a cluster that is never at fault; its workers are started again if they are killed."""
    pytest.importorskip("distributed", reason="needs the extra dask")
    with cluster(tmp_path_factory.mktemp("cluster"), 2) as (address, _):
        yield address


# --- what happens --------------------------------------------------------------------------------


def kill_the_reader(halted: Halted) -> None:
    os.kill(halted.reader, signal.SIGKILL)
    halted.go_on()


def interrupt(halted: Halted) -> None:
    """Press Ctrl-C: a terminal sends it to all processes."""
    os.killpg(halted.running.pid, signal.SIGINT)


def terminate(halted: Halted) -> None:
    halted.running.terminate()


def terminate_all(halted: Halted) -> None:
    os.killpg(halted.running.pid, signal.SIGTERM)


def hang_up(halted: Halted) -> None:
    halted.running.send_signal(signal.SIGHUP)


def kill_the_command(halted: Halted) -> None:
    halted.running.kill()


def fill_the_disk(halted: Halted) -> None:
    """From now on the command can create files, but not write to them."""
    resource.prlimit(halted.running.pid, resource.RLIMIT_FSIZE, (0, 0))
    halted.go_on()


# --- what comes of it ----------------------------------------------------------------------------


def same(ran: Ran, expected: Ran) -> None:
    assert ran == expected
    assert ran.out


def ends(code: int, err: str = "") -> Outcome:
    def check(ran: Ran, _: Ran) -> None:
        assert ran == Ran(code, "", err)

    return check


def killed(ran: Ran, _: Ran) -> None:
    """A process of Python that outlives the command may warn of semaphores."""
    assert (ran.code, ran.out) == (-9, "")


def stopped(code: int, err: str) -> Outcome:
    """With a message."""

    def check(ran: Ran, _: Ran) -> None:
        assert (ran.code, ran.out) == (code, "")
        assert err in ran.err

    return check


def outcomes(board: Any) -> dict[str, tuple[int | None, dict[str, float], list[str]]]:
    return {each["name"]: (each["rank"], each["figures"], each["reasons"]) for each in board["submissions"]}


def refused(*reasons: str) -> Outcome:
    """Of one submission; the others have the figures that they have without it."""

    def check(ran: Ran, expected: Ran) -> None:
        found, before = outcomes(ran.json), outcomes(expected.json)
        rank, figures, told = found.pop("b")
        assert (ran.code, rank, figures, ran.err) == (0, None, {}, "")
        assert any(reason in told[0] for reason in reasons)
        assert found == {name: (1, *before[name][1:]) for name in ("a", "c")}

    return check


class Fault(NamedTuple):
    strike: Callable[[Halted], None]
    engines: str
    commands: str
    outcome: Outcome
    said: str = "halt"


POOLS = "forked, spawned, dask"
ALL = "validate, score, leaderboard"
FAULTS = {
    "a worker is killed": Fault(kill_the_reader, POOLS, ALL, same),
    "a worker is killed while it sends its result": Fault(kill_the_reader, "forked, spawned", "score", same, "half"),
    "Ctrl-C": Fault(interrupt, "one process, forked", ALL, ends(130, "\nInterrupted.\n")),
    "Ctrl-C, workers that are slow to start": Fault(
        interrupt, "spawned, local dask", "leaderboard", ends(130, "\nInterrupted.\n")
    ),
    "Ctrl-C while a worker sends its result": Fault(
        interrupt, "forked", "score", ends(130, "\nInterrupted.\n"), "half"
    ),
    "SIGTERM": Fault(terminate, "one process, forked, spawned, local dask", "score", ends(143)),
    "SIGTERM, to all processes": Fault(terminate_all, "forked", "validate, leaderboard", ends(143)),
    "SIGHUP": Fault(hang_up, "one process, forked", "validate", ends(129)),
    "SIGKILL": Fault(kill_the_command, "forked, spawned, local dask", "leaderboard", killed),
}  # fmt: skip
TABLE = [
    pytest.param(
        name, engine, command, id=f"{name}, {engine}, {command}", marks=[pytest.mark.slow] * ("dask" in engine)
    )
    for name, fault in FAULTS.items()
    for engine in fault.engines.split(", ")
    for command in fault.commands.split(", ")
]


def address_of(engine: str, request: pytest.FixtureRequest) -> tuple[str, ...]:
    return (request.getfixturevalue("scheduler"),) if engine == "dask" else ()


@pytest.mark.sampled(14)
@pytest.mark.parametrize(("name", "engine", "command"), TABLE)
def test_a_fault(name: str, engine: str, command: str, arena: Arena, request: pytest.FixtureRequest) -> None:
    """Something happens to a command, or to one of its workers, in the middle of a file."""
    fault = FAULTS[name]
    expected = arena.expected(command, fault.said)
    arena.reset(fault.said)
    with arena.halted(engine, command, *address_of(engine, request)) as halted:
        assert (halted.reader == halted.running.pid) == (engine == "one process")
        fault.strike(halted)
        ran = arena.finish(halted.running)
    fault.outcome(ran, expected)
    is_left = fault.strike is kill_the_command and engine == "local dask"  # the only one with a temporary folder
    assert bool(list(arena.temporary.iterdir())) == is_left


# --- faults that need no halt --------------------------------------------------------------------


def no_files() -> None:
    """Forbid to write to files: semaphores are files, too."""
    as_usual()
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("engine", ["forked", "spawned"])
def test_no_semaphores(engine: str, command: str, arena: Arena) -> None:
    """As in some sandboxes: one process does it all."""
    expected = arena.expected(command)
    arena.reset()
    (arena.folder / "go").touch()
    same(arena.run(engine, command, preexec_fn=no_files), expected)


KILLED = "medcontract: the Dask workers were terminated repeatedly while they read a file\n"
DEADLY = {
    ("forked", "validate"): same, ("forked", "score"): same, ("forked", "leaderboard"): refused(DIED),
    ("spawned", "score"): same, ("spawned", "leaderboard"): refused(DIED),
    ("dask", "score"): ends(1, KILLED), ("dask", "leaderboard"): refused(DIED),
}  # fmt: skip


@pytest.fixture(scope="module")
def strict_scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a cluster that gives up at once if a task kills its worker."""
    pytest.importorskip("distributed", reason="needs the extra dask")
    folder = tmp_path_factory.mktemp("cluster")
    with cluster(folder, 2, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as (address, _):
        yield address


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "command"), [
    pytest.param(*each, marks=[pytest.mark.slow] * ("dask" in each)) for each in DEADLY
])  # fmt: skip
def test_a_record_that_kills_every_worker(
    engine: str, command: str, arena: Arena, request: pytest.FixtureRequest
) -> None:
    """In a ranking, it is refused, and the others keep their figures; one file is read by one process, but not if it
    was for a cluster."""
    expected = arena.expected(command, "kill")
    arena.reset("kill")
    address = (request.getfixturevalue("strict_scheduler"),) if engine == "dask" else ()
    DEADLY[engine, command](arena.run(engine, command, *address), expected)


FAILED = "the plugin 'faulty_track' failed in "


@pytest.mark.sampled(3)
@pytest.mark.parametrize("engine", ["one process", "forked", "spawned"])
def test_an_exception_in_a_plugin(engine: str, arena: Arena) -> None:
    """It ends a score, and is a refusal in a ranking; the message says where, and contains nothing of the data."""
    arena.reset("raise")
    stopped(2, FAILED + "check")(ran := arena.run(engine, "score"), ran)
    assert "MARIA" not in ran.err
    expected = arena.expected("leaderboard", "kill")
    arena.reset("raise")
    refused(FAILED + "check")(ran := arena.run(engine, "leaderboard"), expected)
    assert "MARIA" not in ran.out


@pytest.mark.sampled(2)
@pytest.mark.parametrize("command", ["score", "leaderboard"])
@pytest.mark.parametrize("fault", ["killed", "killed once", "broken"])
def test_workers_that_do_not_start(fault: str, command: str, arena: Arena) -> None:
    """They are started again, but not for ever: then one process does it all."""
    expected = arena.expected(command)
    arena.reset()
    (arena.folder / "go").touch()
    same(arena.run("spawned", command, fault=fault), expected)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["score", "leaderboard"])
def test_a_scheduler_that_is_killed(command: str, arena: Arena, tmp_path: Path) -> None:
    """In the middle of the work: one message, and no hang."""
    pytest.importorskip("distributed", reason="needs the extra dask")
    arena.reset()
    with cluster(tmp_path, 1) as (address, process), arena.halted("dask", command, address) as halted:
        process.kill()
        ran = arena.finish(halted.running)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "medcontract: the connection to the Dask scheduler was lost\n  hint: is it still running?\n"


@pytest.mark.slow
def test_a_cluster_without_workers(arena: Arena, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the extra dask")
    arena.reset()
    with cluster(tmp_path, 0) as (address, _):
        ran = arena.run("dask", "validate", address)
    assert ran == Ran(2, "", "medcontract: the Dask cluster has no workers\n  hint: start at least one\n")


# --- files that change ---------------------------------------------------------------------------


CHANGES = [
    pytest.param(engine, command, accident, marks=[pytest.mark.slow] * (engine == "dask"))
    for engine in ("one process", *POOLS.split(", "))
    for command in (COMMANDS if engine == "forked" else ("score", "leaderboard"))
    for accident in (ACCIDENTS if engine == "forked" else (overwritten, replaced))
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("engine", "command", "accident"), CHANGES)
def test_a_file_that_changes(
    engine: str, command: str, accident: Callable[[Path], None], arena: Arena, request: pytest.FixtureRequest
) -> None:
    """It is refused, or the result describes the file as it was; `validate` may report what it is now."""
    expected = arena.expected(command)
    arena.reset()
    with arena.halted(engine, command, *address_of(engine, request)) as halted:
        accident(halted.file)
        halted.go_on()
        ran = arena.finish(halted.running)
    if ran == expected:  # the open file was read to its end
        assert accident in (replaced, removed, now_a_folder) or command == "validate"
    elif command == "validate" and accident in (truncated, overwritten):
        assert ran == arena.run("one process", "validate")
    elif command == "validate":
        assert ran.code == 1
        assert [each["code"] for each in ran.json["files"][0]["problems"]] == [
            "MC004" if accident is emptied else "MC003"
        ]
    elif command == "score":
        stopped(1, CHANGED if accident in (truncated, emptied, overwritten, replaced) else "b/sent.jsonl: the file ")(
            ran, expected
        )
    else:
        refused(f"sent.jsonl: {CHANGED}", "sent.jsonl: the file can no longer be read")(ran, expected)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("engine", ["one process", "forked"])
@pytest.mark.parametrize("accident", ACCIDENTS)
def test_a_file_that_changes_before_it_is_read(accident: Callable[[Path], None], engine: str, arena: Arena) -> None:
    """While the truth is read, it is already known what the other file is: it is refused."""
    arena.reset(place="truth.jsonl")
    with arena.halted(engine, "score") as halted:
        accident(halted.file)
        halted.go_on()
        ran = arena.finish(halted.running)
    gone = accident in (removed, now_a_folder)
    assert (ran.code, ran.out) == (1, "")
    assert f"b/sent.jsonl: {'the file can no longer be read' if gone else CHANGED}" in ran.err


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["forked", "spawned"])
def test_a_truth_that_changes_while_a_ranking_is_made(engine: str, arena: Arena) -> None:
    """Workers get what the command has read."""
    expected = arena.expected("leaderboard")
    arena.reset()
    with arena.halted(engine, "leaderboard") as halted:
        (arena.folder / "truth.jsonl").unlink()
        kill_the_reader(halted)  # what repeats its work cannot read the truth, either
        ran = arena.finish(halted.running)
    same(ran, expected)


# --- disks ---------------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("command", ["score", "leaderboard"])
@pytest.mark.parametrize("engine", ["one process", "forked"])
def test_a_full_disk(engine: str, command: str, arena: Arena) -> None:
    """The old result is whole, and no report is beside it. For all commands that write: test_hostile_disks.py."""
    arena.reset()
    out = arena.temporary / "out.json"
    out.write_text("old")
    options = ("--out", str(out), *(("--reports", "temporary/reports") if command == "leaderboard" else ()))
    with arena.halted(engine, command, *options) as halted:
        fill_the_disk(halted)
        ran = arena.finish(halted.running)
    stopped(2, "file too large")(ran, ran)
    assert out.read_text() == "old"
    files = [path for path in arena.temporary.rglob("*") if path.is_file() and path.name != ".medcontract-reports"]
    assert files == [out]


# --- other commands ------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.skipif(sys.platform != "linux", reason="open files are listed as on Linux")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_standard_input(number: signal.Signals, tmp_path: Path) -> None:
    """What came in is kept in a temporary file without a name, of which nothing remains, also after a kill."""
    line = json.dumps(image("I-1", "NV")).encode() + b"\n"
    with subprocess.Popen(
        [*MAIN, "validate", "lesions/truth=-"], env={**os.environ, "TMPDIR": str(tmp_path)}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=as_usual,
    ) as waiting:  # fmt: skip
        assert waiting.stdin
        waiting.stdin.write(line * (1 + (40 << 20) // len(line)))
        waiting.stdin.flush()
        files = Path(f"/proc/{waiting.pid}/fd")
        wait_for(lambda: [each for each in files.iterdir() if str(tmp_path) in os.readlink(each)])
        assert list(tmp_path.iterdir()) == []
        waiting.send_signal(number)
        assert waiting.wait(60) in (128 + number, -number)
        assert waiting.stderr
        assert waiting.stderr.read() == b""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_images_whose_worker_is_killed(tmp_path: Path) -> None:
    """They are checked again, with the same bytes."""
    pillow = pytest.importorskip("PIL.Image", reason="needs the extra images")
    for name, side in (("good", 600), ("small", 500)):
        pillow.new("RGB", (side, side)).save(tmp_path / f"{name}.png")
    rows = [f"I-{n},{'good' if n % 40 else 'small'}.png,61,f,7\n" for n in range(300)]
    (tmp_path / "cases.csv").write_text("image_id,image_path,age,gender,location\n" + "".join(rows))
    command = [*MAIN, "validate", "cases.csv", "--images", ".", "--format", "json"]
    alone = subprocess.run([*command, "--jobs", "1"], cwd=tmp_path, capture_output=True, check=False)
    assert alone.stdout.count(b'"MC323"') == 8
    with subprocess.Popen(
        [*command, "--jobs", "2"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as running:
        wait_for(lambda: len(processes_of(running.pid)) == 3)
        os.kill(max(processes_of(running.pid)), signal.SIGKILL)
        out, err = running.communicate(timeout=120)
    assert (running.returncode, out, err) == (alone.returncode, alone.stdout, alone.stderr)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("engine", ["spawned", pytest.param("dask", marks=pytest.mark.slow)])
def test_a_track_that_workers_cannot_know(
    engine: str, arena: Arena, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was registered by a call in this process, which then does all the work."""
    how: dict[str, Any] = {"jobs": 2}
    if engine == "dask":
        how = {"engine": "dask", "scheduler": request.getfixturevalue("scheduler")}
    arena.reset("yes")
    monkeypatch.chdir(arena.folder)
    monkeypatch.setattr(chunks, "SMALLEST", 1000)
    modeling.register(*toy_track.CONTRACTS)
    modeling.register_track(*toy_track.TRACKS)
    board = medcontract.leaderboard("truth.jsonl", "a", "b", "c", jobs=1)
    assert [entry.valid for entry in board.submissions] == [True] * 3
    assert medcontract.leaderboard("truth.jsonl", "a", "b", "c", **how).to_json() == board.to_json()
    score = medcontract.score("truth.jsonl", "b", jobs=1)
    assert medcontract.score("truth.jsonl", "b", **how).to_json() == score.to_json()
    validation = medcontract.validate("b/sent.jsonl", "toy/answers", jobs=1)
    assert medcontract.validate("b/sent.jsonl", "toy/answers", **how).to_json() == validation.to_json()
