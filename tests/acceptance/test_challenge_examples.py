"""The challenges in examples/ work, and their figures are what plain Python computes from their files."""

from __future__ import annotations

import hmac
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.metric_cases import Variant
from tests.metric_definitions import DEFINITIONS
from tests.support import ROOT

import medcontract
from medcontract import Challenge

EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/challenge.toml"))


def truth_of(folder: Path) -> Path:
    (truth,) = folder.glob("truth.*")
    return truth


def submissions(folder: Path) -> list[Path]:
    return sorted((folder / "submissions").iterdir())


def loaded(challenge: Challenge, path: Path, contract: str) -> tuple[Any, ...]:
    """The records of a file."""
    with challenge:
        value: Any = medcontract.load(path, f"{challenge.id}/{contract}").value
    found: tuple[Any, ...] = value if isinstance(value, tuple) else getattr(value, contract)
    return found


def by_case(challenge: Challenge, folder: Path, team: str) -> list[tuple[Any, Any]]:
    """Each case, with its prediction: None if it failed or is missing."""
    (path,) = (folder / "submissions" / team).iterdir()
    (key,) = challenge._scope.definition.key
    sent = {getattr(each, key): each for each in loaded(challenge, path, "predictions") if not each.error}
    return [(true, sent.get(getattr(true, key))) for true in loaded(challenge, truth_of(folder), "truth")]


def naive(challenge: Challenge, pairs: list[tuple[Any, Any]]) -> dict[str, float]:
    """All metrics, by the definitions of the specification."""
    definition, found = challenge._scope.definition, {}
    for entry in definition.metrics:
        metric = definition.build(entry)
        parameters = {name: Fraction(value) for name, value in definition.numbers_of(entry).items()}
        rows = [
            (getattr(true, metric.truth.name), None if sent is None else getattr(sent, metric.prediction.name))
            for true, sent in pairs
        ]
        if metric.event is not None:
            events = [getattr(true, metric.event.name) for true, _ in pairs]
            rows = [((y, event), p) for (y, p), event in zip(rows, events, strict=True)]
        known = [(y, p) for y, p in rows if y is not None]
        value = DEFINITIONS[metric.kind.name](Variant(metric, parameters), known)
        assert value is not None
        found[metric.name] = float(value)
    return found


def test_examples_are_found() -> None:
    assert [folder.name for folder in EXAMPLES] == ["chest", "falls", "findings", "stay", "stroke", "survival"]


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_everything_works(folder: Path) -> None:
    """The challenge has no problems, not even warnings; its files are valid; submissions are ready and are ranked."""
    report = medcontract.check_challenge(folder / "challenge.toml")
    assert report.files[0].problems == ()
    challenge = Challenge.load(folder / "challenge.toml")
    assert challenge.id == folder.name
    checked = challenge.validate_files(
        [truth_of(folder), f"{challenge.id}/cases={folder / 'cases.csv'}", folder / "submissions"]
    )
    assert [problem for file in checked.files for problem in file.problems] == []
    assert len(checked.files) == 4
    for submission in submissions(folder):
        assert challenge.preflight(submission, folder / "cases.csv")
        assert challenge.preflight(submission, truth_of(folder))
    board = challenge.leaderboard(truth_of(folder), *submissions(folder))
    assert [each.rank for each in board.submissions] == [1, 2]


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_figures(folder: Path) -> None:
    """Every figure is what its definition says, and a mean is the mean of its metrics."""
    challenge = Challenge.load(folder / "challenge.toml")
    for team in sorted(path.name for path in submissions(folder)):
        score = challenge.score(truth_of(folder), folder / "submissions" / team)
        assert score.valid
        assert score.result is not None
        assert score.result["metrics"] == naive(challenge, by_case(challenge, folder, team))
        for name, parts in challenge._scope.definition.means.items():
            mean = sum(score.result["metrics"][part] for part in parts) / len(parts)
            assert score.result["means"][name] == pytest.approx(mean, abs=1e-15)


@pytest.mark.parametrize("value", ["0", "1", "-0.5"])
def test_bounds_of_changed_parameters(value: str) -> None:
    """They come from the challenge file."""
    challenge = Challenge.load(ROOT / "examples" / "survival" / "challenge.toml")
    with pytest.raises(medcontract.CallError, match="must be above 0 and below 1"):
        challenge.get_protocol(parameters={"metric.net_benefit.threshold": value})
    assert challenge.get_protocol(parameters={"metric.net_benefit.threshold": "0.5"})


@pytest.mark.parametrize(("penalty", "warned"), [("59.9", True), ("60", False), ("61", False)])
def test_cheaper_unprocessed_case(penalty: str, warned: bool) -> None:
    """A changed parameter that makes it pay to leave out cases is a warning, as it is in the challenge file."""
    folder = ROOT / "examples" / "stay"
    challenge = Challenge.load(folder / "challenge.toml")
    files = (truth_of(folder), folder / "submissions" / "heron")
    score = challenge.score(*files, parameters={"metric.mae.unprocessed": penalty})
    found = [warning for warning in score.warnings if "leaving out the worst cases would pay" in warning]
    assert bool(found) == warned
    assert all(warning.startswith("'mae': ") for warning in found)


def test_falls() -> None:
    """Phases: the patients are divided as an HMAC of the key says, and each phase has the figures of its own stays."""
    folder = ROOT / "examples" / "falls"
    secret = (folder / "phase.key").read_bytes()
    challenge = Challenge.load(folder / "challenge.toml")
    rows: dict[Any, list[tuple[Any, Any]]] = {"public": [], "private": []}
    for true, sent in by_case(challenge, folder, "heron"):
        unit = json.dumps([true.patient_id]).encode()
        first = int.from_bytes(hmac.new(secret, unit, "sha256").digest()[:8])
        rows["public" if first < Fraction(4, 10) * 2**64 else "private"].append((true, sent))
    assert {name: len(pairs) for name, pairs in rows.items()} == {"public": 43, "private": 61}
    for phase, pairs in rows.items():
        score = challenge.score(
            truth_of(folder), folder / "submissions" / "heron", phase=phase, phase_key=folder / "phase.key"
        )
        assert score.processing is not None
        assert score.processing.expected == len(pairs)
        assert score.processing.elsewhere == sum(map(len, rows.values())) - len(pairs)
        assert score.result is not None
        assert score.result["metrics"] == naive(challenge, pairs)
