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


@click.group("protocol", epilog=_EPILOG, short_help="List and show the frozen parameters of each track.")
def command() -> None:
    """The frozen parameters that scores depend on, with formulas and sources."""


@command.command("list", short_help="List all protocols.")
@options.plugins
@options.result("ProtocolList")
def list_protocols(chosen: str | None, out: str | None, no_color: bool) -> int:
    """List the protocols of all tracks, with version and fingerprint."""
    printer = output.Printer("ProtocolList", chosen, out, no_color)
    printer.print(api.list_protocols())
    return 0


@command.command("show", short_help="Show a protocol.")
@click.argument("track", metavar="TRACK")
@options.pairs("--parameter", "parameters", "Show the protocol with a changed parameter.")
@options.plugins
@options.result("Protocol")
def show(track: str, parameters: dict[str, str], chosen: str | None, out: str | None, no_color: bool) -> int:
    """Show the parameters of TRACK with their sources, and the formulas in words."""
    printer = output.Printer("Protocol", chosen, out, no_color)
    printer.print(api.get_protocol(track, parameters=parameters))
    return 0
