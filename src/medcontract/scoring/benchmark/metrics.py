"""The metrics of one sample of `benchmark`: a reference and the answer of a model.

Each function takes texts that were normalized by `normalizers.terms`, and returns an exact value with its components.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from medcontract.contracts.string_patterns import BLANKS
from medcontract.normalizers.terms import CATEGORIES, Terms, line_kinds
from medcontract.scoring.folding import bare_signs
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import ONE, ZERO, clamped

CLINICAL, REASONING, DIAGNOSTIC = "clinical_accuracy", "reasoning_quality", "diagnostic_accuracy"
EXACT_MATCH, ROUGE_L = "exact_match", "rouge_l"
ALWAYS = (CLINICAL, REASONING, DIAGNOSTIC)
"""The metrics that are computed under every protocol."""
ANSWER_METRICS = (EXACT_MATCH, ROUGE_L)
"""The metrics that are computed only if the protocol parameter `answer_metrics` names them."""
NO_ANSWER_METRICS = "none"
"""The value of `answer_metrics` that names none of them."""

Entities = Mapping[str, frozenset[str]]


class Side(NamedTuple):
    """The normalized texts of a reference or of a model. None: absent or blank."""

    answer: str | None
    rationale: str | None
    diagnosis: str | None
    given: Entities | None
    """The entities, if they were given."""
    bare: tuple[str | None, str | None]
    """Answer and diagnosis as written, if normalization leaves nothing of them."""
    lines: frozenset[str]
    """The kinds of lists in the rationale as written: numbered lines, bulleted lines."""


def side_of(terms: Terms, said: Any) -> Side:
    """Normalize a reference or a prediction."""
    answer, rationale = (_normalized(terms.normalize, text) for text in (said.answer, said.rationale))
    diagnosis = _normalized(terms.normalize_diagnosis, said.diagnosis)
    given = None
    if said.entities is not None:
        lists = {name: getattr(said.entities, name) or () for name in CATEGORIES}
        given = {
            name: frozenset(terms.normalize(each) or each.strip(BLANKS) for each in names)
            for name, names in lists.items()
        }
    bare = bare_signs(said.answer, answer), bare_signs(said.diagnosis, diagnosis)
    return Side(answer, rationale, diagnosis, given, bare, line_kinds(said.rationale or ""))


def _normalized(normalize: Callable[[str], str], text: str | None) -> str | None:
    return normalize(text) if text is not None and text.strip(BLANKS) else None


class Measured(NamedTuple):
    """The value of a metric and its components."""

    value: Fraction
    parts: dict[str, Any]


def clinical_accuracy(terms: Terms, protocol: Protocol, reference: Side, prediction: Side) -> Measured:
    """The weighted Jaccard index of entities; if neither side has any, whether the answers are equal."""
    wanted, found = (_entities(terms, side) for side in (reference, prediction))
    weights = {name: protocol[f"weight_{name}"] for name in CATEGORIES}
    common = sum((weights[name] * len(wanted[name] & found[name]) for name in CATEGORIES), ZERO)
    either = sum((weights[name] * len(wanted[name] | found[name]) for name in CATEGORIES), ZERO)
    parts = {
        name: {
            "matched": sorted(wanted[name] & found[name]),
            "missing": sorted(wanted[name] - found[name]),
            "surplus": sorted(found[name] - wanted[name]),
        }
        for name in CATEGORIES
        if wanted[name] or found[name]
    }
    if parts:
        return Measured(common / either if either else ZERO, {"entities": parts})
    equal = _equal_answers(reference, prediction)
    return Measured(ONE if equal else ZERO, {"entities": {}, "answers_equal": equal})


def _entities(terms: Terms, side: Side) -> Entities:
    return side.given if side.given is not None else terms.entities(side.answer or "")


def _equal_answers(one: Side, other: Side) -> bool:
    return (one.answer or "") == (other.answer or "") and one.bare[0] == other.bare[0]


def diagnostic_accuracy(reference: Side, prediction: Side) -> Measured:
    """Whether the diagnoses are equal."""
    same_text = (reference.diagnosis or "") == (prediction.diagnosis or "")
    equal = same_text and reference.bare[1] == prediction.bare[1]
    return Measured(ONE if equal else ZERO, {"diagnoses_equal": equal})


def reasoning_quality(terms: Terms, protocol: Protocol, reference: Side, prediction: Side) -> Measured:
    """Overlap, structure, evidence and facts, minus a penalty for fallacies."""
    rationale = prediction.rationale
    if rationale is None:
        return Measured(ZERO, {"blank": True})
    full = protocol["markers_for_full"]
    structure = terms.structure(rationale) | prediction.lines
    evidence, fallacies = terms.evidence(rationale), terms.fallacies(rationale)
    facts = terms.facts(reference.diagnosis if reference.diagnosis is not None else reference.answer or "")
    stated = terms.found(facts, rationale)
    shares = {
        "overlap": token_f1((reference.rationale or "").split(), rationale.split()),
        "structure": min(ONE, len(structure) / full),
        "evidence": min(ONE, len(evidence) / full),
    }
    enough = max(1, int(len(facts) * protocol["share_of_facts"]))
    shares["factual"] = min(ONE, Fraction(len(stated), enough)) if facts else shares["evidence"]
    penalty = min(protocol["penalty_most"], protocol["penalty"] * len(fallacies))
    value = sum((protocol[f"weight_{name}"] * share for name, share in shares.items()), ZERO) - penalty
    parts = {
        **shares,
        "penalty": penalty,
        "structure_markers": sorted(structure),
        "evidence_markers": sorted(evidence),
        "fallacies": sorted(fallacies),
        "facts_stated": sorted(stated),
        "facts_expected": sorted(facts),
    }
    return Measured(clamped(value), parts)


def token_f1(one: Iterable[str], other: Iterable[str]) -> Fraction:
    """The F1 of two multisets of words."""
    first, second = Counter(one), Counter(other)
    total = first.total() + second.total()
    return Fraction(2 * (first & second).total(), total) if total else ZERO


def exact_match(reference: Side, prediction: Side) -> Measured:
    """Whether the answers are equal."""
    equal = _equal_answers(reference, prediction)
    return Measured(ONE if equal else ZERO, {"answers_equal": equal})


def rouge_l(reference: Side, prediction: Side) -> Measured:
    """The F-measure (beta 1) of the longest common subsequence of the answers' tokens."""
    wanted, found = _tokens(reference), _tokens(prediction)
    common = longest_common_subsequence(wanted, found)
    value = Fraction(2 * common, len(wanted) + len(found))
    return Measured(value, {"common": common, "reference_tokens": len(wanted), "prediction_tokens": len(found)})


