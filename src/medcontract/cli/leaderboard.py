"""`medcontract leaderboard`."""

from __future__ import annotations

from typing import Any

import click

from medcontract import api
from medcontract.cli import options, output

_EPILOG = """\b
Examples:
  medcontract leaderboard truth.csv submissions/*
  medcontract leaderboard truth/ submissions/* --format markdown --out ranking.md
  medcontract leaderboard truth.csv submissions/* --jobs 8
  medcontract leaderboard truth.csv submissions/* --measured measured/      measured/NAME/ or measured/NAME.json
"""


@click.command("leaderboard", cls=options.TrackCommand, epilog=_EPILOG, short_help="Score and rank submissions.")
@click.argument("truth", metavar="TRUTH", type=click.Path())
@click.argument("submissions", nargs=-1, required=True, metavar="DIR...", type=click.Path())
@options.pairs("--parameter", "parameters", "Change a parameter of the protocol, and with it the fingerprint.")
@options.protocol
@options.pairs("--set", "header", "Set a header field that the files do not contain.")
@click.option(
    "--measured",
    metavar="DIR",
    type=click.Path(),
    help="Use your own measurements of each submission (telemetry, model file, runs, evidence) from DIR/NAME/ or "
    "DIR/NAME.json, and ignore those of the submissions.",
)
@options.jobs("Score in N processes.")
@options.participant
@options.plugins
@options.exclude
@options.strict
@options.result("Leaderboard")
@options.limits
def command(
    truth: str, submissions: tuple[str, ...], parameters: dict[str, str],
    protocol: str | None,
    header: dict[str, str], measured: str | None, jobs: int,
    participant: bool, chosen: str | None, out: str | None, no_color: bool,
    max_record: int | None, max_unpacked: int | None, exclude: tuple[str, ...], strict: bool,
    **track_options: Any,
) -> int:  # fmt: skip
    """Score each DIR (a folder or a single file) against TRUTH (a file or a folder), and rank them.

    Submissions that are not valid are listed last, with reasons. They do not affect the exit code, and with --strict
    only warnings do.
    """
    printer = output.Printer("Leaderboard", chosen, out, no_color)
    with output.Progress() as progress:
        board = api.leaderboard(
            truth, *submissions, header=header, participant=participant, jobs=jobs, max_record=max_record,
            parameters=parameters, protocol=protocol,
            max_unpacked=max_unpacked, measured=measured, plugin_errors=printer.plugin_errors,
            exclude=exclude, notice=output.notice, progress=progress.show, **options.given_by(track_options),
        )  # fmt: skip
    printer.print(board)
    return 1 if strict and board.warned else 0
