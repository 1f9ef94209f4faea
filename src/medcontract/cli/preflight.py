"""`medcontract preflight`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from medcontract.cli import options, output

if TYPE_CHECKING:
    from medcontract.scoring.engine import Wishes

_EPILOG = """\b
Examples:
  medcontract preflight submission/
  medcontract preflight submission/ cases.csv           are all cases answered?
  medcontract preflight submission/ truth.json          how would it score?
  medcontract preflight submission/ --images images/    are the images usable?
"""


@click.command("preflight", epilog=_EPILOG, short_help="Would this submission be accepted?")
@click.argument("files", nargs=-1, required=True, metavar="FILE|DIR...", type=click.Path(allow_dash=True))
@click.option("--images", metavar="DIR", type=click.Path(), help="Check the images that lesions/cases names: in DIR.")
@options.jobs("Check images in N processes.")
@options.pairs("--parameter", "parameters", "Change one parameter of the protocol.")
@options.pairs("--set", "header", "A header field that the container lacks.")
@options.benchmark
@options.participant
@options.plugins
@options.result("text", "json")
@options.problems
@options.limits
def command(
    files: tuple[str, ...], images: str | None, jobs: int, parameters: dict[str, str], header: dict[str, str],
    wishes: Wishes,
    participant: bool, chosen: str | None, out: str | None, no_color: bool, max_problems: int | None,
    show_values: bool, max_record: int | None, max_unpacked: int | None,
) -> int:  # fmt: skip
    """Run every check that the files allow: a submission, and whatever else is there.

    Each check is passed, failed, or not possible, with what is missing. The exit code is 1 when one failed.
    """
    from medcontract.cli.files import found, inputs
    from medcontract.evaluation.beside import images_beside
    from medcontract.evaluation.preflight import preflight
    from medcontract.rendering import checklists

    chosen = output.format_of(chosen, out, {".json": "json"})
    values = show_values or (chosen == "text" and out is None and output.terminal())
    wishes = options.with_values(wishes, values, show_values, participant)
    most = max_problems if max_problems is not None else 50 if chosen == "text" else 100
    with output.Progress() as progress:
        beside = None if images is None else images_beside(images, jobs, progress.of("checking images"))
        settings = options.settings(chosen, values, most, max_record, max_unpacked, progress.of("checking"))
        checklist = preflight(
            inputs(files), found=found(files), images=beside,
            settings=settings._replace(participant=participant, wishes=wishes),
            parameters=tuple(parameters.items()), header=header,
        )  # fmt: skip
    if chosen == "json":
        rendered = checklists.json(checklist, show_values)
    else:
        rendered = checklists.text(checklist, output.style(no_color, out), values, most)
    output.write(rendered, out)
    return 0 if checklist.ready else 1
