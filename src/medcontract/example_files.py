"""A small, valid, made-up set of files of a track, to start from."""

from __future__ import annotations

import shutil
from pathlib import Path

from medcontract.errors import CallError

EXAMPLES = Path(__file__).parent / "examples"


def shipped_tracks() -> tuple[str, ...]:
    """The tracks that come with example files."""
    return tuple(sorted(folder.name for folder in EXAMPLES.iterdir() if folder.is_dir()))


def copy_examples(track: str, folder: Path, force: bool = False) -> tuple[Path, ...]:
    """Copy the example files of a track, and say what was written. Raises `CallError`."""
    files = {folder / name: path for name, path in _examples(track).items()}
    there = [place.name for place in files if place.exists()]
    if there and not force:
        raise CallError(f"{folder} already has {', '.join(there)}", "choose another folder, or overwrite with --force")
    try:
        for place, path in files.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
    except OSError as error:
        name = error.filename or folder
        raise CallError(f"cannot copy {name}: {(error.strerror or str(error)).lower()}") from None
    return tuple(files)


def _examples(track: str) -> dict[str, Path]:
    """The example files of a track, by where they go."""
    shipped = shipped_tracks()
    if track in shipped:
        home = EXAMPLES / track
        return {
            str(path.relative_to(home)): path
            for path in sorted(home.rglob("*"))
            if path.is_file() and path.parent.name != "__pycache__"  # pip compiles the scripts of examples
        }
    from medcontract.contracts.registry import tracks

    known = tracks()
    if track not in known:
        raise _unknown(track, {*shipped, *known})
    files = {path.name: path for entry in known[track] if entry.contract for path in entry.contract.examples}
    if not files:
        hint = "a contract of your own names its example files: Contract(…, examples=(Path(…),))"
        raise CallError(f"no examples come with the track '{track}'", hint)
    return files


def _unknown(track: str, known: set[str]) -> CallError:
    from medcontract.contracts.suggestions import did_you_mean

    hints = filter(None, [did_you_mean(track, sorted(known)), f"there are {', '.join(shipped_tracks())}"])
    return CallError(f"no track is called '{track}'", f"{' '.join(hints)}; --plugin brings others")
