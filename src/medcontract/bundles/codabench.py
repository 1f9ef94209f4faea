"""A competition for Codabench: scoring program, reference data, and a skeleton of the competition."""

from __future__ import annotations

from medcontract.bundles.archives import logo, zip_of
from medcontract.bundles.plan import Plan, quoted, table
from medcontract.bundles.shared_files import (
    NOT_TRIED,
    PYTHON,
    WHEELS,
    entry_point,
    expected_files,
    requirements,
    secret_files,
)

_METADATA = b"command: python3 /app/program/scoring.py /app/input /app/output\n"
_LONGEST_TITLE = 36


def files(plan: Plan) -> dict[str, bytes]:
    """The files of the bundle, by path."""
    program = {**plan.program(), "metadata.yaml": _METADATA, "scoring.py": entry_point("codabench", "codabench")}
    competition = {
        "competition.yaml": _competition(plan).encode(),
        "logo.png": logo(),
        "overview.md": f"# {plan.title}\n\nDescribe the challenge here.\n".encode(),
        "evaluation.md": _evaluation(plan).encode(),
        "terms.md": b"# Terms\n\nState the terms of participation here.\n",
        "scoring_program.zip": zip_of(program),
        "reference_data.zip": zip_of(plan.truth),
    }
    return {
        "README.md": _readme(plan).encode(),
        "competition.zip": zip_of(competition),
        **{f"competition/{name}": data for name, data in competition.items()},
        **{f"scoring_program/{name}": data for name, data in program.items()},
        "image/Dockerfile": _DOCKERFILE.encode(),
        "image/requirements.txt": requirements(plan),
        "image/wheels/README.md": WHEELS,
    }


def _competition(plan: Plan) -> str:
    columns = "".join(
        f"      - title: {quoted(column.figure[:_LONGEST_TITLE])}\n"
        f"        key: {column.key}\n"
        f"        index: {index}\n"
        f"        sorting: {'asc' if column.lower_is_better else 'desc'}\n"
        "        precision: 4\n"
        for index, column in enumerate(plan.columns)
    )
    return f"""# The skeleton of a competition: replace the texts, the dates, the logo and the image.
version: 2
title: {quoted(plan.title)}
description: "Describe the challenge in one sentence."
image: logo.png
terms: terms.md
docker_image: {_image(plan)}
enable_detailed_results: True
show_detailed_results_in_submission_panel: True
show_detailed_results_in_leaderboard: False
make_programs_available: False
make_input_data_available: False
pages:
  - title: Overview
    file: overview.md
  - title: Evaluation
    file: evaluation.md
tasks:
  - index: 0
    name: {quoted(plan.title)}
    description: "Scored by medcontract {plan.settings.medcontract_version}"
    scoring_program: scoring_program.zip
    reference_data: reference_data.zip
phases:
  - index: 0
    name: Test
    description: "Describe the phase."
    start: 2030-01-01 00:00:00
    end: 2030-12-31 00:00:00
    max_submissions_per_day: 5
    accepts_only_result_submissions: True
    hide_output: False
    tasks:
      - 0
leaderboards:
  - title: Results
    key: main
    submission_rule: "Force_Best"
    columns:
{columns}"""


def _image(plan: Plan) -> str:
    return f"YOUR-NAME/medcontract:{plan.settings.medcontract_version}"


def _evaluation(plan: Plan) -> str:
    return f"""# Evaluation

{expected_files(plan)}

Submissions are ranked by the first figure:

{table(plan)}

A submission that is not valid is not scored. The reason is shown in its detailed results and in its log.
"""


def _readme(plan: Plan) -> str:
    version = plan.settings.medcontract_version
    return f"""# {plan.title}: bundle for Codabench

Written by `medcontract bundle codabench` (medcontract {version}).

| file | what it is |
|---|---|
| `competition.zip` | the competition, ready to upload; `competition/` contains the same files |
| `competition/scoring_program.zip` | the scoring program; `scoring_program/` contains the same files |
| `competition/reference_data.zip` | **secret**: the truth ({secret_files(plan)}) |
| `image/` | builds the Docker image that the scoring program runs in |

**Secret** are `competition.zip`, `competition/` and `competition/reference_data.zip`. Codabench does not show reference
data to participants. Do not add the truth to pages, to public data, to a starting kit, or to the scoring program.

1. Build the image and publish it. It contains medcontract only:

   ```
   docker build --tag {_image(plan)} image/
   docker push {_image(plan)}
   ```

   If medcontract {version} is not in the package index, put its wheel into `image/wheels/` first.
2. Edit `competition/competition.yaml` (`docker_image`, dates, texts) and the pages, then create the archive again:
   `cd competition && zip ../competition.zip *`. Or upload it as it is and edit the competition on the site.
3. Upload `competition.zip` on Codabench (Benchmarks, Management, Upload).

What participants submit: {expected_files(plan)}

What they see: the figures below on the leaderboard, and their detailed results. A submission that is not valid fails;
its reason is in the detailed results and on standard error (`hide_output` must stay False), and there is no
`scores.json`, so that it is never ranked.

{table(plan)}

{NOT_TRIED}
To try it: `python scoring_program/scoring.py INPUT OUTPUT`, with the truth in `INPUT/ref` and a submission in
`INPUT/res`.
"""


_DOCKERFILE = f"""FROM python:{PYTHON}-slim
COPY requirements.txt wheels /tmp/wheels/
RUN pip install --no-cache-dir --find-links /tmp/wheels --requirement /tmp/wheels/requirements.txt
"""
