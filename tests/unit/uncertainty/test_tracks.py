"""Intervals of every track: a replicate has the figures of the cases as often as they are drawn."""

from __future__ import annotations

import json
from hashlib import shake_128
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.challenge_files import write as write_json
from tests.interval_files import CHALLENGE, TRACKS, challenge_records, jsonl, submission
from tests.scoring_files import guess, image, write
from tests.support import ROOT

import medcontract
from medcontract import Challenge
from medcontract.reading import chunks
from medcontract.scoring import resampling as generic
from medcontract.scoring.resampling import value_at
from medcontract.scoring.scorer import Scorer
from medcontract.uncertainty.figures import Resampling

RESAMPLES = {"resamples": 100}


class Both:
    """Computes the replicates in both ways."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fast: Resampling | None = None
        self.slow: Resampling | None = None
        original = generic.intervals_of

        def intervals_of(track: Any, scorer: Scorer, answers: Any, finished: Any, samples: Any, **how: Any) -> Any:
            self.fast = scorer.resampled(answers, samples, finished.result)
            self.slow = generic._by_tallies(track, scorer, answers, finished, samples)
            return original(track, scorer, answers, finished, samples, **how)

        monkeypatch.setattr(generic, "intervals_of", intervals_of)


@pytest.mark.parametrize("track", TRACKS)
def test_replicates_are_figures_of_weighted_tallies(track: str, tmp_path: Path, monkeypatch: Any) -> None:
    """The formulas for all replicates at once give what the scorer gives for each of them."""
    both = Both(monkeypatch)
    medcontract.score(*submission(tmp_path, track), parameters=RESAMPLES)
    assert both.fast is not None
    assert both.slow is not None
    assert both.fast.headline is not None
    assert both.slow.headline is not None
    np.testing.assert_allclose(both.fast.headline.values, both.slow.headline.values, atol=1e-9)
    varying = {
        place for place, figure in both.slow.figures.items() if figure.varies and not place.endswith("/success_rate")
    }
    assert varying == both.fast.figures.keys()
    for place, figure in both.fast.figures.items():
        np.testing.assert_allclose(figure.values, both.slow.figures[place].values, atol=1e-9, err_msg=place)


@pytest.mark.parametrize("track", TRACKS)
def test_an_interval_contains_the_figure(track: str, tmp_path: Path) -> None:
    """Every number that depends on cases has an interval around it, in the order of its bounds."""
    score = medcontract.score(*submission(tmp_path, track), intervals=True)
    intervals = score.to_dict()["intervals"]
    for place, bounds in intervals["figures"].items():
        low, high = bounds
        assert low < high
        assert low <= value_at(score.result, place) <= high
    name, headline = score.headline
    values = intervals["replicates"]["values"]
    assert len(values) == intervals["resamples"] == 1000
    assert min(values) < headline < max(values)
    assert (intervals["replicates"]["figure"], intervals["undefined"]) == (name, {})


@pytest.mark.parametrize("track", TRACKS)
def test_nothing_else_changes(track: str, tmp_path: Path) -> None:
    """With intervals, figures and fingerprint are the same; without them, there is no such field."""
    files = submission(tmp_path, track, 90)
    plain, sure = (medcontract.score(*files, intervals=intervals).to_dict() for intervals in (False, True))
    added = sure.pop("intervals")
    for gate in sure["result"].get("gates", ()):
        gate["reason"] = gate["reason"].removesuffix("; met, but the interval includes the goal")
    assert "intervals" not in plain
    assert added["units"] == added["groups"] == 90
    assert {**sure, "warnings": plain["warnings"]} == plain


def test_clusters_of_a_challenge(tmp_path: Path) -> None:
    """Cases of a patient are drawn together, those without a patient alone; the field belongs to the fingerprint."""
    challenge = Challenge.load(CHALLENGE.encode())
    truth, sent = challenge_records()
    files = [jsonl(tmp_path / "truth.jsonl", truth), jsonl(tmp_path / "sent.jsonl", sent)]
    plain, single, patients = (
        challenge.score(*files),
        *(challenge.score(*files, **each) for each in ({"intervals": True}, {"cluster": "patient"})),
    )
    assert plain.protocol.fingerprint == single.protocol.fingerprint != patients.protocol.fingerprint
    assert single.intervals is not None
    assert patients.intervals is not None
    assert (single.intervals.unit, single.intervals.units) == (("case_id",), 200)
    alone = sum("patient" not in each for each in truth)
    units = len({each["patient"] for each in truth if "patient" in each}) + alone
    assert (patients.intervals.unit, patients.intervals.units) == (("patient",), units)
    assert set(patients.intervals.figures) == {
        "/metrics/macro_f1", "/metrics/auroc", "/sums/total", "/headline/value",
        "/by_class/macro_f1/none", "/by_class/macro_f1/minor", "/by_class/macro_f1/major",
    }  # fmt: skip
    declared = Challenge.load(f'{CHALLENGE}[uncertainty]\ncluster = "patient"\n'.encode())
    assert declared.score(*files, cluster="patient").to_dict() == patients.to_dict()
    assert declared.score(*files, intervals=True).to_dict() == patients.to_dict()
    assert declared.score(*files).intervals is None  # a cluster may also be there for phases
    asked = Challenge.load(f"{CHALLENGE}[uncertainty]\nintervals = true\n".encode())
    assert asked.score(*files).to_dict() == single.to_dict()


def test_intervals_in_a_frame(tmp_path: Path) -> None:
    """A frame has the bounds in columns of their own, if there are intervals."""
    files = submission(tmp_path, "lesions", 100)
    plain, sure = (medcontract.score(*files, intervals=intervals) for intervals in (False, True))
    assert list(plain.to_frame().columns) == ["figure", "value"]
    frame = sure.to_frame().set_index("figure")
    assert list(frame.columns) == ["value", "low", "high"]
    assert tuple(frame.loc["accuracy", ["low", "high"]]) == sure.interval_of("accuracy")
    assert frame.loc["efficiency_score", ["low", "high"]].isna().all()


def test_clusters_in_a_list_of_cases(tmp_path: Path) -> None:
    """The field may be in the list of cases, in any order; it is an input then, and its cases need not be all."""
    files = submission(tmp_path, "lesions", 100)
    rows = [f"I-{n},img/{n}.png,61,f,{6 + n % 2}" for n in reversed(range(96))]
    cases = tmp_path / "cases.csv"
    cases.write_text("\n".join(["image_id,image_path,age,gender,location", *rows]) + "\n")
    score = medcontract.score(*files, f"lesions/cases={cases}", cluster="location")
    assert score.intervals is not None
    assert (score.intervals.unit, score.intervals.units) == (("location",), 6)
    assert "lesions/cases" in {each.contract for each in score.inputs}
    assert not any("cases.csv" in each for each in score.warnings)


def test_figures_of_a_plugin(tmp_path: Path) -> None:
    """A plugin has intervals without code of its own, from its tallies."""
    medcontract.load_plugin(str(ROOT / "tests" / "toy_track.py"))
    truth = [{"item": f"T-{number}", "word": "ab"[number % 2]} for number in range(60)]
    sent = [{"item": each["item"], "said": "a"} for each in truth]
    (tmp_path / "truth.json").write_text(json.dumps({"truth": truth}))
    (tmp_path / "sent.json").write_text(json.dumps({"answers": sent}))
    files = [f"toy/truth={tmp_path}/truth.json", f"toy/answers={tmp_path}/sent.json"]
    score = medcontract.score(*files, parameters=RESAMPLES)
    assert score.intervals is not None
    assert score.intervals.replicates is not None
    expected = []
    streams = {each["item"]: shake_128(f'medcontract/resample/1\n["{each["item"]}"]'.encode()) for each in truth}
    numbers = {item: stream.digest(200) for item, stream in streams.items()}
    thresholds = [24109, 48219, 60273, 64292, 65296, 65497, 65531, 65535]
    for b in range(100):
        weights = [
            sum(each <= int.from_bytes(numbers[case["item"]][2 * b : 2 * b + 2], "big") for each in thresholds)
            for case in truth
        ]
        expected.append(round(sum(weights[::2]) / sum(weights), 6))
    assert list(score.intervals.replicates.values) == expected


def test_gates_on_bounds(tmp_path: Path) -> None:
    """A goal inside the interval is named; with `gates_on`, the lower bound has to reach it, under another protocol."""
    files = submission(tmp_path, "extraction")
    point = medcontract.score(*files, intervals=True)
    bound = medcontract.score(*files, parameters={"gates_on": "bound"})
    assert point.result is not None
    assert bound.result is not None
    gate, other = point.result["gates"][0], bound.result["gates"][0]
    low, high = point.interval_of("gates", 0, "measured")  # type: ignore[misc]
    assert low < gate["goal"] == 85 < gate["measured"] < high
    assert (gate["passed"], other["passed"]) == (True, False)
    assert gate["reason"].endswith("; met, but the interval includes the goal")
    assert f"the lower bound is {low:.6g}" in other["reason"]
    assert bound.protocol.parameters["gates_on"] == "bound"
    assert "gates_on" not in point.protocol.parameters
    assert bound.protocol.fingerprint != point.protocol.fingerprint


def test_participants_see_no_replicates(tmp_path: Path) -> None:
    """The weights of cases are known, so the headline of each replicate would reveal which cases are right."""
    files = submission(tmp_path, "lesions")
    score = medcontract.score(*files, intervals=True, participant=True)
    full = medcontract.score(*files, intervals=True)
    assert score.intervals is not None
    assert score.intervals.replicates is None
    shown = set(score.result or {}) - {"efficiency_score"}
    assert set(score.intervals.figures) == {f"/{name}" for name in shown}
    low, high = full.interval_of("final_score")  # type: ignore[misc]
    assert score.interval_of("final_score") == (round(low, 4), round(high, 4))
    assert "0.7" in str(score.headline[1])


def test_warnings(tmp_path: Path) -> None:
    """Rare classes and few units are named, rare classes only to organizers."""
    truth = [image(f"I-{n}", "MEL" if n % 3 else "NV") for n in range(20)]
    sent = [guess(each["image_id"], "MEL") for each in truth]
    files = [write(tmp_path, "lesions/truth", truth), write(tmp_path, "lesions/predictions", sent)]
    rare, few = "fewer than 10 cases of NV (7): intervals that rest on them are rough", "there are only 20 units"
    organizer, participant = (
        "; ".join(medcontract.score(*files, intervals=True, participant=each).warnings) for each in (False, True)
    )
    assert rare in organizer
    assert rare not in participant
    assert few in organizer
    assert few in participant


def test_without_a_result_there_are_no_intervals(tmp_path: Path) -> None:
    """Below the gate nothing is computed."""
    files = submission(tmp_path, "lesions", 20)
    score = medcontract.score(*files, intervals=True)
    assert (score.result, score.intervals) == (None, None)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"resamples": 99}, "'resamples' must be at least 100 and at most 10000, not 99"),
        ({"resamples": 150.5}, "'resamples' must be a whole number, not 150.5"),
        ({"level": 1}, "'level' must be at least 0.5 and at most 0.999, not 1"),
        ({"cluster": "lable"}, "--cluster: no file has a field 'lable'"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str, tmp_path: Path) -> None:
    """Wrong parameters are usage errors that say what is allowed."""
    with pytest.raises(medcontract.CallError) as caught:
        medcontract.score(*submission(tmp_path, "lesions", 100), parameters=parameters)
    assert caught.value.as_options[0] == message


@pytest.mark.parametrize("track", TRACKS)
def test_order_and_parts_do_not_matter(track: str, tmp_path: Path) -> None:
    """The same cases in another order, or in several files, have the same intervals to the last bit."""
    files = submission(tmp_path, track, 100)
    random, shuffled = Random(7), []
    (tmp_path / "other").mkdir()
    for path in files:
        content = json.loads(path.read_text())
        (tmp_path / "other" / path.name).write_text(json.dumps(content))
        lists = [key for key, value in content.items() if isinstance(value, list) and key != "runs"]
        halves = [{**content, **{key: random.sample(content[key], len(content[key])) for key in lists}} for _ in "12"]
        if lists:
            first, second = (dict(half) for half in halves)
            (key,) = lists
            middle = len(content[key]) // 2
            first[key], second[key] = halves[0][key][:middle], halves[0][key][middle:]
            halves = [first, second]
        for number, half in enumerate(halves if lists else halves[:1]):
            name = tmp_path / "other" / f"{path.stem}-{number}.json"
            name.write_text(json.dumps(half))
            shuffled.append(name)
    one, other = (medcontract.score(*each, intervals=True) for each in (files, shuffled))
    assert one.intervals is not None
    assert one.intervals == other.intervals
    assert one.intervals._headline == other.intervals._headline


def test_worker_processes_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks that other processes read give the same intervals."""
    monkeypatch.setattr(chunks, "SMALLEST", 2000)
    challenge = Challenge.load(CHALLENGE.encode())
    truth, sent = challenge_records()
    files = [jsonl(tmp_path / "truth.jsonl", truth), jsonl(tmp_path / "sent.jsonl", sent)]
    one, two = (challenge.score(*files, cluster="patient", jobs=jobs) for jobs in (1, 2))
    assert one.to_json() == two.to_json()
    assert one.intervals is not None


