"""The metrics of one sample of `benchmark`: a reference and the answer of a model.

Each function takes texts that were normalized by `normalizers.terms`, and returns an exact value with its components.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from math import lcm
from typing import TYPE_CHECKING, NamedTuple

from medcontract.contracts.string_patterns import BLANKS
from medcontract.normalizers.terms import CATEGORIES, Markers, Terms, line_kinds
from medcontract.scoring.folding import bare_signs, longest_common_subsequence
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import ONE, ZERO
from medcontract.types import JsonObject

if TYPE_CHECKING:
    from medcontract.contracts import benchmark as contract
    from medcontract.contracts.benchmark import Answer

CLINICAL, REASONING, DIAGNOSTIC = "clinical_accuracy", "reasoning_quality", "diagnostic_accuracy"
EXACT_MATCH, ROUGE_L = "exact_match", "rouge_l"
ALWAYS = (CLINICAL, REASONING, DIAGNOSTIC)
"""The metrics that are computed under every protocol."""
ANSWER_METRICS = (EXACT_MATCH, ROUGE_L)
"""The metrics that are computed only if the protocol parameter `answer_metrics` names them."""
NO_ANSWER_METRICS = "none"
"""The value of `answer_metrics` that names none of them."""

Entities = Mapping[str, frozenset[str]]


class Settings(NamedTuple):
    """The parameters of a protocol, as integers: sums of fractions would take most of the time.

    Weights have a common denominator, except for entities, which need none.
    """

    computed: tuple[str, ...]
    """The metrics that are computed."""
    compare_answers: bool
    """Whether one of them compares whole answers."""
    entities: dict[str, int]
    """The weight of each category."""
    shares: tuple[int, ...]
    """The weight of each part of `reasoning_quality`, in the order of `SHARES`."""
    denominator: int
    """The denominator of these."""
    full: tuple[int, int]
    """The number of markers that is sufficient, as numerator and denominator."""
    share_of_facts: tuple[int, int]
    """The share of facts that is sufficient, as numerator and denominator."""
    penalty: Fraction
    most_penalty: Fraction

    @classmethod
    def of(cls, protocol: Protocol) -> Settings:
        entities, _ = _integers({name: protocol[f"weight_{name}"] for name in CATEGORIES})
        shares, denominator = _integers({name: protocol[f"weight_{name}"] for name in SHARES})
        computed = computed_metrics(protocol)
        return cls(
            computed, not set(computed).isdisjoint(ANSWER_METRICS), entities, tuple(shares.values()), denominator,
            protocol["markers_for_full"].as_integer_ratio(), protocol["share_of_facts"].as_integer_ratio(),
            protocol["penalty"], protocol["penalty_most"],
        )  # fmt: skip


def _integers(weights: Mapping[str, Fraction]) -> tuple[dict[str, int], int]:
    """Return the numerators of weights over their common denominator, and the latter."""
    common = lcm(*(weight.denominator for weight in weights.values()))
    return {name: int(weight * common) for name, weight in weights.items()}, common


class Side(NamedTuple):
    """What is compared of a reference or of a model. Texts are normalized and spaced; None: absent or blank."""

    answer: str
    """Empty if only its names are compared, to save time and memory."""
    rationale: str | None
    diagnosis: str | None
    names: tuple[str, ...]
    """The names of the lexicon in the answer, each once; empty if entities were given. A set would take more memory."""
    given: Entities | None
    """The entities, if they were given."""
    bare: tuple[str | None, str | None]
    """Answer and diagnosis as written, if normalization leaves nothing of them."""
    markers: Markers
    """The markers in the rationale of a model. Markers of structure include the kinds of lists in it as written."""


_NO_SIGNS = (None, None)


def side_of(terms: Terms, settings: Settings, said: Answer, *, markers: bool) -> Side:
    """Normalize a reference or, with `markers`, a prediction."""
    answer = _normalized(terms.normalize_spaced, said.answer)
    rationale = _normalized(terms.normalize_spaced, said.rationale)
    diagnosis = _normalized(terms.normalize_diagnosis, said.diagnosis)
    names: Collection[str] = ()
    if answer and said.answer and said.entities is None:  # abbreviations are found, but not compared as words
        names = terms.names(terms.with_long_forms(said.answer, answer))
    found = Markers()
    if markers and rationale and said.rationale:
        structure, evidence, fallacies = terms.markers(rationale)
        found = Markers(structure | line_kinds(said.rationale), evidence, fallacies)
    bare: tuple[str | None, str | None] = _NO_SIGNS
    if answer == "" or diagnosis == "":
        bare = bare_signs(said.answer, answer), bare_signs(said.diagnosis, diagnosis)
    only_names = terms.facts_are_about_names and not settings.compare_answers
    kept = "" if only_names and not terms.entity_names.isdisjoint(names) else answer or ""
    given = _given(terms, said.entities) if said.entities is not None else None
    return Side(kept, rationale, diagnosis, tuple(names), given, bare, found)


def _given(terms: Terms, entities: contract.Entities) -> Entities:
    lists = {name: getattr(entities, name) or () for name in CATEGORIES}
    return {
        name: frozenset(terms.normalize(each) or each.strip(BLANKS) for each in names) for name, names in lists.items()
    }


def _normalized(normalize: Callable[[str], str], text: str | None) -> str | None:
    return normalize(text) if text is not None and text.strip(BLANKS) else None


_fraction = lru_cache(maxsize=1 << 14)(Fraction)
"""Many samples have the same values: one object for them is faster to get, and takes less memory."""


class Measured(NamedTuple):
    """The value of a metric."""

    value: Fraction
    explain: Callable[[], JsonObject]

    @property
    def parts(self) -> JsonObject:
        """The components of the value."""
        return self.explain()


def clinical_accuracy(terms: Terms, settings: Settings, reference: Side, prediction: Side) -> Measured:
    """Return the weighted Jaccard index of entities; if neither side has any, whether the answers are equal."""
    wanted, found = _entities(terms, reference), _entities(terms, prediction)
    common = either = 0
    for name, weight in settings.entities.items():
        shared = len(wanted[name] & found[name])
        common += weight * shared
        either += weight * (len(wanted[name]) + len(found[name]) - shared)
    if any(wanted.values()) or any(found.values()):
        value = _fraction(common, either) if either else ZERO
        return Measured(value, lambda: {"entities": _compared_entities(wanted, found)})
    equal = _equal_answers(reference, prediction)
    return Measured(ONE if equal else ZERO, lambda: {"entities": {}, "answers_equal": equal})


def _compared_entities(wanted: Entities, found: Entities) -> JsonObject:
    return {
        name: {
            "matched": sorted(wanted[name] & found[name]),
            "missing": sorted(wanted[name] - found[name]),
            "surplus": sorted(found[name] - wanted[name]),
        }
        for name in CATEGORIES
        if wanted[name] or found[name]
    }


def _entities(terms: Terms, side: Side) -> Entities:
    return side.given if side.given is not None else terms.entities_of(side.names)


def _equal_answers(one: Side, other: Side) -> bool:
    return one.answer == other.answer and one.bare[0] == other.bare[0]


def diagnostic_accuracy(terms: Terms, settings: Settings, reference: Side, prediction: Side) -> Measured:
    """Return whether the diagnoses are equal."""
    same_text = (reference.diagnosis or "") == (prediction.diagnosis or "")
    equal = same_text and reference.bare[1] == prediction.bare[1]
    return Measured(ONE if equal else ZERO, lambda: {"diagnoses_equal": equal})


SHARES = ("overlap", "structure", "evidence", "factual")


def reasoning_quality(terms: Terms, settings: Settings, reference: Side, prediction: Side) -> Measured:
    """Overlap, structure, evidence and facts, minus a penalty for fallacies."""
    rationale = prediction.rationale
    if rationale is None:
        return Measured(ZERO, lambda: {"blank": True})
    structure, evidence, fallacies = prediction.markers
    facts = _expected_facts(terms, reference)
    words = rationale.split()
    counted = dict(Counter(words))  # faster to change than a `Counter`
    stated = terms.found(facts, rationale, counted)
    overlap = _overlap((reference.rationale or "").split(), words, counted)  # the last use of `counted`
    supported = _share_of_markers(settings, len(evidence))
    shares = (
        overlap,
        _share_of_markers(settings, len(structure)),
        supported,
        _share(len(stated), _enough_facts(settings, len(facts))) if facts else supported,
    )
    penalty = min(settings.most_penalty, settings.penalty * len(fallacies)) if fallacies else ZERO

    def explain() -> JsonObject:
        return {
            **{name: Fraction(*share) for name, share in zip(SHARES, shares, strict=True)},
            "penalty": penalty,
            "structure_markers": sorted(structure),
            "evidence_markers": sorted(evidence),
            "fallacies": sorted(fallacies),
            "facts_stated": sorted(stated),
            "facts_expected": sorted(facts),
        }

    return Measured(_weighted(settings, shares, penalty), explain)


def _expected_facts(terms: Terms, reference: Side) -> frozenset[str]:
    """Return the facts about the diagnosis; without one, about the diagnoses in the answer."""
    if reference.diagnosis is not None:
        return terms.facts(reference.diagnosis)
    return terms.facts(reference.answer, reference.names if reference.given is None else None)


_Share = tuple[int, int]
"""Numerator and denominator."""


def _share(number: int, full: int) -> _Share:
    return (number, full) if number < full else (full, full)


def _share_of_markers(settings: Settings, number: int) -> _Share:
    full, unit = settings.full
    return _share(number * unit, full)


def _enough_facts(settings: Settings, known: int) -> int:
    share, unit = settings.share_of_facts
    return known * share // unit or 1


def _weighted(settings: Settings, shares: Iterable[_Share], penalty: Fraction) -> Fraction:
    """Return the weighted sum of shares minus the penalty, limited to [0, 1]."""
    numerator, common = 0, 1
    for weight, (count, denominator) in zip(settings.shares, shares):  # noqa: B905  # `strict` takes time
        numerator = numerator * denominator + weight * count * common
        common *= denominator
    common *= settings.denominator
    if penalty:
        numerator = numerator * penalty.denominator - common * penalty.numerator
        common *= penalty.denominator
    if numerator <= 0:
        return ZERO
    return _fraction(numerator, common) if numerator < common else ONE


def _overlap(one: Sequence[str], other: Sequence[str], unused: dict[str, int]) -> _Share:
    """Return the F1 of two multisets of words. `unused` is how often `other` has each word: it is used up."""
    times_of = unused.get
    common = 0
    for word in one:
        if times := times_of(word):
            unused[word] = times - 1
            common += 1
    total = len(one) + len(other)
    return (2 * common, total) if total else (0, 1)


def exact_match(terms: Terms, settings: Settings, reference: Side, prediction: Side) -> Measured:
    """Return whether the answers are equal."""
    equal = _equal_answers(reference, prediction)
    return Measured(ONE if equal else ZERO, lambda: {"answers_equal": equal})


def rouge_l(terms: Terms, settings: Settings, reference: Side, prediction: Side) -> Measured:
    """Return the F-measure (beta 1) of the longest common subsequence of the answers' tokens."""
    wanted, found = _tokens(reference), _tokens(prediction)
    common = longest_common_subsequence(wanted, found)
    value = Fraction(2 * common, len(wanted) + len(found))
    return Measured(value, lambda: {"common": common, "reference_tokens": len(wanted), "prediction_tokens": len(found)})


