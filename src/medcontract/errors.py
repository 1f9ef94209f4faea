"""The exceptions of medcontract.

::

    MedcontractError
    ├── CallError               wrong usage: the command line exits with 2
    │   ├── NotRecognized       the file matches no contract, or several equally well
    │   ├── UnknownContract     no contract has that id
    │   ├── WrongWeights        the weights of a combined score do not match the metrics
    │   └── BrokenPlugin        a plugin does not work
    ├── FileChanged             a file was changed or removed while it was read
    └── InvalidData             the data violates its contract; carries the problems

Problems *in* a file are not raised when it is checked: they are values (see `medcontract.problems`). `InvalidData` is
raised by functions that return data.

Messages and hints are written with the options of the command line (`--set name=…`). `in_python` translates them to
arguments (`header={"name": …}`) for users of the Python API. The argument of a track's option is part of its
declaration (`scoring.track.Option`).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from medcontract.results.validation import FileReport


class MedcontractError(Exception):
    """The base class of all exceptions of medcontract."""


class CallError(MedcontractError):
    """Wrong usage. `hint` says what to do instead."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self._message, self._hint = message, hint

    @property
    def message(self) -> str:
        """What is wrong, in terms of the Python API."""
        return in_python(self._message)

    @property
    def hint(self) -> str | None:
        """What to do instead, in terms of the Python API."""
        return None if self._hint is None else in_python(self._hint)

    @property
    def as_options(self) -> tuple[str, str | None]:
        """Message and hint in terms of the command line, as in results."""
        return self._message, self._hint

    def __str__(self) -> str:
        return f"{self.message} (hint: {self.hint})" if self.hint else self.message


class NotRecognized(CallError):
    """The content of the file matches no contract, or several equally well."""

    candidates: tuple[str, ...] = ()
    """The contracts that it matches equally well."""


class UnknownContract(CallError):
    """No contract has this id."""


class WrongWeights(CallError):
    """The weights of a combined score do not match the metrics."""


class BrokenPlugin(CallError):
    """A plugin does not work."""


class FileChanged(MedcontractError):
    """A file was changed or removed while it was read, so that results from it are unreliable."""


class InvalidData(MedcontractError):
    """The file violates its contract. `report` contains all problems."""

    def __init__(self, report: FileReport) -> None:
        first = next((p for p in report.problems if p.severity == "error"), None)
        where = f" (first: {first.code} {first.message})" if first else ""
        super().__init__(f"{report.path}: {report.errors:,} error{'s' * (report.errors != 1)}{where}")
        self.report = report

    def __reduce__(self) -> tuple[type[InvalidData], tuple[FileReport]]:
        """Recreate it from the report, if it was raised in a worker process."""
        return type(self), (self.report,)


DEBUG = "MEDCONTRACT_DEBUG"
_PACKAGE = os.path.dirname(os.path.abspath(__file__))


FILE_PLUGIN = "medcontract_plugin_"
"""The names of modules that were loaded from a file start with it."""
_plugin_modules: set[str] = set()
"""The names of modules that define contracts, rules or tracks of plugins."""
_CALLING_PLUGINS = frozenset(
    f"{__package__}.{name}"
    for name in (
        "contracts.rules.cross_file", "evaluation.preflight.session", "evaluation.remarks", "scoring.expected",
        "scoring.pairing", "validation.records",
    )
)  # fmt: skip
"""Modules that call functions of plugins for each record. Some, such as an `attrgetter`, have no frame, and others
return a value that cannot be used."""


def plugin_modules() -> frozenset[str]:
    """The names of modules that contain code of plugins."""
    return frozenset(_plugin_modules)


def name_plugin(*modules: str) -> None:
    """Register modules of plugins: exceptions in their code are reported as errors of the plugin."""
    _plugin_modules.update(name for name in modules if name.partition(".")[0] != __package__)


