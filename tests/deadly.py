"""What workers do in tests; a module of its own, which they import quickly."""

from __future__ import annotations

import os


def kill_once(mark: str) -> str:
    """Kill this process, unless the file is there; it is afterwards."""
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