def _tokens(side: Side) -> list[str]:
    """Return the words of the answer; an answer that consists only of signs is one token."""
    return [side.bare[0]] if side.bare[0] is not None else side.answer.split()


def computed_metrics(protocol: Protocol) -> tuple[str, ...]:
    """Return the metrics that are computed under a protocol."""
    named = (protocol.word("answer_metrics") or "").split("+")
    return (*ALWAYS, *(name for name in ANSWER_METRICS if name in named))


_METRICS: dict[str, Callable[[Terms, Settings, Side, Side], Measured]] = {
    CLINICAL: clinical_accuracy,
    REASONING: reasoning_quality,
    DIAGNOSTIC: diagnostic_accuracy,
    EXACT_MATCH: exact_match,
    ROUGE_L: rouge_l,
}


def required_metrics(settings: Settings, said: Answer) -> tuple[str, ...]:
    """Return the computed metrics that a reference requires: those whose field it has."""
    there = [text is not None and bool(text.strip(BLANKS)) for text in (said.answer, said.rationale, said.diagnosis)]
    return _required(settings.computed, said.entities is not None, *there)


@cache
def _required(
    computed: tuple[str, ...], entities: bool, answer: bool, rationale: bool, diagnosis: bool
) -> tuple[str, ...]:
    """Always the same object, to save memory: there are few different ones."""
    there = {
        CLINICAL: answer or entities,
        REASONING: rationale,
        DIAGNOSTIC: diagnosis,
        EXACT_MATCH: answer,
        ROUGE_L: answer,
    }
    return tuple([name for name in computed if there[name]])


def measured(
    terms: Terms, settings: Settings, required: Iterable[str], reference: Side, prediction: Side
) -> dict[str, Measured]:
    """Return the metrics that the reference requires."""
    return {name: _METRICS[name](terms, settings, reference, prediction) for name in required}
