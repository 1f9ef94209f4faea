"""`medcontract leaderboard`."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import click

from medcontract import api, rendering
from medcontract.cli import options, output
from medcontract.errors import CallError
from medcontract.rendering.page import View

_EPILOG = """\b
Examples:
  medcontract leaderboard truth.csv submissions/*
  medcontract leaderboard truth/ submissions/* --format markdown --out ranking.md
  medcontract leaderboard truth.csv submissions/* --jobs 8
  medcontract leaderboard reports/truth=truth.csv submissions/* --contract reports/predictions
  medcontract leaderboard truth.csv submissions/* --measured measured/      measured/NAME/ or measured/NAME.json
  medcontract leaderboard truth.csv submissions/* --participant --reports feedback/     one report per submission
  medcontract leaderboard truth.csv submissions/* --teams teams.csv --attempts best     one row per team
  medcontract leaderboard truth.csv submissions/* --blind                   who is in, without ranks and figures
  medcontract leaderboard truth.csv submissions/* --cache .cache            score only what is new
"""


@click.command("leaderboard", cls=options.TrackCommand, epilog=_EPILOG)
@click.argument("truth", metavar="TRUTH", type=click.Path())
@click.argument("submissions", nargs=-1, required=True, metavar="DIR...", type=click.Path())
@options.scoring
@options.intervals
@click.option(
    "--measured",
    metavar="DIR",
    type=click.Path(),
    help="Use your own measurements of each submission (telemetry, model file, runs, evidence) from DIR/NAME/ or "
    "DIR/NAME.json, and ignore those of the submissions.",
)
@click.option(
    "--reports",
    metavar="DIR",
    type=options.OutputFolder(),
    help="Write a report for each submission to DIR: what score would print, as Markdown or according to --format.",
)
@click.option(
    "--teams",
    metavar="FILE",
    type=click.Path(),
    help="Take the names of teams from a table with the columns submission and team.",
)
@click.option(
    "--attempts",
    type=click.Choice(["best", "last", "all"]),
    default="all",
    show_default=True,
    help="Rank only the best or the last submission of each team, in the order of the table of --teams.",
)
@click.option("--columns", metavar="NAME,...", default="", help="Show these figures, in this order.")
@click.option("--blind", is_flag=True, help="Leave out ranks and figures of others: what a blind phase may show.")
@options.jobs("Score in N processes.")
@options.cache
@options.engine
@options.result("Leaderboard")
def command(
    truth: str, submissions: tuple[str, ...], reports: str | None, printer: output.Printer, **given: Any
) -> int:
    """Score each DIR (a folder, an archive or a single file) against TRUTH (also one of these), and rank them.

    The contract of each file is recognized, or specified as CONTRACT=PATH; that of a folder applies to all files in it.
    Submissions that are not valid are listed last, with reasons. The exit code is 1 if none is valid, and with --strict
    also if there are warnings.
    """
    out, chosen = printer.out, printer.chosen
    if out and reports and os.path.realpath(os.path.dirname(out)) == os.path.realpath(reports):
        raise CallError(f"--out: {out} is in the folder of --reports", "write the ranking to another folder")
    report_format = chosen if chosen in rendering.formats_of("Score") else rendering.REPORT_FORMAT
    with output.Progress("submissions") as progress:
        board = api.leaderboard(
            truth, *submissions, plugin_errors=printer.plugin_errors and not reports, notice=output.notice,
            progress=progress.show, reports=reports, page=out, report_as=_report_as(report_format),
            max_alike=output.MAX_ALIKE if report_format == "text" else None, **given,
        )  # fmt: skip
    printer.print(board)
    return 0 if board else 1


def _report_as(format_name: str) -> tuple[str, Any]:
    """The file extension of a format, and a function that renders a score, without values of records."""
    extension = next(each for each, name in rendering.EXTENSIONS.items() if name == format_name and each)
    return extension, partial(rendering.render, format_name=format_name, view=View())
