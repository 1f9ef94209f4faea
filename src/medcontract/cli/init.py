"""`medcontract init`."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import click

from medcontract.cli import options
from medcontract.errors import CallError

EXAMPLES = Path(__file__).parent.parent / "examples"
TRACKS = ("benchmark", "extraction", "lesions", "reports", "triage")

_EPILOG = f"""\b
Tracks: {", ".join(TRACKS)}, and those of plugins.
Examples:
  medcontract init reports demo
  medcontract init triage demo && medcontract validate demo
  medcontract init --plugin ./my_challenge.py mine demo
"""


def _complete_track(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [track for track in TRACKS if track.startswith(incomplete)]


@click.command("init", epilog=_EPILOG, short_help="A small, valid, realistic set of files to start from.")
@options.plugins
@click.argument("track", shell_complete=_complete_track)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.option("--force", is_flag=True, help="Overwrite files of the same name.")
def command(track: str, folder: str, force: bool) -> int:
    """Write a small, valid set of made-up files of TRACK into DIR."""
    target = Path(folder)
    files = {target / name: path for name, path in _examples(track).items()}
    there = [place.name for place in files if place.exists()]
    if there and not force:
        raise CallError(f"{folder} already has {', '.join(there)}", "choose another folder, or overwrite with --force")
    try:
        for place, path in files.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
            click.echo(str(place))
    except OSError as error:
        name = error.filename or folder
        raise CallError(f"cannot copy {name}: {(error.strerror or str(error)).lower()}") from None
    click.echo("Next: " + shlex.join(["medcontract", "validate", *options.plugin_arguments(), folder]), err=True)
    return 0


def _examples(track: str) -> dict[str, Path]:
    """The example files of a track, by where they go."""
    if track in TRACKS:
        home = EXAMPLES / track
        return {str(path.relative_to(home)): path for path in sorted(home.rglob("*")) if path.is_file()}
    from medcontract.definitions.registry import tracks

    known = tracks()
    if track not in known:
        raise _unknown(track, {*TRACKS, *known})
    files = {path.name: path for entry in known[track] if entry.contract for path in entry.contract.examples}
    if not files:
        hint = "a contract of your own names its example files: Contract(…, examples=(Path(…),))"
        raise CallError(f"no examples come with the track '{track}'", hint)
    return files


def _unknown(track: str, known: set[str]) -> CallError:
    from medcontract.definitions.suggest import nearest

    guess = nearest(track, sorted(known))
    hint = f"did you mean '{guess}'? " if guess else ""
    return CallError(f"no track is called '{track}'", f"{hint}there are {', '.join(TRACKS)}; --plugin brings others")
