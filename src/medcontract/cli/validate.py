"""`medcontract validate`."""

from __future__ import annotations

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


@click.command("validate", epilog=_EPILOG, short_help="Check files against their contracts.")
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
@options.result("Validation")
@options.problems
@options.limits
@click.option(
    "--images",
    metavar="DIR",
    type=click.Path(),
    help="Also check the images of lesions/cases, in DIR.",
)
@options.jobs("Check large files, and images, in N processes.")
@options.engine
def command(
    files: tuple[str, ...], contract: str | None, schema: str | None, allow_refs: tuple[str, ...],
    chosen: str | None, out: str | None,
    max_problems: int | None, show_values: bool, no_color: bool, max_record: int | None, max_unpacked: int | None,
    images: str | None, jobs: int | None,
    engine: str | None, scheduler: str | None, exclude: tuple[str, ...], strict: bool, cache: str | None,
) -> int:  # fmt: skip
    """Check each FILE against its contract, and show every problem with its line and column.

    FILE may also be a folder or an archive (.zip, .tar.gz), which means all data files in it, or - for standard input
    (with --contract). Text files may be gzipped. Values of records are shown on a terminal only.
    """
    printer = output.Printer("Validation", chosen, out, no_color, show_values)
    settings = printer.problem_settings(max_problems, api.MAX_PROBLEMS)
    settings["max_problems"] = min(settings["max_problems"], api.MAX_PROBLEMS)
    with output.Progress() as progress:
        report = api.validate_files(
            files, contract, schema=schema, allow_refs=allow_refs, images=images, jobs=jobs,
            engine=engine, scheduler=scheduler, max_record=max_record,
            max_unpacked=max_unpacked, exclude=exclude, strict=strict, notice=output.notice, progress=progress.show,
            cache=cache, **settings,
        )  # fmt: skip
    printer.print(report)
    if any(file.wrong_call for file in report.files):
        return 2
    return 0 if report else 1
