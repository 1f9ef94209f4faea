"""`medcontract validate`."""

from __future__ import annotations

import os
import re

import click

from medcontract.cli import output

_NAMED = re.compile(r"([a-z0-9-]+/[a-z0-9-]+)=(.+)", re.DOTALL)
_EPILOG = """\b
Examples:
  medcontract validate out.json                     the contract is recognised
  medcontract validate triage/response=out.json     the contract is named
  medcontract validate submission/                  every data file in the folder
  medcontract validate --format json *.jsonl        for programs
"""


def _complete_contract(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from medcontract.contracts.registry import compiled

    return [contract_id for contract_id in compiled() if contract_id.startswith(incomplete)]


@click.command("validate", epilog=_EPILOG, short_help="Does each file keep its contract?")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@click.option("--contract", metavar="ID", shell_complete=_complete_contract, help="The contract of all files.")
@click.option(
    "--format", "chosen", type=click.Choice(["text", "json"]), help="Default: text, or by the ending of --out."
)
@click.option("--out", metavar="FILE", type=click.Path(), help="Write the result there instead of standard output.")
@click.option(
    "--max-problems", type=click.IntRange(min=0), metavar="N", help="List at most N problems a file (text: 50)."
)
@click.option("--show-values", is_flag=True, help="Show offending values even where the output may be shared.")
@click.option("--no-color", is_flag=True, help="No colour; NO_COLOR=1 does the same.")
def command(
    files: tuple[str, ...], contract: str | None, chosen: str | None, out: str | None, max_problems: int | None,
    show_values: bool, no_color: bool,
) -> int:  # fmt: skip
    """Check that each FILE keeps its contract, and show every problem at its line and column.

    A folder stands for the data files in it. Values of records are shown on a terminal only.
    """
    from medcontract import flow
    from medcontract.contracts import registry
    from medcontract.rendering import json, text

    wanted = [_split(name, contract) for name in files]
    for _, contract_id in wanted:
        if contract_id:
            registry.find(contract_id)
    inputs = [(path, contract_id) for name, contract_id in wanted for path in flow.walk([name])]
    chosen = output.format_of(chosen, out, {".json": "json"})
    as_text = chosen == "text"
    values = show_values or (as_text and out is None and output.terminal())
    limit = max_problems if max_problems is not None else (50 if as_text else flow.KEEP)
    try:
        report = flow.validate_files(
            inputs,
            keep=min(limit, flow.KEEP),
            alike=3 if as_text else None,
            excerpts=as_text and values,
            progress=output.progress("checking"),
        )
    finally:
        output.clear_progress()
    if as_text:
        rendered = text.validation(report, output.style(no_color, out), values)
    else:
        rendered = json.validation(report, show_values)
    output.write(rendered, out)
    if any(file.wrong_call for file in report.files):
        return 2
    return 0 if report.ok else 1


def _split(name: str, contract: str | None) -> tuple[str, str | None]:
    """`CONTRACT=PATH`, unless a file has that very name."""
    match = _NAMED.fullmatch(name)
    if match and not os.path.lexists(name):
        return match.group(2), match.group(1)
    return name, contract
