"""Figures for participants are rounded: with all its digits, one figure spells out dozens of labels of the truth."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from tests.acceptance.test_leaderboard import entry, wrong
from tests.challenge_files import REGRESSION, SMALL, write
from tests.commands import TRACKS, TRUTH, Call, truth_file
from tests.platform_runs import RUNS

import medcontract
from medcontract.rendering import formats_of

CASES, READ, SCALE = 256, 44, 2**20
"""The number of cases, how many labels one submission reads, and a large unit of the field."""
LABELS = [Random(number).randrange(2) for number in range(CASES)]
OFFSETS = [Fraction(1, 2**number) for number in range(2, READ + 2)] + [Fraction(0)] * (CASES - READ)
"""The predictions are 1/2 minus these: each error reveals a label, at a place of its own in the sum of all squares."""
METRICS = {
    "brier": ('positive = { field = "y", is = "1" }', '{ one_of = ["0", "1"] }'),
    "mse": ("unprocessed = {high}", '{ type = "number", min = 0, max = {high} }'),
}


def prepare(folder: Path, kind: str, high: int) -> None:
    given, truth = METRICS[kind]
    name, true = ("p", str) if kind == "brier" else ("y", int)
    text = f"""
id = "risk"
key = "case_id"
[prediction]
{name} = {METRICS["mse"][1]}
[truth]
y = {truth}
[[metric]]
name = "error"
kind = "{kind}"
field = "{name}"
{given}
[score]
headline = "error"
"""
    (folder / "c.toml").write_text(text.replace("{high}", str(high)))
    write(folder / "truth.json", {"truth": [{"case_id": f"{n}", "y": true(y * high)} for n, y in enumerate(LABELS)]})
    answers = [{"case_id": f"{n}", name: float((Fraction(1, 2) - e) * high)} for n, e in enumerate(OFFSETS)]
    write(folder / "attack.json", {"team_name": "Crow", "predictions": answers})


def labels_in(text: str, high: int) -> int:
    """How many of the labels, in the order of the cases, the most revealing number of an output spells out."""
    numbers = (Fraction(each.replace(",", "")) for each in re.findall(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d\d)?", text))
    return max(map(_read, (number / high**2 for number in numbers)), default=0)


def _read(mean: Fraction) -> int:
    rest = mean * CASES - sum(Fraction(1, 4) + e * e for e in OFFSETS)
    if abs(rest) > 1:  # another number
        return 0
    for place, (label, offset) in enumerate(zip(LABELS, OFFSETS[:READ], strict=False)):
        if (rest > 0) != label:
            return place
        rest += offset if rest <= 0 else -offset
    return READ


def outputs(call: Call) -> dict[str, str]:
    """Every output with figures that is made for participants."""
    use = ("--challenge", "c.toml", "--participant")
    calls: dict[str, tuple[str, ...]] = {"score": ("risk/truth=truth.json", "risk/predictions=attack.json")}
    calls |= {"preflight": calls["score"], "leaderboard": ("truth.json", "attack.json", "--reports", "reports")}
    found = {
        f"{command} {format_}": call(command, *files, *use, "--format", format_).out
        for command, files in calls.items()
        for format_ in formats_of(command.capitalize())
    }
    found["result"] = call("score", *calls["score"], *use, "--result-only").out
    return {**found, **{path.name: path.read_text() for path in Path("reports").iterdir()}}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("kind", "high", "bits"), [("brier", 1, 13), ("mse", 1, 13), ("mse", SCALE, 23)])
def test_a_figure_does_not_spell_out_labels(
    kind: str, high: int, bits: int, tmp_path: Path, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    """The organizer's figure does, 44 of them. 4 decimals have 13 bits; large figures have 7 digits, which are 23."""
    prepare(tmp_path, kind, high)
    files = ("risk/truth=truth.json", "risk/predictions=attack.json")
    assert labels_in(call("score", *files, "--challenge", "c.toml", "--result-only").out, high) == READ
    shown = outputs(call)
    call("bundle", "codabench", "--truth", "risk/truth=truth.json", "--challenge", "c.toml", "--out", "bundle")
    (tmp_path / "run").mkdir()
    sent = {"attack.json": Path("attack.json").read_bytes()}
    platform = RUNS["codabench"](tmp_path / "bundle", tmp_path / "run", sent, capsys)
    shown |= {"platform": platform.seen, "figures": json.dumps(platform.figures)}
    found = {name: labels_in(text, high) for name, text in shown.items()}
    assert max(found.values()) <= bits
    assert min(found[name] for name in ("result", "score json", "leaderboard csv", "preflight json", "figures")) > 0


