"""Metrics of one sample of `benchmark`: a reference, and what a model says.

Each function takes texts that `normalizers.terms` has normalized, and gives an exact value and what it is made of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from medcontract.contracts.string_patterns import BLANKS
from medcontract.normalizers.terms import CATEGORIES, Terms
from medcontract.scoring.protocol import Protocol
from medcontract.scoring.rational import ONE, ZERO, clamped

CLINICAL, REASONING, DIAGNOSTIC = "clinical_accuracy", "reasoning_quality", "diagnostic_accuracy"
METRICS = (CLINICAL, REASONING, DIAGNOSTIC)

Entities = Mapping[str, frozenset[str]]


class Side(NamedTuple):
    """What a reference or a model says, normalized. None: nothing, or blanks."""

    answer: str | None
    rationale: str | None
    diagnosis: str | None
    given: Entities | None
    """The entities, where they were given."""
    bare: tuple[str | None, str | None]
    """Answer and diagnosis as they are written, where nothing is left of them by normalization."""


def side_of(terms: Terms, said: Any) -> Side:
    """Normalize what was said."""
    answer, rationale, diagnosis = (_normalized(terms, text) for text in (said.answer, said.rationale, said.diagnosis))
    given = None
    if said.entities is not None:
        lists = {name: getattr(said.entities, name) or () for name in CATEGORIES}
        given = {
            name: frozenset(terms.normalize(each) or each.strip(BLANKS) for each in names)
            for name, names in lists.items()
        }
    return Side(answer, rationale, diagnosis, given, (_bare(said.answer, answer), _bare(said.diagnosis, diagnosis)))


def _normalized(terms: Terms, text: str | None) -> str | None:
    return terms.normalize(text) if text is not None and text.strip(BLANKS) else None


def _bare(text: str | None, normalized: str | None) -> str | None:
    """A text of signs alone is itself: + is not -."""
    return text.strip(BLANKS) if text is not None and normalized == "" else None


class Measured(NamedTuple):
    """The value of a metric, and what it is made of."""

    value: Fraction
    parts: dict[str, Any]


def clinical_accuracy(terms: Terms, protocol: Protocol, reference: Side, prediction: Side) -> Measured:
    """The weighted Jaccard index of entities; without any, whether the answers are equal."""
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
    equal = _equal(reference.answer, prediction.answer, reference.bare[0], prediction.bare[0])
    return Measured(ONE if equal else ZERO, {"entities": {}, "answers_equal": equal})


def _entities(terms: Terms, side: Side) -> Entities:
    return side.given if side.given is not None else terms.entities(side.answer or "")


def _equal(one: str | None, other: str | None, bare: str | None, other_bare: str | None) -> bool:
    return (one or "") == (other or "") and bare == other_bare


def diagnostic_accuracy(reference: Side, prediction: Side) -> Measured:
    """Whether the diagnoses are equal."""
    equal = _equal(reference.diagnosis, prediction.diagnosis, reference.bare[1], prediction.bare[1])
    return Measured(ONE if equal else ZERO, {"diagnoses_equal": equal})


def reasoning_quality(terms: Terms, protocol: Protocol, reference: Side, prediction: Side) -> Measured:
    """Overlap, structure, evidence and facts, less a penalty for fallacies."""
    rationale = prediction.rationale
    if rationale is None:
        return Measured(ZERO, {"blank": True})
    full = protocol["markers_for_full"]
    structure, evidence = terms.structure(rationale), terms.evidence(rationale)
    fallacies = terms.fallacies(rationale)
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
    """Words that both have, as often as both have them, against all words of both."""
    first, second = Counter(one), Counter(other)
    total = first.total() + second.total()
    return Fraction(2 * (first & second).total(), total) if total else ZERO


def asked(reference: Side) -> tuple[str, ...]:
    """The metrics that a reference asks for."""
    there = {
        CLINICAL: reference.answer is not None or reference.given is not None,
        REASONING: reference.rationale is not None,
        DIAGNOSTIC: reference.diagnosis is not None,
    }
    return tuple(name for name in METRICS if there[name])


def measured(terms: Terms, protocol: Protocol, reference: Side, prediction: Side) -> dict[str, Measured]:
    """Every metric that the reference asks for."""
    ways = {
        CLINICAL: lambda: clinical_accuracy(terms, protocol, reference, prediction),
        REASONING: lambda: reasoning_quality(terms, protocol, reference, prediction),
        DIAGNOSTIC: lambda: diagnostic_accuracy(reference, prediction),
    }
    return {name: ways[name]() for name in asked(reference)}
