"""Golden samples of the track `benchmark`, worked out by hand: each metric, tasks, the combined score, reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import pytest
from tests.commands import Call, keeps
from tests.scoring_files import HEADERS, Record, document, reference, repeats, says, weights, write

import medcontract

REFERENCES, PREDICTIONS, SAMPLES = "benchmark/references", "benchmark/predictions", "benchmark/samples"
CLINICAL, REASONING, DIAGNOSTIC = "clinical_accuracy", "reasoning_quality", "diagnostic_accuracy"

LEXICON: Record = {
    "replace": True,
    "entities": {"diagnoses": ["gout", "asthma", "stroke"], "treatments": ["rest"], "medications": ["salve", "drops"],
        "symptoms": ["ache", "cough"], "labs": ["urate"]},
    "synonyms": {"gout": ["podagra", "gota"], "ache": ["dolor"]},
    "structure_markers": ["first", "second", "third", "fourth"],
    "evidence_markers": ["because", "due to", "study", "trial"],
    "fallacies": ["everyone knows", "never wrong", "trust me", "by magic"],
    "facts": {"gout": ["urate"], "asthma": ["cough", "wheeze"],
        "stroke": ["sudden", "weakness", "scan", "speech", "vision"]},
}  # fmt: skip
"""A lexicon that one can keep in mind."""


Scores = Callable[[Record, Record], dict[str, float]]


@pytest.fixture
def scores(score: Call, tmp_path: Path) -> Scores:
    """The scores of one sample, with the small lexicon."""

    def of(right: Record, said: Record) -> dict[str, float]:
        files = [
            write(tmp_path, REFERENCES, [reference("S", **right)]),
            write(tmp_path, PREDICTIONS, [says("S", **said)]),
        ]
        (lexicon,) = document(tmp_path, "lexicon", LEXICON)
        result = keeps(score(*files, "--lexicon", lexicon, "--result-only").out, "benchmark/report")
        assert result["overall_scores"] == result["task_scores"]["qa"]
        found: dict[str, float] = result["overall_scores"]
        return found

    return of


def double(value: Fraction) -> float:
    return value.numerator / value.denominator


ABBREVIATED: dict[str, tuple[str, str, Fraction]] = {
    "in capitals": ("myocardial infarction", "Acute MI.", Fraction(1)),
    "of the reference": ("MI, SOB", "infarto de miocardio con disnea", Fraction(1)),
    "as the whole answer": ("Myocardial infarction", "mi", Fraction(1)),
    "a word": ("myocardial infarction", "en mi opinión, gota", Fraction(0)),
    # common: MI 3; either: MI 3 and dyspnea 1
    "a symptom more": ("MI", "MI and SOB", Fraction(3, 4)),
    # common: CAD and PNA 6; either: these, HLD and ARF 12
    "four diagnoses": ("CAD, HLD, ARF, PNA", "coronary artery disease and pneumonia", Fraction(6, 12)),
}


@pytest.mark.parametrize("name", ABBREVIATED)
def test_abbreviations_in_answers(score: Call, tmp_path: Path, name: str) -> None:
    """Ambiguous abbreviations are found in answers, with the built-in lexicon."""
    right, said, value = ABBREVIATED[name]
    files = [
        write(tmp_path, REFERENCES, [reference("S", answer=right)]),
        write(tmp_path, PREDICTIONS, [says("S", answer=said)]),
    ]
    result = json.loads(score(*files, "--parameter", "answer_metrics=exact_match", "--result-only").out)
    assert result["overall_scores"] == {CLINICAL: double(value), "exact_match": 0}


# --- clinical_accuracy ---------------------------------------------------------------------------

GOLDEN_CLINICAL: dict[str, tuple[Record, Record, Fraction]] = {
    # common: gout 3, rest 2; either: gout 3, rest 2, salve and drops 4, ache and cough 2, urate 1
    "all categories": ({"answer": "gout: rest, salve; ache, urate"},
        {"answer": "rest and drops against gout and cough"}, Fraction(5, 12)),
    "diagnoses weigh 3": ({"answer": "gout"}, {"answer": "gout, ache"}, Fraction(3, 4)),
    "treatments weigh 2": ({"answer": "rest"}, {"answer": "rest, ache"}, Fraction(2, 3)),
    "medications weigh 2": ({"answer": "salve"}, {"answer": "salve, ache"}, Fraction(2, 3)),
    "symptoms weigh 1": ({"answer": "cough"}, {"answer": "cough, ache"}, Fraction(1, 2)),
    "labs weigh 1": ({"answer": "urate"}, {"answer": "urate, ache"}, Fraction(1, 2)),
    "once is enough": ({"answer": "gout, gout"}, {"answer": "gout"}, Fraction(1)),
    "other words do not count": ({"answer": "it is gout"}, {"answer": "gout, maybe"}, Fraction(1)),
    "spellings": ({"answer": "Podagra"}, {"answer": "GOTA"}, Fraction(1)),
    "negation is not understood": ({"answer": "gout"}, {"answer": "no gout"}, Fraction(1)),
    "whole words": ({"answer": "gout"}, {"answer": "gouty"}, Fraction(0)),
    "given wins over the answer": ({"answer": "gout", "entities": {"symptoms": ["Dolor!"]}}, {"answer": "ache"},
        Fraction(1)),
    "given and unknown": ({"entities": {"labs": ["Ferritín", "urate"]}}, {"entities": {"labs": ["ferritin"]}},
        Fraction(1, 2)),
    # common: nothing; either: 3 as a diagnosis, 1 as a symptom
    "given in another category": ({"entities": {"diagnoses": ["ache"]}}, {"entities": {"symptoms": ["ache"]}},
        Fraction(0)),
    "an empty reference": ({"answer": "gout", "entities": {}}, {"answer": "gout"}, Fraction(0)),
    "an empty prediction": ({"answer": "gout"}, {"answer": "gout", "entities": {}}, Fraction(0)),
    "null is not given": ({"answer": "gout", "entities": None}, {"answer": "gout", "entities": None}, Fraction(1)),
    "both empty, equal answers": ({"answer": "gout", "entities": {}}, {"answer": "Podagra.", "entities": {"labs": []}},
        Fraction(1)),
    "both empty, other answers": ({"answer": "gout", "entities": {}}, {"answer": "ache", "entities": {}}, Fraction(0)),
    "both empty, no answers": ({"entities": {}}, {}, Fraction(1)),
    "no entity, equal": ({"answer": "So it is"}, {"answer": "so, it ÍS!"}, Fraction(1)),
    "no entity, not equal": ({"answer": "so it is"}, {"answer": "so it was"}, Fraction(0)),
    "no entity, order counts": ({"answer": "so it is"}, {"answer": "it is so"}, Fraction(0)),
    "no answer": ({"answer": "so it is"}, {}, Fraction(0)),
    "blank answer": ({"answer": "gout"}, {"answer": " \t"}, Fraction(0)),
    "no entity in the reference": ({"answer": "so it is"}, {"answer": "so it is gout"}, Fraction(0)),
}  # fmt: skip


@pytest.mark.parametrize("name", GOLDEN_CLINICAL)
def test_clinical_accuracy(scores: Scores, name: str) -> None:
    """Weights of what both have, by weights of what either has."""
    right, said, wanted = GOLDEN_CLINICAL[name]
    assert scores(right, said) == {CLINICAL: double(wanted)}


def test_answers_of_signs_alone(scores: Scores) -> None:
    """Nothing is left of either by normalization: they are compared as they are written."""
    assert scores({"answer": "+"}, {"answer": "-"}) == {CLINICAL: 0.0}
    assert scores({"answer": "+"}, {"answer": " + "}) == {CLINICAL: 1.0}
    assert scores({"answer": "+"}, {}) == {CLINICAL: 0.0}


def test_diagnoses_of_signs_alone(scores: Scores) -> None:
    """So it is with diagnoses."""
    assert scores({"diagnosis": "+"}, {"diagnosis": "++"}) == {DIAGNOSTIC: 0.0}
    assert scores({"diagnosis": "++"}, {"diagnosis": "++"}) == {DIAGNOSTIC: 1.0}


def test_entities_of_signs_alone(scores: Scores) -> None:
    """Both have one entity, and it is the same; another sign is another."""
    given = {"labs": ["+"]}
    assert scores({"answer": "a", "entities": given}, {"answer": "b", "entities": given}) == {CLINICAL: 1.0}


# --- reasoning_quality ---------------------------------------------------------------------------


def reasoning(scores: Scores, wanted: str, said: Any, **right: Any) -> float:
    """The figure of a rationale, with what else the reference says."""
    return scores({"rationale": wanted, **right}, {"rationale": said})[REASONING]


@pytest.mark.parametrize(("wanted", "said", "overlap"), [
    ("w x y z", "w x a", Fraction(4, 7)),  # 2 common; 2·2 / (4 + 3)
    ("w w x", "w w w", Fraction(2, 3)),  # w twice; 2·2 / (3 + 3)
    ("w x", "x w", Fraction(1)),  # order does not count
    ("Wé, x.", "WE -- X", Fraction(1)),
    ("podagra w", "gota x", Fraction(1, 2)),  # one name: 2·1 / (2 + 2)
    ("w x", "y z", Fraction(0)),
])  # fmt: skip
def test_overlap(scores: Scores, wanted: str, said: str, overlap: Fraction) -> None:
    """0.40 of the F1 of both multisets of words; there is nothing else in these texts."""
    assert reasoning(scores, wanted, said) == double(Fraction(40, 100) * overlap)


SHARES = list(enumerate([Fraction(0), Fraction(1, 3), Fraction(2, 3), Fraction(1), Fraction(1)]))


@pytest.mark.parametrize(("count", "share"), SHARES)
def test_structure(scores: Scores, count: int, share: Fraction) -> None:
    """0.15 of the distinct markers by 3, at most 1."""
    markers = LEXICON["structure_markers"][:count]
    for said in ("so " + " ".join(markers), "so " + ", ".join([*markers, *markers]).upper()):
        assert reasoning(scores, "w", said) == double(Fraction(15, 100) * share)


@pytest.mark.parametrize(("count", "share"), SHARES)
def test_evidence(scores: Scores, count: int, share: Fraction) -> None:
    """0.20 of the distinct markers by 3; without known facts it stands for these too: 0.20 + 0.25. With facts, not."""
    said = "so " + ", ".join(LEXICON["evidence_markers"][:count])
    assert reasoning(scores, "w", said) == double(Fraction(45, 100) * share)
    assert reasoning(scores, "w", said, diagnosis="frostbite") == double(Fraction(45, 100) * share)
    assert reasoning(scores, "w", said, diagnosis="gout") == double(Fraction(20, 100) * share)


FACTS: list[tuple[Record, str, Fraction]] = [
    ({"diagnosis": "gout"}, "so", Fraction(0)),  # n = 1: max(1, floor(1/2)) = 1
    ({"diagnosis": "gout"}, "urate", Fraction(1)),
    ({"diagnosis": "Podagra!"}, "URATE", Fraction(1)),
    ({"diagnosis": "gout"}, "urates", Fraction(0)),  # whole words
    ({"diagnosis": "asthma"}, "so", Fraction(0)),  # n = 2: floor(2/2) = 1
    ({"diagnosis": "asthma"}, "wheeze", Fraction(1)),
    ({"diagnosis": "asthma"}, "wheeze, cough", Fraction(1)),
    ({"diagnosis": "stroke"}, "so", Fraction(0)),  # n = 5: floor(5/2) = 2
    ({"diagnosis": "stroke"}, "scan", Fraction(1, 2)),
    ({"diagnosis": "stroke"}, "scan scan", Fraction(1, 2)),
    ({"diagnosis": "stroke"}, "scan speech", Fraction(1)),
    ({"diagnosis": "stroke"}, "sudden weakness scan speech vision", Fraction(1)),
    ({"answer": "a stroke"}, "scan", Fraction(1, 2)),  # without a diagnosis, the answer
    ({"answer": "a stroke", "diagnosis": " "}, "scan", Fraction(1, 2)),
    ({"answer": "a stroke", "diagnosis": "gout"}, "scan", Fraction(0)),  # the diagnosis comes first
    ({"answer": "a stroke", "diagnosis": "gout"}, "urate", Fraction(1)),
]


@pytest.mark.parametrize(("right", "said", "share"), FACTS, ids=[f"{right} {said}" for right, said, _ in FACTS])
def test_facts(scores: Scores, right: Record, said: str, share: Fraction) -> None:
    """0.25 of the facts that were said by half of those expected."""
    assert reasoning(scores, "w", said, **right) == double(Fraction(25, 100) * share)


@pytest.mark.parametrize(("count", "penalty"), list(enumerate(["0", "0.15", "0.30", "0.40", "0.40"])))
def test_fallacies(scores: Scores, count: int, penalty: str) -> None:
    """0.15 off for each distinct phrase, at most 0.40; the rest of these texts is worth 1."""
    phrases = ", ".join(LEXICON["fallacies"][:count])
    said = f"first second third because due to study {phrases}"
    assert reasoning(scores, said, said) == double(1 - Fraction(penalty))
    twice = f"{said}, {phrases}"
    assert reasoning(scores, twice, twice) == double(1 - Fraction(penalty))


def test_reasoning_is_not_below_0(scores: Scores) -> None:
    """Nothing right and a fallacy: 0 - 0.15, clamped."""
    assert reasoning(scores, "w", "everyone knows") == 0
    assert str(reasoning(scores, "w", "everyone knows")) == "0.0"


def test_everything_at_once(scores: Scores) -> None:
    """All four parts and a fallacy.

    Reference: scan and sudden because x                (5 words)
    Predicted: first a scan because everyone knows      (6 words: scan, because are common)
    overlap 2·2/11 · 0.40, structure 1/3 · 0.15, evidence 1/3 · 0.20, facts (scan of 5) 1/2 · 0.25, less 0.15
    = 8/55 + 1/20 + 1/15 + 1/8 - 3/20 = (192 + 66 + 88 + 165 - 198) / 1320 = 313/1320
    """
    value = reasoning(scores, "scan and sudden because x", "first a scan because everyone knows", diagnosis="stroke")
    assert value == 313 / 1320


@pytest.mark.parametrize("said", [{}, {"rationale": ""}, {"rationale": " \u00a0\n"}, {"rationale": None}], ids=repr)
def test_a_blank_rationale(scores: Scores, said: Record) -> None:
    """Scores 0, whatever else is right."""
    right = {"rationale": "w", "diagnosis": "gout"}
    assert scores(right, {"diagnosis": "gout", **said}) == {REASONING: 0.0, DIAGNOSTIC: 1.0}


# --- diagnostic_accuracy, and which metrics there are --------------------------------------------


@pytest.mark.parametrize(("right", "said", "value"), [
    ("Gout", {"diagnosis": "gout."}, 1),
    ("gout", {"diagnosis": "Podagra"}, 1),
    ("Síndrome x", {"diagnosis": "sindrome  X"}, 1),
    ("gout", {"diagnosis": "gout of the toe"}, 0),
    ("gout", {"answer": "gout"}, 0),
    ("gout", {"diagnosis": " "}, 0),
    ("type 2.5", {"diagnosis": "type 2 5"}, 0),
    ("5 %", {"diagnosis": "5"}, 0),
])  # fmt: skip
def test_diagnostic_accuracy(scores: Scores, right: str, said: Record, value: int) -> None:
    """Equal after normalization, or not."""
    assert scores({"diagnosis": right}, said) == {DIAGNOSTIC: value}


@pytest.mark.parametrize(("right", "metrics"), [
    ({"answer": "gout"}, {CLINICAL}),
    ({"entities": {}}, {CLINICAL}),
    ({"answer": " ", "entities": {}}, {CLINICAL}),
    ({"answer": " ", "rationale": "w"}, {REASONING}),
    ({"rationale": "\t", "diagnosis": "gout"}, {DIAGNOSTIC}),
    ({"answer": "a", "rationale": "w", "diagnosis": None}, {CLINICAL, REASONING}),
    ({"answer": "a", "rationale": "w", "diagnosis": "gout"}, {CLINICAL, REASONING, DIAGNOSTIC}),
])  # fmt: skip
def test_which_metrics(scores: Scores, right: Record, metrics: set[str]) -> None:
    """Those whose side of the reference is there and not blank."""
    assert set(scores(right, {"answer": "x", "rationale": "y", "diagnosis": "z"})) == metrics


# --- tasks, and what is not processed ------------------------------------------------------------


def given(task: str, sample: str, **values: float) -> Record:
    """A sample that has nothing but scores."""
    return {"task_id": task, "sample_id": sample, "reference": {}, "prediction": {}, "scores": values}


def test_given_scores_win(score: Call, tmp_path: Path) -> None:
    """Over what would be computed, as they are; others are added. A warning says so."""
    files = [
        write(tmp_path, REFERENCES, [reference("S", answer="gout", diagnosis="gout")]),
        write(tmp_path, PREDICTIONS, [says("S", "qa", {CLINICAL: 0.1, "bertscore": 1 / 3}, diagnosis="gout")]),
    ]
    envelope = score(*files, "--format", "json").json
    assert envelope["result"]["overall_scores"] == {CLINICAL: 0.1, DIAGNOSTIC: 1.0, "bertscore": 1 / 3}
    assert any(CLINICAL in warning and "given" in warning for warning in envelope["warnings"])
    assert any("bertscore" in warning for warning in envelope["warnings"])


def test_given_scores_can_be_ignored(score: Call, tmp_path: Path) -> None:
    """Under another fingerprint."""
    files = [
        write(tmp_path, REFERENCES, [reference("S", answer="gout")]),
        write(tmp_path, PREDICTIONS, [says("S", "qa", {CLINICAL: 1.0, "bertscore": 1}, answer="asthma")]),
    ]
    ran = score(*files, "--parameter", "given_scores=ignored", "--format", "json").json
    assert ran["result"]["overall_scores"] == {CLINICAL: 0.0}
    assert ran["protocol"]["fingerprint"] != score(*files, "--format", "json").json["protocol"]["fingerprint"]


def test_means(score: Call, tmp_path: Path) -> None:
    """Of a task over its samples that have the metric, overall over the tasks that have it, not over samples.

    a: safety (0.25 + 0.5) / 2 = 0.375, rouge1 1 of one sample.  b: safety 1.  c: rouge1 (0 + 0.5 + 1) / 3 = 0.5.
    overall: safety (0.375 + 1) / 2 = 0.6875, rouge1 (1 + 0.5) / 2 = 0.75.
    """
    samples = [
        given("a", "1", safety=0.25), given("a", "2", safety=0.5, rouge1=1), given("b", "1", safety=1),
        given("c", "1", rouge1=0), given("c", "2", rouge1=0.5), given("c", "3", rouge1=1),
    ]  # fmt: skip
    result = score(write(tmp_path, SAMPLES, samples), "--result-only").json
    assert result["task_scores"] == {"a": {"safety": 0.375, "rouge1": 1}, "b": {"safety": 1}, "c": {"rouge1": 0.5}}
    assert result["overall_scores"] == {"safety": 0.6875, "rouge1": 0.75}


def test_means_are_exact(score: Call, tmp_path: Path) -> None:
    """Ten times 0.1 is ten doubles of 0.1, added exactly: their mean is that double. Added one by one it is not."""
    samples = [given("a", str(number), safety=0.1) for number in range(10)]
    assert reduce(add, [0.1] * 10) / 10 != 0.1
    assert score(write(tmp_path, SAMPLES, samples), "--result-only").json["overall_scores"] == {"safety": 0.1}


def test_an_unprocessed_sample(score: Call, tmp_path: Path) -> None:
    """It is 0 in what its reference asks for and in what a processed sample of its task has; in nothing else.

    a: 19 right answers and a failed one with a diagnosis: clinical 19/20, diagnostic 0/1, helpfulness 19/20.
    b: one right diagnosis. Overall diagnostic: (0 + 1) / 2. The failed record's own score counts nowhere.
    """
    truth = [reference(f"{n}", "a", answer="gout") for n in range(19)]
    truth += [reference("19", "a", diagnosis="gout"), reference("0", "b", diagnosis="gout")]
    sent = [repeats(true) for true in truth]
    sent[0]["scores"] = {"helpfulness": 1}
    sent[19] |= {"error": "time out", "scores": {"coherence": 1}}
    files = write(tmp_path, REFERENCES, truth), write(tmp_path, PREDICTIONS, sent)
    result = score(*files, "--result-only").json
    assert result["task_scores"] == {
        "a": {CLINICAL: 0.95, DIAGNOSTIC: 0, "helpfulness": 0.5}, "b": {DIAGNOSTIC: 1},
    }  # fmt: skip
    assert result["overall_scores"] == {CLINICAL: 0.95, DIAGNOSTIC: 0.5, "helpfulness": 0.5}


def test_a_task_of_failed_samples_only(score: Call, tmp_path: Path) -> None:
    """Its figures are 0, and count overall and in the combined score."""
    truth = [reference(f"{n}", "a", answer="gout") for n in range(39)] + [reference("0", "b", answer="gout")]
    sent: list[Record] = [repeats(true) for true in truth]
    sent[39]["error"] = "out of memory"
    files = write(tmp_path, REFERENCES, truth), write(tmp_path, PREDICTIONS, sent)
    result = score(*files, "--weights", "diagnostics=1", "--result-only").json
    assert result["task_scores"]["b"] == {"combined_score": 0, CLINICAL: 0}
    assert result["overall_scores"] == {"combined_score": 0.5, CLINICAL: 0.5}


def test_a_failed_task_without_metrics(score: Call, tmp_path: Path) -> None:
    """Of samples alone: where nothing is asked for and nothing was processed, the task has no figures."""
    samples = [given("a", str(number), safety=1) for number in range(19)]
    samples.append({**given("b", "1", safety=1), "error": "x"})
    result = score(write(tmp_path, SAMPLES, samples), "--weights", "safety=1", "--result-only").json
    assert result["task_scores"] == {"a": {"combined_score": 1, "safety": 1}, "b": {}}
    assert result["overall_scores"] == {"combined_score": 1, "safety": 1}


def test_a_pair_is_no_joined_text(score: Call, tmp_path: Path) -> None:
    """Task `a b` with sample `c` is not task `a` with sample `b c`; the same sample id may stand in two tasks."""
    truth = [reference("c", "a b", diagnosis="gout"), reference("b c", "a", diagnosis="asthma")]
    truth += [reference("c", "a", diagnosis="stroke")]
    files = write(tmp_path, REFERENCES, truth), write(tmp_path, PREDICTIONS, [repeats(true) for true in truth])
    result = score(*files, "--result-only").json
    assert result["task_scores"] == {"a": {DIAGNOSTIC: 1}, "a b": {DIAGNOSTIC: 1}}


# --- the combined score --------------------------------------------------------------------------

Combined = Callable[..., tuple[dict[str, float | None], float]]


@pytest.fixture
def combined(score: Call, tmp_path: Path) -> Combined:
    """The combined score of each task, and overall: by an option, and the same bits by a file."""

    def of(tasks: dict[str, Record], renormalize: bool = True, **each: float) -> tuple[dict[str, float | None], float]:
        samples = write(tmp_path, SAMPLES, [given(task, "1", **values) for task, values in tasks.items()])
        option = ",".join(f"{name}={weight!r}" for name, weight in each.items())
        keep = () if renormalize else ("--keep-missing",)
        result = keeps(score(samples, "--weights", option, *keep, "--result-only").out, "benchmark/report")
        (file,) = document(tmp_path, "weights", weights(None if renormalize else False, **each))
        assert score(samples, file, "--result-only").json == result
        by_task = {task: scores.get("combined_score") for task, scores in result["task_scores"].items()}
        return by_task, result["overall_scores"]["combined_score"]

    return of


MISSING: dict[str, Record] = {"a": {"safety": 0.5, "exact_match": 1}, "b": {"exact_match": 0.25}}


def test_a_missing_category_renormalized(combined: Combined) -> None:
    """a: (0.6·1 + 0.2·0.5) / 0.8 = 0.875.  b has no safety: (0.6·0.25) / 0.6 = 0.25.  Overall: 0.5625."""
    assert combined(MISSING, diagnostics=0.6, safety=0.2) == ({"a": 0.875, "b": 0.25}, 0.5625)


def test_a_missing_category_kept(combined: Combined) -> None:
    """a as before.  b: (0.6·0.25) / 0.8 = 0.1875.  Overall: (0.875 + 0.1875) / 2 = 0.53125."""
    assert combined(MISSING, False, diagnostics=0.6, safety=0.2) == ({"a": 0.875, "b": 0.1875}, 0.53125)


def test_categories_are_means_of_what_is_present(combined: Combined) -> None:
    """communication: (1 + 0.5) / 2 = 0.75; summarization: (0.25 + 0.5 + 0.75) / 3 = 0.5."""
    tasks: dict[str, Record] = {
        "a": {"helpfulness": 1, "coherence": 0.5}, "b": {"rouge1": 0.25, "rouge_l": 0.5, "bertscore": 0.75},
    }  # fmt: skip
    assert combined(tasks, communication=1, summarization=3) == ({"a": 0.75, "b": 0.5}, 0.625)


@pytest.mark.parametrize(
    ("category", "members"),
    [
        ("diagnostics", (CLINICAL, DIAGNOSTIC, "final_answer_correct", "exact_match")),
        ("safety", ("harm_avoidance", "toxicity_reduction", "factuality_safety")),
        ("communication", ("coherence", "helpfulness", "instruction_following")),
        ("summarization", ("summary_quality", "rouge_l", "rouge1", "rouge2", "bertscore")),
    ],
)
def test_members_of_categories(combined: Combined, category: str, members: tuple[str, ...]) -> None:
    """Each is one: alone, and as one of all. A task with a metric of the category's own name uses that instead."""
    tasks: dict[str, Record] = {name: {name: 0.5} for name in members}
    tasks["all"] = {name: number / 8 for number, name in enumerate(members)}
    tasks["own"] = {**tasks["all"], category: 0.875}
    mean = sum(range(len(members))) / 8 / len(members)
    by_task, _ = combined(tasks, **{category: 0.3})
    assert by_task == {**dict.fromkeys(members, 0.5), "all": mean, "own": 0.875}