_LONG = re.compile(r"\d\.\d{5}")


@pytest.mark.parametrize("track", TRACKS)
def test_four_decimals(track: str, tmp_path: Path, call: Call) -> None:
    """In all figures of every track, and in texts about them, such as the reasons of gates; the organizer sees all."""
    records = wrong(track, 7)[:18]
    files = (truth_file(tmp_path, track, TRUTH[track][:18]), entry(tmp_path / "a", track, records))
    assert _LONG.search(json.dumps(call("leaderboard", *files, "--format", "json").json["submissions"]))
    commands = ("score", "leaderboard", "preflight")
    score, board, checks = (call(each, *files, "--participant", "--format", "json").json for each in commands)
    ranked = [{**each, "processing": None} for each in board["submissions"]]
    for shown in (score["result"], ranked, checks["checks"]):
        assert shown
        assert not _LONG.search(json.dumps(shown))


@pytest.mark.parametrize("more", [(), ("--participant",)])
def test_reasons_of_gates(call: Call, more: tuple[str, ...]) -> None:
    """4 decimals are 4 digits, not the 14 of the double that is nearest to them."""
    folder = Path(medcontract.__file__).parent / "examples" / "extraction"
    gates = call("score", folder, *more, "--format", "json").json["result"]["gates"]
    reasons = " ".join(gate["reason"] for gate in gates)
    assert "75.6667 % reaches the goal of 75" in reasons
    assert not _LONG.search(reasons)


def test_a_warning_about_a_headline(tmp_path: Path, call: Call) -> None:
    """A coefficient of −1/√6 is shown as −0.4082 there, too."""
    (tmp_path / "c.toml").write_text(SMALL.replace('kind = "accuracy"', 'kind = "mcc"'))
    true, sent = ("yes", "yes", "no", "no", "no"), ("no", "no", "yes", "no", "no")
    write(tmp_path / "t.json", {"truth": [{"case_id": f"{n}", "label": each} for n, each in enumerate(true)]})
    answers = [{"case_id": f"{n}", "label": each} for n, each in enumerate(sent)]
    write(tmp_path / "p.json", {"team_name": "A", "predictions": answers})
    files = ("risk/truth=t.json", "risk/predictions=p.json", "--challenge", "c.toml", "--participant")
    for command in ("score", "preflight"):
        out = call(command, *files, "--format", "json").out
        assert "accuracy is -0.4082" in out
        assert not _LONG.search(out)


@pytest.mark.parametrize(
    ("figure", "shown"),
    [
        (0.00625, 0.0062), (0.00635, 0.0064), (2 / 3, 0.6667), (5e-324, 0.0), (100.12345, 100.1234),
        (12345678.9, 12345680.0), (1.2345678e300, 1.234568e300),
    ],
)  # fmt: skip
def test_rounded_half_to_even(figure: float, shown: float, tmp_path: Path) -> None:
    """From the shortest decimal, in which a tie is one: as a double, 0.00625 is above 1/160."""
    challenge = medcontract.Challenge.load(REGRESSION.replace(", min = 0, max = 100", "").encode(), name="c.toml")
    truth = write(tmp_path / "truth.json", {"truth": [{"case_id": "1", "days": 0}]})
    sent = write(tmp_path / "sent.json", {"team_name": "A", "predictions": [{"case_id": "1", "days": figure}]})
    result = challenge.score(f"risk/truth={truth}", f"risk/predictions={sent}", participant=True).result
    assert result is not None
    assert (result["metrics"]["mae"], result["headline"]["value"]) == (shown, shown)
