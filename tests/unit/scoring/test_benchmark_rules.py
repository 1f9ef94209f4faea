"""Rules of `benchmark` with numbers computed by hand: markers, abbreviations, answer metrics, custom categories, and
invalid records of samples.
"""

from __future__ import annotations

import importlib.util
import random
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests import naive
from tests.commands import Call, keeps
from tests.scoring_files import Record, document, reference, repeats, says, weights, write

import medcontract
from medcontract.errors import CallError
from medcontract.normalizers.terms import built_in_terms
from medcontract.scoring.folding import longest_common_subsequence

REFERENCES, PREDICTIONS, SAMPLES = "benchmark/references", "benchmark/predictions", "benchmark/samples"
CLINICAL, REASONING, DIAGNOSTIC = "clinical_accuracy", "reasoning_quality", "diagnostic_accuracy"
BOTH = ("--parameter", "answer_metrics=exact_match+rouge_l")

Scores = Callable[..., dict[str, float]]


@pytest.fixture
def scores(score: Call, tmp_path: Path) -> Scores:
    """The scores of one sample with the built-in lexicon."""

    def of(right: Record, said: Record, *options: str) -> dict[str, float]:
        files = [
            write(tmp_path, REFERENCES, [reference("S", **right)]),
            write(tmp_path, PREDICTIONS, [says("S", **said)]),
        ]
        result = keeps(score(*files, *options, "--result-only").out, "benchmark/report")
        found: dict[str, float] = result["overall_scores"]
        return found

    return of


def double(value: Fraction) -> float:
    return value.numerator / value.denominator


# --- evidence and structure ----------------------------------------------------------------------


def test_line_kinds_in_a_breakdown(score: Call, tmp_path: Path) -> None:
    """They are listed among the markers of structure."""
    files = [
        write(tmp_path, REFERENCES, [reference("S", rationale="w")]),
        write(tmp_path, PREDICTIONS, [says("S", rationale="1. first\n- x")]),
    ]
    (row,) = score(*files, "--breakdown", "--show-values", "--result-only").json["detailed_results"]
    assert row["breakdown"][REASONING]["structure_markers"] == ["bulleted lines", "first", "numbered lines"]


# --- abbreviations of whole diagnoses ------------------------------------------------------------


def test_abbreviations_elsewhere(scores: Scores) -> None:
    """In entities they are words like others; in answers they are found, but not compared as words."""
    long, short = {"answer": "myocardial infarction"}, {"answer": "MI"}
    assert scores(long, short, *BOTH) == {CLINICAL: 1, "exact_match": 0, "rouge_l": 0}
    listed = {"entities": {"diagnoses": ["myocardial infarction"]}}
    assert scores(listed, {"entities": {"diagnoses": ["MI"]}}) == {CLINICAL: 0}


