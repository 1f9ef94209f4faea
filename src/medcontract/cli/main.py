"""`medcontract`: finds the command and turns what goes wrong into an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from medcontract._version import __version__

COMMANDS = {
    "validate": "Does each file keep its contract?",
    "preflight": "Would this submission be accepted?",
    "score": "Score a submission against its truth.",
    "leaderboard": "Score and rank many submissions.",
    "compare": "Before and after, refused when not comparable.",
    "normalize": "What normalization does to a text, step by step.",
    "explain": "What a problem means and how to mend it.",
    "schema": "The published JSON Schemas: list, show, export, check, diff.",
    "protocol": "The frozen parameters of each track: list, show.",
    "init": "A small, valid, realistic set of files to start from.",
}


def _open_streams() -> None:
    """A stream that the caller closed swallows what is written to it."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  # open as long as the process


def _print_version() -> int:
    try:
        sys.stdout.write(f"medcontract {__version__}\n")
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit code: 0 well, 1 the data is wrong, 2 the call is wrong, 130 Ctrl-C."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    _open_streams()
    if arguments in (["--version"], ["-V"]):  # before anything is imported
        return _print_version()
    from medcontract.cli.group import run

    return run(arguments)
