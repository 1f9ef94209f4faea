"""`medcontract protocol`."""

from __future__ import annotations

import click

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
@options.result("text", "json")
def list_protocols(chosen: str | None, out: str | None, no_color: bool) -> int:
    """List the protocols of all tracks, with version and fingerprint."""
    from medcontract.rendering import json, text
    from medcontract.scoring import tracks

    found = [tracks.track(name).protocol for name in tracks.NAMES]
    if output.format_of(chosen, out, {".json": "json"}) == "json":
        rendered = json.protocols(found)
    else:
        rows = [("track", "version", "fingerprint"), *((p.id, str(p.version), p.fingerprint) for p in found)]
        rendered = text.table(rows, output.style(no_color, out))
    output.write(rendered, out)
    return 0


@command.command("show", short_help="One protocol in full.")
@click.argument("track", metavar="TRACK")
@options.pairs("--parameter", "parameters", "Show it with one parameter changed.")
@options.result("text", "json")
def show(track: str, parameters: dict[str, str], chosen: str | None, out: str | None, no_color: bool) -> int:
    """Show the parameters of a track, the formulas in words, and where each number comes from."""
    from medcontract.evaluation.score import changed_protocol
    from medcontract.rendering import json, text
    from medcontract.scoring import tracks

    found = tracks.track(track)
    protocol = changed_protocol(found, tuple(parameters.items()))
    if output.format_of(chosen, out, {".json": "json"}) == "json":
        rendered = json.protocol(protocol, found.figures)
    else:
        rendered = text.protocol(protocol, found.figures, output.style(no_color, out))
    output.write(rendered, out)
    return 0
