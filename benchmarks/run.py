"""Measure whole commands side by side and print a Markdown table a file.

python benchmarks/run.py [--repeats N] [--files NAME ...]

The repeats are interleaved (one of each command, then again), so that a slow spell of the machine falls on all of them.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parent
PEERS = HERE / "peers"
MEDCONTRACT = (sys.executable, "-m", "medcontract")
SMALL_FILE = "reports_small.json"


class Subject(NamedTuple):
    """A data file, the peers' name for its kind, and the contract it keeps."""

    name: str
    kind: str
    contract: str


TRUTHS = {
    "triage_100mb.json": "triage_100mb_gt.json",
    "lesions_1m.jsonl": "lesions_1m_truth.csv",
    "prescriptions_100k.jsonl": "prescriptions_100k_labels.jsonl",
    "answers_20k.jsonl": "answers_20k_references.jsonl",
}
"""What a file is scored against."""


class Command(NamedTuple):
    label: str
    argv: Sequence[str]
    well: tuple[int, ...] = (0,)
    """The exit codes that are no failure."""


class Sample(NamedTuple):
    """One run of one command."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    exit_code: int
    complaint: str


SUBJECTS = (
    Subject("triage_10mb.json", "triage", "triage/response"),
    Subject("triage_100mb.json", "triage", "triage/response"),
    Subject("triage_gt.json", "", "triage/ground-truth"),
    Subject("lesions_100k.jsonl", "lesions", "lesions/predictions"),
    Subject("lesions_100k.csv", "", "lesions/predictions"),
    Subject("lesions_1m.jsonl", "lesions", "lesions/predictions"),
    Subject("prescriptions_100k.jsonl", "", "extraction/prescription-predictions"),
    Subject("prescriptions_100k.jsonl.gz", "", "extraction/prescription-predictions"),
    Subject("answers_20k.jsonl", "", "benchmark/predictions"),
)


def python_peer(script: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, str(PEERS / script), *arguments)


def ajv_command(subject: Subject, path: Path) -> Iterable[Command]:
    """The ajv row, where node, ajv and the schema are there and ajv reads the container."""
    node = shutil.which("node")
    published = ROOT / "schemas" / subject.contract / ("v1.record.json" if path.suffix == ".jsonl" else "v1.json")
    installed = (ROOT / "tests" / "node" / "node_modules" / "ajv").is_dir()
    if node and installed and published.is_file() and path.suffix in (".json", ".jsonl"):
        yield Command("ajv script (node)", (node, str(PEERS / "ajv_script.mjs"), str(published), str(path)))


def commands_for(subject: Subject, path: Path) -> list[Command]:
    """The yardstick first."""
    yardstick = "csv_script.py" if path.suffix == ".csv" else "orjson_script.py"
    commands = [Command(yardstick, python_peer(yardstick, str(path)))]
    if subject.kind:
        commands += [
            Command(script, python_peer(script, subject.kind, str(path)))
            for script in ("msgspec_script.py", "pydantic_script.py")
        ]
    commands += ajv_command(subject, path)
    commands.append(Command("medcontract validate", (*MEDCONTRACT, "validate", str(path))))
    truth = path.with_name(TRUTHS[path.name]) if path.name in TRUTHS else None
    if truth is not None and truth.is_file():
        model = ("--set", "model_id=m") if subject.contract.startswith("benchmark/") else ()
        score = (*MEDCONTRACT, "score", str(truth), str(path), *model)
        well = (0, 1) if subject.contract.startswith("extraction/") else (0,)  # without evidence it is NO-GO
        commands.append(Command("medcontract score", score, well))
        commands.append(Command("medcontract score --jobs 2", (*score, "--jobs", "2"), well))
    return commands


def start_up_commands(small: Path) -> list[Command]:
    """What a command costs before it does anything. The yardstick first."""
    return [
        Command("orjson_script.py", python_peer("orjson_script.py", str(small))),
        Command("python -c pass", (sys.executable, "-c", "pass")),
        Command("medcontract --version", (*MEDCONTRACT, "--version")),
        Command("pydantic_script.py", python_peer("pydantic_script.py", "reports", str(small))),
        Command("msgspec_script.py", python_peer("msgspec_script.py", "reports", str(small))),
        Command("medcontract validate", (*MEDCONTRACT, "validate", str(small))),
    ]


def run_once(command: Command) -> Sample:
    """Run the command to its end. A child's peak memory is never below that of this process, which is small."""
    with tempfile.TemporaryFile() as complaints:
        started = time.perf_counter()
        child = subprocess.Popen(command.argv, stdout=subprocess.DEVNULL, stderr=complaints)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        complaints.seek(0)
        complaint = complaints.read().decode(errors="replace").strip()[-500:]
    bytes_in_unit = 1 if sys.platform == "darwin" else 1024
    peak_mb = usage.ru_maxrss * bytes_in_unit / 1e6
    return Sample(seconds, usage.ru_utime + usage.ru_stime, peak_mb, child.returncode, complaint)


