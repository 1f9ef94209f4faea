"""The evaluation script of an EvalAI challenge.

The platform calls `evaluate` with the file of the truth and the file of the submission, and adds the result to the
leaderboard. If the function raises, the submission fails, and the exception is shown to the participant.
"""

from __future__ import annotations

from typing import Any

from medcontract.platforms.evaluation import evaluate_submission


class SubmissionNotScored(Exception):  # participants read the name, above the reason
    """Why a submission gets no score."""


def evaluate(
    program: str, test_annotation_file: str, user_submission_file: str, phase_codename: str, **_: Any
) -> dict[str, Any]:
    """Score the submission. `program` is the folder of the evaluation script.

    Raises `SubmissionNotScored`, whose message is the reason. All phases are scored alike.
    """
    found = evaluate_submission(program, test_annotation_file, user_submission_file)
    if found.score is None or found.reason:
        raise SubmissionNotScored(found.reason)
    return {
        "result": [{found.split: found.figures}],
        "submission_result": found.score.to_dict(),
    }
