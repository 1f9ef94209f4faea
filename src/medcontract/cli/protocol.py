"""`medcontract protocol`."""

from __future__ import annotations

import click

from medcontract import api
from medcontract.cli import options, output

_EPILOG = """\b
Examples:
  medcontract protocol list
  medcontract protocol show lesions
  medcontract protocol show reports --format json
"""


@click.group("protocol", epilog=_EPILOG, short_help="The frozen parameters of each track: list, show.")
def command() -> None:
    """What scores depend on besides the files: parameters, formulas, and where each number comes from."""


@command.command("list", short_help="All protocols.")
@options.plugins
@options.result("ProtocolList")
def list_protocols(chosen: str | None, out: str | None, no_color: bool) -> int:
    """List the protocols of all tracks, with version and fingerprint."""
    printer = output.Printer("ProtocolList", chosen, out, no_color)
    printer.print(api.list_protocols())
    return 0


@command.command("show", short_help="One protocol in full.")
@click.argument("track", metavar="TRACK")
@options.pairs("--parameter", "parameters", "Show it with one parameter changed.")
@options.plugins
@options.result("Protocol")
def show(track: str, parameters: dict[str, str], chosen: str | None, out: str | None, no_color: bool) -> int:
    """Show the parameters of a track, the formulas in words, and where each number comes from."""
    printer = output.Printer("Protocol", chosen, out, no_color)
    printer.print(api.get_protocol(track, parameters=parameters))
    return 0
