"""The toy track as a plugin whose records can stop or kill the process that reads them.

`tests/faults.py` copies it to a folder. What a record says is what happens: `halt` waits for the test, `half` waits
while the worker is sending its result, `kill` kills the worker, `raise` raises an exception. Files of a few kilobytes
are read in chunks.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace
from tests import toy_track

from medcontract.modeling import Finding, RecordRule
from medcontract.reading import chunks

FOLDER = Path(__file__).parent
"""Has the file `halted` with the id of a process that waits until there is a file `go`."""
chunks.SMALLEST = 1000
IS_WORKER = multiprocessing.parent_process() is not None
FAULT = os.environ.get("FAULT") if IS_WORKER else ""
"""What happens to a worker that was not forked while it starts."""
if os.environ.get("SPAWN") and not IS_WORKER:  # a process with threads is not forked
    threading.Thread(target=threading.Event().wait, daemon=True).start()
if FAULT == "killed" or (FAULT == "killed once" and not (FOLDER / "halted").exists()):
    (FOLDER / "halted").touch()
    os.kill(os.getpid(), 9)
if FAULT == "broken":
    raise ZeroDivisionError("MARIA")


def halt() -> None:
    """Wait for the test."""
    if (FOLDER / "go").exists():
        return
    (FOLDER / "halting").write_text(f"{os.getpid()}")
    (FOLDER / "halting").replace(FOLDER / "halted")
    for _ in range(6000):
        if (FOLDER / "go").exists():
            return
        time.sleep(0.02)


def _send_half(connection: Any, data: Any) -> None:
    connection._send(len(data).to_bytes(4) + bytes(data[: len(data) // 2]))
    halt()
    connection._send(bytes(data[len(data) // 2 :]))


class Trouble(RecordRule, frozen=True, kw_only=True):
    kind: ClassVar = "trouble"
    field: str

    def check(self, value: Any) -> Sequence[Finding]:
        said = getattr(value, self.field)
        is_worker = multiprocessing.parent_process() is not None
        if said == "raise":
            raise ZeroDivisionError("MARIA")
        if said == "halt":
            halt()
        if said == "kill" and is_worker:
            os.kill(os.getpid(), 9)
        if said == "half" and is_worker and not (FOLDER / "go").exists():
            Connection._send_bytes = _send_half  # type: ignore[attr-defined]
        return ()


def _rule(field: str) -> Trouble:
    return Trouble(field=field, code="MC104", message="trouble")


_truth, _answers, _score = toy_track.CONTRACTS
CONTRACTS = (replace(_truth, record_rules=(_rule("word"),)), replace(_answers, record_rules=(_rule("said"),)), _score)
TRACKS = toy_track.TRACKS
