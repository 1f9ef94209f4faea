"""The entry point of `medcontract`, and Ctrl-C before a command runs.

Python raises `KeyboardInterrupt` in the middle of whatever is imported then: in some places it is ignored, with a
traceback. As there is nothing to clean up yet, the process ends at once instead. To be in place soon, this module
imports only what is loaded.
"""

import gc
import os
import sys

TYPE_CHECKING = False
"""Defined instead of imported: `typing` takes longer to import than all of this module."""
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "validate": ("files", "Check files against their contracts."),
    "preflight": ("submissions", "Check whether a submission would be accepted."),
    "score": ("submissions", "Score a submission against its truth."),
    "leaderboard": ("submissions", "Score and rank submissions."),
    "compare": ("submissions", "Compare two scores of the same protocol and truth."),
    "verify": ("submissions", "Check whether a score follows from its files."),
    "rehearse": ("organizing", "Try an evaluation before it opens."),
    "cache": ("reference", "Show or remove kept results."),
    "normalize": ("reference", "Show how texts are normalized, step by step."),
    "explain": ("reference", "Explain problem codes: what they mean and how to fix them."),
    "schema": ("reference", "List, show, export, check and diff the published JSON Schemas."),
    "protocol": ("organizing", "List and show the frozen parameters of each track."),
    "challenge": ("organizing", "Create, check and rehearse a challenge of your own."),
    "conformance": ("conformance", "Test an implementation in another language."),
    "bundle": ("organizing", "Write a scoring bundle for a challenge platform."),
    "init": ("reference", "Create a small, valid set of example files."),
    "fix": ("files", "Repair what has exactly one right repair."),
    "template": ("files", "Create an empty submission for given cases."),
}
"""Each command, with the module in this package that has the function of this name, and what it does."""


def _open_streams() -> None:
    """If the caller closed a stream, discard what is written to it."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  # stays open until the process ends


def _print_version() -> int:
    from medcontract._version import __version__

    try:
        sys.stdout.write(f"medcontract {__version__}\n")
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    return 0


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run the command line. Returns the exit code: 0 success, 1 invalid data, 2 wrong usage, 130 Ctrl-C.

    With arguments, it is a function of another program, whose handling of Ctrl-C it does not change.
    """
    try:
        is_program = arguments is None
        arguments = sys.argv[1:] if arguments is None else list(arguments)
        _open_streams()
        if arguments in (["--version"], ["-V"]):  # before anything is imported
            return _print_version()
        return _run_program(arguments) if is_program else _run(arguments)
    except KeyboardInterrupt:  # during these imports: the command itself handles it
        sys.stderr.write("Interrupted.\n")
        return 130


def _run_program(arguments: "Sequence[str]") -> int:
    _exit_at_once()
    for library in ("OPENBLAS", "MKL"):  # for intervals: sums of small tables, in which more threads only wait
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    try:
        return _run(arguments)
    finally:
        raise_again()
        gc.freeze()  # the process ends now: Python need not search all objects for garbage again


def _run(arguments: "Sequence[str]") -> int:
    from medcontract.cli.group import run

    return run(arguments)


def _exit(number: int, frame: object) -> None:
    from contextlib import suppress

    with suppress(OSError):
        os.write(2, b"Interrupted.\n")
    os._exit(128 + number)


def _exit_at_once() -> None:
    """End the process on Ctrl-C, unless the caller ignores or handles it, or this is not the main thread."""
    import signal
    from contextlib import suppress

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with suppress(ValueError):
            signal.signal(signal.SIGINT, _exit)


def raise_again() -> None:
    """Undo `_exit_at_once`: from now on, Ctrl-C raises `KeyboardInterrupt`, so that everything is cleaned up."""
    import signal
    from contextlib import suppress

    if signal.getsignal(signal.SIGINT) is _exit:
        with suppress(ValueError):  # as above
            signal.signal(signal.SIGINT, signal.default_int_handler)
