"""`medcontract protocol`."""

from __future__ import annotations

from typing import Any

import click

from medcontract import api
from medcontract.cli import options, output
from medcontract.cli.group import SuggestingGroup

_EPILOG = """\b
Examples:
  medcontract protocol list
  medcontract protocol show lesions
  medcontract protocol show reports --format json
  medcontract protocol freeze extraction --truth labels/ --note 'baseline of March' --out protocol.json
  medcontract protocol check protocol.json
  medcontract score labels/ predictions/ --protocol protocol.json
"""


@click.group("protocol", cls=SuggestingGroup, epilog=_EPILOG)
def command() -> None:
    """The frozen parameters that scores depend on, with formulas and sources."""


@command.command("list", short_help="List all protocols.")
@options.plugins
@options.result("ProtocolList")
def list_protocols(printer: output.Printer) -> int:
    """List the protocols of all tracks, with version and fingerprint."""
    printer.print(api.list_protocols())
    return 0


@command.command("show", short_help="Show a protocol.")
@click.argument("track", metavar="TRACK", shell_complete=options.complete_track)
@options.pairs("--parameter", "parameters", "Show the protocol with a changed parameter.")
@options.plugins
@options.result("Protocol")
def show(track: str, parameters: dict[str, str], printer: output.Printer) -> int:
    """Show the parameters of TRACK with their sources, and the formulas in words."""
    printer.print(api.get_protocol(track, parameters=parameters))
    return 0


@command.command("freeze", cls=options.ProtocolCommand, short_help="Write a protocol to a file, with all versions.")
@click.argument("track", metavar="TRACK", shell_complete=options.complete_track)
@options.pairs("--parameter", "parameters", "Freeze it with one parameter changed.")
@click.option(
    "--truth",
    metavar="FILE",
    type=click.Path(),
    multiple=True,
    help="Freeze the content of this truth, too: a file or a folder; may be repeated.",
)
@options.contract("The contract of all files of the truth that are not passed as CONTRACT=PATH.")
@click.option("--note", metavar="WHY", help="Why it is frozen.")
@options.plugins
@options.out
@options.quiet
@options.limits
def freeze(track: str, out: str | None, **given: Any) -> int:
    """Write the protocol of a TRACK to the file --out, as JSON: parameters, the version of every step that changes a
    score, and the content of the truth. Pass it to other commands with --protocol.
    """
    if out is None:
        raise click.UsageError("Missing option '--out'.")
    frozen = api.freeze_protocol(track, **given)
    output.write(frozen.to_json(), out)
    if not output.is_quiet():
        click.echo(f"{frozen.id} v{frozen.version}, fingerprint {frozen.fingerprint}", err=True)
    return 0


@command.command(
    "check", cls=options.ProtocolCommand, short_help="Is a frozen protocol still that of this medcontract?"
)
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@options.contract("The contract of the file. Only frozen protocols can be checked: medcontract/protocol.")
@options.plugins
@options.limits
@options.result("ProtocolCheck")
def check(file: str, printer: output.Printer, **given: Any) -> int:
    """Compare the frozen protocol in FILE with this medcontract. The exit code is 1 if anything differs."""
    found = api.check_protocol(file, **given)
    printer.print(found)
    return 0 if found else 1
