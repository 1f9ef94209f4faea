"""`medcontract compare`: before and after, or why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.test_score_command import SENT, TRACKS, Call, all_files, caller, keeps, sent_file, truth_file


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.chdir(tmp_path)
    return caller(capsys)


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


def test_cases_that_changed_come_first(call: Call, tmp_path: Path) -> None:
    """The case that lost is named before those that stayed."""
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
    other = scored(call, "b.json", *all_files(tmp_path, "triage"))
    assert call("compare", path, other).code == 2
