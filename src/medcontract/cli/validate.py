"""`medcontract validate`."""

from __future__ import annotations

from typing import Any

import click

from medcontract import api
from medcontract.cli import options, output

_EPILOG = """\b
Examples:
  medcontract validate out.json                     recognize the contract
  medcontract validate triage/response=out.json     specify the contract
  medcontract validate submission/                  check all data files in the folder
  medcontract validate submission.zip               check all data files in the archive
  zcat out.jsonl.gz | medcontract validate --contract lesions/predictions -
  medcontract validate --schema my.schema.json -- *.json
  medcontract validate --images images/ cases.csv   also check the images
  medcontract validate --format json -- *.jsonl     for programs
"""


@click.command("validate", epilog=_EPILOG)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))
@options.contract()
@click.option("--schema", metavar="FILE", type=click.Path(), help="Check against this JSON Schema instead.")
@click.option(
    "--allow-refs", metavar="DIR", type=click.Path(), multiple=True,
    help="Allow references of the schema to files in DIR. May be repeated.",
)  # fmt: skip
@options.plugins
@options.exclude
@options.strict
@options.cache
@options.limits
@options.images
@options.jobs("Check large files, and images, in N processes.")
@options.engine
@options.problems
@options.result("Validation")
def command(files: tuple[str, ...], printer: output.Printer, **given: Any) -> int:
    """Check each FILE against its contract, and show every problem with its line and column.

    FILE may also be a folder or an archive (.zip, .tar.gz), which means all data files in it, or - for standard input
    (with --contract). Text files may be gzipped. Values of records are shown on a terminal only.
    """
    settings = printer.problem_settings(api.MAX_PROBLEMS)
    with output.Progress() as progress:
        report = api.validate_files(files, notice=output.notice, progress=progress.show, **settings, **given)
    printer.print(report)
    if any(file.wrong_call for file in report.files):
        return 2
    return 0 if report else 1
