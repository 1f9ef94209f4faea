"""A competition for Codabench: scoring program, reference data, and a skeleton of the competition.

The platform calls the scoring program with a folder for input, in which `ref` has the reference data and `res` the
submission, and one for output. It shows `scores.json` on the leaderboard, and `detailed_results.html` and standard
error to the participant. A program that fails and writes no scores makes the submission fail, so that it is not ranked.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from medcontract.platforms.bundle import Plan, logo, zip_of
from medcontract.platforms.evaluation import run

_INPUT, _OUTPUT = "/app/input", "/app/output"
_ADDED = ("metadata",)
"""The status of the previous step, which the platform adds to a submission."""


def files(plan: Plan) -> dict[str, bytes]:
    """Return the files of the bundle, by path."""
    program = {
        **plan.program(),
        "metadata.yaml": plan.text("metadata.yaml"),
        "scoring.py": plan.text("entry_point.py", module="codabench", platform="codabench"),
    }
    competition = {
        **{name: plan.text(name) for name in ("competition.yaml", "overview.md", "terms.md")},
        "participate.md": plan.guide(),
        "logo.png": logo(),
        "scoring_program.zip": zip_of(program),
        "reference_data.zip": zip_of(plan.truth),
    }
    return {
        "README.md": plan.text("README.md"),
        "competition.zip": zip_of(competition),
        **{f"competition/{name}": data for name, data in competition.items()},
        **{f"scoring_program/{name}": data for name, data in program.items()},
        "image/Dockerfile": plan.text("Dockerfile"),
        "image/requirements.txt": plan.requirements(),
        **plan.wheels("image/wheels"),
    }


def main(program: str, arguments: Sequence[str] | None = None) -> int:
    """Score the submission. `program` is the folder of the entry point. Returns the exit code."""
    parser = argparse.ArgumentParser(description="Score one submission.")
    parser.add_argument("input", nargs="?", default=_INPUT, help="the folder with ref and res")
    parser.add_argument("output", nargs="?", default=_OUTPUT, help="the folder for scores.json")
    given = parser.parse_args(arguments)
    truth, sent = os.path.join(given.input, "ref"), os.path.join(given.input, "res")
    return run(program, truth, sent, given.output, "scores.json", ignored=_ADDED, page="detailed_results.html")
