"""Compares engines: the same commands on the same random files must give the same bytes, wherever files are cut.

`script/equality` writes random truths and submissions of all tracks in all containers, with many kinds of faults, and
runs commands on them: in one process, in worker processes that are forked or spawned, on a local Dask cluster, and in
chunks that are read in this process as if they came from another one. The sizes of chunks are random and tiny. Exit
code, standard output, standard error and written files are compared with those of one process. A table shows how many
runs were compared and how many differ.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from fuzz.calling import call
from fuzz.engine_files import CONTAINERS, TRACKS, Collection, Material, containers_of, content, header_of, spoil
from fuzz.pickled import Pickled
from medcontract.options import CallOptions
from medcontract.parallel import pool, processes
from medcontract.reading import chunks

ENGINES = {"one process": 1, "pickled": 1, "jobs 2": 2, "jobs 3": 4, "spawned": 40, "dask": 2}
"""The engines, and of how many cases each runs one."""
_SLOW = ("spawned", "dask")
"""Engines for which a chunk is expensive."""


class Run(NamedTuple):
    """A command on the files of a case."""

    command: str
    containers: tuple[str, ...]
    arguments: tuple[str, ...]


# --- cases -----------------------------------------------------------------------------------------


def write_case(folder: Path, seed: str, runs: int = 5) -> str:
    """Write random files, and the commands to run on them. Returns the track."""
    rng = random.Random(seed)
    track = rng.choice(list(TRACKS))
    folder.mkdir(parents=True)
    material = TRACKS[track](rng, rng.choice((4, 12, 40, 90)))
    for name, text in material.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    allowed = rng.choice((("json", "json.gz"), ("jsonl", "csv", "parquet", "jsonl.gz", "csv.gz"), CONTAINERS))
    truth = _write_all(folder, "truth", rng, material.truth, rng.choice((0, 0, 0, 0, 0, 1, 3)), allowed)
    teams = [
        _write_all(folder / name, name, rng, material.sent, rng.choice((0, 1, 1, 3, 10)), allowed)
        for name in ("a", "b", "c")
    ]
    for name, value in material.documents.items():
        (folder / "a" / name).write_text(json.dumps(value), encoding="utf-8")
    found = [_run(rng, material, truth, teams, track) for _ in range(runs)]
    (folder / "case.json").write_text(json.dumps({"track": track, "runs": found}), encoding="utf-8")
    return track


class _File(NamedTuple):
    path: str
    contract: str
    container: str


def _write_all(
    folder: Path, name: str, rng: random.Random, collections: Sequence[Collection], faults: int, allowed: Sequence[str]
) -> list[_File]:
    """The collections as files, each in one or several parts."""
    folder.mkdir(exist_ok=True)
    found: list[_File] = []
    for collection in collections:
        spoiled = spoil(rng, collection, faults) if faults else collection
        parts = rng.choice((1, 1, 1, 1, 2, 3))
        borders = sorted(rng.randrange(len(spoiled.records) + 1) for _ in range(parts - 1))
        for number, (start, end) in enumerate(
            zip([0, *borders], [*borders, len(spoiled.records)], strict=True)
        ):  # fmt: skip
            part = spoiled._replace(records=spoiled.records[start:end])
            container = rng.choice([each for each in containers_of(collection) if each in allowed])
            path = folder / f"{name}-{collection.contract.rpartition('/')[2]}-{number}.{container}"
            path.write_bytes(content(rng, part, container))
            shown = path.name if name == "truth" else f"{name}/{path.name}"
            found.append(_File(shown, collection.contract, container))
    return found


def _run(
    rng: random.Random, material: Material, truth: Sequence[_File], teams: Sequence[Sequence[_File]], track: str
) -> Run:
    command = rng.choice(("validate", "validate", "score", "score", "score", "leaderboard", "preflight"))
    says = rng.random() < 0.8  # otherwise, the contract is recognized

    def named(file: _File) -> str:
        return f"{file.contract}={file.path}" if says else file.path

    team = rng.choice(teams)
    if command == "leaderboard":
        given = [named(truth[0]), *(name for name, _ in zip("abc", range(rng.choice((1, 2, 3))), strict=False))]
        read = [*truth[:1], *(file for each in teams for file in each)]
    elif command == "validate":
        read = [*truth, *team]
        given = [named(file) for file in read]
    else:
        read = [*truth, *team]
        given = [named(file) for file in truth] + (["a"] if rng.random() < 0.2 else [named(file) for file in team])
    options = [*material.options, *_options(rng, command, track)]
    if command != "validate" and not any("json" in file.container.split(".") for file in read):
        for name, value in header_of(material.sent[0]).items():
            options += ["--set", f"{name}={value}"]
    containers = tuple(dict.fromkeys(file.container for file in read))
    return Run(command, containers, (command, *given, *options))


def _options(rng: random.Random, command: str, track: str) -> Iterator[str]:
    formats = {"validate": ("text", "text", "json", "json", "sarif", "junit", "markdown", "csv", "github")}
    shown = formats.get(command, ("text", "text", "json", "json", "markdown", "html"))
    yield from ("--format", rng.choice(shown))
    if command != "leaderboard":
        if rng.random() < 0.4:
            yield "--show-values"
        if rng.random() < 0.4:
            yield from ("--max-problems", rng.choice(("0", "1", "3", "20")))
    if command != "validate" and rng.random() < 0.3:
        yield "--participant"
    if command == "score" and rng.random() < 0.3:
        yield "--breakdown" if track in ("benchmark", "extraction") else "--result-only"
    if command != "validate" and rng.random() < 0.3:
        yield from ("--parameter", "min_processed=0")
    if command == "leaderboard" and rng.random() < 0.3:
        yield from ("--reports", "feedback")
    for option, share in (("--strict", 0.1), ("--quiet", 0.1)):
        if rng.random() < share:
            yield option
    if rng.random() < 0.2:
        yield from ("--max-record", rng.choice(("100", "500", "5000")))
    if command in ("score", "preflight") and rng.random() < 0.3:
        yield from ("--intervals", "--parameter", "resamples=100")


# --- engines ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def using(name: str, workers: int, client: Any = None) -> Iterator[tuple[str, ...]]:
    """Run commands on an engine. Returns the options that they need for it."""
    with contextlib.ExitStack() as stack:
        if name == "pickled":
            stack.enter_context(_replaced(CallOptions, "pool", _as_engine(Pickled(workers))))
        elif name == "spawned":
            for module in (processes, pool):
                stack.enter_context(_replaced(module, "can_fork", lambda: False))
        elif name == "dask":
            from medcontract.parallel import dask_pool

            @contextlib.contextmanager
            def connected(*_: object) -> Iterator[Any]:
                yield client

            stack.enter_context(_replaced(dask_pool, "connected", connected))
        yield {"dask": ("--engine", "dask"), "jobs 3": ("--jobs", "3")}.get(
            name, ("--jobs", "2") if name in ("jobs 2", "spawned") else ("--jobs", "1")
        )


def _as_engine(chosen: pool.Pool) -> Any:
    @contextlib.contextmanager
    def replacement(*_: object) -> Iterator[pool.Pool]:
        yield chosen

    return replacement


@contextlib.contextmanager
def _replaced(module: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


@contextlib.contextmanager
def _cut_at_random(rng: random.Random, few: bool) -> Iterator[None]:
    """Tiny chunks; also in small blocks, so that borders of blocks are between all characters."""
    smallest = rng.choice((40, 90, 200, 333, 1000))
    sizes = {
        "SMALLEST": smallest, "LARGEST": smallest * rng.choice((10, 1000) if few else (1, 2, 5, 1000)),
        "_BLOCK": rng.choice((5, 64, 1 << 20)),
    }  # fmt: skip
    with contextlib.ExitStack() as stack:
        for name, size in sizes.items():
            stack.enter_context(_replaced(chunks, name, size))
        yield


def outcome(run: Sequence[Any], name: str, seed: str, client: Any = None) -> list[Any]:
    """What a command does in the current folder: exit code, output, and the files that it writes."""
    command, _, given = run
    shutil.rmtree("feedback", ignore_errors=True)
    rng = random.Random(f"{seed} {name}")
    with using(name, rng.randrange(2, 6), client) as options, _cut_at_random(rng, name in _SLOW):
        here = () if command == "preflight" and name == "dask" else options
        ran = call([*given, *here])
    written = {str(path): path.read_text(encoding="utf-8") for path in sorted(Path("feedback").glob("*"))}
    return [ran.code, ran.out, ran.err, written]


def outcomes(folder: Path, name: str, client: Any = None) -> list[list[Any]]:
    """The outcomes of all commands of a case, in a child process: it is forked, so that nothing is left behind."""
    if client is not None:  # has threads, which are lost in a child
        return _outcomes(folder, name, client)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            with open(write, "wb") as stream:
                stream.write(pickle.dumps(_outcomes(folder, name)))
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as stream:
        data = stream.read()
    os.waitpid(child, 0)
    found: list[list[Any]] = pickle.loads(data)  # noqa: S301  # from the child
    return found


def _outcomes(folder: Path, name: str, client: Any = None) -> list[list[Any]]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        runs = json.loads(Path("case.json").read_text(encoding="utf-8"))["runs"]
        return [outcome(run, name, f"{folder.name} {number}", client) for number, run in enumerate(runs)]
    finally:
        os.chdir(before)


# --- the campaign ----------------------------------------------------------------------------------


def serve(name: str, folder: Path, cases: Sequence[int]) -> None:
    """Run all cases on an engine, and write the outcomes to a file."""
    with contextlib.ExitStack() as stack:
        client = None
        if name == "dask":
            from medcontract.parallel.dask_pool import connected

            client = stack.enter_context(connected(None, 2))
        for number in cases:
            found = outcomes(folder / f"{number}", name, client)
            target = folder / f"{number}" / f"{name}.outcomes"
            target.write_bytes(pickle.dumps(found))


class Table:
    """Runs that were compared, and those that differ, by track, command, engine and container."""

    def __init__(self) -> None:
        self.compared: Counter[tuple[str, ...]] = Counter()
        self.different: Counter[tuple[str, ...]] = Counter()

    def add(self, track: str, run: Sequence[Any], name: str, same: bool) -> None:
        command, containers, _ = run
        for container in containers:
            for key in ((track, command, name, container), ("all", "all", name, container)):
                self.compared[key] += 1
                self.different[key] += not same
        self.compared[("runs", name)] += 1
        self.different[("runs", name)] += not same

    def text(self) -> str:
        names = [name for name in ENGINES if name != "one process"]
        lines = [f"{'track':<12}{'command':<13}{'container':<12}" + "".join(f"{name:>14}" for name in names)]
        rows = sorted({(key[0], key[1], key[3]) for key in self.compared if len(key) == 4})
        for track, command, container in rows:
            cells = [self._cell((track, command, name, container)) for name in names]
            lines.append(f"{track:<12}{command:<13}{container:<12}" + "".join(f"{cell:>14}" for cell in cells))
        totals = [self._cell(("runs", name)) for name in names]
        lines.append(f"{'commands':<37}" + "".join(f"{cell:>14}" for cell in totals))
        return "\n".join(lines)

    def _cell(self, key: tuple[str, ...]) -> str:
        different = self.different[key]
        return f"{self.compared[key]:,}" + (f" ({different} differ)" if different else "")


def compare(folder: Path, number: int, name: str, table: Table) -> list[str]:
    """Compare an engine with one process. Returns what differs."""
    case = folder / f"{number}"
    track, runs = (json.loads((case / "case.json").read_text(encoding="utf-8"))[key] for key in ("track", "runs"))
    expected, found = (
        pickle.loads((case / f"{each}.outcomes").read_bytes())  # noqa: S301  # written by this program
        for each in ("one process", name)
    )
    differ = []
    for place, (run, one, other) in enumerate(zip(runs, expected, found, strict=True)):
        table.add(track, run, name, one == other)
        if one != other:
            differ.append(f"case {number}, run {place}, {name}: {' '.join(run[2])}\n{_difference(one, other)}")
    return differ


def _difference(one: Sequence[Any], other: Sequence[Any]) -> str:
    """The first line that differs."""
    for what, mine, theirs in zip(("exit code", "output", "errors", "files"), one, other, strict=True):
        if mine == theirs:
            continue
        pairs = zip_longest(str(mine).splitlines(), str(theirs).splitlines(), fillvalue="")
        first = next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
        return f"  {what}\n    one process: {first[0][:300]}\n    engine:      {first[1][:300]}"
    return ""


def campaign(seed: int, first: int, count: int, names: Sequence[str], keep: Path | None) -> int:
    """Write cases, run them on all engines, and print the table. Returns the number of differences."""
    table, differ = Table(), []
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        numbers = range(first, first + count)
        for number in numbers:
            write_case(folder / f"{number}", f"{seed} {number}")
        chosen = {name: [n for n in numbers if (n - first) % ENGINES[name] == 0] for name in ("one process", *names)}
        for name, cases in chosen.items():
            started = time.monotonic()
            subprocess.run(  # noqa: S603  # this module
                [sys.executable, "-m", "fuzz.engines", "--serve", name, "--folder", str(folder), "--cases",
                 ",".join(map(str, cases))], check=True,
            )  # fmt: skip
            print(f"{name}: {len(cases):,} cases, {time.monotonic() - started:,.0f} s", file=sys.stderr)
            if name != "one process":
                found = [line for number in cases for line in compare(folder, number, name, table)]
                print("\n".join(found), end="\n" if found else "", flush=True)
                differ += found
    print(table.text())
    print(f"{len(differ):,} differences")
    return len(differ)


def main() -> int:
    parser = argparse.ArgumentParser(prog="script/equality", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--count", type=int, default=200, help="the number of cases, of five commands each")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case, to repeat one of them")
    parser.add_argument("--engine", action="append", choices=[name for name in ENGINES if name != "one process"])
    parser.add_argument("--keep", type=Path, help="keep the files in this folder")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--cases", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.folder, list(map(int, given.cases.split(","))))
        return 0
    names = given.engine or [name for name in ENGINES if name != "one process"]
    return 1 if campaign(given.seed, given.first, given.count, names, given.keep) else 0


if __name__ == "__main__":
    sys.exit(main())
