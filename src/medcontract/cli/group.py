"""The groups of commands, which import a command when it is used, and the handling of errors and signals."""

from __future__ import annotations

import gc
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from importlib import import_module

import click

from medcontract import api
from medcontract._version import __version__
from medcontract.cli.main import COMMANDS, raise_again
from medcontract.errors import CallError, MedcontractError, broken_plugins, internal_error, plugin_failure

_EPILOG = """\b
Exit codes: 0 success, 1 the data is not valid or a score does not count, 2 usage error.
Shell completion: eval "$(_MEDCONTRACT_COMPLETE=bash_source medcontract)" (or zsh_source, fish_source).
"""


class SuggestingGroup(click.Group):
    """A group whose message about an unknown command names the most similar one.

    Every group checks the arguments of its command, because a `--` before the command only ends the group's options.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not ctx.resilient_parsing:
            _refuse_file_names(before_dashes(args))
        name = args[0]
        if name.startswith("-") or self.get_command(ctx, name) is not None or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        from medcontract.contracts.suggestions import did_you_mean  # slow to import

        hint = did_you_mean(name, self.list_commands(ctx)) or self._forgotten_command(ctx, args)
        hint = f" {hint[0].upper()}{hint[1:]}" if hint else ""
        raise click.UsageError(f"No such command '{name}'.{hint}", ctx)

    def _forgotten_command(self, ctx: click.Context, args: list[str]) -> str | None:
        """Return a hint for `medcontract out.json`, if there is such a file."""
        if ctx.parent is None and os.path.exists(api.path_of(args[0])):
            return f"To check the file: {shlex.join(['medcontract', 'validate', *args])}"
        return None


def before_dashes(args: list[str]) -> list[str]:
    """Return the arguments that may be options: those before `--`."""
    return args[: args.index("--")] if "--" in args else args


def _refuse_file_names(args: list[str]) -> None:
    """Raise `CallError` if an option is also the name of a file: a shell may have expanded a pattern to it."""
    for word in args:
        if word.startswith("-") and os.path.lexists(word):
            raise CallError(
                f"'{word}' is also the name of a file",
                f"write {shlex.quote(f'./{word}')} for the file; what follows -- is never an option",
            )


class LazyGroup(SuggestingGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, about = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(f"medcontract.cli.{module}"), cmd_name)
        command.short_help = about
        raise_again()
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


@click.group(cls=LazyGroup, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="medcontract %(version)s")
def group() -> None:
    """Validate and score the files of medical-AI evaluations.

    \b
    medcontract init reports demo            create example files
    medcontract validate demo                check them
    medcontract explain MC104                explain a problem code
    """


def _drop_output() -> None:
    """Discard the remaining output, so that Python does not fail again when it closes the stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Terminated(BaseException):
    """The process received SIGTERM or SIGHUP. As an exception, it cleans up temporary files and workers."""

    def __init__(self, number: int) -> None:
        self.number = number


@contextmanager
def _signals_as_exceptions() -> Iterator[None]:
    """Handle SIGTERM and SIGHUP like Ctrl-C: by default Python would exit at once and leave temporary files."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wanted = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ours = [each for each in wanted if signal.getsignal(each) == signal.SIG_DFL]

    def stop(number: int, _: object) -> None:
        for each in ours:
            signal.signal(each, signal.SIG_IGN)  # ignore further ones during cleanup
        raise _Terminated(number)

    try:
        for each in ours:
            signal.signal(each, stop)
        yield
    finally:
        for each in ours:
            signal.signal(each, signal.SIG_DFL)


def run(arguments: Sequence[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    thresholds = gc.get_threshold()
    gc.set_threshold(500_000, 20, 50)  # millions of records and marks, none of them in cycles
    try:
        with _signals_as_exceptions():
            main: Callable[[], object] = partial(
                group.main, list(arguments), prog_name="medcontract", standalone_mode=False
            )
            outcome: object = copy_context().run(main)  # a challenge is used in this call only
            sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return 130
    except _Terminated as stop:
        return 128 + stop.number
    except Exception as error:  # noqa: BLE001  # never a traceback
        return _failed(error)
    finally:
        gc.set_threshold(*thresholds)
        for message in broken_plugins:
            click.echo(f"medcontract: {message}", err=True)
    return outcome if isinstance(outcome, int) else 0


def _failed(error: Exception) -> int:
    """Print what went wrong. Returns the exit code."""
    if isinstance(error, click.ClickException):
        click.echo(_shown(error), err=True, nl=False)
        return 2
    if isinstance(error, CallError):
        message, hint = error.as_options
        click.echo(f"medcontract: {_safe(message)}", err=True)
        if hint:
            click.echo(f"  hint: {_safe(hint)}", err=True)
        return 2
    if isinstance(error, MedcontractError):
        click.echo(f"medcontract: {_safe(str(error))}", err=True)
        for line in _first_problems(error):
            click.echo(line, err=True)
        return 1
    if isinstance(error, BrokenPipeError):  # the reader is gone
        _drop_output()
        return 1
    if isinstance(error, OSError):  # for example a full disk; standard output has no name
        _drop_output()
        what = "cannot write" if error.filename is None else f"cannot read or write {_safe(str(error.filename))}"
        click.echo(f"medcontract: {what}: {(error.strerror or str(error)).lower()}", err=True)
        return 2
    failure = plugin_failure(error)
    if failure is not None:
        return _failed(failure)
    click.echo(f"medcontract: {internal_error(error)}", err=True)
    return 1


def _shown(error: click.ClickException) -> str:
    """Return what click shows of a usage error. It may quote an argument, which may be an address with credentials."""
    from io import StringIO

    from medcontract import addresses

    text = StringIO()
    error.show(text)
    return addresses.hide_credentials(text.getvalue())


_MOST_CHARACTERS = 2000
_MOST_PROBLEMS = 3


def _safe(message: str) -> str:
    """Messages may contain names from files: remove control characters, and truncate them."""
    from medcontract import addresses
    from medcontract.rendering.page import clean

    message = addresses.hide_credentials(message)
    shown = message if len(message) <= _MOST_CHARACTERS else f"{message[:_MOST_CHARACTERS]}…"
    return "\n".join(map(clean, shown.split("\n")))


def _first_problems(error: MedcontractError) -> list[str]:
    """Return the first problems of the invalid file that the command needs."""
    report = getattr(error, "report", None)
    if report is None:
        return []
    from medcontract.rendering.page import FileProblems, View
    from medcontract.rendering.text import problem_lines

    problems = [(report.path, problem) for problem in report.problems[:_MOST_PROBLEMS]]
    return list(problem_lines(FileProblems(problems, found=len(problems)), View()))
