"""A full disk, a read-only folder, a closed pipe, a signal while a file is written: in every command that writes.

The exit code is right, there is no traceback, old files are whole, and no temporary files are left.
"""

from __future__ import annotations

import io
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click
import pytest
from tests.challenge_files import SMALL
from tests.commands import Call, Ran
from tests.scoring_files import CLASSES, guess, image, write

import medcontract
from medcontract import atomic_write
from medcontract.cli import group as group_module
from medcontract.cli.group import group
from medcontract.cli.main import main

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="disks, pipes and signals as on Linux")
MAIN = (sys.executable, "-m", "medcontract")
WRITERS = {
    "validate": "validate truth.json --out disk/validation.json",
    "preflight": "preflight sub truth.json --out disk/preflight.html",
    "score": "score truth.json sub --out disk/score.json",
    "score --result-only": "score truth.json sub --result-only --out disk/result.json",
    "leaderboard": "leaderboard truth.json sub --out disk/ranking.md",
    "leaderboard --reports": "leaderboard truth.json sub --reports disk/reports",
    "rehearse": "rehearse truth.json --out disk/rehearsal.html",
    "challenge rehearse": "challenge rehearse challenge.toml --truth table.csv --format json --out disk/tried.json",
    "verify": "verify score.json truth.json sub --format json --out disk/verified.json",
    "compare": "compare score.json score.json --out disk/comparison.md",
    "normalize": "normalize x --out disk/normalized.json",
    "explain": "explain MC104 --out disk/explained.json",
    "template": "template lesions/predictions --cases truth.json --out disk/template.csv",
    "schema list": "schema list --format json --out disk/contracts.json",
    "schema show": "schema show lesions/truth --out disk/schema.json",
    "schema diff": "schema diff plain.schema.json plain.schema.json --format json --out disk/diff.json",
    "schema export": "schema export disk/schemas lesions/truth lesions/model",
    "protocol list": "protocol list --format json --out disk/protocols.json",
    "protocol show": "protocol show lesions --format json --out disk/protocol.json",
    "protocol check": "protocol check frozen.json --format json --out disk/checked.json",
    "protocol freeze": "protocol freeze lesions --out disk/frozen.json",
    "challenge new": "challenge new disk/challenge --truth table.csv --force",
    "challenge check": "challenge check challenge.toml --format json --out disk/challenge.json",
    "bundle": "bundle codabench --truth truth.json --out disk/bundle --force",
    "init": "init lesions disk/example --force",
    "fix": "fix disk/broken.json --write",
    "cache info": "cache info kept --format json --out disk/cache.json",
    "cache clear": "cache clear kept --format json --out disk/cleared.json",
}
"""A call of every command that writes, to the folder `disk`."""
OLD = b'{"labels": [{"image_id": "I-1", "label": "nv",}]}'
"""The content of files that are replaced; what is wrong can be repaired."""


def test_every_command_that_writes_is_tried() -> None:
    """All that have --out, and those with a folder to write to."""

    def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
        if not isinstance(command, click.Group):
            yield name, command
            return
        context = click.Context(command)
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found
            yield from commands(found, f"{name} {each}".strip())

    writing = {name for name, command in commands(group, "") if any(each.name == "out" for each in command.params)}
    assert writing | {"init", "fix", "schema export", "challenge new"} == {name.partition(" --")[0] for name in WRITERS}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the commands read."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "sub").mkdir()
    truth = write(folder, "lesions/truth", [image(f"I-{n}", CLASSES[n]) for n in range(10)], name="truth")
    write(folder / "sub", "lesions/predictions", [guess(f"I-{n}", CLASSES[n]) for n in range(10)], name="sent")
    (folder / "plain.schema.json").write_text('{"type": "object"}')
    (folder / "challenge.toml").write_text(SMALL)
    rows = "".join(f"C-{n},{'yes' if n % 2 else 'no'}\n" for n in range(9))
    (folder / "table.csv").write_text(f"case_id,label\n{rows}")
    (folder / "score.json").write_text(medcontract.score(truth, folder / "sub").to_json())
    (folder / "frozen.json").write_text(medcontract.freeze_protocol("lesions").to_json())
    medcontract.export_schemas(folder / "exported", "lesions/truth")
    medcontract.validate_files([truth], cache=folder / "kept")
    return folder