def plugin_failure(error: BaseException) -> BrokenPlugin | None:
    """The error to report instead of an exception in the code of a plugin, without any data. None for other errors."""
    if isinstance(error, MedcontractError | MemoryError | OSError | KeyboardInterrupt | GeneratorExit):
        return None
    found = None
    trace = error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if module in _plugin_modules or module.rpartition(".")[0] in _plugin_modules:
            name = module.removeprefix(FILE_PLUGIN)
            found = f"the plugin '{name}' failed in {trace.tb_frame.f_code.co_name}, line {trace.tb_lineno}"
        elif module in _CALLING_PLUGINS and trace.tb_next is None and _plugin_modules:
            found = found or "a function of a plugin for records or rules failed, or returned a wrong value"
        trace = trace.tb_next
    if found is None:
        return None
    _print_traceback(error)
    return BrokenPlugin(f"{found}: {type(error).__name__}", f"{DEBUG}=1 shows the traceback, which may contain data")


@contextmanager
def report_plugin_errors() -> Iterator[None]:
    """Raise `BrokenPlugin` for exceptions in the code of plugins."""
    try:
        yield
    except (Exception, SystemExit) as error:
        failure = plugin_failure(error)
        if failure is None:
            raise
        raise failure from None


def _print_traceback(error: BaseException) -> None:
    """Write the traceback, which may contain values, to standard error, if MEDCONTRACT_DEBUG is set."""
    import traceback

    if os.environ.get(DEBUG):
        traceback.print_exception(error, file=sys.stderr)


def unexpected(error: Exception) -> str:
    """The message for an unexpected exception that fails one submission of many: in a plugin, or a bug."""
    failure = plugin_failure(error)
    return internal_error(error) if failure is None else failure.as_options[0]


def internal_error(error: Exception) -> str:
    """The message for an unexpected exception: its type and where it was raised, without any data.

    If the environment variable MEDCONTRACT_DEBUG is set, the traceback, which may contain values, is written to
    standard error.
    """
    import traceback

    _print_traceback(error)
    if isinstance(error, MemoryError):
        return "out of memory"
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
    (r"--set [\w.$-]+=…(?: --set [\w.$-]+=…)*",
     lambda m: "header={" + ", ".join(f'"{name}": …' for name in re.findall(r"--set ([\w.$-]+)=", m[0])) + "}"),
    (r"--set ([\w.$-]+)", r'header={"\1": …}'),
    (r"--parameter ([\w.$-]+)=([\w.-]+)", r'parameters={"\1": "\2"}'),
    (r"--parameter ([\w.$-]+)=…", r'parameters={"\1": …}'),
    (r"--parameter", "parameters"),
    (r"--contract ID\b", "contract=…"),
    (r"--contract ([a-z0-9-]+/[a-z0-9-]+)", r'contract="\1"'),
    (r"--draft ([\w-]+)", r'draft="\1"'),
    (r"--images DIR\b", "images=…"),
    (r"--plugin", "medcontract.load_plugin()"),
    (r"\bmedcontract schema list\b", "medcontract.list_contracts()"),
    (r"\bmedcontract schema show ([a-z0-9-]+/[a-z0-9-]+)", r'medcontract.json_schema("\1")'),
    (r"\bmedcontract protocol show ([a-z0-9-]+)", r'medcontract.get_protocol("\1")'),
    (r"\bmedcontract score --format json --out FILE\b", "medcontract.score(…).to_json()"),
    (r"--(show-values|breakdown|force|participant)",
     lambda m: f"{m[1].replace('-', '_')}=True"),
    (r"--([a-z][a-z-]+)", lambda m: m[1].replace("-", "_")),
)  # fmt: skip
"""Options and commands with their Python equivalents. The last line turns any other option into an argument."""


_arguments: dict[str, str] = {}


def name_argument(option: str, argument: str) -> None:
    """Register the Python argument of an option, for options of tracks."""
    _arguments[option] = argument


def in_python(text: str) -> str:
    """Translate a text for the command line to the Python API."""
    if "--" not in text and "medcontract " not in text:
        return text
    for pattern, python in (*((re.escape(option), name) for option, name in _arguments.items()), *_IN_PYTHON):
        text = re.sub(rf"""(?<![^\s('"`]){pattern}(?![\w/-]|[.\\]\w)""", python, text)  # not in paths: runs/--old.json
    return text
