"""The metrics of one sample of `benchmark`: a reference and the answer of a model.

Each function takes texts that were normalized by `normalizers.terms`, and returns an exact value with its components.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import lcm
from typing import Any, NamedTuple

from medcontract.contracts.string_patterns import BLANKS
from medcontract.normalizers.folding import fold_spaced
from medcontract.normalizers.lists import line_kinds
from medcontract.normalizers.terms import CATEGORIES, Terms
from medcontract.scoring.folding import bare_signs
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import ONE, ZERO

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

    Weights have a common denominator, which is not needed for those of entities.
    """

    computed: tuple[str, ...]
    """The metrics that are computed."""
    compare_answers: bool
    """Whether one of them compares whole answers."""
    entities: dict[str, int]
    """The weight of each category."""
    shares: dict[str, int]
    """The weight of each part of `reasoning_quality`."""
    denominator: int
    """The denominator of these."""
    full: Fraction
    share_of_facts: Fraction
    penalty: Fraction
    most_penalty: Fraction

    @classmethod
    def of(cls, protocol: Protocol) -> Settings:
        entities, _ = _integers({name: protocol[f"weight_{name}"] for name in CATEGORIES})
        shares, denominator = _integers({name: protocol[f"weight_{name}"] for name in SHARES})
        computed = computed_metrics(protocol)
        return cls(
            computed, not set(computed).isdisjoint(ANSWER_METRICS), entities, shares, denominator,
            protocol["markers_for_full"], protocol["share_of_facts"], protocol["penalty"], protocol["penalty_most"],
        )  # fmt: skip


def _integers(weights: Mapping[str, Fraction]) -> tuple[dict[str, int], int]:
    """The numerators of weights over their common denominator, and the latter."""
    common = lcm(*(weight.denominator for weight in weights.values()))
    return {name: int(weight * common) for name, weight in weights.items()}, common


class Side(NamedTuple):
    """What is compared of a reference or of a model. Texts are normalized and spaced; None: absent or blank."""

    has_answer: bool
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
    lines: frozenset[str]
    """The kinds of lists in the rationale of a model as written: numbered lines, bulleted lines."""


_NO_LINES: frozenset[str] = frozenset()
_NO_SIGNS = (None, None)


def reference_side(terms: Terms, settings: Settings, said: Any) -> Side:
    """Normalize a reference."""
    return _side(terms, settings, said, _normalized(terms.normalize_spaced, said.rationale), _NO_LINES)


def prediction_side(terms: Terms, settings: Settings, said: Any) -> Side:
    """Normalize a prediction."""
    rationale = _normalized(terms.normalize_spaced, said.rationale)
    return _side(terms, settings, said, rationale, line_kinds(said.rationale) if rationale else _NO_LINES)


def _side(terms: Terms, settings: Settings, said: Any, rationale: str | None, lines: frozenset[str]) -> Side:
    answer, names, given, bare_answer = _read_answer(terms, settings, said)
    diagnosis = _normalized(terms.normalize_diagnosis, said.diagnosis)
    bare_diagnosis = bare_signs(said.diagnosis, diagnosis)
    bare = _NO_SIGNS if bare_answer is bare_diagnosis is None else (bare_answer, bare_diagnosis)
    return Side(answer is not None, answer or "", rationale, diagnosis, names, given, bare, lines)


def _read_answer(
    terms: Terms, settings: Settings, said: Any
) -> tuple[str | None, tuple[str, ...], Entities | None, str | None]:
    """The answer, the names in it, the entities that are given, and the answer as written if it only has signs."""
    given = _given(terms, said.entities) if said.entities is not None else None
    if said.answer is None or not said.answer.strip(BLANKS):
        return None, (), given, None
    folded = fold_spaced(said.answer)
    names = terms.names_folded(folded) if given is None else ()
    only_names = terms.facts_are_about_names and not settings.compare_answers
    is_needed = not only_names or terms.entity_names.isdisjoint(names)
    answer = terms.normalize_folded(folded) if is_needed else ""
    return answer, tuple(names), given, said.answer.strip(BLANKS) if not folded else None


def _given(terms: Terms, entities: Any) -> Entities:
    lists = {name: getattr(entities, name) or () for name in CATEGORIES}
    return {
        name: frozenset(terms.normalize(each) or each.strip(BLANKS) for each in names) for name, names in lists.items()
    }