def test_facts_of_an_abbreviated_diagnosis(scores: Scores) -> None:
    """The facts of a myocardial infarction are expected for MI: two rationales get the same."""
    said = {"rationale": "chest pain and st elevation"}
    long, short = (
        scores({"rationale": "w", "diagnosis": name}, said)[REASONING] for name in ("myocardial infarction", "MI")
    )
    facts = built_in_terms().facts("myocardial infarction")
    stated = len(facts & {"chest pain", "st elevation"})
    evidence = Fraction(20, 100) / 3  # st elevation
    factual = Fraction(25, 100) * min(Fraction(1), Fraction(stated, len(facts) // 2))
    assert long == short == double(evidence + factual)


# --- exact_match and rouge_l ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "metrics"),
    [
        ("none", []), ("exact_match", ["exact_match"]), ("rouge_l", ["rouge_l"]),
        ("exact_match+rouge_l", ["exact_match", "rouge_l"]), ("rouge_l+exact_match", ["exact_match", "rouge_l"]),
    ],
)  # fmt: skip
def test_which_answer_metrics(scores: Scores, value: str, metrics: list[str]) -> None:
    """The metrics that the parameter names, where the reference has an answer that is not blank."""
    options = ("--parameter", f"answer_metrics={value}")
    assert list(scores({"answer": "a"}, {"answer": "a"}, *options)) == [CLINICAL, *metrics]
    assert list(scores({"diagnosis": "a", "answer": " "}, {"answer": "a"}, *options)) == [DIAGNOSTIC]
    assert list(scores({"entities": {}}, {"answer": "a"}, *options)) == [CLINICAL]


def test_the_order_of_names_does_not_matter() -> None:
    """Each choice has one fingerprint; the default has another."""
    folder = Path(medcontract.__file__).parent / "examples" / "benchmark"
    files = [folder / "references.json", folder / "predictions.json"]
    prints = [
        medcontract.score(*files, parameters={"answer_metrics": value}).protocol.fingerprint
        for value in ("exact_match+rouge_l", "rouge_l+exact_match", "none", "rouge_l")
    ]
    assert prints[0] == prints[1]
    assert len(set(prints)) == 3


@pytest.mark.parametrize("value", ["", "bleu", "exact_match,rouge_l", "exact_match+exact_match", "none+rouge_l"])
def test_unknown_answer_metrics(score: Call, tmp_path: Path, value: str) -> None:
    """A usage error that lists the choices."""
    truth = [reference("S", answer="a")]
    files = write(tmp_path, REFERENCES, truth), write(tmp_path, PREDICTIONS, [repeats(truth[0])])
    code, out, err = score(*files, "--parameter", f"answer_metrics={value}")
    assert (code, out) == (2, "")
    assert "exact_match+rouge_l" in err


def test_answer_metrics_that_are_given_or_unprocessed(score: Call, tmp_path: Path) -> None:
    """A given value takes precedence, with a warning; what is not processed is 0: rouge_l (18·1 + 0.25 + 0) / 20."""
    truth = [reference(f"{n:02}", answer="a b") for n in range(20)]
    sent: list[Record] = [repeats(true) for true in truth]
    sent[0]["scores"] = {"rouge_l": 0.25}
    sent[1]["error"] = "timeout"
    files = write(tmp_path, REFERENCES, truth), write(tmp_path, PREDICTIONS, sent)
    envelope = score(*files, *BOTH, "--format", "json").json
    assert envelope["result"]["overall_scores"] == {CLINICAL: 0.95, "exact_match": 0.95, "rouge_l": 0.9125}
    assert any(warning.startswith("rouge_l of 1 sample is given") for warning in envelope["warnings"])


def test_answer_metrics_in_categories(scores: Scores) -> None:
    """diagnostics: (clinical 0 + exact 0) / 2; summarization: rouge_l 4/7. Combined: (0 + 4/7) / 2."""
    found = scores({"answer": "a b c d"}, {"answer": "a x c"}, *BOTH, "--weights", "diagnostics=1,summarization=1")
    assert found["combined_score"] == double(Fraction(2, 7))


def test_a_plugin_metric_of_the_same_name(score: Call, tmp_path: Path) -> None:
    """A custom rouge_l is used unless the protocol computes one: then the call is wrong."""
    (tmp_path / "mine.py").write_text("METRICS = {'rouge_l': lambda reference, prediction: 0.125}\n", encoding="utf-8")
    truth = [reference("S", answer="a")]
    files = write(tmp_path, REFERENCES, truth), write(tmp_path, PREDICTIONS, [repeats(truth[0])])
    plugin = ("--plugin", str(tmp_path / "mine.py"))
    assert score(*files, *plugin, "--result-only").json["overall_scores"]["rouge_l"] == 0.125
    ran = score(*files, *plugin, *BOTH)
    assert (ran.code, ran.out) == (2, "")
    assert "'rouge_l', which is already a metric of the protocol" in ran.err


WORDS = ("a", "b", "c", "fiebre", "fever", "HTA", "alta,", "Á", "5.5", "%", "+", "dolor torácico")


@pytest.mark.skipif(importlib.util.find_spec("rouge_score") is None, reason="rouge-score is not installed")
def test_rouge_l_as_the_rouge_score_package(scores: Scores) -> None:
    """The same figure as `rouge-score` with our tokens, for random texts."""
    from rouge_score.rouge_scorer import RougeScorer
    from rouge_score.tokenizers import Tokenizer

    class Ours(Tokenizer):  # type: ignore[misc]  # comes without types
        def tokenize(self, text: str) -> list[str]:
            return built_in_terms().normalize(text).split()

    theirs = RougeScorer(["rougeL"], tokenizer=Ours())
    rng = random.Random(5)
    for number in range(60):
        one, other = (" ".join(rng.choices(WORDS, k=rng.randint(1, 4 + number))) + " x" for _ in range(2))
        found = scores({"answer": one}, {"answer": other}, "--parameter", "answer_metrics=rouge_l")["rouge_l"]
        assert found == pytest.approx(theirs.score(one, other)["rougeL"].fmeasure, abs=1e-12)


def test_the_longest_common_subsequence_as_by_hand() -> None:
    """The same length as from the table over all pairs."""
    rng = random.Random(6)
    for _ in range(300):
        one, other = (rng.choices("abcdef"[: rng.randint(1, 6)], k=rng.randint(0, 90)) for _ in range(2))
        assert longest_common_subsequence(one, other) == naive.longest_common_subsequence(one, other)


def test_the_longest_common_subsequence_of_long_texts() -> None:
    """Twenty thousand distinct tokens each take a few MB, not a table of 400 million cells."""
    one = [f"w{n}" for n in range(20_000)]
    other = one[::-1]
    tracemalloc.start()
    assert longest_common_subsequence(one, other) == 1
    assert longest_common_subsequence(one, one[::2]) == 10_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30 * 2**20


# --- custom categories ---------------------------------------------------------------------------


def given(task: str, **values: float) -> Record:
    """A sample that has only scores."""
    return {"task_id": task, "sample_id": "1", "reference": {}, "prediction": {}, "scores": values}


TASKS = [given("a", tact=0.5, wit=1, safety=0.25, coherence=0.75), given("b", tact=0.25)]


def test_custom_categories(score: Call, tmp_path: Path) -> None:
    """manners = mean of tact and wit; communication is replaced by coherence alone.

    a: manners (0.5 + 1) / 2 = 0.75, communication 0.75, safety 0.25: (2·0.75 + 1·0.75 + 1·0.25) / 4 = 0.625.
    b: manners 0.25, no other: 2·0.25 / 2 = 0.25. Overall: 0.4375. The same by options, by a file, and in Python.
    """
    path = write(tmp_path, SAMPLES, TASKS)
    options = ("--category", "manners=tact,wit", "--category", "communication=coherence")
    result = score(path, "--weights", "manners=2,communication=1,safety=1", *options, "--result-only").json
    assert {task: found["combined_score"] for task, found in result["task_scores"].items()} == {"a": 0.625, "b": 0.25}
    assert result["overall_scores"]["combined_score"] == 0.4375
    categories = {"manners": ["tact", "wit"], "communication": ["coherence"]}
    assert result["metadata"]["combined_scores"]["combined_score"]["categories"] == categories
    assert "manners" not in result["overall_scores"]
    filed = {**weights(manners=2, communication=1, safety=1), "categories": categories}
    assert score(path, *document(tmp_path, "weights", filed), "--result-only").json == result
    each = {"manners": 2, "communication": 1, "safety": 1}
    assert medcontract.score(path, weights=each, categories=categories).result == result


def test_categories_for_a_report(score: Call, tmp_path: Path) -> None:
    """A combined score that is added to an existing report uses them too: (0.5 + 1) / 2."""
    report = {"model_id": "m", "overall_scores": {}, "task_scores": {"t": {"tact": 0.5, "wit": 1}}}
    files = document(tmp_path, "report", report)
    result = score(*files, "--weights", "manners=1", "--category", "manners=tact, wit", "--result-only").json
    assert result["overall_scores"] == {"combined_score": 0.75}


def test_categories_in_a_ranking(call: Call, tmp_path: Path) -> None:
    """The ranking lists them with the weights."""
    truth = [reference("S", answer="a", diagnosis="gout")]
    (tmp_path / "one").mkdir()
    write(tmp_path / "one", PREDICTIONS, [repeats(truth[0])])
    files = (write(tmp_path, REFERENCES, truth), "one")
    options = ("--weights", "mine=1", "--category", f"mine={DIAGNOSTIC}")
    board = keeps(call("leaderboard", *files, *options, "--format", "json").out, "medcontract/leaderboard")
    assert board["combined"]["combined_score"]["categories"] == {"mine": [DIAGNOSTIC]}
    assert f"mine of {DIAGNOSTIC}" in call("leaderboard", *files, *options).out


def test_different_categories_are_compared_with_a_warning(score: Call, call: Call, tmp_path: Path) -> None:
    """The same weights, another category: the combined scores do not mean the same."""
    path = write(tmp_path, SAMPLES, TASKS)
    for name, metrics in (("one", "tact"), ("two", "wit")):
        score(path, "--weights", "mine=1", "--category", f"mine={metrics}", "--out", f"{name}.json")
    warnings = call("compare", "one.json", "two.json", "--format", "json").json["warnings"]
    assert any("different weights (mine 1.0, mine of tact and mine 1.0, mine of wit)" in each for each in warnings)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--category", "manners=tact"], ["--category", "weights"]),
        (["--weights", "a=1", "--category", "manners"], ["'manners' is not a category", "NAME=metric"]),
        (["--weights", "a=1", "--category", "=tact"], ["is not a category"]),
        (["--weights", "a=1", "--category", "manners="], ["manners", "blank"]),
        (["--weights", "a=1", "--category", "manners=tact,,wit"], ["manners", "blank"]),
        (["--weights", "a=1", "--category", "m=tact", "--category", "m=wit"], ["'m' is given twice"]),
        (["--weights", "m=1", "--category", "m=rouge2"], ["no task has", "categories: "]),
    ],
    ids=str,
)
def test_wrong_categories(score: Call, tmp_path: Path, arguments: list[str], words: list[str]) -> None:
    """A usage error that says why."""
    code, out, err = score(write(tmp_path, SAMPLES, TASKS), *arguments)
    assert (code, out) == (2, "")
    assert [word for word in words if word not in err] == []


