"""`medcontract validate`."""

from __future__ import annotations

import click

from medcontract import api
from medcontract.cli import options, output
from medcontract.errors import CallError

_EPILOG = """\b
Examples:
  medcontract validate out.json                     the contract is recognised
  medcontract validate triage/response=out.json     the contract is named
  medcontract validate submission/                  every data file in the folder
  zcat out.jsonl.gz | medcontract validate --contract lesions/predictions -
  medcontract validate --schema my.schema.json *.json
  medcontract validate --images images/ cases.csv   the images of lesions/cases too
  medcontract validate --format json *.jsonl        for programs
"""


@click.command("validate", epilog=_EPILOG, short_help="Does each file keep its contract?")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))
@click.option("--contract", metavar="ID", shell_complete=options.complete_contract, help="The contract of all files.")
@click.option("--schema", metavar="FILE", type=click.Path(), help="Check against this JSON Schema instead.")
@click.option(
    "--allow-refs", metavar="DIR", type=click.Path(), multiple=True,
    help="The schema may refer to files in DIR, too; may be repeated.",
)  # fmt: skip
@options.plugins
@options.result("Validation")
@options.problems
@options.limits
@click.option(
    "--images",
    metavar="DIR",
    type=click.Path(),
    help="Check the images that lesions/cases names, too: they are in DIR.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Check images in N processes (default: one a processor)."
)
def command(
    files: tuple[str, ...], contract: str | None, schema: str | None, allow_refs: tuple[str, ...],
    chosen: str | None, out: str | None,
    max_problems: int | None, show_values: bool, no_color: bool, max_record: int | None, max_unpacked: int | None,
    images: str | None, jobs: int | None,
) -> int:  # fmt: skip
    """Check that each FILE keeps its contract, and show every problem at its line and column.

    A folder stands for the data files in it, - for standard input (with --contract). Any text file may be gzipped.
    Values of records are shown on a terminal only.
    """
    if jobs and not images:
        raise CallError("--jobs is about images", "give the folder that they are in: --images DIR")
    printer = output.Printer("Validation", chosen, out, no_color, show_values)
    settings = printer.problem_settings(max_problems, api.MAX_PROBLEMS)
    settings["max_problems"] = min(settings["max_problems"], api.MAX_PROBLEMS)
    with output.Progress() as progress:
        report = api.validate_files(
            files, contract, schema=schema, allow_refs=allow_refs, images=images, jobs=jobs, max_record=max_record,
            max_unpacked=max_unpacked, progress=progress.show, **settings,
        )  # fmt: skip
    printer.print(report)
    if any(file.wrong_call for file in report.files):
        return 2
    return 0 if report else 1