def _normalized(normalize: Callable[[str], str], text: str | None) -> str | None:
    return normalize(text) if text is not None and text.strip(BLANKS) else None


class Measured(NamedTuple):
    """The value of a metric."""

    value: Fraction
    explain: Callable[[], dict[str, Any]]

    @property
    def parts(self) -> dict[str, Any]:
        """The components of the value."""
        return self.explain()


def clinical_accuracy(terms: Terms, settings: Settings, reference: Side, prediction: Side) -> Measured:
    """The weighted Jaccard index of entities; if neither side has any, whether the answers are equal."""
    if reference.given is None and prediction.given is None:
        common, either, some = _extracted(terms, settings, reference, prediction)
    else:
        common, either, some = _by_category(terms, settings, reference, prediction)
    if some:
        value = Fraction(common, either) if either else ZERO
        return Measured(value, lambda: {"entities": _compared_entities(terms, reference, prediction)})
    equal = _equal_answers(reference, prediction)
    return Measured(ONE if equal else ZERO, lambda: {"entities": {}, "answers_equal": equal})


def _extracted(terms: Terms, settings: Settings, reference: Side, prediction: Side) -> tuple[int, int, bool]:
    """The weight of common entities, that of all entities, and whether there are any. Each is in one category."""
    entities, weights, categories = terms.entity_names, settings.entities, terms.categories
    wanted, found = entities.intersection(reference.names), entities.intersection(prediction.names)
    common, one, other = [
        sum([weights[categories[name]] for name in names]) for names in (wanted & found, wanted, found)
    ]
    return common, one + other - common, bool(wanted or found)


def _by_category(terms: Terms, settings: Settings, reference: Side, prediction: Side) -> tuple[int, int, bool]:
    """Like `_extracted`, for entities that may be in several categories."""
    wanted, found = _entities(terms, reference), _entities(terms, prediction)
    common = either = 0
    for name, weight in settings.entities.items():
        shared = len(wanted[name] & found[name])
        common += weight * shared
        either += weight * (len(wanted[name]) + len(found[name]) - shared)
    return common, either, any(wanted.values()) or any(found.values())


def _compared_entities(terms: Terms, reference: Side, prediction: Side) -> dict[str, Any]:
    wanted, found = _entities(terms, reference), _entities(terms, prediction)
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
    """Whether the diagnoses are equal."""
    same_text = (reference.diagnosis or "") == (prediction.diagnosis or "")
    equal = same_text and reference.bare[1] == prediction.bare[1]
    return Measured(ONE if equal else ZERO, lambda: {"diagnoses_equal": equal})


SHARES = ("overlap", "structure", "evidence", "factual")


def reasoning_quality(terms: Terms, settings: Settings, reference: Side, prediction: Side) -> Measured:
    """Overlap, structure, evidence and facts, minus a penalty for fallacies."""
    rationale = prediction.rationale
    if rationale is None:
        return Measured(ZERO, lambda: {"blank": True})
    structure, evidence, fallacies = terms.markers(rationale)
    structure |= prediction.lines
    facts = _expected_facts(terms, reference)
    words = rationale.split()
    counted = Counter(words)
    stated = terms.found(facts, rationale, counted)
    supported = _share_of_markers(settings, len(evidence))
    shares = {
        "overlap": _overlap((reference.rationale or "").split(), words, counted),
        "structure": _share_of_markers(settings, len(structure)),
        "evidence": supported,
        "factual": _share(len(stated), _enough_facts(settings, len(facts))) if facts else supported,
    }
    penalty = min(settings.most_penalty, settings.penalty * len(fallacies)) if fallacies else ZERO

    def explain() -> dict[str, Any]:
        return {
            **{name: Fraction(*share) for name, share in shares.items()},
            "penalty": penalty,
            "structure_markers": sorted(structure),
            "evidence_markers": sorted(evidence),
            "fallacies": sorted(fallacies),
            "facts_stated": sorted(stated),
            "facts_expected": sorted(facts),
        }

    return Measured(_weighted(settings, shares, penalty), explain)


def _expected_facts(terms: Terms, reference: Side) -> frozenset[str]:
    """The facts about the diagnosis; without one, about the diagnoses in the answer."""
    if reference.diagnosis is not None:
        return terms.facts(reference.diagnosis)
    return terms.facts(reference.answer, reference.names if reference.given is None else None)


