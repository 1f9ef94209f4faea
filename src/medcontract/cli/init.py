"""`medcontract init`."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

EXAMPLES = Path(__file__).parent.parent / "examples"
TRACKS = ("benchmark", "extraction", "lesions", "reports", "triage")

_EPILOG = """\b
Examples:
  medcontract init reports demo
  medcontract init triage demo && medcontract validate demo
"""


@click.command("init", epilog=_EPILOG, short_help="A small, valid, realistic set of files to start from.")
@click.argument("track", type=click.Choice(TRACKS))
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.option("--force", is_flag=True, help="Overwrite files of the same name.")
def command(track: str, folder: str, force: bool) -> int:
    """Write a small, valid set of made-up files of TRACK into DIR."""
    from medcontract.errors import CallError

    target = Path(folder)
    files = sorted(path for path in (EXAMPLES / track).rglob("*") if path.is_file())
    there = [path.name for path in files if (target / path.relative_to(EXAMPLES / track)).exists()]
    if there and not force:
        raise CallError(f"{folder} already has {', '.join(there)}", "choose another folder, or overwrite with --force")
    try:
        for path in files:
            place = target / path.relative_to(EXAMPLES / track)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
            click.echo(str(place))
    except OSError as error:
        raise CallError(f"cannot write to {folder}: {(error.strerror or str(error)).lower()}") from None
    click.echo(f"Next: medcontract validate {folder}", err=True)
    return 0