class Writer:
    """A command that writes, in a folder with its inputs, and what it writes if all is well."""

    def __init__(self, name: str, call: Call, inputs: Path, folder: Path) -> None:
        shutil.copytree(inputs, folder, dirs_exist_ok=True)
        self.disk = folder / "disk"
        self.disk.mkdir()
        self._call, self._kept = call, folder / "kept"
        self._arguments = WRITERS[name].split()
        if name == "fix":
            (self.disk / "broken.json").write_bytes(OLD)
        ran = self.run()
        assert (ran.code, "Traceback" in ran.err) == (0, False), ran
        self.new = contents(self.disk)
        """The files after a call that worked."""
        assert self.new
        keeps_old = name in ("leaderboard --reports", "schema export")  # it reads what is there
        self.old = self.new if keeps_old else dict.fromkeys(self.new, OLD)
        """The files before a call."""
        empty(self.disk)

    def run(self) -> Ran:
        before = contents(self._kept)
        ran = self._call(*self._arguments)
        for path, data in before.items():
            (self._kept / path).write_bytes(data)
        return ran

    def prepare(self) -> None:
        """Write the old files."""
        for path, data in self.old.items():
            (self.disk / path).parent.mkdir(parents=True, exist_ok=True)
            (self.disk / path).write_bytes(data)

    def check(self, ran: Ran, code: int = 2) -> None:
        """The call failed, and every file is as before or complete; there are no others."""
        assert (ran.code, "Traceback" in ran.err, ran.out) == (code, False, ""), ran
        for path, data in contents(self.disk).items():
            assert data in (self.old[path], self.new[path]), path