def test_wrong_categories_in_python(tmp_path: Path) -> None:
    """A mapping to lists of names."""
    path = write(tmp_path, SAMPLES, TASKS)
    wrong: list[Any] = [{"m": []}, {"m": [" "]}, {" ": ["tact"]}, {"m": [1]}]
    for each in wrong:
        with pytest.raises(CallError, match="has no metric, or a blank one"):
            medcontract.score(path, weights={"m": 1}, categories=each)
    assert medcontract.score(path, weights={"m": 1}, categories={"m": "tact"}).valid


# --- invalid records of samples ------------------------------------------------------------------


def sample(name: str, task: str = "a", **said: Any) -> Record:
    """A sample whose prediction repeats its reference."""
    return {"task_id": task, "sample_id": name, "reference": said, "prediction": dict(said)}


def test_the_truth_of_an_invalid_sample(score: Call, tmp_path: Path) -> None:
    """Its reference is part of the truth: the content hash is the same as without the mistake."""
    samples = [sample(f"{n:02}", answer="gout") for n in range(20)]
    right = score(write(tmp_path, SAMPLES, samples), "--format", "json").json
    samples[3]["prediction"] = 7
    wrong = score(write(tmp_path, SAMPLES, samples), "--format", "json").json
    hashes = [ran["inputs"][0]["content_sha256"] for ran in (right, wrong)]
    assert hashes[0] == hashes[1] is not None
