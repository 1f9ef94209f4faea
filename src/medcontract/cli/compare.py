"""`medcontract compare`."""

from __future__ import annotations

import os

import click

from medcontract.cli import options, output

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
    from medcontract import flow
    from medcontract.evaluation.compare import compare
    from medcontract.rendering import comparisons

    chosen = output.format_of(chosen, out, {".json": "json", ".md": "markdown"})
    comparison = compare(*(flow.load(path, "medcontract/score") for path in (baseline, rerun)))
    names = [os.path.basename(path) if path != "-" else "standard input" for path in (baseline, rerun)]
    if chosen == "json":
        rendered = comparisons.json(comparison)
    elif chosen == "markdown":
        rendered = comparisons.markdown(comparison, names)
    else:
        rendered = comparisons.text(comparison, output.style(no_color, out), names)
    output.write(rendered, out)
    return 0
