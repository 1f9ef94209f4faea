"""`medcontract bundle`."""

from __future__ import annotations

from typing import Any

import click

from medcontract import api
from medcontract.cli import options, output
from medcontract.rendering.page import clean

_EPILOG = """\b
Examples:
  medcontract bundle codabench --truth truth.csv --out bundle/
  medcontract bundle grand-challenge --truth labels/ --title 'Prescriptions 2027' --out bundle/
  medcontract bundle evalai --truth references.json weights.json --out bundle/
  medcontract bundle codabench --truth truth.csv --parameter t_min_ms=20 --parameter t_max_ms=500 --out bundle/
  medcontract bundle codabench --truth truth.json --rank-by accuracy_score --out bundle/
  medcontract bundle codabench --truth truth.csv --challenge challenge.toml --out bundle/
"""


@click.command("bundle", epilog=_EPILOG)
@click.argument("platform", type=click.Choice(api.platforms()), metavar="PLATFORM")
@click.option(
    "--truth",
    metavar="FILE...",
    type=click.Path(),
    multiple=True,
    help="The files or folders of the truth. More of them may follow, or the option is repeated.",
)
@click.argument("more", nargs=-1, type=click.Path(), metavar="")
@options.challenge
@options.contract("The contract of all files of the truth that are not passed as CONTRACT=PATH.")
@options.pairs("--parameter", "parameters", "Change a parameter of the protocol.")
@options.protocol
@click.option("--rank-by", metavar="FIGURE", help="Rank by this figure, if not by the headline of the track.")
@click.option("--title", metavar="TEXT", help="The title of the challenge.")
@click.option("--out", metavar="DIR", required=True, type=options.OutputFolder(), help="The folder to write to.")
@options.force
@options.quiet
@options.limits
def command(platform: str, truth: tuple[str, ...], more: tuple[str, ...], out: str, **given: Any) -> int:
    """Write what PLATFORM (codabench, grand-challenge, evalai) needs to score submissions with medcontract.

    The README of the bundle says what to upload, and what has to stay secret. Submissions are validated and scored one
    by one, like those of a leaderboard; one that is refused gets a reason and no rank. See docs/platforms.md.
    """
    if not truth:
        raise click.UsageError("Missing option '--truth'.")
    bundle = api.bundle(platform, (*truth, *more), out, **given)
    if not output.is_quiet():
        for path in bundle.files:
            click.echo(str(path))
    for warning in bundle.warnings:
        click.echo(f"medcontract: warning: {clean(warning)}", err=True)
    if not output.is_quiet():
        readme = bundle.files[0].parent / "README.md"
        click.echo(f"Submissions are ranked by {bundle.figures[0]}. Next: read {readme}", err=True)
    return 0
