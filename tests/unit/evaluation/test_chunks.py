"""Files that are read in chunks give the bytes of one process, wherever they are cut and whatever is in them."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fuzz.pickled import Pickled
from tests.random_files import MAKERS, write_files

import medcontract
from medcontract.parallel import cpus, pool
from medcontract.parallel import merge as parallel
from medcontract.reading import chunks


@pytest.fixture
def in_chunks(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[bool]]:
    """Sets the number of workers and the minimum size of a chunk. Returns what was read in chunks."""

    def set_up(workers: int, smallest: int) -> list[bool]:
        read: list[bool] = []
        real = parallel.read_in_chunks

        def noted(*arguments: Any) -> bool:
            read.append(real(*arguments))
            return read[-1]

        monkeypatch.setattr(chunks, "SMALLEST", smallest)
        monkeypatch.setattr(cpus, "workers_for", lambda jobs, size: 1 if jobs == 1 else workers)
        monkeypatch.setattr(pool, "pool_for", lambda jobs, size: Pickled(workers))
        monkeypatch.setattr(parallel, "read_in_chunks", noted)
        return read

    return set_up


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(120))
@pytest.mark.parametrize("track", MAKERS)
def test_same_result(track: str, seed: int, tmp_path: Path, in_chunks: Callable[..., list[bool]]) -> None:
    rng = random.Random(f"{track} {seed}")
    given = write_files(rng, track, tmp_path)
    limits = {"max_problems": rng.choice([3, 100]), "max_alike": rng.choice([None, 1, 3])}
    participant = rng.random() < 0.2

    def results() -> list[str]:
        found = [
            medcontract.validate_files(given, excerpts=True, **limits).to_json(show_values=True)  # type: ignore[arg-type]
        ]
        try:
            score = medcontract.score(*given, participant=participant, jobs=None, excerpts=True, **limits)  # type: ignore[arg-type]
        except medcontract.MedcontractError as error:
            return [*found, str(error)]
        return [*found, score.to_json(show_values=not participant)]

    expected = results()
    in_chunks(rng.choice([2, 3, 4]), rng.choice([128, 300, 1000]))
    for mine, theirs in zip(results(), expected, strict=True):
        assert mine.splitlines() == theirs.splitlines()


@pytest.mark.parametrize("track", MAKERS)
def test_every_track_is_read_in_chunks(track: str, tmp_path: Path, in_chunks: Callable[..., list[bool]]) -> None:
    read = in_chunks(2, 128)
    for seed in range(6):
        with contextlib.suppress(medcontract.MedcontractError):
            medcontract.score(*write_files(random.Random(seed), track, tmp_path), jobs=None)
    assert any(read)
