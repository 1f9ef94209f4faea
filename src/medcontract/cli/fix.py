"""`medcontract fix`."""

from __future__ import annotations

import click

from medcontract import api
from medcontract.cli import options, output

_EPILOG = """\b
Examples:
  medcontract fix predictions.json                  show what would be repaired
  medcontract fix predictions.json --write          repair it
  medcontract fix --write -- submission/*.csv       repair several files
  medcontract fix out.csv --cases cases.csv         also ids that differ from the expected ones in how they are written
  medcontract fix --contract lesions/predictions out.csv
"""


@click.command("fix", epilog=_EPILOG)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@click.option(
    "--contract", metavar="ID", shell_complete=options.complete_contract, help="The contract, if it is not recognized."
)
@click.option(
    "--cases", metavar="FILE", type=click.Path(),
    help="A file with the expected ids: cases, an inventory, a manifest, or a truth, of which only ids are used.",
)  # fmt: skip
@click.option("--write", is_flag=True, help="Replace each FILE by the repaired file.")
@click.option("--show-values", is_flag=True, help="Show the diff even if the output is not a terminal.")
@options.no_color
@options.quiet
@options.plugins
def command(
    files: tuple[str, ...], contract: str | None, cases: str | None, write: bool, show_values: bool, no_color: bool
) -> int:
    """Repair mistakes in each FILE that have exactly one right repair, such as a trailing comma or a wrong case, and
    check the result. Nothing is guessed: what has two possible repairs stays as it is.

    Shows the changes as a diff, which contains values of records: on a terminal, or with --show-values. Otherwise the
    repairs are only listed. A file is changed only with --write. The exit code is 1 if problems remain.
    """
    printer = output.Printer("Fix", no_color=no_color, show_values=show_values)
    code = 0
    for file in files:
        fixed = api.fix(file, contract, cases=cases, write=write)
        printer.print(fixed)
        code = max(code, 2 if fixed.remaining.wrong_call else 0 if fixed else 1)
    return code
