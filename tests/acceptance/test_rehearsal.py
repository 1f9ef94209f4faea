"""`medcontract rehearse` and `medcontract challenge rehearse`: submissions made from a truth, and spoiled truths."""

from __future__ import annotations

import csv
import hashlib
import hmac
import json
import random
import re
from collections.abc import Callable, Sequence
from functools import partial
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest
from tests.challenge_files import STROKE, changed
from tests.commands import TRACKS, Call, truth_file
from tests.support import ROOT, published

import medcontract
from medcontract import Challenge
from medcontract.evaluation.rehearsal import PlatformOutcome
from medcontract.platforms import trial

EXAMPLES = ROOT / "examples"
BUILT_IN = {
    "benchmark": "references.json", "extraction": "labels", "lesions": "truth.csv", "reports": "truth.json",
    "triage": "ground-truth.json",
}  # fmt: skip
ALL = {
    "perfect", "inverted", "constant", "prior", "shuffled", "half", "failed", "renamed", "truncated", "swapped",
}  # fmt: skip


@pytest.fixture
def rehearse(call: Call) -> Call:
    return partial(call, "rehearse", "--format", "json")


@pytest.fixture
def stroke(call: Call) -> Callable[..., Any]:
    """Rehearse the challenge `stroke` with a truth, and return the result and what the exit code is."""

    def run(truth: Path, *arguments: object, toml: Path = EXAMPLES / "stroke/challenge.toml") -> Any:
        ran = call("challenge", "rehearse", toml, "--truth", truth, "--format", "json", *arguments)
        found = ran.json
        assert ran.code == (0 if found["ok"] else 1)
        return found

    return run


def _statuses(found: Any) -> dict[str, str]:
    return {check["id"]: check["status"] for check in found["checks"]}


def _detail(found: Any, id_: str) -> str:
    return next(str(check["detail"]) for check in found["checks"] if check["id"] == id_)


@pytest.mark.parametrize("track", TRACKS)
def test_built_in_tracks(rehearse: Call, track: str) -> None:
    """The examples of every track pass, with all kinds of submissions that their columns allow."""
    ran = rehearse(ROOT / "src/medcontract/examples" / track / BUILT_IN[track])
    found = ran.json
    published("medcontract/rehearsal").validate(found)
    assert (ran.code, found["ok"]) == (0, True)
    assert {each["name"] for each in found["submissions"]} >= ALL - {"swapped"}
    assert set(_statuses(found).values()) <= {"passed", "skipped"}
    perfect, inverted = (next(e for e in found["submissions"] if e["name"] == n) for n in ("perfect", "inverted"))
    assert perfect["headline"] > inverted["headline"] == 0


@pytest.mark.parametrize("track", TRACKS)
def test_truths_with_twenty_cases(call: Call, tmp_path: Path, track: str) -> None:
    """Truths in which many answers are alike: nothing fails but the checks that say so."""
    ran = call("rehearse", truth_file(tmp_path, track), "--format", "json")
    failed = {name for name, status in _statuses(ran.json).items() if status == "failed"}
    assert failed <= {"constant", "inverted", "ids"}
    assert ran.code == (1 if failed else 0)


@pytest.mark.parametrize("name", ["stroke", "chest", "stay"])
def test_challenges(call: Call, name: str) -> None:
    (truth,) = (EXAMPLES / name).glob("truth.*")
    ran = call("challenge", "rehearse", EXAMPLES / name / "challenge.toml", "--truth", truth, "--format", "json")
    assert ran.code == 0
    assert {each["name"] for each in ran.json["submissions"]} == ALL
    assert set(_statuses(ran.json).values()) == {"passed"}
    codes = {each["name"]: each["codes"] for each in ran.json["submissions"]}
    assert "MC401" in codes["half"]
    assert {"MC101", "MC102"} <= set(codes["renamed"])
    assert "MC302" in codes["truncated"]


def test_figures_by_hand(tmp_path: Path, stroke: Callable[..., Any]) -> None:
    """Three of four are ischemic: as the only answer, its F1 is 6/7, and the macro mean of three classes 2/7."""
    truth = _truth(tmp_path, ["ischemic", "ischemic", "hemorrhagic", "ischemic"])
    found = stroke(truth)
    majority = next(each for each in found["submissions"] if each["name"] == "constant")
    assert majority["figures"]["macro_f1"] == pytest.approx(2 / 7, abs=1e-15)
    assert majority["figures"]["auroc"] == 0.5
    perfect = found["submissions"][0]
    assert (perfect["name"], perfect["figures"]["macro_f1"]) == ("perfect", pytest.approx(2 / 3, abs=1e-15))


