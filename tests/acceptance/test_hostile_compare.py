"""Scores that `compare` is given are input like any other: they may hold anything."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.commands import TRACKS, TRUTH, Call, all_files, truth_file
from tests.scoring_files import document, repeats, says, weights
from tests.support import published

import medcontract
from medcontract.errors import MedcontractError
from medcontract.evaluation.compare import compare
from medcontract.rendering import render
from medcontract.rendering.page import View

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 1.5, 1e308, -1e308, 5e-324, 10**18, "", "x", "GO", "\x1b[31m", "Ana Pérez", [], {},
    [1], [[]], [None], [{}], {"a": 1}, {"": None}, {"a": {"b": {"c": [1]}}}, {"Ana Pérez": 1}, {"weights": 3},
    {"combined_score": {"weights": {"a": "b"}}}, ["x"] * 3,
)  # fmt: skip
EXPLORE = int(os.environ.get("MEDCONTRACT_EXPLORE", "1"))
"""How many times more mutations are tried."""
FORMATS = ("text", "json", "markdown")


def score_of(call: Call, folder: Path, track: str, *extra: str) -> Any:
    """A full score; in benchmark with all that a report may hold."""
    files = all_files(folder, track)
    if track == "benchmark":
        sent = [says(each["sample_id"], "qa", {"safety": 0.5}, **repeats(each)["prediction"]) for each in TRUTH[track]]
        (folder / "sent.json").write_text(json.dumps({"model_id": "m", "predictions": sent}))
        files += document(folder, "weights", weights(clinical_accuracy=1, safety=1))
        extra = (*extra, "--breakdown")
    return call("score", *files, "--format", "json", *extra).json


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a value could be changed; of long lists the first items."""
    if path:
        yield path
    members = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, each in members:
        yield from places(each, (*path, key))


def mutated(value: Any, choose: random.Random) -> Any:
    """A copy with one to three changes, most of them in the result."""
    copy = json.loads(json.dumps(value))
    for _ in range(choose.randint(1, 3)):
        everywhere = list(places(copy))
        inside = [path for path in everywhere if path[0] == "result"] or everywhere
        *way, last = choose.choice(inside if choose.random() < 0.8 else everywhere)
        holder = copy
        for key in way:
            holder = holder[key]
        what = choose.random()
        if what < 0.1:
            del holder[last]
        elif what < 0.2 and isinstance(holder, dict):
            holder[choose.choice(["x", "Ana Pérez", "metrics", "gates", "runs", "decision", "metadata"])] = holder[last]
        elif what < 0.3 and isinstance(holder, list):
            holder.insert(0, holder[last])
        else:
            holder[last] = json.loads(json.dumps(choose.choice(ODD)))
    return copy


def outcome(before: Any, after: Any) -> str:
    """What `compare` makes of two scores in all formats. Only what is documented may be raised."""
    try:
        sides = [medcontract.load(json.dumps(each).encode(), "medcontract/score") for each in (before, after)]
        found = compare(sides[0], sides[1])
    except MedcontractError as error:
        return str(error)
    text, as_json, markdown = (render(found, each, View()) for each in FORMATS)
    published("medcontract/comparison").validate(json.loads(as_json))
    return text + as_json + markdown


@pytest.mark.sampled(3)
@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("extra", [(), ("--participant",)])
def test_mutated_scores(call: Call, tmp_path: Path, track: str, extra: tuple[str, ...]) -> None:
    """Whatever stands in a score: a comparison, or a documented refusal; nothing that a terminal obeys."""
    score = score_of(call, tmp_path, track, *extra)
    choose = random.Random(f"{track}{extra}")
    for _ in range(20 * EXPLORE):
        changed = mutated(score, choose)
        before, after = choose.sample([score, changed], 2) if choose.random() < 0.8 else (changed, changed)
        assert "\x1b" not in outcome(before, after)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("key", ["metrics", "documents", "gates", "runs", "overall_scores", "task_scores", "metadata"])
def test_odd_members_of_a_result(call: Call, tmp_path: Path, key: str) -> None:
    """Every list and table of a result may be anything, in every track."""
    score = score_of(call, tmp_path, "triage")
    for number, odd in enumerate(ODD):
        track = "triage" if key == "metrics" else TRACKS[number % len(TRACKS)]
        outcome({**score, "track": track}, {**score, "track": track, "result": {key: odd}})


@pytest.mark.parametrize("format_", ["text", "json", "markdown"])
def test_a_result_that_breaks_its_contract(call: Call, tmp_path: Path, format_: str) -> None:
    """A triage score whose metrics are 1 is refused; one for participants is compared as far as it goes."""
    score = score_of(call, tmp_path, "triage")
    (tmp_path / "a.json").write_text(json.dumps(score))
    broken = {**score, "result": {**score["result"], "metrics": 1}}
    (tmp_path / "b.json").write_text(json.dumps(broken))
    refused = call("compare", "a.json", "b.json", "--format", format_)
    assert refused.code == 1
    assert "not a document of triage/metrics: see /metrics" in (refused.out + refused.err)
    (tmp_path / "b.json").write_text(json.dumps({**broken, "participant": True}))
    ran = call("compare", "a.json", "b.json", "--format", format_)
    assert (ran.code, ran.err) == (0, "")
    told = ran.out.replace("\\", "")
    assert "the result of the rerun violates triage/metrics (1 error)" in told
    assert "the result of the baseline" not in told
    told = call("compare", "b.json", "a.json", "--format", format_).out.replace("\\", "")
    assert "the result of the baseline violates triage/metrics (1 error)" in told


@pytest.mark.parametrize("track", TRACKS)
def test_results_that_keep_their_contract(call: Call, tmp_path: Path, track: str) -> None:
    """What medcontract itself wrote has no such warning, participants' results neither."""
    for extra in ((), ("--participant",)):
        score = score_of(call, tmp_path, track, *extra)
        assert "violates" not in outcome(score, score)


def test_a_gate_without_a_reason(call: Call, tmp_path: Path) -> None:
    """A blank text is no reason: the comparison keeps its contract."""
    score = score_of(call, tmp_path, "extraction")
    other = json.loads(json.dumps(score))
    other["result"]["gates"][0]["reason"] = " "
    outcome(score, other)


def test_names_are_masked(call: Call, tmp_path: Path) -> None:
    """Metrics that are named like a patient are not told, in figures and tasks."""
    truth_file(tmp_path, "benchmark")
    score = score_of(call, tmp_path, "benchmark")
    for table in (score["result"]["overall_scores"], *score["result"]["task_scores"].values()):
        table["Ana Pérez"] = 0.25
    other = {**score, "result": json.loads(json.dumps(score["result"]).replace("0.25", "0.75"))}
    found = outcome(score, other)
    assert "Pérez" not in found
    assert "P\\u00e9rez" not in found
    assert "…" in found
