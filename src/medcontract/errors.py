"""What medcontract raises.

::

    MedcontractError
    ├── CallError               the call is wrong: the command line exits with 2
    │   ├── NotRecognised       the file reads well, but no single contract fits it
    │   └── UnknownContract     no contract has that id
    └── InvalidData             the data breaks its contract; carries the problems

What is wrong *in* a file is never raised while it is checked: problems are values (see
`medcontract.problems`). `InvalidData` is for callers who asked for data and nothing else.
"""

from __future__ import annotations

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


def internal_error(error: BaseException) -> tuple[str, str]:
    """What to say of a mistake of medcontract itself, and what to do. Its text is left out: it may hold data."""
    import os
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
    return (
        f"internal error: {type(error).__name__}{where}",
        "this is a mistake of medcontract, please report it with a file that shows it and holds no patient's data",
    )


class InvalidData(MedcontractError):
    """The file breaks its contract. `report` holds every problem, with its place."""

    def __init__(self, report: FileReport) -> None:
        first = next((p for p in report.problems if p.severity == "error"), None)
        where = f" (first: {first.code} {first.message})" if first else ""
        super().__init__(f"{report.path}: {report.errors} error(s){where}")
        self.report = report
