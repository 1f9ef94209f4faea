"""What medcontract raises.

::

    MedcontractError
    ├── CallError               the call is wrong: the command line exits with 2
    │   ├── NotRecognised       the file reads well, but no single contract fits it
    │   ├── UnknownContract     no contract has that id
    │   ├── WrongWeights        the weights of a combined score do not fit the metrics
    │   └── BrokenPlugin        something of a user's own does not work
    ├── FileChanged             a file was changed, or taken away, while it was read
    └── InvalidData             the data breaks its contract; carries the problems

What is wrong *in* a file is never raised while it is checked: problems are values (see
`medcontract.problems`). `InvalidData` is for callers who asked for data and nothing else.

Messages and hints are written with the options of the command line (`--set name=…`). In Python they are read in its
terms (`header={"name": …}`): `in_python` translates, in one place, for all of them. What an option of a track is in
Python follows from its declaration (`scoring.track.Option`).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from medcontract.results.validation import FileReport


class MedcontractError(Exception):
    """The root of everything that medcontract raises on purpose."""


class CallError(MedcontractError):
    """The call is wrong; no file can be blamed for it. `hint` says what to do instead."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self._message, self._hint = message, hint

    @property
    def message(self) -> str:
        """What is wrong, in terms of Python."""
        return in_python(self._message)

    @property
    def hint(self) -> str | None:
        """What to do instead, in terms of Python."""
        return None if self._hint is None else in_python(self._hint)

    @property
    def as_options(self) -> tuple[str, str | None]:
        """Message and hint in terms of the command line, which is also how results word them."""
        return self._message, self._hint

    def __str__(self) -> str:
        return f"{self.message} (hint: {self.hint})" if self.hint else self.message


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
    import traceback

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


_IN_PYTHON: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"--set ([\w.$-]+)=…", r'header={"\1": …}'),
    (r"--set ([\w.$-]+)", r'header={"\1": …}'),
    (r"--parameter ([\w.$-]+)=([\w.-]+)", r'parameters={"\1": "\2"}'),
    (r"--parameter ([\w.$-]+)=…", r'parameters={"\1": …}'),
    (r"--parameter", "parameters"),
    (r"--contract ID\b", "contract=…"),
    (r"--contract ([a-z0-9-]+/[a-z0-9-]+)", r'contract="\1"'),
    (r"--draft ([\w-]+)", r'draft="\1"'),
    (r"--images DIR\b", "images=…"),
    (r"--plugin\b", "medcontract.load_plugin()"),
    (r"\bmedcontract schema list\b", "medcontract.list_contracts()"),
    (r"\bmedcontract schema show ([a-z0-9-]+/[a-z0-9-]+)", r'medcontract.json_schema("\1")'),
    (r"\bmedcontract protocol show ([a-z0-9-]+)", r'medcontract.get_protocol("\1")'),
    (r"\bmedcontract score --format json --out FILE\b", "medcontract.score(…).to_json()"),
    (r"(?<![\w-])--(show-values|breakdown|force|participant)\b",
     lambda m: f"{m[1].replace('-', '_')}=True"),
    (r"(?<![\w-])--([a-z][a-z-]+)", lambda m: m[1].replace("-", "_")),
)  # fmt: skip
"""Options and commands, and what they are in Python. The last line takes any option for an argument of its name."""


_arguments: dict[str, str] = {}


def name_argument(option: str, argument: str) -> None:
    """Say what an option of the command line is in Python: tracks declare options of their own."""
    _arguments[option] = argument


def in_python(text: str) -> str:
    """A text for the command line, in terms of Python."""
    if "--" not in text and "medcontract " not in text:
        return text
    for option, argument in _arguments.items():
        text = re.sub(rf"(?<![\w-]){re.escape(option)}(?![\w-])", argument, text)
    for pattern, python in _IN_PYTHON:
        text = re.sub(pattern, python, text)
    return text