def test_equal_replicates_for_participants(tmp_path: Path) -> None:
    """A figure that is the same in all replicates has plain bounds, which can be rounded, in every command."""
    metric = 'kind = "auroc"\nfield = "p"\npositive = { field = "y", is = true }'
    challenge = Challenge.load(
        f"""
id = "risk"
key = "case_id"
prediction = {{ p = {{ type = "number", min = 0, max = 1 }}, days = {{ type = "number", min = 0, max = 50 }} }}
truth = {{ y = {{ type = "boolean" }}, days = {{ type = "number", min = 0, max = 50 }}, who = {{ type = "str" }} }}
uncertainty = {{ cluster = "who" }}
score = {{ headline = "total", sums = {{ total = {{ auroc = 1, mae = -0.02 }} }} }}
[[metric]]
name = "auroc"
{metric}
[[metric]]
name = "mae"
kind = "mae"
field = "days"
unprocessed = 50
""".encode()
    )
    truth = [{"case_id": f"{n}", "y": n % 3 == 0, "days": n, "who": f"{n // 3}"} for n in range(30)]
    sent = [{"case_id": true["case_id"], "p": 0.9 if true["y"] else 0.2, "days": n + 1} for n, true in enumerate(truth)]
    files = (
        f"risk/truth={write_json(tmp_path / 't.json', {'truth': truth})}",
        f"risk/predictions={write_json(tmp_path / 'p.json', {'team_name': 'A', 'predictions': sent})}",
    )
    shown = challenge.score(*files, intervals=True, participant=True).to_dict()["intervals"]["figures"]
    assert shown["/metrics/auroc"] == [0.7225, 1.0]  # 1 - z²/(10 + z²) for ten clusters, z² = 3.8415
    assert challenge.leaderboard(*files, intervals=True, participant=True).submissions[0].valid
