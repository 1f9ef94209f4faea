"""`medcontract init`."""

from __future__ import annotations

import shlex

import click

from medcontract import api
from medcontract.cli import options, output

TRACKS = api.example_tracks()

_EPILOG = f"""\b
Tracks: {", ".join(TRACKS)}, and those of plugins.

\b
Examples:
  medcontract init reports demo
  medcontract init triage demo && medcontract validate demo
  medcontract init --plugin ./my_challenge.py mine demo
"""


@click.command("init", epilog=_EPILOG)
@options.plugins
@click.argument("track", shell_complete=options.complete_example)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@options.quiet
@options.force
def command(track: str, folder: str, force: bool) -> int:
    """Create a small, valid set of example files of TRACK in DIR. All data in them is fictitious."""
    written = api.init(track, folder, force=force)
    if output.is_quiet():
        return 0
    for path in written:
        click.echo(str(path))
    click.echo("Next: " + shlex.join(["medcontract", "validate", *options.plugin_arguments(), folder]), err=True)
    return 0
