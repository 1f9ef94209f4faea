"""Compares medcontract with another implementation on changed files, through the protocol of the conformance suite.

    python -m fuzz.differential --inputs 20000 -- node js/serve.js

It prints how many answers agree on the verdict and on all problems, and the first differences. Files whose problems
depend on recognition, on guesses about other arrangements or on limits are not compared.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import subprocess
from collections import Counter
from threading import Thread
from typing import Any

import medcontract
from fuzz.material import changed_text, seeds, written
from medcontract.contracts import registry

_NOT_COMPARED = ("MC005", "MC019", "MC020")
"""Codes that depend on guesses, or on limits."""
_GUESS = "got a single record"
"""In a message about a file in another arrangement: also a guess."""
_MOST_SHOWN = 20
Answer = tuple[bool, list[list[Any]]]


def requests(count: int, seed: int) -> list[dict[str, Any]]:
    """Return changed files of contracts, as requests."""
    found = []
    files = [text for text in seeds() if text.contract and text.ending != ""]
    for number in range(count):
        source = random.Random(f"{seed}-{number}")
        text = written(source) if source.random() < 0.3 else changed_text(source.choice(files), source)
        contract = text.contract
        container = text.ending.removeprefix(".")
        if contract is None or container not in registry.compiled()[contract].containers or container == "parquet":
            continue
        found.append({
            "id": str(number), "level": "schema", "contract": contract, "container": container,
            "bytes": base64.b64encode(text.data).decode(),
        })  # fmt: skip
    return found


def ours(asked: dict[str, Any]) -> Answer | None:
    """Return the answer of medcontract; None if it is not compared."""
    data = base64.b64decode(asked["bytes"])
    report = medcontract.validate(data, asked["contract"], name=f"x.{asked['container']}")
    if report.omitted or any(problem.code in _NOT_COMPARED or _GUESS in problem.message for problem in report):
        return None
    return _answer(json.loads(report.to_json(show_values=True))["files"][0])


def _answer(found: dict[str, Any]) -> Answer:
    keys = ("code", "line", "column", "record", "pointer")
    return found["ok"], sorted(([problem[key] for key in keys] for problem in found["problems"]), key=str)


def compare(command: list[str], asked: list[dict[str, Any]]) -> int:
    """Print agreement and differences. Returns how many answers differ."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603

    def ask() -> None:
        if process.stdin:
            with process.stdin as stream:
                stream.writelines(json.dumps(each).encode() + b"\n" for each in asked)

    Thread(target=ask, daemon=True).start()
    theirs = {answer["id"]: answer for answer in map(json.loads, process.stdout or ())}
    process.wait()
    counts: Counter[str] = Counter()
    for each in asked:
        expected = ours(each)
        if expected is None:
            counts["not compared"] += 1
            continue
        counts["compared"] += 1
        answer = _answer(theirs[each["id"]])
        counts["same verdict"] += answer[0] == expected[0]
        counts["same problems"] += answer == expected
        if answer != expected and counts["compared"] - counts["same problems"] <= _MOST_SHOWN:
            print(f"\n{each['id']} {each['contract']} .{each['container']} {base64.b64decode(each['bytes'])[:300]!r}")
            print(f"  medcontract {expected}\n  the other   {answer}"[:900])
    print(dict(counts))
    return counts["compared"] - counts["same problems"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    raise SystemExit(compare(given.command, requests(given.inputs, given.seed)) > 0)


if __name__ == "__main__":
    main()
