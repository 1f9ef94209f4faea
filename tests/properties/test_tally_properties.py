"""Laws of tallies: a score is a sum over cases, so parts can be merged, and a case can have a weight."""

from __future__ import annotations

import json
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.challenge_files import write
from tests.metric_cases import OF_PLUGINS, VARIANTS, Variant, values
from tests.naive import Sent
from tests.properties.test_scoring_properties import KEYS, MAKERS, Made, Maker, fate, plainly
from tests.scoring_files import OFF, Record, listed
from tests.support import ROOT, property_settings

import medcontract
from medcontract import Challenge
from medcontract.errors import MedcontractError
from medcontract.evaluation import score as scoring
from medcontract.scoring.metrics import KINDS
from medcontract.scoring.rational import FigureTooLarge
from medcontract.scoring.scorer import Answers, Scorer, Tally, weighted
from medcontract.scoring.scorer_checks import tally_of

pytestmark = pytest.mark.sampled(5)


# --- submissions of plugins and challenges ----------------------------------------------------------------------------


def make_toy(rng: random.Random, tame: bool) -> Made:
    truth = [{"item": f"T-{n}", "word": rng.choice("ab")} for n in range(rng.randint(1, 6))]
    sent = [{"item": each["item"], "said": rng.choice("ab")} for each in truth if rng.random() < 0.8]
    return Made("toy", truth, list(map(Sent, sent)))


def score_toy(made: Made) -> object:
    sent = {"answers": [each.record for each in made.sent]}
    return _score_files(medcontract.score, {"toy/truth": {"truth": made.truth}, "toy/answers": sent})


def _score_files(score: Callable[..., object], documents: Mapping[str, Any]) -> object:
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for contract, content in documents.items():
            name = f"{contract.partition('/')[2]}.{'jsonl' if isinstance(content, list) else 'json'}"
            files.append(f"{contract}={write(Path(folder) / name, content)}")
        return score(*files, parameters=OFF)


FIELDS = """
label = { one_of = ["a", "b", "c"], optional = true }
flag = { type = "boolean", optional = true }
stage = { type = "integer", min = 0, max = 10, optional = true }
probability = { type = "number", min = 0, max = 1, optional = true }
dose = { type = "number", min = 0, max = 8, optional = true }
findings = { type = "set", of = { one_of = ["edema", "shift", "midline"] }, optional = true }
answer = { type = "text", optional = true }
months = { type = "number", optional = true }
died = { type = "boolean", optional = true }
risk = { type = "number", optional = true }
"""


def metric_lines(number: int, each: Variant) -> Iterator[str]:
    """The metric in a challenge file."""
    metric = each.metric
    yield f'[[metric]]\nname = "m{number}"\nkind = "{metric.kind.name}"\nfield = "{metric.prediction.name}"'
    if metric.event is not None:
        yield f'time = "{metric.truth.name}"'
    for name, choice in metric.choices.items():
        field = metric.event or metric.truth
        is_class = name in ("positive", "event") and field.type != "one_of"
        value = choice if is_class else json.dumps(choice)
        case = f'{{ field = "{field.name}", is = {value} }}'
        yield f"{name} = {case if metric.kind.positive_case and name in ('positive', 'event') else value}"
    yield from (f"{name} = {float(value)}" for name, value in each.parameters.items())


@cache
def challenge(kind: str) -> Challenge:
    """A challenge with every variant of a kind of metric, and their sum."""
    variants = [each for each in VARIANTS.values() if each.metric.kind.name == kind]
    metrics = "\n".join(line for number, each in enumerate(variants) for line in metric_lines(number, each))
    sign = "" if KINDS[kind].higher_is_better else "-"
    terms = ", ".join(f"m{number} = {sign}{number + 1}" for number in range(len(variants)))
    head = f'id = "law"\nkey = "case_id"\n[prediction]{FIELDS}[truth]{FIELDS}'
    return Challenge.load(f'{head}{metrics}\n[score]\nheadline = "sum"\n[score.sums]\nsum = {{ {terms} }}\n'.encode())


def make_cases(kind: str, rng: random.Random, tame: bool) -> Made:
    """Cases with values of the fields that metrics of a kind read, here and there null."""
    fields = {
        field.name: field
        for each in VARIANTS.values()
        if each.metric.kind.name == kind
        for field in (each.metric.truth, each.metric.prediction)
    }
    truth: list[Record] = []
    sent: list[Sent] = []
    for number in range(rng.randint(1, 7)):
        said = [{name: rng.choice([None, *values(field)]) for name, field in fields.items()} for _ in range(2)]
        for record in said:
            if "months" in record:
                record["months"], record["died"] = record["months"] or (None, rng.choice((True, None)))
        key = {"case_id": f"K-{number}"}
        truth.append({**key, **said[0]})
        for fated in fate(rng, tame):
            record = {**key, **(said[0] if fated == "right" else said[1])}
            wrong: Record = {"failed": {**key, "error": "lost"}, "invalid": {**key, "label": 7, "dose": "much"}}
            sent.append(Sent(wrong.get(fated, record)))
    return Made("law", truth, sent)