def test_a_metric_and_its_category(combined: Combined) -> None:
    """Both may have a weight: (1·0.5 + 1·(0.5 + 1)/2) / 2 = 0.625."""
    assert combined({"a": {"rouge1": 0.5, "rouge2": 1}}, rouge1=1, summarization=1) == ({"a": 0.625}, 0.625)


def test_a_metric_of_ones_own(combined: Combined) -> None:
    """A weight may name any metric: (1·0.5 + 3·1) / 4 = 0.875."""
    assert combined({"a": {"empathy": 0.5, "safety": 1}}, empathy=1, safety=3) == ({"a": 0.875}, 0.875)


def test_a_task_without_any(combined: Combined) -> None:
    """It has no combined score, and does not count overall."""
    tasks: dict[str, Record] = {"a": {"safety": 0.5}, "b": {"rouge1": 1}}
    assert combined(tasks, safety=0.4) == ({"a": 0.5, "b": None}, 0.5)
    assert combined(tasks, False, safety=0.4) == ({"a": 0.5, "b": None}, 0.5)


def test_weights_that_sum_to_0(combined: Combined) -> None:
    """b has only what weighs 0: Z = 0, no combined score. With the missing kept, Z = 0.4 and b has 0 / 0.4 = 0."""
    tasks: dict[str, Record] = {"a": {"safety": 0.5}, "b": {"rouge1": 1}}
    assert combined(tasks, safety=0.4, rouge1=0) == ({"a": 0.5, "b": None}, 0.5)
    assert combined(tasks, False, safety=0.4, rouge1=0) == ({"a": 0.5, "b": 0.0}, 0.25)


