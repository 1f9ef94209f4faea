"""`medcontract compare`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from medcontract.cli import options, output
from medcontract.cli.files import stdin_once
from medcontract.errors import CallError, InvalidData

if TYPE_CHECKING:
    from medcontract.definitions.contract import Validated

_EPILOG = """\b
Examples:
  medcontract score truth.csv old.csv --format json --out baseline.json
  medcontract score truth.csv new.csv --format json --out rerun.json
  medcontract compare baseline.json rerun.json
"""


@click.command("compare", epilog=_EPILOG, short_help="Before and after, refused when not comparable.")
@click.argument("baseline", metavar="BASELINE", type=click.Path())
@click.argument("rerun", metavar="RERUN", type=click.Path())
@options.result("text", "json", "markdown")
def command(baseline: str, rerun: str, chosen: str | None, out: str | None, no_color: bool) -> int:
    """Compare two outcomes of `medcontract score --format json`: all that changed, the largest change first.

    Refused (exit code 2), with the exact difference, when the protocols or the truths differ.
    """
    from medcontract.evaluation.compare import compare
    from medcontract.rendering import comparisons

    stdin_once([baseline, rerun])
    chosen = output.format_of(chosen, out, {".json": "json", ".md": "markdown"})
    comparison = compare(_score(baseline), _score(rerun))
    names = [os.path.basename(path) if path != "-" else "standard input" for path in (baseline, rerun)]
    if chosen == "json":
        rendered = comparisons.json(comparison)
    elif chosen == "markdown":
        rendered = comparisons.markdown(comparison, names)
    else:
        rendered = comparisons.text(comparison, output.style(no_color, out), names)
    output.write(rendered, out)
    return 0


def _score(path: str) -> Validated[Any]:
    """Raises `CallError` for a sound file of something else."""
    from medcontract import flow

    try:
        return flow.load(path, "medcontract/score")
    except InvalidData:
        other = flow.validate(path).contract if path != "-" else None
        if other in (None, "medcontract/score"):
            raise
        raise CallError(
            f"{path}: this is {other}, not a score", "give what medcontract score --format json --out FILE wrote"
        ) from None
