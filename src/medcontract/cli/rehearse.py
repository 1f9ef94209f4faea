"""`medcontract rehearse`."""

from __future__ import annotations

from typing import Any

import click

from medcontract import api
from medcontract.cli import options, output

_EPILOG = """\b
Examples:
  medcontract rehearse truth.csv
  medcontract rehearse truth.csv --platform codabench --out rehearsal.html
  medcontract rehearse truth.csv --baseline our-model.csv
  medcontract rehearse truth.csv --intervals                     is it large enough?
"""
arguments = options.together(
    click.option(
        "--platform", metavar="NAME", type=click.Choice(api.platforms()),
        help=f"Also score through the bundle for this platform: {', '.join(api.platforms())}.",
    ),
    click.option(
        "--baseline", "baselines", metavar="PATH", multiple=True, type=click.Path(),
        help="A submission that is known to be better than chance: finds inverted labels and shifted rows. May be "
        "repeated.",
    ),
    options.contract(),
    options.pairs("--parameter", "parameters", "Change a parameter of the protocol, and with it the fingerprint."),
    options.protocol,
    options.pairs("--set", "header", "Set a header field that the files do not contain."),
    click.option("--intervals", is_flag=True, help="Show which differences between submissions this truth can show."),
    options.cluster, options.exclude, options.strict, options.limits, options.result("Rehearsal"),
)  # fmt: skip
"""The options that both rehearsals have."""


@click.command("rehearse", cls=options.TrackCommand, epilog=_EPILOG)
@click.argument("truth", nargs=-1, required=True, metavar="TRUTH...", type=click.Path())
@options.plugins
@arguments
def command(truth: tuple[str, ...], printer: output.Printer, **given: Any) -> int:
    """Try an evaluation before it opens: make submissions from TRUTH, and run each through preflight and score.

    They are perfect, inverted, constant, drawn at random, shuffled, incomplete, failed, and have the mistakes that
    people make. The exit code is 1 if one of them is treated wrongly.
    """
    return rehearse(truth, printer, **given)


def rehearse(truth: tuple[str, ...], printer: output.Printer, **given: Any) -> int:
    """Rehearse, and print the result."""
    with output.Progress("submissions") as progress:
        found = api.rehearse(*truth, notice=output.notice, progress=progress.show, **given)
    printer.print(found)
    return 0 if found else 1