_SEPSIS = """
id = "sepsis"
version = 1
key = "case_id"
[prediction]
sepsis_probability = { type = "number", min = 0, max = 1 }
[truth]
sepsis = { type = "boolean" }
[[metric]]
name = "brier"
kind = "brier"
field = "sepsis_probability"
positive = { field = "sepsis", is = true }
[score]
headline = "brier"
[gate]
min_processed = 0.9
"""


def test_constant_probability(tmp_path: Path, stroke: Callable[..., Any]) -> None:
    """The best constant has the share of positive cases. With 1 of 4 its Brier score is (0.75² + 3 · 0.25²) / 4."""
    toml, truth = tmp_path / "challenge.toml", tmp_path / "truth.csv"
    toml.write_text(_SEPSIS, encoding="utf-8")
    truth.write_text("case_id,sepsis\nS1,true\nS2,false\nS3,false\nS4,false\n", encoding="utf-8")
    found = stroke(truth, toml=toml)
    constants = {e["about"]: e["figures"]["brier"] for e in found["submissions"] if e["name"] == "constant"}
    assert constants == {
        "the most frequent answer for every case": 0.25,
        "sepsis_probability is 1 for every case": 0.75,
        "sepsis_probability is the share of positive cases for every case": 0.1875,
    }
    (check,) = (each for each in found["checks"] if each["id"] == "constant")
    assert "0.1875" in check["detail"]


def _truth(folder: Path, labels: list[str], ids: list[str] | None = None, name: str = "truth.csv") -> Path:
    ids = ids or [f"S{n:03}" for n in range(len(labels))]
    path = folder / name
    path.write_text("case_id,label\n" + "".join(f"{i},{label}\n" for i, label in zip(ids, labels, strict=True)))
    return path


def _labels() -> list[str]:
    with (EXAMPLES / "stroke/truth.csv").open() as file:
        return [row["label"] for row in csv.DictReader(file)]


# --- truths that are spoiled on purpose


def _baseline(folder: Path, labels: list[str]) -> Path:
    """A model that is wrong in every fifth case."""
    other = {"ischemic": "none", "none": "hemorrhagic", "hemorrhagic": "ischemic"}
    rows = [(label if n % 5 else other[label], label == "hemorrhagic") for n, label in enumerate(labels)]
    path = folder / "baseline.csv"
    text = "".join(f"S{n:03},{label},{0.8 if high else 0.3}\n" for n, (label, high) in enumerate(rows))
    path.write_text("case_id,label,probability\n" + text)
    return path


def test_a_good_truth_with_a_baseline(tmp_path: Path, stroke: Callable[..., Any]) -> None:
    labels = _labels()
    found = stroke(_truth(tmp_path, labels), "--baseline", _baseline(tmp_path, labels))
    assert (found["ok"], _statuses(found)["baseline"]) == (True, "passed")


def test_inverted_labels(tmp_path: Path, stroke: Callable[..., Any]) -> None:
    """A truth whose labels are exchanged is consistent in itself; a model that is known to be good shows it."""
    labels = _labels()
    baseline = _baseline(tmp_path, labels)
    turned = {"ischemic": "none", "none": "hemorrhagic", "hemorrhagic": "ischemic"}
    found = stroke(_truth(tmp_path, [turned[label] for label in labels]), "--baseline", baseline)
    assert (found["ok"], _statuses(found)["baseline"]) == (False, "failed")
    assert "are labels inverted, or rows shifted?" in _detail(found, "baseline")


def test_shifted_rows(tmp_path: Path, stroke: Callable[..., Any]) -> None:
    """Each case has the label of the case before it."""
    labels = _labels()
    baseline = _baseline(tmp_path, labels)
    found = stroke(_truth(tmp_path, [*labels[-1:], *labels[:-1]]), "--baseline", baseline)
    assert (found["ok"], _statuses(found)["baseline"]) == (False, "failed")


