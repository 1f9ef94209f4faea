"""Compare validators: measure complete commands, and print a Markdown table per file.

python -m benchmarks.files [--repeats N] [--files NAME ...]

The repeats are interleaved (one of each command, then again), so that temporary load affects all
of them.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import HERE, MEDCONTRACT, PEERS, Command, Measured, measure, python_peer

ROOT = HERE.parent
SMALL_FILE = "reports_small.json"


class Subject(NamedTuple):
    """A data file, the name of its kind in the peer scripts, and its contract."""

    name: str
    kind: str
    contract: str


TRUTHS = {
    "triage_100mb.json": "triage_100mb_gt.json",
    "lesions_1m.jsonl": "lesions_1m_truth.csv",
    "challenge_1m.jsonl": "challenge_1m_truth.csv",
    "prescriptions_100k.jsonl": "prescriptions_100k_labels.jsonl",
    "answers_20k.jsonl": "answers_20k_references.jsonl",
}
"""The truth of each file that is scored."""


CHALLENGES = {"challenge_1m.jsonl": "challenge_1m.toml"}
"""The challenge of each file that does not belong to a built-in track."""
COMPARED = {"challenge_1m.jsonl": "lesions_1m.jsonl"}
"""The file of a built-in track that is scored in the same table, if it exists."""


SUBJECTS = (
    Subject("triage_10mb.json", "triage", "triage/response"),
    Subject("triage_100mb.json", "triage", "triage/response"),
    Subject("triage_gt.json", "", "triage/ground-truth"),
    Subject("lesions_100k.jsonl", "lesions", "lesions/predictions"),
    Subject("lesions_100k.csv", "", "lesions/predictions"),
    Subject("lesions_1m.jsonl", "lesions", "lesions/predictions"),
    Subject("challenge_1m.jsonl", "", "skin/predictions"),
    Subject("prescriptions_100k.jsonl", "", "extraction/prescription-predictions"),
    Subject("prescriptions_100k.jsonl.gz", "", "extraction/prescription-predictions"),
    Subject("answers_20k.jsonl", "", "benchmark/predictions"),
)


def ajv_command(subject: Subject, path: Path) -> Iterable[Command]:
    """The ajv row, if node, ajv and the schema are available and ajv supports the container."""
    node = shutil.which("node")
    published = ROOT / "schemas" / subject.contract / ("v1.record.json" if path.suffix == ".jsonl" else "v1.json")
    installed = (ROOT / "tests" / "node" / "node_modules" / "ajv").is_dir()
    if node and installed and published.is_file() and path.suffix in (".json", ".jsonl"):
        yield Command("ajv script (node)", (node, str(PEERS / "ajv_script.mjs"), str(published), str(path)))


def commands_for(subject: Subject, path: Path) -> list[Command]:
    """The commands to compare, starting with the baseline."""
    baseline = "csv_script.py" if path.suffix == ".csv" else "orjson_script.py"
    commands = [Command(baseline, python_peer(baseline, str(path)))]
    if subject.kind:
        commands += [
            Command(script, python_peer(script, subject.kind, str(path)))
            for script in ("msgspec_script.py", "pydantic_script.py")
        ]
    commands += ajv_command(subject, path)
    challenge: Sequence[str] = ()
    if path.name in CHALLENGES:
        challenge = ("--challenge", str(path.with_name(CHALLENGES[path.name])))
    validate = (*MEDCONTRACT, "validate", str(path), *challenge)
    commands.append(Command("medcontract validate", validate))
    commands += score_commands(subject, path, challenge)
    if path.name in COMPARED and (other := path.with_name(COMPARED[path.name])).is_file():
        score = (*MEDCONTRACT, "score", str(other.with_name(TRUTHS[other.name])), str(other))
        commands.append(Command(f"medcontract score, {other.name}", score))
    return commands


def score_commands(subject: Subject, path: Path, options: Sequence[str]) -> list[Command]:
    """The commands that score a file, with one and two processes, if there is a truth."""
    commands = []
    truth = path.with_name(TRUTHS[path.name]) if path.name in TRUTHS else None
    if truth is not None and truth.is_file():
        model = ("--set", "model_id=m") if subject.contract.startswith("benchmark/") else ()
        score = (*MEDCONTRACT, "score", str(truth), str(path), *model, *options)
        success = (0, 1) if subject.contract.startswith("extraction/") else (0,)  # without evidence it is NO-GO
        commands.append(Command("medcontract score", score, success))
        commands.append(Command("medcontract score --jobs 2", (*score, "--jobs", "2"), success))
    return commands


def start_up_commands(small: Path) -> list[Command]:
    """Commands that measure start-up time, starting with the baseline."""
    return [
        Command("orjson_script.py", python_peer("orjson_script.py", str(small))),
        Command("python -c pass", (sys.executable, "-c", "pass")),
        Command("medcontract --version", (*MEDCONTRACT, "--version")),
        Command("pydantic_script.py", python_peer("pydantic_script.py", "reports", str(small))),
        Command("msgspec_script.py", python_peer("msgspec_script.py", "reports", str(small))),
        Command("medcontract validate", (*MEDCONTRACT, "validate", str(small))),
    ]


def row(measured: Measured, baseline: float) -> str:
    label = measured.command.label
    if failed := measured.failure():
        return f"| {label} | exit code {failed.exit_code} | | | | |"
    median, (fastest, slowest), peak = measured.seconds(), measured.spread(), measured.first.peak_mb
    memory = "" if peak is None else f"{peak:.0f}"
    return (
        f"| {label} | {median:.3f} | {fastest:.3f} to {slowest:.3f} | {median / baseline:.2f} "
        f"| {measured.cpu_seconds():.3f} | {memory} |"
    )


def table(title: str, commands: Sequence[Command], repeats: int) -> bool:
    """Measure and print. Returns whether all commands succeeded."""
    results = measure(commands, repeats)
    baseline = results[0]
    print(f"\n### {title}\n")
    print(f"| command | median s | from, to s | ratio to {baseline.command.label} | CPU s | peak MB |")
    print("|---|---:|---:|---:|---:|---:|")
    for measured in results:
        print(row(measured, baseline.seconds()))
    failures = [(measured.command, failed) for measured in results if (failed := measured.failure())]
    for command, failed in failures:
        print(f"{command.label}: exit code {failed.exit_code}: {failed.error}", file=sys.stderr)
    sys.stdout.flush()
    return not failures


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure medcontract and its peers on the files of generate.py.")
    parser.add_argument("--repeats", type=int, default=5, help="counted runs of each command (default: %(default)s)")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="folder (default: %(default)s)")
    names = [SMALL_FILE, *(subject.name for subject in SUBJECTS)]
    parser.add_argument(
        "--files", nargs="+", choices=names, metavar="NAME", help=f"only these files, out of: {', '.join(names)}"
    )
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error("--repeats must be at least 1")
    wanted = options.files or [name for name in names if (options.data / name).is_file()]
    missing = [name for name in wanted if not (options.data / name).is_file()]
    if missing or not wanted:
        parser.error(f"{options.data} has no {', '.join(missing or names)}: run benchmarks/generate.py first")

    print(
        f"{platform.python_implementation()} {platform.python_version()}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} CPUs; medians of {options.repeats} interleaved runs."
    )
    succeeded = True
    if SMALL_FILE in wanted:
        small = options.data / SMALL_FILE
        succeeded &= table(f"start-up, {small.stat().st_size / 1e3:.0f} kB", start_up_commands(small), options.repeats)
    for subject in SUBJECTS:
        if subject.name in wanted:
            path = options.data / subject.name
            title = f"{path.name}, {path.stat().st_size / 1e6:.1f} MB"
            succeeded &= table(title, commands_for(subject, path), options.repeats)
    return 0 if succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
