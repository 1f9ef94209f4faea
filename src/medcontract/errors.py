"""The exceptions of medcontract.

::

    MedcontractError
    ├── CallError               usage error: the command line exits with 2
    │   ├── NotRecognized       the file matches no contract, or several equally well
    │   ├── UnknownContract     no contract has that id
    │   ├── WrongWeights        the weights of a combined score do not match the metrics
    │   └── BrokenPlugin        a plugin does not work
    ├── FileChanged             a file was changed or removed while it was read
    ├── PoolError               the workers failed, whatever the files are: one ended (`WorkKilled`), all, the scheduler
    └── InvalidData             the data violates its contract; carries the problems

Problems *in* a file are not raised when it is checked: they are values (see `medcontract.problems`). `InvalidData` is
raised by functions that return data.

Messages and hints that name options or commands are a `Wording`: the command line shows the options (`--set name=…`),
users of the Python API see its arguments (`header={"name": …}`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from medcontract.results.validation import FileReport


class Wording(str):
    """A text that names options or commands. It is the text of the command line; `python` is the one of the API."""

    python: str
    __slots__ = ("python",)

    def __new__(cls, text: str, python: str) -> Self:
        wording = super().__new__(cls, text)
        wording.python = python
        return wording

    def __reduce__(self) -> tuple[type[Wording], tuple[str, str]]:
        return type(self), (str(self), self.python)


def words(*parts: str) -> Wording:
    """Join texts, some of which name options: `words("pass ", option("--weights"))`."""
    return Wording("".join(parts), "".join(map(in_python, parts)))


def in_python(text: str) -> str:
    return text.python if isinstance(text, Wording) else text


def option(flag: str, value: str | bool | None = None) -> Wording:
    """Name an option: `--max-record`, or `max_record` in Python.

    With a value it is shown as it is passed: `--contract ID` and `contract=…`, `--force` and `force=True`.
    """
    argument = flag.removeprefix("--").replace("-", "_")
    if value is None or isinstance(value, bool):
        return Wording(flag, argument if value is None else f"{argument}={value}")
    return Wording(f"{flag} {value}", f"{argument}=…" if value.isupper() else f'{argument}="{value}"')


def command(line: str, python: str) -> Wording:
    """Name a command of `medcontract` and the function that does the same."""
    return Wording(f"medcontract {line}", f"medcontract.{python}")


def parameter(name: str) -> Wording:
    return Wording(f"--parameter {name}=…", f'parameters={{"{name}": …}}')


LIST_CONTRACTS = words("see: ", command("schema list", "list_contracts()"))
PARAMETERS = Wording("--parameter", "parameters")
LOAD_PLUGIN = Wording("--plugin", "medcontract.load_plugin()")
TO_OVERWRITE = words("choose another folder, or pass ", option("--force", True), " to overwrite")


class MedcontractError(Exception):
    """The base class of all exceptions of medcontract."""

    def __init__(self, *arguments: object) -> None:  # so that it has a signature
        super().__init__(*arguments)


class CallError(MedcontractError):
    """Wrong usage. `hint` says what to do instead."""

    def __init__(self, message: str, hint: str | None = None, flag: str | None = None) -> None:
        """`flag`: the option that is wrong, which the message starts with."""
        if flag:
            message = words(option(flag), ": ", message)
        super().__init__(message, hint)
        self._message, self._hint = message, hint

    @property
    def message(self) -> str:
        """Return what is wrong, in terms of the Python API."""
        return in_python(self._message)

    @property
    def hint(self) -> str | None:
        """Return what to do instead, in terms of the Python API."""
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


class PoolError(MedcontractError):
    """The workers failed, whatever the files are."""


class WorkKilled(PoolError):
    """Work terminated its workers repeatedly."""


class ConnectionLost(CallError, PoolError):
    """The workers cannot be reached any more."""


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
broken_plugins: list[str] = []
"""Warnings about installed plugins that could not be loaded; the others still work."""
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
    """Return the names of modules that contain code of plugins."""
    return frozenset(_plugin_modules)


def name_plugin(*modules: str) -> None:
    """Register modules of plugins: exceptions in their code are reported as errors of the plugin."""
    _plugin_modules.update(name for name in modules if name.partition(".")[0] != __package__)


def plugin_failure(error: BaseException) -> BrokenPlugin | None:
    """Return the error, without data, to report instead of an exception in a plugin; None for other exceptions."""
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
    """Write the traceback, which may contain values, to standard error, if MEDCONTRACT_DEBUG is set, not to 0."""
    import traceback

    if os.environ.get(DEBUG, "0") not in ("", "0"):
        traceback.print_exception(error, file=sys.stderr)


def unexpected(error: Exception) -> str:
    """Return the message for an unexpected exception that fails one submission of many: in a plugin, or a bug."""
    failure = plugin_failure(error)
    return internal_error(error) if failure is None else failure.as_options[0]


def internal_error(error: Exception) -> str:
    """Return the message for an unexpected exception: its type and where it was raised, without any data.

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
