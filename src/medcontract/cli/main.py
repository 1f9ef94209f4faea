"""`medcontract`: finds the command and turns what goes wrong into an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from medcontract._version import __version__

COMMANDS = {
    "validate": "Does each file keep its contract?",
    "explain": "What a problem means and how to mend it.",
    "schema": "The published JSON Schemas: list, show, export, check, diff.",
    "init": "A small, valid, realistic set of files to start from.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit code: 0 well, 1 the data is wrong, 2 the call is wrong, 130 Ctrl-C."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments in (["--version"], ["-V"]):  # before anything is imported
        sys.stdout.write(f"medcontract {__version__}\n")
        return 0
    from medcontract.cli.group import run

    return run(arguments)