def test_weights_are_decimals(combined: Combined) -> None:
    """0.1 + 0.2 is 0.3: (0.1·1 + 0.2·1 + 0.3·0) / 0.6 is 1/2, and (0.1·1 + 0.2·0.5) / 0.3 is 2/3."""
    assert combined({"a": {"x": 1, "y": 1, "z": 0}}, x=0.1, y=0.2, z=0.3) == ({"a": 0.5}, 0.5)
    assert combined({"a": {"x": 1, "y": 0.5}}, x=0.1, y=0.2) == ({"a": 2 / 3}, 2 / 3)
    assert combined({"a": {"x": 1, "y": 0}}, x=1e-7, y=3e-7) == ({"a": 0.25}, 0.25)


def test_one_rounding(combined: Combined) -> None:
    """A combined score is made of exact means: of thirds of three samples nothing is lost on the way."""
    by_task, overall = combined({"a": {"x": 1 / 3, "y": 0.1}, "b": {"x": 0.7}}, x=0.7, y=0.3)
    a = (Fraction(7, 10) * Fraction(1 / 3) + Fraction(3, 10) * Fraction(0.1)) / 1
    assert by_task == {"a": double(a), "b": 0.7}
    assert overall == double((a + Fraction(0.7)) / 2)


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
    """A metric that is there already is not overwritten: a wrong call, unless --replace is given."""
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


