"""Ctrl-C before a command runs.

Python raises `KeyboardInterrupt` in the middle of whatever is imported then: in some places it is ignored, with a
traceback. As there is nothing to clean up yet, the process ends at once instead.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress


def _exit(number: int, frame: object) -> None:
    with suppress(OSError):
        os.write(2, b"Interrupted.\n")
    os._exit(128 + number)


def exit_at_once() -> None:
    """End the process on Ctrl-C, unless the caller ignores or handles it, or this is not the main thread."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with suppress(ValueError):
            signal.signal(signal.SIGINT, _exit)


def raise_again() -> None:
    """Undo `exit_at_once`: from now on, Ctrl-C raises `KeyboardInterrupt`, so that everything is cleaned up."""
    if signal.getsignal(signal.SIGINT) is _exit:
        with suppress(ValueError):  # as above
            signal.signal(signal.SIGINT, signal.default_int_handler)
