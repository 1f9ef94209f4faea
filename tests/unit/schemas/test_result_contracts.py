"""`medcontract/score` says by its schema that `result` satisfies the contract of its track."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator
from tests.commands import Call, all_files
from tests.properties import test_ajv

import medcontract
from medcontract.contracts import registry
from medcontract.results.schemas import Draft
from medcontract.schemas import publishing
from medcontract.scoring import tracks

CONTRACTS = ("medcontract/preflight", "medcontract/score")
TRACKS = registry.TRACKS
each_track = pytest.mark.parametrize("track", TRACKS)


def _result(track: str) -> dict[str, Any]:
    (example,) = publishing.schema_of(registry.results()[track])["examples"]
    return dict(example)


def _score(track: str, result: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    """The example of a score, with this track and this result."""
    (example,) = publishing.schema_of(registry.contract("medcontract/score"))["examples"]
    return {**copy.deepcopy(example), "track": track, "result": result, **more}


def _preflight(score: dict[str, Any]) -> dict[str, Any]:
    (example,) = publishing.schema_of(registry.contract("medcontract/preflight"))["examples"]
    return {**copy.deepcopy(example), "score": score}


def _cases() -> list[tuple[dict[str, Any], bool]]:
    """Scores, and whether they are good."""
    cases = [(_score(track, _result(other)), track == other) for track in TRACKS for other in TRACKS]
    for track in TRACKS:
        result = _result(track)
        wanted = registry.find(registry.results()[track].id).schema["required"]
        cases += [
            (_score(track, None), True),
            (_score(track, {}), False),
            (_score(track, {key: value for key, value in result.items() if key != wanted[0]}), False),
            (_score(track, {**result, "unknown": 1}), False),
            (_score(track, {"some_figure": 0.5}, participant=True), True),
            (_score(track, result, participant=None), True),
            (_score(track, {}, participant=False), False),
        ]
    return [*cases, (_score("sepsis", {"anything": [1]}), True), (_score("sepsis", None), True)]


def test_each_track_has_one() -> None:
    """The contract of results is the one that the track names, and there is one in each track."""
    assert {track: tracks.track(track).roles.result for track in TRACKS} == {
        track: contract.id for track, contract in registry.results().items()
    }


@pytest.mark.parametrize("draft", publishing.DRAFTS)
def test_schema(draft: Draft) -> None:
    """A score with the result of its own track is valid, one with the result of another track is not."""
    validator = {"2020-12": Draft202012Validator, "draft-07": Draft7Validator}[draft]
    score = validator(publishing.schema_of(registry.contract("medcontract/score"), draft=draft))
    preflight = validator(publishing.schema_of(registry.contract("medcontract/preflight"), draft=draft))
    for value, good in _cases():
        assert score.is_valid(value) == good, value
        assert preflight.is_valid(_preflight(value)) == good, value


@pytest.mark.skipif(test_ajv.pytestmark.args[0], reason="no node, or no ajv")
def test_ajv_agrees(tmp_path: Path) -> None:
    """ajv, in strict mode, says the same."""
    values, verdicts = zip(*_cases(), strict=True)
    cases = [
        test_ajv.Case(registry.contract("medcontract/score").urn, list(values), list(verdicts)),
        test_ajv.Case(registry.contract("medcontract/preflight").urn, list(map(_preflight, values)), list(verdicts)),
    ]
    assert test_ajv.disagreements(cases, tmp_path) == []


def test_validate_agrees() -> None:
    """So does `validate`, at the result, without quoting it."""
    for value, good in _cases():
        report = medcontract.validate(json.dumps(value).encode(), "medcontract/score", name="score.json")
        assert report.ok == good, report.problems
        assert good or [(problem.code, problem.pointer) for problem in report.problems] == [("MC110", "/result")]
    broken = _score("reports", {**_result("reports"), "Ana María Pérez": 1})
    (problem,) = medcontract.validate(json.dumps(broken).encode(), "medcontract/score", name="score.json").problems
    assert problem.message == "'result': not a document of reports/score: see /…"


@pytest.mark.parametrize(
    ("wrong", "got"),
    [
        (True, "true"),
        ([1], "a list"),
        ({}, "an object"),
        ({"float": 1, "str": "x"}, "an object"),
    ],
)
def test_a_value_of_several_types(wrong: object, got: str, call: Call) -> None:
    """One wrong value is one problem, at the value itself."""
    value = call("protocol", "show", "reports", "--format", "json").json
    for parameter in value["parameters"][:2]:
        parameter["value"] = wrong
    value["version"] = 0
    report = medcontract.validate(json.dumps(value).encode(), "medcontract/protocol", name="protocol.json")
    message = f"'value' must be a number or a string, not {got}"
    assert sorted((problem.pointer, problem.code, problem.message) for problem in report.problems) == [
        ("/parameters/0/value", "MC103", message),
        ("/parameters/1/value", "MC103", message),
        ("/version", "MC105", "'version' must be at least 1"),
    ]


@each_track
def test_scores_of_all_tracks(track: str, call: Call, tmp_path: Path) -> None:
    """What `score` prints keeps the schema; for participants it says that it is for them."""
    validator = Draft202012Validator(publishing.schema_of(registry.contract("medcontract/score")))
    files = all_files(tmp_path, track)
    whole = call("score", *files, "--format", "json").json
    validator.validate(whole)
    assert "participant" not in whole
    assert whole["result"]
    coarse = call("score", *files, "--format", "json", "--participant").json
    validator.validate(coarse)
    assert coarse["participant"] is True
    assert not validator.is_valid({**coarse, "participant": False})
