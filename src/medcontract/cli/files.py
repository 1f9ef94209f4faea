"""Commands about files: `validate`, `fix` and `template`."""

from __future__ import annotations

import click

from medcontract import api
from medcontract.cli import options, output

_VALIDATE = """\b
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
_FIX = """\b
Examples:
  medcontract fix predictions.json                  show what would be repaired
  medcontract fix predictions.json --write          repair it
  medcontract fix --write -- submission/*.csv       repair several files
  medcontract fix out.csv --cases cases.csv         also ids that differ from the expected ones in how they are written
  medcontract fix --contract lesions/predictions out.csv
"""
_TEMPLATE = """\b
Examples:
  medcontract template reports/predictions --cases cases.csv --out predictions.csv
  medcontract template triage/response --cases inventory.csv --out response.json
  medcontract template lesions/predictions --cases cases.csv --format jsonl
"""


@click.command("validate", epilog=_VALIDATE)
@options.files
@options.contract()
@options.option("--schema FILE", "Check against this JSON Schema instead.")
@options.option("--allow-refs DIR", "Allow references of the schema to files in DIR. May be repeated.", multiple=True)
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
def validate(files: tuple[str, ...], printer: output.Printer, **given: object) -> int:
    """Check each FILE against its contract, and show every problem with its line and column.

    FILE may also be a folder or an archive (.zip, .tar.gz), which means all data files in it, or - for standard input
    (with --contract). Text files may be gzipped. Values of records are shown on a terminal only.
    """
    settings = printer.problem_settings(api.MAX_PROBLEMS)
    report = output.call("bytes", api.validate_files, files, **settings, **given)
    return max(printer.print(report), 2 if any(file.usage_error for file in report.files) else 0)


@click.command("fix", epilog=_FIX)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@options.contract("The contract, if it is not recognized.")
@options.option(
    "--cases FILE",
    "A file with the expected ids: cases, an inventory, a manifest, or a truth, of which only ids are used.",
)
@options.option("--write", "Replace each FILE by the repaired file.")
@options.option("--show-values", "Show the diff even if the output is not a terminal.")
@options.no_color
@options.quiet
@options.plugins
def fix(
    files: tuple[str, ...], contract: str | None, cases: str | None, write: bool, show_values: bool, no_color: bool
) -> int:
    """Repair mistakes in each FILE that have exactly one right repair, such as a trailing comma or a wrong case, and
    check the result. Nothing is guessed: what has two possible repairs stays as it is.

    Shows the changes as a diff, which contains values of records: on a terminal, or with --show-values. Otherwise the
    repairs are only listed. A file is changed only with --write. The exit code is 1 if problems remain.
    """
    printer = output.Printer("Fix", no_color=no_color, show_values=show_values)
    code = 0
    for file in files:
        fixed = api.fix(file, contract, cases=cases, write=write)
        code = max(code, printer.print(fixed), 2 if fixed.remaining.usage_error else 0)
    return code


@click.command("template", epilog=_TEMPLATE)
@click.argument("contract", metavar="CONTRACT", shell_complete=options.complete_contract)
@options.option(
    "--cases FILE",
    "The file with the expected ids: cases, an inventory, a manifest, or a truth, of which only ids are used.",
    required=True,
)
@options.plugins
@click.option(
    "--format", "chosen", type=click.Choice(api.TEMPLATE_FORMATS),
    help=f"Default: according to the extension of --out, otherwise {api.TEMPLATE_FORMATS[0]}.",
)  # fmt: skip
@options.out
@options.quiet
@options.limits
def template(contract: str, cases: str, chosen: str | None, out: str | None, **limits: int | None) -> int:
    """Create a file of CONTRACT with one record for each case, to be filled in.

    Ids are in the order of the cases. What is missing is null, or an empty cell, so that an unfinished file is not
    valid: medcontract validate lists what remains to be filled in.
    """
    container = chosen or (api.template_format(out) if out else api.TEMPLATE_FORMATS[0])
    output.write(api.template(contract, cases, format=container, notice=output.notice, **limits), out)
    return 0