def test_a_constant_class(tmp_path: Path, stroke: Callable[..., Any]) -> None:
    """All cases have one label: AUROC is undefined for everybody, and a constant is perfect."""
    found = stroke(_truth(tmp_path, ["ischemic"] * 30))
    assert _statuses(found)["perfect-valid"] == "failed"
    assert "nobody has a rank" in _detail(found, "perfect-valid")
    toml = tmp_path / "c.toml"
    toml.write_text(
        changed((EXAMPLES / "stroke/challenge.toml").read_text(), 'headline = "total"', 'headline = "macro_f1"')
    )
    found = stroke(_truth(tmp_path, ["ischemic"] * 30), toml=toml)
    assert _statuses(found)["constant"] == "failed"


def test_an_id_that_contains_the_label(tmp_path: Path, stroke: Callable[..., Any]) -> None:
    labels = _labels()
    found = stroke(_truth(tmp_path, labels, [f"{label.upper()}-{n}" for n, label in enumerate(labels)]))
    assert (found["ok"], _statuses(found)["ids"]) == (False, "failed")
    assert _detail(found, "ids").startswith(f"ids contain label ({len(labels)} of {len(labels)})")


def test_ids_in_the_order_of_the_labels(tmp_path: Path, stroke: Callable[..., Any]) -> None:
    """Neighbors have the same label far more often than by chance: a warning, which fails with --strict."""
    found = stroke(_truth(tmp_path, sorted(_labels())))
    assert (found["ok"], _statuses(found)["ids"]) == (True, "warning")
    assert "in the order of their ids have the same label in" in _detail(found, "ids")
    assert stroke(_truth(tmp_path, sorted(_labels())), "--strict")["ok"] is False


_DRAWN = random.Random(1)
_STAYS = [(_DRAWN.randint(1, 9), _DRAWN.random() < 0.4, _DRAWN.randint(10_000, 99_999)) for _ in range(120)]
"""Days, readmission and a random number of 120 stays."""
_YES = {True: "yes", False: "no"}


def _stay(number: int, days: int, readmitted: bool, drawn: int) -> dict[str, str]:
    """Ids of a stay, by what they reveal."""
    return {
        "boolean": f"L-{drawn}-{str(readmitted).lower()}",
        "boolean as a digit": f"L{drawn}_{int(readmitted)}",
        "boolean as yes or no": f"{_YES[readmitted]}-{drawn}",
        "number": f"L-{drawn}-{days}d",
        "number with zeros": f"L-{drawn}-{days:03}",
        "number in nearly all": f"L-{drawn}-{days if number % 20 else 17}",
        "case numbers": f"{number}",
        "case numbers with zeros": f"S-{number:04}",
        "visits": f"P{number // 3 + 1}-{number % 3 + 1}",
        "random numbers": f"L-{drawn}",
        "random digits": f"L-{drawn}-{drawn % 9 + 1}",
        "random bits": f"L-{drawn}-{drawn % 2}",
        "random words": f"L-{drawn}-{_YES[drawn % 2 == 0]}",
        "the same word": f"no-{drawn}-1",
        "hashes": hashlib.sha256(str(drawn).encode()).hexdigest()[:12],
    }


@pytest.mark.parametrize(
    ("ids", "fields"),
    [
        ("boolean", ["readmitted"]), ("boolean as a digit", ["readmitted", "readmission_risk"]),
        ("boolean as yes or no", ["readmitted"]), ("number", ["days"]), ("number with zeros", ["days"]),
        ("number in nearly all", ["days"]), ("case numbers", []), ("case numbers with zeros", []), ("visits", []),
        ("random numbers", []), ("random digits", []), ("random bits", []), ("random words", []),
        ("the same word", []), ("hashes", []),
    ],
)  # fmt: skip
def test_ids_that_contain_answers(tmp_path: Path, stroke: Callable[..., Any], ids: str, fields: list[str]) -> None:
    """Labels, booleans and numbers in ids fail, also of a field that is not predicted; what agrees by chance passes."""
    rows = [(_stay(n, *stay)[ids], *stay[:2]) for n, stay in enumerate(_STAYS, 1)]
    found = stroke(_stays(tmp_path, rows), toml=EXAMPLES / "stay/challenge.toml")
    assert _statuses(found)["ids"] == ("failed" if fields else "passed")
    assert re.findall(r"ids contain (\w+) \(1[12]\d of 120\)", _detail(found, "ids")) == fields


