"""Rankings and comparisons with intervals."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from fractions import Fraction
from math import erfc, sqrt
from pathlib import Path
from statistics import NormalDist, stdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.challenge_files import STROKE, stroke_predictions, stroke_truth, write
from tests.commands import Call, keeps, sent_file, truth_file
from tests.fake_cluster import Cluster
from tests.scoring_files import CLASSES, document, guess, image, model
from tests.support import ROOT, published

import medcontract

pytest.importorskip("numpy")

Z = NormalDist().inv_cdf(0.975)


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def lesions(shares: Sequence[float], images: int = 120, models: bool = False) -> tuple[Path, list[Path]]:
    """A truth, and a submission for each share of right answers, with or without a model file."""
    chance = random.Random(5)
    labels = [chance.choice(CLASSES) for _ in range(images)]
    truth = truth_file(Path(), "lesions", [image(f"I-{n:04}", label) for n, label in enumerate(labels)])
    teams = []
    for number, share in enumerate(shares):
        folder = Path(f"team-{number}")
        answers = [label if chance.random() < share else chance.choice(CLASSES) for label in labels]
        sent_file(
            folder, "lesions", [guess(f"I-{n:04}", said) for n, said in enumerate(answers)], team_name=folder.name
        )
        if models:
            document(folder, "model", {**model(20, 100 + 20 * number), "team_name": folder.name})
        teams.append(folder)
    return truth, teams


def ranked(call: Call, *arguments: object) -> Any:
    ran = call("leaderboard", *arguments, "--intervals", "--format", "json")
    assert ran.code == 0, ran.err
    return keeps(ran.out, "medcontract/leaderboard")


def scored(call: Call, name: str, *arguments: object) -> Any:
    ran = call("score", *arguments, "--intervals", "--format", "json")
    Path(name).write_text(ran.out, encoding="utf-8")
    return ran.json


# --- rankings


def test_a_ranking_follows_from_the_replicates_of_its_scores(call: Call) -> None:
    """All numbers of the ranking, computed again from the replicates that each score has, one by one."""
    truth, teams = lesions([0.8, 0.79, 0.75, 0.4])
    board = ranked(call, truth, *teams)
    rows = board["submissions"]
    values = {}
    for row in rows:
        score = scored(call, "score.json", truth, row["name"])
        assert row["interval"] == score["intervals"]["figures"]["/prediction_score"]
        values[row["name"]] = score["intervals"]["replicates"]["values"]
    places = range(1000)
    for row in rows:
        mine = values[row["name"]]
        ranks = sorted(1 + sum(other[b] > mine[b] for other in values.values()) for b in places)
        assert row["rank_interval"] == [ranks[24], ranks[-25]], "of 1000 the 25th smallest and the 25th largest"
        first = [sum(other[b] == mine[b] for other in values.values()) for b in places
                 if all(other[b] <= mine[b] for other in values.values())]  # fmt: skip
        assert row["first_share"] == pytest.approx(float(sum(Fraction(1, n) for n in first)) / 1000, abs=1e-6)
    ps = []
    for pair, above, below in zip(board["neighbours"], rows, rows[1:], strict=False):
        s = stdev(one - other for one, other in zip(values[above["name"]], values[below["name"]], strict=True))
        d = above["headline"] - below["headline"]
        ps.append(erfc(abs(d) / (s * sqrt(2))))
        assert (pair["above"], pair["below"]) == (above["name"], below["name"])
        assert pair["difference"] == pytest.approx(d)
        assert pair["interval"] == pytest.approx([d - Z * s, d + Z * s], abs=1e-6)
        assert pair["p"] == pytest.approx(ps[-1], rel=1e-6)
    smallest = min(ps)
    assert min(pair["p_holm"] for pair in board["neighbours"]) == pytest.approx(3 * smallest, rel=1e-6)
    assert [row["tied_with_first"] for row in rows] == [True, True, True, False]
    s = stdev(one - other for one, other in zip(*(values[row["name"]] for row in rows[:2]), strict=True))
    assert board["detectable"] == pytest.approx(Z * s, abs=1e-6)
    assert board["intervals"] == {
        "level": 0.95, "resamples": 1000, "unit": ["image_id"], "units": 120, "groups": 120, "undefined": {},
    }  # fmt: skip


def test_text(call: Call) -> None:
    """A line below the ones that are tied with the first, and one sentence."""
    truth, teams = lesions([0.8, 0.79, 0.75, 0.4])
    lines = call("leaderboard", truth, *teams, "--intervals").out.splitlines()
    at = next(n for n, line in enumerate(lines) if set(line.strip()) == {"-"})
    assert lines[at - 1].lstrip().startswith("3. ")
    assert lines[at + 1].lstrip().startswith("4. ")
    assert lines[-1] == "The first three cannot be told apart on these 120 cases (level 95 %)."


SENTENCES = {
    "The first can be told apart from all others on these 120 cases (level 95 %).": [0.9, 0.4, 0.3],
    "None of the other two can be told apart from the first on these 120 cases (level 95 %).": [0.7, 0.71, 0.7],
    "The two cannot be told apart on these 120 cases (level 95 %).": [0.7, 0.71],
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_sentence(sentence: str, call: Call) -> None:
    truth, teams = lesions(SENTENCES[sentence])
    for format_ in ("text", "markdown", "html"):
        assert sentence in call("leaderboard", truth, *teams, "--intervals", "--format", format_).out


def test_the_difference_that_would_be_significant(call: Call) -> None:
    """It is estimated from the first two, so pages leave it out if a tied submission is farther from the first."""
    truth, teams = lesions([0.8, 0.79, 0.75])
    sentence = "Between the first and the second, a difference of about"
    assert sentence in call("leaderboard", truth, *teams, "--intervals", "--format", "html").out
    best, second, _ = (Path(row["name"]) for row in ranked(call, truth, *teams)["submissions"])
    (sent,) = best.iterdir()
    said = json.loads(sent.read_text(encoding="utf-8"))
    said["team_name"], said["predictions"] = second.name, said["predictions"][:-1]  # almost the same answers
    (second / sent.name).write_text(json.dumps(said), encoding="utf-8")
    board = ranked(call, truth, *teams)
    first, _, third = board["submissions"]
    assert third["tied_with_first"]
    assert first["headline"] - third["headline"] > board["detectable"] > 0
    assert sentence not in call("leaderboard", truth, *teams, "--intervals", "--format", "html").out


def test_pages(call: Call) -> None:
    """Intervals and ranks are drawn, and the shares of pairs of up to 30 submissions."""
    truth, teams = lesions([0.8, 0.79, 0.4])
    page = call("leaderboard", truth, *teams, "--intervals", "--format", "html").out
    sections = "Ranges of ranks", "Neighbors", "How often each is better than another"
    for text in (*sections, '<tr class="cut">'):
        assert text in page
    assert page.count("<svg") == 2
    assert "<script" not in page
    assert page.count('<td class="zero">–</td>') == 3, "no submission is compared with itself"
    ranks = page[page.index("Ranges of ranks") : page.index("Neighbors")]
    ticks = re.findall(r'class="small">(\d+)<', ranks)
    assert ticks == ["1", "2", "3"]
    two = call("leaderboard", truth, *teams[:2], "--intervals", "--format", "html").out
    assert not [text for text in sections if text in two], "they would only repeat the ranking"


def test_preflight_of_a_participant(call: Call) -> None:
    """The page is good although checks need the truth, and an interval has the digits of `score`."""
    findings = ROOT / "examples/findings"
    challenge = "--challenge", findings / "challenge.toml"
    sent, cases = findings / "submissions/crane", f"findings/cases={findings / 'cases.csv'}"
    page = call("preflight", *challenge, sent, cases, "--format", "html").out
    assert '<div class="verdict good">' in page
    assert "<h1>Preflight: Probabilities of findings on chest X-rays</h1>" in page
    files = *challenge, sent, findings / "truth.csv", "--intervals"
    found = re.search(r"auroc (\S+ \[\S+ \S+\])", call("preflight", *files).out)
    assert found
    assert found[1] in call("score", *files).out


def test_directions_in_heads(call: Call) -> None:
    """Figures that are better when lower say so."""
    findings = ROOT / "examples/findings"
    teams = [findings / "submissions" / team for team in ("crane", "heron")]
    files = "--challenge", findings / "challenge.toml", findings / "truth.csv", *teams
    for format_ in ("text", "markdown", "html"):
        page = call("leaderboard", *files, "--format", format_).out
        assert "calibration ↓" in page.lower()
        assert "auroc ↓" not in page.lower()
        assert "↓: lower is better" in page


def test_one_submission(call: Call) -> None:
    truth, teams = lesions([0.8])
    board = ranked(call, truth, *teams)
    (row,) = board["submissions"]
    assert (row["rank_interval"], row["first_share"], row["tied_with_first"]) == ([1, 1], 1.0, True)
    assert (board["neighbours"], board["detectable"]) == ([], None)
    assert "told apart" not in call("leaderboard", truth, *teams, "--intervals").out


def test_what_is_not_ranked_has_no_interval(call: Call) -> None:
    truth, teams = lesions([0.8, 0.7])
    Path("bad.json").write_text('{"team_name": "x", "predictions": []}', encoding="utf-8")
    first, second, last = ranked(call, truth, *teams, "bad.json")["submissions"]
    assert "interval" in first
    assert "interval" in second
    assert not {"interval", "rank_interval", "first_share", "tied_with_first"} & last.keys()


def test_without_the_option_nothing_changes(call: Call) -> None:
    truth, teams = lesions([0.8, 0.7])
    board = call("leaderboard", truth, *teams, "--format", "json").json
    assert not {"intervals", "neighbours", "detectable"} & board.keys()
    assert "interval" not in board["submissions"][0]


def test_a_protocol_that_depends_on_all_submissions(call: Call) -> None:
    """Times of the competition: intervals are as in a score with the same times, also in the reports."""
    truth, teams = lesions([0.8, 0.79, 0.6], models=True)
    board = ranked(call, truth, *teams, "--reports", "reports")
    assert board["headline"] == "final_score"
    for row in board["submissions"]:
        score = scored(call, "score.json", truth, row["name"], "--t-min-ms", "100", "--t-max-ms", "140")
        assert row["headline"] == score["result"]["final_score"]
        assert row["interval"] == score["intervals"]["figures"]["/final_score"]
        report = json.loads(Path(f"reports/{row['name']}.json").read_text(encoding="utf-8"))
        assert report["intervals"] == score["intervals"]
        assert call("verify", f"reports/{row['name']}.json", truth, row["name"]).code == 0


def test_ranked_by_the_second_figure(call: Call) -> None:
    """If only one of four has a model file, all are ranked by prediction_score, with its replicates."""
    truth, teams = lesions([0.8, 0.79, 0.6, 0.5])
    document(teams[0], "model", {**model(20, 100), "team_name": teams[0].name})
    board = ranked(call, truth, *teams)
    assert board["headline"] == "prediction_score"
    for row in board["submissions"]:
        score = scored(call, "score.json", truth, row["name"])
        assert row["interval"] == score["intervals"]["figures"]["/prediction_score"]


def test_the_same_bytes() -> None:
    """For any order, number of processes, cache and on a cluster."""
    for models in (False, True):
        truth, teams = lesions([0.8, 0.79, 0.6], models=models)
        text = medcontract.leaderboard(truth, *teams, intervals=True).to_json()
        assert medcontract.leaderboard(truth, *teams[::-1], intervals=True).to_json() == text
        assert medcontract.leaderboard(truth, *teams, intervals=True, jobs=2).to_json() == text
        for _ in range(2):
            assert medcontract.leaderboard(truth, *teams, intervals=True, cache="kept").to_json() == text
        cluster = Cluster(2)
        assert medcontract.leaderboard(truth, *teams, intervals=True, client=cluster).to_json() == text
        assert cluster.tasks


def test_clusters(call: Call) -> None:
    """Cases of a patient are drawn together, also in other processes, and the sentence says so."""
    truth, teams = lesions([0.8, 0.6])
    for jobs in ("1", "2"):
        board = ranked(call, truth, *teams, "--cluster", "label", "--jobs", jobs)
        assert (board["intervals"]["unit"], board["intervals"]["units"]) == (["label"], 10)
        assert board["protocol"]["parameters"]["cluster"] == "label"
    text = call("leaderboard", truth, *teams, "--cluster", "label").out
    assert "on these 10 clusters of cases (level 95 %)." in text


def test_participants_see_rounded_numbers(call: Call) -> None:
    """Four decimals: more of them could reveal labels."""
    truth, teams = lesions([0.8, 0.79, 0.6])
    board = ranked(call, truth, *teams, "--participant")

    def numbers(value: Any) -> list[float]:
        if isinstance(value, dict):
            return [each for key, item in value.items() if key != "protocol" for each in numbers(item)]
        if isinstance(value, list):
            return [each for item in value for each in numbers(item)]
        return [value] if isinstance(value, float) else []

    assert all(round(value, 4) == value for value in numbers(board))
    assert board["submissions"][0]["interval"] is not None


def test_blind(call: Call) -> None:
    """Neither figures nor intervals."""
    truth, teams = lesions([0.8, 0.79])
    board = call("leaderboard", truth, *teams, "--intervals", "--blind", "--format", "json").json
    assert "intervals" not in board
    assert all("interval" not in row for row in board["submissions"])


def test_frames_and_csv(call: Call) -> None:
    truth, teams = lesions([0.8, 0.79])
    frame = medcontract.leaderboard(truth, *teams, intervals=True).to_frame()
    assert {"low", "high", "best_rank", "worst_rank", "first_share", "tied_with_first"} <= set(frame.columns)
    assert "best_rank" in call("leaderboard", truth, *teams, "--intervals", "--format", "csv").out.splitlines()[0]
    assert "best_rank" not in call("leaderboard", truth, *teams, "--format", "csv").out.splitlines()[0]


def test_too_many_replicates_without_a_value(call: Call) -> None:
    """Two positives of four cases: none of them in 27 % of the replicates, so that the AUROC is undefined."""
    Path("challenge.toml").write_text(STROKE, encoding="utf-8")
    write(Path("truth.json"), {"truth": stroke_truth()})
    for name in ("a", "b"):
        write(Path(f"{name}.json"), {"team_name": name, "predictions": stroke_predictions()})
    use = ("--challenge", "challenge.toml")
    board = ranked(call, "truth.json", "a.json", "b.json", *use)
    assert [row["interval"] for row in board["submissions"]] == [None, None]
    assert [row["rank_interval"] for row in board["submissions"]] == [None, None]
    assert (board["neighbours"], board["detectable"]) == (None, None)
    undefined = board["intervals"]["undefined"]
    assert undefined.keys() == {"/submissions/0/interval", "/submissions/1/interval", "/neighbours"}
    text = call("leaderboard", "truth.json", "a.json", "b.json", *use, "--intervals").out
    assert text.endswith("It is not known which submissions can be told apart.\n")


@given(st.lists(st.floats(-1e13, 1e13) | st.integers(-(10**8), 10**8).map(lambda n: n / 2e6), min_size=1))
def test_replicates_are_rounded_to_the_nearest_number(values: list[float]) -> None:
    """Like `round`, also where a value seems to be in the middle of two numbers."""
    np = pytest.importorskip("numpy")
    from medcontract.scoring.resampling import rounded_replicates

    assert rounded_replicates(np.array([*values, np.nan])) == (*(round(value, 6) for value in values), None)


# --- comparisons


def test_a_comparison(call: Call) -> None:
    """D = after − before; p, interval and verdict by hand from the replicates of both files."""
    truth, teams = lesions([0.8, 0.79, 0.4])
    values = [scored(call, f"{team}.json", truth, team) for team in teams]
    headlines = [value["result"]["prediction_score"] for value in values]
    replicates = [value["intervals"]["replicates"]["values"] for value in values]
    for before, after in ((0, 1), (0, 2), (2, 0)):
        ran = call("compare", f"{teams[before]}.json", f"{teams[after]}.json", "--format", "json")
        published("medcontract/comparison").validate(ran.json)
        (delta,) = [each for each in ran.json["figures"] if "verdict" in each]
        d = headlines[after] - headlines[before]
        s = stdev(new - old for old, new in zip(replicates[before], replicates[after], strict=True))
        p = erfc(abs(d) / (s * sqrt(2)))
        assert delta["name"] == "prediction_score"
        assert delta["delta"] == pytest.approx(d)
        assert delta["interval"] == pytest.approx([d - Z * s, d + Z * s], abs=1e-6)
        assert delta["p"] == pytest.approx(p, rel=1e-6)
        assert delta["verdict"] == ("cannot tell" if p > 0.05 else "better" if d > 0 else "worse")
    text = call("compare", f"{teams[0]}.json", f"{teams[2]}.json")
    assert "\nworse: prediction_score changed by -" in text.out
    for format_ in ("markdown", "html"):
        assert "hardly by chance" in call("compare", f"{teams[0]}.json", f"{teams[2]}.json", "--format", format_).out


def test_the_same_score_cannot_be_told_apart(call: Call) -> None:
    truth, teams = lesions([0.8])
    scored(call, "score.json", truth, teams[0])
    (delta,) = [each for each in call("compare", "score.json", "score.json", "--format", "json").json["figures"]
                if "verdict" in each]  # fmt: skip
    assert (delta["interval"], delta["p"], delta["verdict"]) == ([0.0, 0.0], 1.0, "cannot tell")


def test_other_replicates_are_refused(call: Call) -> None:
    """Other resamples and another level have another protocol; other units were edited."""
    truth, teams = lesions([0.8, 0.7])
    scored(call, "one.json", truth, teams[0])
    scored(call, "other.json", truth, teams[1], "--parameter", "resamples=200")
    ran = call("compare", "one.json", "other.json")
    assert ran.code == 2
    assert "resamples: absent and 200" in ran.err
    value = scored(call, "other.json", truth, teams[1])
    value["intervals"]["units"] = 119
    Path("other.json").write_text(json.dumps(value), encoding="utf-8")
    ran = call("compare", "one.json", "other.json")
    assert ran.code == 2
    assert "the intervals are computed from other units" in ran.err
    value["intervals"]["units"] = 120
    value["intervals"]["replicates"]["values"].pop()
    Path("other.json").write_text(json.dumps(value), encoding="utf-8")
    assert call("compare", "one.json", "other.json").code == 2


def test_scores_without_intervals(call: Call) -> None:
    """The change has no interval, and a warning says why."""
    truth, teams = lesions([0.8, 0.7])
    scored(call, "one.json", truth, teams[0])
    Path("plain.json").write_text(call("score", truth, teams[1], "--format", "json").out, encoding="utf-8")
    ran = call("compare", "one.json", "plain.json", "--format", "json")
    assert ran.json["warnings"] == ["only the baseline has intervals: the change has none"]
    assert all("verdict" not in each for each in ran.json["figures"])
    assert call("compare", "plain.json", "plain.json", "--format", "json").json["warnings"] == []


# --- as by challengeR


def test_ranks_as_by_challenge_r(call: Call) -> None:
    """The form of challengeR's example: a value for each algorithm and case; made by us.

    Aggregate, then rank: the mean over the cases, larger values first, ties share the smallest rank (`ties.method =
    "min"`). Its bootstrap draws cases, and ranks each sample in this way; here with our weights.
    """
    np = pytest.importorskip("numpy")
    from medcontract.uncertainty.ranking import ranks_of
    from medcontract.uncertainty.sample import Sample

    chance = np.random.default_rng(3)
    names, cases = ["A1", "A2", "A3", "A4", "A5"], 50
    truth = np.round(chance.uniform(0, 1, (5, cases)) * [[0.9], [0.9], [0.7], [0.5], [0.2]], 3)
    truth[1] = truth[0][::-1]  # A1 and A2 have the same mean
    means = {name: float(np.mean(row)) for name, row in zip(names, truth, strict=True)}
    order = sorted(names, key=lambda name: -means[name])
    ranks = {name: 1 + sum(other > means[name] + 1e-12 for other in means.values()) for name in names}
    assert sorted(ranks.values()) == [1, 1, 3, 4, 5]
    sample = Sample([(f"case-{n}",) for n in range(cases)], 1000)
    weights = np.array([sample.weights_by_case(row) for row in range(1, 1001)], float)
    values = np.array([np.round(weights @ truth[names.index(name)] / weights.sum(axis=1), 6) for name in order])
    headlines = [Fraction(means[name]).limit_denominator(10**9) for name in order]
    found = ranks_of(headlines, values, Fraction(95, 100), lower_is_better=False)
    for row, (best, worst) in zip(values, found.intervals, strict=True):
        by_sample = sorted(1 + int((values[:, b] > row[b]).sum()) for b in range(1000))
        assert (best, worst) == (by_sample[24], by_sample[-25])
    assert found.tied_with_first[:2] == (True, True)
    assert found.neighbours[0][0].p == 1, "equal means"
    assert found.intervals[-1] == (5, 5)
