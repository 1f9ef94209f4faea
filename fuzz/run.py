"""Throw broken input at every entrance and see that nothing but problems comes back.

script/fuzz [--inputs 200000] [--jobs 2] [--seed 1] [--seconds 20] [--entrance NAME] [--only NUMBER]

An input is a finding when an exception or a warning escapes, when an answer contradicts itself or another one, when
it takes longer than --seconds, or when memory runs out. Findings are written to fuzz/findings/, each with its number:
--only judges that input again. What is mended belongs into tests/vectors/, or into a test where it was no file.
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
"""Bytes of address space: a gigabyte and a half, of which 400 MB are taken by libraries and 512 MB by a deep stack."""
JOB = 500
"""Inputs that one process judges before it reports."""


MOST_SORTS = 100
"""Findings that are kept: what goes wrong at every turn is not to fill the disk."""


class Finding(NamedTuple):
    number: int
    entrance: str
    what: str


class Outcome(NamedTuple):
    """What came of some inputs."""

    counts: Counter[str]
    findings: list[Finding]
    longest: tuple[float, int]
    """Seconds, and the number of the input that took them."""


class Slow(BaseException):
    """An input that took too long; not an Exception, so that nothing that is judged can swallow it."""


def _too_slow(number: int, frame: Any) -> None:
    raise Slow


class Campaign(NamedTuple):
    """What the options say."""

    seed: int
    seconds: int
    entrance: str | None

    def choose(self, number: int) -> tuple[Entrance, random.Random]:
        """The entrance of an input, and the source of all that is random in it."""
        source = random.Random(f"{self.seed} {number}")
        named = [entrance for entrance in ENTRANCES if entrance.__name__ == self.entrance]
        return (named or source.choices(list(ENTRANCES), list(ENTRANCES.values())))[0], source

    def judge(self, number: int) -> tuple[str, str | None, float]:
        """The entrance of an input, what is wrong with how it was judged, and how long that took."""
        entrance, source = self.choose(number)
        trial = entrance(source)
        _lay_out(trial)
        start = time.perf_counter()
        wrong = _tried(trial, self.seconds * trial.judgements)
        return entrance.__name__, wrong, time.perf_counter() - start

    def work(self, numbers: range) -> Outcome:
        """Judge some inputs, in a folder and within limits."""
        counts: Counter[str] = Counter()
        findings: list[Finding] = []
        longest = (0.0, 0)
        for number in numbers:
            entrance, wrong, seconds = self.judge(number)
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
    """The files of a trial, and nothing else, in the current folder."""
    for path in Path().iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    _write(trial, Path())


def _write(trial: Trial, folder: Path) -> None:
    for name, data in trial.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _start_worker(room: str) -> None:
    """Limits, and a folder of its own for this process."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _too_slow)
    folder = Path(room) / str(os.getpid())
    folder.mkdir()
    prepare(folder)


def _outcomes(campaign: Campaign, inputs: int, jobs: int) -> Iterator[Outcome]:
    ranges = [range(start, min(start + JOB, inputs)) for start in range(0, inputs, JOB)]
    with tempfile.TemporaryDirectory() as room:
        try:
            with ProcessPoolExecutor(jobs, initializer=_start_worker, initargs=(room,)) as pool:
                yield from pool.map(campaign.work, ranges)
        except BrokenProcessPool:
            died = shutil.copytree(room, FINDINGS / "died", dirs_exist_ok=True)
            sys.exit(f"\nA process died. What the processes were at is in {died}.")


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
            if len(findings) < MOST_SORTS:
                findings.setdefault(finding.what, finding)
        print(f"\r{counts.total():,} inputs, {len(findings)} sorts of findings", end="", file=sys.stderr)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    print(f"\n{counts.total():,} inputs, {len(findings)} sorts of findings", end="; ")
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
    with tempfile.TemporaryDirectory() as room:
        _start_worker(room)
        entrance, wrong, seconds = campaign.judge(options.only)
    print(f"{entrance}, {seconds:.2f} s: {wrong or 'as it should be'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