def _stays(folder: Path, rows: Sequence[tuple[str, float, bool]]) -> Path:
    path = folder / "truth.csv"
    text = "".join(f"{case},{days},{str(readmitted).lower()}\n" for case, days, readmitted in rows)
    path.write_text(f"stay_id,days,readmitted\n{text}")
    return path


@pytest.mark.parametrize(
    ("field", "order"),
    [("readmitted", lambda stay: stay[1]), ("days", lambda stay: stay[0]), ("", lambda stay: stay[2])],
)
def test_one_of_two_fields_in_order(
    tmp_path: Path, stroke: Callable[..., Any], field: str, order: Callable[[Any], int]
) -> None:
    """Each field is compared by itself: answers of which only one field is sorted differ in the other."""
    rows = [(f"S{n:03}", *stay[:2]) for n, stay in enumerate(sorted(_STAYS, key=order))]
    found = stroke(_stays(tmp_path, rows), toml=EXAMPLES / "stay/challenge.toml")
    shown = f"cases next to each other in the order of their ids have the same {field} in "
    assert (_statuses(found)["ids"], shown in _detail(found, "ids")) == (
        ("warning", True) if field else ("passed", False)
    )


def test_days_in_order(tmp_path: Path, stroke: Callable[..., Any]) -> None:
    """Numbers that are all different are sorted, too; among a few equal ones, two neighbors may be alike by chance."""
    drawn = random.Random(2)
    days = [each / 10 for each in drawn.sample(range(600), 120)]
    for numbers, shown in ((sorted(days), "have the same days in 99%, by chance in 50%"), ([*days[:-1], days[-2]], "")):
        rows = [(f"S{n:03}", each, stay[1]) for n, (each, stay) in enumerate(zip(numbers, _STAYS, strict=True))]
        found = stroke(_stays(tmp_path, rows), toml=EXAMPLES / "stay/challenge.toml")
        assert _statuses(found)["ids"] == ("warning" if shown else "passed")
        assert shown in _detail(found, "ids")


def test_a_figure_that_leaving_out_raises(call: Call, tmp_path: Path) -> None:
    """A plugin that counts a missing answer as two right ones: leaving out a right record pays."""
    toy = (ROOT / "tests/toy_track.py").read_text().replace('"toy"', '"careless"').replace('"toy/', '"careless/')
    toy = toy.replace('HERE = Path(__file__).parent / "toy"', f"HERE = Path({str(ROOT / 'tests/toy')!r})")
    truth = tmp_path / "truth.json"
    truth.write_text(json.dumps({"truth": [{"item": f"I{n}", "word": f"w{n % 3}"} for n in range(20)]}))
    bad = tmp_path / "careless_toy.py"
    right = 'sum(int(row["right"]) for row in rows)'
    wrong = changed(toy, right, f"min(tally.expected, {right} + 2 * sum(said is None for _, said in tally.data))")
    bad.write_text(wrong)
    ran = call("rehearse", "--plugin", bad, truth, "--format", "json")
    statuses = _statuses(ran.json)
    assert (ran.code, statuses["leaving-out"], statuses["failed"]) == (1, "failed", "skipped")


def test_a_gate_that_lets_half_pass(tmp_path: Path, stroke: Callable[..., Any]) -> None:
    """With a gate of 40 %, half of the answers are scored, with a warning about each missing one."""
    found = stroke(EXAMPLES / "stroke/truth.csv", "--parameter", "min_processed=0.4")
    half = next(each for each in found["submissions"] if each["name"] == "half")
    assert (half["valid"], "MC302" in half["codes"], _statuses(found)["half"]) == (True, True, "passed")


def test_a_direction_that_is_wrong(tmp_path: Path, stroke: Callable[..., Any]) -> None:
    """A negative weight for AUROC makes the inverted answers the best ones."""
    text = (EXAMPLES / "stroke/challenge.toml").read_text()
    toml = tmp_path / "c.toml"
    toml.write_text(text.replace("auroc = 0.3", "auroc = -3"))
    found = stroke(EXAMPLES / "stroke/truth.csv", toml=toml)
    statuses = _statuses(found)
    assert (found["ok"], statuses["perfect-best"], statuses["inverted"]) == (False, "failed", "failed")