def test_from_python(tmp_path: Path) -> None:
    """`medcontract.score` takes the same files."""
    files = [write(tmp_path, SAMPLES, SAFE), *document(tmp_path, "weights", weights(safety=1))]
    found = medcontract.score(*files)
    assert found.valid
    assert found.result is not None
    assert found.result["overall_scores"] == {"combined_score": 0.5, "safety": 0.5, "rouge1": 1.0}


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


def test_weights_within_a_metric_are_parameters(score: Call, tmp_path: Path) -> None:
    """gout 3 and ache 1: with diagnoses at 1 it is 1/2."""
    files = [
        write(tmp_path, REFERENCES, [reference("S", entities={"diagnoses": ["gout"]})]),
        write(tmp_path, PREDICTIONS, [says("S", entities={"diagnoses": ["gout"], "symptoms": ["ache"]})]),
    ]
    assert score(*files, "--result-only").json["overall_scores"] == {CLINICAL: 0.75}
    ran = score(*files, "--parameter", "weight_diagnoses=1", "--format", "json").json
    assert ran["result"]["overall_scores"] == {CLINICAL: 0.5}


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


@pytest.mark.parametrize("how", ["file", "option"])
def test_a_report_made_elsewhere(score: Call, tmp_path: Path, how: str) -> None:
    """It gets the combined score; everything else stays as it is, numbers that we would not have given too.

    z: (0.3·0.5 + 0.1·0.25) / 0.4 = 0.4375.  a and empty have nothing of it.
    """
    files = document(tmp_path, "report", REPORT)
    if how == "file":
        files += document(tmp_path, "weights", weights(safety=0.3, diagnostics=0.1))
    extra = () if how == "file" else ("--weights", "safety=0.3,diagnostics=0.1")
    ran = score(*files, *extra, "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    envelope = keeps(ran.out, "medcontract/score")
    assert (envelope["track"], envelope["processing"], envelope["valid"]) == ("benchmark", None, True)
    result = envelope["result"]
    assert result.pop("overall_scores") == {**REPORT["overall_scores"], "combined_score": 0.4375}
    tasks = {**REPORT["task_scores"], "z": {**REPORT["task_scores"]["z"], "combined_score": 0.4375}}
    assert result.pop("task_scores") == tasks
    assert result["metadata"].pop("combined_scores")["combined_score"]["weights"] == {"safety": 0.3, "diagnostics": 0.1}
    assert result == {name: value for name, value in REPORT.items() if not name.endswith("_scores")}
    keeps(score(*files, *extra, "--result-only").out, "benchmark/report")


def test_the_same_score_by_way_of_a_report(score: Call, tmp_path: Path) -> None:
    """Of scores that are doubles, a report that gets its combined score later is the one that had it at once."""
    samples = write(tmp_path, SAMPLES, [given("a", "1", safety=0.5), given("b", "1", safety=0.25, rouge1=1)])
    (tmp_path / "report.json").write_text(score(samples, "--result-only").out)
    later = score("report.json", "--weights", "safety=2,rouge1=1", "--result-only").json
    assert later == score(samples, "--weights", "safety=2,rouge1=1", "--result-only").json


def test_a_combined_score_that_is_there(score: Call, tmp_path: Path) -> None:
    """In a task or only overall: a wrong call, and with --replace it is replaced."""
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
    """A folder stands for its files."""
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
    """The result would break its contract: a wrong call."""
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
    """There is nothing to do: a wrong call that says what is missing."""
    code, out, err = score(*document(tmp_path, "report", REPORT))
    assert (code, out) == (2, "")
    assert "--weights" in err


def test_two_reports(score: Call, tmp_path: Path) -> None:
    """One at a time."""
    files = [*document(tmp_path, "one", REPORT), *document(tmp_path, "two", REPORT)]
    code, out, err = score(*files, "--weights", "safety=1")
    assert (code, out) == (2, "")
    assert "two.json" in err