def score_cases(kind: str, made: Made) -> object:
    sent = [each.record for each in made.sent]
    return _score_files(challenge(kind).score, {"law/truth": made.truth, "law/predictions": sent})


class Subject(NamedTuple):
    """What has tallies."""

    make: Maker
    score: Callable[[Made], object]


SUBJECTS = {
    **{track: Subject(make, partial(plainly, minimum="0")) for track, make in MAKERS.items()},
    **{
        f"{kind} of a challenge": Subject(partial(make_cases, kind), partial(score_cases, kind))
        for kind in KINDS
        if kind != OF_PLUGINS
    },
    "a plugin": Subject(make_toy, score_toy),
}
TAME = {"reports", "benchmark"}
"""Without a case, there may be another run, or nothing to weigh, unless a submission is tame."""


@pytest.fixture(autouse=True)
def toy() -> None:
    medcontract.load_plugin(str(ROOT / "tests" / "toy_track.py"))


# --- tallies ----------------------------------------------------------------------------------------------------------


def answered(subject: Subject, made: Made) -> tuple[Scorer, Answers]:
    """A scorer, and what it gets to tally."""
    found: list[tuple[Scorer, Answers]] = []

    def keep(track: Any, scorer: Scorer, answers: Answers) -> Tally:
        found.append((scorer, answers))
        return tally_of(track, scorer, answers)

    with patch.object(scoring, "tally_of", keep), suppress(MedcontractError):
        subject.score(made)
    ((scorer, answers),) = found
    scorer.options = replace(scorer.options, breakdown=scorer.explains)
    return scorer, answers


def outcome(scorer: Scorer, tally: Tally) -> str:
    """All that a tally gives, with copies named like the first."""
    try:
        found = scorer.figures(tally)
        figures: Any = [json.loads(json.dumps(found.result)), found.headline, found.second, found.gates]
        figures += [found.reasons, found.warnings]
    except FigureTooLarge:
        figures = "too large"
    except MedcontractError as error:
        figures = str(error)
    explained = [list(explain(tally)) for explain in (scorer.remediation, scorer.breakdown, scorer.hints)]
    shown = [tally.expected, sorted(tally.processed.items()), figures, scorer.notes(tally), explained]
    return re.sub(rf"{COPY}\d+", "", repr(shown))


def parts(answers: Answers, rng: random.Random, among: Sequence[int]) -> dict[str, list[int]]:
    """A number for each item of each truth."""
    return {truth: [rng.choice(among) for _ in each.expected.items] for truth, each in answers.pairings.items()}


def items_with(numbers: Mapping[str, Sequence[int]], number: int) -> dict[str, list[int]]:
    return {truth: [at for at, its in enumerate(each) if its == number] for truth, each in numbers.items()}


every_subject = pytest.mark.parametrize("name", SUBJECTS)


@every_subject
def test_merging_parts_gives_the_whole(name: str) -> None:
    """Whatever the partition of the cases, even of the segments of one, and the order and grouping of merges."""
    subject = SUBJECTS[name]

    @property_settings(80)
    @given(st.randoms(use_true_random=False))
    def law(rng: random.Random) -> None:
        scorer, answers = answered(subject, subject.make(rng, False))
        numbers = parts(answers, rng, range(4))
        tallies = [scorer.tally(answers.only(items_with(numbers, part))) for part in range(4)]
        while len(tallies) > 1:
            rng.shuffle(tallies)
            tallies.append(tallies.pop().merge(tallies.pop()))
        assert outcome(scorer, tallies[0]) == outcome(scorer, scorer.tally(answers))

    law()


@every_subject
def test_weights_of_one_and_zero(name: str) -> None:
    """With 1 for all cases nothing changes, and those with 0 are as if they were not selected."""
    subject = SUBJECTS[name]
    for seed in range(20):
        rng = random.Random(seed)
        scorer, answers = answered(subject, subject.make(rng, False))
        whole = scorer.tally(answers)
        assert outcome(scorer, weighted(scorer, answers, parts(answers, rng, (1,)))) == outcome(scorer, whole)
        numbers = parts(answers, rng, (0, 1))
        next(iter(numbers.values()))[0] = 1
        out, kept = (scorer.tally(answers.only(items_with(numbers, part))) for part in (0, 1))
        for tally in (out.times(0).merge(kept), kept.merge(out.times(0)), weighted(scorer, answers, numbers)):
            assert outcome(scorer, tally) == outcome(scorer, kept)


