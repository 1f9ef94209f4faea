"""The track `benchmark`: tasks, options of the combined score, lexicons, reports.

Its figures are in `tests/vectors/scores`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.commands import Call, keeps
from tests.scoring_files import HEADERS, Record, document, reference, repeats, says, weights, write

REFERENCES, PREDICTIONS, SAMPLES = "benchmark/references", "benchmark/predictions", "benchmark/samples"
CLINICAL, REASONING, DIAGNOSTIC = "clinical_accuracy", "reasoning_quality", "diagnostic_accuracy"

# --- tasks, and what is not processed ------------------------------------------------------------


def given(task: str, sample: str, **values: float) -> Record:
    """A sample that has nothing but scores."""
    return {"task_id": task, "sample_id": sample, "reference": {}, "prediction": {}, "scores": values}


def test_a_pair_is_no_joined_text(score: Call, tmp_path: Path) -> None:
    """Task `a b` with sample `c` is not task `a` with sample `b c`; the same sample id may stand in two tasks."""
    truth = [reference("c", "a b", diagnosis="gout"), reference("b c", "a", diagnosis="asthma")]
    truth += [reference("c", "a", diagnosis="stroke")]
    files = write(tmp_path, REFERENCES, truth), write(tmp_path, PREDICTIONS, [repeats(true) for true in truth])
    result = score(*files, "--result-only").json
    assert result["task_scores"] == {"a": {DIAGNOSTIC: 1}, "a b": {DIAGNOSTIC: 1}}


# --- the combined score --------------------------------------------------------------------------

SAFE = [given("a", "1", safety=0.5, rouge1=1)]


def test_the_report_tells_the_weights(score: Call, tmp_path: Path) -> None:
    """And puts the combined score first."""
    samples = write(tmp_path, SAMPLES, SAFE)
    result = score(samples, "--weights", "rouge1=1,safety=3", "--keep-missing", "--result-only").json
    for found in (result["overall_scores"], result["task_scores"]["a"]):
        assert next(iter(found)) == "combined_score"
    assert result["overall_scores"]["combined_score"] == 0.625
    assert result["metadata"]["combined_scores"] == {
        "combined_score": {"weights": {"rouge1": 1, "safety": 3}, "renormalize_missing": False}
    }


def test_metric_name(score: Call, tmp_path: Path) -> None:
    """--metric-name names the combined score; it wins over the file's name, which wins over the default."""
    samples = write(tmp_path, SAMPLES, SAFE)
    (file,) = document(tmp_path, "weights", weights(None, "index", safety=1))
    assert score(samples, file, "--result-only").json["overall_scores"] == {"index": 0.5, "safety": 0.5, "rouge1": 1}
    named = score(samples, file, "--metric-name", "my score", "--format", "json").json
    assert named["result"]["overall_scores"] == {"my score": 0.5, "safety": 0.5, "rouge1": 1}
    assert named["result"]["task_scores"]["a"]["my score"] == 0.5
    text = score(samples, "--weights", "safety=1", "--metric-name", "index").out
    assert text.splitlines()[0].endswith("index 0.5000")


@pytest.mark.parametrize("how", ["option", "file", "default"])
def test_a_name_that_is_taken(score: Call, tmp_path: Path, how: str) -> None:
    """A metric that is there already is not overwritten: a usage error, unless --replace is given."""
    name = "combined_score" if how == "default" else "rouge1"
    samples = write(tmp_path, SAMPLES, [given("a", "1", safety=0.5, **{name: 1}), given("b", "1", safety=0.25)])
    (file,) = document(tmp_path, "weights", weights(None, "rouge1" if how == "file" else None, safety=1))
    extra = ("--metric-name", "rouge1") if how == "option" else ()
    code, out, err = score(samples, file, *extra)
    assert (code, out) == (2, "")
    assert name in err
    assert "--replace" in err
    result = score(samples, file, *extra, "--replace", "--result-only").json
    assert result["task_scores"] == {"a": {name: 0.5, "safety": 0.5}, "b": {name: 0.25, "safety": 0.25}}
    assert result["overall_scores"] == {name: 0.375, "safety": 0.375}


