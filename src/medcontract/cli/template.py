"""`medcontract template`."""

from __future__ import annotations

from typing import Any

import click

from medcontract import api
from medcontract.cli import options, output

_EPILOG = """\b
Examples:
  medcontract template reports/predictions --cases cases.csv --out predictions.csv
  medcontract template triage/response --cases inventory.csv --out response.json
  medcontract template lesions/predictions --cases cases.csv --format jsonl
"""


@click.command("template", epilog=_EPILOG)
@click.argument("contract", metavar="CONTRACT", shell_complete=options.complete_contract)
@click.option(
    "--cases", metavar="FILE", type=click.Path(allow_dash=True), required=True,
    help="The file with the expected ids: cases, an inventory, a manifest, or a truth, of which only ids are used.",
)  # fmt: skip
@options.plugins
@click.option(
    "--format", "chosen", type=click.Choice(api.TEMPLATE_FORMATS),
    help=f"Default: according to the extension of --out, otherwise {api.TEMPLATE_FORMATS[0]}.",
)  # fmt: skip
@options.out
@options.quiet
@options.limits
def command(contract: str, cases: str, chosen: str | None, out: str | None, **given: Any) -> int:
    """Create a file of CONTRACT with one record for each case, to be filled in.

    Ids are in the order of the cases. What is missing is null, or an empty cell, so that an unfinished file is not
    valid: medcontract validate lists what remains to be filled in.
    """
    container = chosen or (api.template_format(out) if out else api.TEMPLATE_FORMATS[0])
    text = api.template(contract, cases, format=container, notice=output.notice, **given)
    output.write(text, out)
    return 0
