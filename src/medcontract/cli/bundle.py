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
  medcontract bundle page --cases cases.csv --out check.html      a page that checks files in the browser
"""
_PAGE_EPILOG = """\b
Examples:
  medcontract bundle page --out check.html
  medcontract bundle page --contract lesions/predictions --contract lesions/model --cases cases.csv --out check.html
  medcontract bundle page --challenge challenge.toml --cases cases.csv --out check.html
"""


@click.command("page", epilog=_PAGE_EPILOG)
@click.option("--contract", "contracts", metavar="ID", multiple=True, shell_complete=options.complete_contract,
              help="Check files of this contract. The option can be repeated.")  # fmt: skip
@click.option("--cases", metavar="FILE", type=click.Path(),
              help="The expected ids: cases, or a truth, of which only the ids are used.")  # fmt: skip
@options.challenge
@click.option("--title", metavar="TEXT", help="The title of the page.")
@click.option(
    "--out", metavar="FILE", type=click.Path(dir_okay=False), help="The file to write, instead of standard output."
)
@options.limits
def page(contracts: tuple[str, ...], out: str | None, **given: Any) -> int:
    """Write a page that checks files in the browser: participants need to install nothing, and to upload nothing.

    It works from a disk or any web server, without a network, and contains nothing of the truth.
    """
    output.write(api.check_page(*contracts, **given), out)
    return 0


class _Bundle(click.Command):
    """`bundle page` has other options than the bundles that score."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args[:1] == ["page"]:
            return page.make_context(f"{info_name} page", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("bundle", cls=_Bundle, epilog=_EPILOG)
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
@click.option("--wheel", metavar="FILE", type=click.Path(),
              help="Copy this wheel of medcontract to the bundle, if it is not in the package index.")  # fmt: skip
@click.option("--out", metavar="DIR", required=True, type=options.OutputFolder(), help="The folder to write to.")
@options.force
@options.quiet
@options.limits
def command(platform: str, truth: tuple[str, ...], more: tuple[str, ...], out: str, **given: Any) -> int:
    """Write what PLATFORM (codabench, grand-challenge, evalai) needs to score submissions with medcontract.

    The README of the bundle says what to upload, and what has to stay secret. Submissions are validated and scored one
    by one, like those of a leaderboard; one that is refused gets a reason and no rank. See docs/platforms.md.
    For a page that checks files in the browser, see medcontract bundle page --help.
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