_Share = tuple[int, int]
"""Numerator and denominator."""


def _share(number: int, full: int) -> _Share:
    return min(number, full), full


def _share_of_markers(settings: Settings, number: int) -> _Share:
    full, unit = settings.full.as_integer_ratio()
    return _share(number * unit, full)


def _enough_facts(settings: Settings, known: int) -> int:
    share, unit = settings.share_of_facts.as_integer_ratio()
    return max(1, known * share // unit)


def _weighted(settings: Settings, shares: Mapping[str, _Share], penalty: Fraction) -> Fraction:
    """The weighted sum of shares minus the penalty, limited to [0, 1]."""
    common = lcm(penalty.denominator, *(denominator for _, denominator in shares.values()))
    numerator = -penalty.numerator * (common // penalty.denominator) * settings.denominator
    for name, (count, denominator) in shares.items():
        numerator += settings.shares[name] * count * (common // denominator)
    denominator = common * settings.denominator
    return Fraction(min(max(numerator, 0), denominator), denominator)


def _overlap(one: Sequence[str], other: Sequence[str], counted: Mapping[str, int]) -> _Share:
    """The F1 of two multisets of words, of which one is already counted: `other`."""
    times_of = counted.get
    common = [
        times if times < other_times else other_times  # noqa: FURB136  # `min` is much slower
        for word, times in Counter(one).items()
        if (other_times := times_of(word))
    ]
    total = len(one) + len(other)
    return (2 * sum(common), total) if total else (0, 1)


def exact_match(terms: Terms, settings: Settings, reference: Side, prediction: Side) -> Measured:
    """Whether the answers are equal."""
    equal = _equal_answers(reference, prediction)
    return Measured(ONE if equal else ZERO, lambda: {"answers_equal": equal})


def rouge_l(terms: Terms, settings: Settings, reference: Side, prediction: Side) -> Measured:
    """The F-measure (beta 1) of the longest common subsequence of the answers' tokens."""
    wanted, found = _tokens(reference), _tokens(prediction)
    common = longest_common_subsequence(wanted, found)
    value = Fraction(2 * common, len(wanted) + len(found))
    return Measured(value, lambda: {"common": common, "reference_tokens": len(wanted), "prediction_tokens": len(found)})


def _tokens(side: Side) -> list[str]:
    """The words of the answer; an answer that consists only of signs is one token."""
    return [side.bare[0]] if side.bare[0] is not None else side.answer.split()


def longest_common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """Its length, in linear memory and in far less than one step per pair of tokens.

    Tokens are numbered first, because rapidfuzz compares hashes: those of small integers cannot collide.
    """
    from rapidfuzz.distance import LCSseq

    numbers: dict[str, int] = {}
    first, second = ([numbers.setdefault(token, len(numbers)) for token in tokens] for tokens in (one, other))
    return int(LCSseq.similarity(first, second))


def computed_metrics(protocol: Protocol) -> tuple[str, ...]:
    """The metrics that are computed under a protocol."""
    named = (protocol.word("answer_metrics") or "").split("+")
    return (*ALWAYS, *(name for name in ANSWER_METRICS if name in named))


_METRICS: dict[str, Callable[[Terms, Settings, Side, Side], Measured]] = {
    CLINICAL: clinical_accuracy,
    REASONING: reasoning_quality,
    DIAGNOSTIC: diagnostic_accuracy,
    EXACT_MATCH: exact_match,
    ROUGE_L: rouge_l,
}


def required_metrics(settings: Settings, reference: Side) -> tuple[str, ...]:
    """The computed metrics that a reference requires: those whose field it has."""
    there = {
        CLINICAL: reference.has_answer or reference.given is not None,
        REASONING: reference.rationale is not None,
        DIAGNOSTIC: reference.diagnosis is not None,
        EXACT_MATCH: reference.has_answer,
        ROUGE_L: reference.has_answer,
    }
    return _one_tuple(tuple([name for name in settings.computed if there[name]]))


@cache
def _one_tuple(names: tuple[str, ...]) -> tuple[str, ...]:
    """Always the same object, to save memory: there are few different ones."""
    return names


def measured(
    terms: Terms, settings: Settings, required: Iterable[str], reference: Side, prediction: Side
) -> dict[str, Measured]:
    """The metrics that the reference requires."""
    return {name: _METRICS[name](terms, settings, reference, prediction) for name in required}
