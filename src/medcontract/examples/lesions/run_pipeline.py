"""Run the example from the model to the score, in one command. It needs Pillow and medcontract.

python run_pipeline.py
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
STEPS = (
    ("make_example.py",),
    ("run_inference.py",),
    ("-m", "medcontract", "preflight", ".", "--images", "."),
    ("-m", "medcontract", "score", "."),
)


def main() -> int:
    for step in STEPS:
        print("+", "python", *step, flush=True)
        code = subprocess.run([sys.executable, *step], cwd=HERE, check=False).returncode  # noqa: S603  # those above
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
