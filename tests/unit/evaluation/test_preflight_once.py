"""Preflight reads each file once, and its score is the score."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.commands import Call

from medcontract.contracts.registry import TRACKS
from medcontract.evaluation import files


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file was judged, by path."""
    found: Counter[str] = Counter()
    validator_for: Any = vars(files)["validator_for"]

    def counting(source: Any, *arguments: Any, **settings: Any) -> Any:
        found[source.name] += 1
        return validator_for(source, *arguments, **settings)

    monkeypatch.setattr(files, "validator_for", counting)
    return found


@pytest.mark.parametrize("track", TRACKS)
def test_each_file_is_read_once(track: str, call: Call, judged: Counter[str]) -> None:
    """With a truth at hand, for the checks and for the score together."""
    call("init", track, "demo")
    ran = call("preflight", "demo", "--format", "json")
    assert ran.json["score"] is not None, ran.json["checks"]
    assert set(judged.values()) == {1}, judged


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("participant", [(), ("--participant",)], ids=["organizer", "participant"])
def test_its_score_is_the_score(track: str, participant: tuple[str, ...], call: Call) -> None:
    """A preflight gives the same score as `score`."""
    call("init", track, "demo")
    score = call("score", "demo", *participant, "--format", "json").json
    assert call("preflight", "demo", *participant, "--format", "json").json["score"] == score


def test_fields_of_the_result_can_be_set(call: Call) -> None:
    """What `score` takes with --set, preflight takes too."""
    call("init", "benchmark", "demo")
    setting = ("--set", "timestamp=2026-05-31T10:00:00Z")
    assert call("score", "demo", *setting).code == 0
    ran = call("preflight", "demo", *setting, "--format", "json")
    assert ran.json["score"]["result"]["timestamp"] == "2026-05-31T10:00:00Z"
