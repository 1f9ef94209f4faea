"""Throw broken files at `validate` and see that nothing but problems comes back.

python fuzz/run.py [--inputs 200000] [--jobs 2] [--seed 1] [--seconds 10]

Mutated vectors and examples, and random bytes, in every container, with and without the contract named. An input
is a finding when an exception escapes, a report contradicts itself, or it takes longer than --seconds. Findings are
written to fuzz/findings/; once mended they belong into tests/vectors/syntax/.
"""

from __future__ import annotations

import argparse
import gzip
import io
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import medcontract
from medcontract.definitions import registry

ROOT = Path(__file__).parent.parent
FINDINGS = Path(__file__).parent / "findings"
MEMORY = 3 << 30

TOKENS = [
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"'", b"\\", b"\n", b"\r", b"\r\n", b"\0", b"\t", b" ", b"//", b"#",
    b"null", b"true", b"NaN", b"-Infinity", b"1e400", b"-", b"0", b"01", b"1.0", b'""', b'"\\ud800"', b"\\u003a",
    b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\xc2\xa0", b"\xe2\x80\xa8", b"9" * 400, b"[" * 120, b'{"a":' * 120,
    b'"error":null', b'"image_id":', b'{"', b'"}', b"},{", b"]}", b'"a":1,"a":2', b";", b"|", b'""""', b",,,",
]  # fmt: skip
ENDINGS = (".json", ".jsonl", ".csv", ".json.gz", ".jsonl.gz", ".csv.gz", ".parquet", "", ".txt")


class Finding(NamedTuple):
    what: str
    ending: str
    contract: str | None
    data: bytes


class Slow(Exception):
    """An input that took too long."""


def seeds() -> list[tuple[bytes, str]]:
    """Files to start from, with their endings."""
    folders = (ROOT / "tests" / "vectors", ROOT / "src" / "medcontract" / "examples")
    files = [p for folder in folders for p in sorted(folder.rglob("*")) if p.suffix in (".json", ".jsonl", ".csv")]
    found = [(path.read_bytes(), path.suffix) for path in files if path.stat().st_size < 20_000]
    return found + [(data, ".parquet") for data in _parquet_seeds()]


def _parquet_seeds() -> list[bytes]:
    try:
        import pyarrow as pa
        import pyarrow.csv as pc
        import pyarrow.parquet as pq
    except ImportError:
        return []
    tables = []
    for path in (ROOT / "src" / "medcontract" / "examples").rglob("*.csv"):
        stream = io.BytesIO()
        pq.write_table(pc.read_csv(pa.BufferReader(path.read_bytes())), stream)
        tables.append(stream.getvalue())
    return tables


def mutate(data: bytes, source: random.Random, pool: list[tuple[bytes, str]]) -> bytes:
    """A few random edits."""
    text = bytearray(data)
    for _ in range(source.choice((1, 1, 1, 2, 3, 8))):
        at = source.randrange(len(text) + 1)
        to = min(len(text), at + source.choice((0, 1, 1, 2, 8, 40)))
        edit = source.randrange(8)
        if edit == 0:
            del text[at:to]
        elif edit == 1:
            text[at:at] = source.choice(TOKENS)
        elif edit == 2:
            text[at:to] = source.choice(TOKENS)
        elif edit == 3 and at < len(text):
            text[at] ^= 1 << source.randrange(8)
        elif edit == 4:
            text[at:at] = text[source.randrange(len(text) + 1) :][: source.randrange(200)]
        elif edit == 5:
            del text[at:]
        elif edit == 6:
            other = source.choice(pool)[0]
            text[at:at] = other[source.randrange(len(other) + 1) :][: source.randrange(300)]
        else:
            text[at:at] = bytes(source.randrange(256) for _ in range(source.randrange(1, 6)))
    return bytes(text)


def make(source: random.Random, pool: list[tuple[bytes, str]]) -> tuple[bytes, str]:
    """One input and the ending of its name."""
    if source.random() < 0.03:
        return source.randbytes(source.randrange(400)), source.choice(ENDINGS)
    data, ending = source.choice(pool)
    data = mutate(data, source, pool)
    if source.random() < 0.1:
        ending = source.choice(ENDINGS)
    if source.random() < 0.08 and not ending.endswith(".gz"):
        data, ending = gzip.compress(data, 1), ending + ".gz"
        if source.random() < 0.7:
            data = mutate(data, source, pool)
    return data, ending


def check(data: bytes, ending: str, contract: str | None, seconds: int) -> str | None:
    """What is wrong with how an input was judged, or None."""
    signal.alarm(seconds)
    try:
        report = medcontract.validate(data, contract, name="x" + ending)
    except Slow:
        return f"slow: over {seconds} s"
    except BaseException:  # noqa: BLE001  # anything that escapes is a finding
        return traceback.format_exc(limit=-4)
    finally:
        signal.alarm(0)
    return contradiction(report)


def contradiction(report: medcontract.FileReport) -> str | None:
    """How a report contradicts itself, or None."""
    problems = report.problems
    if len(problems) + report.omitted != report.errors + report.warnings:
        return "the counts do not add up"
    if any((p.line is not None and p.line < 1) or (p.column is not None and p.column < 1) for p in problems):
        return "a place before the start of the file"
    places = [(p.line, p.column or 0) for p in problems if p.line is not None]
    if places != sorted(places):
        return "problems are not in file order"
    if not report.ok and not problems:
        return "refused without a reason"
    return None


def _too_slow(number: int, frame: Any) -> None:
    raise Slow


def work(job: tuple[int, int, int]) -> tuple[Counter[str], list[Finding], float]:
    """Some inputs: how they were judged, findings, the longest time."""
    seed, inputs, seconds = job
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _too_slow)
    source = random.Random(seed)
    pool = seeds()
    ids = [None, None, None, *registry.compiled()]
    outcomes: Counter[str] = Counter()
    findings: list[Finding] = []
    longest = 0.0
    for _ in range(inputs):
        data, ending = make(source, pool)
        contract = source.choice(ids) if source.random() < 0.3 else None
        start = time.perf_counter()
        wrong = check(data, ending, contract, seconds)
        longest = max(longest, time.perf_counter() - start)
        outcomes["finding" if wrong else "judged"] += 1
        if wrong:
            findings.append(Finding(wrong, ending, contract, data))
    return outcomes, findings, longest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=200_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=10)
    options = parser.parse_args()
    size = 500
    jobs = [(options.seed * 1_000_003 + n, size, options.seconds) for n in range(-(-options.inputs // size))]
    outcomes: Counter[str] = Counter()
    findings: dict[str, Finding] = {}
    longest = 0.0
    with ProcessPoolExecutor(options.jobs) as pool:
        for number, (counts, found, slowest) in enumerate(pool.map(work, jobs), 1):
            outcomes += counts
            longest = max(longest, slowest)
            findings.update({finding.what: finding for finding in found})
            print(f"\r{number * size:,} inputs, {len(findings)} sorts of findings", end="", file=sys.stderr)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    print(f"\n{sum(outcomes.values()):,} inputs: {dict(outcomes)}; longest {longest:.2f} s; peak {peak:.0f} MB")
    FINDINGS.mkdir(exist_ok=True)
    for number, finding in enumerate(findings.values()):
        name = f"{number:03d}{finding.ending}"
        (FINDINGS / name).write_bytes(finding.data)
        print(f"\n{name} (contract {finding.contract}): {finding.what}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
