"""`medcontract compare`: before and after, or why not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.commands import HEADLINES, SENT, TRACKS, TRUTH, Call, all_files, keeps, sent_file, truth_file
from tests.scoring_files import reference, says, write
from tests.unit.scoring.test_protocol import fingerprint


def scored(call: Call, out: str, *files: Any) -> Path:
    call("score", *files, "--format", "json", "--out", out)
    return Path(out)


@pytest.mark.parametrize("track", TRACKS)
def test_no_change(call: Call, tmp_path: Path, track: str) -> None:
    """The same score twice: every change is 0."""
    path = scored(call, "a.json", *all_files(tmp_path, track))
    found = keeps(call("compare", path, path, "--format", "json").out, "medcontract/comparison")
    assert {each["delta"] for each in found["figures"]} <= {0, None}
    assert call("compare", path, path).code == 0


def test_what_changed(call: Call, tmp_path: Path) -> None:
    """20 of 20 right, then 19: accuracy 1 and 0.95."""
    truth = truth_file(tmp_path, "lesions")
    before = scored(call, "a.json", truth, sent_file(tmp_path, "lesions"))
    worse = [{**SENT["lesions"][0], "probabilities": SENT["lesions"][1]["probabilities"]}, *SENT["lesions"][1:]]
    after = scored(call, "b.json", truth, sent_file(tmp_path, "lesions", worse))
    found = call("compare", before, after, "--format", "json").json
    (accuracy,) = [each for each in found["figures"] if each["name"] == "accuracy"]
    assert accuracy == {"name": "accuracy", "before": 1, "after": 0.95, "delta": 0.95 - 1}
    assert "accuracy" in call("compare", before, after).out
    assert "| accuracy |" in call("compare", before, after, "--format", "markdown").out


@pytest.mark.parametrize("track", ["lesions", "reports"])
def test_figures_that_changed_most_come_first(call: Call, tmp_path: Path, track: str) -> None:
    """The headline, then the other figures by the size of their change, in text and Markdown."""
    truth, _, *more = all_files(tmp_path, track)
    sent = SENT[track]
    field = "probabilities" if track == "lesions" else "urgency"
    worse = [{**sent[0], field: sent[1][field]}, {**sent[2], field: sent[3][field]}, sent[1], *sent[3:]]
    before = scored(call, "a.json", truth, sent_file(tmp_path, track), *more)
    after = scored(call, "b.json", truth, sent_file(tmp_path, track, worse), *more)
    headline = HEADLINES[track][0].split()[0]
    figures = call("compare", before, after, "--format", "json").json["figures"]
    assert figures[0]["name"] == headline
    changes = {each["name"]: abs(each["delta"]) for each in figures if each["delta"] and "." not in each["name"]}
    wanted = [headline, *sorted((name for name in changes if name != headline), key=lambda name: -changes[name])]
    assert len(wanted) >= 3
    text = call("compare", before, after).out.split("unchanged figures")[0]
    names = [line.split()[0] for line in text.splitlines() if line.startswith("  ") and line.strip()]
    names = [name for name in names if name in changes]
    assert names == wanted
    table = call("compare", before, after, "--format", "markdown").out.replace("\\", "")
    assert [name for name in re.findall(r"^\| (\S+) \|", table, re.MULTILINE) if name in changes] == wanted


def test_cases_that_changed_come_first(call: Call, tmp_path: Path) -> None:
    """The case that lost is named before cases that stayed."""
    truth = truth_file(tmp_path, "triage")
    before = scored(call, "a.json", truth, sent_file(tmp_path, "triage"))
    silent = [{**record, "model_predictions": []} if n < 2 else record for n, record in enumerate(SENT["triage"])]
    after = scored(call, "b.json", truth, sent_file(tmp_path, "triage", silent))
    rows = call("compare", before, after, "--format", "json").json["rows"]
    changes = [abs(next(f["delta"] for f in row["figures"] if f["name"] == "jaccard_index")) for row in rows]
    assert changes == sorted(changes, reverse=True)
    assert "worsened" in call("compare", before, after).out


def test_documents_that_changed_come_first(call: Call, tmp_path: Path) -> None:
    """Of extraction: one document loses its dose (0.3·1/8), one its second drug (0.35 and nothing more)."""
    truth = truth_file(tmp_path, "extraction")
    before = scored(call, "a.json", truth, sent_file(tmp_path, "extraction"))
    sent = json.loads(json.dumps(SENT["extraction"]))
    sent[3]["medicamentos"][0]["dosis"] = "5 mg"
    del sent[7]["medicamentos"][1]
    after = scored(call, "b.json", truth, sent_file(tmp_path, "extraction", sent))
    found = keeps(call("compare", before, after, "--format", "json").out, "medcontract/comparison")
    rows = [row for row in found["rows"] if row["kind"] == "documents"]
    changes = [next(each["delta"] for each in row["figures"] if each["name"] == "score") for row in rows]
    assert [round(change, 12) for change in changes] == [-0.35, -0.0375] + [0] * 18
    assert "P-07" in call("compare", before, after).out
    fuzzy = scored(call, "c.json", truth, sent_file(tmp_path, "extraction"), "--match", "fuzzy")
    ran = call("compare", before, fuzzy)
    assert ran.code == 2
    assert "match: exact and fuzzy" in ran.err


def test_other_protocol(call: Call, tmp_path: Path) -> None:
    """Refused, with the parameter that differs."""
    files = truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions")
    before = scored(call, "a.json", *files)
    after = scored(call, "b.json", *files, "--parameter", "weight_benign=2")
    ran = call("compare", before, after)
    assert ran.code == 2
    assert "weight_benign: 1 and 2" in ran.err


@pytest.mark.parametrize("side", ["baseline", "rerun"])
@pytest.mark.parametrize("extra", [(), ("--participant",)])
def test_a_fingerprint_of_other_parameters(call: Call, tmp_path: Path, side: str, extra: tuple[str, ...]) -> None:
    """A score that was edited to have the fingerprint of another one cannot be compared with it."""
    files = all_files(tmp_path, "reports")
    honest = scored(call, "honest.json", *files, *extra)
    other = scored(call, "other.json", *files, "--parameter", "min_processed=0.5", *extra)
    assert call("compare", honest, honest).code == 0
    value = json.loads(honest.read_text())
    forged = _changed(other, "forged.json", lambda score: score["protocol"].update(fingerprint=_fingerprint(value)))
    both = (forged, honest) if side == "baseline" else (honest, forged)
    ran = call("compare", *both)
    assert (ran.code, ran.out) == (2, "")
    assert f"the fingerprint of the {side} does not follow from its parameters" in ran.err


def _fingerprint(score: Any) -> str:
    return str(score["protocol"]["fingerprint"])


def test_other_truth(call: Call, tmp_path: Path) -> None:
    """Refused, with both hashes."""
    sent = sent_file(tmp_path, "lesions")
    before = scored(call, "a.json", truth_file(tmp_path, "lesions"), sent)
    path = truth_file(tmp_path, "lesions")
    path.write_text(path.read_text().replace('"MEL"', '"NV"'))
    after = scored(call, "b.json", path, sent)
    ran = call("compare", before, after)
    assert ran.code == 2
    assert "lesions/truth" in ran.err


def test_other_environment(call: Call, tmp_path: Path) -> None:
    """Other versions of what normalization depends on are worth a warning."""
    path = scored(call, "a.json", *all_files(tmp_path, "lesions"))
    data = json.loads(path.read_text())
    data["environment"]["unidecode"] = "0.0.1"
    Path("b.json").write_text(json.dumps(data))
    assert "different versions of unidecode" in call("compare", path, "b.json").out


def test_bad_input(call: Call, tmp_path: Path) -> None:
    """What is no score is told as such; tracks are not mixed."""
    path = scored(call, "a.json", *all_files(tmp_path, "lesions"))
    Path("x.json").write_text("{}")
    assert call("compare", path, "x.json").code == 1
    assert call("compare", path, "no-such.json").code == 2
    ran = call("compare", path, truth_file(tmp_path, "lesions"))
    assert (ran.code, ran.out) == (2, "")
    assert "expected a score, got lesions/truth" in ran.err
    other = scored(call, "b.json", *all_files(tmp_path, "triage"))
    assert call("compare", path, other).code == 2


# --- what a comparison must not hide --------------------------------------------------------------


def _changed(path: Path, name: str, change: Callable[[Any], None]) -> Path:
    """The same score with something in it changed."""
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    other = path.with_name(name)
    other.write_text(json.dumps(data), encoding="utf-8")
    return other


def test_truths_that_are_not_told(call: Call, tmp_path: Path) -> None:
    """What is made for participants does not tell the truth: two of them are compared with a warning, one is not."""
    files = truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions")
    whole, mine = scored(call, "a.json", *files), scored(call, "b.json", *files, "--participant")
    ran = call("compare", mine, mine)
    assert ran.code == 0
    assert "neither score identifies its truth" in ran.out
    ran = call("compare", whole, mine)
    assert ran.code == 2
    assert "does not identify its truth" in ran.err


@pytest.mark.parametrize(
    "result",
    [
        {"documents": 3}, {"documents": [{"a": 1}], "gates": [1]}, {"prescription_accuracy": {"a": 1}}, {"runs": {}},
        {"overall_scores": [], "task_scores": {"a": 3}, "metadata": {"combined_scores": {"a": 3, "b": {"weights": 3}}}},
        {"detailed_results": [{"task_id": 1, "sample_id": {}, "scores": 3}], "decision": "\x1b[31mHACK"}, {},
    ],
)  # fmt: skip
@pytest.mark.parametrize("format_", ["text", "json", "markdown"])
def test_odd_results(call: Call, tmp_path: Path, result: Any, format_: str) -> None:
    """A score whose result breaks its contract is refused; one for participants, which has none, is compared.

    Never a traceback, nothing raw.
    """
    before = scored(call, "a.json", truth_file(tmp_path, "extraction"), sent_file(tmp_path, "extraction"))
    after = _changed(before, "b.json", lambda data: data.update(result=result))
    refused = call("compare", before, after, "--format", format_)
    assert (refused.code, "\x1b" in refused.out + refused.err) == (1, False)
    assert "extraction/decision" in refused.out + refused.err
    after = _changed(before, "b.json", lambda data: data.update(result=result, participant=True))
    ran = call("compare", before, after, "--format", format_)
    assert ran.code == 0
    assert "\x1b" not in ran.out
    if format_ == "json":
        keeps(ran.out, "medcontract/comparison")


def test_a_change_beyond_all_doubles(call: Call, tmp_path: Path) -> None:
    """It has no number: JSON knows no infinity."""
    before = scored(call, "a.json", truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions"))
    # a score for participants: the contract of results has bounds
    coarse = _changed(before, "b.json", lambda data: data.update(participant=True))
    one = _changed(coarse, "c.json", lambda data: data["result"].update(points=1e308))
    other = _changed(coarse, "d.json", lambda data: data["result"].update(points=-1e308))
    ran = call("compare", one, other, "--format", "json")
    (points,) = [each for each in ran.json["figures"] if each["name"] == "points"]
    assert points == {"name": "points", "before": 1e308, "after": -1e308, "delta": None}


def test_a_gate_that_flips(call: Call, tmp_path: Path) -> None:
    """A gate may fail with the same measured value: its state and its reason are told in every format."""
    before = scored(call, "a.json", truth_file(tmp_path, "extraction"), sent_file(tmp_path, "extraction"))

    def fail(data: Any) -> None:
        data["result"]["gates"][2] |= {"passed": False, "reason": "somebody stumbled"}

    after = _changed(before, "b.json", fail)
    for format_ in ("text", "json", "markdown"):
        ran = call("compare", before, after, "--format", format_)
        assert "somebody stumbled" in ran.out
        assert "not passed" in ran.out


def test_figures_that_are_not_the_main_one(call: Call, tmp_path: Path) -> None:
    """A case whose lead time changed is no case without a change, though its jaccard_index is the same."""
    before = scored(call, "a.json", truth_file(tmp_path, "triage"), sent_file(tmp_path, "triage"))

    def later(data: Any) -> None:
        data["result"]["metrics"][0]["prediction_lead_time"] -= 100

    out = call("compare", before, _changed(before, "b.json", later)).out
    assert "Cases that changed in other ways" in out
    assert "prediction_lead_time" in out
    assert "-100" in out


def test_what_changed_only(call: Call, tmp_path: Path) -> None:
    """Text does not list figures without a change: they are counted. The headline is among the figures."""
    before = scored(call, "a.json", truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions"))
    out = call("compare", before, before).out
    assert "unchanged figures: " in out
    assert "confusion_matrix" not in out
    swapped = [{**SENT["lesions"][0], "probabilities": SENT["lesions"][1]["probabilities"]}, *SENT["lesions"][1:]]
    worse = scored(call, "b.json", truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions", swapped))
    assert "confusion_matrix" in call("compare", before, worse).out
    for track, name in (("triage", "mean_jaccard_index"), ("extraction", "mean_accuracy")):
        folder = tmp_path / track
        folder.mkdir()
        score = scored(call, f"{track}.json", truth_file(folder, track), sent_file(folder, track))
        figures = call("compare", score, score, "--format", "json").json["figures"]
        assert figures[0]["name"] == name


def test_differences_to_the_last_digit(call: Call, tmp_path: Path) -> None:
    """A parameter that differs by little is told as it is."""
    files = truth_file(tmp_path, "extraction"), sent_file(tmp_path, "extraction")
    before, after = (
        scored(call, f"{value}.json", *files, "--parameter", f"value_tolerance={value}")
        for value in ("0.02", "0.02000001")
    )
    ran = call("compare", before, after)
    assert ran.code == 2
    assert "value_tolerance: 0.02 and 0.02000001" in ran.err


def test_a_version_that_is_not_known(call: Call, tmp_path: Path) -> None:
    """A score of a later protocol: its changes are not known here, and that is said."""
    before = scored(call, "a.json", truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions"))

    def newer(data: Any) -> None:
        data["protocol"] |= {"version": 9, "fingerprint": fingerprint("lesions", 9, data["protocol"]["parameters"])}

    ran = call("compare", before, _changed(before, "b.json", newer))
    assert ran.code == 2
    assert "version 9: unknown to this version of medcontract" in ran.err


ANSWERS: tuple[dict[str, Any], ...] = (
    {"answer": "gout", "diagnosis": "gout"},
    {"answer": "gout", "diagnosis": "asthma"},
    {"answer": "asthma", "diagnosis": "gout"},
)


@pytest.mark.parametrize(
    ("before", "after", "word"), [(0, 1, "worsened"), (1, 0, "improved"), (1, 2, "changed in other ways")]
)
def test_samples_by_all_their_metrics(call: Call, tmp_path: Path, before: int, after: int, word: str) -> None:
    """A sample that lost one metric and won none got worse; one that did both is neither."""
    truth = write(tmp_path, "benchmark/references", [reference("s", **ANSWERS[0])])
    paths = []
    for number in (before, after):
        sent = write(tmp_path, "benchmark/predictions", [says("s", **ANSWERS[number])], name=f"p{number}")
        paths.append(scored(call, f"s{number}.json", truth, sent, "--breakdown"))
    out = call("compare", *paths).out
    assert f"Tasks that {word}" in out
    assert f"Samples that {word}" in out


def test_weights_by_name(call: Call, tmp_path: Path) -> None:
    """Only a score that both have can have different weights."""
    truth = write(tmp_path, "benchmark/references", [reference("s", **ANSWERS[0])])
    sent = write(tmp_path, "benchmark/predictions", [says("s", **ANSWERS[1])])
    one, other, third = (
        scored(call, f"{name}.json", truth, sent, "--weights", weights, "--metric-name", name)
        for name, weights in (("x", "diagnostics=1"), ("y", "diagnostics=1"), ("x", "diagnostic_accuracy=1"))
    )
    assert "different weights" not in call("compare", one, other).out
    other_x = scored(call, "z.json", truth, sent, "--weights", "diagnostics=1", "--metric-name", "x")
    assert "'x' has different weights" in call("compare", third, other_x).out


def test_one_side_without_a_result(call: Call, tmp_path: Path) -> None:
    """There is nothing to compare: that is said once, not for each document."""
    truth = truth_file(tmp_path, "reports")
    good = scored(call, "a.json", truth, sent_file(tmp_path, "reports"))
    bad = scored(call, "b.json", truth, sent_file(tmp_path, "reports", SENT["reports"][:3]))
    for one, other, word in ((good, bad, "rerun"), (bad, good, "baseline")):
        out = call("compare", one, other).out
        assert f"the {word} was refused" in out
        assert "Runs" not in out


def test_metrics_below_the_gate(call: Call, tmp_path: Path) -> None:
    """A triage score below the gate has metrics, which are compared case by case."""
    truth = truth_file(tmp_path, "triage")
    good = scored(call, "a.json", truth, sent_file(tmp_path, "triage"))
    bad = scored(call, "b.json", truth, sent_file(tmp_path, "triage", SENT["triage"][:3]))
    page = call("compare", good, bad, "--format", "json").json
    assert [row["kind"] for row in page["rows"]] == ["metrics"] * len({one["case_id"] for one in TRUTH["triage"]})
    assert "Cases" in call("compare", good, bad).out


def test_which_files(call: Call, tmp_path: Path) -> None:
    """Text and Markdown name the two files, without their folders."""
    before = scored(call, "a.json", truth_file(tmp_path, "lesions"), sent_file(tmp_path, "lesions"))
    for extra in ((), ("--format", "markdown")):
        out = call("compare", before, tmp_path / before, *extra).out
        assert "rom a.json to a.json" in out
        assert str(tmp_path) not in out