def measure(commands: Sequence[Command], repeats: int) -> list[list[Sample]]:
    """Samples by command: one warm-up round that is not counted, then `repeats` rounds."""
    samples: list[list[Sample]] = [[] for _ in commands]
    for round_number in range(repeats + 1):
        for command, kept in zip(commands, samples, strict=True):
            sample = run_once(command)
            if round_number:
                kept.append(sample)
    return samples


def failure(command: Command, samples: Sequence[Sample]) -> Sample | None:
    return next((sample for sample in samples if sample.exit_code not in command.well), None)


def row(command: Command, samples: Sequence[Sample], yardstick: float) -> str:
    label = command.label
    if failed := failure(command, samples):
        return f"| {label} | exit code {failed.exit_code} | | | | |"
    seconds = [sample.seconds for sample in samples]
    median = statistics.median(seconds)
    cpu_seconds = statistics.median(sample.cpu_seconds for sample in samples)
    peak_mb = statistics.median(sample.peak_mb for sample in samples)
    spread = f"{min(seconds):.3f} to {max(seconds):.3f}"
    return f"| {label} | {median:.3f} | {spread} | {median / yardstick:.2f} | {cpu_seconds:.3f} | {peak_mb:.0f} |"


def table(title: str, commands: Sequence[Command], repeats: int) -> bool:
    """Measure and print; whether every command ended well."""
    results = list(zip(commands, measure(commands, repeats), strict=True))
    yardstick, yardstick_samples = results[0]
    unit = statistics.median(sample.seconds for sample in yardstick_samples)
    print(f"\n### {title}\n")
    print(f"| command | median s | from, to s | ratio to {yardstick.label} | CPU s | peak MB |")
    print("|---|---:|---:|---:|---:|---:|")
    for command, samples in results:
        print(row(command, samples, unit))
    well = True
    for command, samples in results:
        if failed := failure(command, samples):
            well = False
            print(f"{command.label}: exit code {failed.exit_code}: {failed.complaint}", file=sys.stderr)
    sys.stdout.flush()
    return well


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure medcontract and its peers on the files of generate.py.")
    parser.add_argument("--repeats", type=int, default=5, help="counted runs of each command (default: %(default)s)")
    parser.add_argument("--data", type=Path, default=HERE / "data", help="folder (default: %(default)s)")
    names = [SMALL_FILE, *(subject.name for subject in SUBJECTS)]
    parser.add_argument("--files", nargs="+", choices=names, metavar="NAME", help=f"some of: {', '.join(names)}")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error("--repeats must be at least 1")
    wanted = options.files or [name for name in names if (options.data / name).is_file()]
    missing = [name for name in wanted if not (options.data / name).is_file()]
    if missing or not wanted:
        parser.error(f"no {', '.join(missing or names)} in {options.data}: run benchmarks/generate.py first")

    print(
        f"{platform.python_implementation()} {platform.python_version()}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} processors; medians of {options.repeats} interleaved runs."
    )
    well = True
    if SMALL_FILE in wanted:
        small = options.data / SMALL_FILE
        well &= table(f"start-up, {small.stat().st_size / 1e3:.0f} kB", start_up_commands(small), options.repeats)
    for subject in SUBJECTS:
        if subject.name in wanted:
            path = options.data / subject.name
            title = f"{path.name}, {path.stat().st_size / 1e6:.1f} MB"
            well &= table(title, commands_for(subject, path), options.repeats)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