def test_columns_of_one_type(tmp_path: Path, call: Call) -> None:
    """Nothing can notice that they are exchanged, which is a warning."""
    toml, truth = tmp_path / "c.toml", tmp_path / "truth.csv"
    field = '{ type = "number", min = 0, max = 1 }'
    toml.write_text(
        f'id = "two"\nkey = "case_id"\n[prediction]\na = {field}\nb = {field}\n'
        f'[truth]\na = {field}\nb = {field}\n[[metric]]\nname = "mae"\nkind = "mae"\nfield = "a"\nunprocessed = 1\n'
        f'[[metric]]\nname = "mae_b"\nkind = "mae"\nfield = "b"\nunprocessed = 1\n[score]\nheadline = "mae"\n'
    )
    truth.write_text("case_id,a,b\n" + "".join(f"K{n},{n / 20},{(n * 7 % 20) / 20}\n" for n in range(20)))
    found = call("challenge", "rehearse", toml, "--truth", truth, "--format", "json").json
    statuses = _statuses(found)
    assert (found["ok"], statuses["swapped"], statuses["swapped-alike"]) == (True, "passed", "warning")


# --- platforms, pages, calls


@pytest.mark.parametrize("platform", ["codabench", "grand-challenge", "evalai"])
def test_through_the_bundle_of_a_platform(call: Call, platform: str) -> None:
    """What the entry point of the bundle says agrees with score, for every submission."""
    given = ("--truth", EXAMPLES / "stroke/truth.csv", "--platform", platform, "--format", "json")
    ran = call("challenge", "rehearse", EXAMPLES / "stroke/challenge.toml", *given)
    found = ran.json
    assert (ran.code, found["platform"], _statuses(found)["platform"]) == (0, platform, "passed")
    shown = {each["name"]: each["platform"] for each in found["submissions"]}
    assert shown["perfect"] == "scored"
    assert "50 % processed" in shown["half"]


