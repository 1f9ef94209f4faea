"""Record the output of all commands, and compare two recordings: regression tests for refactoring.

script/safety-net corpus DIR                 create the inputs: vectors, examples, random submissions with a fixed seed
script/safety-net record DIR OUT             run all commands on them; OUT is a .jsonl.gz with one line per run
script/safety-net compare OLD NEW            show differences; exit code 1 if there are any
                                             (--ignore-wording: ignore messages, compare figures, codes and structure)

The inputs are created once and used for all recordings, so that two versions of the package read the same bytes.
To record another version: script/safety-net record DIR OUT --python PATH_TO_A_PYTHON_THAT_HAS_IT
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gzip
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "src" / "medcontract" / "examples"
VECTORS = ROOT / "conformance" / "files"
TRACKS = ("benchmark", "extraction", "lesions", "reports", "triage")
TRUTH_FILES = ("truth", "ground-truth", "references", "labels", "cases", "inventory", "manifest", "lexicon")
WORDING = frozenset(
    {"message", "hint", "reasons", "warnings", "detail", "title", "about", "description", "reason", "kind", "meaning"}
)
"""Keys of JSON output whose values are messages."""


class Run(NamedTuple):
    """One call of the command line."""

    id: str
    arguments: tuple[str, ...]
    folder: str
    """The working directory, relative to the corpus."""


# --- the corpus ---------------------------------------------------------------------------------------------------


def make_corpus(target: Path, submissions: int, seed: int) -> None:
    if target.exists():
        raise SystemExit(f"{target} already exists")
    shutil.copytree(VECTORS, target / "vectors")
    shutil.copytree(EXAMPLES, target / "examples")
    shutil.copytree(ROOT / "examples", target / "more-examples")
    shutil.copytree(ROOT / "schemas", target / "schemas")
    old = target / "schemas-changed"
    shutil.copytree(ROOT / "schemas", old)
    for path in sorted(old.rglob("v1.json"))[::5]:
        path.write_text(path.read_text(encoding="utf-8").replace('"minimum": 0', '"minimum": 1'), encoding="utf-8")
    for number in range(submissions):
        track = TRACKS[number % len(TRACKS)]
        mutate_submission(target / "generated" / f"{number:05d}-{track}", track, random.Random(seed * 100_003 + number))
    print(f"{sum(path.is_file() for path in target.rglob('*')):,} files in {target}")


def mutate_submission(folder: Path, track: str, rng: random.Random) -> None:
    """A copy of the example files of a track with up to four random changes, most of them harmful."""
    shutil.copytree(EXAMPLES / track, folder)
    for _ in range(rng.choice((0, 1, 1, 2, 3, 4))):
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        spare_truth = rng.random() < 0.8
        files = [path for path in files if not (spare_truth and is_truth(path, folder))]
        if not files:
            return
        path = rng.choice(files)
        change: Callable[[Path, random.Random], None] = rng.choice(
            (change_records, change_records, change_records, change_records, change_records, change_bytes, change_file)
        )
        change(path, rng)


def is_truth(path: Path, folder: Path) -> bool:
    """Whether it is a file of the organizer. Most changes spare these, so that scores stay comparable."""
    return path.relative_to(folder).as_posix().startswith(TRUTH_FILES)


def change_file(path: Path, rng: random.Random) -> None:
    what = rng.randrange(4)
    if what == 0:
        path.unlink()
    elif what == 1:
        path.with_name(f"{path.stem}-2{path.suffix}").write_bytes(path.read_bytes())
    elif what == 2:
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()
    else:
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())


def change_bytes(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    if not data:
        return
    place = rng.randrange(len(data))
    what = rng.randrange(4)
    if what == 0:
        del data[place:]
    elif what == 1:
        data[place] = rng.randrange(256)
    elif what == 2:
        del data[place]
    else:
        data[place:place] = rng.choice((b",", b"\n", b'"', b"NaN", b"\\ud800", b"}", b"\xff"))
    path.write_bytes(bytes(data))


def change_records(path: Path, rng: random.Random) -> None:
    """Change one record of a readable file, and keep the others."""
    with contextlib.suppress(ValueError, UnicodeDecodeError):
        if path.suffix == ".csv":
            rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"))))
            body = change_list([dict(zip(rows[0], row, strict=False)) for row in rows[1:]], rng)
            names = list(dict.fromkeys([*rows[0], *(name for row in body for name in row)]))
            out = io.StringIO()
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(names)
            writer.writerows([[row.get(name, "") for name in names] for row in body])
            path.write_text(out.getvalue(), encoding="utf-8")
        elif path.suffix == ".jsonl":
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
            changed = change_list(lines, rng)
            path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in changed), encoding="utf-8")
        elif path.suffix == ".json":
            data = json.loads(path.read_text(encoding="utf-8-sig"))
            path.write_text(json.dumps(change_document(data, rng), ensure_ascii=False, indent=1), encoding="utf-8")


def change_document(data: Any, rng: random.Random) -> Any:
    if not isinstance(data, dict):
        return data
    lists = [key for key, value in data.items() if isinstance(value, list) and value]
    if lists and rng.random() < 0.85:
        key = rng.choice(lists)
        data[key] = change_list(data[key], rng)
        return data
    return change_value(data, rng)


def change_list(records: list[Any], rng: random.Random) -> list[Any]:
    records = list(records)
    if not records:
        return records
    place = rng.randrange(len(records))
    what = rng.randrange(8)
    if what == 0:
        del records[place]
    elif what == 1:
        records.insert(rng.randrange(len(records) + 1), records[place])
    elif what == 2:
        rng.shuffle(records)
    elif what == 3:
        records = records[: rng.randrange(len(records)) + 1]
    else:
        records[place] = change_value(json.loads(json.dumps(records[place])), rng)
    return records


def change_value(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict) and value:
        key = rng.choice(sorted(value))
        what = rng.randrange(12)
        if what == 0:
            value.pop(key)
        elif what == 1:
            value[key + rng.choice(("s", "_", "x"))] = value.pop(key)
        elif what == 2:
            value[rng.choice(("note", "error", "exception", "run_id"))] = rng.choice(("", "failed", None, "2"))
        else:
            value[key] = change_value(value[key], rng)
        return value
    if isinstance(value, list) and value and rng.random() < 0.8:
        return change_list(value, rng)
    return change_scalar(value, rng)


def change_scalar(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return rng.choice((not value, not value, "true", None))
    if isinstance(value, int | float):
        return rng.choice((value + 1, value * 0.5, -value, str(value), 0, 1e300, value))
    if isinstance(value, str):
        others: tuple[Any, ...] = (
            value.lower(),
            value.upper(),
            value + " ",
            f" {value}",
            value[:-1],
            value + "x",
            "",
            1,
        )
        return rng.choice(others)
    return rng.choice((value, None, 0, "x", []))


# --- runs ---------------------------------------------------------------------------------------------------------


def runs(corpus: Path) -> Iterator[Run]:
    yield from of_help()
    yield from of_vectors(corpus)
    yield from of_sets(corpus)
    yield from of_examples()
    yield from of_generated(corpus)
    yield from of_other_commands()


def of_help() -> Iterator[Run]:
    commands = ["", "validate", "preflight", "score", "leaderboard", "compare", "normalize", "explain", "init"]
    commands += ["protocol", "protocol list", "protocol show", "schema"]
    commands += [f"schema {name}" for name in ("list", "show", "export", "check", "diff")]
    for command in commands:
        yield Run(f"help {command}", (*command.split(), "--help"), ".")


def of_vectors(corpus: Path) -> Iterator[Run]:
    for path in sorted((corpus / "vectors").rglob("*")):
        if path.is_file() and path.suffix in (".json", ".jsonl", ".csv"):  # an old corpus may also contain manifests
            name = path.relative_to(corpus).as_posix()
            yield Run(f"validate json {name}", ("validate", "--format", "json", name), ".")
            yield Run(f"validate text {name}", ("validate", "--show-values", name), ".")


def of_sets(corpus: Path) -> Iterator[Run]:
    for folder in sorted((corpus / "vectors" / "between").iterdir()):
        yield from of_submission(f"vectors/between/{folder.name}", ("text", "json"))


def of_submission(name: str, formats: Iterable[str], participant: bool = False) -> Iterator[Run]:
    """Preflight and score of one folder, run in its parent folder."""
    folder, _, base = name.rpartition("/")
    more = ("--participant",) if participant else ()
    for kind in formats:
        options = ("--format", kind, *more)
        if kind != "markdown":
            yield Run(f"preflight {kind} {name}", ("preflight", base, *options), folder)
        yield Run(f"score {kind} {name}", ("score", base, *options), folder)


def of_examples() -> Iterator[Run]:
    for track in TRACKS:
        name = f"examples/{track}"
        yield from of_submission(name, ("text", "json", "markdown"))
        yield Run(f"score participant {name}", ("score", track, "--participant"), "examples")
        yield Run(f"preflight participant {name}", ("preflight", track, "--participant"), "examples")
        for jobs in ("1", "2"):
            yield Run(f"score jobs {jobs} {name}", ("score", track, "--jobs", jobs, "--format", "json"), "examples")
        yield Run(f"score result {name}", ("score", track, "--result-only"), "examples")
        yield Run(f"score gate {name}", ("score", track, "--parameter", "min_processed=0"), "examples")
        yield Run(f"validate {name}", ("validate", track), "examples")
        yield Run(f"protocol show {track}", ("protocol", "show", track), ".")
        yield Run(f"protocol show json {track}", ("protocol", "show", track, "--format", "json"), ".")
        yield Run(f"init {track}", ("init", track, f"../init/{track}", "--force"), "examples")


def of_generated(corpus: Path) -> Iterator[Run]:
    names = sorted(path.name for path in (corpus / "generated").iterdir())
    for number, name in enumerate(names):
        kinds = ("json", "text") if number % 10 else ("json", "text", "markdown")
        yield from of_submission(f"generated/{name}", kinds, participant=number % 7 == 3)
    for track in TRACKS:
        own = [name for name in names if name.endswith(f"-{track}")]
        for start in range(0, len(own), 40):
            folders = tuple(f"generated/{name}" for name in own[start : start + 40])
            kind = ("text", "json", "markdown")[start // 40 % 3]
            more = ("--format", kind, *(("--participant",) if start % 120 == 80 else ()))
            for jobs in ("1", "2") if start % 160 == 0 else ("1",):
                yield Run(
                    f"leaderboard {kind} {jobs} {track} {start}",
                    ("leaderboard", f"examples/{track}", *folders, "--jobs", jobs, *more), ".",
                )  # fmt: skip
        for old, new in zip(own[::20], own[10::20], strict=False):
            yield from of_comparison(old, new)


def of_comparison(old: str, new: str) -> Iterator[Run]:
    """Write two scores to files, then compare them."""
    scores = (f"scores/{old}.json", f"scores/{new}.json")
    for name, path in zip((old, new), scores, strict=True):
        arguments = ("score", f"generated/{name}", "--out", path)
        yield Run(f"score out {name}", arguments, ".")
    for kind in ("text", "json", "markdown"):
        yield Run(f"compare {kind} {old} {new}", ("compare", *scores, "--format", kind), ".")


def of_other_commands() -> Iterator[Run]:
    texts = ("Metformína 5,0 mg.", "5 µg", "(4,50 - 8,50)", "> 100", "Positivo (++) *", "x 10⁶/ul", "-14 - -2", ".5 mg")
    yield Run("normalize text", ("normalize", *texts), ".")
    yield Run("normalize json", ("normalize", "--format", "json", *texts), ".")
    yield Run("explain", ("explain",), ".")
    yield Run("explain json", ("explain", "--format", "json"), ".")
    yield Run("explain some", ("explain", "MC104", "201", "302"), ".")
    yield Run("explain wrong", ("explain", "MC99"), ".")
    yield Run("protocol list", ("protocol", "list"), ".")
    yield Run("schema list", ("schema", "list"), ".")
    yield Run("schema list json", ("schema", "list", "--format", "json"), ".")
    yield Run("schema check", ("schema", "check", "schemas"), ".")
    yield Run("schema check changed", ("schema", "check", "schemas-changed"), ".")
    yield Run("schema diff", ("schema", "diff", "schemas", "schemas-changed"), ".")
    yield Run("schema diff json", ("schema", "diff", "schemas-changed", "schemas", "--format", "json"), ".")
    yield Run("schema export", ("schema", "export", "exported"), ".")
    yield Run("schema export 07", ("schema", "export", "exported-07", "--draft", "draft-07"), ".")
    yield Run("schema show", ("schema", "show", "reports/truth"), ".")
    yield Run("wrong command", ("validat", "x.json"), ".")
    yield Run("no file", ("validate", "no-such-file.json"), ".")
    yield Run(
        "validate plugin",
        ("validate", "--plugin", "./more-examples/sepsis/sepsis_challenge.py", "more-examples/sepsis"),
        ".",
    )


# --- recording ----------------------------------------------------------------------------------------------------


def execute(run: Run, corpus: Path) -> dict[str, Any]:
    """Run a command in this process, and capture its output."""
    from medcontract.cli.main import main

    os.chdir(corpus / run.folder)
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    try:
        code: Any = main(list(run.arguments))
    except BaseException as error:  # noqa: BLE001  # recorded as a difference
        code = f"raised {type(error).__name__}: {error}"
    finally:
        sys.stdout, sys.stderr = streams
    texts = []
    for stream in (out, err):
        stream.flush()
        binary = stream.detach()
        texts.append(binary.getvalue().decode("utf-8", "replace"))
    return {"id": run.id, "exit": code, "stdout": texts[0], "stderr": texts[1]}


def record(corpus: Path, out: Path, jobs: int, python: str, step: int) -> None:
    """Each process takes every n-th group of runs; comparisons and the scores that they read are one group."""
    with tempfile.TemporaryDirectory() as folder:
        parts = [Path(folder) / f"{number}.jsonl" for number in range(jobs)]
        work = [Path(folder) / f"corpus-{number}" for number in range(jobs)]
        children = []
        for number, (part, copy) in enumerate(zip(parts, work, strict=True)):
            shutil.copytree(corpus, copy)
            command = (python, str(Path(__file__).resolve()), "_part", str(copy), str(part), str(number), str(jobs))
            children.append(subprocess.Popen((*command, str(step))))
        if any(child.wait() for child in children):
            raise SystemExit("a recording process failed")
        rows = [json.loads(line) for part in parts for line in part.open(encoding="utf-8")]
    rows.sort(key=lambda row: row["id"])
    with gzip.open(out, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows)
    exits = Counter(str(row["exit"]).partition(":")[0] for row in rows)
    print(f"{len(rows):,} runs recorded in {out}; exit codes: {dict(sorted(exits.items()))}")


def record_part(corpus: Path, out: Path, number: int, of: int, step: int) -> None:
    (corpus / "scores").mkdir(exist_ok=True)
    groups: dict[str, list[Run]] = {}
    for run in runs(corpus):
        words = run.id.split()
        key = "compare" if words[0] == "compare" or words[:2] == ["score", "out"] else words[-1]
        groups.setdefault(key, []).append(run)
    chosen = [key for place, key in enumerate(sorted(groups)) if place % of == number]
    chosen = [key for place, key in enumerate(chosen) if place % step == 0 or key == "compare"]
    with out.open("w", encoding="utf-8") as stream:
        for key in chosen:
            for run in groups[key]:
                row = execute(run, corpus)
                for name in ("stdout", "stderr"):
                    row[name] = row[name].replace(str(corpus), "CORPUS")
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")


# --- comparing ----------------------------------------------------------------------------------------------------


def load(path: Path) -> dict[str, dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return {row["id"]: row for row in map(json.loads, stream)}


def without_wording(text: str) -> Any:
    """JSON output without messages. None for other output, which is not compared."""
    try:
        return strip(json.loads(text))
    except ValueError:
        return None


def strip(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: strip(each) for key, each in value.items() if key not in WORDING}
    return [strip(each) for each in value] if isinstance(value, list) else value


def differs(old: dict[str, Any], new: dict[str, Any], ignore_wording: bool) -> list[str]:
    """Which of exit code, standard output and standard error differ."""
    found = ["exit"] if old["exit"] != new["exit"] else []
    for name in ("stdout", "stderr"):
        mine, theirs = old[name], new[name]
        if old["id"].startswith("help "):
            mine, theirs = sorted(options_of(mine)), sorted(options_of(theirs))
        elif ignore_wording:
            mine, theirs = without_wording(mine), without_wording(theirs)
        if mine != theirs:
            found.append(name)
    return found


def options_of(text: str) -> set[str]:
    return {word.strip(",;:.()[]'\"") for word in text.split() if word.startswith("--")}


def compare(old_path: Path, new_path: Path, ignore_wording: bool, most: int) -> int:
    old, new = load(old_path), load(new_path)
    lost, added = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys())
    for title, names in (("only in the old recording", lost), ("only in the new recording", added)):
        print(*(f"{title}: {name}" for name in names[:most]), sep="\n", end="\n" * bool(names))
    found: dict[tuple[str, str], list[str]] = {}
    for name in sorted(old.keys() & new.keys()):
        where = differs(old[name], new[name], ignore_wording)
        if where:
            words = name.split()
            found.setdefault((" ".join(words[:2]), "+".join(where)), []).append(name)
    for (command, parts), names in found.items():
        print(f"\n== {command}: {parts} differs in {len(names):,} runs")
        for name in names[:most]:
            print(f"-- {name}")
            show(old[name], new[name], parts.split("+"))
    total = sum(map(len, found.values())) + len(lost) + len(added)
    print(f"\n{total:,} of {len(old.keys() | new.keys()):,} runs differ.")
    return int(total > 0)


def show(old: dict[str, Any], new: dict[str, Any], where: Iterable[str]) -> None:
    import difflib

    for name in where:
        lines = difflib.unified_diff(
            str(old[name]).splitlines(), str(new[name]).splitlines(), "old", "new", n=0, lineterm=""
        )
        for line in list(lines)[2:14]:
            print(f"   {name}: {line[:220]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    corpus = commands.add_parser("corpus")
    corpus.add_argument("dir", type=Path)
    corpus.add_argument("--submissions", type=int, default=2000)
    corpus.add_argument("--seed", type=int, default=1)
    recorder = commands.add_parser("record")
    recorder.add_argument("dir", type=Path)
    recorder.add_argument("out", type=Path)
    recorder.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    recorder.add_argument("--python", default=sys.executable)
    recorder.add_argument("--step", type=int, default=1, help="only take every n-th group of runs, for a quick check")
    part = commands.add_parser("_part")
    for name in ("dir", "out"):
        part.add_argument(name, type=Path)
    for name in ("number", "of", "step"):
        part.add_argument(name, type=int)
    comparer = commands.add_parser("compare")
    comparer.add_argument("old", type=Path)
    comparer.add_argument("new", type=Path)
    comparer.add_argument("--ignore-wording", action="store_true")
    comparer.add_argument("--most", type=int, default=3, help="how many runs of each kind to show")
    given = parser.parse_args()
    if given.command == "corpus":
        make_corpus(given.dir, given.submissions, given.seed)
    elif given.command == "record":
        record(given.dir.resolve(), given.out, given.jobs, given.python, given.step)
    elif given.command == "_part":
        record_part(given.dir, given.out, given.number, given.of, given.step)
    else:
        return compare(given.old, given.new, given.ignore_wording, given.most)
    return 0


if __name__ == "__main__":
    sys.exit(main())
