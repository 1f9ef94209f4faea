"""`medcontract fix`."""

from __future__ import annotations

import click

from medcontract import api
from medcontract.cli import options, output

_EPILOG = """\b
Examples:
  medcontract fix predictions.json                  show what would be repaired
  medcontract fix predictions.json --write          repair it
  medcontract fix --contract lesions/predictions out.csv
"""


@click.command("fix", epilog=_EPILOG)
@click.argument("file", metavar="FILE", type=click.Path())
@click.option(
    "--contract", metavar="ID", shell_complete=options.complete_contract, help="The contract, if it is not recognized."
)
@click.option("--write", is_flag=True, help="Replace FILE by the repaired file.")
@click.option("--show-values", is_flag=True, help="Show the diff even if the output is not a terminal.")
@options.no_color
@options.quiet
@options.plugins
def command(file: str, contract: str | None, write: bool, show_values: bool, no_color: bool) -> int:
    """Repair mistakes in FILE that have exactly one right repair, such as a trailing comma or a wrong case, and check
    the result. Nothing is guessed: what has two possible repairs stays as it is.

    Shows the changes as a diff, which contains values of records: on a terminal, or with --show-values. Otherwise the
    repairs are only listed. FILE is changed only with --write. The exit code is 1 if problems remain.
    """
    printer = output.Printer("Fix", no_color=no_color, show_values=show_values)
    fixed = api.fix(file, contract, write=write)
    printer.print(fixed)
    return 2 if fixed.remaining.wrong_call else 0 if fixed else 1
