"""The challenges in examples/ work, and their figures are what plain Python computes from their files."""

from __future__ import annotations

import csv
import hmac
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.support import ROOT

import medcontract
from medcontract import Challenge

EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/challenge.toml"))
Record = dict[str, Any]


def truth_of(folder: Path) -> Path:
    (truth,) = folder.glob("truth.*")
    return truth


def submissions(folder: Path) -> list[Path]:
    return sorted((folder / "submissions").iterdir())


def records(path: Path) -> list[Record]:
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            return [dict(row) for row in csv.DictReader(file)]
        if path.suffix == ".jsonl":
            return [json.loads(line) for line in file]
        found: list[Record] = json.load(file)["predictions"]
        return found


def by_case(folder: Path, team: str, key: str) -> list[tuple[Record, Record]]:
    """Each case, with its prediction: an empty one if it failed or is missing."""
    (path,) = (folder / "submissions" / team).iterdir()
    sent = {record[key]: record for record in records(path) if not record.get("error")}
    return [(true, sent.get(true[key], {})) for true in records(truth_of(folder))]


def figures(folder: Path, team: str) -> dict[str, float]:
    challenge = Challenge.load(folder / "challenge.toml")
    score = challenge.score(truth_of(folder), folder / "submissions" / team)
    assert score.valid
    assert score.result is not None
    found: dict[str, float] = score.result["metrics"]
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


def test_chest() -> None:
    """Multi-label: the mean F1 of the sets, and the sums of their sizes."""
    folder = ROOT / "examples" / "chest"
    f1 = Fraction(0)
    both = either = 0
    pairs = by_case(folder, "heron", "image_id")
    for true, predicted in pairs:
        findings, guessed = set(true["findings"]), set(predicted.get("findings", ()))
        both += len(findings & guessed)
        either += len(findings | guessed) + (not predicted and not findings)
        if predicted:
            f1 += Fraction(2 * len(findings & guessed), len(findings) + len(guessed)) if findings or guessed else 1
    found = figures(folder, "heron")
    assert found["findings_f1"] == float(f1 / len(pairs))
    assert found["findings_micro"] == both / either


def test_findings() -> None:
    """Multi-label with probabilities: for each label, over the images that the readers agreed on; and their means."""
    folder = ROOT / "examples" / "findings"
    pairs = by_case(folder, "heron", "ImageID")
    found = figures(folder, "heron")
    means = {"auroc": Fraction(0), "found": Fraction(0)}
    for label in ("Edema", "Effusion", "Nodule"):
        positive, negative = (
            [float(sent[label]) if sent else None for true, sent in pairs if true[label] == value] for value in "10"
        )
        wins = [
            Fraction(0) if p is None or n is None else Fraction((p > n) + (p >= n), 2)
            for p in positive
            for n in negative
        ]
        auroc = sum(wins, Fraction(0)) / len(wins)
        thresholds = [
            threshold
            for threshold in (*(p for p in (*positive, *negative) if p is not None), 2.0)
            if sum(n is not None and n < threshold for n in negative) * 5 >= 4 * len(negative)
        ]
        hits = max(sum(p is not None and p >= threshold for p in positive) for threshold in thresholds)
        assert found[f"auroc_{label}"] == float(auroc)
        assert found[f"found_{label}"] == hits / len(positive)
        means["auroc"] += auroc / 3
        means["found"] += Fraction(hits, len(positive)) / 3
    challenge = Challenge.load(folder / "challenge.toml")
    result = challenge.score(truth_of(folder), folder / "submissions" / "heron").result
    assert result is not None
    assert result["means"]["auroc"] == result["headline"]["value"] == float(means["auroc"])
    assert result["means"]["found"] == float(means["found"])
    assert result["means"]["acute"] == pytest.approx((found["auroc_Edema"] + found["auroc_Effusion"]) / 2, abs=1e-15)


def test_survival() -> None:
    """Survival times: each death and those who were observed for longer; who died in a year, where it is known."""
    folder = ROOT / "examples" / "survival"
    pairs = by_case(folder, "crane", "patient_id")
    found = figures(folder, "crane")
    wins = []
    for true, sent in pairs:
        for other, other_sent in pairs:
            later = float(other["months"]) - float(true["months"])
            if true["died"] == "1" and (later > 0 or (later == 0 and other["died"] == "0")):
                both = bool(sent and other_sent)
                one, two = (float(each["risk"]) if both else 0.0 for each in (sent, other_sent))
                wins.append(Fraction((one > two) + (one >= two), 2) if both else Fraction(0))
    assert found["concordance"] == float(sum(wins) / len(wins))
    known = [(true["died_in_a_year"] == "1", sent.get("died_in_a_year")) for true, sent in pairs]
    known = [pair for pair, (true, _) in zip(known, pairs, strict=True) if true["died_in_a_year"]]
    probabilities = [max(float(p) if y else 1 - float(p), 0.01) if p else 0.01 for y, p in known]
    loss = -sum(math.log(min(p, 0.99)) for p in probabilities) / len(known)
    assert found["log_loss"] == pytest.approx(loss, rel=1e-12)
    treated = [y for y, p in known if (float(p) >= 0.2 if p else not y)]
    assert found["net_benefit"] == float(Fraction(4 * sum(treated) - treated.count(False), 4 * len(known)))


