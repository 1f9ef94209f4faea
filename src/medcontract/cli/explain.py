"""`medcontract explain`."""

from __future__ import annotations

import click

from medcontract import api
from medcontract.cli import options, output

_EPILOG = """\b
Examples:
  medcontract explain MC104
  medcontract explain 104 203 --format json
  medcontract explain                               list all codes
  medcontract explain --plugin ./stroke.py STROKE301
"""


@click.command("explain", epilog=_EPILOG)
@click.argument("codes", nargs=-1, metavar="[CODE]...", shell_complete=options.complete_code)
@options.plugins
@options.result("Explanation")
def command(codes: tuple[str, ...], printer: output.Printer) -> int:
    """Explain problem codes such as MC104, with an example of the mistake and its fix. Without CODE, list all codes."""
    printer.print(api.explain(*codes))
    return 0