def test_replaced_means_gone(score: Call, tmp_path: Path) -> None:
    """A task that has no combined score does not keep the metric that was replaced."""
    samples = write(tmp_path, SAMPLES, [given("a", "1", safety=0.5), given("b", "1", rouge1=0.25)])
    result = score(
        samples, "--weights", "safety=1", "--metric-name", "rouge1", "--replace", "--result-only"
    ).json  # fmt: skip
    assert result["task_scores"] == {"a": {"rouge1": 0.5, "safety": 0.5}, "b": {}}
    assert result["overall_scores"] == {"rouge1": 0.5, "safety": 0.5}


def test_the_weights_file_is_an_input(score: Call, tmp_path: Path) -> None:
    """Its hash is told; the protocol's fingerprint stays."""
    samples = write(tmp_path, SAMPLES, SAFE)
    (file,) = document(tmp_path, "weights", weights(safety=1))
    envelope = keeps(score(samples, file, "--format", "json").out, "medcontract/score")
    assert [found["contract"] for found in envelope["inputs"]] == [SAMPLES, "benchmark/weights"]
    assert envelope["protocol"] == score(samples, "--format", "json").json["protocol"]


def test_headline(score: Call, tmp_path: Path) -> None:
    """The first line has the combined score; without weights, clinical_accuracy; without that, no figure."""
    files = [
        write(tmp_path, REFERENCES, [reference("S", answer="gout", diagnosis="gout")]),
        write(tmp_path, PREDICTIONS, [says("S", answer="gout")]),
    ]
    first = score(*files, "--weights", "diagnostics=1").out.splitlines()[0]
    assert first == f"VALID  benchmark, {HEADERS[PREDICTIONS]['model_id']}  combined_score 0.5000"
    assert score(*files).out.splitlines()[0].endswith("clinical_accuracy 1.0000")
    assert score(write(tmp_path, SAMPLES, SAFE)).code == 0


# --- a lexicon of one's own ----------------------------------------------------------------------


def test_a_lexicon_changes_the_fingerprint(score: Call, tmp_path: Path) -> None:
    """Terms are part of the protocol; the order in which a lexicon is written is not."""
    files = [
        write(tmp_path, REFERENCES, [reference("S", answer="hombro congelado")]),
        write(tmp_path, PREDICTIONS, [says("S", answer="it is a frozen shoulder")]),
    ]
    value = {"entities": {"diagnoses": ["frozen shoulder", "x"]}, "synonyms": {"frozen shoulder": ["hombro congelado"]}}
    other = {"about": "the same", "entities": {"diagnoses": ["X", "Frozen Shoulder"]}, "synonyms": value["synonyms"]}
    plain = score(*files, "--format", "json").json
    paths = [*document(tmp_path, "one", value), *document(tmp_path, "two", other)]
    one, two = (score(*files, "--lexicon", path, "--format", "json").json for path in paths)
    assert plain["result"]["overall_scores"] == {CLINICAL: 0.0}
    assert one["result"] == two["result"]
    assert one["result"]["overall_scores"] == {CLINICAL: 1.0}
    assert one["protocol"] == two["protocol"]
    assert one["protocol"]["fingerprint"] != plain["protocol"]["fingerprint"]


# --- a report that was made elsewhere ------------------------------------------------------------

REPORT: Record = {
    "model_id": "reiher-7b",
    "timestamp": "2025-11-03",
    "schema_version": 3,
    "overall_scores": {"safety": 0.4, "rouge1": 57.25, "strange": -2},
    "task_scores": {"z": {"safety": 0.5, "exact_match": 0.25}, "a": {"rouge1": 57.25}, "empty": {}},
    "detailed_results": [{"anything": [1, 2.5, None, "ü"]}, 7],
    "metadata": {"tool": "another", "seed": 12345678901234567890},
}