def test_stay() -> None:
    """Regression: an unprocessed stay counts the largest error, and is outside of every tolerance."""
    folder = ROOT / "examples" / "stay"
    pairs = by_case(folder, "heron", "stay_id")
    assert sum(not predicted for _, predicted in pairs) == 1
    errors = [
        abs(Fraction(float(true["days"])) - Fraction(float(predicted["days"]))) if predicted else Fraction(60)
        for true, predicted in pairs
    ]
    found = figures(folder, "heron")
    assert found["mae"] == float(sum(errors) / len(pairs))
    assert found["rmse"] == pytest.approx(float(sum(error**2 for error in errors) / len(pairs)) ** 0.5, rel=1e-15)
    decimals = [(Fraction(true["days"]), Fraction(sent["days"])) for true, sent in pairs if sent]
    assert found["within_a_day"] == sum(abs(true - sent) <= 1 for true, sent in decimals) / len(pairs)
    assert found["within_a_quarter"] == sum(4 * abs(true - sent) <= true for true, sent in decimals) / len(pairs)


def test_stroke() -> None:
    """Classification: the mean F1 of the classes, and the share of pairs in the right order."""
    folder = ROOT / "examples" / "stroke"
    pairs = by_case(folder, "crane", "case_id")
    f1 = Fraction(0)
    for name in ("ischemic", "hemorrhagic", "none"):
        hits = sum(true["label"] == name == sent.get("label") for true, sent in pairs)
        f1 += Fraction(2 * hits, sum((true["label"] == name) + (sent.get("label") == name) for true, sent in pairs))
    positive = [sent["probability"] for true, sent in pairs if true["label"] == "hemorrhagic"]
    negative = [sent["probability"] for true, sent in pairs if true["label"] != "hemorrhagic"]
    right = sum(Fraction((high > low) + (high >= low), 2) for high in positive for low in negative)
    found = figures(folder, "crane")
    assert found == {"macro_f1": float(f1 / 3), "auroc": float(Fraction(right, len(positive) * len(negative)))}


@pytest.mark.parametrize("value", ["0", "1", "-0.5"])
def test_bounds_of_changed_parameters(value: str) -> None:
    """They are those of the challenge file."""
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
    rows: dict[Any, list[tuple[Record, Record]]] = {"public": [], "private": []}
    for true, sent in by_case(folder, "heron", "stay_id"):
        unit = json.dumps([true["patient_id"]]).encode()
        first = int.from_bytes(hmac.new(secret, unit, "sha256").digest()[:8])
        rows["public" if first < Fraction(4, 10) * 2**64 else "private"].append((true, sent))
    assert {name: len(pairs) for name, pairs in rows.items()} == {"public": 43, "private": 61}
    order = ("none", "minor", "major")
    for phase, pairs in rows.items():
        score = challenge.score(
            truth_of(folder), folder / "submissions" / "heron", phase=phase, phase_key=folder / "phase.key"
        )
        assert score.processing is not None
        assert score.processing.expected == len(pairs)
        assert score.processing.elsewhere == sum(map(len, rows.values())) - len(pairs)
        assert score.result is not None
        positive, negative = (
            [float(sent["risk"]) if sent else None for true, sent in pairs if true["fell"] == value]
            for value in ("true", "false")
        )
        wins = [
            Fraction(0) if p is None or n is None else Fraction((p > n) + (p >= n), 2)
            for p in positive
            for n in negative
        ]
        assert score.result["metrics"]["auroc"] == float(sum(wins) / len(wins))
        if all(sent for _, sent in pairs):
            marked = [(order.index(t["injury"]), order.index(s["injury"])) for t, s in pairs]
            observed = Fraction(sum((t - s) ** 2 for t, s in marked), len(marked))
            expected = Fraction(sum((t - s) ** 2 for t, _ in marked for _, s in marked), len(marked) ** 2)
            assert score.result["metrics"]["kappa"] == float(1 - observed / expected)
