"""`medcontract validate`."""

from __future__ import annotations

from typing import Any

import click

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
@options.result("text", "json")
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
    from medcontract import flow
    from medcontract.cli.files import inputs
    from medcontract.reading.limits import Limits
    from medcontract.rendering import json, text

    if jobs and not images:
        raise CallError("--jobs is about images", "give the folder that they are in: --images DIR")
    chosen = output.format_of(chosen, out, {".json": "json"})
    as_text = chosen == "text"
    values = show_values or (as_text and out is None and output.terminal())
    limit = max_problems if max_problems is not None else (50 if as_text else flow.KEEP)
    limits = Limits(*(given or default for given, default in zip((max_record, max_unpacked), Limits(), strict=True)))
    settings: dict[str, Any] = {
        "keep": min(limit, flow.KEEP), "alike": 3 if as_text else None, "excerpts": as_text and values,
        "limits": limits, "schema": schema, "allow_refs": allow_refs, "images": images, "jobs": jobs,
    }  # fmt: skip
    with output.Progress() as progress:
        settings |= {"progress": progress.of("checking"), "image_progress": progress.of("checking images")}
        report = flow.validate_files(inputs(files, contract, schema), **settings)
    if as_text:
        rendered = text.validation(report, output.style(no_color, out), values)
    else:
        rendered = json.validation(report, show_values)
    output.write(rendered, out)
    if any(file.wrong_call for file in report.files):
        return 2
    return 0 if report.ok else 1
