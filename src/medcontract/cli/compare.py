"""`medcontract compare`."""

from __future__ import annotations

from typing import Any

import click

from medcontract import api
from medcontract.cli import options, output

_EPILOG = """\b
Examples:
  medcontract score truth.csv old.csv --format json --out baseline.json
  medcontract score truth.csv new.csv --format json --out rerun.json
  medcontract compare baseline.json rerun.json
"""


@click.command("compare", epilog=_EPILOG)
@click.argument("baseline", metavar="BASELINE", type=click.Path())
@click.argument("rerun", metavar="RERUN", type=click.Path())
@options.contract("The contract of both files. Only scores can be compared: medcontract/score.")
@options.protocol
@options.plugins
@options.strict
@options.limits
@options.result("Comparison")
def command(baseline: str, rerun: str, printer: output.Printer, **given: Any) -> int:
    """Compare two outputs of `medcontract score --format json`, and show what changed: the headline, then the other
    figures and rows, the largest changes first.

    If the protocols or the truths differ, the scores are not comparable: the exit code is 2, and the exact difference
    is reported.
    """
    comparison = api.compare(baseline, rerun, **given)
    printer.print(comparison)
    return 0 if comparison else 1
