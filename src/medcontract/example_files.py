"""Example files: a small, valid, made-up set of files for each track."""

from __future__ import annotations

import shutil
from pathlib import Path

from medcontract.errors import CallError

EXAMPLES = Path(__file__).parent / "examples"


def shipped_tracks() -> tuple[str, ...]:
    """The built-in tracks, which have example files."""
    return tuple(sorted(folder.name for folder in EXAMPLES.iterdir() if folder.is_dir()))


def copy_examples(track: str, folder: Path, force: bool = False) -> tuple[Path, ...]:
    """Copy the example files of a track. Returns the written files. Raises `CallError`."""
    files = {folder / name: path for name, path in _examples(track).items()}
    existing = [target.name for target in files if target.exists()]
    if existing and not force:
        raise CallError(
            f"{folder} already contains {', '.join(existing)}", "choose another folder, or overwrite with --force"
        )
    try:
        for target, path in files.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    except OSError as error:
        name = error.filename or folder
        raise CallError(f"cannot copy {name}: {(error.strerror or str(error)).lower()}") from None
    return tuple(files)


def _examples(track: str) -> dict[str, Path]:
    """The example files of a track, by relative target path."""
    shipped = shipped_tracks()
    if track in shipped:
        home = EXAMPLES / track
        return {str(path.relative_to(home)): path for path in sorted(home.rglob("*")) if path.is_file()}
    from medcontract.contracts.registry import tracks

    known = tracks()
    if track not in known:
        raise _unknown(track, {*shipped, *known})
    files = {path.name: path for entry in known[track] if entry.contract for path in entry.contract.examples}
    if not files:
        hint = "list the example files of a custom contract: Contract(…, examples=(Path(…),))"
        raise CallError(f"the track '{track}' has no example files", hint)
    return files


def _unknown(track: str, known: set[str]) -> CallError:
    from medcontract.contracts.suggestions import did_you_mean

    hints = filter(None, [did_you_mean(track, sorted(known)), f"built-in tracks: {', '.join(shipped_tracks())}"])
    return CallError(f"unknown track '{track}'", f"{' '.join(hints)}; load others with --plugin")
