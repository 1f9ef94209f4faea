"""Samples that bring their references along, alone or against references: the same bits as the naive scorer."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import naive
from tests.commands import Call, caller, keeps
from tests.naive import Sent
from tests.properties.test_scoring_properties import (
    MINIMA,
    bits,
    fate,
    make_benchmark,
    make_prediction,
    make_reference,
    make_weights,
)
from tests.scoring_files import HEADERS, Record, assert_keeps_contract, document, reference, repeats, write
from tests.support import property_settings

import medcontract
from medcontract.errors import CallError
from medcontract.evaluation.files import GivenFiles
from medcontract.evaluation.result import score_result
from medcontract.evaluation.score import score_files
from medcontract.evaluation.settings import DEFAULT, Settings
from medcontract.reading import chunks
from medcontract.scoring.scorer import ScoringOptions

pytestmark = pytest.mark.sampled(3)

SAMPLES, REFERENCES, PREDICTIONS = "benchmark/samples", "benchmark/references", "benchmark/predictions"
MODEL = HEADERS[SAMPLES]["model_id"]


def sample(true: Record, sent: Sent) -> Sent:
    """Reference and prediction in one record."""
    return Sent({**sent.record, "reference": true["reference"]}, sent.valid)


BAD_REFERENCES: list[Any] = [
    None, 7, [], {"answer": 7}, {"diagnosis": "gout", "label": 1}, {"diagnosis": "gout", "entities": {"drugs": []}},
    {"answer": "gout", "entities": {"labs": [""]}},
]  # fmt: skip


def make_samples(rng: random.Random, tame: bool = False) -> list[Sent]:
    """Random samples. Samples of one name have one reference, and are all valid or all not."""
    sent = []
    for task in ("qa", "rx", "Fälle")[: rng.randint(1, 3)]:
        for number in range(rng.randint(1, 4)):
            true = make_reference(rng, f"S-{number}", task)
            kinds = fate(rng, tame) or ["any"]
            if len(kinds) > 1 and "invalid" in kinds:
                kinds = ["invalid"] * len(kinds)
            sent += [sample(true, make_prediction(rng, true, kind)) for kind in kinds]
    for one in [one for one in sent if not one.valid]:  # an invalid record may have an invalid reference, too
        if rng.random() < 0.4:
            one.record["reference"] = rng.choice(BAD_REFERENCES)
    if rng.random() < 0.4:  # nothing to score but what is given
        given_alone = {
            "task_id": "alone",
            "sample_id": "1",
            "reference": {},
            "prediction": {},
            "scores": {"safety": 0.3},
        }
        sent.append(Sent({**given_alone, "error": rng.choice([None, "x"])}))
    rng.shuffle(sent)
    return sent


def scored(
    files: Sequence[tuple[str, Sequence[Record]]],
    weights: Record | None,
    minimum: str,
    options: ScoringOptions | None = None,
    parameters: Sequence[tuple[str, str]] = (),
) -> medcontract.Score:
    """The score of records in `.json` files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = [(str(write(folder, contract, records)), contract) for contract, records in files]
        given += [(str(path), "benchmark/weights") for path in document(folder, "weights", weights)]
        settings = DEFAULT if options is None else DEFAULT._replace(scoring=options)
        return score_result(
            score_files(GivenFiles(given), settings._replace(parameters=(("min_processed", minimum), *parameters)))
        )


def assert_same(score: medcontract.Score, wanted: naive.Outcome) -> None:
    """Result, validity and processing."""
    assert bits(score.result) == bits(wanted.result)
    assert score.valid == wanted.valid
    gate = score.processing
    assert gate is not None
    assert (gate.expected, gate.processed) == (wanted.expected, wanted.processed)
    if score.result is not None:
        assert_keeps_contract("benchmark", score.result)


def fitting(rng: random.Random, references: Sequence[Record] | None, sent: Sequence[Sent]) -> Record | None:
    """Weights that find something, or none."""
    weights = make_weights(rng)
    try:
        naive.benchmark(references, sent, MODEL, weights, Fraction(0))
    except naive.UsageError:
        return None
    return weights


@pytest.mark.parametrize("minimum", MINIMA)
def test_samples_alone(minimum: str) -> None:
    """The samples say themselves what is expected; a warning says that they do."""

    @property_settings(60)
    @given(st.randoms(use_true_random=False))
    def law(rng: random.Random) -> None:
        sent = make_samples(rng)
        weights = fitting(rng, None, sent)
        score = scored([(SAMPLES, [one.record for one in sent])], weights, minimum)
        assert_same(score, naive.benchmark(None, sent, MODEL, weights, Fraction(minimum)))
        assert score.result is None or any("submission itself chose" in warning for warning in score.warnings)

    law()


