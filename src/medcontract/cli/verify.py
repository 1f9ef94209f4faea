"""`medcontract verify`."""

from __future__ import annotations

from typing import Any

import click

from medcontract import api
from medcontract.cli import options, output

_EPILOG = """\b
Examples:
  medcontract score truth.csv out.csv --format json --out score.json
  medcontract verify score.json truth.csv out.csv
  medcontract verify score.json data/ --challenge challenge.toml
"""


@click.command("verify", epilog=_EPILOG)
@click.argument("score", metavar="SCORE", type=click.Path(allow_dash=True))
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))
@options.contract("The contract of all FILEs that are not passed as CONTRACT=PATH.")
@click.option(
    "--phase-key", metavar="FILE", type=click.Path(), help="The organizer's secret key, if the score is one of a phase."
)
@options.plugins
@options.exclude
@options.limits
@options.jobs("Read large files in N processes.")
@options.engine
@options.result("Verification")
def command(score: str, files: tuple[str, ...], printer: output.Printer, **given: Any) -> int:
    """Check whether SCORE, an output of `medcontract score --format json`, follows from its FILEs, in any order.

    The score is computed again with the protocol and the options that it states. The exit code is 1 if a file is
    missing or has another hash, or if the score differs.
    """
    with output.Progress() as progress:
        found = api.verify(score, *files, notice=output.notice, progress=progress.show, **given)
    printer.print(found)
    return 0 if found else 1