def test_the_same_score_by_way_of_a_report(score: Call, tmp_path: Path) -> None:
    """Of scores that are doubles, a report that gets its combined score later is the one that had it at once."""
    samples = write(tmp_path, SAMPLES, [given("a", "1", safety=0.5), given("b", "1", safety=0.25, rouge1=1)])
    (tmp_path / "report.json").write_text(score(samples, "--result-only").out)
    later = score("report.json", "--weights", "safety=2,rouge1=1", "--result-only").json
    assert later == score(samples, "--weights", "safety=2,rouge1=1", "--result-only").json


def test_a_combined_score_that_is_there(score: Call, tmp_path: Path) -> None:
    """In a task or only overall: a usage error, and with --replace it is replaced."""
    for where in ("overall_scores", "task_scores"):
        found: Record = json.loads(json.dumps(REPORT))
        (found[where] if where == "overall_scores" else found[where]["a"])["combined_score"] = 0.99
        (file,) = document(tmp_path, "report", found)
        code, out, err = score(file, "--weights", "safety=1")
        assert (code, out) == (2, "")
        assert "'combined_score'" in err
        result = score(file, "--weights", "safety=1", "--replace", "--result-only").json
        assert result["overall_scores"] == {**REPORT["overall_scores"], "combined_score": 0.5}
        assert result["task_scores"]["a"] == REPORT["task_scores"]["a"]


def test_a_report_and_its_weights_in_a_folder(score: Call, tmp_path: Path) -> None:
    """A folder means its files."""
    document(tmp_path, "report", REPORT)
    document(tmp_path, "weights", weights(safety=1))
    assert score(".", "--result-only").json["overall_scores"]["combined_score"] == 0.5


def test_the_date_of_a_report(score: Call, tmp_path: Path) -> None:
    """It comes from the input or from --set, else it is absent; one that is there cannot be set."""
    dated = document(tmp_path, "dated", REPORT)[0]
    bare = document(tmp_path, "bare", {name: value for name, value in REPORT.items() if name != "timestamp"})[0]
    weighing = ("--weights", "safety=1", "--result-only")
    assert "timestamp" not in score(bare, *weighing).json
    assert score(bare, *weighing, "--set", "timestamp=2026-02-01").json["timestamp"] == "2026-02-01"
    assert score(dated, *weighing).json["timestamp"] == "2025-11-03"
    assert score(dated, *weighing, "--set", "timestamp=2026-02-01").code == 2


@pytest.mark.parametrize("value", ["2026-02-30", "soon", "1/2/2026"])
def test_a_date_that_is_none(score: Call, tmp_path: Path, value: str) -> None:
    """The result would break its contract: a usage error."""
    samples = write(tmp_path, SAMPLES, SAFE)
    code, out, err = score(samples, "--set", f"timestamp={value}")
    assert (code, out) == (2, "")
    assert "timestamp" in err
    assert score(samples, "--set", "timestamp=2026-02-28", "--result-only").json["timestamp"] == "2026-02-28"


def test_a_report_with_errors(score: Call, tmp_path: Path) -> None:
    """Refused, with the problems."""
    files = document(tmp_path, "report", {**REPORT, "overall_scores": {"safety": "good"}})
    ran = score(*files, "--weights", "safety=1", "--format", "json")
    assert ran.code == 1
    envelope = keeps(ran.out, "medcontract/score")
    assert (envelope["valid"], envelope["result"], envelope["processing"]) == (False, None, None)
    assert envelope["reasons"]
    assert [problem["file"] for problem in envelope["problems"]] == ["report.json"]


def test_a_report_without_weights(score: Call, tmp_path: Path) -> None:
    """There is nothing to do: a usage error that says what is missing."""
    code, out, err = score(*document(tmp_path, "report", REPORT))
    assert (code, out) == (2, "")
    assert "--weights" in err


def test_two_reports(score: Call, tmp_path: Path) -> None:
    """One at a time."""
    files = [*document(tmp_path, "one", REPORT), *document(tmp_path, "two", REPORT)]
    code, out, err = score(*files, "--weights", "safety=1")
    assert (code, out) == (2, "")
    assert "two.json" in err
