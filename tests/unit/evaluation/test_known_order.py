"""Ids in the order of the truth are not compared with each other, which changes no result."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tests.scoring_files import guess, image, write
from tests.support import property_settings

import medcontract
from medcontract.contracts.contract import mark_validated
from medcontract.contracts.rules import UniqueIndex
from medcontract.reading import jsonl_file
from medcontract.scoring.expected import Expected, ExpectedItems
from medcontract.scoring.pairing import Pair, Pairing

Record = dict[str, Any]


@contextmanager
def blocks_of(size: int, known_order: bool = True) -> Iterator[list[int]]:
    """Files are read in blocks of so many bytes. Notes how many ids are compared with each other at a time."""
    compared: list[int] = []
    real = UniqueIndex._ascend

    def noted(self: UniqueIndex, keys: list[Any]) -> None:
        compared.append(len(keys))
        real(self, keys)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl_file, "LINES_BLOCK", size)
        if not known_order:
            patch.setattr(Pairing, "order_for", lambda self, rule: None)
        patch.setattr(UniqueIndex, "_ascend", noted)
        yield compared


def files(folder: Path, ids: Sequence[str], *sent: Sequence[Record]) -> list[Path]:
    parts = [write(folder, "lesions/predictions", part, "jsonl", f"part-{n}") for n, part in enumerate(sent)]
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
)
def test_any_file_has_the_same_result(ids: list[str], first: int, kinds: list[str], size: int) -> None:
    """Repeated ids are found at the same places, whenever the records leave the order of the truth."""
    sent = submission(ids, ["next"] * first + kinds)
    with tempfile.TemporaryDirectory() as folder:
        paths = files(Path(folder), ids, *sent)
        with blocks_of(size):
            score = medcontract.score(*paths, jobs=1)
        with blocks_of(size, known_order=False):
            expected = medcontract.score(*paths, jobs=1)
    assert score.to_json(show_values=True) == expected.to_json(show_values=True)
    if any(problem.code == "MC201" for problem in score.problems):
        event("repeated ids")


def test_ids_in_the_order_of_the_truth_are_not_compared_with_each_other(tmp_path: Path) -> None:
    """Neither while they are read, nor at the end; those of the truth are."""
    paths = files(tmp_path, IDS, [guess(name, "NV") for name in IDS])
    with blocks_of(500) as compared:
        assert medcontract.score(*paths, jobs=1).valid
    assert sum(compared) == len(IDS)


class _Row(NamedTuple):
    image_id: str


def test_only_the_records_whose_ids_were_compared_are_taken_as_such() -> None:
    """If other records come instead, their ids are compared, too."""
    pair: Pair[int, str] = Pair(
        truth="t", submission="s", key=("image_id",), item=int, measure=lambda item, row: row.image_id, can_fail=False
    )
    pairing = Pairing(pair, Expected.of(pair, ExpectedItems(list("abcd"), [1, 2, 3, 4], ascending=True)))
    assert pairing.continues([_Row("a"), _Row("b")])
    pairing.take(mark_validated([_Row("d"), _Row("c")], "s"))
    assert pairing.marks_by_run[""].listed(4) == [None, None, "c", "d"]


def test_a_repeated_id_after_many_in_order(tmp_path: Path) -> None:
    """The last record repeats the first one, which was read long before."""
    sent = [guess(name, "NV") for name in [*IDS, IDS[0]]]
    with blocks_of(500):
        score = medcontract.score(*files(tmp_path, IDS, sent), jobs=1)
    assert [(problem.code, problem.line) for problem in score.problems] == [("MC201", len(IDS) + 1)]