def _metric(scorer: Scorer, tally: Tally) -> Any:
    result = scorer.figures(tally).result
    return result and result["metrics"]["m1"]


def test_by_hand() -> None:
    """Scores 0.9 (twice) and 0.4 of positives, 0.5 (three times) of negatives; the negative with 0.2 does not count.

    Of 3 · 3 pairs, 2 · 3 are in the right order; without weights, 3 of 2 · 2.
    """
    rows = [(True, 0.9), (True, 0.4), (False, 0.5), (False, 0.2)]
    truth = [{"case_id": f"K-{n}", "flag": flag} for n, (flag, _) in enumerate(rows)]
    sent = [Sent({"case_id": f"K-{n}", "probability": score}) for n, (_, score) in enumerate(rows)]
    scorer, answers = answered(SUBJECTS["auroc of a challenge"], Made("law", truth, sent))
    assert _metric(scorer, scorer.tally(answers)) == 3 / 4
    tally = weighted(scorer, answers, {"law/truth": [2, 1, 3, 0]})
    assert (tally.expected, tally.processed) == (6, {"": 6})
    assert _metric(scorer, tally) == 2 / 3
    assert _metric(scorer, weighted(scorer, answers, {"law/truth": [0, 1, 0, 2]})) == 1


COPY = "!"
"""Before the number of a copy in its ids: copies are sorted after the first, and before any other id."""
IDS = {**KEYS, "triage": ("case_id", "segment_id"), "benchmark": ("sample_id",), "toy": ("item",), "law": ("case_id",)}
"""The fields that get the number of a copy."""


def unit(record: Record) -> tuple[str, ...]:
    """What a record of the truth or of a submission is about: what has a weight."""
    kind = "lab" if "resultados" in record or "results" in record else "rx"
    names = ("report_id", "image_id", "doc_id", "task_id", "sample_id", "item")
    about = [record[name] for name in names if name in record]
    return (kind, *about) if about else (record["segment_id"],) if "segment_id" in record else (record["case_id"],)


def repeated(made: Made, weights: Mapping[tuple[str, ...], int]) -> Made:
    """The submission with each case as often as its weight says, under ids of its own."""

    def copies(record: Record) -> list[Record]:
        times = weights.get(unit(record), 1)
        return [
            {**record, **{name: record[name] + f"{COPY}{n}" * (n > 0) for name in IDS[made.track]}}
            for n in range(times)
        ]

    truth = [copy for record in made.truth for copy in copies(record)]
    sent = [Sent(copy, each.valid) for each in made.sent for copy in copies(each.record)]
    beside = made.referenced
    if made.track == "extraction" and beside and "manifest" in beside:
        known = [row["doc_id"] for row in beside["manifest"]]
        new = [listed(f"{doc_id}{COPY}{n}") for doc_id in known for n in range(1, 4)]
        beside = {**beside, "manifest": [*beside["manifest"], *new]}
    if made.track == "triage" and beside:
        rows = beside["segments"]
        new = [{name: f"{row[name]}{COPY}{n}" for name in IDS["triage"]} for n in range(1, 4) for row in rows]
        beside = {**beside, "segments": [*rows, *new]}
    return made._replace(truth=truth, sent=sent, referenced=beside)


@every_subject
def test_weights_are_copies(name: str) -> None:
    """0: the case is neither in the truth nor in the submission; 2: it is there twice, the second under another id."""
    subject = SUBJECTS[name]
    met: set[int] = set()

    @property_settings(80)
    @given(st.randoms(use_true_random=False))
    def law(rng: random.Random) -> None:
        made = subject.make(rng, name in TAME)
        by_case = {record.get("case_id", unit(record)): rng.choice((0, 1, 1, 2, 3)) for record in made.truth}
        by_case[made.truth[0].get("case_id", unit(made.truth[0]))] = 2
        weights = {unit(record): by_case[record.get("case_id", unit(record))] for record in made.truth}
        scorer, answers = answered(subject, made)
        by_truth = {
            truth: [weights[_unit_of(truth, key)] for key in pairing.expected.keys]
            for truth, pairing in answers.pairings.items()
        }
        other, all_answers = answered(subject, repeated(made, weights))
        assert outcome(scorer, weighted(scorer, answers, by_truth)) == outcome(other, other.tally(all_answers))
        met.update(weights.values())

    law()
    assert met >= {0, 1, 2}


def _unit_of(truth: str, key: Any) -> tuple[str, ...]:
    ids = key if isinstance(key, tuple) else (key,)
    if truth.startswith(("triage/", "law/")):
        return tuple(ids)
    return ("lab" if "lab-labels" in truth else "rx", *ids)
