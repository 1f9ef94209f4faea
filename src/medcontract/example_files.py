"""Small, valid sets of example files, one per track."""

from __future__ import annotations

from pathlib import Path

from medcontract.atomic_write import write_new_files
from medcontract.errors import LOAD_PLUGIN, CallError, option, words

EXAMPLES = Path(__file__).parent / "examples"


def built_in_tracks() -> tuple[str, ...]:
    """Return the built-in tracks."""
    return tuple(sorted(folder.name for folder in EXAMPLES.iterdir() if folder.is_dir()))


def copy_examples(track: str, folder: Path, force: bool = False) -> tuple[Path, ...]:
    """Copy the example files of a track. Returns the paths of the copies. Raises `CallError`."""
    try:
        files = {name: path.read_bytes() for name, path in _examples(track).items()}
    except OSError as error:
        raise CallError(f"cannot copy {error.filename}: {(error.strerror or str(error)).lower()}") from None
    return write_new_files(folder, files, force)


def _examples(track: str) -> dict[str, Path]:
    """Return the example files of a track, by relative path of the copy."""
    built_in = built_in_tracks()
    if track in built_in:
        home = EXAMPLES / track
        return {
            str(path.relative_to(home)): path
            for path in sorted(home.rglob("*"))
            if path.is_file() and path.parent.name != "__pycache__"  # pip compiles the scripts of examples
        }
    from medcontract.contracts.registry import tracks

    known = tracks()
    if track not in known:
        from medcontract.contracts.suggestions import did_you_mean

        guess = did_you_mean(track, sorted({*built_in, *known}))
        known_tracks = f"use one of {', '.join(built_in)}, or load another one with "
        choices = words(known_tracks, LOAD_PLUGIN, " or ", option("--challenge"))
        raise CallError(f"unknown track '{track}'", guess or choices)
    paths = [Path(path) for entry in known[track] if entry.contract for path in entry.contract.examples]
    files = {path.name: path for path in paths}
    if not files:
        hint = "specify example files in its contracts: Contract(…, examples=(Path(…),))"
        raise CallError(f"the track '{track}' has no example files", hint)
    return files
