"""Room for deep recursion: jsonschema calls itself several times for each level of a value."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

_FRAMES = 40_000
_STACK = 512 << 20
"""Bytes; only those that are used are taken from the system."""

Result = TypeVar("Result")


def with_room(work: Callable[[], Result]) -> Result:
    """Do the work; where the usual room for recursion is too small, again with more. May raise `RecursionError`."""
    try:
        return work()
    except RecursionError:
        return _in_deep_thread(work)


def _in_deep_thread(work: Callable[[], Result]) -> Result:
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001  # handed on to the caller
            errors.append(error)

    frames, stack = sys.getrecursionlimit(), threading.stack_size(_STACK)
    sys.setrecursionlimit(max(_FRAMES, frames))
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(frames)
        threading.stack_size(stack)
    if errors:
        raise errors[0]
    return results[0]
