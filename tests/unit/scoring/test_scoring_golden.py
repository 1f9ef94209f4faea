"""Scores computed by hand: each folder of `tests/vectors/scores` has input files, what is expected, and the arithmetic.

`expected.json` is one call of `medcontract.score`, or a list of them; CONTRIBUTING ("Tests") describes its keys.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.scoring_files import Record, assert_keeps_contract
from tests.support import OWN_VECTORS

import medcontract

FOLDERS = sorted(path for path in (OWN_VECTORS / "scores").iterdir())
OTHERS = {"expected.json", "arithmetic.md"}
"""The files of a folder that are not given to the call."""
KEYS = {"files", "arguments", "valid", "processing", "headline", "warnings", "codes", "result", "ranking"}
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")


def calls(folder: Path) -> list[Record]:
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return expected if isinstance(expected, list) else [expected]


CASES = [pytest.param(path, call, id=f"{path.name}-{n}") for path in FOLDERS for n, call in enumerate(calls(path))]


def computed(value: Any) -> Any:
    """The nearest double to an arithmetic expression such as `= 0.30*2/3`, computed in fractions; else the value."""
    if not isinstance(value, str) or not value.startswith("= "):
        return value
    formula = _NUMBER.sub(lambda number: f"Fraction('{number[0]}')", value.removeprefix("= "))
    exact = eval(formula, {"Fraction": Fraction, "double": lambda number: Fraction(float(number))})  # noqa: S307  # ours
    return float(exact)


def differences(expected: Any, found: Any, place: str = "", *, partly: bool = True) -> list[str]:
    """Compare with what is expected. Only the result and the rows of its lists may have more keys."""
    if isinstance(expected, dict) and isinstance(found, dict):
        wrong = sorted(expected.keys() - found.keys() if partly else expected.keys() ^ found.keys())
        places = [(key, f"{place}/{key}") for key in expected if key in found]
        inside = [line for key, at in places for line in differences(expected[key], found[key], at, partly=False)]
        return [f"{place}: {key!r} is on one side only" for key in wrong] + inside
    if isinstance(expected, list) and isinstance(found, list | tuple) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [line for n, (one, other) in pairs for line in differences(one, other, f"{place}/{n}")]
    wanted = computed(expected)
    same = wanted == found and (wanted is None or isinstance(wanted, bool) == isinstance(found, bool))
    return [] if same else [f"{place}: expected {expected!r}, got {found!r}"]


@pytest.mark.parametrize(("folder", "call"), CASES)
def test_computed_by_hand(folder: Path, call: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every expected figure is the nearest double to the fraction that the arithmetic derives."""
    monkeypatch.chdir(folder)
    files = call.get("files") or sorted(path.name for path in folder.iterdir() if path.name not in OTHERS)
    arguments = call.get("arguments", {})
    if "ranking" in call:
        board = medcontract.leaderboard(*files, **arguments)
        ranks = [[each.rank, each.name, each.headline] for each in board.submissions]
        assert differences(call["ranking"], ranks) == []
        return
    score = medcontract.score(*files, **arguments)
    assert score.valid == call.get("valid", True), score.reasons
    assert bool(score.reasons) != score.valid
    assert differences(call["result"], score.result) == []
    if score.result is not None:
        assert_keeps_contract(score.track, score.result)
    if "headline" in call:
        assert differences(call["headline"], score.headline[1]) == []
    if "processing" in call:
        gate = score.processing
        assert (gate and [gate.processed, gate.expected]) == call["processing"]
    for key, found in (("warnings", score.warnings), ("codes", [problem.code for problem in score.problems])):
        if key in call:
            assert [each for each in call[key] if each not in found] == []
            assert call[key] or not found


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_folder_is_complete(folder: Path) -> None:
    """It explains its figures, all of its files are used, and its calls have known keys."""
    assert len((folder / "arithmetic.md").read_text(encoding="utf-8").splitlines()) > 2
    every = {path.name for path in folder.iterdir()} - OTHERS
    used = [{*call.get("files", every), call.get("arguments", {}).get("lexicon")} - {None} for call in calls(folder)]
    assert set().union(*used) == every
    assert set().union(*calls(folder)) <= KEYS
    assert all(call.keys() & {"result", "ranking"} for call in calls(folder))
