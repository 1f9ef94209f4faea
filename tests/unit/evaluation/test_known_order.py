"""The order of the truth changes no result: neither figures nor the places of repeated ids."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tests.scoring_files import guess, image, write
from tests.support import property_settings

import medcontract
from medcontract.reading import jsonl_file

Record = dict[str, Any]
IDS = [f"I-{number:02}" for number in range(40)]
KINDS = ["next", "next", "skip", "earlier", "earlier, invalid", "unknown", "failed", "invalid", "broken", "file"]


def score(ids: Sequence[str], sent: Sequence[Sequence[Record]], block: int) -> medcontract.Score:
    """The score of files that are read in blocks of so many bytes."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl_file, "LINES_BLOCK", block)
        folder = Path(name)
        parts = [write(folder, "lesions/predictions", part, "jsonl", f"part-{n}") for n, part in enumerate(sent)]
        truth = write(folder, "lesions/truth", [image(each, "NV") for each in ids], "csv", "truth")
        return medcontract.score(truth, *parts, jobs=1)


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
)
def test_any_file_has_the_same_result(ids: list[str], first: int, kinds: list[str], size: int) -> None:
    """Whether, and for how long, the records have the order of the truth: all in one block, or not."""
    sent = submission(ids, ["next"] * first + kinds)
    found, expected = score(ids, sent, size), score(ids[::-1], sent, 1 << 16)
    assert (found.result, found.valid, found.reasons) == (expected.result, expected.valid, expected.reasons)
    in_file, elsewhere = (
        sorted((each.file, each.line or 0, each.code, each.message) for each in one.problems)
        for one in (found, expected)
    )
    assert in_file == elsewhere
    if any(problem.code == "MC201" for problem in found.problems):
        event("repeated ids")


def test_a_repeated_id_after_many_in_order() -> None:
    """The last record repeats the first one, which was read long before."""
    found = score(IDS, [[guess(name, "NV") for name in [*IDS, IDS[0]]]], 500)
    assert [(problem.code, problem.line) for problem in found.problems] == [("MC201", len(IDS) + 1)]
