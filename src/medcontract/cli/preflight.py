"""`medcontract preflight`."""

from __future__ import annotations

from typing import Any

import click

from medcontract import api
from medcontract.cli import options, output

_EPILOG = """\b
Examples:
  medcontract preflight submission/
  medcontract preflight submission/ cases.csv           are all cases answered?
  medcontract preflight submission/ truth.json          how would it score?
  medcontract preflight submission/ --images images/    are the images usable?
"""


@click.command("preflight", cls=options.TrackCommand, epilog=_EPILOG, short_help="Would this submission be accepted?")
@click.argument("files", nargs=-1, required=True, metavar="FILE|DIR...", type=click.Path(allow_dash=True))
@click.option("--images", metavar="DIR", type=click.Path(), help="Check the images that lesions/cases names: in DIR.")
@options.jobs("Check images in N processes.")
@options.pairs("--parameter", "parameters", "Change one parameter of the protocol.")
@options.protocol
@options.pairs("--set", "header", "A header field that the container lacks.")
@options.participant
@options.plugins
@options.result("Preflight")
@options.problems
@options.limits
def command(
    files: tuple[str, ...], images: str | None, jobs: int, parameters: dict[str, str], header: dict[str, str],
    protocol: str | None,
    participant: bool, chosen: str | None, out: str | None, no_color: bool, max_problems: int | None,
    show_values: bool, max_record: int | None, max_unpacked: int | None, **track_options: Any,
) -> int:  # fmt: skip
    """Run every check that the files allow: a submission, and whatever else is there.

    Each check is passed, failed, or not possible, with what is missing. The exit code is 1 when one failed.
    """
    printer = output.Printer("Preflight", chosen, out, no_color, show_values)
    settings = printer.problem_settings(max_problems, api.MAX_SCORE_PROBLEMS)
    with output.Progress() as progress:
        checklist = api.preflight(
            *files, images=images, jobs=jobs, parameters=parameters, protocol=protocol, header=header,
            participant=participant, show_values=printer.show_values, plugin_errors=printer.plugin_errors,
            max_record=max_record, max_unpacked=max_unpacked, progress=progress.show,
            **settings, **options.given_by(track_options),
        )  # fmt: skip
    printer.print(checklist, settings["max_problems"])
    return 0 if checklist else 1
