"""A challenge on EvalAI: the evaluation script, the annotations, and a skeleton of the configuration."""

from __future__ import annotations

from medcontract.bundles.archives import logo, zip_of
from medcontract.bundles.plan import Plan, quoted, table, yaml_list
from medcontract.bundles.settings import SPLIT
from medcontract.bundles.shared_files import NOT_TRIED, expected_files, requirements, secret_files

_ANNOTATIONS = "annotations/truth.zip"


def files(plan: Plan) -> dict[str, bytes]:
    """The files of the bundle, by path."""
    script = {**plan.program(), "__init__.py": _SCRIPT, "requirements.txt": requirements(plan)}
    config = {
        "challenge_config.yaml": _config(plan).encode(),
        "evaluation_script.zip": zip_of(script),
        _ANNOTATIONS: zip_of(plan.truth),
        "logo.png": logo(),
        **{f"templates/{name}.html": f"<p>{text}</p>\n".encode() for name, text in _texts(plan).items()},
    }
    return {
        "README.md": _readme(plan).encode(),
        "challenge_config.zip": zip_of(config),
        **config,
        **{f"evaluation_script/{name}": data for name, data in script.items()},
    }


_SCRIPT = b'''"""Scores one submission. Written by `medcontract bundle evalai`."""

import os


def evaluate(test_annotation_file, user_submission_file, phase_codename, **kwargs):
    """Score the submission. An exception is the reason why it is not scored."""
    try:
        from medcontract.platforms import evalai
    except ImportError:
        message = "Submission not scored: medcontract is not installed here (it needs Python 3.11); tell the organizers"
        raise RuntimeError(message) from None
    program = os.path.dirname(os.path.abspath(__file__))
    return evalai.evaluate(program, test_annotation_file, user_submission_file, phase_codename, **kwargs)
'''


def _texts(plan: Plan) -> dict[str, str]:
    return {
        "description": "Describe the challenge here.",
        "evaluation_details": "Submissions are ranked by " + plan.columns[0].key + ".",
        "terms_and_conditions": "State the terms of participation here.",
        "submission_guidelines": expected_files(plan).replace("`", ""),
        "phase_description": "Describe the phase here.",
    }


def _config(plan: Plan) -> str:
    headline = plan.columns[0]
    metadata = "".join(
        f"        {column.key}:\n"
        f"          sort_ascending: {'True' if column.lower_is_better else 'False'}\n"
        f"          description: {quoted(column.figure)}\n"
        for column in plan.columns
    )
    return f"""# The skeleton of a challenge: replace the texts, the dates and the logo.
title: {quoted(plan.title)}
short_description: "Describe the challenge in one sentence."
description: templates/description.html
evaluation_details: templates/evaluation_details.html
terms_and_conditions: templates/terms_and_conditions.html
submission_guidelines: templates/submission_guidelines.html
image: logo.png
evaluation_script: evaluation_script.zip
remote_evaluation: False
start_date: 2030-01-01 00:00:00
end_date: 2030-12-31 00:00:00
published: False
leaderboard:
  - id: 1
    schema:
      labels: {yaml_list([column.key for column in plan.columns])}
      default_order_by: {quoted(headline.key)}
      metadata:
{metadata}challenge_phases:
  - id: 1
    name: Test
    description: templates/phase_description.html
    leaderboard_public: True
    is_public: True
    is_submission_public: False
    is_active: True
    start_date: 2030-01-01 00:00:00
    end_date: 2030-12-31 00:00:00
    test_annotation_file: {_ANNOTATIONS}
    codename: test
    max_submissions_per_day: 5
    max_submissions_per_month: 50
    max_submissions: 50
    disable_logs: False
    allowed_submission_file_types: ".json, .jsonl, .csv, .gz, .zip"
    is_restricted_to_select_one_submission: False
    is_partial_submission_evaluation_enabled: False
dataset_splits:
  - id: 1
    name: Test split
    codename: {SPLIT}
challenge_phase_splits:
  - challenge_phase_id: 1
    leaderboard_id: 1
    dataset_split_id: 1
    visibility: 3
    leaderboard_decimal_precision: 4
    is_leaderboard_order_descending: {"False" if headline.lower_is_better else "True"}
"""


def _readme(plan: Plan) -> str:
    version = plan.settings.medcontract_version
    return f"""# {plan.title}: bundle for EvalAI

Written by `medcontract bundle evalai` (medcontract {version}).

| file | what it is |
|---|---|
| `challenge_config.zip` | the challenge, ready to upload; the files next to it are the same |
| `challenge_config.yaml`, `templates/`, `logo.png` | the skeleton of the challenge |
| `evaluation_script.zip` | the evaluation script; `evaluation_script/` contains the same files |
| `{_ANNOTATIONS}` | **secret**: the truth ({secret_files(plan)}) |

**Secret** are `challenge_config.zip` and `annotations/`. EvalAI does not show annotations to participants. If you host
the challenge from a GitHub repository, it has to be private.

1. Workers of EvalAI run Python 3.7 to 3.9; medcontract needs 3.11. Ask the platform for a custom worker image
   (`worker_image_url`) with Python 3.11 or later, or evaluate on a worker of your own. `requirements.txt` in the
   evaluation script installs medcontract {version}; if it is not in the package index, install it in the image.
2. Edit `challenge_config.yaml` and `templates/`, then create the archive again:
   `zip -r challenge_config.zip challenge_config.yaml evaluation_script.zip annotations templates logo.png`.
3. Upload `challenge_config.zip` (Host a challenge), or push the files to a private repository made from
   EvalAI-Starters.

For another phase, write a bundle with its truth, in files of the same names, and add its `{_ANNOTATIONS}` under another
name. All phases are scored alike, for the dataset split `{SPLIT}`.

What participants submit: {expected_files(plan)}

What they see: the figures below on the leaderboard. If a submission is not valid, the evaluation fails with an
exception; its message, the last line of the submission's stderr file, is the reason (`disable_logs` must stay False).
It returns no result, so that it is never ranked.

{table(plan)}

{NOT_TRIED}
To try it in Python: `evaluation_script.evaluate("{_ANNOTATIONS}", "submission.zip", "test")`.
"""
