"""Run every entry point on broken input, and check that only problems are reported.

script/fuzz [--inputs 200000] [--jobs 2] [--seed 1] [--seconds 20] [--entrance NAME] [--only NUMBER]

An input is a finding if an exception or a warning escapes, if results are inconsistent, if it takes longer than
--seconds, or if memory runs out. Findings are written to fuzz/findings/, each with its number: --only repeats that
input. After the fix, add it to conformance/, or as a test if it is not a file.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NamedTuple

from fuzz.calling import Entrance, Trial
from fuzz.entrances import ENTRANCES, prepare

FINDINGS = Path(__file__).parent / "findings"
MEMORY = 3 << 29
"""Bytes of address space: 1.5 GiB, of which libraries take 400 MB and a deep stack 512 MB."""
JOB = 500
"""Inputs that a process handles before it reports."""


MOST_KINDS = 100
"""The maximum number of findings that are kept, so that a frequent one does not fill the disk."""


class Finding(NamedTuple):
    number: int
    entrance: str
    what: str


class Outcome(NamedTuple):
    """The results of some inputs."""

    counts: Counter[str]
    findings: list[Finding]
    longest: tuple[float, int]
    """The longest time in seconds, and the number of its input."""


class Slow(BaseException):
    """The input took too long. It is not an Exception, so that the tested code cannot catch it."""


def _too_slow(number: int, frame: Any) -> None:
    raise Slow


class Campaign(NamedTuple):
    """The options."""

    seed: int
    seconds: int
    entrance: str | None

    def choose(self, number: int) -> tuple[Entrance, random.Random]:
        """The entry point of an input, and its source of randomness."""
        source = random.Random(f"{self.seed} {number}")
        named = [entrance for entrance in ENTRANCES if entrance.__name__ == self.entrance]
        return (named or source.choices(list(ENTRANCES), list(ENTRANCES.values())))[0], source

    def run_input(self, number: int) -> tuple[str, str | None, float]:
        """Run an input. Returns its entry point, what went wrong, and the time."""
        entrance, source = self.choose(number)
        trial = entrance(source)
        _lay_out(trial)
        start = time.perf_counter()
        wrong = _tried(trial, self.seconds * trial.passes)
        return entrance.__name__, wrong, time.perf_counter() - start

    def work(self, numbers: range) -> Outcome:
        """Run some inputs."""
        counts: Counter[str] = Counter()
        findings: list[Finding] = []
        longest = (0.0, 0)
        for number in numbers:
            entrance, wrong, seconds = self.run_input(number)
            counts[entrance] += 1
            longest = max(longest, (seconds, number))
            if wrong:
                findings.append(Finding(number, entrance, wrong))
        return Outcome(counts, findings, longest)


def _tried(trial: Trial, seconds: int) -> str | None:
    signal.alarm(seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return trial.run()
    except Slow:
        return f"slow: over {seconds} s, in {traceback.format_exc(limit=-3)}"
    except BaseException:  # noqa: BLE001  # anything that escapes is a finding
        return traceback.format_exc(limit=-9)
    finally:
        signal.alarm(0)


def _lay_out(trial: Trial) -> None:
    """Empty the current folder, and write the files of a trial."""
    for path in Path().iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    _write(trial, Path())


def _write(trial: Trial, folder: Path) -> None:
    for name, data in trial.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _start_worker(folders: str) -> None:
    """Set limits, and create a separate folder for this process."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _too_slow)
    folder = Path(folders) / str(os.getpid())
    folder.mkdir()
    prepare(folder)


def _outcomes(campaign: Campaign, inputs: int, jobs: int) -> Iterator[Outcome]:
    ranges = [range(start, min(start + JOB, inputs)) for start in range(0, inputs, JOB)]
    with tempfile.TemporaryDirectory() as folders:
        try:
            with ProcessPoolExecutor(jobs, initializer=_start_worker, initargs=(folders,)) as pool:
                yield from pool.map(campaign.work, ranges)
        except BrokenProcessPool:
            died = shutil.copytree(folders, FINDINGS / "died", dirs_exist_ok=True)
            sys.exit(f"\nA process died. The inputs of all processes are in {died}.")


def _keep(campaign: Campaign, finding: Finding) -> None:
    folder = FINDINGS / f"{finding.number:06d}-{finding.entrance}"
    entrance, source = campaign.choose(finding.number)
    _write(entrance(source), folder)
    (folder / "what.txt").write_text(finding.what, encoding="utf-8", errors="backslashreplace")
    print(f"\n{finding.number} ({finding.entrance}): {finding.what}")


def run(campaign: Campaign, inputs: int, jobs: int) -> int:
    counts: Counter[str] = Counter()
    findings: dict[str, Finding] = {}
    longest = (0.0, 0)
    for outcome in _outcomes(campaign, inputs, jobs):
        counts += outcome.counts
        longest = max(longest, outcome.longest)
        for finding in outcome.findings:
            if len(findings) < MOST_KINDS:
                findings.setdefault(finding.what, finding)
        print(f"\r{counts.total():,} inputs, {len(findings)} kinds of findings", end="", file=sys.stderr)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    print(f"\n{counts.total():,} inputs, {len(findings)} kinds of findings", end="; ")
    print(f"longest {longest[0]:.1f} s (input {longest[1]}); peak {peak:.0f} MB")
    for name, count in counts.most_common():
        print(f"{count:>9,} {name}")
    for finding in findings.values():
        _keep(campaign, finding)
    return 1 if findings else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=200_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--entrance", choices=[entrance.__name__ for entrance in ENTRANCES])
    parser.add_argument("--only", type=int, metavar="NUMBER")
    options = parser.parse_args()
    campaign = Campaign(options.seed, options.seconds, options.entrance)
    if options.only is None:
        return run(campaign, options.inputs, options.jobs)
    with tempfile.TemporaryDirectory() as folders:
        _start_worker(folders)
        entrance, wrong, seconds = campaign.run_input(options.only)
    print(f"{entrance}, {seconds:.2f} s: {wrong or 'ok'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
