"""Pairing the records finds repeated ids at the same places as the rule alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tests.scoring_files import guess, image, write
from tests.support import property_settings

import medcontract
from medcontract.reading import jsonl
from medcontract.reading.source import Source
from medcontract.scoring.expected import Expected
from medcontract.scoring.pairing import Pairing
from medcontract.validation import records

Record = dict[str, Any]


@contextmanager
def blocks_of(size: int, rule_alone: bool = False) -> Iterator[None]:
    """Files are read in blocks of this many bytes, with a landmark before each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "LINES_BLOCK", size)
        patch.setattr(records, "LINES_BLOCK", size)
        for sink in (Pairing, Expected) if rule_alone else ():
            patch.setattr(sink, "finds_repeated", lambda self, rule: False)
        yield


def files(folder: Path, ids: Sequence[str], *sent: Sequence[Record], container: str = "jsonl") -> list[Path]:
    parts = [write(folder, "lesions/predictions", part, container, f"part-{n}") for n, part in enumerate(sent)]
    return [write(folder, "lesions/truth", [image(name, "NV") for name in ids], "csv", "truth"), *parts]


IDS = [f"I-{number:02}" for number in range(40)]
KINDS = ["next", "next", "skip", "earlier", "earlier, invalid", "unknown", "failed", "invalid", "broken", "file"]


def submission(ids: Sequence[str], kinds: Sequence[str]) -> list[list[Record]]:
    """Files with the ids in order, and with what disturbs it."""
    parts: list[list[Record]] = [[]]
    left = list(ids)
    for kind in kinds:
        name = {"earlier": ids[0], "earlier, invalid": ids[0], "unknown": "X"}.get(kind) or (left or ["Y"]).pop(0)
        record = guess(name, "NV")
        if kind == "file":
            parts.append([])
        if kind == "failed":
            record = {"image_id": name, "error": "no image"}
        if kind in ("invalid", "earlier, invalid"):
            record["probabilities"] = [0.5] * 10
        if kind == "broken":
            record["probabilities"] = "none"
        if kind != "skip":
            parts[-1].append(record)
    return [part for part in parts if part]


@property_settings(400)
@given(
    st.permutations(IDS[:12]) | st.just(IDS),
    st.integers(1, 20),
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=8),
    st.integers(100, 1000),
    st.sampled_from(["json", "jsonl", "csv"]),
)
def test_any_file_has_the_same_result(ids: list[str], first: int, kinds: list[str], size: int, container: str) -> None:
    """Whenever the records leave the order of the truth, and whatever else is wrong with them."""
    kinds = [kind for kind in kinds if kind != "broken" or container != "csv"]
    sent = submission(ids, ["next"] * first + kinds)
    with tempfile.TemporaryDirectory() as folder:
        paths = files(Path(folder), ids, *sent, container=container)
        with blocks_of(size):
            score = medcontract.score(*paths, jobs=1)
        with blocks_of(size, rule_alone=True):
            expected = medcontract.score(*paths, jobs=1)
    assert score.to_json(show_values=True) == expected.to_json(show_values=True)
    if any(problem.code == "MC201" for problem in score.problems):
        event("repeated ids")


@pytest.mark.parametrize("container", ["json", "jsonl"])
def test_only_the_parts_with_repeated_ids_are_read_again(container: str, tmp_path: Path) -> None:
    """One that repeats the first, another that is not expected, and their places."""
    names = [f"I-{number:04}" for number in range(2000)]
    sent = [guess(name, "NV") for name in [*names, "X", names[0], "X"]]
    paths = files(tmp_path, names, sent, container=container)
    read: list[int] = []
    with blocks_of(1000), pytest.MonkeyPatch.context() as patch:
        real = Source.read

        def counted(self: Source, offset: int, length: int) -> bytes:
            read.append(length)
            return real(self, offset, length)

        patch.setattr(Source, "read", counted)
        score = medcontract.score(*paths, jobs=1)
    places = [(problem.code, problem.record) for problem in score.problems if problem.code == "MC201"]
    assert places == [("MC201", 2001), ("MC201", 2002)]
    assert sum(read) < 20_000 < paths[1].stat().st_size


def test_a_repeated_id_after_many_in_order(tmp_path: Path) -> None:
    """The last record repeats the first one, which was read long before."""
    sent = [guess(name, "NV") for name in [*IDS, IDS[0]]]
    with blocks_of(500):
        score = medcontract.score(*files(tmp_path, IDS, sent), jobs=1)
    assert [(problem.code, problem.line) for problem in score.problems] == [("MC201", len(IDS) + 1)]
