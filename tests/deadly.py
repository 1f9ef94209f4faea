"""Functions that tests run in workers, in a separate module that is quick to import."""

from __future__ import annotations

import os


def kill_once(mark: str) -> str:
    """Kill this process and create a file, unless the file exists."""
    if not os.path.exists(mark):
        open(mark, "w").close()
        kill()
    return mark


def kill(*_: object) -> None:
    """Kill this process."""
    os.kill(os.getpid(), 9)


def refuse(_: str) -> None:
    """Raise an error that carries a report."""
    import medcontract

    medcontract.load(b"{", "lesions/truth", name="x.json")