@pytest.fixture(params=WRITERS)
def writer(request: pytest.FixtureRequest, call: Call, inputs: Path, tmp_path: Path) -> Writer:
    return Writer(request.param, call, inputs, tmp_path)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[None]:
    """A disk of a certain size, in memory."""
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"needs to mount a file system: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("free", [0, 1])
def test_a_full_disk(writer: Writer, free: int) -> None:
    """With no free page at all, or with so few that not all files fit."""
    with mounted(writer.disk, "1M"):
        writer.prepare()
        (writer.disk / "filler").write_bytes(b"")
        with (writer.disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
            while filler.write(b"x" * 4096):
                pass
        if free:
            os.truncate(writer.disk / "filler", (writer.disk / "filler").stat().st_size - 4096 * free)
        writer.old["filler"] = writer.new["filler"] = (writer.disk / "filler").read_bytes()
        ran = writer.run()
        if ran.code == 0:
            assert free
            assert contents(writer.disk) == writer.new
            return
        writer.check(ran)
        assert "no space left on device" in ran.err


def test_a_file_that_must_not_grow(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of the size of files, also without the right to mount anything."""
    monkeypatch.setattr(group_module, "_drop_output", lambda: None)  # standard output is captured
    writer.prepare()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        ran = writer._call(*writer._arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    writer.check(ran)
    assert "file too large" in ran.err


def test_a_read_only_disk(writer: Writer) -> None:
    with mounted(writer.disk, "1M"):
        writer.prepare()
        subprocess.run(["mount", "-o", "remount,ro", str(writer.disk)], check=True)
        ran = writer.run()
        writer.check(ran)
        assert "read-only file system" in ran.err
        assert contents(writer.disk) == writer.old


EXIT = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


@pytest.mark.parametrize("where", ["open", "write", "chmod", "replace"])
def test_a_signal_while_a_file_is_written(writer: Writer, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C, SIGTERM and SIGHUP, also if the tests were started with nohup."""
    for number, code in EXIT.items():
        writer.prepare()
        before = signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        try:
            with monkeypatch.context() as patch:
                interrupt(patch, where, number)
                ran = writer.run()
        finally:
            signal.signal(number, before)
        writer.check(Ran(ran.code, ran.out, ran.err.replace("Interrupted.\n", "")), code)
        empty(writer.disk)


def interrupt(patch: pytest.MonkeyPatch, where: str, number: int) -> None:
    """Send a signal to this process at a certain moment of writing a file."""

    def then(name: str, real: Any) -> Any:
        def replacement(*arguments: Any, **named: Any) -> Any:
            done = real(*arguments, **named) if name == "open" else None
            os.kill(os.getpid(), number)
            return done or real(*arguments, **named)

        return replacement

    if where == "open":
        patch.setattr(atomic_write, "create", then("open", atomic_write.create))
    elif where == "write":
        patch.setattr(os, "fdopen", then("write", os.fdopen))
    else:
        patch.setattr(Path, where, then(where, getattr(Path, where)))


# --- a cache, temporary files --------------------------------------------------------------------


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("command", ["validate truth.json sub", "leaderboard truth.json sub sub2"])
def test_a_cache_that_cannot_be_written(
    call: Call, inputs: Path, tmp_path: Path, command: str, read_only: bool
) -> None:
    """It is a notice: the result is the same as without a cache."""
    shutil.copytree(inputs, tmp_path, dirs_exist_ok=True)
    shutil.copytree(tmp_path / "sub", tmp_path / "sub2")
    alone = call(*command.split())
    disk = tmp_path / "disk"
    disk.mkdir()
    with mounted(disk, "4k"):
        if read_only:
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        ran = call(*command.split(), "--cache", disk / "cache")
        assert (ran.code, ran.out) == (alone.code, alone.out)
        assert ran.err.removeprefix(alone.err).startswith(f"medcontract: --cache: {disk / 'cache'} cannot be ")
        assert ran.err.removeprefix(alone.err).count("\n") == 1
        assert all(path.suffix == ".json" for path in disk.rglob("*") if path.is_file())


def test_a_full_disk_for_temporary_files(inputs: Path, tmp_path: Path) -> None:
    """Large input from a pipe is kept in a temporary file."""
    line = (inputs / "sub" / "sent.json").read_bytes() + b" " * 1000 + b"\n"
    with mounted(tmp_path, "4M"):
        done = subprocess.run(
            [*MAIN, "validate", "lesions/truth=-"], input=line * (1 + (40 << 20) // len(line)), capture_output=True,
            env={**os.environ, "TMPDIR": str(tmp_path)}, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert b"no space left on device" in done.stdout + done.stderr
        assert b"Traceback" not in done.stderr
        assert os.listdir(tmp_path) == []


# --- pipes ---------------------------------------------------------------------------------------

PRINTING = {
    **{name: command.partition(" --out ")[0] for name, command in WRITERS.items() if " --out " in command},
    "fix": "fix broken.json", "schema check": "schema check exported", "score --jobs": "score truth.json sub --jobs 2",
    "leaderboard --jobs": "leaderboard truth.json sub sub2 --jobs 2",
}  # fmt: skip
del PRINTING["bundle"], PRINTING["protocol freeze"]  # --out is required
"""Commands that print their result."""


@pytest.mark.parametrize("command", PRINTING.values(), ids=PRINTING)
def test_a_closed_pipe(call: Call, inputs: Path, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads the output: exit code 1, and no message."""
    shutil.copytree(inputs, tmp_path, dirs_exist_ok=True)
    shutil.copytree(tmp_path / "sub", tmp_path / "sub2")
    (tmp_path / "broken.json").write_bytes(OLD)
    usual = call(*command.split())
    assert usual.out
    reader, pipe = os.pipe()
    os.close(reader)
    errors = io.StringIO()
    with suppress(BrokenPipeError), open(pipe, "w") as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        patch.setattr(sys, "stderr", errors)
        with pytest.raises(SystemExit) as stopped:
            main(command.split())
    assert (stopped.value.code, errors.getvalue()) == (1, usual.err)
