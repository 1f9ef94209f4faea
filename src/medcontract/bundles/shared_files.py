"""Texts and files that several platforms need."""

from __future__ import annotations

import sys

from medcontract.bundles.plan import Plan
from medcontract.parallel.versions import result_versions

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
"""That of the organizer: its Unicode data can change how texts are compared."""
NOT_TRIED = (
    "The entry point is tested in the folder layout of the platform, but not on the platform, and no container image\n"
    "is built in the tests of medcontract. Send a submission of your own before the challenge opens: a good one, one\n"
    "with an invalid file, and one with half of the answers."
)


def requirements(plan: Plan) -> bytes:
    """What pip installs: this medcontract, and the packages that can change a score, in these versions."""
    own = ("medcontract", "Python", "Unicode")
    packages = [f"{name}=={version}\n" for name, version in result_versions().items() if version and name not in own]
    return f"medcontract[parquet]=={plan.settings.medcontract_version}\n{''.join(packages)}".encode()


WHEELS = b"""# Wheels

Put wheels here that pip should install instead of looking for them in the package index, such as that of medcontract:
`pip wheel --no-deps --wheel-dir . PATH-OF-MEDCONTRACT`.
"""


def expected_files(plan: Plan) -> str:
    """What participants submit, as a sentence."""
    required, optional = (
        " and ".join(f"`{name}`" for name in names) for names in (plan.settings.submission, plan.optional)
    )
    also = f", and of {optional}, which some figures need" if optional else ""
    return f"Files of {required}{also} (see `medcontract schema show`). Several files are submitted in a .zip."


def secret_files(plan: Plan) -> str:
    return ", ".join(f"`{name}`" for name in sorted(plan.truth))


def entry_point(module: str, platform: str) -> bytes:
    """A script that calls `main` of a module of `medcontract.platforms`, and explains a missing medcontract."""
    return f'''"""Scores one submission. Written by `medcontract bundle {platform}`."""

import os
import sys

try:
    from medcontract.platforms.{module} import main
except ImportError:
    sys.exit("Submission not scored: medcontract is not installed here (it needs Python 3.11); tell the organizers")

if __name__ == "__main__":
    sys.exit(main(os.path.dirname(os.path.abspath(__file__))))
'''.encode()
