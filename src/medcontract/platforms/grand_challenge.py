"""A phase on Grand Challenge: the evaluation container and the ground truth.

The platform mounts the submission at `/input` and the ground truth, which is uploaded separately, at
`/opt/ml/input/data/ground_truth`. It ranks by a field of `/output/metrics.json`. If the container fails, it shows the
last line of standard error that is not blank to the participant.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from medcontract.platforms.bundle import Plan, tar_gz_of
from medcontract.platforms.evaluation import run

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
    given = parser.parse_args(arguments)
    return run(program, given.ground_truth, given.input, given.output, "metrics.json", ignored=_ADDED, key="aggregates")