@pytest.mark.parametrize("minimum", MINIMA)
def test_samples_against_references(minimum: str) -> None:
    """The references say what is expected and what is right, whatever references the samples bring along."""

    @property_settings(60)
    @given(st.randoms(use_true_random=False))
    def law(rng: random.Random) -> None:
        made = make_benchmark(rng)
        sent = [sample(make_reference(rng, "", ""), one) for one in made.sent]
        records = [one.record for one in sent]
        score = scored([(REFERENCES, made.truth), (SAMPLES, records)], made.referenced, minimum)
        assert_same(score, naive.benchmark(made.truth, sent, MODEL, made.referenced, Fraction(minimum)))
        assert not any("submission itself chose" in warning for warning in score.warnings)

    law()


@pytest.mark.parametrize("named", ["exact_match", "rouge_l", "exact_match+rouge_l"])
def test_answer_metrics(named: str) -> None:
    """The metrics that the protocol names are computed and weighted like the others."""

    @property_settings(60)
    @given(st.randoms(use_true_random=False))
    def law(rng: random.Random) -> None:
        made = make_benchmark(rng)
        records = [one.record for one in made.sent]
        files = [(REFERENCES, made.truth), (PREDICTIONS, records)]
        score = scored(files, made.referenced, "0", parameters=[("answer_metrics", named)])
        wanted = naive.benchmark(made.truth, made.sent, MODEL, made.referenced, Fraction(0), more=named.split("+"))
        assert_same(score, wanted)

    law()


def test_every_expected_sample_is_detailed() -> None:
    """With a breakdown each expected sample has its scores, to the bit, processed or not."""

    @property_settings(60)
    @given(st.randoms(use_true_random=False))
    def law(rng: random.Random) -> None:
        made = make_benchmark(rng)
        files = [(REFERENCES, made.truth), (PREDICTIONS, [one.record for one in made.sent])]
        score = scored(files, made.referenced, "0", ScoringOptions(breakdown=True))
        wanted = naive.benchmark(made.truth, made.sent, MODEL, made.referenced, Fraction(0)).result
        assert score.result is not None
        assert wanted is not None
        assert_keeps_contract("benchmark", score.result)
        found = score.result["detailed_results"]
        assert all(list(row) == ["task_id", "sample_id", "scores", "breakdown"] for row in found)
        assert [{name: row[name] for name in row if name != "breakdown"} for row in found] == wanted["detailed_results"]

    law()


def test_usage_errors_are_those_of_the_naive_scorer() -> None:
    """A name that is taken, or weights that find nothing, are usage errors for both."""
    met = set()
    for seed in range(15):
        rng = random.Random(seed)
        made, weights = make_benchmark(rng), make_weights(rng)
        weights["metric_name"] = rng.choice(["safety", "coherence", "clinical_accuracy", "combined_score"])
        files = [(REFERENCES, made.truth), (PREDICTIONS, [one.record for one in made.sent])]
        try:
            wanted = naive.benchmark(made.truth, made.sent, MODEL, weights, Fraction(0))
        except naive.UsageError:
            met.add("wrong")
            with pytest.raises(CallError):
                scored(files, weights, "0")
        else:
            met.add("right")
            assert_same(scored(files, weights, "0"), wanted)
    assert met == {"wrong", "right"}


def test_order_split_and_container_of_samples() -> None:
    """Shuffled, split and packed, the same samples give the same bits and the same content of the truth."""

    @property_settings(40)
    @given(st.randoms(use_true_random=False), st.integers(0, 2**32))
    def law(rng: random.Random, seed: int) -> None:
        sent = make_samples(rng)
        weights = fitting(rng, None, sent)
        plain = scored([(SAMPLES, [one.record for one in sent])], weights, "0")
        other = random.Random(seed)
        other.shuffle(sent)
        cut = other.randint(0, len(sent))
        with tempfile.TemporaryDirectory() as name:
            given = [
                (str(write(Path(name), SAMPLES, [one.record for one in part], ending, f"part-{ending}")), SAMPLES)
                for part, ending in ((sent[:cut], "json"), (sent[cut:], other.choice(["jsonl", "jsonl.gz", "json.gz"])))
            ]
            given += [(str(path), "benchmark/weights") for path in document(Path(name), "weights", weights)]
            other.shuffle(given)
            split = score_result(score_files(GivenFiles(given), Settings(parameters=(("min_processed", "0"),))))
        assert bits(split.result) == bits(plain.result)
        assert split.processing == plain.processing
        contents = [{file.content_sha256 for file in one.inputs} - {None} for one in (plain, split)]
        assert contents[0] == contents[1]

    law()


