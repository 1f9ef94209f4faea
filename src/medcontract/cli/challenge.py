"""`medcontract challenge check`."""

from __future__ import annotations

import click

from medcontract import api
from medcontract.cli import options, output

_EPILOG = """\b
Examples:
  medcontract challenge check challenge.toml
  medcontract init stroke demo --challenge challenge.toml
  medcontract score truth.csv predictions.csv --challenge challenge.toml
"""


@click.group("challenge", epilog=_EPILOG, short_help="Check a challenge of your own.")
def command() -> None:
    """Challenges: tracks that are defined by a file. Other commands use them with --challenge FILE."""


@command.command("check", short_help="Check a challenge file.")
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@options.result("Validation")
@options.problems
def check(
    file: str, chosen: str | None, out: str | None, no_color: bool, max_problems: int | None, show_values: bool
) -> int:
    """Check the challenge in FILE, and show every problem with its place. The exit code is 1 if there are errors."""
    printer = output.Printer("Validation", chosen, out, no_color, show_values)
    settings = printer.problem_settings(max_problems, api.MAX_PROBLEMS)
    report = api.check_challenge(file, **settings)
    printer.print(report)
    if report.files[0].wrong_call:
        return 2
    return 0 if report else 1
