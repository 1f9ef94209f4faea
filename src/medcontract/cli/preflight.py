"""`medcontract preflight`."""

from __future__ import annotations

from typing import Any

import click

from medcontract import api
from medcontract.cli import options, output

_EPILOG = """\b
Examples:
  medcontract preflight submission/
  medcontract preflight submission/ cases.csv           also check that all cases are answered
  medcontract preflight submission/ truth.json          also compute the score
  medcontract preflight submission/ --images images/    also check the images
"""


@click.command("preflight", cls=options.TrackCommand, epilog=_EPILOG)
@click.argument("files", nargs=-1, required=True, metavar="FILE|DIR...", type=click.Path(allow_dash=True))
@options.scoring
@options.intervals
@options.images
@options.jobs("Check images in N processes.", default="1")
@options.problems
@options.result("Preflight")
def command(files: tuple[str, ...], printer: output.Printer, **given: Any) -> int:
    """Check a submission. More files, such as cases or the truth, allow more checks.

    A submission may be a folder or an archive (.zip, .tar.gz). A check passes, fails, or is skipped if files for it are
    missing. The exit code is 1 if any check fails.
    """
    settings = printer.problem_settings(api.MAX_SCORE_PROBLEMS)
    with output.Progress() as progress:
        checklist = api.preflight(
            *files, show_values=printer.show_values, plugin_errors=printer.plugin_errors, notice=output.notice,
            progress=progress.show, **settings, **given,
        )  # fmt: skip
    printer.print(checklist)
    return 0 if checklist else 1