def _tokens(side: Side) -> list[str]:
    """The words of the answer; an answer that consists only of signs is one token."""
    return [side.bare[0]] if side.bare[0] is not None else (side.answer or "").split()


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


def required_metrics(protocol: Protocol, reference: Side) -> tuple[str, ...]:
    """The computed metrics that a reference requires: those whose field it has."""
    has_answer = reference.answer is not None
    there = {
        CLINICAL: has_answer or reference.given is not None,
        REASONING: reference.rationale is not None,
        DIAGNOSTIC: reference.diagnosis is not None,
        EXACT_MATCH: has_answer,
        ROUGE_L: has_answer,
    }
    return tuple(name for name in computed_metrics(protocol) if there[name])


def measured(terms: Terms, protocol: Protocol, reference: Side, prediction: Side) -> dict[str, Measured]:
    """Every metric that the reference requires."""
    functions: dict[str, Callable[[], Measured]] = {
        CLINICAL: lambda: clinical_accuracy(terms, protocol, reference, prediction),
        REASONING: lambda: reasoning_quality(terms, protocol, reference, prediction),
        DIAGNOSTIC: lambda: diagnostic_accuracy(reference, prediction),
        EXACT_MATCH: lambda: exact_match(reference, prediction),
        ROUGE_L: lambda: rouge_l(reference, prediction),
    }
    return {name: functions[name]() for name in required_metrics(protocol, reference)}
