"""`medcontract.benchmark`: the same figures as the scorer, only for valid data."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.commands import Call, keeps
from tests.scoring_files import Record, document, reference, says, write

import medcontract
from medcontract import benchmark
from medcontract.benchmark import BenchmarkReport, ClinicalAccuracyMetric, ReasoningQualityMetric
from medcontract.errors import CallError, InvalidData

EXAMPLES = Path(medcontract.__file__).parent / "examples" / "benchmark"
FILES = [EXAMPLES / "references.json", EXAMPLES / "predictions.json"]


def test_public_names() -> None:
    """Sorted, and all there."""
    assert benchmark.__all__ == sorted(benchmark.__all__)
    assert all(hasattr(benchmark, name) for name in benchmark.__all__)


def examples() -> tuple[list[Record], list[Record]]:
    """References and predictions of the example files, in one order, without failed ones."""
    right, said = (json.loads(path.read_text(encoding="utf-8")) for path in FILES)
    by_id = {(each["task_id"], each["sample_id"]): each for each in said["predictions"] if not each.get("error")}
    both = [(each["reference"], by_id[each["task_id"], each["sample_id"]]["prediction"])
            for each in right["references"] if (each["task_id"], each["sample_id"]) in by_id]  # fmt: skip
    return [one for one, _ in both], [other for _, other in both]


@pytest.mark.parametrize("metric", [ClinicalAccuracyMetric, ReasoningQualityMetric])
def test_the_same_figures(metric: type[ClinicalAccuracyMetric], tmp_path: Path) -> None:
    """One sample after the other, and all as one task, as `medcontract.score` computes them."""
    right, said = examples()
    truth = [reference(f"{n:03}", **each) for n, each in enumerate(right)]
    sent = [says(f"{n:03}", **each) for n, each in enumerate(said)]
    files = write(tmp_path, "benchmark/references", truth), write(tmp_path, "benchmark/predictions", sent)
    result: Any = medcontract.score(*files, breakdown=True, show_values=True).result
    computed = metric()
    assert computed.calculate(right, said) == result["overall_scores"][metric.name]
    wanted = [
        {"score": row["scores"].get(metric.name), **row["breakdown"].get(metric.name, {})}
        for row in result["detailed_results"]
    ]
    assert computed.get_last_breakdown() == wanted
    index = next(n for n, each in enumerate(wanted) if each["score"] is not None)
    assert computed.calculate(right[index], said[index]) == wanted[index]["score"]
    assert len(computed.get_last_breakdown()) == 1


def test_by_hand() -> None:
    """A text means the answer or the rationale. asthma 3 in both, cough 1 only in one: 3/4.

    Rationale: no word in common, three mentions of evidence, one numbered list: 0.05 + 0.20 + 0.25 = 0.5.
    """
    assert ClinicalAccuracyMetric().calculate("asthma", "asthma, cough") == 0.75
    assert ClinicalAccuracyMetric().calculate(["asthma", "gout"], ["asthma, cough", "gout"]) == 0.875
    assert ReasoningQualityMetric().calculate("w", "1. BP low\n2. lactate high\n3. chest X-ray clear") == 0.5


def test_parameters_and_a_lexicon() -> None:
    """As for `score`: diagnoses count 9, so 9/10; with the lexicon, a word is a diagnosis."""
    weighty = ClinicalAccuracyMetric(parameters={"weight_diagnoses": 9})
    assert weighty.calculate("asthma", "asthma, cough") == 0.9
    lexicon = json.dumps({"entities": {"diagnoses": ["rana"]}}).encode()
    assert ClinicalAccuracyMetric(lexicon=lexicon).calculate("una rana", "rana") == 1
    assert ClinicalAccuracyMetric().calculate("una rana", "rana") == 0
    with pytest.raises(CallError, match="weight_diagnoses"):
        ClinicalAccuracyMetric(parameters={"weight_diagnosis": 9})


@pytest.mark.parametrize(
    "expected",
    [{"answer": 7}, {"label": "gout"}, {}, {"answer": " "}, 7, None, {"entities": {"drugs": []}},
     {"answer": float("nan")}],
    ids=repr,
)  # fmt: skip
def test_only_valid_data_is_scored(expected: Any) -> None:
    """Data that violates the contract raises `InvalidData`, whichever side it is on, and leaves no breakdown."""
    metric = ClinicalAccuracyMetric()
    metric.calculate("a", "a")
    with pytest.raises(InvalidData):
        metric.calculate([expected], ["gout"])
    assert metric.get_last_breakdown() == []
    if expected not in ({}, {"answer": " "}):  # a model may say nothing
        with pytest.raises(InvalidData):
            metric.calculate(["gout"], [expected])


@pytest.mark.parametrize(
    ("expected", "predicted", "words"),
    [
        ([], [], "0 expected"),
        (["a"], ["a", "b"], "1 expected and 2 predicted"),
        ({"diagnosis": "gout"}, "gout", "no reference requires clinical_accuracy"),
        ({"answer": object()}, "gout", "cannot be written as JSON"),
    ],
)
def test_usage_errors(expected: Any, predicted: Any, words: str) -> None:
    """There is no figure."""
    with pytest.raises(CallError, match=words):
        ClinicalAccuracyMetric().calculate(expected, predicted)


# --- reports -------------------------------------------------------------------------------------

REPORT: Record = {
    "model_id": "m",
    "overall_scores": {"safety": 0.5},
    "task_scores": {"a": {"safety": 0.25, "exact_match": 1}, "b": {"safety": 0.75}},
}


def test_a_combined_score() -> None:
    """a: (1·0.25 + 3·1) / 4 = 0.8125; b: 0.75, renormalized, or 0.75 / 4 = 0.1875. Overall: 0.78125 and 0.5."""
    report = BenchmarkReport(REPORT)
    report.add_combined_score({"safety": 1, "diagnostics": 3})
    assert {task: found["combined_score"] for task, found in report.task_scores.items()} == {"a": 0.8125, "b": 0.75}
    assert report.overall_scores == {"combined_score": 0.78125, "safety": 0.5}
    report.add_combined_score({"safety": 1, "diagnostics": 3}, metric_name="strict", renormalize_missing=False)
    assert report.overall_scores["strict"] == 0.5
    assert list(report.metadata["combined_scores"]) == ["combined_score", "strict"]
    assert REPORT["overall_scores"] == {"safety": 0.5}


def test_as_the_command(score: Call, tmp_path: Path) -> None:
    """The same bytes as `score report.json --result-only`, and the same tables in Markdown."""
    options = ("--weights", "safety=1,mine=3", "--category", "mine=exact_match")
    path = document(tmp_path, "report", REPORT)[0]
    for source in (REPORT, path, path.read_bytes()):
        report = BenchmarkReport(source)
        report.add_combined_score({"safety": 1, "mine": 3}, categories={"mine": ["exact_match"]})
        assert report.to_json() == score(path, *options, "--result-only").out
        keeps(report.to_json(), "benchmark/report")
        page = score(path, *options, "--format", "markdown").out
        assert [line for line in report.to_markdown().splitlines()[3:] if line not in page.splitlines()] == []
    page = report.to_markdown()
    assert re.findall("^## (.*)$", page, re.MULTILINE)[:2] == ["Overall", "Metrics"]
    rows = re.findall(r"^\| (.*) \|$", page, re.MULTILINE)
    assert rows[1:4] == [r"combined\_score | 0.7812", "weight of safety | 1", "weight of mine | 3"]
    headings = re.findall("<h2[^>]*>(.*?)</h2>", report.to_html())
    assert headings[:2] == ["Overall", "Metrics"]
    assert report.to_dict() == json.loads(report.to_json())
    assert repr(report) == "<BenchmarkReport of 2 tasks>"


def test_a_report_of_a_score() -> None:
    """The result of `score` can be weighted later, with the same figures as at once."""
    at_once: Any = medcontract.score(*FILES, weights={"diagnostics": 0.6, "reasoning_quality": 0.4}).result
    report = BenchmarkReport(medcontract.score(*FILES))
    report.add_combined_score({"diagnostics": 0.6, "reasoning_quality": 0.4})
    assert report.overall_scores == pytest.approx(at_once["overall_scores"], abs=1e-15)
    assert report.to_dict()["metadata"] == at_once["metadata"]
    assert report.model_id == at_once["model_id"]


def test_reports_that_are_not_valid() -> None:
    """Wrong data, and scores without a report."""
    for wrong in (
        {},
        {**REPORT, "task_scores": {"a": {"safety": "1"}}},
        b"[]",
        {**REPORT, "overall_scores": {"x": float("inf")}},
    ):
        with pytest.raises((InvalidData, CallError)):
            BenchmarkReport(wrong)
    with pytest.raises(CallError, match="no report"):
        BenchmarkReport(medcontract.score(*FILES, participant=True))


def test_wrong_weights() -> None:
    """As on the command line; the report stays as it was."""
    report = BenchmarkReport(REPORT)
    calls: list[tuple[Record, Record]] = [
        ({"rouge1": 1}, {}), ({"safety": 0}, {}), ({"safety": -1}, {}), ({"safety": 1}, {"metric_name": "safety"}),
        ({"safety": 1}, {"metric_name": " "}), ({"safety": 1}, {"categories": {"m": []}}),
    ]  # fmt: skip
    for weights, more in calls:
        with pytest.raises(CallError):
            report.add_combined_score(weights, **more)
    assert report.to_dict() == REPORT
    report.add_combined_score({"exact_match": 1}, "safety", replace=True)
    assert report.overall_scores == {"safety": 1}


@pytest.mark.parametrize(
    "strange", [7, {"safety": 7}, {"safety": {"weights": {"a": "x"}, "renormalize_missing": True}}]
)
def test_strange_metadata(strange: Any) -> None:
    """A report of another tool may have anything in its metadata."""
    page = BenchmarkReport({**REPORT, "metadata": {"combined_scores": strange}}).to_markdown()
    assert page.startswith("# Report: benchmark\n\n**m**.\n\n## Overall\n")
