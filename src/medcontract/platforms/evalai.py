"""A challenge on EvalAI: the evaluation script, the annotations, and a skeleton of the configuration.

The platform calls `evaluate` with the file of the truth and the file of the submission, and adds the result to the
leaderboard. If the function raises, the submission fails, and the exception is shown to the participant.
"""

from __future__ import annotations

from typing import Any

from medcontract.platforms.bundle import Plan, logo, zip_of
from medcontract.platforms.evaluation import evaluate_submission
from medcontract.rendering import html


def files(plan: Plan) -> dict[str, bytes]:
    """Return the files of the bundle, by path."""
    script = {**plan.program(), "__init__.py": plan.text("__init__.py"), "requirements.txt": plan.requirements()}
    texts = {
        "description": "Describe the challenge here.",
        "evaluation_details": f"Submissions are ranked by {plan.columns[0].key}: see the submission guidelines.",
        "terms_and_conditions": "State the terms of participation here.",
        "phase_description": "Describe the phase here.",
    }
    config = {
        "challenge_config.yaml": plan.text("challenge_config.yaml"),
        "evaluation_script.zip": zip_of(script),
        "annotations/truth.zip": zip_of(plan.truth),
        "logo.png": logo(),
        **{f"templates/{name}.html": f"<p>{text}</p>\n".encode() for name, text in texts.items()},
        "templates/submission_guidelines.html": plan.guide(html.fragment),
    }
    return {
        "README.md": plan.text("README.md"),
        "challenge_config.zip": zip_of(config),
        **config,
        **{f"evaluation_script/{name}": data for name, data in script.items()},
        **(plan.wheels("wheels") if plan.wheel else {}),
    }


class SubmissionNotScored(Exception):  # participants read the name, above the reason
    """Why a submission gets no score."""


def evaluate(
    program: str, test_annotation_file: str, user_submission_file: str, phase_codename: str, **_: object
) -> dict[str, Any]:
    """Score the submission. `program` is the folder of the evaluation script.

    Raises `SubmissionNotScored`, whose message is the reason. All phases are scored alike.
    """
    found = evaluate_submission(program, test_annotation_file, user_submission_file)
    if found.score is None or found.reason:
        raise SubmissionNotScored(found.reason)
    return {"result": [{found.split: found.figures}], "submission_result": found.score.to_dict()}
