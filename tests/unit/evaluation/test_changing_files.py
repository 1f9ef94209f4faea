"""A file that changes while its chunks are read: a problem, an error, or the result of one version of it."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from fuzz.pickled import Pickled
from tests.scoring_files import guess, image, write

import medcontract
from medcontract.parallel import merge as parallel
from medcontract.parallel import pool
from medcontract.reading import chunks

MOMENTS = ("_begin", "_run", "_merge_states", "_find_repeats")
"""Functions after which the file changes: before its chunks are read, between the passes, and at the end."""


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def replaced(path: Path) -> None:
    path.with_suffix(".new").write_bytes(path.read_bytes().replace(b"I-", b"J-"))
    path.with_suffix(".new").replace(path)


def changed(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.seek(path.stat().st_size // 2)
        stream.write(b"xxxx")


def removed(path: Path) -> None:
    path.unlink()


def now_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


ACCIDENTS = (truncated, emptied, replaced, changed, removed, now_a_folder)


def lesions(folder: Path, count: int) -> list[str]:
    """A truth and a submission, not sorted, with an id that is repeated far away."""
    sent = [guess(f"I-{n}", "NV") for n in range(count)]
    random.Random(1).shuffle(sent)
    sent[-1] = dict(sent[0])
    truth = write(folder, "lesions/truth", [image(f"I-{n}", "NV") for n in range(count)], "csv")
    return [str(truth), str(write(folder, "lesions/predictions", sent, "jsonl"))]


def copied(files: Sequence[str], folder: Path) -> list[Path]:
    return [Path(shutil.copy(file, folder)) for file in files]


def check_accident(
    files: Sequence[Path],
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
    accident: Callable[[Path], None],
    **how: Any,
) -> None:
    """The submission has an accident after a function was called: no score of a new version."""
    old = medcontract.score(*files, jobs=1).to_json()
    real = getattr(parallel, moment)
    done: list[str] = []

    def then(first: Any, *others: Any) -> Any:
        result = real(first, *others)
        parts: Any = first.parts if isinstance(first, parallel.Prepared) else first
        (one,) = parts if isinstance(parts, list | tuple) else [parts]
        source = (getattr(one, "part", None) or one).source
        if not done and source.name.endswith(".jsonl"):
            done.append(moment)
            accident(files[1])
        return result

    monkeypatch.setattr(parallel, moment, then)
    message, found = "", None
    try:
        found = medcontract.score(*files, **how)
    except medcontract.MedcontractError as error:
        message = str(error)
    assert done
    if found is None:
        assert "the file changed" in message or "the file can no longer be read" in message
        return
    assert found.to_json() == old or (accident is emptied and not found)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("accident", ACCIDENTS)
def test_a_file_that_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, accident: Callable[[Path], None]
) -> None:
    files = [Path(file) for file in lesions(tmp_path, 200)]
    monkeypatch.setattr(chunks, "SMALLEST", 500)
    monkeypatch.setattr(pool, "pool_for", lambda jobs, size: Pickled(2))
    check_accident(files, monkeypatch, moment, accident, jobs=2)