def test_the_reason_of_a_platform_that_differs(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text shows why the platform has no figures, and not only JSON."""
    monkeypatch.setitem(trial._RUNS, "codabench", lambda *_: PlatformOutcome({}, "the program needs Python 3.11"))
    given = ("--truth", EXAMPLES / "stroke/truth.csv", "--platform", "codabench")
    ran = call("challenge", "rehearse", EXAMPLES / "stroke/challenge.toml", *given)
    assert ran.code == 1
    assert "perfect (the truth): 1.0000, on the platform – (the program needs Python 3.11)" in ran.out


def test_a_built_in_track_through_a_bundle(rehearse: Call) -> None:
    ran = rehearse(ROOT / "src/medcontract/examples/reports/truth.json", "--platform", "codabench")
    assert (ran.code, _statuses(ran.json)["platform"]) == (0, "passed")


def test_the_page(call: Call, tmp_path: Path) -> None:
    page = tmp_path / "rehearsal.html"
    given = (EXAMPLES / "stroke/challenge.toml", "--truth", EXAMPLES / "stroke/truth.csv", "--out", page)
    assert call("challenge", "rehearse", *given).code == 0
    text = page.read_text()
    assert "<h1>Rehearsal: Stroke type from CT reports</h1>" in text
    assert "Ready to open" in text
    assert "<script" not in text
    shown = call("challenge", "rehearse", *given[:3]).out
    assert shown.endswith("READY TO OPEN  stroke: all checks passed\n")
    assert not [line for line in shown.splitlines() if "S0" in line]


def test_no_values_of_records(call: Call, tmp_path: Path) -> None:
    """Names of classes are shown, texts and ids are not."""
    truth = truth_file(tmp_path, "extraction")
    assert {"Insulina", "mg"} <= {*re.findall(r"\w+", truth.read_text())}
    for format_ in ("text", "json", "markdown", "html"):
        out = call("rehearse", truth, "--format", format_).out
        assert "prior" in out
        assert "Insulina" not in out
        assert "mg" not in out.lower().replace("img", "")


def test_a_truth_with_errors(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "truth.csv"
    path.write_text("image_id,label\nI1,XX\n")
    ran = call("rehearse", path)
    assert (ran.code, ran.out) == (1, "")
    assert "the truth has 1 error" in ran.err


def test_in_python(tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    found = medcontract.rehearse(
        ROOT / "src/medcontract/examples/lesions/truth.csv", progress=lambda *step: steps.append(step)
    )
    assert found
    assert found.headline == "prediction_score"
    assert steps[-1][0] == "rehearsing"
    challenge = Challenge.load(EXAMPLES / "stroke/challenge.toml")
    assert challenge.rehearse(EXAMPLES / "stroke/truth.csv")
    assert not medcontract.rehearse(
        ROOT / "src/medcontract/examples/lesions/truth.csv", parameters={"min_processed": 0}, strict=True
    ).count("failed")


def test_the_same_bytes(call: Call, tmp_path: Path) -> None:
    """A rehearsal does not depend on the order of the truth."""
    labels = _labels()
    ids = [f"S{n:03}" for n in range(len(labels))]
    (tmp_path / "other").mkdir()
    truth, turned = _truth(tmp_path, labels, ids), _truth(tmp_path / "other", labels[::-1], ids[::-1])
    toml = EXAMPLES / "stroke/challenge.toml"
    one, other = (call("challenge", "rehearse", toml, "--truth", t, "--format", "json").json for t in (truth, turned))
    figures = [{each["about"]: each["figures"] for each in found["submissions"]} for found in (one, other)]
    assert figures[0]["the answers of other cases"] == figures[1]["the answers of other cases"]


def test_stroke_of_the_specification(call: Call, tmp_path: Path) -> None:
    """A challenge with a set and an optional number."""
    toml, truth = tmp_path / "c.toml", tmp_path / "truth.json"
    toml.write_text(STROKE)
    labels, found = ("ischemic", "hemorrhagic", "none"), ("edema", "shift", "midline")
    records = [{"case_id": f"K{n}", "label": labels[n % 3], "findings": [found[n % 3]] * (n % 2)} for n in range(24)]
    truth.write_text(json.dumps({"truth": records}))
    ran = call("challenge", "rehearse", toml, "--truth", truth, "--format", "json")
    assert (ran.code, ran.json["submissions"][0]["headline"]) == (0, 1.0)


# --- the smallest difference that a truth can show


@pytest.fixture
def coin(tmp_path: Path) -> tuple[Path, Path]:
    """A challenge with two labels, ranked by accuracy, and a truth in which 200 of 400 cases have each."""
    pytest.importorskip("numpy")
    toml, truth = tmp_path / "coin.toml", tmp_path / "coin.csv"
    label = 'label = { one_of = ["heads", "tails"] }'
    toml.write_text(
        f'id = "coin"\nkey = "case_id"\n[prediction]\n{label}\n[truth]\n{label}\n[[metric]]\nname = "accuracy"\n'
        'kind = "accuracy"\nfield = "label"\n[score]\nheadline = "accuracy"\n'
    )
    truth.write_text("case_id,label\n" + "".join(f"K{n},{_side(n)}\n" for n in range(400)))
    return toml, truth


def _side(case: int) -> str:
    return ("heads", "tails")[case % 2]


def _half_right(which: str) -> list[str]:
    """The answers that a rehearsal makes: a hash of the id decides which are right, and draws the others."""

    def hashed(case: int, purpose: str) -> int:
        text = json.dumps([purpose, f"K{case}"]).encode()
        return int.from_bytes(hmac.digest(b"medcontract/rehearsal/1", text, "sha256")[:8])

    return [_side(n) if hashed(n, f"right{which}") % 2 else _side(hashed(n, f"prior{which}") % 400) for n in range(400)]


def test_the_smallest_difference_by_hand(call: Call, coin: tuple[Path, Path], tmp_path: Path) -> None:
    """Each of two submissions is right in 3 of 4 cases: 1/2 known, and half of the others by chance.

    The difference in a case is 1 or -1 with 3/16 each, so its variance is 3/8, and z times the standard deviation of
    the mean of 400 is 1.96 * sqrt(3/8 / 400) = 0.0600, give or take what chance made of these answers. From the answers
    themselves it follows up to the error of 1000 resamples, and a ranking of the two gives the same number.
    """
    toml, truth = coin
    ran = call("challenge", "rehearse", toml, "--truth", truth, "--intervals", "--format", "json")
    found = ran.json
    published("medcontract/rehearsal").validate(found)
    assert found["detectable"] == pytest.approx(0.0600, rel=0.15)
    both = _half_right(""), _half_right(" again")
    right = [[said == _side(n) for n, said in enumerate(answers)] for answers in both]
    each = [one - other for one, other in zip(*right, strict=True)]
    mean = sum(each) / 400
    s = sqrt(sum((d - mean) ** 2 for d in each) / 400 / 400)
    assert found["detectable"] == pytest.approx(NormalDist().inv_cdf(0.975) * s, rel=0.06)
    for number, answers in enumerate(both):
        text = "".join(f"K{n},{said}\n" for n, said in enumerate(answers))
        (tmp_path / f"team{number}.csv").write_text(f"case_id,label\n{text}")
    board = call("leaderboard", truth, tmp_path / "team0.csv", tmp_path / "team1.csv", "--challenge", toml,
                 "--intervals", "--format", "json").json  # fmt: skip
    assert found["detectable"] == board["detectable"]


def test_the_smallest_difference_depends_on_the_level(coin: tuple[Path, Path]) -> None:
    """z is 1.6449 at 90 % and 1.9600 at 95 %; the standard deviation is the same."""
    challenge, truth = Challenge.load(coin[0]), coin[1]
    usual = challenge.rehearse(truth, intervals=True).detectable
    lower = challenge.rehearse(truth, parameters={"level": 0.9}).detectable
    assert usual
    assert lower
    assert lower / usual == pytest.approx(1.6448536 / 1.9599640, abs=1e-4)


def test_the_smallest_difference_in_words(call: Call, coin: tuple[Path, Path], tmp_path: Path) -> None:
    toml, truth = coin
    given = ("challenge", "rehearse", toml, "--truth", truth)
    plain = call(*given, "--format", "json")
    assert (plain.code, "detectable" in plain.json, "detectable" in _statuses(plain.json)) == (0, False, False)
    toml.write_text(toml.read_text() + "[uncertainty]\nintervals = true\n")
    asked = call(*given, "--format", "json").json
    value = f"{asked['detectable']:.4f}"
    sentence = f"differences of accuracy below about {value} may be chance (400 cases, level 95 %)"
    assert (_detail(asked, "detectable"), _statuses(asked)["detectable"]) == (sentence, "passed")
    for format_ in ("text", "markdown", "html"):
        assert sentence in call(*given, "--format", format_).out.replace("&nbsp;", " ").replace("\\", "")


def test_the_smallest_difference_of_clusters(call: Call, coin: tuple[Path, Path]) -> None:
    """A cluster asks for it, too, and is what is counted."""
    toml, truth = coin
    toml.write_text(changed(toml.read_text(), "[truth]\n", '[truth]\nfamily = { type = "text" }\n'))
    truth.write_text("case_id,label,family\n" + "".join(f"K{n},{_side(n)},F{n // 8}\n" for n in range(400)))
    found = call("challenge", "rehearse", toml, "--truth", truth, "--cluster", "family", "--format", "json").json
    assert "(50 clusters, level 95 %)" in _detail(found, "detectable")


@pytest.mark.parametrize("labels", [["ischemic"] * 30, ["ischemic", "none", "hemorrhagic", "none"]])
def test_a_truth_that_can_show_no_difference(tmp_path: Path, stroke: Callable[..., Any], labels: list[str]) -> None:
    """AUROC is undefined for all cases, or for too many resamples."""
    pytest.importorskip("numpy")
    found = stroke(_truth(tmp_path, labels), "--intervals")
    assert ("detectable" in found, _statuses(found)["detectable"]) == (False, "warning")
    assert _detail(found, "detectable").startswith("it is not known which differences this truth can show: ")


def test_a_truth_with_too_few_cases(call: Call, coin: tuple[Path, Path]) -> None:
    """With four cases, 2.58 * sqrt(3/8 / 4) is about 0.8, and answers drawn at random are wrong in half of them."""
    toml, truth = coin
    truth.write_text("case_id,label\n" + "".join(f"K{n},{_side(n)}\n" for n in range(4)))
    given = ("--truth", truth, "--parameter", "level=0.99", "--format", "json")
    found = call("challenge", "rehearse", toml, *given).json
    drawn = next(each["headline"] for each in found["submissions"] if each["name"] == "prior")
    assert found["detectable"] > 1 - drawn
    assert _statuses(found)["detectable"] == "warning"
    assert _detail(found, "detectable").endswith("also the difference between right and random answers")
