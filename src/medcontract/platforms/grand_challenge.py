"""A phase on Grand Challenge: the evaluation container and the ground truth.

The platform mounts the submission at `/input` and the ground truth, which is uploaded separately, at
`/opt/ml/input/data/ground_truth`. It ranks by a field of `/output/metrics.json`. If the container fails, it shows the
last line of standard error that is not blank to the participant.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence

from medcontract.atomic_write import write_file
from medcontract.platforms.bundle import Plan, tar_gz_of
from medcontract.platforms.evaluation import evaluate_submission, run_guarded

_INPUT, _GROUND_TRUTH, _OUTPUT = "/input", "/opt/ml/input/data/ground_truth", "/output"
_ADDED = ("inputs.json",)
"""The description of the inputs, which the platform adds to a submission."""


def files(plan: Plan) -> dict[str, bytes]:
    """Return the files of the bundle, by path."""
    entry_point = plan.text("entry_point.py", module="grand_challenge", platform="grand-challenge")
    program = {**plan.program(), "evaluate.py": entry_point}
    return {
        "README.md": plan.text("README.md"),
        "participate.md": plan.guide(),
        "ground_truth.tar.gz": tar_gz_of(plan.truth),
        **{f"evaluation/{name}": data for name, data in program.items()},
        "evaluation/Dockerfile": plan.text("Dockerfile", program=program),
        "evaluation/requirements.txt": plan.requirements(),
        **plan.wheels("evaluation/wheels"),
    }


def main(program: str, arguments: Sequence[str] | None = None) -> int:
    """Score the submission. `program` is the folder of the entry point. Returns the exit code."""
    parser = argparse.ArgumentParser(description="Score one submission.")
    parser.add_argument("--input", default=_INPUT, help="the folder with the submission")
    parser.add_argument("--ground-truth", default=_GROUND_TRUTH, help="the folder with the ground truth")
    parser.add_argument("--output", default=_OUTPUT, help="the folder for metrics.json")
    folders = parser.parse_args(arguments)
    return run_guarded(lambda: _score(program, folders.input, folders.ground_truth, folders.output))


def _score(program: str, sent: str, ground_truth: str, output: str) -> int:
    metrics = os.path.join(output, "metrics.json")
    if os.path.lexists(metrics):
        os.remove(metrics)
    found = evaluate_submission(program, ground_truth, sent, ignored=_ADDED)
    if found.reason:
        sys.stderr.write(f"{found.reason}\n")
        return found.exit_code
    os.makedirs(output, exist_ok=True)
    write_file(json.dumps({"aggregates": found.figures}, indent=2) + "\n", metrics)
    return 0
