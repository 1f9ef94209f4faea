"""A phase on Grand Challenge: the evaluation container and the ground truth."""

from __future__ import annotations

from medcontract.bundles.archives import tar_gz_of
from medcontract.bundles.plan import Plan, table
from medcontract.bundles.shared_files import (
    NOT_TRIED,
    PYTHON,
    WHEELS,
    entry_point,
    expected_files,
    requirements,
    secret_files,
)


def files(plan: Plan) -> dict[str, bytes]:
    """The files of the bundle, by path."""
    program = {**plan.program(), "evaluate.py": entry_point("grand_challenge", "grand-challenge")}
    return {
        "README.md": _readme(plan).encode(),
        "ground_truth.tar.gz": tar_gz_of(plan.truth),
        **{f"evaluation/{name}": data for name, data in program.items()},
        "evaluation/Dockerfile": _dockerfile(sorted(program)).encode(),
        "evaluation/requirements.txt": requirements(plan),
        "evaluation/wheels/README.md": WHEELS,
    }


def _dockerfile(program: list[str]) -> str:
    return f"""FROM --platform=linux/amd64 python:{PYTHON}-slim
RUN groupadd --system user && useradd --system --create-home --gid user user
COPY requirements.txt wheels /tmp/wheels/
RUN pip install --no-cache-dir --find-links /tmp/wheels --requirement /tmp/wheels/requirements.txt
COPY {" ".join(program)} /opt/app/
WORKDIR /opt/app
USER user
ENTRYPOINT ["python", "/opt/app/evaluate.py"]
"""


def _readme(plan: Plan) -> str:
    version = plan.settings.medcontract_version
    headline = plan.columns[0]
    order = "ascending" if headline.lower_is_better else "descending"
    return f"""# {plan.title}: bundle for Grand Challenge

Written by `medcontract bundle grand-challenge` (medcontract {version}).

| file | what it is |
|---|---|
| `evaluation/` | builds the evaluation container; it contains nothing of the truth |
| `ground_truth.tar.gz` | **secret**: the truth ({secret_files(plan)}) |

The platform extracts the ground truth to `/opt/ml/input/data/ground_truth/` during an evaluation, and does not show it
to participants. Do not copy it into the container or into a public repository.

1. Build the container and save it:

   ```
   docker build --tag evaluation evaluation/
   docker save evaluation | gzip > evaluation.tar.gz
   ```

   If medcontract {version} is not in the package index, put its wheel into `evaluation/wheels/` first.
2. Upload `evaluation.tar.gz` as the evaluation method of the phase, and `ground_truth.tar.gz` as its ground truth.
3. In the settings of the phase: submissions are predictions (.csv or .zip), the score JSON path is
   `aggregates.{headline.key}`, its default sort is {order}. Other columns: `aggregates.NAME`.

What participants submit: {expected_files(plan)} The platform accepts .csv and .zip only, so .json and other files are
submitted in a .zip. Algorithms as submissions are not supported.

What they see: `/output/metrics.json`, with the figures below in `aggregates`. If a submission is not valid, the
container fails and the platform shows the last line of standard error, which is the reason; there is no `metrics.json`,
so that it is never ranked.

{table(plan)}

{NOT_TRIED}
To try it: `python evaluation/evaluate.py --input DIR --ground-truth DIR --output DIR`.
"""
