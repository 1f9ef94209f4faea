"""The click group: commands are imported when they are used."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from medcontract._version import __version__
from medcontract.cli.main import COMMANDS
from medcontract.errors import CallError, MedcontractError

_EPILOG = """\b
Exit codes: 0 all is well, 1 the data breaks a contract, 2 the call is wrong.
Shell completion: eval "$(_MEDCONTRACT_COMPLETE=bash_source medcontract)" (or zsh_source, fish_source).
"""


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"medcontract.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="medcontract %(version)s")
def group() -> None:
    """Typed contracts for everything that a medical-AI evaluation reads or writes.

    \b
    medcontract init reports demo            a valid set of files to look at
    medcontract validate demo/*.json         is each of them well-formed?
    medcontract explain MC104                what does that code mean?
    """


def _drop_output() -> None:
    """What is left to be written is lost, and Python is not to try again when it closes the stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(arguments: Sequence[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    gc.set_threshold(50_000, 20, 50)  # records come and go by the million, none in cycles
    try:
        outcome = group.main(list(arguments), prog_name="medcontract", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return 130
    except CallError as error:
        message, hint = error.as_options
        click.echo(f"medcontract: {_fit(message)}", err=True)
        if hint:
            click.echo(f"  hint: {_fit(hint)}", err=True)
        return 2
    except MedcontractError as error:
        click.echo(f"medcontract: {_fit(str(error))}", err=True)
        for line in _first_problems(error):
            click.echo(line, err=True)
        return 1
    except BrokenPipeError:  # the reader went away: nothing more to say
        _drop_output()
        return 1
    except OSError as error:  # a full disk behind standard output
        _drop_output()
        click.echo(f"medcontract: cannot write: {(error.strerror or str(error)).lower()}", err=True)
        return 2
    finally:
        _tell_of_broken_plugins()
    return outcome if isinstance(outcome, int) else 0


_MOST_CHARACTERS = 2000
_MOST_PROBLEMS = 3


def _fit(message: str) -> str:
    """A message may hold names from files: nothing that a terminal obeys, and not megabytes of it."""
    from medcontract.rendering.view import clean

    cut = message if len(message) <= _MOST_CHARACTERS else f"{message[:_MOST_CHARACTERS]}…"
    return "\n".join(map(clean, cut.split("\n")))


def _first_problems(error: MedcontractError) -> list[str]:
    """Where the first mistakes of a file are that a command cannot do without."""
    report = getattr(error, "report", None)
    if report is None:
        return []
    from medcontract.rendering.text.validation import one_problem
    from medcontract.rendering.view import clean, plain

    return [
        line
        for each in report.problems[:_MOST_PROBLEMS]
        for line in one_problem(clean(report.path), each, plain, False)
    ]


def _tell_of_broken_plugins() -> None:
    api = sys.modules.get("medcontract.api")  # a command that did nothing has not imported it
    for message in api.broken_plugins() if api else ():
        click.echo(f"medcontract: {message}", err=True)
