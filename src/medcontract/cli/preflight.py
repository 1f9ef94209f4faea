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


@click.command(
    "preflight", cls=options.TrackCommand, epilog=_EPILOG, short_help="Check whether a submission would be accepted."
)
@click.argument("files", nargs=-1, required=True, metavar="FILE|DIR...", type=click.Path(allow_dash=True))
@options.contract()
@click.option("--images", metavar="DIR", type=click.Path(), help="Also check the images of lesions/cases, in DIR.")
@options.jobs("Check images in N processes.", default="1")
@options.pairs("--parameter", "parameters", "Change a parameter of the protocol.")
@options.protocol
@options.pairs("--set", "header", "Set a header field that the files do not contain.")
@options.participant
@options.plugins
@options.exclude
@options.strict
@options.result("Preflight")
@options.problems
@options.limits
def command(
    files: tuple[str, ...], contract: str | None, images: str | None, jobs: int, parameters: dict[str, str],
    header: dict[str, str], protocol: str | None, participant: bool, chosen: str | None, out: str | None,
    no_color: bool, max_problems: int | None,
    show_values: bool, max_record: int | None, max_unpacked: int | None, exclude: tuple[str, ...],
    strict: bool, **track_options: Any,
) -> int:  # fmt: skip
    """Check a submission. More files, such as cases or the truth, allow more checks.

    A submission may be a folder or an archive (.zip, .tar.gz). A check passes, fails, or is skipped if files for it are
    missing. The exit code is 1 if any check fails.
    """
    printer = output.Printer("Preflight", chosen, out, no_color, show_values)
    settings = printer.problem_settings(max_problems, api.MAX_SCORE_PROBLEMS)
    with output.Progress() as progress:
        checklist = api.preflight(
            *files, contract=contract, images=images, jobs=jobs, parameters=parameters, protocol=protocol,
            header=header, participant=participant, show_values=printer.show_values,
            plugin_errors=printer.plugin_errors, max_record=max_record, max_unpacked=max_unpacked,
            exclude=exclude, strict=strict, notice=output.notice, progress=progress.show,
            **settings, **options.given_by(track_options),
        )  # fmt: skip
    printer.print(checklist, settings["max_problems"])
    return 0 if checklist else 1