# --- the same, whatever the order and the number of processes ------------------------------------


@pytest.fixture
def score(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """`medcontract score` in an empty folder; files of a few kilobytes are large enough for workers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(chunks, "SMALLEST", 4096)
    return partial(caller(capsys), "score")


def right(number: int) -> Record:
    """A sample whose prediction repeats its reference."""
    true = reference(f"S-{number:03}", answer="asthma")
    return {**repeats(true), "reference": true["reference"]}


MANY = [right(number) for number in range(100)]
TWICE = {**MANY[0], "sample_id": "twice"}
PAIRS: dict[str, tuple[Record, Record]] = {
    "equal": (TWICE, TWICE),
    "references differ": (
        {**TWICE, "reference": {"rationale": "because of the fever"}},
        {**TWICE, "reference": {"diagnosis": "gout"}},
    ),
    "one is invalid": ({**TWICE, "reference": {"diagnosis": "gout"}, "strange": 1}, TWICE),
}


@pytest.mark.parametrize("how", list(PAIRS))
def test_the_order_of_repeated_samples(score: Call, tmp_path: Path, how: str) -> None:
    """Shuffling records gives the same result and the same content of the truth (principle 4)."""
    first, second = PAIRS[how]
    found = []
    for pair in ([first, second], [second, first]):
        envelope = score(write(tmp_path, SAMPLES, [*MANY, *pair]), "--format", "json").json
        found.append((envelope["result"], [file["content_sha256"] for file in envelope["inputs"]]))
    assert found[0] == found[1]


SPOILT = ("nothing", "failed", "invalid", "repeated", "valid, then invalid")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("ending", ["json", "jsonl"])
@pytest.mark.parametrize("how", [*SPOILT, "invalid, then valid"])
def test_workers(score: Call, tmp_path: Path, how: str, ending: str) -> None:
    """One process and three print the same bytes."""
    records: list[Record] = [dict(record) for record in MANY]
    if how == "failed":
        records[20]["error"] = "time out"
    elif how == "invalid":
        records[20]["strange"] = 1
    elif how == "repeated":
        records[80] = records[20]
    elif how == "invalid, then valid":
        records[80] = records[20]
        records[20] = {**records[20], "strange": 1}
    elif how == "valid, then invalid":
        records[80] = {**records[20], "strange": 1}
    path = write(tmp_path, SAMPLES, records, ending)
    extra: Sequence[Any] = ("--format", "json", "--breakdown", *(("--set", f"model_id={MODEL}") * (ending == "jsonl")))
    alone = score(path, *extra)
    assert alone.code == 0
    keeps(alone.out, "medcontract/score")
    assert score(path, *extra, "--jobs", "3") == alone


@pytest.mark.sampled(5)
@pytest.mark.parametrize("how", ["nothing", "failed", "invalid", "repeated", "unknown"])
def test_workers_with_references(score: Call, tmp_path: Path, how: str) -> None:
    """So it is with references and predictions."""
    truth = [reference(f"S-{number:03}", answer="asthma, not gout", rationale="because") for number in range(120)]
    sent: list[Record] = [repeats(true) for true in truth]
    changes: dict[str, Record] = {
        "nothing": {}, "failed": {"error": "x"}, "invalid": {"strange": 1}, "repeated": {"sample_id": "S-003"},
        "unknown": {"sample_id": "nobody"},
    }  # fmt: skip
    sent[90] |= changes[how]
    files = write(tmp_path, REFERENCES, truth), write(tmp_path, PREDICTIONS, sent)
    for format_ in ("json", "text", "markdown"):
        alone = score(*files, "--format", format_, "--breakdown")
        assert alone.code == 0
        assert score(*files, "--format", format_, "--breakdown", "--jobs", "2") == alone


def test_a_broken_part(score: Call, tmp_path: Path) -> None:
    """A part that breaks off has no records, so it spoils no good record of another part."""
    good = write(tmp_path, SAMPLES, MANY, name="good")
    broken = tmp_path / "broken.json"
    text = json.dumps({"model_id": MODEL, "samples": [{**MANY[0], "strange": 1}]})
    broken.write_text(text[:-2] + ",")
    for files in ((good, broken), (broken, good)):
        ran = score(*files, "--format", "json")
        assert "Traceback" not in ran.err
        assert keeps(ran.out, "medcontract/score")["processing"]["processed"] == 100
