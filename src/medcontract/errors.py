"""What medcontract raises.

::

    MedcontractError
    ├── CallError               the call is wrong: the command line exits with 2
    │   ├── NotRecognised       the file reads well, but no single contract fits it
    │   └── UnknownContract     no contract has that id
    ├── FileChanged             a file was changed, or taken away, while it was read
    └── InvalidData             the data breaks its contract; carries the problems

What is wrong *in* a file is never raised while it is checked: problems are values (see
`medcontract.problems`). `InvalidData` is for callers who asked for data and nothing else.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from medcontract.problems import FileReport


class MedcontractError(Exception):
    """The root of everything that medcontract raises on purpose."""


class CallError(MedcontractError):
    """The call is wrong; no file can be blamed for it. `hint` says what to do instead."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class NotRecognised(CallError):
    """The file reads well, but its content fits no contract, or several equally well."""


class UnknownContract(CallError):
    """No contract is registered under this id."""


class WrongWeights(CallError):
    """The weights of a combined score do not fit the metrics."""


class BrokenPlugin(CallError):
    """Something of a user's own does not work."""


class FileChanged(MedcontractError):
    """A file was changed, or taken away, while it was read: what was made of it cannot be vouched for."""


class InvalidData(MedcontractError):
    """The file breaks its contract. `report` holds every problem, with its place."""

    def __init__(self, report: FileReport) -> None:
        first = next((p for p in report.problems if p.severity == "error"), None)
        where = f" (first: {first.code} {first.message})" if first else ""
        super().__init__(f"{report.path}: {report.errors} error(s){where}")
        self.report = report

    def __reduce__(self) -> tuple[type[InvalidData], tuple[FileReport]]:
        """Made of the report again, where a worker process raised it."""
        return type(self), (self.report,)


DEBUG = "MEDCONTRACT_DEBUG"
_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def internal_error(error: Exception) -> str:
    """What to say of an exception that nobody expected: where it was raised, and nothing of the data.

    With the environment variable MEDCONTRACT_DEBUG the traceback, which may hold values, is written to standard error.
    """
    if os.environ.get(DEBUG):
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(_PACKAGE)]
    where = ""
    if frames:
        module = os.path.relpath(frames[-1].filename, _PACKAGE).replace(os.sep, "/")
        where = f" in {module}, line {frames[-1].lineno}"
    return (
        f"internal error ({type(error).__name__}{where}): this is a bug in medcontract, please report it "
        f"({DEBUG}=1 shows the traceback)"
    )
